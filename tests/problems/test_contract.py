"""The promise of every registered problem: derivatives, a certified solution, a true truth."""

from __future__ import annotations

import inspect
import re

import numpy as np
import pytest

import riemtr
from riemtr.manifolds.arrays import as_real
from riemtr.problems import available, build, describe, registry
from tests.problems.plain_costs import plain_cost

# Small where the defaults take more than a moment, and smooth enough for long differences.
SMALL = {"dictionary-learning": {"n": 8, "p": 1500, "mu": 0.5}}
# The relaxation behind the bound of these is tight.
TIGHT = {"max-cut", "phase-synchronisation", "pose-graph", "rotation-averaging", "thomson"}
SEEDS = [0, 1, 2]
SOLVERS = [riemtr.PracticalTRM, riemtr.LBFGS, riemtr.ARC]


def small(name, seed):
    return build(name, rng=seed, **SMALL.get(name, {}))


def solved(case, seed, kind=riemtr.PracticalTRM):
    return kind(relative_tolerance=1e-9).solve(case.problem, case.start, rng=seed)


@pytest.mark.parametrize("name", available())
def test_derivatives_are_those_of_the_formula(name):
    case = small(name, 0)
    other = riemtr.Problem(case.problem.manifold, plain_cost(case))
    rng = np.random.default_rng(5)
    first = case.problem.at(case.start)
    beside = first.moved(0.1 * first.space.random(rng)).point
    for point in (case.start, beside):
        ours, theirs = case.problem.at(point), other.at(point)
        assert ours.cost == pytest.approx(theirs.cost, rel=1e-11, abs=1e-11)
        size = 1.0 + theirs.gradient_norm
        np.testing.assert_allclose(
            as_real(ours.gradient), as_real(theirs.gradient), atol=1e-10 * size
        )
        # Autograd has no Hessian on manifolds of fixed rank, and differences have fewer digits.
        error = 1e-9 if theirs.hessian_kind == "euclidean" else 1e-5
        vector = ours.space.random(rng)
        products = [as_real(here.hessian(vector)) for here in (ours, theirs)]
        size = 1.0 + np.linalg.norm(products[1])
        np.testing.assert_allclose(*products, atol=error * size)


@pytest.mark.parametrize("name", available())
def test_derivatives_agree_with_differences(name):
    case = small(name, 1)
    assert riemtr.check_gradient(case.problem, case.start, rng=2).ok
    assert riemtr.check_hessian(case.problem, case.start, rng=2).ok


@pytest.mark.parametrize("name", available())
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", SOLVERS)
def test_the_solution_is_certified_and_the_truth_is_true(name, seed, kind):
    case = small(name, seed)
    result = solved(case, seed, kind)
    assert result.converged, result.status
    assert result.certified
    assert result.certificate.verdict == "minimizer"
    assert result.certificate.strict
    truth, size = case.truth, max(1.0, abs(result.cost))
    if truth.cost is not None:
        assert result.cost >= truth.cost - 1e-10 * size
        assert result.cost == pytest.approx(truth.cost, abs=1e-7 * size)
    bound = result.certificate.lower_bound
    if bound is not None:
        assert bound <= result.cost + 1e-9 * size
        assert bound <= case.problem.at(case.start).cost
        if name in TIGHT:
            assert bound == pytest.approx(result.cost, abs=1e-6 * size)
    if name == "dictionary-learning":
        assert truth.distance(result.point) < case.parameters["mu"]
    elif truth.distance is not None:
        assert truth.distance(result.point) < 1e-5
        assert truth.distance(case.start) > 1e-2


@pytest.mark.parametrize("name", available())
def test_the_true_point_is_what_the_truth_says(name):
    case = small(name, 3)
    truth = case.truth
    if truth.point is None:
        pytest.skip("no solution is planted")
    there = case.problem.at(truth.point)
    if truth.error is not None:
        assert truth.error(truth.point) < 1e-7
        assert truth.error(solved(case, 3).point) < truth.error(case.problem.random_point(0))
    if truth.distance is None:
        return  # the data are noisy, and what they were made from is no minimizer
    assert truth.distance(truth.point) < 1e-7
    assert there.gradient_norm < 1e-9 * (1.0 + abs(there.cost))
    assert riemtr.certify(case.problem, truth.point).verdict == "minimizer"
    if truth.cost is not None:
        assert there.cost == pytest.approx(truth.cost, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("name", available())
def test_a_solver_with_the_seed_of_the_data_does_not_start_at_the_solution(name):
    case = small(name, 0)
    if case.truth.point is None:
        pytest.skip("no solution is planted")
    for start in (case.problem.random_point(0), case.problem.random_point((0, 0, 0)), case.start):
        measure = case.truth.distance or case.truth.error
        assert measure(start) > 1e-2


@pytest.mark.parametrize("name", available())
def test_symmetries_are_all_that_is_flat(name):
    case = small(name, 0)
    result = solved(case, 0)
    values = np.linalg.eigvalsh(case.problem.at(result.point).hessian_matrix())
    flat = int(np.sum(np.abs(values) < 1e-5 * np.abs(values).max()))
    assert result.certificate.symmetries == flat
    assert result.certificate.flat_directions == flat


@pytest.mark.parametrize("name", available())
def test_described_on_a_page(name):
    sentence, parameters = describe(name)
    assert sentence.endswith(".")
    page = inspect.getdoc(registry._BUILDERS[name])
    described = re.findall(r"^(\w+(?:, \w+)*) : ", page, flags=re.MULTILINE)
    assert {each for names in described for each in names.split(", ")} == set(parameters)
    assert "References\n----------\n" in page
    assert ".. math::" in page
