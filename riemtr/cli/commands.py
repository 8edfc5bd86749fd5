"""Commands as typer makes them, but for their flags in the help and for Ctrl-C."""

from __future__ import annotations

import sys
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from riemtr.cli import INTERRUPTED
from riemtr.interrupts import interrupts_ignored


class _PlainFlags:
    """Flags take no value: their help names none, where recent versions of typer show a type."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options and arguments, ``--help`` included."""
        params = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            if getattr(param, "is_flag", False) and param.metavar is None:
                param.metavar = ""
        return params


class Command(_PlainFlags, TyperCommand):
    """A command."""


class Commands(_PlainFlags, TyperGroup):
    """All commands; one that Ctrl-C ends says so, unless it has more to say itself."""

    def invoke(self, ctx: Any) -> Any:
        """Run what was asked for."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as interrupt:
            with interrupts_ignored():  # some press twice
                print(str(interrupt) or "interrupted", file=sys.stderr)
            raise typer.Exit(INTERRUPTED) from None
