"""Progress of a comparison, for whoever waits for it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from riemtr.compare.records import Run

Progress = Callable[[Run, int, int], Any]
"""Called with each run, how many are done, and how many there will be."""


def watcher(progress: bool | Progress) -> Progress | None:
    """Return what to call with each run: what was given, what shows a line, or nothing."""
    if callable(progress):
        return progress
    return _printer() if progress else None


def _printer() -> Progress:
    """Return what shows how far it is: in one line, or where none can be rewritten in few."""
    began = time.perf_counter()
    write = _writer()

    def show(run: Run, done: int, total: int) -> None:
        left = (time.perf_counter() - began) / done * (total - done)
        bar = "#" * round(24 * done / max(total, 1))
        line = f"[{bar:<24}] {done}/{total} {run.problem}, {run.solver}, {left:.0f} s left"
        write(line, done, total)

    return show


def _writer() -> Callable[[str, int, int], Any]:
    shell = _notebook()
    if shell is not None:
        display = shell.display_pub
        state = {"transient": {"display_id": f"riemtr-{time.perf_counter_ns()}"}}
        return lambda line, done, total: display.publish(
            {"text/plain": line}, **state, update=done > 1
        )
    return _rewrite if sys.stderr.isatty() else _now_and_then


def _notebook() -> Any:
    """The shell of a notebook, None where there is none."""
    found = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return found if hasattr(found, "kernel") else None


def _rewrite(line: str, done: int, total: int) -> None:
    sys.stderr.write(f"\r{line}\x1b[K" + ("\n" if done == total else ""))
    sys.stderr.flush()


def _now_and_then(line: str, done: int, total: int) -> None:
    """Write ten lines in all to a file or a pipe, where each stays."""
    if done == total or 10 * done // total > 10 * (done - 1) // total:
        print(line, file=sys.stderr, flush=True)
