"""Options that several commands have, and mean alike."""

from __future__ import annotations

from enum import Enum
from functools import partial
from typing import Annotated

import typer

OUTPUT = "What to keep and show"
"""Heading of the options about output."""

output = partial(typer.Option, rich_help_panel=OUTPUT)
how = partial(typer.Option, rich_help_panel="How to run it")

Backend = Enum("Backend", {"serial": "serial", "processes": "processes", "dask": "dask"}, type=str)

Parameters = Annotated[
    list[str] | None,
    typer.Option(
        "--parameter",
        "-p",
        metavar="NAME=VALUE",
        help="Set a parameter of the problem; may be given several times.",
    ),
]
Rng = Annotated[
    int,
    typer.Option(min=0, metavar="SEED", help="Source of the random data, the starts and all else."),
]
Resume = Annotated[
    bool, output("--resume", help="Continue what is in the folder: run only what is missing.")
]
Force = Annotated[bool, output("--force", help="Replace what exists.")]
AcceptChanges = Annotated[
    bool,
    typer.Option(
        "--accept-changes",
        help="Resume, and keep what is there though the code of the task was changed since.",
    ),
]
RetryFailed = Annotated[bool, output("--retry-failed", help="Resume, and run again what failed.")]
RunsOn = Annotated[
    Backend, how(help="This process, several on this machine, or a Dask cluster; same results.")
]
Processes = Annotated[int | None, how(help="How many processes: as many as cores, if not given.")]
Scheduler = Annotated[
    str | None,
    how(metavar="ADDRESS", help="Of a Dask cluster; if not given, one is started here."),
]
ShowProgress = Annotated[bool, output("--progress/--no-progress", help="Show how far it is.")]
Quiet = Annotated[bool, output("--quiet", "-q", help="Print only one line, at the end.")]


class SolverName(str, Enum):
    """The solvers by name."""

    practical = "practical"
    exact = "exact"


class MethodName(str, Enum):
    """The methods that solve a single problem, by name."""

    practical = "practical"
    exact = "exact"
    lbfgs = "lbfgs"
    arc = "arc"
    staircase = "staircase"
    printed = "printed"
