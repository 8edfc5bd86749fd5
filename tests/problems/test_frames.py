"""Procrustes problems and generalised eigenvalues against LAPACK."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import eigh, orthogonal_procrustes, subspace_angles

import riemtr
from riemtr.problems import build

ACCURATE = riemtr.PracticalTRM(relative_tolerance=1e-11)


@pytest.mark.parametrize("seed", range(3))
def test_the_orthogonal_problem_has_scipys_solution(seed):
    case = build("procrustes", rng=seed, n=6, p=6, noise=0.5)
    details = case.truth.details
    closed, _ = orthogonal_procrustes(details["design"], details["target"])
    best = case.problem.at(closed).cost
    assert best == pytest.approx(case.truth.cost, rel=1e-12)
    np.testing.assert_allclose(closed, case.truth.point, atol=1e-12)
    results = [ACCURATE.solve(case.problem, rng=start) for start in range(6)]
    # Stiefel(n, n) has two parts, and no step leads from one to the other.
    assert min(result.cost for result in results) == pytest.approx(best, rel=1e-9)
    assert min(case.truth.distance(result.point) for result in results) < 1e-6


def test_one_column_is_least_squares_on_the_sphere():
    # The secular equation: (A'A - t I) x = A'b with |x| = 1 and t below the spectrum.
    case = build("procrustes", rng=0, n=5, p=1, noise=1.0)
    design, target = case.truth.details["design"], case.truth.details["target"]
    gram = design.T @ design
    low, high = -1e6, np.linalg.eigvalsh(gram)[0] - 1e-12
    for _ in range(200):
        middle = 0.5 * (low + high)
        x = np.linalg.solve(gram - middle * np.eye(5), design.T @ target)
        low, high = (middle, high) if np.linalg.norm(x) < 1.0 else (low, middle)
    costs = [ACCURATE.solve(case.problem, rng=start).cost for start in range(4)]
    assert min(costs) == pytest.approx(0.5 * np.sum((design @ x - target) ** 2), rel=1e-9)


def test_noise_beats_what_was_planted():
    case = build("procrustes", rng=1, noise=0.1)
    result = ACCURATE.solve(case.problem, case.start)
    assert case.truth.cost is None
    assert result.cost < case.problem.at(case.truth.point).cost


@pytest.mark.parametrize("k", [1, 3, 7])
def test_generalised_eigenvalues_are_scipys(k):
    case = build("generalised-eigenvalues", rng=3, n=12, k=k)
    first, second = case.truth.details["first"], case.truth.details["second"]
    values, vectors = eigh(first, second)
    result = ACCURATE.solve(case.problem, case.start)
    assert result.cost == pytest.approx(values[:k].sum(), rel=1e-9)
    assert subspace_angles(result.point, vectors[:, :k]).max() < 1e-6
    # In the subspace, the small pencil has the same eigenvalues.
    point = result.point
    found = eigh(point.T @ first @ point, point.T @ second @ point, eigvals_only=True)
    np.testing.assert_allclose(found, values[:k], atol=1e-9)


def test_other_invariant_subspaces_are_saddles():
    case = build("generalised-eigenvalues", rng=0, n=8, k=2)
    vectors = eigh(case.truth.details["first"], case.truth.details["second"])[1]
    middle = np.linalg.qr(vectors[:, [0, 3]])[0]
    assert riemtr.certify(case.problem, middle).verdict == "saddle"
    last = np.linalg.qr(vectors[:, -2:])[0]
    assert riemtr.certify(case.problem, last).verdict == "maximizer"


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("procrustes", {"p": 13}, "p must be an integer from 1 to 12; got 13"),
        ("procrustes", {"m": 5}, "m must be an integer of at least 12; got 5"),
        ("generalised-eigenvalues", {"k": 30}, "k must be an integer from 1 to 29; got 30"),
    ],
)
def test_wrong_parameters(name, parameters, message):
    with pytest.raises(ValueError, match=message):
        build(name, rng=0, **parameters)
