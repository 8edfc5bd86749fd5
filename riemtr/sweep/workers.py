"""What happens in a worker: the task arrives as bytes, BLAS keeps to one thread."""

from __future__ import annotations

import importlib
import os
import pickle
import signal
import sys
import threading
import time
from contextlib import suppress
from types import ModuleType
from typing import Any

from riemtr.blas_threads import one_blas_thread
from riemtr.errors import require
from riemtr.sweep.cells import Cell, Task
from riemtr.sweep.outcomes import Outcome, describe, run_cell

ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
"""Environment of workers, for what they load later."""


def joblib_part(name: str) -> ModuleType:
    """Import a package that joblib builds on: on its own, or as older versions ship it."""
    with suppress(ImportError):
        return importlib.import_module(f"joblib.externals.{name}")
    return require(name, extra="parallel")


def run_packed(packed: bytes, cell: Cell) -> Outcome:
    """Run a cell in a worker: with one thread of BLAS, from then on."""
    try:
        task = _unpack(packed)
    except BaseException as error:  # a module that leaves Python must not take the worker along
        return Outcome(cell, {}, describe(error))
    # For every cell anew, since OpenMP has a limit for each thread of a worker; and never set free
    # again, since BLAS has one for all of them, and others may be in the middle of a cell.
    one_blas_thread()
    return run_cell(task, cell)


def pack(task: Task, *, by_value: bool = False) -> bytes:
    """Pickle a task by its name; one of ``__main__``, or if asked to of any file, as its code.

    Parameters
    ----------
    task : callable
    by_value : bool
        Whether workers cannot be expected to have the task's module, as on other machines. What
        is installed as a package is taken to be installed there too.
    """
    cloudpickle = joblib_part("cloudpickle")
    module = sys.modules.get(getattr(task, "__module__", ""))
    loose = by_value and module is not None and _is_loose(module)
    if loose:
        cloudpickle.register_pickle_by_value(module)
    try:
        return cloudpickle.dumps(task)
    finally:
        if loose:
            cloudpickle.unregister_pickle_by_value(module)


def _is_loose(module: Any) -> bool:
    """Whether a module is a file by itself, and part of no package."""
    path = getattr(module, "__file__", None) or ""
    return bool(path) and "." not in module.__name__ and "site-packages" not in path


_UNPACKED: dict[bytes, Task] = {}


def _unpack(packed: bytes) -> Task:
    if packed not in _UNPACKED:
        _UNPACKED[packed] = pickle.loads(packed)
    return _UNPACKED[packed]


def prepare_worker(parent: int) -> None:
    """Make a process a worker: Ctrl-C is the parent's affair, and it ends with its parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)
