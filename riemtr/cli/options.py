"""Options that several commands have, and mean alike."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

import typer

OUTPUT = "What to keep and show"
"""Heading of the options about output."""

Force = Annotated[
    bool, typer.Option("--force", help="Replace what exists.", rich_help_panel=OUTPUT)
]
Quiet = Annotated[
    bool,
    typer.Option("--quiet", "-q", help="Print only one line, at the end.", rich_help_panel=OUTPUT),
]


class SolverName(str, Enum):
    """The solvers by name."""

    practical = "practical"
    exact = "exact"
