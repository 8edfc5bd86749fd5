"""Surrogates of the l1 norm: derivatives against differences, fits against known parameters."""

from __future__ import annotations

import math

import numpy as np
import pytest

from riemtr.problems.surrogates import (
    SURROGATES,
    Huber,
    LogCosh,
    Negative,
    Quartic,
    as_surrogate,
)

SMOOTH = {
    "log-cosh": LogCosh(0.1),
    "wide log-cosh": LogCosh(30.0),
    "narrow log-cosh": LogCosh(1e-6),
    "l4": Quartic(),
    "flat": Negative(LogCosh(1.0)),
}


def points(seed=0, count=400):
    """Entries of all sizes, of both signs."""
    rng = np.random.default_rng(seed)
    return (rng.choice([-1.0, 1.0], count) * np.geomspace(1e-9, 30.0, count))[None]


@pytest.mark.parametrize("name", SMOOTH)
def test_derivatives_are_those_of_the_value(name):
    """By central differences, at steps that suit the size of the entry and of the smoothing."""
    surrogate, z = SMOOTH[name], points()
    _, slope, bend = surrogate.derivatives(z)
    width = min(getattr(surrogate, "mu", 0.05), 1.0)
    step = 1e-4 * np.minimum(np.maximum(np.abs(z), width), 10.0 * width)
    above, below = surrogate.derivatives(z + step), surrogate.derivatives(z - step)
    size = np.maximum(np.abs(above[0]), np.abs(below[0]))
    first = (above[0] - below[0]) / (2.0 * step)
    noise = 1e-15 * size / step
    assert np.all(np.abs(first - slope) <= 1e-6 * np.maximum(np.abs(slope), width) + 4.0 * noise)
    second = (above[1] - below[1]) / (2.0 * step)
    noise = 1e-15 * np.abs(slope) / step
    scale = np.abs(bend) + 1e-2 * np.abs(surrogate.derivatives(np.full((1, 1), width))[2])
    assert np.all(np.abs(second - bend) <= 1e-5 * scale + 4.0 * noise)


@pytest.mark.parametrize("mu", [1e-6, 0.1, 30.0])
def test_huber_is_its_definition(mu):
    z = points()
    value, slope, bend = Huber(mu).derivatives(z)
    inside = np.abs(z) < mu
    np.testing.assert_allclose(value[inside], z[inside] ** 2 / (2 * mu), rtol=1e-14)
    np.testing.assert_allclose(value[~inside], np.abs(z[~inside]) - mu / 2, rtol=1e-14)
    np.testing.assert_allclose(slope[inside], z[inside] / mu, rtol=1e-14)
    np.testing.assert_array_equal(slope[~inside], np.sign(z[~inside]))
    np.testing.assert_allclose(bend, inside / mu, rtol=1e-14)


@pytest.mark.parametrize("surrogate", [*SMOOTH.values(), Huber(0.1)], ids=repr)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_they_are_even_finite_and_of_the_type_of_the_rows(surrogate, dtype):
    z = points().astype(dtype)
    value, slope, bend = surrogate.derivatives(z)
    other = surrogate.derivatives(-z)
    for found, expected in zip(other, (value, -slope, bend), strict=True):
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == dtype
        assert np.isfinite(found).all()
    double = surrogate.derivatives(z.astype(np.float64))
    for found, expected in zip((value, slope, bend), double, strict=True):
        tolerance = 1e-5 if dtype == np.float32 else 1e-14
        assert np.max(np.abs(found - expected)) <= tolerance * np.max(np.abs(expected))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_are_not_changed(dtype):
    z = points().astype(dtype)
    for surrogate in (*SMOOTH.values(), Huber(0.1)):
        before = z.copy()
        surrogate.derivatives(z)
        np.testing.assert_array_equal(z, before)


@pytest.mark.parametrize("mu", [1e-30, 1e-12, 1.0])
def test_log_cosh_is_the_magnitude_but_for_mu_at_any_scale(mu):
    z = np.array([[0.0, 1e-8, -1.0, 1e8, -1e150]])
    value, slope, bend = LogCosh(mu).derivatives(z)
    assert np.all(value <= np.abs(z))
    assert np.all(np.abs(z) - value <= mu * math.log(2.0) * (1 + 1e-12) + 1e-15 * np.abs(z))
    assert np.all(np.abs(slope) <= 1.0)
    assert np.isfinite(bend).all()


@pytest.mark.parametrize("kind", [LogCosh, Huber])
def test_continuations_go_from_smooth_to_sharp_and_end_at_the_surrogate(kind):
    easier = [each.mu for each in kind(1e-2).easier(2.0)]
    assert easier[0] == 2.0
    assert easier == sorted(easier, reverse=True)
    assert easier[-1] > 1e-2
    assert kind(1e-2).rough().mu > 1e-2
    assert kind(0.5).rough() == kind(0.5)
    sharper = [each.mu for each in kind(1e-2).sharper()]
    assert sharper == sorted(sharper, reverse=True)
    assert sharper[-1] == 1e-2
    assert list(kind(3.0).sharper()) == [kind(3.0)]


# --- names ---------------------------------------------------------------------------------------


def test_names_and_objects():
    assert as_surrogate("log-cosh", 0.3) == LogCosh(0.3)
    assert as_surrogate("huber", 0.3) == Huber(0.3)
    assert as_surrogate("l4", 0.3) == Quartic()
    assert set(SURROGATES) == {"log-cosh", "huber", "l4"}
    mine = LogCosh(2.0)
    assert as_surrogate(mine, 0.3) is mine
    with pytest.raises(ValueError, match=r"surrogate must be .*'hubert'"):
        as_surrogate("hubert", 0.3)
    with pytest.raises(ValueError, match=r"derivatives\(rows\)"):
        as_surrogate(np.abs, 0.3)
    for kind in (LogCosh, Huber):
        with pytest.raises(ValueError, match="mu must be"):
            kind(0.0)
