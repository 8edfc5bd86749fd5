"""Points of several arrays, flattened and restored."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from riemtr.manifolds import adapt
from riemtr.manifolds.arrays import as_type, flatten, like, machine_precision, owned, unflatten
from tests.manifolds.zoo import ZOO

layouts = st.one_of(st.integers(1, 4), st.lists(st.integers(1, 4), min_size=1).map(tuple))


@given(layouts)
def test_unflatten_inverts_flatten(layout):
    count = sum(layout) if isinstance(layout, tuple) else layout
    arrays = list(range(count))
    point = unflatten(arrays, layout)
    assert flatten(point, layout) == arrays
    assert unflatten(flatten(point, layout), layout) == point


@pytest.mark.parametrize("name", ZOO)
def test_points_of_every_manifold(name):
    manifold, _ = ZOO[name]
    point = adapt(manifold).random_point(0)
    arrays = flatten(point, manifold.point_layout)
    assert all(isinstance(array, np.ndarray) for array in arrays)
    restored = flatten(unflatten(arrays, manifold.point_layout), manifold.point_layout)
    assert all(a is b for a, b in zip(arrays, restored, strict=True))


def test_a_wrong_number_of_parts_is_an_error():
    with pytest.raises(ValueError):
        flatten([1, 2], (1, 1, 1))


def test_machine_precision_is_the_coarsest():
    double, single = np.zeros(2), np.zeros(2, dtype=np.float32)
    assert machine_precision(double) == 2.0**-52
    assert machine_precision(single) == 2.0**-23
    assert machine_precision(single.astype(np.complex64)) == 2.0**-23
    assert machine_precision([double, (double, single)]) == 2.0**-23
    assert machine_precision(np.arange(3)) == 2.0**-52
    assert machine_precision(1.0) == 2.0**-52


def test_types_of_points_of_every_kind():
    class Pair(NamedTuple):
        left: np.ndarray
        right: np.ndarray

    single, double = np.zeros(2, np.float32), np.zeros(2)
    for kind in (list, tuple, lambda parts: Pair(*parts)):
        wide, narrow = kind([double, double]), kind([single, single])
        assert like(wide, wide) is wide
        found = like(wide, narrow)
        assert type(found) is type(wide)
        assert [part.dtype for part in found] == [np.float32, np.float32]
        assert type(as_type(wide, np.dtype(np.float32))) is type(wide)
    nested = like([double, [double]], [single, [single]])
    assert nested[1][0].dtype == np.float32
    assert like(double, double) is double


def test_owned_arrays_are_copies_in_the_precision_of_the_point():
    given = np.arange(3.0)
    assert owned(given, given) is not given
    assert owned(given, np.zeros(3, np.float32)).dtype == np.float32
    assert owned([1, 2, 3], given).dtype == np.float64
    assert owned(given + 0j, given).dtype == np.float64
    assert owned(given, given + 0j).dtype == np.complex128
    # Of a tangent vector, which may have other parts than a point, the types stay as they are.
    for like_what in (None, (given, given, given)):
        pair = owned((given, [given.astype(np.float32)]), like_what)
        assert isinstance(pair, tuple)
        assert pair[1][0].dtype == np.float32
        assert pair[0] is not given
