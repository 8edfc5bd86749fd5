"""Runs in a store as they are finished, so that a kill costs none and a comparison continues.

A comparison continues as the same one only. What a solver or a problem of your own has from other
functions and modules is not part of its identity; the cost of the problem at one point is.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from riemtr.compare.cases import typed
from riemtr.compare.entrants import Demands, Entrant
from riemtr.compare.records import Run, as_run
from riemtr.environment import environment
from riemtr.errors import ArgumentError
from riemtr.files import plain, reading
from riemtr.identity import code_of, digest
from riemtr.problem import Problem
from riemtr.problems import Case
from riemtr.store import Store


def open_runs(
    path: str | os.PathLike[str] | None, identity: Callable[[], dict[str, Any]], resume: bool
) -> Store:
    """Open the store of a comparison, in a folder that is made if need be; or none, in memory."""
    if path is None:
        if resume:
            raise ArgumentError("resume", "come with a store to continue; pass its path as store")
        return Store(None, {})
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    return Store(path, plain({"of": "comparison", **identity()}), resume=resume)


def recall(store: Store, problem: str, solver: str, start: int) -> Run | None:
    """Return a run that is known from before, None where it is still to be made."""
    known = store.records.get(_key(problem, solver, start))
    if known is None:
        return None
    with reading(store.path or "the store", "the store of a comparison"):
        return as_run(known)


def keep(store: Store, run: Run) -> None:
    """Keep a run, unless it is known from before."""
    key = _key(run.problem, run.solver, run.start)
    if key not in store.records:
        store.keep({key: json.loads(json.dumps(plain(asdict(run)), default=str))})


def _key(problem: str, solver: str, start: int) -> str:
    return json.dumps([problem, solver, start])


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
    named = f"{type(solver).__module__}.{type(solver).__qualname__}"
    return {"type": named, "settings": digest(solver), "code": code_of(type(solver))}
