"""The first guess: never worse than zero, and near the optimum where there is one to see."""

from __future__ import annotations

import numpy as np
import pytest

from riemtr.recovery.l1_columns import Columns
from riemtr.recovery.l1_folding import smoothed_guess
from tests.recovery.l1_problems import KINDS, regression


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_it_is_no_worse_than_zero(kind, seed):
    C, b, _, _ = regression(6, 300, seed, kind)
    x = smoothed_guess(Columns(C), b)
    assert np.abs(b + C.T @ x).sum() <= np.abs(b).sum() * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("unit", [1e-30, 1.0, 1e30])
def test_it_is_near_the_optimum_in_any_unit(seed, unit):
    C, b, optimum, _ = regression(6, 400, seed)
    x = smoothed_guess(Columns(C), unit * b)
    assert np.abs(unit * b + C.T @ x).sum() == pytest.approx(unit * optimum, rel=3e-3)


def test_of_very_many_columns_a_sample_is_enough():
    rng = np.random.default_rng(0)
    C, truth = rng.standard_normal((3, 50_000)), np.array([0.3, -0.2, 0.1])
    b = -C.T @ truth + rng.laplace(size=50_000)
    columns = Columns(C)
    assert columns.sample_step > 100
    assert np.linalg.norm(smoothed_guess(columns, b) - truth) < 0.3 * np.linalg.norm(truth)


def test_a_basis_is_applied_to_the_sample():
    rng = np.random.default_rng(0)
    M, T = rng.standard_normal((5, 300)), np.linalg.qr(rng.standard_normal((5, 4)))[0]
    b = rng.standard_normal(300)
    by_basis = smoothed_guess(Columns(M, 0.5, T), b)
    np.testing.assert_allclose(by_basis, smoothed_guess(Columns(0.5 * T.T @ M), b), atol=1e-4)


def test_nothing_to_improve():
    assert not smoothed_guess(Columns(np.ones((2, 9))), np.zeros(9)).any()
    assert not smoothed_guess(Columns(np.zeros((2, 9))), np.ones(9)).any()
