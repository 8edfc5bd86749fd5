"""Rounding is checked by the optimum it claims: HiGHS, closed forms and weak duality agree."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import dask.array as da
import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from riemtr.recovery import l1_folding, recover_dictionary, rounding
from riemtr.recovery.l1_columns import Columns
from riemtr.recovery.rounding import round_direction
from tests.recovery.l1_problems import (
    KINDS,
    assert_optimal,
    draw,
    sparse_rows,
    whitened_laplace,
)


@pytest.mark.parametrize("method", ["interior-point", "highs"])
@pytest.mark.parametrize(("n", "p"), [(2, 7), (5, 40), (8, 300), (12, 900)])
def test_the_certificate_holds_when_recomputed(method: str, n: int, p: int) -> None:
    rng = np.random.default_rng(n)
    Y, r = rng.standard_normal((n, p)), rng.standard_normal(n)
    found = round_direction(Y, r, method=method)
    assert found.method == method
    assert found.iterations > 0
    np.testing.assert_allclose(found.objective, np.abs(found.solution @ Y).sum(), rtol=1e-12)
    assert_optimal(found, Y, r)


@settings(max_examples=300, deadline=None)
@given(
    kind=st.sampled_from(KINDS),
    n=st.integers(1, 9),
    per_row=st.sampled_from([0.3, 1, 2, 5, 20, 80]),
    direction=st.sampled_from(["random", "axis", "in range", "principal"]),
    seed=st.integers(0, 10**6),
)
def test_same_optimum_as_highs(
    kind: str, n: int, per_row: float, direction: str, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    Y = draw(kind, n, max(int(per_row * n), 1), rng)
    r = rng.standard_normal(n)
    if direction == "axis":
        r = np.eye(n)[0]
    elif direction == "in range" and np.any(Y):
        r = Y @ rng.standard_normal(Y.shape[1])
    elif direction == "principal":
        r = np.linalg.eigh(Y @ Y.T)[1][:, -1]
    ours, theirs = (round_direction(Y, r, method=name) for name in ("interior-point", "highs"))
    assert ours.certified
    # where the optimum is zero, or r is in the range of a deficient Y only to rounding, |q| says
    # what rounding can do to an objective
    length = max(np.linalg.norm(found.solution) for found in (ours, theirs))
    rounding = 1e-14 * np.abs(Y).sum() * length
    assert ours.objective <= theirs.objective * (1 + 1e-9) + rounding
    if theirs.certified:
        assert theirs.objective <= ours.objective * (1 + 1e-8) + 1e5 * rounding


@pytest.mark.parametrize("distance", [0.0, 1e-3, 0.03, 0.2])
@pytest.mark.parametrize(("n", "p"), [(3, 400), (10, 1151), (30, 6000)])
def test_sparse_rows_are_recovered_exactly(n: int, p: int, distance: float) -> None:
    Y, r, truth = sparse_rows(n, p, distance)
    found = round_direction(Y, r)
    assert_optimal(found, Y, r)
    np.testing.assert_allclose(
        found.direction * np.sign(found.direction @ truth), truth, atol=1e-13
    )
    row, expected = np.abs(found.direction @ Y), np.abs(truth @ Y)
    assert np.max(row[expected < 1e-12]) < 1e-13
    assert np.sum(expected < 1e-12) > 0.7 * p


@pytest.mark.parametrize("seed", range(3))
def test_dense_data_with_a_solver_s_direction(seed: int) -> None:
    Y, r = whitened_laplace(16, 2000, seed)
    found = round_direction(Y, r)
    assert_optimal(found, Y, r)
    zeros = np.sum(np.abs(found.direction @ Y) < 1e-12)
    assert zeros == 15  # a vertex: as many residuals vanish as there are free coordinates
    theirs = round_direction(Y, r, method="highs")
    np.testing.assert_allclose(found.objective, theirs.objective, rtol=1e-10)


def test_an_optimal_direction_is_a_fixed_point() -> None:
    for seed in range(5):
        rng = np.random.default_rng(seed)
        Y = rng.standard_normal((7, 60))
        first = round_direction(Y, rng.standard_normal(7))
        again = round_direction(Y, first.direction)
        while again.objective < np.abs(first.direction @ Y).sum() * (1 - 1e-12):
            first, again = again, round_direction(Y, again.direction)
        assert_optimal(again, Y, first.direction)
        np.testing.assert_allclose(again.direction, first.direction, atol=1e-10)


def test_one_row_has_a_closed_form() -> None:
    found = round_direction(np.array([[1.0, -2.0, 0.0, 4.0]]), np.array([-0.5]))
    assert found.solution == pytest.approx(-2.0)
    assert found.direction == pytest.approx(-1.0)
    assert found.objective == pytest.approx(14.0)
    assert found.certified


def test_two_rows_against_all_vertices() -> None:
    rng = np.random.default_rng(3)
    Y, r = rng.standard_normal((2, 50)), rng.standard_normal(2)
    normals = np.stack([-Y[1], Y[0]])
    candidates = normals / (r @ normals)
    best = np.abs(candidates.T @ Y).sum(axis=1).min()
    assert round_direction(Y, r).objective == pytest.approx(best, rel=1e-13)


def test_fewer_columns_than_rows() -> None:
    rng = np.random.default_rng(0)
    Y, weights = rng.standard_normal((6, 3)), np.array([0.5, -2.0, 1.0])
    assert round_direction(Y, Y @ weights).objective == pytest.approx(0.5)  # 1 / max |weights|
    outside = round_direction(Y, rng.standard_normal(6))
    assert outside.objective < 1e-14
    assert outside.duality_gap == 0.0
    assert outside.certified


@pytest.mark.parametrize("method", ["interior-point", "highs"])
def test_no_data_at_all(method: str) -> None:
    found = round_direction(np.zeros((3, 5)), np.ones(3), method=method)
    assert found.objective == 0.0
    assert found.certified
    assert found.solution @ np.ones(3) == pytest.approx(1.0)


@pytest.mark.parametrize("size", [1e-100, 1e-30, 1.0, 1e100])
@pytest.mark.parametrize("length", [1e-50, 1.0, 1e50])
def test_any_scale(size: float, length: float) -> None:
    Y, r, truth = sparse_rows(6, 500, 0.05)
    plain, found = round_direction(Y, r), round_direction(size * Y, length * r)
    assert found.certified
    assert abs(found.direction @ truth) == pytest.approx(1.0, abs=1e-14)
    assert found.objective == pytest.approx(plain.objective * size / length, rel=1e-12)
    np.testing.assert_allclose(found.solution * length, plain.solution, rtol=1e-9, atol=1e-13)


def test_any_layout_gives_the_same_answer() -> None:
    Y, r, _ = sparse_rows(8, 1200, 0.05)
    expected = round_direction(Y, r)
    wide = np.zeros((16, 3600))
    wide[::2, ::3] = Y
    frozen = Y.copy()
    frozen.flags.writeable = False
    layouts = {
        "Fortran order": np.asfortranarray(Y),
        "strided": wide[::2, ::3],
        "read-only": frozen,
        "big-endian": Y.astype(">f8"),
        "backwards": Y[:, ::-1][:, ::-1],
        "transposed list": Y.T.copy().T,
    }
    for name, layout in layouts.items():
        kept = np.array(layout)
        found = round_direction(layout, r)
        np.testing.assert_allclose(found.solution, expected.solution, atol=1e-13, err_msg=name)
        assert found.certified, name
        np.testing.assert_array_equal(layout, kept)
    assert_optimal(round_direction(Y.astype(np.float32), r), Y.astype(np.float32), r)
    assert_optimal(round_direction(np.round(4 * Y).astype(int), r), np.round(4 * Y), r)


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    Y, r, truth = sparse_rows(8, 1200, 0.05)
    monkeypatch.setattr("riemtr.data.blocks._IN_CACHE", 100)
    found = round_direction(Y, r)
    assert_optimal(found, Y, r)
    assert abs(found.direction @ truth) == pytest.approx(1.0, abs=1e-14)


@pytest.mark.parametrize("damage", ["infeasible", "suboptimal"])
def test_a_wrong_dual_certifies_nothing(damage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    Y, r = rng.standard_normal((5, 50)), rng.standard_normal(5)

    def damaged(columns: Columns, offset: np.ndarray) -> l1_folding.Folded:
        good = l1_folding.minimize_folded(columns, offset)
        dual = 0.9 * good.solution.dual
        if damage == "infeasible":
            dual = np.sign(offset)  # its objective exceeds the optimum, were it feasible
        return replace(good, solution=replace(good.solution, dual=dual))

    monkeypatch.setitem(rounding._METHODS, "interior-point", damaged)
    found = round_direction(Y, r)
    assert not found.certified
    assert found.duality_gap > 0.05


def test_badly_conditioned_data() -> None:
    rng = np.random.default_rng(2)
    for condition in (1e3, 1e5):
        left, right = (np.linalg.qr(rng.standard_normal((9, 9)))[0] for _ in range(2))
        Y = left @ np.diag(np.geomspace(1, 1 / condition, 9)) @ right @ rng.laplace(size=(9, 700))
        r = rng.standard_normal(9)
        found = round_direction(Y, r)
        assert found.certified
        theirs = round_direction(Y, r, method="highs")
        assert found.objective <= theirs.objective * (1 + 1e-9)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"method": "simplex"}, "method must be one of 'highs', 'interior-point'; got 'simplex'"),
        ({"r": np.zeros(3)}, "r must be finite and not zero.*result.point"),
        ({"r": np.array([1, np.nan, 0])}, "r must be finite and not zero; got largest entry nan"),
        ({"r": np.ones(4)}, r"r must have one entry per row of Y, shape \(3,\); got shape \(4,\)"),
        ({"r": np.ones((3, 1))}, r"r must have one entry.*got shape \(3, 1\)"),
        ({"r": ["a", "b", "c"]}, "r must be real; got dtype"),
    ],
)
def test_bad_input_is_named_with_its_remedy(change: dict, message: str) -> None:
    arguments = {"Y": np.ones((3, 4)), "r": np.ones(3), **change}
    with pytest.raises(ValueError, match=message):
        round_direction(arguments.pop("Y"), arguments.pop("r"), **arguments)


@pytest.mark.parametrize(
    "Y",
    [
        np.ones(4),
        np.ones((0, 4)),
        np.ones((3, 4, 2)),
        np.full((3, 4), np.nan),
        np.array([[1, np.inf], [0, 1], [1, 1]]),
        np.ones((3, 4)) * 1j,
        [["a", "b"], ["c", "d"]],
        [[1.0, 2.0], [3.0]],
        np.ma.masked_less(np.arange(6.0).reshape(2, 3), 1.0),
        da.zeros((3, 4), dtype=complex),
    ],
    ids=lambda Y: type(Y).__name__,
)
def test_data_are_refused_with_the_words_of_recover_dictionary(Y: Any) -> None:
    with pytest.raises((ValueError, TypeError), match="Y must") as theirs:
        recover_dictionary(Y)
    with pytest.raises(type(theirs.value)) as ours:
        round_direction(Y, np.ones(3))
    assert str(ours.value) == str(theirs.value)


@pytest.mark.parametrize(
    "convert", [scipy.sparse.csr_matrix, scipy.sparse.csc_array, np.ndarray.tolist]
)
def test_sparse_matrices_and_lists_serve_as_arrays_do(convert: Any) -> None:
    Y, r, _ = sparse_rows(5, 300, 0.05)
    expected, found = round_direction(Y, r), round_direction(convert(Y), r)
    np.testing.assert_allclose(found.solution, expected.solution, atol=1e-13)
    assert_optimal(found, Y, r)


# --- data in the care of Dask --------------------------------------------------------------------


def dense_data(n=6, p=2000, seed=0):
    return np.random.default_rng(seed).standard_normal((n, p))


def sparse_data(n=6, p=2000, theta=0.2, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, p)) * (rng.random((n, p)) < theta)


def noisy_data(n=6, p=2000):
    return sparse_data(n, p) + 1e-3 * dense_data(n, p, seed=1)


def near_axis(n, share=0.05):
    return np.eye(n)[1] + share * np.random.default_rng(3).standard_normal(n)


def in_parts_and_whole(Y, r, width=500):
    return round_direction(da.from_array(Y, chunks=(len(Y), width)), r), round_direction(Y, r)


@pytest.mark.usefixtures("chunks_as_they_come")
@pytest.mark.parametrize(
    "Y",
    [
        dense_data(),
        sparse_data(),
        noisy_data(),
        sparse_data(theta=0.9),
        np.hstack([sparse_data(p=900)] * 2),
        np.hstack([np.zeros((6, 500)), sparse_data(p=900), np.zeros((6, 600))]),
        sparse_data(p=40),
        dense_data(p=8),
        sparse_data(n=2, p=30),
        np.round(2 * dense_data()),
        dense_data() * np.logspace(0, 6, 6)[:, None],
        1e-3 * sparse_data(),
    ],
    ids=[
        *("dense", "sparse", "noisy", "hardly sparse", "twice", "zeros", "few", "fewer"),
        *("n=2", "integers", "units", "small"),
    ],
)
@pytest.mark.parametrize("near", [True, False])
def test_in_parts_it_is_the_optimum_in_memory(Y, near):
    n = len(Y)
    r = near_axis(n) if near else np.random.default_rng(5).standard_normal(n)
    found, expected = in_parts_and_whole(Y, r)
    assert found.certified
    assert found.objective == pytest.approx(expected.objective, rel=1e-10)
    assert r @ found.solution == pytest.approx(1.0, rel=1e-12)
    assert np.abs(found.solution @ Y).sum() == pytest.approx(found.objective, rel=1e-11)
    assert np.linalg.norm(found.direction) == pytest.approx(1.0, rel=1e-13)


@pytest.mark.usefixtures("chunks_as_they_come")
def test_in_parts_unique_optima_agree_in_all_digits():
    for Y in (dense_data(), sparse_data(), noisy_data()):
        found, expected = in_parts_and_whole(Y, near_axis(6))
        np.testing.assert_allclose(found.direction, expected.direction, atol=1e-12)


@pytest.mark.usefixtures("chunks_as_they_come")
def test_in_parts_dimension_one_and_data_whose_optimum_is_zero():
    found, expected = in_parts_and_whole(np.array([[3.0, 0.0, -1.0]]), np.array([-2.0]), width=2)
    assert found.direction == expected.direction
    assert found.objective == pytest.approx(2.0)
    assert found.duality_gap < 1e-15
    flat = np.vstack([dense_data(n=3), np.zeros(2000)])
    found, _ = in_parts_and_whole(flat, np.array([0.1, 0.0, 0.0, 1.0]))
    assert found.objective == pytest.approx(0.0, abs=1e-9)
    assert found.certified


def test_what_is_refused_of_data_in_parts():
    Y = da.from_array(dense_data(), chunks=(6, 500))
    for r, match in [(np.zeros(6), "not zero"), (np.ones(5), r"shape \(6,\)")]:
        with pytest.raises(ValueError, match=match):
            round_direction(Y, r)
    with pytest.raises(ValueError, match="method must be 'interior-point' for a Dask array"):
        round_direction(Y, np.ones(6), method="highs")
