"""Run an arrays-only subproblem solver on data brought to order one, and measure its answer."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.linalg import lapack

from riemtr.subproblem.scaling import largest_magnitude, ldexp, ldexp_array, scale
from riemtr.subproblem.solution import SubproblemSolution, kkt_residual

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
