"""Progress of a comparison, for whoever waits for it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from riemtr.compare.records import Run
from riemtr.progress_line import line_writer

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
    write = line_writer()

    def show(run: Run, done: int, total: int) -> None:
        left = (time.perf_counter() - began) / done * (total - done)
        bar = "#" * round(24 * done / max(total, 1))
        line = f"[{bar:<24}] {done}/{total} {run.problem}, {run.solver}, {left:.0f} s left"
        write(line, done, total)

    return show
