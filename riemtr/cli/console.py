"""Where commands print, how they refuse, and what arguments of Python are called there."""

from __future__ import annotations

import os
import re
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import typer
from rich.console import Console
from rich.segment import Segment
from rich.text import Text

from riemtr.cli import USAGE_ERROR
from riemtr.errors import ArgumentError
from riemtr.summary import clean

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
