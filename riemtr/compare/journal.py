"""Runs as they are finished, a line each, so that a kill costs none and a comparison continues.

The first line says of what comparison they are: it continues as the same one only. What a solver
or a problem of your own has from other functions and modules is not part of that; the cost of the
problem at one point is.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np

from riemtr.compare.cases import typed
from riemtr.compare.entrants import Demands, Entrant
from riemtr.compare.records import OF, Run, read_journal
from riemtr.environment import environment
from riemtr.files import plain
from riemtr.problem import Problem
from riemtr.problems import Case
from riemtr.recovery.solver_state import solver_state

_SHOWN = 3  # differences named in an error


class Journal:
    """Finished runs in a file; without a path, none are kept.

    Parameters
    ----------
    path : path or None
    identity : callable
        Returns what makes the comparison the one it is, in dicts of what JSON knows; called only
        where there is a path.
    resume : bool
        Whether the file may exist: what it knows is then found by :meth:`recall`.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None,
        identity: Callable[[], dict[str, Any]],
        resume: bool = False,
    ):
        if path is None and resume:
            raise ValueError("resume must come with a store to continue; pass its path as store")
        self._path = None if path is None else Path(path)
        self._known: dict[tuple[str, str, int], Run] = {}
        if self._path is None:
            return
        self._identity = json.loads(_line({OF: identity()}))[OF]
        self._begun = False
        if self._path.exists() and self._path.stat().st_size > 0:
            self._read(self._path, resume)

    def _read(self, path: Path, resume: bool) -> None:
        there, runs, size = read_journal(path)
        if runs and not resume:
            raise FileExistsError(
                f"store {str(path)!r} holds {len(runs)} runs already: continue it with resume, or "
                f"choose another store"
            )
        differences = ["its first line does not say of which"]
        if there is not None:
            differences = list(_differences(there, self._identity)) if runs else []
        if differences:
            more = len(differences) - _SHOWN
            rest = f" and {more} more" if more > 0 else ""
            raise ValueError(
                f"store {str(path)!r} belongs to another comparison ("
                f"{'; '.join(differences[:_SHOWN])}{rest}); repeat that one, or choose another "
                f"store"
            )
        os.truncate(path, size if runs else 0)  # a torn line would spoil the next
        self._begun = bool(runs)
        self._known = {_key(run): run for run in runs}

    def recall(self, problem: str, solver: str, start: int) -> Run | None:
        """Return a run that is known from before, None where it is still to be made."""
        return self._known.get((problem, solver, start))

    def keep(self, run: Run) -> None:
        """Write a run, unless it is known from before; the first one makes the file."""
        if self._path is None or _key(run) in self._known:
            return
        lines = [asdict(run)] if self._begun else [{OF: self._identity}, asdict(run)]
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("ab") as file:
            file.write("".join(map(_line, lines)).encode())
        self._begun = True


def identity(
    cases: Mapping[str, Case],
    entrants: Sequence[Entrant],
    demands: Demands,
    asked: Mapping[str, Any],
) -> dict[str, Any]:
    """Return what makes a comparison of solvers the one it is."""
    problem = next(iter(cases.values())).problem
    return {
        "problems": {label: _problem(case, asked["seed"]) for label, case in cases.items()},
        "solvers": {one.name: _solver(one, problem, demands) for one in entrants},
        **asked,
        "environment": versions(),
    }


def versions(*packages: str) -> dict[str, Any]:
    """Return the environment but for BLAS: which of them are loaded depends on what ran before."""
    return {key: value for key, value in environment(*packages).items() if key != "blas"}


def digest(value: Any) -> str:
    """Return a short text for what an object consists of, functions by their code."""
    return hashlib.sha256(repr(solver_state(value)).encode()).hexdigest()[:12]


def _problem(case: Case, seed: int) -> dict[str, Any]:
    problem = case.problem
    try:
        with np.errstate(all="ignore"):
            here = problem.at(problem.random_point((seed, 0, 0)))
            cost = f"{here.cost:.6g}"  # data are too large to look at, and need not be arrays
    except Exception as error:  # a cost that raises ends no comparison
        cost = type(error).__name__
    return {
        "built": typed(case.name, case.parameters) or digest(case.parameters),
        "dimension": int(problem.manifold.dim),
        "cost at a random point": cost,
    }


def _solver(one: Entrant, problem: Problem, demands: Demands) -> dict[str, str]:
    try:
        solver = one.make(problem, demands)
    except Exception as error:  # which the runs will show
        return {"type": type(error).__name__}
    methods = {
        name: part
        for kind in reversed(type(solver).__mro__)
        for name, part in vars(kind).items()
        if isinstance(part, FunctionType)
    }
    named = f"{type(solver).__module__}.{type(solver).__qualname__}"
    return {"type": named, "settings": digest(solver), "code": digest(methods)}


def _key(run: Run) -> tuple[str, str, int]:
    return run.problem, run.solver, run.start


def _line(record: dict[str, Any]) -> str:
    return json.dumps(plain(record), allow_nan=False, default=str) + "\n"


def _differences(there: Any, here: Any, name: str = "") -> Iterator[str]:
    """Say what differs, part by part where there are the same parts."""
    if isinstance(there, dict) and isinstance(here, dict):
        if there.keys() == here.keys():
            for key, part in here.items():
                yield from _differences(there[key], part, f"{name}, {key}" if name else key)
            return
        there, here = ", ".join(there), ", ".join(here)
    if there != here:
        yield f"{name}: {there} there, {here} here"
