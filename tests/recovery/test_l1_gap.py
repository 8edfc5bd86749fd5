"""The gap is a bound: whatever the dual, no x does better than it says."""

import numpy as np
import pytest

from riemtr.recovery.l1_columns import Columns
from riemtr.recovery.l1_program import relative_gap
from tests.recovery.l1_problems import regression


def minimizer(C, b, t):
    """The x at which the residuals vanish whose dual entries are inside."""
    inside = np.abs(t) < 1 - 1e-9
    return -np.linalg.lstsq(C[:, inside].T, b[inside], rcond=None)[0]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("damage", [0.0, 1e-12, 1e-6, 1e-3, 0.1, 1.0])
@pytest.mark.parametrize("distance", [0.0, 0.3])
def test_the_bound_holds_for_any_dual_in_the_box(seed, damage, distance):
    C, b, optimum, t = regression(4, 60, seed)
    rng = np.random.default_rng(seed)
    x = minimizer(C, b, t) + distance * rng.standard_normal(4)
    t = np.clip(t + damage * rng.standard_normal(len(b)), -1.0, 1.0)
    z = b + C.T @ x
    objective, length = np.abs(z).sum(), np.linalg.norm(x)
    gap = relative_gap(objective, z @ t, C @ t, length, 0.0, Columns(C))
    assert 0 <= gap <= 1
    assert objective * (1 - gap) <= optimum * (1 + 1e-12)
    if damage <= 1e-6:
        assert gap == pytest.approx(1 - optimum / objective, abs=1e3 * damage + 1e-9)


def test_of_an_optimal_pair_it_is_rounding_and_what_rounding_is_said_to_be():
    C, b, optimum, t = regression(4, 60, 0)
    z = b + C.T @ minimizer(C, b, t)
    arguments = (optimum, z @ t, C @ t, 1.0)
    assert relative_gap(*arguments, 0.0, Columns(C)) < 1e-12
    assert relative_gap(*arguments, 1e-6 * optimum, Columns(C)) == pytest.approx(1e-6)


def test_an_error_that_few_columns_do_not_span_is_spread_over_more():
    C, b, optimum, t = regression(4, 60, 1)
    z = b + C.T @ minimizer(C, b, t)
    t = t + 1e-9 * C[0]
    few, everything = Columns(C[:, :2]), Columns(C)
    arguments = (optimum, z @ t, C @ t, 1e9, 0.0)
    assert relative_gap(*arguments, few) > 0.01
    assert relative_gap(*arguments, few, everything) == relative_gap(*arguments, everything) < 1e-6


def test_what_no_columns_span_costs_in_proportion_to_the_length_of_x():
    C, _, optimum, _ = regression(4, 60, 2, kind="rank-deficient")
    error = 1e-12 * np.linalg.svd(C)[0][:, -1]  # outside of the range of C
    for length in (1.0, 1e3, 1e6):
        gap = relative_gap(optimum, optimum, error, length, 0.0, Columns(C, noise=1e-11))
        assert gap == pytest.approx(2e-12 * length / optimum, rel=0.1)
