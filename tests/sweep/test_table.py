import csv

import numpy as np

from riemtr.store import read_store
from riemtr.sweep import sweep
from riemtr.sweep.cells import Failure, Outcome, make_cells
from riemtr.sweep.table import Table, read
from tests.sweep import tasks

CELLS = make_cells("t", {"n": [1, 2], "kind": ["a"]}, seeds=[0, 1])
TABLE = Table(
    (
        Outcome(CELLS[0], {"x": 0.1, "ok": True}, None, 2.0),
        Outcome(CELLS[1], {}, Failure("KeyError", "a, b")),
        Outcome(CELLS[2], {"x": 3, "note": "hm"}),
        Outcome(CELLS[3], {"x": np.nan, "ok": False}),
    )
)


def test_columns_are_arrays_of_equal_length():
    columns = TABLE.columns
    assert list(columns) == ["n", "kind", "seed", "x", "ok", "note", "cell_seconds", "failure"]
    np.testing.assert_array_equal(columns["n"], [1, 1, 2, 2])
    assert columns["n"].dtype.kind == "i"
    np.testing.assert_array_equal(columns["x"], [0.1, np.nan, 3.0, np.nan])
    np.testing.assert_array_equal(columns["ok"], [1.0, np.nan, np.nan, 0.0])
    assert list(columns["note"]) == [None, None, "hm", None]
    assert list(columns["failure"]) == [None, "KeyError: a, b", None, None]
    assert [outcome.cell for outcome in TABLE.failed] == [CELLS[1]]
    assert Table(()).columns == {}


def test_csv_reads_back(tmp_path):
    with TABLE.to_csv(tmp_path / "t.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["x"] for row in rows] == ["0.1", "", "3", "nan"]
    assert rows[1]["failure"] == "KeyError: a, b"
    assert rows[0]["cell_seconds"] == "2.0"


def test_text_that_no_encoding_knows_is_written_as_its_code(tmp_path):
    table = Table((Outcome(CELLS[0], {"name": "a\udcff"}),))
    assert b"a\\udcff" in table.to_csv(tmp_path / "t.csv").read_bytes()


def test_the_order_does_not_depend_on_how_the_grid_was_written(tmp_path):
    path = tmp_path / "a.sqlite"
    sweep(tasks.slow, {"n": [1, 3], "pause": [0.0]}, store=path)
    sweep(tasks.slow, {"pause": [0.0], "n": [1, 2, 3]}, store=path, resume=True)
    assert [row["n"] for row in read(path).rows] == [1, 2, 3]


def test_a_store_reads_in_the_order_of_the_settings(tmp_path):
    path = tmp_path / "a.sqlite"
    table = sweep(tasks.draw, {"n": [1, 2, 10]}, repetitions=2, store=path, cost=lambda s: s["n"])
    kept = [record["settings"]["n"] for record in read_store(path)[1].values() if "seed" in record]
    assert kept == [10, 10, 2, 2, 1, 1]  # largest first
    assert tasks.summary(read(path)) == tasks.summary(table)
