"""pymanopt's optimizers as riemtr solvers, counted, timed and certified like riemtr's own."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pymanopt
from pymanopt.optimizers import (
    ConjugateGradient,
    NelderMead,
    ParticleSwarm,
    SteepestDescent,
    TrustRegions,
)
from pymanopt.optimizers.optimizer import Optimizer

from riemtr.arguments import generator
from riemtr.interop.pymanopt_problem import CountedOracles, EvaluationOracles, Oracles, assemble
from riemtr.manifolds.pymanopt import global_numpy_randomness
from riemtr.problem import Counts, Evaluation, Problem, as_problem
from riemtr.problem.books import provide
from riemtr.solvers import Reason, Result, Status, StoppingCriterion
from riemtr.solvers.arguments import checked_observers, start_point
from riemtr.solvers.foreign import Recorder, Stop, certified
from riemtr.solvers.iteration import Observer
from riemtr.solvers.observers import showing
from riemtr.solvers.stopping import Tolerances, check_tolerances, default_tolerances

_POPULATIONS = (NelderMead, ParticleSwarm)

# Attributes that are no settings: state of a run, what it prints, or made from other attributes.
_NO_SETTINGS = {
    "_verbosity",
    "_log_verbosity",
    "_log",
    "line_searcher",
    "_oldalpha",
    "_oldf0",
    "_beta_update",
}

# What pymanopt's Optimizer._check_stopping_criterion says, and what that means here.
_STATUS = {
    "max time": Status.MAX_SECONDS,
    "max iterations": Status.MAX_ITERATIONS,
    "min grad norm": Status.FIRST_ORDER,
    "min step_size": Status.STALLED,
    "max cost evals": Status.STOPPED,
}


@dataclass(frozen=True, repr=False)
class PymanoptSolver:
    """Any pymanopt optimizer as a riemtr solver.

    The optimizer works on the problem as pymanopt would: a ``pymanopt.Problem`` is taken as it
    is, with the user's functions counted; a riemtr problem is converted by
    :func:`~riemtr.interop.pymanopt.to_pymanopt`. It runs silently, on a copy, whatever its
    ``verbosity``.

    The result's ``converged`` is true only where the certificate says "minimizer"; an optimizer
    that stopped on the gradient norm elsewhere has the status ``FIRST_ORDER``. The history has a
    row for each point at which the optimizer asked for the gradient (for each new lowest cost, if
    it never asks), and one for the end; steps it rejected do not show.

    Parameters
    ----------
    optimizer : pymanopt.optimizers.optimizer.Optimizer
        With its own tolerances and limits.
    curvature_tolerance : float or None
        Negative curvature that a minimizer may have; by default 1e-6 times the size of the Hessian
        (1e-3 in float32).

    Examples
    --------
    >>> import numpy as np, pymanopt, riemtr
    >>> from riemtr.interop.pymanopt import PymanoptSolver
    >>> problem = riemtr.Problem(riemtr.Sphere(3), lambda x: x @ np.diag([1.0, 2.0, 3.0]) @ x)
    >>> solver = PymanoptSolver(pymanopt.optimizers.TrustRegions())
    >>> result = solver.solve(problem, start=np.array([0.0, 1.0, 0.0]))
    >>> result.converged, result.status
    (False, Status.FIRST_ORDER)
    """

    optimizer: Optimizer
    curvature_tolerance: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.optimizer, Optimizer):
            raise ValueError(
                "optimizer must be a pymanopt optimizer, such as pymanopt.optimizers."
                f"ConjugateGradient(); got {type(self.optimizer).__name__}"
            )
        check_tolerances(None, self.curvature_tolerance)

    def __repr__(self) -> str:
        tolerance = self.curvature_tolerance
        more = "" if tolerance is None else f", curvature_tolerance={tolerance!r}"
        return f"PymanoptSolver({_shown(self.optimizer)}{more})"

    def solve(
        self,
        problem: Any,
        start: Any = None,
        *,
        rng: Any = None,
        stop: StoppingCriterion | None = None,
        observers: Observer | Sequence[Observer] = (),
    ) -> Result:
        """Run the optimizer from a start.

        Parameters
        ----------
        problem : Problem or pymanopt.Problem
        start : point of the manifold, or Result, optional
            A random point if not given, the result's if one is given. Nelder-Mead and particle
            swarm take it as one point of their population and draw the others.
        rng : numpy.random.Generator, int or None
            Source of the random start and of whatever the optimizer draws: numpy's global state
            is seeded from it for the run, then put back.
        stop : StoppingCriterion, optional
            A further criterion to stop on, checked once per row of the history.
        observers : callable, or sequence of callables
            Each gets an :class:`Iteration` per row of the history, without step and radius; a
            true return value stops the run.

        Returns
        -------
        Result
        """
        converted = as_problem(problem)
        observers = checked_observers(stop, observers)
        rng = generator(rng)
        start = start_point(converted, start.point if isinstance(start, Result) else start, rng)
        tolerances = default_tolerances(
            converted.precision(start),
            self.optimizer._min_gradient_norm,
            self.curvature_tolerance,
        )
        counts = Counts()
        oracles: Oracles
        if isinstance(problem, pymanopt.Problem):
            oracles = CountedOracles(problem, counts)
        else:
            oracles = EvaluationOracles(converted, counts)
        optimizer = copy.copy(self.optimizer)
        optimizer._verbosity = 0
        populous = isinstance(optimizer, _POPULATIONS)
        record = Record(converted, oracles, counts, populous, stop, observers)
        manifold = converted.manifold
        point = start
        if populous:
            manifold, point = _drawing_first(manifold, start), None
        asked = assemble(manifold, record, converted.preconditioner)
        with global_numpy_randomness(rng), showing(observers):
            reason, found = _run(optimizer, asked, point, record)
        if not record.rows and (stop is not None or observers):
            raise ValueError(
                "stop and observers need an optimizer that asks for gradients, or pymanopt's "
                f"NelderMead or ParticleSwarm; {type(optimizer).__name__} shows no iterates: "
                "use its own limits"
            )
        return self._result(record, reason, found, start, tolerances)

    def _result(
        self, record: Record, reason: Reason, found: Any, start: Any, tolerances: Tolerances
    ) -> Result:
        seconds, counts = record.clock.seconds, record.counts.snapshot()
        if found is None:
            point, iterations = record.point, len(record.rows) - 1
        else:
            point, iterations = found.point, int(found.iterations)
        best = record.problem.at(point)
        found = Result(
            point=point,
            cost=best.cost,
            gradient_norm=best.gradient_norm,
            iterations=iterations,
            seconds=seconds,
            reason=reason,
            counts=counts,
            rows=record.complete(start, best, seconds),
            solver=self,
            evaluation=best,
            tolerances=tolerances,
        )
        return certified(found)


def pymanopt_solvers(
    *, tolerance: float = 1e-6, max_iterations: int | None = None, max_seconds: float = 1000.0
) -> dict[str, PymanoptSolver]:
    """Return pymanopt's optimizers as solvers, by the names used in comparisons.

    Parameters
    ----------
    tolerance : float
        Gradient norm to stop at, for those that look at it.
    max_iterations : int or None
        pymanopt's own default for each if None.
    max_seconds : float
        Time limit.

    Examples
    --------
    >>> sorted(pymanopt_solvers())
    ['pymanopt-cg', 'pymanopt-nelder-mead', 'pymanopt-pso', 'pymanopt-sd', 'pymanopt-tr']
    """
    kinds = {
        "pymanopt-tr": TrustRegions,
        "pymanopt-cg": ConjugateGradient,
        "pymanopt-sd": SteepestDescent,
        "pymanopt-nelder-mead": NelderMead,
        "pymanopt-pso": ParticleSwarm,
    }
    limits: dict[str, Any] = {} if max_iterations is None else {"max_iterations": max_iterations}
    return {
        name: PymanoptSolver(
            kind(min_gradient_norm=tolerance, max_time=max_seconds, verbosity=0, **limits)
        )
        for name, kind in kinds.items()
    }


def _run(
    optimizer: Optimizer, problem: pymanopt.Problem, point: Any, record: Record
) -> tuple[Reason, Any]:
    """Run an optimizer; return why it ended, and pymanopt's result if it came to one."""
    try:
        found = optimizer.run(problem, initial_point=point)
    except Stop as stopped:
        return stopped.reason, None
    except KeyboardInterrupt:
        if not record.rows:
            raise
        return Reason(Status.INTERRUPTED), None
    text = str(found.stopping_criterion).removeprefix("Terminated - ").rstrip(".")
    status = next((s for said, s in _STATUS.items() if said in text), Status.STOPPED)
    return Reason(status, text), found


def _shown(part: Any) -> str:
    """Return an optimizer or a line search with all its settings, which pymanopt does not show."""
    settings = {name: value for name, value in vars(part).items() if name not in _NO_SETTINGS}
    shown = ", ".join(f"{name.lstrip('_')}={_text(value)}" for name, value in settings.items())
    return f"{type(part).__name__}({shown})"


def _text(value: Any) -> str:
    if type(value).__repr__ is object.__repr__ and hasattr(value, "__dict__"):
        return _shown(value)
    return getattr(value, "__qualname__", repr(value))  # that of a function has its address


def _drawing_first(manifold: Any, start: Any) -> Any:
    """Return the manifold with ``start`` as its first random point.

    pymanopt's population methods take a start only as a whole population (and Nelder-Mead, by a
    slip, only one of the wrong size).
    """
    shown = copy.copy(manifold)
    pending = [start]
    shown.random_point = lambda: pending.pop() if pending else manifold.random_point()
    return shown


# -- watching a pymanopt optimizer at work: the history of its run, and a way to stop it ----------


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
