"""What the page embeds: each run's outcome, each number once, and no more than it can show."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest

from riemtr.compare.page import script_json
from riemtr.compare.page_data import STARTS_DRAWN, page_data, rounded
from riemtr.compare.records import Comparison
from tests.compare.page_examples import (
    EVIL,
    TOLERANCES,
    recovery_comparison,
    solver_comparison,
    solver_run,
)


def test_columns_are_those_of_the_runs():
    comparison = solver_comparison()
    data = page_data(comparison)
    for i, run in enumerate(comparison.runs):
        assert data["solvers"][data["runs"]["solver"][i]] == run.solver
        assert data["problems"][data["runs"]["problem"][i]] == run.problem
        assert data["kinds"][data["runs"]["kind"][i]] == run.kind
        assert data["whole"]["seconds"][i] == rounded(run.seconds)
        assert data["whole"]["oracles"][i] == run.oracles
        assert data["runs"]["compared"][i]
        reached = {reach.tolerance: reach for reach in run.reached}
        for number, tolerance in enumerate(TOLERANCES):
            reach = reached.get(tolerance)
            seconds = data["reached"]["seconds"][number][i]
            assert seconds == (None if reach is None else reach.seconds)
            assert data["reached"]["oracles"][number][i] == (reach.oracles if reach else None)
    labels = [measure["label"] for measure in data["measures"]]
    assert labels[0] == "seconds"
    assert labels[data["second"]] == "distance from the known solution"


def test_cost_is_drawn_above_the_lowest_of_the_problem():
    curve = page_data(solver_comparison())["curves"][0]
    # the endpoints' cost is 1, below all of the trajectories
    assert curve["gap"] == [rounded(2.0**-i) for i in range(9)]
    assert curve["gradient_norm"] == [10.0**-i for i in range(9)]


def test_details_that_repeat_a_measure_give_it_their_name():
    labels = [measure["label"] for measure in page_data(recovery_comparison())["measures"]]
    assert "dictionary error" in labels
    assert "distance from the known solution" not in labels
    assert labels.count("l1 objective") == 1
    assert "cost at the end" not in labels


def test_solvers_keep_the_order_they_were_asked_for_in():
    comparison = solver_comparison()
    settings = {**comparison.settings, "solvers": {"blind": "", "absent": "", "swift": ""}}
    data = page_data(replace(comparison, settings=settings))
    assert data["solvers"] == ["blind", "swift", "steady", "broken"]


def test_a_solver_that_does_not_apply_has_a_line():
    runs = [solver_run("rayleigh", "lbfgs", 0, "random", 1.0)]
    runs += [solver_run("stiefel", "swift", 0, "random", 1.0)]
    absent = {"problem": "stiefel", "solver": "lbfgs", "reason": "needs a sphere"}
    settings = {
        "solvers": {"swift": "", "lbfgs": ""},
        "tolerances": TOLERANCES,
        "not_applicable": [absent],
    }
    table = page_data(Comparison(settings, {}, tuple(runs)))["table"]
    line = next(line for line in table if line["problem"] == 1 and line["solver"] == 1)
    assert (line["runs"], line["remark"]) == (0, "needs a sphere")


def test_seconds_of_recovery_are_those_of_all_that_ended():
    table = page_data(recovery_comparison())["table"]
    assert [line["seconds"] for line in table] == [2.0, 2.0]
    assert [line["rounded"] for line in table] == [3, 3]


def test_instances_that_not_all_came_to_are_not_compared():
    whole = solver_comparison(1)
    cut = replace(whole, runs=whole.runs[:-1], settings={**whole.settings, "interrupted": True})
    compared = page_data(cut)["runs"]["compared"]
    assert compared == [True] * 12 + [False] * 3


def test_many_runs_are_thinned():
    row = [1.0 / (i + 3) for i in range(300)]
    long = dict.fromkeys(("seconds", "oracles", "cost", "gradient_norm"), row)
    runs = tuple(
        solver_run(f"problem {n % 10}", f"solver {n % 5}", n // 10, "random", 1.0, trajectory=long)
        for n in range(5000)
    )
    data = page_data(Comparison({"tolerances": TOLERANCES}, {}, runs))
    drawn = {runs[curve["run"]].start for curve in data["curves"]}
    assert drawn == set(range(STARTS_DRAWN))
    assert f"first {STARTS_DRAWN} starts" in data["curves_note"]
    assert all(curve["seconds"][0] == rounded(row[0]) for curve in data["curves"])
    assert all(curve["seconds"][-1] == rounded(row[-1]) for curve in data["curves"])
    assert len(script_json(data)) < 4_000_000


@pytest.mark.parametrize("value", [None, math.nan, math.inf])
def test_what_is_no_number_is_null(value):
    run = solver_run("rayleigh", "mine", 0, "random", 1.0, cost=value, distance=value)
    bare = replace(run, trajectory={"seconds": [0.0, 1.0], "cost": [value, value]}, details={})
    data = json.loads(script_json(page_data(Comparison({}, {}, (bare,)))))
    assert data["curves"][0]["gap"] == [None, None]
    assert "cost at the end" not in [measure["label"] for measure in data["measures"]]


def test_json_cannot_leave_its_script_element():
    text = script_json({EVIL: [EVIL, "<!--", "\u2028"]})
    assert not set("<>&\u2028") & set(text)
    assert json.loads(text) == {EVIL: [EVIL, "<!--", "\u2028"]}
