"""The commands of ``riemtr``. To add one: a module with a function, and one line at the end."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

import riemtr
from riemtr.cli import INTERRUPTED
from riemtr.cli.compare import compare
from riemtr.cli.console import OPTIONS
from riemtr.cli.demo import demo
from riemtr.cli.paper import paper
from riemtr.cli.problems import problems
from riemtr.cli.recover import recover
from riemtr.cli.solve import solve
from riemtr.cli.sweep import sweep
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
                # Recent versions of typer put the kind of an error before its message.
                message = error.message.removeprefix("Value error, ")  # type: ignore[attr-defined]
                error.message = clean(message)  # type: ignore[attr-defined]
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


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"riemtr {riemtr.__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Certified second-order optimization on manifolds.

    riemtr minimises a cost over a curved space such as a sphere, and proves what it found: every
    result says whether it is a minimizer or only a saddle point.

    Where to begin:

    - `riemtr demo` shows what it can do, in figures, in some ten seconds

    - `riemtr recover Y.npy --out FOLDER` recovers a dictionary from your data

    - `riemtr problems` lists the problems it knows

    - `riemtr solve rayleigh` solves one, and explains the result

    - `riemtr compare rayleigh` compares solvers on one, from random starts and from saddle points

    - `riemtr sweep phase-transition --out FOLDER` maps where recovery succeeds, as in the paper

    - `riemtr paper --list` shows the figures of the paper that one command makes each

    - `riemtr solve --help` shows what can be set, with examples
    """


app.command(cls=Command)(demo)
app.command(cls=Command)(recover)
app.command(cls=Command)(problems)
app.command(cls=Command)(solve)
app.command(cls=Command)(sweep)
app.command(cls=Command)(compare)
app.command(cls=Command)(paper)
