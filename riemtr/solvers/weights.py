"""The weight of a cubic term, in place of a radius.

The loop hands a subproblem solver one number that says how far to trust the model. For most it is
the radius of a ball; for a cubic model it is the weight of the cubic term, which grows where the
model fails (Cartis, Gould and Toint, Math. Programming 127, 2011). In both cases the history shows
the length of the steps that the number allows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from riemtr.arguments import real
from riemtr.errors import ArgumentError
from riemtr.problem import Evaluation
from riemtr.solvers.judging import AdaptiveRadius, Verdict
from riemtr.subproblem import Step


@dataclass(frozen=True)
class AdaptiveWeight:
    """Grow the weight where the model fails, shrink it where the weight is what limits steps.

    Parameters
    ----------
    first : AdaptiveRadius
        Its first radius is about the length of the first step.
    poor, good : float
        Ratios of actual to predicted decrease below which the weight grows, and above which it may
        shrink.
    shrink, grow : float
        Factors by which it does.
    """

    first: AdaptiveRadius = field(default_factory=AdaptiveRadius)
    poor: float = 0.25
    good: float = 0.5
    shrink: float = 0.25
    grow: float = 4.0
    adapts = True
    weighs = True

    def __post_init__(self) -> None:
        for name in ("poor", "good", "shrink", "grow"):
            real(name, getattr(self, name), low=0.0)
        if not self.poor <= self.good:
            raise ValueError(f"need 0 <= poor <= good; got {self.poor!r} and {self.good!r}")
        if not 0.0 < self.shrink < 1.0 < self.grow:
            raise ValueError(f"need 0 < shrink < 1 < grow; got {self.shrink!r} and {self.grow!r}")

    def initial(self, here: Evaluation) -> float:
        """Return the weight with which a step against the gradient has the first radius."""
        return self.weight(self.first.initial(here), here)

    def limit(self, here: Evaluation) -> float:
        """Return infinity: a weight has no largest value."""
        return math.inf

    def update(self, radius: float, verdict: Verdict, step: Step) -> float:
        """Return the weight after a step was judged."""
        if not (verdict.accepted and verdict.ratio >= self.poor):
            # At least the curvature along the step over its length: a weight too small to matter
            # would otherwise have to grow for many steps before it does.
            cube = step.norm**3
            least = self.grow * step.predicted_decrease / cube if cube > 0.0 else 0.0
            return max(self.grow * radius, least)
        if verdict.ratio > self.good and step.on_boundary:
            return self.shrink * radius
        return radius

    def length(self, weight: float, here: Evaluation) -> float:
        """Return about the length of the steps that a weight allows at a point."""
        if weight == 0.0:
            return self.first.initial(here)
        known = here.known_curvature
        bend = -known.min_eigenvalue if known is not None and known.is_negative else 0.0
        return max(math.sqrt(here.gradient_norm / weight), bend / weight)

    def weight(self, length: float, here: Evaluation) -> float:
        """Return the weight with which a step against the gradient has a length."""
        # Two divisions, since the square of a length may underflow.
        return here.gradient_norm / length / length


def weighs(part: Any) -> bool:
    """Whether a part, a subproblem solver or a policy, takes a weight in place of a radius."""
    return getattr(part, "weighs", False)


def check_measure(subproblem: Any, radius: Any) -> None:
    """Check that a subproblem solver and a policy measure trust in the same way."""
    if weighs(subproblem) != weighs(radius):
        needs, example = "a radius", "riemtr.AdaptiveRadius()"
        if weighs(subproblem):
            needs, example = "a weight", "riemtr.AdaptiveWeight()"
        raise ArgumentError(
            "radius",
            f"be a policy for {needs}, which {type(subproblem).__name__} takes",
            radius,
            f"pass {example}",
        )


def as_length(policy: Any, value: float, here: Evaluation) -> float:
    """Return the radius that a policy's value is, or stands for."""
    return policy.length(value, here) if weighs(policy) else value


def from_length(policy: Any, length: float, here: Evaluation) -> float:
    """Return a policy's value for a radius."""
    return policy.weight(length, here) if weighs(policy) else length
