"""Many starts of one problem: which minimizers there are, and how often each is reached."""

from __future__ import annotations

import math
import pickle
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from riemtr.arguments import as_integer, check_nonnegative, generator
from riemtr.errors import ArgumentError, NonFiniteCostError
from riemtr.executors import Workers, hired, jobs, packed, run_all, unpacked
from riemtr.files import drawing_axes
from riemtr.problem import Problem, as_problem
from riemtr.problem.books import provide
from riemtr.progress import Progress, Watcher, watching
from riemtr.solvers.arguments import start_point
from riemtr.solvers.distinct import Minimizer, distinct
from riemtr.solvers.result import Result
from riemtr.solvers.status import Status
from riemtr.solvers.stopping import MaxSeconds
from riemtr.solvers.trust_region import PracticalTRM
from riemtr.summary import DOUBTFUL, GOOD, Summarised, Summary, Table, plural

# Of a start: what it led to, or None if it was not begun or not finished.
Outcome = Result | BaseException | None
# Portions of the starts for each worker: one that is done early takes on another.
_PORTIONS = 16
# Rows that a table shows.
_SHOWN = 20


@dataclass(frozen=True, repr=False, eq=False)
class Multistart(Summarised):
    """Results from many starts.

    Attributes
    ----------
    results : tuple of Result
        One for each start, in their order, each with its certificate; None for a start that raised
        an error, or was not solved before Ctrl-C or the end of the time.
    minimizers : tuple of Minimizer
        The distinct minimizers, up to the symmetries that are known, the lowest first; each with
        the numbers of the runs that reached it.
    seconds : float
        Wall time.
    errors : dict
        The exceptions that starts raised, by their numbers.
    status : Status or None
        ``INTERRUPTED`` after Ctrl-C, ``MAX_SECONDS`` at the end of the time; None if every start
        was followed to its end.
    """

    results: tuple[Result | None, ...]
    minimizers: tuple[Minimizer, ...]
    seconds: float
    problem: Problem = field(repr=False)
    errors: Mapping[int, Exception] = field(default_factory=dict)
    status: Status | None = None

    @property
    def best(self) -> Result:
        """The result of the lowest cost, of those that are certified if there are any."""
        if self.minimizers:
            return self.minimizers[0].result
        return min((each for each in self.results if each is not None), key=lambda one: one.cost)

    @property
    def kinds(self) -> tuple[tuple[Minimizer, ...], ...]:
        """The minimizers, those together that may be images of one another under a symmetry."""
        kinds: dict[int, list[Minimizer]] = {}
        for one in self.minimizers:
            kinds.setdefault(one.alike, []).append(one)
        return tuple(map(tuple, kinds.values()))

    def summary(self) -> Summary:
        """Return the minimizers in a table, those together that may be images of one another."""
        number, rows = len(self.results) - self._unfinished, []
        for kind in self.kinds[:_SHOWN]:
            reached = sum(one.count for one in kind)
            first = kind[0]
            rows.append(
                (
                    f"{first.cost:.12g}",
                    str(len(kind)),
                    str(reached),
                    f"{reached / number:.1%}",
                    (first.result.certificate.verdict_in_words, GOOD),
                )
            )
        table = Table(("cost", "points", "reached", "share", "certificate"), tuple(rows), "rrrrl")
        line = (
            f"{self._starts}: {plural(len(self.minimizers), 'distinct minimizer')}, "
            f"the lowest cost is {self.best.cost:.12g}"
        )
        if self.minimizers:
            line += f", reached {plural(sum(one.count for one in self.kinds[0]), 'time')}"
        others = number - sum(one.count for one in self.minimizers)
        return Summary(
            line,
            table=table if rows else None,
            notes=tuple(self._notes(others)),
            tone=GOOD if self.minimizers else DOUBTFUL,
            line=f"{line}, in {self.seconds:.3g} s",
        )

    @property
    def _unfinished(self) -> int:
        """How many starts have neither a result nor an error."""
        return sum(each is None for each in self.results) - len(self.errors)

    @property
    def _starts(self) -> str:
        number = len(self.results)
        done = number - self._unfinished
        return plural(number, "start") if done == number else f"{done} of {plural(number, 'start')}"

    def _notes(self, others: int) -> list[str]:
        notes = []
        if self.status is not None:
            notes.append(
                "interrupted from the keyboard: starts that had ended are kept"
                if self.status is Status.INTERRUPTED
                else "out of time: raise max_seconds, or take fewer starts"
            )
        if len(self.kinds) > _SHOWN:
            notes.append(f"and {len(self.kinds) - _SHOWN} more costs, in .minimizers")
        if others:
            ends: Counter[str] = Counter()
            for error in self.errors.values():
                if isinstance(error, NonFiniteCostError):
                    ends["no finite cost at the start"] += 1
                else:
                    ends[f"raised {type(error).__name__}, see .errors"] += 1
            for each in self.results:
                if each is not None and each.certificate.verdict != "minimizer":
                    ends[f"{each.status.name.lower()}, {each.certificate.verdict}"] += 1
            told = ", ".join(f"{count} {how}" for how, count in ends.most_common())
            notes.append(f"{plural(others, 'run')} ended at no certified minimizer: {told}")
        if len(self.kinds) < len(self.minimizers):
            notes.append(
                "points: so many in one row have the same cost and the same eigenvalues of the "
                "Hessian; they may be images of one another under a symmetry that the problem does "
                "not name: Problem(..., invariants=) names it, and they count as one"
            )
        if any(not one.isolated for one in self.minimizers):
            notes.append("minimizers with flat directions are told apart by their costs alone")
        return notes

    def plot(self, axes: Any = None) -> Any:
        """Draw how often each minimizer was reached against its cost; needs the extra ``plot``."""
        return plot_minimizers(self, axes)


def multistart(
    problem: Any,
    starts: int | Sequence[Any] = 100,
    rng: Any = 0,
    n_jobs: int | None = 1,
    solver: Any = None,
    *,
    max_seconds: float = math.inf,
    progress: bool | Watcher = False,
) -> Multistart:
    """Solve a problem from many starts, and merge the results into distinct minimizers.

    Minimizers that are images of one another count as one if the problem names the symmetry: up to
    ten directions, in ``Problem(..., symmetries=)``, or by numbers that the symmetry leaves as they
    are, in ``Problem(..., invariants=)``, as permutations and reflections need it. Invariants cost
    next to nothing, and take precedence.

    A start that raises an error is recorded, and the others go on; if no start leads to a result,
    the first error is raised. Ctrl-C ends the runs, not the program: starts that have ended are
    merged and returned.

    Parameters
    ----------
    problem : Problem or pymanopt.Problem
    starts : int, or sequence of points
        How many random starts, or the starts themselves.
    rng : numpy.random.Generator, int or None
        Source of the random starts.
    n_jobs : int
        Processes; -1 for all cores. Results are the same bit for bit, whatever the number. A cost
        that cannot be sent to other processes runs in threads. Starting processes takes a second
        or two: for less work than that, 1 is the fastest.
    solver : solver, optional
        :class:`riemtr.PracticalTRM` if not given.
    max_seconds : float
        Time for all starts together, at the end of which runs stop where they are. The solver's own
        ``max_seconds`` is a limit for each run.
    progress : bool or callable
        Show how many runs have ended, and how many ends have been compared, or what to call with
        every :class:`riemtr.progress.Progress`.

    Returns
    -------
    Multistart
        ``.best``, ``.minimizers``, ``.results``; it prints as a table.

    Examples
    --------
    >>> import autograd.numpy as np, riemtr
    >>> problem = riemtr.Problem(riemtr.Sphere(3), lambda x: -np.sum(x**4))
    >>> runs = riemtr.multistart(problem, starts=30, rng=0)
    >>> len(runs.minimizers), sum(one.count for one in runs.minimizers)
    (6, 30)
    >>> {one.alike for one in runs.minimizers}  # the six axes, which a symmetry exchanges
    {0}
    """
    problem = as_problem(problem)
    solver = PracticalTRM() if solver is None else solver
    if not hasattr(solver, "solve"):
        raise ArgumentError("solver", "have a method solve, as riemtr.LBFGS() has", solver)
    check_nonnegative("max_seconds", max_seconds)
    points = _starts(problem, starts, generator(rng))
    workers = min(jobs(n_jobs), len(points))
    begun = time.perf_counter()
    # Of the wall clock, which all processes share.
    end = time.time() + max_seconds
    ends: dict[int, Result | Exception] = {}
    status: Status | None = None

    with watching(progress) as watch:

        def keep(ended: list[tuple[list[int], Any]]) -> None:
            interrupted = False
            for numbers, outcomes in ended:
                if isinstance(outcomes, BaseException):  # of a worker that died, for example
                    outcomes = [outcomes] * len(numbers)
                for number, outcome in zip(numbers, outcomes, strict=True):
                    interrupted |= isinstance(outcome, KeyboardInterrupt)
                    if isinstance(outcome, (Result, Exception)):
                        ends[number] = outcome
                watch(Progress("solving", len(ends), len(points), time.perf_counter() - begun))
            if interrupted:
                raise KeyboardInterrupt

        size = 1 if workers == 1 else math.ceil(len(points) / (_PORTIONS * workers))
        portions = [
            list(range(first, min(first + size, len(points))))
            for first in range(0, len(points), size)
        ]
        try:
            with _hired(solver, problem, points, workers, end) as (work, hands):
                run_all(work, portions, hands, keep)
        except KeyboardInterrupt:
            if not any(isinstance(each, Result) for each in ends.values()):
                raise
            status = Status.INTERRUPTED
        if status is None and time.time() >= end and not _all_ended(ends, len(points)):
            status = Status.MAX_SECONDS
        _check_any(ends)
        solved = {
            number: _attached(ends[number], problem, solver)
            for number in sorted(ends)
            if isinstance(ends[number], Result)
        }

        def tick(done: int, total: int) -> None:
            watch(Progress("merging", done, total, time.perf_counter() - begun))

        merged = distinct(problem, list(solved.values()), tick)
    numbers = list(solved)
    minimizers = tuple(
        Minimizer(
            one.result, tuple(numbers[member] for member in one.members), one.isolated, one.alike
        )
        for one in merged
    )
    return Multistart(
        tuple(solved.get(number) for number in range(len(points))),
        minimizers,
        time.perf_counter() - begun,
        problem,
        {number: each for number, each in sorted(ends.items()) if isinstance(each, Exception)},
        status,
    )


def _starts(problem: Problem, starts: Any, rng: Any) -> list[Any]:
    """Return the points to start from, checked."""
    number = as_integer(starts)
    if number is not None and number >= 1:
        return [start_point(problem, None, rng) for _ in range(number)]
    if number is None and hasattr(starts, "__len__") and len(starts):
        return [start_point(problem, point, rng) for point in starts]
    raise ArgumentError("starts", "be a positive integer, or a list of points", starts)


@contextmanager
def _hired(solver: Any, problem: Problem, points: list[Any], workers: int, end: float) -> Any:
    """Give what does a portion of the starts, and who: this process, others, or threads."""
    here = partial(_solve_all, solver, problem, points, end)
    if workers == 1:
        with hired("serial", None, None) as hands:
            yield here, hands
        return
    try:
        content = packed((solver, problem, points))  # type: ignore[arg-type]
    except (pickle.PicklingError, TypeError, AttributeError, ValueError):
        # Of costs that hold locks, devices or compiled programs.
        stop = partial(Executor.shutdown, cancel_futures=True)
        yield here, Workers(partial(ThreadPoolExecutor, workers), stop, lambda: workers)
        return
    with hired("processes", workers, None) as hands:
        yield partial(_solve_packed, content, end), hands


def _solve_packed(content: bytes, end: float, numbers: list[int]) -> list[Outcome]:
    solver, problem, points = unpacked(content)
    return [_sendable(each) for each in _solve_all(solver, problem, points, end, numbers)]


def _sendable(outcome: Outcome) -> Outcome:
    """Return an outcome that can be sent: an error that cannot be is replaced by its words."""
    if isinstance(outcome, Exception):
        try:
            pickle.loads(pickle.dumps(outcome))
        except Exception:  # whatever the error's own methods raise
            return RuntimeError(f"{type(outcome).__name__}: {outcome}")
    return outcome


def _solve_all(
    solver: Any, problem: Problem, points: list[Any], end: float, numbers: list[int]
) -> list[Outcome]:
    """Solve from some starts, as long as there is time and no Ctrl-C.

    The first start of all is begun in any case, so that there is always a point to return.
    """
    outcomes: list[Outcome] = []
    for number in numbers:
        left = end - time.time()
        if left <= 0.0 and number > 0:
            break
        limit = {} if math.isinf(left) else {"stop": MaxSeconds(max(left, 0.0))}
        try:
            result = solver.solve(problem, points[number], **limit)
            result.certificate  # noqa: B018  # where the run's own knowledge of the point still is
        except Exception as error:  # of the user's cost: the other starts go on
            outcomes.append(error)
            continue
        except KeyboardInterrupt as interruption:
            outcomes.append(interruption)
            break
        if result.status is Status.INTERRUPTED:
            outcomes.append(KeyboardInterrupt())
            break
        outcomes.append(result)
    return outcomes + [None] * (len(numbers) - len(outcomes))


def _attached(result: Any, problem: Problem, solver: Any) -> Result:
    """Return a result with the problem and the solver that another process has left behind."""
    if result.evaluation is None:
        provide(result, evaluation=problem.at(result.point), solver=solver)
    return result


def _all_ended(ends: dict[int, Result | Exception], count: int) -> bool:
    """Whether every start was begun, and none was stopped by a limit of time."""
    ran_out = (
        isinstance(each, Result) and each.status is Status.MAX_SECONDS for each in ends.values()
    )
    return len(ends) == count and not any(ran_out)


def _check_any(ends: dict[int, Result | Exception]) -> None:
    """Raise the first error where no start has led to a result."""
    errors = [ends[number] for number in sorted(ends)]
    if any(isinstance(each, Result) for each in errors):
        return
    if all(isinstance(each, NonFiniteCostError) for each in errors):
        raise NonFiniteCostError(
            "the cost or its gradient is not finite at any of the starts: choose others, or mend "
            "the cost"
        )
    raise errors[0]  # type: ignore[misc]


# -- minimizers of many starts as a picture -------------------------------------------------------

# Colours of minimizers that are isolated, and of others.
_ISOLATED, _FLAT = "C0", "C1"


def plot_minimizers(runs: Multistart, axes: Any = None) -> Any:
    """Draw a bar for each cost: how many runs ended there, parted by minimizers.

    Parameters
    ----------
    runs : Multistart
    axes : matplotlib Axes, optional
        Where to draw; new axes if not given.

    Returns
    -------
    matplotlib Axes
    """
    axes = drawing_axes(axes)
    kinds = runs.kinds
    for place, kind in enumerate(kinds):
        bottom = 0
        for one in kind:
            colour = _ISOLATED if one.isolated else _FLAT
            axes.bar(place, one.count, bottom=bottom, color=colour, edgecolor="white")
            bottom += one.count
    axes.set_xticks(np.arange(len(kinds)), [f"{kind[0].cost:.6g}" for kind in kinds], rotation=60)
    axes.set_xlabel("cost")
    axes.set_ylabel("runs that ended there")
    number = len(runs.minimizers)
    starts = sum(result is not None for result in runs.results)
    axes.set_title(f"{plural(number, 'minimizer')} from {plural(starts, 'start')}")
    axes.bar(0, 0, color=_ISOLATED, label="strict")
    axes.bar(0, 0, color=_FLAT, label="with flat directions")
    axes.legend()
    return axes
