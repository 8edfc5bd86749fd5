"""A crew on a Dask cluster: one on this machine, or any by the address of its scheduler."""

from __future__ import annotations

import asyncio
import logging
import queue
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from riemtr.errors import require
from riemtr.interrupts import interrupts_deferred
from riemtr.sweep.cells import Cell
from riemtr.sweep.crews import Died
from riemtr.sweep.outcomes import Outcome, describe
from riemtr.sweep.workers import run_packed

_SECONDS_TO_CONNECT = 10
_SECONDS_TO_FIND_WORKERS = 60
_SECONDS_BETWEEN_LOOKS = 1.0
# Every death is reported at once: the schedule knows better whom to suspect.
_LOCAL = {"distributed.scheduler.allowed-failures": 0}


class DaskCrew:
    """The workers of a Dask cluster.

    Dask itself runs the cells of a dead worker elsewhere; only a cell whose workers die as often as
    the scheduler allows comes back as :class:`Died`.

    Parameters
    ----------
    packed : bytes
        The task; see :func:`riemtr.sweep.workers.pack`.
    client : distributed.Client
    resources : ExitStack
        Closed at the end.
    tend : callable
        Called with the number of workers from time to time.
    """

    def __init__(
        self, packed: bytes, client: Any, resources: ExitStack, tend: Callable[[int], None]
    ):
        self._packed = packed
        self._client = client
        self._resources = resources
        self._tend = tend
        self._killed = require("distributed", extra="dask").scheduler.KilledWorker
        self._ended: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._running: dict[Any, Cell] = {}
        self._submitted = 0
        self._threads, self._looked = 1, -_SECONDS_BETWEEN_LOOKS
        self._alive = time.monotonic()  # when there last were workers

    @classmethod
    def at(cls, packed: bytes, scheduler: str) -> DaskCrew:
        """Join the cluster with a scheduler's address, such as ``tcp://10.0.0.1:8786``."""
        distributed = require("distributed", extra="dask")
        with ExitStack() as resources:
            try:
                client = distributed.Client(
                    scheduler, timeout=_SECONDS_TO_CONNECT, set_as_default=False
                )
            except (OSError, ValueError) as error:
                raise ConnectionError(
                    f"scheduler must be the address of a running Dask scheduler, such as "
                    f"tcp://10.0.0.1:8786; got {scheduler!r}: {error}"
                ) from error
            resources.enter_context(client)
            try:
                client.wait_for_workers(1, timeout=_SECONDS_TO_FIND_WORKERS)
            except (TimeoutError, asyncio.TimeoutError):  # another one before Python 3.11
                raise ConnectionError(
                    f"scheduler must have workers; {scheduler!r} has none: start some with "
                    f"dask worker {scheduler}"
                ) from None
            return cls(packed, client, resources.pop_all(), lambda count: None)

    @classmethod
    def on_this_machine(cls, packed: bytes, workers: int) -> DaskCrew:
        """Start a cluster of processes here; a worker that dies is replaced."""
        distributed = require("distributed", extra="dask")
        with ExitStack() as resources:
            resources.enter_context(require("dask", extra="dask").config.set(_LOCAL))
            with interrupts_deferred():
                cluster = distributed.LocalCluster(
                    n_workers=workers,
                    threads_per_worker=1,
                    # Without a dashboard there is still a server, for this machine alone.
                    dashboard_address="127.0.0.1:0",
                    scheduler_kwargs={"dashboard": False},
                    silence_logs=logging.CRITICAL,
                )
                resources.enter_context(cluster)
            client = distributed.Client(cluster, set_as_default=False)
            resources.enter_context(client)

            def tend(count: int) -> None:
                if count < workers:
                    cluster.scale(workers)

            return cls(packed, client, resources.pop_all(), tend)

    @property
    def workers(self) -> int:
        """Threads of all workers, as of now."""
        now = time.monotonic()
        if now - self._looked >= _SECONDS_BETWEEN_LOOKS:
            try:
                threads = self._client.nthreads()
            except OSError as error:
                raise _scheduler_gone() from error
            self._tend(len(threads))
            if threads:
                self._alive = now
            elif now - self._alive >= _SECONDS_TO_FIND_WORKERS:
                raise ConnectionError(
                    "all workers of the Dask cluster are gone; all cells that had ended are kept: "
                    "start workers, and continue with resume"
                )
            self._threads, self._looked = max(1, sum(threads.values())), now
        return self._threads

    @property
    def room(self) -> int:
        """One cell in hand and one waiting for each thread."""
        return 2 * self.workers

    def submit(self, cell: Cell) -> None:
        """Give a cell to the scheduler."""
        self._submitted += 1  # a cell that is tried again is another one to Dask
        future = self._client.submit(
            run_packed, self._packed, cell, key=f"riemtr-{cell.key}-{self._submitted}", pure=False
        )
        self._running[future] = cell
        future.add_done_callback(self._ended.put)

    def collect(self, wait: bool) -> list[Outcome | Died]:
        """Return what has ended."""
        found: list[Outcome | Died] = []
        while self._running:
            patience = _SECONDS_BETWEEN_LOOKS if wait and not found else 0.0
            try:
                future = self._ended.get(timeout=patience)
            except queue.Empty:
                if found or not wait:
                    break
                _ = self.workers  # tends to them
                continue
            if future.status == "lost":  # its result died with a worker, and Dask runs it again
                future.add_done_callback(self._ended.put)
            else:
                found.append(self._outcome(future, self._running.pop(future)))
        return found

    def close(self) -> None:
        """Cancel what is left, and leave the cluster; one of our own ends."""
        self._running.clear()  # Dask forgets what nobody holds
        self._resources.close()

    def _outcome(self, future: Any, cell: Cell) -> Outcome | Died:
        if future.status == "cancelled":
            raise _scheduler_gone()
        if future.status == "finished":
            return future.result()
        error = future.exception()
        if isinstance(error, self._killed):
            return Died(cell, str(error).split(". ")[0])
        return Outcome(cell, {}, describe(error))


def _scheduler_gone() -> ConnectionError:
    # Its client would go on to print how it fails to connect again.
    logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
    return ConnectionError(
        "the Dask scheduler is gone; all cells that had ended are kept: continue with resume"
    )
