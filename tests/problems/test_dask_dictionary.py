"""The cost on a Dask array: that of the array in memory, and how often blocks are visited."""

import dask.array as da
import numpy as np
import pytest

import riemtr
import riemtr.problems.dictionary_learning as dictionary_learning
from riemtr.problem.shared_work import smoothings

pytestmark = pytest.mark.usefixtures("chunks_as_they_come")


def sparse(n=6, p=900, theta=0.3, dtype=float):
    rng = np.random.default_rng(0)
    return (rng.standard_normal((n, p)) * (rng.random((n, p)) < theta)).astype(dtype)


def point_and_vector(n):
    rng = np.random.default_rng(1)
    point = rng.standard_normal(n)
    return point / np.linalg.norm(point), rng.standard_normal(n)


@pytest.mark.parametrize("mu", [1.0, 1e-2, 1e-6])
@pytest.mark.parametrize("chunks", [(6, 900), (6, 250), (2, 900)])
@pytest.mark.parametrize("cheap", [0, 2**40])
def test_all_derivatives_are_those_in_memory(mu, chunks, cheap, monkeypatch):
    monkeypatch.setattr(dictionary_learning, "_CHEAP_MATRIX", cheap)
    Y = sparse()
    q, v = point_and_vector(6)
    here = riemtr.dictionary_problem(da.from_array(Y, chunks=chunks), mu).cost.at(q)
    expected = riemtr.dictionary_problem(Y, mu).cost.at(q)
    assert here.value == pytest.approx(expected.value, rel=1e-14)
    np.testing.assert_allclose(here.gradient, expected.gradient, rtol=0, atol=1e-14)
    size = max(np.abs(expected.hessian_matrix()).max(), 1.0)
    np.testing.assert_allclose(here.hessian(v), expected.hessian(v), rtol=0, atol=1e-14 * size)
    matrix = here.hessian_matrix()
    np.testing.assert_allclose(matrix, expected.hessian_matrix(), rtol=0, atol=1e-14 * size)


def test_small_blocks_are_visited_once_per_point(visits):
    problem = riemtr.dictionary_problem(da.from_array(sparse(), chunks=(6, 250)), 0.05)
    result = riemtr.PracticalTRM().solve(problem, rng=0)
    assert result.certificate.verdict == "minimizer"
    assert visits.count("_first_derivatives") <= result.counts.costs + 32  # the certificate's
    assert set(visits) == {"_survey", "_squares", "_first_derivatives"}


def test_large_blocks_are_visited_for_what_is_asked_for(visits, monkeypatch):
    monkeypatch.setattr(dictionary_learning, "_CHEAP_MATRIX", 0)
    here = riemtr.dictionary_problem(da.from_array(sparse(), chunks=(6, 250)), 0.05).cost.at(
        np.eye(6)[0]
    )
    assert here.value > 0
    assert here.gradient.shape == (6,)
    here.hessian(np.ones(6))
    here.hessian_matrix()
    here.hessian(np.ones(6))  # from the matrix
    here.hessian_matrix()
    assert visits == ["_survey", "_first_derivatives", "_hessian_product", "_hessian_matrix"]


@pytest.mark.parametrize("solver", [riemtr.PracticalTRM(), riemtr.ExactTRM(radius=0.2)])
def test_solvers_end_where_they_do_in_memory(solver):
    Y = sparse(n=4, p=600)
    start = point_and_vector(4)[0]
    found, expected = (
        solver.solve(riemtr.dictionary_problem(data, 0.1), start)
        for data in (da.from_array(Y, chunks=(4, 150)), Y)
    )
    assert found.converged
    assert found.certificate.verdict == "minimizer"
    np.testing.assert_allclose(found.point, expected.point, atol=1e-5)
    assert found.cost == pytest.approx(expected.cost, abs=1e-9)


def test_derivatives_pass_the_check():
    problem = riemtr.dictionary_problem(da.from_array(sparse(), chunks=(6, 400)), 0.5)
    assert riemtr.check_gradient(problem, rng=0).ok
    assert riemtr.check_hessian(problem, rng=0).ok


def test_float32_stays_float32():
    Y = sparse(dtype=np.float32)
    problem = riemtr.dictionary_problem(da.from_array(Y, chunks=(6, 400)), 0.1)
    assert problem.cost.dtype == np.float32
    result = riemtr.PracticalTRM().solve(problem, rng=0)
    assert result.point.dtype == np.float32
    assert result.converged
    assert np.abs(result.point).max() > 0.99


def test_easier_costs_are_as_smooth_as_in_memory():
    Y = sparse()
    cost = riemtr.dictionary_problem(da.from_array(Y, chunks=(6, 400)), 1e-2).cost
    assert cost.scale == pytest.approx(np.sqrt(np.mean(Y**2)), rel=1e-14)
    easier = [(each.mu, tolerance) for each, tolerance in cost.easier()]
    in_memory = riemtr.dictionary_problem(Y.astype(np.float32), 1e-2).cost
    expected = [(each.mu, tolerance) for each, tolerance in in_memory.easier()]
    np.testing.assert_allclose(easier, expected, rtol=1e-6)
    assert len(easier) > 2


def test_a_continuation_ends_near_the_last_parameter():
    assert list(smoothings(1.0, 0.05)) == [1.0, 0.3]
    assert list(smoothings(1.0, 0.1, factor=0.5)) == [1.0, 0.5, 0.25]
    assert list(smoothings(np.inf, 1e-2)) == list(smoothings(np.nan, 1e-2)) == []


def test_its_name_and_its_errors():
    problem = riemtr.dictionary_problem(da.from_array(sparse(), chunks=(6, 400)), 0.1)
    assert repr(problem.cost) == "PartitionedCost(n=6, p=900, mu=0.1)"
    with pytest.raises(ValueError, match="mu must be a positive finite number"):
        riemtr.dictionary_problem(da.zeros((2, 3)), mu=-1.0)
