"""Watching a solver that keeps no history of its own: a problem that takes notes."""

from __future__ import annotations

import math
from typing import Any

from riemtr.compare.watched_cost import WatchedCost
from riemtr.problem import Counts, Evaluation, Problem
from riemtr.problem.lazy import is_known
from riemtr.solvers.stopwatch import Stopwatch

Row = tuple[float, float, float, Counts]
"""Seconds, cost, gradient norm and counts at one point of a run."""


class WatchedProblem(Problem):
    """A problem that counts and times whatever a solver asks of it.

    Notes of a point are taken when the solver goes on to the next one, if it had asked for the
    gradient there: seconds, cost, gradient norm, and the counts so far. Easier versions of the
    cost count as well, but no notes are taken of their points.
    """

    def __init__(self, problem: Problem):
        self.__dict__.update(problem.__dict__)
        self.counts = Counts()  # all calls so far
        self.cost = WatchedCost(problem.cost, self.counts)
        self.watch = Stopwatch()
        self.rows: list[Row] = []
        self._last: Evaluation | None = None

    def at(self, point: Any, counts: Counts | None = None) -> Evaluation:
        """Return the evaluation at a point; what it asks of the cost counts here as well."""
        self.note()
        self._last = super().at(point, counts)
        return self._last

    def begin(self) -> None:
        """Start the clock anew."""
        self.watch = Stopwatch()

    def note(self) -> None:
        """Take notes of the last point."""
        here = self._last
        if here is None or not is_known(here, "gradient"):
            return
        seconds = self.watch.seconds
        with self.watch.paused():
            cost = here.cost if is_known(here, "cost") else math.nan
            self.rows.append((seconds, cost, here.gradient_norm, self.counts.snapshot()))
            self._last = None
