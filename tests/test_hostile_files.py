"""Files that are damaged, or made to do harm, end in one sentence: for every reader."""

from __future__ import annotations

import io
import json
import os
import sqlite3
import zipfile
import zlib

import numpy as np
import pytest
import scipy.io
import scipy.sparse
from PIL import Image
from typer.testing import CliRunner

import riemtr
import riemtr.compare
from riemtr.cli.app import app
from riemtr.compare import load
from riemtr.data import load_image
from riemtr.errors import FileContentError
from riemtr.files import reading
from riemtr.problems.pose_graph import read_g2o
from riemtr.recovery.datafiles import read_data
from riemtr.store import Store, _checksum, read_store
from riemtr.sweep import read, sweep
from tests.sweep.tasks import draw

Y = np.random.default_rng(0).standard_normal((4, 50))


def npy(array):
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    return file.getvalue()


def announcing(shape, descr="<f8"):
    """Return an array of a few bytes whose header announces another shape."""
    file = io.BytesIO()
    header = {"descr": descr, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)
    return file.getvalue() + bytes(64)


PICKLE = npy(np.array([[{}, 1]], dtype=object))
ARRAYS = {
    "nothing": b"",
    "a text": b"1 2 3",
    "noise": np.random.default_rng(1).bytes(500),
    "cut in its header": npy(Y)[:40],
    "cut in its numbers": npy(Y)[:-30],
    "of Python objects": PICKLE,
    "of 8 TB": announcing((10**6, 10**6)),
    "of a negative size": announcing((-4, 5)),
    "of more bytes than a number holds": announcing((2**40, 2**40)),
    "of no bytes each": announcing((10**12, 2), "|S0"),
    "of texts": npy(np.array([["a", "b"], ["c", "d"]])),
    "with a deep header": b"\x93NUMPY\x01\x00\x10\x27" + b"(" * 10000,
    "of an unknown version": b"\x93NUMPY\x09\x00" + npy(Y)[8:],
}


def archive(members, method=zipfile.ZIP_STORED):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as whole:
        for name, content in members:
            whole.writestr(name, content)
    return file.getvalue()


def with_field(content, local, central, value):
    """Return an archive with two bytes of the headers of all members replaced."""
    content = bytearray(content)
    for magic, place in ((b"PK\x03\x04", local), (b"PK\x01\x02", central)):
        at = content.find(magic)
        while at >= 0:
            content[at + place : at + place + 2] = value.to_bytes(2, "little")
            at = content.find(magic, at + 1)
    return bytes(content)


def archives(name, array, others=()):
    """Return hostile archives whose arrays have the names that a reader looks for."""
    whole = archive([(f"{name}.npy", array), *others])
    return {
        "nothing": b"",
        "a beginning": b"PK\x03\x04 no archive",
        "no member": archive([]),
        "cut short": whole[: len(whole) // 2],
        "encrypted": with_field(whole, 6, 8, 1),
        "packed in an unknown way": with_field(whole, 8, 10, 99),
        "packed, but it is not": with_field(whole, 8, 10, 8),
        "two of one name": archive([(f"{name}.npy", array), (name, array), *others]),
        "flipped bits": whole.replace(array[-9:], bytes(9)),
        **{
            f"an array {kind}": archive([(f"{name}.npy", content), *others])
            for kind, content in ARRAYS.items()
        },
    }


def saved_result(tmp_path):
    case = riemtr.problems.build("rayleigh", rng=0, n=4)
    result = riemtr.PracticalTRM().solve(case.problem, case.start)
    assert result.certified
    result.save(tmp_path / "good.npz")
    with np.load(tmp_path / "good.npz") as file:
        return {name: file[name] for name in file.files}


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    return saved_result(tmp_path_factory.mktemp("good"))


CHANGES = {
    **{
        f"{name} is {value!r}": {name: value}
        for name in ("cost", "gradient_norm", "iterations", "seconds", "status", "size", "counts")
        for value in (None, "x", [1.0], {"a": 1}, True)
    },
    **{
        f"{name} is {value!r}": {name: value}
        for name in ("point", "tolerances", "format", "certificate", "bounds", "distance")
        for value in (1.5, "x", [])
    },
    "a count is a text": {"counts": {"costs": "1"}},
    "another count": {"counts": {"cost": 1}},
    "a tolerance is null": {"tolerances": {"gradient": None, "relative": 0.0, "curvature": {}}},
    "a status of its own": {"status": "SOLVED"},
    "a point of nothing": {"point": [[], []]},
    "a point of names": {"point": {"names": ["a", "b"], "parts": ["point"]}},
    "a point without names": {"point": {"parts": ["point"]}},
    "a point elsewhere": {"point": "elsewhere"},
    "flat directions are a text": {"flat_directions": "3"},
    "a direction elsewhere": {"direction": "elsewhere"},
}
JSON = {
    "a list": b"[1]",
    "null": b"null",
    "a number": b"3",
    "a text": b'"x"',
    "empty": b"",
    "torn": b'{"format": 1, "point": ',
    "deep": b"[" * 100000,
    "deep and whole": b"[" * 900 + b"]" * 900,
    "deep within": b'{"format": 1, "point": ' + b"[" * 900 + b"]" * 900 + b"}",
    "not in UTF-8": b"\xff\xfe\x00",
    "a long number": b"1" * 10000,
}


def result_file(arrays, **changes):
    """Return the bytes of a result with other numbers and arrays."""
    known = {**json.loads(str(arrays["result"])), **changes}
    file = io.BytesIO()
    np.savez(file, **{**arrays, "result": np.array(json.dumps(known))})
    return file.getvalue()


def refused(call, path):
    """Check that a reader raises one sentence that names the file, within bounds of memory."""
    with pytest.raises((ValueError, OSError)) as caught:
        call(path)
    said = str(caught.value)
    assert path.name in said
    assert len(said.splitlines()) == 1


def refused_by(*command):
    """Check that a command prints one line and ends with 2; return the line."""
    outcome = CliRunner().invoke(app, list(map(str, command)))
    assert outcome.exit_code == 2, outcome.output
    assert outcome.exception is None or isinstance(outcome.exception, SystemExit)
    (line,) = outcome.stderr.splitlines()
    assert line.startswith("error: ")
    return line


def refused_result(path):
    refused(riemtr.load_result, path)
    refused_by("solve", "rayleigh", "-p", "n=4", "--start", path)


@pytest.mark.parametrize("how", archives("result", npy(np.array("{}"))))
def test_a_hostile_archive_is_no_result(how, tmp_path):
    path = tmp_path / "run.npz"
    path.write_bytes(archives("result", npy(np.array("{}")))[how])
    refused_result(path)


@pytest.mark.parametrize("how", JSON)
def test_a_hostile_text_is_no_result(how, good, tmp_path):
    path = tmp_path / "run.npz"
    text = np.array(JSON[how].decode(errors="replace"))
    np.savez(path, **{**good, "result": text})
    refused_result(path)


@pytest.mark.parametrize("how", CHANGES)
def test_null_and_text_are_no_numbers_of_a_result(how, good, tmp_path):
    path = tmp_path / "run.npz"
    path.write_bytes(result_file(good))
    assert riemtr.load_result(path).certified
    path.write_bytes(result_file(good, **CHANGES[how]))
    refused_result(path)


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("point", np.array([np.nan, 0.0])),
        ("point", np.array(["a", "b"])),
        ("direction", np.array(["a"])),
        ("history/cost", np.ones(2)),
        ("history/cost", np.ones((2, 2))),
    ],
)
def test_arrays_of_a_result_are_numbers(name, array, good, tmp_path):
    path = tmp_path / "run.npz"
    path.write_bytes(result_file({**good, name: array}))
    refused_result(path)


@pytest.mark.parametrize("kind", ARRAYS)
def test_a_hostile_array_is_no_start_and_no_data(kind, tmp_path):
    path = tmp_path / "Y.npy"
    path.write_bytes(ARRAYS[kind])
    refused_by("solve", "rayleigh", "-p", "n=4", "--start", path)
    refused_by("recover", path, "--out", tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("how", archives("Y", npy(Y)))
def test_a_hostile_archive_is_no_data(how, tmp_path):
    path = tmp_path / "Y.npz"
    path.write_bytes(archives("Y", npy(Y))[how])
    with pytest.raises(ValueError, match=r"Y|npz"):
        read_data(str(path))
    refused_by("recover", path, "--out", tmp_path / "out")


def sparse_with(**changes):
    matrix = scipy.sparse.csr_matrix(np.eye(6))
    file = io.BytesIO()
    arrays = {name: getattr(matrix, name) for name in ("data", "indices", "indptr")}
    np.savez(file, **{"format": "csr", "shape": matrix.shape, **arrays, **changes})
    return file.getvalue()


WRAPPING = np.array([0, 2**63 - 1, -2, 3, 4, 5, 6])
SPARSE = {
    "an index outside": {"indices": np.array([0, 1, 2, 3, 4, 10**6])},
    "a negative index": {"indices": np.array([0, 1, 2, 3, 4, -3])},
    "rows that wrap": {"indptr": WRAPPING},
    "rows that fall": {"indptr": np.array([0, 3, 2, 3, 4, 5, 6])},
    "rows beyond the entries": {"indptr": np.array([0, 1, 2, 3, 4, 5, 600])},
    "a shape of terabytes": {"shape": (10**6, 10**6)},
    "a format of its own": {"format": "own"},
}


@pytest.mark.parametrize("how", SPARSE)
def test_a_hostile_sparse_matrix_is_no_data(how, tmp_path):
    path = tmp_path / "Y.npz"
    path.write_bytes(sparse_with(**SPARSE[how]))
    refused(lambda path: read_data(str(path)), path)


def mat():
    file = io.BytesIO()
    scipy.io.savemat(file, {"Y": Y})
    return file.getvalue()


def sparse_mat():
    """Return a sparse matrix of MATLAB with an index outside of it."""
    matrix = scipy.sparse.csc_matrix(np.eye(6))
    matrix.indices[-1] = 10**6
    file = io.BytesIO()
    scipy.io.savemat(file, {"Y": matrix})
    return file.getvalue()


MATLAB = {
    "nothing": b"",
    "noise": np.random.default_rng(2).bytes(700),
    "cut short": mat()[:300],
    "cut in its header": mat()[:100],
    "of terabytes": mat()[:128] + b"\xff" * 200,
    "packed, but it is not": mat()[:128] + (15).to_bytes(4, "little") + bytes(300),
    "sparse, with an index outside": sparse_mat(),
}


@pytest.mark.parametrize("how", MATLAB)
def test_a_hostile_matlab_file_is_no_data(how, tmp_path):
    path = tmp_path / "Y.mat"
    path.write_bytes(MATLAB[how])
    with pytest.raises((ValueError, OSError)):
        read_data(str(path))
    refused_by("recover", path, "--out", tmp_path / "out")


@pytest.mark.parametrize("content", [b"", b"\x00" * 90, b"\xff\xfe", b"null,1\n2,3\n", b"1,2\n3\n"])
def test_a_hostile_table_is_no_data(content, tmp_path):
    path = tmp_path / "Y.csv"
    path.write_bytes(content)
    refused(lambda path: read_data(str(path)), path)
    refused_by("recover", path, "--out", tmp_path / "out")


def picture():
    file = io.BytesIO()
    Image.fromarray(np.zeros((20, 20), np.uint8)).save(file, "PNG")
    return file.getvalue()


def vast():
    """Return a picture of 10 GB in a hundred bytes."""
    content = bytearray(picture())
    content[16:24] = (10**5).to_bytes(4, "big") * 2
    content[29:33] = zlib.crc32(content[12:29]).to_bytes(4, "big")
    return bytes(content)


@pytest.mark.parametrize("content", [b"", b"noise", picture()[:48], picture()[:30], vast()])
def test_a_hostile_picture_is_no_data(content, tmp_path):
    path = tmp_path / "a.png"
    path.write_bytes(content)
    refused(load_image, path)
    refused_by("recover", path, "--out", tmp_path / "out")


def edge(*numbers):
    return f"EDGE_SE2 {' '.join(map(str, numbers))}\n".encode()


IDENTITY = (1, 0, 0, 1, 0, 1)
GRAPHS = {
    "nothing": b"",
    "noise": np.random.default_rng(3).bytes(500),
    "text for a number": edge(0, 1, "null", 0, 0, *IDENTITY),
    "too few numbers": edge(0, 1, 0),
    "NaN": edge(0, 1, "nan", 0, 0, *IDENTITY),
    "half a node": edge(0, 0.5, 0, 0, 0, *IDENTITY),
    "a node beyond all whole numbers": edge(0, 1e300, 0, 0, 0, *IDENTITY),
    "information that overflows": edge(0, 1, 0, 0, 0, 1e308, 1e308, 1e308, 1e308, 1e308, 1e308),
    "no information": edge(0, 1, 0, 0, 0, *[0] * 6),
    "a quaternion of infinite length": b"EDGE_SE3:QUAT 0 1 0 0 0 1e200 1e200 0 0 "
    + b"1 0 0 0 0 0 1 0 0 0 0 1 0 0 0 1 0 0 1 0 1",
}


@pytest.mark.parametrize("how", GRAPHS)
def test_a_hostile_graph_is_no_problem(how, tmp_path):
    path = tmp_path / "a.g2o"
    path.write_bytes(GRAPHS[how])
    with pytest.raises(ValueError, match=r"file must|g2o must"):
        read_g2o(path)
    refused_by("solve", "pose-graph", "-p", f"file={path}")


RUN = {
    **{"problem": "rayleigh", "solver": "mine", "start": 0, "kind": "random", "outcome": "ended"},
    **{"status": "", "claimed": True, "verdict": "minimizer", "reached": [], "counts": {}},
}
WHOLE = {"format": "riemtr comparison 1", "settings": {}, "environment": {}, "runs": [RUN]}
COMPARISONS = {
    **JSON,
    **{
        f"{name} is {value!r}": {**WHOLE, name: value} for name in WHOLE for value in (None, "x", 3)
    },
    **{
        f"a run's {name} is {value!r}": {**WHOLE, "runs": [{**RUN, name: value}]}
        for name in (*RUN, "seconds", "cost", "trajectory", "iterations")
        for value in ({"a": "b"}, [["x"]], 1.5 if name not in ("seconds", "cost") else "x")
    },
    **{
        f"{name} of settings is {value!r}": {**WHOLE, "settings": {name: value}}
        for name in ("problems", "solvers", "tolerances", "not_applicable", "command")
        for value in (3, ["x"], [{"solver": "mine"}])
    },
    "a trajectory of several lengths": {
        **WHOLE,
        "runs": [{**RUN, "trajectory": {"seconds": [1.0], "cost": []}}],
    },
    "a trajectory without a column": {**WHOLE, "runs": [{**RUN, "trajectory": {"seconds": []}}]},
    "an error as a text": {**WHOLE, "runs": [{**RUN, "details": {"rounded_error": "x"}}]},
    "a run without a solver": {**WHOLE, "runs": [{"problem": "a"}]},
}


@pytest.mark.parametrize("how", COMPARISONS)
def test_a_hostile_text_is_no_comparison(how, tmp_path):
    path, content = tmp_path / "comparison.json", COMPARISONS[how]
    path.write_text(json.dumps(WHOLE))
    assert len(load(path).runs) == 1
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    refused(load, path)


def forged(path, key, content, blob=b""):
    """Add a record to a store, with the checksum that belongs to it."""
    row = (key.encode(), content, blob)
    with sqlite3.connect(path) as connection:
        connection.execute(
            "INSERT INTO records (key, json, blob, checksum) VALUES (?, ?, ?, ?)",
            (*row, _checksum(row)),
        )
    connection.close()


RECORDS = {
    **{f"JSON: {how}": (content, b"") for how, content in JSON.items()},
    "arrays without names": (b"[{}, 3]", b""),
    "a name that is no text": (b"[{}, [3]]", b""),
    "more names than arrays": (b'[{}, ["a", "b"]]', npy(Y)),
    **{
        f"an array {how}": (b'[{}, ["a"]]', content)
        for how, content in ARRAYS.items()
        if how != "of texts"
    },
}


@pytest.mark.parametrize("how", RECORDS)
def test_a_hostile_record_is_refused(how, tmp_path):
    path = tmp_path / "runs.sqlite"
    with Store(path, {"of": "comparison"}) as store:
        store.keep({"a": {"value": 1}})
    forged(path, "b", *RECORDS[how])
    for call in (read_store, load, lambda path: Store(path, {"of": "comparison"}, resume=True)):
        refused(call, path)


@pytest.mark.parametrize("content", [b"noise", b"SQLite format 3\0" + bytes(200), b""])
def test_a_hostile_store_ends_a_command_in_one_line(content, tmp_path):
    for name, command in {
        "runs.sqlite": ("compare", "rayleigh:n=4", "--starts", 1, "--resume"),
        "cells.sqlite": ("sweep", "tests.sweep.tasks:draw", "-g", "n=1", "--resume"),
        "checkpoint.sqlite": ("recover", tmp_path / "Y.npy"),
    }.items():
        np.save(tmp_path / "Y.npy", Y)
        (tmp_path / "out").mkdir(exist_ok=True)
        (tmp_path / "out" / name).write_bytes(content)
        assert name in refused_by(*command, "--out", tmp_path / "out")
        (tmp_path / "out" / name).unlink()


@pytest.mark.parametrize(
    "changes",
    [
        {"seconds": "1"},
        {"settings": [1]},
        {"settings": {"n": [1]}},
        {"values": None},
        {"failure": {"kind": 1}},
        {"seed": "x"},
        {"made_with": None},
    ],
)
def test_a_hostile_cell_is_refused(changes, tmp_path):
    path = tmp_path / "cells.sqlite"
    sweep(draw, {"n": [1]}, store=path)
    record = next(record for record in read_store(path)[1].values() if "settings" in record)
    forged(path, "a", json.dumps([{**record, **changes}, []]).encode())
    refused(read, path)
    refused(lambda path: sweep(draw, {"n": [1]}, store=path, resume=True), path)


@pytest.mark.parametrize(
    ("call", "suffix"),
    [
        (riemtr.load_result, "npz"),
        (load, "json"),
        (load, "sqlite"),
        (read_g2o, "g2o"),
        (lambda path: read_data(str(path)), "npy"),
        (lambda path: read_data(str(path)), "npz"),
        (lambda path: read_data(str(path)), "mat"),
        (lambda path: read_data(str(path)), "csv"),
        (load_image, "png"),
        (read, "sqlite"),
    ],
)
def test_neither_a_folder_nor_nothing_is_a_file(call, suffix, tmp_path):
    path = tmp_path / f"a.{suffix}"
    with pytest.raises((OSError, ValueError), match=rf"a\.{suffix}"):
        call(path)
    path.mkdir()
    with pytest.raises((OSError, ValueError), match=rf"a\.{suffix}"):
        call(path)


def test_an_error_of_the_system_without_a_name_gets_one(tmp_path):
    """As of a place before the beginning of the file, to which a damaged archive leads."""
    with (
        pytest.raises(FileContentError, match=r"a\.npz must be .* Invalid argument"),
        reading(tmp_path / "a.npz", "an archive"),
        open(__file__, "rb") as file,
    ):
        os.lseek(file.fileno(), -1, os.SEEK_SET)


def test_a_flipped_bit_is_never_another_error(good, tmp_path):
    """A sample of all bits: most are noticed, none in another way than by a FileContentError."""
    path, content = tmp_path / "run.npz", result_file(good)
    rng = np.random.default_rng(0)
    for bit in rng.choice(8 * len(content), 400, replace=False):
        damaged = bytearray(content)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        try:
            loaded = riemtr.load_result(path)
        except FileContentError:
            continue
        assert np.array_equal(loaded.point, good["point"])
