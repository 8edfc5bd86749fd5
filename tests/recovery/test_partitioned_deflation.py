"""Deflation of data in parts has the interface and the numbers of deflation in memory."""

import dask
import dask.array as da
import numpy as np
import pytest

from riemtr.data.dask_arrays import as_data
from riemtr.recovery.deflation import Deflation
from riemtr.recovery.partitioned_deflation import PartitionedDeflation
from riemtr.recovery.reconstruction import normal_form


@pytest.fixture
def both(monkeypatch):
    """The same data, three directions set aside, in memory and in parts."""
    monkeypatch.setattr("riemtr.data.dask_arrays._JOINED", 0)
    rng = np.random.default_rng(0)
    Y = rng.standard_normal((6, 900)) * (rng.random((6, 900)) < 0.3)
    with dask.config.set(scheduler="synchronous"):
        parts = PartitionedDeflation(as_data(da.from_array(Y, chunks=(6, 250))))
        whole = Deflation(Y)
        for dimension in (6, 5, 4):
            z = rng.standard_normal(dimension)
            z /= np.linalg.norm(z)
            for deflation in (whole, parts):
                deflation.set_aside(z)
        yield whole, parts


def test_the_complement_is_that_in_memory(both):
    whole, parts = both
    np.testing.assert_array_equal(parts.rotation, whole.rotation)
    view = parts.complement
    assert view.shape == whole.complement.shape == (3, 900)
    computed = view.basis.T @ parts.data.to_dask().compute()
    np.testing.assert_allclose(computed, whole.complement, atol=1e-13)
    np.testing.assert_allclose(parts.gram(), whole.gram(), atol=1e-11)


def test_restarts_turn_the_coordinates_only(both):
    whole, parts = both
    directions = np.random.default_rng(1).standard_normal((6, 2))
    for deflation in both:
        deflation.restart(directions)
    np.testing.assert_array_equal(parts.rotation, whole.rotation)
    assert parts.found == whole.found == 2


def test_zeros_and_roundings_are_of_all_the_data(both):
    whole, parts = both
    axis = np.eye(6)[2]
    one, other = (deflation.zeros(axis, 1e-11, most=10**6) for deflation in both)
    assert one.count == other.count > 500
    np.testing.assert_allclose(one.unit_gram, other.unit_gram, atol=1e-11)
    for ours, theirs in zip(*(deflation.census() for deflation in both), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-11)
    near = axis + 0.05
    np.testing.assert_allclose(parts.round(near).solution, whole.round(near).solution, atol=1e-11)


def test_coefficients_are_computed_when_asked_for(both):
    whole, parts = both
    vanishing = np.array([1e-11] * 5 + [1e-2])
    form = normal_form(np.eye(6), np.eye(6), np.eye(6), whole.gram())
    lazy = parts.coefficients(form, vanishing)
    assert isinstance(lazy, da.Array)
    found, expected = lazy.compute(), whole.coefficients(form, vanishing)
    np.testing.assert_allclose(found, expected, atol=1e-13)
    np.testing.assert_array_equal(found == 0, expected == 0)
