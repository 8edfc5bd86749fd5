import importlib.util
import pickle
import sys

import pytest

from riemtr.sweep import workers
from riemtr.sweep.cells import Cell
from riemtr.sweep.workers import pack, run_packed
from tests.sweep import tasks

CELL = Cell("t", {"n": 4}, 0)


def test_a_task_travels_by_its_name_and_finds_the_cells_randomness():
    packed = pack(tasks.draw)
    assert len(packed) < 100
    assert run_packed(packed, CELL).values == {"x": CELL.rng().random(), "twice": 8}


def test_a_task_that_cannot_be_imported_is_a_failure_and_not_a_crash():
    outcome = run_packed(b"cnothing\nat_all\n.", CELL)
    assert str(outcome.failure) == "ModuleNotFoundError: No module named 'nothing'"


def test_a_module_that_leaves_python_is_a_failure_and_not_a_crash():
    assert run_packed(b"csys\nexit\n(I3\ntR.", CELL).failure.kind == "SystemExit"


def test_functions_of_the_main_program_travel_as_code():
    namespace = {"__name__": "__main__"}
    exec("def task(rng, n):\n    return {'x': n + 1}", namespace)
    assert run_packed(pack(namespace["task"]), CELL).values == {"x": 5}


def test_to_other_machines_a_loose_file_travels_as_code(tmp_path, monkeypatch):
    path = tmp_path / "loose_file.py"
    path.write_text("offset = 3\ndef task(rng, n):\n    return {'x': n + offset}\n")
    spec = importlib.util.spec_from_file_location("loose_file", path)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "loose_file", module)
    spec.loader.exec_module(module)
    by_name, by_value = pack(module.task), pack(module.task, by_value=True)
    assert pack(module.task) == by_name  # for this one time only
    monkeypatch.delitem(sys.modules, "loose_file")  # as on a machine without the file
    assert run_packed(by_value, CELL).values == {"x": 7}
    with pytest.raises(ModuleNotFoundError):
        pickle.loads(by_name)


def test_blas_is_held_to_one_thread():
    threadpoolctl = pytest.importorskip("threadpoolctl")
    packed, cell = pack(tasks.threads), Cell("t", {}, 0)
    for _ in range(2):  # the second time as if another thread had its own limit
        with threadpoolctl.threadpool_limits(2):
            assert run_packed(packed, cell).values == {"threads": 1}
            assert tasks.threads(None) == {"threads": 1}


@pytest.mark.parametrize("gone", [True, False])
def test_a_worker_ends_with_its_parent_even_if_that_is_gone_already(gone, monkeypatch):
    ended = []
    parents = iter([1] if gone else [7, 7, 1])
    monkeypatch.setattr(workers.os, "getppid", lambda: next(parents))
    monkeypatch.setattr(workers.time, "sleep", lambda seconds: None)
    monkeypatch.setattr(workers.os, "_exit", ended.append)
    workers._end_with(7)
    assert ended == [1]
