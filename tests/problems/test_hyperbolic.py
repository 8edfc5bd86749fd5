"""Hyperbolic embedding: distances that are met, and isometries that change nothing."""

from __future__ import annotations

import numpy as np
import pytest
from pymanopt.manifolds import PoincareBall

import riemtr
from riemtr.problems import build
from riemtr.problems.hyperbolic import excesses, squared_distances

ACCURATE = riemtr.PracticalTRM(relative_tolerance=1e-10)


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_planted_distances_are_met(dimension):
    case = build("hyperbolic-embedding", rng=1, dimension=dimension)
    results = [ACCURATE.solve(case.problem, rng=seed) for seed in range(5)]
    best = min([ACCURATE.solve(case.problem, case.start), *results], key=lambda one: one.cost)
    ball, wanted = PoincareBall(dimension), case.truth.details["distances"]
    found = [[ball.dist(x, y) for x in best.point] for y in best.point]
    np.testing.assert_allclose(found, wanted, atol=1e-5)


def test_the_gram_matrix_of_the_hyperboloid_gives_the_same_points():
    # Tabaghi and Dokmanić: -cosh of distances is a Gram matrix of the Lorentz product.
    case = build("hyperbolic-embedding", rng=0)
    gram = -np.cosh(case.truth.details["distances"])
    values, vectors = np.linalg.eigh(gram)
    time = vectors[:, 0] * np.sqrt(-values[0])
    space = vectors[:, -2:] * np.sqrt(values[-2:])
    time, space = np.abs(time), space * np.sign(time)[:, None]
    np.testing.assert_allclose(time**2 - np.sum(space**2, axis=1), 1.0, atol=1e-10)
    points = space / (1.0 + time[:, None])
    assert case.truth.error(points) < 1e-7
    assert case.problem.at(points).cost < 1e-18
    assert case.truth.error(ACCURATE.solve(case.problem, case.start).point) < 1e-6


def test_translations_of_the_space_change_nothing():
    case = build("hyperbolic-embedding", rng=2)
    ball = PoincareBall(2)
    shift = np.array([0.3, -0.4])
    moved = np.array([ball.mobius_addition(shift, x) for x in case.start])
    assert case.problem.at(moved).cost == pytest.approx(case.problem.at(case.start).cost, rel=1e-11)
    assert case.truth.error(moved) == pytest.approx(case.truth.error(case.start))


def test_squared_distances_and_their_derivatives_join_smoothly():
    t = np.array([1e-12, 1e-6, 0.0499999, 0.0500001, 0.3, 5.0, 1e6])
    value, slope, bend = squared_distances(t)
    np.testing.assert_allclose(value, (2.0 * np.arcsinh(np.sqrt(0.5 * t))) ** 2, rtol=1e-13)
    step = 1e-4 * t
    ahead, behind = squared_distances(t + step), squared_distances(t - step)
    np.testing.assert_allclose((ahead[0] - behind[0]) / (2.0 * step), slope, rtol=1e-7)
    np.testing.assert_allclose((ahead[1] - behind[1])[1:] / (2.0 * step[1:]), bend[1:], rtol=1e-6)


def test_points_that_coincide_have_derivatives():
    case = build("hyperbolic-embedding", rng=0, count=5)
    point = case.start.copy()
    point[1] = point[0]
    assert excesses(point)[0, 1] == 0.0
    assert riemtr.check_gradient(case.problem, point, rng=0).ok
    assert riemtr.check_hessian(case.problem, point, rng=0).ok


def test_wrong_parameters():
    with pytest.raises(ValueError, match="count must be an integer of at least 3; got 2"):
        build("hyperbolic-embedding", rng=0, count=2)
    with pytest.raises(ValueError, match="radius must be a positive finite number; got 0"):
        build("hyperbolic-embedding", rng=0, radius=0)
