"""The dense trust-region subproblem: checked input, a choice of methods, one kind of answer."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from riemtr.arguments import check_positive
from riemtr.errors import unknown_name
from riemtr.manifolds import Euclidean
from riemtr.problem import Problem
from riemtr.problem.curvature import Threshold
from riemtr.subproblem.exact import solve_exact_dense
from riemtr.subproblem.model import Ended
from riemtr.subproblem.sdp import solve_lifted
from riemtr.subproblem.solution import SubproblemSolution, largest_magnitude, solve_normalised
from riemtr.subproblem.truncated_cg import TruncatedCG

__all__ = ["SubproblemSolution", "solve_subproblem"]

# Rounding in single precision and finite differences leave less; a wrong Hessian leaves more.
_ASYMMETRY = 1e-4
_EPS = 2.0**-52
_LARGEST = 1e300  # n of these still sum to a finite number


def solve_subproblem(
    hessian: np.ndarray, gradient: np.ndarray, radius: float, method: str = "exact"
) -> SubproblemSolution:
    """Minimise ``g's + s'Hs/2`` subject to ``|s| <= radius`` (the paper's eqn:trsp).

    Parameters
    ----------
    hessian : array_like, shape (n, n)
        The symmetric matrix ``H``, definite or not; rounding-level asymmetry is averaged out.
    gradient : array_like, shape (n,)
        The vector ``g``.
    radius : float
        Positive and finite.
    method : {"exact", "sdp", "tcg"}
        ``"exact"``: eigendecomposition, a global minimiser to machine precision. ``"sdp"``: the
        paper's semidefinite lifting (eqn:SDP_relaxation), slow, an independent check; needs the
        extra ``sdp``. ``"tcg"``: truncated conjugate gradients, approximate, along negative
        curvature if the gradient is zero.

    Returns
    -------
    SubproblemSolution
        The step with its multiplier, KKT residual and smallest eigenvalues. For ``"tcg"`` the
        multiplier is the least-squares one. Its ``kkt_residual`` is about first-order conditions
        only: a step to a saddle point of the model has residual 0, and is far from the minimiser if
        ``shifted_min_eigenvalue`` is negative. Compare ``model_decrease`` with that of ``"exact"``.

    Examples
    --------
    >>> import numpy as np
    >>> solution = solve_subproblem(np.diag([-1.0, 2.0]), np.array([1.0, 1.0]), radius=1.0)
    >>> solution.on_boundary, solution.hard_case, solution.kkt_residual < 1e-10
    (True, False, True)
    >>> solution.vector.round(4)
    array([-0.9688, -0.248 ])
    """
    try:
        solve = _METHODS[method]
    except (KeyError, TypeError):
        raise unknown_name("method", method, _METHODS) from None
    matrix = _checked_hessian(hessian)
    vector = _checked_gradient(gradient, matrix.shape[0])
    return solve(matrix, vector, _checked_radius(radius))


def _checked_hessian(hessian: np.ndarray) -> np.ndarray:
    matrix = _as_float64("hessian", hessian)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(
            f"hessian must be a square matrix; got shape {matrix.shape}; pass the n x n matrix "
            "of the model in an orthonormal basis"
        )
    if matrix.size == 0:
        return matrix
    largest = _checked_magnitude("hessian", matrix)
    asymmetry = largest_magnitude(matrix - matrix.T)
    if asymmetry == 0.0:
        return matrix
    if asymmetry > _ASYMMETRY * largest:
        raise ValueError(
            f"hessian must be symmetric; got entries (i, j) and (j, i) that differ by "
            f"{asymmetry:.2g}, where the largest is {largest:.2g}; check the Hessian, or pass "
            "(H + H.T) / 2 if only the symmetric part is meant"
        )
    return 0.5 * matrix + 0.5 * matrix.T


def _checked_gradient(gradient: np.ndarray, n: int) -> np.ndarray:
    vector = _as_float64("gradient", gradient)
    if vector.shape != (n,):
        raise ValueError(
            f"gradient must have shape ({n},) to match hessian; got {vector.shape}; "
            "pass a 1-D array in the same basis as hessian"
        )
    if n > 0:
        _checked_magnitude("gradient", vector)
    return vector


def _checked_radius(radius: float) -> float:
    check_positive("radius", radius, or_else=", the length that the step may not exceed")
    return float(radius)


def _as_float64(name: str, values: np.ndarray) -> np.ndarray:
    array = np.asarray(values)
    if array.dtype.kind not in "fiub":
        raise ValueError(
            f"{name} must be an array of real numbers; got dtype {array.dtype}; "
            "convert it to float64 first"
        )
    return array.astype(np.float64, copy=False)


def _checked_magnitude(name: str, array: np.ndarray) -> float:
    largest = largest_magnitude(array)
    if not largest <= _LARGEST:
        what = "a NaN" if math.isnan(largest) else f"an entry of magnitude {largest:.2g}"
        raise ValueError(
            f"{name} must have finite entries of at most {_LARGEST:g}; got {what}; "
            "check the derivatives at this point, or rescale the cost"
        )
    return largest


def _solve_tcg(hessian: np.ndarray, gradient: np.ndarray, radius: float) -> SubproblemSolution:
    return solve_normalised(_truncated_cg, hessian, gradient, radius)


def _truncated_cg(
    hessian: np.ndarray, gradient: np.ndarray, radius: float
) -> tuple[np.ndarray, float, bool, bool]:
    """The solvers' truncated CG on the quadratic itself; a zero gradient asks for the curvature."""
    problem = Problem(
        Euclidean(gradient.size),
        lambda x: float(x @ (gradient + 0.5 * (hessian @ x))),
        euclidean_gradient=lambda x: gradient + hessian @ x,
        euclidean_hessian=lambda x, v: hessian @ v,
    )
    here = problem.at(np.zeros_like(gradient))
    if not gradient.any():
        here.curvature.side(Threshold(absolute=_EPS))
    step = TruncatedCG(kappa=1e-10, max_products=2 * gradient.size).at(here).step(radius)
    multiplier = 0.0
    if step.on_boundary:
        slope = float(step.vector.dot(step.hessian_vector + gradient))
        multiplier = max(0.0, -slope / radius**2)
    return step.vector, multiplier, step.on_boundary, step.ended is Ended.CURVATURE_START


_METHODS: dict[str, Callable[[np.ndarray, np.ndarray, float], SubproblemSolution]] = {
    "exact": solve_exact_dense,
    "sdp": solve_lifted,
    "tcg": _solve_tcg,
}
