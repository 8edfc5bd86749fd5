"""One run, measured: whose clock and counters are believed, and what being late means."""

from __future__ import annotations

from contextlib import contextmanager
from types import SimpleNamespace

import pytest

import riemtr
from riemtr.compare import measuring
from riemtr.compare.entrants import Demands, as_entrants, entrant
from riemtr.compare.measuring import measure, warm_up
from riemtr.compare.starts import random_starts
from riemtr.compare.task import Task
from riemtr.solvers import Status


@pytest.fixture
def task():
    case = riemtr.problems.build("rayleigh", rng=0, n=6)
    start = random_starts(case.problem, 1, seed=0)[0]
    return Task("rayleigh", case, 0, start, (0,), (1e-2, 1e-6), Demands(1e-6, 1e-6, 1.0))


@pytest.fixture
def clock(monkeypatch):
    """A clock that solvers move: ``clock.now``."""
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr("time.perf_counter", lambda: clock.now)
    return clock


def run_of(task, solver):
    return measure(task, as_entrants({"mine": solver})[0])


class Solver:
    """Whatever a function of problem and start does."""

    def __init__(self, solve):
        self._solve = solve

    def solve(self, problem, start):
        return self._solve(problem, start)


def solved(problem, start):
    return riemtr.PracticalTRM(tolerance=1e-9).solve(problem, start, rng=0)


def test_a_result_that_a_users_solver_returns_does_not_set_the_clock(task, clock):
    def three_times(problem, start):
        for _ in range(3):
            clock.now += 0.2
            result = solved(problem, start)
        return result

    run = run_of(task, Solver(three_times))
    once = solved(task.case.problem, task.start.point)
    assert run.certified
    assert run.seconds == pytest.approx(0.6)
    assert run.counts == {name: 3 * count for name, count in once.counts.as_dict().items()}
    assert run.reached[-1].counts["gradients"] > 2 * once.counts.gradients


def test_not_even_where_it_is_a_kind_of_ours(task, clock):
    class Twice(riemtr.TrustRegion):
        def solve(self, problem, start, **options):
            clock.now += 0.5
            super().solve(problem, start, **options)
            return super().solve(problem, start, **options)

    once = riemtr.PracticalTRM()
    run = run_of(task, Twice(once.subproblem, once.radius, once.acceptance))
    assert run.seconds == pytest.approx(0.5)
    plain = once.solve(task.case.problem, task.start.point)
    assert run.counts["gradients"] == 2 * plain.counts.gradients


def test_easier_versions_count_too():
    case = riemtr.problems.build("dictionary-learning", rng=0, n=5, p=500)
    start = random_starts(case.problem, 1, seed=0)[0]
    task = Task("d", case, 0, start, (0,), (1e-2,), Demands(1e-2, 1e-2, 60.0))
    run = run_of(task, Solver(solved))
    assert run.counts == solved(case.problem, start.point).counts.as_dict()
    assert run.trajectory["cost"][0] == case.problem.at(start.point).cost


def test_who_is_late_is_out_of_time_wherever_it_ended(task, clock):
    def late(problem, start):
        result = solved(problem, start)
        clock.now += 1.5
        return SimpleNamespace(point=result.point, converged=True)

    run = run_of(task, Solver(late))
    assert (run.outcome, run.verdict) == ("timed out", "minimizer")
    assert not run.certified
    # The gradient was small in time, all the same.
    assert [reach.tolerance for reach in run.reached] == [1e-2, 1e-6]


def test_what_is_reached_too_late_is_not_reached(task, clock):
    def slow(problem, start):
        clock.now += 1.5
        return SimpleNamespace(point=solved(problem, start).point, converged=True)

    assert run_of(task, Solver(slow)).reached == ()


def test_the_last_point_counts_although_nobody_asked_for_its_gradient(task, clock):
    def blind(problem, start):
        _ = problem.at(start).gradient
        found = solved(task.case.problem, start)  # which nobody watches
        clock.now += 0.25
        return SimpleNamespace(point=found.point, converged=True)

    run = run_of(task, Solver(blind))
    assert [reach.tolerance for reach in run.reached] == [1e-2, 1e-6]
    assert run.reached[-1].seconds == pytest.approx(0.25)
    assert run.reached[-1].oracles == run.oracles == 1


def test_the_alarm_is_set_to_twice_the_time_and_a_second(task, monkeypatch):
    asked = []

    @contextmanager
    def noting(seconds):
        asked.append(seconds)
        yield

    monkeypatch.setattr(measuring, "deadline", noting)
    run_of(task, "practical")
    assert asked == [3.0]


def test_named_solvers_are_warmed_up_and_users_are_not(monkeypatch):
    solved_by = []

    def noting(self, problem, start=None, **options):
        solved_by.append(problem.manifold.dim)
        raise RuntimeError("is the runs' to show")

    monkeypatch.setattr(riemtr.TrustRegion, "solve", noting)
    mine = as_entrants({"mine": Solver(lambda problem, start: solved_by.append("mine"))})
    warm_up([*mine, entrant("practical"), entrant("exact")])
    assert solved_by == [2, 2]


def test_ctrl_c_while_warming_up_is_noticed(monkeypatch):
    interrupted = SimpleNamespace(status=Status.INTERRUPTED)
    monkeypatch.setattr(riemtr.TrustRegion, "solve", lambda *given, **options: interrupted)
    with pytest.raises(KeyboardInterrupt):
        warm_up([entrant("practical")])
