"""The journal: atomic, free of pickles, and honest about what it belongs to."""

import os
import pickle
import zipfile

import numpy as np
import pytest

import riemtr.recovery.checkpoint as checkpoint
from riemtr.file_lock import InUseError
from riemtr.recovery.checkpoint import FileJournal, Journal, fingerprint, stored_settings

SETTINGS = {"mu": 0.01, "seed": 2**120, "rank": None}


def record(value):
    return {"point": np.array([value, np.pi, -0.0, np.nan]), "cost": value / 3, "status": "ok"}


def same(a, b):
    return all(
        np.array_equal(a[k], b[k], equal_nan=True) if isinstance(a[k], np.ndarray) else a[k] == b[k]
        for k in a
    )


def test_work_is_done_once():
    journal, calls = Journal(), []
    for _ in range(2):
        assert journal.recall("a", lambda: calls.append(1) or record(1.0))["status"] == "ok"
    assert len(calls) == 1


def test_what_was_worked_out_is_recalled_bit_for_bit(tmp_path):
    path = tmp_path / "run.npz"
    first = FileJournal(path, SETTINGS)
    stored = {name: first.recall(name, lambda v=v: record(v)) for name, v in (("a", 0.1), ("b", 2))}
    first.close()
    second = FileJournal(path, SETTINGS)
    for name, value in stored.items():
        assert same(second.recall(name, lambda: pytest.fail("was known")), value)
    assert stored_settings(path) == SETTINGS


def test_it_holds_no_pickles_and_leaves_no_temporary_file(tmp_path):
    path = tmp_path / "run.npz"
    journal = FileJournal(path, SETTINGS)
    journal.recall("a", lambda: record(1.0))
    journal.close()
    assert os.listdir(tmp_path) == ["run.npz"]
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            assert b"'O'" not in archive.read(name)[:128]
    with np.load(path, allow_pickle=False) as file:
        assert all(file[name].dtype != object for name in file.files)


def test_other_settings_are_an_error_that_lists_them(tmp_path):
    path = tmp_path / "run.npz"
    FileJournal(path, SETTINGS).close()
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"different run \(mu: 0.01 there, 0.02 here\)"):
        FileJournal(path, {**SETTINGS, "mu": 0.02})
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "kind", ["text", "pickle", "empty", "npz", "npy", "truncated", "directory"]
)
def test_foreign_files_are_never_overwritten(tmp_path, kind):
    path = tmp_path / "mine"
    if kind == "directory":
        path.mkdir()
    elif kind == "npz":
        with open(path, "wb") as file:
            np.savez(file, json=np.arange(3))
    elif kind == "npy":
        with open(path, "wb") as file:
            np.save(file, np.arange(3))
    elif kind == "truncated":
        FileJournal(path, SETTINGS).close()
        path.write_bytes(path.read_bytes()[:-40])
    else:
        contents = {"text": b"my thesis", "pickle": pickle.dumps([1]), "empty": b""}
        path.write_bytes(contents[kind])
    before = None if kind == "directory" else path.read_bytes()
    with pytest.raises(ValueError, match="left as it is: choose another path"):
        FileJournal(path, SETTINGS)
    assert kind == "directory" or path.read_bytes() == before


def test_a_crash_while_writing_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "run.npz"
    monkeypatch.setattr(checkpoint, "_SECONDS_BETWEEN_WRITES", 0.0)
    journal = FileJournal(path, SETTINGS)
    journal.recall("a", lambda: record(1.0))
    before = path.read_bytes()

    def crash(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", crash)
    with pytest.warns(UserWarning, match=r"run\.npz' could not be written \(disk full\)"):
        assert journal.recall("b", lambda: record(2.0))["cost"] == 2.0 / 3
    assert path.read_bytes() == before
    journal.recall("c", lambda: record(3.0))  # it is said once
    journal.close()
    assert path.read_bytes() == before


def test_two_journals_of_one_file_are_an_error_that_names_the_other(tmp_path):
    path = tmp_path / "run.npz"
    first = FileJournal(path, SETTINGS)
    with pytest.raises(InUseError, match=f"checkpoint .* is in use .*process {os.getpid()}"):
        FileJournal(path, SETTINGS)
    first.close()
    with pytest.raises(ValueError, match="different run"):
        FileJournal(path, {**SETTINGS, "mu": 0.02})
    FileJournal(path, SETTINGS).close()  # what was refused holds no lock
    assert os.listdir(tmp_path) == ["run.npz"]


def test_only_what_killed_writers_left_is_removed(tmp_path):
    path = tmp_path / "run.npz"
    names = {
        ".run.npz.12-34.partial": False,
        ".run.npz.2024-notes.partial": True,
        "a.partial": True,
    }
    for name in names:
        (tmp_path / name).write_text("")
    FileJournal(path, SETTINGS).close()
    assert {name: (tmp_path / name).exists() for name in names} == names


def test_what_differs_of_a_solver_is_named(tmp_path):
    path = tmp_path / "run.npz"
    here = {**SETTINGS, "solver": {"": "Mine", "limit": "1", "part.rule": "'a'"}}
    FileJournal(path, here).close()
    other = {**SETTINGS, "solver": {"": "Mine", "limit": "500", "part.rule": "'a'"}}
    with pytest.raises(ValueError, match=r"run \(solver\.limit: 1 there, 500 here\)"):
        FileJournal(path, other)
    with pytest.raises(ValueError, match=r"run \(solver: 'Mine' there, None here\)"):
        FileJournal(path, {**SETTINGS, "solver": None})


def test_an_unwritable_path_is_found_out_at_once(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"a folder that exists; .*: create it first"):
        FileJournal(tmp_path / "no" / "such" / "folder.npz", SETTINGS)


def test_fingerprint_sees_every_bit_shape_and_type_but_not_the_layout():
    Y = np.random.default_rng(0).standard_normal((4, 6))
    other = Y.copy()
    other[2, 3] = np.nextafter(other[2, 3], 1)
    prints = [fingerprint(a) for a in (Y, other, Y.reshape(6, 4), Y.astype(np.float32))]
    assert len(set(prints)) == 4
    assert fingerprint(np.asfortranarray(Y)) == prints[0]
