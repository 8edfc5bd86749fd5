"""Judging steps: whether to take one, and how far to trust the model afterwards.

Acceptance rules compare the cost with what the model predicted; radius policies draw their
conclusion. The paper analyses every step accepted and a fixed radius (section II.C).

The loop hands a subproblem solver one number that says how far to trust the model. For most it is
the radius of a ball; for a cubic model it is the weight of the cubic term, which grows where the
model fails (Cartis, Gould and Toint, Math. Programming 127, 2011). In both cases the history shows
the length of the steps that the number allows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from riemtr.arguments import check_nonnegative, check_positive, is_real, real
from riemtr.errors import ArgumentError
from riemtr.problem import Evaluation
from riemtr.subproblem import Step

# Share of the cost beyond which a decrease is never taken for rounding.
_LARGEST_SHIFT = 1e-6
# What the gradient must fall to where costs tell nothing, or the step was no good.
_FALL = 0.9
# Share of a point's size that a first step has at least.
_SHORTEST = 1e-6


class Verdict(NamedTuple):
    """Judgement of a step.

    Attributes
    ----------
    ratio : float
        Actual over predicted decrease; minus infinity where the cost is not finite.
    accepted : bool
        Whether to take the step.
    """

    ratio: float
    accepted: bool


class AcceptanceRule(Protocol):
    """Decides whether a step is taken."""

    def judge(self, here: Evaluation, there: Evaluation, step: Step) -> Verdict:
        """Judge the step from ``here`` to ``there``."""


@dataclass(frozen=True)
class AlwaysAccept:
    """Take every step that leads to a finite cost (paper, section II.C)."""

    def judge(self, here: Evaluation, there: Evaluation, step: Step) -> Verdict:
        """Accept, and report the ratio all the same."""
        if not math.isfinite(there.cost):
            return Verdict(-math.inf, False)
        return Verdict(_ratio(here.cost - there.cost, step.predicted_decrease, here.noise), True)


@dataclass(frozen=True)
class RatioTest:
    """Take a step if the cost falls by a fraction of what the model predicts.

    Close to convergence both decreases drown in rounding; a multiple of it is added to both, so
    that the ratio tends to 1 there (Conn, Gould and Toint, Trust-Region Methods, section 17.4.2).
    Where it does, the gradient must fall instead.

    Parameters
    ----------
    threshold : float
        The fraction.
    regularization : float
        The multiple; less in single precision, where so many roundings would be a decrease worth
        having.

    Examples
    --------
    >>> import riemtr
    >>> solver = riemtr.TrustRegion(acceptance=riemtr.RatioTest(threshold=0.2))
    >>> case = riemtr.problems.build("dictionary-learning", rng=0, n=10)
    >>> table = solver.solve(case.problem, rng=0).history
    >>> bool((table["ratio"][1:][table["accepted"][1:]] >= 0.2).all())
    True
    """

    threshold: float = 0.05
    regularization: float = 1e3

    def __post_init__(self) -> None:
        if not (is_real(self.threshold) and 0.0 <= self.threshold < 0.25):
            raise ValueError(f"threshold must lie in [0, 0.25); got {self.threshold!r}")
        check_nonnegative("regularization", self.regularization)

    def judge(self, here: Evaluation, there: Evaluation, step: Step) -> Verdict:
        """Compare the regularised ratio with the threshold."""
        if not math.isfinite(there.cost):
            return Verdict(-math.inf, False)
        actual = here.cost - there.cost
        multiple = min(self.regularization, _LARGEST_SHIFT / here.precision)
        ratio = _ratio(actual, step.predicted_decrease, multiple * here.noise)
        by_shift = actual < self.threshold * step.predicted_decrease
        if by_shift and ratio >= self.threshold and not _flattens(here, there):
            # Nothing else tells that the model is no good, as where it follows a direction along
            # which the cost is the same by a symmetry.
            return Verdict(0.0, False)
        return Verdict(ratio, ratio >= self.threshold)


@dataclass(frozen=True)
class SlopeRatioTest(RatioTest):
    """The ratio test, with the slopes at both ends of a step where rounding hides costs.

    Between two points the cost changes by the mean of its slopes at both, up to third order in the
    step, and a slope has far more digits than a difference of costs. For steps of secant models,
    whose gradients do not fall from one step to the next as those of Newton steps do.

    Parameters
    ----------
    threshold, regularization : float
        As for :class:`RatioTest`; the latter says how many roundings hide a cost.
    """

    def judge(self, here: Evaluation, there: Evaluation, step: Step) -> Verdict:
        """Compare the ratio with the threshold."""
        if not math.isfinite(there.cost):
            return Verdict(-math.inf, False)
        actual, predicted = here.cost - there.cost, step.predicted_decrease
        hidden = min(self.regularization, _LARGEST_SHIFT / here.precision) * here.noise
        if predicted <= hidden and abs(actual) <= hidden:
            try:
                carried = there.space.transported(step.vector, here.space)
            except NotImplementedError:  # of manifolds of others
                return super().judge(here, there, step)
            slopes = here.inner(here.gradient, step.vector) + there.inner(there.gradient, carried)
            actual = -0.5 * slopes
        ratio = _ratio(actual, predicted, 0.0)
        return Verdict(ratio, ratio >= self.threshold)


def _flattens(here: Evaluation, there: Evaluation) -> bool:
    return there.gradient_norm <= _FALL * here.gradient_norm


def _ratio(actual: float, predicted: float, shift: float) -> float:
    actual, predicted = actual + shift, predicted + shift
    if predicted > 0.0:
        return actual / predicted
    return 1.0 if actual == predicted == 0.0 else -math.inf


# -- radii ----------------------------------------------------------------------------------------


class RadiusPolicy(Protocol):
    """Chooses the trust-region radius."""

    @property
    def adapts(self) -> bool:
        """Whether the radius follows the model's success."""

    def initial(self, here: Evaluation) -> float:
        """Radius of the first step, which begins at a point."""

    def limit(self, here: Evaluation) -> float:
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

    def initial(self, here: Evaluation) -> float:
        """Return the radius."""
        return self.radius

    def limit(self, here: Evaluation) -> float:
        """Return the radius."""
        return self.radius

    def update(self, radius: float, verdict: Verdict, step: Step) -> float:
        """Return the radius as it is, or half of it after a rejected step."""
        return radius if verdict.accepted else 0.5 * radius


def _check_factors(policy: AdaptiveRadius | AdaptiveWeight) -> None:
    """Check the ratios that a policy calls poor and good, and its factors."""
    poor, good, shrink, grow = (
        real(name, getattr(policy, name), low=0.0) for name in ("poor", "good", "shrink", "grow")
    )
    if not poor <= good:
        raise ValueError(f"need 0 <= poor <= good; got {policy.poor!r} and {policy.good!r}")
    if not 0.0 < shrink < 1.0 < grow:
        raise ValueError(f"need 0 < shrink < 1 < grow; got {policy.shrink!r} and {policy.grow!r}")


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
        _check_factors(self)

    def initial(self, here: Evaluation) -> float:
        """Return the radius of the first step."""
        limit = self.limit(here)
        if self.start is not None:
            return min(self.start, limit)
        radius = min(here.manifold.typical_dist, limit) / 5.0
        if here.manifold.bounded:
            return radius
        # Far out, shorter steps would drown in the rounding of the point.
        return min(max(radius, _SHORTEST * here.reach(here.gradient)), limit)

    def limit(self, here: Evaluation) -> float:
        """Return the largest radius."""
        if self.largest is not None:
            return self.largest
        return here.manifold.typical_dist if here.manifold.bounded else math.inf

    def update(self, radius: float, verdict: Verdict, step: Step) -> float:
        """Return the radius after a step was judged, before the limit."""
        if not (verdict.accepted and verdict.ratio >= self.poor):
            return self.shrink * min(radius, step.norm)
        if verdict.ratio > self.good and step.on_boundary:
            return self.grow * radius
        return radius


# -- the weight of a cubic term, in place of a radius ---------------------------------------------


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
        _check_factors(self)

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
