"""Watching a pymanopt optimizer at work: the history of its run, and a way to stop it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from riemtr.interop.pymanopt_problem import Oracles
from riemtr.problem import Counts, Evaluation, Problem
from riemtr.solvers import Iteration, Reason, Status, StoppingCriterion
from riemtr.solvers.iteration import Observer, history_row
from riemtr.solvers.stopwatch import Stopwatch


class Stop(Exception):
    """Unwinds a pymanopt optimizer that was asked to stop."""

    def __init__(self, reason: Reason):
        super().__init__(str(reason))
        self.reason = reason


class Record:
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
        self.problem = problem
        self.counts = counts
        self.watch = Stopwatch()
        self.rows: list[tuple[Any, ...]] = []
        self.point: Any = None  # the last iterate
        self._recorded = Counts()  # when it was reached
        self._oracles = oracles
        self._populous = populous
        self._stop = stop
        self._observers = observers
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
        counts, seconds = self.counts.snapshot(), self.watch.seconds
        with self.watch.paused():
            self.point, self._recorded = point, counts
            iteration = self._iteration(self._seen(point, gradient), counts, seconds)
            self.rows.append(history_row(iteration))
            reason = None if self._stop is None else self._stop.check(iteration)
            for observer in self._observers:
                if observer(iteration):
                    reason = reason or Reason(Status.STOPPED, "by an observer")
        if reason is not None:
            raise Stop(reason)

    def _seen(self, point: Any, gradient: Any) -> Evaluation:
        """Return the evaluation at a point, filled with what the optimizer has just seen there."""
        here = self.problem.at(point)
        known, cost = self._evaluated
        if known is point:
            here.__dict__["cost"] = cost
        if gradient is not None:
            here.__dict__["gradient"] = gradient
        return here

    def _iteration(self, here: Evaluation, counts: Counts, seconds: float) -> Iteration:
        return Iteration(
            number=len(self.rows),
            stage=0,
            here=here,
            radius=math.nan,
            step=None,
            ratio=math.nan,
            accepted=True,
            escaped=False,
            seconds=seconds,
            counts=counts,
        )

    def complete(self, start: Any, end: Evaluation, seconds: float) -> list[tuple[Any, ...]]:
        """Return the rows, the start (if it was not seen) and the end included."""
        if not self.rows:
            self.rows.append(history_row(self._iteration(self.problem.at(start), Counts(), 0.0)))
        if self.point is not end.point or self._recorded != self.counts:
            self.rows.append(history_row(self._iteration(end, self.counts.snapshot(), seconds)))
        return self.rows
