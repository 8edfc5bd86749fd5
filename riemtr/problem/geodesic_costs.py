"""The cost along a geodesic, and what differences of it tell of a derivative.

Their steps suit the rounding that the cost itself shows: a large constant hides what it is added
to, and only over longer steps do changes stand out of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from riemtr.manifolds import dimension, exponential
from riemtr.problem.cost_differences import Difference, cost_nearby, refuted
from riemtr.problem.derivative_check import Comparison, common_factor, step_lengths
from riemtr.problem.evaluation import Evaluation

# The shortest steps, which show the rounding in the cost, how many times more other costs may be
# off by, and what they are off by at least, in roundings of one number.
_SHORTEST, _NOISE, _LEAST = 8, 3.0, 4.0
_LONGEST = 0.05  # step of a difference
_CURVED = 2.0  # times what it is off by its length, as estimated, that it may be


class Line:
    """The cost along a geodesic, at the steps of a check."""

    def __init__(self, here: Evaluation, direction: Any):
        self.here = here
        self.steps = step_lengths(here.precision)
        self.costs = np.array([cost_nearby(here, t * direction, exponential) for t in self.steps])

    def errors(self, rate: float, bend: float = 0.0) -> np.ndarray:
        """Errors of the model with these derivatives."""
        return np.abs(self.costs - self.here.cost - self.steps * (rate + 0.5 * self.steps * bend))

    def differences(self) -> LineDifferences:
        """Differences that know of the rounding in the cost."""
        here = self.here
        changes = self.costs - here.cost
        sizes = np.abs(changes[np.isfinite(changes)])
        noise = max(_NOISE * self._scatter(changes), _LEAST * here.precision * abs(here.cost))
        if sizes.max(initial=0.0) > 0.0 and not sizes.all():  # a last digit is larger than some
            noise = max(noise, float(sizes[sizes > 0.0].min()))
        return LineDifferences(here, noise, float(sizes.max(initial=0.0)))

    def _scatter(self, changes: np.ndarray) -> float:
        """What no derivative accounts for in the changes over the shortest steps."""
        short = changes[:_SHORTEST]
        if not np.isfinite(short).all():
            return 0.0
        t = self.steps[:_SHORTEST] / self.steps[_SHORTEST]
        powers = np.stack([t, t**2], axis=1)
        return float(np.abs(short - powers @ np.linalg.lstsq(powers, short, rcond=None)[0]).max())


@dataclass(frozen=True)
class LineDifferences:
    """Differences of the cost along geodesics, over steps that suit its rounding.

    ``noise`` is that of one cost, ``change`` what costs differ by over the steps of a check.
    """

    here: Evaluation
    noise: float
    change: float

    @property
    def scale(self) -> float:
        """Size of a cost that rounds like this one, which may be a difference of larger ones."""
        return 0.1 * self.noise / self.here.precision

    def along(self, direction: Any, order: int, share: float = 1.0) -> Difference:
        """First or second difference, over a share of the step that balances its errors."""
        here = self.here
        balanced = (self.noise / self.change if self.change > 0.0 else 1.0) ** (1.0 / (order + 2))
        shortest = here.precision ** (1.0 / (order + 2))
        t = share * min(max(balanced, shortest), _LONGEST) * here.reach(direction)
        ahead, behind = (cost_nearby(here, sign * t * direction, exponential) for sign in (1, -1))
        if order == 1:
            return (ahead - behind) / (2.0 * t), self.noise / t
        return (ahead - here.cost + (behind - here.cost)) / t**2, 2.0 * self.noise / t**2

    def compare(self, direction: Any, order: int, stated: float, size: float) -> Comparison:
        """Compare a derivative of some size, all told, with what it is along a direction."""
        difference = cache(lambda share: self.along(direction, order, share))  # asked for twice
        measured, error = difference(1.0)
        # What steps 4 times as long have 16 times of, and what shorter ones clearly lack.
        longer, (shorter, blur) = difference(4.0)[0], difference(0.25)
        curved = [abs(longer - measured) / 15.0, abs(shorter - measured) - blur]
        error += _CURVED * float(np.nan_to_num(curved, posinf=0.0).max(initial=0.0))
        return Comparison(
            measured,
            error,
            stated,
            typical=size / math.sqrt(max(dimension(self.here.manifold), 1)),
            refuted=refuted(difference, stated),
        )

    def factor(
        self, first: Comparison, order: int, further: Sequence[tuple[Any, float]]
    ) -> float | None:
        """What the derivative is off by, if that is the same along further directions."""
        if dimension(self.here.manifold) < 2:
            return None  # there are none
        found = [Comparison(*self.along(other, order), stated) for other, stated in further]
        return common_factor([first, *found])
