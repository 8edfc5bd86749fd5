"""Optimizers of others, watched: a history of their run, ways to stop it, an honest status.

They know nothing of observers and stopping criteria, nor of curvature. What they show of themselves
are the points at which they ask for something; each iterate among those is noted here, and the run
is unwound by an exception when it is to stop.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from riemtr.problem import Clock, Counts, Evaluation
from riemtr.problem.books import provide
from riemtr.solvers.certificate import MINIMIZER, UNRESOLVED
from riemtr.solvers.iteration import Iteration, Observer, history_row, stops
from riemtr.solvers.result import Result
from riemtr.solvers.status import Reason, Status
from riemtr.solvers.stopping import StoppingCriterion


class Stop(Exception):
    """Unwinds an optimizer that is to stop."""

    def __init__(self, reason: Reason):
        super().__init__(str(reason))
        self.reason = reason


class Recorder:
    """The history of a run, with observers and a stopping criterion.

    Parameters
    ----------
    counts : Counts
        What the optimizer has asked for so far, kept by whoever answers it.
    stop : StoppingCriterion or None
    observers : sequence of callables
    """

    def __init__(
        self, counts: Counts, stop: StoppingCriterion | None, observers: Sequence[Observer]
    ):
        self.counts = counts
        self.clock = Clock()
        self.rows: list[tuple[Any, ...]] = []
        self._stop = stop
        self._observers = observers

    def note(self, here: Evaluation) -> None:
        """Take note of an iterate; raise :class:`Stop` where the run is to end."""
        counts, seconds = self.counts.snapshot(), self.clock.seconds
        with self.clock.paused():
            iteration = self.add(here, counts, seconds)
            reason = None if self._stop is None else self._stop.check(iteration)
            for observer in self._observers:
                if stops(observer, iteration):
                    reason = reason or Reason(Status.STOPPED, "by an observer")
        if reason is not None:
            raise Stop(reason)

    def add(self, here: Evaluation, counts: Counts, seconds: float) -> Iteration:
        """Append a row, without step and radius, which only the optimizer knows."""
        iteration = Iteration(
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
        self.rows.append(history_row(iteration))
        return iteration


def certified(result: Result) -> Result:
    """Return the result of a run that stopped on the gradient norm, after a look at the curvature.

    It has converged only where the certificate says "minimizer".
    """
    if result.status is not Status.FIRST_ORDER:
        return result
    known = {MINIMIZER: Status.CONVERGED, UNRESOLVED: Status.UNRESOLVED}
    status = known.get(result.certificate.verdict, result.status)
    found = replace(result, reason=Reason(status, result.reason.detail))
    provide(found, certificate=result.certificate)
    return found
