"""Optimizers of others, watched: a history of their run, ways to stop it, an honest status.

They know nothing of observers and stopping criteria, nor of curvature. What they show of themselves
are the points at which they ask for something; each iterate among those is noted here, and the run
is unwound by an exception when it is to stop.

On the sphere f(x / |x|) is a cost without constraints, whose gradient is the Riemannian one over
|x|. A quasi-Newton method with a line search is then the natural rival of a trust-region method.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize

from riemtr.arguments import integer
from riemtr.errors import DoesNotApply
from riemtr.problem import Clock, Counts, Evaluation, Problem, as_problem
from riemtr.problem.books import provide
from riemtr.solvers.arguments import check_beginning, check_limits, checked_observers, start_point
from riemtr.solvers.certificate import MINIMIZER, UNRESOLVED
from riemtr.solvers.iteration import Iteration, Observer, history_row, stops
from riemtr.solvers.observers import showing
from riemtr.solvers.result import Result
from riemtr.solvers.status import Reason, Status
from riemtr.solvers.stopping import (
    FirstOrderPoint,
    MaxSeconds,
    StoppingCriterion,
    check_tolerances,
    default_tolerances,
)


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


# -- SciPy's L-BFGS-B on the sphere ---------------------------------------------------------------


@dataclass(frozen=True)
class ScipyLBFGSB:
    """SciPy's L-BFGS-B on f(x / \\|x\\|), for costs on a sphere.

    Cost and gradient come from one evaluation per point. It stops on the Riemannian gradient norm
    alone; the result's ``converged`` is true only where the certificate says "minimizer", and the
    status is ``FIRST_ORDER`` elsewhere, as for :class:`~riemtr.interop.pymanopt.PymanoptSolver`.

    Parameters
    ----------
    tolerance : float or None
        Gradient norm to stop at; 1e-6 by default (1e-3 in float32).
    curvature_tolerance : float or None
        Negative curvature that a minimizer may have; 1e-6 by default (1e-3 in float32).
    memory : int
        How many steps the Hessian is approximated from; SciPy's 10 by default.
    max_iterations : int
    max_seconds : float

    Examples
    --------
    >>> import riemtr
    >>> case = riemtr.problems.build("rayleigh", rng=0, n=20)
    >>> ScipyLBFGSB().solve(case.problem, rng=0).converged
    True
    >>> saddle = case.truth.details["eigenvectors"][:, 5]
    >>> ScipyLBFGSB().solve(case.problem, saddle).status
    Status.FIRST_ORDER
    """

    tolerance: float | None = None
    curvature_tolerance: float | None = None
    memory: int = 10
    max_iterations: int = 10_000
    max_seconds: float = math.inf

    def __post_init__(self) -> None:
        check_tolerances(self.tolerance, self.curvature_tolerance)
        integer("memory", self.memory)
        check_limits(self.max_iterations, self.max_seconds)

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
            On ``riemtr.Sphere`` or ``pymanopt.manifolds.Sphere``.
        start : point of the sphere, optional
            A random one if not given.
        rng : numpy.random.Generator, int or None
            Source of the random start.
        stop : StoppingCriterion, optional
            A further criterion to stop on.
        observers : sequence of callables
            Each gets every :class:`Iteration`, without step and radius; a true return value stops
            the run.

        Returns
        -------
        Result
        """
        problem = as_problem(problem)
        if not problem.geometry.is_sphere:
            raise DoesNotApply(
                f"L-BFGS-B on f(x/|x|) needs a sphere; this problem is on {problem.manifold}"
            )
        observers = checked_observers(stop, observers)
        start = start_point(problem, start, rng)
        tolerances = default_tolerances(
            problem.precision(start), self.tolerance, self.curvature_tolerance
        )
        criterion = FirstOrderPoint(tolerances) | MaxSeconds(self.max_seconds)
        record = Recorder(Counts(), criterion if stop is None else criterion | stop, observers)
        run = _Run(problem, start, record)
        with showing(observers):
            reason = self._minimize(run)
        seconds, counts, here = record.clock.seconds, record.counts.snapshot(), run.here
        found = Result(
            point=here.point,
            cost=here.cost,
            gradient_norm=here.gradient_norm,
            iterations=len(record.rows) - 1,
            seconds=seconds,
            reason=reason,
            counts=counts,
            rows=record.rows,
            solver=self,
            evaluation=here,
            tolerances=tolerances,
        )
        return certified(found)

    def _minimize(self, run: _Run) -> Reason:
        """Run L-BFGS-B; return why it ended."""
        try:
            run.begin()
            if self.max_iterations == 0:  # SciPy would take one all the same
                return Reason(Status.MAX_ITERATIONS, "0 iterations")
            found = minimize(
                run.value_and_gradient,
                run.tried,
                jac=True,
                method="L-BFGS-B",
                callback=run.iterate,
                options={
                    "maxcor": self.memory,
                    "maxiter": self.max_iterations,
                    "maxfun": 10**9,
                    # Its own criteria would look at the cost, and at single entries.
                    "ftol": 0.0,
                    "gtol": 0.0,
                },
            )
        except Stop as stopped:
            return stopped.reason
        except KeyboardInterrupt:
            if not run.record.rows:
                raise
            return Reason(Status.INTERRUPTED)
        if found.nit >= self.max_iterations:
            return Reason(Status.MAX_ITERATIONS, f"{self.max_iterations} iterations")
        return Reason(Status.STALLED, str(found.message).lower())


class _Run:
    """The mutable state of one call of ``solve``."""

    def __init__(self, problem: Problem, start: np.ndarray, record: Recorder):
        self.problem = problem
        self.record = record
        self._shape, self._dtype = start.shape, start.dtype
        self.tried = start.astype(float).ravel()  # what `_evaluation` belongs to
        self.here = self._evaluation = problem.at(start, record.counts)

    def begin(self) -> None:
        """Record the start, where the run may end already."""
        check_beginning(self.here)
        self.record.note(self.here)

    def _at(self, flat: np.ndarray) -> Evaluation:
        if not np.array_equal(flat, self.tried):
            point = (flat / np.linalg.norm(flat)).reshape(self._shape).astype(self._dtype)
            self.tried = flat.copy()
            self._evaluation = self.problem.at(point, self.record.counts)
        return self._evaluation

    def value_and_gradient(self, flat: np.ndarray) -> tuple[float, np.ndarray]:
        """f(x / \\|x\\|) and its gradient."""
        here = self._at(flat)
        gradient = np.asarray(here.gradient, dtype=float).ravel()
        return here.cost, gradient / np.linalg.norm(flat)

    def iterate(self, flat: np.ndarray) -> None:
        """Take note of a new iterate."""
        self.here = self._at(flat)
        self.record.note(self.here)
