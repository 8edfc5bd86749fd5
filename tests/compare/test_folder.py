import csv
import json

import pytest
from matplotlib.figure import Figure

from riemtr.compare import figures, load, write_folder
from riemtr.compare import folder as module
from riemtr.compare.folder import journal_path, runs_csv
from riemtr.compare.journal import keep, open_runs
from riemtr.errors import MissingExtraError
from riemtr.sweep import sweep
from tests.compare.made_up import comparison, example, run
from tests.sweep.tasks import draw

ALWAYS = ["comparison.json", "runs.csv", "environment.json"]
ALL = [*ALWAYS, "profiles.png", "convergence-easy.png", "page.html"]


def test_everything_is_there(tmp_path):
    written = write_folder(example(), tmp_path / "new" / "folder")
    assert [path.name for path in written.files] == ALL
    assert written.left_out == []
    folder = tmp_path / "new" / "folder"
    assert sorted(path.name for path in folder.iterdir()) == sorted(ALL)
    assert load(folder / "comparison.json").runs == example().runs
    assert json.loads((folder / "environment.json").read_text()) == {"python": "3"}
    assert (folder / "profiles.png").read_bytes().startswith(b"\x89PNG")
    assert "<html" in (folder / "page.html").read_text()[:500]


def test_every_problem_has_its_figure(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_write_page", lambda comparison, folder: [])
    monkeypatch.setattr(figures, "profiles_figure", lambda comparison: Figure((1, 1)))
    monkeypatch.setattr(figures, "convergence_figure", lambda *which: Figure((1, 1)))
    labels = ["a/b", "a b", "A-B", "é", "ü", "?", "/", "x" * 400]
    found = comparison(*(run("a", 0, 3, problem=label) for label in labels))
    names = [path.name for path in write_folder(found, tmp_path).files]
    drawn = [name for name in names if name.startswith("convergence-")]
    assert len({name.casefold() for name in drawn}) == len(labels)
    assert drawn[0] == "convergence-a-b.png"
    assert all((tmp_path / name).exists() for name in names)


def test_a_line_per_run():
    found = comparison(run("a", 0, 5, status="fine, thanks"), run("a", 1))
    first, second = csv.DictReader(runs_csv(found).splitlines())
    assert first["oracles_to_1e-06"] == "5"
    assert first["seconds_to_1e-06"] == "0.05"
    assert first["seconds_to_0.01"] == second["seconds_to_1e-06"] == ""
    assert (first["certified"], second["certified"]) == ("True", "False")
    assert (first["ending"], second["ending"]) == ("certified", "unfinished")
    assert first["status"] == "fine, thanks"
    assert first["costs"] == "15"
    assert first["seconds"] == "0.15"


def test_a_comparison_is_replaced_only_by_force(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_write_page", lambda comparison, folder: [])
    monkeypatch.setattr(figures, "profiles_figure", lambda comparison: Figure((1, 1)))
    monkeypatch.setattr(figures, "convergence_figure", lambda *which: Figure((1, 1)))
    write_folder(example(), tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    before = (tmp_path / "comparison.json").read_bytes()
    with pytest.raises(FileExistsError, match=r"comparison\.json.*pass force=True"):
        write_folder(comparison(run("a", 0, 3, problem="other")), tmp_path)
    assert (tmp_path / "comparison.json").read_bytes() == before
    write_folder(comparison(run("a", 0, 3, problem="o/t her")), tmp_path, force=True)
    names = {path.name for path in tmp_path.iterdir()}
    assert "convergence-o-t-her.png" in names
    assert "convergence-easy.png" not in names  # of the comparison that was replaced
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_the_old_comparison_is_there_until_the_new_one_is(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_write_page", lambda comparison, folder: [])
    monkeypatch.setattr(module, "_write_figures", lambda comparison, folder: [])
    write_folder(example(), tmp_path)
    (tmp_path / "convergence-old.png").write_text("old")

    def full(path, content):
        raise OSError("no space left")

    monkeypatch.setattr(module, "save_json", full)
    with pytest.raises(OSError, match="no space"):
        write_folder(example(), tmp_path, force=True)
    present = {path.name for path in tmp_path.iterdir()}
    assert present == {*ALWAYS, "convergence-old.png"}


def test_without_runs_there_is_nothing_to_draw(tmp_path):
    written = write_folder(comparison(), tmp_path)
    assert [path.name for path in written.files] == ALWAYS
    assert written.left_out == [
        "no figures: there are no runs to show",
        "no page: there are no runs to show",
    ]


def test_what_cannot_become_a_folder_is_refused_before_anything_runs(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError, match="file is a file; choose a folder"):
        module.check_folder(tmp_path / "file" / "new")
    monkeypatch.setattr("os.access", lambda path, mode: False)
    with pytest.raises(PermissionError, match="cannot be written to"):
        module.check_folder(tmp_path / "new" / "newer")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError, match="is a file; choose a folder"):
        write_folder(example(), tmp_path / "file")


def test_what_lacks_a_package_is_left_out(tmp_path, monkeypatch):
    def missing(comparison, folder):
        raise MissingExtraError("this feature needs 'matplotlib'")

    monkeypatch.setattr(module, "_write_figures", missing)
    written = write_folder(example(), tmp_path)
    assert [path.name for path in written.files] == [*ALWAYS, "page.html"]
    assert written.left_out == ["no figures: this feature needs 'matplotlib'"]


def test_finished_runs_are_kept_until_the_comparison_is_written(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_write_page", lambda comparison, folder: [])
    monkeypatch.setattr(module, "_write_figures", lambda comparison, folder: [])
    folder = tmp_path / "new"
    journal = journal_path(folder)
    with open_runs(journal, dict, resume=False) as store:
        for one in example().runs:
            keep(store, one)
    assert journal == folder / "runs.sqlite"
    found = load(journal)
    assert found.runs == example().runs
    assert found.settings == {"tolerances": [1e-6], "interrupted": True}
    whole = journal.read_bytes()
    with pytest.raises(FileExistsError, match="continue it with resume=True"):
        journal_path(folder)
    with pytest.raises(ValueError, match="resume must not go with force=True"):
        journal_path(folder, force=True, resume=True)
    assert journal_path(folder, resume=True) == journal
    assert journal.exists()
    journal_path(folder, force=True)
    assert not journal.exists()
    journal.write_bytes(whole)
    part = comparison(*example().runs[:2], interrupted=True)
    assert [path.name for path in write_folder(part, folder).files] == ALWAYS
    assert journal.exists()  # there is something left to do
    with pytest.raises(FileExistsError, match="a comparison that was not finished"):
        journal_path(folder)
    journal_path(folder, resume=True)
    assert [path.name for path in write_folder(example(), folder, force=True).files] == ALWAYS
    assert not journal.exists()
    with pytest.raises(FileExistsError, match="holds results already"):
        journal_path(folder, resume=True)  # nothing is left to do


def test_what_is_no_store_or_that_of_something_else_is_no_comparison(tmp_path):
    path = tmp_path / "runs.sqlite"
    for line in ('{"comparison": 1}', "[]", "no"):
        path.write_text(f"{line}\n")
        with pytest.raises(ValueError, match="was left as it is"):
            load(path)
    path.unlink()
    sweep(draw, {"n": [1]}, store=path)
    with pytest.raises(ValueError, match="got: the store of another kind of run"):
        load(path)
