import json
import math
import os
import stat
import threading

import numpy as np
import pytest
from matplotlib.figure import Figure

from riemtr import files
from riemtr.files import (
    atomic_file,
    durable_file,
    remove_partial_files,
    save_figure,
    save_json,
    write_atomically,
)


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path):
    path = tmp_path / "run.json"
    path.write_text("old")
    with pytest.raises(TypeError):
        write_atomically(path, "text, not bytes")
    assert [file.name for file in tmp_path.iterdir()] == ["run.json"]
    assert path.read_text() == "old"


def test_an_interrupted_write_leaves_the_old_file_and_no_other(tmp_path):
    path = tmp_path / "A.npy"
    path.write_bytes(b"old")

    def write():
        with atomic_file(path) as file:
            file.write(b"half of the")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write()
    assert [file.name for file in tmp_path.iterdir()] == ["A.npy"]
    assert path.read_bytes() == b"old"


def test_the_file_takes_its_name_once_it_is_complete(tmp_path):
    path = tmp_path / "A.npy"
    path.write_bytes(b"old")
    with atomic_file(path) as file:
        file.write(b"new")
        file.flush()
        assert path.read_bytes() == b"old"
        number = os.fstat(file.fileno()).st_ino
    assert path.read_bytes() == b"new"
    assert path.stat().st_ino == number  # renamed, not copied


def test_two_threads_write_two_files(tmp_path):
    path, names = tmp_path / "A.npy", []

    def write():
        with atomic_file(path) as file:
            names.append(file.name)

    with atomic_file(path) as file:
        thread = threading.Thread(target=write)
        thread.start()
        thread.join()
    assert names[0] != file.name
    assert [each.name for each in tmp_path.iterdir()] == ["A.npy"]


def test_a_durable_file_is_on_the_disk_before_its_name_is(tmp_path, monkeypatch):
    path, order = tmp_path / "run.npz", []

    def replace(source, target, real=os.replace):
        order.append("named")
        real(source, target)

    def fsync(descriptor):
        found = os.fstat(descriptor)
        order.append("folder" if stat.S_ISDIR(found.st_mode) else found.st_size)

    monkeypatch.setattr(files.os, "replace", replace)
    monkeypatch.setattr(files.os, "fsync", fsync)
    with durable_file(path) as file:
        file.write(b"all of it")
    assert order == [9, "named", *(["folder"] if os.name == "posix" else [])]
    assert path.read_bytes() == b"all of it"


def test_an_interrupted_durable_write_leaves_the_old_file_and_no_other(tmp_path):
    path = tmp_path / "run.npz"
    path.write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt), durable_file(path):
        raise KeyboardInterrupt
    assert [file.name for file in tmp_path.iterdir()] == ["run.npz"]
    assert path.read_bytes() == b"old"


def test_what_a_killed_writer_left_is_removed_and_nothing_else(tmp_path):
    path = tmp_path / "run[1].npz"
    others = ["run1.npz", ".run1.npz.7-8.partial", ".run[1].npz.mine.partial", "run[1].npz"]
    for name in others:
        (tmp_path / name).touch()
    writing = atomic_file(path)
    left = writing.__enter__()  # and never leaves
    assert len(list(tmp_path.iterdir())) == 5
    remove_partial_files(path)
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted(others)
    left.close()


def test_figures_are_png_files(tmp_path):
    figure = Figure()
    figure.subplots().plot([1, 2])
    assert save_figure(tmp_path / "a.png", figure).read_bytes().startswith(b"\x89PNG")


def test_json_is_strict(tmp_path):
    path = save_json(
        tmp_path / "a.json",
        {"a": np.float32(1.5), "b": [math.inf, np.int64(2)], "c": {"d": np.eye(1)}, "e": tmp_path},
    )
    expected = {"a": 1.5, "b": [None, 2], "c": {"d": [[1.0]]}, "e": str(tmp_path)}
    assert json.loads(path.read_text()) == expected


def test_an_error_names_the_file_that_was_asked_for(tmp_path):
    target = tmp_path / "missing" / "run.npz"
    with pytest.raises(FileNotFoundError) as caught, atomic_file(target):
        pass
    assert caught.value.filename == str(target)
