"""Ctrl-C: noticed where it matters, and ignored where it would only do harm."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
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


def _in_main_thread() -> bool:
    """Whether Python lets this thread change how signals are handled."""
    return threading.current_thread() is threading.main_thread()
