"""The near-exact solver keeps its promise: 90% of the best decrease in a few factorizations."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
import scipy.linalg

from riemtr.subproblem.exact import solve_exact_dense
from riemtr.subproblem.near_exact import solve_near_exact

SPECTRA = {
    "positive definite": lambda rng, n: 10.0 ** rng.uniform(-3, 1, n),
    "one negative": lambda rng, n: np.r_[-rng.uniform(0.01, 1), rng.uniform(0.1, 1, n - 1)],
    "a few small negative": lambda rng, n: (
        10.0 ** rng.uniform(-3, 1, n) * np.where(np.arange(n) <= n // 20, -0.3, 1.0)
    ),
    "indefinite": lambda rng, n: rng.standard_normal(n),
    "negative definite": lambda rng, n: -rng.uniform(0, 1, n),
    "spread": lambda rng, n: rng.standard_normal(n) * 10.0 ** rng.uniform(-6, 6, n),
    "semidefinite": lambda rng, n: np.where(np.arange(n) < n // 2, 0.0, rng.uniform(0, 1, n)),
    "repeated leftmost": lambda rng, n: np.where(np.arange(n) < 3, -1.0, rng.uniform(-1, 1, n)),
}
KINDS = ("generic", "hard", "nearly hard", "tiny", "zero")


def draw(rng, spectrum, kind, n):
    eigenvalues = SPECTRA[spectrum](rng, n)
    basis = np.linalg.qr(rng.standard_normal((n, n)))[0]
    hessian = (basis * eigenvalues) @ basis.T
    coefficients = rng.standard_normal(n) * 10.0 ** rng.uniform(-4, 2)
    factor = {"hard": 0.0, "nearly hard": 1e-6}.get(kind, 1.0)
    coefficients[eigenvalues == eigenvalues.min()] *= factor
    coefficients *= {"tiny": 1e-10, "zero": 0.0}.get(kind, 1.0)
    return 0.5 * (hessian + hessian.T), basis @ coefficients


def check_near_exact(hessian, gradient, radius, near, tolerance=0.1):
    s = near.vector
    exact = solve_exact_dense(hessian, gradient, radius)
    size = np.linalg.norm(hessian, 2)
    rounding = 1e-13 * (size * radius**2 + np.linalg.norm(gradient) * np.linalg.norm(s))
    decrease = -(gradient @ s + 0.5 * s @ hessian @ s)
    assert decrease >= (1 - tolerance) * exact.model_decrease - rounding
    assert near.model_decrease == pytest.approx(decrease, rel=1e-9, abs=rounding)
    if near.multiplier > 1e-12 * size:  # above it the gap is not all rounding
        assert decrease >= (1 - near.gap) * exact.model_decrease * (1 - 1e-9) - rounding
    assert np.linalg.norm(s) <= radius * (1 + 1e-14)
    if near.on_boundary:
        assert np.linalg.norm(s) >= radius * (1 - 1e-14)
    image_scale = (size + near.multiplier) * np.linalg.norm(s) + np.linalg.norm(gradient)
    np.testing.assert_allclose(near.hessian_vector, hessian @ s, atol=1e-12 * image_scale)
    if near.factor is not None:
        upper = np.triu(near.factor)
        shifted = hessian + near.multiplier * np.eye(s.size)
        np.testing.assert_allclose(upper.T @ upper, shifted, atol=1e-12 * (size + near.multiplier))


@pytest.mark.parametrize("spectrum", SPECTRA)
@pytest.mark.parametrize("kind", KINDS)
def test_ninety_percent_of_the_best_decrease(spectrum, kind):
    # 8 spectra x 5 gradients x 25 = 1,000 instances
    rng = np.random.default_rng([list(SPECTRA).index(spectrum), KINDS.index(kind)])
    factorizations = []
    for _ in range(25):
        hessian, gradient = draw(rng, spectrum, kind, int(rng.integers(1, 50)))
        radius = 10.0 ** rng.uniform(-2, 2)
        near = solve_near_exact(hessian, gradient, radius)
        check_near_exact(hessian, gradient, radius, near)
        factorizations.append(near.factorizations)
    assert np.median(factorizations) <= 3
    assert np.mean(factorizations) <= 4


@pytest.mark.parametrize("tolerance", [0.5, 1e-2, 1e-4])
def test_the_tolerance_is_kept(tolerance):
    rng = np.random.default_rng(1)
    for spectrum, kind in itertools.product(SPECTRA, KINDS):
        hessian, gradient = draw(rng, spectrum, kind, 20)
        near = solve_near_exact(hessian, gradient, 1.0, tolerance=tolerance)
        check_near_exact(hessian, gradient, 1.0, near, tolerance)


def test_newton_step_costs_one_factorization_and_returns_it():
    rng = np.random.default_rng(2)
    hessian, gradient = draw(rng, "positive definite", "generic", 30)
    near = solve_near_exact(hessian, gradient, 1e6)
    assert (near.factorizations, near.multiplier, near.on_boundary, near.gap) == (1, 0, False, 0)
    np.testing.assert_allclose(near.vector, -np.linalg.solve(hessian, gradient), rtol=1e-9)
    right = rng.standard_normal(30)
    solved = scipy.linalg.cho_solve((near.factor, False), right)
    np.testing.assert_allclose(solved, np.linalg.solve(hessian, right), rtol=1e-9)


def test_saddle_with_zero_gradient_is_left_along_the_leftmost_eigenvector():
    near = solve_near_exact(np.diag([3.0, -2.0, 1.0, 0.5]), np.zeros(4), 0.5)
    assert near.hard_case
    assert near.on_boundary
    assert abs(near.vector[1]) >= 0.45
    assert near.model_decrease >= 0.9 * 0.25


def test_semidefinite_stays_inside_and_does_not_drift():
    rng = np.random.default_rng(3)
    for _ in range(20):
        factor = rng.standard_normal((10, 4))
        hessian, gradient = factor @ factor.T, factor @ rng.standard_normal(4)
        near = solve_near_exact(hessian, gradient, 50.0)
        check_near_exact(hessian, gradient, 50.0, near)
        assert not near.on_boundary
        assert np.linalg.norm(near.vector) <= 5.0
        assert np.linalg.norm(solve_near_exact(hessian, 0 * gradient, 50.0).vector) == 0.0


def test_a_good_initial_multiplier_saves_factorizations():
    rng = np.random.default_rng(4)
    cold = warm = 0
    for _ in range(30):
        hessian, gradient = draw(rng, "one negative", "generic", 40)
        first = solve_near_exact(hessian, gradient, 0.3)
        moved = hessian + 1e-3 * np.diag(rng.standard_normal(40))
        again = solve_near_exact(moved, gradient, 0.3, initial_multiplier=first.multiplier)
        check_near_exact(moved, gradient, 0.3, again)
        cold += solve_near_exact(moved, gradient, 0.3).factorizations
        warm += again.factorizations
    assert warm <= cold


@pytest.mark.parametrize("initial", [1e-3, 1.0, 1e6])
def test_a_bad_initial_multiplier_is_recovered_from(initial):
    rng = np.random.default_rng(5)
    for spectrum, kind in itertools.product(SPECTRA, KINDS):
        hessian, gradient = draw(rng, spectrum, kind, 15)
        near = solve_near_exact(hessian, gradient, 1.0, initial_multiplier=initial)
        check_near_exact(hessian, gradient, 1.0, near)


def test_out_of_factorizations_the_exact_solver_takes_over():
    hessian, gradient = draw(np.random.default_rng(6), "indefinite", "zero", 20)
    near = solve_near_exact(hessian, gradient, 1.0, max_factorizations=1)
    exact = solve_exact_dense(hessian, gradient, 1.0)
    assert near.factor is None
    np.testing.assert_array_equal(near.vector, exact.vector)
    assert near.model_decrease == exact.model_decrease


@pytest.mark.parametrize("exponents", list(itertools.product((-150, 0, 150), repeat=3)))
def test_scales(exponents):
    rng = np.random.default_rng(7)
    h, g, r = (10.0**exponent for exponent in exponents)
    hessian, gradient = draw(rng, "indefinite", "generic", 6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        near = solve_near_exact(hessian * h, gradient * g, r)
        exact = solve_exact_dense(hessian * h, gradient * g, r)
    assert np.linalg.norm(near.vector / r) <= 1 + 1e-14
    assert near.model_decrease >= 0.9 * exact.model_decrease


@pytest.mark.parametrize("curvature", [-1.0, 0.0, 2.0])
@pytest.mark.parametrize("slope", [-1.0, 0.0, 1.0])
def test_one_dimension(curvature, slope):
    hessian, gradient = np.array([[curvature]]), np.array([slope])
    check_near_exact(hessian, gradient, 0.7, solve_near_exact(hessian, gradient, 0.7))


def test_no_dimension():
    assert solve_near_exact(np.zeros((0, 0)), np.zeros(0), 1.0).vector.shape == (0,)


def test_input_is_left_alone():
    hessian, gradient = draw(np.random.default_rng(8), "indefinite", "generic", 10)
    hessian.flags.writeable = gradient.flags.writeable = False
    check_near_exact(hessian, gradient, 1.0, solve_near_exact(hessian, gradient, 1.0))
