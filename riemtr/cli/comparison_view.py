"""A comparison in the terminal: progress while it runs, then its table."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console, Group, JustifyMethod, RenderableType
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars
from rich.table import Table
from rich.text import Text

from riemtr.compare import Comparison, Run
from riemtr.compare.table import HEADINGS, Line, blocks, cells, legend, lines


class ProgressBar:
    """A bar over all runs with the time left; for ``compare(progress=...)``.

    It keeps the runs, for a comparison that is interrupted and does not.
    """

    def __init__(self, console: Console):
        self.runs: list[Run] = []
        self._bars = Bars(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("left"),
            console=console,
        )
        self._task = self._bars.add_task("preparing", total=None)

    def __call__(self, run: Run, done: int, total: int) -> None:
        """Move the bar."""
        self.runs.append(run)
        description = escape(f"{run.problem}, {run.solver}")
        self._bars.update(self._task, description=description, completed=done, total=total)

    @contextmanager
    def shown(self) -> Iterator[ProgressBar]:
        """Show the bar."""
        with self._bars:
            yield self


def comparison_table(comparison: Comparison) -> Group:
    """Return the table of a comparison and what its columns mean."""
    shown = [HEADINGS, *(cells(line) for line in lines(comparison))]
    widths = [max(len(row[column]) for row in shown) for column in range(len(HEADINGS))]
    head = _grid(widths)
    head.add_row(*(Text(heading, style="bold") for heading in HEADINGS))
    parts: list[RenderableType] = [head]
    for heading, block in blocks(comparison):
        grid = _grid(widths)
        for line in block:
            grid.add_row(*_coloured(line))
        parts += [Text(f"\n{heading}", style="bold cyan"), grid]
    return Group(*parts, Text("\n" + "\n".join(legend(comparison)), style="dim"))


def _grid(widths: list[int]) -> Table:
    """Columns of the same width in every block."""
    table = Table.grid(padding=(0, 2, 0, 0))
    for number, width in enumerate(widths[:-1]):
        side: JustifyMethod = "right" if number else "left"
        table.add_column(justify=side, no_wrap=True, min_width=width)
    table.add_column()
    return table


def _coloured(line: Line) -> list[Text]:
    shown = [Text(cell) for cell in cells(line)]
    if not line.runs:
        shown[-1].stylize("dim")
        return shown
    shown[1].stylize("green" if line.certified == line.runs else "yellow")
    shown[2].stylize("bold red")
    if line.failed or line.timed_out or line.stuck:
        shown[-1].stylize("yellow")
    return shown


def summary_line(comparison: Comparison) -> str:
    """Return the outcome in one line, for ``--quiet``."""
    parts = []
    for name in comparison.settings["solvers"]:
        mine = [line for line in lines(comparison) if line.solver == name]
        certified, runs = (
            sum(getattr(line, what) for line in mine) for what in ("certified", "runs")
        )
        deceived = sum(line.deceived for line in mine)
        parts.append(f"{name} {certified}/{runs}" + (f" ({deceived} deceived)" if deceived else ""))
    return f"certified: {', '.join(parts)}"
