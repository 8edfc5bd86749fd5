"""Ratios of actual to predicted decrease, and what rounding does to them."""

from types import SimpleNamespace

import numpy as np
import pytest

from riemtr.solvers import AlwaysAccept, RatioTest, SlopeRatioTest


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


# -- slopes in place of costs that rounding hides -------------------------------------------------

EPS = 2.0**-52
HIDDEN = 1e3 * EPS


def judge_by_slopes(actual, predicted, slopes, carries=True):
    """Judge a step of length 1 on the line, with the slopes of the cost at both of its ends."""

    def transported(vector, space):
        if not carries:
            raise NotImplementedError
        return vector

    def end(cost, slope):
        return SimpleNamespace(
            cost=cost,
            precision=EPS,
            noise=EPS,
            gradient=slope,
            gradient_norm=abs(slope),
            inner=lambda a, b: a * b,
            space=SimpleNamespace(transported=transported),
        )

    step = SimpleNamespace(predicted_decrease=predicted, vector=1.0)
    return SlopeRatioTest().judge(end(1.0, slopes[0]), end(1.0 - actual, slopes[1]), step)


def test_slopes_judge_where_rounding_hides_the_cost():
    predicted = 0.5 * HIDDEN
    # The mean of the slopes is the fall of the cost, whatever the costs are.
    for slopes, ratio in (((-1.0, 0.0), 0.5), ((-2.0, -1.0), 1.5), ((-1.0, 3.0), -1.0)):
        scaled = tuple(predicted * slope for slope in slopes)
        for actual in (0.0, HIDDEN, -HIDDEN):
            verdict = judge_by_slopes(actual, predicted, scaled)
            assert verdict.ratio == pytest.approx(ratio)
            assert verdict.accepted == (ratio > 0.0)


def test_a_change_of_the_cost_that_can_be_seen_is_believed_before_slopes():
    falling = (-2.0 * HIDDEN, -2.0 * HIDDEN)
    # It rises by a million roundings, though little was predicted.
    rising = judge_by_slopes(-1e3 * HIDDEN, 0.5 * HIDDEN, falling)
    assert not rising.accepted
    assert rising.ratio == pytest.approx(-2e3)
    # It hardly changes, though far more was predicted than rounding could hide.
    still = judge_by_slopes(0.5 * HIDDEN, 1e3 * HIDDEN, (-1e3 * HIDDEN, -1e3 * HIDDEN))
    assert not still.accepted
    assert still.ratio == pytest.approx(5e-4, rel=1e-3)


def test_without_a_transport_costs_are_judged_with_their_rounding():
    predicted = 0.5 * HIDDEN
    falls, rises = (-predicted, 0.5 * predicted), (-predicted, 2.0 * predicted)
    assert judge_by_slopes(0.0, predicted, falls, carries=False).accepted
    assert not judge_by_slopes(0.0, predicted, rises, carries=False).accepted


def test_a_step_that_predicts_no_fall_is_taken_only_if_nothing_changes():
    assert judge_by_slopes(0.0, 0.0, (0.0, 0.0)).ratio == 1.0
    assert judge_by_slopes(1.0, -1.0, (0.0, 0.0)).ratio == -np.inf
