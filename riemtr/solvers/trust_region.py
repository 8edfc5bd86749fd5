"""Trust-region methods: one solver for all of them, which differ in the parts they pass.

The loop itself is in :mod:`riemtr.solvers.descent`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from riemtr.arguments import members, missing_members
from riemtr.manifolds import retraction
from riemtr.problem import Evaluation, Problem, as_problem
from riemtr.solvers.acceptance import AcceptanceRule, RatioTest
from riemtr.solvers.arguments import check_limits, checked_observers, start_point
from riemtr.solvers.certificate import Tolerances, check_tolerances, default_tolerances
from riemtr.solvers.descent import Descent
from riemtr.solvers.iteration import Observer
from riemtr.solvers.observers import showing
from riemtr.solvers.radius import AdaptiveRadius, RadiusPolicy
from riemtr.solvers.result import Result
from riemtr.solvers.status import Reason, Status
from riemtr.solvers.stopping import (
    GradientNorm,
    MaxIterations,
    MaxSeconds,
    SecondOrder,
    StoppingCriterion,
)
from riemtr.subproblem import SubproblemSolver, TruncatedCG

WarmUp = Callable[[Problem], Iterable[tuple[Problem, float]]]

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
        for name, kind, example in (
            ("subproblem", SubproblemSolver, "riemtr.TruncatedCG()"),
            ("radius", RadiusPolicy, "riemtr.FixedRadius(0.1)"),
            ("acceptance", AcceptanceRule, "riemtr.RatioTest()"),
        ):
            part = getattr(self, name)
            missing = missing_members(part, kind)
            if isinstance(part, type) or missing:
                asked = ", ".join(members(kind))
                lacks = f", which lacks {', '.join(missing)}" if missing else ""
                raise ValueError(
                    f"{name} must be a part with {asked}, such as {example}; got {part!r}{lacks}"
                )
        for name, example in (
            ("move", "riemtr.manifolds.retraction"),
            ("warm_up", "riemtr.solvers.continuation"),
        ):
            if not callable(getattr(self, name)):
                raise ValueError(
                    f"{name} must be a function, such as {example}; got {getattr(self, name)!r}"
                )
        check_tolerances(self.tolerance, self.curvature_tolerance)
        check_limits(self.max_iterations, self.max_seconds)

    def __repr__(self) -> str:
        from riemtr.solvers.presets import constructor_of  # made of what is defined here

        make, options = constructor_of(self)
        shown = (f"{name}={getattr(v, '__name__', repr(v))}" for name, v in options.items())
        return f"{make.__name__}({', '.join(shown)})"

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

        Ctrl-C ends the run, not the program: the result is then the best point so far, with the
        status ``INTERRUPTED``, which a loop over several solves has to look at.

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
        problem.refresh()
        observers = checked_observers(stop, observers)
        point = start_point(problem, start, rng)
        tolerances = default_tolerances(
            problem.precision(point), self.tolerance, self.curvature_tolerance
        )
        budget: StoppingCriterion = MaxIterations(self.max_iterations)
        if math.isfinite(self.max_seconds):
            budget = budget | MaxSeconds(self.max_seconds)
        goal: StoppingCriterion = SecondOrder(tolerances.gradient, tolerances.curvature) | budget
        if stop is not None:
            goal = goal | stop
            # What the user asks of the cost is not meant for the easier ones on the way.
            budget = budget | stop.budget if stop.budget else budget
        run = Descent(self, tolerances, observers)
        try:
            with showing(observers):
                reason = self._stages(run, problem, point, goal, budget)
        except KeyboardInterrupt:
            if not run.rows:
                raise
            reason = Reason(Status.INTERRUPTED)
        if stop is not None and reason.converged and not _is_solution(run.best, tolerances):
            reason = Reason(Status.STOPPED, "second-order point to the tolerances of stop")
        elif reason.converged and run.number == 0 and start is None:
            size = run.best.gradient_norm
            reason = replace(
                reason,
                detail=f"already where it began, with a gradient norm of {size:.1e}: tolerances "
                "are absolute, lower them if the cost is small",
            )
        return run.result(problem, reason)

    def _stages(
        self,
        run: Descent,
        problem: Problem,
        point: Any,
        goal: StoppingCriterion,
        budget: StoppingCriterion,
    ) -> Reason:
        """Descend on the easier problems, then on the problem itself."""
        for easier, tolerance in self.warm_up(problem):
            enough = GradientNorm(max(tolerance, run.tolerances.gradient))
            reason = run.descend(easier, point, enough | budget)
            if reason.status in _OUT_OF_BUDGET:
                return reason
            point = run.best.point
            run.stage += 1
        return run.descend(problem, point, goal)


def _is_solution(here: Evaluation, tolerances: Tolerances) -> bool:
    """Whether a point that some criterion calls a solution is one to the solver's tolerances."""
    small = here.gradient_norm <= tolerances.gradient
    return small and here.is_positive_to(tolerances.curvature) is True
