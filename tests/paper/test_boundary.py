import numpy as np
import pytest

from riemtr.paper.phase_figures import fit_power_law, half_way


def test_the_law_behind_random_trials_is_found():
    rng = np.random.default_rng(0)
    n, y = rng.uniform(10, 100, 20_000), np.exp(rng.uniform(2, 9, 20_000))
    a, b, c = -1.0, -3.0, 2.0  # half succeed at y = exp(0.5) n^1.5
    success = rng.random(n.size) < 1 / (1 + np.exp(-(a + b * np.log(n) + c * np.log(y))))
    law = fit_power_law(n, y, success, rising=True)
    assert law.exponent == pytest.approx(1.5, abs=0.03)
    assert law(50.0) == pytest.approx(np.exp(0.5) * 50**1.5, rel=0.03)


@pytest.mark.parametrize("exponent", [0.5, 1.0, 2.0])
def test_trials_without_any_overlap_are_no_trouble(exponent):
    n, y = (axis.ravel() for axis in np.meshgrid(np.arange(10, 105, 5), np.geomspace(2, 10**4, 40)))
    for rising, success in ((False, y < n**exponent), (True, y > n**exponent)):
        law = fit_power_law(n, y, success, rising=rising)
        assert law.exponent == pytest.approx(exponent, abs=0.05)
        assert law(50.0) == pytest.approx(50**exponent, rel=0.15)


def test_without_a_boundary_there_is_no_law():
    n, y = np.arange(1, 10), np.arange(1, 10)
    assert fit_power_law(n, y, np.ones(9, dtype=bool), rising=True) is None
    assert fit_power_law(n, y, np.zeros(9, dtype=bool), rising=True) is None


@pytest.mark.parametrize("rising", [True, False])
def test_where_y_makes_no_difference_there_is_no_law(rising):
    n, y = (axis.ravel() for axis in np.meshgrid(np.arange(10, 105, 5), np.geomspace(2, 10**4, 40)))
    assert fit_power_law(n, y, n < 50, rising=rising) is None
    for seed in range(20):
        coin = np.random.default_rng(seed).random(n.size) < 0.5
        assert fit_power_law(n, y, coin, rising=rising) is None


def test_the_opposite_of_what_is_expected_is_no_law():
    n, y = (axis.ravel() for axis in np.meshgrid(np.arange(10, 105, 5), np.geomspace(2, 10**4, 40)))
    assert fit_power_law(n, y, y < n, rising=True) is None
    assert fit_power_law(n, y, y > n, rising=False) is None


@pytest.mark.parametrize(
    ("rate", "rising", "expected"),
    [
        ([1, 1, 0, 0], False, np.sqrt(2 * 4)),
        ([0, 0, 1, 1], True, np.sqrt(2 * 4)),
        ([1, 0.6, 0.4, 0], False, np.sqrt(2 * 4)),
        ([1, 0.9, 0.1, 0], False, np.sqrt(2 * 4)),
        ([1, 0.9, 0.4, 0], False, 2 * 2**0.8),
        ([0, 0.2, 1, 1], True, 2 * 2**0.375),
        ([0, 0.4, 0.5, 1], True, 4),
        ([1, 0.4, 0.6, 0], False, np.nan),
        ([0, 1, 1, 1], True, np.sqrt(1 * 2)),
        ([1, 1, 1, 1], False, np.nan),
        ([0, 0, 0, 0], False, np.nan),
        ([0, 0, 0, 0], True, np.nan),
    ],
)
def test_half_way(rate, rising, expected):
    found = half_way(np.array([1.0, 2.0, 4.0, 8.0]), np.array(rate, dtype=float), rising=rising)
    if rate == [1, 0.4, 0.6, 0]:  # two steps are equally good: either will do
        assert min(abs(found - one) for one in (2 ** (5 / 6), 4 * 2 ** (1 / 6))) < 1e-12
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-14)
