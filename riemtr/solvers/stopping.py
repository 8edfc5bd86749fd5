"""Stopping criteria: stateless, composed with ``|`` and ``&``; the tolerances that they use.

>>> stop = GradientNorm(1e-3) & MaxIterations(5) | MaxSeconds(60)
>>> stop
GradientNorm(tolerance=0.001) & MaxIterations(limit=5) | MaxSeconds(limit=60)
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from riemtr.arguments import check_nonnegative, is_real
from riemtr.errors import ArgumentError
from riemtr.manifolds import TangentSpace
from riemtr.problem import Evaluation, Problem, Threshold
from riemtr.problem.differences import Line, answers_differently, contradicting_slope
from riemtr.problem.newton import Nearness
from riemtr.solvers.iteration import Iteration
from riemtr.solvers.status import Reason, Status
from riemtr.subproblem import Step

# Gradient norm, over its tolerance, from which on rounding is no excuse for a lack of progress.
_STEEP = 1e4
# Steps in a row that are short beside the point after which a run is said to crawl.
_CRAWL = 20
# Roundings of the cost beyond which a change tells something.
_TELLING_ROUNDINGS = 1000
# Steps that tell something which are looked at, the last ones.
_TELLING_STEPS = 4
# How far off the change of a cost may be, beside the mean size of the slopes.
_TOLERATED = 0.5
# The same for steps up to the boundary, which may be too long for the third order to be small.
_TOLERATED_AT_BOUNDARY = 2.0
# Statuses for which it matters whether the cost changes as its gradient says.
_DOUBTED = (Status.CONVERGED, Status.MAX_ITERATIONS, Status.CYCLING, Status.STALLED)


@dataclass(frozen=True)
class Tolerances:
    """What counts as a vanishing gradient, as a minimizer close by and as no negative curvature.

    Attributes
    ----------
    gradient : float
        Gradient norm.
    relative : float
        Gradient norm over the scale of the derivatives at the point.
    curvature : Threshold
        Negative curvature.
    distance : float
        Distance to the nearest minimizer, over the size of the point in each factor of a product.
    """

    gradient: float
    relative: float
    curvature: Threshold
    distance: float = math.inf  # not in files of older versions

    def gradient_at(self, here: Evaluation, curvature: float) -> float:
        """Return the gradient norm that counts as none at a point, beside a known curvature."""
        if not self.relative:
            return self.gradient
        scale = max(here.gradient_scale, curvature * here.reach(here.gradient))
        return max(self.gradient, self.relative * scale)

    def slope_at(
        self, here: Evaluation, direction: np.ndarray, bend: float, curvature: float
    ) -> float:
        """Return the slope along a direction that counts as none beside its curvature.

        It is no more than the gradient norm that counts as none, nor than what a point has that is
        as close to the minimizer as is asked for.
        """
        length = self.distance * here.known_reach(direction)
        flat = self.curvature_at(here, direction)
        return min(self.gradient_at(here, curvature), max(abs(bend), flat) * length)

    def curvature_at(self, here: Evaluation, direction: np.ndarray) -> float:
        """Return the curvature along a direction that counts as none.

        Where the sizes of factors are far apart, it is small beside that of the factors which the
        direction moves.
        """
        flat, newton = here.curvature.tolerated(self.curvature), here.newton
        if newton.units_matter:
            flat = min(flat, self.curvature.relative * newton.largest_bend(direction))
        return flat

    def nearness(self, here: Evaluation) -> Nearness:
        """Return how far the nearest minimizer is, by what is known of the curvature at a point."""
        known = here.curvature
        flat = known.tolerated(self.curvature)
        if here.newton.is_open(self.distance, known.lower_bound):
            known.sharpen()
        return here.newton.nearness(self.distance, known.lower_bound, flat)


def check_tolerances(gradient: Any, curvature: Any, relative: Any = None) -> None:
    """Check tolerances as users pass them."""
    for name, value in (
        ("tolerance", gradient),
        ("curvature_tolerance", curvature),
        ("relative_tolerance", relative),
    ):
        if value is not None and not (is_real(value) and value >= 0.0):
            raise ArgumentError(name, "be a nonnegative number, or None", value)
    if curvature is not None and math.isinf(curvature):
        raise ArgumentError(
            "curvature_tolerance",
            "be finite, or any curvature would count as none",
            curvature,
            'for no look at the curvature pass goal="first-order"',
        )


def default_tolerances(
    precision: float,
    gradient: float | None = None,
    curvature: float | None = None,
    relative: float | None = None,
) -> Tolerances:
    """Fill in tolerances that make sense at a machine precision.

    Without any, they are relative to the scale of the cost's derivatives, so that a cost may be
    multiplied by any number: a gradient of 1e-7, a curvature of 1e-6 and a distance of 1e-5 (1e-4,
    1e-3 and 1e-2 in float32).
    """
    check_tolerances(gradient, curvature, relative)
    double = precision < 1e-12
    distance = 1e-5 if double else 1e-2
    if relative is None:
        relative = 0.0 if gradient is not None else (1e-7 if double else 1e-4)
    threshold = Threshold(relative=1e-6 if double else 1e-3)
    if curvature is not None:
        threshold = Threshold(absolute=float(curvature))
    distance = max(distance, relative)
    gradient = 0.0 if gradient is None else float(gradient)
    return Tolerances(gradient, float(relative), threshold, distance)


# -- criteria -------------------------------------------------------------------------------------


class StoppingCriterion:
    """Says, after each iteration, whether to stop, and why."""

    def check(self, iteration: Iteration) -> Reason | None:
        """Return the reason to stop, or None to go on."""
        raise NotImplementedError

    @property
    def max_seconds(self) -> float:
        """Seconds after which it stops in any case."""
        return math.inf

    def __repr__(self) -> str:
        shown = (
            f"{each.name}={getattr(self, each.name)!r}"
            for each in fields(self)  # type: ignore[arg-type]
            if getattr(self, each.name) != each.default
        )
        return f"{type(self).__name__}({', '.join(shown)})"

    def __or__(self, other: StoppingCriterion) -> StoppingCriterion:
        return AnyOf((*_parts(self, AnyOf), *_parts(other, AnyOf)))

    def __and__(self, other: StoppingCriterion) -> StoppingCriterion:
        return AllOf((*_parts(self, AllOf), *_parts(other, AllOf)))


def _parts(criterion: Any, kind: type[AnyOf] | type[AllOf]) -> Iterator[StoppingCriterion]:
    yield from criterion.criteria if isinstance(criterion, kind) else (criterion,)


@dataclass(frozen=True, repr=False)
class AnyOf(StoppingCriterion):
    """Stop as soon as one of several criteria says so."""

    criteria: tuple[StoppingCriterion, ...]

    def check(self, iteration: Iteration) -> Reason | None:
        """Return the first reason there is."""
        for criterion in self.criteria:
            reason = criterion.check(iteration)
            if reason is not None:
                return reason
        return None

    @property
    def max_seconds(self) -> float:
        """That of the first to stop."""
        return min(criterion.max_seconds for criterion in self.criteria)

    def __repr__(self) -> str:
        return " | ".join(map(repr, self.criteria))


@dataclass(frozen=True, repr=False)
class AllOf(StoppingCriterion):
    """Stop when all criteria say so; the reason is the first one's."""

    criteria: tuple[StoppingCriterion, ...]

    def check(self, iteration: Iteration) -> Reason | None:
        """Return the first reason if all have one."""
        reasons = [criterion.check(iteration) for criterion in self.criteria]
        return reasons[0] if all(reasons) else None

    @property
    def max_seconds(self) -> float:
        """That of the last to stop."""
        return max(criterion.max_seconds for criterion in self.criteria)

    def __repr__(self) -> str:
        return " & ".join(
            f"({each!r})" if isinstance(each, AnyOf) else repr(each) for each in self.criteria
        )


# -- goals ----------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class GradientNorm(StoppingCriterion):
    """Gradient norm at most ``tolerance``, whatever the curvature.

    It is asked of the cost itself, not of easier versions that are passed on the way.
    """

    tolerance: float

    def __post_init__(self) -> None:
        check_nonnegative("tolerance", self.tolerance)

    def check(self, iteration: Iteration) -> Reason | None:
        """Return the reason if the gradient is small."""
        small = iteration.here.gradient_norm <= self.tolerance and not iteration.warming
        return Reason(Status.FIRST_ORDER) if small else None


@dataclass(frozen=True, repr=False)
class StagePassed(StoppingCriterion):
    """Gradient norm at most ``tolerance`` of an easier version of the cost."""

    tolerance: float

    def check(self, iteration: Iteration) -> Reason | None:
        """Return the reason if the gradient is small."""
        small = iteration.here.gradient_norm <= self.tolerance
        return Reason(Status.FIRST_ORDER) if small else None


@dataclass(frozen=True, repr=False)
class FirstOrderPoint(StoppingCriterion):
    """A point whose nearest critical point is close, whatever the curvature.

    Whether it is asked where the gradient vanishes to the tolerances of a solver. A slope along a
    direction of little curvature may be that of a point far away: the Newton step tells.
    """

    tolerances: Tolerances

    def check(self, iteration: Iteration) -> Reason | None:
        """Return the reason if the gradient is small and its meaning is, too."""
        here, tolerances = iteration.here, self.tolerances
        if iteration.warming or here.gradient_norm > self._bound(iteration):
            return None
        if tolerances.relative and self._seems_far(iteration):
            return None
        return self.at_small_gradient(here)

    def _bound(self, iteration: Iteration) -> float:
        return self.tolerances.gradient_at(iteration.here, iteration.curvature)

    def _seems_far(self, iteration: Iteration) -> bool:
        """Whether a first look says that the minimum is far."""
        here, tolerances = iteration.here, self.tolerances
        newton = here.newton
        if newton.is_rounding:
            return False
        if newton.is_small:
            newton.solve_exactly()
        if not newton.seems_far(tolerances.distance):
            return False
        # A model without a minimum: the slope must be small beside all curvature that was met.
        return not newton.bends_down or (
            here.gradient_norm > tolerances.distance * newton.weakest_met * min(here.sizes(0.0))
        )

    def at_small_gradient(self, here: Evaluation) -> Reason | None:
        """Return that the run is at its end."""
        return Reason(Status.FIRST_ORDER)


class SecondOrderPoint(FirstOrderPoint):
    """A point whose nearest critical point is close, without negative curvature.

    The curvature is looked at only where the gradient is small. Where it is decidedly negative,
    the run goes on: the point is a saddle. So it does where the smallest curvature makes the Newton
    step a long one.
    """

    def _seems_far(self, iteration: Iteration) -> bool:
        """Whether a first look says so, where the last step makes it likely."""
        step, here = iteration.step, iteration.here
        if step is None or not step.norm > 0.0:
            return False
        bend = here.inner(step.vector, step.hessian_vector) / (step.norm * step.norm)
        sizes = [size for size in here.sizes(here.precision) if size > 0.0]
        short = self.tolerances.distance * min(sizes, default=0.0)
        if here.gradient_norm <= short * bend:  # along the softest direction that counts
            return False
        newton = here.newton
        return newton.seems_far(self.tolerances.distance) and not newton.bends_down

    def at_small_gradient(self, here: Evaluation) -> Reason | None:
        """Return convergence, or that the curvature cannot be decided."""
        known = here.curvature
        side = known.side(self.tolerances.curvature)
        if side < 0:
            return None
        if here.clock.expired and side == 0:
            return Reason(Status.MAX_SECONDS, "before the sign of the curvature was known")
        if side == 0:
            why = f"{known.limited}; " if known.limited else ""
            return Reason(
                Status.UNRESOLVED,
                f"{why}smallest eigenvalue at least {known.lower_bound:.1e}, at most "
                f"{known.min_eigenvalue:.1e}",
            )
        if not self.tolerances.relative:
            return Reason(Status.CONVERGED)
        nearness = self.tolerances.nearness(here)
        if nearness.near is None:
            why = f"{here.newton.limited}; " if here.newton.limited else ""
            return Reason(Status.UNRESOLVED, f"{why}the minimizer is {nearness.in_words}")
        return Reason(Status.CONVERGED) if nearness.near else None


def flat_directions(here: Evaluation, tolerances: Tolerances) -> list[tuple[np.ndarray, float]]:
    """Return the directions of a critical point along which only the cost tells if it falls.

    They are that of least curvature, if that is none to tolerance, in units of the factors' sizes
    where these are far apart, and that of a slope which no curvature explains. Each comes with the
    length below which no fall along it is seen: that slope shows only where it exceeds the noise.
    """
    known, newton = here.curvature, here.newton
    direction = known.direction
    flat = known.min_eigenvalue <= known.tolerated(tolerances.curvature)
    if newton.units_matter:
        newton.solve_exactly()
    if newton.softest is not None:  # the matrix was taken
        direction = newton.softest
        if newton.units_matter:
            flat = newton.softness <= max(tolerances.curvature.relative, here.precision)
    # Positive by a bound alone, or by all that was asked: there is no flat direction.
    if not flat or direction is None:
        return []
    unexplained = newton.unexplained
    if unexplained is None or newton.residual * here.reach(unexplained) <= newton.noise:
        return [(direction, 0.0)]
    return [(direction, 0.0), (unexplained, newton.noise / newton.residual)]


class SecondOrder(SecondOrderPoint):
    """Gradient norm at most ``tolerance`` and no eigenvalue below ``-curvature_tolerance``."""

    def __init__(self, tolerance: float, curvature_tolerance: float):
        check_nonnegative("tolerance", tolerance)
        check_nonnegative("curvature_tolerance", curvature_tolerance)
        super().__init__(Tolerances(tolerance, 0.0, Threshold(curvature_tolerance), math.inf))

    def __repr__(self) -> str:
        gradient, curvature = self.tolerances.gradient, self.tolerances.curvature.absolute
        return f"SecondOrder(tolerance={gradient!r}, curvature_tolerance={curvature!r})"


# -- safeguards -----------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class Stalled(StoppingCriterion):
    """No progress: many iterations without a lower cost or a smaller gradient, or a tiny radius.

    Parameters
    ----------
    patience : int
        Iterations without progress.
    """

    patience: int = 50

    def check(self, iteration: Iteration) -> Reason | None:
        """Return why there is no progress."""
        run, here = iteration.run, iteration.here
        if run is None:
            return None
        smallest = here.precision * here.manifold.typical_dist
        if run.idle < self.patience and not iteration.radius < smallest:
            return None
        return self._diagnosis(iteration)

    def _diagnosis(self, iteration: Iteration) -> Reason:
        run, radius = iteration.run, iteration.radius
        if run.refusal:
            return Reason(Status.STALLED, f"wherever it looked it met {run.refusal}")
        best = run.best
        size = best.gradient_norm
        obstacle = _obstacle(best)
        if obstacle is not None:
            return obstacle
        bound = run.tolerances.gradient_at(best, run.size)
        steep = size > _STEEP * max(bound, best.noise)
        why = f"no step against a gradient of norm {size:.1e} lowers the cost"
        if steep and contradicting_slope(best) is not None:
            return Reason(Status.INCONSISTENT, f"{why}: is its sign right?")
        if run.idle < self.patience:
            shrank = f"the radius shrank to {radius:.1e}"
            return Reason(Status.STALLED, f"{why}: is it smooth?" if steep else shrank)
        limited = run.step is not None and run.step.on_boundary
        cycling = (limited or steep) and not run.solver.radius.adapts
        return Reason(
            Status.CYCLING if cycling else Status.STALLED,
            f"no progress in {self.patience} iterations",
        )


def _obstacle(here: Evaluation) -> Reason | None:
    """Return that the cost is random or has a kink, where a run does not get on; None if neither.

    As all diagnoses of an end it counts for nothing.
    """
    here = here.problem.at(here.point)
    differing = answers_differently(here)
    if differing > 0.0:
        why = f"asked twice at one point, its answers differ by {differing:.1e}"
        return Reason(Status.RANDOM, why)
    size = here.gradient_norm
    if not (size > 0.0 and math.isfinite(size)):
        return None
    line = Line(here, here.gradient / here.gradient.dtype.type(size))
    line.bend(size / line.reach)
    kink = abs(line.kink())
    if kink > _TOLERATED * size:
        why = f"slopes to both sides of the point differ by {kink:.2g}, its gradient is {size:.2g}"
        return Reason(Status.NOT_SMOOTH, why)
    return None


@dataclass(frozen=True, repr=False)
class Crawling(StoppingCriterion):
    """Many steps in a row that are short beside the point, because the cost has a kink there.

    Whether it has is asked of the cost itself, after more and more such steps.
    """

    def check(self, iteration: Iteration) -> Reason | None:
        """Return that the cost is not smooth."""
        crawled = 0 if iteration.run is None else iteration.run.crawled
        if crawled < _CRAWL or crawled % _CRAWL or (crawled // _CRAWL).bit_count() > 1:
            return None
        return _obstacle(iteration.run.best)


@dataclass(frozen=True, repr=False)
class Unbounded(StoppingCriterion):
    """The cost, or the point, has left every bound, on a manifold that has none.

    Parameters
    ----------
    fall : float
        How far a cost may fall, over its first value (at least 1).
    distance, distance_in_single : float
        How far points may go, over the first one (at least 1), in double and in single precision.
    """

    fall: float = 1e30
    distance: float = 1e100
    distance_in_single: float = 1e12

    def check(self, iteration: Iteration) -> Reason | None:
        """Return that a point is beyond the bounds."""
        run, here = iteration.run, iteration.here
        if run is None or here.manifold.bounded:
            return None
        if here.cost < -self.fall * max(1.0, abs(run.first_cost)):
            return Reason(Status.UNBOUNDED, f"it fell to {here.cost:.1e}")
        far = self.distance if here.precision < 1e-12 else self.distance_in_single
        if here.largest_entry > far * max(1.0, run.first_entry):
            size = here.largest_entry
            return Reason(Status.UNBOUNDED, f"entries of the point grew to {size:.0e}")
        return None


class _Taken(NamedTuple):
    """A step, and as much of its ends as is needed: no more than a few vectors."""

    problem: Problem
    spaces: tuple[TangentSpace, TangentSpace]
    gradients: tuple[np.ndarray, np.ndarray]
    vector: np.ndarray
    change: float
    noise: float
    tolerated: float


class Consistency:
    """Whether the cost changes along a run as its gradient says.

    A wrong gradient vanishes somewhere, too, and a run that ends there would be called converged.
    But between two points the cost changes by the mean of its slopes at both, up to third order in
    the step and whatever the Hessian is. Looked at once, at the end, for the last steps that tell:
    with the right gradient the change is then off by a few percent, or by less than the slopes
    themselves where steps are long. More is a suspicion, since steps may be too long even for that,
    and costs may lose digits of their own; differences of the cost beside the point have to confirm
    it.
    """

    def __init__(self) -> None:
        self._last: deque[_Taken] = deque(maxlen=_TELLING_STEPS)

    def note(self, here: Evaluation, there: Evaluation, step: Step) -> None:
        """Take note of a step that was taken."""
        change, noise = there.cost - here.cost, _TELLING_ROUNDINGS * here.noise
        if max(abs(change), step.predicted_decrease) > noise:
            self._last.append(
                _Taken(
                    here.problem,
                    (here.space, there.space),
                    (here.gradient, there.gradient),
                    step.vector,
                    change,
                    noise,
                    _TOLERATED_AT_BOUNDARY if step.on_boundary else _TOLERATED,
                )
            )

    def confirmed(self, reason: Reason) -> Reason:
        """Return the reason for which a run ends, or that cost and gradient do not fit."""
        if reason.status not in _DOUBTED or not self._is_broken():
            return reason
        if reason.status is Status.CONVERGED:
            return Reason(Status.INCONSISTENT)
        doubt = "the cost does not change as its gradient says: see check_gradient"
        return Reason(reason.status, f"{reason.detail}; {doubt}" if reason.detail else doubt)

    def _is_broken(self) -> bool:
        try:
            for taken in self._last:
                if _is_off(taken) and _is_contradicted(taken):
                    return True
        except (AttributeError, NotImplementedError, np.linalg.LinAlgError):  # of the transport
            pass
        return False


def _is_off(taken: _Taken) -> bool:
    here, there = taken.spaces
    carried = there.transported(taken.vector, here)
    slopes = (
        here.inner(taken.gradients[0], taken.vector),
        there.inner(taken.gradients[1], carried),
    )
    off = abs(taken.change - 0.5 * sum(slopes))
    return off > taken.tolerated * 0.5 * sum(map(abs, slopes)) + taken.noise


def _is_contradicted(taken: _Taken) -> bool:
    """Whether the cost has another slope where the gradient is the largest."""
    norms = [
        space.norm(gradient) for space, gradient in zip(taken.spaces, taken.gradients, strict=True)
    ]
    steepest = taken.spaces[int(np.argmax(norms))].point
    return contradicting_slope(taken.problem.at(steepest)) is not None


# -- limits ---------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class _Limit(StoppingCriterion):
    limit: float

    def __post_init__(self) -> None:
        check_nonnegative("limit", self.limit)


@dataclass(frozen=True, repr=False)
class MaxIterations(_Limit):
    """At most so many iterations."""

    def check(self, iteration: Iteration) -> Reason | None:
        """Return the reason if the limit is reached."""
        over = iteration.number >= self.limit
        return Reason(Status.MAX_ITERATIONS, f"{self.limit} iterations") if over else None


@dataclass(frozen=True, repr=False)
class MaxSeconds(_Limit):
    """At most so many seconds, observers excluded."""

    @property
    def max_seconds(self) -> float:
        """The limit."""
        return self.limit

    def check(self, iteration: Iteration) -> Reason | None:
        """Return the reason if the limit is reached."""
        over = iteration.seconds >= self.limit
        return Reason(Status.MAX_SECONDS, f"{self.limit:g} s") if over else None


@dataclass(frozen=True, repr=False)
class CostBelow(StoppingCriterion):
    """Cost at most ``value``; asked of the cost itself, not of easier versions on the way."""

    value: float

    def __post_init__(self) -> None:
        if not (is_real(self.value) and not math.isnan(self.value)):
            raise ValueError(f"value must be a number; got {self.value!r}")

    def check(self, iteration: Iteration) -> Reason | None:
        """Return the reason if the cost is low enough."""
        low = iteration.cost <= self.value and not iteration.warming
        return Reason(Status.STOPPED, f"cost at most {self.value:g}") if low else None


@dataclass(frozen=True, repr=False)
class MaxCosts(_Limit):
    """At most so many cost evaluations."""

    def check(self, iteration: Iteration) -> Reason | None:
        """Return the reason if the limit is reached."""
        over = iteration.counts.costs >= self.limit
        return Reason(Status.STOPPED, f"{self.limit} costs") if over else None


@dataclass(frozen=True, repr=False)
class MaxProducts(_Limit):
    """At most so many Hessian products."""

    def check(self, iteration: Iteration) -> Reason | None:
        """Return the reason if the limit is reached."""
        over = iteration.counts.hessian_products >= self.limit
        return Reason(Status.STOPPED, f"{self.limit} Hessian products") if over else None
