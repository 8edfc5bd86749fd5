"""Deflation: orthogonality, the view, and that nothing of the data is lost or copied per row."""

import numpy as np
import pytest

from riemtr.recovery.deflation import Deflation, overwrite
from riemtr.recovery.rounding import round_direction


def unit(rng, n):
    vector = rng.standard_normal(n)
    return vector / np.linalg.norm(vector)


@pytest.mark.parametrize("n", [1, 2, 3, 10])
@pytest.mark.parametrize("p", [10, 5000])
def test_directions_set_aside_are_the_first_columns_of_the_rotation(n, p):
    rng = np.random.default_rng(n)
    Y = rng.standard_normal((n, p))
    original = Y.copy()
    deflation = Deflation(Y)
    lifted = []
    for k in range(n):
        z = unit(rng, n - k)
        lifted.append(deflation.lift(z))
        deflation.set_aside(z)
        assert deflation.complement.shape == (n - k - 1, p)
    V = deflation.rotation
    np.testing.assert_allclose(V, np.column_stack(lifted), atol=1e-14)
    np.testing.assert_allclose(V.T @ V, np.eye(n), atol=1e-14)
    np.testing.assert_allclose(deflation.data, V.T @ Y, atol=1e-12)
    np.testing.assert_array_equal(Y, original)


@pytest.mark.parametrize("z", [[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
def test_axes_cause_no_cancellation(z):
    Y = np.random.default_rng(0).standard_normal((3, 7))
    deflation = Deflation(Y)
    deflation.set_aside(np.array(z))
    np.testing.assert_allclose(deflation.rotation[:, 0], z, atol=1e-15)
    np.testing.assert_allclose(deflation.data, deflation.rotation.T @ Y, atol=1e-14)


def test_a_large_owned_array_is_turned_in_place(monkeypatch):
    monkeypatch.setattr("riemtr.recovery.deflation._SMALL_ENTRIES", 0)
    Y = np.random.default_rng(0).standard_normal((4, 9))
    deflation = Deflation(Y, owned=True)
    deflation.set_aside(np.array([0.6, 0.8, 0.0, 0.0]))
    assert deflation.data is Y
    assert np.shares_memory(deflation.complement, Y)
    assert not deflation.rounds_meanwhile


@pytest.mark.parametrize("small", [0, 10**7])
def test_roundings_see_all_of_the_data_whatever_was_set_aside(monkeypatch, small):
    monkeypatch.setattr("riemtr.recovery.deflation._SMALL_ENTRIES", small)
    rng = np.random.default_rng(5)
    Y = rng.standard_normal((5, 600)) * (rng.random((5, 600)) < 0.2)
    original, direction = Y.copy(), unit(rng, 5)
    expected = round_direction(original, direction)
    deflation = Deflation(Y, owned=True)
    for dimension in (5, 4, 3):
        found = deflation.round(direction)
        np.testing.assert_allclose(found.solution, expected.solution, atol=1e-12)
        np.testing.assert_allclose(found.direction, expected.direction, atol=1e-12)
        assert found.certified
        if small == 0:  # nothing of the data as they were before is left
            fresh = Deflation(deflation.data.copy()).round(deflation.rotation.T @ direction)
            np.testing.assert_array_equal(found.solution, deflation.rotation @ fresh.solution)
            assert found.iterations == fresh.iterations
        deflation.set_aside(unit(rng, dimension))
    assert deflation.rounds_meanwhile == (small > 0)
    assert np.array_equal(Y, original) == (small > 0)


def test_read_only_and_transposed_arrays_are_copied_even_if_owned():
    Y = np.random.default_rng(0).standard_normal((9, 4)).T
    frozen = np.ascontiguousarray(Y)
    frozen.flags.writeable = False
    for data in (Y, frozen):
        before = data.copy()
        deflation = Deflation(data, owned=True)
        deflation.set_aside(np.array([0.6, 0.8, 0.0, 0.0]))
        np.testing.assert_array_equal(data, before)
        np.testing.assert_allclose(deflation.data, deflation.rotation.T @ before, atol=1e-14)


def test_restart_sets_aside_the_span_of_directions_that_are_not_orthogonal():
    rng = np.random.default_rng(1)
    Y = rng.standard_normal((6, 400))
    deflation = Deflation(Y)
    deflation.set_aside(unit(rng, 6))
    Q = np.column_stack([unit(rng, 6) for _ in range(4)])
    deflation.restart(Q)
    V = deflation.rotation
    assert deflation.found == 4
    np.testing.assert_allclose(V[:, 4:].T @ Q, 0, atol=1e-14)
    np.testing.assert_allclose(V.T @ V, np.eye(6), atol=1e-14)
    np.testing.assert_allclose(deflation.data, V.T @ Y, atol=1e-13)
    np.testing.assert_allclose(deflation.gram(), Y @ Y.T, atol=1e-11)


def test_float32_stays_float32():
    rng = np.random.default_rng(2)
    Y = rng.standard_normal((5, 100)).astype(np.float32)
    deflation = Deflation(Y)
    deflation.set_aside(unit(rng, 5))
    deflation.restart(np.column_stack([unit(rng, 5)]))
    assert deflation.data.dtype == np.float32
    np.testing.assert_allclose(deflation.data, deflation.rotation.T @ Y, atol=1e-5)


def test_overwriting_by_blocks_is_a_product():
    rng = np.random.default_rng(3)
    Y, M = rng.standard_normal((40, 20_000)), rng.standard_normal((40, 40))
    expected = M @ Y
    overwrite(M, Y)
    np.testing.assert_allclose(Y, expected, atol=1e-12)
