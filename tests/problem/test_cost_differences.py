"""Differences of costs and gradients: they contradict what is wrong, and nothing else."""

from __future__ import annotations

import math

import numpy as np
import pytest

import riemtr
from riemtr.problem.cost_differences import (
    RULE,
    Probe,
    contradicting_slope,
    contradiction,
    cost_nearby,
    hessian_gap,
)

TIGHT = (1e-9, 1e-9)
ALONG = np.array([1.0, 0.0])


def plane(cost, gradient=None, hessian=None):
    """A cost of two variables, at the origin."""
    problem = riemtr.Problem(
        riemtr.Euclidean(2),
        cost,
        euclidean_gradient=gradient or (lambda x: np.zeros(2)),
        euclidean_hessian=hessian or (lambda x, v: np.zeros(2)),
    )
    return problem.at(np.zeros(2))


def test_each_cost_is_computed_once():
    here = plane(lambda x: float(x @ x))
    probe = Probe(here, ALONG)
    probe.slope(1.0)
    probe.bend(1.0)
    assert here.counts.costs == 3  # to both sides, and here
    probe.jump()
    probe.kink()
    assert here.counts.costs == 7


def test_differences_are_the_derivatives():
    probe = Probe(plane(lambda x: float(3.0 * x[0] + 2.0 * x[0] ** 2 + x[0] ** 3)), ALONG)
    for share in RULE.shares:
        assert probe.slope(share)[0] == pytest.approx(3.0, rel=1e-5)
        value, error = probe.bend(share)
        assert abs(value - 4.0) <= error + 1e-5


@pytest.mark.parametrize(
    ("cost", "stated", "said"),
    [
        (lambda x: x[0] ** 2, 2.0, ""),
        (lambda x: x[0] ** 2 + x[0] ** 3, 2.0, ""),
        (lambda x: 1e8 + x[0] ** 2, 2.0, ""),
        (lambda x: x[0] ** 2, 1.0, "bends by 2"),
        (lambda x: -(x[0] ** 2), 2.0, "bends by -2"),
        (lambda x: x[0] ** 2 + 0.1 * x[0], 2.0, "slope of 0.1"),
        (lambda x: x[0] ** 2 - (x[0] > 0.0), 2.0, "jumps down by 1"),
        (lambda x: x[0] ** 2 + (x[0] > 0.0), 2.0, ""),
        (lambda x: abs(x[0]), 0.0, ""),
        (lambda x: abs(x[0]), -1.0, "rises to both sides"),
        (lambda x: -abs(x[0]), 0.0, "bends by -"),
        (lambda x: max(x[0], 0.0) ** 2, 0.0, ""),
    ],
)
def test_contradictions(cost, stated, said):
    found = contradiction(Probe(plane(lambda x: float(cost(x))), ALONG), stated, TIGHT)
    assert (said in found) if said else not found


def test_what_three_lengths_say_by_chance_three_others_do_not_confirm():
    # Costs that were tampered with at the first lengths only look like another curvature.
    here = plane(lambda x: float(x[0] ** 2))
    lengths = [Probe(here, ALONG).length(share) for share in RULE.shares]

    def cost(x):
        off = min(abs(abs(x[0]) - length) / length for length in lengths)
        return float(x[0] ** 2) * (3.0 if off < 1e-6 else 1.0)

    assert not contradiction(Probe(plane(cost), ALONG), 2.0, TIGHT)
    assert contradiction(Probe(plane(lambda x: 3.0 * x[0] ** 2), ALONG), 2.0, TIGHT)


def test_a_slope_that_is_not_the_gradient():
    wrong = plane(lambda x: float(x[0]), lambda x: np.array([2.0, 0.0]))
    assert contradicting_slope(wrong) == pytest.approx(1.0)
    right = plane(lambda x: float(2.0 * x[0]), lambda x: np.array([2.0, 0.0]))
    assert contradicting_slope(right) is None


def quadratic(error: float = 0.0, cubic: float = 0.0, noise: float = 0.0):
    """x'x/2 + cubic x_0^3/6 with an error of the Hessian and noise of the gradient."""

    def gradient(x):
        return x + np.array([0.5 * cubic * x[0] ** 2, 0.0]) + noise * np.sin(1e13 * x + 1.0)

    return plane(
        lambda x: 0.5 * float(x @ x) + cubic / 6.0 * x[0] ** 3,
        gradient,
        lambda x, v: v + np.array([(cubic * x[0] + error) * v[0], 0.0]),
    )


@pytest.mark.parametrize("error", [1e-7, 1e-4, 1.0])
@pytest.mark.parametrize("cubic", [0.0, 10.0])
def test_the_gap_is_the_error_of_the_hessian(error, cubic):
    here = quadratic(error, cubic)
    assert hessian_gap(here, ALONG, here.hessian(ALONG), 1.0) == pytest.approx(error, rel=0.01)


def test_right_hessians_leave_no_gap_and_cost_two_gradients():
    here = quadratic(cubic=10.0)
    assert here.gradient_norm == 0.0
    before = here.counts.gradients
    assert hessian_gap(here, ALONG, here.hessian(ALONG), 1.0) == 0.0
    assert here.counts.gradients == before + 2


def test_noise_of_the_gradient_is_no_gap():
    here = quadratic(noise=1e-9)
    assert hessian_gap(here, ALONG, here.hessian(ALONG), 1.0) == 0.0


def test_a_kink_of_the_gradient_is_no_gap():
    here = plane(
        lambda x: float(np.maximum(x[0], 0.0) ** 2),
        lambda x: np.array([2.0 * max(x[0], 0.0), 0.0]),
    )
    assert hessian_gap(here, ALONG, here.hessian(ALONG), 2.0) == 0.0


def test_a_gradient_that_turns_within_the_step_is_no_gap():
    width = 1e-8
    here = plane(
        lambda x: width * math.log(math.cosh(min(abs(x[0]) / width, 700.0))),
        lambda x: np.array([math.tanh(x[0] / width), 0.0]),
        lambda x, v: np.array([v[0] / width, 0.0]),
    )
    assert hessian_gap(here, ALONG, here.hessian(ALONG), 1.0 / width) == 0.0


def test_a_harmless_gap_is_not_looked_into():
    here = quadratic(error=1e-6)
    product = here.hessian(ALONG)
    assert hessian_gap(here, ALONG, product, 1.0, harmless=1e-5) == 0.0
    assert hessian_gap(here, ALONG, product, 1.0, harmless=1e-7) > 0.0


def test_off_the_domain_there_is_no_cost():
    here = plane(lambda x: math.log(x[0] + 1e-9))
    assert math.isnan(cost_nearby(here, -ALONG))
    assert cost_nearby(here, ALONG) == pytest.approx(0.0, abs=1e-8)


def test_mistakes_in_the_code_are_not_taken_for_the_end_of_the_domain():
    def cost(x):
        if x[0] > 0.0:
            raise NotImplementedError
        return 0.0

    with pytest.raises(NotImplementedError):
        cost_nearby(plane(cost), ALONG)
