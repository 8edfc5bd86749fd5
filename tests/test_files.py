import csv
import errno
import io
import json
import math
import os
import threading

import numpy as np
import pytest
from matplotlib.figure import Figure

from riemtr.files import (
    atomic_file,
    csv_text,
    partial_path,
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


def full_disk(path):
    with atomic_file(path) as file:
        file.write(b"some")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_an_error_of_a_full_disk_names_the_file_too(tmp_path):
    with pytest.raises(OSError, match="No space left on device") as caught:
        full_disk(tmp_path / "run.npz")
    assert caught.value.filename == str(tmp_path / "run.npz")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("length", [244, 250, 255])
def test_names_as_long_as_a_file_system_allows_are_written(length, tmp_path):
    for letter in ("a", "é"):
        path = tmp_path / (letter * ((length - 4) // len(letter.encode())) + ".npz")
        write_atomically(path, b"whole")
        assert path.read_bytes() == b"whole"
    assert len(list(tmp_path.iterdir())) == 2


def test_names_that_begin_alike_have_partial_files_of_their_own(tmp_path):
    first, second = (partial_path(tmp_path / f"{'a' * 100}{end}") for end in "bc")
    assert first != second


def test_a_link_in_place_of_the_partial_file_is_not_followed(tmp_path):
    target, path = tmp_path / "target", tmp_path / "run.npz"
    target.write_text("precious")
    partial_path(path).symlink_to(target)
    write_atomically(path, b"whole")
    assert target.read_text() == "precious"
    assert not path.is_symlink()
    assert path.read_bytes() == b"whole"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["run.npz", "target"]


def test_an_error_without_a_number_names_the_file_too(tmp_path):
    def write():
        with atomic_file(tmp_path / "run.npz"):
            raise OSError("1600 requested and 1008 written")

    with pytest.raises(OSError, match="1600 requested and 1008 written") as caught:
        write()
    assert caught.value.filename == str(tmp_path / "run.npz")


@pytest.mark.parametrize(
    "text", ["=1+1", "=cmd|' /C calc'!A0", "+1+cmd", "-2+3", "@SUM(A1)", "\t=1", "\n=1", " =1"]
)
def test_no_cell_is_a_formula(text):
    ((cell,),) = csv.reader(io.StringIO(csv_text([[text]]), newline=""))
    assert cell == f"'{text}"


def test_a_carriage_return_begins_no_row():
    (row,) = csv.reader(io.StringIO(csv_text([["a\r=1+1", "b\r\nc", "\r=2"]]), newline=""))
    assert row == ["a\n=1+1", "b\nc", "'\n=2"]


def test_cells_that_are_no_formulas_are_kept():
    row = ["a=b", "-1.5", "+2e3", "-inf", -1.5, None, True, "", "a, b", "é"]
    (cells,) = csv.reader(io.StringIO(csv_text([row])))
    assert cells == ["a=b", "-1.5", "+2e3", "-inf", "-1.5", "", "True", "", "a, b", "é"]
