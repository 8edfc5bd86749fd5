"""The linear program without its constraint: every x is feasible, and rows are balanced."""

from __future__ import annotations

import numpy as np
import pytest

from riemtr.recovery.l1_program import balanced_program, unit_vector
from riemtr.recovery.rounding import uncertainty


def program_of(Y, r):
    return balanced_program(np.linalg.norm(Y, axis=1), r / np.linalg.norm(r))


@pytest.mark.parametrize("n", [1, 2, 7])
@pytest.mark.parametrize("spread", [1.0, 1e3, 1e9])
def test_every_x_is_feasible_and_every_feasible_point_an_x(n, spread):
    rng = np.random.default_rng(n)
    units = np.geomspace(1.0, spread, n)
    Y, r = units[:, None] * rng.standard_normal((n, 50)), rng.standard_normal(n)
    r /= np.linalg.norm(r)
    program = program_of(Y, r)
    assert program.basis.shape == (n, n - 1)
    for _ in range(5):
        q = (program.origin + program.basis @ rng.standard_normal(n - 1)) / program.stretch
        assert r @ q == pytest.approx(1.0, rel=1e-12)
    q = rng.standard_normal(n)
    q /= r @ q
    x = np.linalg.lstsq(program.basis, program.stretch * q - program.origin, rcond=None)[0]
    np.testing.assert_allclose(
        (program.origin + program.basis @ x) / program.stretch, q, rtol=1e-9, atol=1e-12
    )


def test_rows_in_like_units_are_left_alone():
    program = program_of(np.random.default_rng(0).standard_normal((6, 90)), np.arange(1.0, 7.0))
    np.testing.assert_allclose(program.basis.T @ program.basis, np.eye(5), atol=1e-14)
    np.testing.assert_allclose(program.basis.T @ program.origin, 0.0, atol=1e-14)
    assert program.stretch == pytest.approx(1.0, rel=1e-15)


def test_rows_in_units_far_apart_are_balanced():
    rng = np.random.default_rng(0)
    Y = np.array([[1.0], [1e4], [1e2], [1e-5]]) * rng.standard_normal((4, 200))
    program = program_of(Y, np.ones(4))
    assert np.linalg.cond(Y) > 1e8
    assert np.linalg.cond(program.basis.T @ Y) < 10


def test_what_is_negligible_grows_with_x_and_the_samples():
    program = program_of(np.ones((3, 4)), np.ones(3))
    small = program.negligible(np.zeros(2), 4)
    assert 0 < small < 1e-12
    assert program.negligible(np.array([3.0, 4.0]), 4) == pytest.approx(np.sqrt(26) * small)
    assert program.negligible(np.zeros(2), 400) == pytest.approx(10 * small)


@pytest.mark.parametrize("size", [1e-320, 1e-200, 1.0, 1e200, 1e308])
def test_unit_vectors_of_any_length(size):
    unit, length = unit_vector(size * np.array([0.6, 0.0, -0.8]))
    np.testing.assert_allclose(unit, [0.6, 0.0, -0.8], rtol=1e-3 if size < 1e-300 else 1e-15)
    assert length == pytest.approx(size, rel=1e-3 if size < 1e-300 else 1e-15)


def test_the_uncertainty_is_of_the_size_of_rounding_errors():
    rng = np.random.default_rng(0)
    Y = 1.0 + 1e-6 * rng.standard_normal((4, 300))
    q = np.array([1.0, -0.5, -0.7, 0.2])
    exact = np.abs(q.astype(np.longdouble) @ Y.astype(np.longdouble)).sum()
    allowed = uncertainty(q, np.linalg.norm(Y, axis=1))
    assert abs(np.abs(q @ Y).sum() - exact) <= allowed < 1e-13
