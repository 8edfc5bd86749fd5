"""The outcomes of a sweep: in a store, and as a table that says what it holds."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from riemtr.errors import ArgumentError
from riemtr.files import csv_text, reading, typed, write_atomically
from riemtr.store import Record, read_store
from riemtr.summary import DOUBTFUL, GOOD, Summarised, Summary, plural
from riemtr.summary import Table as Rows
from riemtr.sweep.cells import FAILURE, SECONDS, SEED, Cell, Failure, Outcome, Value

# Settings in the table of a summary.
_SHOWN = 20
# Kinds of failures that are told.
_FAILURES = 5


@dataclass(frozen=True)
class Made:
    """What a command has made: files, what to say of them, and how many trials failed."""

    saved: list[Path]
    summary: Summary
    failed: int = 0


@dataclass(frozen=True, repr=False)
class Table(Summarised):
    """Outcomes in the order of the grid.

    Attributes
    ----------
    outcomes : tuple of Outcome
    damaged : int
        Records of the store that could not be read, and were run again.
    """

    outcomes: tuple[Outcome, ...]
    damaged: int = 0

    def __len__(self) -> int:
        return len(self.outcomes)

    def summary(self) -> Summary:
        """Return the mean of each result over the runs of a setting, and what failed."""
        cells = [outcome.cell for outcome in self.outcomes]
        names = list(cells[0].settings) if cells else []
        groups: dict[tuple[str, ...], list[Outcome]] = {}
        for outcome in self.outcomes:  # as words: 1, 1.0 and True are equal, and other settings
            words = tuple(str(outcome.cell.settings[name]) for name in names)
            groups.setdefault(words, []).append(outcome)
        results = list(dict.fromkeys(name for outcome in self.outcomes for name in outcome.values))
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
            plural(len(self), "cell"),
            table=Rows(headings, rows, "r" * len(headings)) if len(headings) > 1 else None,
            notes=(*more, "means over the runs of each setting", *failures([self])),
            tone=DOUBTFUL if self.failed else GOOD,
            line=f"{plural(len(self), 'cell')}, {len(self.failed)} failed",
        )

    @property
    def failed(self) -> list[Outcome]:
        """Outcomes of the cells that failed."""
        return [outcome for outcome in self.outcomes if outcome.failure is not None]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One dict per cell: settings, seed, results, seconds, and the failure if there is one."""
        return [
            {
                **outcome.cell.settings,
                SEED: outcome.cell.seed,
                **outcome.values,
                SECONDS: outcome.seconds,
                FAILURE: None if outcome.failure is None else str(outcome.failure),
            }
            for outcome in self.outcomes
        ]

    @property
    def columns(self) -> dict[str, np.ndarray]:
        """Equal-length arrays by name; NaN, or None among strings, where a cell has no value."""
        rows = self.rows
        results = dict.fromkeys(name for outcome in self.outcomes for name in outcome.values)
        settings = dict.fromkeys(name for o in self.outcomes for name in o.cell.settings)
        names = [*settings, SEED, *results, SECONDS, FAILURE] if rows else []
        return {name: _column([row.get(name) for row in rows]) for name in names}

    def to_csv(self, path: str | os.PathLike[str]) -> Path:
        """Write the table as comma-separated values, whole or not at all."""
        names = list(self.columns)
        rows = ([row.get(name, "") for name in names] for row in self.rows)
        content = csv_text([names, *rows]).encode(errors="backslashreplace")
        return write_atomically(Path(path), content)


def read(path: str | os.PathLike[str]) -> Table:
    """Read the store of a sweep, ordered by settings and seed; also while it is running.

    Parameters
    ----------
    path : path
        As given to :func:`sweep`.
    """
    known, _, damaged = read_outcomes(path)
    names = list(known[next(iter(known))].cell.settings) if known else []
    return Table(tuple(sorted(known.values(), key=lambda one: _order(one.cell, names))), damaged)


def _order(cell: Cell, names: list[str]) -> list[Any]:
    """Numbers before strings, so that any two values compare."""
    values = (cell.settings[name] for name in names)
    numbers = (int, float)
    keys = [(0, one, "") if isinstance(one, numbers) else (1, 0, str(one)) for one in values]
    return [*keys, cell.seed]


def _column(values: list[Any]) -> np.ndarray:
    kinds = {type(value) for value in values if value is not None}
    if kinds and kinds <= {bool, int, float}:
        if None not in values:
            return np.array(values)
        try:
            return np.array([np.nan if value is None else value for value in values], dtype=float)
        except OverflowError:  # of an integer beyond all floats
            pass
    return np.array(values, dtype=object)


# --- in a store ----------------------------------------------------------------------------------


def read_outcomes(
    path: str | os.PathLike[str],
) -> tuple[dict[str, Outcome], dict[str, Record], int]:
    """Return what :func:`from_records` does of a store, and how many records are damaged."""
    identity, records, damaged = read_store(path)
    if "task" not in identity:
        raise ArgumentError("store", f"be that of a sweep; {str(path)!r} is that of another run")
    with reading(path, "the store of a sweep"):
        return (*from_records(typed(str, identity["task"], "the task"), records), damaged)


@dataclass(frozen=True)
class _Kept:
    """An outcome as a store has it."""

    settings: dict[str, Value]
    seed: int
    values: dict[str, Value]
    failure: Failure | None
    seconds: float
    cpu_seconds: float
    made_with: str


def from_records(
    task: str, records: Mapping[str, Record]
) -> tuple[dict[str, Outcome], dict[str, Record]]:
    """Return outcomes, and the code and software they are from, by key of the cell."""
    unknown: Record = {"code": None, "environment": {}}  # where its own record is damaged
    outcomes, made_with = {}, {}
    for key, record in records.items():
        if "settings" not in record:
            continue
        kept = typed(_Kept, record, "a cell")
        cell = Cell(task, kept.settings, kept.seed)
        outcomes[key] = Outcome(cell, kept.values, kept.failure, kept.seconds, kept.cpu_seconds)
        made_with[key] = records.get(kept.made_with, unknown)
    return outcomes, made_with


def as_record(outcome: Outcome, made_with: str) -> Record:
    """Return an outcome as a record, with the key of the record of what it was made with."""
    parts = asdict(outcome)
    cell = parts.pop("cell")
    return {"settings": cell["settings"], "seed": cell["seed"], **parts, "made_with": made_with}


def failures(tables: Iterable[Table]) -> list[str]:
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
