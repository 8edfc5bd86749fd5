"""Solving: what the solver says is kept, for one row or for all of them at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest

from riemtr.data import BernoulliGaussian, Identity, Orthogonal
from riemtr.data.blocks import Blocks
from riemtr.problems.surrogates import Huber, LogCosh, Quartic
from riemtr.recovery.deflation import Deflation
from riemtr.recovery.solving import (
    default_solver,
    freed,
    solve_deflated,
    solve_jointly,
    solves_of,
)
from riemtr.recovery.whitening import precondition
from riemtr.solvers import Status

SEED = np.random.SeedSequence(0)


def narrow(Y):
    """Whitened data in single precision."""
    return Blocks(precondition(Y).data.astype(np.float32))


def targets(sample):
    """Unit directions of the true rows in whitened coordinates, as columns."""
    rows = np.linalg.inv(precondition(sample.observations).matrix @ sample.dictionary)
    return rows.T / np.linalg.norm(rows, axis=1)


def test_a_solve_on_the_complement_is_lifted_to_a_row_of_the_truth():
    sample = BernoulliGaussian(n=8, p=3000, theta=0.2, dictionary=Identity()).draw(0)
    deflation = Deflation(sample.observations)
    deflation.set_aside(np.eye(8)[3])
    solver = default_solver(float(np.sqrt(np.mean(sample.observations**2))), 1e-2)
    record = solve_deflated(deflation.complement, LogCosh(1e-2), solver, SEED)
    [found] = solves_of(record, deflation.lift(record["points"]))
    assert found.converged
    assert (found.dimension, found.direction.shape) == (7, (8,))
    assert abs(found.direction[3]) < 1e-14
    assert np.abs(found.direction).max() > 0.999
    again = solve_deflated(deflation.complement, LogCosh(1e-2), solver, SEED)
    np.testing.assert_array_equal(again["points"], record["points"])


@pytest.mark.parametrize("surrogate", [Huber(0.05), Quartic()])
def test_any_surrogate_leads_to_a_row(surrogate):
    sample = BernoulliGaussian(n=6, p=4000, theta=0.2, dictionary=Identity()).draw(0)
    data = precondition(sample.observations).data
    record = solve_deflated(data, surrogate, default_solver(1.0, 0.05), SEED)
    cosines = np.abs(targets(sample).T @ record["points"][:, 0])
    assert cosines.max() > 0.99
    rows = record["points"].T @ data
    assert record["costs"][0] == pytest.approx(surrogate.derivatives(rows)[0].mean(), rel=1e-9)


def test_in_dimension_one_nothing_is_solved():
    y = np.array([[3.0, 0.0, -1.0]])
    record = solve_deflated(y, LogCosh(1e-2), None, SEED)
    np.testing.assert_array_equal(record["points"], [[1.0]])
    assert record["converged"]
    assert record["costs"][0] == pytest.approx(4.0 / 3.0, abs=1e-2)  # |y| but for the smoothing
    other = solve_deflated(y, Huber(1e-2), None, SEED)
    assert other["costs"][0] == pytest.approx(4.0 / 3.0, abs=1e-2)


def test_solvers_of_others_need_say_no_more_than_point_cost_and_converged():
    result = SimpleNamespace(point=np.array([3.0, 4.0]), cost=1.0, converged=False)
    solver = SimpleNamespace(solve=lambda problem, start, rng: result)
    record = solve_deflated(np.ones((2, 5)), LogCosh(1e-2), solver, SEED)
    np.testing.assert_allclose(record["points"], [[0.6], [0.8]])
    assert np.isnan(record["gradient_norm"])
    [solve] = solves_of(record, record["points"])
    assert not solve.converged
    assert solve.cost == 1.0
    result.status = Status.INTERRUPTED
    with pytest.raises(KeyboardInterrupt):
        solve_deflated(np.ones((2, 5)), LogCosh(1e-2), solver, SEED)


@pytest.mark.parametrize(
    ("point", "got"),
    [
        (np.full(2, np.nan), "norm nan"),
        (np.zeros(2), "norm 0.0"),
        (np.ones(3), r"shape \(3,\)"),
        (None, r"shape \(\)"),
    ],
)
def test_a_point_that_is_no_direction_is_refused_in_the_name_of_its_solver(point, got):
    class Careless:
        def solve(self, problem, start, rng=None):
            return SimpleNamespace(point=point, cost=0.0, converged=True)

    with pytest.raises(ValueError, match=rf"solver must return .*Careless.* {got}"):
        solve_deflated(np.ones((2, 5)), LogCosh(1e-2), Careless(), SEED)


# --- all rows at once ----------------------------------------------------------------------------


@pytest.mark.parametrize("surrogate", [LogCosh(1e-2), Huber(1e-2), Quartic()])
@pytest.mark.parametrize("n", [2, 12])
def test_all_rows_at_once_are_those_of_the_truth_and_orthonormal(surrogate, n):
    sample = BernoulliGaussian(n=n, p=6000, theta=0.2, dictionary=Orthogonal()).draw(0)
    record = solve_jointly(narrow(sample.observations), surrogate, SEED)
    points = record["points"]
    np.testing.assert_allclose(points.T @ points, np.eye(n), atol=1e-5)
    assert record["converged"]
    assert len(record["costs"]) == n
    cosines = np.abs(targets(sample).T @ points)
    assert cosines.max(axis=1).min() > 0.99
    assert sorted(cosines.argmax(axis=1)) == list(range(n))


def test_the_joint_solve_is_the_same_from_the_same_seed_with_any_number_of_threads():
    data = narrow(BernoulliGaussian(n=10, p=60_000, theta=0.2).draw(0).observations)
    assert len(data.slices) > 1
    one = solve_jointly(data, LogCosh(1e-2), SEED)
    with ThreadPoolExecutor(2) as pool:
        other = solve_jointly(Blocks(data.array, pool), LogCosh(1e-2), SEED)
    np.testing.assert_array_equal(one["points"], other["points"])


def test_rows_that_are_free_are_nearer_to_the_truth_than_orthogonal_ones():
    sample = BernoulliGaussian(n=10, p=1500, theta=0.2).draw(0)
    data, wanted = narrow(sample.observations), targets(sample)
    record = solve_jointly(data, LogCosh(1e-2), SEED)
    found = freed(data, record["points"], 500)
    np.testing.assert_allclose(np.linalg.norm(found, axis=0), 1.0, rtol=1e-12)

    def sines(directions):
        cosines = np.abs(wanted.T @ directions).max(axis=0)
        return np.sqrt(np.maximum(1.0 - cosines**2, 0.0))

    assert np.median(sines(found)) < 0.3 * np.median(sines(record["points"]))
    assert sines(found).max() < 0.03
