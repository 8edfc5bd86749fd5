import csv
import json

import pytest

from riemtr.environment import environment
from riemtr.paper.phases import MAPS, PhaseTransition, run_maps, save_maps, title
from riemtr.sweep import sweep


def test_a_phase_transition_from_the_grid_to_its_files(tmp_path):
    what, seen = PhaseTransition("quick"), []
    tables = run_maps(what, MAPS, tmp_path, repetitions=2, progress=seen.append)
    assert {name: len(table) for name, table in tables.items()} == {"k-n": 20, "p-n": 30}
    assert [now.stage for now in seen if now.done == now.total] == ["k-n", "p-n"]
    maps, saved = save_maps(tmp_path, what, tables)
    assert {path.name for path in tmp_path.iterdir()} - {path.name for path in saved} == {
        "k-n.sqlite",
        "p-n.sqlite",
    }
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "k-n.csv",
        "k-n.sqlite",
        "p-n.csv",
        "p-n.sqlite",
        "phase-transition.png",
        "summary.json",
    ]
    with (tmp_path / "k-n.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["success"] == "True" for row in rows] == list(tables["k-n"].columns["success"])
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["method"] == "practical"
    assert summary["maps"]["k-n"]["cells"] == 20
    assert summary["maps"]["k-n"]["grid"] == "quick"
    assert summary["environments"] == [environment("joblib", "distributed")]
    assert summary["maps"]["p-n"]["power_law"]["exponent"] == maps["p-n"].law.exponent
    # As in the paper: k may grow with n, and so must p.
    assert maps["k-n"].law(30) > 0.5 * 30
    assert maps["p-n"].law(30) > 30


def shortened(task, grid, **options):
    return sweep(task, [settings for settings in grid if settings["n"] == 10], **options)


def test_a_map_of_an_earlier_run_stays_in_the_figure_and_the_summary(tmp_path):
    what = PhaseTransition("quick")
    save_maps(tmp_path, what, run_maps(what, ["p-n"], tmp_path, repetitions=1, run=shortened))
    tables = run_maps(what, ["k-n"], tmp_path, repetitions=1, run=shortened)
    maps, _ = save_maps(tmp_path, what, tables)
    assert list(maps) == ["k-n", "p-n"]
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert {name: one["cells"] for name, one in summary["maps"].items()} == {"k-n": 2, "p-n": 5}
    assert summary["maps"]["k-n"]["grid"] is None  # only a part of it is there


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"noise": 0.05}, r"noise = 0\.0 there, 0\.05 here"),
        ({"method": "exact"}, "method = 'practical' there, 'exact' here"),
    ],
)
def test_a_folder_with_another_experiment_is_refused_and_left_alone(tmp_path, other, words):
    what = PhaseTransition("quick")
    save_maps(tmp_path, what, run_maps(what, ["k-n"], tmp_path, repetitions=1, run=shortened))
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(ValueError, match=f"holds a map of another experiment, k-n.sqlite: {words}"):
        run_maps(PhaseTransition("quick", **other), ["p-n"], tmp_path, run=shortened)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_the_options_of_the_sweep_are_the_callers(tmp_path):
    given = {}

    def run(task, grid, **options):
        given.update(options)
        return sweep(task, list(grid)[:1], **options)

    run_maps(PhaseTransition("quick"), ["k-n"], tmp_path, repetitions=3, run=run)
    assert given["store"] == tmp_path / "k-n.sqlite"
    assert given["repetitions"] == 3


@pytest.mark.parametrize(
    ("what", "words"),
    [
        (PhaseTransition(), "practical method, A = I"),
        (PhaseTransition(method="printed"), "printed method, A = I"),
        (
            PhaseTransition(precondition=True, surrogate="huber"),
            "practical method, A = I, preconditioned, huber in place of log cosh",
        ),
        (
            PhaseTransition(method="exact", dictionary="conditioned", noise=0.1),
            "exact method, condition number 10, preconditioned, 10% noise",
        ),
    ],
)
def test_the_title_says_what_was_mapped(what, words):
    assert title(what) == f"Recovery of one sparse row: {words}"
