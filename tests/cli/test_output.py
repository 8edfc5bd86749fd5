"""A reader who leaves takes no results along, nor does a disk that is full."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from riemtr.cli.app import app
from riemtr.cli.console import console, say


@pytest.mark.skipif(os.name == "nt", reason="pipes end in other ways there")
def test_results_are_saved_though_nobody_reads_on(tmp_path):
    target = tmp_path / "run.json"
    command = [sys.executable, "-m", "riemtr", "solve", "rayleigh", "--out", str(target)]
    reader, writer = os.pipe()
    os.close(reader)
    try:
        ended = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, check=False)
    finally:
        os.close(writer)
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr == b""
    assert json.loads(target.read_text())["converged"] is True


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("command", ["problems", "solve", "compare"])
def test_output_that_cannot_be_written_is_said_in_a_line(command, tmp_path):
    target = tmp_path / "run.json"
    arguments = {"solve": ["rayleigh", "--out", target], "compare": ["rayleigh", "--starts", 1]}
    with open("/dev/full", "w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "riemtr", command, *map(str, arguments.get(command, []))],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert ended.returncode == 2
    assert ended.stderr.startswith("error: the output cannot be written: No space left on device")
    assert len(ended.stderr.splitlines()) == 1
    if command == "solve":
        assert json.loads(target.read_text())["converged"] is True


@pytest.mark.parametrize("columns", ["0", "", "1", "many", "-3"])
def test_an_odd_width_prints_all_the_same(columns):
    ended = subprocess.run(
        [sys.executable, "-m", "riemtr", "problems", "rayleigh"],
        env={**os.environ, "COLUMNS": columns},
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0
    assert "Sphere(50)" in ended.stdout or columns == "1"
    assert ended.stdout.strip()


@pytest.mark.parametrize("columns", [30, 60, 80, 120, 200])
@pytest.mark.parametrize("problem", ["pose-graph", "singular-vectors"])
def test_a_panel_is_folded_and_loses_nothing(problem, columns):
    def shown(columns):
        return CliRunner().invoke(app, ["problems", problem], env={"COLUMNS": str(columns)}).output

    def letters(text):
        return [letter for letter in text if not letter.isspace() and letter not in "─│╭╮╯╰"]

    assert max(map(len, shown(columns).splitlines())) <= columns
    assert letters(shown(columns)) == letters(shown(1000))


@pytest.mark.parametrize("columns", [30, 60, 80, 120, 200])
def test_a_table_has_its_figures_at_every_width(columns):
    names = ["tests.compare.solvers_of_mine:GradientDescent", "practical", "l-bfgs-b"]
    arguments = ["compare", "rayleigh:n=6", "--starts", "2", "--saddles", "0"]
    outcome = CliRunner().invoke(
        app, [*arguments, "--solvers", ",".join(names)], env={"COLUMNS": str(columns)}
    )
    assert outcome.exit_code == 0
    lines = outcome.output.splitlines()
    assert max(map(len, lines)) <= columns
    assert "".join(lines).count("2/2") == 2 * len(names)  # certified and solved
    # A long name is folded where the window is narrow; it is never cut off.
    begins = "".join(line.split(" ")[0] for line in lines)
    assert all(name in begins for name in names)
    assert "solved: ended at the known solution" in " ".join(outcome.output.split())


CODE = "\x1b[31mred\x07"


@pytest.mark.parametrize(
    "arguments",
    [
        ["recover", CODE, "--out", "x"],
        ["recover", f"{CODE}.npy", "--out", "x"],
        ["solve", CODE],
        ["solve", f"{CODE}:b"],
        ["solve", "rayleigh", f"--{CODE}"],
        ["solve", "rayleigh", "--solver", CODE],
        ["solve", "rayleigh", "--start", f"{CODE}.npy"],
        ["solve", "rayleigh", "-p", f"n={CODE}"],
        ["compare", "rayleigh", "--solvers", CODE],
        ["compare", CODE],
        ["problems", CODE],
        ["sweep", CODE, "--out", "x"],
        [CODE],
    ],
)
def test_no_code_in_a_name_reaches_the_terminal(arguments, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    outcome = CliRunner().invoke(app, arguments)
    assert outcome.exit_code == 2, outcome.exception
    assert "\x1b" not in outcome.output
    assert "\x07" not in outcome.output
    assert "red" in outcome.output


def test_nor_does_one_in_what_is_printed(capsys):
    say(f"saved {CODE}")
    console().print(f"saved {CODE}")
    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    assert shown.count("red") == 2
