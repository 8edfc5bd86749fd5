"""``riemtr paper``: one command per figure."""

import pytest
from typer.testing import CliRunner

from riemtr.cli.app import app
from riemtr.paper.figures import FIGURES


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
    drawn = paper("figure-1", "--quiet", "--out", tmp_path)
    assert drawn.output == f"figure-1: drawn: {tmp_path}\n"


def test_trials_that_failed_are_run_again_if_asked(tmp_path):
    sizes = ("--quick", "--starts", 1, "--backend", "serial", "--quiet", "--out", tmp_path)
    failed = paper("figure-4", *sizes, "--max-seconds", 0.01)
    assert (failed.exit_code, failed.output) == (1, f"figure-4: 3 starts: {tmp_path}\n")
    assert paper("figure-4", *sizes, "--resume").exit_code == 1
    assert paper("figure-4", *sizes, "--retry-failed").exit_code == 0


def test_pictures_are_not_overwritten(tmp_path):
    (tmp_path / "figure-1.png").write_text("precious")
    refused = paper("figure-1", "--out", tmp_path)
    assert refused.exit_code == 2
    assert "choose another folder, or replace it with --resume" in refused.stderr
    assert (tmp_path / "figure-1.png").read_text() == "precious"
    assert paper("figure-1", "--out", tmp_path, "--resume").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "FIGURE must be given"),
        (("figure-2",), "--out must be given"),
        (("figure-9", "--out", "nowhere"), "must be one of"),
        (("figure-1", "--out", "nowhere", "--starts", 3), "--starts must go with figure-4"),
        (("figure-4", "--out", "nowhere", "--largest", 9), "--largest must go with figure-3 or"),
        (
            ("figure-3", "--out", "nowhere", "--quick", "--grid", "coarse"),
            "--grid must be left out",
        ),
    ],
)
def test_what_is_missing_is_named(arguments, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    outcome = paper(*arguments)
    assert outcome.exit_code == 2
    assert words in outcome.stderr
    assert not (tmp_path / "nowhere").exists()
