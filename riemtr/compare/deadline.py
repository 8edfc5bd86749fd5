"""A time limit for code that knows none."""

from __future__ import annotations

import math
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class OutOfTime(BaseException):
    """Raised inside code that runs too long; no ``except Exception`` there holds it up."""


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Raise :class:`OutOfTime` inside the block after so many seconds.

    By an alarm signal: it reaches Python code wherever it is, but not inside a single call into
    compiled code that never returns. Where there are no alarms (Windows, threads other than the
    main one), nothing happens, and the caller can only see afterwards that it took too long.
    """
    works = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
    if not works or not math.isfinite(seconds):
        yield
        return

    armed = True

    def ring(number: int, frame: FrameType | None) -> None:
        if armed:
            raise OutOfTime

    previous = signal.signal(signal.SIGALRM, ring)
    try:
        try:
            # Again every second, should something have caught the first one.
            signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-3), 1.0)
            yield
        finally:
            armed = False  # an alarm that rings from here on must not keep what follows from it
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, previous)
