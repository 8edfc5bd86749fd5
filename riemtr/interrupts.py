"""Ctrl-C and alarms: noticed where they matter, ignored where they would only do harm."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from types import FrameType
from typing import Any


@contextmanager
def interrupts_noticed(*, quietly: bool = False) -> Iterator[Callable[[], bool]]:
    """Remember Ctrl-C, whatever the code inside makes of the exception; or quietly, without one."""
    seen: list[int] = []
    previous = signal.getsignal(signal.SIGINT)
    if previous is None or not _in_main_thread():
        yield lambda: False
        return

    def handler(number: int, frame: Any) -> None:
        seen.append(number)
        if callable(previous) and not quietly:
            previous(number, frame)

    signal.signal(signal.SIGINT, handler)
    try:
        yield lambda: bool(seen)
    finally:
        signal.signal(signal.SIGINT, previous)


@contextmanager
def interrupts_insisted_on() -> Iterator[None]:
    """Raise Ctrl-C at the end, where the code inside made a result or another error of it."""
    with interrupts_noticed() as interrupted:
        try:
            yield
        except BaseException:
            if interrupted():
                raise KeyboardInterrupt from None
            raise
    if interrupted():
        raise KeyboardInterrupt


@contextmanager
def interrupts_ignored() -> Iterator[None]:
    """Ignore Ctrl-C, here and for good in the processes that are started inside."""
    previous = signal.getsignal(signal.SIGINT)
    if previous is None or not _in_main_thread():
        yield
        return
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)


@contextmanager
def interrupts_deferred() -> Iterator[None]:
    """Put Ctrl-C off until the end, where it is raised; processes started inside never see it."""
    if not hasattr(signal, "pthread_sigmask") or not _in_main_thread():
        yield
        return
    # Were it started inside, it would set free what is blocked here.
    resource_tracker.ensure_running()
    with interrupts_noticed(quietly=True) as interrupted:
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    if interrupted():
        raise KeyboardInterrupt


class OutOfTime(BaseException):
    """Raised inside code that runs too long; no ``except Exception`` there holds it up."""


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Raise :class:`OutOfTime` inside the block after so many seconds.

    By an alarm signal: it reaches Python code wherever it is, but not inside a single call into
    compiled code that never returns. Where there are no alarms (Windows, threads other than the
    main one), nothing happens, and the caller can only see afterwards that it took too long.
    """
    if not hasattr(signal, "setitimer") or not _in_main_thread() or not math.isfinite(seconds):
        yield
        return

    armed = True

    def ring(number: int, frame: FrameType | None) -> None:
        if armed:
            raise OutOfTime(f"it took longer than {seconds:g} s")

    begin = time.monotonic()
    left, again = signal.getitimer(signal.ITIMER_REAL)  # of a deadline around this one
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
        if left:
            spent = time.monotonic() - begin
            signal.setitimer(signal.ITIMER_REAL, max(left - spent, 1e-3), again)


def _in_main_thread() -> bool:
    """Whether Python lets this thread change how signals are handled."""
    return threading.current_thread() is threading.main_thread()
