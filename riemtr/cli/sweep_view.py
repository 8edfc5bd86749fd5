"""A sweep in the terminal: progress while it runs, then what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars
from rich.table import Table as Grid

from riemtr.sweep import Outcome, Progress, Table
from riemtr.sweep.phase_figures import Map

_CROSSINGS = 5  # values of n with a boundary that make a law of it
_SHOWN = 20  # settings in the table
_FAILURES = 5


class SweepBars:
    """One bar per sweep; its length is the share of the work, not of the cells."""

    def __init__(self, console: Console):
        self._bars = Bars(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[cells]}"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"),
            console=console,
        )
        self._tasks: dict[str, Any] = {}

    def __enter__(self) -> SweepBars:
        self._bars.__enter__()
        return self

    def __exit__(self, *details: Any) -> None:
        self._bars.__exit__(*details)

    def show(self, name: str, now: Progress) -> None:
        """Move the bar of a sweep."""
        if name not in self._tasks:
            self._tasks[name] = self._bars.add_task(name, total=1.0, cells="", left="")
        failed = f", [red]{now.failed} failed[/]" if now.failed else ""
        done = now.done == now.total
        left = "" if done or now.remaining is None else f"about {duration(now.remaining)} left"
        self._bars.update(
            self._tasks[name],
            completed=now.share,
            cells=f"{now.done} of {now.total} cells{failed}",
            left=left,
        )


def duration(seconds: float) -> str:
    """Return a time in words, as precisely as an estimate deserves.

    Examples
    --------
    >>> [duration(s) for s in (0.2, 42, 200, 6000, 90000)]
    ['1 s', '42 s', '3 min', '1.7 h', '25 h']
    """
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    if seconds < 90 * 60:
        return f"{round(seconds / 60)} min"
    hours = seconds / 3600
    return f"{hours:.1f} h" if hours < 10 else f"{hours:.0f} h"


def failures_lines(table: Table) -> list[str]:
    """Say which cells failed and why, the first of each kind of error, and what was damaged."""
    kinds: dict[str, list[Outcome]] = {}
    for outcome in table.failed:
        where = "" if outcome.failure is None else outcome.failure.place
        kinds.setdefault(f"{outcome.failure}{where}", []).append(outcome)
    lines = []
    for text, some in list(kinds.items())[:_FAILURES]:
        first = escape(str(some[0].cell))
        lines.append(f"[bold red]failed[/] {len(some)} x {escape(text)} [dim](first: {first})[/]")
    if len(kinds) > _FAILURES:
        lines.append(f"... and {len(kinds) - _FAILURES} other errors; the table has all of them")
    if table.damaged:
        which = "1 line" if table.damaged == 1 else f"{table.damaged} lines"
        lines.append(
            f"[yellow]damaged[/] {which} of the store, now skipped; the table has every cell"
        )
    return lines


def means_table(table: Table) -> Grid:
    """Return the mean of each result over the repetitions of a setting, for the first settings."""
    names = list(table.outcomes[0].cell.settings)
    groups: dict[tuple[str, ...], list[Outcome]] = {}
    for outcome in table.outcomes:  # as words: 1, 1.0 and True are equal, and other settings
        words = tuple(str(outcome.cell.settings[name]) for name in names)
        groups.setdefault(words, []).append(outcome)
    results = dict.fromkeys(name for outcome in table.outcomes for name in outcome.values)
    grid = Grid(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for name in [*names, "runs", *results]:
        grid.add_column(escape(name), justify="right")
    for words, outcomes in list(groups.items())[:_SHOWN]:
        values = [_mean([o.values.get(name) for o in outcomes]) for name in results]
        ended = sum(outcome.failure is None for outcome in outcomes)
        grid.add_row(*map(escape, words), str(ended), *values)
    if len(groups) > _SHOWN:
        grid.add_row(f"... {len(groups) - _SHOWN} more")
    return grid


def boundary_lines(maps: Mapping[str, Map]) -> list[str]:
    """Say where the phase transitions are."""
    lines = []
    for name, one in maps.items():
        letter, overall = name[0], 100 * np.nanmean(one.rate)
        law, crossings = one.law, int(np.isfinite(one.boundary).sum())
        where = "no boundary within the grid"
        if crossings:
            where = f"a boundary at {crossings} of {one.n.size} values of n, too little for a fit"
        if law is not None:
            where = (
                f"half of the trials succeed at {letter} = {law.factor:.2g} n^{law.exponent:.2f}"
            )
            if crossings < _CROSSINGS:
                where += f", a rough guess from {crossings} values of n"
        lines.append(f"[bold]{name}[/]  {where} [dim]({overall:.0f}% of all trials succeed)[/]")
    return lines


def _mean(values: list[Any]) -> str:
    known = [value for value in values if value is not None]
    if known and all(isinstance(value, (bool, int, float)) for value in known):
        return f"{np.mean(known):.4g}"
    return escape(", ".join(sorted({str(value) for value in known})))
