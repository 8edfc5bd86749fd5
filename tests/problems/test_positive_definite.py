"""Means and medians of positive definite matrices: closed forms and fixed points."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import logm, sqrtm

import riemtr
from riemtr.problems import build
from riemtr.problems.positive_definite import MeanCost, MedianCost

ACCURATE = riemtr.PracticalTRM(relative_tolerance=1e-11)


def solved(n, cost):
    return ACCURATE.solve(riemtr.Problem(riemtr.PositiveDefinite(n), cost), rng=0)


def test_the_mean_of_two_is_their_geometric_mean():
    first, second = riemtr.PositiveDefinite(4, k=2).random_point(3)
    root = sqrtm(first)
    inverse = np.linalg.inv(root)
    closed = root @ sqrtm(inverse @ second @ inverse) @ root
    result = solved(4, MeanCost(np.stack([first, second])))
    np.testing.assert_allclose(result.point, closed, atol=1e-9)


def test_the_mean_of_matrices_that_commute_is_that_of_logarithms():
    values = np.random.default_rng(0).uniform(0.1, 10.0, size=(6, 3))
    matrices = values[:, :, None] * np.eye(3)
    result = solved(3, MeanCost(matrices))
    mean = np.diag(np.exp(np.log(values).mean(axis=0)))
    np.testing.assert_allclose(result.point, mean, atol=1e-8)


def test_at_the_mean_logarithms_add_up_to_zero():
    case = build("karcher-mean", rng=5)
    result = ACCURATE.solve(case.problem, case.start)
    root = sqrtm(result.point)
    inverse = np.linalg.inv(root)
    logarithms = [logm(inverse @ one @ inverse) for one in case.truth.details["matrices"]]
    np.testing.assert_allclose(np.sum(logarithms, axis=0), 0.0, atol=1e-7)


def test_the_median_is_the_fixed_point_of_weiszfelds_iteration():
    case = build("geometric-median", rng=3, smoothing=0.0)
    result = ACCURATE.solve(case.problem, case.start)
    manifold, matrices = case.problem.manifold, case.truth.details["matrices"]
    point = np.eye(4)
    for _ in range(200):
        weights = np.array([1.0 / manifold.dist(point, one) for one in matrices])
        steps = np.array([manifold.log(point, one) for one in matrices])
        point = manifold.exp(point, np.tensordot(weights / weights.sum(), steps, axes=1))
    assert manifold.dist(point, result.point) < 1e-6
    assert manifold.dist(point, case.truth.point) < 1e-6


def test_the_median_of_numbers():
    logarithms = np.array([-1.0, 0.0, 0.1, 0.4, 9.0])
    result = solved(1, MedianCost(np.exp(logarithms)[:, None, None], 1e-3))
    assert float(np.log(result.point[0, 0])) == pytest.approx(0.1, abs=1e-3)


def test_an_outlier_moves_the_mean_and_not_the_median():
    case = build("geometric-median", rng=0)
    manifold, matrices = case.problem.manifold, case.truth.details["matrices"]
    mean = solved(4, MeanCost(matrices)).point
    median = ACCURATE.solve(case.problem, case.start).point
    assert manifold.dist(median, case.truth.point) < 1e-7
    assert manifold.dist(mean, case.truth.point) > 0.1


def test_hessians_where_eigenvalues_agree():
    # At a multiple of one of the matrices all eigenvalues are the same.
    case = build("karcher-mean", rng=1, count=3)
    here = case.problem.at(2.0 * case.truth.details["matrices"][0])
    vector = here.space.random(np.random.default_rng(0))
    np.testing.assert_allclose(here.hessian(vector), here._difference(vector), atol=1e-7)


def test_wrong_parameters():
    with pytest.raises(ValueError, match="count must be an integer of at least 4; got 2"):
        build("geometric-median", rng=0, count=2)
    with pytest.raises(ValueError, match="spread must be a number of at least 0"):
        build("karcher-mean", rng=0, spread=-1.0)


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_units_of_the_matrices_do_not_change_what_counts_as_a_vanishing_gradient(unit):
    # The affine-invariant metric knows no units, though the Euclidean gradient has them.
    matrices = build("karcher-mean", rng=0).truth.details["matrices"]
    start = np.eye(matrices.shape[-1])
    plain, scaled = (
        riemtr.PracticalTRM().solve(
            riemtr.Problem(riemtr.PositiveDefinite(len(start)), MeanCost(factor * matrices)),
            factor * start,
        )
        for factor in (1.0, unit)
    )
    assert scaled.certificate.strict
    assert scaled.certificate.tolerance == pytest.approx(plain.certificate.tolerance, rel=1e-3)
    np.testing.assert_allclose(scaled.point / unit, plain.point, rtol=1e-5)
