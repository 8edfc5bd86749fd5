"""Commands as typer makes them, but for their flags in the help, for Ctrl-C and for odd names."""

from __future__ import annotations

import sys
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from riemtr.cli import INTERRUPTED
from riemtr.cli.console import OPTIONS
from riemtr.interrupts import interrupts_ignored
from riemtr.summary import clean


class _Plain:
    """Flags take no value, and no code in an argument reaches the terminal with an error."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options and arguments; recent versions of typer show a type for flags."""
        params = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            if getattr(param, "is_flag", False) and param.metavar is None:
                param.metavar = ""
        return params

    def make_context(self, *args: Any, **keywords: Any) -> Any:
        """Read the arguments."""
        try:
            return super().make_context(*args, **keywords)  # type: ignore[misc]
        except Exception as error:
            if isinstance(getattr(error, "message", None), str):
                error.message = clean(error.message)  # type: ignore[attr-defined]
            raise


class Command(_Plain, TyperCommand):
    """A command; its options are known while it runs."""

    def invoke(self, ctx: Any) -> Any:
        """Run it."""
        names = [name for param in self.params for name in param.opts if name.startswith("--")]
        known = OPTIONS.set({name[2:].replace("-", "_"): name for name in names})
        try:
            return super().invoke(ctx)
        finally:
            OPTIONS.reset(known)


class Commands(_Plain, TyperGroup):
    """All commands; one that Ctrl-C ends says so, unless it has more to say itself."""

    def invoke(self, ctx: Any) -> Any:
        """Run what was asked for."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as interrupt:
            with interrupts_ignored():  # some press twice
                print(str(interrupt) or "interrupted", file=sys.stderr)
            raise typer.Exit(INTERRUPTED) from None
