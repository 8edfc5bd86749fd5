"""Cholesky factorizations of shifted symmetric matrices, and what their failure shows."""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs


def shifted_cholesky(matrix: np.ndarray, shift: float) -> tuple[np.ndarray, int]:
    """Return the upper Cholesky factor of ``matrix + shift I`` and where it broke down, or 0.

    What is below the diagonal of the factor is not used.
    """
    # The transpose of a C-ordered array is what Fortran wants, and a symmetric one is the same.
    shifted = np.array(matrix.T, dtype=float, order="F")
    if shift != 0.0:
        shifted.reshape(-1, order="F")[:: len(shifted) + 1] += shift
    return dpotrf(shifted, clean=0, overwrite_a=1)


def indefinite_direction(matrix: np.ndarray, factor: np.ndarray, failed_at: int) -> np.ndarray:
    """Return a unit vector along which a failed factorization saw no positive curvature.

    The leading block before the failure is factorized; the vector minimises
    ``v'(matrix + shift I)v`` with ``v = 1`` at the failure and 0 after it.

    Examples
    --------
    >>> matrix = np.array([[1.0, 2.0], [2.0, 1.0]])
    >>> v = indefinite_direction(matrix, *shifted_cholesky(matrix, 0.0))
    >>> bool(v @ matrix @ v < 0)
    True
    """
    k = failed_at - 1
    direction = np.zeros(matrix.shape[0])
    direction[k] = 1.0
    if k:
        direction[:k] = -dpotrs(factor[:k, :k], matrix[:k, k])[0]
        direction /= math.sqrt(direction.dot(direction))
    return direction
