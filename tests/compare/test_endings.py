"""What solvers of all kinds did, in one form."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import riemtr
from riemtr.compare.entrants import Demands
from riemtr.compare.measuring import Task, WatchedProblem, from_result, run_solver
from riemtr.compare.starts import random_starts
from riemtr.interop.pymanopt import PymanoptSolver
from riemtr.solvers import Status
from riemtr.solvers.stopping import MaxSeconds, Reason


@pytest.fixture
def task():
    case = riemtr.problems.build("rayleigh", rng=0, n=6)
    start = random_starts(case.problem, 1, seed=0)[0]
    return Task("rayleigh", case, 0, start, (0,), (1e-2, 1e-6), Demands(1e-6, 1e-6, 1.0))


def ending(task, solver):
    return run_solver(solver, WatchedProblem(task.case.problem), task)


def test_no_solver_can_spoil_the_start_of_the_next(task):
    before = task.start.point.copy()

    class Spoiling:
        def solve(self, problem, start):
            start[:] = np.eye(6)[0]
            return SimpleNamespace(point=start, converged=True)

    assert ending(task, Spoiling()).claimed
    np.testing.assert_array_equal(task.start.point, before)


def test_solvers_are_passed_what_they_take(task):
    given = {}

    class Random:
        def solve(self, problem, start, rng):
            given["drawn"] = rng.random()
            return SimpleNamespace(point=start)

    class Limited:
        def solve(self, problem, start, *, stop):
            given["stop"] = stop
            return SimpleNamespace(point=start)

    for solver in (Random(), Limited()):
        ending(task, solver)
    assert given == {"drawn": np.random.default_rng(task.seed).random(), "stop": MaxSeconds(1.0)}


def test_whatever_has_a_point_will_do(task):
    class Mine:
        def solve(self, problem, start):
            _ = problem.at(start).gradient
            return SimpleNamespace(point=start, success=True, stopping_criterion="tired")

    found = ending(task, Mine())
    assert (found.status, found.claimed, found.iterations) == ("tired", True, None)
    assert (found.counts.gradients, len(found.rows)) == (1, 1)


def test_what_has_none_is_refused(task):
    for nothing in (3, None, [1.0], (task.start.point, 1e-9)):
        with pytest.raises(TypeError, match="or the point itself; it returned "):
            ending(task, SimpleNamespace(solve=lambda problem, start, found=nothing: found))


def test_a_point_alone_will_do(task):
    class Mine:
        def solve(self, problem, start):
            return problem.manifold.retraction(start, -0.1 * problem.at(start).gradient)

    found = ending(task, Mine())
    assert (found.status, found.claimed, found.iterations) == ("ended", False, None)
    assert (found.counts.gradients, len(found.rows)) == (1, 1)
    assert task.case.problem.at(found.point).cost < task.case.problem.at(task.start.point).cost


def test_those_that_look_at_no_curvature_claim_what_is_undecided(task):
    solver = PymanoptSolver.__new__(PymanoptSolver)
    result = riemtr.PracticalTRM().solve(task.case.problem, task.start.point, rng=0)
    undecided = replace(result, reason=Reason(Status.UNRESOLVED))
    assert not from_result(undecided).claimed  # ours knows that it does not know
    assert from_result(replace(undecided, solver=solver)).claimed


def test_an_interrupted_run_is_an_interrupt(task):
    result = riemtr.PracticalTRM().solve(task.case.problem, task.start.point, rng=0)
    with pytest.raises(KeyboardInterrupt):
        from_result(replace(result, reason=Reason(Status.INTERRUPTED)))
