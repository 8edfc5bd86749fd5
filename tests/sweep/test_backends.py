"""The same sweep on every backend: the same results, whoever dies and whenever one stops it."""

import logging
import os
import signal

import pytest

from riemtr.executors import ONE_THREAD
from riemtr.paper.phases import PhaseTransition, trial
from riemtr.sweep import Outcome, read, sweep
from riemtr.sweep.cells import Cell, run_packed
from tests.sweep import tasks

SIZES = {"n": [7, 60, 200]}
TRIALS = [s for s in PhaseTransition("quick").settings("k-n") if s["n"] >= 15]
CELL = Cell("t", {"n": 4}, 0)


def test_a_task_that_cannot_be_imported_is_a_failure_and_not_a_crash():
    outcome = run_packed(b"cnothing\nat_all\n.", CELL)
    assert str(outcome.failure) == "ModuleNotFoundError: No module named 'nothing'"


def test_a_module_that_leaves_python_is_a_failure_and_not_a_crash():
    assert run_packed(b"csys\nexit\n(I3\ntR.", CELL).failure.kind == "SystemExit"


def test_a_cell_that_takes_too_long_has_failed():
    grid = [{"n": 1, "pause": 60.0}, {"n": 2, "pause": 0.0}]
    table = sweep(tasks.slow, grid, max_seconds=0.2)
    assert [str(o.failure) for o in table.failed] == ["OutOfTime: it took longer than 0.2 s"]


@pytest.mark.parametrize(
    ("workers", "task", "grid"), [(1, tasks.products, SIZES), (2, trial, TRIALS)]
)
def test_the_results_are_those_of_one_process(workers, task, grid):
    serial = sweep(task, grid, repetitions=2)
    several = sweep(task, grid, repetitions=2, backend="processes", n_jobs=workers)
    assert tasks.summary(several) == tasks.summary(serial)


def test_workers_have_one_thread_and_ignore_ctrl_c(monkeypatch):
    for name in ONE_THREAD:
        monkeypatch.setenv(name, "2")
    (row,) = sweep(tasks.surroundings, [{}], backend="processes", n_jobs=1).rows
    assert row["variables"] == "1 1 1"
    assert row["ignores"]


def test_a_cell_that_kills_its_worker_fails_alone():
    table = sweep(tasks.deadly, {"n": [2, 3, 4]}, backend="processes", n_jobs=1, tries=1)
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
        if isinstance(progress.detail, Outcome):
            seen.append(progress.detail.values["pid"])
            if len(seen) == 3:
                os.kill(seen[0], signal.SIGKILL)

    grid = {"n": range(10), "pause": [0.03]}
    table = sweep(tasks.slow, grid, backend="processes", n_jobs=2, progress=kill)
    assert len(seen) == 10
    assert table.failed == []
    # Others go on; how many depends on how fast new ones start on a busy machine.
    assert {row["pid"] for row in table.rows} - {seen[0]}
    serial = sweep(tasks.slow, {"n": range(10), "pause": [0.03]})
    assert list(table.columns["x"]) == list(serial.columns["x"])


def test_ctrl_c_ends_the_workers_and_keeps_what_is_done(tmp_path):
    seen = []

    def interrupt(progress):
        if isinstance(progress.detail, Outcome):
            seen.append(progress.detail.values["pid"])
            if len(seen) == 2:
                os.kill(os.getpid(), signal.SIGINT)

    grid = {"n": range(20), "pause": [0.2]}
    with pytest.raises(KeyboardInterrupt, match="of 20 cells are kept in"):
        sweep(
            tasks.slow,
            grid,
            store=tmp_path / "a",
            backend="processes",
            n_jobs=1,
            progress=interrupt,
        )
    assert 2 <= len(read(tmp_path / "a")) < 20
    with pytest.raises(ProcessLookupError):
        os.kill(seen[0], 0)


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        dashboard_address="127.0.0.1:0",
        silence_logs=logging.CRITICAL,
    ) as cluster:
        yield cluster


def test_a_cluster_by_its_address_gives_the_results_of_one_process(cluster):
    options = {"backend": "dask", "scheduler": cluster.scheduler_address}
    for task, grid in ((tasks.products, SIZES), (trial, TRIALS)):
        ours = sweep(task, grid, repetitions=2, **options)
        assert tasks.summary(ours) == tasks.summary(sweep(task, grid, repetitions=2))


def test_a_killed_worker_of_a_cluster_loses_nothing(cluster, tmp_path):
    killed = []

    def kill(progress):
        if progress.done == 3 and not killed:
            killed.append(progress.detail.values["pid"])
            os.kill(killed[0], signal.SIGKILL)

    grid = {"n": range(12), "pause": [0.05]}
    options = {"backend": "dask", "scheduler": cluster.scheduler_address}
    table = sweep(tasks.slow, grid, store=tmp_path / "a", progress=kill, **options)
    assert table.failed == []
    assert list(table.columns["x"]) == list(sweep(tasks.slow, grid).columns["x"])
    assert len({row["pid"] for row in table.rows} - set(killed)) >= 1


def addresses_open():
    """Where this process and its children can be reached."""
    psutil = pytest.importorskip("psutil")
    return {
        connection.laddr.ip
        for process in [psutil.Process(), *psutil.Process().children(recursive=True)]
        for connection in process.net_connections("tcp")
        if connection.status == psutil.CONN_LISTEN
    }


def test_a_local_cluster_is_private_and_outlives_a_cell_that_kills_its_worker():
    seen = []

    def look(progress):
        if not seen and progress.done:
            seen.append(addresses_open())

    table = sweep(tasks.deadly, {"n": range(6)}, backend="dask", n_jobs=1, tries=1, progress=look)
    assert seen == [{"127.0.0.1"}]
    assert [row["n"] for row in table.rows if row["failure"]] == [3]
    assert table.rows[3]["failure"].startswith("WorkerDied: the worker died once")
    others = sweep(tasks.deadly, {"n": [0, 1, 2, 4, 5]})
    assert tasks.summary(table)[:3] + tasks.summary(table)[4:] == tasks.summary(others)
