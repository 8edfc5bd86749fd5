"""Threads that begin work while their owner is busy; what they have not begun, it does itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

T = TypeVar("T")


class Task(Generic[T]):
    """A piece of work, begun by a helper or left to the owner."""

    def __init__(self, work: Callable[[], T], pool: ThreadPoolExecutor | None):
        self._work = work
        self._future: Future[T] | None = None if pool is None else pool.submit(work)
        self._done: list[T] = []

    @property
    def done(self) -> bool:
        """Whether there is an outcome."""
        if self._future is None or self._future.cancelled():
            return bool(self._done)
        return self._future.done()

    def check(self) -> None:
        """Raise the error of a helper that failed."""
        if self._future is not None and self.done and not self._done:
            self._future.result()

    def do_here(self) -> bool:
        """Do the work in this thread, unless a helper has begun it; return whether it was done."""
        if self._done or (self._future is not None and not self._future.cancel()):
            return False
        self._done.append(self._work())
        return True

    def outcome(self) -> T:
        """Return the outcome, waiting for it if a helper is at work."""
        if self._done:
            return self._done[0]
        assert self._future is not None
        return self._future.result()


class Helpers:
    """As many threads as there are jobs, the owner's own included: one job needs no other.

    Parameters
    ----------
    jobs : int
        At least 1.

    Examples
    --------
    >>> helpers = Helpers(2)
    >>> tasks = [helpers.begin(lambda i=i: i * i) for i in range(4)]
    >>> helpers.finish(tasks, lambda done: None)
    [0, 1, 4, 9]
    >>> helpers.close()
    """

    def __init__(self, jobs: int):
        self._pool = ThreadPoolExecutor(jobs - 1) if jobs > 1 else None

    def begin(self, work: Callable[[], T]) -> Task[T]:
        """Hand over a piece of work."""
        return Task(work, self._pool)

    def finish(self, tasks: Sequence[Task[T]], tick: Callable[[int], None]) -> list[T]:
        """Return the outcomes of all tasks, working along from the last to the first.

        ``tick`` is called in this thread with 1, 2, ... as tasks are done.
        """
        told = 0

        def tell() -> None:
            nonlocal told
            for task in tasks:
                task.check()
            done = sum(task.done for task in tasks)
            for number in range(told + 1, done + 1):
                tick(number)
            told = done

        # Helpers begin with the first, so that the two ends meet.
        for task in reversed(tasks) if self._pool else tasks:
            if task.do_here():
                tell()
        outcomes = []
        for task in tasks:
            outcomes.append(task.outcome())
            tell()
        return outcomes

    def close(self) -> None:
        """Give up what was not begun, and wait for what was."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
