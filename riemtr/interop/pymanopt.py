"""pymanopt, both ways.

:class:`TrustRegions` is a pymanopt optimizer: change one import, and a pymanopt script runs on
riemtr. :class:`PymanoptSolver` makes riemtr solvers of pymanopt's optimizers, :func:`to_pymanopt`
makes pymanopt problems of riemtr's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from pymanopt.optimizers.optimizer import Optimizer, OptimizerResult
from pymanopt.tools.printer import ColumnPrinter

from riemtr.interop.pymanopt_problem import to_pymanopt
from riemtr.interop.pymanopt_solver import PymanoptSolver, pymanopt_solvers
from riemtr.problem import as_problem
from riemtr.solvers import (
    AdaptiveRadius,
    Certificate,
    Iteration,
    MaxCosts,
    RatioTest,
    Result,
    Status,
    TrustRegion,
)
from riemtr.subproblem import HybridSubproblem, TruncatedCG

__all__ = [
    "CertifiedResult",
    "PymanoptSolver",
    "TrustRegions",
    "pymanopt_solvers",
    "to_pymanopt",
]


@dataclass
class CertifiedResult(OptimizerResult):
    """pymanopt's result, with riemtr's beside it.

    Attributes
    ----------
    riemtr_result : Result
        With status, counts and history.
    """

    riemtr_result: Result | None = None

    @property
    def certificate(self) -> Certificate:
        """What is known of the point to second order."""
        assert self.riemtr_result is not None
        return self.riemtr_result.certificate


class TrustRegions(Optimizer):
    """riemtr's trust-region method with the interface of ``pymanopt.optimizers.TrustRegions``.

    Unlike pymanopt's it leaves saddle points and maximizers, also where it is started at one;
    stops only where the curvature is not negative either; computes each quantity once per point;
    takes the Hessian from differences of the gradient where the problem has none; and fills in the
    log.

    Parameters
    ----------
    miniter : int
        Accepted for compatibility; pymanopt never reads it either. There is nothing to insist on:
        a run that stops before has a certificate.
    kappa, theta : float
        Stopping rule of the inner iteration: see :class:`riemtr.TruncatedCG`.
    rho_prime : float
        Take a step if the cost falls by this fraction of what the model predicts; below 0.25.
    use_rand : bool
        Accepted for compatibility, without effect: randomised steps are pymanopt's remedy for
        saddle points, which are left here along a computed direction of negative curvature.
    rho_regularization : float
        Multiple of the rounding error added to both decreases: see :class:`riemtr.RatioTest`.
    max_time, max_iterations, min_gradient_norm
        When to stop.
    min_step_size : float
        Accepted for compatibility; pymanopt's trust-region method ignores it too, as there is no
        line search. A run whose steps vanish in rounding ends by itself.
    max_cost_evaluations : int
        When to stop (pymanopt's trust-region method ignores it).
    verbosity : int
        0 is silent, 1 prints how the run ended, 2 also a line for each iteration.
    log_verbosity : int
        1 fills ``result.log["iterations"]``, one entry per iteration, the start included.
    curvature_tolerance : float or None
        Negative curvature that a solution may have; by default 1e-6 times the size of the Hessian
        (1e-3 in float32).

    Examples
    --------
    >>> import autograd.numpy as np, pymanopt
    >>> from riemtr.interop.pymanopt import TrustRegions
    >>> sphere = pymanopt.manifolds.Sphere(3)
    >>> @pymanopt.function.autograd(sphere)
    ... def cost(x):
    ...     return x @ np.diag(np.array([1.0, 2.0, 3.0])) @ x
    >>> problem = pymanopt.Problem(sphere, cost)
    >>> saddle = np.array([0.0, 1.0, 0.0])
    >>> found = TrustRegions(verbosity=0).run(problem, initial_point=saddle)
    >>> round(found.cost, 9), found.certificate.verdict
    (1.0, 'minimizer')
    """

    def __init__(
        self,
        miniter: int = 3,
        kappa: float = 0.1,
        theta: float = 1.0,
        rho_prime: float = 0.1,
        use_rand: bool = False,
        rho_regularization: float = 1e3,
        max_time: float = 1000,
        max_iterations: int = 1000,
        min_gradient_norm: float = 1e-6,
        min_step_size: float = 1e-10,
        max_cost_evaluations: int = 5000,
        verbosity: int = 2,
        log_verbosity: int = 0,
        *,
        curvature_tolerance: float | None = None,
    ):
        super().__init__(
            max_time=max_time,
            max_iterations=max_iterations,
            min_gradient_norm=min_gradient_norm,
            min_step_size=min_step_size,
            max_cost_evaluations=max_cost_evaluations,
            verbosity=verbosity,
            log_verbosity=log_verbosity,
        )
        self.miniter = miniter
        self.kappa = kappa
        self.theta = theta
        self.rho_prime = rho_prime
        self.use_rand = use_rand
        self.rho_regularization = rho_regularization
        self.curvature_tolerance = curvature_tolerance

    def run(
        self,
        problem: Any,
        *,
        initial_point: Any = None,
        mininner: int = 1,
        maxinner: int | None = None,
        Delta_bar: float | None = None,
        Delta0: float | None = None,
    ) -> CertifiedResult:
        """Minimise the problem's cost.

        Parameters
        ----------
        problem : pymanopt.Problem or Problem
        initial_point : point of the manifold, optional
            Drawn from numpy's global state if not given, as in pymanopt.
        mininner : int
            Accepted for compatibility, without effect: the inner iteration ends as soon as its
            residual is small enough, which takes at least one product; for more, lower ``kappa``.
        maxinner : int, optional
            Most Hessian products per iteration; the manifold's dimension by default.
        Delta_bar : float, optional
            Largest radius; the manifold's typical distance by default.
        Delta0 : float, optional
            First radius; a fifth of the largest by default (pymanopt: an eighth).

        Returns
        -------
        CertifiedResult
            pymanopt's ``OptimizerResult`` with two further attributes, ``riemtr_result`` and
            ``certificate``.
        """
        solver = TrustRegion(
            subproblem=HybridSubproblem(TruncatedCG(self.kappa, self.theta, maxinner)),
            radius=AdaptiveRadius(start=Delta0, largest=Delta_bar),
            acceptance=RatioTest(self.rho_prime, self.rho_regularization),
            tolerance=self._min_gradient_norm,
            curvature_tolerance=self.curvature_tolerance,
            max_iterations=self._max_iterations,
            max_seconds=self._max_time,
        )
        converted = as_problem(problem)
        if initial_point is None:
            initial_point = converted.manifold.random_point()
        self._initialize_log(
            optimizer_parameters={
                "kappa": self.kappa,
                "theta": self.theta,
                "rho_prime": self.rho_prime,
                "rho_regularization": self.rho_regularization,
                "curvature_tolerance": self.curvature_tolerance,
                "maxinner": maxinner,
                "Delta_bar": Delta_bar,
                "Delta0": Delta0,
            }
        )
        if self._verbosity >= 1:
            print("Optimizing...")
        result = solver.solve(
            converted,
            initial_point,
            stop=MaxCosts(self._max_cost_evaluations),
            observers=[self._log_iteration, *([_Lines()] if self._verbosity >= 2 else [])],
        )
        found = self._found(result)
        if self._verbosity >= 1:
            print(f"{found.stopping_criterion}\n")
        return found

    def _log_iteration(self, iteration: Iteration) -> None:
        step = iteration.step
        self._add_log_entry(
            iteration=iteration.number,
            point=iteration.point,
            cost=iteration.cost,
            gradient_norm=iteration.gradient_norm,
            radius=iteration.radius,
            ratio=iteration.ratio,
            accepted=iteration.accepted,
            escaped=iteration.escaped,
            step_size=math.nan if step is None else step.norm,
            cost_evaluations=iteration.counts.costs,
            gradient_evaluations=iteration.counts.gradients,
            hessian_products=iteration.counts.hessian_products,
        )

    def _found(self, result: Result) -> CertifiedResult:
        steps = result.history["step_norm"]
        return CertifiedResult(
            point=result.point,
            cost=result.cost,
            iterations=result.iterations,
            stopping_criterion=_in_pymanopts_words(result),
            time=result.seconds,
            cost_evaluations=result.counts.costs,
            step_size=float(steps[-1]) if result.iterations else 0.0,
            gradient_norm=result.gradient_norm,
            log=self._log,
            riemtr_result=result,
        )


def _in_pymanopts_words(result: Result) -> str:
    """Return why a run ended, in the sentence pymanopt has for it, if there is one."""
    after = f"{result.seconds:.2f} seconds"
    reached = f"reached after {result.iterations} iterations"
    sentences = {
        Status.CONVERGED: f"min grad norm {reached}, {after}. No negative curvature",
        Status.MAX_SECONDS: f"max time {reached}",
        Status.MAX_ITERATIONS: f"max iterations reached after {after}",
        Status.STOPPED: f"max cost evals reached after {after}",
    }
    return f"Terminated - {sentences.get(result.status, str(result.reason))}."


class _Lines:
    """Prints a line for each iteration, in pymanopt's manner."""

    def __init__(self) -> None:
        self._printer = ColumnPrinter(
            columns=[
                ("Iteration", "9d"),
                ("Cost", "+.16e"),
                ("Gradient norm", ".8e"),
                ("Radius", ".2e"),
                ("Step", "s"),
            ],
            placeholder_values=[0, 0.0, 0.0, 0.0, ""],
        )
        self._printer.print_header()

    def __call__(self, iteration: Iteration) -> None:
        """Print one line."""
        step = "" if iteration.step is None else str(iteration.step.ended)
        if iteration.escaped:
            step = "left a saddle point"
        elif not iteration.accepted:
            step = f"rejected, {step}"
        self._printer.print_row(
            [iteration.number, iteration.cost, iteration.gradient_norm, iteration.radius, step]
        )
