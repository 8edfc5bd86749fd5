"""Thousands of small problems of one shape, advanced together as stacked arrays."""

from __future__ import annotations

import itertools
import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from riemtr.arguments import as_integer, generator
from riemtr.errors import ArgumentError, NonFiniteCostError
from riemtr.manifolds import Manifold
from riemtr.problem import Counts
from riemtr.problem.differences import RULE, Ladder
from riemtr.problem.stacks import Stack, StackEvaluation, dots, scaled
from riemtr.progress import Progress, Watcher, watching
from riemtr.solvers.arguments import check_limits
from riemtr.solvers.certificate import MAXIMIZER, MINIMIZER, NOT_CRITICAL, SADDLE, UNRESOLVED
from riemtr.solvers.judging import AdaptiveRadius, RatioTest
from riemtr.solvers.status import Status
from riemtr.solvers.stopping import Tolerances, Unbounded, default_tolerances
from riemtr.subproblem.stacked_cg import StackedSteps, stacked_cg
from riemtr.summary import DOUBTFUL, GOOD, Summarised, Summary, Table, plural

SECOND_ORDER, FIRST_ORDER = "second-order", "first-order"

# Problems that advance together: more would leave the cache, fewer would wait for Python.
_TOGETHER = 2000
# Forcing terms of CG, as in riemtr.TruncatedCG.
_KAPPA, _THETA = 0.1, 0.5
# Share of the gradient norm that a problem is content with, to which CG need not go below.
_ENOUGH = 0.5
# What the gradient must fall to where rounding hides the fall of a cost, as in riemtr.RatioTest.
_FALL = 0.9
# Relative accuracy of Hessian products, in roundings.
_ACCURACY = 10.0
# Curvature over the largest for which costs beside the point are asked, at least.
_SOFT = 1e-3
# Error of a difference of costs, over the largest curvature, that still confirms a derivative.
_NEEDED = 0.05
# Roundings of a cost that a decrease of the model may be.
_ROUNDINGS = 10.0
# Seed of the direction, chosen by nobody, along which costs are asked.
_SEED = 2


@dataclass(frozen=True, repr=False, eq=False)
class ManyResults(Summarised):
    """Results of many problems, each entry of each array for one of them.

    Attributes
    ----------
    points : ndarray, shape (count, ...)
    costs, gradient_norms : ndarray
    verdicts : ndarray of str
        As those of :class:`riemtr.Certificate`: "minimizer", "saddle", "maximizer", "unresolved"
        (costs beside the point contradict its derivatives, or ``goal="first-order"`` did not ask
        for the curvature) or "not-critical".
    min_eigenvalues, error_bounds : ndarray
        The smallest eigenvalue of each Hessian is at least their difference; NaN where the point is
        not critical.
    strict : ndarray of bool
        Whether a minimizer has no flat direction.
    statuses : ndarray of Status
        How each problem ended. ``NOT_FINITE``: the cost or its gradient is not finite at the start.
        ``MAX_SECONDS`` and ``INTERRUPTED``: the point is the last one reached, and the cost is NaN
        if the problem was not begun.
    iterations : ndarray of int
        Steps that each has tried.
    counts : Counts
        Calls of all problems together.
    seconds : float
        Wall time, certificates included.
    """

    points: np.ndarray
    costs: np.ndarray
    gradient_norms: np.ndarray
    verdicts: np.ndarray
    min_eigenvalues: np.ndarray
    error_bounds: np.ndarray
    strict: np.ndarray
    statuses: np.ndarray
    iterations: np.ndarray
    counts: Counts
    seconds: float
    manifold: Manifold = field(repr=False)
    goal: str = SECOND_ORDER

    @property
    def certified(self) -> np.ndarray:
        """Whether each is a certified minimizer."""
        return self.verdicts == MINIMIZER

    @property
    def converged(self) -> np.ndarray:
        """Whether each has reached the goal that was asked for."""
        wanted = Status.CONVERGED if self.goal == SECOND_ORDER else Status.FIRST_ORDER
        return np.array([status is wanted for status in self.statuses], dtype=bool)

    def __len__(self) -> int:
        return len(self.costs)

    def summary(self) -> Summary:
        """Return how many of the problems ended how."""
        names = [status.name.lower() for status in self.statuses]
        ends = Counter(zip(names, map(str, self.verdicts), strict=True))
        rows = []
        for (name, verdict), count in ends.most_common():
            chosen = (np.array(names) == name) & (self.verdicts == verdict)
            largest = self.gradient_norms[chosen].max()
            rows.append(
                (
                    name,
                    (verdict, GOOD if verdict == MINIMIZER else DOUBTFUL),
                    str(count),
                    str(int(self.strict[chosen].sum())),
                    "" if np.isnan(largest) else f"{largest:.1e}",
                    f"{np.median(self.iterations[chosen]):.0f}",
                )
            )
        heads = ("status", "verdict", "problems", "strict", "largest gradient norm")
        table = Table((*heads, "median iterations"), tuple(rows), "llrrrr")
        each = self.seconds / max(len(self), 1) * 1e6
        line = (
            f"{plural(len(self), 'problem')} on {self.manifold}: "
            f"{int(self.certified.sum())} certified minimizers, in {self.seconds:.3g} s, "
            f"{each:.3g} us each"
        )
        tone = GOOD if self.converged.all() else DOUBTFUL
        return Summary(line, table=table, tone=tone, line=line)


def solve_many(
    manifold: Manifold,
    cost: Callable[..., Any],
    data: Any = (),
    *,
    euclidean_gradient: Callable[..., Any] | None = None,
    euclidean_hessian: Callable[..., Any] | None = None,
    starts: int | np.ndarray | Sequence[Any] | None = None,
    rng: Any = 0,
    tolerance: float | None = None,
    curvature_tolerance: float | None = None,
    relative_tolerance: float | None = None,
    goal: str = "second-order",
    max_iterations: int = 1000,
    max_seconds: float = math.inf,
    progress: bool | Watcher = False,
) -> ManyResults:
    """Solve many small problems of one shape together, each certified.

    The problems differ in their data. All functions get the points and the data of many problems
    at once, stacked along the first axis, and return as many values: a trust-region method as
    :class:`riemtr.PracticalTRM` then advances thousands of problems with each call of them, leaves
    saddle points, and ends with all eigenvalues of every Hessian.

    Each problem ends with a status of its own: one whose cost is NaN, or falls without bound, takes
    no other along. Ctrl-C ends the work, not the program; what was reached until then is returned.

    Parameters
    ----------
    manifold : Manifold
        The manifold of a single problem: Sphere, Stiefel, Grassmann, Rotations, PositiveDefinite
        or Euclidean of riemtr.
    cost : callable
        ``cost(points, *data)``, an array with one number for each problem.
    data : ndarray, or sequence of them
        Each with one entry for each problem along its first axis.
    euclidean_gradient, euclidean_hessian : callable, optional
        ``gradient(points, *data)`` and ``hessian(points, vectors, *data)``, both in the shape of
        the points; by autograd if not given.
    starts : ndarray, or int, optional
        A start for each problem, or the number of problems where there are no data; random ones if
        not given.
    rng : numpy.random.Generator, int or None
        Source of random starts.
    tolerance, curvature_tolerance, relative_tolerance
        As for :class:`riemtr.TrustRegion`.
    goal : {"second-order", "first-order"}
        As for :class:`riemtr.TrustRegion`: with "first-order" a problem ends at a small gradient,
        its curvature is not looked at, and nothing is certified.
    max_iterations : int
        Steps that each problem tries at most.
    max_seconds : float
        Time for all problems together.
    progress : bool or callable
        Show how many problems have ended, or what to call with every
        :class:`riemtr.progress.Progress`.

    Returns
    -------
    ManyResults

    Examples
    --------
    >>> import numpy as np, riemtr
    >>> matrices = np.random.default_rng(0).standard_normal((1000, 10, 10))
    >>> matrices += matrices.swapaxes(1, 2)
    >>> def image(x, a):
    ...     return np.einsum("kij,kj->ki", a, x)
    >>> found = riemtr.solve_many(
    ...     riemtr.Sphere(10),
    ...     lambda x, a: np.einsum("ki,ki->k", x, image(x, a)),
    ...     matrices,
    ...     euclidean_gradient=lambda x, a: 2.0 * image(x, a),
    ...     euclidean_hessian=lambda x, v, a: 2.0 * image(v, a),
    ... )
    >>> int(found.certified.sum())
    1000
    >>> bool(np.allclose(found.costs, np.linalg.eigvalsh(matrices)[:, 0]))
    True
    """
    stack = Stack(manifold, cost, data, euclidean_gradient, euclidean_hessian)
    check_limits(max_iterations, max_seconds)
    if goal not in (SECOND_ORDER, FIRST_ORDER):
        goals = f"be one of {SECOND_ORDER}, {FIRST_ORDER}"
        raise ArgumentError("goal", goals, goal)
    begun, counts = time.perf_counter(), Counts()
    points = _starts(stack, starts, rng)
    precision = float(np.finfo(points.dtype).eps)
    tolerances = default_tolerances(precision, tolerance, curvature_tolerance, relative_tolerance)
    ends = _Ends.empty(points)
    with watching(progress) as watch:
        limits = _Limits(goal, max_iterations, begun + max_seconds)

        def tick() -> None:
            seconds = time.perf_counter() - begun
            watch(Progress("solving", ends.ended, len(points), seconds))

        together, rest = None, Status.MAX_SECONDS
        try:
            for first in range(0, len(points), _TOGETHER):
                if first and limits.out_of_time:
                    break
                chosen = np.arange(first, min(first + _TOGETHER, len(points)))
                together = None
                together = _Together(
                    stack, points[chosen], chosen, tolerances, limits, counts, ends
                )
                together.descend(tick)
        except KeyboardInterrupt:
            if together is None and not ends.ended:
                raise
            rest = Status.INTERRUPTED
            if together is not None:
                together.leave(rest)
        ends.statuses[ends.open] = rest
    if all(status is Status.NOT_FINITE for status in ends.statuses):
        raise NonFiniteCostError(
            "the cost or its gradient is not finite at any of the starts; choose others, or "
            "correct the cost"
        )
    return ManyResults(*ends, counts, time.perf_counter() - begun, manifold, goal)


def _starts(stack: Stack, starts: Any, rng: Any) -> np.ndarray:
    manifold, count = stack.manifold, len(stack.data[0]) if stack.data else None
    number = as_integer(starts)
    if starts is None or number is not None:
        number = count if number is None else number
        if number is None or number < 1 or (count is not None and number != count):
            raise ArgumentError(
                "starts",
                "be the number of problems, or a start for each, stacked along the first axis",
                starts,
            )
        return manifold.random_points(generator(rng), number)
    points = np.array(starts, dtype=np.result_type(np.asarray(starts), np.float32))
    shape = manifold.random_points(np.random.default_rng(0), 1).shape[1:]
    if points.shape[1:] != shape or not len(points) or (count and len(points) != count):
        expected = f"({count or 'count'}, {', '.join(map(str, shape))})"
        raise ArgumentError("starts", f"have the shape {expected}", points.shape)
    # All are checked by one move of length zero, which changes no point of the manifold.
    space = manifold.stacked_space(points)
    assert space is not None
    with np.errstate(all="ignore"):
        off = np.abs(space.move(np.zeros_like(points)) - points).reshape(len(points), -1).max(1)
    wrong = np.flatnonzero(~(off < 1e-4))
    if len(wrong):
        manifold.check_point(points[wrong[0]], f"starts[{wrong[0]}]")
        raise ArgumentError("starts", f"lie on {manifold}", f"{len(wrong)} points that do not")
    return points


class _Ends(NamedTuple):
    """Where problems ended, in the order of the attributes of :class:`ManyResults`."""

    points: np.ndarray
    costs: np.ndarray
    gradient_norms: np.ndarray
    verdicts: np.ndarray
    min_eigenvalues: np.ndarray
    error_bounds: np.ndarray
    strict: np.ndarray
    statuses: np.ndarray
    iterations: np.ndarray

    @property
    def open(self) -> np.ndarray:
        """Which problems have no status yet."""
        return np.equal(self.statuses, np.array(None))

    @property
    def ended(self) -> int:
        """How many problems have a status."""
        return len(self.statuses) - int(self.open.sum())

    @classmethod
    def empty(cls, points: np.ndarray) -> _Ends:
        count = len(points)
        return cls(
            points.copy(),
            np.full(count, np.nan),
            np.full(count, np.nan),
            np.full(count, NOT_CRITICAL, dtype="<U12"),
            np.full(count, np.nan),
            np.full(count, np.nan),
            np.zeros(count, dtype=bool),
            np.full(count, None, dtype=object),
            np.zeros(count, dtype=int),
        )


class _Limits(NamedTuple):
    """What ends problems besides their solutions; times are of ``time.perf_counter``."""

    goal: str
    max_iterations: float
    end: float

    @property
    def out_of_time(self) -> bool:
        """Whether the time is over."""
        return time.perf_counter() >= self.end

    def over(self, number: int) -> Status | None:
        """Return which limit is reached after a number of iterations, if any."""
        if number >= self.max_iterations:
            return Status.MAX_ITERATIONS
        return Status.MAX_SECONDS if self.out_of_time else None


class _Together:
    """Problems that advance together, and what is known of those that have not ended yet."""

    def __init__(
        self,
        stack: Stack,
        points: np.ndarray,
        numbers: np.ndarray,
        tolerances: Tolerances,
        limits: _Limits,
        counts: Counts,
        ends: _Ends,
    ):
        self.stack, self.manifold, self.tolerances = stack, stack.manifold, tolerances
        self.limits, self.ends, self.numbers = limits, ends, numbers
        self.here = stack.at(points, numbers, counts)
        self.radius, self.acceptance = AdaptiveRadius(), RatioTest()
        self.limit = self.manifold.typical_dist if self.manifold.bounded else math.inf
        self.radii = np.full(len(points), self.manifold.typical_dist / 5.0)
        self.curvatures = np.zeros(len(points))
        with np.errstate(invalid="ignore", over="ignore"):
            self.norms = _norms(self.here.gradient)
        self.before = self.norms.copy()
        self.precision = float(np.finfo(points.dtype).eps)
        # By the numbers of problems: where the cost, or the point, has left every bound.
        self.lowest, self.farthest = _bounds(self.here, self.precision)
        self._whole = (self.numbers, self.here, self.norms, 0)

    def descend(self, tick: Callable[[], None]) -> None:
        """Advance all problems until each has ended; ``tick`` is called when some have."""
        finite = np.isfinite(self.here.cost) & np.isfinite(self.norms)
        self._end(~finite, 0, Status.NOT_FINITE)
        for number in itertools.count():
            # All of it at once, so that it belongs together wherever Ctrl-C comes.
            self._whole, before = (self.numbers, self.here, self.norms, number), len(self.here)
            if not before:
                return tick()
            over = self.limits.over(number)
            directions = self._end_some(number, last=over is not None)
            directions = self._end_stalled(number, directions)
            directions = self._end_unbounded(number, directions)
            if over is not None:
                self._end(np.ones(len(self.here), dtype=bool), number, over)
            if not len(self.here):
                return tick()
            if len(self.here) < before:
                tick()
            self._advance(directions)

    def leave(self, status: Status) -> None:
        """Write down where the problems are that have not ended, in the middle of an iteration."""
        numbers, here, norms, number = self._whole
        unended = self.ends.open[numbers]
        self._write(numbers[unended], here.part(np.flatnonzero(unended)), norms[unended], number)
        self.ends.statuses[numbers[unended]] = status

    # -- ends -------------------------------------------------------------------------------------

    def _scales(self) -> np.ndarray:
        measured = self.here.space.measured(self.here.euclidean_gradient)
        return np.maximum(_norms(measured), self.curvatures * _reach(self.here))

    def _bounds(self) -> np.ndarray:
        """Return the gradient norms that count as none."""
        return np.maximum(self.tolerances.gradient, self.tolerances.relative * self._scales())

    def _end_some(self, number: int, last: bool) -> np.ndarray:
        """Certify all with a small gradient, and end those that are no saddles.

        Returns unit vectors along negative curvature for the problems that go on at a saddle, and
        zero for all others. After the last iteration none goes on.
        """
        directions = np.zeros_like(self.here.gradient)
        small = np.flatnonzero(self.norms <= self._bounds())
        if not len(small):
            return directions
        if self.limits.goal == FIRST_ORDER:
            self.ends.verdicts[self.numbers[small]] = UNRESOLVED
            solved = np.zeros(len(self.here), dtype=bool)
            solved[small] = True
            self._end(solved, number, Status.FIRST_ORDER)
            return directions[~solved]
        found = _certified(self.here.part(small), self.tolerances, self.precision)
        # Saddles are left, and so are points whose minimizer is far beside their own size.
        leaving = np.isin(found.verdicts, (SADDLE, MAXIMIZER, NOT_CRITICAL))
        saddle = leaving & (found.verdicts != NOT_CRITICAL)
        directions[small[saddle]] = found.directions[saddle]
        known = np.ones_like(leaving) if last else ~leaving
        ends, numbers = self.ends, self.numbers[small[known]]
        ends.verdicts[numbers] = found.verdicts[known]
        ends.min_eigenvalues[numbers] = found.min_eigenvalues[known]
        ends.error_bounds[numbers] = found.error_bounds[known]
        ends.strict[numbers] = found.strict[known]
        ended = np.zeros(len(self.here), dtype=bool)
        ended[small[~leaving]] = True
        statuses = np.full(len(small), Status.UNRESOLVED, dtype=object)
        statuses[found.verdicts == MINIMIZER] = Status.CONVERGED
        self._end(ended, number, statuses[~leaving])
        return directions[~ended]

    def _end_stalled(self, number: int, directions: np.ndarray) -> np.ndarray:
        """End those whose steps would be shorter than a rounding of their points."""
        stalled = self.radii < self.precision * self.manifold.typical_dist
        self._end(stalled, number, Status.STALLED)
        return directions[~stalled]

    def _end_unbounded(self, number: int, directions: np.ndarray) -> np.ndarray:
        """End those whose cost or point has left every bound."""
        if self.manifold.bounded or not len(self.here):
            return directions
        beyond = (self.here.cost < self.lowest) | (_largest(self.here.points) > self.farthest)
        self._end(beyond, number, Status.UNBOUNDED)
        return directions[~beyond]

    def _end(self, ended: np.ndarray, number: int, status: Any) -> None:
        """Write down where problems ended, and go on with the others."""
        numbers, places = self.numbers[ended], np.flatnonzero(ended)
        if not len(places):
            return
        self._write(numbers, self.here.part(places), self.norms[ended], number)
        self.ends.statuses[numbers] = status
        self._keep(np.flatnonzero(~ended))

    def _write(
        self, numbers: np.ndarray, here: StackEvaluation, norms: np.ndarray, number: int
    ) -> None:
        ends = self.ends
        ends.points[numbers] = here.points
        ends.costs[numbers] = here.cost
        ends.gradient_norms[numbers] = norms
        ends.iterations[numbers] = number

    def _keep(self, kept: np.ndarray) -> None:
        self.here = self.here.part(kept)
        for name in (
            "numbers",
            "radii",
            "curvatures",
            "norms",
            "before",
            "lowest",
            "farthest",
        ):
            setattr(self, name, getattr(self, name)[kept])

    # -- steps ------------------------------------------------------------------------------------

    def _advance(self, directions: np.ndarray) -> None:
        """Try a step of each problem, and take those that are good."""
        here = self.here
        with np.errstate(divide="ignore", invalid="ignore"):
            progress = np.minimum(1.0, self.norms / self.before) ** (1.0 + _THETA)
        forcing = np.minimum(_KAPPA, np.where(self.before > self.norms, progress, 1.0))
        bounds = self._bounds()
        # Where a small slope is that of a point far away, no equation is solved well enough.
        enough = np.where(self.norms > bounds, _ENOUGH * bounds, 0.0)
        targets = np.maximum(forcing * self.norms, enough)
        limit = max(self.manifold.dim, 1)
        steps = stacked_cg(here.product, here.gradient, self.radii, targets, limit)
        if directions.any():
            steps = self._along(directions, steps)
        self.curvatures = np.where(steps.curvatures > 0.0, steps.curvatures, self.curvatures)
        wrong = ~np.isfinite(steps.norms)
        steps.vectors[wrong] = 0.0
        there = here.moved(steps.vectors)
        with np.errstate(invalid="ignore", over="ignore"):
            cost, norms = there.cost, _norms(there.gradient)
        ratios, accepted = self._judged(steps, cost, norms)
        accepted &= ~wrong
        self._adapt(ratios, accepted, steps)
        self._take(there, accepted, norms)

    def _along(self, directions: np.ndarray, steps: StackedSteps) -> StackedSteps:
        """Replace the steps of problems at saddles by those along negative curvature."""
        vectors, norms = steps.vectors.copy(), steps.norms.copy()
        decrease, bounded = steps.predicted_decrease.copy(), steps.on_boundary.copy()
        places = np.flatnonzero(dots(directions, directions))
        part, units, radii = self.here.part(places), directions[places], self.radii[places]
        slopes, bends = dots(part.gradient, units), dots(units, part.product(units))
        vectors[places] = scaled(np.where(slopes > 0.0, -radii, radii), units)
        norms[places], bounded[places] = radii, True
        decrease[places] = np.abs(slopes) * radii - 0.5 * bends * radii * radii
        return StackedSteps(vectors, norms, decrease, bounded, steps.curvatures)

    def _judged(
        self, steps: StackedSteps, cost: np.ndarray, norms: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the ratios of actual to predicted decrease, and which steps to take."""
        here, rule = self.here, self.acceptance
        noise = self.precision * np.maximum(np.abs(here.cost), _norms(here.euclidean_gradient))
        with np.errstate(divide="ignore", invalid="ignore"):
            actual, predicted = here.cost - cost, steps.predicted_decrease
            shift = rule.regularization * noise
            ratios = (actual + shift) / (predicted + shift)
            by_shift = actual < rule.threshold * predicted
            flatter = norms <= _FALL * self.norms
            accepted = (ratios >= rule.threshold) & (~by_shift | flatter)
        finite = np.isfinite(cost) & np.isfinite(norms)
        return np.where(accepted, ratios, -np.inf), accepted & finite

    def _adapt(self, ratios: np.ndarray, accepted: np.ndarray, steps: StackedSteps) -> None:
        policy = self.radius
        poor = ~(accepted & (ratios >= policy.poor))
        shorter = policy.shrink * np.fmin(self.radii, steps.norms)
        grown = np.where((ratios > policy.good) & steps.on_boundary, policy.grow, 1.0) * self.radii
        self.radii = np.minimum(np.where(poor, shorter, grown), self.limit)

    def _take(self, there: StackEvaluation, accepted: np.ndarray, norms: np.ndarray) -> None:
        """Go where the accepted steps lead."""
        here = self.here
        self.before = np.where(accepted, self.norms, self.before)
        if accepted.all():
            self.here, self.norms = there, norms
            return
        points = np.where(_like(accepted, here.points), there.points, here.points)
        merged = StackEvaluation(here.stack, points, here.data, here.counts)
        merged.__dict__["cost"] = np.where(accepted, there.cost, here.cost)
        for name in ("euclidean_gradient", "gradient"):
            new, old = getattr(there, name), getattr(here, name)
            merged.__dict__[name] = np.where(_like(accepted, new), new, old)
        self.here, self.norms = merged, np.where(accepted, norms, self.norms)


class _Certificates(NamedTuple):
    """What is known of points with small gradients, each entry for one of them."""

    verdicts: np.ndarray
    min_eigenvalues: np.ndarray
    error_bounds: np.ndarray
    strict: np.ndarray
    directions: np.ndarray


def _certified(here: StackEvaluation, tolerances: Tolerances, precision: float) -> _Certificates:
    """Certify critical points by all eigenvalues of their Hessians, and by costs beside them."""
    matrices, units = here.hessian_matrices()
    known = np.isfinite(matrices).all(axis=(1, 2))
    matrices[~known] = 0.0
    values, vectors = np.linalg.eigh(matrices)
    least, largest = values[:, 0], values[:, -1]
    count, dim = len(here), max(here.stack.manifold.dim, 1)
    sizes = np.maximum(np.abs(least), np.abs(largest))
    scales = np.maximum(sizes, _norms(here.euclidean_gradient))
    errors = _ACCURACY * precision * scales * math.sqrt(dim)
    allowed = np.maximum(tolerances.curvature.absolute, tolerances.curvature.relative * sizes)
    directions = (vectors[:, :, 0] @ units.reshape(len(units), -1)).reshape(here.points.shape)
    verdicts = np.full(count, UNRESOLVED, dtype="<U12")
    negative = least + errors < -allowed
    verdicts[negative] = SADDLE
    # Directions outside the tangent space count as of positive curvature.
    maximal = np.sum(values < -allowed[:, None], axis=1) >= here.stack.manifold.dim
    verdicts[negative & maximal] = MAXIMIZER
    slopes = here.gradient.reshape(count, -1) @ units.reshape(len(units), -1).T
    shares = (vectors.transpose(0, 2, 1) @ slopes[:, :, None])[:, :, 0]
    lengths, decreases = _newton(values, shares, errors)
    near = lengths <= tolerances.distance * _reach(here)
    near |= decreases <= _ROUNDINGS * precision * np.abs(here.cost)
    near |= not tolerances.relative
    verdicts[(least - errors >= -allowed) & known & ~near] = NOT_CRITICAL
    agreed = known & near & _confirmed(here, directions, least, sizes, decreases, precision)
    verdicts[(least - errors >= -allowed) & agreed] = MINIMIZER
    strict = (verdicts == MINIMIZER) & (least - errors > allowed)
    least[~known] = errors[~known] = np.nan
    return _Certificates(verdicts, least, errors, strict, directions)


def _newton(
    values: np.ndarray, slopes: np.ndarray, errors: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return lengths of Newton steps and decreases of models, by eigenvalues and slopes along them.

    Where an eigenvalue is nothing but rounding there is no end, unless the slope is none either.
    """
    bent = np.abs(values) > errors[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        flat = np.where(np.abs(slopes) <= errors[:, None], 0.0, np.inf)
        moves = np.where(bent, np.abs(slopes / values), flat)
        return np.sqrt(np.sum(moves**2, axis=1)), 0.5 * np.sum(moves * np.abs(slopes), axis=1)


def _reach(here: StackEvaluation) -> np.ndarray:
    """Return the sizes of points; 1 on manifolds with bounds, and where a point is zero."""
    count = len(here)
    if here.stack.manifold.bounded or here.space.relative_metric:
        return np.ones(count)
    sizes = _norms(here.points)
    return np.where(sizes > 0.0, sizes, 1.0)


def _confirmed(
    here: StackEvaluation,
    directions: np.ndarray,
    curvatures: np.ndarray,
    sizes: np.ndarray,
    decreases: np.ndarray,
    precision: float,
) -> np.ndarray:
    """Return where costs beside the points change as the derivatives say, and none is lower.

    They are asked along the direction of least curvature, and along one that nobody chose.
    """
    rng = np.random.default_rng(_SEED)
    drawn = here.space.tangent(rng.standard_normal(here.points.shape))
    norms = _norms(drawn)
    drawn = scaled(1.0 / np.where(norms > 0.0, norms, 1.0), drawn)
    agreed = np.ones(len(here), dtype=bool)
    reach = _reach(here)
    rounding = precision * np.maximum(np.abs(here.cost), _norms(here.euclidean_gradient) * reach)
    for vectors, bends in (
        (directions, curvatures),
        (drawn, dots(drawn, here.product(drawn))),
    ):
        ladder = _ladder(here, vectors, np.maximum(np.abs(bends), _SOFT * sizes), reach, rounding)
        noise = RULE.noise * ladder.own_noise
        second, first = ladder.bend(noise), ladder.slope(noise)
        slopes = dots(here.gradient, vectors)
        known = second.error <= _NEEDED * sizes
        allowed = _NEEDED * sizes
        agreed &= known & (np.abs(second.value - bends) <= second.error + RULE.refuting * sizes)
        agreed &= np.abs(first.value - slopes) <= first.error + RULE.refuting * allowed * reach
        lowest = np.min([np.minimum(*side) for side in ladder.sides], axis=0)
        fall = here.cost - lowest
        agreed &= ~(fall > RULE.sure * np.maximum(noise, ladder.rounding) + 2.0 * decreases)
    return agreed


def _ladder(
    here: StackEvaluation,
    vectors: np.ndarray,
    bends: np.ndarray,
    reach: np.ndarray,
    rounding: np.ndarray,
) -> Ladder:
    """Return costs along a direction for each problem, over lengths that suit its curvature."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        telling = np.sqrt(2.0 * RULE.telling * rounding / bends)
    shortest = RULE.shortest * math.sqrt(np.finfo(here.points.dtype).eps)
    lengths = reach * np.clip(np.nan_to_num(telling / reach, nan=np.inf), shortest, RULE.longest)
    sides = []
    for share in (1.0, 0.5, 0.25):
        ahead, behind = (
            here.moved(scaled(sign * share * lengths, vectors)).cost for sign in (1, -1)
        )
        sides.append((ahead, behind))
    return Ladder(lengths, here.cost, sides, rounding)


def _bounds(start: StackEvaluation, precision: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the costs, and the entries of points, beyond which problems are unbounded."""
    rule = Unbounded()
    far = rule.distance if precision < 1e-12 else rule.distance_in_single
    with np.errstate(invalid="ignore", over="ignore"):
        lowest = -rule.fall * np.maximum(1.0, np.abs(start.cost))
        return lowest, far * np.maximum(1.0, _largest(start.points))


def _largest(points: np.ndarray) -> np.ndarray:
    """Return the largest entry of each point."""
    return np.abs(points).reshape(len(points), -1).max(axis=1)


def _norms(vectors: np.ndarray) -> np.ndarray:
    return np.sqrt(dots(vectors, vectors))


def _like(mask: np.ndarray, arrays: np.ndarray) -> np.ndarray:
    return mask.reshape(-1, *(1,) * (arrays.ndim - 1))
