"""The decomposition behind preconditioning, against LAPACK's singular values."""

from concurrent.futures import ThreadPoolExecutor

import dask.array as da
import numpy as np
import pytest

from riemtr.data.blocks import as_data
from riemtr.recovery import precondition, whitening
from riemtr.recovery.whitening import apply_map, decompose


def given(n, p, values, seed=0):
    """U diag(values) V' with random orthonormal U and V."""
    rng = np.random.default_rng(seed)
    left = np.linalg.qr(rng.standard_normal((n, len(values))))[0]
    right = np.linalg.qr(rng.standard_normal((p, len(values))))[0]
    return (left * values) @ right.T


@pytest.fixture
def passes(monkeypatch):
    """One entry for every Gram matrix that was formed."""
    calls = []
    gram_of = whitening.gram_of
    monkeypatch.setattr(whitening, "gram_of", lambda *a: calls.append(a) or gram_of(*a))
    return calls


@pytest.mark.parametrize("smallest", [1.0, 0.2, 1e-3, 1e-8, 1e-11])
@pytest.mark.parametrize("factor", [1.0, 1e-200, 1e200])
@pytest.mark.parametrize("partitioned", [False, True])
def test_the_factors_are_those_of_lapack(smallest, factor, partitioned):
    values = np.geomspace(1.0, smallest, 12)
    Y = factor * given(12, 500, values)
    before = Y.copy()
    found = decompose(as_data(da.from_array(Y, chunks=(12, 200)) if partitioned else Y))
    np.testing.assert_array_equal(Y, before)
    assert np.log2(found.unit) % 1 == 0
    np.testing.assert_allclose(found.values / found.unit / factor, values, rtol=1e-14 / smallest)
    np.testing.assert_allclose(found.left.T @ found.left, np.eye(12), atol=1e-13)
    Z = np.asarray(found.Z.as_array())
    rows = found.turn @ Z * (found.unit if smallest >= 0.2 else 1.0)  # then Z is Y itself
    np.testing.assert_allclose(rows @ rows.T, np.eye(12), atol=1e-13)
    np.testing.assert_allclose(
        (found.left * found.values) @ rows, found.unit * Y, atol=1e-13 * found.values[0]
    )


@pytest.mark.parametrize(("smallest", "count"), [(0.11, 1), (0.09, 2), (1e-3, 2), (1e-9, 3)])
def test_well_conditioned_data_take_one_pass_and_no_copy(smallest, count, passes):
    Y = given(10, 300, np.geomspace(1.0, smallest, 10))
    data = as_data(Y)
    found = decompose(data)
    assert len(passes) == count
    assert (found.Z is data) == (count == 1)


@pytest.mark.parametrize(("smallest", "rank"), [(1e-12, 20), (1e-14, 19), (0.0, 19)])
def test_the_rank_is_resolved_in_three_passes(smallest, rank, passes):
    """The documented tolerance is 20 n eps, 9e-14 here."""
    Y = given(20, 400, [*np.geomspace(1, 1e-3, 19), smallest])
    assert decompose(as_data(Y)).values.size == rank
    assert len(passes) <= 3


def test_the_users_data_are_mapped_to_a_new_array_and_copies_in_place():
    rng = np.random.default_rng(0)
    Y, turn = rng.standard_normal((5, 70)), rng.standard_normal((3, 5))
    data = as_data(Y)
    fresh = apply_map(turn, data, data, 0.5)
    assert not np.shares_memory(fresh.array, Y)
    np.testing.assert_allclose(fresh.array, 0.5 * turn @ Y, atol=1e-14)
    copied = as_data(Y.copy())
    over = apply_map(turn, copied, data, 0.5)  # the unit went into the copy with the first map
    assert np.shares_memory(over.array, copied.array)
    np.testing.assert_allclose(over.array, turn @ Y, atol=1e-14)


@pytest.mark.parametrize("unit", [1.0, 1e200])
@pytest.mark.parametrize("rank", [3, 12])
def test_of_more_rows_than_columns_the_small_factor_is_decomposed(rank, unit, passes):
    rng = np.random.default_rng(0)
    Y = unit * rng.standard_normal((500, rank)) @ rng.standard_normal((rank, 12))
    found = decompose(as_data(Y))
    assert max(max(Z.shape) for Z, *_ in passes) == 12
    expected = np.linalg.svd(Y / unit, compute_uv=False)[:rank]
    np.testing.assert_allclose(found.values / found.unit / unit, expected, rtol=1e-12)
    rows = found.turn @ found.Z.array
    np.testing.assert_allclose(rows @ rows.T, np.eye(rank), atol=1e-12)
    again = (found.left * found.values) @ rows / found.unit
    np.testing.assert_allclose(again / unit, Y / unit, atol=1e-12)


def test_threads_whiten_to_the_same_bits():
    rng = np.random.default_rng(0)
    Y = rng.standard_normal((6, 6)) @ rng.standard_normal((6, 400_000))
    alone = precondition(Y)
    with ThreadPoolExecutor(2) as pool:
        together = precondition(Y, pool=pool)
    np.testing.assert_array_equal(alone.data, together.data)
    np.testing.assert_array_equal(alone.matrix, together.matrix)
