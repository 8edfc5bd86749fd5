"""Watching a solver that keeps no history of its own: a problem that takes notes."""

from __future__ import annotations

import math
from typing import Any

from riemtr.compare.watched_cost import WatchedCost, WatchedPoint
from riemtr.problem import Clock, Counts, Evaluation, Problem
from riemtr.problem.books import is_known

Row = tuple[float, float, float, Counts]
"""Seconds, cost, gradient norm and counts at one point of a run."""


class WatchedProblem(Problem):
    """A problem that counts and times whatever a solver asks of it.

    A point gets a row of notes if the solver asks for the gradient there: seconds and counts at the
    moment the gradient is known, as in riemtr's own histories, and not when the solver leaves the
    point, perhaps after a look at its curvature. Easier versions of the cost count as well, but no
    notes are taken of their points.
    """

    def __init__(self, problem: Problem):
        self.__dict__.update(problem.__dict__)
        self.counts = Counts()  # all calls so far
        self.cost = WatchedCost(problem.cost, self.counts, self._stamp)
        self.watch = Clock()
        self.rows: list[Row] = []
        self._last: Evaluation | None = None
        self._when: tuple[float, Counts] | None = None  # the gradient there became known

    def at(
        self, point: Any, counts: Counts | None = None, clock: Clock | None = None
    ) -> Evaluation:
        """Return the evaluation at a point; what it asks of the cost counts here as well."""
        self.note()
        self._last = super().at(point, counts, clock)
        return self._last

    def begin(self) -> None:
        """Start the clock anew."""
        self.watch = Clock()

    def _stamp(self, point: WatchedPoint) -> None:
        seconds = self.watch.seconds
        with self.watch.paused():
            # Not of the points around it that differences are taken of.
            if self._last is not None and vars(self._last).get("_local") is point:
                self._when = seconds, self.counts.snapshot()

    def note(self) -> None:
        """Complete the notes of the last point, off the clock."""
        here, when = self._last, self._when
        self._last = self._when = None
        if here is None or when is None or not is_known(here, "gradient"):
            return
        with self.watch.paused():
            cost = here.cost if is_known(here, "cost") else math.nan
            self.rows.append((when[0], cost, here.gradient_norm, when[1]))
