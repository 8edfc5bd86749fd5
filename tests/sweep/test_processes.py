import os
import signal
import warnings
from concurrent.futures import Future

import pytest

from riemtr.sweep import processes, read, sweep
from riemtr.sweep.cells import Cell
from riemtr.sweep.phase_transition import PhaseTransition, trial
from riemtr.sweep.workers import ONE_THREAD
from tests.sweep import tasks

SIZES = {"n": [7, 60, 200]}
TRIALS = [s for s in PhaseTransition("quick").settings("k-n") if s["n"] >= 15]


@pytest.mark.parametrize(
    ("workers", "task", "grid"), [(1, tasks.products, SIZES), (2, trial, TRIALS)]
)
def test_the_results_are_those_of_one_process(workers, task, grid):
    serial = sweep(task, grid, repetitions=2)
    several = sweep(task, grid, repetitions=2, backend="processes", workers=workers)
    assert tasks.summary(several) == tasks.summary(serial)


def test_workers_have_one_thread_and_ignore_ctrl_c(monkeypatch):
    for name in ONE_THREAD:
        monkeypatch.setenv(name, "2")
    (row,) = sweep(tasks.surroundings, [{}], backend="processes", workers=1).rows
    assert row["variables"] == "1 1 1"
    assert row["ignores"]


def test_processes_are_started_where_ctrl_c_is_ignored(monkeypatch):
    # So they ignore it from the first moment on, before any code of ours runs in them.
    handlers, filters = [], list(warnings.filters)

    class Executor:
        def submit(self, *arguments):
            handlers.append(signal.getsignal(signal.SIGINT))
            return Future()

    monkeypatch.setattr(processes, "_executor", lambda workers: Executor())
    crew = processes.ProcessCrew(b"", 1)
    crew.submit(Cell("t", {}, 0))
    crew.submit(Cell("t", {}, 1))
    crew._executor = None
    crew.close()
    assert warnings.filters == filters
    assert handlers == [signal.SIG_IGN, signal.default_int_handler]


def test_a_cell_that_kills_its_worker_fails_alone():
    table = sweep(tasks.deadly, {"n": [2, 3, 4]}, backend="processes", workers=1, tries=1)
    assert [row["n"] for row in table.rows if row["failure"]] == [3]
    assert (
        "WorkerDied: the worker died once when it ran this cell alone" in table.rows[1]["failure"]
    )
    others = sweep(tasks.deadly, {"n": [2, 4]})
    assert tasks.summary(table)[::2] == tasks.summary(others)


def test_a_killed_worker_loses_nothing():
    # At the third cell somebody kills the worker that the first one ran in.
    seen = []

    def kill(progress):
        if progress.latest is not None:
            seen.append(progress.latest.values["pid"])
            if len(seen) == 3:
                os.kill(seen[0], signal.SIGKILL)

    grid = {"n": range(10), "pause": [0.03]}
    table = sweep(tasks.slow, grid, backend="processes", workers=2, progress=kill)
    assert len(seen) == 10
    assert table.failed == []
    # Others go on; how many depends on how fast new ones start on a busy machine.
    assert {row["pid"] for row in table.rows} - {seen[0]}
    serial = sweep(tasks.slow, {"n": range(10), "pause": [0.03]})
    assert list(table.columns["x"]) == list(serial.columns["x"])


def test_ctrl_c_ends_the_workers_and_keeps_what_is_done(tmp_path):
    seen = []

    def interrupt(progress):
        if progress.latest is not None:
            seen.append(progress.latest.values["pid"])
            if len(seen) == 2:
                os.kill(os.getpid(), signal.SIGINT)

    grid = {"n": range(20), "pause": [0.2]}
    with pytest.raises(KeyboardInterrupt, match="of 20 cells are kept in"):
        sweep(
            tasks.slow,
            grid,
            store=tmp_path / "a",
            backend="processes",
            workers=1,
            progress=interrupt,
        )
    assert 2 <= len(read(tmp_path / "a")) < 20
    with pytest.raises(ProcessLookupError):
        os.kill(seen[0], 0)
