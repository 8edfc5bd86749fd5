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

from riemtr.recovery import l1_folding, l1_vertex, recover_dictionary, rounding
from riemtr.recovery.l1_columns import Columns
from riemtr.recovery.l1_folding import _vanishing_share
from riemtr.recovery.l1_interior_point import minimize_l1
from riemtr.recovery.rounding import Rounding, round_direction

KINDS = (
    "gaussian",
    "sparse",
    "integers",
    "repeated columns",
    "columns of all lengths",
    "rows of all lengths",
    "rank-deficient",
    "zero columns",
)


def draw(kind: str, n: int, p: int, rng: np.random.Generator) -> np.ndarray:
    Y = rng.standard_normal((n, p))
    if kind == "sparse":
        Y *= rng.random((n, p)) < 0.25
    elif kind == "integers":
        Y = rng.integers(-2, 3, (n, p)).astype(float)
    elif kind == "repeated columns":
        Y = np.repeat(Y[:, : p // 3 + 1], 3, axis=1)
    elif kind == "columns of all lengths":
        Y *= 10.0 ** rng.uniform(-2, 2, p)
    elif kind == "rows of all lengths":
        Y *= 10.0 ** rng.uniform(-3, 3, (n, 1))
    elif kind == "rank-deficient":
        rank = max(n // 2, 1)
        Y = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, p))
    elif kind == "zero columns":
        Y[:, rng.random(p) < 0.5] = 0.0
    return Y


def sparse_rows(
    n: int, p: int, distance: float, theta: float = 0.2, seed: int = 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Y = A X with A orthogonal and X Bernoulli-Gaussian; its first atom, perturbed and exact."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) * (rng.random((n, p)) < theta)
    A = np.linalg.qr(rng.standard_normal((n, n)))[0]
    noise = rng.standard_normal(n)
    r = A[:, 0] + distance * noise / np.linalg.norm(noise)
    return A @ X, r / np.linalg.norm(r), A[:, 0]


def whitened_laplace(n: int, p: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Data with no exact zeros, and a direction near a kink of |q'Y|_1 as a solver leaves it."""
    rng = np.random.default_rng(seed)
    Y = np.linalg.qr(rng.standard_normal((n, n)))[0] @ rng.laplace(size=(n, p)) ** 3
    values, vectors = np.linalg.eigh(Y @ Y.T)
    Y = np.sqrt(p) * (vectors / np.sqrt(values)) @ vectors.T @ Y
    r = rng.standard_normal(n)
    for smoothing in (0.3, 0.1, 0.03):
        for _ in range(100):
            t = np.tanh(r @ Y / smoothing)
            r = Y @ t - np.sum(1 - t**2) / smoothing * r
            r /= np.linalg.norm(r)
    return Y, r


def assert_optimal(found: Rounding, Y: np.ndarray, r: np.ndarray, slack: float = 1e-9) -> None:
    """Recompute everything that is claimed, in extended precision, from solution and dual alone.

    Y t = lambda r + e and |t|_inf <= 1 give |q'Y|_1 >= lambda + <e, q> for every feasible q; the
    optimal q has |q| <= objective / (smallest singular value of Y), as |q'Y|_1 >= |q'Y|_2.
    """
    Y = np.asarray(Y, dtype=np.longdouble)
    Y = Y / np.max(np.abs(Y))
    r = np.asarray(r, dtype=np.longdouble)
    q = found.solution.astype(np.longdouble)
    assert abs(r @ q - 1) <= 1e-12 * np.linalg.norm(r.astype(float)) * np.linalg.norm(
        q.astype(float)
    )
    objective = np.abs(q @ Y).sum()
    t = found.dual.astype(np.longdouble)
    assert np.max(np.abs(t)) <= 1
    bound = (r @ (Y @ t)) / (r @ r)
    smallest = np.linalg.svd(Y.astype(float), compute_uv=False)[-1]
    cost = np.sqrt(np.sum((Y @ t - bound * r) ** 2)) * objective / smallest
    assert objective - bound + cost <= slack * objective
    assert found.certified
    assert found.duality_gap <= 1e-9
    np.testing.assert_allclose(np.linalg.norm(found.direction), 1.0, rtol=1e-12)
    np.testing.assert_allclose(
        found.direction, (q / np.sqrt(q @ q)).astype(float), rtol=1e-12, atol=1e-14
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


def test_columns_agree_with_dense_arithmetic() -> None:
    rng = np.random.default_rng(0)
    M, T = rng.standard_normal((5, 40)), rng.standard_normal((5, 3))
    columns = Columns(M.astype(np.float32), 0.5, T)
    C = 0.5 * T.T @ M.astype(np.float32)
    x, t, weight = rng.standard_normal(3), rng.standard_normal(40), rng.random(40)
    np.testing.assert_allclose(columns.dot(x), C.T @ x, atol=1e-13)
    np.testing.assert_allclose(columns.combine(t), C @ t, atol=1e-13)
    np.testing.assert_allclose(columns.gram(weight), C @ np.diag(weight) @ C.T, atol=1e-12)
    np.testing.assert_allclose(columns.take(np.array([7, 2])), C[:, [7, 2]], atol=1e-13)
    deficient = Columns(np.vstack([C, C[:1] + C[1:2]]))
    better, change = deficient.well_conditioned()
    assert change is not None
    assert change.shape == (4, 3)
    np.testing.assert_allclose(better.matrix @ better.matrix.T, np.eye(3), atol=1e-12)


def test_regression_is_the_median_in_one_dimension() -> None:
    values = np.random.default_rng(0).standard_normal(31)
    found = minimize_l1(Columns(-np.ones((1, 31))), values, np.zeros(1))
    assert found.x[0] == pytest.approx(np.median(values), abs=1e-15)
    assert found.exact


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


def test_the_share_that_vanishes_tells_sparse_rows_from_others():
    rng = np.random.default_rng(3)
    dense = rng.standard_normal(5000)
    sparse = dense * (rng.random(5000) < 0.3)
    assert _vanishing_share(dense) < 0.03
    assert _vanishing_share(sparse + 1e-3 * rng.standard_normal(5000)) > 0.6
    assert _vanishing_share(np.zeros(5)) == 0.0
