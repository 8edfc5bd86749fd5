"""The cells of a sweep, each a setting of every parameter and a seed; and running one."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import time
import traceback
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from riemtr.arguments import integer
from riemtr.errors import ArgumentError
from riemtr.executors import unpacked
from riemtr.imports import place

Task = Callable[..., Mapping[str, Any]]
"""``task(rng, **settings)``: a function of a module; returns numbers and strings by name."""

Value = int | float | bool | str | None
"""A setting, or a result of a task."""

SEED, SECONDS, FAILURE = "seed", "cell_seconds", "failure"
"""Columns of a table that belong to the cell itself: no setting and no result has these names."""

_RESERVED = (SEED, SECONDS, FAILURE)
# Characters of an error that are kept, and of the calls that led to it.
_MESSAGE = 1000
_TRACEBACK = 3000
# How many of the innermost calls are kept.
_FRAMES = 4


@dataclass(frozen=True)
class Cell:
    """One run of the task.

    Attributes
    ----------
    task : str
        The task's name.
    settings : dict
        The arguments of the task.
    seed : int
        Number of the repetition.
    """

    task: str
    settings: dict[str, Value]
    seed: int
    key: str = field(init=False, repr=False)

    def __post_init__(self) -> None:
        # In the order of the names: how the grid was written must not matter.
        identity = [self.task, sorted(self.settings.items()), self.seed]
        digest = hashlib.sha256(json.dumps(identity, allow_nan=False).encode()).hexdigest()
        object.__setattr__(self, "key", digest[:32])

    def __hash__(self) -> int:
        return hash(self.key)

    def __str__(self) -> str:
        words = [f"{name}={value}" for name, value in self.settings.items()]
        return " ".join([*words, f"{SEED}={self.seed}"])

    def rng(self) -> np.random.Generator:
        """Return the cell's own source of randomness, which depends on nothing but the cell.

        Examples
        --------
        >>> first, again = Cell("t", {"n": 2, "k": 1}, 0), Cell("t", {"k": 1, "n": 2}, 0)
        >>> first.rng().random() == again.rng().random()
        True
        >>> first.rng().random() == Cell("t", {"n": 2, "k": 1}, 1).rng().random()
        False
        """
        return np.random.default_rng(np.random.SeedSequence(int(self.key, 16)))


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
    """The outcome of a cell.

    Attributes
    ----------
    cell : Cell
    values : dict
        The results of the task; empty where it failed.
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


def make_cells(
    task: str,
    grid: Mapping[str, Iterable[Any]] | Iterable[Mapping[str, Any]],
    seeds: Iterable[int],
) -> list[Cell]:
    """Return the cells of a grid, every setting with every seed, the last name fastest.

    The grid has the values of each name, all combinations of which are run; or it is a list of the
    settings one by one.

    Examples
    --------
    >>> [str(cell) for cell in make_cells("t", {"n": [10, 20]}, seeds=[0, 1])]
    ['n=10 seed=0', 'n=10 seed=1', 'n=20 seed=0', 'n=20 seed=1']
    """
    if not isinstance(seeds, Iterable):
        more = "for that many repetitions use repetitions"
        raise ArgumentError("seeds", "be integers, one for each repetition", seeds, more)
    combinations = _combined(grid)
    numbers = [integer("seeds", seed, low=0) for seed in seeds]
    if not combinations or not numbers:
        raise ArgumentError("seeds" if combinations else "grid", "not be empty: nothing would run")
    names = set(combinations[0])
    cells: dict[str, Cell] = {}
    for settings in combinations:
        if set(settings) != names:
            both = f"got {sorted(names)} and {sorted(settings)}"
            raise ArgumentError("grid", f"set the same names everywhere; {both}")
        clean = {name: _setting(name, value) for name, value in settings.items()}
        for seed in numbers:
            cell = Cell(task, clean, seed)
            if cell.key in cells:
                raise ArgumentError("grid", f"name each cell once; got {cell} twice")
            cells[cell.key] = cell
    return list(cells.values())


def _combined(grid: Any) -> list[dict[str, Any]]:
    """Return the settings that a grid stands for."""
    if isinstance(grid, Mapping):
        for name, values in grid.items():
            if isinstance(values, str) or not isinstance(values, Iterable):
                single = f"for a single value write [{values!r}]"
                needs = f"have a list of values for each name, {name!r} as well"
                raise ArgumentError("grid", needs, values, single)
        columns = itertools.product(*map(list, grid.values()))
        return [dict(zip(grid, values, strict=True)) for values in columns]
    settings = list(grid) if isinstance(grid, Iterable) else [grid]
    for one in settings:
        if not isinstance(one, Mapping):
            form = "be a dict of the values of each name, or a list of dicts, one for each setting"
            raise ArgumentError("grid", form, one)
    return [dict(one) for one in settings]


def scalar(value: Any) -> Value:
    """Return a number, a truth value, a string or None as Python's own; else a TypeError.

    Examples
    --------
    >>> scalar(np.float64(0.5)), scalar(np.bool_(True)), scalar("a")
    (0.5, True, 'a')
    """
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"expected a number, a string, true, false or none; got {value!r:.200}")


def _setting(name: Any, value: Any) -> Value:
    taken = (*_RESERVED, "rng")
    if not isinstance(name, str) or not name.isidentifier() or name in taken:
        needs = "have names that can be arguments of the task, other than"
        raise ArgumentError("grid", f"{needs} {', '.join(map(repr, taken))}", name)
    try:
        clean = scalar(value)
    except TypeError as error:
        raise TypeError(f"grid, values of {name!r}: {error}") from None
    if isinstance(clean, float) and not math.isfinite(clean):
        raise ArgumentError("grid", f"have finite values; got {clean!r} for {name!r}")
    return clean


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
        if not isinstance(name, str) or name in _RESERVED or name in cell.settings:
            needs = "return names that are neither settings nor one of"
            raise ArgumentError("the task", f"{needs} {', '.join(map(repr, _RESERVED))}", name)
        try:
            values[name] = scalar(value)
            json.dumps(values[name])  # a store must be able to: integers have a longest one
        except (TypeError, ValueError) as error:
            raise type(error)(f"the task returned as {name!r}: {error}") from None
    return values
