"""Where tasks run: in this process, in threads, in processes, or on a Dask cluster.

All of them are :class:`concurrent.futures.Executor`. :func:`run_all` gives tasks to one, replaces
it when a worker dies, and finds out which task kills its workers.
"""

from __future__ import annotations

import asyncio
import faulthandler
import importlib
import logging
import math
import os
import pickle
import signal
import sys
import threading
import time
import warnings
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    Executor,
    Future,
    wait,
)
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any, TypeVar

from riemtr.arguments import as_integer
from riemtr.blas_threads import one_blas_thread
from riemtr.environment import usable_cores
from riemtr.errors import ArgumentError, require, unknown_name
from riemtr.interrupts import (
    OutOfTime,
    deadline,
    interrupts_deferred,
    interrupts_ignored,
    interrupts_noticed,
)

T = TypeVar("T")
R = TypeVar("R")

BACKENDS = ("dask", "processes", "serial")
ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
"""Environment of workers, for what they load later."""

# Each worker has a task in hand and one waiting, so that none is idle while the next is sent.
_TASKS_PER_WORKER = 2
# A scheduler that runs answers within a moment.
_SECONDS_TO_CONNECT = 10
# Workers of a cluster may take a while to start, or to be replaced.
_SECONDS_TO_FIND_WORKERS = 60
# How often workers are counted, and time limits looked at.
_SECONDS_BETWEEN_LOOKS = 1.0
# A task that did not heed its alarm has this long before its process is ended.
_SECONDS_OF_GRACE = 2.0
# Dask reports every death at once: run_all knows better whom to suspect.
_NO_SECOND_TRY = {"distributed.scheduler.allowed-failures": 0}


class WorkerDied(RuntimeError):
    """The worker died whenever it ran this task."""


@dataclass(frozen=True)
class Workers:
    """An executor, and how to replace it.

    ``start`` returns a new one, ``stop`` gives up what one is running, and ``count`` says how many
    tasks run at once, as of now. ``deaths`` are exceptions that mean that the worker of one task
    died; after ``BrokenExecutor`` the whole executor must be replaced. Where it is ``expendable``,
    a task that hangs may be ended with its process.
    """

    start: Callable[[], Executor]
    stop: Callable[[Executor], None] = Executor.shutdown
    count: Callable[[], int] = lambda: 1
    deaths: tuple[type[BaseException], ...] = ()
    expendable: bool = False


def jobs(n_jobs: int | None, default: int = 1) -> int:
    """Return how many workers were asked for: -1 stands for all cores.

    Examples
    --------
    >>> jobs(None), jobs(3), jobs(-1) >= 1
    (1, 3, True)
    """
    number = default if n_jobs is None else as_integer(n_jobs)
    if number == -1:
        return usable_cores()
    if number is None or number < 1:
        raise ArgumentError("n_jobs", "be a positive integer, or -1 for all cores", n_jobs)
    return number


def check_backend(backend: str, n_jobs: int | None, scheduler: str | None) -> None:
    """Raise an error where the options of a backend do not fit together."""
    if backend not in BACKENDS:
        raise unknown_name("backend", backend, BACKENDS)
    number = jobs(n_jobs)
    if scheduler is not None and backend != "dask":
        needs = "be left out, or go with backend='dask': it is the address of a Dask cluster"
        raise ArgumentError("scheduler", needs, scheduler)
    if scheduler is not None and n_jobs is not None:
        raise ArgumentError("n_jobs", "be left out where a scheduler has its own workers", n_jobs)
    if backend == "serial" and n_jobs != -1 and number != 1:
        more = "for more, use backend='processes'"
        raise ArgumentError("n_jobs", "be 1 where backend='serial'", n_jobs, more)


@contextmanager
def hired(backend: str, n_jobs: int | None, scheduler: str | None) -> Iterator[Workers]:
    """Hire the workers of a backend by name: as many as there are cores, if not given."""
    check_backend(backend, n_jobs, scheduler)
    if backend == "serial":
        yield Workers(SerialExecutor)
    elif backend == "processes":
        number = jobs(n_jobs, -1)
        with warnings.catch_warnings():
            # Said where a process is replaced because its memory has grown: no task is lost by it.
            warnings.filterwarnings("ignore", message="A worker stopped while some jobs were given")
            yield Workers(
                partial(_processes, number), _kill, lambda: number, (BrokenExecutor,), True
            )
    else:
        with _cluster(jobs(n_jobs, -1), scheduler) as workers:
            yield workers


def run_all(
    work: Callable[[T], R],
    items: Sequence[T],
    workers: Workers,
    keep: Callable[[list[tuple[T, R | BaseException]]], None],
    *,
    tries: int = 3,
    max_seconds: float = math.inf,
) -> None:
    """Run tasks in the order of the items, keeping what ends as soon as it ends.

    When a worker dies, any of the tasks given out may have killed it. They become suspects, and
    are run alone once all others have ended: one that then kills its workers ``tries`` times has
    failed, and no other task suffers from it. A task that takes longer than ``max_seconds`` is
    interrupted where it runs Python code; one that hangs elsewhere is ended with its process, where
    it has one. ``keep`` gets items with their outcomes or errors, also those that had ended when
    Ctrl-C was pressed.
    """
    limited = partial(_within, work, max_seconds, workers.expendable)
    waiting, suspects = deque(range(len(items))), deque[int]()
    deaths: Counter[int] = Counter()
    running: dict[Future[R], int] = {}
    alone, began, executor = -1, 0.0, workers.start()

    def submit(number: int) -> None:
        nonlocal executor
        future: Future[R] = Future()
        for _ in range(2):
            try:
                future = executor.submit(limited, items[number])
                break
            except BrokenExecutor as error:  # a process died while idle
                if running:  # which will be found broken too
                    future.set_exception(error)
                    break
                workers.stop(executor)
                executor = workers.start()
        running[future] = number

    try:
        while waiting or suspects or running:
            room = (
                1 if isinstance(executor, SerialExecutor) else workers.count() * _TASKS_PER_WORKER
            )
            while waiting and len(running) < room:
                submit(waiting.popleft())
            if not running:
                alone, began = suspects.popleft(), time.monotonic()
                submit(alone)
            done = wait(running, _SECONDS_BETWEEN_LOOKS, FIRST_COMPLETED).done
            if any(isinstance(_error(future), BrokenExecutor) for future in done):
                # The executor gives up all of its tasks, though not all at the same moment.
                done = wait(running).done
                workers.stop(executor)
                executor = workers.start()
            ended: list[tuple[T, R | BaseException]] = []
            for future in done:
                number, error = running.pop(future), _error(future)
                if not isinstance(error, workers.deaths):
                    ended.append((items[number], future.result() if error is None else error))
                    continue
                deaths[number] += number == alone
                late = number == alone and time.monotonic() - began >= max_seconds
                if deaths[number] >= tries or late:
                    ended.append((items[number], _gave_up(error, tries, max_seconds, late)))
                else:
                    suspects.append(number)
            if ended:
                keep(ended)
    except KeyboardInterrupt:
        whole = [future for future in running if future.done() and _error(future) is None]
        if whole:
            keep([(items[running[future]], future.result()) for future in whole])
        raise
    finally:
        with interrupts_ignored():  # who presses Ctrl-C once more leaves no process behind
            workers.stop(executor)


def _error(future: Future[Any]) -> BaseException | None:
    if future.cancelled():
        raise _scheduler_gone()
    return future.exception()


def _gave_up(error: Any, tries: int, max_seconds: float, late: bool) -> BaseException:
    if late:
        return OutOfTime(f"it took longer than {max_seconds:g} s, and was ended")
    times = "once" if tries == 1 else f"{tries} times in succession"
    why = str(error).split(". ")[0]
    if isinstance(error, BrokenExecutor):
        why = "its process was killed or ran out of memory"
    return WorkerDied(f"the worker died {times} when it ran this cell alone: {why}")


def _within(work: Callable[[T], R], max_seconds: float, expendable: bool, item: T) -> R:
    """Do one item, in the time there is."""
    if math.isinf(max_seconds):
        return work(item)
    with ExitStack() as timed:
        if expendable:
            nowhere = timed.enter_context(open(os.devnull, "w"))
            last = max_seconds + _SECONDS_OF_GRACE
            # It needs no Python to run: also compiled code that never returns is ended.
            faulthandler.dump_traceback_later(last, exit=True, file=nowhere)
            timed.callback(faulthandler.cancel_dump_traceback_later)
        timed.enter_context(deadline(max_seconds))
        return work(item)


class SerialExecutor(Executor):
    """This process: a task is done when it is submitted, with one thread of BLAS as in workers.

    Examples
    --------
    >>> SerialExecutor().submit(max, 2, 3).result()
    3
    """

    def submit(self, work: Callable[..., R], /, *args: Any, **named: Any) -> Future[R]:
        """Do it."""
        future: Future[R] = Future()
        with one_blas_thread(), interrupts_noticed() as interrupted:
            try:
                future.set_result(work(*args, **named))
            except (Exception, OutOfTime) as error:
                future.set_exception(error)
        if interrupted():  # a solver ends gracefully there, with a point that is no outcome
            raise KeyboardInterrupt
        return future


# --- tasks on their way to workers ---------------------------------------------------------------


def packed(work: Callable[..., R], *, by_value: bool = False) -> bytes:
    """Pickle a function by its name; one of ``__main__``, or ``by_value`` of any file, as its code.

    Workers on other machines cannot be expected to have the function's module. A package is taken
    to be installed there too.
    """
    cloudpickle = _joblib_part("cloudpickle")
    module = sys.modules.get(getattr(work, "__module__", ""))
    path = getattr(module, "__file__", None) or ""
    loose = path and module and "." not in module.__name__ and "site-packages" not in path
    with ExitStack() as registered:
        if by_value and loose:
            cloudpickle.register_pickle_by_value(module)
            registered.callback(cloudpickle.unregister_pickle_by_value, module)
        return cloudpickle.dumps(work)


_unpacked: dict[bytes, Any] = {}


def unpacked(content: bytes) -> Any:
    """Return what was packed, in a worker: the same object every time, with one thread of BLAS."""
    # For every task anew, since OpenMP has a limit for each thread of a worker; and never set free
    # again, since BLAS has one for all of them, and others may be in the middle of a task.
    one_blas_thread()
    if content not in _unpacked:
        _unpacked[content] = pickle.loads(content)
    return _unpacked[content]


def _joblib_part(name: str) -> ModuleType:
    """Import a package that joblib builds on: on its own, or as older versions ship it."""
    with suppress(ImportError):
        return importlib.import_module(f"joblib.externals.{name}")
    return require(name, extra="parallel")


# --- processes of this machine -------------------------------------------------------------------


def _processes(number: int) -> Executor:
    executor = _joblib_part("loky").ProcessPoolExecutor(
        max_workers=number, initializer=_prepare, initargs=(os.getpid(),), env=ONE_THREAD
    )
    # An executor starts its processes with its first task. Ctrl-C must not matter to them even
    # before they can say so.
    with interrupts_ignored():
        executor.submit(os.getpid)
    return executor


def _kill(executor: Any) -> None:
    executor.shutdown(wait=True, kill_workers=True)


def _prepare(parent: int) -> None:
    """Make a process a worker: Ctrl-C is the parent's affair, and it ends with its parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


# --- a Dask cluster ------------------------------------------------------------------------------


@contextmanager
def _cluster(number: int, scheduler: str | None) -> Iterator[Workers]:
    """Join a cluster, or start one on this machine whose dead workers are replaced."""
    distributed = require("distributed", extra="dask")
    with ExitStack() as resources:
        resources.enter_context(require("dask", extra="dask").config.set(_NO_SECOND_TRY))
        cluster = None if scheduler else resources.enter_context(_started(distributed, number))
        client = resources.enter_context(_joined(distributed, cluster or scheduler))
        found, looked, alive = 1, -math.inf, time.monotonic()

        def count() -> int:
            nonlocal found, looked, alive
            now = time.monotonic()
            if now - looked < _SECONDS_BETWEEN_LOOKS:
                return found
            try:
                threads = client.nthreads()
            except OSError as error:
                raise _scheduler_gone() from error
            if cluster is not None and len(threads) < number:
                cluster.scale(number)
            alive = now if threads else alive
            if now - alive >= _SECONDS_TO_FIND_WORKERS:
                raise ConnectionError(
                    "all workers of the Dask cluster are gone; all cells that had ended are kept: "
                    "start workers, and continue with resume=True"
                )
            found, looked = max(1, sum(threads.values())), now
            return found

        yield Workers(
            start=partial(client.get_executor, pure=False),
            stop=lambda executor: None,  # Dask forgets what nobody holds
            count=count,
            deaths=(distributed.scheduler.KilledWorker,),
            expendable=cluster is not None,
        )


def _started(distributed: Any, number: int) -> Any:
    with interrupts_deferred():
        return distributed.LocalCluster(
            n_workers=number,
            threads_per_worker=1,
            # Without a dashboard there is still a server, for this machine alone.
            dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": False},
            silence_logs=logging.CRITICAL,
        )


def _joined(distributed: Any, scheduler: Any) -> Any:
    try:
        client = distributed.Client(scheduler, timeout=_SECONDS_TO_CONNECT, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ConnectionError(
            f"scheduler must be the address of a running Dask scheduler, such as "
            f"tcp://10.0.0.1:8786; got {scheduler!r}: {error}"
        ) from error
    try:
        client.wait_for_workers(1, timeout=_SECONDS_TO_FIND_WORKERS)
    except (TimeoutError, asyncio.TimeoutError):  # another one before Python 3.11
        client.close()
        raise ConnectionError(
            f"scheduler must have workers; {scheduler!r} has none: start some with dask worker "
            f"{scheduler}"
        ) from None
    return client


def _scheduler_gone() -> ConnectionError:
    # Its client would go on to print how it fails to connect again.
    logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
    return ConnectionError(
        "the Dask scheduler is gone; all cells that had ended are kept: continue with resume=True"
    )
