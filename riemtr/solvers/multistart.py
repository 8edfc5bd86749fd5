"""Many starts of one problem: which minimizers there are, and how often each is reached."""

from __future__ import annotations

import math
import pickle
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from riemtr.arguments import as_integer, generator
from riemtr.errors import ArgumentError, NonFiniteCostError
from riemtr.executors import Workers, hired, jobs, packed, run_all, unpacked
from riemtr.problem import Problem, as_problem
from riemtr.problem.books import provide
from riemtr.progress import Progress, Watcher, watching
from riemtr.solvers.arguments import start_point
from riemtr.solvers.distinct import Minimizer, distinct
from riemtr.solvers.result import Result
from riemtr.solvers.status import Status
from riemtr.solvers.trust_region import PracticalTRM
from riemtr.summary import DOUBTFUL, GOOD, Summarised, Summary, Table, plural

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
        One for each start, in their order, each with its certificate; None where the cost was not
        finite at the start.
    minimizers : tuple of Minimizer
        The distinct minimizers, up to the symmetries that are known, the lowest first; each with
        the numbers of the runs that reached it.
    seconds : float
        Wall time.
    """

    results: tuple[Result | None, ...]
    minimizers: tuple[Minimizer, ...]
    seconds: float
    problem: Problem = field(repr=False)

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
        number, rows = len(self.results), []
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
            f"{plural(number, 'start')}: {plural(len(self.minimizers), 'distinct minimizer')}, "
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

    def _notes(self, others: int) -> list[str]:
        notes = []
        if len(self.kinds) > _SHOWN:
            notes.append(f"and {len(self.kinds) - _SHOWN} more costs, in .minimizers")
        if others:
            ends: Counter[str] = Counter()
            for each in self.results:
                if each is None:
                    ends["no finite cost at the start"] += 1
                elif each.certificate.verdict != "minimizer":
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
        from riemtr.solvers.multistart_plot import plot_minimizers

        return plot_minimizers(self, axes)


def multistart(
    problem: Any,
    starts: int | Sequence[Any] = 100,
    rng: Any = 0,
    n_jobs: int | None = 1,
    solver: Any = None,
    *,
    progress: bool | Watcher = False,
) -> Multistart:
    """Solve a problem from many starts, and merge the results into distinct minimizers.

    Minimizers that are images of one another count as one if the problem names the symmetry: up to
    ten directions, in ``Problem(..., symmetries=)``, or by numbers that the symmetry leaves as they
    are, in ``Problem(..., invariants=)``, as permutations and reflections need it. Invariants cost
    next to nothing, and take precedence.

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
    points = _starts(problem, starts, generator(rng))
    workers = min(jobs(n_jobs), len(points))
    begun = time.perf_counter()
    found: dict[int, Any] = {}

    with watching(progress) as watch:

        def keep(ended: list[tuple[list[int], Any]]) -> None:
            for numbers, outcomes in ended:
                if isinstance(outcomes, BaseException):
                    raise outcomes
                found.update(zip(numbers, outcomes, strict=True))
                seconds = time.perf_counter() - begun
                watch(Progress("solving", len(found), len(points), seconds))

        size = 1 if workers == 1 else math.ceil(len(points) / (_PORTIONS * workers))
        portions = [
            list(range(first, min(first + size, len(points))))
            for first in range(0, len(points), size)
        ]
        with _hired(solver, problem, points, workers) as (work, hands):
            run_all(work, portions, hands, keep)
    results = tuple(_attached(found[number], problem, solver) for number in range(len(points)))
    _check_any(results)
    known = [each for each in results if each is not None]
    numbers = [number for number, each in enumerate(results) if each is not None]
    with watching(progress) as watch:

        def tick(done: int, total: int) -> None:
            watch(Progress("merging", done, total, time.perf_counter() - begun))

        merged = distinct(problem, known, tick)
    minimizers = tuple(
        Minimizer(
            one.result, tuple(numbers[member] for member in one.members), one.isolated, one.alike
        )
        for one in merged
    )
    return Multistart(results, minimizers, time.perf_counter() - begun, problem)


def _starts(problem: Problem, starts: Any, rng: Any) -> list[Any]:
    """Return the points to start from, checked."""
    number = as_integer(starts)
    if number is not None and number >= 1:
        return [start_point(problem, None, rng) for _ in range(number)]
    if number is None and hasattr(starts, "__len__") and len(starts):
        return [start_point(problem, point, rng) for point in starts]
    raise ArgumentError("starts", "be a positive integer, or a list of points", starts)


@contextmanager
def _hired(solver: Any, problem: Problem, points: list[Any], workers: int) -> Any:
    """Give what does a portion of the starts, and who: this process, others, or threads."""
    here = partial(_solve_all, solver, problem, points)
    if workers == 1:
        with hired("serial", None, None) as hands:
            yield here, hands
        return
    try:
        content = packed((solver, problem, points))  # type: ignore[arg-type]
    except (pickle.PicklingError, TypeError, AttributeError, ValueError):
        # Of costs that hold locks, devices or compiled programs.
        yield here, Workers(partial(ThreadPoolExecutor, workers), count=lambda: workers)
        return
    with hired("processes", workers, None) as hands:
        yield partial(_solve_packed, content), hands


def _solve_packed(content: bytes, numbers: list[int]) -> list[Result | None]:
    solver, problem, points = unpacked(content)
    return _solve_all(solver, problem, points, numbers)


def _solve_all(
    solver: Any, problem: Problem, points: list[Any], numbers: list[int]
) -> list[Result | None]:
    """Solve from some starts; None stands for a cost that is not finite at the start."""
    found: list[Result | None] = []
    for number in numbers:
        try:
            result = solver.solve(problem, points[number])
        except NonFiniteCostError:
            found.append(None)
            continue
        if result.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        result.certificate  # noqa: B018  # where the run's own knowledge of the point still is
        found.append(result)
    return found


def _attached(result: Result | None, problem: Problem, solver: Any) -> Result | None:
    """Return a result with the problem and the solver that another process has left behind."""
    if result is not None and result.evaluation is None:
        provide(result, evaluation=problem.at(result.point), solver=solver)
    return result


def _check_any(results: tuple[Result | None, ...]) -> None:
    if all(each is None for each in results):
        raise NonFiniteCostError(
            "the cost or its gradient is not finite at any of the starts: choose others, or mend "
            "the cost"
        )
