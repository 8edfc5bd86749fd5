"""The outcomes of a sweep as a table."""

from __future__ import annotations

import csv
import io
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from riemtr.files import write_atomically
from riemtr.summary import Summarised, Summary
from riemtr.sweep.cells import FAILURE, SECONDS, SEED, Cell
from riemtr.sweep.outcomes import Outcome, read_outcomes


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
        from riemtr.sweep.summary import table_summary  # which reads tables

        return table_summary(self)

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
        text = io.StringIO()
        writer = csv.DictWriter(text, list(self.columns), restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.rows)
        return write_atomically(Path(path), text.getvalue().encode(errors="backslashreplace"))


def read(path: str | os.PathLike[str]) -> Table:
    """Read the store of a sweep, ordered by settings and seed; also while it is running.

    Parameters
    ----------
    path : path
        As given to :func:`sweep`.
    """
    content = read_outcomes(Path(path))
    outcomes = list(content.outcomes.values())
    names = list(outcomes[0].cell.settings) if outcomes else []
    ordered = sorted(outcomes, key=lambda outcome: _order(outcome.cell, names))
    return Table(tuple(ordered), content.damaged)


def _order(cell: Cell, names: list[str]) -> tuple[Any, ...]:
    """Numbers before strings, so that any two values compare."""
    values = [cell.settings[name] for name in names]
    return (
        *(
            (0, value, "") if isinstance(value, (int, float)) else (1, 0, str(value))
            for value in values
        ),
        cell.seed,
    )


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
