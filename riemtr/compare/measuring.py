"""One run of one solver, measured: the same clock, counters and certificate for all."""

from __future__ import annotations

import copy
import inspect
import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from riemtr import problems as registry
from riemtr.compare.entrants import OWN_HISTORY, Demands, Entrant
from riemtr.compare.records import COUNTS, Reach, Run
from riemtr.compare.starts import Start
from riemtr.errors import DoesNotApply
from riemtr.interop.pymanopt import PymanoptSolver
from riemtr.interrupts import OutOfTime, deadline, interrupts_insisted_on
from riemtr.problem import Clock, Counts, Evaluation, Problem
from riemtr.problem.books import is_known
from riemtr.problems import Case, Truth
from riemtr.solvers import Result, Status, TrustRegion
from riemtr.solvers.certificate import MINIMIZER, certify_evaluation, default_tolerances
from riemtr.solvers.stopping import MaxSeconds

# The solver's own evaluation and riemtr's may differ in the last digits.
_SLACK = 1.0 + 1e-6
# A gradient norm within this factor of its tolerance is a narrow miss, and no failure.
_NARROWLY = 2.0
# Rows of a run that are kept: a figure shows no more.
_MOST_ROWS = 300
# Relative to the cost: above what a converged run leaves, below what tells two minima apart.
_SAME_COST = 1e-6
# How far the known solution may be where its cost is not known, and no smoothing blurs it.
_SAME_POINT = 1e-2


@dataclass(frozen=True)
class Task:
    """The task that all solvers get: a problem by its label, and a start by its number.

    The seed is that of whatever a solver draws; the tolerances are gradient norms, loosest first.
    """

    label: str
    case: Case
    number: int
    start: Start
    seed: tuple[int, ...]
    tolerances: tuple[float, ...]
    demands: Demands


@dataclass(frozen=True)
class Ending:
    """The end of a run, in one form for all kinds of solvers.

    The point is unchecked, and the status the solver's own word. ``rows`` are the run as it went,
    the first of which is the start if ``from_start`` says so.
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


def measure(task: Task, one: Entrant) -> Run:
    """Run a solver once and judge where it ended.

    Errors of the solver are part of the record. ``KeyboardInterrupt`` goes through, also where the
    solver itself returned early because of it, and so does :class:`DoesNotApply`.
    """
    problem = WatchedProblem(task.case.problem)
    which = (task.label, one.name, task.number, task.start.kind)
    # The solver's own limit comes first: it leaves an endpoint.
    last = 2.0 * task.demands.max_seconds + 1.0
    try:
        solver = one.make(task.case.problem, task.demands)
        # Where its numbers end up is judged below: no need for numpy to warn of them.
        # A solver of riemtr's inside it ends gracefully on Ctrl-C, and nobody may have looked.
        with interrupts_insisted_on(), deadline(last), np.errstate(all="ignore"):
            ending = run_solver(solver, problem, task)
        point = task.case.problem.geometry.check_point(ending.point, name="the solver's point")
        here = task.case.problem.at(point)
    except OutOfTime:
        outcome, said = "timed out", f"still running after {last:g} s, without a result"
    except DoesNotApply:
        raise
    except NotImplementedError as error:
        raise DoesNotApply(_in_words(error)) from error
    except (Exception, SystemExit) as error:  # whatever it is, the others go on
        outcome, said = "failed", f"{type(error).__name__}: {_in_words(error)}"
    else:
        late = ending.out_of_time or ending.seconds > task.demands.max_seconds
        rows = [*ending.rows, (ending.seconds, here.cost, here.gradient_norm, ending.counts)]
        return Run(
            *which,
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
    return Run(
        *(*which, outcome, said, False),
        seconds=problem.watch.seconds,
        counts=problem.counts.as_dict(),
        oracles=oracle_calls(problem.counts, task),
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


# --- a solver let run ----------------------------------------------------------------------------


def run_solver(solver: Any, problem: WatchedProblem, task: Task) -> Ending:
    """Run a solver once, with a limit of time where it takes one.

    Its ``solve(problem, start, ...)`` is passed ``rng`` and ``stop`` if it takes them, and a
    problem that takes notes if it keeps no history of its own. It returns a
    :class:`~riemtr.Result`, an object with ``point`` (and ``converged`` or ``success``, ``status``,
    ``iterations`` where it has them), or the point itself.
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
        # An array, or as many as a point has, may be meant as one; all else is checked later.
        several = problem.layout != 1 and isinstance(found, (list, tuple))
        if not several and not (problem.layout == 1 and hasattr(found, "__array__")):
            raise TypeError(
                "a solver must return a riemtr Result, an object with a point, or the point "
                f"itself; it returned {type(found).__name__}"
            )
        found = SimpleNamespace(point=found)  # which says nothing of itself
    iterations = getattr(found, "iterations", None)
    return Ending(
        point=found.point,
        status=str(getattr(found, "status", getattr(found, "stopping_criterion", "ended"))),
        claimed=bool(getattr(found, "converged", getattr(found, "success", False))),
        seconds=seconds,
        iterations=None if iterations is None else int(iterations),
        counts=problem.counts,
        rows=problem.rows,
    )


def _takes(method: Callable[..., Any], name: str) -> bool:
    parameters = inspect.signature(method).parameters
    anything = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters.values())
    return name in parameters or (anything and name == "rng")


def from_result(result: Result) -> Ending:
    """Return the ending of a run that kept its own history."""
    if result.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    ours = isinstance(result.solver, TrustRegion)
    # Others never look at the curvature, and call any small gradient convergence.
    blind = result.status is Status.UNRESOLVED and not ours
    table = result.history
    # Earlier stages of a continuation are about other, easier costs.
    last = np.flatnonzero(table["stage"] == table["stage"][-1])
    rows = [
        (
            *(float(table[name][row]) for name in ("seconds", "cost", "gradient_norm")),
            Counts(*(int(table[name][row]) for name in COUNTS)),
        )
        for row in last
    ]
    return Ending(
        point=result.point,
        status=str(result.reason) if ours else result.reason.detail or str(result.reason),
        claimed=result.converged or result.status is Status.FIRST_ORDER or blind,
        seconds=result.seconds,
        iterations=result.iterations,
        counts=result.counts,
        rows=rows,  # type: ignore[arg-type]
        from_start=bool(last[0] == 0),
        out_of_time=result.status is Status.MAX_SECONDS,
    )


# --- where it ended ------------------------------------------------------------------------------


def _judged(task: Task, here: Evaluation) -> dict[str, Any]:
    """The certificate of an endpoint, and how it compares with the known solution."""
    demands = task.demands
    tolerances, looser = (
        default_tolerances(here.precision, demands.tolerance * factor, demands.curvature_tolerance)
        for factor in (_SLACK, _NARROWLY)
    )
    certificate = certify_evaluation(here, tolerances)
    critical = here.gradient_norm <= tolerances.gradient
    distance, success = None, None
    if task.case.truth is not None:
        offer = getattr(here.problem.cost, "dual_bound", None)
        distance, _, success = nearness(task.case.truth, here.point, here.cost, offer)
        if success is None and distance is not None:  # the paper's criterion
            success = distance <= task.case.parameters.get("mu", _SAME_POINT)
    return {
        "verdict": certificate.verdict,
        "success": success,
        "distance": _finite(distance),
        "cost": here.cost,
        "gradient_norm": here.gradient_norm,
        "min_eigenvalue": _finite(certificate.min_eigenvalue),
        "error_bound": _finite(certificate.error_bound),
        "narrow": not critical and certify_evaluation(here, looser).verdict == MINIMIZER,
    }


def nearness(
    truth: Truth, point: Any, cost: float, dual_bound: Callable[[Any], float | None] | None = None
) -> tuple[float | None, float | None, bool | None]:
    """Compare a point and its cost with the known solution.

    Parameters
    ----------
    truth : Truth
    point : point of the manifold
    cost : float
    dual_bound : callable, optional
        The ``dual_bound(point)`` of the cost, if it offers one.

    Returns
    -------
    distance : float or None
        From the known solution; None for this and all else that is not known.
    excess : float or None
        Of the cost over the known minimum; rounding can make it negative.
    lowest : bool or None
        Whether the cost is the known minimum, as far as converged runs can tell. Where no minimum
        is known a bound may prove it; a bound that proves nothing says nothing either.

    Examples
    --------
    >>> truth = Truth(cost=1.0)
    >>> nearness(truth, None, cost=1.0 + 1e-9)[2], nearness(truth, None, cost=1.1)[2]
    (True, False)
    >>> nearness(Truth(), None, 1.0 + 1e-9, lambda point: 1.0)[2]
    True
    """
    distance = None if truth.distance is None else float(truth.distance(point))
    if truth.cost is not None:
        excess = cost - truth.cost
        return distance, excess, bool(excess <= _SAME_COST * max(1.0, abs(truth.cost)))
    bound = None if dual_bound is None else dual_bound(point)
    proved = bound is not None and cost - bound <= _SAME_COST * max(1.0, abs(cost))
    return distance, None, True if proved else None


def _finite(value: float | None) -> float | None:
    return float(value) if value is not None and math.isfinite(value) else None


def _in_words(error: BaseException) -> str:
    return " ".join(str(error).split())


# --- how it went ---------------------------------------------------------------------------------


def oracle_calls(counts: Counts, task: Task) -> int:
    """Return all oracle calls together, a Hessian matrix as one product per dimension."""
    products = counts.hessian_products + task.case.problem.manifold.dim * counts.hessian_matrices
    return int(counts.costs + counts.gradients + products)


def reached(task: Task, rows: list[Row]) -> tuple[Reach, ...]:
    """Return when the gradient norm fell below each tolerance for good, within the time."""
    found = []
    for tolerance in task.tolerances:
        above = [n for n, row in enumerate(rows) if not row[2] <= tolerance * _SLACK]
        first = above[-1] + 1 if above else 0
        if first == len(rows):
            continue
        seconds, _, _, counts = rows[first]
        if seconds <= task.demands.max_seconds:
            found.append(Reach(tolerance, seconds, counts.as_dict(), oracle_calls(counts, task)))
    return tuple(found)


def trajectory(task: Task, rows: list[Row], *, from_start: bool) -> dict[str, list[float]]:
    """Return the run as it went, from the start to the end, on the problem that was asked for."""
    shown = [(s, oracle_calls(counts, task), cost, norm) for s, cost, norm, counts in rows]
    if not from_start:
        start = task.case.problem.at(task.start.point)
        # Nobody knows what happened to this cost on the way through easier ones: a step, no slope.
        until = shown[0][:2] if shown else (0.0, 0)
        shown[:0] = [(*when, start.cost, start.gradient_norm) for when in ((0.0, 0), until)]
    kept = np.unique(np.linspace(0, len(shown) - 1, min(len(shown), _MOST_ROWS)).astype(int))
    names = ("seconds", "oracles", "cost", "gradient_norm")
    return {name: [shown[row][column] for row in kept] for column, name in enumerate(names)}


# -- watching a solver that keeps no history of its own: a problem that counts and takes notes ----

Row = tuple[float, float, float, Counts]
"""Seconds, cost, gradient norm and counts at one point of a run."""

# The value, or the function that a plain cost was made of, and so on.
_COLUMNS = {
    "value": "costs",
    "cost": "costs",
    "gradient": "gradients",
    "hessian": "hessian_products",
    "hessian_matrix": "hessian_matrices",
}


class Watched:
    """A cost, or what it knows at a point, that counts what is asked of it; all else is its own.

    Every call of a function counts, and a value that is no function once. ``on_gradient`` is called
    with what :meth:`at` returned, once its gradient is known.
    """

    def __init__(
        self,
        watched: Any,
        counts: Counts,
        on_gradient: Callable[[Watched], None] = lambda point: None,
    ):
        self.watched = watched
        self._counts = counts
        self._on_gradient = on_gradient

    def __getattr__(self, name: str) -> Any:
        if name in ("watched", "_counts", "_on_gradient"):  # while it is being copied
            raise AttributeError(name)
        found = getattr(self.watched, name)
        if name == "easier":
            return self._easier
        if name not in _COLUMNS or found is None:
            return found
        if callable(found):
            found = self._counted(found, name)
        else:
            self._count(name)
        # Kept, since looking for it takes longer than many a product.
        self.__dict__[name] = found
        if name == "gradient":
            self._on_gradient(self)
        return found

    def at(self, point: Any) -> Watched:
        """Return what the cost knows at a point, counted."""
        return Watched(self.watched.at(point), self._counts, self._on_gradient)

    def _easier(self) -> Iterator[tuple[Watched, float]]:
        for cost, tolerance in self.watched.easier():
            yield Watched(cost, self._counts), tolerance

    def _count(self, name: str) -> None:
        column = _COLUMNS[name]
        setattr(self._counts, column, getattr(self._counts, column) + 1)

    def _counted(self, function: Callable[..., Any], name: str) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            value = function(*arguments, **options)
            self._count(name)
            return value

        return call


class WatchedProblem(Problem):
    """A problem that counts and times whatever a solver asks of it.

    A point gets a row of notes if the solver asks for the gradient there: seconds and counts at the
    moment the gradient is known, as in riemtr's own histories, and not when the solver leaves the
    point, perhaps after a look at its curvature. Easier versions of the cost count as well, but no
    notes are taken of their points.
    """

    def __init__(self, problem: Problem):
        self.__dict__.update(problem.__dict__)
        self.counts = Counts()  # all calls so far
        self.cost = Watched(problem.cost, self.counts, self._stamp)
        self.watch = Clock()
        self.rows: list[Row] = []
        self._last: Evaluation | None = None
        self._when: tuple[float, Counts] | None = None  # the gradient there became known

    def at(
        self, point: Any, counts: Counts | None = None, clock: Clock | None = None
    ) -> Evaluation:
        """Return the evaluation at a point; what it asks of the cost counts here as well."""
        self.note()
        self._last = super().at(point, counts, clock)
        return self._last

    def begin(self) -> None:
        """Start the clock anew."""
        self.watch = Clock()

    def _stamp(self, point: Watched) -> None:
        seconds = self.watch.seconds
        with self.watch.paused():
            # Not of the points around it that differences are taken of.
            if self._last is not None and vars(self._last).get("_local") is point:
                self._when = seconds, self.counts.snapshot()

    def note(self) -> None:
        """Complete the notes of the last point, off the clock."""
        here, when = self._last, self._when
        self._last = self._when = None
        if here is None or when is None or not is_known(here, "gradient"):
            return
        with self.watch.paused():
            cost = here.cost if is_known(here, "cost") else math.nan
            self.rows.append((when[0], cost, here.gradient_norm, when[1]))
