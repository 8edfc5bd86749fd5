"""``riemtr paper``: one command per figure."""

import pytest
from typer.testing import CliRunner

from riemtr.cli.app import app
from riemtr.sweep.paper import FIGURES


def paper(*arguments):
    return CliRunner().invoke(app, ["paper", *map(str, arguments)])


def test_the_figures_are_listed():
    outcome = paper("--list")
    assert outcome.exit_code == 0
    assert all(name in outcome.output for name in FIGURES)


def test_a_figure_is_drawn(tmp_path):
    outcome = paper("figure-1", "--out", tmp_path / "out")
    assert outcome.exit_code == 0, outcome.output
    assert (tmp_path / "out" / "figure-1.svg").exists()
    assert "figure-1.png" in outcome.output


def test_trials_are_kept_and_continued(tmp_path):
    sizes = ("--quick", "--largest", 10, "--backend", "serial", "--quiet", "--out", tmp_path)
    first = paper("figure-3", *sizes, "--repetitions", 1)
    assert first.exit_code == 0, first.output
    assert first.output == f"figure-3: 2 experiments, 0 cells failed: {tmp_path}\n"
    refused = paper("figure-3", *sizes)
    assert refused.exit_code == 2
    assert "continue it with --resume" in refused.stderr
    assert paper("figure-3", *sizes, "--resume").exit_code == 0
    # A figure without trials has nothing to do with them.
    assert (
        paper("figure-1", "--quiet", "--out", tmp_path).output == f"figure-1: drawn: {tmp_path}\n"
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "FIGURE must be given"),
        (("figure-2",), "--out must be given"),
        (("figure-9", "--out", "nowhere"), "must be one of"),
    ],
)
def test_what_is_missing_is_named(arguments, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    outcome = paper(*arguments)
    assert outcome.exit_code == 2
    assert words in outcome.stderr
    assert not (tmp_path / "nowhere").exists()
