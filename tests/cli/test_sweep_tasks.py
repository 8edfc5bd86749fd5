from functools import partial

import pytest

from riemtr.cli.sweep import own_task, phase_transition
from riemtr.sweep import read, sweep

HOW = partial(sweep, repetitions=1, backend="serial", resume=False)
MINE = "tests.sweep.tasks:draw"


def test_a_function_over_its_grid(tmp_path):
    thrice = partial(HOW, repetitions=3)
    made = own_task(MINE, {}, ["n=1,2"], tmp_path, thrice, lambda now: None)
    assert [path.name for path in made.saved] == ["cells.sqlite", "cells.csv"]
    assert sorted(read(made.saved[0]).columns["twice"]) == [2, 2, 2, 4, 4, 4]
    assert made.saved[1].exists()


def test_one_map_of_the_phase_transition(tmp_path):
    given = {"map": "p-n", "grid": "quick"}
    made = phase_transition(given, None, tmp_path, HOW, lambda now: None)
    assert [name for name, _ in made.summary.pairs] == ["p-n"]
    assert made.saved[0] == tmp_path / "p-n.sqlite"


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
        (MINE, {"condition_number": 3.0}, "condition_number must go with phase-transition"),
    ],
)
def test_what_is_no_task_is_refused(name, given, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        own_task(name, given, ["n=1"], tmp_path, HOW, lambda now: None)


def test_all_stores_are_looked_at_before_the_first_map(tmp_path):
    own_task(MINE, {}, ["n=1"], tmp_path, HOW, lambda now: None)
    (tmp_path / "cells.sqlite").rename(tmp_path / "p-n.sqlite")
    with pytest.raises(FileExistsError, match=r"p-n\.sqlite exists: continue it with --resume"):
        phase_transition({"grid": "quick"}, None, tmp_path, HOW, lambda now: None)
    assert not (tmp_path / "k-n.sqlite").exists()
