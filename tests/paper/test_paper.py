"""The figures of the paper, from their settings to their files."""

import json

import numpy as np
import pytest

from riemtr.errors import ArgumentError
from riemtr.paper import figures as paper
from riemtr.paper.figures import FIGURES, PAST, Experiment, Work, make, read_rates, save_rates
from riemtr.paper.phase_figures import success_map
from riemtr.paper.phases import MAPS, PhaseTransition, trial
from riemtr.sweep import sweep


def test_settings_are_the_papers():
    work = Work(folder=None)
    assert (work.grid, work.repetitions, work.starts) == ("paper", 5, 100)
    for method in paper.METHODS:
        for name in MAPS:
            cells = PhaseTransition(work.grid, method).settings(name)
            assert {one["n"] for one in cells} == set(range(5, 151, 5))
            assert all(one["mu"] == 1e-2 and one["dictionary"] == "identity" for one in cells)
    assert set(FIGURES) >= {"figure-1", "figure-2", "figure-3", "figure-4"}


@pytest.mark.parametrize("name", PAST)
def test_experiments_past_the_paper_can_be_set(name):
    what = PhaseTransition("quick", **PAST[name].options)
    assert all(what.settings(one) for one in PAST[name].maps)


def test_both_methods_are_mapped(tmp_path):
    made = make("figure-3", Work(tmp_path, quick=True, largest=10, repetitions=1))
    assert made.failed == 0
    names = {str(path.relative_to(tmp_path)) for path in made.saved}
    for method in ("printed", "practical"):
        assert {f"{method}/rates.csv", f"{method}/phase-transition.png"} <= names
        assert set(read_rates(tmp_path / method / "rates.csv")) == set(MAPS)


def test_experiments_past_the_paper_are_drawn_together(tmp_path, monkeypatch):
    both = {"k-n": 5, "p-n": None}
    chosen = {
        "one": Experiment("one row"),
        "white": Experiment("whitened", {"precondition": True}, both),
    }
    monkeypatch.setattr(paper, "PAST", chosen)
    made = make("past-the-paper", Work(tmp_path, quick=True, largest=10, repetitions=1))
    assert {path.name for path in made.saved} >= {"past-p-n.png", "past-k-n.png"}
    assert [name for name, _ in made.summary.pairs] == ["one, p-n", "white, k-n", "white, p-n"]
    drawn = read_rates(tmp_path / "white" / "rates.csv")
    assert {name: list(one.n) for name, one in drawn.items()} == {"k-n": [5], "p-n": [10]}
    said = json.loads((tmp_path / "white" / "summary.json").read_text())["maps"]
    assert {name: (one["grid"], one["largest"]) for name, one in said.items()} == {
        "k-n": ("quick", 5),
        "p-n": ("quick", 10),
    }


def fails(rng, image, way, side):
    raise ValueError("no dictionary")


def test_all_maps_are_checked_before_the_first_trial(tmp_path):
    # 7 is enough for the map of k, and too little for that of p.
    with pytest.raises(ArgumentError, match="largest must be at least 10"):
        make("figure-3", Work(tmp_path, quick=True, largest=7))
    assert not list(tmp_path.rglob("*.sqlite"))


def test_where_every_start_fails_it_is_said_and_nothing_is_drawn(tmp_path, monkeypatch):
    monkeypatch.setattr(paper.image_starts, "trial", fails)
    made = make("figure-4", Work(tmp_path, quick=True, starts=1))
    assert made.failed == 3
    assert [path.name for path in made.saved] == ["starts.csv"]
    assert "no dictionary" in made.summary.text()


def test_rates_are_the_table_in_short(tmp_path):
    grid = PhaseTransition("quick").settings("p-n")[:12]
    table = sweep(trial, grid, repetitions=2)
    save_rates(tmp_path / "rates.csv", {"p-n": table})
    again, here = read_rates(tmp_path / "rates.csv")["p-n"], success_map(table, "p-n")
    assert np.array_equal(again.rate, here.rate, equal_nan=True)
    assert np.array_equal(again.boundary, here.boundary, equal_nan=True)
    near = read_rates(tmp_path / "rates.csv", "in_basin")["p-n"]
    assert np.all(near.rate[~np.isnan(near.rate)] >= again.rate[~np.isnan(again.rate)])


def test_an_unknown_figure_is_refused(tmp_path):
    with pytest.raises(ValueError, match="figure must be one of"):
        make("figure-9", Work(tmp_path))
