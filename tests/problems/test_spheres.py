"""Charges and packings on spheres: known configurations, published energies, bounds."""

from __future__ import annotations

import numpy as np
import pytest

import riemtr
from riemtr.problems import build
from riemtr.problems.spheres import sharp_inner_products

ACCURATE = riemtr.PracticalTRM(relative_tolerance=1e-10)
# Least energies of Thomson's problem, as published by Saff and Kuijlaars and others.
ENERGIES = {
    5: 6.474691495,
    7: 14.452977414,
    8: 19.675287861,
    9: 25.759986531,
    10: 32.716949460,
    11: 40.596450510,
    14: 69.306363297,
}


def lowest(name, starts=4, **parameters):
    case = build(name, rng=0, **parameters)
    results = [ACCURATE.solve(case.problem, rng=seed) for seed in range(starts)]
    return case, min(results, key=lambda result: result.cost)


@pytest.mark.parametrize("n", ENERGIES)
def test_published_energies(n):
    case, best = lowest("thomson", n=n)
    assert best.cost == pytest.approx(ENERGIES[n], abs=1e-8)
    bound = riemtr.certify(case.problem, best.point).lower_bound
    assert 0.98 * best.cost < bound < best.cost


@pytest.mark.parametrize(
    ("n", "dimension"), [(2, 3), (3, 3), (4, 3), (6, 3), (12, 3), (7, 2), (5, 4), (8, 4), (10, 5)]
)
@pytest.mark.parametrize("name", ["thomson", "packing"])
def test_universally_optimal_configurations(name, n, dimension):
    case, best = lowest(name, n=n, dimension=dimension)
    assert best.cost == pytest.approx(case.truth.cost, rel=1e-9)
    assert riemtr.certify(case.problem, best.point).lower_bound <= best.cost + 1e-9
    # The inner products are those of the configuration.
    known = sharp_inner_products(dimension, n)
    expected = np.sort(np.concatenate([np.full(count, product) for product, count in known]))
    products = np.sort(best.point.T @ best.point, axis=1)[:, :-1]
    np.testing.assert_allclose(products, np.tile(expected, (n, 1)), atol=1e-5)


def test_the_icosahedron_from_its_vertices():
    golden = (1.0 + np.sqrt(5.0)) / 2.0
    signs = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]])
    face = np.column_stack([np.zeros(4), signs[:, 0], golden * signs[:, 1]])
    vertices = np.concatenate([np.roll(face, shift, axis=1) for shift in range(3)]).T
    vertices /= np.linalg.norm(vertices, axis=0)
    for name in ("thomson", "packing"):
        case = build(name, rng=0)
        assert case.problem.at(vertices).cost == pytest.approx(case.truth.cost, rel=1e-12)
        assert riemtr.certify(case.problem, vertices).verdict == "minimizer"


@pytest.mark.parametrize("n", [5, 8, 13, 24])
def test_packings_respect_the_bound_of_fejes_toth(n):
    case, best = lowest("packing", n=n)
    products = best.point.T @ best.point
    largest = products[np.triu_indices(n, 1)].max()
    assert riemtr.certify(case.problem, best.point).lower_bound <= best.cost
    # The least of all distances d has d^2 <= 4 - 1 / sin^2(pi n / (6 (n - 2))).
    squared = 4.0 - 1.0 / np.sin(np.pi * n / (6.0 * (n - 2.0))) ** 2
    assert 2.0 - 2.0 * largest <= squared
    assert largest <= best.cost <= largest + 0.02 * np.log(n * (n - 1) / 2.0)


def test_square_antiprism_of_eight():
    # Tammes' problem for n = 8: cos = (2 sqrt 2 - 1) / 7 (Schütte and van der Waerden 1951).
    _, best = lowest("packing", n=8, smoothing=1e-3)
    products = best.point.T @ best.point
    largest = products[np.triu_indices(8, 1)].max()
    assert largest == pytest.approx((2.0 * np.sqrt(2.0) - 1.0) / 7.0, abs=3e-3)


def test_a_turn_of_all_changes_nothing():
    turn = riemtr.Rotations(3).random_point(0)
    for name in ("thomson", "packing"):
        case = build(name, rng=0)
        here, turned = (case.problem.at(point).cost for point in (case.start, turn @ case.start))
        assert turned == pytest.approx(here, rel=1e-12)


def test_wrong_parameters():
    with pytest.raises(ValueError, match="n must be an integer of at least 2; got 1"):
        build("thomson", rng=0, n=1)
    with pytest.raises(ValueError, match="smoothing must be a positive finite number; got 0"):
        build("packing", rng=0, smoothing=0)
