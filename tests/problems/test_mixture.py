"""Gaussian mixtures: the fit is that of expectation maximisation, and of closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal

import riemtr
from riemtr.problems import build
from riemtr.problems.mixture import MixtureCost, em_step, means_and_covariances

ACCURATE = riemtr.PracticalTRM(relative_tolerance=1e-11)


@pytest.mark.parametrize("parameters", [{}, {"d": 3, "components": 2}, {"d": 1, "components": 4}])
def test_the_fit_is_a_fixed_point_of_expectation_maximisation(parameters):
    case = build("gaussian-mixture", rng=2, **parameters)
    result = ACCURATE.solve(case.problem, case.start)
    assert result.certified
    data = case.truth.details["data"]
    np.testing.assert_allclose(result.point[0][:, -1, -1], 1.0, atol=1e-6)
    moments, logits = em_step(data, result.point)
    np.testing.assert_allclose(moments, result.point[0], atol=1e-5 * np.abs(moments).max())
    np.testing.assert_allclose(logits, result.point[1], atol=1e-5)


def test_the_cost_is_minus_the_likelihood_of_the_data():
    case = build("gaussian-mixture", rng=0)
    details = case.truth.details
    means, covariances = means_and_covariances(case.truth.point)
    np.testing.assert_allclose(means, details["means"])
    np.testing.assert_allclose(covariances, details["covariances"])
    densities = [
        weight * multivariate_normal(mean, covariance).pdf(details["data"])
        for weight, mean, covariance in zip(details["weights"], means, covariances, strict=True)
    ]
    likelihood = np.mean(np.log(np.sum(densities, axis=0)))
    assert case.problem.at(case.truth.point).cost == pytest.approx(-likelihood, rel=1e-12)


def test_em_goes_up_to_the_same_likelihood():
    case = build("gaussian-mixture", rng=1)
    data, point = case.truth.details["data"], case.start
    for _ in range(300):
        point = em_step(data, point)
    result = ACCURATE.solve(case.problem, case.start)
    assert result.cost == pytest.approx(case.problem.at(point).cost, rel=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_planted_means_are_found_up_to_sampling(seed):
    case = build("gaussian-mixture", rng=seed)
    result = riemtr.PracticalTRM().solve(case.problem, case.start)
    assert result.cost < case.problem.at(case.truth.point).cost  # of maximum likelihood
    assert case.truth.error(result.point) < 5.0 * np.sqrt(2 * 3 / 600)


def test_names_of_components_do_not_matter():
    case = build("gaussian-mixture", rng=3)
    moments, logits = case.truth.point
    logits = np.append(logits, 0.0)[::-1]
    renamed = [moments[::-1].copy(), logits[:-1] - logits[-1]]
    cost = MixtureCost(case.truth.details["data"])
    assert cost.at(renamed).value == pytest.approx(cost.at(case.truth.point).value)
    assert case.truth.error(renamed) == pytest.approx(0.0, abs=1e-12)


def test_wrong_parameters():
    with pytest.raises(ValueError, match=r"samples must exceed 2 components \(d \+ 1\) = 18"):
        build("gaussian-mixture", rng=0, samples=18)
    with pytest.raises(ValueError, match="components must be an integer of at least 2"):
        build("gaussian-mixture", rng=0, components=1)


def test_a_component_that_shrinks_to_one_sample_is_never_called_a_minimizer():
    # The likelihood grows without limit on this way: there is no minimizer at its end.
    rng = np.random.default_rng(0)
    data = np.concatenate([rng.standard_normal((60, 2)), [[9.0, 9.0]]])
    case = build("gaussian-mixture", rng=0, d=2, components=2)
    problem = riemtr.Problem(case.problem.manifold, MixtureCost(data))
    means, spreads = np.array([[0.0, 0.0], [9.0, 9.0]]), np.array([1.0, 1e-3])
    moments = np.ones((2, 3, 3))
    moments[:, :2, :2] = spreads[:, None, None] * np.eye(2) + means[:, :, None] * means[:, None]
    moments[:, :2, 2] = moments[:, 2, :2] = means
    start = [moments, np.array([np.log(60.0)])]
    for iterations in (5, 10, 20, 40):
        result = riemtr.PracticalTRM(max_iterations=iterations).solve(problem, start)
        assert not result.converged
        assert result.certificate.verdict != "minimizer"
