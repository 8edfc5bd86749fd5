"""Quotient manifolds: points that many arrays stand for, which a cost must not tell apart."""

from __future__ import annotations

from typing import Any

import numpy as np
from pymanopt.manifolds import (
    ComplexGrassmann,
    Elliptope,
    Grassmann,
    Product,
    PSDFixedRank,
    PSDFixedRankComplex,
)

# Where X and XQ are the same point, for every unitary Q.
_UP_TO_ROTATION = (ComplexGrassmann, Elliptope, Grassmann, PSDFixedRank, PSDFixedRankComplex)


def another_representative(manifold: Any, point: Any, rng: np.random.Generator) -> Any:
    """Return another array, or sequence of arrays, for the same point; None if there is none.

    Examples
    --------
    >>> plane = np.eye(3)[:, :2]
    >>> other = another_representative(Grassmann(3, 2), plane, np.random.default_rng(0))
    >>> bool(np.allclose(other @ other.T, plane @ plane.T)), bool(np.allclose(other, plane))
    (True, False)
    """
    if isinstance(manifold, Product):
        pairs = zip(manifold.manifolds, point, strict=True)
        others = [another_representative(factor, part, rng) for factor, part in pairs]
        if all(other is None for other in others):
            return None
        return [part if other is None else other for part, other in zip(point, others, strict=True)]
    if not isinstance(manifold, _UP_TO_ROTATION):
        return None
    columns = point.shape[-1]
    square = rng.standard_normal((*point.shape[:-2], columns, columns))
    if np.iscomplexobj(point):
        square = square + 1j * rng.standard_normal(square.shape)
    rotation, _ = np.linalg.qr(square)
    return (point @ rotation).astype(point.dtype, copy=False)
