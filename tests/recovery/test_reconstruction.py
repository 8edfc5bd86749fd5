"""The normal form: the paper's step 4, with order, signs and scales chosen."""

import numpy as np
import pytest

from riemtr.recovery.report import column_signs, normal_form


@pytest.mark.parametrize("unit", [1e-250, 1.0, 1e250])
def test_it_is_least_squares_in_any_unit(unit):
    rng = np.random.default_rng(0)
    white = rng.standard_normal((4, 300))
    W = rng.standard_normal((4, 4)) / unit
    Q = rng.standard_normal((4, 4))
    Q /= np.linalg.norm(Q, axis=0)
    form = normal_form(Q, W, np.linalg.inv(W), white @ white.T)
    Y = np.linalg.inv(W) @ white / unit
    X = form.scales[:, None] / unit * (form.directions.T @ white)
    np.testing.assert_allclose(form.dictionary, Y @ X.T @ np.linalg.inv(X @ X.T), atol=1e-11)
    np.testing.assert_allclose(form.unmixing @ Y, X, atol=1e-11 * np.abs(X).max())
    np.testing.assert_allclose(np.linalg.norm(form.dictionary, axis=0), 1.0, rtol=1e-13)
    np.testing.assert_array_equal(column_signs(form.dictionary), 1.0)
    assert (np.diff(np.linalg.norm(X, axis=1)) <= 0).all()
    same = np.abs(np.sum(form.directions * Q[:, form.order], axis=0))
    np.testing.assert_allclose(same, 1.0, rtol=1e-13)


def test_order_and_signs_of_the_directions_do_not_matter():
    rng = np.random.default_rng(1)
    white, W, Q = (rng.standard_normal(shape) for shape in ((3, 50), (3, 3), (3, 3)))
    Q /= np.linalg.norm(Q, axis=0)
    arguments = (W, np.linalg.inv(W), white @ white.T)
    one = normal_form(Q, *arguments)
    other = normal_form(Q[:, [2, 0, 1]] * [1.0, -1.0, -1.0], *arguments)
    np.testing.assert_allclose(one.dictionary, other.dictionary, atol=1e-13)
    np.testing.assert_allclose(one.unmixing, other.unmixing, atol=1e-12)


def test_of_entries_equal_to_rounding_the_first_decides_the_sign():
    tied = np.array([[-0.5, 0.5], [0.5 + 1e-12, -0.5 - 1e-12]])
    np.testing.assert_array_equal(column_signs(tied), [-1.0, 1.0])
