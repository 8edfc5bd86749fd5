"""Differences of costs and gradients: values with errors, which contradict only what is wrong."""

from __future__ import annotations

import math

import autograd.numpy as anp
import numpy as np
import pytest

import riemtr
from riemtr.problem.differences import (
    AGREES,
    CONTRADICTS,
    Line,
    answers_differently,
    contradicting_bend,
    contradicting_slope,
    cost_nearby,
    derivative,
    gradient_noise,
    image,
    uneven_turn,
)

ALONG = np.array([1.0, 0.0])
LENGTHS = [1e-12, 1e-6, 1.0, 1e6, 1e12]


def plane(cost, gradient=None, hessian=None, point=(0.0, 0.0)):
    """A cost of two variables, at the origin or another point."""
    problem = riemtr.Problem(
        riemtr.Euclidean(2),
        cost,
        euclidean_gradient=gradient or (lambda x: np.zeros(2)),
        euclidean_hessian=hessian or (lambda x, v: np.zeros(2)),
    )
    return problem.at(np.array(point))


def test_each_cost_is_computed_once():
    here = plane(lambda x: 1.0 + float(x @ x))
    line = Line(here, ALONG)
    line.bend(2.0)
    assert here.counts.costs == 3  # to both sides, and here: they are as stated
    line.bend(2.0)
    assert here.counts.costs == 3
    line.bend(1.0)
    assert here.counts.costs == 9  # a ladder at other lengths
    line.slope(0.0, 2.0, 1e-3)
    assert here.counts.costs == 9


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("factor", [1e-200, 1.0, 1e200])
@pytest.mark.parametrize("offset", [0.0, 1.0, 1e3])
def test_derivatives_of_any_unit_are_values_with_errors(length, factor, offset):
    def cost(x):  # derivatives 3 and 4 in units of length and factor
        t = x[0] / length - 1.0
        return factor * (offset + 3.0 * t + 2.0 * t**2 + math.sin(t) - t + t**3 / 6.0)

    here = plane(cost, lambda x: np.zeros(2), point=(length, 0.0))
    for stated, order in ((3.0, 1), (4.0, 2), (1.0, 1), (1.0, 2)):
        line = Line(here, ALONG)
        unit = factor / length**order
        measured = line.slope(stated * unit) if order == 1 else line.bend(stated * unit)
        truth = (3.0 if order == 1 else 4.0) * unit
        assert abs(measured.value - truth) <= measured.error <= 1e-3 * abs(truth)
        assert measured.against(truth) == AGREES
        assert measured.against(2.0 * truth) == CONTRADICTS


def test_what_noise_hides_is_not_contradicted():
    def noisy(phase):
        return plane(lambda x: float(x @ x) + 0.1 * math.sin(1e13 * (x[0] + phase)), point=(1, 0))

    lines = [Line(noisy(phase), ALONG) for phase in np.random.default_rng(0).random(200)]
    measured = [line.bend(2.0) for line in lines]
    assert sum(value.against(2.0) == CONTRADICTS for value in measured) <= 60
    assert all(value.against(2.0) != AGREES for value in measured)
    again = [contradicting_bend(Line(line.here, ALONG), 2.0, 1e-3, 1e-3)[0] for line in lines]
    assert sum(map(bool, again)) <= 1


def test_single_precision_inside_is_seen():
    for seed in range(50):
        shift = np.random.default_rng(seed).standard_normal(2)

        def cost(x, shift=shift):
            return float(np.sum((x - shift).astype(np.float32) ** 2, dtype=np.float32))

        measured = Line(plane(cost, point=tuple(shift + 0.3)), ALONG).bend(2.0)
        assert abs(measured.value - 2.0) <= measured.error


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
        (lambda x: x[0] ** 2 + (x[0] > 0.0), 2.0, "jumps up by 1"),
        (lambda x: abs(x[0]), 0.0, "a kink here, which bends it up by 2"),
        (lambda x: -abs(x[0]), 0.0, "a kink here, which bends it down by 2"),
        (lambda x: max(x[0], 0.0) ** 2, 0.0, "no second derivative here"),
    ],
)
def test_contradictions(cost, stated, said):
    line = Line(plane(lambda x: float(cost(x))), ALONG)
    sentence, _ = contradicting_bend(line, stated, 1e-9, 1e-9)
    assert (said in sentence) if said else not sentence


def test_what_one_ladder_says_by_chance_another_does_not_confirm():
    # Costs that were tampered with at the first lengths only look like another curvature.
    probed = Line(plane(lambda x: 1.0 + float(x[0] ** 2)), ALONG)
    probed.bend(1.0)
    lengths = [share * ladder.length for ladder in probed.ladders for share in (1.0, 0.5, 0.25)]

    def cost(x):
        off = min(abs(abs(x[0]) - length) / length for length in lengths)
        return 1.0 + float(x[0] ** 2) * (3.0 if off < 1e-6 else 1.0)

    assert not contradicting_bend(Line(plane(cost), ALONG), 2.0, 1e-9, 1e-9)[0]
    other = Line(plane(lambda x: 1.0 + 3.0 * x[0] ** 2), ALONG)
    assert contradicting_bend(other, 2.0, 1e-9, 1e-9)[0]


def test_a_slope_that_is_not_the_gradient():
    wrong = plane(lambda x: float(x[0]), lambda x: np.array([2.0, 0.0]))
    assert contradicting_slope(wrong) == pytest.approx(1.0)
    right = plane(lambda x: float(2.0 * x[0]), lambda x: np.array([2.0, 0.0]))
    assert contradicting_slope(right) is None


@pytest.mark.parametrize("power", [3, 4, 5, 6])
@pytest.mark.parametrize("size", LENGTHS)
def test_the_first_change_along_a_flat_way_decides(power, size):
    falling = Line(plane(lambda x: -float((x[0] / size - 1.0) ** power), point=(size, 0.0)), ALONG)
    assert falling.first_fall(0.0) != 0.0
    protected = plane(
        lambda x: float((x[0] / size - 1.0) ** 4 - (10.0 * (x[0] / size - 1.0)) ** 6),
        point=(size, 0.0),
    )
    assert Line(protected, ALONG).first_fall(0.0) == 0.0


def quadratic(error: float = 0.0, cubic: float = 0.0, noise: float = 0.0):
    """x'x/2 + cubic x_0^3/6 with an error of the Hessian and noise of the gradient."""

    def gradient(x):
        return x + np.array([0.5 * cubic * x[0] ** 2, 0.0]) + noise * np.sin(1e13 * x + 1.0)

    return plane(
        lambda x: 0.5 * float(x @ x) + cubic / 6.0 * x[0] ** 3,
        gradient,
        lambda x, v: v + np.array([(cubic * x[0] + error) * v[0], 0.0]),
    )


def gap(here):
    stated = here.hessian(ALONG)
    measured = image(here, ALONG, stated)
    return here.norm(measured.value - stated), measured.error


@pytest.mark.parametrize("error", [1e-7, 1e-4, 1.0])
@pytest.mark.parametrize("cubic", [0.0, 10.0])
def test_the_gap_is_the_error_of_the_hessian(error, cubic):
    found, doubt = gap(quadratic(error, cubic))
    assert found == pytest.approx(error, rel=0.01)
    assert doubt < error


def test_right_hessians_cost_two_gradients():
    here = quadratic(cubic=10.0)
    assert here.gradient_norm == 0.0
    before = here.counts.gradients
    found, doubt = gap(here)
    assert found <= doubt < 1e-8
    assert here.counts.gradients == before + 2


def test_noise_of_the_gradient_is_in_the_error():
    found, doubt = gap(quadratic(noise=1e-9))
    assert found <= doubt
    assert gradient_noise(quadratic(noise=1e-9), ALONG) > 1e-11
    assert gradient_noise(quadratic(cubic=10.0), ALONG) < 1e-13
    assert gradient_noise(quadratic(), ALONG) < 1e-15


def test_a_kink_of_the_gradient_turns_it_unevenly():
    here = plane(
        lambda x: float(np.maximum(x[0], 0.0) ** 2),
        lambda x: np.array([2.0 * max(x[0], 0.0), 0.0]),
    )
    assert uneven_turn(here, ALONG, 1e-5)
    assert not uneven_turn(quadratic(cubic=10.0), ALONG, 1e-5)


def test_a_gradient_that_turns_within_the_usual_step_is_measured_over_shorter_ones():
    width = 1e-8
    here = plane(
        lambda x: width * math.log(math.cosh(min(abs(x[0]) / width, 700.0))),
        lambda x: np.array([math.tanh(x[0] / width), 0.0]),
        lambda x, v: np.array([v[0] / width, 0.0]),
    )
    found, doubt = gap(here)
    assert found <= doubt


def test_a_cost_that_answers_twice_differently_is_told():
    rng = np.random.default_rng(0)
    assert answers_differently(plane(lambda x: float(rng.standard_normal()))) > 0.0
    assert answers_differently(plane(lambda x: float(x @ x))) == 0.0


def test_derivatives_of_arrays():
    found = derivative(
        lambda t: np.array([math.sin(t), math.exp(2.0 * t)]), 1e-2, size=lambda v: np.abs(v).max()
    )
    np.testing.assert_allclose(found.value, [1.0, 2.0], atol=found.error)
    assert found.error < 1e-6


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


def test_autograd_agrees_with_the_instrument_on_every_order():
    problem = riemtr.Problem(riemtr.Sphere(5), lambda x: anp.sum(anp.exp(x)) + x[0] ** 4)
    for seed in range(20):
        here = problem.at(riemtr.Sphere(5).random_point(seed))
        vector = here.space.random(np.random.default_rng(seed))
        line = Line(here, vector, geodesic=True)
        slope, bend = here.inner(here.gradient, vector), here.inner(vector, here.hessian(vector))
        assert line.slope(slope, bend).against(slope) == AGREES
        assert line.bend(bend).against(bend) == AGREES
