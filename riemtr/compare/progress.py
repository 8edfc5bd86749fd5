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
    """Return what to call with each run: what was given, a line that is rewritten, or nothing."""
    if callable(progress):
        return progress
    return _printer() if progress else None


def _printer() -> Progress:
    """Return what rewrites one line on the standard error stream."""
    began = time.perf_counter()

    def show(run: Run, done: int, total: int) -> None:
        left = (time.perf_counter() - began) / done * (total - done)
        bar = "#" * round(24 * done / max(total, 1))
        line = f"[{bar:<24}] {done}/{total} {run.problem}, {run.solver}, {left:.0f} s left"
        sys.stderr.write(f"\r{line}\x1b[K" + ("\n" if done == total else ""))
        sys.stderr.flush()

    return show
