import os
import re
import shlex
import signal
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest

import riemtr
from riemtr.compare import compare, entrant, load, runner
from riemtr.compare.records import COUNTS, Run
from riemtr.compare.runner import _median
from riemtr.compare.starts import random_starts, saddle_starts
from tests.compare.solvers_of_mine import (
    Elsewhere,
    Failing,
    GradientDescent,
    Hanging,
    Interrupted,
    Nonsense,
    NotMade,
)

RAYLEIGH = ("rayleigh", {"n": 8})
FIRST_ORDER = ["pymanopt-cg", "l-bfgs-b"]
SWARM = entrant("pymanopt-pso", max_iterations=5)


def only(found, **wanted):
    """The runs with these attributes."""
    return [r for r in found.runs if all(getattr(r, k) == v for k, v in wanted.items())]


@pytest.fixture(scope="module")
def small():
    problems = [RAYLEIGH, ("dictionary-learning", {"n": 5, "p": 500}), ("brockett", {"n": 4})]
    solvers = ["exact", "practical", "pymanopt-tr", *FIRST_ORDER]
    return compare(problems, solvers, starts=2, saddles=2)


def test_ours_are_certified_on_all(small):
    for name in ("exact", "practical"):
        assert len(only(small, solver=name)) == 12
        assert all(run.certified and run.claimed for run in only(small, solver=name))


def test_first_order_methods_call_saddle_points_converged(small):
    for name in FIRST_ORDER:
        for run in only(small, solver=name, kind="saddle"):
            assert run.claimed
            assert run.deceived
            assert run.verdict in ("saddle", "maximizer")
            assert run.min_eigenvalue < 0
            assert run.gradient_norm < 1e-12
    assert all(run.certified for run in only(small, solver="l-bfgs-b", kind="random"))


def test_all_start_at_the_same_points(small):
    for label in small.problems:
        for number in range(4):
            runs = only(small, problem=label, start=number)
            for what in ("cost", "gradient_norm"):
                first = [run.trajectory[what][0] for run in runs]
                assert np.ptp(first) < 1e-15  # but for the rounding of normalization
    problem = riemtr.problems.build("rayleigh", rng=0, n=8).problem
    starts = random_starts(problem, 2, seed=0) + saddle_starts(problem, 2, rng=0)
    for number, start in enumerate(starts):
        run = only(small, problem="rayleigh:n=8", start=number)[0]
        assert run.kind == start.kind
        assert run.trajectory["cost"][0] == pytest.approx(problem.at(start.point).cost, abs=1e-15)


def test_reaching_a_tolerance_is_read_off_the_solvers_own_history(small):
    case = riemtr.problems.build("rayleigh", rng=0, n=8)
    start = random_starts(case.problem, 1, seed=0)[0].point
    counts = []  # those of the last row as they were before the decision to stop
    result = riemtr.PracticalTRM(tolerance=1e-6, curvature_tolerance=1e-6).solve(
        case.problem, start, observers=lambda iteration: counts.append(iteration.counts.as_dict())
    )
    run = only(small, problem="rayleigh:n=8", solver="practical", start=0)[0]
    assert run.iterations == result.iterations
    assert run.counts == result.counts.as_dict()
    assert [reach.tolerance for reach in run.reached] == [1e-2, 1e-4, 1e-6]
    for reach in run.reached:
        row = np.flatnonzero(result.history["gradient_norm"] > reach.tolerance)[-1] + 1
        assert reach.counts == counts[row]
        assert reach.oracles == sum(reach.counts.values())
    assert [reach.seconds for reach in run.reached] == sorted(r.seconds for r in run.reached)
    assert run.reached[-1].seconds <= run.seconds


def test_leaving_a_saddle_point_is_not_reaching_anything_there(small):
    for run in only(small, solver="practical", kind="saddle"):
        assert run.trajectory["gradient_norm"][0] < 1e-12
        assert all(reach.oracles > 2 for reach in run.reached)
    for run in only(small, solver="l-bfgs-b", kind="saddle"):
        assert [reach.oracles for reach in run.reached] == [2, 2, 2]


def test_easier_costs_of_a_continuation_are_not_on_record(small):
    case = riemtr.problems.build("dictionary-learning", rng=0, n=5, p=500)
    run = only(small, problem="dictionary-learning:n=5:p=500", solver="practical", start=0)[0]
    start = case.problem.at(random_starts(case.problem, 1, seed=0)[0].point)
    assert run.trajectory["cost"][0] == start.cost
    assert run.trajectory["oracles"][0] == 0
    assert run.trajectory["oracles"][1] > 2  # the warm-up
    assert run.trajectory["cost"][-1] == run.cost < start.cost


def test_a_hessian_matrix_counts_as_its_dimension(small):
    run = only(small, problem="dictionary-learning:n=5:p=500", solver="exact", start=0)[0]
    counts = run.counts
    assert counts["hessian_matrices"] > 0
    expected = counts["costs"] + counts["gradients"] + counts["hessian_products"]
    assert run.oracles == expected + 4 * counts["hessian_matrices"]


def test_the_truth_is_compared_with(small):
    case = riemtr.problems.build("rayleigh", rng=0, n=8)
    for run in only(small, problem="rayleigh:n=8"):
        assert run.success == run.certified
        assert (run.distance < 1e-4) == run.certified
        assert run.certified == (abs(run.cost - case.truth.cost) < 1e-9)
    for run in only(small, problem="dictionary-learning:n=5:p=500"):
        assert run.success == (run.distance <= 1e-2)


def test_settings_say_what_was_done(small):
    settings = small.settings
    assert settings["problems"]["brockett:n=4"]["dimension"] == 6
    assert settings["problems"]["rayleigh:n=8"]["largest_gradient_norm_at_saddles"] < 1e-14
    assert "rayleigh:n=8, brockett:n=4: " in settings["solvers"]["exact"]
    assert settings["command"] == (
        "riemtr compare rayleigh:n=8 dictionary-learning:n=5:p=500 brockett:n=4 "
        "--solvers exact,practical,pymanopt-tr,pymanopt-cg,l-bfgs-b --starts 2 --saddles 2 --rng 0 "
        "--tolerances 0.01,0.0001,1e-06 --curvature-tolerance 1e-06 --max-seconds 10.0 "
        "--repeats 1"
    )
    assert settings["not_applicable"] == [
        {
            "solver": "l-bfgs-b",
            "problem": "brockett:n=4",
            "reason": "L-BFGS-B on f(x/|x|) needs a sphere; this problem is on Stiefel(4, 4)",
        }
    ]
    assert not only(small, solver="l-bfgs-b", problem="brockett:n=4")


def test_the_same_seed_gives_the_same_runs(small, tmp_path):
    again = compare(RAYLEIGH, ["practical", SWARM], starts=1, saddles=0)
    same = compare(RAYLEIGH, ["practical", SWARM], starts=1, saddles=0)
    other = compare(RAYLEIGH, ["practical", SWARM], starts=1, saddles=0, rng=1)
    costs = [[run.cost for run in found.runs] for found in (again, same, other)]
    assert costs[0] == costs[1]
    assert costs[0][0] == only(small, solver="practical", start=0)[0].cost
    assert costs[0][1] != costs[2][1]


def test_what_is_saved_is_what_was_found(small, tmp_path):
    assert load(small.save(tmp_path / "comparison.json")).runs == small.runs
    assert load(str(small.save(str(tmp_path / "again.json")))).runs == small.runs


def test_a_users_solver_without_a_history_is_counted_and_timed():
    solver = {"mine": GradientDescent, "lazy": lambda: GradientDescent(1e-3)}
    found = compare(RAYLEIGH, solver, starts=1, saddles=1)
    mine, lazy = only(found, kind="random")
    points = mine.counts["gradients"]
    assert mine.counts == dict.fromkeys(COUNTS, 0) | {"gradients": points}
    assert mine.certified
    assert mine.claimed
    assert mine.status == "ended"
    norms = mine.trajectory["gradient_norm"]
    assert len(norms) == points + 1  # the end once more
    first = next(n for n, norm in enumerate(norms) if norm <= 1e-4)
    assert [reach.oracles for reach in mine.reached][1] == first + 1
    assert [reach.tolerance for reach in lazy.reached] == [1e-2]
    assert lazy.verdict == "not-critical"
    assert only(found, kind="saddle", solver="mine")[0].deceived


def test_a_solver_may_return_the_point_alone():
    class Bare:
        def solve(self, problem, start, rng):
            solver = riemtr.PracticalTRM(tolerance=1e-6, curvature_tolerance=1e-6)  # compare's own
            return solver.solve(problem, start, rng=rng).point

    low_rank = ("low-rank", {"m": 3, "n": 2, "rank": 1})  # points of several arrays
    found = compare([RAYLEIGH, low_rank], {"bare": Bare, "ours": "practical"}, starts=2, saddles=0)
    for bare, ours in zip(only(found, solver="bare"), only(found, solver="ours"), strict=True):
        assert (bare.certified, bare.claimed, bare.status) == (True, False, "ended")
        assert bare.cost == ours.cost
        assert bare.counts["gradients"] == ours.counts["gradients"] > 0
        assert [reach.tolerance for reach in bare.reached] == [1e-2, 1e-4, 1e-6]


def test_failures_are_recorded_and_do_not_stop_the_others():
    solvers = {
        "failing": Failing,
        "not made": NotMade,
        "nonsense": Nonsense,
        "nothing": lambda: SimpleNamespace(solve=lambda problem, start: None),
        "exiting": lambda: SimpleNamespace(solve=lambda problem, start: exit(3)),
        "good": "practical",
    }
    found = compare(RAYLEIGH, solvers, starts=2, saddles=0)
    statuses = {run.solver: run.status for run in found.runs if run.outcome == "failed"}
    assert statuses["failing"] == "ZeroDivisionError: a bug of mine"
    assert statuses["not made"] == "RuntimeError: no licence"
    assert "the solver's point must" in statuses["nonsense"]
    assert "or the point itself; it returned NoneType" in statuses["nothing"]
    assert statuses["exiting"] == "SystemExit: 3"
    assert all(run.certified for run in only(found, solver="good"))
    assert len(found.runs) == 12
    assert found.settings["solvers"]["not made"] == "cannot be made: no licence"
    assert all(
        run.verdict is None and not run.claimed for run in found.runs if run.solver in statuses
    )


def test_what_does_not_apply_is_no_failure():
    found = compare(
        ("low-rank", {"m": 3, "n": 2, "rank": 1}),
        {"mine": Elsewhere, "nm": "pymanopt-nelder-mead", "good": "practical"},
        starts=2,
        saddles=0,
    )
    assert found.solvers == ["good"]
    reasons = {one["solver"]: one["reason"] for one in found.settings["not_applicable"]}
    assert reasons["mine"] == "only for tori"
    assert "provides no implementation" in reasons["nm"]
    assert len(reasons) == len(found.settings["not_applicable"])  # said once, not per start


def test_running_out_of_time_is_recorded():
    found = compare(
        RAYLEIGH, ["practical", "pymanopt-cg", "l-bfgs-b"], starts=1, saddles=0, max_seconds=1e-9
    )
    assert {run.outcome for run in found.runs} == {"timed out"}
    assert all(run.verdict == "not-critical" and not run.reached for run in found.runs)
    for run in found.runs[:2]:
        assert "time" in run.status


def test_a_users_object_is_held_to_the_time_too():
    found = compare(
        RAYLEIGH, {"ours": riemtr.PracticalTRM()}, starts=1, saddles=0, max_seconds=1e-9
    )
    assert found.runs[0].outcome == "timed out"


def test_a_solver_that_hangs_is_stopped(monkeypatch):
    found = compare(
        RAYLEIGH, {"hanging": Hanging, "good": "practical"}, starts=1, saddles=0, max_seconds=0.05
    )
    hanging, good = found.runs
    assert hanging.outcome == "timed out"
    assert "without a result" in hanging.status
    assert hanging.verdict is None
    assert good.solver == "good"


def test_ctrl_c_keeps_what_is_finished():
    found = compare(RAYLEIGH, {"good": "practical", "ctrl-c": Interrupted}, starts=3, saddles=0)
    assert [run.solver for run in found.runs] == ["good"]
    assert found.settings["interrupted"]
    with pytest.raises(KeyboardInterrupt):
        compare(RAYLEIGH, {"ctrl-c": Interrupted}, starts=1, saddles=0)


def test_ctrl_c_that_a_solver_keeps_to_itself_is_noticed():
    calls = []

    def progress(now):
        calls.append((now.done, now.total))
        if now.done == 2:
            raise KeyboardInterrupt

    found = compare(RAYLEIGH, "practical", starts=5, saddles=0, progress=progress)
    assert calls == [(0, 5), (1, 5), (2, 5)]
    assert len(found.runs) == 2

    class Caught:
        """Returns a result that says it was interrupted, as riemtr's solvers do."""

        def solve(self, problem, start):
            def interrupt(iteration):
                raise KeyboardInterrupt

            return riemtr.PracticalTRM().solve(problem, start, observers=[interrupt])

    found = compare(RAYLEIGH, {"good": "practical", "caught": Caught}, starts=2, saddles=0)
    assert [run.solver for run in found.runs] == ["good"]


def test_ctrl_c_that_ends_a_solve_inside_a_solver_ends_the_comparison():
    class Inside:
        """Knows nothing of the status that riemtr's solver has after Ctrl-C."""

        def solve(self, problem, start):
            def press(iteration):
                os.kill(os.getpid(), signal.SIGINT)

            found = riemtr.PracticalTRM().solve(problem, start, observers=[press])
            return SimpleNamespace(point=found.point, converged=True)

    found = compare(RAYLEIGH, {"good": "practical", "inside": Inside}, starts=3, saddles=0)
    assert [run.solver for run in found.runs] == ["good"]
    assert found.settings["interrupted"]


def test_what_a_solver_asks_of_the_cost_itself_is_counted():
    class Direct:
        def solve(self, problem, start):
            here = problem.cost.at(start)
            _ = here.value, here.gradient, here.hessian(start), problem.cost.cost(start)
            return SimpleNamespace(point=start)

    weights = np.arange(5.0)
    plain = riemtr.Problem(
        riemtr.Sphere(5),
        lambda x: float(weights @ x**2),
        euclidean_gradient=lambda x: 2.0 * weights * x,
        euclidean_hessian=lambda x, v: 2.0 * weights * v,
    )
    (run,) = compare(plain, {"direct": Direct}, starts=1, saddles=0).runs
    assert run.counts == {
        "costs": 2,
        "gradients": 1,
        "hessian_products": 1,
        "hessian_matrices": 0,
    }


def test_repeats_run_in_turn_and_keep_the_median(monkeypatch):
    order = []

    def noting(name):
        class Noting:
            def solve(self, problem, start):
                order.append(name)
                return SimpleNamespace(point=start)

        return Noting

    found = compare(
        RAYLEIGH, {"a": noting("a"), "b": noting("b"), "c": Failing}, starts=1, saddles=0, repeats=3
    )
    assert order == ["a", "b"] * 3
    assert [run.solver for run in found.runs] == ["a", "b", "c"]


def test_progress_counts_down_what_will_not_run(capsys):
    seen = []
    compare(
        ["rayleigh", ("covariance", {"n": 2})],
        ["l-bfgs-b", "practical"],
        starts=1,
        saddles=1,
        progress=lambda now: seen.append((now.done, now.total)),
    )
    # covariance has no saddle point, and l-bfgs-b does not apply to it
    assert seen[0] == (0, 8)
    assert seen[-1] == (5, 5)
    compare(RAYLEIGH, "practical", starts=1, saddles=0, progress=True)
    assert re.search(r"1/1, .* s, rayleigh:n=8, practical", capsys.readouterr().err)


@pytest.mark.parametrize(
    ("problems", "solvers"),
    [
        (riemtr.problems.build("rayleigh", rng=5, n=4), "practical"),  # of another seed
        ({"a": "rayleigh", "b": "rayleigh"}, "practical"),
        ("rayleigh", {"a": "practical", "b": "practical"}),
        ("rayleigh", riemtr.PracticalTRM()),
    ],
)
def test_what_a_command_would_do_otherwise_has_none(problems, solvers):
    assert compare(problems, solvers, starts=1, saddles=0).settings["command"] is None


def test_the_command_keeps_every_digit(monkeypatch):
    third = 1 / 3
    found = compare(
        RAYLEIGH, entrant("exact", radius=third), starts=1, saddles=0, tolerances=[third]
    )
    words = shlex.split(found.settings["command"])
    assert f"exact:radius={third!r}" in words
    assert words[words.index("--tolerances") + 1] == repr(third)


def test_the_median_run_is_kept():
    runs = [Run("p", "s", 0, "random", "ended", "", True, seconds=s) for s in (3.0, 1.0, 2.0)]
    assert _median(runs).seconds == 2.0
    assert _median(runs[:2]).seconds == 1.0
    assert _median([]) is None


def test_blas_is_held_to_one_thread_while_solvers_run(monkeypatch):
    held = []

    @contextmanager
    def holding(entries):
        held.append(entries)
        yield
        held.clear()

    class Looking:
        def solve(self, problem, start):
            seen.append(list(held))
            return SimpleNamespace(point=start)

    seen = []
    monkeypatch.setattr(runner, "blas_threads_for", holding)
    compare(RAYLEIGH, {"mine": Looking}, starts=1, saddles=0)
    assert seen == [[0]]


def test_a_cost_that_raises_ends_no_comparison():
    def broken(x):
        raise RuntimeError("no licence")

    problem = riemtr.Problem(riemtr.Sphere(3), broken)
    found = compare({"mine": problem}, ["practical"], starts=1, saddles=2)
    assert [run.outcome for run in found.runs] == ["failed"]
    assert found.settings["problems"]["mine"]["saddle_search"] == "RuntimeError: no licence"
    assert "no saddle point was found to start from (RuntimeError: no licence)" in repr(found)


def test_the_search_for_saddles_may_take_as_long_as_a_run(monkeypatch):
    asked = []

    def noting(problem, count, seed, max_seconds):
        asked.append(max_seconds)
        return [], "too slow"

    monkeypatch.setattr(runner, "search_saddles", noting)
    for seconds in (1.0, 30.0):
        found = compare(RAYLEIGH, "practical", starts=1, saddles=2, max_seconds=seconds)
    assert asked == [10.0, 30.0]
    assert found.settings["problems"]["rayleigh:n=8"]["saddle_search"] == "too slow"


def test_nothing_to_run_is_explained():
    found = compare(("covariance", {"n": 2}), "l-bfgs-b", starts=1, saddles=0)
    assert found.runs == ()
    assert found.problems == ["covariance:n=2"]
    assert "l-bfgs-b on covariance:n=2: L-BFGS-B on f(x/|x|) needs a sphere" in repr(found)


def test_a_problem_of_ones_own_has_no_truth_and_no_command():
    problem = riemtr.Problem(riemtr.Sphere(4), lambda x: x[0])
    found = compare({"mine": problem}, [entrant("practical")], starts=1, saddles=1)
    random, saddle = found.runs
    assert random.success is None
    assert random.distance is None
    assert saddle.certified
    assert found.settings["command"] is None
    assert found.settings["problems"]["mine"]["saddles"] == 1  # the maximizer


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"starts": -1}, "starts must be an integer of at least 0"),
        ({"repeats": 0}, "repeats must be an integer of at least 1"),
        ({"rng": -1}, "rng must be an integer of at least 0"),
        ({"tolerances": []}, "tolerances must be a list of positive, finite gradient norms"),
        ({"tolerances": [1e-3, float("inf")]}, "tolerances must be a list of positive, finite"),
        ({"starts": 0, "saddles": 0}, "starts and saddles must not both be 0"),
        ({"solvers": entrant("exact", radius=-1)}, "'exact:radius=-1' cannot be made: .*radius"),
        ({"solvers": {"mine": lambda: 3}}, "'mine' cannot be made: .*it returned int"),
        ({"tolerances": [0.0]}, "tolerances must be"),
        ({"tolerances": 1e-3}, "tolerances must be"),
        ({"max_seconds": 0}, "max_seconds must be a positive finite number or inf; got 0"),
        ({"max_seconds": None}, "max_seconds must be a positive finite number or inf; got None"),
        ({"curvature_tolerance": -1}, "curvature_tolerance must be a positive finite number"),
        ({"curvature_tolerance": "a"}, "curvature_tolerance must be .* number; got 'a'"),
        ({"solvers": "newton"}, "solvers must be one of"),
    ],
)
def test_bad_settings_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        compare("rayleigh", **options)
