"""A comparison in the terminal: progress while it runs, then its table."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars
from rich.table import Table
from rich.text import Text

from riemtr.compare import Comparison, Run
from riemtr.compare.legend import legend
from riemtr.compare.lines import Line, lines
from riemtr.compare.table import blocks, column_widths, columns, rows


class ProgressBar:
    """A bar over all runs with the time left; for ``compare(progress=...)``."""

    def __init__(self, console: Console):
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
        description = escape(f"{run.problem}, {run.solver}")
        self._bars.update(self._task, description=description, completed=done, total=total)

    @contextmanager
    def shown(self) -> Iterator[ProgressBar]:
        """Show the bar."""
        with self._bars:
            yield self


def comparison_table(comparison: Comparison, window: int) -> Group:
    """Return the table of a comparison, for a window of some width, and what its columns mean."""
    headings, (first, *figures, last) = list(columns(comparison)), column_widths(comparison)
    # A long name is folded; it must not push the figures out of the window.
    left = window - 1 - sum(width + 2 for width in (*figures, min(last, 12)))
    widths = [min(first, max(left, 11)), *figures, last]
    head = _grid(widths)
    head.add_row(*(Text(heading, style="bold") for heading in headings))
    parts: list[RenderableType] = [head]
    for heading, block in blocks(comparison):
        grid = _grid(widths)
        for line, cells in zip(block, rows(comparison, block), strict=True):
            shown = dict(zip(headings, map(Text, cells), strict=True))
            _colour(line, shown)
            grid.add_row(*shown.values())
        parts += [Text(f"\n{heading}", style="bold cyan"), grid]
    return Group(*parts, Text("\n" + "\n".join(legend(comparison)), style="dim"))


def _grid(widths: list[int]) -> Table:
    """Columns of the same width in every block."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(width=widths[0], overflow="fold")
    for width in widths[1:-1]:
        table.add_column(justify="right", no_wrap=True, min_width=width)
    table.add_column()
    return table


def _colour(line: Line, shown: dict[str, Text]) -> None:
    if not line.runs:
        shown["otherwise"].stylize("dim")
        return
    shown["certified"].stylize("green" if line.certified == line.runs else "yellow")
    shown.get("deceived", Text()).stylize("bold red")
    if line.failed or line.timed_out or line.stuck:
        shown["otherwise"].stylize("yellow")


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
