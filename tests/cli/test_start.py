"""Where a solve begins and what it refuses before it computes."""

import os
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from typer.testing import CliRunner

import riemtr
from riemtr.cli.app import app
from riemtr.files import archive_of_arrays


def solve(*arguments):
    return CliRunner().invoke(app, ["solve", *map(str, arguments)])


def test_a_run_goes_on_from_a_result_a_point_or_its_parts(tmp_path):
    first, second = tmp_path / "first.npz", tmp_path / "second.npz"
    problem = ("rayleigh", "-p", "n=12", "-q")
    assert solve(*problem, "--max-iterations", 2, "--out", first).exit_code == 1
    assert solve(*problem, "--start", first, "--out", second).exit_code == 0
    begun, ended = riemtr.load_result(first), riemtr.load_result(second)
    assert ended.history["cost"][0] == pytest.approx(begun.cost)
    np.save(tmp_path / "point.npy", ended.point)
    assert solve(*problem, "--start", tmp_path / "point.npy", "--max-iterations", 1).exit_code == 0
    parts = [np.eye(12)[0], np.eye(8)[0]]
    np.savez(tmp_path / "parts.npz", *parts)
    assert solve("singular-vectors", "--start", tmp_path / "parts.npz", "-q").exit_code == 0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "there is no file"),
        (np.ones(3), "start must"),
        (b"no array", "must be a point: an array in .npy"),
        (np.array(["a"]), "text or other things in place of numbers"),
    ],
)
def test_what_is_no_start_is_refused_in_a_line(tmp_path, content, message):
    path = tmp_path / "start.npy"
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif content is not None:
        np.save(path, content)
    outcome = solve("rayleigh", "-p", "n=12", "--start", path)
    assert outcome.exit_code == 2
    assert message in outcome.stderr
    assert outcome.stdout == ""


def test_a_folder_that_is_read_only_is_refused_before_the_run(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # who runs this may be root
    outcome = solve("rayleigh", "--out", tmp_path / "run.npz")
    assert outcome.exit_code == 2
    assert f"{tmp_path / 'run.npz'} cannot be written: the folder is read-only" in outcome.stderr
    assert outcome.stdout == ""


def test_an_archive_made_to_fill_the_memory_is_refused(tmp_path):
    path = tmp_path / "bomb.npz"
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("Y.npy", "w", force_zip64=True) as member,
    ):
        for _ in range(1100):
            member.write(bytes(2**20))
    with pytest.raises(ValueError, match=r"bomb\.npz must not expand from .* MB to 1\.15 GB"):
        archive_of_arrays(path).__enter__()
    outcome = CliRunner().invoke(app, ["recover", str(path), "--out", str(tmp_path / "o")])
    assert outcome.exit_code == 2
    assert "must not expand" in outcome.stderr
    with pytest.raises(ValueError, match="must not expand"):
        riemtr.load_result(path)


def test_completion_can_be_installed(tmp_path):
    ended = subprocess.run(
        [sys.executable, "-m", "riemtr", "--install-completion", "bash"],
        env={**os.environ, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stderr
    assert "riemtr" in (tmp_path / ".bashrc").read_text()
    typed = {
        "_RIEMTR_COMPLETE": "complete_bash",
        "COMP_WORDS": "riemtr solve --st",
        "COMP_CWORD": "2",
    }
    ended = subprocess.run(
        [sys.executable, "-m", "riemtr"],
        env={**os.environ, **typed},
        capture_output=True,
        text=True,
    )
    assert ended.stdout.split() == ["--start", "--starts"]


def test_completion_is_there():
    outcome = CliRunner().invoke(app, ["--show-completion", "bash"])
    assert outcome.exit_code == 0
    assert "complete" in outcome.output.lower()
    assert "--install-completion" in CliRunner().invoke(app, ["--help"]).output
