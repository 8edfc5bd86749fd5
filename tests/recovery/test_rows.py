"""One row: what the solver says is kept, and exact rows are told from mixtures."""

from types import SimpleNamespace

import numpy as np
import pytest

from riemtr.data import BernoulliGaussian, Conditioned, Identity, Orthogonal
from riemtr.recovery.deflation import Deflation
from riemtr.recovery.rounding import round_direction
from riemtr.recovery.rows import (
    Inspector,
    as_rounding,
    default_solver,
    lifted,
    round_against,
    solve_deflated,
)
from riemtr.solvers import Status

SEED = np.random.SeedSequence(0)


def test_a_solve_on_the_complement_is_lifted_to_a_row_of_the_truth():
    sample = BernoulliGaussian(n=8, p=3000, theta=0.2, dictionary=Identity()).draw(0)
    deflation = Deflation(sample.observations)
    deflation.set_aside(np.eye(8)[3])
    solver = default_solver(float(np.sqrt(np.mean(sample.observations**2))), 1e-2)
    record = solve_deflated(deflation.complement, 1e-2, solver, SEED)
    found = lifted(record, deflation)
    assert found.converged
    assert (found.dimension, found.direction.shape) == (7, (8,))
    assert abs(found.direction[3]) < 1e-14
    assert np.abs(found.direction).max() > 0.999
    again = solve_deflated(deflation.complement, 1e-2, solver, SEED)
    np.testing.assert_array_equal(again["point"], record["point"])


def test_in_dimension_one_nothing_is_solved():
    y = np.array([[3.0, 0.0, -1.0]])
    record = solve_deflated(y, 1e-2, None, SEED)
    assert record["point"] == 1.0
    assert record["converged"]
    assert record["cost"] == pytest.approx(4.0 / 3.0, abs=1e-2)  # |y| but for the smoothing


def test_solvers_of_others_need_say_no_more_than_point_cost_and_converged():
    result = SimpleNamespace(point=np.array([3.0, 4.0]), cost=1.0, converged=False)
    solver = SimpleNamespace(solve=lambda problem, start, rng: result)
    record = solve_deflated(np.ones((2, 5)), 1e-2, solver, SEED)
    np.testing.assert_allclose(record["point"], [0.6, 0.8])
    assert np.isnan(record["gradient_norm"])
    result.status = Status.INTERRUPTED
    with pytest.raises(KeyboardInterrupt):
        solve_deflated(np.ones((2, 5)), 1e-2, solver, SEED)


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
        solve_deflated(np.ones((2, 5)), 1e-2, Careless(), SEED)


def test_a_rounding_survives_as_a_record():
    Y = np.random.default_rng(0).standard_normal((4, 200))
    expected = round_direction(Y, np.ones(4))
    found = as_rounding(round_against(Deflation(Y), np.ones(4)))
    np.testing.assert_array_equal(found.solution, expected.solution)
    assert found.duality_gap == expected.duality_gap
    assert found.dual.size == 0


@pytest.mark.parametrize("dictionary", [Orthogonal(), Conditioned(100.0)])
def test_mixtures_are_not_exact_however_many_zeros_they_have(dictionary):
    sample = BernoulliGaussian(n=8, p=1500, theta=0.2, dictionary=dictionary).draw(0)
    inspector = Inspector(Deflation(sample.observations), np.eye(8), np.eye(8))
    rows, X = np.linalg.inv(sample.dictionary), sample.coefficients
    both = np.flatnonzero(X[0] * X[1])[0]
    mixture = X[1, both] * rows[0] - X[0, both] * rows[1]  # vanishes on that sample as well
    for direction, expected in ((rows[0], True), (rows[5], True), (mixture, False)):
        seen = inspector.inspect(direction / np.linalg.norm(direction))
        assert seen.zeros > 600
        assert seen.exact is expected
        assert seen.forced == (0 if expected else 1)


def test_a_mixture_of_all_rows_but_one_is_forced_in_all_directions_but_one():
    sample = BernoulliGaussian(n=6, p=800, theta=0.2).draw(0)
    same = np.eye(len(sample.observations))
    inspector = Inspector(Deflation(sample.observations), same, same)
    rows, X = np.linalg.inv(sample.dictionary), sample.coefficients
    chosen = np.flatnonzero(X[:5].all(axis=0) | (np.count_nonzero(X[:5], axis=0) == 4))[:4]
    weights = np.linalg.svd(X[:5, chosen].T)[2][-1]  # the mixture vanishes on these four
    direction = weights @ rows[:5]
    seen = inspector.inspect(direction / np.linalg.norm(direction))
    assert seen.zeros > 50
    assert (seen.exact, seen.forced) == (False, 4)


def test_one_sample_of_few_does_not_make_a_mixture_exact():
    sample = BernoulliGaussian(n=12, p=144, theta=0.1).draw(3)
    same = np.eye(len(sample.observations))
    inspector = Inspector(Deflation(sample.observations), same, same)
    rows, X = np.linalg.inv(sample.dictionary), sample.coefficients
    both = np.flatnonzero(X[0] * X[1])[0]
    for direction, expected in (
        (rows[0], True),
        (X[1, both] * rows[0] - X[0, both] * rows[1], False),
    ):
        assert inspector.inspect(direction / np.linalg.norm(direction)).exact is expected


@pytest.mark.parametrize("times", [2, 5])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_samples_that_come_several_times_make_no_vertex_exact(times, dtype):
    Y = np.random.default_rng(0).standard_normal((5, 200))
    vertex = round_direction(Y, np.ones(5)).direction
    deflation = Deflation(np.hstack([Y] * times).astype(dtype))
    deflation.set_aside(np.full(5, 5**-0.5))
    seen = Inspector(deflation, np.eye(5), np.eye(5)).inspect(vertex)
    assert (seen.zeros, seen.forced, seen.exact) == (4 * times, 4, False)


def test_rows_of_signs_are_exact_though_samples_repeat():
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (5, 500)) * (rng.random((5, 500)) < 0.3)
    inspector = Inspector(Deflation(X), np.eye(5), np.eye(5))
    assert all(inspector.inspect(q).exact for q in np.eye(5))
