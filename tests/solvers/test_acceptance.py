"""Ratios of actual to predicted decrease, and what rounding does to them."""

from types import SimpleNamespace

import numpy as np
import pytest

from riemtr.solvers import AlwaysAccept, RatioTest


def judge(rule, actual, predicted, kind=np.float64, fall=0.5):
    """Judge a step from cost 1 that was to gain ``predicted`` and gained ``actual``."""
    precision = float(np.finfo(kind).eps)
    here = SimpleNamespace(cost=1.0, precision=precision, noise=precision, gradient_norm=1.0)
    there = SimpleNamespace(cost=1.0 - actual, gradient_norm=fall)
    step = SimpleNamespace(predicted_decrease=predicted)
    return rule.judge(here, there, step)


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_rounding_rejects_nothing(kind):
    precision = float(np.finfo(kind).eps)
    verdict = judge(RatioTest(), -2 * precision, 1e-3 * precision, kind)
    assert verdict.accepted
    assert verdict.ratio > 0.5


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_where_rounding_hides_the_cost_the_gradient_must_fall(kind):
    precision = float(np.finfo(kind).eps)
    for fall, accepted in ((0.5, True), (0.99, False), (2.0, False)):
        verdict = judge(RatioTest(), -2 * precision, 3 * precision, kind, fall)
        assert verdict.accepted == accepted
    # Not so where the cost fell as predicted.
    assert judge(RatioTest(), 3 * precision, 3 * precision, kind, 2.0).accepted


@pytest.mark.parametrize(("kind", "loss"), [(np.float64, 1e-11), (np.float32, 1e-5)])
def test_a_loss_beyond_rounding_is_rejected(kind, loss):
    assert not judge(RatioTest(), -loss, loss, kind).accepted
    assert judge(RatioTest(), 0.5 * loss, loss, kind).ratio == pytest.approx(0.5, abs=0.1)
    assert judge(AlwaysAccept(), -loss, loss, kind).accepted


def test_a_cost_that_is_not_finite_is_rejected():
    for rule in (RatioTest(), AlwaysAccept()):
        for bad in (np.nan, np.inf):
            verdict = judge(rule, -bad, 1.0)
            assert not verdict.accepted
            assert verdict.ratio == -np.inf
