"""Every manifold of riemtr and of pymanopt, small, with a smooth cost that suits it."""

from __future__ import annotations

import autograd.numpy as anp
import numpy as np
import pymanopt.manifolds as pm

import riemtr
from riemtr.manifolds.arrays import array_count

# Name: (manifold, dimension).
NATIVE = {
    "riemtr-sphere": (riemtr.Sphere(4), 3),
    "riemtr-circle": (riemtr.Sphere(2), 1),
    "riemtr-oblique": (riemtr.Oblique(3, 4), 8),
    "riemtr-stiefel": (riemtr.Stiefel(5, 2), 7),
    "riemtr-stiefel-3": (riemtr.Stiefel(4, 2, k=3), 15),
    "riemtr-stiefel-square": (riemtr.Stiefel(3, 3), 3),
    "riemtr-grassmann": (riemtr.Grassmann(5, 2), 6),
    "riemtr-grassmann-3": (riemtr.Grassmann(4, 2, k=3), 12),
    "riemtr-rotations": (riemtr.Rotations(3), 3),
    "riemtr-rotations-2": (riemtr.Rotations(2, k=3), 3),
    "riemtr-rotations-4": (riemtr.Rotations(4, k=2), 12),
    "riemtr-spd": (riemtr.PositiveDefinite(3), 6),
    "riemtr-spd-2": (riemtr.PositiveDefinite(2, k=2), 6),
    "riemtr-fixed-rank": (riemtr.FixedRank(5, 4, 2), 14),
    "riemtr-fixed-rank-full": (riemtr.FixedRank(3, 4, 3), 12),
    "riemtr-euclidean": (riemtr.Euclidean(3), 3),
    "riemtr-euclidean-matrices": (riemtr.Euclidean(2, 3), 6),
    "riemtr-product": (riemtr.Product([riemtr.Rotations(3), riemtr.Euclidean(3)]), 6),
    "riemtr-product-named": (
        riemtr.Product({"axis": riemtr.Sphere(3), "spread": riemtr.PositiveDefinite(2)}),
        2 + 3,
    ),
    "riemtr-product-nested": (
        riemtr.Product(
            [
                riemtr.Product({"a": riemtr.Oblique(3, 2), "b": riemtr.Stiefel(3, 2)}),
                riemtr.Product([riemtr.Grassmann(3, 1)]),
                pm.ComplexCircle(2),
            ]
        ),
        4 + 3 + 2 + 2,
    ),
    "riemtr-product-low-rank": (
        riemtr.Product([riemtr.Sphere(3), riemtr.FixedRank(4, 3, 2), pm.UnitaryGroup(2)]),
        2 + 10 + 4,
    ),
}

# The same for pymanopt; the dimensions are the true ones.
PYMANOPT = {
    "sphere": (pm.Sphere(5), 4),
    "sphere-of-matrices": (pm.Sphere(3, 2), 5),
    "sphere-subspace": (pm.SphereSubspaceIntersection(np.eye(5)[:, :3]), 2),
    "sphere-complement": (pm.SphereSubspaceComplementIntersection(np.eye(5)[:, :2]), 2),
    "stiefel": (pm.Stiefel(5, 2), 7),
    "stiefel-3": (pm.Stiefel(4, 2, k=3), 15),
    "stiefel-square": (pm.Stiefel(3, 3), 3),
    "grassmann": (pm.Grassmann(5, 2), 6),
    "grassmann-3": (pm.Grassmann(4, 2, k=3), 12),
    "spd": (pm.SymmetricPositiveDefinite(3), 6),
    "spd-2": (pm.SymmetricPositiveDefinite(2, k=2), 6),
    # pymanopt says n(n + 1) and n(n + 1) - 1 for these: real dimensions are n^2 and n^2 - 1.
    "hpd": (pm.HermitianPositiveDefinite(3), 9),
    "hpd-2": (pm.HermitianPositiveDefinite(2, k=2), 8),
    "special-hpd": (pm.SpecialHermitianPositiveDefinite(3), 8),
    "special-hpd-2": (pm.SpecialHermitianPositiveDefinite(2, k=2), 6),
    "oblique": (pm.Oblique(3, 4), 8),
    "fixed-rank": (pm.FixedRankEmbedded(5, 4, 2), 14),
    "complex-circle": (pm.ComplexCircle(4), 4),
    "complex-grassmann": (pm.ComplexGrassmann(4, 2), 8),
    "complex-grassmann-2": (pm.ComplexGrassmann(3, 1, k=2), 8),
    "unitary": (pm.UnitaryGroup(3), 9),
    "unitary-2": (pm.UnitaryGroup(2, k=2), 8),
    "rotations": (pm.SpecialOrthogonalGroup(3), 3),
    "rotations-2": (pm.SpecialOrthogonalGroup(3, k=2), 6),
    "psd": (pm.PSDFixedRank(4, 2), 7),
    "psd-complex": (pm.PSDFixedRankComplex(4, 2), 12),
    "elliptope": (pm.Elliptope(4, 2), 3),
    "poincare": (pm.PoincareBall(3), 3),
    "poincare-3": (pm.PoincareBall(2, k=3), 6),
    "positive": (pm.Positive(2, 3), 6),
    "positive-2": (pm.Positive(2, 2, k=2), 8),
    "euclidean": (pm.Euclidean(3), 3),
    "euclidean-matrices": (pm.Euclidean(2, 3), 6),
    "complex-euclidean": (pm.ComplexEuclidean(2, 2), 8),
    "symmetric": (pm.Symmetric(3), 6),
    "skew": (pm.SkewSymmetric(3), 3),
    "skew-2": (pm.SkewSymmetric(3, 2), 6),
    "product": (pm.Product([riemtr.Sphere(3), pm.Stiefel(3, 2)]), 5),
    "product-spd": (pm.Product([pm.Euclidean(2), pm.SymmetricPositiveDefinite(2)]), 5),
    "product-rigid": (pm.Product([pm.SpecialOrthogonalGroup(3), pm.Euclidean(3)]), 6),
    "product-quotient": (pm.Product([pm.Elliptope(4, 2), pm.Euclidean(2)]), 5),
    "product-hpd": (
        pm.Product(
            [pm.SpecialHermitianPositiveDefinite(2), pm.PoincareBall(2), pm.UnitaryGroup(2)]
        ),
        3 + 2 + 4,
    ),
    "product-mixed": (
        pm.Product([pm.ComplexCircle(2), pm.FixedRankEmbedded(4, 3, 2), pm.UnitaryGroup(2)]),
        2 + 10 + 4,
    ),
}

ZOO = NATIVE | PYMANOPT

_QUOTIENTS = (
    riemtr.Grassmann,
    pm.PSDFixedRank,
    pm.PSDFixedRankComplex,
    pm.Elliptope,
    pm.Grassmann,
    pm.ComplexGrassmann,
)


def _coefficients(array):
    wave = np.sin(1.0 + np.arange(array.size)).reshape(array.shape)
    return wave + 0.5j * np.cos(wave) if anp.iscomplexobj(array) else wave


def _polynomial(array):
    linear = anp.sum(anp.real(np.conj(_coefficients(array)) * array))
    cubic = anp.sum(anp.real(array * array * anp.conj(array)))
    return linear + 0.3 * anp.sum(anp.real(array) ** 4) + 0.2 * cubic


def _one(manifold, *arrays):
    if isinstance(manifold, _QUOTIENTS):
        (y,) = arrays
        return _polynomial(anp.matmul(y, anp.conj(anp.swapaxes(y, -1, -2))))
    if isinstance(manifold, (pm.FixedRankEmbedded, riemtr.FixedRank)):
        return _polynomial(anp.dot(arrays[0] * arrays[1], arrays[2]))
    return _polynomial(arrays[0])


def cost_on(manifold):
    """A cost without symmetries beyond those the manifold imposes, for autograd."""
    factors = getattr(manifold, "manifolds", None)
    if factors is None:
        return lambda *arrays: _one(manifold, *arrays)

    def cost(*arrays):
        total, position = 0.0, 0
        for factor in factors:
            count = array_count(factor.point_layout)
            original = getattr(factor, "original", factor)
            total = total + cost_on(original)(*arrays[position : position + count])
            position += count
        return total

    return cost
