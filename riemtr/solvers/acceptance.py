"""Whether to take a step."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from riemtr.arguments import check_nonnegative, is_real
from riemtr.problem import Evaluation
from riemtr.subproblem import Step

# Share of the cost beyond which a decrease is never taken for rounding.
_LARGEST_SHIFT = 1e-6
# What the gradient must fall to where costs tell nothing, or the step was no good.
_FALL = 0.9


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

    def judge(self, here: Evaluation, there: Evaluation, step: Step, noise: float) -> Verdict:
        """Judge the step from ``here`` to ``there``; costs are known up to ``noise``."""


@dataclass(frozen=True)
class AlwaysAccept:
    """Take every step that leads to a finite cost (paper, section II.C)."""

    def judge(self, here: Evaluation, there: Evaluation, step: Step, noise: float) -> Verdict:
        """Accept, and report the ratio all the same."""
        if not math.isfinite(there.cost):
            return Verdict(-math.inf, False)
        return Verdict(_ratio(here.cost - there.cost, step.predicted_decrease, noise), True)


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

    def judge(self, here: Evaluation, there: Evaluation, step: Step, noise: float) -> Verdict:
        """Compare the regularised ratio with the threshold."""
        if not math.isfinite(there.cost):
            return Verdict(-math.inf, False)
        actual = here.cost - there.cost
        multiple = min(self.regularization, _LARGEST_SHIFT / here.precision)
        ratio = _ratio(actual, step.predicted_decrease, multiple * noise)
        by_shift = actual < self.threshold * step.predicted_decrease
        if by_shift and ratio >= self.threshold and not _flattens(here, there):
            # Nothing else tells that the model is no good, as where it follows a direction along
            # which the cost is the same by a symmetry.
            return Verdict(0.0, False)
        return Verdict(ratio, ratio >= self.threshold)


def _flattens(here: Evaluation, there: Evaluation) -> bool:
    return there.gradient_norm <= _FALL * here.gradient_norm


def _ratio(actual: float, predicted: float, shift: float) -> float:
    actual, predicted = actual + shift, predicted + shift
    if predicted > 0.0:
        return actual / predicted
    return 1.0 if actual == predicted == 0.0 else -math.inf
