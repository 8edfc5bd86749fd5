"""``riemtr problems``: what can be solved."""

from __future__ import annotations

from typing import Annotated

import typer

from riemtr import problems as registry
from riemtr.cli.console import console, refusing
from riemtr.cli.options import format_parameters, parse_named
from riemtr.compare.cases import build_case
from riemtr.summary import BAD, Cell, Summary, Table


def problems(
    name: Annotated[
        str | None, typer.Argument(help="Show the details of this one.", show_default=False)
    ] = None,
) -> None:
    """List the problems that come with riemtr, and those of installed packages.

    - `riemtr problems` lists all of them, each in a sentence, with its parameters

    - `riemtr problems dictionary-learning` shows more about one

    Your own need no name: `riemtr solve my_module:my_problem` takes any function
    `my_problem(rng, n=10)` that returns a `riemtr.Problem`. It is listed here if the package it is
    in offers it as an entry point, by two lines of its pyproject.toml:

    - `[project.entry-points."riemtr.problems"]`

    - `my-problem = "my_module:my_problem"`

    Within one Python program, the decorator `@riemtr.problems.register("my-problem")` gives it
    that name.
    """
    if name is None:
        _list_all()
    else:
        _show_one(name)


def _list_all() -> None:
    rows = tuple((name, _in_a_sentence(name)) for name in registry.available())
    table = Table(("problem", "what it is, and its parameters with their defaults"), rows, "ll")
    notes = (
        "Details of one: riemtr problems NAME   Solve it: riemtr solve NAME",
        "With parameters: riemtr solve brockett -p n=20 -p k=3, or after colons: riemtr compare "
        "brockett:n=20:k=3",
    )
    console().print(Summary("", table=table, notes=notes))


def _in_a_sentence(name: str) -> Cell:
    try:
        sentence, parameters = registry.describe(name)
    except ValueError as error:  # another's package is broken: no reason to hide the rest
        return " ".join(str(error).split()), BAD
    return f"{sentence}\n{format_parameters(parameters)}\n"


def _show_one(name: str) -> None:
    with refusing(ValueError, ImportError, OSError):
        name, _ = parse_named(name, known=registry.available())
        case = build_case(name, {}, seed=0)
        sentence, parameters = registry.describe(name)
    manifold = case.problem.manifold
    numbers = (f" -p {key}={value}" for key, value in parameters.items() if type(value) is int)
    setting = next(numbers, "")
    pairs = (
        ("problem", sentence),
        ("searched", f"{manifold}, dimension {manifold.dim}"),
        ("solution", _knowledge(case)),
        ("parameters", format_parameters(parameters) or "none"),
        ("solve it", f"riemtr solve {name}{setting}"),
    )
    console().print(Summary(name, pairs))


def _knowledge(case: registry.Case) -> str:
    offer = getattr(case.problem.cost, "dual_bound", None)
    truth, bounded = case.truth, offer is not None and offer(case.start) is not None
    if truth is None:
        return "not known, but a bound that no point beats" if bounded else "not known"
    if truth.cost is not None and truth.distance is not None:
        return "known, with its cost: the result is compared with both"
    if truth.cost is None and truth.distance is None:
        bound = "a bound that no point beats" if bounded else None
        known = [bound, truth.error and "what was planted"]
        return f"not known, but {' and '.join(filter(None, known))}: the result is compared with it"
    return "known: the result is compared with it"
