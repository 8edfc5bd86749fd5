"""All critical points of a problem: minimizers, saddle points of every index, maximizers.

Two searches take turns. Starts are drawn at random, each with a Morse index drawn at random, and
followed to a critical point of that index (:mod:`riemtr.solvers.index_search`). From every point
found so far, walks set out along the directions that lead down from it and along the one that leads
up the least, to its neighbours of the next lower and the next higher index (Yin, Wang, Chen, Zhang
and Zhang, *Construction of a pathway map on a complicated energy landscape*, Physical Review
Letters 124, 2020). A round of random starts that leads to nothing new ends it: these starts do not
depend on how the known points were found, so that they say how likely a further start is to find
another. Where it is known, the Euler characteristic of the manifold must agree as well.
"""

from __future__ import annotations

import math
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from riemtr.arguments import generator, integer
from riemtr.errors import ArgumentError, NonFiniteHessianError
from riemtr.files import drawing_axes
from riemtr.problem import Evaluation, Problem, as_problem
from riemtr.problem.differences import OFF_DOMAIN
from riemtr.progress import Progress, Watcher, watching
from riemtr.solvers.arguments import start_point
from riemtr.solvers.certificate import MINIMIZER, Certificate, certify_evaluation
from riemtr.solvers.distinct import Place, Places, kinds, same_cost
from riemtr.solvers.index_search import search
from riemtr.solvers.stopping import default_tolerances
from riemtr.summary import DOUBTFUL, GOOD, Summarised, Summary, Table, plural

# Dimension up to which all eigenvalues of the Hessian at every step are affordable.
_MOST_DIMENSIONS = 500
# Length of a walk's first step, as a share of the manifold's typical distance: shorter ones lead
# back to where they come from.
_AWAY = 0.1
# What may be farther than this from a critical point, as a share of the manifold's typical
# distance, counts as lost.
_UNSURE = 1e-3
# Chance of a wrong statement about further starts.
_DOUBT = 0.05
# Random points whose Hessians tell how large one is on this manifold.
_MEASURED = 5
# Rows that a table shows.
_SHOWN = 30


_STOPPED = {
    "rounds": "it ended at max_rounds before it was settled: allow more rounds, or more starts",
    "points": "it ended at max_points: there may be many more, or infinitely many",
    "interrupted": "it was interrupted: these are the points found by then",
    "nothing found": "no start reached a critical point: the cost may have none",
}


@dataclass(frozen=True, eq=False)
class CriticalPoint(Place):
    """A point where the gradient vanishes.

    Attributes
    ----------
    evaluation : Evaluation
        All that is known there: ``point``, ``cost``, ``gradient_norm``, ``eigh``.
    isolated : bool
        Whether no flat direction is left but those of the problem's symmetries. Others are told
        apart by their cost and index alone.
    error : float
        A bound of the distance from the exact point, to first order.
    index : int
        The Morse index: how many eigenvalues of the Hessian are negative to tolerance.
    bend : float
        The largest eigenvalue of the Hessian, by magnitude.
    flat_directions : int
        How many of them vanish to tolerance, those along the problem's symmetries included.
    count : int
        How many random starts led there.
    walks : int
        How many walks from other critical points did.
    alike : int
        The number of the first point of the same cost and eigenvalues of the Hessian: an image of
        it, perhaps, under a symmetry that the problem does not name.
    """

    flat_directions: int = 0
    count: int = 0
    walks: int = 0
    alike: int = 0

    @property
    def gradient_norm(self) -> float:
        """Norm of the gradient there."""
        return self.evaluation.gradient_norm

    @property
    def kind(self) -> str:
        """The word for it: "minimizer", "saddle", "maximizer" or "degenerate".

        Flat directions that are not known as symmetries leave it open what a point is; it is called
        a minimizer if its certificate does.
        """
        if self.index == 0:
            known = self.isolated or self.certificate.verdict == MINIMIZER
            return "minimizer" if known else "degenerate"
        whole = self.index + self.flat_directions == len(self.evaluation.eigh[0])
        return "maximizer" if whole else "saddle"

    @cached_property
    def certificate(self) -> Certificate:
        """The certificate of the point, made when first asked for."""
        return certify_evaluation(self.evaluation, default_tolerances(self.evaluation.precision))


@dataclass(frozen=True, repr=False, eq=False)
class CriticalPoints(Summarised):
    """The critical points that were found, and how much that they are all of them rests on.

    Attributes
    ----------
    points : tuple of CriticalPoint
        The lowest first.
    spurious : tuple of CriticalPoint
        The minimizers that are no solutions: above the lowest cost, or as ``is_solution`` says.
    by_cost : bool
        Whether the cost alone decided which are spurious, since there was no ``is_solution``.
    starts : int
        Random starts, each with an index drawn at random.
    quiet_starts : int
        How many of them, the last ones, led to no point that was not known before.
    walks : int
        Searches that set out from known points.
    rounds : int
        Rounds of random starts.
    lost : int
        Starts and walks that ended at no critical point.
    settled : bool
        Whether the last round led to nothing new, and the indices do not contradict it.
    stopped : str
        What ended it before it was settled: "rounds", "points", "interrupted", or "nothing found";
        empty if nothing did.
    euler_characteristic : int or None
        What (-1)^index must add up to over all points, if they are isolated; None where it is
        not known, or where not all indices were looked for.
    seconds : float
        Wall time.
    """

    points: tuple[CriticalPoint, ...]
    spurious: tuple[CriticalPoint, ...]
    starts: int
    quiet_starts: int
    walks: int
    rounds: int
    lost: int
    settled: bool
    stopped: str
    euler_characteristic: int | None
    seconds: float
    problem: Problem = field(repr=False)
    by_cost: bool = True

    def __len__(self) -> int:
        return len(self.points)

    def __iter__(self) -> Any:
        return iter(self.points)

    @property
    def minimizers(self) -> tuple[CriticalPoint, ...]:
        """The minimizers among the points."""
        return tuple(each for each in self.points if each.kind == "minimizer")

    @property
    def kinds(self) -> tuple[tuple[CriticalPoint, ...], ...]:
        """The points, those together that may be images of one another under a symmetry."""
        found: dict[int, list[CriticalPoint]] = {}
        for each in self.points:
            found.setdefault(each.alike, []).append(each)
        return tuple(map(tuple, found.values()))

    @property
    def alternating_sum(self) -> int:
        """The sum of (-1)^index."""
        return sum((-1) ** each.index for each in self.points)

    @property
    def chance_of_another(self) -> float:
        """A bound, with 95 % confidence, of the chance that a further start finds a new point.

        If a start leads to a new point with a chance of m, none of N does with a chance of
        (1 - m)^N. R rounds could each have been the last, but m only falls as points become known:
        it is above log(R / 0.05) / N with a chance of at most 5 %.
        """
        if not self.quiet_starts:
            return 1.0
        return min(1.0, math.log(self.rounds / _DOUBT) / self.quiet_starts)

    @property
    def estimated_total(self) -> float:
        """Chao's estimate, from below, of how many points random starts can reach.

        With f1 points that a single start has reached, and f2 that two have, it is
        f1 (f1 - 1) / (2 (f2 + 1)) more than starts have reached (Chao, *Scandinavian Journal of
        Statistics* 11, 1984).
        """
        times = Counter(each.count for each in self.points)
        seen = len(self.points) - times[0]
        return seen + times[1] * (times[1] - 1) / (2.0 * (times[2] + 1))

    def summary(self) -> Summary:
        """Return the points in a table, those together that may be images of one another."""
        rows = []
        for kind in self.kinds[:_SHOWN]:
            first = kind[0]
            bad = any(each is one for each in self.spurious for one in kind)
            rows.append(
                (
                    f"{first.cost:.12g}",
                    str(first.index),
                    str(first.flat_directions),
                    str(len(kind)),
                    str(sum(each.count for each in kind)),
                    str(sum(each.walks for each in kind)),
                    (f"spurious {first.kind}", DOUBTFUL) if bad else first.kind,
                )
            )
        table = Table(
            ("cost", "index", "flat", "points", "starts", "walks", "kind"), tuple(rows), "rrrrrrl"
        )
        line = (
            f"{plural(len(self.points), 'critical point')} on {self.problem.manifold}, "
            f"{plural(len(self.minimizers), 'minimizer')} among them; "
            f"{self._on_spurious()}"
        )
        tone = GOOD if self.settled and not self.spurious else DOUBTFUL
        return Summary(
            line,
            table=table if rows else None,
            notes=tuple(self._notes()),
            tone=tone,
            line=f"{line}, from {plural(self.starts, 'start')} in {self.seconds:.3g} s",
        )

    def _on_spurious(self) -> str:
        if self.spurious:
            number = plural(len(self.spurious), "spurious minimizer")
            why = " (above the lowest cost; is_solution was not given)" if self.by_cost else ""
            return f"{number} found{why}"
        return "no spurious minimizer found" if self.minimizers else "no minimizer found"

    def _notes(self) -> list[str]:
        notes = []
        if len(self.kinds) > _SHOWN:
            notes.append(f"and {len(self.kinds) - _SHOWN} more rows, in .kinds")
        notes.append(
            f"this rests on {plural(self.starts, 'random start')} in "
            f"{plural(self.rounds, 'round')} and {plural(self.walks, 'walk')} between points"
            + (f"; {self.lost} of both ended at no critical point" if self.lost else "")
        )
        if self.quiet_starts:
            notes.append(
                f"none of the last {plural(self.quiet_starts, 'start')} led to a new point: a "
                f"further one does with a chance of at most {self.chance_of_another:.2g} "
                f"(95 % confidence)"
            )
        if self.stopped:
            notes.append(_STOPPED[self.stopped])
        notes += self._notes_on_completeness()
        if len(self.kinds) < len(self.points):
            notes.append(
                "points: so many in one row have the same cost and the same eigenvalues of the "
                "Hessian; they may be images of one another under a symmetry that the problem does "
                "not name"
            )
        if any(not each.isolated for each in self.points):
            notes.append("points with flat directions are told apart by cost and index alone")
        return notes

    def _notes_on_completeness(self) -> list[str]:
        notes = []
        expected, found = self.euler_characteristic, self.alternating_sum
        if expected is not None and expected == found:
            notes.append(
                f"(-1)^index adds up to {found}, the manifold's Euler characteristic, as it must "
                f"for all critical points together: if any are missing, they cancel"
            )
        elif expected is not None:
            notes.append(
                f"(-1)^index adds up to {found}, and for all critical points together must add up "
                f"to {expected}, the manifold's Euler characteristic: some are missing, or the "
                f"cost is not smooth everywhere"
            )
        only = sum(not each.count for each in self.points)
        if only:
            notes.append(
                f"{plural(only, 'point')} {'was' if only == 1 else 'were'} reached by walks alone"
            )
        if self.estimated_total > len(self.points):
            notes.append(
                f"starts alone can reach about {self.estimated_total:.0f} points (Chao's estimate)"
            )
        return notes

    def plot(self, axes: Any = None) -> Any:
        """Draw the Morse index of each point against its cost; needs the extra ``plot``."""
        return plot_critical_points(self, axes)


def critical_points(
    problem: Any,
    rng: Any = 0,
    starts: int = 500,
    *,
    indices: Iterable[int] | None = None,
    is_solution: Callable[[Any], bool] | None = None,
    draw: Callable[[np.random.Generator], Any] | None = None,
    max_rounds: int = 20,
    max_points: int = 5000,
    progress: bool | Watcher = False,
) -> CriticalPoints:
    """Find the critical points of a problem, of all indices, and say what that rests on.

    Parameters
    ----------
    problem : Problem or pymanopt.Problem
        Of at most 500 dimensions: every step takes all eigenvalues of the Hessian.
    rng : numpy.random.Generator, int or None
        Source of the starts and of the indices that are looked for from them.
    starts : int
        Random starts of a round. Rounds are repeated until one leads to no new point.
    indices : iterable of int, optional
        The Morse indices to look for; all from 0 to the dimension if not given.
    is_solution : callable, optional
        ``is_solution(point)`` says whether a minimizer is one that is wanted; all others are
        spurious. If not given, all minimizers above the lowest cost are called spurious, also right
        ones: with sampled data, solutions that are equivalent in expectation differ in cost.
    draw : callable, optional
        ``draw(rng)`` returns a start; ``problem.random_point`` if not given.
    max_rounds : int
        Rounds at most.
    max_points : int
        Points at most: a cost may have infinitely many. It ends there, or at Ctrl-C, with those
        found so far.
    progress : bool or callable
        Show how many searches have ended, or what to call with every
        :class:`riemtr.progress.Progress`.

    Returns
    -------
    CriticalPoints
        ``.points``, ``.minimizers``, ``.spurious``; it prints as a table.

    Examples
    --------
    >>> import numpy as np, riemtr
    >>> found = riemtr.theory.critical_points(riemtr.dictionary_problem(np.eye(3), 0.1), starts=50)
    >>> [(kind[0].index, len(kind)) for kind in found.kinds]  # k equal nonzeros have index k - 1
    [(0, 6), (1, 12), (2, 8)]
    >>> len(found.spurious), found.alternating_sum, found.euler_characteristic
    (0, 2, 2)
    """
    problem = as_problem(problem)
    dim = problem.geometry.dim
    if dim > _MOST_DIMENSIONS:
        raise ArgumentError(
            "problem",
            f"have at most {_MOST_DIMENSIONS} dimensions",
            dim,
            "for minimizers alone there is riemtr.multistart",
        )
    starts, max_rounds = integer("starts", starts), integer("max_rounds", max_rounds)
    max_points = integer("max_points", max_points)
    for name, function in (("is_solution", is_solution), ("draw", draw)):
        if function is not None and not callable(function):
            raise ArgumentError(name, "be a function, or None", function)
    wanted, rng = _indices(indices, dim), generator(rng)
    random_point = problem.random_point if draw is None else draw
    euler = problem.geometry.euler_characteristic if indices is None else None

    def drawn() -> tuple[Any, int]:
        return start_point(problem, random_point(rng), rng), int(rng.choice(wanted))

    begun, stopped = time.perf_counter(), ""
    survey = _Survey(problem, wanted, euler, max_points)
    try:
        with watching(progress) as watch:
            survey.measure(drawn)
            while not survey.settled and not stopped:
                survey.run(drawn, starts, watch)
                stopped = survey.stopped or ("rounds" if survey.rounds >= max_rounds else "")
    except KeyboardInterrupt:
        stopped = "interrupted"
    stopped = "" if survey.settled and stopped == "rounds" else stopped
    points = survey.points()
    return CriticalPoints(
        points,
        _spurious(points, is_solution),
        survey.starts,
        survey.quiet_starts,
        survey.walks,
        survey.rounds,
        survey.lost,
        survey.settled and not stopped,
        stopped,
        survey.euler,
        time.perf_counter() - begun,
        problem,
        is_solution is None,
    )


def _indices(indices: Any, dim: int) -> np.ndarray:
    if indices is None:
        return np.arange(dim + 1)
    given = list(indices) if isinstance(indices, Iterable) else [indices]
    if not given:
        raise ArgumentError("indices", "name one index at least", given, "leave it out for all")
    return np.unique([integer("indices", each, low=0, high=dim) for each in given])


def _spurious(
    points: tuple[CriticalPoint, ...], is_solution: Callable[[Any], bool] | None
) -> tuple[CriticalPoint, ...]:
    """Return the minimizers that are no solutions."""
    minimizers = [each for each in points if each.kind == "minimizer"]
    if is_solution is not None:
        return tuple(each for each in minimizers if not is_solution(each.point))
    return tuple(each for each in minimizers if not same_cost(minimizers[0], each))


class _Survey:
    """The points known so far, and how often each was reached.

    Parameters
    ----------
    problem : Problem
    indices : ndarray of int
        The indices to look for.
    euler : int or None
        What (-1)^index must add up to.
    max_points : int
        Points from which on it ends.
    """

    def __init__(self, problem: Problem, indices: np.ndarray, euler: int | None, max_points: int):
        self.problem, self.indices, self._euler = problem, indices, euler
        self.max_points = max_points
        # Of a Hessian, away from critical points as well.
        self.size = 0.0
        self.places = Places(problem)
        self.reached: Counter[int] = Counter()
        self.walked: Counter[int] = Counter()
        self.starts = self.quiet_starts = self.walks = self.rounds = self.lost = 0
        # Points from which no walk has set out yet.
        self._fresh: deque[int] = deque()

    def measure(self, drawn: Callable[[], tuple[Any, int]]) -> None:
        """Learn the size of Hessians from a few random points, the median of theirs."""
        sizes = []
        for _ in range(_MEASURED):
            with suppress(*OFF_DOMAIN, np.linalg.LinAlgError, NonFiniteHessianError):
                values = self.problem.at(drawn()[0]).eigh[0]
                sizes.append(float(np.abs(values).max(initial=0.0)))
        self.size = float(np.median(sizes)) if sizes else 0.0

    @property
    def stopped(self) -> str:
        """What ends the survey though it is not settled, in a word."""
        if len(self.places) >= self.max_points:
            return "points"
        return "" if len(self.places) else "nothing found"

    def run(self, drawn: Callable[[], tuple[Any, int]], starts: int, watch: Watcher) -> None:
        """Take a round of random starts, then walk from all points that are new."""
        begun, before, lost = time.perf_counter(), len(self.places), self.lost
        self.rounds += 1

        def show(stage: str, done: int, total: int) -> None:
            known = plural(len(self.places), "point")
            watch(Progress(stage, done, total, time.perf_counter() - begun, known))

        for number in range(starts):
            self._follow(*drawn(), self.reached)
            show(f"starts of round {self.rounds}", number + 1, starts)
        self.starts += starts
        # A start that was lost says nothing of where others lead.
        quiet = starts - (self.lost - lost)
        self.quiet_starts = self.quiet_starts + quiet if len(self.places) == before else 0
        while self._fresh and len(self.places) < self.max_points:
            for start, index in self._walks(self.places[self._fresh.popleft()]):
                self.walks += 1
                self._follow(start, index, self.walked)
            done = len(self.places) - len(self._fresh)
            show("points walked from", done, len(self.places))

    @property
    def settled(self) -> bool:
        """Whether the last round led to nothing new, and the indices do not contradict it."""
        return self.quiet_starts > 0 and self.euler in (None, self._alternating_sum)

    @property
    def euler(self) -> int | None:
        """What (-1)^index must add up to; None where flat directions leave no such sum."""
        flat = any(self._flat(each.evaluation).any() for each in self.places)
        return None if flat else self._euler

    @property
    def _alternating_sum(self) -> int:
        return sum((-1) ** each.index for each in self.places)

    def points(self) -> tuple[CriticalPoint, ...]:
        """Return the points, the lowest first."""
        order = sorted(range(len(self.places)), key=lambda number: self.places[number].cost)
        ranks = {number: rank for rank, number in enumerate(order)}
        alike = kinds(self.places)
        first: dict[int, int] = {}
        for number in order:
            first.setdefault(alike[number], ranks[number])
        return tuple(
            CriticalPoint(
                each.evaluation,
                each.isolated,
                each.error,
                each.index,
                each.bend,
                int(self._flat(each.evaluation).sum()),
                self.reached[number],
                self.walked[number],
                first[alike[number]],
            )
            for number, each in ((number, self.places[number]) for number in order)
        )

    def _follow(self, start: Any, index: int, counter: Counter[int]) -> None:
        """Search from a start, and count where that leads."""
        here = search(self.problem, start, index)
        place = None if here is None else self._place(here)
        if place is None:
            self.lost += 1
            return
        before = len(self.places)
        number = self.places.number_of(place)
        counter[number] += 1
        if number == before:
            self._fresh.append(number)

    def _place(self, here: Evaluation) -> Place | None:
        """Return a point with its index; None where it may be far from any critical point."""
        values, flat = here.eigh[0], self._flat(here)
        least = float(np.abs(values[~flat]).min(initial=math.inf))
        error = here.gradient_norm / least
        if error > _UNSURE * here.manifold.typical_dist:
            return None
        isolated = int(flat.sum()) == len(here.symmetries)
        index, bend = int((values[~flat] < 0.0).sum()), float(np.abs(values).max(initial=0.0))
        return Place(here, isolated, error, index, bend)

    def _flat(self, here: Evaluation) -> np.ndarray:
        """Return which eigenvalues vanish to tolerance, beside the Hessian here and elsewhere.

        Where a Hessian vanishes, a point is as near as the gradient g that is left allows: with a
        third derivative of L its eigenvalues are then of order sqrt(2 L g), and as good as zero.
        """
        values = np.abs(here.eigh[0])
        size = max(float(values.max(initial=0.0)), self.size)
        third = size / here.manifold.typical_dist
        threshold = default_tolerances(here.precision).curvature.at(size)
        return values <= max(threshold, math.sqrt(2.0 * third * here.gradient_norm))

    def _walks(self, place: Place) -> Iterator[tuple[Any, int]]:
        """Yield starts beside a point, and the index to look for from each."""
        here, index = place.evaluation, place.index
        flat = self._flat(here)
        down = np.flatnonzero(~flat)[:index]
        up = np.flatnonzero(~flat)[index : index + 1]
        for directions, target in ((down, index - 1), (up, index + 1)):
            if target not in self.indices:
                continue
            for number in directions:
                along = here.basis.vector(here.eigh[1][:, number])
                for sign in (1.0, -1.0):
                    step = sign * _AWAY * here.manifold.typical_dist * along
                    there = here.moved(step.astype(here.gradient.dtype, copy=False))
                    if there is not None:
                        yield there.point, target


# Colours of points that are isolated, of points with flat directions, and of spurious minimizers.
_ISOLATED, _FLAT, _SPURIOUS = "C0", "C1", "C3"
# Area of the mark of a single point, in square points; that of many grows with their root.
_AREA = 30.0


def plot_critical_points(found: CriticalPoints, axes: Any = None) -> Any:
    """Draw a mark for each kind of point, the larger the more points are of it.

    Parameters
    ----------
    found : CriticalPoints
    axes : matplotlib Axes, optional
        Where to draw; new axes if not given.

    Returns
    -------
    matplotlib Axes
    """
    axes = drawing_axes(axes)
    spurious = set(map(id, found.spurious))
    for kind in found.kinds:
        first = kind[0]
        colour = _ISOLATED if first.isolated else _FLAT
        colour = _SPURIOUS if any(id(each) in spurious for each in kind) else colour
        area = _AREA * np.sqrt(len(kind))
        axes.scatter(first.cost, first.index, s=area, color=colour, alpha=0.7, edgecolor="white")
        if len(kind) > 1:
            place = {"textcoords": "offset points", "xytext": (6, 6), "fontsize": 8}
            axes.annotate(str(len(kind)), (first.cost, first.index), **place)
    for colour, label in (
        (_ISOLATED, "isolated"),
        (_FLAT, "with flat directions"),
        (_SPURIOUS, "spurious minimizer"),
    ):
        axes.scatter([], [], color=colour, label=label)
    axes.yaxis.get_major_locator().set_params(integer=True)
    axes.set_xlabel("cost")
    axes.set_ylabel("Morse index")
    axes.set_title(
        f"{plural(len(found.points), 'critical point')} from {plural(found.starts, 'start')}; "
        f"numbers: points in one place"
    )
    axes.legend(fontsize=8)
    return axes
