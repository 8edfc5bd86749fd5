"""Trust-region radii: fixed, as the paper analyses it, or adapted to the model's success."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

from riemtr.arguments import check_positive, real
from riemtr.manifolds import is_bounded, typical_distance
from riemtr.problem import Problem
from riemtr.solvers.acceptance import Verdict
from riemtr.subproblem import Step


class RadiusPolicy(Protocol):
    """Chooses the trust-region radius."""

    @property
    def adapts(self) -> bool:
        """Whether the radius follows the model's success."""

    def initial(self, problem: Problem) -> float:
        """Radius of the first step."""

    def limit(self, problem: Problem) -> float:
        """Largest radius."""

    def update(self, radius: float, verdict: Verdict, step: Step) -> float:
        """Radius after a step was judged, before the limit."""


@dataclass(frozen=True)
class FixedRadius:
    """The same radius for every step (paper, section II.C).

    The one exception: a step to where the cost or its gradient is NaN or infinite is rejected, and
    the radius halved for good.
    """

    radius: float
    adapts = False

    def __post_init__(self) -> None:
        check_positive("radius", self.radius)

    def initial(self, problem: Problem) -> float:
        """Return the radius."""
        return self.radius

    def limit(self, problem: Problem) -> float:
        """Return the radius."""
        return self.radius

    def update(self, radius: float, verdict: Verdict, step: Step) -> float:
        """Return the radius as it is, or half of it after a rejected step."""
        return radius if verdict.accepted else 0.5 * radius


@dataclass(frozen=True)
class AdaptiveRadius:
    """Shrink where the model fails, grow where it holds up to the boundary.

    Algorithm 4.1 of Nocedal and Wright, Numerical Optimization, with gentler constants: on sharp
    costs they need a fifth fewer Hessian products than the usual 1/4, 1/4 and 3/4.

    Parameters
    ----------
    start : float or None
        First radius; if None, a fifth of the manifold's typical distance, or of ``largest`` if that
        is less.
    largest : float or None
        Upper limit; the manifold's typical distance if None, and none if distances have no limit.
    poor, good : float
        Ratios of actual to predicted decrease below which the radius shrinks, and above which it
        may grow.
    shrink, grow : float
        Factors by which it does.
    """

    start: float | None = None
    largest: float | None = None
    poor: float = 0.25
    good: float = 0.5
    shrink: float = 0.5
    grow: float = 2.0
    adapts = True

    def __post_init__(self) -> None:
        for name in ("start", "largest"):
            value = getattr(self, name)
            if value is not None:
                check_positive(name, value, or_else=" or None")
        for name in ("poor", "good", "shrink", "grow"):
            real(name, getattr(self, name), low=0.0)
        if not self.poor <= self.good:
            raise ValueError(f"need 0 <= poor <= good; got {self.poor!r} and {self.good!r}")
        if not 0.0 < self.shrink < 1.0 < self.grow:
            raise ValueError(f"need 0 < shrink < 1 < grow; got {self.shrink!r} and {self.grow!r}")

    def initial(self, problem: Problem) -> float:
        """Return the radius of the first step."""
        limit = self.limit(problem)
        if self.start is not None:
            return min(self.start, limit)
        return min(typical_distance(problem.manifold), limit) / 5.0

    def limit(self, problem: Problem) -> float:
        """Return the largest radius."""
        if self.largest is not None:
            return self.largest
        bounded = is_bounded(problem.manifold)
        return typical_distance(problem.manifold) if bounded else math.inf

    def update(self, radius: float, verdict: Verdict, step: Step) -> float:
        """Return the radius after a step was judged, before the limit."""
        if not (verdict.accepted and verdict.ratio >= self.poor):
            return self.shrink * min(radius, step.norm)
        if verdict.ratio > self.good and step.on_boundary:
            return self.grow * radius
        return radius
