"""Dense subproblem solvers in the tangent space of any manifold.

The model is written in the coordinates of an orthonormal tangent basis (eq. trsp of the paper),
solved there as a matrix problem, and the solution mapped back.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from riemtr.arguments import is_real
from riemtr.problem import Evaluation
from riemtr.subproblem.exact import solve_exact
from riemtr.subproblem.model import Ended, FreshModel, Model, Step, make_step
from riemtr.subproblem.near_exact import NearExactSolution, solve_near_exact
from riemtr.subproblem.sdp import solve_lifted
from riemtr.subproblem.solution import SubproblemSolution


@dataclass(frozen=True)
class ExactSubproblem:
    """The exact minimiser, by one eigendecomposition per point (paper, section II.C).

    The decomposition is the point's own, and serves steps of all lengths. The step's certificate
    proves optimality: multiplier, KKT residual, smallest eigenvalue.

    Examples
    --------
    >>> import riemtr
    >>> here = riemtr.problems.build("rayleigh", rng=0, n=20).problem.at(np.eye(20)[0])
    >>> step = riemtr.ExactSubproblem().at(here).step(radius=0.1)
    >>> step.certificate.kkt_residual < 1e-14, step.certificate.multiplier > 0.0
    (True, True)
    """

    def at(self, here: Evaluation, before: Model | None = None) -> Model:
        """Return the model, whose steps are global minimisers over the ball."""
        return FreshModel(here, self._step)

    def _step(self, here: Evaluation, radius: float) -> Step:
        values, vectors = here.eigh
        gradient = _coordinates(here)
        return dense_step(
            here, solve_exact(values, vectors, gradient, radius, here.hessian_matrix())
        )


@dataclass(frozen=True)
class NearExactSubproblem:
    """A step within ``tolerance`` of the best decrease, by a few Cholesky factorizations.

    Parameters
    ----------
    tolerance : float
        Largest relative loss of model decrease.
    """

    tolerance: float = 0.1

    def __post_init__(self) -> None:
        check_loss(self.tolerance)

    def at(self, here: Evaluation, before: Model | None = None) -> Model:
        """Return the model, whose steps have at least ``1 - tolerance`` of the best decrease."""
        return FreshModel(here, self._step)

    def _step(self, here: Evaluation, radius: float) -> Step:
        return dense_step(here, near_exact(here, radius, self.tolerance))


@dataclass(frozen=True)
class SDPSubproblem:
    """The exact minimiser by the paper's semidefinite lifting; needs the extra ``sdp``.

    Far slower than :class:`ExactSubproblem`; an independent check of it.
    """

    def at(self, here: Evaluation, before: Model | None = None) -> Model:
        """Return the model, whose steps solve the lifted problem (eq. SDP_relaxation)."""
        return FreshModel(here, self._step)

    def _step(self, here: Evaluation, radius: float) -> Step:
        hessian = np.asarray(here.hessian_matrix(), dtype=float)
        return dense_step(here, solve_lifted(hessian, _coordinates(here), radius))


def check_loss(tolerance: float) -> None:
    """Check the loss of model decrease that near-exact steps may have."""
    if not (is_real(tolerance) and 0.0 < tolerance < 1.0):
        raise ValueError(f"tolerance must lie strictly between 0 and 1; got {tolerance!r}")


def near_exact(
    here: Evaluation, radius: float, tolerance: float, multiplier: float = 0.0
) -> NearExactSolution:
    """Solve the model at ``here`` near-exactly, in coordinates, starting from a multiplier."""
    hessian = np.asarray(here.step_matrix(), dtype=float)
    return solve_near_exact(
        hessian, _coordinates(here), radius, tolerance=tolerance, initial_multiplier=multiplier
    )


def dense_step(here: Evaluation, solution: SubproblemSolution | NearExactSolution) -> Step:
    """Map a solution in coordinates back to the tangent space."""
    real = here.gradient.real.dtype
    vector = here.basis.vector(solution.vector.astype(real, copy=False))
    image = here.basis.vector(solution.hessian_vector.astype(real, copy=False))
    if not solution.on_boundary:
        ended = Ended.INTERIOR
    elif solution.hard_case:
        ended = Ended.NEGATIVE_CURVATURE
    else:
        ended = Ended.BOUNDARY
    certificate = solution if isinstance(solution, SubproblemSolution) else None
    return make_step(
        here,
        vector,
        image,
        solution.on_boundary,
        ended,
        certificate=certificate,
        curvature=float(np.abs(here.step_matrix().diagonal()).max(initial=0.0)),
    )


def _coordinates(here: Evaluation) -> np.ndarray:
    return np.asarray(here.basis.coordinates(here.gradient), dtype=float)
