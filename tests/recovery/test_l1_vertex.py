"""Vertices next to nearly optimal pairs, and how they are judged, against HiGHS."""

from __future__ import annotations

import numpy as np
import pytest

from riemtr.recovery import l1_vertex
from riemtr.recovery.l1_columns import Columns
from riemtr.recovery.l1_interior_point import minimize_l1
from riemtr.recovery.l1_vertex import gram_solver, is_feasible, judge, vertex_near, vertex_where
from riemtr.recovery.rounding import round_direction
from tests.recovery.l1_problems import regression


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("off", [0.0, 1e-12, 1e-7])
def test_a_pair_near_the_optimum_is_made_exact(seed, off):
    C, b, optimum, t = regression(5, 80, seed)
    x = minimize_l1(Columns(C), b, np.zeros(5)).x
    rng = np.random.default_rng(seed)
    near = np.clip(t, -1.0, 1.0) * (1.0 - off)
    found = vertex_near(Columns(C), b, x + off * rng.standard_normal(5), near, thorough=True)
    assert found.exact
    np.testing.assert_allclose(found.x, x, atol=1e-12)
    assert b @ found.dual == pytest.approx(optimum, rel=1e-12)
    assert np.abs(C @ found.dual).max() < 1e-12


def test_far_from_the_optimum_nothing_stands_apart():
    C, b, _, _ = regression(5, 80, 0)
    assert vertex_near(Columns(C), b, np.zeros(5), np.zeros(80), thorough=False) is None
    found = vertex_near(Columns(C), b, np.zeros(5), np.zeros(80), thorough=True)
    assert found is None or not found.exact


def test_where_told_residuals_vanish_and_the_shortest_dual_proves_it():
    rng = np.random.default_rng(0)
    C, truth = rng.standard_normal((4, 500)), rng.standard_normal(4)
    b = -C.T @ truth
    some = rng.random(500) < 0.1
    b[some] += rng.standard_normal(some.sum())
    found = vertex_where(Columns(C), b, truth + 1e-9, ~some)
    assert found.exact
    np.testing.assert_allclose(found.x, truth, atol=1e-13)
    signs = np.sign((b + C.T @ truth)[some])
    np.testing.assert_array_equal(found.dual[some], signs)
    least = -np.linalg.pinv(C[:, ~some]) @ (C[:, some] @ signs)
    np.testing.assert_allclose(found.dual[~some], least, atol=1e-12)


@pytest.mark.parametrize(
    ("damage", "gap"), [("none", 0.0), ("shorter", 0.1), ("unbalanced", np.inf), ("long", np.inf)]
)
def test_pairs_are_judged_by_gap_and_feasibility(damage, gap):
    C, b, _, t = regression(5, 80, 2)
    x = minimize_l1(Columns(C), b, np.zeros(5)).x
    t = minimize_l1(Columns(C), b, np.zeros(5)).dual
    if damage == "shorter":
        t = 0.9 * t
    elif damage == "unbalanced":
        t = t * np.linspace(0.5, 1.0, 80)
    elif damage == "long":
        t = 1.01 * t
    found = judge(Columns(C), b, x, t)
    assert found.gap == pytest.approx(gap, abs=1e-12)
    assert found.exact == (damage == "none")
    assert np.abs(found.dual).max() <= 1.0


def test_rounding_is_allowed_a_dual_and_no_more():
    image = np.array([1e-12, -2e-12])
    assert is_feasible(1.0 + 1e-11, image, longest_row=1.0, count=100)
    assert not is_feasible(1.0 + 1e-9, image, longest_row=1.0, count=100)
    assert not is_feasible(1.0, 10 * image, longest_row=1.0, count=100)
    assert is_feasible(1.0, np.zeros(0), longest_row=0.0, count=0)


@pytest.mark.parametrize("rank", [5, 3])
def test_gram_matrices_are_inverted_on_their_range(rank):
    rng = np.random.default_rng(0)
    half = rng.standard_normal((5, rank))
    gram, vector = half @ half.T, half @ rng.standard_normal(rank)
    np.testing.assert_allclose(gram @ gram_solver(gram)(vector), vector, atol=1e-11)


@pytest.mark.parametrize("theta", [0.1, 0.2, 0.3])
@pytest.mark.parametrize("off", [0.003, 0.01])
def test_thousands_that_vanish_are_proved_from_a_sample_of_them(theta, off, monkeypatch):
    rng = np.random.default_rng(int(100 * theta))
    n, p = 12, 20_000
    X = rng.standard_normal((n, p)) * (rng.random((n, p)) < theta)
    mixing = np.linalg.qr(rng.standard_normal((n, n)))[0]
    start = mixing[:, 0] + off * rng.standard_normal(n)
    seen = []  # how many columns there were where all that vanishes went into a Gram matrix
    original = l1_vertex._many
    monkeypatch.setattr(l1_vertex, "_many", lambda *a: seen.append(a[0].count) or original(*a))
    sampled = round_direction(mixing @ X, start)
    assert p not in seen
    share = np.mean(np.abs(sampled.dual)[np.abs(sampled.direction @ mixing @ X) < 1e-9] > 0)
    assert 0.01 < share < 0.51
    monkeypatch.setattr(l1_vertex, "_SAMPLE", 10**9)
    whole = round_direction(mixing @ X, start)
    assert p in seen
    for found in (sampled, whole):
        assert found.certified
        assert abs(found.direction @ mixing[:, 0]) == pytest.approx(1.0, abs=1e-14)
        assert np.abs(found.dual).max() <= 1.0
        balance = (mixing @ X) @ found.dual
        balance -= (balance @ start) / (start @ start) * start
        assert np.abs(balance).max() < 1e-9
