"""A crew of processes on this machine, through joblib's loky."""

from __future__ import annotations

import os
import warnings
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from contextlib import ExitStack, nullcontext
from typing import Any

from riemtr.interrupts import interrupts_ignored
from riemtr.sweep.cells import Cell
from riemtr.sweep.crews import Died
from riemtr.sweep.outcomes import Outcome, describe
from riemtr.sweep.workers import ONE_THREAD, joblib_part, prepare_worker, run_packed


class ProcessCrew:
    """Processes of this machine. When one is killed, all are replaced.

    Parameters
    ----------
    packed : bytes
        The task; see :func:`riemtr.sweep.workers.pack`.
    workers : int
        How many processes.
    """

    def __init__(self, packed: bytes, workers: int):
        self.workers = workers
        self._packed = packed
        self._executor: Any = None
        self._running: dict[Future, Cell] = {}
        self._warnings = ExitStack()
        self._warnings.enter_context(warnings.catch_warnings())
        # Said where a process is replaced because its memory has grown: no cell is lost by that.
        warnings.filterwarnings("ignore", message="A worker stopped while some jobs were given")

    @property
    def room(self) -> int:
        """One cell in hand and one waiting for each process."""
        return 2 * self.workers

    def submit(self, cell: Cell) -> None:
        """Give a cell to whoever is free first."""
        self._running[self._submit(cell)] = cell

    def collect(self, wait: bool) -> list[Outcome | Died]:
        """Return what has ended; when a process died, all that was given out comes back."""
        done = self._wait(None if wait else 0.0)
        if any(isinstance(future.exception(), BrokenExecutor) for future in done):
            # The executor gives up all of its cells, though not all at the same moment.
            done = self._wait(None, everything=True)
            self._discard()
        return [self._ended(future, self._running.pop(future)) for future in done]

    def close(self) -> None:
        """End the processes, also in the middle of a cell."""
        self._running.clear()
        self._discard()
        self._warnings.close()

    def _submit(self, cell: Cell) -> Future:
        for _ in range(2):
            # With its first cell an executor starts its processes, to whom Ctrl-C must not matter
            # even before they can say so.
            starting = self._executor is None
            try:
                with interrupts_ignored() if starting else nullcontext():
                    self._executor = self._executor or _executor(self.workers)
                    return self._executor.submit(run_packed, self._packed, cell)
            except BrokenExecutor:  # a process died while idle
                if self._running:
                    break
                self._discard()
        # collect() finds the other cells broken too, and starts anew.
        future: Future = Future()
        future.set_exception(BrokenExecutor("a worker process died"))
        return future

    def _wait(self, timeout: float | None, everything: bool = False) -> list[Future]:
        if not self._running:
            return []
        condition = {} if everything else {"return_when": FIRST_COMPLETED}
        return list(wait(self._running, timeout=timeout, **condition).done)

    def _ended(self, future: Future, cell: Cell) -> Outcome | Died:
        error = future.exception()
        if error is None:
            return future.result()
        if isinstance(error, BrokenExecutor):
            return Died(cell, "its process was killed or ran out of memory")
        return Outcome(cell, {}, describe(error))

    def _discard(self) -> None:
        if self._executor is not None:
            self._executor.shutdown(wait=True, kill_workers=True)
            self._executor = None


def _executor(workers: int) -> Any:
    loky = joblib_part("loky")
    return loky.ProcessPoolExecutor(
        max_workers=workers, initializer=prepare_worker, initargs=(os.getpid(),), env=ONE_THREAD
    )
