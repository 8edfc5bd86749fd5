"""Watching a pymanopt optimizer at work: the history of its run, and a way to stop it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from riemtr.interop.pymanopt_problem import Oracles
from riemtr.problem import Counts, Evaluation, Problem
from riemtr.problem.books import provide
from riemtr.solvers import StoppingCriterion
from riemtr.solvers.foreign import Recorder
from riemtr.solvers.iteration import Observer


class Record(Recorder):
    """Oracles that watch the optimizer: rows of its history, stopping criteria, observers."""

    def __init__(
        self,
        problem: Problem,
        oracles: Oracles,
        counts: Counts,
        populous: bool,
        stop: StoppingCriterion | None,
        observers: Sequence[Observer],
    ):
        super().__init__(counts, stop, observers)
        self.problem = problem
        self.point: Any = None  # the last iterate
        self._recorded = Counts()  # when it was reached
        self._oracles = oracles
        self._populous = populous
        self._evaluated: tuple[Any, float] = (None, math.nan)
        self._lowest = math.inf

    def cost(self, point: Any) -> Any:
        """The cost; a new lowest one makes a row, if the optimizer looks at nothing else."""
        value = self._oracles.cost(point)
        self._evaluated = (point, float(value))
        if self._populous and value < self._lowest:
            self._lowest = float(value)
            self._add(point)
        return value

    def gradient(self, point: Any) -> Any:
        """Riemannian gradient; where an optimizer asks for it is an iterate."""
        gradient = self._oracles.gradient(point)
        self._add(point, gradient)
        return gradient

    def hessian(self, point: Any, vector: Any) -> Any:
        """Riemannian Hessian product."""
        return self._oracles.hessian(point, vector)

    def _add(self, point: Any, gradient: Any = None) -> None:
        self.point, self._recorded = point, self.counts.snapshot()
        with self.clock.paused():
            here = self._seen(point, gradient)
        self.note(here)

    def _seen(self, point: Any, gradient: Any) -> Evaluation:
        """Return the evaluation at a point, filled with what the optimizer has just seen there."""
        here = self.problem.at(point)
        known, cost = self._evaluated
        if known is point:
            provide(here, cost=cost)
        if gradient is not None:
            provide(here, gradient=here.space.pack(gradient))
        return here

    def complete(self, start: Any, end: Evaluation, seconds: float) -> list[tuple[Any, ...]]:
        """Return the rows, the start (if it was not seen) and the end included."""
        if not self.rows:
            self.add(self.problem.at(start), Counts(), 0.0)
        if self.point is not end.point or self._recorded != self.counts:
            self.add(end, self.counts.snapshot(), seconds)
        return self.rows
