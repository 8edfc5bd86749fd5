"""Trust-region methods: one solver for all of them, which differ in the parts they pass.

The loop, and the state of a run, are in :mod:`riemtr.solvers.loop`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

from riemtr.arguments import members, missing_members, names_instead
from riemtr.manifolds import TangentSpace, exponential, retraction
from riemtr.manifolds.manifold import P
from riemtr.problem import Clock, Problem, as_problem
from riemtr.solvers.arguments import check_limits, checked_observers, start_point
from riemtr.solvers.iteration import Observer
from riemtr.solvers.judging import (
    AcceptanceRule,
    AdaptiveRadius,
    AdaptiveWeight,
    AlwaysAccept,
    FixedRadius,
    RadiusPolicy,
    RatioTest,
    SlopeRatioTest,
    check_measure,
)
from riemtr.solvers.loop import Run, descend
from riemtr.solvers.observers import showing
from riemtr.solvers.result import Result
from riemtr.solvers.status import Reason, Status
from riemtr.solvers.stopping import (
    AnyOf,
    Crawling,
    FirstOrderPoint,
    MaxIterations,
    MaxSeconds,
    SecondOrderPoint,
    StagePassed,
    Stalled,
    StoppingCriterion,
    Unbounded,
    check_tolerances,
    default_tolerances,
)
from riemtr.subproblem import (
    CubicKrylov,
    ExactSubproblem,
    HybridSubproblem,
    SecantSubproblem,
    SubproblemSolver,
    TruncatedCG,
)

WarmUp = Callable[[Problem], Iterable[tuple[Problem, float]]]

_OUT_OF_BUDGET = (Status.MAX_ITERATIONS, Status.MAX_SECONDS, Status.STOPPED)
# By the goal of a solver: the criterion of a solution.
_GOALS = {"second-order": SecondOrderPoint, "first-order": FirstOrderPoint}
# Criteria of runs that lead nowhere.
_SAFEGUARDS = (Unbounded(), Crawling(), Stalled())
# Names that people bring along from SciPy, pymanopt and others, and riemtr's names for the same.
OPTIONS = {
    "tol": "tolerance",
    "gtol": "tolerance",
    "min_gradient_norm": "tolerance",
    "rtol": "relative_tolerance",
    "maxiter": "max_iterations",
    "max_iter": "max_iterations",
    "max_time": "max_seconds",
    "verbose": "observers=[riemtr.observers.LiveTable()] in solve(...)",
    "verbosity": "observers=[riemtr.observers.LiveTable()] in solve(...)",
    "callback": "observers in solve(...)",
    "certify": 'goal="first-order"',
}
_ARGUMENTS = {
    "x0": "start",
    "initial_point": "start",
    "callback": "observers",
    "verbose": "observers=[riemtr.observers.LiveTable()]",
    "verbosity": "observers=[riemtr.observers.LiveTable()]",
    "seed": "rng",
    "random_state": "rng",
    "tol": "tolerance of the solver, as in PracticalTRM(tolerance=1e-8)",
    "tolerance": "tolerance of the solver, as in PracticalTRM(tolerance=1e-8)",
    "maxiter": "max_iterations of the solver, as in PracticalTRM(max_iterations=100)",
    "max_iterations": "max_iterations of the solver, as in PracticalTRM(max_iterations=100)",
    "max_seconds": "max_seconds of the solver, as in PracticalTRM(max_seconds=10)",
}


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
        ``move(space, vector)``, the point that a step leads to: :func:`riemtr.manifolds.retraction`
        or :func:`riemtr.manifolds.exponential`.
    warm_up : callable
        Yields easier problems to pass through first, each with a gradient tolerance:
        :func:`continuation` or :func:`no_warm_up`.
    tolerance : float or None
        Gradient norm of a solution.
    curvature_tolerance : float or None
        Negative curvature that a solution may have; by default 1e-6 times the size of the Hessian
        (1e-3 in float32).
    relative_tolerance : float or None
        Gradient norm of a solution over the scale of the derivatives there, which is the larger of
        the Euclidean gradient's norm and the curvature that the last step has met. By default 1e-7
        (1e-4 in float32), or 0 where ``tolerance`` is given: a cost may then be multiplied by any
        number.
    goal : {"second-order", "first-order"}
        Whether a solution needs a nonnegative curvature. With "first-order" the run stops at a
        small gradient, and the curvature is looked at only if ``result.certificate`` is asked for.
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
    move: Callable[[TangentSpace, Any], Any] = retraction
    warm_up: WarmUp = no_warm_up
    tolerance: float | None = None
    curvature_tolerance: float | None = None
    relative_tolerance: float | None = None
    goal: str = "second-order"
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
        check_measure(self.subproblem, self.radius)
        for name, example in (
            ("move", "riemtr.manifolds.retraction"),
            ("warm_up", "riemtr.solvers.continuation"),
        ):
            if not callable(getattr(self, name)):
                raise ValueError(
                    f"{name} must be a function, such as {example}; got {getattr(self, name)!r}"
                )
        if self.goal not in _GOALS:
            raise ValueError(f"goal must be one of {', '.join(_GOALS)}; got {self.goal!r}")
        check_tolerances(self.tolerance, self.curvature_tolerance, self.relative_tolerance)
        check_limits(self.max_iterations, self.max_seconds)

    @property
    def _plain(self) -> TrustRegion:
        """The same solver with all options at their defaults."""
        return type(self)()

    @property
    def options(self) -> dict[str, Any]:
        """The options of the constructor that are not at their defaults."""
        plain, names = self._plain, self._option_names
        pairs = {name: (getattr(self, name), getattr(plain, name)) for name in names}
        return {name: own for name, (own, default) in pairs.items() if own != default}

    @property
    def _option_names(self) -> Sequence[str]:
        return [each.name for each in fields(self)]

    def __repr__(self) -> str:
        shown = (
            f"{name}={getattr(value, '__name__', repr(value))}"
            for name, value in self.options.items()
        )
        return f"{type(self).__name__}({', '.join(shown)})"

    @names_instead(_ARGUMENTS)
    def solve(
        self,
        problem: Problem[P],
        start: Any = None,
        *,
        rng: Any = None,
        stop: StoppingCriterion | None = None,
        observers: Observer | Sequence[Observer] = (),
    ) -> Result[P]:
        """Minimise the cost from a start.

        Ctrl-C ends the run, not the program: the result is then the best point so far, with the
        status ``INTERRUPTED``, which a loop over several solves has to look at.

        Parameters
        ----------
        problem : Problem or pymanopt.Problem
        start : point of the manifold, or Result, optional
            Any point, saddles and maximizers included; a random one if not given. From a result,
            perhaps a saved one, the run goes on with its point and its radius.
        rng : numpy.random.Generator, int or None
            Source of the random start.
        stop : StoppingCriterion, optional
            A further criterion to stop on; it is asked before any curvature is looked at.
        observers : callable, or sequence of callables
            Each gets every :class:`Iteration`; a true return value stops the run.

        Returns
        -------
        Result
        """
        problem = as_problem(problem)
        observers = checked_observers(stop, observers)
        radius = None
        if isinstance(start, Result):
            start, radius = start.point, start.radius
        point = start_point(problem, start, rng)
        tolerances = default_tolerances(
            problem.precision(point),
            self.tolerance,
            self.curvature_tolerance,
            self.relative_tolerance,
        )
        asked = () if stop is None else (stop,)
        clock = Clock(self.max_seconds if stop is None else min(self.max_seconds, stop.max_seconds))
        run = Run(self._fitted(problem, rng), problem, tolerances, observers, clock, radius)
        try:
            with showing(observers) if observers else nullcontext():
                reason = self._stages(run, point, asked)
        except KeyboardInterrupt:
            if not run.rows:
                raise
            reason = Reason(Status.INTERRUPTED)
        return run.result(self._explained(run, reason, stop, start is None))

    def _fitted(self, problem: Problem, rng: Any) -> TrustRegion:
        """Return the method for one run: with parts that need the problem, or a source of draws."""
        return self

    def _stages(self, run: Run, point: Any, asked: tuple[StoppingCriterion, ...]) -> Reason:
        """Descend on the easier problems, then on the problem itself.

        The user's criterion is asked first, so that it can stop a run before any curvature is
        looked at.
        """
        limits = self._limits
        for easier, tolerance in self.warm_up(run.problem):
            passed = StagePassed(max(tolerance, run.tolerances.gradient))
            reason = descend(run, easier, point, AnyOf((*asked, passed, *limits)))
            if reason.status in _OUT_OF_BUDGET:
                return reason
            point = run.best.point
            run.stage += 1
        goal = _GOALS[self.goal](run.tolerances)
        return descend(run, run.problem, point, AnyOf((*asked, goal, *limits)))

    @cached_property
    def _limits(self) -> tuple[StoppingCriterion, ...]:
        return MaxIterations(self.max_iterations), MaxSeconds(self.max_seconds), *_SAFEGUARDS

    def _explained(
        self, run: Run, reason: Reason, stop: StoppingCriterion | None, drawn: bool
    ) -> Reason:
        """Return the reason in the light of what was asked for."""
        if reason.status is Status.FIRST_ORDER and self.goal == "first-order":
            return replace(reason, first_order_goal=True)
        if reason.status is not Status.CONVERGED:
            return reason
        if stop is not None and not _is_solution(run):
            return Reason(Status.STOPPED, "second-order point to the tolerances of stop")
        if run.number == 0 and drawn:
            size = run.best.gradient_norm
            where = f"already where it began, with a gradient norm of {size:.1e}"
            return replace(reason, detail=where)
        return reason


def _is_solution(run: Run) -> bool:
    """Whether a point that some criterion calls a solution is one to the solver's tolerances."""
    here, tolerances = run.best, run.tolerances
    if here.curvature.side(tolerances.curvature) <= 0:
        return False
    if not tolerances.relative:
        return here.gradient_norm <= tolerances.gradient
    return bool(tolerances.nearness(here).near)


class ExactTRM(TrustRegion):
    """The method that the paper analyses (section II.C).

    Exactly solved subproblems, a fixed radius, every step taken along the exponential map. Too
    large a radius makes it cycle, which the result's status reports.

    Parameters
    ----------
    radius : float
        The fixed radius.
    tolerance, curvature_tolerance, relative_tolerance, goal, max_iterations, max_seconds
        As for :class:`TrustRegion`.

    Examples
    --------
    >>> import riemtr
    >>> case = riemtr.problems.build("rayleigh", rng=0, n=20)
    >>> result = riemtr.ExactTRM(radius=0.5).solve(case.problem, rng=0)
    >>> bool((result.history["cost"][1:] <= result.history["cost"][:-1] + 1e-12).all())
    True
    """

    @names_instead(OPTIONS)
    def __init__(
        self,
        radius: float = 0.1,
        *,
        tolerance: float | None = None,
        curvature_tolerance: float | None = None,
        relative_tolerance: float | None = None,
        goal: str = "second-order",
        max_iterations: int = 10_000,
        max_seconds: float = math.inf,
    ):
        super().__init__(
            subproblem=ExactSubproblem(),
            radius=FixedRadius(radius),
            acceptance=AlwaysAccept(),
            move=exponential,
            tolerance=tolerance,
            curvature_tolerance=curvature_tolerance,
            relative_tolerance=relative_tolerance,
            goal=goal,
            max_iterations=max_iterations,
            max_seconds=max_seconds,
        )

    @property
    def options(self) -> dict[str, Any]:
        """The options of the constructor that are not at their defaults."""
        options = super().options
        if "radius" in options:
            options["radius"] = self.radius.radius  # type: ignore[attr-defined]
        return options


class PracticalTRM(TrustRegion):
    """The practical method (paper, section IV.A).

    Truncated CG that starts along negative curvature where the gradient is small, an adaptive
    radius, a ratio test, retractions. A cost that offers its Hessian matrix gets near-exact steps
    where they pay, one that offers easier versions of itself is solved by continuation.

    Parameters
    ----------
    tolerance, curvature_tolerance, relative_tolerance, goal, max_iterations, max_seconds
        As for :class:`TrustRegion`.

    Examples
    --------
    >>> import riemtr
    >>> case = riemtr.problems.build("rayleigh", rng=0, n=20)
    >>> result = riemtr.PracticalTRM(tolerance=1e-9).solve(case.problem, rng=0)
    >>> result.converged, abs(result.cost - case.truth.cost) < 1e-12
    (True, True)
    """

    @names_instead(OPTIONS)
    def __init__(
        self,
        *,
        tolerance: float | None = None,
        curvature_tolerance: float | None = None,
        relative_tolerance: float | None = None,
        goal: str = "second-order",
        max_iterations: int = 1000,
        max_seconds: float = math.inf,
    ):
        super().__init__(
            subproblem=HybridSubproblem(),
            radius=AdaptiveRadius(),
            acceptance=RatioTest(),
            move=retraction,
            warm_up=continuation,
            tolerance=tolerance,
            curvature_tolerance=curvature_tolerance,
            relative_tolerance=relative_tolerance,
            goal=goal,
            max_iterations=max_iterations,
            max_seconds=max_seconds,
        )


# -- adaptive regularisation with cubics, on any manifold -----------------------------------------


class ARC(TrustRegion):
    r"""Adaptive regularisation with cubics.

    In place of a ball there is a cubic term, whose weight adapts:

    .. math:: m(s) = \langle g, s \rangle + \tfrac12 \langle s, Hs \rangle
        + \tfrac{\sigma}{3} |s|^3,

    minimised in the Krylov space of the gradient (see :class:`riemtr.CubicKrylov`). Its worst case
    is the best that is known of methods of second order: an approximate second-order point after
    :math:`O(\epsilon^{-3/2})` steps (Agarwal, Boumal, Bullins and Cartis, Math. Programming 188,
    2021). The history's ``radius`` is about the length of the steps that the weight allows.

    Parameters
    ----------
    tolerance, curvature_tolerance, relative_tolerance, goal, max_iterations, max_seconds
        As for :class:`riemtr.TrustRegion`.

    Examples
    --------
    >>> import riemtr
    >>> case = riemtr.problems.build("rayleigh", rng=0, n=20)
    >>> result = riemtr.ARC().solve(case.problem, rng=0)
    >>> result.certificate.verdict, abs(result.cost - case.truth.cost) < 1e-12
    ('minimizer', True)
    """

    @names_instead(OPTIONS)
    def __init__(
        self,
        *,
        tolerance: float | None = None,
        curvature_tolerance: float | None = None,
        relative_tolerance: float | None = None,
        goal: str = "second-order",
        max_iterations: int = 1000,
        max_seconds: float = math.inf,
    ):
        super().__init__(
            subproblem=CubicKrylov(),
            radius=AdaptiveWeight(),
            acceptance=RatioTest(),
            move=retraction,
            warm_up=continuation,
            tolerance=tolerance,
            curvature_tolerance=curvature_tolerance,
            relative_tolerance=relative_tolerance,
            goal=goal,
            max_iterations=max_iterations,
            max_seconds=max_seconds,
        )


# -- limited-memory BFGS within a trust region, on any manifold -----------------------------------

# Factor by which the radius shrinks: a secant model that fails is off by more than a Hessian is. On
# 25 classical problems it saves 4 % of the iterations that a half takes.
_SHRINK = 0.25


class LBFGS(TrustRegion):
    r"""Limited-memory BFGS: needs no Hessian, and one gradient for each point.

    The steps of the run and the changes of the gradient along them make a model of the Hessian,

    .. math:: m(s) = \langle g, s \rangle + \tfrac12 \langle s, B s \rangle, \qquad B s_i = y_i,

    which is minimised exactly over a ball, in the small subspace that it knows (see
    :class:`riemtr.SecantSubproblem`). Each step that is tried costs one evaluation of the cost,
    each one that is taken one of the gradient; so does, close to a solution, one that is rejected
    where rounding hides the change of the cost. For costs without a Hessian, or whose Hessian
    products cost much more than gradients. A problem's preconditioner is of no use to it.

    Parameters
    ----------
    memory : int
        How many steps the Hessian is approximated from.
    goal : {"first-order", "second-order"}
        With "first-order", the default, the run ends at a small gradient, after a few Hessian
        products, or differences of gradients, that tell what it means. With "second-order" it
        looks at the curvature there, by Hessian products, or differences of gradients where the
        problem has no Hessian; it leaves saddle points along the direction of negative curvature.
    tolerance, curvature_tolerance, relative_tolerance, max_iterations, max_seconds
        As for :class:`riemtr.TrustRegion`.

    Examples
    --------
    >>> import numpy as np, riemtr
    >>> case = riemtr.problems.build("rayleigh", rng=0, n=20)
    >>> result = riemtr.LBFGS().solve(case.problem, rng=0)
    >>> abs(result.cost - case.truth.cost) < 1e-9, bool(result.history["hessian_products"][-2])
    (True, False)
    >>> bool(result.counts.gradients == sum(result.history["accepted"]))
    True
    >>> saddle = case.truth.details["eigenvectors"][:, 5]
    >>> riemtr.LBFGS(goal="second-order").solve(case.problem, saddle).certificate.verdict
    'minimizer'
    """

    @names_instead(OPTIONS | {"maxcor": "memory"})
    def __init__(
        self,
        *,
        memory: int = SecantSubproblem.memory,
        tolerance: float | None = None,
        curvature_tolerance: float | None = None,
        relative_tolerance: float | None = None,
        goal: str = "first-order",
        max_iterations: int = 10_000,
        max_seconds: float = math.inf,
    ):
        super().__init__(
            subproblem=SecantSubproblem(memory),
            radius=AdaptiveRadius(shrink=_SHRINK),
            acceptance=SlopeRatioTest(),
            move=retraction,
            warm_up=continuation,
            tolerance=tolerance,
            curvature_tolerance=curvature_tolerance,
            relative_tolerance=relative_tolerance,
            goal=goal,
            max_iterations=max_iterations,
            max_seconds=max_seconds,
        )

    @property
    def options(self) -> dict[str, Any]:
        """The options of the constructor that are not at their defaults."""
        options = super().options
        part = options.pop("subproblem", None)
        return options if part is None else {"memory": part.memory, **options}
