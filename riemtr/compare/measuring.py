"""One run of one solver, measured: the same clock, counters and certificate for all."""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import numpy as np

from riemtr import problems as registry
from riemtr.compare.endings import OWN_HISTORY, Ending, run_solver
from riemtr.compare.entrants import Demands, Entrant
from riemtr.compare.records import Run
from riemtr.compare.task import Task
from riemtr.compare.traces import SLACK, oracle_calls, reached, trajectory
from riemtr.compare.truth import nearness
from riemtr.compare.watching import WatchedProblem
from riemtr.errors import DoesNotApply
from riemtr.interrupts import OutOfTime, deadline, interrupts_insisted_on
from riemtr.problem import Evaluation
from riemtr.problems import Case
from riemtr.solvers import Status
from riemtr.solvers.certificate import MINIMIZER, certify_evaluation, default_tolerances
from riemtr.solvers.stopping import MaxSeconds

# How far the known solution may be where its cost is not known, and no smoothing blurs it.
_SAME_POINT = 1e-2
# A gradient norm within this factor of its tolerance is a narrow miss, and no failure.
_NARROWLY = 2.0


def measure(task: Task, one: Entrant) -> Run:
    """Run a solver once and judge where it ended.

    Errors of the solver are part of the record. ``KeyboardInterrupt`` goes through, also where the
    solver itself returned early because of it, and so does :class:`DoesNotApply`.
    """
    problem = WatchedProblem(task.case.problem)
    # The solver's own limit comes first: it leaves an endpoint.
    last = 2.0 * task.demands.max_seconds + 1.0
    try:
        solver = one.make(task.case.problem, task.demands)
        # Where its numbers end up is judged below: no need for numpy to warn of them.
        # A solver of riemtr's inside it ends gracefully on Ctrl-C, and nobody may have looked.
        with interrupts_insisted_on(), deadline(last), np.errstate(all="ignore"):
            ending = run_solver(solver, problem, task)
        here = _endpoint(task, ending.point)
    except OutOfTime:
        outcome, said = "timed out", f"still running after {last:g} s, without a result"
    except DoesNotApply:
        raise
    except NotImplementedError as error:
        raise DoesNotApply(_in_words(error)) from error
    except (Exception, SystemExit) as error:  # whatever it is, the others go on
        outcome, said = "failed", f"{type(error).__name__}: {_in_words(error)}"
    else:
        return _record(task, one, ending, here)
    return Run(
        *(task.label, one.name, task.number, task.start.kind, outcome, said, False),
        seconds=problem.watch.seconds,
        counts=problem.counts.as_dict(),
        oracles=oracle_calls(problem.counts, task),
    )


def _record(task: Task, one: Entrant, ending: Ending, here: Evaluation) -> Run:
    """What there is to say of a run that has an endpoint."""
    late = ending.out_of_time or ending.seconds > task.demands.max_seconds
    rows = [*ending.rows, (ending.seconds, here.cost, here.gradient_norm, ending.counts)]
    return Run(
        *(task.label, one.name, task.number, task.start.kind),
        outcome="timed out" if late else "ended",
        status=ending.status,
        claimed=ending.claimed,
        **_judged(task, here),
        seconds=ending.seconds,
        iterations=ending.iterations,
        counts=ending.counts.as_dict(),
        oracles=oracle_calls(ending.counts, task),
        reached=reached(task, rows),
        trajectory=trajectory(task, rows, from_start=ending.from_start and bool(ending.rows)),
    )


def warm_up(entrants: Iterable[Entrant]) -> None:
    """Let the solvers that are known solve something tiny, so that no run pays for imports."""
    problem = registry.build("rayleigh", rng=0, n=3).problem
    for one in entrants:
        with suppress(Exception), np.errstate(all="ignore"):  # the runs will show what is wrong
            solver = one.make(problem, Demands(1e-2, 1e-2, 1.0))
            if type(solver) in OWN_HISTORY:
                result = solver.solve(problem, rng=0, stop=MaxSeconds(1.0))
                if result.status is Status.INTERRUPTED:
                    raise KeyboardInterrupt


def _endpoint(task: Task, point: Any) -> Evaluation:
    problem = task.case.problem
    return problem.at(problem.geometry.check_point(point, name="the solver's point"))


def _judged(task: Task, here: Evaluation) -> dict[str, Any]:
    """The certificate of an endpoint, and how it compares with the known solution."""
    demands = task.demands
    tolerances, looser = (
        default_tolerances(here.precision, demands.tolerance * factor, demands.curvature_tolerance)
        for factor in (SLACK, _NARROWLY)
    )
    certificate = certify_evaluation(here, tolerances)
    critical = here.gradient_norm <= tolerances.gradient
    success, distance = _compare_with_truth(task.case, here)
    return {
        "verdict": certificate.verdict,
        "success": success,
        "distance": distance,
        "cost": here.cost,
        "gradient_norm": here.gradient_norm,
        "min_eigenvalue": _finite(certificate.min_eigenvalue),
        "error_bound": _finite(certificate.error_bound),
        "narrow": not critical and certify_evaluation(here, looser).verdict == MINIMIZER,
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


def _in_words(error: BaseException) -> str:
    return " ".join(str(error).split())
