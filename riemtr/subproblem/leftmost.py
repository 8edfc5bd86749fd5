"""Cheap estimates of the leftmost eigenvector of a dense symmetric matrix.

They serve the near-exact solver, which needs the eigenvector only to a fraction of its tolerance.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

_LANCZOS_STEPS = 6
_INVERSE_ITERATIONS = 3


class Leftmost(NamedTuple):
    """An estimate of the leftmost eigenvector of ``H``: unit ``u``, ``H u``, ``u'H u``."""

    vector: np.ndarray
    image: np.ndarray
    curvature: float
    error: float  # |H u - (u'H u) u|, or 0 where it was not computed


def lanczos(hessian: np.ndarray, start: np.ndarray) -> Leftmost:
    """Refine a guess of the leftmost eigenvector by a few Lanczos steps."""
    basis = [start]
    diagonal: list[float] = []
    off_diagonal: list[float] = []
    for _ in range(min(_LANCZOS_STEPS, start.shape[0])):
        image = hessian.dot(basis[-1])
        diagonal.append(float(image.dot(basis[-1])))
        image -= diagonal[-1] * basis[-1]
        if off_diagonal:
            image -= off_diagonal[-1] * basis[-2]
        off_diagonal.append(math.sqrt(image.dot(image)))
        if off_diagonal[-1] <= 1e-8 * (abs(diagonal[-1]) + off_diagonal[0]):
            break  # an invariant subspace
        basis.append(image / off_diagonal[-1])
    size = len(diagonal)
    vectors = lapack.dstev(np.array(diagonal), np.array(off_diagonal[: size - 1] or [0.0]))[1]
    return _estimate(hessian, vectors[:, 0].dot(np.array(basis[:size])))


def inverse_iteration(factor: np.ndarray, shift: float, start: Leftmost | None) -> Leftmost:
    """Refine an estimate of the leftmost eigenvector with ``R'R = H + shift I``."""
    vector = _starting_direction(factor.shape[0]) if start is None else start.vector
    for _ in range(_INVERSE_ITERATIONS):
        previous = vector
        solved = lapack.dpotrs(factor, previous)[0]
        length = math.sqrt(solved.dot(solved))
        vector = solved / length
    image = previous / length - shift * vector
    return Leftmost(vector, image, float(vector.dot(image)), 0.0)


def _estimate(hessian: np.ndarray, vector: np.ndarray) -> Leftmost:
    vector = vector / math.sqrt(vector.dot(vector))
    image = hessian.dot(vector)
    curvature = float(vector.dot(image))
    residual = image - curvature * vector
    return Leftmost(vector, image, curvature, math.sqrt(residual.dot(residual)))


@lru_cache(maxsize=32)
def _starting_direction(n: int) -> np.ndarray:
    """Return a fixed unit vector that is orthogonal to no eigenvector one meets in practice."""
    vector = np.cos(0.7 * np.arange(1, n + 1) ** 2) + 0.1
    vector /= math.sqrt(vector.dot(vector))
    vector.flags.writeable = False
    return vector
