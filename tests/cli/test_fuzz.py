"""Many command lines that nobody would type: no traceback, and the right exit code."""

import os
import random
import sys

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from riemtr.cli import USAGE_ERROR
from riemtr.cli.app import app

COMMANDS = typer.main.get_command(app).commands
LINES = 2 * int(os.environ.get("RIEMTR_FAULTS", 500))
ENDED, NOT_CERTIFIED = 0, 1

USERS = """
import riemtr

problem = riemtr.Problem(riemtr.Sphere(3), lambda x: x[0] + x[1] ** 2)


def task(rng, n=1):
    return {"twice": 2 * n}
"""

ODD = [
    "",
    " ",
    "-",
    "--",
    "=",
    ":",
    ",",
    "nan",
    "inf",
    "-1",
    "0",
    "1e400",
    "9" * 7,
    "None",
    "é\u202e",
]
ODD += ["\x1b[31m", "a b", "[bold]", "{x}", "%s", "../..", "/", "/nowhere/x", "\\", "'", '"', "💥"]
WORDS = ["rayleigh", "brockett", "covariance", "low-rank", "singular-vectors", "math:pi", "os:path"]
WORDS += ["rayleigh:n=3", "rayleigh:n=0", "rayleigh:m=3", "brockett:n=4:k=2", "brockett:n=2:k=5"]
WORDS += [
    "no_such:thing",
    "json:dumps",
    "phase-transition",
    "dictionary-recovery",
    "Y.npy",
    "Z.npy",
]
PROBLEMS = ["rayleigh:n=3", "brockett:n=4:k=2", "low-rank", "singular-vectors", "users:problem"]
USUAL = {
    "-p": ["n=3", "n=2", "k=1"],
    "-g": ["n=1,2", "m=1"],
    "--start": ["x.npz", "a.npz", "Y.npy", "point.npy"],
    "--out": ["x.npz", "x.json", "out", "out2"],
    "--solvers": ["l-bfgs-b", "practical,exact:radius=0.1", "pymanopt-cg"],
    "--rng": ["0", "1"],
    "--tolerance": ["0.1", "1e-3"],
    "--radius": ["0.1", "2"],
    "--mu": ["0.1", "1e-2"],
}
VALUES = ["1", "2", "0.1", "1e-3", "n=3", "n=2,3", "k=1", "practical", "exact", "l-bfgs-b", "auto"]
VALUES += ["practical,exact:radius=0.1", "pymanopt-cg", "serial", "quick", "k-n", "conditioned"]
VALUES += ["x.npz", "x.json", "x.png", "Y.npy", "out", "1e-2,1e-6", "a.npz", "empty.npz"]
VALUES += ["true", "1e-9", "100", "3"]
# What keeps a command that is right by chance short.
SHORT = {
    "solve": ["--max-iterations", "20"],
    "compare": ["--starts", "1", "--saddles", "0", "--max-seconds", "0.2", "--solvers", "l-bfgs-b"],
    "recover": ["--out", "out", "--n-jobs", "1"],
    "sweep": ["--out", "out", "--backend", "serial", "--repetitions", "1"],
    "problems": [],
}


def options_of(command):
    """The options of a command, and whether each is a flag."""
    found = getattr(COMMANDS.get(command), "params", [])
    return [(name, param.is_flag) for param in found for name in param.opts if name[0] == "-"]


def command_line(chance):
    """A command that is nearly right, with some things wrong."""
    command = chance.choice(list(SHORT))
    usual = {"recover": ["Y.npy"], "sweep": ["users:task"]}.get(command, PROBLEMS)
    line = [command, chance.choice(usual if chance.random() < 0.7 else [*WORDS, *ODD])]
    for _ in range(chance.choice([0, 1, 1, 2, 3])):
        whose = command if chance.random() < 0.85 else chance.choice(list(SHORT))
        option, is_flag = chance.choice(options_of(whose) or [("--nonsense", True)])
        values = USUAL.get(option, VALUES) if chance.random() < 0.6 else [*VALUES, *ODD]
        line += [option] if is_flag else [option, chance.choice(values)]
    if chance.random() < 0.1:
        line.append(chance.choice(ODD))
    fresh = "out" if chance.random() < 0.2 else f"out{chance.randrange(10**9)}"
    line[2:2] = [fresh if part == "out" else part for part in SHORT[command]]
    if chance.random() < 0.03:
        line[0] = chance.choice([*ODD, "demonstrate", "--version"])
    if chance.random() < 0.03:
        chance.shuffle(line)
    return line


def is_long(line):
    """Whether a command may be right, and long: whole phase transitions, and other processes."""
    many = "9" * 7 in line and ("compare" in line or "sweep" in line)
    return many or "phase-transition" in line or "processes" in line or "dask" in line


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("Y.npy", np.random.default_rng(0).laplace(size=(2, 60)))
    np.savez("a.npz", np.ones(3), np.ones(2))
    (tmp_path / "empty.npz").write_bytes(b"")
    (tmp_path / "Z.npy").write_text("no array")
    np.save("point.npy", np.array([1.0, 0.0, 0.0]))
    (tmp_path / "users.py").write_text(USERS)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("riemtr.cli.recover._draw", lambda *_: [])  # half a second each
    yield
    sys.modules.pop("users", None)


@pytest.mark.parametrize("part", range(4))
def test_no_command_line_ends_in_a_traceback(folder, part):
    chance, codes = random.Random(part), set()
    for _ in range(LINES // 4):
        line = command_line(chance)
        if is_long(line):
            continue
        outcome = CliRunner().invoke(app, line)
        error = outcome.exception
        assert error is None or isinstance(error, SystemExit), (line, error)
        assert outcome.exit_code in (ENDED, NOT_CERTIFIED, USAGE_ERROR), (line, outcome.output)
        assert "Traceback" not in outcome.output, (line, outcome.output)
        assert outcome.output.strip() or "-q" in line, line
        if outcome.exit_code == USAGE_ERROR:
            told = (
                "rror" in outcome.stderr,
                "Usage" in outcome.output,
                "no runs:" in outcome.output,
            )
            assert any(told), (line, outcome.output)
        codes.add(outcome.exit_code)
    assert {ENDED, USAGE_ERROR} <= codes
