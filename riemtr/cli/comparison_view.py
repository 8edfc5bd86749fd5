"""A comparison in the terminal: progress while it runs, then its table."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars
from rich.table import Table
from rich.text import Text

from riemtr.compare import Comparison, Run
from riemtr.compare.legend import legend
from riemtr.compare.lines import Line, count_endings, in_words
from riemtr.compare.table import blocks, column_widths, columns, rows

_GAP = 2  # between columns
_NAME = 11  # the least room for names beside figures: pymanopt's fit
_OTHERWISE = 12  # and for what became of the other runs, which is broken at words


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
        """Show the bar; after an error it is gone."""
        with self._bars:
            try:
                yield self
            except BaseException:
                self._bars.update(self._task, visible=False)
                raise


def comparison_table(comparison: Comparison, window: int) -> Group:
    """Return the table of a comparison, for a window of some width, and what its columns mean.

    Where names do not fit beside the figures, they stand above them.
    """
    headings, (first, *figures, last) = list(columns(comparison)), column_widths(comparison)
    left = window - _GAP - sum(width + _GAP for width in figures) - min(last, _OTHERWISE)
    layout: _Layout = _Beside([min(first, max(left, _NAME)), *figures])
    if left < min(first, _NAME):
        layout = _Above(figures, window)
    parts = layout.lines([[Text(heading, style="bold") for heading in headings]])
    for heading, block in blocks(comparison):
        cells = []
        for line, texts in zip(block, rows(comparison, block), strict=True):
            shown = dict(zip(headings, map(Text, texts), strict=True))
            _colour(line, shown)
            cells.append(list(shown.values()))
        parts += [Text(f"\n{heading}", style="bold cyan"), *layout.lines(cells)]
    said = legend(comparison)
    if isinstance(layout, _Above) and layout.left_out:
        hidden = ", ".join(headings[-1 - layout.left_out : -1])
        said = [*said, f"not shown, for want of room: {hidden}; widen the window"]
    return Group(*parts, Text("\n" + "\n".join(said), style="dim"))


class _Layout(Protocol):
    """How lines of cells are laid out, the same in every block."""

    def lines(self, cells: list[list[Text]]) -> list[RenderableType]:
        """Return what to print for some lines: solver, figures, and what became of the others."""


@dataclass(frozen=True)
class _Beside:
    """One line for each: a long name is folded, it does not push the figures out of the window."""

    widths: list[int]

    def lines(self, cells: list[list[Text]]) -> list[RenderableType]:
        table = Table.grid(padding=(0, _GAP, 0, 0))
        table.add_column(width=self.widths[0], overflow="fold")
        for width in self.widths[1:]:
            table.add_column(justify="right", no_wrap=True, min_width=width)
        table.add_column()
        for row in cells:
            table.add_row(*row)
        return [table]


@dataclass(frozen=True)
class _Above:
    """The name and what became of the others on a line, as many figures as fit below it."""

    figures: list[int]
    window: int

    @property
    def left_out(self) -> int:
        """How many columns of figures do not fit."""
        ends = itertools.accumulate(width + _GAP for width in self.figures)
        return sum(end > self.window for end in ends)

    def lines(self, cells: list[list[Text]]) -> list[RenderableType]:
        shown: list[RenderableType] = []
        for name, *figures, others in cells:
            fitting = list(zip(self.figures, figures, strict=True))[: len(figures) - self.left_out]
            padded = (Text(" " * (_GAP + width - len(cell))) + cell for width, cell in fitting)
            shown.append(Text("  ").join(part for part in (name, others) if part))
            shown.append(Text().join(padded))
        return shown


def _colour(line: Line, shown: dict[str, Text]) -> None:
    if not line.runs:
        shown["otherwise"].stylize("dim")
        return
    shown["certified"].stylize("green" if line.certified == line.runs else "yellow")
    shown.get("deceived", Text()).stylize("bold red")
    shown["otherwise"].stylize("yellow")


def summary_line(comparison: Comparison) -> str:
    """Return the outcome in one line, for ``--quiet``."""
    parts = []
    for name in comparison.settings["solvers"]:
        runs = [run for run in comparison.runs if run.solver == name]
        misses = count_endings(runs)
        certified = misses.pop("certified", 0)
        parts.append(f"{name} {certified}/{len(runs)}" + (f" ({in_words(misses)})" * bool(misses)))
    return f"certified: {', '.join(parts)}"
