"""How far a command is: bars in the terminal, and Ctrl-C that waits for what is under way."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import FrameType
from typing import Any

from riemtr.cli.console import console, say
from riemtr.progress import Progress, Watcher, bars

_STAGES = {
    "precondition": "whitening the data",
    "solve": "finding sparse directions",
    "probe": "looking for exact zeros",
    "round": "making each one exact",
    "inspect": "counting its zeros",
    "polish": "making doubtful ones exact",
    "unmix": "looking for mixtures",
    "starts": "trying other starts",
    "refine": "refining all rows together",
    "report": "judging every row",
}


@contextmanager
def shown(visible: bool) -> Iterator[Watcher]:
    """Show a bar for each stage of some work, in words."""
    screen = console(quiet=not visible)
    with bars(screen) as watch:
        yield lambda now: watch(replace(now, stage=_STAGES.get(now.stage, now.stage)))
    if not screen.is_terminal:
        screen.line()  # rich leaves its last line open there


@contextmanager
def stopping_at_the_next(thing: str) -> Iterator[Callable[[Watcher], Watcher]]:
    """Let Ctrl-C end the work between two reports of progress; the second one is not caught.

    A checkpoint then holds only what is complete. Yields what to wrap around a watcher.
    """
    seen: list[int] = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        seen.append(number)
        signal.signal(signal.SIGINT, previous)
        say(f"stopping after this {thing}; Ctrl-C again to stop at once")

    def watching(watcher: Watcher) -> Watcher:
        def watch(now: Progress) -> Any:
            if seen:
                raise KeyboardInterrupt
            return watcher(now)

        return watch

    previous = signal.signal(signal.SIGINT, interrupt)
    try:
        yield watching
    finally:
        signal.signal(signal.SIGINT, previous)
