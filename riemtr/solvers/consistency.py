"""Whether the cost changes along a run as its gradient says.

A wrong gradient vanishes somewhere, too, and a run that ends there would be called converged. But
between two points the cost changes by the mean of its slopes at both, up to third order in the step
and whatever the Hessian is. Looked at once, at the end, for the last steps that tell: with the
right gradient the change is then off by a few percent, or by less than the slopes themselves where
steps are long. More is a suspicion, since steps may be too long even for that, and costs may lose
digits of their own; differences of the cost beside the point have to confirm it.
"""

from __future__ import annotations

from collections import deque

import numpy as np

from riemtr.manifolds import transport
from riemtr.problem import Evaluation
from riemtr.problem.cost_differences import contradicting_slope
from riemtr.subproblem import Step

# Roundings of the cost beyond which a change tells something.
_TELLING_ROUNDINGS = 1000
# How many such steps to look at.
_STEPS = 2
# How far off the change may be, beside the mean size of the slopes: steps up to the boundary may
# be too long for the third order to be small.
_TOLERATED = 0.5
_TOLERATED_AT_BOUNDARY = 2.0


class Consistency:
    """The last steps of a run that tell whether cost and gradient belong together."""

    def __init__(self) -> None:
        self._last: deque[tuple[Evaluation, Evaluation, Step, float]] = deque(maxlen=_STEPS)

    def note(self, here: Evaluation, there: Evaluation, step: Step, noise: float) -> None:
        """Take note of a step that was taken, between costs known up to ``noise``."""
        change = max(abs(there.cost - here.cost), step.predicted_decrease)
        if change > _TELLING_ROUNDINGS * noise:
            self._last.append((here, there, step, noise))

    @property
    def is_broken(self) -> bool:
        """Whether the cost did not change as its gradient says."""
        try:
            return any(_is_off(*each) and _is_contradicted(*each[:2]) for each in self._last)
        except (AttributeError, NotImplementedError, np.linalg.LinAlgError):  # of the transport
            return False


def _is_off(here: Evaluation, there: Evaluation, step: Step, noise: float) -> bool:
    carried = transport(here.manifold, here.point, there.point, step.vector)
    slopes = here.inner(here.gradient, step.vector), there.inner(there.gradient, carried)
    off = abs(there.cost - here.cost - 0.5 * sum(slopes))
    tolerated = _TOLERATED_AT_BOUNDARY if step.on_boundary else _TOLERATED
    return off > tolerated * 0.5 * sum(map(abs, slopes)) + _TELLING_ROUNDINGS * noise


def _is_contradicted(*points: Evaluation) -> bool:
    """Whether the cost has another slope where the gradient is the largest."""
    steepest = max(points, key=lambda point: point.gradient_norm)
    return contradicting_slope(steepest) is not None
