"""Max-cut: bounds that enumeration confirms."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse

import riemtr
from riemtr.problems import build
from riemtr.problems.duality import block_bound


def enumerated(weights):
    """The value of the best cut of all."""
    n = len(weights)
    signs = np.array(list(itertools.product([-1.0, 1.0], repeat=n - 1)))
    signs = np.hstack([np.ones((len(signs), 1)), signs])
    return 0.25 * np.max(weights.sum() - np.sum(signs * (signs @ weights), axis=1))


@pytest.mark.parametrize("seed", range(4))
def test_the_minimum_bounds_every_cut(seed):
    case = build("max-cut", rng=seed, n=11, degree=4)
    weights = case.truth.details["weights"].toarray()
    best = enumerated(weights)
    result = riemtr.PracticalTRM().solve(case.problem, case.start)
    assert -result.cost >= best - 1e-6
    assert -case.truth.bound(result.point) >= best - 1e-6
    # Goemans' and Williamson's guarantee, which the best of many hyperplanes meets easily.
    signs, value = case.truth.details["best_cut"](result.point)
    assert 0.878 * best <= value <= best
    assert value == pytest.approx(0.25 * (weights.sum() - signs @ weights @ signs))


def test_a_bipartite_graph_is_cut_entirely():
    rng = np.random.default_rng(0)
    across = rng.random((4, 6)) * (rng.random((4, 6)) < 0.7)
    weights = np.block([[np.zeros((4, 4)), across], [across.T, np.zeros((6, 6))]])
    case = build("max-cut", rng=0, weights=scipy.sparse.csr_matrix(weights))
    result = riemtr.PracticalTRM(relative_tolerance=1e-9).solve(case.problem, case.start)
    assert -result.cost == pytest.approx(across.sum(), rel=1e-8)
    assert case.truth.details["best_cut"](result.point)[1] == pytest.approx(across.sum())


def test_the_pentagon():
    # The relaxation of an odd cycle is n (1 + cos(pi / n)) / 2.
    cycle = np.roll(np.eye(5), 1, axis=0)
    case = build("max-cut", rng=0, weights=cycle + cycle.T)
    result = riemtr.PracticalTRM(relative_tolerance=1e-9).solve(case.problem, case.start)
    assert -result.cost == pytest.approx(2.5 * (1.0 + np.cos(np.pi / 5.0)), rel=1e-9)


def test_the_bound_holds_at_points_that_are_no_solution():
    case = build("max-cut", rng=0)
    least = riemtr.PracticalTRM().solve(case.problem, case.start).cost
    for seed in range(3):
        assert case.truth.bound(case.problem.random_point(seed)) < least


@pytest.mark.parametrize("name", ["max-cut", "rotation-averaging", "pose-graph"])
def test_large_bounds_by_factorizations_agree_with_eigenvalues(name, monkeypatch):
    case = build(name, rng=0)
    result = riemtr.PracticalTRM().solve(case.problem, case.start)
    for point, error in ((result.point, 1e-6), (case.problem.random_point(0), 0.5)):
        monkeypatch.setattr("riemtr.problems.duality._DENSE", 1500)
        dense = case.truth.bound(point)
        monkeypatch.setattr("riemtr.problems.duality._DENSE", 10)
        sparse = case.truth.bound(point)
        # Shifts are found on a grid: the bound is valid, and looser by no more than its steps.
        assert dense - error * max(1.0, abs(dense)) <= sparse <= dense + 1e-9


def test_blocks_of_a_hermitian_matrix():
    rng = np.random.default_rng(1)
    vector = np.exp(2j * np.pi * rng.random(7))
    matrix = -np.outer(vector, vector.conj())
    assert block_bound(matrix, vector[:, None]) == pytest.approx(-0.5 * 49.0)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n": 1}, "n must be an integer of at least 2; got 1"),
        ({"rank": 1}, "rank must be an integer from 2 to 60; got 1"),
        ({"weights": np.ones((2, 3))}, "weights must be a square matrix"),
        ({"weights": "abc"}, "weights must be a matrix of numbers; got 'abc'"),
        ({"weights": np.triu(np.ones((3, 3)))}, "weights must be finite and symmetric"),
    ],
)
def test_wrong_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        build("max-cut", rng=0, **parameters)
