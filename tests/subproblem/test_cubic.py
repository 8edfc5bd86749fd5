"""Cubic models against conditions that hold for their global minimisers and no other point."""

import numpy as np
import pytest

import riemtr
from riemtr.problem import Threshold
from riemtr.subproblem import Ended
from riemtr.subproblem.cubic import minimise_cubic


def check_global(curvatures, linear, weight, found, multiplier, accuracy=1e-12):
    """Check the conditions of Cartis, Gould and Toint, theorem 3.1: necessary and sufficient."""
    length = np.linalg.norm(found)
    size = np.abs(curvatures).max() * length + np.linalg.norm(linear)
    residual = linear + curvatures * found + multiplier * found
    assert np.linalg.norm(residual) <= accuracy * size
    assert multiplier == pytest.approx(weight * length, rel=1e-9, abs=1e-300)
    assert curvatures[0] + multiplier >= -accuracy * np.abs(curvatures).max()


@pytest.mark.parametrize("seed", range(40))
def test_minimiser_is_global(seed):
    rng = np.random.default_rng(seed)
    count = rng.integers(1, 7)
    curvatures = np.sort(rng.standard_normal(count)) * 10.0 ** rng.uniform(-3, 3)
    linear = rng.standard_normal(count) * 10.0 ** rng.uniform(-8, 2)
    weight = 10.0 ** rng.uniform(-3, 3)
    check_global(curvatures, linear, weight, *minimise_cubic(curvatures, linear, weight))


@pytest.mark.parametrize(
    ("curvatures", "linear"),
    [
        ([-1.0, 2.0], [0.0, 0.0]),
        ([-1.0, 2.0], [0.0, 0.5]),  # the hard case
        ([-1.0, 2.0], [1e-14, 0.5]),  # nearly
        ([-1.0, -1.0, 3.0], [0.0, 0.0, 1.0]),
        ([0.0, 0.0], [1.0, 2.0]),
        ([1.0, 2.0], [0.0, 0.0]),
    ],
)
def test_hard_cases(curvatures, linear):
    curvatures, linear = np.array(curvatures), np.array(linear)
    check_global(curvatures, linear, 0.5, *minimise_cubic(curvatures, linear, 0.5))


def test_no_weight_is_the_newton_step():
    found, multiplier = minimise_cubic(np.array([1.0, 4.0]), np.array([1.0, 2.0]), 0.0)
    np.testing.assert_allclose(found, [-1.0, -0.5])
    assert multiplier == 0.0


def quadratic(hessian, gradient):
    return riemtr.Problem(
        riemtr.Euclidean(len(gradient)),
        lambda x: float(gradient @ x + 0.5 * x @ hessian @ x),
        euclidean_gradient=lambda x: gradient + hessian @ x,
        euclidean_hessian=lambda x, v: hessian @ v,
    )


@pytest.mark.parametrize("weight", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("least", [-3.0, 0.0, 1.0])
def test_the_whole_krylov_space_holds_the_minimiser(least, weight):
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.standard_normal((8, 8)))[0]
    values, gradient = np.linspace(least, 5.0, 8), rng.standard_normal(8)
    hessian = (basis * values) @ basis.T
    here = quadratic(hessian, gradient).at(np.zeros(8))
    step = riemtr.CubicKrylov(kappa=1e-12).at(here).step(weight)
    found, multiplier = basis.T @ step.vector, weight * step.norm
    check_global(values, basis.T @ gradient, weight, found, multiplier, 1e-9)
    np.testing.assert_allclose(step.hessian_vector, hessian @ step.vector, atol=1e-9 * step.norm)
    decrease = -(gradient @ step.vector + 0.5 * step.vector @ hessian @ step.vector)
    assert step.predicted_decrease == pytest.approx(decrease)
    assert here.counts.hessian_products <= 8


def test_a_larger_weight_takes_no_further_products():
    rng = np.random.default_rng(1)
    factor = rng.standard_normal((6, 6))
    hessian, gradient = factor @ factor.T, rng.standard_normal(6)
    part = riemtr.CubicKrylov(kappa=1e-12)
    here = quadratic(hessian, gradient).at(np.zeros(6))
    model = part.at(here)
    model.step(0.1)
    used = here.counts.hessian_products
    second = model.step(10.0)
    fresh = part.at(quadratic(hessian, gradient).at(np.zeros(6))).step(10.0)
    np.testing.assert_array_equal(second.vector, fresh.vector)
    assert here.counts.hessian_products == used


def test_a_weight_that_does_not_matter_leaves_the_newton_step():
    hessian, gradient = np.diag([1.0, 2.0, 3.0]), np.ones(3)
    here = quadratic(hessian, gradient).at(np.zeros(3))
    step = riemtr.CubicKrylov(kappa=1e-12).at(here).step(1e-9)
    np.testing.assert_allclose(step.vector, -gradient / hessian.diagonal(), rtol=1e-7)
    assert (step.ended, step.on_boundary) == (Ended.INTERIOR, False)
    limited = riemtr.CubicKrylov().at(here).step(100.0)
    assert (limited.ended, limited.on_boundary) == (Ended.BOUNDARY, True)


def test_negative_curvature_is_followed_where_the_gradient_vanishes():
    here = quadratic(np.diag([-2.0, 1.0, 3.0]), np.zeros(3)).at(np.zeros(3))
    assert here.curvature.side(Threshold(1e-6)) == -1
    step = riemtr.CubicKrylov().at(here).step(10.0)
    # The minimiser of -t^2 + 10 t^3 / 3 is at 0.2.
    np.testing.assert_allclose(np.abs(step.vector), [0.2, 0.0, 0.0], atol=1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kappa": 1.0}, "kappa must lie strictly between 0 and 1"),
        ({"theta": -1.0}, "theta must be at least 0"),
        ({"max_products": 0}, "max_products must be an integer of at least 1"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        riemtr.CubicKrylov(**options)
