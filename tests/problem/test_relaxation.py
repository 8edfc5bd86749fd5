"""Bounds by duality hold whatever they are made from."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse.linalg import aslinearoperator

import riemtr
from riemtr.problem import definite, relaxation
from riemtr.problem.relaxation import Relaxation
from riemtr.problems import build


def random_form(rng, n, kind=float):
    matrix = rng.standard_normal((n, n)).astype(kind)
    if kind is complex:
        matrix = matrix + 1j * rng.standard_normal((n, n))
    return 0.5 * (matrix + matrix.conj().T)


@pytest.mark.parametrize(("block", "kind"), [(1, float), (3, float), (1, complex), (2, complex)])
def test_no_point_is_below_a_bound_of_any_multipliers(block, kind):
    rng = np.random.default_rng(0)
    form = Relaxation(random_form(rng, 12, kind), block)
    solution = riemtr.solve_semidefinite(form.matrix, block)
    for _ in range(20):
        multipliers = random_form(rng, 12, kind)[:, :block]
        multipliers = multipliers.reshape(12 // block, block, block)
        multipliers = multipliers + multipliers.conj().swapaxes(1, 2)
        found = form.bound(solution.factor, multipliers)
        assert found.lower_bound <= solution.value
        assert found.gap == pytest.approx(solution.value - found.lower_bound)


@pytest.mark.parametrize("name", ["max-cut", "rotation-averaging", "pose-graph"])
def test_sparse_and_dense_factors_prove_the_same(name, monkeypatch):
    case = build(name, rng=0)
    result = riemtr.PracticalTRM().solve(case.problem, case.start)
    bound = case.problem.cost.dual_bound
    for point, error in ((result.point, 1e-6), (case.problem.random_point(0), 0.5)):
        monkeypatch.setattr(definite, "DENSE_ROWS", 2500)
        dense = bound(point)
        monkeypatch.setattr(definite, "DENSE_ROWS", 10)
        sparse = bound(point)
        # Shifts are found on a grid: the bound is valid, and looser by no more than its steps.
        assert sparse == pytest.approx(dense, abs=error * max(1.0, abs(dense)))
        assert max(sparse, dense) <= result.cost + 1e-9


@pytest.mark.parametrize("d", [2, 3])
def test_eliminated_places_are_as_far_away_as_they_are_said_to_be(d):
    case = build("pose-graph", rng=3, d=d, k=30, degree=3)
    form = case.problem.cost.relaxation
    for seed in range(5):
        turned = riemtr.Rotations(d, 30).random_point(seed)
        stacked = case.problem.cost.rows.turns.stacked(turned)
        value = form.value(stacked)
        places = form.completed(stacked)[form.rows :]
        assert np.all(np.linalg.norm(places, axis=1) <= form._reach(value))
        # The form with the best places is the cost with them.
        point = case.problem.cost.rows.split(form.completed(stacked))
        assert case.problem.at(point).cost == pytest.approx(0.5 * value)


def test_an_operator_is_bounded_by_lanczos(monkeypatch):
    matrix = random_form(np.random.default_rng(0), 50)
    dense = riemtr.solve_semidefinite(matrix)
    monkeypatch.setattr(relaxation, "DENSE_ROWS", 10)
    found = Relaxation(aslinearoperator(matrix)).bound(dense.factor)
    assert found.failure_probability == 1e-6
    assert dense.value - 1e-3 * abs(dense.value) <= found.lower_bound <= dense.value


def test_a_point_that_is_not_feasible_has_no_gap():
    form = Relaxation(np.array([[0.0, 1.0], [1.0, 0.0]]))
    point = np.array([[1.0], [-1.0]])
    assert form.bound(point).gap < 1e-7
    for wrong in (1.1 * point, 0.9 * point, np.array([[1.0], [-1.0 - 1e-6]])):
        assert form.bound(wrong, np.full((2, 1, 1), -1.0)).gap == np.inf
