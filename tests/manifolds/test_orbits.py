"""Other arrays for the same point of a quotient manifold."""

from __future__ import annotations

import numpy as np
import pymanopt.manifolds as pm
import pytest

import riemtr
from riemtr.manifolds import another_representative, random_point

QUOTIENTS = [
    pm.Grassmann(5, 2),
    pm.Grassmann(5, 2, k=3),
    pm.ComplexGrassmann(4, 2),
    pm.PSDFixedRank(4, 2),
    pm.PSDFixedRankComplex(4, 2),
    pm.Elliptope(4, 2),
]


@pytest.mark.parametrize("manifold", QUOTIENTS, ids=str)
def test_it_is_another_array_for_the_same_point(manifold):
    point = random_point(manifold, np.random.default_rng(0))
    other = another_representative(manifold, point, np.random.default_rng(1))
    assert other.dtype == point.dtype
    assert np.abs(other - point).max() > 0.1
    np.testing.assert_allclose(
        other @ np.swapaxes(other.conj(), -1, -2), point @ np.swapaxes(point.conj(), -1, -2)
    )
    if hasattr(manifold, "dist") and "Grassmann" in type(manifold).__name__:
        assert manifold.dist(point, other) < 1e-6


def test_products_change_the_factors_that_have_one():
    product = pm.Product([pm.Euclidean(2), pm.Grassmann(3, 2)])
    point = random_point(product, np.random.default_rng(0))
    first, second = another_representative(product, point, np.random.default_rng(1))
    np.testing.assert_array_equal(first, point[0])
    assert np.abs(second - point[1]).max() > 0.1


@pytest.mark.parametrize("manifold", [riemtr.Sphere(3), pm.Stiefel(4, 2), pm.Euclidean(3)])
def test_elsewhere_there_is_none(manifold):
    point = random_point(manifold, np.random.default_rng(0))
    assert another_representative(manifold, point, np.random.default_rng(1)) is None
