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
from riemtr.problem.cost_differences import contradicting_slope
from riemtr.solvers.iteration import Iteration
from riemtr.solvers.status import Reason, Status
from riemtr.subproblem import Step

# Gradient norm, over its tolerance, from which on rounding is no excuse for a lack of progress.
_STEEP = 1e4
# Roundings of the cost beyond which a change tells something.
_TELLING_ROUNDINGS = 1000
# Steps that tell something which are looked at, the last ones.
_TELLING_STEPS = 2
# How far off the change of a cost may be, beside the mean size of the slopes.
_TOLERATED = 0.5
# The same for steps up to the boundary, which may be too long for the third order to be small.
_TOLERATED_AT_BOUNDARY = 2.0
# Statuses for which it matters whether the cost changes as its gradient says.
_DOUBTED = (Status.CONVERGED, Status.MAX_ITERATIONS, Status.CYCLING, Status.STALLED)


@dataclass(frozen=True)
class Tolerances:
    """What counts as a vanishing gradient and as no negative curvature.

    Attributes
    ----------
    gradient : float
        Gradient norm.
    relative : float
        Gradient norm over the scale of the derivatives at the point.
    curvature : Threshold
        Negative curvature.
    """

    gradient: float
    relative: float
    curvature: Threshold

    def gradient_at(self, here: Evaluation, curvature: float) -> float:
        """Return the gradient norm that counts as none at a point, beside a known curvature."""
        if not self.relative:
            return self.gradient
        return max(self.gradient, self.relative * max(here.gradient_scale, curvature))

    def at(self, here: Evaluation, curvature: float) -> tuple[float, float]:
        """Return the gradient norm and the curvature that count as none at a point."""
        return self.gradient_at(here, curvature), here.curvature.tolerated(self.curvature)


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
    multiplied by any number: a gradient of 1e-7 and a curvature of 1e-6 (1e-4 and 1e-3 in float32).
    """
    check_tolerances(gradient, curvature, relative)
    double = precision < 1e-12
    if relative is None:
        relative = 0.0 if gradient is not None else (1e-7 if double else 1e-4)
    threshold = Threshold(relative=1e-6 if double else 1e-3)
    if curvature is not None:
        threshold = Threshold(absolute=float(curvature))
    return Tolerances(0.0 if gradient is None else float(gradient), float(relative), threshold)


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
    """A gradient that vanishes to the tolerances of a solver, whatever the curvature."""

    tolerances: Tolerances

    def check(self, iteration: Iteration) -> Reason | None:
        """Return the reason if the gradient is small."""
        here = iteration.here
        bound = self.tolerances.gradient_at(here, iteration.curvature)
        if here.gradient_norm > bound or iteration.warming:
            return None
        return self.at_small_gradient(here)

    def at_small_gradient(self, here: Evaluation) -> Reason | None:
        """Return that the run is at its end."""
        return Reason(Status.FIRST_ORDER)


class SecondOrderPoint(FirstOrderPoint):
    """A gradient that vanishes to the tolerances of a solver, and no negative curvature.

    The curvature is looked at only where the gradient is small. Where it is decidedly negative,
    the run goes on: the point is a saddle.
    """

    def at_small_gradient(self, here: Evaluation) -> Reason | None:
        """Return convergence, or that the curvature cannot be decided."""
        known = here.curvature
        side = known.side(self.tolerances.curvature)
        if side > 0:
            return Reason(Status.CONVERGED)
        if side < 0:
            return None
        if here.clock.expired:
            return Reason(Status.MAX_SECONDS, "before the sign of the curvature was known")
        why = f"{known.limited}; " if known.limited else ""
        return Reason(
            Status.UNRESOLVED,
            f"{why}smallest eigenvalue at least {known.lower_bound:.1e}, at most "
            f"{known.min_eigenvalue:.1e}",
        )


class SecondOrder(SecondOrderPoint):
    """Gradient norm at most ``tolerance`` and no eigenvalue below ``-curvature_tolerance``."""

    def __init__(self, tolerance: float, curvature_tolerance: float):
        check_nonnegative("tolerance", tolerance)
        check_nonnegative("curvature_tolerance", curvature_tolerance)
        super().__init__(Tolerances(tolerance, 0.0, Threshold(curvature_tolerance)))

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
