"""Truncated CG: its limit, its preconditioner, its boundary, and its arguments."""

from __future__ import annotations

import numpy as np
import pytest
from pymanopt.manifolds import Euclidean

import riemtr
from riemtr.subproblem import Ended, truncated_cg
from riemtr.subproblem.truncated_cg import Pairs


def model(hessian, gradient, preconditioner=None):
    """The quadratic g'x + x'Hx/2 at zero."""
    problem = riemtr.Problem(
        Euclidean(len(gradient)),
        lambda x: float(x @ (gradient + 0.5 * hessian @ x)),
        euclidean_gradient=lambda x: gradient + hessian @ x,
        euclidean_hessian=lambda x, v: hessian @ v,
        preconditioner=preconditioner,
    )
    return problem.at(np.zeros(len(gradient)))


def test_products_are_limited():
    here = model(np.diag(np.arange(1.0, 21.0)), np.ones(20))
    step = riemtr.TruncatedCG(kappa=1e-10, max_products=2).at(here).step(1e3)
    assert here.counts.hessian_products == 2
    assert step.ended is Ended.PRODUCT_LIMIT


@pytest.mark.parametrize("seed", range(20))
def test_a_preconditioned_step_ends_on_the_boundary(seed):
    """With a preconditioner the direction may point back towards where the step began."""
    rng = np.random.default_rng(seed)
    n = 6
    hessian = rng.standard_normal((n, n))
    hessian = hessian + hessian.T - 2.0 * np.eye(n)
    root = rng.standard_normal((n, n))
    inverse = root @ root.T + 0.01 * np.eye(n)
    gradient = rng.standard_normal(n)
    here = model(hessian, gradient, lambda x, v: inverse @ v)
    for radius in (0.1, 1.0, 10.0):
        step = riemtr.TruncatedCG().at(here).step(radius)
        assert step.on_boundary
        assert np.linalg.norm(step.vector) == pytest.approx(radius)
        np.testing.assert_allclose(step.hessian_vector, hessian @ step.vector, atol=1e-9)
        decrease = -(gradient @ step.vector + 0.5 * step.vector @ hessian @ step.vector)
        assert step.predicted_decrease == pytest.approx(decrease)
        assert decrease > 0.0


@pytest.mark.parametrize(
    ("preconditioner", "value"),
    [
        (lambda x, v: -2.0 * v, "-2"),
        (lambda x, v: 0.0 * v, "0"),
        (lambda x, v: np.array([v[0], -v[1]]), "-0.28"),
        (lambda x, v: np.nan * v, "nan"),
    ],
)
def test_a_preconditioner_that_is_not_positive_definite_is_named(preconditioner, value):
    message = f"preconditioner must be positive definite.*it is -?{value} for the gradient"
    here = model(np.diag([1.0, 3.0]), np.array([3.0, 4.0]), preconditioner)
    with pytest.raises(ValueError, match=message):
        riemtr.TruncatedCG().at(here).step(1.0)
    with pytest.raises(ValueError, match=message):
        riemtr.PracticalTRM().solve(here.problem, np.zeros(2))


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_the_size_of_a_preconditioner_does_not_matter(scale):
    hessian, gradient = np.diag([1.0, 3.0]), np.array([3.0, 4.0])
    here = model(hessian, gradient, lambda x, v: scale * v / hessian.diagonal())
    step = riemtr.TruncatedCG().at(here).step(10.0)
    np.testing.assert_allclose(step.vector, -gradient / hessian.diagonal(), rtol=1e-12)
    assert here.counts.hessian_products == 1


def test_at_a_critical_point_no_preconditioner_is_to_blame():
    here = model(np.eye(2), np.zeros(2), lambda x, v: v)
    assert riemtr.TruncatedCG().at(here).step(1.0).norm == 0.0


@pytest.mark.parametrize("scale", [1e-140, 1.0, 1e140])
def test_the_step_does_not_depend_on_the_unit_of_the_cost(scale):
    rng = np.random.default_rng(0)
    hessian = np.diag(rng.uniform(1.0, 2.0, 8))
    gradient = rng.standard_normal(8)
    plain = riemtr.TruncatedCG(kappa=1e-8).at(model(hessian, gradient)).step(10.0)
    scaled = riemtr.TruncatedCG(kappa=1e-8).at(model(scale * hessian, scale * gradient)).step(10.0)
    np.testing.assert_allclose(scaled.vector, plain.vector, rtol=1e-12)
    np.testing.assert_allclose(scaled.vector, -gradient / hessian.diagonal(), rtol=1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kappa": "0.1"}, "kappa must lie strictly between 0 and 1; got '0.1'"),
        ({"theta": -1.0}, "theta must be at least 0"),
        ({"max_products": 2.5}, "max_products must be an integer of at least 1, or None"),
        ({"remembered": 2}, "remembered must be an integer of at least 4, or 0"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        riemtr.TruncatedCG(**options)
    assert riemtr.TruncatedCG(remembered=np.int64(20)).remembered == 20


@pytest.mark.parametrize("tolerance", [0.0, 1.0, 2.0])
def test_near_exact_steps_need_a_loss_between_0_and_1(tolerance):
    with pytest.raises(ValueError, match="tolerance must lie strictly between 0 and 1"):
        riemtr.NearExactSubproblem(tolerance=tolerance)


def test_the_multiplier_is_that_of_the_exact_step_where_both_agree():
    """Where the gradient is an eigenvector, so is the step."""
    hessian, gradient = np.diag([1.0, 5.0]), np.array([10.0, 0.0])
    by_cg = riemtr.solve_subproblem(hessian, gradient, 3.0, method="tcg")
    exact = riemtr.solve_subproblem(hessian, gradient, 3.0)
    assert by_cg.multiplier == pytest.approx(exact.multiplier) == pytest.approx(10 / 3 - 1)
    assert not by_cg.hard_case
    saddle = riemtr.solve_subproblem(-hessian, np.zeros(2), 3.0, method="tcg")
    assert saddle.hard_case
    assert saddle.multiplier == pytest.approx(5.0)


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_asymmetry_is_relative(scale):
    hessian = scale * np.array([[2.0, 1.0], [1.0 + 1e-12, 3.0]])
    assert riemtr.solve_subproblem(hessian, np.ones(2), 1.0).kkt_residual < 1e-10
    hessian[1, 0] = scale * 1.1
    with pytest.raises(ValueError, match="hessian must be symmetric"):
        riemtr.solve_subproblem(hessian, np.ones(2), 1.0)


@pytest.mark.parametrize("size", [1, 100, 1000, 10**5])
@pytest.mark.parametrize("remembered", [0, 4, 20])
def test_the_pairs_that_are_kept_have_bounded_memory(monkeypatch, size, remembered):
    monkeypatch.setattr(truncated_cg, "STORED_ENTRIES", 10**5)
    monkeypatch.setattr(truncated_cg, "CACHED_ENTRIES", 10**4)
    pairs = Pairs(size, remembered)
    for number in range(60):
        pairs.add(number, -number)
    assert pairs.count == 60
    # As many as have room, at least four of the first ones: a step needs some.
    kept = min(max(10**5 // (2 * size), 4), 60)
    assert pairs.first == [(number, -number) for number in range(kept)]
    kept = min(remembered, 10**4 // (2 * size))
    assert list(pairs.last) == [(number, -number) for number in range(60 - kept, 60)]
