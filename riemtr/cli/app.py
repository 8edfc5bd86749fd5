"""The commands of ``riemtr``. To add one: a module with a function, and one line at the end."""

from __future__ import annotations

from typing import Annotated

import typer

import riemtr
from riemtr.cli.commands import Command, Commands
from riemtr.cli.compare import compare
from riemtr.cli.demo import demo
from riemtr.cli.problems import problems
from riemtr.cli.recover import recover
from riemtr.cli.solve import solve
from riemtr.cli.sweep import sweep

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

    - `riemtr solve --help` shows what can be set, with examples
    """


app.command(cls=Command)(demo)
app.command(cls=Command)(recover)
app.command(cls=Command)(problems)
app.command(cls=Command)(solve)
app.command(cls=Command)(sweep)
app.command(cls=Command)(compare)
