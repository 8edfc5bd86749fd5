"""Watching a solver that keeps no history of its own: a problem that takes notes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from riemtr.compare.watched_cost import WatchedCost
from riemtr.problem import Counts, Evaluation, Problem
from riemtr.problem.lazy import is_known
from riemtr.solvers.stopwatch import Stopwatch

Row = tuple[float, float, float, Counts]
"""Seconds, cost, gradient norm and counts at one point of a run."""


class _AsksItself:
    """An evaluation that counts what it asks for: it asks the cost, and not one that counts too."""

    def __init__(self, *where: Any):  # as points nearby are made, for differences
        super().__init__(*where)
        self._local: Any = self._local.watched


_KINDS: dict[type, type] = {}


def _asking_itself(kind: type) -> type:
    if kind not in _KINDS:
        _KINDS[kind] = type(f"Watched{kind.__name__}", (_AsksItself, kind), {})
    return _KINDS[kind]


class WatchedProblem(Problem):
    """A problem that counts and times whatever a solver asks of it.

    Notes of a point are taken when the solver goes on to the next one, if it had asked for the
    gradient there: seconds, cost, gradient norm, and the counts so far.
    """

    def __init__(self, problem: Problem):
        self.__dict__.update(problem.__dict__)
        cost = problem.cost.watched if isinstance(problem.cost, WatchedCost) else problem.cost
        self.cost = WatchedCost(cost, lambda: self._own)
        self.watch = Stopwatch()
        self.rows: list[Row] = []
        self._own = Counts()
        self._books: list[Counts] = [self._own]
        self._last: Evaluation | None = None

    def at(self, point: Any, counts: Counts | None = None) -> Evaluation:
        """Return the evaluation at a point, whose calls are counted wherever else they are."""
        self.note()
        counts = self._own if counts is None else counts
        if all(counts is not book for book in self._books):
            self._books.append(counts)
        here = super().at(point, counts)
        # Not made anew: a cost may have done the work of the point already.
        here.__class__ = _asking_itself(type(here))
        here._local = here._local.watched
        self._last = here
        return here

    def easier(self) -> Iterator[tuple[Problem, float]]:
        """Yield the easier versions, whose calls count here; notes are of the problem itself."""
        for problem, tolerance in super().easier():
            watched = WatchedProblem(problem)
            watched.watch, watched._own, watched._books = self.watch, self._own, self._books
            yield watched, tolerance

    def begin(self) -> None:
        """Start the clock anew."""
        self.watch = Stopwatch()

    @property
    def counts(self) -> Counts:
        """All calls so far."""
        return Counts(
            *(sum(column) for column in zip(*(vars(b).values() for b in self._books), strict=True))
        )

    def note(self) -> None:
        """Take notes of the last point."""
        here = self._last
        if here is None or not is_known(here, "gradient"):
            return
        seconds = self.watch.seconds
        with self.watch.paused():
            cost = here.cost if is_known(here, "cost") else math.nan
            self.rows.append((seconds, cost, here.gradient_norm, self.counts))
            self._last = None
