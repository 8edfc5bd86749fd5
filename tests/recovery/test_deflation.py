"""Deflation: orthogonality, the view, and that nothing of the data is lost or copied per row."""

from __future__ import annotations

import numpy as np
import pytest

from riemtr.recovery.deflation import Deflation


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
        lifted.append(deflation.lift(unit(rng, n - k)))
        deflation.set_aside(lifted[-1])
        assert deflation.found == k + 1
        assert deflation.complement.shape == (n - k - 1, p)
        rest = deflation.rotation[:, k + 1 :]
        np.testing.assert_allclose(deflation.complement, rest.T @ Y, atol=1e-12)
    V = deflation.rotation
    np.testing.assert_allclose(V, np.column_stack(lifted), atol=1e-14)
    np.testing.assert_allclose(V.T @ V, np.eye(n), atol=1e-14)
    np.testing.assert_array_equal(Y, original)


@pytest.mark.parametrize("z", [[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
def test_axes_cause_no_cancellation(z):
    Y = np.random.default_rng(0).standard_normal((3, 7))
    deflation = Deflation(Y)
    deflation.set_aside(np.array(z))
    np.testing.assert_allclose(deflation.rotation[:, 0], z, atol=1e-15)
    np.testing.assert_allclose(deflation.complement, deflation.rotation[:, 1:].T @ Y, atol=1e-14)


def test_of_a_direction_that_is_not_orthogonal_what_is_outside_the_others_is_set_aside():
    rng = np.random.default_rng(4)
    Y = rng.standard_normal((5, 40))
    deflation = Deflation(Y)
    first, second = unit(rng, 5), unit(rng, 5)
    deflation.set_aside(first)
    deflation.set_aside(second)
    V = deflation.rotation
    outside = second - first * (first @ second)
    np.testing.assert_allclose(V[:, 1], outside / np.linalg.norm(outside), atol=1e-14)
    np.testing.assert_allclose(V[:, 2:].T @ np.column_stack([first, second]), 0, atol=1e-14)
    np.testing.assert_allclose(deflation.complement, V[:, 2:].T @ Y, atol=1e-13)


def test_before_the_first_direction_nothing_is_copied_and_then_once():
    Y = np.random.default_rng(0).standard_normal((4, 9))
    deflation = Deflation(Y)
    assert np.shares_memory(deflation.complement, Y)
    deflation.set_aside(np.array([0.6, 0.8, 0.0, 0.0]))
    first = deflation.complement
    deflation.set_aside(np.array([0.0, 0.0, 1.0, 0.0]))
    assert np.shares_memory(deflation.complement, first)
    assert not np.shares_memory(first, Y)


def test_several_points_are_lifted_as_columns():
    rng = np.random.default_rng(5)
    deflation = Deflation(rng.standard_normal((5, 40)))
    deflation.set_aside(unit(rng, 5))
    points = rng.standard_normal((4, 3))
    lifted = deflation.lift(points)
    for k in range(3):
        np.testing.assert_allclose(lifted[:, k], deflation.lift(points[:, k]), atol=1e-15)
    np.testing.assert_allclose(deflation.rotation[:, 0] @ lifted, 0.0, atol=1e-14)


@pytest.mark.parametrize("frozen", [False, True])
def test_read_only_and_transposed_samples_serve(frozen):
    Y = np.random.default_rng(0).standard_normal((9, 4)).T
    if frozen:
        Y = np.ascontiguousarray(Y)
        Y.flags.writeable = False
    before = Y.copy()
    deflation = Deflation(Y)
    deflation.set_aside(np.array([0.6, 0.8, 0.0, 0.0]))
    np.testing.assert_array_equal(Y, before)
    expected = deflation.rotation[:, 1:].T @ before
    np.testing.assert_allclose(deflation.complement, expected, atol=1e-14)


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
    np.testing.assert_allclose(deflation.complement, V[:, 4:].T @ Y, atol=1e-13)


def test_float32_stays_float32():
    rng = np.random.default_rng(2)
    Y = rng.standard_normal((5, 100)).astype(np.float32)
    deflation = Deflation(Y)
    deflation.set_aside(unit(rng, 5))
    assert deflation.complement.dtype == np.float32
    deflation.restart(np.column_stack([unit(rng, 5)]))
    assert deflation.complement.dtype == np.float32
    expected = deflation.rotation[:, 1:].T @ Y
    np.testing.assert_allclose(deflation.complement, expected, atol=1e-5)
