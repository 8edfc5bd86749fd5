import json

import pytest
from typer.testing import CliRunner

from riemtr.cli import INTERRUPTED
from riemtr.cli.app import app
from riemtr.identity import source_of
from riemtr.sweep import read


def sweep(*arguments, serial=True):
    backend = ["--backend", "serial"] if serial else []
    return CliRunner().invoke(app, ["sweep", *map(str, arguments), *backend])


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a user's module in it, as the current one."""
    (tmp_path / "users_module.py").write_text(
        "import os, signal\n"
        "def task(rng, n, theta=0.5):\n"
        "    if n == 13:\n"
        "        raise ValueError('unlucky [bold]')\n"
        "    if n == 99:\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "    kind = 'even' if n % 2 == 0 else 'odd'\n"
        "    return {'product': n * theta, 'x': rng.random(), 'kind': kind}\n"
        "constant = 3\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def print_it(rng):
    print(rng)


def own(here, *arguments):
    return sweep("users_module:task", "--out", here / "out", *arguments)


def test_a_users_task_over_a_grid(here):
    outcome = own(here, "-g", "n=1,2", "-g", "theta=0.5,2", "--repetitions", 3)
    assert outcome.exit_code == 0, outcome.output
    lines = [line.split() for line in outcome.output.splitlines()]
    assert ["n", "theta", "runs", "product", "x", "kind"] in lines
    assert "means over the runs of each setting" in outcome.output
    assert any(line[:4] == ["2", "2", "3", "4"] and line[-1] == "even" for line in lines)
    assert sorted(path.name for path in (here / "out").iterdir()) == ["cells.csv", "cells.sqlite"]
    table = read(here / "out" / "cells.sqlite")
    assert len(table) == 12
    assert list(table.columns["product"]) == list(table.columns["n"] * table.columns["theta"])


def test_a_task_without_settings_is_only_repeated(here):
    (here / "other_module.py").write_text(
        "def coin(rng):\n    return {'head': rng.random() < 0.5}\n"
    )
    outcome = sweep("other_module:coin", "--out", here / "out", "--repetitions", 7, "--quiet")
    assert outcome.output == f"7 cells, 0 failed: {here / 'out'}\n"


def test_resuming_and_extending(here):
    assert own(here, "-g", "n=1,2").exit_code == 0
    refused = own(here, "-g", "n=1,2")
    assert refused.exit_code == 2
    assert "continue it with" in refused.stderr
    assert own(here, "-g", "n=1,2,3", "--resume", "--repetitions", 6).exit_code == 0
    assert len(read(here / "out" / "cells.sqlite")) == 18
    other = own(here, "-g", "n=4", "--resume")
    assert other.exit_code == 2
    assert "another experiment: n: 1, 2, 3 there, 4 here; seed: 5 there" in other.stderr


def test_a_changed_task_is_continued_only_when_asked_to(here, monkeypatch):
    with monkeypatch.context() as other:
        other.setattr("riemtr.sweep.run.source_of", lambda task: source_of(print_it))
        assert own(here, "-g", "n=1,2").exit_code == 0
    refused = own(here, "-g", "n=1,2", "--resume")
    assert refused.exit_code == 2
    assert "run them all with this code, or keep them with " in (refused.stderr)
    assert "--accept-changes" in refused.stderr
    assert own(here, "-g", "n=1,2", "--accept-changes").exit_code == 0


def test_a_damaged_store_is_mended_and_reported(here):
    own(here, "-g", "n=1,2")
    store = here / "out" / "cells.sqlite"
    before = read(store)
    store.write_bytes(store.read_bytes().replace(b'"product": 0.5', b'"product": 0.6', 1))
    outcome = own(here, "-g", "n=1,2", "--resume")
    assert outcome.exit_code == 0
    assert "damaged: 1 record of the store, now skipped; the table has every cell" in outcome.output
    assert list(read(store).columns["x"]) == list(before.columns["x"])


def test_failures_are_shown_and_make_the_exit_code_1(here):
    outcome = own(here, "-g", "n=12,13,14", "--repetitions", 2)
    assert outcome.exit_code == 1
    said = " ".join(outcome.output.split())
    assert "failed 2 x ValueError: unlucky [bold] (" in said
    # The folder may be that of an earlier test, whose workers have the module already.
    assert "line 4) (first: n=13 seed=0)" in said
    again = own(here, "-g", "n=12,13,14", "--repetitions", 2, "--retry-failed")
    assert again.exit_code == 1
    stored = (here / "out" / "cells.sqlite").read_bytes()
    assert stored.count(b'"kind": "ValueError"') == 4  # only those were run again


def test_ctrl_c_says_how_to_go_on(here):
    outcome = own(here, "-g", "n=1,2,99", "--repetitions", 1)
    assert outcome.exit_code == INTERRUPTED
    assert "interrupted: 2 of 3 cells are kept in" in outcome.stderr
    assert "to run the others" in outcome.stderr
    assert len(read(here / "out" / "cells.sqlite")) == 2


def test_ctrl_c_claims_nothing_that_is_not_known(here, monkeypatch):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("riemtr.cli.console.sweep", interrupted)
    outcome = own(here, "-g", "n=1,2")
    assert outcome.exit_code == INTERRUPTED
    assert outcome.stderr.startswith("interrupted; cells that had ended by then, if any, are kept")


def test_the_phase_transition_and_its_files(tmp_path):
    out = tmp_path / "maps"
    arguments = ["phase-transition", "--grid", "quick", "--map", "k-n", "--out", out]
    outcome = sweep(*arguments, "--repetitions", 2)
    assert outcome.exit_code == 0, outcome.output
    assert "k-n  half of the trials succeed at k = " in outcome.output
    assert "20/20" in outcome.output
    assert (
        f"saved in {out}: k-n.sqlite, k-n.csv, summary.json, phase-transition.png" in outcome.output
    )
    assert (out / "phase-transition.png").read_bytes().startswith(b"\x89PNG")
    assert "\x1b" not in outcome.output
    refused = sweep(*arguments)
    assert refused.exit_code == 2
    assert "k-n.sqlite exists: continue it with --resume" in refused.stderr
    again = sweep(*arguments, "--repetitions", 2, "--resume", "--quiet")
    assert again.output == f"20 cells, 0 failed: {out}\n"
    mixed = sweep(*arguments[:4], "p-n", "--noise", 0.05, "--out", out)
    assert mixed.exit_code == 2
    assert "k-n.sqlite: noise = 0.0 there, 0.05 here; choose another folder" in mixed.stderr


def test_what_the_paper_left_open(tmp_path):
    options = ["--dictionary", "conditioned", "--condition-number", 20, "--noise", 0.01]
    arguments = ["phase-transition", "--grid", "quick", "--map", "p-n", "--method", "exact"]
    outcome = sweep(*arguments, *options, "--repetitions", 1, "--out", tmp_path)
    assert outcome.exit_code == 0, outcome.output
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["method"] == "exact"
    assert summary["condition_number"] == 20.0
    assert summary["noise"] == 0.01


def test_several_processes_by_default(here):
    outcome = sweep(
        "users_module:task", "-g", "n=1,2", "--out", here / "a", "--n-jobs", 1, serial=False
    )
    assert outcome.exit_code == 0, outcome.output
    own(here, "-g", "n=1,2")
    ours, theirs = read(here / "a" / "cells.sqlite"), read(here / "out" / "cells.sqlite")
    assert list(ours.columns["x"]) == list(theirs.columns["x"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["phase-transitions"], "must be 'phase-transition', or a function of your own"),
        (["no_such_module:task"], "of a package that is installed or a file in the work"),
        (["users_module:nothing"], "'users_module' has no attribute 'nothing'; it must be"),
        (["users_module:constant"], "must be a function; 'users_module:constant' is of type int"),
        (["users_module:task"], "takes beside rng, task(rng, n, theta=0.5); got nothing"),
        (["users_module:task", "-g", "m=1"], "must set what the task takes"),
        (["users_module:task", "-g", "n"], "must look like name=a,b,c, for instance n=10,20"),
        (["users_module:task", "-g", "n=1,"], "a value between any two commas; got 'n=1,'"),
        (["broken_module:task"], "cannot import the task 'broken_module:task': RuntimeError: oh"),
        (["users_module:task", "-g", "n=1", "--n-jobs", "0"], "must be a positive integer"),
        (
            ["users_module:task", "-g", "n=1", "-g", "n=2"],
            "--values must name n once: list all its values in one",
        ),
        (
            ["users_module:task", "-g", "n=1", "--noise", "1"],
            "--noise must go with phase-transition",
        ),
        (["phase-transition", "-g", "n=1"], "phase-transition, which has --grid"),
        (["phase-transition", "--noise", "-1"], "noise must be a number of at least 0"),
        (["phase-transition", "--condition-number", "3"], "go with --dictionary conditioned"),
        (["phase-transition", "--n-jobs", "3"], "must be 1"),
        (["phase-transition", "--scheduler", "tcp://a:1"], "it is the address of a Dask cluster"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_leaves_nothing(here, arguments, message):
    (here / "broken_module.py").write_text("raise RuntimeError('oh no')")
    outcome = sweep(*arguments, "--out", here / "out" / "deep")
    assert outcome.exit_code == 2
    assert outcome.stderr.startswith("error: ")
    assert message in outcome.stderr
    assert len(outcome.stderr.splitlines()) == 1
    assert not (here / "out").exists()


def test_equal_numbers_of_other_types_have_rows_of_their_own(here):
    outcome = own(here, "-g", "n=1,1.0,true", "--repetitions", 2)
    rows = [line.split() for line in outcome.output.splitlines()]
    assert [row[:2] for row in rows if row[:1] in (["1"], ["1.0"], ["True"])] == [
        ["1", "2"],
        ["1.0", "2"],
        ["True", "2"],
    ]


def test_a_file_is_no_folder(here):
    (here / "out").write_text("precious")
    outcome = own(here, "-g", "n=1")
    assert outcome.exit_code == 2
    assert "is a file; choose a folder" in outcome.stderr
