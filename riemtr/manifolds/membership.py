"""Whether a point lies on a manifold, in words.

pymanopt has no such question. On most of its manifolds retracting the zero vector leaves a point
where it is and puts anything else right; the others have conditions of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from pymanopt.manifolds import (
    FixedRankEmbedded,
    PoincareBall,
    Positive,
    SkewSymmetric,
    SpecialOrthogonalGroup,
    Sphere,
    SphereSubspaceComplementIntersection,
    SphereSubspaceIntersection,
    Symmetric,
)

from riemtr.manifolds.basis import as_real
from riemtr.manifolds.protocol import POSITIVE_DEFINITE, adjoint

Condition = Callable[[Any, Any, float], bool]  # manifold, point, tolerance

_SUBSPACES = (SphereSubspaceIntersection, SphereSubspaceComplementIntersection)
_OTHERS = "take a point of manifold.random_point(), or manifold.retraction of one"


def complaint(manifold: Any, point: Any, tolerance: float) -> str | None:
    """Return what keeps a point from lying on the manifold and the remedy, None if nothing does.

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
            return f"{words}; {_OTHERS}"
    if isinstance(manifold, FixedRankEmbedded):
        return None
    here, back = as_real(point), _put_back(manifold, point)
    if back is None:
        return _OTHERS
    if np.allclose(back, here, rtol=tolerance, atol=tolerance):
        return None
    if isinstance(manifold, (Sphere, *_SUBSPACES)):
        return f"it must have norm 1; its norm is {np.linalg.norm(here):.6g}: divide by it"
    return (
        "manifold.retraction(point, manifold.zero_vector(point)) does, and is at a distance of "
        f"{np.linalg.norm(back - here):.2g} from it: take that one"
    )


def has_left(manifold: Any, point: Any) -> bool:
    """Whether a step has left a manifold that ends at a boundary: rounding takes it there."""
    factors = getattr(manifold, "manifolds", None)
    if factors is not None:
        return any(has_left(*part) for part in zip(factors, point, strict=True))
    kind: Any = type(manifold)
    inside = _condition_inside(kind)
    return inside is not None and not inside(manifold, point, 0.0)


@lru_cache
def _condition_inside(kind: Any) -> Condition | None:  # pymanopt's classes are slow to ask
    return next((holds for kinds, holds in _OPEN if issubclass(kind, kinds)), None)


def _put_back(manifold: Any, point: Any) -> np.ndarray | None:
    """Return a point of the manifold near another, flattened; None where that is none."""
    try:
        with np.errstate(all="ignore"):
            back = as_real(manifold.retraction(point, manifold.zero_vector(point)))
    except (np.linalg.LinAlgError, ValueError):
        return None
    return back if np.all(np.isfinite(back)) else None


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
        _SUBSPACES,
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
