"""Random tangent vectors whose directions are uniform in the manifold's own metric.

Lanczos and tangent bases rest on that: a start that favours some directions may have next to
nothing of the others. Most of pymanopt's manifolds draw them so; those whose metric depends on the
point draw in the surrounding space instead, and products give every factor the same length.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from pymanopt.manifolds import Elliptope, PoincareBall, SpecialHermitianPositiveDefinite

from riemtr.manifolds.protocol import (
    POSITIVE_DEFINITE,
    adjoint,
    as_tangent_of,
    dimension,
    inner,
    to_tangent,
)
from riemtr.manifolds.random_points import global_numpy_randomness, takes_generator


def random_tangent(manifold: Any, point: Any, rng: np.random.Generator) -> Any:
    """Draw a tangent vector at a point of any manifold, of unit length where there are any."""
    if dimension(manifold) == 0:
        return manifold.zero_vector(point)
    factors = getattr(manifold, "manifolds", None)
    if factors is not None:
        return _of_product(manifold, point, rng)
    if isinstance(manifold, POSITIVE_DEFINITE):
        vector = _congruent(point, rng)
        if isinstance(manifold, SpecialHermitianPositiveDefinite):
            vector = manifold.projection(point, vector)
        return _unit(manifold, point, vector)
    if isinstance(manifold, PoincareBall):
        vector = rng.standard_normal(point.shape) / manifold.conformal_factor(point)
        return _unit(manifold, point, vector)
    if isinstance(manifold, Elliptope):
        vector = rng.standard_normal(point.shape).astype(point.dtype)
        return _unit(manifold, point, to_tangent(manifold, point, vector))
    if takes_generator(manifold.random_tangent_vector):
        return manifold.random_tangent_vector(point, rng=rng)
    with global_numpy_randomness(rng):
        return manifold.random_tangent_vector(point)


def _of_product(manifold: Any, point: Any, rng: np.random.Generator) -> Any:
    """Directions are uniform if each factor's length is that of a Gaussian of its dimension."""
    parts = []
    for factor, part in zip(manifold.manifolds, point, strict=True):
        vector = random_tangent(factor, part, rng)
        dim = dimension(factor)
        length = np.sqrt(rng.chisquare(dim)) if dim else 0.0
        parts.append(length * _unit(factor, part, vector))
    return _unit(manifold, point, as_tangent_of(manifold, point, parts))


def _congruent(point: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """L S L' for X = L L' and a Gaussian S, Hermitian like X: in the metric of X, S is at I."""
    drawn = rng.standard_normal(point.shape)
    if np.iscomplexobj(point):
        drawn = drawn + 1j * rng.standard_normal(point.shape)
    values, vectors = np.linalg.eigh(point)
    root = vectors * np.sqrt(np.maximum(values, 0.0))[..., None, :]
    vector = root @ (drawn + adjoint(drawn)) @ adjoint(root)
    return 0.5 * (vector + adjoint(vector))


def _unit(manifold: Any, point: Any, vector: Any) -> Any:
    length = np.sqrt(abs(inner(manifold, point, vector, vector)))
    return vector / length if length > 0.0 else vector
