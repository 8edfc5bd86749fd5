"""Sweeps in words and figures: means over the runs of each setting, boundaries, and failures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from riemtr.summary import DOUBTFUL, GOOD, Summary, Table, plural

if TYPE_CHECKING:
    from riemtr.sweep.outcomes import Outcome
    from riemtr.sweep.phase_figures import Map
    from riemtr.sweep.table import Table as Outcomes

# Values of n with a boundary that make a law of it.
_CROSSINGS = 5
# Settings in the table.
_SHOWN = 20
# Kinds of failures that are told.
_FAILURES = 5


def table_summary(table: Outcomes) -> Summary:
    """Return the mean of each result over the runs of a setting, and what failed."""
    cells = [outcome.cell for outcome in table.outcomes]
    names = list(cells[0].settings) if cells else []
    groups: dict[tuple[str, ...], list[Outcome]] = {}
    for outcome in table.outcomes:  # as words: 1, 1.0 and True are equal, and other settings
        words = tuple(str(outcome.cell.settings[name]) for name in names)
        groups.setdefault(words, []).append(outcome)
    results = list(dict.fromkeys(name for outcome in table.outcomes for name in outcome.values))
    rows = tuple(
        (
            *words,
            str(sum(outcome.failure is None for outcome in outcomes)),
            *(_mean([outcome.values.get(name) for outcome in outcomes]) for name in results),
        )
        for words, outcomes in list(groups.items())[:_SHOWN]
    )
    headings = (*names, "runs", *results)
    more = [f"... {len(groups) - _SHOWN} more settings"] if len(groups) > _SHOWN else []
    return Summary(
        plural(len(table), "cell"),
        table=Table(headings, rows, "r" * len(headings)) if len(headings) > 1 else None,
        notes=(*more, "means over the runs of each setting", *failures([table])),
        tone=DOUBTFUL if table.failed else GOOD,
        line=f"{plural(len(table), 'cell')}, {len(table.failed)} failed",
    )


def maps_summary(maps: Mapping[str, Map], tables: Iterable[Outcomes]) -> Summary:
    """Say where the phase transitions are, and what failed."""
    tables = list(tables)
    failed = sum(len(table.failed) for table in tables)
    return Summary(
        "phase transition",
        tuple((name, _boundary(name, one)) for name, one in maps.items()),
        notes=tuple(failures(tables)),
        tone=DOUBTFUL if failed else GOOD,
        line=f"{plural(sum(map(len, tables)), 'cell')}, {failed} failed",
    )


def _boundary(name: str, one: Map) -> str:
    """Say where half of the trials succeed."""
    overall = f"{100 * np.nanmean(one.rate):.0f}% of all trials succeed"
    law, crossings = one.law, int(np.isfinite(one.boundary).sum())
    if law is not None:
        where = f"half of the trials succeed at {name[0]} = {law.factor:.2g} n^{law.exponent:.2f}"
        few = f", a rough guess from {crossings} values of n" if crossings < _CROSSINGS else ""
        return f"{where}{few} ({overall})"
    if crossings:
        found = f"a boundary at {crossings} of {one.n.size} values of n"
        return f"{found}, too little for a fit ({overall})"
    return f"no boundary within the grid ({overall})"


def failures(tables: Iterable[Outcomes]) -> list[str]:
    """Say which cells failed and why, the first of each kind of error, and what was damaged."""
    kinds: dict[str, list[Outcome]] = {}
    tables = list(tables)
    for outcome in (outcome for table in tables for outcome in table.failed):
        where = "" if outcome.failure is None else outcome.failure.place
        kinds.setdefault(f"{outcome.failure}{where}", []).append(outcome)
    lines = [
        f"failed {len(some)} x {text} (first: {some[0].cell})"
        for text, some in list(kinds.items())[:_FAILURES]
    ]
    if len(kinds) > _FAILURES:
        lines.append(f"... and {len(kinds) - _FAILURES} other errors; the table has all of them")
    damaged = sum(table.damaged for table in tables)
    if damaged:
        which = plural(damaged, "record")
        lines.append(f"damaged: {which} of the store, now skipped; the table has every cell")
    return lines


def _mean(values: list[Any]) -> str:
    known = [value for value in values if value is not None]
    if known and all(isinstance(value, (bool, int, float)) for value in known):
        return f"{np.mean(known):.4g}"
    return ", ".join(sorted({str(value) for value in known}))
