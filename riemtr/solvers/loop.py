"""The loop of every method, and the state of one call of ``solve``.

Methods differ in the parts that they pass: subproblem solver, radius policy, acceptance rule, move.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from riemtr.errors import NonFiniteHessianError, OutOfTimeError
from riemtr.problem import Clock, Counts, Evaluation, Problem
from riemtr.problem.differences import OFF_DOMAIN, UNFINISHED, contradicting_bend, line_along
from riemtr.solvers.arguments import check_beginning
from riemtr.solvers.certificate import CLAIM
from riemtr.solvers.iteration import Iteration, Observer, history_row, stops
from riemtr.solvers.judging import Verdict, as_length, from_length
from riemtr.solvers.result import Result
from riemtr.solvers.status import Reason, Status
from riemtr.solvers.stopping import (
    Consistency,
    SecondOrderPoint,
    StoppingCriterion,
    Tolerances,
    flat_directions,
)
from riemtr.subproblem import Model, SecantSubproblem, Step
from riemtr.summary import plural

if TYPE_CHECKING:
    from riemtr.solvers.trust_region import TrustRegion

# Roundings that a cost may be off by.
_ROUNDINGS = 10
# Share of its smallest value to which the gradient must fall to count as progress.
_PROGRESS = 0.9
# Central differences of gradients: this many for a Hessian product.
_GRADIENTS_PER_DIFFERENCE = 2
# The judgement before the first step.
_AT_START = Verdict(math.nan, True)
# The judgement of a step to where the cost is not defined.
_NOWHERE = Verdict(-math.inf, False)
# Statuses of a run that ends at a point of vanishing gradient, which is then the result.
_CRITICAL = (Status.CONVERGED, Status.FIRST_ORDER, Status.UNRESOLVED, Status.INCONSISTENT)


def descend(run: Run, problem: Problem, point: Any, stop: StoppingCriterion) -> Reason:
    """Descend from a point until a criterion says why to stop.

    One iteration: the criteria look at the current point; the subproblem solver proposes a step;
    the move takes it to the manifold; the acceptance rule compares the cost there with the
    prediction of the model; the radius policy draws its conclusion.
    """
    here, radius = run.begin(problem, point)
    while True:
        reason = run.record(here, radius) or stop.check(run.iteration)
        lower = None if reason is None else run.lower_point(here, reason)
        if lower is not None:  # beside a degenerate saddle
            here = lower
        elif reason is not None:
            return run.end(reason, here)
        else:
            step = run.propose(here, radius)
            if isinstance(step, Reason):
                return run.end(step, here)
            there, verdict = run.attempt(here, step)
            radius = min(run.solver.radius.update(radius, verdict, step), run.largest_radius)
            if verdict.accepted:
                here = run.accept(here, there, step)


class Run:
    """What one call of ``solve`` has done and found so far.

    Parameters
    ----------
    solver : TrustRegion
        The parts.
    problem : Problem
        The problem that was asked for; easier ones may be passed on the way.
    tolerances : Tolerances
    observers : sequence of callables
    clock : Clock
        Times the run, and says when its time is up.
    radius : float or None
        Radius of the first step; that of the solver's policy if None.

    Attributes
    ----------
    counts : Counts
    rows : list of tuple
        The history.
    iteration : Iteration
        The current one.
    number : int
        Steps tried.
    stage : int
        Number of the problem in a continuation.
    model : Model or None
        The model of the cost at the last point.
    step : Step or None
        The last step that the model proposed.
    best : Evaluation or None
        The best point so far.
    idle : int
        Iterations since the cost or the gradient was last improved.
    crawled : int
        Steps tried in a row that were short beside the point.
    refusal : str
        The error that the cost raised at the last step tried, in words.
    size : float
        The largest curvature that the last step has met.
    first_cost, first_entry : float
        The cost at the start, and the largest entry of the point.
    largest_radius : float
        The limit of the radius.
    """

    def __init__(
        self,
        solver: TrustRegion,
        problem: Problem,
        tolerances: Tolerances,
        observers: Sequence[Observer],
        clock: Clock,
        radius: float | None = None,
    ):
        self.solver, self.problem, self.tolerances = solver, problem, tolerances
        self.observers, self.clock, self.radius = observers, clock, radius
        self.counts, self.consistency = Counts(), Consistency()
        self.rows: list[tuple[Any, ...]] = []
        self.iteration: Any = None
        self.number = self.stage = self.idle = self.crawled = 0
        self.model: Model | None = None
        self.step: Step | None = None
        self.best: Any = None
        self.refusal = ""
        self.size = self.first_entry = 0.0
        self.first_cost, self.largest_radius = math.nan, math.inf

    def begin(self, problem: Problem, point: Any) -> tuple[Evaluation, float]:
        """Return the evaluation and the radius to begin with."""
        self.best = here = problem.at(point, self.counts, self.clock)
        here.past_sizes = here.sizes(0.0)
        check_beginning(here)
        self.largest_radius = self.solver.radius.limit(here)
        policy = self.solver.radius
        value = (
            policy.initial(here) if self.radius is None else from_length(policy, self.radius, here)
        )
        self.first_cost = here.cost
        self.first_entry = 0.0 if here.manifold.bounded else here.largest_entry
        self._lowest, self._flattest, self.idle = here.cost, here.gradient_norm, 0
        self._tried: Step | None = None
        self._verdict, self._escaping, self._contradiction = _AT_START, False, ""
        return here, value

    def record(self, here: Evaluation, radius: float) -> Reason | None:
        """Note an iteration, and show it to the observers; return their wish to stop, if any."""
        verdict = self._verdict
        self.radius = radius = as_length(self.solver.radius, radius, here)
        self.iteration = Iteration(
            self.number,
            self.stage,
            here,
            radius,
            self._tried,
            verdict.ratio,
            verdict.accepted,
            self._escaping and verdict.accepted,
            self.clock.seconds,
            self.counts.snapshot(),
            self,
        )
        self.rows.append(history_row(self.iteration))
        reason = None
        if self.observers:
            with self.clock.paused():
                for observer in self.observers:
                    if stops(observer, self.iteration):
                        reason = Reason(Status.STOPPED, "by an observer")
        return reason

    def propose(self, here: Evaluation, radius: float) -> Step | Reason:
        """Return a step, or why there is none."""
        bound = self.tolerances.gradient_at(here, self.size)
        # Where a small slope is that of a point far away, no equation is solved well enough.
        self.clock.enough = bound if here.gradient_norm > bound else 0.0
        try:
            if self.model is None or self.model.here is not here:
                self.model = self.solver.subproblem.at(here, self.model)
            step = self.model.step(radius)
        except (np.linalg.LinAlgError, NonFiniteHessianError) as error:
            return Reason(Status.STALLED, f"no step: {error}")
        except OutOfTimeError as error:
            return Reason(Status.MAX_SECONDS, str(error))
        self.step = self._tried = step
        self.size = step.curvature or self.size
        self._escaping = here.gradient_norm <= bound
        return step if step.norm > 0.0 else Reason(Status.STALLED, "the model has no descent left")

    def attempt(self, here: Evaluation, step: Step) -> tuple[Any, Verdict]:
        """Take a step, and judge it by what is found there."""
        self.number += 1
        self.idle += 1
        short = step.norm <= self.tolerances.distance * here.reach(step.vector)
        self.crawled = self.crawled + 1 if short else 0
        self.refusal = ""
        there, self._verdict = None, _NOWHERE
        try:
            there = here.moved(step.vector, self.solver.move)
            if there is not None:
                verdict = self.solver.acceptance.judge(here, there, step)
                if not verdict.accepted or math.isfinite(there.gradient_norm):
                    self._verdict = verdict
        except UNFINISHED:
            raise
        except OFF_DOMAIN as error:
            self.refusal = f"{type(error).__name__}: {error}"
        return there, self._verdict

    def accept(self, here: Evaluation, there: Evaluation, step: Step) -> Evaluation:
        """Go to the point that a step leads to."""
        if not there.manifold.bounded:  # where a point may be of any size
            there.past_sizes = there.sizes(1.0)
        self.consistency.note(here, there, step)
        cost, size, best = there.cost, there.gradient_norm, self.best
        noise = _ROUNDINGS * here.noise
        lower = cost < best.cost - noise or not math.isfinite(best.cost)
        if lower or (cost <= best.cost + noise and size <= best.gradient_norm):
            self.best = there
        lower = cost < self._lowest - there.precision * abs(self._lowest)
        if lower or size < _PROGRESS * self._flattest:
            self.idle = 0
        self._lowest, self._flattest = min(self._lowest, cost), min(self._flattest, size)
        return there

    def lower_point(self, here: Evaluation, reason: Reason) -> Evaluation | None:
        """Return a lower point along a flat direction of a point that seems to be a solution.

        At a degenerate saddle, as that of x^2 - y^4, no second derivative is negative.
        """
        over = self.clock.expired or self.number >= self.solver.max_iterations
        if reason.status is not Status.CONVERGED or over:
            return None
        place, known = 0.0, here.curvature
        tolerated = known.tolerated(self.tolerances.curvature)
        for number, (direction, begin) in enumerate(flat_directions(here, self.tolerances)):
            line = line_along(here, direction)
            if number == 0:
                # What the gradient says along it is compared as well: a wrong one vanishes, too.
                image = known.image if direction is known.direction else None
                bend = here.inner(direction, here.hessian(direction) if image is None else image)
                slope = self.tolerances.slope_at(here, direction, bend, self.size)
                self._contradiction = contradicting_bend(line, bend, slope, tolerated)[0]
            place = line.first_fall(0.0, begin=begin)
            if place and number == 0:  # by more than on the last bit of the way
                decrease = self.tolerances.nearness(here).decrease
                place = line.first_fall(CLAIM.minimum * decrease, begin=begin)
            if place:
                break
        if not place:
            return None
        place = line.followed(place)
        self._contradiction = ""
        there = here.moved(place * line.direction, self.solver.move)
        if there is None or not math.isfinite(there.gradient_norm):
            return None
        self.number += 1
        self.model, self.step, self._tried, self.best = None, None, None, there
        self._verdict, self._escaping = _AT_START, True
        return there

    def end(self, reason: Reason, here: Evaluation) -> Reason:
        """Return why the run really ended at a point, which may be the result."""
        if reason.status is Status.STALLED:
            reason = self._at_rounding(reason)
            here = self.best
        if reason.status is Status.CONVERGED and self._contradiction:
            reason = Reason(Status.INCONSISTENT, self._contradiction)
        reason = self.consistency.confirmed(reason)
        if reason.status in _CRITICAL:
            self.best = here
        return reason

    def _at_rounding(self, reason: Reason) -> Reason:
        """Return what the best point is, where rounding lets nothing get any smaller."""
        best, tolerances = self.best, self.tolerances
        if not (tolerances.relative and best.problem is self.problem and self.refusal == ""):
            return reason
        if not math.isfinite(best.gradient_norm):
            return reason
        try:
            size = best.curvature.measured_size()
        except (np.linalg.LinAlgError, NonFiniteHessianError, OutOfTimeError):
            return reason
        if not best.gradient_norm <= best.newton.rounding_of(size):
            return reason
        if self.solver.goal == "first-order":
            if not best.newton.seems_far(tolerances.distance):
                return Reason(Status.FIRST_ORDER)
        else:
            settled = SecondOrderPoint(tolerances).at_small_gradient(best)
            if settled is not None and settled.status is not Status.UNRESOLVED:
                return settled
        nearness = tolerances.nearness(best)
        away = f"as far as rounding lets it be known, the minimizer is {nearness.in_words}"
        return replace(reason, detail=f"{reason.detail}; {away}" if reason.detail else away)

    def result(self, reason: Reason) -> Result:
        """Assemble the result."""
        seconds, counts = self.clock.seconds, self.counts.snapshot()
        # The last row counts what the decision to stop has cost, in calls and in time.
        self.rows[-1] = history_row(self.iteration._replace(counts=counts, seconds=seconds))
        if reason.status is not Status.MAX_SECONDS:
            self.clock.limit = math.inf  # certificates are off the clock
        best = self.best
        if best.problem is not self.problem:  # interrupted while warming up
            best = self.problem.at(best.point)
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
            size=self.size,
            remark=self._remark(counts),
        )

    def _remark(self, counts: Counts) -> str:
        """Return what a method without Hessian products would have saved, if anything."""
        best = self.best
        known = best.known_curvature
        products = counts.hessian_products - (0 if known is None else known.products)
        secant = isinstance(self.solver.subproblem, SecantSubproblem)
        if secant or products <= 0 or best.hessian_kind != "differences":
            return ""
        gradients = _GRADIENTS_PER_DIFFERENCE * products
        return (
            f"there is no Hessian: {gradients} of the {counts.gradients} gradients went into "
            f"differences for the products of {plural(self.number, 'step')}. riemtr.LBFGS() takes "
            "none of them: one gradient for each of its steps, of which it needs more"
        )
