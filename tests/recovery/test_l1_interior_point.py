"""L1 regression against HiGHS and closed forms, from starts good and bad."""

from __future__ import annotations

import numpy as np
import pytest

from riemtr.recovery.l1_columns import Columns
from riemtr.recovery.l1_interior_point import minimize_l1
from tests.recovery.l1_problems import KINDS, regression


def assert_exact(found, C, b, optimum):
    """Feasible, and as good as HiGHS: primal and dual meet at its optimum."""
    size = max(optimum, 1e-3 * np.abs(b).sum())
    assert found.exact
    assert np.abs(b + C.T @ found.x).sum() == pytest.approx(optimum, abs=1e-9 * size)
    assert b @ found.dual == pytest.approx(optimum, abs=1e-9 * size)
    assert np.abs(found.dual).max() <= 1.0
    assert np.abs(C @ found.dual).max() <= 1e-9 * np.linalg.norm(C)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("k", "m"), [(1, 5), (3, 12), (6, 90), (10, 400)])
def test_the_optimum_is_that_of_highs(kind, k, m):
    C, b, optimum, _ = regression(k, m, seed=k, kind=kind)
    assert_exact(minimize_l1(Columns(C), b, np.zeros(k)), C, b, optimum)


@pytest.mark.parametrize("distance", [0.0, 1e-12, 1e-3, 1.0, 1e6])
def test_any_start_leads_there_and_a_good_one_sooner(distance):
    C, b, optimum, _ = regression(5, 200, seed=0)
    far = minimize_l1(Columns(C), b, np.full(5, 1e3))
    start = far.x + distance * np.random.default_rng(1).standard_normal(5)
    found = minimize_l1(Columns(C), b, start)
    assert_exact(found, C, b, optimum)
    if distance <= 1e-3:
        assert found.iterations < far.iterations


def test_regression_is_the_median_in_one_dimension() -> None:
    values = np.random.default_rng(0).standard_normal(31)
    found = minimize_l1(Columns(-np.ones((1, 31))), values, np.zeros(1))
    assert found.x[0] == pytest.approx(np.median(values), abs=1e-15)
    assert found.exact


def test_an_even_number_of_values_leaves_an_interval_of_medians():
    values = np.array([1.0, 2.0, 5.0, 9.0])
    found = minimize_l1(Columns(-np.ones((1, 4))), values, np.zeros(1))
    assert found.exact
    assert 2.0 <= found.x[0] <= 5.0


def test_what_leaves_nothing_to_do():
    C = np.random.default_rng(0).standard_normal((3, 20))
    zero = minimize_l1(Columns(C), np.zeros(20), np.ones(3))
    assert (zero.x == 0).all()
    assert zero.exact
    flat = minimize_l1(Columns(np.zeros((3, 20))), np.arange(20.0) - 4.0, np.ones(3))
    np.testing.assert_array_equal(flat.dual, np.sign(np.arange(20.0) - 4.0))
    assert flat.exact
    solved = minimize_l1(Columns(C), -C.T @ np.ones(3), np.ones(3))  # the start leaves nothing
    assert np.abs(C.T @ (solved.x - 1.0)).sum() < 1e-12
    assert solved.exact


def test_rows_that_depend_on_others_do_no_harm():
    C, b, optimum, _ = regression(4, 100, seed=3)
    twice = np.vstack([C, C[0] - 2.0 * C[1]])
    assert_exact(minimize_l1(Columns(twice), b, np.zeros(5)), twice, b, optimum)
