"""How far a sweep is, and how long it will take.

Cells are uneven: where n is large they take a thousand times as long. The time left is therefore
predicted cell by cell, by a power law in the cost estimate (in the settings, where there is none)
that is fitted to the cells that have ended.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from riemtr.sweep.cells import Cell
from riemtr.sweep.outcomes import Outcome

Cost = Callable[[Mapping[str, Any]], float]
"""``cost(settings)``: time a cell takes, in any unit."""

# Weight of the exponents assumed at first: a cost estimate is trusted more than having none.
_TRUST, _DOUBT = 0.5, 0.03
_SECONDS_BETWEEN_FITS = 0.2


@dataclass(frozen=True)
class Progress:
    """How far a sweep is.

    Attributes
    ----------
    done, failed, total : int
        Cells that have ended, those of them that failed, and all; those of earlier runs included.
    share : float
        Of the work, from 0 to 1: large cells count more.
    seconds : float
        Since this run began.
    remaining : float or None
        Estimate of the seconds left; None while nothing is known.
    latest : Outcome or None
        Of the cell that ended last.
    """

    done: int
    failed: int
    total: int
    share: float
    seconds: float
    remaining: float | None
    latest: Outcome | None = None


def largest_first(cells: Sequence[Cell], cost: Cost | None) -> list[Cell]:
    """Return the cells by falling cost, so that no large one is left for the end."""
    if cost is None:
        return list(cells)
    return sorted(cells, key=lambda cell: -_positive(cost(cell.settings), cell))


class Estimate:
    """The time left, learned from the cells that have ended.

    Parameters
    ----------
    cells : sequence of Cell
        All of them.
    cost : callable or None
        ``cost(settings)``: what a cell should take, in any unit.
    outcomes : mapping
        By key: what earlier runs left.
    workers : int
        How many cells run at once.
    clock : callable
    """

    def __init__(
        self,
        cells: Sequence[Cell],
        cost: Cost | None,
        outcomes: Mapping[str, Outcome],
        workers: int,
        clock: Callable[[], float] = time.perf_counter,
    ):
        self._row = {cell.key: number for number, cell in enumerate(cells)}
        self._features, self._slopes = _features(cells, cost)
        self._prior = _DOUBT if cost is None else _TRUST
        self._seconds = np.full(len(cells), np.nan)
        self._finished = np.zeros(len(cells), dtype=bool)
        self._failed = np.zeros(len(cells), dtype=bool)
        self._workers = workers
        self._clock = clock
        self._began, self._fitted, self._fit_time = clock(), np.ones(len(cells)), -math.inf
        for outcome in outcomes.values():
            self._enter(outcome)
        self._before = self._finished.copy()

    def note(self, outcome: Outcome) -> Progress:
        """Take note of a cell that has ended."""
        self._enter(outcome)
        return self.progress(outcome)

    def progress(self, latest: Outcome | None = None) -> Progress:
        """Return how far the sweep is."""
        now = self._clock()
        if now - self._fit_time >= _SECONDS_BETWEEN_FITS or self._finished.all():
            self._fit()
            self._fit_time = now
        done = int(self._finished.sum())
        known = np.isfinite(self._seconds).any()
        left = float(self._fitted[~self._finished].sum())
        whole = left + float(self._fitted[self._finished].sum())
        elapsed = now - self._began
        return Progress(
            done=done,
            failed=int(self._failed.sum()),
            total=len(self._row),
            share=1.0 if whole == 0 else 1.0 - left / whole,
            seconds=elapsed,
            remaining=left / self._speed(elapsed) if known else None,
            latest=latest,
        )

    def _enter(self, outcome: Outcome) -> None:
        row = self._row.get(outcome.cell.key)
        if row is not None:
            self._finished[row] = True
            self._failed[row] = outcome.failure is not None
            if outcome.failure is None:
                self._seconds[row] = max(outcome.seconds, 1e-6)

    def _speed(self, elapsed: float) -> float:
        """Seconds of work done per second: the number of workers, less what they wait."""
        mine = self._finished & ~self._before & np.isfinite(self._seconds)
        if mine.sum() <= 2 * self._workers or elapsed <= 0:
            return float(self._workers)
        busy = float(self._seconds[mine].sum()) / elapsed
        return min(max(busy, 0.1), float(self._workers))

    def _fit(self) -> None:
        """Fit log(seconds) by least squares, drawn towards the slopes that were assumed."""
        known = np.isfinite(self._seconds)
        if not known.any():
            self._fitted = np.exp(self._features @ self._slopes)
            return
        matrix, logs = self._features[known], np.log(self._seconds[known])
        centre, level = matrix.mean(axis=0), logs.mean()
        deviation = matrix - centre
        ridge = deviation.T @ deviation + self._prior * np.eye(matrix.shape[1])
        slopes = np.linalg.solve(ridge, deviation.T @ (logs - level) + self._prior * self._slopes)
        fitted = np.exp(np.clip((self._features - centre) @ slopes + level, -50, 50))
        # The mean of a logarithm is not the logarithm of the mean.
        self._fitted = fitted * (self._seconds[known].sum() / fitted[known].sum())


def _features(cells: Sequence[Cell], cost: Cost | None) -> tuple[np.ndarray, np.ndarray]:
    """Logarithms that the seconds are a power law in, and the exponents assumed at first."""
    if cost is not None:
        logs = [[math.log(_positive(cost(cell.settings), cell))] for cell in cells]
        return np.array(logs), np.ones(1)
    columns = []
    for name in cells[0].settings:
        values = [cell.settings[name] for cell in cells]
        if all(isinstance(value, (int, float)) and value > 0 for value in values):
            columns.append(np.log(np.array(values, dtype=float)))
    features = np.column_stack(columns) if columns else np.zeros((len(cells), 0))
    return features, np.zeros(features.shape[1])


def _positive(cost: float, cell: Cell) -> float:
    if not (cost > 0 and math.isfinite(cost)):
        raise ValueError(
            f"cost must be positive and finite for every cell; got {cost!r} for {cell}"
        )
    return cost
