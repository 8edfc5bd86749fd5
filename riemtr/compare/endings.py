"""A solver let run, and what it did in one form, whatever kind of solver it is."""

from __future__ import annotations

import copy
import inspect
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from riemtr.compare.records import COUNTS
from riemtr.compare.task import Task
from riemtr.compare.watching import Row, WatchedProblem
from riemtr.interop.pymanopt import PymanoptSolver
from riemtr.problem import Counts
from riemtr.solvers import (
    ARC,
    LBFGS,
    ExactTRM,
    PracticalTRM,
    Result,
    ScipyLBFGSB,
    Status,
    TrustRegion,
)
from riemtr.solvers.stopping import MaxSeconds

OWN_HISTORY = (TrustRegion, ExactTRM, PracticalTRM, LBFGS, ARC, PymanoptSolver, ScipyLBFGSB)
"""Solvers whose own history and clock are believed."""


@dataclass(frozen=True)
class Ending:
    """What a solver did, in one form for all kinds of solvers.

    Attributes
    ----------
    point : point of the manifold
        Where it ended, unchecked.
    status : str
        How it says it ended.
    claimed : bool
        Whether it calls itself converged.
    seconds : float
    iterations : int or None
    counts : Counts
        Oracle calls of the whole run.
    rows : list of Row
        The run as it went.
    from_start : bool
        Whether the first row is the start.
    out_of_time : bool
        Whether it says so itself.
    """

    point: Any
    status: str
    claimed: bool
    seconds: float
    iterations: int | None
    counts: Counts
    rows: list[Row]
    from_start: bool = True
    out_of_time: bool = False


def run_solver(solver: Any, problem: WatchedProblem, task: Task) -> Ending:
    """Run a solver once, with a limit of time where it takes one.

    Parameters
    ----------
    solver : object
        With ``solve(problem, start, ...)``; ``rng`` and ``stop`` are passed if it takes them. It
        returns a :class:`~riemtr.Result`, an object with ``point`` (and ``converged`` or
        ``success``, ``status``, ``iterations`` where it has them), or the point itself.
    problem : WatchedProblem
        The task's, for solvers that keep no history of their own.
    task : Task
    """
    limit = task.demands.max_seconds
    options: dict[str, Any] = {"rng": np.random.default_rng(task.seed)}
    if not (isinstance(solver, PymanoptSolver) and solver.optimizer._max_time <= limit):
        options["stop"] = MaxSeconds(limit)
    options = {name: value for name, value in options.items() if _takes(solver.solve, name)}
    # These keep their own history and clock, and need no second ones. Nobody else's are believed,
    # not even those of a subclass, which may have run the solver many times.
    own = type(solver) in OWN_HISTORY
    start = copy.deepcopy(task.start.point)  # no solver can spoil the start of the next
    # The last row of riemtr's histories counts the decision to stop, which rows of others do not.
    last: deque[Row] = deque(maxlen=1)
    if own and isinstance(solver, TrustRegion):
        options["observers"] = lambda now: last.append(
            (now.seconds, now.cost, now.gradient_norm, now.counts)
        )
    problem.begin()
    found = solver.solve(task.case.problem if own else problem, start, **options)
    problem.note()
    seconds = problem.watch.seconds
    if isinstance(found, Result):
        ending = from_result(found)
        if own:
            return replace(ending, rows=[*ending.rows[:-1], *last]) if last else ending
        return replace(ending, seconds=seconds, counts=problem.counts, rows=problem.rows)
    if not hasattr(found, "point"):
        if not _is_point(found, problem):
            raise TypeError(
                "a solver must return a riemtr Result, an object with a point, or the point "
                f"itself; it returned {type(found).__name__}"
            )
        found = SimpleNamespace(point=found)  # which says nothing of itself
    said = getattr(found, "converged", getattr(found, "success", False))
    words = getattr(found, "status", getattr(found, "stopping_criterion", "ended"))
    iterations = getattr(found, "iterations", None)
    return Ending(
        point=found.point,
        status=str(words),
        claimed=bool(said),
        seconds=seconds,
        iterations=None if iterations is None else int(iterations),
        counts=problem.counts,
        rows=problem.rows,
    )


def _is_point(found: Any, problem: WatchedProblem) -> bool:
    """Whether it may be meant as one: an array, or as many as a point has; all else comes later."""
    if problem.layout == 1:
        return hasattr(found, "__array__")
    return isinstance(found, (list, tuple))


def _takes(method: Callable[..., Any], name: str) -> bool:
    parameters = inspect.signature(method).parameters
    anything = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters.values())
    return name in parameters or (anything and name == "rng")


def from_result(result: Result) -> Ending:
    """Return the ending of a run that kept its own history."""
    if result.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    ours = isinstance(result.solver, TrustRegion)
    first_order = result.status is Status.FIRST_ORDER
    # Those that never look at the curvature call any small gradient convergence.
    blind = result.status is Status.UNRESOLVED and not ours
    table = result.history
    # Earlier stages of a continuation are about other, easier costs.
    last = np.flatnonzero(table["stage"] == table["stage"][-1])
    rows = [
        (
            float(table["seconds"][row]),
            float(table["cost"][row]),
            float(table["gradient_norm"][row]),
            Counts(*(int(table[name][row]) for name in COUNTS)),
        )
        for row in last
    ]
    return Ending(
        point=result.point,
        status=str(result.reason) if ours else result.reason.detail or str(result.reason),
        claimed=result.converged or first_order or blind,
        seconds=result.seconds,
        iterations=result.iterations,
        counts=result.counts,
        rows=rows,
        from_start=bool(last[0] == 0),
        out_of_time=result.status is Status.MAX_SECONDS,
    )
