"""The trust-region loop: one loop for every method, which differ in the parts they pass.

One iteration: the stopping criterion looks at the current point; the subproblem solver proposes a
step; the move takes it to the manifold; the acceptance rule compares the cost there with the
model's prediction; the radius policy draws its conclusion.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from riemtr.errors import NonFiniteHessianError, OutOfTimeError
from riemtr.manifolds import has_left, is_bounded, typical_distance
from riemtr.problem import Counts, Evaluation, Problem
from riemtr.problem.cost_differences import OFF_DOMAIN, UNFINISHED, contradicting_slope
from riemtr.problem.layout import like
from riemtr.solvers.acceptance import Verdict
from riemtr.solvers.arguments import check_beginning
from riemtr.solvers.certificate import Tolerances
from riemtr.solvers.consistency import Consistency
from riemtr.solvers.iteration import Iteration, Observer, history_row, stops
from riemtr.solvers.result import Result
from riemtr.solvers.status import Reason, Status
from riemtr.solvers.stopping import StoppingCriterion
from riemtr.solvers.stopwatch import Stopwatch
from riemtr.subproblem import Step

if TYPE_CHECKING:
    from riemtr.solvers.trust_region import TrustRegion

# Iterations without a lower cost or a clearly smaller gradient before a run is called off.
_PATIENCE = 50
# How far, over its first value, a cost may fall on an unbounded manifold before it has no bottom,
# and how far points may go, in double and in single precision.
_ABYSS = 1e30
_FAR, _FAR_IN_SINGLE = 1e100, 1e12
# Gradient norm, over its tolerance, from which on rounding is no excuse for a lack of progress.
_STEEP = 1e4
# Share of a point's size that a first step may have.
_SHORTEST = 1e-6
# Roundings that a cost may be off by.
_ROUNDINGS = 10
# What stands for the judgement of a step before the first one, and of one to where nothing is.
_AT_START = Verdict(math.nan, True)
_NOWHERE = Verdict(-math.inf, False)
# How a run ends at a point of vanishing gradient, which is then the result.
_CRITICAL = (Status.CONVERGED, Status.FIRST_ORDER, Status.UNRESOLVED, Status.INCONSISTENT)

# How it ends where it matters whether the cost changes as its gradient says.
_DOUBTED = (Status.CONVERGED, Status.MAX_ITERATIONS, Status.CYCLING, Status.STALLED)


class Descent:
    """The mutable state of one call of ``solve``."""

    def __init__(self, solver: TrustRegion, tolerances: Tolerances, observers: Sequence[Observer]):
        self.solver = solver
        self.tolerances = tolerances
        self.observers = observers
        self.counts = Counts()
        self.watch = Stopwatch()
        self.rows: list[tuple[Any, ...]] = []
        self.number = 0
        self.stage = 0
        self.radius: float | None = None
        self.step: Step | None = None
        self.best: Any = None
        self._last: Any = None  # iteration
        self._seconds = math.inf  # to take
        self._refusal = ""  # what was raised at the last step tried
        self.consistency = Consistency()

    def descend(self, problem: Problem, point: Any, criterion: StoppingCriterion) -> Reason:
        """Run the loop on one problem until the criterion or a lack of progress ends it."""
        solver = self.solver
        self._seconds = criterion.max_seconds
        here = self._start(problem, point)
        limit = solver.radius.limit(problem)
        radius = self._first_radius(here, limit) if self.radius is None else self.radius
        smallest = here.precision * typical_distance(problem.manifold)
        scale = min(1.0, abs(here.cost))
        bounds = None if is_bounded(problem.manifold) else _Bounds(here)
        progress = _Progress(here)
        iteration = self._iteration(here, radius)
        while True:
            wish = self._record(iteration)
            reason = criterion.check(iteration) or wish
            if reason is None and bounds is not None:
                reason = bounds.left(here)
            if reason is None and (progress.idle >= _PATIENCE or radius < smallest):
                reason = self._no_progress(progress, radius)
            step = self._propose(here, radius) if reason is None else reason
            if isinstance(step, Reason):
                self.radius = radius
                return self._ended(step, here)
            escaping = here.gradient_norm <= self.tolerances.gradient
            # Rounding of the point itself changes the cost by that of its Euclidean gradient.
            noise = here.precision * max(abs(here.cost), scale, here.conversion_size)
            there, verdict = self._attempt(here, step, noise)
            radius = min(solver.radius.update(radius, verdict, step), limit)
            if verdict.accepted:
                self.consistency.note(here, there, step, noise)
                here.release()
                here = there
                if _is_better(here, self.best, noise):
                    self.best = here
            progress.note(here)
            self.number += 1
            iteration = self._iteration(here, radius, step, verdict, escaping)

    def _first_radius(self, here: Evaluation, limit: float) -> float:
        radius = self.solver.radius.initial(here.problem)
        if not self.solver.radius.adapts or is_bounded(here.manifold):
            return radius
        # Far out, shorter steps would drown in the rounding of the point.
        return min(max(radius, _SHORTEST * here.reach(here.gradient)), limit)

    def _propose(self, here: Evaluation, radius: float) -> Step | Reason:
        """Return a step, or why there is none."""
        try:
            self.step = step = self.solver.subproblem.solve(here, radius, self.step)
        except (np.linalg.LinAlgError, NonFiniteHessianError) as error:
            return Reason(Status.STALLED, f"no step: {error}")
        except OutOfTimeError as error:
            return Reason(Status.MAX_SECONDS, str(error))
        return step if step.norm > 0.0 else Reason(Status.STALLED, "the model has no descent left")

    def _ended(self, reason: Reason, here: Evaluation) -> Reason:
        """Return why the run really ended at a point, which may be the result."""
        if reason.status in _DOUBTED and self.consistency.is_broken:
            reason = _in_doubt(reason)
        if reason.status in _CRITICAL:
            self.best = here
        return reason

    def _attempt(self, here: Evaluation, step: Step, noise: float) -> tuple[Any, Verdict]:
        """Take a step, and judge it by what is found there."""
        try:
            moved = like(self.solver.move(here.manifold, here.point, step.vector), here.point)
            if has_left(here.manifold, moved):
                return None, _NOWHERE
            there = here.problem.at(moved, self.counts)
            there.follow(here)
            verdict = self.solver.acceptance.judge(here, there, step, noise)
            if verdict.accepted and not math.isfinite(there.gradient_norm):
                verdict = _NOWHERE
        except UNFINISHED:
            raise
        except OFF_DOMAIN as error:
            self._refusal = f"{type(error).__name__}: {error}"
            return None, _NOWHERE
        self._refusal = ""
        return there, verdict

    def _start(self, problem: Problem, point: Any) -> Evaluation:
        here = problem.at(point, self.counts)
        if self.best is not None:  # of an earlier stage
            here.follow(self.best)
        if self._seconds < math.inf:
            here.is_out_of_time = self._is_out_of_time
        self.best = here
        check_beginning(here)
        return here

    def _is_out_of_time(self) -> bool:
        return self.watch.seconds >= self._seconds

    def _iteration(
        self,
        here: Evaluation,
        radius: float,
        step: Step | None = None,
        verdict: Verdict = _AT_START,
        escaping: bool = False,
    ) -> Iteration:
        return Iteration(
            self.number,
            self.stage,
            here,
            radius,
            step,
            verdict.ratio,
            verdict.accepted,
            escaping and verdict.accepted,
            self.watch.seconds,
            self.counts.snapshot(),
        )

    def _record(self, iteration: Iteration) -> Reason | None:
        self.rows.append(history_row(iteration))
        self._last = iteration
        reason = None
        if self.observers:
            with self.watch.paused():
                for observer in self.observers:
                    if stops(observer, iteration):
                        reason = Reason(Status.STOPPED, "by an observer")
        return reason

    def _no_progress(self, progress: _Progress, radius: float) -> Reason:
        if self._refusal:
            return Reason(Status.STALLED, f"wherever it looked it met {self._refusal}")
        best, size = self.best, self.best.gradient_norm
        rounding = best.precision * max(abs(best.cost), best.conversion_size)
        steep = size > _STEEP * max(self.tolerances.gradient, rounding)
        why = f"no step against a gradient of norm {size:.1e} lowers the cost"
        if steep and contradicting_slope(best) is not None:
            return Reason(Status.INCONSISTENT, f"{why}: is its sign right?")
        if progress.idle < _PATIENCE:
            shrank = f"the radius shrank to {radius:.1e}"
            return Reason(Status.STALLED, f"{why}: is it smooth?" if steep else shrank)
        limited = self.step is not None and self.step.on_boundary
        cycling = (limited or steep) and not self.solver.radius.adapts
        return Reason(
            Status.CYCLING if cycling else Status.STALLED,
            f"no progress in {_PATIENCE} iterations",
        )

    def result(self, problem: Problem, reason: Reason) -> Result:
        """Assemble the result."""
        seconds, counts = self.watch.seconds, self.counts.snapshot()
        # With what the decision to stop has cost.
        self.rows[-1] = history_row(self._last._replace(counts=counts))
        if reason.status is not Status.MAX_SECONDS:
            self._seconds = math.inf  # for certificates, which are off the clock
        best = self.best
        if best.problem is not problem:  # interrupted while warming up
            best = problem.at(best.point)
        return Result(
            point=best.point,
            cost=best.cost,
            gradient_norm=best.gradient_norm,
            iterations=self.number,
            seconds=seconds,
            reason=reason,
            counts=counts,
            rows=self.rows,
            solver=self.solver,
            evaluation=best,
            tolerances=self.tolerances,
        )


def _in_doubt(reason: Reason) -> Reason:
    """Return the reason of a run along which the cost did not change as its gradient says."""
    if reason.converged:
        return Reason(Status.INCONSISTENT)
    doubt = "the cost does not change as its gradient says: see check_gradient"
    return Reason(reason.status, f"{reason.detail}; {doubt}" if reason.detail else doubt)


def _is_better(here: Evaluation, best: Evaluation, noise: float) -> bool:
    """Whether the cost is lower, or the same to rounding and the gradient smaller."""
    noise *= _ROUNDINGS
    if here.cost < best.cost - noise or not math.isfinite(best.cost):
        return True
    return here.cost <= best.cost + noise and here.gradient_norm <= best.gradient_norm


class _Bounds:
    """What a run on an unbounded manifold may not leave if the cost is to have a minimum."""

    def __init__(self, here: Evaluation):
        self.bottom = -_ABYSS * max(1.0, abs(here.cost))
        far = _FAR if here.precision < 1e-12 else _FAR_IN_SINGLE
        self.end = far * max(1.0, here.largest_entry(here.point))

    def left(self, here: Evaluation) -> Reason | None:
        """Return that a point is beyond them."""
        if here.cost < self.bottom:
            return Reason(Status.UNBOUNDED, f"it fell to {here.cost:.1e}")
        size = here.largest_entry(here.point)
        if size > self.end:
            return Reason(Status.UNBOUNDED, f"entries of the point grew to {size:.0e}")
        return None


class _Progress:
    """How long ago the cost or the gradient was last improved."""

    def __init__(self, here: Evaluation):
        self.cost = here.cost
        self.gradient_norm = here.gradient_norm
        self.idle = 0

    def note(self, here: Evaluation) -> None:
        lower = here.cost < self.cost - here.precision * abs(self.cost)
        flatter = here.gradient_norm < 0.9 * self.gradient_norm
        self.idle = 0 if lower or flatter else self.idle + 1
        self.cost = min(self.cost, here.cost)
        self.gradient_norm = min(self.gradient_norm, here.gradient_norm)
