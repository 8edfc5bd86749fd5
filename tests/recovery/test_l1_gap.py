"""The gap is a bound: whatever the dual, no x does better than it says."""

import numpy as np
import pytest

from riemtr.recovery.l1_columns import Columns
from riemtr.recovery.l1_gap import relative_gap
from tests.recovery.l1_problems import regression


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("damage", [0.0, 1e-12, 1e-6, 1e-3, 0.1, 1.0])
def test_the_bound_holds_for_any_dual_in_the_box(seed, damage):
    C, b, optimum, t = regression(4, 60, seed)
    rng = np.random.default_rng(seed)
    t = np.clip(t + damage * rng.standard_normal(len(b)), -1.0, 1.0)
    objective = 1.3 * optimum
    gap = relative_gap(objective, b @ t, C @ t, 1e-12, (Columns(C), b))
    assert 0 <= gap <= 1
    assert objective * (1 - gap) <= optimum * (1 + 1e-12)
    if damage <= 1e-6:
        assert gap == pytest.approx(1 - 1 / 1.3, abs=1e3 * damage + 1e-9)


def test_of_an_optimal_pair_it_is_rounding():
    C, b, optimum, t = regression(4, 60, 0)
    assert relative_gap(optimum, b @ t, C @ t, 1e-12, (Columns(C), b)) < 1e-12


def test_an_error_that_few_columns_do_not_span_is_spread_over_more_or_proves_nothing():
    C, b, optimum, t = regression(4, 60, 1)
    t = t + 1e-9 * C[0]
    few, everything = (Columns(C[:, :2]), b[:2]), (Columns(C), b)
    arguments = (optimum, b @ t, C @ t, 1e-15)
    assert relative_gap(*arguments, few) == 1.0
    assert relative_gap(*arguments, few, everything) == relative_gap(*arguments, everything) < 1e-6


def test_what_is_left_over_below_the_noise_is_rounding():
    C, b, optimum, t = regression(4, 60, 2, kind="rank-deficient")
    error = C @ t + 1e-12 * np.linalg.svd(C)[0][:, -1]  # outside of the range of C
    assert relative_gap(optimum, b @ t, error, 1e-11, (Columns(C, noise=1e-11), b)) < 1e-9
    assert relative_gap(optimum, b @ t, error, 1e-14, (Columns(C, noise=1e-11), b)) == 1.0
