"""Where commands print, and how they refuse."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager

import typer
from rich.console import Console
from rich.markup import escape

from riemtr.cli import USAGE_ERROR


def console() -> Console:
    """Return the console for a command's output; made per command, so that it finds stdout."""
    return Console(highlight=False)


@contextmanager
def refusing(*kinds: type[Exception]) -> Iterator[None]:
    """Turn errors that the user can mend into one line on stderr and exit code 2."""
    try:
        yield
    except kinds as error:
        message = " ".join(str(error).split())
        Console(stderr=True, highlight=False).print(
            f"[bold red]error:[/] {escape(message)}", soft_wrap=True
        )
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
