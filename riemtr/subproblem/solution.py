"""The solution of a dense trust-region subproblem and the residual that proves it.

With ``s = 2^b s'`` the model ``g's + s'Hs/2`` has two terms, of the order of ``2^b |g|`` and
``4^b |H|``. Dividing by the larger leaves Hessian, gradient and radius at most of order one,
without rounding, so that squares neither overflow nor underflow.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import lapack


@dataclass(frozen=True, eq=False, repr=False)
class SubproblemSolution:
    """A minimiser ``s`` of ``g's + s'Hs/2`` over ``|s| <= radius``, with its proof.

    ``s`` is a global minimiser if and only if there is a multiplier with
    ``(H + multiplier I) s = -g``, ``multiplier (radius - |s|) = 0``, ``multiplier >= 0`` and
    ``H + multiplier I`` positive semidefinite: ``kkt_residual`` measures the first three,
    ``shifted_min_eigenvalue`` shows the last.

    Attributes
    ----------
    vector : ndarray, shape (n,)
        The step ``s``, in double precision whatever the input's.
    multiplier : float
        The Lagrange multiplier of ``|s| <= radius``.
    on_boundary : bool
        Whether the step ends on the boundary.
    hard_case : bool
        Whether the gradient has, to working precision, no component along the leftmost
        eigenvectors of an indefinite ``H`` and the boundary is reached by moving along one.
    kkt_residual : float
        The relative residual, see :func:`kkt_residual`.
    model_decrease : float
        ``-(g's + s'Hs/2)``; infinite or zero where that is beyond double precision.
    min_eigenvalue : float
        The smallest eigenvalue of ``H`` (infinite if ``n = 0``).
    shifted_min_eigenvalue : float
        The smallest eigenvalue of ``H + multiplier I``.
    hessian_vector : ndarray, shape (n,)
        ``H s``.
    """

    vector: np.ndarray
    multiplier: float
    on_boundary: bool
    hard_case: bool
    kkt_residual: float
    model_decrease: float
    min_eigenvalue: float
    shifted_min_eigenvalue: float
    hessian_vector: np.ndarray = field(repr=False)

    def __repr__(self) -> str:
        return (
            f"SubproblemSolution(n={self.vector.size}, multiplier={self.multiplier:.6g}, "
            f"on_boundary={self.on_boundary}, hard_case={self.hard_case}, "
            f"kkt_residual={self.kkt_residual:.1e}, model_decrease={self.model_decrease:.6g}, "
            f"min_eigenvalue={self.min_eigenvalue:.6g}, "
            f"shifted_min_eigenvalue={self.shifted_min_eigenvalue:.6g})"
        )

    def __str__(self) -> str:
        where = "on the boundary" if self.on_boundary else "in the interior"
        entries = np.array2string(self.vector, precision=6, threshold=8, edgeitems=3)
        return "\n".join(
            (
                f"step {where}{', hard case' if self.hard_case else ''}",
                f"  vector                  {entries}",
                f"  multiplier              {self.multiplier:.6g}",
                f"  model decrease          {self.model_decrease:.6g}",
                f"  KKT residual            {self.kkt_residual:.1e} (relative)",
                f"  smallest eigenvalue     {self.min_eigenvalue:.6g} of H",
                f"                          {self.shifted_min_eigenvalue:.6g} of H + multiplier*I",
            )
        )


def kkt_residual(
    hessian_norm: float,
    hessian_vector: np.ndarray,
    gradient: np.ndarray,
    radius: float,
    vector: np.ndarray,
    multiplier: float,
) -> float:
    """Return the relative residual of the first-order conditions, the largest of three.

    - stationarity: ``|(H + lambda I) s + g| / (|H| |s| + |lambda| |s| + |g|)``,
    - complementarity: ``|lambda| (radius - |s|) / (|H| radius + |lambda| radius + |g|)``,
    - feasibility: ``max(0, |s| / radius - 1)`` and ``max(0, -lambda) / (|H| + |lambda|)``,

    with ``|H|`` the spectral norm. It is invariant to the scales of ``H``, ``g`` and the radius.

    Parameters
    ----------
    hessian_norm : float
        ``|H|``.
    hessian_vector : ndarray, shape (n,)
        ``H s``.
    gradient, vector : ndarray, shape (n,)
        ``g`` and ``s``.
    radius, multiplier : float
        The radius and the multiplier ``lambda``.
    """
    length = math.sqrt(vector.dot(vector))
    gradient_norm = math.sqrt(gradient.dot(gradient))
    residual = hessian_vector + gradient
    if multiplier != 0.0:
        residual += multiplier * vector
    curvature = hessian_norm + abs(multiplier)
    size = curvature * length + gradient_norm
    stationarity = math.sqrt(residual.dot(residual)) / size if size > 0.0 else 0.0
    complementarity = 0.0
    if multiplier != 0.0:
        complementarity = abs(multiplier * (radius - length)) / (curvature * radius + gradient_norm)
    sign = -multiplier / curvature if multiplier < 0.0 else 0.0
    return max(stationarity, complementarity, length / radius - 1.0, sign)


# -- powers of two that bring a subproblem to order one, whatever the scales of its data ----------

# A gradient this far (as a power of two) below |H| * radius no longer moves a step that ends on
# the boundary, and one that ends inside is linear in it: it is held at this level, where its
# square can be represented, and the interior step scaled back.
_SMALLEST_GRADIENT = -400
_LARGEST = float(np.finfo(float).max)


@dataclass(frozen=True)
class Scaling:
    """The exponents of a normalised subproblem, and the maps back to the user's units.

    Attributes
    ----------
    hessian : int
        The normalised Hessian is ``2^-hessian * H``.
    gradient : int
        The normalised gradient is ``2^-gradient * g``.
    radius : int
        The normalised radius is ``2^-radius`` times the given one.
    interior : int
        A normalised step that ends inside is ``2^-interior`` times too large.
    """

    hessian: int
    gradient: int
    radius: int
    interior: int

    def step_exponent(self, on_boundary: bool) -> int:
        """Return ``k`` such that ``2^k`` times the normalised step is the step."""
        return self.radius if on_boundary else self.radius - self.interior


_SMALL, _LARGE = 1e-30, 1e30  # products of four of these are far from the limits
_UNSCALED = Scaling(0, 0, 0, 0)


def scale(hessian_magnitude: float, gradient_magnitude: float, radius: float) -> Scaling:
    """Choose the exponents from the largest magnitudes in the Hessian and in the gradient."""
    radius_exponent = math.frexp(radius)[1]
    if gradient_magnitude == 0.0:
        hessian_exponent = math.frexp(hessian_magnitude)[1]
        return Scaling(hessian_exponent, 0, radius_exponent, 0)
    gradient_exponent = math.frexp(gradient_magnitude)[1]
    if hessian_magnitude == 0.0:
        return Scaling(gradient_exponent - radius_exponent, gradient_exponent, radius_exponent, 0)
    hessian_exponent = math.frexp(hessian_magnitude)[1]
    relative = gradient_exponent - hessian_exponent - radius_exponent
    if relative >= 0:  # the gradient dominates
        return Scaling(hessian_exponent + relative, gradient_exponent, radius_exponent, 0)
    interior = max(0, _SMALLEST_GRADIENT - relative)
    return Scaling(
        hessian_exponent, gradient_exponent - relative - interior, radius_exponent, interior
    )


def scale_if_needed(hessian_magnitude: float, gradient_magnitude: float, radius: float) -> Scaling:
    """Choose the exponents as :func:`scale` does, or none where all is of moderate size."""
    if (
        _SMALL < hessian_magnitude < _LARGE
        and _SMALL < gradient_magnitude < _LARGE
        and _SMALL < radius < _LARGE
    ):
        return _UNSCALED
    return scale(hessian_magnitude, gradient_magnitude, radius)


def ldexp(number: float, exponent: int) -> float:
    """Return ``number * 2^exponent``, infinite where that cannot be represented."""
    try:
        return math.ldexp(number, exponent)
    except OverflowError:
        return math.copysign(math.inf, number)


def ldexp_array(array: np.ndarray, exponent: int) -> np.ndarray:
    """Return ``array * 2^exponent`` without warnings, infinite where out of range."""
    if exponent == 0:
        return array
    if -900 < exponent < 900:
        power = 2.0**exponent  # exact, and several times faster than ldexp on large arrays
        if exponent <= 0:
            return array * power
        if largest_magnitude(array) <= _LARGEST / power:
            return array * power
    with np.errstate(over="ignore"):
        return np.ldexp(array, exponent)


def largest_magnitude(array: np.ndarray) -> float:
    """Return the largest magnitude in an array that is not empty; NaN if it holds one."""
    # The ufunc's own reduction has half the overhead of the method.
    return float(np.maximum.reduce(np.abs(array), axis=None))


# -- run an arrays-only subproblem solver on data brought to order one, and measure its answer ----

# (hessian, gradient, radius) -> step, multiplier, on the boundary or not, hard case or not
Core = Callable[[np.ndarray, np.ndarray, float], tuple[np.ndarray, float, bool, bool]]


def solve_normalised(
    core: Core, hessian: np.ndarray, gradient: np.ndarray, radius: float
) -> SubproblemSolution:
    """Apply a core to the normalised subproblem; residual and eigenvalues are computed here.

    Parameters
    ----------
    core : callable
        Maps a symmetric matrix, a vector and a radius, all of order one, to a step, its
        multiplier, whether it ends on the boundary, and whether it is the hard case.
    hessian, gradient, radius
        The subproblem, in double precision and any scale.
    """
    if gradient.size == 0:
        empty = np.zeros(0)
        return SubproblemSolution(empty, 0.0, False, False, 0.0, 0.0, math.inf, math.inf, empty)
    eigenvalues = lapack.dsyevd(hessian.T, compute_v=0)[0]
    magnitude = max(-float(eigenvalues[0]), float(eigenvalues[-1]), 0.0)
    scaling = scale(magnitude, largest_magnitude(gradient), radius)
    matrix = ldexp_array(hessian, -scaling.hessian)
    linear = ldexp_array(gradient, -scaling.gradient)
    bound = math.ldexp(radius, -scaling.radius)
    vector, multiplier, on_boundary, hard_case = core(matrix, linear, bound)
    image = matrix.dot(vector)
    decrease = 0.0 - float(vector.dot(linear + 0.5 * image))
    leftmost = ldexp(float(eigenvalues[0]), -scaling.hessian)
    exponent = scaling.step_exponent(on_boundary)
    return SubproblemSolution(
        vector=ldexp_array(vector, exponent),
        multiplier=ldexp(multiplier, scaling.hessian),
        on_boundary=on_boundary,
        hard_case=hard_case,
        kkt_residual=kkt_residual(
            ldexp(magnitude, -scaling.hessian), image, linear, bound, vector, multiplier
        ),
        model_decrease=ldexp(decrease, scaling.hessian + 2 * exponent),
        min_eigenvalue=float(eigenvalues[0]),
        shifted_min_eigenvalue=ldexp(leftmost + multiplier, scaling.hessian),
        hessian_vector=ldexp_array(image, exponent + scaling.hessian),
    )
