"""Running one cell, and what came of it."""

from __future__ import annotations

import json
import time
import traceback
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from riemtr.executors import unpacked
from riemtr.imports import place
from riemtr.store import Record, read_store
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

    def __str__(self) -> str:
        return f"{self.cell}" if self.failure is None else f"{self.cell}: {self.failure}"


@dataclass(frozen=True)
class Kept:
    """What a store holds.

    Attributes
    ----------
    outcomes : dict
        By key of the cell.
    made_with : dict
        The code of the task and the software that they are from; likewise.
    damaged : int
        Records that could not be read.
    """

    outcomes: dict[str, Outcome]
    made_with: dict[str, Record]
    damaged: int = 0

    @property
    def environments(self) -> list[dict[str, Any]]:
        """The software that outcomes are from, each once."""
        found = [made["environment"] for made in self.made_with.values()]
        return [one for i, one in enumerate(found) if one not in found[:i]]


def read_outcomes(path: Path) -> Kept:
    """Read the store of a sweep, also while it is running."""
    identity, records, damaged = read_store(path)
    if "task" not in identity:
        raise ValueError(f"store must be that of a sweep; {str(path)!r} is that of another run")
    return from_records(identity["task"], records, damaged)


def from_records(task: str, records: Mapping[str, Record], damaged: int = 0) -> Kept:
    """Return the outcomes of a task that records hold, and what they were made with."""
    unknown: Record = {"code": None, "environment": {}}  # where its own record is damaged
    kept = Kept({}, {}, damaged)
    for key, record in records.items():
        if "settings" not in record:
            continue
        failure = None if record["failure"] is None else Failure(**record["failure"])
        cell = Cell(task, record["settings"], record["seed"])
        times = record["seconds"], record["cpu_seconds"]
        kept.outcomes[key] = Outcome(cell, record["values"], failure, *times)
        kept.made_with[key] = records.get(record["made_with"], unknown)
    return kept


def as_record(outcome: Outcome, made_with: str) -> Record:
    """Return an outcome as a record, with the key of the record of what it was made with."""
    parts = asdict(outcome)
    cell = parts.pop("cell")
    return {"settings": cell["settings"], "seed": cell["seed"], **parts, "made_with": made_with}


def run_packed(content: bytes, cell: Cell) -> Outcome:
    """Run a cell in a worker, where the task arrives as bytes."""
    try:
        task = unpacked(content)
    except BaseException as error:  # a module that leaves Python must not take the worker along
        return Outcome(cell, {}, describe(error))
    return run_cell(task, cell)


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
