"""One run of one solver, measured: the same clock, counters and certificate for all."""

from __future__ import annotations

import copy
import inspect
import math
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from riemtr import problems as registry
from riemtr.compare.deadline import OutOfTime, deadline
from riemtr.compare.entrants import Demands, Entrant
from riemtr.compare.records import COUNTS, Reach, Run
from riemtr.compare.starts import Start
from riemtr.compare.truth import nearness
from riemtr.compare.watching import Row, WatchedProblem
from riemtr.errors import DoesNotApply
from riemtr.interop.pymanopt import PymanoptSolver
from riemtr.problem import Counts, Evaluation
from riemtr.problem.points import check_point
from riemtr.problems import Case
from riemtr.solvers import Result, Status, TrustRegion
from riemtr.solvers.certificate import Tolerances, certify_evaluation
from riemtr.solvers.lbfgs import LBFGS
from riemtr.solvers.stopping import MaxSeconds

_OWN_HISTORY = (TrustRegion, PymanoptSolver, LBFGS)
_MOST_ROWS = 300
# The solver's own evaluation and riemtr's may differ in the last digits.
_SLACK = 1.0 + 1e-6
# How far the known solution may be where its cost is not known, and no smoothing blurs it.
_SAME_POINT = 1e-2


@dataclass(frozen=True)
class Task:
    """What all solvers get: a problem and a start.

    Attributes
    ----------
    label : str
        Of the problem.
    case : Case
    number : int
        Of the start.
    start : Start
    seed : tuple of int
        Of whatever the solver draws.
    tolerances : tuple of float
        Gradient norms to reach, loosest first.
    demands : Demands
    """

    label: str
    case: Case
    number: int
    start: Start
    seed: tuple[int, ...]
    tolerances: tuple[float, ...]
    demands: Demands


@dataclass(frozen=True)
class _Raw:
    """What a solver did, in one form for all kinds of solvers."""

    point: Any
    status: str
    claimed: bool
    seconds: float
    iterations: int | None
    counts: Counts
    rows: list[Row]
    from_start: bool = True  # whether the first row is the start
    out_of_time: bool = False


def measure(task: Task, one: Entrant) -> Run:
    """Run a solver once and judge where it ended.

    Errors of the solver are part of the record. ``KeyboardInterrupt`` goes through, also where the
    solver itself returned early because of it, and so does :class:`DoesNotApply`.
    """
    problem = WatchedProblem(task.case.problem)
    about: dict[str, Any] = {
        "problem": task.label,
        "solver": one.name,
        "start": task.number,
        "kind": task.start.kind,
    }
    limit = task.demands.max_seconds
    try:
        solver = one.make(task.case.problem, task.demands)
        # The solver's own limit comes first: it leaves an endpoint.
        # Where its numbers end up is judged below: no need for numpy to warn of them.
        with deadline(2.0 * limit + 1.0), np.errstate(all="ignore"):
            raw = _run(solver, problem, task)
        here = _endpoint(task, raw.point)
    except OutOfTime:
        note = f"still running after {2.0 * limit + 1.0:g} s, without a result"
        counts = problem.counts.as_dict()
        return Run(
            **about,
            outcome="timed out",
            status=note,
            claimed=False,
            seconds=problem.watch.seconds,
            counts=counts,
            oracles=_calls(problem.counts, task),
        )
    except DoesNotApply:
        raise
    except NotImplementedError as error:
        raise DoesNotApply(_in_words(error)) from error
    except (Exception, SystemExit) as error:  # whatever it is, the others go on
        return Run(
            **about,
            outcome="failed",
            status=f"{type(error).__name__}: {_in_words(error)}",
            claimed=False,
            seconds=problem.watch.seconds,
            counts=problem.counts.as_dict(),
            oracles=_calls(problem.counts, task),
        )
    late = raw.out_of_time or raw.seconds > limit
    rows = [*raw.rows, (raw.seconds, here.cost, here.gradient_norm, raw.counts)]
    return Run(
        **about,
        outcome="timed out" if late else "ended",
        status=raw.status,
        claimed=raw.claimed,
        **_judged(task, here),
        seconds=raw.seconds,
        iterations=raw.iterations,
        counts=raw.counts.as_dict(),
        oracles=_calls(raw.counts, task),
        reached=_reached(task, rows),
        trajectory=_trajectory(task, rows, from_start=raw.from_start and bool(raw.rows)),
    )


def warm_up(entrants: Iterable[Entrant]) -> None:
    """Let the solvers that are known solve something tiny, so that no run pays for imports."""
    problem = registry.build("rayleigh", rng=0, n=3).problem
    for one in entrants:
        with suppress(Exception), np.errstate(all="ignore"):  # the runs will show what is wrong
            solver = one.make(problem, Demands(1e-2, 1e-2, 1.0))
            if type(solver) in _OWN_HISTORY:
                result = solver.solve(problem, rng=0, stop=MaxSeconds(1.0))
                if result.status is Status.INTERRUPTED:
                    raise KeyboardInterrupt


def _run(solver: Any, problem: WatchedProblem, task: Task) -> _Raw:
    limit = task.demands.max_seconds
    options: dict[str, Any] = {"rng": np.random.default_rng(task.seed)}
    if not (isinstance(solver, PymanoptSolver) and solver.optimizer._max_time <= limit):
        options["stop"] = MaxSeconds(limit)
    options = {name: value for name, value in options.items() if _takes(solver.solve, name)}
    # These keep their own history and clock, and need no second ones. Nobody else's are believed,
    # not even those of a subclass, which may have run the solver many times.
    own = type(solver) in _OWN_HISTORY
    start = copy.deepcopy(task.start.point)  # no solver can spoil the start of the next
    problem.begin()
    found = solver.solve(task.case.problem if own else problem, start, **options)
    problem.note()
    seconds = problem.watch.seconds
    if isinstance(found, Result):
        raw = _from_result(found)
        if own:
            return raw
        return replace(raw, seconds=seconds, counts=problem.counts, rows=problem.rows)
    if not hasattr(found, "point"):
        raise TypeError(
            "a solver must return a riemtr Result, or an object with a point; it returned "
            f"{type(found).__name__}"
        )
    said = getattr(found, "converged", getattr(found, "success", False))
    words = getattr(found, "status", getattr(found, "stopping_criterion", "ended"))
    iterations = getattr(found, "iterations", None)
    return _Raw(
        point=found.point,
        status=str(words),
        claimed=bool(said),
        seconds=seconds,
        iterations=None if iterations is None else int(iterations),
        counts=problem.counts,
        rows=problem.rows,
    )


def _takes(method: Callable[..., Any], name: str) -> bool:
    parameters = inspect.signature(method).parameters
    anything = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters.values())
    return name in parameters or (anything and name == "rng")


def _from_result(result: Result) -> _Raw:
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
    return _Raw(
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


def _endpoint(task: Task, point: Any) -> Evaluation:
    problem = task.case.problem
    return problem.at(check_point(problem.manifold, point, name="the solver's point"))


def _judged(task: Task, here: Evaluation) -> dict[str, Any]:
    """The certificate of an endpoint, and how it compares with the known solution."""
    demands = task.demands
    tolerances = Tolerances(demands.tolerance * _SLACK, demands.curvature_tolerance)
    certificate = certify_evaluation(here, tolerances)
    success, distance = _compare_with_truth(task.case, here)
    return {
        "verdict": certificate.verdict,
        "success": success,
        "distance": distance,
        "cost": here.cost,
        "gradient_norm": here.gradient_norm,
        "min_eigenvalue": _finite(certificate.min_eigenvalue),
        "error_bound": _finite(certificate.error_bound),
    }


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _compare_with_truth(case: Case, here: Evaluation) -> tuple[bool | None, float | None]:
    """Whether a point is the known solution, and its distance.

    By the cost where the minimum is known; else by the distance, to the smoothing parameter mu
    where the problem has one: the paper's criterion.
    """
    if case.truth is None:
        return None, None
    found = nearness(case.truth, here.point, here.cost)
    distance = None if found.distance is None else _finite(found.distance)
    if found.lowest is not None or found.distance is None:
        return found.lowest, distance
    return distance is not None and distance <= case.parameters.get("mu", _SAME_POINT), distance


def _calls(counts: Counts, task: Task) -> int:
    """Oracle calls together; a Hessian matrix is as many products as there are dimensions."""
    products = counts.hessian_products + task.case.problem.manifold.dim * counts.hessian_matrices
    return int(counts.costs + counts.gradients + products)


def _reached(task: Task, rows: list[Row]) -> tuple[Reach, ...]:
    """When the gradient norm fell below each tolerance for good, within the time."""
    found = []
    for tolerance in task.tolerances:
        above = [n for n, row in enumerate(rows) if not row[2] <= tolerance * _SLACK]
        first = above[-1] + 1 if above else 0
        if first == len(rows):
            continue
        seconds, _, _, counts = rows[first]
        if seconds <= task.demands.max_seconds:
            found.append(Reach(tolerance, seconds, counts.as_dict(), _calls(counts, task)))
    return tuple(found)


def _trajectory(task: Task, rows: list[Row], *, from_start: bool) -> dict[str, list[float]]:
    """The run as it went, from the start to the end, on the problem that was asked for."""
    shown = [(s, _calls(counts, task), cost, norm) for s, cost, norm, counts in rows]
    if not from_start:
        start = task.case.problem.at(task.start.point)
        shown.insert(0, (0.0, 0, start.cost, start.gradient_norm))
    kept = np.unique(np.linspace(0, len(shown) - 1, min(len(shown), _MOST_ROWS)).astype(int))
    names = ("seconds", "oracles", "cost", "gradient_norm")
    return {name: [shown[row][column] for row in kept] for column, name in enumerate(names)}


def _in_words(error: BaseException) -> str:
    return " ".join(str(error).split())
