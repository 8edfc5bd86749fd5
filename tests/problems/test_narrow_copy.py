"""The single-precision copy: the same matrix in both layouts, without a further copy."""

from __future__ import annotations

import numpy as np
import pytest

from riemtr.problems.narrow_copy import NarrowCopy


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (64, 256)])
def test_both_layouts_hold_the_data(shape, order):
    source = np.array(np.random.default_rng(0).standard_normal(shape), order=order)
    copy = NarrowCopy(source)
    assert copy.source is source
    for layout in (copy.rows, copy.samples):
        assert layout.dtype == np.float32
        np.testing.assert_array_equal(layout, source.astype(np.float32))
    assert copy.samples.flags.f_contiguous
    assert copy.samples is copy.samples  # made once


def test_rows_are_contiguous_and_not_a_power_of_two_apart():
    copy = NarrowCopy(np.ones((4, 4096)))
    assert copy.rows[0].flags.c_contiguous
    assert copy.rows.strides[0] % 4096 != 0


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_change_of_any_entry_is_noticed(order):
    rng = np.random.default_rng(0)
    source = np.array(rng.standard_normal((20, 2000)), order=order)
    for _ in range(20):
        copy = NarrowCopy(source)
        assert copy.is_current()
        i, j = rng.integers(20), rng.integers(2000)
        source[i, j] += 1e-6
        assert not copy.is_current()


def test_read_only_data_need_no_look_unless_they_are_a_view(monkeypatch):
    owned = np.random.default_rng(0).standard_normal((20, 2000))
    view = owned[:, :1500]
    view.flags.writeable = False
    copy = NarrowCopy(view)
    owned[3, 4] += 1e-6
    assert not copy.is_current()
    owned.flags.writeable = False
    copy = NarrowCopy(owned)
    monkeypatch.setattr(NarrowCopy, "_mark", lambda self: pytest.fail("looked"))
    assert copy.is_current()
