"""Stopping criteria: stateless, composed with ``|`` and ``&``.

>>> stop = GradientNorm(1e-3) & MaxIterations(5) | MaxSeconds(60)
>>> stop
GradientNorm(tolerance=0.001) & MaxIterations(limit=5) | MaxSeconds(limit=60)
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from riemtr.arguments import check_nonnegative, is_real
from riemtr.solvers.iteration import Iteration
from riemtr.solvers.status import Reason, Status


class StoppingCriterion:
    """Says, after each iteration, whether to stop, and why."""

    def check(self, iteration: Iteration) -> Reason | None:
        """Return the reason to stop, or None to go on."""
        raise NotImplementedError

    @property
    def budget(self) -> StoppingCriterion | None:
        """The part of it that limits the effort, and holds for easier versions of a cost as well.

        None where it asks something of the cost alone.
        """
        return None

    @property
    def max_seconds(self) -> float:
        """Seconds after which it stops in any case."""
        return math.inf

    def __or__(self, other: StoppingCriterion) -> StoppingCriterion:
        return AnyOf(self, other)

    def __and__(self, other: StoppingCriterion) -> StoppingCriterion:
        return AllOf(self, other)


@dataclass(frozen=True, repr=False)
class AnyOf(StoppingCriterion):
    """Stop as soon as one of two criteria says so."""

    first: StoppingCriterion
    second: StoppingCriterion

    def check(self, iteration: Iteration) -> Reason | None:
        """Return the first reason there is."""
        return self.first.check(iteration) or self.second.check(iteration)

    @property
    def budget(self) -> StoppingCriterion | None:
        """The limits among the two."""
        first, second = self.first.budget, self.second.budget
        return AnyOf(first, second) if first and second else first or second

    @property
    def max_seconds(self) -> float:
        """That of the first to stop."""
        return min(self.first.max_seconds, self.second.max_seconds)

    def __repr__(self) -> str:
        return f"{self.first!r} | {self.second!r}"


@dataclass(frozen=True, repr=False)
class AllOf(StoppingCriterion):
    """Stop when both criteria say so; the reason is the first one's."""

    first: StoppingCriterion
    second: StoppingCriterion

    def check(self, iteration: Iteration) -> Reason | None:
        """Return the first reason if there is a second."""
        reason = self.first.check(iteration)
        return reason if reason and self.second.check(iteration) else None

    @property
    def budget(self) -> StoppingCriterion | None:
        """The two limits joined, if both are."""
        first, second = self.first.budget, self.second.budget
        return AllOf(first, second) if first and second else None

    @property
    def max_seconds(self) -> float:
        """That of the last to stop."""
        return max(self.first.max_seconds, self.second.max_seconds)

    def __repr__(self) -> str:
        parts = (f"({p!r})" if isinstance(p, AnyOf) else repr(p) for p in (self.first, self.second))
        return " & ".join(parts)


@dataclass(frozen=True)
class SecondOrder(StoppingCriterion):
    """Gradient norm at most ``tolerance`` and no eigenvalue below ``-curvature_tolerance``.

    The curvature is looked at only where the gradient is small. Where it is decidedly negative,
    the run goes on: the point is a saddle.
    """

    tolerance: float
    curvature_tolerance: float

    def __post_init__(self) -> None:
        check_nonnegative("tolerance", self.tolerance)
        check_nonnegative("curvature_tolerance", self.curvature_tolerance)

    def check(self, iteration: Iteration) -> Reason | None:
        """Return convergence, or that the curvature cannot be decided."""
        if not iteration.gradient_norm <= self.tolerance:
            return None
        positive = iteration.here.is_positive_to(self.curvature_tolerance)
        if positive is not None:
            return Reason(Status.CONVERGED) if positive else None
        if iteration.here.is_out_of_time():
            return Reason(Status.MAX_SECONDS, "before the sign of the curvature was known")
        curvature = iteration.here.curvature(self.curvature_tolerance)
        return Reason(
            Status.UNRESOLVED,
            f"smallest eigenvalue {curvature.min_eigenvalue:.1e}, known to "
            f"{curvature.error_bound:.1e}",
        )


@dataclass(frozen=True)
class GradientNorm(StoppingCriterion):
    """Gradient norm at most ``tolerance``, whatever the curvature."""

    tolerance: float

    def __post_init__(self) -> None:
        check_nonnegative("tolerance", self.tolerance)

    def check(self, iteration: Iteration) -> Reason | None:
        """Return the reason if the gradient is small."""
        small = iteration.gradient_norm <= self.tolerance
        return Reason(Status.FIRST_ORDER) if small else None


@dataclass(frozen=True)
class _Limit(StoppingCriterion):
    limit: float

    def __post_init__(self) -> None:
        check_nonnegative("limit", self.limit)

    @property
    def budget(self) -> StoppingCriterion | None:
        """All of it."""
        return self


@dataclass(frozen=True)
class MaxIterations(_Limit):
    """At most so many iterations."""

    def check(self, iteration: Iteration) -> Reason | None:
        """Return the reason if the limit is reached."""
        over = iteration.number >= self.limit
        return Reason(Status.MAX_ITERATIONS, f"{self.limit} iterations") if over else None


@dataclass(frozen=True)
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


@dataclass(frozen=True)
class CostBelow(StoppingCriterion):
    """Cost at most ``value``."""

    value: float

    def __post_init__(self) -> None:
        if not (is_real(self.value) and not math.isnan(self.value)):
            raise ValueError(f"value must be a number; got {self.value!r}")

    def check(self, iteration: Iteration) -> Reason | None:
        """Return the reason if the cost is low enough."""
        low = iteration.cost <= self.value
        return Reason(Status.STOPPED, f"cost at most {self.value:g}") if low else None


@dataclass(frozen=True)
class MaxCosts(_Limit):
    """At most so many cost evaluations."""

    def check(self, iteration: Iteration) -> Reason | None:
        """Return the reason if the limit is reached."""
        over = iteration.counts.costs >= self.limit
        return Reason(Status.STOPPED, f"{self.limit} costs") if over else None


@dataclass(frozen=True)
class MaxProducts(_Limit):
    """At most so many Hessian products."""

    def check(self, iteration: Iteration) -> Reason | None:
        """Return the reason if the limit is reached."""
        over = iteration.counts.hessian_products >= self.limit
        return Reason(Status.STOPPED, f"{self.limit} Hessian products") if over else None
