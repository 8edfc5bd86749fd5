"""Where commands print, how they refuse, and what arguments of Python are called there."""

from __future__ import annotations

import os
import re
import signal
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import typer
from rich.console import Console
from rich.segment import Segment
from rich.text import Text

from riemtr.cli import INTERRUPTED, USAGE_ERROR
from riemtr.cli.options import Backend
from riemtr.errors import ArgumentError
from riemtr.files import check_folder, made_folder
from riemtr.progress import Progress, Watcher, bars
from riemtr.summary import clean
from riemtr.sweep import Table, read, sweep
from riemtr.sweep.table import Made

OPTIONS: ContextVar[dict[str, str]] = ContextVar("OPTIONS", default={})  # noqa: B039
"""The options of the command that runs, by their names in Python."""


# Letters of a line in a file or a pipe, where there is no window: names of solvers fit.
_WIDTH = 120


class _CleanConsole(Console):
    """A console that obeys rich, and no code in a text, be it the name of a file or of a solver."""

    def render(self, renderable: Any, options: Any = None) -> Iterable[Segment]:
        """Yield what is to be printed."""
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable() or segment.text == "\n":
                yield segment
            else:
                yield Segment(clean(segment.text), segment.style)


def console(*, quiet: bool = False, stderr: bool = False) -> Console:
    """Return the console for a command's output; made per command, so that it finds stdout."""
    made = _CleanConsole(highlight=False, quiet=quiet, stderr=stderr)
    if not made.is_terminal and "COLUMNS" not in os.environ:
        made.width = _WIDTH
    return made


def say(text: str, *, style: str = "", stderr: bool = False) -> None:
    """Print a sentence as it is, in one line."""
    console(stderr=stderr).print(Text(text, style=style), soft_wrap=True)


def in_options(message: str) -> str:
    """Return a message in terms of the options of the command that runs.

    A name that Python writes as ``rank='auto'`` or ``max_seconds`` is typed as ``--rank auto`` and
    ``--max-seconds``, where the command has such an option.
    """

    def typed(found: re.Match[str]) -> str:
        name, value = found[1], found[2]
        option = OPTIONS.get().get(name)
        if option is None or not (value or "_" in name):
            return found[0]
        return option if value in (None, "=True") else f"{option} {value[1:].strip(chr(39))}"

    return re.sub(r"\b([a-z]+(?:_[a-z]+)*)\b(=(?:'[^']*'|[\w.]*\w))?", typed, message)


def given(values: dict[str, Any], *names: str) -> dict[str, Any]:
    """Return what a command was given of some options; others have no value, and a default."""
    chosen = {name: getattr(values[name], "value", values[name]) for name in names}
    return {name: value for name, value in chosen.items() if value is not None}


@contextmanager
def refusing(*kinds: type[Exception]) -> Iterator[None]:
    """Turn errors that the user can mend into one line on stderr and exit code 2."""
    try:
        yield
    except kinds as error:
        said = str(error)
        if isinstance(error, ArgumentError):
            said = error.told(OPTIONS.get().get(error.parameter, error.parameter))
        elif isinstance(error, OSError) and error.strerror:
            said = ": ".join(filter(None, [error.strerror, str(error.filename or "")]))
        line = Text("error: ", style="bold red").append(" ".join(in_options(said).split()), "none")
        console(stderr=True).print(line, soft_wrap=True)
        raise typer.Exit(USAGE_ERROR) from error


@contextmanager
def tracing() -> Iterator[None]:
    """Show where an error in the user's own code comes from; exit code 2, as of a refusal."""
    try:
        yield
    except (typer.Exit, typer.Abort):
        raise
    except Exception as error:
        traceback.print_exc()
        raise typer.Exit(USAGE_ERROR) from error


# -- how far a command is: bars in the terminal, and Ctrl-C that waits for what is under way ------

_STAGES = {
    "precondition": "whitening the data",
    "solve": "finding sparse directions",
    "probe": "looking for exact zeros",
    "round": "making each one exact",
    "inspect": "counting its zeros",
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


# -- commands that run trials into a folder: what they refuse, how they end, and what they say ----

_KEPT = (
    "interrupted; cells that had ended by then, if any, are kept: repeat with --resume to run the "
    "others"
)


def sweeping(
    backend: Backend,
    n_jobs: int | None,
    max_seconds: float,
    scheduler: str | None,
    resume: bool,
    retry_failed: bool,
    accept_changes: bool,
    **more: Any,
) -> partial[Table]:
    """Return the sweep with what was chosen of its options, which are those of two commands."""
    return partial(
        sweep,
        backend=backend.value,
        n_jobs=n_jobs,
        max_seconds=max_seconds,
        scheduler=scheduler,
        resume=resume or retry_failed or accept_changes,
        retry_failed=retry_failed,
        accept_changes=accept_changes,
        **more,
    )


def run_into(out: Path, work: Callable[[Watcher], Made], *, progress: bool, quiet: bool) -> None:
    """Do the work of a command, say what it made, and exit."""
    try:
        with refusing(ValueError, TypeError, ImportError, OSError):
            check_folder(out)
            # None is left behind where the work is refused.
            with made_folder(out), shown(progress and not quiet) as watch:
                made = work(watch)
    except KeyboardInterrupt as error:
        say(in_options(str(error)) or _KEPT, stderr=True)
        raise typer.Exit(INTERRUPTED) from None
    if quiet:
        say(f"{made.summary.line}: {out}")
    else:
        console().print(made.summary)
        names = (path.relative_to(out) if path.is_relative_to(out) else path for path in made.saved)
        say(f"saved in {out}: {', '.join(map(str, names))}")
    raise typer.Exit(1 if made.failed else 0)


def refuse_stores(stores: Iterable[Path]) -> None:
    """Refuse trials of an earlier run, before the first new one is run and not after hours."""
    for store in stores:
        if store.exists() and len(read(store)):
            raise FileExistsError(
                f"{store} exists: continue it with --resume, or choose another folder"
            )
