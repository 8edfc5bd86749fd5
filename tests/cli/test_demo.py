import re

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from riemtr.cli import demo as module
from riemtr.cli.app import app
from riemtr.errors import MissingExtraError

FIGURES = ["atoms.png", "convergence.png", "landscape.png", "sparsity.png"]


def demo(*arguments):
    return CliRunner().invoke(app, ["demo", *map(str, arguments)])


def words(outcome):
    return " ".join(outcome.output.split())


def names(folder):
    return sorted(file.name for file in folder.iterdir())


@pytest.fixture
def quick(monkeypatch):
    """The demo without what takes time: only the folder and the names of its figures."""

    def figures(screen, folder, data, learned):
        for name in FIGURES:
            (folder / name).write_text("new")

    monkeypatch.setattr(module, "_hidden_dictionary", lambda screen: None)
    monkeypatch.setattr(module, "_photograph", lambda screen: (None, None))
    monkeypatch.setattr(module, "_figures", figures)


def test_the_demo_finds_the_truth_and_leaves_figures_worth_looking_at(tmp_path):
    outcome = demo("--out", tmp_path / "figures")
    assert outcome.exit_code == 0, outcome.output
    text = words(outcome)
    assert "All 20 patterns found" in text
    patterns, amounts = re.search(
        r"patterns are off by (\S+) and the amounts by (\S+),", text
    ).groups()
    assert float(patterns) < 1e-12
    assert float(amounts) < 1e-12
    assert "100% in the right places" in text
    assert "20 of 20 rows of amounts are proved: exactly sparse" in text
    doubtful = int(re.search(r"(\d+) of 64 rows doubtful", text).group(1))
    assert 32 < doubtful <= 64
    assert "nothing proves these atoms" in text
    after, before = map(int, re.search(r"(\d+)% of the coefficients.*?(\d+)%\. All", text).groups())
    assert after < 20 < 50 < before
    assert names(tmp_path / "figures") == FIGURES
    for name in FIGURES:
        assert str(tmp_path / "figures" / name) in outcome.output
        with Image.open(tmp_path / "figures" / name) as picture:
            assert min(picture.size) >= 500
            assert np.asarray(picture.convert("L")).std() > 10  # something is drawn
    assert re.search(r"That took \d+ seconds", text)


def test_without_a_folder_nothing_is_lost(tmp_path, monkeypatch, quick):
    monkeypatch.chdir(tmp_path)
    for expected in ("riemtr-demo", "riemtr-demo-2", "riemtr-demo-3"):
        assert demo().exit_code == 0
        assert names(tmp_path / expected) == FIGURES
    assert len(names(tmp_path)) == 3
    (tmp_path / "riemtr-demo" / "atoms.png").write_text("old")
    assert demo("--force").exit_code == 0
    assert (tmp_path / "riemtr-demo" / "atoms.png").read_text() == "new"
    assert len(names(tmp_path)) == 3


def test_a_folder_with_figures_is_refused(tmp_path):
    (tmp_path / "atoms.png").write_text("precious")
    outcome = demo("--out", tmp_path)
    assert outcome.exit_code == 2
    assert "--force" in outcome.stderr
    assert len(outcome.stderr.splitlines()) == 1
    assert names(tmp_path) == ["atoms.png"]
    assert (tmp_path / "atoms.png").read_text() == "precious"


def test_a_folder_with_other_things_is_used(tmp_path, quick):
    (tmp_path / "notes.txt").write_text("mine")
    assert demo("--out", tmp_path).exit_code == 0
    assert names(tmp_path) == sorted([*FIGURES, "notes.txt"])


def test_a_file_for_a_folder_is_refused(tmp_path):
    (tmp_path / "file").write_text("mine")
    outcome = demo("--out", tmp_path / "file")
    assert outcome.exit_code == 2
    assert "is a file" in outcome.stderr


def test_a_missing_package_is_one_line(tmp_path, monkeypatch):
    def missing(name, extra):
        raise MissingExtraError(f"needs {name}: riemtr[{extra}]")

    monkeypatch.setattr(module, "require", missing)
    outcome = demo("--out", tmp_path / "o")
    assert outcome.exit_code == 2
    assert "riemtr[demo]" in outcome.stderr
    assert not (tmp_path / "o").exists()
