"""Arrays at multiples of 64 bytes: copies only where they are not there already."""

from dataclasses import dataclass

import numpy as np
import pytest

from riemtr.data.blocks import aligned, empty_aligned


def offset(array):
    return array.ctypes.data % 64


def misplaced(array, by):
    """The same array, so many bytes after a multiple of 64."""
    memory = empty_aligned((array.nbytes + by,), np.uint8)
    order = "C" if array.flags.c_contiguous else "F"
    copy = np.ndarray(array.shape, array.dtype, memory, by, order=order)
    copy[...] = array
    return copy


@pytest.mark.parametrize("shape", [(0,), (1,), (3, 5), (2, 0), ()])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.intp, bool])
def test_empty_arrays_begin_at_a_line(shape, dtype):
    for _ in range(5):
        array = empty_aligned(shape, dtype)
        assert (array.shape, array.dtype) == (shape, dtype)
        assert offset(array) == 0
        assert array.flags.writeable
        array[...] = 1
        assert np.all(array == 1)


@pytest.mark.parametrize("by", [0, 1, 8, 16, 61])
@pytest.mark.parametrize("order", ["C", "F"])
def test_values_and_order_stay_and_nothing_is_copied_in_vain(by, order):
    values = np.asarray(np.random.default_rng(0).standard_normal((4, 7)), order=order)
    array = misplaced(values, by)
    found = aligned(array)
    assert offset(found) == 0
    assert (found is array) == (by == 0)
    assert found.flags.c_contiguous == (order == "C")
    np.testing.assert_array_equal(found, values)
    assert aligned(found) is found


def test_what_does_not_lie_in_one_piece_is_copied_in_order():
    values = np.arange(24.0).reshape(4, 6)
    for view in (values[:, ::2], values[1:3, 1:4], values[::-1], np.broadcast_to(1.0, (3, 2))):
        found = aligned(view)
        assert found.flags.c_contiguous
        assert offset(found) == 0
        np.testing.assert_array_equal(found, view)


def test_inside_of_tuples_and_dataclasses_and_nothing_else():
    @dataclass(frozen=True)
    class Pair:
        one: np.ndarray
        two: object

    array = misplaced(np.ones(3), 8)
    words = ["left as it is"]
    pair, number, same = aligned((Pair(array, (array, None)), 3, words))
    assert offset(pair.one) == offset(pair.two[0]) == 0
    assert (pair.two[1], number) == (None, 3)
    assert same is words
    objects = np.array([None, 1], dtype=object)
    assert aligned(objects) is objects
