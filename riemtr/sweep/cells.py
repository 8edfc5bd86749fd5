"""What a sweep is made of: cells, each a setting of every parameter and a seed."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from riemtr.arguments import integer

Task = Callable[..., Mapping[str, Any]]
"""``task(rng, **settings)``: a function of a module; returns numbers and strings by name."""

Value = int | float | bool | str | None
"""What a setting, or what a task returns, may be."""

SEED, SECONDS, FAILURE = "seed", "cell_seconds", "failure"
"""Columns of a table that belong to the cell itself: no setting and no result has these names."""

RESERVED = (SEED, SECONDS, FAILURE)


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


def product(axes: Mapping[str, Iterable[Any]]) -> list[dict[str, Any]]:
    """Return every combination of the values given for each name, the last name fastest.

    Examples
    --------
    >>> product({"n": [10, 20], "theta": [0.1]})
    [{'n': 10, 'theta': 0.1}, {'n': 20, 'theta': 0.1}]
    """
    for name, values in axes.items():
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise ValueError(
                f"grid must have a list of values for each name; got {values!r} for {name!r}; "
                f"for a single value write [{values!r}]"
            )
    columns = [list(values) for values in axes.values()]
    return [dict(zip(axes, values, strict=True)) for values in itertools.product(*columns)]


def make_cells(
    task: str,
    grid: Mapping[str, Iterable[Any]] | Iterable[Mapping[str, Any]],
    seeds: Iterable[int],
) -> list[Cell]:
    """Return the cells of a grid, every setting with every seed.

    Parameters
    ----------
    task : str
        The task's name.
    grid : mapping or list of mappings
        The values of each name, all combinations of which are run; or the settings one by one.
    seeds : iterable of int
        Nonnegative; each is one repetition.

    Examples
    --------
    >>> [str(cell) for cell in make_cells("t", {"n": [10, 20]}, seeds=[0, 1])]
    ['n=10 seed=0', 'n=10 seed=1', 'n=20 seed=0', 'n=20 seed=1']
    """
    if not isinstance(seeds, Iterable):
        raise ValueError(
            f"seeds must be integers, one for each repetition; got {seeds!r}; for that many "
            f"repetitions use repetitions"
        )
    combinations = product(grid) if isinstance(grid, Mapping) else _one_by_one(grid)
    numbers = [integer("seeds", seed, low=0) for seed in seeds]
    if not combinations or not numbers:
        empty = "seeds" if combinations else "grid"
        raise ValueError(f"{empty} must not be empty; got nothing to run")
    names = set(combinations[0])
    cells: dict[str, Cell] = {}
    for settings in combinations:
        if set(settings) != names:
            raise ValueError(
                f"grid must set the same names everywhere; got {sorted(names)} and "
                f"{sorted(settings)}"
            )
        clean = {name: _setting(name, value) for name, value in settings.items()}
        for seed in numbers:
            cell = Cell(task, clean, seed)
            if cell.key in cells:
                raise ValueError(f"grid must name each cell once; got {cell} twice")
            cells[cell.key] = cell
    return list(cells.values())


def _one_by_one(grid: Any) -> list[dict[str, Any]]:
    settings = list(grid) if isinstance(grid, Iterable) else [grid]
    for one in settings:
        if not isinstance(one, Mapping):
            raise ValueError(
                f"grid must be a dict of the values of each name, or a list of dicts, one for each "
                f"setting; got {one!r}"
            )
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
    if not isinstance(name, str) or not name.isidentifier() or name in (*RESERVED, "rng"):
        raise ValueError(
            f"grid must have names that can be arguments of the task, other than "
            f"{', '.join(map(repr, (*RESERVED, 'rng')))}; got {name!r}"
        )
    try:
        clean = scalar(value)
    except TypeError as error:
        raise TypeError(f"grid, values of {name!r}: {error}") from None
    if isinstance(clean, float) and not math.isfinite(clean):
        raise ValueError(f"grid must have finite values; got {clean!r} for {name!r}")
    return clean
