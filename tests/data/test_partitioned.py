"""Partitioned data: every block visited once, in order, and mapped and kept where it is."""

import dask.array as da
import numpy as np
import pytest

from riemtr.data.blocks import as_data

pytestmark = pytest.mark.usefixtures("chunks_as_they_come")


def numbers(n=3, p=20, seed=0):
    return np.random.default_rng(seed).standard_normal((n, p))


def where(block, first):
    return ([(first, block.shape)],)


def itself(block, first):
    return block


def gathered(data):
    return data.total(itself, merge=np.hstack)


@pytest.mark.parametrize("width", [1, 2, 7, 150, 151])
def test_blocks_are_visited_in_order_and_merged_in_a_tree(width):
    Y = numbers(p=150)
    data = as_data(da.from_array(Y, chunks=(3, width)))
    visits = data.total(where)[0]
    assert [first for first, _ in visits] == list(range(0, 150, width))
    assert sum(columns for _, (_, columns) in visits) == 150
    np.testing.assert_array_equal(gathered(data), Y)
    np.testing.assert_array_equal(data.take(np.array([149, 0, 5])), Y[:, [149, 0, 5]])
    assert data.largest == np.abs(Y).max()


def test_maps_are_applied_when_visited():
    Y, A = numbers(), numbers(2, 3, seed=1)
    mapped = as_data(da.from_array(Y, chunks=(3, 8))).mapped(lambda y, a: a @ y, A, rows=2)
    assert mapped.shape == (2, 20)
    np.testing.assert_allclose(gathered(mapped), A @ Y, atol=1e-14)
    array = mapped.as_array()
    assert array.chunks == ((2,), (8, 8, 4))
    np.testing.assert_allclose(array.compute(), A @ Y, atol=1e-14)


def test_small_data_are_computed_once_where_there_is_no_cluster_and_large_ones_are_not_kept(
    monkeypatch,
):
    computed = []
    Y = da.from_array(numbers(), chunks=(3, 10)).map_blocks(
        lambda block: computed.append(block.shape) or block, dtype=float, meta=np.empty((0, 0))
    )
    data = as_data(Y)
    for limit, expected in ((60, 0), (59, 2)):
        monkeypatch.setattr("riemtr.data.dask_arrays._KEPT_HERE", limit)
        kept = data.kept()
        computed.clear()
        np.testing.assert_array_equal(gathered(kept), numbers())
        assert len(computed) == expected
