"""Dask arrays as data: chunks become blocks, types are as in memory, what is refused is named."""

import dask.array as da
import numpy as np
import pytest

from riemtr.data.blocks import as_data
from riemtr.data.dask_arrays import Partitioned

pytestmark = pytest.mark.usefixtures("chunks_as_they_come")


def numbers(n=3, p=20, seed=0):
    return np.random.default_rng(seed).standard_normal((n, p))


def itself(block, first):
    return block


def gathered(data):
    return data.total(itself, merge=np.hstack)


def test_chunks_over_the_features_are_joined_into_blocks_no_larger_than_they_were():
    Y = numbers(6, 40)
    for chunks in [(2, 40), (3, 10), (1, 7), ((1, 5), (30, 10))]:
        array = da.from_array(Y, chunks=chunks)
        data = as_data(array)
        largest = max(array.chunks[0]) * max(array.chunks[1])
        assert 6 * max(data.widths) <= largest
        np.testing.assert_array_equal(gathered(data), Y)


def test_types_are_those_of_arrays_in_memory():
    for dtype, expected in [("i4", "f8"), (bool, "f8"), ("f2", "f4"), ("f4", "f4"), (">f8", "f8")]:
        Y = (numbers() > 0).astype(dtype)
        data = as_data(da.from_array(Y, chunks=(3, 8)))
        assert data.dtype == expected
        assert gathered(data).dtype == expected
        np.testing.assert_array_equal(gathered(data), Y)


@pytest.mark.parametrize(
    ("chunks", "expected"),
    [
        ((1,) * 20, (4,) * 5),
        ((2, 3, 1, 1, 9, 1, 3), (2, 4, 1, 9, 4)),  # 9 was larger already, and stays alone
        ((0, 4, 0, 0, 1, 15), (4, 1, 15)),
    ],
)
def test_small_neighbours_are_joined_up_to_a_size(chunks, expected, monkeypatch):
    monkeypatch.setattr("riemtr.data.dask_arrays._JOINED", 12)
    Y = numbers()
    for values in (Y, np.asfortranarray(Y), Y.astype(np.float32)):
        data = as_data(da.from_array(values, chunks=((3,), chunks)))
        assert data.widths == expected
        assert data.as_array().chunks == ((3,), expected)
        np.testing.assert_array_equal(gathered(data), values)


def test_chunks_over_the_features_become_blocks_of_that_size(monkeypatch):
    monkeypatch.setattr("riemtr.data.dask_arrays._JOINED", 12)
    data = as_data(da.from_array(numbers(), chunks=(1, 2)))
    assert data.widths == (4,) * 5
    np.testing.assert_array_equal(gathered(data), numbers())


def test_one_chunk_and_empty_chunks():
    Y = numbers()
    assert as_data(da.from_array(Y, chunks=-1)).widths == (20,)
    parts = [da.from_array(Y[:, :0]), da.from_array(Y[:, :5]), da.from_array(Y[:, 5:])]
    data = as_data(da.concatenate(parts, axis=1))
    assert 0 not in data.widths
    np.testing.assert_array_equal(gathered(data), Y)


def test_unknown_chunk_sizes_are_an_error_with_the_remedy():
    Y = da.from_array(numbers(), chunks=(3, 8))
    filtered = Y[:, Y[0] > 0]
    with pytest.raises(ValueError, match=r"known sizes.*call Y.compute_chunk_sizes\(\) first"):
        as_data(filtered)
    filtered.compute_chunk_sizes()
    assert isinstance(as_data(filtered), Partitioned)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_the_entry_that_is_not_finite_is_the_one_named_for_arrays_in_memory(bad):
    Y = numbers()
    Y[2, 1], Y[1, 13], Y[1, 17] = bad, bad, 0.0
    with pytest.raises(ValueError, match=f"got {bad} at row 1, column 13; drop") as in_memory:
        as_data(Y)
    array = da.from_array(Y, chunks=(3, 8))
    with pytest.raises(ValueError, match=f"got {bad} at row 1, column 13; drop") as with_dask:
        as_data(array)
    assert str(in_memory.value).split(";")[0] == str(with_dask.value).split(";")[0]
    remedy = str(with_dask.value).split("concerned: ")[1]
    assert as_data(eval(remedy, {"Y": array, "da": da})).shape == (3, 18)


@pytest.mark.parametrize(
    ("Y", "error", "message"),
    [
        (da.zeros(4), ValueError, r"Y must be a 2-D array.*for one feature pass Y\[None, :\]"),
        (da.zeros((2, 3, 4)), ValueError, "reshape each sample into one column"),
        (da.zeros((3, 0)), ValueError, "at least one row and one column"),
        (da.zeros((0, 3)), ValueError, "at least one row and one column"),
        (da.zeros((2, 3), dtype=complex), TypeError, "Y must be real"),
        (da.zeros((2, 3), dtype="M8[s]"), TypeError, "Y must hold real numbers"),
    ],
)
def test_what_is_no_data_matrix_is_refused(Y, error, message):
    with pytest.raises(error, match=message):
        as_data(Y)


def test_masked_entries_in_a_block_are_refused():
    Y = da.ma.masked_greater(da.from_array(numbers(), chunks=(3, 8)), 1.0)
    with pytest.raises(ValueError, match="masked"):
        as_data(Y)


def test_a_dask_data_frame_is_refused_with_the_remedy_and_not_gathered():
    class DataFrame:
        to_dask_array = None

        def __array__(self, *_, **__):
            pytest.fail("was gathered")

    DataFrame.__module__ = "dask.dataframe.core"
    with pytest.raises(TypeError, match=r"got a Dask DataFrame; pass Y.to_dask_array"):
        as_data(DataFrame())
