"""Whether a point lies on a manifold, in words.

pymanopt has no such question. On most of its manifolds retracting the zero vector leaves a point
where it is and puts anything else right; the others have conditions of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from pymanopt.manifolds import (
    FixedRankEmbedded,
    PoincareBall,
    Positive,
    SkewSymmetric,
    SpecialOrthogonalGroup,
    SphereSubspaceComplementIntersection,
    SphereSubspaceIntersection,
    Symmetric,
)

from riemtr.manifolds.protocol import POSITIVE_DEFINITE, adjoint, is_a

Condition = Callable[[Any, Any, float], bool]  # manifold, point, tolerance


def complaint(manifold: Any, point: Any, tolerance: float) -> str | None:
    """Return what keeps a point from lying on the manifold, None if nothing does.

    Parameters
    ----------
    manifold : Manifold
        Not a product.
    point : array, or sequence of arrays
        Finite, of the right shape.
    tolerance : float
        Relative and absolute, for what holds exactly on paper.
    """
    for kinds, words, holds in _CONDITIONS:
        if isinstance(manifold, kinds) and not holds(manifold, point, tolerance):
            return words
    return None if _stays(manifold, point, tolerance) else "it does not lie there"


def has_left(manifold: Any, point: Any) -> bool:
    """Whether a step has left a manifold that ends at a boundary: rounding takes it there."""
    factors = getattr(manifold, "manifolds", None)
    if factors is not None:
        return any(has_left(*part) for part in zip(factors, point, strict=True))
    inside = next((holds for kind, holds in _OPEN if is_a(manifold, kind)), None)
    return inside is not None and not inside(manifold, point, 0.0)


def _stays(manifold: Any, point: Any, tolerance: float) -> bool:
    if isinstance(manifold, FixedRankEmbedded):
        return True
    try:
        with np.errstate(all="ignore"):
            back = manifold.retraction(point, manifold.zero_vector(point))
    except (np.linalg.LinAlgError, ValueError):
        return False
    return bool(np.allclose(back, point, rtol=tolerance, atol=tolerance))


def _equals(sign: float) -> Condition:
    """Return the condition that a matrix, or each of several, is so many times its adjoint."""

    def holds(manifold: Any, point: np.ndarray, tolerance: float) -> bool:
        size = float(np.abs(point).max(initial=0.0))
        return bool(np.abs(point - sign * adjoint(point)).max(initial=0.0) <= tolerance * size)

    return holds


def _is_positive_definite(manifold: Any, point: np.ndarray, tolerance: float) -> bool:
    return bool(np.all(np.linalg.eigvalsh(point) > 0.0))


def _has_positive_entries(manifold: Any, point: np.ndarray, tolerance: float) -> bool:
    return bool(np.all(point > 0.0))


def _is_in_ball(manifold: Any, point: np.ndarray, tolerance: float) -> bool:
    return bool(np.all(np.linalg.norm(point, axis=-1) < 1.0))


# Open subsets of the space around them.
_OPEN: list[tuple[Any, Condition]] = [
    (POSITIVE_DEFINITE, _is_positive_definite),
    (Positive, _has_positive_entries),
    (PoincareBall, _is_in_ball),
]


def _has_orthonormal_factors(manifold: Any, point: Any, tolerance: float) -> bool:
    left, _, right = point
    grams = (left.T @ left, right @ right.T)
    return all(np.allclose(gram, np.eye(len(gram)), rtol=0.0, atol=tolerance) for gram in grams)


_CONDITIONS: list[tuple[Any, str, Condition]] = [
    (POSITIVE_DEFINITE, "it must equal its conjugate transpose", _equals(1.0)),
    (POSITIVE_DEFINITE, "its eigenvalues must be positive", _is_positive_definite),
    (Symmetric, "it must equal its transpose", _equals(1.0)),
    (SkewSymmetric, "it must equal minus its transpose", _equals(-1.0)),
    (Positive, "its entries must be positive", _has_positive_entries),
    (
        SpecialOrthogonalGroup,
        "its determinant must be 1, not -1",
        lambda m, x, t: bool(np.all(np.linalg.det(x) > 0.0)),
    ),
    (PoincareBall, "its norm must be less than 1", _is_in_ball),
    (
        (SphereSubspaceIntersection, SphereSubspaceComplementIntersection),
        "it must lie in the subspace",
        lambda m, x, t: bool(np.allclose(m._subspace_projector @ x, x, rtol=t, atol=t)),
    ),
    (
        FixedRankEmbedded,
        "its first factor must have orthonormal columns, its last orthonormal rows",
        _has_orthonormal_factors,
    ),
    (
        FixedRankEmbedded,
        "its singular values must be positive",
        lambda m, x, t: bool(np.all(x[1] > 0.0)),
    ),
]
