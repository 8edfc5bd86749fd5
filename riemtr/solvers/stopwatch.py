"""The clock of a run."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Stopwatch:
    """Wall time that can be paused."""

    def __init__(self) -> None:
        self._started = time.perf_counter()

    @property
    def seconds(self) -> float:
        """Time so far, pauses excluded."""
        return time.perf_counter() - self._started

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Leave out what happens inside."""
        before = time.perf_counter()
        try:
            yield
        finally:
            self._started += time.perf_counter() - before
