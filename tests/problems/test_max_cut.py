"""Max-cut: bounds that enumeration confirms."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse

import riemtr
from riemtr.problems import build


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
    assert -result.certificate.lower_bound >= best - 1e-6
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
        assert case.problem.cost.dual_bound(case.problem.random_point(seed)) < least


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
