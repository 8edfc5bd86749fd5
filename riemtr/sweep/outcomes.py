"""Running one cell, and what came of it."""

from __future__ import annotations

import json
import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from riemtr.imports import place
from riemtr.sweep.cells import RESERVED, Cell, Task, Value, scalar

_MESSAGE = 1000  # characters of an error kept
_TRACEBACK = 3000
_FRAMES = 4  # the innermost calls


@dataclass(frozen=True)
class Failure:
    """Why a cell failed.

    Attributes
    ----------
    kind : str
        Name of the exception's type, or "WorkerDied".
    message : str
    traceback : str
        The innermost calls.
    place : str
        Where in the user's own code it arose, for people; empty where that is not known.
    """

    kind: str
    message: str
    traceback: str = field(default="", repr=False)
    place: str = field(default="", repr=False)

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}" if self.message else self.kind


@dataclass(frozen=True)
class Outcome:
    """What came of a cell.

    Attributes
    ----------
    cell : Cell
    values : dict
        What the task returned; empty where it failed.
    failure : Failure or None
    seconds : float
        Time the cell took.
    cpu_seconds : float
        Processor time of the thread it ran in.
    """

    cell: Cell
    values: dict[str, Value]
    failure: Failure | None = None
    seconds: float = 0.0
    cpu_seconds: float = 0.0


def run_cell(task: Task, cell: Cell) -> Outcome:
    """Run a cell; an error of the task is part of the outcome.

    Examples
    --------
    >>> run_cell(lambda rng, n: {"half": n / 2}, Cell("half", {"n": 3}, 0)).values
    {'half': 1.5}
    >>> print(run_cell(lambda rng, n: {"ratio": 1 / n}, Cell("ratio", {"n": 0}, 0)).failure)
    ZeroDivisionError: division by zero
    """
    begin, begin_cpu = time.perf_counter(), time.thread_time()
    values: dict[str, Value] = {}
    failure = None
    try:
        values = _checked(task(cell.rng(), **cell.settings), cell)
    except BaseException as error:  # also exits and cancellations; the crew knows of a real Ctrl-C
        failure = describe(error)
    return Outcome(
        cell, values, failure, time.perf_counter() - begin, time.thread_time() - begin_cpu
    )


def describe(error: BaseException) -> Failure:
    """Return an exception in words, short enough for a line of a file."""
    try:
        lines = traceback.format_exception(type(error), error, error.__traceback__, limit=-_FRAMES)
        message, calls, where = str(error), "".join(lines).strip(), place(error)
    except Exception as another:  # the task's own exceptions may be broken themselves
        message, calls, where = f"its message cannot be read ({type(another).__name__})", "", ""
    return Failure(type(error).__name__, message[:_MESSAGE], calls[-_TRACEBACK:], where)


def _checked(returned: Any, cell: Cell) -> dict[str, Value]:
    if not isinstance(returned, Mapping):
        raise TypeError(
            f"the task must return a dict of numbers and strings; got {type(returned).__name__}"
        )
    values: dict[str, Value] = {}
    for name, value in returned.items():
        if not isinstance(name, str) or name in RESERVED or name in cell.settings:
            raise ValueError(
                f"the task must return names that are neither settings nor one of "
                f"{', '.join(map(repr, RESERVED))}; got {name!r}"
            )
        try:
            values[name] = scalar(value)
            json.dumps(values[name])  # a store must be able to: integers have a longest one
        except (TypeError, ValueError) as error:
            raise type(error)(f"the task returned as {name!r}: {error}") from None
    return values
