import copy
from types import SimpleNamespace

import numpy as np
import pytest

import riemtr
from riemtr.compare.measuring import WatchedProblem
from riemtr.interop.pymanopt import to_pymanopt
from riemtr.problem import Counts


def problem():
    return riemtr.problems.build("rayleigh", rng=0, n=4).problem


def test_everything_is_counted_whoever_asks():
    watched = WatchedProblem(problem())
    a, b = np.eye(4)[:2]
    here = watched.at(a)
    _ = here.cost, here.gradient, here.gradient
    mine = Counts()
    there = watched.at(b, mine)
    _ = there.gradient, there.hessian(a)
    theirs = to_pymanopt(watched)
    theirs.cost(a)
    theirs.riemannian_gradient(a)
    assert watched.counts == Counts(costs=2, gradients=3, hessian_products=1)
    assert mine == Counts(gradients=1, hessian_products=1)


def test_differences_count_as_the_gradients_they_are():
    original = riemtr.Problem(
        riemtr.Sphere(4), lambda x: x[0] ** 2, riemannian_gradient=lambda x: 0.0 * x
    )
    watched = WatchedProblem(original)
    mine = Counts()
    watched.at(np.eye(4)[0], mine).hessian(np.eye(4)[1])
    assert watched.counts == Counts(gradients=2)
    assert mine == Counts(gradients=2, hessian_products=1)


def test_notes_are_of_points_whose_gradient_was_asked_for():
    original = problem()
    watched = WatchedProblem(original)
    points = np.eye(4)
    _ = watched.at(points[0]).gradient
    _ = watched.at(points[1]).cost  # a trial point
    _ = watched.at(points[2]).gradient
    watched.note()
    watched.note()  # only once
    norms = [row[2] for row in watched.rows]
    assert norms == [original.at(points[0]).gradient_norm, original.at(points[2]).gradient_norm]
    assert [row[3].gradients for row in watched.rows] == [1, 2]
    assert [row[3].costs for row in watched.rows] == [0, 1]


@pytest.fixture
def clock(monkeypatch):
    """A clock that costs and counters move: ``clock.now``."""
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr("time.perf_counter", lambda: clock.now)
    return clock


def test_a_row_is_of_the_moment_the_gradient_is_known(clock):
    watched = WatchedProblem(problem())
    here = watched.at(np.eye(4)[1])
    clock.now = 1.0
    _ = here.gradient
    clock.now = 7.0  # for the curvature
    here.hessian(np.eye(4)[0])
    watched.note()
    (row,) = watched.rows
    assert (row[0], row[3]) == (1.0, Counts(gradients=1))
    assert watched.counts == Counts(gradients=1, hessian_products=1)
    assert watched.watch.seconds == 7.0


def test_notes_are_off_the_clock(clock, monkeypatch):
    def slow_snapshot(counts):
        clock.now += 5.0
        return copy.copy(counts)

    monkeypatch.setattr(Counts, "snapshot", slow_snapshot)
    watched = WatchedProblem(problem())
    here = watched.at(np.eye(4)[1])
    clock.now = 1.0
    _ = here.gradient
    watched.note()
    assert clock.now == 6.0
    assert watched.watch.seconds == 1.0
    assert watched.rows[0][0] == 1.0


def test_easier_versions_are_counted_but_not_noted():
    watched = WatchedProblem(riemtr.problems.build("dictionary-learning", rng=0, n=4).problem)
    easier, _ = next(watched.easier())
    _ = easier.at(np.eye(4)[0]).gradient
    watched.note()
    assert watched.counts == Counts(gradients=1)
    assert watched.rows == []


def test_a_solver_finds_the_same_on_it():
    original = problem()
    expected = riemtr.PracticalTRM().solve(original, rng=0)
    found = riemtr.PracticalTRM().solve(WatchedProblem(original), rng=0)
    np.testing.assert_array_equal(found.point, expected.point)
    assert found.counts == expected.counts


def test_points_of_finite_differences_are_not_visited():
    matrix = np.diag(np.arange(1.0, 9.0))
    differences = riemtr.Problem(
        riemtr.Sphere(8),
        lambda x: x @ matrix @ x,
        riemannian_gradient=lambda x: 2 * (matrix @ x - (x @ matrix @ x) * x),
    )
    watched = WatchedProblem(differences)
    result = riemtr.PracticalTRM().solve(watched, rng=0)
    watched.note()
    assert result.counts.hessian_products > 0
    assert len(watched.rows) <= result.iterations + 1
    assert all(np.isfinite(row[1]) for row in watched.rows)


def test_what_is_asked_of_the_cost_itself_is_counted_and_nothing_twice():
    watched = WatchedProblem(riemtr.problems.build("dictionary-learning", rng=0, n=4).problem)
    point = np.eye(4)[0]
    here = watched.cost.at(point)
    _ = here.value, here.value, here.gradient, here.hessian(point), here.hessian_matrix()
    easier, _ = next(iter(watched.cost.easier()))
    _ = easier.at(point).value
    expected = Counts(costs=2, gradients=1, hessian_products=1, hessian_matrices=1)
    assert watched.counts == expected
    assert watched.cost.mu == watched.cost.watched.mu
    assert not hasattr(WatchedProblem(problem()).cost.at(point), "hessian_matrix")
    _ = watched.at(point).problem.cost.at(point).value
    assert watched.counts.costs == 3
    there = watched.at(point)
    _ = there.cost, there.gradient, there.hessian_matrix()
    assert watched.counts == Counts(costs=4, gradients=2, hessian_products=1, hessian_matrices=2)


def test_a_watched_cost_can_be_copied():
    watched = WatchedProblem(problem())
    copied = copy.deepcopy(watched.cost)
    assert copied.at(np.eye(4)[0]).value == watched.cost.at(np.eye(4)[0]).value


def test_rough_matrices_asked_of_the_cost_itself_count():
    watched = WatchedProblem(riemtr.problems.build("dictionary-learning", rng=0, n=4, p=50).problem)
    q = watched.manifold.random_point(0)
    watched.cost.at(q).hessian_matrix(accuracy=1e-5)
    assert watched.counts == Counts(hessian_matrices=1)
