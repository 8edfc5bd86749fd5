"""Steps of the methods to compare with, against dense linear algebra."""

from __future__ import annotations

import numpy as np
import pytest

import riemtr
from riemtr.problem import Threshold
from riemtr.subproblem import CurvilinearPath, Ended, PerturbedGradient, RandomizedCG


def quadratic(values, gradient):
    """Return the evaluation of a quadratic with these curvatures and this gradient, at zero."""
    values, gradient = np.array(values, dtype=float), np.array(gradient, dtype=float)
    problem = riemtr.Problem(
        riemtr.Euclidean(len(values)),
        lambda x: float(gradient @ x + 0.5 * x @ (values * x)),
        euclidean_gradient=lambda x: gradient + values * x,
        euclidean_hessian=lambda x, v: values * v,
    )
    return problem.at(np.zeros(len(values)))


def decrease(here, step):
    """Return the decrease of the model, from products of its own."""
    image = here.hessian(step.vector)
    return -here.inner(here.gradient, step.vector) - 0.5 * here.inner(step.vector, image)


@pytest.mark.parametrize("part", [RandomizedCG(), CurvilinearPath(), PerturbedGradient()])
@pytest.mark.parametrize("radius", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("values", [[1, 2, 5, 9], [-1, 2, 5, 9], [-3, -2, -1, 4]])
def test_steps_are_in_the_ball_and_say_what_they_do(part, radius, values):
    here = quadratic(values, [1.0, -2.0, 0.5, 1.0])
    step = part.at(here).step(radius)
    assert step.norm == pytest.approx(here.norm(step.vector))
    assert step.norm <= radius * (1 + 1e-9)
    assert step.predicted_decrease > 0.0
    if isinstance(part, PerturbedGradient):
        assert here.counts.hessian_products == 0
    else:
        np.testing.assert_allclose(
            step.hessian_vector, here.hessian(step.vector), atol=1e-9 * radius
        )
        assert step.predicted_decrease == pytest.approx(decrease(here, step), rel=1e-9)


@pytest.mark.parametrize("part", [RandomizedCG(kappa=1e-12), CurvilinearPath(kappa=1e-12)])
def test_inside_a_large_ball_a_convex_model_is_minimised(part):
    here = quadratic([1, 2, 5, 9], [1.0, -2.0, 0.5, 1.0])
    step = part.at(here).step(radius=10.0)
    np.testing.assert_allclose(step.vector, -here.gradient / [1, 2, 5, 9], rtol=1e-6)
    assert step.ended is Ended.INTERIOR


@pytest.mark.parametrize("size", [0.0, 1e-150])
def test_a_random_start_finds_negative_curvature_without_a_gradient(size):
    here = quadratic([-1, 2, 5, 9], [0.0, size, 0.0, 0.0])
    step = RandomizedCG(rng=3).at(here).step(radius=0.5)
    assert step.norm == pytest.approx(0.5)
    assert step.ended is Ended.NEGATIVE_CURVATURE
    assert 0.25 * 0.125 < step.predicted_decrease <= 0.125  # of which 0.125 is the most


def test_no_random_start_does_worse_than_the_cauchy_step():
    here = quadratic([1e-3, 1.0, 30.0, 1e3], [1.0, 1.0, 1.0, 1.0])
    slope, bend = here.gradient_norm, 1031.001 / 4
    for radius in (1e-4, 1e-2, 1.0):
        length = min(slope / bend, radius)
        cauchy = length * slope - 0.5 * length**2 * bend
        # A start that is all of the ball leaves CG no room to make up for it.
        step = RandomizedCG(length=1e9, rng=0).at(here).step(radius)
        assert step.predicted_decrease >= cauchy * (1 - 1e-12)


def test_the_path_begins_with_negative_curvature_and_bends_to_newtons_step():
    here = quadratic([-1.0, 2.0, 5.0], [0.2, 1.0, -1.0])
    newton = -np.array([0.2, 1.0, -1.0]) / [1.0, 2.0, 5.0]  # with absolute values
    model = CurvilinearPath(kappa=1e-12).at(here)
    steps, products = [model.step(radius=1.0)], here.counts.hessian_products
    steps += map(model.step, (1e-2, 1e-4, 1e-6))
    assert here.counts.hessian_products == products  # nothing is computed anew
    directions = [step.vector / step.norm for step in steps]
    shares = [abs(direction[0]) for direction in directions]
    assert shares == sorted(shares)
    assert shares[-1] > 1 - 1e-3
    assert directions[-1][0] < 0.0  # down the gradient
    curved = np.array([-1.0, 0.0, 0.0])
    for step in steps:
        # alpha^2 newton + alpha d with |d| the first radius: three equations, one unknown.
        alpha = np.sqrt(step.vector[1] / newton[1])
        np.testing.assert_allclose(step.vector, alpha**2 * newton + alpha * curved, rtol=1e-6)


def test_at_an_exact_saddle_the_path_follows_the_curvature_that_is_known():
    here = quadratic([-1.0, 2.0, 5.0], [0.0, 0.0, 0.0])
    assert CurvilinearPath().at(here).step(0.5).norm == 0.0
    assert here.curvature.side(Threshold(1e-6)) < 0
    step = CurvilinearPath().at(here).step(0.5)
    assert abs(step.vector[0]) == pytest.approx(0.5)


def test_gradient_steps_grow_by_a_tenth_and_shrink_with_the_radius():
    here = quadratic([1, 1], [1.0, 0.0])
    model = PerturbedGradient().at(here)
    there = here.moved(model.step(0.1).vector)
    model = PerturbedGradient().at(there, model)
    second = model.step(10.0)
    assert second.norm == pytest.approx(1.1 * 0.1 * there.gradient_norm)
    assert second.curvature == pytest.approx(1.0)  # seen along the first
    assert model.step(0.01).norm == pytest.approx(0.01)


def test_perturbations_have_their_length():
    here = riemtr.problems.build("rayleigh", rng=0, n=9).problem.at(np.eye(9)[0])
    vector, length = PerturbedGradient(perturbation=0.1, rng=0).perturbed(here)
    assert here.norm(vector) == pytest.approx(length)
    assert length == pytest.approx(0.1 * np.pi)
    assert vector[0] == 0.0


@pytest.mark.parametrize(
    ("part", "option"),
    [(RandomizedCG, "kappa"), (CurvilinearPath, "theta"), (PerturbedGradient, "perturbation")],
)
def test_wrong_options_are_named(part, option):
    with pytest.raises(ValueError, match=f"{option} must be"):
        part(**{option: -1.0})
