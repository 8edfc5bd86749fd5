"""The trust-region loop: one loop for every method, which differ in the parts they pass.

One iteration: the stopping criterion looks at the current point; the subproblem solver proposes a
step; the move takes it to the manifold; the acceptance rule compares the cost there with the
model's prediction; the radius policy draws its conclusion.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from riemtr.errors import NonFiniteCostError
from riemtr.manifolds import random_point, retraction, typical_distance
from riemtr.problem import Counts, Evaluation, Problem, as_problem
from riemtr.problem.points import check_point
from riemtr.solvers.acceptance import AcceptanceRule, RatioTest
from riemtr.solvers.certificate import Tolerances, default_tolerances
from riemtr.solvers.iteration import Iteration, history_row
from riemtr.solvers.radius import AdaptiveRadius, RadiusPolicy
from riemtr.solvers.result import Result
from riemtr.solvers.status import Reason, Status
from riemtr.solvers.stopping import (
    GradientNorm,
    MaxIterations,
    MaxProducts,
    MaxSeconds,
    SecondOrder,
    StoppingCriterion,
)
from riemtr.solvers.stopwatch import Stopwatch
from riemtr.subproblem import Step, SubproblemSolver, TruncatedCG

Observer = Callable[[Iteration], Any]
WarmUp = Callable[[Problem], Iterable[tuple[Problem, float]]]

# Iterations without a lower cost or a clearly smaller gradient before a run is called off.
_PATIENCE = 50
# Roundings that a cost may be off by.
_ROUNDINGS = 10
_OUT_OF_BUDGET = (Status.MAX_ITERATIONS, Status.MAX_SECONDS, Status.STOPPED)


def no_warm_up(problem: Problem) -> Iterable[tuple[Problem, float]]:
    """Solve the problem as it is."""
    return ()


def continuation(problem: Problem) -> Iterable[tuple[Problem, float]]:
    """Follow the easier versions of the problem that its cost offers, easiest first."""
    return problem.easier()


@dataclass(frozen=True, repr=False)
class TrustRegion:
    """A Riemannian trust-region method, built from parts.

    Parameters
    ----------
    subproblem : SubproblemSolver
        Proposes steps.
    radius : RadiusPolicy
        Chooses how far to trust the model.
    acceptance : AcceptanceRule
        Decides which steps to take.
    move : callable
        ``move(manifold, point, vector)``: :func:`riemtr.manifolds.retraction` or
        :func:`riemtr.manifolds.exponential`.
    warm_up : callable
        Yields easier problems to pass through first, each with a gradient tolerance:
        :func:`continuation` or :func:`no_warm_up`.
    tolerance : float or None
        Gradient norm of a solution; 1e-6 by default (1e-3 in float32).
    curvature_tolerance : float or None
        Negative curvature that a solution may have; 1e-6 by default (1e-3 in float32).
    max_iterations : int
        Steps to try at most.
    max_seconds : float
        Time to take at most.

    Examples
    --------
    >>> import riemtr
    >>> case = riemtr.problems.build("rayleigh", rng=0, n=20)
    >>> solver = riemtr.TrustRegion(subproblem=riemtr.ExactSubproblem())
    >>> solver.solve(case.problem, rng=0).certificate.verdict
    'minimizer'
    """

    subproblem: SubproblemSolver = field(default_factory=TruncatedCG)
    radius: RadiusPolicy = field(default_factory=AdaptiveRadius)
    acceptance: AcceptanceRule = field(default_factory=RatioTest)
    move: Callable[[Any, Any, Any], Any] = retraction
    warm_up: WarmUp = no_warm_up
    tolerance: float | None = None
    curvature_tolerance: float | None = None
    max_iterations: int = 1000
    max_seconds: float = math.inf

    def __post_init__(self) -> None:
        for name, method, example in (
            ("subproblem", "solve", "riemtr.TruncatedCG()"),
            ("radius", "initial", "riemtr.FixedRadius(0.1)"),
            ("acceptance", "judge", "riemtr.RatioTest()"),
        ):
            part = getattr(self, name)
            if isinstance(part, type) or not hasattr(part, method):
                raise ValueError(
                    f"{name} must be a part with a method {method}, such as {example}; got {part!r}"
                )
        default_tolerances(1.0, self.tolerance, self.curvature_tolerance)
        if self.max_iterations < 0:
            raise ValueError(f"max_iterations must be at least 0; got {self.max_iterations!r}")
        if not self.max_seconds >= 0.0:
            raise ValueError(f"max_seconds must be at least 0; got {self.max_seconds!r}")

    def __repr__(self) -> str:
        plain = TrustRegion()
        shown = []
        for option in fields(self):
            value = getattr(self, option.name)
            if value != getattr(plain, option.name):
                shown.append(f"{option.name}={getattr(value, '__name__', repr(value))}")
        return f"TrustRegion({', '.join(shown)})"

    def solve(
        self,
        problem: Any,
        start: Any = None,
        *,
        rng: Any = None,
        stop: StoppingCriterion | None = None,
        observers: Sequence[Observer] = (),
    ) -> Result:
        """Minimise the cost from a start.

        Parameters
        ----------
        problem : Problem or pymanopt.Problem
        start : point of the manifold, optional
            Any point, saddles and maximizers included; a random one if not given.
        rng : numpy.random.Generator, int or None
            Source of the random start.
        stop : StoppingCriterion, optional
            A further criterion to stop on.
        observers : sequence of callables
            Each gets every :class:`Iteration`; a true return value stops the run.

        Returns
        -------
        Result
        """
        problem = as_problem(problem)
        if stop is not None and not isinstance(stop, StoppingCriterion):
            raise ValueError(
                "stop must be a StoppingCriterion, such as riemtr.solvers.MaxIterations(10); got "
                f"{stop!r}. For a condition of your own, pass observers=[riemtr.observers.StopWhen("
                "condition)]"
            )
        if not isinstance(observers, Iterable):
            raise ValueError(f"observers must be a list of callables; got {observers!r}")
        if start is None:
            start = random_point(problem.manifold, np.random.default_rng(rng))
            # A float32 cost wants float32 points.
            start = start if problem.dtype is None else start.astype(problem.dtype)
        point = check_point(problem.manifold, start)
        tolerances = default_tolerances(
            problem.precision(point), self.tolerance, self.curvature_tolerance
        )
        budget: StoppingCriterion = MaxIterations(self.max_iterations)
        if math.isfinite(self.max_seconds):
            budget = budget | MaxSeconds(self.max_seconds)
        # What the user asks of the cost is not meant for the easier ones on the way.
        limits = budget if stop is None else budget | stop
        if isinstance(stop, (MaxIterations, MaxSeconds, MaxProducts)):
            budget = limits
        run = _Run(self, tolerances, observers)
        goal = SecondOrder(tolerances.gradient, tolerances.curvature)
        try:
            for easier, tolerance in self.warm_up(problem):
                enough = GradientNorm(max(tolerance, tolerances.gradient))
                reason = run.descend(easier, point, enough | budget)
                if reason.status in _OUT_OF_BUDGET:
                    return run.result(problem, reason)
                point = run.best.point
                run.stage += 1
            reason = run.descend(problem, point, goal | limits)
        except KeyboardInterrupt:
            if run.best is None:
                raise
            reason = Reason(Status.INTERRUPTED)
        if reason.converged and not run.best.gradient_norm <= tolerances.gradient:
            reason = Reason(Status.STOPPED, "second-order point to the tolerances of stop")
        return run.result(problem, reason)


class _Run:
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

    def descend(self, problem: Problem, point: Any, criterion: StoppingCriterion) -> Reason:
        """Run the loop on one problem until the criterion or a lack of progress ends it."""
        solver = self.solver
        here = self._start(problem, point)
        radius = solver.radius.initial(problem) if self.radius is None else self.radius
        limit = solver.radius.limit(problem)
        smallest = here.precision * typical_distance(problem.manifold)
        scale = min(1.0, abs(here.cost))
        progress = _Progress(here)
        iteration = self._iteration(here, radius)
        while True:
            wish = self._record(iteration)
            reason = criterion.check(iteration) or wish
            reason = reason or self._no_progress(progress, radius, smallest)
            if reason is not None:
                self.radius = radius
                if reason.status in (Status.CONVERGED, Status.FIRST_ORDER, Status.UNRESOLVED):
                    self.best = here
                return reason
            escaping = here.gradient_norm <= self.tolerances.gradient
            step = self.step = solver.subproblem.solve(here, radius, self.step)
            if not step.norm > 0.0:
                return Reason(Status.STALLED, "the model has no descent left")
            there = problem.at(solver.move(problem.manifold, here.point, step.vector), self.counts)
            noise = here.precision * max(abs(here.cost), scale)
            verdict = solver.acceptance.judge(here, there, step, noise)
            accepted = verdict.accepted and math.isfinite(there.gradient_norm)
            radius = min(solver.radius.update(radius, verdict, step), limit)
            if accepted:
                here = there
                if _is_better(here, self.best, noise):
                    self.best = here
            elif verdict.accepted:
                radius *= 0.25
            progress.note(here)
            self.number += 1
            iteration = self._iteration(
                here, radius, step, verdict.ratio, accepted, escaping and accepted
            )

    def _start(self, problem: Problem, point: Any) -> Evaluation:
        here = problem.at(point, self.counts)
        self.best = here
        if not (math.isfinite(here.cost) and math.isfinite(here.gradient_norm)):
            raise NonFiniteCostError(
                f"the cost at the start is {here.cost} and its gradient norm "
                f"{here.gradient_norm}: both must be finite; choose another start, or mend the cost"
            )
        return here

    def _iteration(
        self,
        here: Evaluation,
        radius: float,
        step: Step | None = None,
        ratio: float = math.nan,
        accepted: bool = True,
        escaped: bool = False,
    ) -> Iteration:
        return Iteration(
            self.number,
            self.stage,
            here,
            radius,
            step,
            ratio,
            accepted,
            escaped,
            self.watch.seconds,
            self.counts.snapshot(),
        )

    def _record(self, iteration: Iteration) -> Reason | None:
        self.rows.append(history_row(iteration))
        reason = None
        if self.observers:
            with self.watch.paused():
                for observer in self.observers:
                    if observer(iteration):
                        reason = Reason(Status.STOPPED, "by an observer")
        return reason

    def _no_progress(self, progress: _Progress, radius: float, smallest: float) -> Reason | None:
        if progress.idle >= _PATIENCE:
            limited = self.step is not None and self.step.on_boundary
            cycling = limited and not self.solver.radius.adapts
            return Reason(
                Status.CYCLING if cycling else Status.STALLED,
                f"no progress in {_PATIENCE} iterations",
            )
        if radius < smallest:
            return Reason(Status.STALLED, f"the radius shrank to {radius:.1e}")
        return None

    def result(self, problem: Problem, reason: Reason) -> Result:
        """Assemble the result."""
        seconds, counts = self.watch.seconds, self.counts.snapshot()
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


def _is_better(here: Evaluation, best: Evaluation, noise: float) -> bool:
    """Whether the cost is lower, or the same to rounding and the gradient smaller."""
    noise *= _ROUNDINGS
    if here.cost < best.cost - noise or not math.isfinite(best.cost):
        return True
    return here.cost <= best.cost + noise and here.gradient_norm <= best.gradient_norm


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
