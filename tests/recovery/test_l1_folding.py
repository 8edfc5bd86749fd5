"""Folding: the optimum of all columns from a few, whatever band it starts with."""

from __future__ import annotations

import numpy as np
import pytest

from riemtr.recovery import l1_folding
from riemtr.recovery.l1_columns import Columns
from riemtr.recovery.l1_folding import _vanishing_share, minimize_folded
from riemtr.recovery.rounding import round_direction
from tests.recovery.l1_problems import KINDS, assert_optimal, regression, whitened_laplace


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shift", [0.0, 3.0])
def test_the_optimum_is_that_of_highs_with_few_columns_kept(kind, shift):
    C, b, _, _ = regression(5, 600, seed=1, kind=kind)
    rng = np.random.default_rng(2)
    b = b + shift * C.T @ rng.standard_normal(5)  # the optimum is not where it starts
    found = minimize_folded(Columns(C), b)
    x, t = found.solution.x, found.solution.dual
    objective = np.abs(b + C.T @ x).sum()
    assert found.solution.exact
    assert np.abs(t).max() <= 1.0
    assert np.abs(C @ t).max() <= 1e-10 * np.linalg.norm(C)
    assert b @ t == pytest.approx(objective, rel=1e-10)
    if kind == "gaussian":
        assert found.kept.count < 100


def test_few_columns_are_solved_as_they_are():
    C, b, optimum, _ = regression(5, 40, seed=1)
    columns = Columns(C)
    found = minimize_folded(columns, b)
    assert found.kept is columns
    assert np.abs(b + C.T @ found.solution.x).sum() == pytest.approx(optimum, rel=1e-12)


def test_bands_too_large_to_copy_are_not_copied(monkeypatch):
    monkeypatch.setattr(l1_folding, "_GATHERED", 10)
    C, b, optimum, _ = regression(5, 600, seed=1)
    columns = Columns(C)
    found = minimize_folded(columns, b)
    assert found.kept is columns
    assert np.abs(b + C.T @ found.solution.x).sum() == pytest.approx(optimum, rel=1e-12)


@pytest.mark.parametrize("width", [1, 2, 6, 1000])
def test_the_band_may_start_at_any_width(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Too narrow a band folds wrong signs, which must be noticed and mended."""
    monkeypatch.setattr(l1_folding, "_BAND", width)
    Y, r = whitened_laplace(10, 1500, 0)
    assert_optimal(round_direction(Y, r), Y, r)
    far = np.random.default_rng(1).standard_normal(10)
    assert_optimal(round_direction(Y, far), Y, far)


@pytest.mark.parametrize("seed", range(4))
def test_residuals_that_vanish_at_the_start_but_not_at_the_optimum(seed: int) -> None:
    """Columns without a sign at r fold into nothing: they must not be forgotten."""
    rng = np.random.default_rng(seed)
    Y = rng.standard_normal((6, 800)) * (rng.random((6, 800)) < 0.3)
    Y[0] += 0.5 * np.sign(Y[0]) + 0.4 * Y[1]
    r = np.eye(6)[0]
    assert np.sum(r @ Y == 0) > 300
    assert_optimal(round_direction(Y, r), Y, r)


def test_the_share_that_vanishes_tells_sparse_rows_from_others():
    rng = np.random.default_rng(3)
    dense = rng.standard_normal(5000)
    sparse = dense * (rng.random(5000) < 0.3)
    assert _vanishing_share(dense) < 0.03
    assert _vanishing_share(sparse + 1e-3 * rng.standard_normal(5000)) > 0.6
    assert _vanishing_share(np.zeros(5)) == 0.0
