"""The slips of the paper: that they are slips, and that the corrections are right."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

import riemtr
from riemtr.theory import slips


def test_every_slip_says_what_is_right():
    found = slips().found
    assert len({each.where for each in found}) == len(found) >= 14
    assert all(each.printed != each.right and each.matters for each in found)
    assert "25 delta / 2" in repr(slips())


def test_the_model_falls_by_half_of_what_strong_convexity_and_section_one_say():
    # f = x'diag(m, M)x/2 at a point whose Newton step is exactly on the boundary: the Cauchy step
    # along the steepest descent decreases the model by m^2 D^2 / (2 M) and no more.
    m, largest, radius = 1.0, 1.0, 0.1
    gradient = np.array([m * radius, 0.0])
    step = -gradient / largest
    decrease = -(gradient @ step + 0.5 * step @ np.diag([m, largest]) @ step)
    assert decrease == pytest.approx(m**2 * radius**2 / (2.0 * largest))
    assert decrease < m**2 * radius**2 / largest


def test_constant_of_the_riemannian_hessian():
    entry = 4.0 * math.sqrt(math.log(1e5))
    assert 2.0 * entry**2 == pytest.approx(32.0 * math.log(1e5))
    assert 2.0 * (1.5 * entry) ** 2 == pytest.approx(72.0 * math.log(1e5))


def test_perturbation_of_deflation():
    for delta in np.linspace(1e-4, 0.05, 1000):
        exact = delta / (1.0 - delta) + 8.0 * math.sqrt(2.0) * delta
        assert exact <= 12.5 * delta
        assert exact + 3.0 * delta / (1.0 - delta) <= 16.0 * delta


def test_smoothing_of_the_strong_convexity_lemma():
    first = 99.0 / 200.0 * (2.0 - 0.75 * math.sqrt(2.0))
    assert first - 4.0 / 10.0 < 0.25, "the printed condition, mu = theta / 10, does not do"
    correct = 4.0 / math.sqrt(31.0 / 32.0)
    assert first - correct / 19.0 >= 0.25 > first - correct / 18.0
    # The lemma stands: the subtracted mean is at most sqrt(2/pi) (theta + |w| sqrt(theta)).
    for theta in np.linspace(0.01, 0.5, 100):
        mu = theta / 10.0
        mean = math.sqrt(2.0 / math.pi) * (theta + mu / (4.0 * math.sqrt(2.0)) * math.sqrt(theta))
        assert first / math.sqrt(2 * math.pi) * theta / mu - mean >= theta / (
            4.0 * math.sqrt(2.0 * math.pi) * mu
        )


def test_the_bound_on_that_mean_holds():
    rng = np.random.default_rng(0)
    theta, n = 0.2, 6
    for _ in range(20):
        w = rng.standard_normal(n - 1)
        w *= 0.1 * rng.random() / np.linalg.norm(w)
        q = np.append(w, math.sqrt(1.0 - w @ w))
        x = rng.standard_normal((n, 50_000)) * (rng.random((n, 50_000)) < theta)
        bound = math.sqrt(2.0 / math.pi) * (theta + np.linalg.norm(w) * math.sqrt(theta))
        assert np.abs(q @ x).mean() <= bound + 0.01


def test_hoeffding_for_the_support_of_a_row():
    theta, p = 0.3, 400
    exceeds = binom.sf(math.floor(9.0 / 8.0 * theta * p), p, theta)
    assert exceeds > math.exp(-(theta**2) * p / 2.0), "the printed bound is false"
    assert exceeds <= math.exp(-(theta**2) * p / 32.0)


def test_rounding_threshold_of_the_proof():
    sharp = 15.0 / math.sqrt(229.0)
    assert math.sqrt(1.0 - sharp**2) / sharp == pytest.approx(2.0 / 15.0)
    assert sharp < 249.0 / 250.0
    n, theta = 10, 0.01  # below 1/n the printed number of samples is too small for lem:rounding-0
    assert n**2 / theta < n / theta**2


def test_the_lifted_minimizer_is_divided_by_its_last_entry():
    """The solution of the lifted program is [xi; 1][xi; 1]', with n entries for xi in R^(n-1)."""
    hessian, gradient = np.diag([-1.0, 2.0, 3.0]), np.array([0.3, -1.0, 0.5])
    xi = riemtr.solve_subproblem(hessian, gradient, radius=0.5).vector
    lifted = np.append(xi, 1.0)
    principal = np.linalg.eigh(np.outer(lifted, lifted))[1][:, -1]
    assert principal.shape == (4,)
    np.testing.assert_allclose(principal[:-1] / principal[-1], xi)
    assert np.linalg.norm(principal[:-1]) < 0.95 * np.linalg.norm(xi)


def test_negative_curvature_is_followed_against_the_gradient():
    hessian, gradient = np.diag([-1.0, 2.0]), np.array([1e-3, 0.0])

    def model(step):
        return gradient @ step + 0.5 * step @ hessian @ step

    along = np.array([0.1, 0.0])  # with positive correlation
    assert model(-along) < model(along)
    assert riemtr.solve_subproblem(hessian, gradient, radius=0.1).vector @ gradient < 0.0
