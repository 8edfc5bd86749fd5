"""The check of recovered rows, against linear programming written out in full."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from riemtr.compare.recovery_check import examine
from riemtr.compare.recovery_peers import Estimate
from riemtr.data import BernoulliGaussian, Conditioned
from riemtr.recovery import precondition


@pytest.fixture(scope="module")
def drawn():
    sample = BernoulliGaussian(n=5, p=400, theta=0.25, dictionary=Conditioned(10.0)).draw(0)
    white = precondition(sample.observations)
    return white, sample.dictionary, np.linalg.inv(white.matrix @ sample.dictionary)


def estimate(rows):
    return Estimate(rows, True, "", 0)


def test_the_truth_in_any_order_sign_and_scale_is_certified(drawn):
    white, truth, rows = drawn
    rng = np.random.default_rng(0)
    shuffled = rows[rng.permutation(5)] * rng.choice([-3.0, 0.01], size=(5, 1))
    found = examine(estimate(shuffled), white, truth)
    assert found["verdict"] == "minimizer"
    assert found["success"] is True
    assert found["distance"] < 1e-13
    assert found["details"]["rows_certified"] == 5
    assert found["details"]["worst_excess"] < 1e-9


def test_one_wrong_row_is_counted_and_rounding_mends_it(drawn):
    white, truth, rows = drawn
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    rows[2] += 0.05 * rows[4]
    found = examine(estimate(rows), white, truth)
    assert found["verdict"] == "not-critical"
    assert found["success"] is False
    assert found["details"]["rows_certified"] == 4
    assert 1e-3 < found["distance"] < 0.2
    assert found["details"]["rounded_error"] < 1e-13


def test_excess_is_that_of_the_linear_program(drawn):
    white, truth, _ = drawn
    rows = np.linalg.qr(np.random.default_rng(1).standard_normal((5, 5)))[0]
    data, p = white.data, white.data.shape[1]
    excesses = []
    for row in rows:  # min sum(u) over (x, u) with |x'Z| <= u and <q, x> = 1
        answer = linprog(
            np.concatenate([np.zeros(5), np.ones(p)]),
            A_ub=np.block([[data.T, -np.eye(p)], [-data.T, -np.eye(p)]]),
            b_ub=np.zeros(2 * p),
            A_eq=np.concatenate([row, np.zeros(p)])[None],
            b_eq=[1.0],
            bounds=(None, None),
        )
        excesses.append(1 - answer.fun / np.abs(row @ data).sum())
    details = examine(estimate(rows), white, truth)["details"]
    assert details["worst_excess"] == pytest.approx(max(excesses), rel=1e-6)
    assert details["median_excess"] == pytest.approx(np.median(excesses), rel=1e-6)
    assert details["l1_objective"] == pytest.approx(np.abs(rows @ data).mean(), rel=1e-12)


def test_the_same_row_twice_belongs_to_no_dictionary(drawn):
    white, truth, rows = drawn
    rows = rows.copy()
    rows[1] = -2 * rows[0]
    found = examine(estimate(rows), white, truth)
    assert (found["distance"], found["success"]) == (None, False)
    assert found["details"]["rows_certified"] == 5


def test_without_truth_there_is_no_success(drawn):
    white, _, rows = drawn
    found = examine(estimate(rows), white)
    assert (found["success"], found["distance"]) == (None, None)
    assert found["verdict"] == "minimizer"


@pytest.mark.parametrize("bad", [np.ones((4, 5)), np.full((5, 5), np.nan), np.zeros((5, 5))])
def test_refuses_what_are_no_directions(drawn, bad):
    with pytest.raises(ValueError, match="rows must be 5 directions, finite and not zero"):
        examine(estimate(bad), drawn[0])
