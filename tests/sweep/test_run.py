import importlib
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from riemtr.sweep import read, sweep
from tests.sweep import tasks

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "store" / "cells.sqlite"


@pytest.fixture
def calls(tmp_path):
    """Run the counting task; say how often it was called with each n."""
    folder = tmp_path / "calls"
    folder.mkdir()

    def run(ns, **options):
        for old in folder.iterdir():
            old.unlink()
        table = sweep(tasks.counted, {"folder": [str(folder)], "n": ns}, **options)
        return table, sorted(int(file.name.split("-")[0]) for file in folder.iterdir())

    return run


def test_each_cell_runs_once_with_its_own_randomness():
    table = sweep(tasks.draw, {"n": [1, 2, 3]}, repetitions=4)
    assert len(set(table.columns["x"])) == 12
    np.testing.assert_array_equal(table.columns["twice"], 2 * table.columns["n"])
    again = sweep(tasks.draw, {"n": [3, 2]}, seeds=[2])
    assert again.columns["x"][1] == table.columns["x"][4 + 2]  # a part gives the same numbers


def test_resuming_runs_only_what_is_missing(path, calls):
    table, ran = calls([1, 2, 3], repetitions=2, store=path)
    assert ran == [1, 1, 2, 2, 3, 3]
    with pytest.raises(FileExistsError, match="continue it with resume"):
        calls([1, 2, 3], repetitions=2, store=path)
    same, ran = calls([1, 2, 3], repetitions=2, store=path, resume=True)
    assert ran == []
    assert same == table == read(path)
    content = path.read_bytes()
    place = content.index(b'"settings"')
    path.write_bytes(content[:place] + b"?" + content[place + 1 :])  # a damaged record
    mended, ran = calls([1, 2, 3], repetitions=2, store=path, resume=True)
    assert len(ran) == mended.damaged == 1
    assert tasks.summary(mended) == tasks.summary(table)


def test_a_grid_can_be_extended(path, calls):
    small, _ = calls([1, 2], repetitions=2, store=path)
    large, ran = calls([0, 1, 2], repetitions=3, store=path, resume=True)
    assert ran == [0, 0, 0, 1, 2]
    assert all(outcome in large.outcomes for outcome in small.outcomes)
    with pytest.raises(ValueError, match="n: 0 there, 1, 2 here; seed: "):
        calls([1, 2], repetitions=2, store=path, resume=True)


def test_another_function_of_the_same_name_is_not_resumed(path, tmp_path, monkeypatch):
    def task(sign):
        for old in tmp_path.rglob("mine*"):
            if old.is_file():
                old.unlink()
        (tmp_path / "mine.py").write_text(f"def task(rng, n):\n    return {{'x': {sign}n}}\n")
        monkeypatch.delitem(sys.modules, "mine", raising=False)
        return importlib.import_module("mine").task

    monkeypatch.syspath_prepend(str(tmp_path))
    sweep(task("+"), {"n": [1, 2]}, store=path)
    changed = task("-")
    with pytest.raises(ValueError, match=r"store .* has results of other code"):
        sweep(changed, {"n": [1, 2]}, store=path, resume=True)
    mixed = sweep(changed, {"n": [1, 2, 3]}, store=path, accept_changes=True)
    assert list(mixed.columns["x"]) == [1, 2, -3]
    with pytest.raises(ValueError, match="since 1 of its 3 cells"):
        sweep(task("+"), {"n": [1, 2, 3]}, store=path, resume=True)


def test_a_failing_cell_does_not_stop_the_others_and_can_be_retried(path, tmp_path):
    def run(**options):
        grid = {"n": [2, 3, 4], "folder": [str(tmp_path)]}
        return sweep(tasks.picky, grid, store=path, **options)

    table = run()
    assert [o.failure and str(o.failure) for o in table.outcomes] == [
        None,
        "RuntimeError: cannot do 3",
        None,
    ]
    assert "picky" in table.outcomes[1].failure.traceback
    (tmp_path / "mended").touch()
    assert run(resume=True) == table
    seen = []
    mended = run(retry_failed=True, progress=seen.append)
    assert [(now.done, now.total) for now in seen] == [(2, 3), (3, 3)]
    assert mended.failed == []
    assert mended.outcomes[::2] == table.outcomes[::2]


def test_progress_is_reported(path):
    seen = []
    sweep(tasks.draw, {"n": [1, 2]}, store=path, progress=seen.append)
    sweep(tasks.draw, {"n": [1, 2, 3]}, store=path, resume=True, progress=seen.append)
    sweep(tasks.draw, {"n": [1, 2, 3]}, store=path, resume=True, progress=seen.append)
    assert [(p.done, p.total) for p in seen] == [(0, 2), (1, 2), (2, 2), (2, 3), (3, 3), (3, 3)]
    assert seen[2].detail.cell.settings == {"n": 2}


def interrupting(rng, n):
    if n == 3:
        os.kill(os.getpid(), signal.SIGINT)
    return {}


def swallowing(rng, n):
    if n == 3:
        try:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(5)
        except KeyboardInterrupt:
            pass
    return {"half done": n == 3}


@pytest.mark.parametrize("task", [interrupting, swallowing])
def test_ctrl_c_keeps_what_is_done_and_says_how_to_go_on(path, task):
    with pytest.raises(
        KeyboardInterrupt, match=r"2 of 4 cells are kept in '.*cells.sqlite'; repeat"
    ):
        sweep(task, {"n": [1, 2, 3, 4]}, store=path)
    assert [row["n"] for row in read(path).rows] == [1, 2]
    assert sorted(path.parent.iterdir()) == [path]  # no lock
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def dying(rng, n):
    if n == 3:
        raise KeyboardInterrupt
    return {"x": 10**5000 if n == 2 else n}


def test_nothing_that_a_task_does_stops_the_sweep(path):
    table = sweep(dying, {"n": [1, 2, 3, 4]}, store=path)
    assert [o.failure and o.failure.kind for o in table.outcomes] == [
        None,
        "ValueError",
        "KeyboardInterrupt",
        None,
    ]
    assert read(path) == table


def test_ctrl_c_in_the_first_cell_leaves_nothing_behind(path):
    with pytest.raises(KeyboardInterrupt, match="interrupted before the first cell had ended"):
        sweep(interrupting, {"n": [3, 4]}, store=path)
    assert not path.parent.exists()


def test_a_second_ctrl_c_does_not_disturb_the_first(path, monkeypatch):
    def shutdown(executor):
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr("riemtr.executors.Workers.stop", staticmethod(shutdown))
    with pytest.raises(KeyboardInterrupt, match="2 of 4 cells are kept"):
        sweep(interrupting, {"n": [1, 2, 3, 4]}, store=path)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_blas_has_one_thread_and_is_set_free_again():
    threadpoolctl = pytest.importorskip("threadpoolctl")
    with threadpoolctl.threadpool_limits(2):
        before = tasks.threads(None)
        assert before["threads"] == 2
        assert sweep(tasks.threads, [{}]).rows[0]["threads"] == 1
        assert tasks.threads(None) == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"backend": "threads"}, "backend must be one of 'dask', 'processes', 'serial'"),
        ({"n_jobs": 2}, "for more, use backend='processes'"),
        ({"n_jobs": 0}, "n_jobs must be a positive integer"),
        ({"scheduler": "tcp://nowhere:1"}, "go with backend='dask'"),
        ({"backend": "dask", "scheduler": "a", "n_jobs": 2}, "a scheduler has its own"),
        ({"repetitions": 0}, "repetitions must be an integer of at least 1"),
        ({"tries": 0}, "tries must be an integer of at least 1"),
        ({"seeds": 3}, "seeds must be integers, one for each repetition; got 3"),
        ({"cost": 5}, "cost must be a function of the settings; got 5"),
        ({"cost": lambda settings: -1}, "cost must be positive"),
        ({"grid": 5}, "grid must be a dict .*; got 5"),
        ({"grid": [5]}, "grid must be a dict .*; got 5"),
    ],
)
def test_options_that_do_not_fit_leave_nothing_behind(path, options, message):
    with pytest.raises(ValueError, match=message):
        sweep(tasks.draw, **{"grid": {"n": [1]}, "store": path, **options})
    assert not path.parent.exists()


def test_what_is_no_task_is_refused():
    for task in (lambda rng, n: {}, tasks.draw.__call__, 3):
        with pytest.raises(ValueError, match="task must be a function of a module"):
            sweep(task, {"n": [1]})
    message = r"what the task takes beside rng, draw\(rng, n\); got m"
    with pytest.raises(ValueError, match=message):
        sweep(tasks.draw, {"m": [1]})


# Killed at any moment: a sweep that is run again and again until it ends.

GRID = {"n": range(12), "pause": [0.02]}
SLOWER = {"n": range(12), "pause": [0.25]}  # for a kill from outside, which takes its time


def begin(path, grid=None):
    return sweep(tasks.slow, grid or GRID, repetitions=2, store=path, resume=True)


def numbers(table):
    return [(str(o.cell), o.values["x"]) for o in table.outcomes]


@pytest.fixture(scope="module")
def undisturbed():
    return numbers(sweep(tasks.slow, GRID, repetitions=2))


def test_killed_at_random_moments_it_ends_with_the_same_cells(path, undisturbed):
    fork = multiprocessing.get_context("fork")
    rng = np.random.default_rng(0)
    kills = 0
    while not path.exists() or len(read(path)) < 24:
        run = fork.Process(target=begin, args=(path,))
        run.start()
        run.join(rng.uniform(0.01, 0.2))
        kills += run.is_alive()
        run.kill()
        run.join()
    assert kills >= 3
    assert path.read_bytes().count(b'"settings"') == 24  # no cell was run again once it was kept
    assert numbers(begin(path)) == undisturbed


SCRIPT = """
import sys
from riemtr.sweep import sweep
from tests.sweep import tasks, test_run
sweep(tasks.slow, test_run.SLOWER, repetitions=2, store=sys.argv[1], backend="processes", n_jobs=2)
"""


def test_killed_with_its_workers_it_loses_nothing_and_leaves_none_behind(path):
    command = [sys.executable, "-c", SCRIPT, str(path)]
    run = subprocess.Popen(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)})
    while run.poll() is None and not (path.exists() and len(read(path)) >= 3):
        time.sleep(0.01)
    with pytest.raises(OSError, match="in use by another run"):
        begin(path, SLOWER)
    run.kill()
    run.wait()
    kept = read(path)
    assert 3 <= len(kept) < 24
    table = begin(path, SLOWER)
    assert numbers(table) == numbers(sweep(tasks.slow, SLOWER, repetitions=2))
    assert all(outcome in table.outcomes for outcome in kept.outcomes)
    workers = {outcome.values["pid"] for outcome in kept.outcomes}
    deadline = time.monotonic() + 30
    while any(map(exists, workers)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(exists, workers))


def exists(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
