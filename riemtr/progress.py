"""How far long work is: one record, for a function of the user's or for a line on the screen."""

from __future__ import annotations

import importlib.util
import itertools
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from riemtr.summary import clean

# Characters of a bar in a line of text.
_BAR = 24
# Where each line stays, a stage writes one for each of so many parts of its work.
_LINES = 10
# A stage of unknown length writes a line no more often than this.
_SECONDS_BETWEEN_LINES = 5.0


@dataclass(frozen=True)
class Progress:
    """How far a run is.

    Attributes
    ----------
    stage : str
        The work being done, in a word or two.
    done : int
        How much of the stage is done.
    total : int or None
        How much there is to do; None where nobody knows.
    seconds : float
        Time since the run began.
    detail : object
        The piece of work that was done last: a text, or a record whose text says it.
    """

    stage: str
    done: int
    total: int | None
    seconds: float
    detail: object = ""


Watcher = Callable[[Progress], Any]
"""Called with every :class:`Progress`."""


@contextmanager
def watching(progress: bool | Watcher) -> Iterator[Watcher]:
    """Give what to call with every record: what was given, a display, or what ignores it.

    The display is a set of rich's bars in a terminal, if rich is installed; a line in a notebook,
    without widgets; and elsewhere lines on the standard error stream, now and then.

    Examples
    --------
    >>> with watching(print) as watch:
    ...     watch(Progress("solve", 1, 2, 0.5))
    Progress(stage='solve', done=1, total=2, seconds=0.5, detail='')
    """
    shell: Any = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if callable(progress):
        yield progress
    elif not progress:
        yield lambda _: None
    elif hasattr(shell, "kernel"):
        yield _Line(_publisher(shell.display_pub), stays=False)
    elif sys.stderr.isatty() and importlib.util.find_spec("rich"):
        from rich.console import Console

        with bars(Console(stderr=True, highlight=False)) as watch:
            yield watch
    else:
        yield _Line(lambda line: print(line, file=sys.stderr, flush=True), stays=True)


@contextmanager
def bars(console: Any) -> Iterator[Watcher]:
    """Show a bar for each stage on a console of rich's; after an error they are gone."""
    from rich.markup import escape
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars
    from rich.table import Column

    left, tasks = _TimeLeft(), {}
    rest = Column(ratio=1, no_wrap=True, overflow="ellipsis")  # a long detail gives way
    with Bars(
        TextColumn("{task.description}"),
        BarColumn(_BAR),
        TextColumn("{task.fields[count]}"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
        TextColumn("{task.fields[detail]}", table_column=rest),
        console=console,
        expand=True,
    ) as shown:

        def watch(now: Progress) -> None:
            if now.stage not in tasks:
                name = escape(clean(now.stage))
                tasks[now.stage] = shown.add_task(name, count="", left="", detail="")
            shown.update(
                tasks[now.stage],
                total=now.total,
                completed=now.done,
                count=_count(now),
                left=left(now),
                detail=escape(clean(str(now.detail))),
            )

        try:
            yield watch
        except Exception:
            for task in tasks.values():
                shown.update(task, visible=False)
            raise


class _TimeLeft:
    """The time that a stage will take yet, by the pace since it was first heard of."""

    def __init__(self) -> None:
        self._first: dict[str, Progress] = {}

    def __call__(self, now: Progress) -> str:
        first = self._first.get(now.stage)
        if first is None or now.done < first.done:
            first = self._first[now.stage] = now
        done = now.done - first.done
        if done == 0 or now.total is None or now.done >= now.total:
            return ""
        return (
            f"about {duration((now.seconds - first.seconds) / done * (now.total - now.done))} left"
        )


class _Line:
    """A line of text for every record worth one."""

    def __init__(self, write: Callable[[str], Any], *, stays: bool):
        self._write, self._stays = write, stays
        self._left, self._stage, self._written = _TimeLeft(), "", 0.0

    def __call__(self, now: Progress) -> None:
        words = [_count(now), f"{now.seconds:.1f} s", self._left(now), clean(str(now.detail))]
        last = now.total is not None and now.done >= now.total
        if self._stays and not (last or self._is_worth_a_line(now)):
            return
        self._stage, self._written = now.stage, now.seconds
        filled = "" if now.total is None else "#" * round(_BAR * now.done / max(now.total, 1))
        said = ", ".join(word for word in words if word)
        self._write(f"{clean(now.stage)} [{filled:<{_BAR}}] {said}")

    def _is_worth_a_line(self, now: Progress) -> bool:
        if now.stage != self._stage:
            return True
        if now.total is None:
            return now.seconds - self._written >= _SECONDS_BETWEEN_LINES
        return _LINES * now.done // now.total > _LINES * (now.done - 1) // now.total


def _count(now: Progress) -> str:
    return f"{now.done}" if now.total is None else f"{now.done}/{now.total}"


def _publisher(display: Any) -> Callable[[str], None]:
    name = {"display_id": f"riemtr-{time.perf_counter_ns()}"}
    updates = itertools.chain([False], itertools.repeat(True))
    return lambda line: display.publish({"text/plain": line}, transient=name, update=next(updates))


def duration(seconds: float) -> str:
    """Return a time in words, as precisely as an estimate deserves.

    Examples
    --------
    >>> [duration(s) for s in (0.2, 42, 200, 6000, 90000)]
    ['1 s', '42 s', '3 min', '1.7 h', '25 h']
    """
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    if seconds < 90 * 60:
        return f"{round(seconds / 60)} min"
    hours = seconds / 3600
    return f"{hours:.1f} h" if hours < 10 else f"{hours:.0f} h"
