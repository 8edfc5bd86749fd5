"""Euler characteristics against sums over the cells of each manifold."""

import itertools
import math

import pymanopt
import pytest

import riemtr


def over_subsets(n, p):
    """(-1)^dimension over the Schubert cells of the real Grassmann manifold."""
    cells = itertools.combinations(range(n), p)
    return sum((-1) ** (sum(cell) - p * (p - 1) // 2) for cell in cells)


@pytest.mark.parametrize("n", range(1, 8))
def test_subspaces_and_frames(n):
    for p in range(1, n + 1):
        assert riemtr.Grassmann(n, p).euler_characteristic == over_subsets(n, p)
        assert riemtr.Grassmann(n, p, k=2).euler_characteristic == over_subsets(n, p) ** 2
        # A sphere for each column; Brockett's cost has this many points of each parity.
        orders = math.prod(sum((-1) ** i for i in range(size)) for size in range(2, p + 1))
        frames = 2**p * over_subsets(n, p) * orders
        assert riemtr.Stiefel(n, p).euler_characteristic == frames
    # One cell of dimension 0 and one of the sphere's own.
    assert riemtr.Sphere(n).euler_characteristic == 1 + (-1) ** (n - 1)
    assert riemtr.Oblique(n, 3).euler_characteristic == riemtr.Sphere(n).euler_characteristic ** 3
    assert riemtr.Rotations(n).euler_characteristic == (n == 1)


def test_products_multiply_and_open_manifolds_have_none():
    sphere = riemtr.Sphere(3)
    assert riemtr.Product([sphere, riemtr.Grassmann(5, 2)]).euler_characteristic == 2 * 2
    for other in (riemtr.Euclidean(2), riemtr.PositiveDefinite(2), riemtr.FixedRank(3, 2, 1)):
        assert other.euler_characteristic is None
        assert riemtr.Product([sphere, other]).euler_characteristic is None
    product = riemtr.Product([sphere, pymanopt.manifolds.ComplexCircle(2)])
    assert product.euler_characteristic is None
