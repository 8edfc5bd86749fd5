"""Columns read where they lie, against dense arithmetic."""

from __future__ import annotations

import numpy as np
import pytest

from riemtr.recovery.l1_columns import Columns


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


LAYOUTS = {
    "C": lambda M: M,
    "Fortran order": np.asfortranarray,
    "strided": lambda M: np.repeat(np.repeat(M, 2, axis=0), 3, axis=1)[::2, ::3],
    "single precision": lambda M: M.astype(np.float32),
    "big-endian": lambda M: M.astype(">f8"),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("entries", [10, 2**18])
@pytest.mark.parametrize("basis", ["none", "orthonormal", "any"])
def test_blocks_layouts_and_bases_change_nothing(layout, entries, basis, monkeypatch):
    monkeypatch.setattr("riemtr.data.blocks._IN_CACHE", entries)
    rng = np.random.default_rng(1)
    M = LAYOUTS[layout](rng.standard_normal((5, 60)))
    T = {"none": None, "orthonormal": np.linalg.qr(rng.standard_normal((5, 3)))[0]}.get(
        basis, rng.standard_normal((5, 3))
    )
    columns, whole = Columns(M, 0.25, T), 0.25 * M.astype(float)
    C = whole if T is None else T.T @ whole
    x, t = rng.standard_normal(len(C)), rng.standard_normal(60)
    assert (columns.rows, columns.count) == C.shape
    np.testing.assert_allclose(columns.dot(x), C.T @ x, atol=1e-13)
    np.testing.assert_allclose(columns.combine(t), C @ t, atol=1e-12)
    np.testing.assert_allclose(columns.total, C @ C.T, atol=1e-12)
    for share in (0.3, 1.0):  # few weights are gathered, many are not
        weight = rng.random(60) * (rng.random(60) < share)
        np.testing.assert_allclose(columns.gram(weight), (C * weight) @ C.T, atol=1e-12)
    np.testing.assert_allclose(columns.lengths, np.linalg.norm(whole, axis=0), rtol=1e-14)
    np.testing.assert_allclose(columns.row_lengths, np.linalg.norm(whole, axis=1), rtol=1e-14)
    longest = np.linalg.norm(C, axis=1).max()
    assert longest * (1 - 1e-14) <= columns.longest_row <= np.sqrt(5) * longest * 2


def test_what_does_not_depend_on_the_basis_is_computed_once():
    whole = Columns(np.random.default_rng(0).standard_normal((4, 50)))
    part = Columns(whole.matrix, basis=np.eye(4)[:, :2], whole=whole)
    assert part.lengths is whole.lengths
    assert part.row_lengths is whole.row_lengths
    assert part.narrow_sample is whole.narrow_sample


@pytest.mark.parametrize("m", [10, 3000])
def test_a_sample_is_columns_in_equal_distances(m):
    M = np.random.default_rng(0).standard_normal((4, m))
    columns = Columns(M, 0.5)
    np.testing.assert_array_equal(columns.sample(float), 0.5 * M[:, :: columns.sample_step].T)
    assert 4 * 64 <= len(columns.sample(float)) < 2 * 4 * 64 or columns.sample_step == 1


@pytest.mark.parametrize("basis", [False, True])
@pytest.mark.parametrize("condition", [1.0, 1e3, 1e9])
def test_badly_conditioned_rows_are_replaced_by_others_of_the_same_span(condition, basis):
    rng = np.random.default_rng(0)
    C = np.geomspace(1.0, 1.0 / condition, 4)[:, None] * rng.standard_normal((4, 200))
    columns = Columns(C, basis=np.linalg.qr(rng.standard_normal((4, 4)))[0] if basis else None)
    better, change = columns.well_conditioned()
    assert (change is None) == (condition < 1e5)
    if change is not None:
        np.testing.assert_allclose(better.total, np.eye(4), atol=1e-5)
        x = rng.standard_normal(4)
        np.testing.assert_allclose(better.dot(x), columns.dot(change @ x), atol=1e-6)
