from functools import partial

import pytest
from rich.console import Console

from riemtr.cli.sweep_tasks import own_task, phase_transition
from riemtr.cli.sweep_view import SweepBars
from riemtr.sweep import sweep

HOW = partial(sweep, backend="serial", resume=False)
MINE = "tests.sweep.tasks:draw"


@pytest.fixture
def bars():
    return SweepBars(Console(quiet=True))


def test_a_function_over_its_grid(tmp_path, bars):
    report = own_task(MINE, {}, ["n=1,2"], tmp_path, 3, HOW, bars)
    (table,) = report.tables
    assert list(table.columns["twice"]) == [2, 2, 2, 4, 4, 4]
    assert [path.name for path in report.saved] == ["cells.jsonl", "cells.csv"]
    assert all(path.exists() for path in report.saved)


def test_one_map_of_the_phase_transition(tmp_path, bars):
    given = {"map": "p-n", "grid": "quick"}
    report = phase_transition(given, None, tmp_path, 1, HOW, bars)
    assert len(report.tables) == len(report.lines) == 1
    assert report.lines[0].startswith("[bold]p-n[/]")
    assert report.saved[0] == tmp_path / "p-n.jsonl"


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        (
            "tasks",
            {},
            "the task must be 'phase-transition', or a function of your own as module:fu",
        ),
        (":draw", {}, "or a function of your own as module:function; got ':draw'"),
        (
            "tests.sweep.tasks:os",
            {},
            "must be a function; 'tests.sweep.tasks:os' is of type module",
        ),
        (MINE, {"condition_number": 3.0}, "--condition-number is for phase-transition"),
    ],
)
def test_what_is_no_task_is_refused(name, given, message, tmp_path, bars):
    with pytest.raises(ValueError, match=message):
        own_task(name, given, ["n=1"], tmp_path, 1, HOW, bars)


def test_all_stores_are_looked_at_before_the_first_map(tmp_path, bars):
    own_task(MINE, {}, ["n=1"], tmp_path, 1, HOW, bars)
    (tmp_path / "cells.jsonl").rename(tmp_path / "p-n.jsonl")
    with pytest.raises(FileExistsError, match=r"p-n\.jsonl exists: continue it with --resume"):
        phase_transition({"grid": "quick"}, None, tmp_path, 1, HOW, bars)
    assert not (tmp_path / "k-n.jsonl").exists()
