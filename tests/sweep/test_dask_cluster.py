import logging
import os
import signal
from concurrent.futures import Future
from contextlib import ExitStack
from types import SimpleNamespace

import pytest

from riemtr.sweep import dask_cluster, sweep
from riemtr.sweep.cells import Cell
from riemtr.sweep.phase_transition import PhaseTransition, trial
from tests.sweep import tasks

distributed = pytest.importorskip("distributed")
SIZES = {"n": [7, 60, 200]}
TRIALS = [s for s in PhaseTransition("quick").settings("k-n") if s["n"] >= 15]


@pytest.fixture(scope="module")
def cluster():
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


def test_a_killed_worker_loses_nothing(cluster, tmp_path):
    killed = []

    def kill(progress):
        if progress.done == 3 and not killed:
            killed.append(progress.latest.values["pid"])
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
        if not seen:
            seen.append(addresses_open())

    table = sweep(tasks.deadly, {"n": range(6)}, backend="dask", workers=1, tries=1, progress=look)
    assert seen == [{"127.0.0.1"}]
    assert [row["n"] for row in table.rows if row["failure"]] == [3]
    assert table.rows[3]["failure"].startswith("WorkerDied: the worker died once")
    others = sweep(tasks.deadly, {"n": [0, 1, 2, 4, 5]})
    assert tasks.summary(table)[:3] + tasks.summary(table)[4:] == tasks.summary(others)


def test_a_cluster_without_workers_is_an_error_after_a_while(monkeypatch):
    monkeypatch.setattr(dask_cluster, "_SECONDS_BETWEEN_LOOKS", 0.01)
    monkeypatch.setattr(dask_cluster, "_SECONDS_TO_FIND_WORKERS", 0.1)
    answers = iter([{"a": 2}, {}, {}, {"a": 2}])  # gone for a moment only, then for good
    client = SimpleNamespace(
        nthreads=lambda: next(answers, {}), submit=lambda *arguments, **options: Future()
    )
    crew = dask_cluster.DaskCrew(b"", client, ExitStack(), lambda count: None)
    crew.submit(Cell("t", {}, 0))
    message = "all workers of the Dask cluster are gone; .* start workers, and continue with resume"
    with pytest.raises(ConnectionError, match=message):
        crew.collect(wait=True)
    assert next(answers, None) is None


def test_no_scheduler_is_an_error_that_names_the_address(monkeypatch):
    monkeypatch.setattr("riemtr.sweep.dask_cluster._SECONDS_TO_CONNECT", 0.3)
    with pytest.raises(
        ConnectionError, match=r"a running Dask scheduler.* got 'tcp://127\.0\.0\.1:9'"
    ):
        sweep(tasks.draw, {"n": [1]}, backend="dask", scheduler="tcp://127.0.0.1:9")
