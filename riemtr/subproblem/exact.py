"""The exact dense subproblem solver: one eigendecomposition and a scalar equation.

In the eigenbasis of ``H = V diag(lambda_i) V'`` and with ``gamma = V'g``, a minimiser is
``s_i = -gamma_i / (lambda_i + lambda)``, where the multiplier ``lambda`` is zero or makes
``|s| = radius`` (Conn, Gould and Toint, *Trust-region methods*, 2000, section 7.3).

Where ``H`` is not positive definite the unknown is the distance ``t = lambda + lambda_1`` from
the leftmost pole, not ``lambda``: the denominators ``(lambda_i - lambda_1) + t`` are then sums of
nonnegative numbers, known to full relative precision however close to the pole the root lies, so
the nearly hard case is as accurate as the easy one.
"""

from __future__ import annotations

import math

import numpy as np
import scipy.linalg
from scipy.linalg import lapack

from riemtr.subproblem.solution import (
    SubproblemSolution,
    kkt_residual,
    largest_magnitude,
    ldexp,
    ldexp_array,
    scale_if_needed,
)

_EPS = float(np.finfo(float).eps)
_MAX_NEWTON = 200  # about ten are needed; the bound only guarantees an end


def solve_exact_dense(
    hessian: np.ndarray, gradient: np.ndarray, radius: float
) -> SubproblemSolution:
    """Minimise ``g's + s'Hs/2`` over ``|s| <= radius`` for a symmetric ``H``.

    The input is taken as it is; :func:`riemtr.subproblem.dense.solve_subproblem` checks it first.

    Parameters
    ----------
    hessian : ndarray, shape (n, n)
        Symmetric, in double precision.
    gradient : ndarray, shape (n,)
        In double precision.
    radius : float
        Positive.

    Examples
    --------
    >>> import numpy as np
    >>> solution = solve_exact_dense(np.diag([-2.0, 1.0]), np.array([0.0, 3.0]), 2.0)
    >>> solution.hard_case, round(solution.multiplier, 12)
    (True, 2.0)
    >>> np.abs(solution.vector).round(6)
    array([1.732051, 1.      ])
    """
    eigenvalues, eigenvectors = eigendecomposition(hessian)
    return solve_exact(eigenvalues, eigenvectors, gradient, radius, hessian)


def eigendecomposition(hessian: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return ascending eigenvalues and eigenvectors of a symmetric matrix.

    LAPACK's divide and conquer, called directly: it is the fastest driver at every size from 10
    to 1000, and ``scipy.linalg.eigh`` adds 30 microseconds of its own.
    """
    if hessian.shape[0] == 0:
        return np.zeros(0), np.zeros((0, 0))
    # The transpose of a C-ordered array is what Fortran wants; for a symmetric one it is the same.
    eigenvalues, eigenvectors, info = lapack.dsyevd(hessian.T)
    if info != 0:  # divide and conquer failed to converge: QR iteration is slower but surer
        eigenvalues, eigenvectors = scipy.linalg.eigh(hessian, driver="ev")
    return eigenvalues, eigenvectors


def solve_exact(
    eigenvalues: np.ndarray,
    eigenvectors: np.ndarray,
    gradient: np.ndarray,
    radius: float,
    hessian: np.ndarray | None = None,
) -> SubproblemSolution:
    """Minimise over ``|s| <= radius`` given the eigendecomposition of the Hessian.

    Costs ``O(n^2)``, so that a smaller radius after a rejected step needs no new decomposition.

    Parameters
    ----------
    eigenvalues : ndarray, shape (n,)
        Ascending.
    eigenvectors : ndarray, shape (n, n)
        Orthonormal columns.
    gradient : ndarray, shape (n,)
        The linear term.
    radius : float
        Positive.
    hessian : ndarray, shape (n, n), optional
        If given, ``H s`` and the KKT residual come from it, so that they account for the errors
        of the eigendecomposition too.

    Notes
    -----
    Eigenvalues and components of the gradient below ``n eps`` times the largest cannot be told
    from zero. Where both vanish together (singular ``H``, consistent ``g``), the step of least
    norm is returned: it does not drift along flat directions.
    """
    eigenvalues = np.asarray(eigenvalues, dtype=float)
    gradient = np.asarray(gradient, dtype=float)
    if gradient.shape[0] == 0:
        empty = np.zeros(0)
        return SubproblemSolution(empty, 0.0, False, False, 0.0, 0.0, math.inf, math.inf, empty)
    hessian_magnitude = max(-float(eigenvalues[0]), float(eigenvalues[-1]), 0.0)
    scaling = scale_if_needed(hessian_magnitude, largest_magnitude(gradient), radius)
    curvatures = ldexp_array(eigenvalues, -scaling.hessian)
    scaled_gradient = ldexp_array(gradient, -scaling.gradient)
    scaled_radius = math.ldexp(radius, -scaling.radius)

    coefficients, multiplier, shifted, hard_case = solve_in_eigenbasis(
        curvatures, eigenvectors.T.dot(scaled_gradient), scaled_radius
    )
    on_boundary = multiplier > 0.0 or hard_case
    vector = eigenvectors.dot(coefficients)
    length_squared = float(vector.dot(vector))
    if on_boundary or length_squared > scaled_radius * scaled_radius:
        # The basis is orthonormal only to rounding.
        vector *= scaled_radius / math.sqrt(length_squared)
    # Sums of nonnegative terms: -(g's + s'Hs/2) = (s'(H + lambda I)s + lambda |s|^2) / 2.
    decrease = float((coefficients * shifted).dot(coefficients))
    if on_boundary:
        decrease += multiplier * scaled_radius * scaled_radius

    if hessian is None:
        hessian_vector = eigenvectors.dot(eigenvalues * coefficients)
    else:
        hessian_vector = hessian.dot(vector)
    residual = kkt_residual(
        ldexp(hessian_magnitude, -scaling.hessian),
        ldexp_array(hessian_vector, -scaling.hessian),
        scaled_gradient,
        scaled_radius,
        vector,
        multiplier,
    )
    step_exponent = scaling.step_exponent(on_boundary)
    return SubproblemSolution(
        vector=ldexp_array(vector, step_exponent),
        multiplier=ldexp(multiplier, scaling.hessian),
        on_boundary=on_boundary,
        hard_case=hard_case,
        kkt_residual=residual,
        model_decrease=ldexp(0.5 * decrease, scaling.hessian + 2 * step_exponent),
        min_eigenvalue=float(eigenvalues[0]),
        shifted_min_eigenvalue=ldexp(float(shifted[0]), scaling.hessian),
        hessian_vector=ldexp_array(hessian_vector, step_exponent),
    )


def solve_in_eigenbasis(
    curvatures: np.ndarray, gamma: np.ndarray, radius: float
) -> tuple[np.ndarray, float, np.ndarray, bool]:
    """Return the step's coefficients, the multiplier, the shifted eigenvalues, hard case or not."""
    n = curvatures.shape[0]
    leftmost = float(curvatures[0])
    negligible = n * _EPS * max(-leftmost, float(curvatures[-1]))
    pole = min(leftmost, 0.0)
    gaps = curvatures - pole
    magnitudes = np.abs(gamma)
    largest = np.maximum.reduce

    if leftmost <= negligible:
        cluster = int(gaps.searchsorted(negligible, side="right"))
        if largest(magnitudes[:cluster]) <= n * _EPS * largest(magnitudes):
            coefficients = np.zeros(n)
            # Steps longer than the radius are found without dividing, which could overflow.
            if (magnitudes[cluster:] <= radius * gaps[cluster:]).all():
                np.divide(gamma[cluster:], -gaps[cluster:], out=coefficients[cluster:])
                slack = radius * radius - float(coefficients.dot(coefficients))
                if slack >= 0.0:
                    if leftmost >= -negligible:  # semidefinite: the step of least norm
                        return coefficients, 0.0, curvatures, False
                    coefficients[:cluster] = math.sqrt(slack) * _downhill(gamma[:cluster])
                    return coefficients, -leftmost, gaps, True

    lower = float(largest(magnitudes / radius - gaps))
    if lower <= 0.0:
        coefficients = np.zeros(n)
        np.divide(gamma, -gaps, out=coefficients, where=gamma != 0.0)
        slack = radius * radius - float(coefficients.dot(coefficients))
        if slack >= 0.0:
            if leftmost >= 0.0:
                return coefficients, 0.0, curvatures, False
            coefficients[0] += math.sqrt(slack)
            return coefficients, -leftmost, gaps, True
    coefficients, shift = _secular_root(gaps, gamma, radius, max(lower, 0.0))
    return coefficients, shift - pole, gaps + shift, False


def _downhill(gamma: np.ndarray) -> np.ndarray:
    """Return the unit vector along ``-gamma``, or the first axis if that is zero."""
    largest = np.abs(gamma).max()
    if largest == 0.0:
        direction = np.zeros_like(gamma)
        direction[0] = 1.0
        return direction
    direction = gamma / -largest
    return direction / math.sqrt(direction.dot(direction))


def _secular_root(
    gaps: np.ndarray, gamma: np.ndarray, radius: float, start: float
) -> tuple[np.ndarray, float]:
    """Solve ``|gamma / (gaps + t)| = radius`` for ``t`` from a lower bound of the root.

    ``1/|s(t)|`` is concave and increasing, so that Newton's method on ``1/|s| - 1/radius`` from
    the left of the root rises to it monotonically: the only safeguard needed is the start, where
    one component alone is as long as the radius. Returns the coefficients and ``t``.
    """
    if np.count_nonzero(gamma) < gamma.shape[0]:  # 0/0 at a pole without weight
        present = gamma != 0.0
        coefficients = np.zeros_like(gamma)
        coefficients[present], shift = _secular_root(gaps[present], gamma[present], radius, start)
        return coefficients, shift
    shift = start
    for _ in range(_MAX_NEWTON):
        denominators = gaps + shift
        coefficients = gamma / denominators
        squared = float(coefficients.dot(coefficients))
        excess = math.sqrt(squared) / radius - 1.0
        if excess <= 2.0 * _EPS:
            break
        slope = float(coefficients.dot(coefficients / denominators))
        following = shift + squared / slope * excess
        if following <= shift:
            break
        shift = following
    return -coefficients, shift
