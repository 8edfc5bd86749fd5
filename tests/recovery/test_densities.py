"""The densities of rows: derivatives against differences, fits against known parameters."""

from __future__ import annotations

import numpy as np
import pytest

from riemtr.recovery.densities import Densities

SHAPES = Densities(
    np.array([[0.7, 0.5, 0.02], [0.3, 0.5, 0.98]]),
    np.array([[0.0, -0.9, 0.0], [0.0, 0.9, 2.0]]),
    np.array([[0.01, 0.2, 1.0], [1.5, 0.2, 1.5]]),
)


def test_derivatives_are_those_of_the_value():
    z = np.tile(np.linspace(-5.0, 5.0, 801), (3, 1))
    step = 1e-6
    value, slope, bend = SHAPES.derivatives(z)
    above, below = SHAPES.derivatives(z + step), SHAPES.derivatives(z - step)
    np.testing.assert_allclose((above[0] - below[0]) / (2 * step), slope, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose((above[1] - below[1]) / (2 * step), bend, rtol=1e-5, atol=1e-4)
    density = np.exp(-value).sum(axis=1) * (z[0, 1] - z[0, 0])
    np.testing.assert_allclose(density, 1.0, atol=1e-2)


@pytest.mark.parametrize(
    ("theta", "noise", "wide"), [(0.1, 0.3, 1.0), (0.3, 0.4, 2.0), (0.5, 0.05, 1.0)]
)
def test_a_fit_finds_the_parameters_that_rows_were_drawn_with(theta, noise, wide):
    """Each row its own: here, the second is the first in other units and elsewhere."""
    rng = np.random.default_rng(0)
    row = wide * rng.standard_normal(30_000) * (rng.random(30_000) < theta)
    row += noise * rng.standard_normal(30_000)
    fit = Densities.fitted(np.stack([row, 7.0 * row + 1.0]))
    np.testing.assert_allclose(1.0 - fit.shares[0], theta, rtol=0.1)
    np.testing.assert_allclose(fit.variances[0], [noise**2, 49 * noise**2], rtol=0.1)
    np.testing.assert_allclose(fit.variances[1] / [1, 49], wide**2 + noise**2, rtol=0.1)
    np.testing.assert_allclose(fit.means[0], [0.0, 1.0], atol=0.05)


@pytest.mark.parametrize("kind", ["peaked", "flat", "skewed"])
def test_no_other_parameters_near_the_fit_are_likelier(kind):
    rng = np.random.default_rng(1)
    row = {
        "peaked": rng.laplace(size=20_000),
        "flat": rng.uniform(size=20_000),
        "skewed": rng.exponential(size=20_000),
    }[kind][None]
    fit = Densities.fitted(row)
    best = fit.derivatives(row)[0].mean()
    for factor in (0.95, 1.05):
        for name in ("means", "variances"):
            values = {"shares": fit.shares, "means": fit.means, "variances": fit.variances}
            values[name] = values[name] * factor
            assert Densities(**values).derivatives(row)[0].mean() > best - 1e-4


@pytest.mark.parametrize("kind", ["gaussian", "exact zeros", "constant", "heavy", "few"])
def test_a_fit_to_anything_has_finite_derivatives(kind):
    rng = np.random.default_rng(2)
    row = {
        "gaussian": rng.standard_normal(4000),
        "exact zeros": rng.standard_normal(4000) * (rng.random(4000) < 0.2),
        "constant": np.ones(4000),
        "heavy": rng.standard_cauchy(4000),
        "few": np.array([1.0, 0.0, -2.0]),
    }[kind][None]
    fit = Densities.fitted(row)
    assert np.all((fit.shares > 0.0) & (fit.shares < 1.0))
    assert np.all(fit.variances > 0.0)
    for each in fit.derivatives(row):
        assert np.isfinite(each).all()


def test_narrow_parts_are_the_samples_in_which_noise_is_alone():
    rng = np.random.default_rng(3)
    active = rng.random(5000) < 0.3
    row = (0.01 * rng.standard_normal(5000) + active * rng.choice([-1.0, 1.0], 5000))[None]
    parts, weights = Densities.fitted(row).narrow_parts(row)
    assert np.mean((weights[0] > 0.5) == ~active) > 0.999
    assert weights[0][~active].mean() > 0.95
    np.testing.assert_allclose(parts[0], row[0] * ~active, atol=0.04)
