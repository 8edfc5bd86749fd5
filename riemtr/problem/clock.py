"""How much a run is to do: the time that it may take, and the gradient that it is content with."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager


class Clock:
    """Wall time with a limit; it can be paused.

    Parameters
    ----------
    limit : float
        Seconds after which the time is up.

    Attributes
    ----------
    enough : float
        Gradient norm that a run is content with: no equation need be solved much further.
    """

    def __init__(self, limit: float = math.inf) -> None:
        self.limit = limit
        self.enough = 0.0
        self._started = time.perf_counter()

    @property
    def seconds(self) -> float:
        """Time so far, pauses excluded."""
        return time.perf_counter() - self._started

    @property
    def expired(self) -> bool:
        """Whether the time is up."""
        return self.limit < math.inf and self.seconds >= self.limit

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Leave out the time that the block takes."""
        before = time.perf_counter()
        try:
            yield
        finally:
            self._started += time.perf_counter() - before
