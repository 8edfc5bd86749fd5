"""Random tangent vectors: of unit length, tangent, and of no preferred direction in the metric."""

import numpy as np
import pymanopt.manifolds as pm
import pytest

from riemtr.manifolds import random_point, random_tangent, tangent_basis, to_tangent
from riemtr.manifolds.protocol import inner
from tests.manifolds.zoo import ZOO

FAR = {
    "spd": (pm.SymmetricPositiveDefinite(3), np.diag([1e-8, 1.0, 1e3])),
    "hpd": (pm.HermitianPositiveDefinite(2), np.array([[1e-6, 1e-5j], [-1e-5j, 1.0]])),
    "special-hpd": (pm.SpecialHermitianPositiveDefinite(2), np.diag([1e-4, 1e4]) + 0j),
    "balls": (pm.PoincareBall(2, k=2), np.array([[0.9999, 0.0], [0.0, 0.1]])),
    "positive": (pm.Positive(2, 2), np.array([[1e-9, 1.0], [1e9, 3.0]])),
}


@pytest.mark.parametrize("name", ZOO)
def test_unit_length_and_tangent(name):
    manifold, _ = ZOO[name]
    rng = np.random.default_rng(0)
    point = random_point(manifold, rng)
    vector = random_tangent(manifold, point, rng)
    assert inner(manifold, point, vector, vector) == pytest.approx(1.0, abs=1e-12)
    rest = vector - to_tangent(manifold, point, vector)
    assert inner(manifold, point, rest, rest) < 1e-24


def isotropy(manifold, point, count=4000):
    """Extreme eigenvalues of the mean of d v v', which is the identity for uniform directions."""
    basis = tangent_basis(manifold, point)
    rng = np.random.default_rng(1)
    rows = np.array([basis.coordinates(random_tangent(manifold, point, rng)) for _ in range(count)])
    return basis.dim, np.linalg.eigvalsh(basis.dim * rows.T @ rows / count)[[0, -1]]


@pytest.mark.parametrize("name", FAR)
def test_uniform_far_from_the_middle_of_the_manifold(name):
    manifold, point = FAR[name]
    dim, (smallest, largest) = isotropy(manifold, point)
    expected = {"spd": 6, "hpd": 4, "special-hpd": 3, "balls": 4, "positive": 4}
    assert dim == expected[name]
    assert 0.8 < smallest <= largest < 1.2


def test_uniform_in_products_of_unequal_factors():
    manifold = pm.Product([pm.Euclidean(12), pm.Sphere(2), pm.SymmetricPositiveDefinite(2)])
    point = random_point(manifold, np.random.default_rng(0))
    dim, (smallest, largest) = isotropy(manifold, point)
    assert dim == 16
    assert 0.8 < smallest <= largest < 1.2
