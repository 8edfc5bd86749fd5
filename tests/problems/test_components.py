"""Sparse and robust principal components: planted ones, and bounds that hold everywhere."""

from __future__ import annotations

import numpy as np
import pytest

import riemtr
from riemtr.problems import build

ACCURATE = riemtr.PracticalTRM(relative_tolerance=1e-10)


@pytest.mark.parametrize("seed", range(4))
def test_the_support_of_the_spike_is_found(seed):
    case = build("sparse-pca", rng=seed, n=60, k=4)
    result = ACCURATE.solve(case.problem, case.start)
    large = np.flatnonzero(np.abs(result.point) > 0.25)
    np.testing.assert_array_equal(large, case.truth.details["support"])
    np.testing.assert_allclose(np.abs(result.point[large]), 0.5, atol=1e-7)


def test_the_global_minimum_is_below_all_sparse_vectors():
    case = build("sparse-pca", rng=0)
    rng = np.random.default_rng(0)
    for _ in range(300):
        x = rng.standard_normal(40) * (rng.random(40) < rng.uniform(0.05, 1.0))
        x[rng.integers(40)] += 1e-3
        assert case.problem.at(x / np.linalg.norm(x)).cost > case.truth.cost


def test_without_a_penalty_the_component_is_the_leading_eigenvector():
    case = build("sparse-pca", rng=0, penalty=0.0, samples=100)
    result = ACCURATE.solve(case.problem, case.start)
    values, vectors = np.linalg.eigh(case.truth.details["covariance"])
    assert result.cost == pytest.approx(-0.5 * values[-1], rel=1e-10)
    assert abs(vectors[:, -1] @ result.point) == pytest.approx(1.0, abs=1e-9)


def test_a_weak_spike_leaves_the_minimum_unknown():
    assert build("sparse-pca", rng=0, strength=0.5).truth.cost is None
    assert build("sparse-pca", rng=0, samples=500).truth.cost is None


def test_continuation_passes_from_round_kinks_to_sharp_ones():
    case = build("sparse-pca", rng=0, smoothing=1e-3)
    offered = list(case.problem.cost.easier())
    assert [cost.smoothing for cost, _ in offered] == sorted(
        (cost.smoothing for cost, _ in offered), reverse=True
    )
    assert all(cost.smoothing > 1e-3 for cost, _ in offered)
    result = ACCURATE.solve(case.problem, case.start)
    assert result.cost == pytest.approx(case.truth.cost, abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_outliers_do_not_move_the_subspace(seed):
    case = build("robust-pca", rng=seed, outliers=0.45)
    data = case.truth.details["data"]
    result = ACCURATE.solve(case.problem, case.start)
    assert case.truth.distance(result.point) < 1e-6
    # Inliers, and no others, lie in it.
    residuals = np.linalg.norm(data - result.point @ (result.point.T @ data), axis=0)
    assert np.count_nonzero(residuals < 1e-6) == 150 - 2 * (int(0.45 * 150) // 2)


def test_distances_far_below_the_samples_have_their_digits():
    case = build("robust-pca", rng=0, outliers=0.0, smoothing=1e-9)
    assert case.problem.at(case.truth.point).cost == pytest.approx(1e-9, rel=1e-3)


def test_without_outliers_it_is_the_space_of_the_samples():
    case = build("robust-pca", rng=0, outliers=0.0)
    left = np.linalg.svd(case.truth.details["data"])[0][:, :3]
    assert case.truth.distance(left) < 1e-12
    result = ACCURATE.solve(case.problem, case.start)
    assert result.cost == pytest.approx(0.1, rel=1e-10)  # the smoothing alone
    assert case.truth.distance(result.point) < 1e-6


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("sparse-pca", {"k": 41}, "k must be an integer from 1 to 40; got 41"),
        ("sparse-pca", {"smoothing": 0.0}, "smoothing must be a positive finite number"),
        ("robust-pca", {"outliers": 1.0}, "outliers must leave at least k = 3 inliers; got 1.0"),
        ("robust-pca", {"k": 15}, "k must be an integer from 1 to 14; got 15"),
    ],
)
def test_wrong_parameters(name, parameters, message):
    with pytest.raises(ValueError, match=message):
        build(name, rng=0, **parameters)
