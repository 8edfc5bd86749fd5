"""Options that several commands have, and mean alike."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from enum import Enum
from functools import partial
from typing import Annotated, Any

import typer

from riemtr.compare.cases import in_text, parse_value
from riemtr.errors import ArgumentError
from riemtr.imports import look_here
from riemtr.solvers import NAMED

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


# The methods that solve a single problem, by name.
MethodName = Enum("MethodName", {name: name for name in (*NAMED, "staircase")}, type=str)  # type: ignore[misc]


# -- settings as they are typed: ``-p n=50`` or ``name:n=50`` of a problem, ``-g n=1,2`` of a grid


def parse_parameters(settings: Sequence[str]) -> dict[str, Any]:
    """Read settings of the form ``name=value``.

    Examples
    --------
    >>> parse_parameters(["n=50", "image=camera"])
    {'n': 50, 'image': 'camera'}
    >>> parse_parameters(["n"])
    Traceback (most recent call last):
    ...
    riemtr.errors.ArgumentError: a parameter must look like name=value, for instance -p n=50; got
    'n'
    """
    parameters: dict[str, Any] = {}
    for setting in settings:
        name, equals, value = (part.strip() for part in setting.partition("="))
        if not (name and equals):
            form = "look like name=value, for instance -p n=50"
            raise ArgumentError("a parameter", form, setting)
        if name in parameters:
            raise ArgumentError("parameter", f"be given once; {name!r} is set twice")
        parameters[name] = parse_value(value)
    return parameters


def parse_named(text: str, known: Collection[str]) -> tuple[str, dict[str, Any]]:
    """Read a name with parameters after colons; the name may be an import path with one itself.

    A path, whose first part is none of the ``known`` names, lets modules in the working folder be
    found.

    Examples
    --------
    >>> parse_named("brockett:n=20:k=3", known=["brockett"])
    ('brockett', {'n': 20, 'k': 3})
    >>> parse_named("package.module:function:n=5", known=["brockett"])
    ('package.module:function', {'n': 5})
    """
    name, *rest = (part.strip() for part in text.split(":"))
    if rest and "=" not in rest[0] and name not in known:
        name = f"{name}:{rest.pop(0)}"
        look_here()
    for setting in rest:
        if re.search(r",\s*\w+\s*=", setting):
            corrected = ":".join([name, *re.split(r",\s*(?=\w+\s*=)", ":".join(rest))])
            raise ArgumentError("parameters", f"be separated by colons: {corrected}", text)
    return name, parse_parameters(rest)


def parse_axes(settings: Sequence[str]) -> dict[str, list[Any]]:
    """Read the values of a grid, such as ``n=10,20,30``.

    Examples
    --------
    >>> parse_axes(["n=10,20", "kind=a"])
    {'n': [10, 20], 'kind': ['a']}
    """
    axes: dict[str, list[Any]] = {}
    for setting in settings:
        name, equals, text = (part.strip() for part in setting.partition("="))
        if not (name and equals and text):
            raise ArgumentError("values", "look like name=a,b,c, for instance n=10,20", setting)
        if name in axes:
            raise ArgumentError("values", f"name {name} once: list all its values in one", setting)
        values = [value.strip() for value in text.split(",")]
        if not all(values):
            raise ArgumentError("values", "have a value between any two commas", setting)
        axes[name] = [parse_value(value) for value in values]
    return axes


def format_parameters(parameters: dict[str, Any]) -> str:
    """Write parameters the way they are typed.

    Examples
    --------
    >>> format_parameters({"n": 50, "image": None})
    'n=50 image=none'
    """
    return " ".join(f"{name}={in_text(value)}" for name, value in parameters.items())
