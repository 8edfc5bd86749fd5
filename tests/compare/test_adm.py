"""The alternating direction method, beside one round of it written out."""

from __future__ import annotations

import numpy as np
import pytest

import riemtr
from riemtr.compare import compare
from riemtr.compare.recovery_peers import ADM, adm
from riemtr.data import BernoulliGaussian, Identity
from riemtr.errors import DoesNotApply
from riemtr.solvers import MaxIterations


@pytest.fixture(scope="module")
def white():
    data = BernoulliGaussian(n=8, p=4000, theta=0.2, dictionary=Identity()).draw(0).observations
    return riemtr.precondition(data).data


def test_a_step_is_one_round_of_shrinking_and_normalising(white):
    problem = riemtr.dictionary_problem(white, mu=0.3)
    start = problem.random_point(0)
    after = ADM().solve(problem, start, stop=MaxIterations(1)).point
    along = start @ white
    sparse = along - 0.3 * np.tanh(along / 0.3)  # the minimiser over x
    direction = white @ sparse
    np.testing.assert_allclose(after, direction / np.linalg.norm(direction), atol=1e-12)


def test_it_ends_at_a_minimizer_of_the_cost_that_was_given(white):
    problem = riemtr.dictionary_problem(white, mu=0.1)
    result = ADM(tolerance=1e-8).solve(problem, rng=0)
    assert result.converged
    assert result.certificate.verdict == "minimizer"
    costs = result.history["cost"]
    assert (np.diff(costs) <= 1e-14).all()
    ours = riemtr.PracticalTRM(tolerance=1e-8).solve(problem, result.point)
    assert ours.cost == pytest.approx(result.cost, abs=1e-14)


def test_data_that_are_not_white_have_the_same_fixed_points(white):
    data = np.diag([3.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.5]) @ white
    result = ADM(tolerance=1e-8).solve(riemtr.dictionary_problem(data, mu=0.3), rng=0)
    assert result.converged
    assert result.gradient_norm <= 1e-8
    assert (np.diff(result.history["cost"]) <= 1e-14).all()


def test_it_applies_to_the_papers_cost_alone():
    problem = riemtr.problems.build("rayleigh", rng=0, n=5).problem
    with pytest.raises(DoesNotApply, match="log-cosh cost"):
        ADM().solve(problem, rng=0)
    both = [("dictionary-learning", {"n": 5, "p": 500}), "rayleigh"]
    found = compare(both, ["adm", "practical"], starts=1, saddles=0)
    assert [(run.problem, run.solver, run.certified) for run in found.runs] == [
        ("dictionary-learning:n=5:p=500", "adm", True),
        ("dictionary-learning:n=5:p=500", "practical", True),
        ("rayleigh", "practical", True),
    ]
    assert "does not apply to 1 problem" in found.overall().text()


def test_a_whole_dictionary_is_near_the_true_one(white):
    found = adm(white, seed=0)
    assert found.claimed
    np.testing.assert_allclose(found.rows @ found.rows.T, np.eye(8), atol=1e-12)
    # The data are their own coefficients, whitened: the rows are nearly unit vectors.
    assert np.sort(np.abs(found.rows), axis=1)[:, -1].min() > 0.98
