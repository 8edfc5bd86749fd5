"""The solution of a dense trust-region subproblem and the residual that proves it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np


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
