import json

import pytest
from typer.testing import CliRunner

from riemtr.cli.app import app
from riemtr.cli.sweep import check_files

# The first lines of a table that riemtr 0.1.0 wrote.
TABLE = """\
n,k,p,mu,method,dictionary,condition_number,noise,seed,error,success,converged,iterations,status,\
cell_seconds,failure
5,5,202,0.01,practical,identity,1.0,0.0,0,0.7605026828809298,False,True,21,converged,0.0066,
"""


def sweep(*arguments):
    return CliRunner().invoke(app, ["sweep", *map(str, arguments), "--backend", "serial"])


@pytest.mark.parametrize("name", ["k-n.csv", "summary.json", "phase-transition.png"])
def test_a_file_of_somebody_else_stops_a_phase_transition_before_it_begins(tmp_path, name):
    (tmp_path / name).write_text("precious,1\n")
    arguments = ["phase-transition", "--grid", "quick", "--map", "k-n", "--out", tmp_path]
    outcome = sweep(*arguments)
    assert outcome.exit_code == 2
    assert "exists, and no sweep wrote it: move it elsewhere" in outcome.stderr
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "precious,1\n"


def test_it_stops_a_task_of_ones_own_also_when_it_is_resumed(tmp_path):
    arguments = ["tests.sweep.tasks:draw", "-g", "n=1", "--out", tmp_path, "-q"]
    assert sweep(*arguments).exit_code == 0
    assert sweep(*arguments, "--resume").exit_code == 0  # the table is ours
    for content in (b"precious,1\n", b"\xff\xfe"):
        (tmp_path / "cells.csv").write_bytes(content)
        outcome = sweep(*arguments, "--resume")
        assert outcome.exit_code == 2
        assert "cells.csv exists, and no sweep wrote it" in outcome.stderr
        assert (tmp_path / "cells.csv").read_bytes() == content


def test_results_of_earlier_versions_are_known(tmp_path):
    (tmp_path / "k-n.csv").write_text(TABLE)
    (tmp_path / "summary.json").write_text(json.dumps({"experiment": "phase-transition"}))
    (tmp_path / "phase-transition.png").touch()
    check_files(tmp_path.iterdir())


def test_a_summary_of_something_else_is_not_ours(tmp_path):
    (tmp_path / "summary.json").write_text(json.dumps({"experiment": "mine"}))
    for name in ("summary.json", "phase-transition.png"):
        (tmp_path / "phase-transition.png").touch()
        with pytest.raises(FileExistsError, match=name):
            check_files([tmp_path / name])
