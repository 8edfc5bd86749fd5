import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import riemtr
from riemtr.cli.app import app

ROOT = Path(__file__).resolve().parents[2]


def riemtr_process(*arguments, cwd, program=("-m", "riemtr"), **environment):
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    return subprocess.run(
        [sys.executable, *program, *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": path, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
    )


def test_help_lists_the_commands_and_says_where_to_begin():
    outcome = CliRunner().invoke(app, ["--help"])
    assert outcome.exit_code == 0
    for text in ("problems", "solve", "riemtr solve rayleigh", "--version"):
        assert text in outcome.output


@pytest.mark.parametrize("command", [info.callback.__name__ for info in app.registered_commands])
def test_help_of_each_command_teaches_by_example(command):
    outcome = CliRunner().invoke(app, [command, "-h"])
    assert outcome.exit_code == 0
    assert f"riemtr {command} " in outcome.output.split("Usage", 1)[1].split("\n", 1)[1]


def test_the_options_of_solve_are_in_its_help():
    outcome = CliRunner().invoke(app, ["solve", "--help"], env={"COLUMNS": "120"})
    for option in ("-p", "--solver", "--radius", "--tolerance", "--curvature-tolerance"):
        assert option in outcome.output
    for option in ("--max-iterations", "--max-seconds", "--rng", "--out", "--plot", "--force"):
        assert option in outcome.output


def test_version():
    outcome = CliRunner().invoke(app, ["--version"])
    assert outcome.output == f"riemtr {riemtr.__version__}\n"
    assert outcome.exit_code == 0


def test_as_a_process(tmp_path):
    cost = riemtr.problems.build("rayleigh", rng=0, n=9).truth.cost
    process = riemtr_process("solve", "rayleigh", "-p", "n=9", "--out", "run.npz", cwd=tmp_path)
    assert process.returncode == 0
    assert process.stderr == ""
    assert f"{cost:.8f}"[:-1] in process.stdout
    assert "a strict minimizer" in process.stdout
    assert (tmp_path / "run.npz").exists()
    again = riemtr_process("solve", "rayleigh", "-p", "n=9", "--out", "run.npz", cwd=tmp_path)
    assert again.returncode == 2
    assert again.stdout == ""
    assert "run.npz exists" in again.stderr


def test_a_terminal_that_knows_only_ascii(tmp_path):
    process = riemtr_process(
        "solve", "rayleigh", "--max-iterations", "20", cwd=tmp_path, PYTHONIOENCODING="ascii"
    )
    assert process.returncode == 0
    assert "Traceback" not in process.stderr


@pytest.mark.parametrize(
    ("package", "command", "extra"),
    [("typer", "problems", "cli"), ("rich", "problems", "cli"), ("typer", "demo", "demo")],
)
def test_without_the_extra_it_is_named(tmp_path, package, command, extra):
    program = (
        f"import sys; sys.modules[{package!r}] = None; import riemtr.cli as c; sys.exit(c.main())"
    )
    process = riemtr_process(command, cwd=tmp_path, program=("-c", program))
    assert process.returncode == 2
    assert process.stdout == ""
    assert process.stderr.strip() == (
        f"error: this feature needs {package!r}; install it with: pip install 'riemtr[{extra}]' "
        f"(in a clone of riemtr: pip install '.[{extra}]')"
    )


def test_without_matplotlib_the_plot_is_refused_before_the_run(tmp_path):
    program = (
        "import sys; sys.modules['matplotlib'] = None; import riemtr.cli as c; sys.exit(c.main())"
    )
    process = riemtr_process(
        *("solve", "rayleigh", "--plot", "run.png"), cwd=tmp_path, program=("-c", program)
    )
    assert process.returncode == 2
    assert "pip install 'riemtr[plot]'" in process.stderr
    assert process.stdout == ""
