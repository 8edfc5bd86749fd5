"""Where tasks run: what is done, by whom, and what happens when a worker dies or hangs."""

import importlib.util
import pickle
import signal
import sys
import time
import warnings
from collections import Counter
from concurrent.futures import BrokenExecutor, Executor, Future
from functools import partial
from types import SimpleNamespace

import pytest

from riemtr import executors
from riemtr.executors import (
    ONE_THREAD,
    SerialExecutor,
    WorkerDied,
    Workers,
    check_backend,
    hired,
    jobs,
    packed,
    run_all,
    unpacked,
)
from riemtr.interrupts import OutOfTime
from tests.sweep import tasks

ITEMS = list(range(12))

# --- who killed the worker? ----------------------------------------------------------------------


class Fragile(Executor):
    """All of its tasks die together as soon as one of the deadly ones is among them."""

    def __init__(self, deadly=(), times=10**9, room=4):
        self.deadly, self.times, self.room = set(deadly), times, room
        self.given, self.given_out = {}, Counter()

    def submit(self, work, item):
        assert len(self.given) < self.room
        future = Future()
        self.given[future] = (work, item)
        self.given_out[item] += 1
        return future

    def wait(self, running, *_):
        if self.times and self.deadly & {item for _, item in self.given.values()}:
            self.times -= 1
            for future in self.given:
                future.set_exception(BrokenExecutor("it died"))
            self.given = {}
        elif self.given:
            future, (work, item) = next(iter(self.given.items()))
            del self.given[future]
            future.set_result(work(item))
        return SimpleNamespace(done=[future for future in running if future.done()])


def run(fragile, monkeypatch, **options):
    monkeypatch.setattr(executors, "wait", fragile.wait)
    kept = []
    workers = Workers(lambda: fragile, lambda _: None, lambda: 2, (BrokenExecutor,))
    run_all(lambda n: n * n, ITEMS, workers, kept.extend, **options)
    assert sorted(item for item, _ in kept) == ITEMS  # each of them once
    assert all(found == item * item for item, found in kept if isinstance(found, int))
    return {item: found for item, found in kept if not isinstance(found, int)}


@pytest.mark.parametrize("deadly", [[0], [5], [11], [3, 4], [0, 5, 11], ITEMS])
def test_only_those_that_kill_their_worker_fail(monkeypatch, deadly):
    fragile = Fragile(deadly)
    failures = run(fragile, monkeypatch)
    assert sorted(failures) == deadly
    for failure in failures.values():
        assert isinstance(failure, WorkerDied)
        assert "died 3 times in succession" in str(failure)
    innocent = set(ITEMS) - set(deadly)
    assert all(fragile.given_out[n] <= 1 + len(deadly) for n in innocent)


def test_a_worker_that_dies_by_accident_costs_no_task(monkeypatch):
    assert run(Fragile([5], times=1), monkeypatch) == {}
    assert run(Fragile([5], times=3), monkeypatch) == {}  # once among others, twice alone


def test_the_number_of_tries_counts_those_alone(monkeypatch):
    fragile = Fragile([5])
    said = str(run(fragile, monkeypatch, tries=1)[5])
    assert "died once when it ran this cell alone: its process was killed" in said
    assert fragile.given_out[5] == 2


def test_ctrl_c_keeps_what_had_ended(monkeypatch):
    fragile, kept = Fragile(), []

    def wait(running, *_):
        done = fragile.wait(running)
        if fragile.given_out.total() - len(fragile.given) == 5:
            raise KeyboardInterrupt
        return done

    monkeypatch.setattr(executors, "wait", wait)
    workers = Workers(lambda: fragile, lambda _: None, lambda: 2, (BrokenExecutor,))
    with pytest.raises(KeyboardInterrupt):
        run_all(lambda n: n, ITEMS, workers, kept.extend)
    assert kept == [(n, n) for n in range(5)]  # the last one collected on the way out


def test_the_order_is_kept_and_errors_are_outcomes():
    kept = []
    with hired("serial", None, None) as workers:
        run_all(lambda n: 1 // n, [2, 0, 1], workers, kept.extend)
    assert [item for item, _ in kept] == [2, 0, 1]
    assert isinstance(kept[1][1], ZeroDivisionError)


# --- time limits ---------------------------------------------------------------------------------


def hangs(n):
    while n == 3:
        time.sleep(0.01)
    return n


def hangs_in_compiled_code(n):
    if n == 3:  # no alarm gets through
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
        time.sleep(600)
    return n


@pytest.mark.parametrize(
    ("backend", "task"),
    [("serial", hangs), ("processes", hangs), ("processes", hangs_in_compiled_code)],
)
def test_a_task_that_hangs_is_ended_and_costs_no_other(monkeypatch, backend, task):
    kept, begin = [], time.monotonic()
    work = task if backend == "serial" else partial(called, packed(task))
    with hired(backend, 1, None) as workers:
        run_all(work, [2, 3, 4], workers, kept.extend, max_seconds=0.3)
    assert sorted(item for item, found in kept if item == found) == [2, 4]
    (failure,) = (found for item, found in kept if item == 3)
    assert isinstance(failure, OutOfTime)
    assert "it took longer than 0.3 s" in str(failure)
    assert time.monotonic() - begin < 60


def called(content, item):
    return unpacked(content)(item)


# --- backends ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("threads", None, None), "backend must be one of 'dask', 'processes', 'serial'"),
        (("processes", 0, None), "n_jobs must be a positive integer, or -1 for all cores; got 0"),
        (("processes", 2, "tcp://a:1"), "scheduler must be left out, or go with backend='dask'"),
        (("dask", 2, "tcp://a:1"), "n_jobs must be left out where a scheduler has its own"),
        (("serial", 2, None), "n_jobs must be 1 where backend='serial'; got 2: for more, use"),
    ],
)
def test_options_that_do_not_fit_together_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        check_backend(*options)


@pytest.mark.parametrize(
    "options",
    [
        ("serial", None, None),
        ("serial", 1, None),
        ("serial", -1, None),
        ("processes", 3, None),
        ("dask", None, "tcp://a"),
    ],
)
def test_options_that_do_are_not(options):
    check_backend(*options)


def test_minus_one_is_all_cores_this_process_may_use(monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 3, 5}, raising=False)
    assert jobs(-1) == 3
    assert jobs(-1) == executors.usable_cores()
    assert (jobs(None), jobs(None, -1), jobs(3)) == (1, executors.usable_cores(), 3)


def test_this_process_has_one_thread_of_blas_meanwhile():
    threadpoolctl = pytest.importorskip("threadpoolctl")
    with threadpoolctl.threadpool_limits(2):
        assert SerialExecutor().submit(tasks.threads, None).result() == {"threads": 1}
        assert tasks.threads(None) == {"threads": 2}


def test_processes_are_started_where_ctrl_c_is_ignored(monkeypatch):
    # So they ignore it from the first moment on, before any code of ours runs in them.
    handlers, filters = [], list(warnings.filters)

    class Pool:
        def __init__(self, **options):
            assert options["env"] == ONE_THREAD

        def submit(self, *arguments):
            handlers.append(signal.getsignal(signal.SIGINT))
            return Future()

    monkeypatch.setattr(
        executors, "_joblib_part", lambda name: SimpleNamespace(ProcessPoolExecutor=Pool)
    )
    with hired("processes", 1, None) as workers:
        workers.start()
    assert handlers == [signal.SIG_IGN]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert warnings.filters == filters


@pytest.mark.parametrize("gone", [True, False])
def test_a_worker_ends_with_its_parent_even_if_that_is_gone_already(gone, monkeypatch):
    ended = []
    parents = iter([1] if gone else [7, 7, 1])
    monkeypatch.setattr(executors.os, "getppid", lambda: next(parents))
    monkeypatch.setattr(executors.time, "sleep", lambda seconds: None)
    monkeypatch.setattr(executors.os, "_exit", ended.append)
    executors._end_with(7)
    assert ended == [1]


def test_no_scheduler_is_an_error_that_names_the_address(monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr(executors, "_SECONDS_TO_CONNECT", 0.3)
    message = r"a running Dask scheduler.* got 'tcp://127\.0\.0\.1:9'"
    with (
        pytest.raises(ConnectionError, match=message),
        hired("dask", None, "tcp://127.0.0.1:9"),
    ):
        pass


def test_a_cluster_without_workers_is_an_error_after_a_while(monkeypatch):
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(executors, "_SECONDS_BETWEEN_LOOKS", 0.01)
    monkeypatch.setattr(executors, "_SECONDS_TO_FIND_WORKERS", 0.1)
    answers = iter([{"a": 2}, {}, {}, {"a": 2}])  # gone for a moment only, then for good

    class Client:
        def __init__(self, *_, **__):
            self.nthreads = lambda: next(answers, {})

        def wait_for_workers(self, *_, **__):
            pass

        def get_executor(self, **_):
            return SimpleNamespace(submit=lambda *_: Future())

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

    monkeypatch.setattr(distributed, "Client", Client)
    message = "all workers of the Dask cluster are gone; .* start workers, and continue with resume"
    with pytest.raises(ConnectionError, match=message), hired("dask", None, "tcp://a") as workers:
        run_all(abs, [1], workers, list)
    assert next(answers, None) is None


# --- on their way --------------------------------------------------------------------------------


def test_a_task_travels_by_its_name():
    assert len(packed(tasks.draw)) < 100
    assert unpacked(packed(tasks.draw)) is tasks.draw


def test_functions_of_the_main_program_travel_as_code():
    namespace = {"__name__": "__main__"}
    exec("def task(n):\n    return n + 1", namespace)
    assert unpacked(packed(namespace["task"]))(4) == 5


def test_to_other_machines_a_loose_file_travels_as_code(tmp_path, monkeypatch):
    path = tmp_path / "loose_file.py"
    path.write_text("offset = 3\ndef task(n):\n    return n + offset\n")
    spec = importlib.util.spec_from_file_location("loose_file", path)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "loose_file", module)
    spec.loader.exec_module(module)
    by_name, by_value = packed(module.task), packed(module.task, by_value=True)
    assert packed(module.task) == by_name  # for this one time only
    monkeypatch.delitem(sys.modules, "loose_file")  # as on a machine without the file
    assert unpacked(by_value)(4) == 7
    with pytest.raises(ModuleNotFoundError):
        pickle.loads(by_name)


def test_in_a_worker_blas_is_held_to_one_thread():
    threadpoolctl = pytest.importorskip("threadpoolctl")
    content = packed(tasks.threads)
    for _ in range(2):  # the second time as if another thread had its own limit
        with threadpoolctl.threadpool_limits(2):
            assert unpacked(content)(None) == {"threads": 1}
