"""The cost of all rows at once: derivatives, in memory and with Dask, and the preconditioner."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import dask.array as da
import numpy as np
import pytest

import riemtr
import riemtr.problems.joint_dictionary as joint_dictionary
from riemtr.data import BernoulliGaussian
from riemtr.data.blocks import Blocks
from riemtr.data.dask_arrays import partition
from riemtr.problems.joint_dictionary import (
    JointCost,
    full_problem,
    in_single_precision,
    orthogonal_problem,
)
from riemtr.problems.surrogates import Huber, LogCosh, Quartic
from riemtr.recovery import precondition
from riemtr.recovery.densities import Densities

N = 5


def whitened(n=N, p=800, theta=0.3, noise=0.1, seed=0):
    model = BernoulliGaussian(n=n, p=p, theta=theta, noise=noise)
    return precondition(model.draw(seed).observations).data


def near_rotation(seed=0, n=N):
    rng = np.random.default_rng(seed)
    point = np.linalg.qr(rng.standard_normal((n, n)))[0]
    point[:, 0] *= np.sign(np.linalg.det(point))
    return point


def likelihood(data):
    return Densities.fitted(near_rotation(n=len(data)).T @ data)


SURROGATES = {
    "log-cosh": lambda data: LogCosh(0.3),
    "l4": lambda data: Quartic(),
    "likelihood": likelihood,
}


@pytest.mark.parametrize("name", SURROGATES)
@pytest.mark.parametrize("problem_of", [orthogonal_problem, full_problem])
def test_derivatives_pass_the_check(name, problem_of):
    data = whitened()
    problem = problem_of(Blocks(data), SURROGATES[name](data))
    start = near_rotation()
    assert riemtr.check_gradient(problem, start, rng=0).ok
    assert riemtr.check_hessian(problem, start, rng=0).ok


@pytest.mark.parametrize("constrained", [True, False])
def test_the_value_is_its_definition(constrained):
    data, point = whitened(), near_rotation() @ np.diag([1.0, 2.0, 0.5, 1.0, 3.0])
    found = JointCost(Blocks(data), LogCosh(0.3), constrained).at(point).value
    size = np.abs(point.T @ data)
    value = size + 0.3 * np.log1p(np.exp(-2 * size / 0.3)) - 0.3 * np.log(2.0)
    expected = value.mean(axis=1).sum() - (0 if constrained else np.log(3.0))
    assert found == pytest.approx(expected, rel=1e-13)


def test_one_direction_is_the_cost_of_the_paper():
    data = whitened()
    q, v = near_rotation()[:, 0], near_rotation(1)[:, 0]
    here = JointCost(Blocks(data), LogCosh(0.1)).at(q)
    expected = riemtr.dictionary_problem(data, 0.1).cost.at(q)
    assert here.value == pytest.approx(expected.value, rel=1e-13)
    np.testing.assert_allclose(here.gradient, expected.gradient, atol=1e-14)
    np.testing.assert_allclose(here.hessian(v), expected.hessian(v), atol=1e-12)
    np.testing.assert_array_equal(here.precondition(v), v)


@pytest.mark.parametrize("constrained", [True, False])
def test_a_singular_point_costs_infinitely_much_without_the_constraint(constrained):
    point = near_rotation()
    point[:, 1] = point[:, 0]
    value = JointCost(Blocks(whitened()), LogCosh(0.1), constrained).at(point).value
    assert value == np.inf or constrained


# --- one algorithm for memory and Dask -----------------------------------------------------------


def versions(data, surrogate, constrained, monkeypatch):
    """The same point with bends that are kept, computed again, visited by threads, and by Dask."""
    point = near_rotation() + 0.05 * near_rotation(1)
    yield JointCost(Blocks(data), surrogate, constrained).at(point)
    with ThreadPoolExecutor(2) as pool:
        yield JointCost(Blocks(data, pool), surrogate, constrained).at(point)
    monkeypatch.setattr(joint_dictionary, "_KEPT_ENTRIES", 0)
    yield JointCost(Blocks(data), surrogate, constrained).at(point)
    parts = partition(da.from_array(data, chunks=(N, 300)))
    yield JointCost(parts, surrogate, constrained).at(point)


@pytest.mark.usefixtures("chunks_as_they_come")
@pytest.mark.parametrize("constrained", [True, False])
@pytest.mark.parametrize("surrogate", [LogCosh(0.05), Huber(0.2), Quartic()])
def test_kept_or_recomputed_in_memory_or_with_dask_it_is_the_same(
    surrogate, constrained, monkeypatch
):
    monkeypatch.setattr("riemtr.data.blocks._IN_CACHE", 1000)
    vector, found = near_rotation(2), versions(whitened(), surrogate, constrained, monkeypatch)
    first = next(found)
    for other in found:
        assert other.value == pytest.approx(first.value, rel=1e-13)
        for name in ("hessian", "precondition"):
            expected = getattr(first, name)(vector)
            atol = 1e-13 * np.abs(expected).max()
            np.testing.assert_allclose(getattr(other, name)(vector), expected, atol=atol)
        np.testing.assert_allclose(other.gradient, first.gradient, atol=1e-13)


@pytest.mark.usefixtures("chunks_as_they_come")
def test_dask_visits_the_blocks_once_for_a_point_and_once_for_a_product(visits):
    parts = partition(da.from_array(whitened(), chunks=(N, 300)))
    visits.clear()
    here = JointCost(parts, LogCosh(0.1)).at(near_rotation())
    assert here.value > 0
    assert here.gradient.shape == here.precondition(near_rotation(1)).shape == (N, N)
    assert len(visits) == 1
    here.hessian(near_rotation(1))
    assert len(visits) == 2


# --- the preconditioner --------------------------------------------------------------------------


def products(result):
    return result.counts.hessian_products


@pytest.mark.parametrize("constrained", [True, False])
@pytest.mark.parametrize("scale", [1.0, 3.0])
def test_the_preconditioner_is_symmetric_and_positive(constrained, scale):
    """In relative coordinates, which are those of the tangent space of rotations."""
    data = Blocks(whitened())
    point = near_rotation() * (1.0 if constrained else scale)
    here = JointCost(data, LogCosh(0.1), constrained).at(point)
    rng = np.random.default_rng(0)
    for _ in range(5):
        one, other = rng.standard_normal((2, N, N))
        if constrained:
            one, other = one - one.T, other - other.T
        left, right = (np.vdot(a, here.precondition(b)) for a, b in ((one, other), (other, one)))
        assert left == pytest.approx(right, rel=1e-10)
        assert np.vdot(one, here.precondition(one)) > 0.0


def test_at_independent_rows_it_is_nearly_the_inverse_of_the_hessian():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, 60_000)) * (rng.random((N, 60_000)) < 0.3)
    X += 0.3 * rng.standard_normal(X.shape)
    cost = JointCost(Blocks(X), Densities.fitted(X), constrained=False)
    start = np.eye(N)
    point = (
        riemtr.TrustRegion(tolerance=1e-6)
        .solve(riemtr.Problem(riemtr.Euclidean(N, N), cost), start, rng=0)
        .point
    )
    here = cost.at(point)
    for seed in range(3):
        vector = np.random.default_rng(seed).standard_normal((N, N))
        back = here.precondition(here.hessian(vector))
        assert np.linalg.norm(back - vector) < 0.1 * np.linalg.norm(vector)


@pytest.mark.parametrize("problem_of", [orthogonal_problem, full_problem])
def test_with_it_fewer_products_lead_to_the_same_point(problem_of, monkeypatch):
    rng, theta = np.random.default_rng(0), np.linspace(0.02, 0.6, 12)[:, None]
    X = rng.standard_normal((12, 4000)) * (rng.random((12, 4000)) < theta)
    data, start = Blocks(precondition(near_rotation(n=12) @ X).data), near_rotation(1, n=12)
    solver = riemtr.TrustRegion(tolerance=1e-6, goal="first-order", max_iterations=500)
    near = solver.solve(problem_of(data, LogCosh(1.0)), start, rng=0).point
    with_it = solver.solve(problem_of(data, LogCosh(0.2)), near, rng=0)
    monkeypatch.setattr(joint_dictionary.JointPoint, "precondition", lambda self, vector: vector)
    without = solver.solve(problem_of(data, LogCosh(0.2)), near, rng=0)
    assert with_it.converged
    assert without.converged
    assert with_it.cost == pytest.approx(without.cost, abs=1e-9)
    assert products(with_it) < products(without)


# --- types and continuation ----------------------------------------------------------------------


@pytest.mark.parametrize("constrained", [True, False])
def test_single_precision_stays_single_and_agrees_with_double(constrained):
    data, point, vector = whitened(), near_rotation(), near_rotation(1)
    wide = JointCost(Blocks(data), LogCosh(0.1), constrained).at(point)
    cost = JointCost(Blocks(data.astype(np.float32)), LogCosh(0.1), constrained)
    narrow = cost.at(point.astype(np.float32))
    assert cost.dtype == np.float32
    assert narrow.value == pytest.approx(wide.value, rel=1e-5)
    for name in ("hessian", "precondition"):
        found = getattr(narrow, name)(vector.astype(np.float32))
        assert found.dtype == np.float32
        expected = getattr(wide, name)(vector)
        np.testing.assert_allclose(found, expected, atol=1e-4 * np.abs(expected).max())
    assert narrow.gradient.dtype == np.float32
    np.testing.assert_allclose(narrow.gradient, wide.gradient, atol=1e-5)


def test_easier_costs_are_smoother_first_and_those_of_l4_none(monkeypatch):
    data = Blocks(whitened())
    easier = [cost.surrogate.mu for cost, _ in JointCost(data, LogCosh(1e-2)).easier()]
    assert easier == sorted(easier, reverse=True)
    assert len(easier) > 2
    assert list(JointCost(data, Quartic()).easier()) == []
    assert in_single_precision(data).dtype == np.float32
    monkeypatch.setattr(joint_dictionary, "_NARROW_ENTRIES", 10)
    assert in_single_precision(data) is data


@pytest.mark.parametrize("surrogate", [LogCosh(0.05), Quartic()])
def test_the_minimizer_over_rotations_is_the_dictionary(surrogate):
    model = BernoulliGaussian(n=8, p=6000, theta=0.2)
    sample = model.draw(0)
    white = precondition(sample.observations)
    problem = orthogonal_problem(Blocks(white.data), surrogate)
    result = riemtr.PracticalTRM().solve(problem, rng=0)
    assert result.certificate.verdict == "minimizer"
    rows = np.linalg.inv(white.matrix @ sample.dictionary)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    cosines = np.abs(rows @ result.point)
    assert sorted(cosines.argmax(axis=1)) == list(range(8))
    assert cosines.max(axis=1).min() > 0.99
