"""Methods to compare with: what sets each of them apart, against known optima."""

from __future__ import annotations

import numpy as np
import pytest

import riemtr
from riemtr.solvers import CurvilinearSearch, PaperTRM, PerturbedGD, RandomizedTRM, Status
from riemtr.subproblem import TruncatedCG

METHODS = [PaperTRM, RandomizedTRM, CurvilinearSearch, PerturbedGD]


@pytest.fixture(scope="module")
def rayleigh():
    return riemtr.problems.build("rayleigh", rng=1, n=30)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("which", [5, 29])
def test_exact_saddles_and_maximizers_are_left(rayleigh, method, which):
    critical = rayleigh.truth.details["eigenvectors"][:, which]
    assert rayleigh.problem.at(critical).gradient_norm < 1e-13
    result = method().solve(rayleigh.problem, critical, rng=0)
    assert result.converged
    assert result.certificate.verdict == "minimizer"
    assert result.cost == pytest.approx(rayleigh.truth.cost, abs=1e-10)


@pytest.mark.parametrize("method", [RandomizedTRM, PerturbedGD])
def test_draws_come_from_the_seed_and_nothing_else(rayleigh, method):
    saddle = rayleigh.truth.details["eigenvectors"][:, 5]
    one, same, other = (
        method().solve(rayleigh.problem, saddle, rng=seed).history["cost"] for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one[:5], other[:5])
    assert repr(method(tolerance=1e-3)) == f"{method.__name__}(tolerance=0.001)"


def test_a_drawn_start_and_the_draws_at_it_are_independent():
    problem = riemtr.problems.build("rayleigh", rng=0, n=1000).problem
    first = []
    RandomizedTRM().solve(problem, rng=7, observers=lambda now: first.append(now.point))
    solver = RandomizedTRM()
    drawn = solver.subproblem.rng.standard_normal(3)  # of the part, which no run has touched
    np.testing.assert_array_equal(drawn, np.random.default_rng(0).standard_normal(3))
    stream = np.random.default_rng(7).spawn(1)[0].standard_normal(1000)
    assert abs(first[0] @ stream) / np.linalg.norm(stream) < 0.2


def test_the_printed_method_learns_nothing_and_forms_nothing():
    case = riemtr.problems.build("dictionary-learning", rng=0, n=10)
    result = PaperTRM(goal="first-order").solve(case.problem, case.start)
    assert set(result.history["stage"]) == {0}  # no continuation
    assert result.counts.hessian_matrices <= 1  # what the last slope means
    assert PaperTRM().subproblem == TruncatedCG(theta=1.0, remembered=0)
    assert case.truth.distance(result.point) <= 1e-2  # the paper's mu


def test_the_printed_method_is_that_of_its_parts():
    case = riemtr.problems.build("brockett", rng=0)
    parts = riemtr.TrustRegion(
        subproblem=TruncatedCG(theta=1.0, remembered=0),
        radius=riemtr.AdaptiveRadius(good=0.75, shrink=0.25),
        acceptance=riemtr.RatioTest(threshold=0.1),
    )
    found = (solver.solve(case.problem, case.start) for solver in (parts, PaperTRM()))
    first, second = (result.history["cost"] for result in found)
    np.testing.assert_array_equal(first, second)


def test_perturbed_descent_asks_for_the_hessian_at_its_end_only_and_perturbs_that(rayleigh):
    result = PerturbedGD().solve(rayleigh.problem, rng=0)
    assert result.status is Status.FIRST_ORDER
    assert result.counts.hessian_matrices == 0
    assert result.history["hessian_products"][int(0.4 * result.iterations)] == 0
    assert result.counts.hessian_products <= 60  # what the last slope means
    costs = result.history["cost"]
    raised = np.flatnonzero(np.diff(costs) > 1e-9)
    assert len(raised) == 1  # the one perturbation, of the minimizer
    assert len(costs) == result.iterations + 1


def test_perturbed_descent_out_of_time_returns_the_better_point(rayleigh):
    solver = PerturbedGD()
    whole = solver.solve(rayleigh.problem, rng=0)
    raised = int(np.flatnonzero(np.diff(whole.history["cost"]) > 1e-9)[0])
    short = PerturbedGD(max_iterations=raised + 3).solve(rayleigh.problem, rng=0)
    assert short.status is Status.MAX_ITERATIONS
    assert short.cost == whole.history["cost"][raised]


def test_perturbed_descent_ends_at_a_perturbation_off_the_domain():
    def cost(x):
        return float(x[0]) ** 2 if abs(x[0]) < 1e-3 else float("inf")

    problem = riemtr.Problem(
        riemtr.Euclidean(2),
        cost,
        euclidean_gradient=lambda x: np.array([2.0 * x[0], 0.0]),
        euclidean_hessian=lambda x, v: np.array([2.0 * v[0], 0.0]),
    )
    result = PerturbedGD(tolerance=1e-8).solve(problem, np.array([1e-4, 0.0]), rng=0)
    assert result.status is Status.FIRST_ORDER
    assert result.gradient_norm <= 1e-8
