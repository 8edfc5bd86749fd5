"""How much the cost itself bends along a direction, whatever its derivatives say."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from riemtr.problem.evaluation import Evaluation

_SHARES = (1.0, 0.25, 4.0)  # of the usual step: a bend is the same at all of them
_DIFFERENCE = 0.25  # relative, from which on two numbers are not the same
_ROUNDINGS = 100.0  # that a cost may be off by


def contradicting_bend(
    here: Evaluation, direction: Any, stated: float, tolerance: float
) -> float | None:
    """Return the second derivative of the cost along a direction, if not what its Hessian says.

    Measured by second differences of the cost alone, at a critical point, two costs each. None if
    it is as stated, and where rounding or a kink leaves that open: if not, differences over three
    lengths have to agree with each other.

    Parameters
    ----------
    here : Evaluation
    direction : tangent vector
        Of unit length.
    stated : float
        ``<v, Hv>``.
    tolerance : float
        Absolute difference that does not matter.
    """
    measured = []
    for share in _SHARES:
        bend, error = _second_difference(here, direction, share)
        allowed = error + tolerance + _DIFFERENCE * max(abs(bend), abs(stated))
        if not abs(bend - stated) > allowed:  # NaN included
            return None
        measured.append(bend)
    smallest, middle, largest = sorted(measured)
    agree = largest - smallest <= _DIFFERENCE * max(abs(smallest), abs(largest))
    return middle if agree else None


def _second_difference(here: Evaluation, direction: Any, share: float) -> tuple[float, float]:
    """Return the second difference of the cost along a retraction, and its rounding error."""
    # The fourth root of the precision balances truncation and rounding.
    t = share * here.precision**0.25 * here.reach(direction)
    try:
        with np.errstate(all="ignore"):
            ahead, behind = (_cost_nearby(here, sign * t * direction) for sign in (1.0, -1.0))
    except np.linalg.LinAlgError:  # of the manifold or the cost, off its domain
        return math.nan, math.nan
    largest = max(abs(ahead), abs(behind), abs(here.cost))
    rounding = _ROUNDINGS * here.precision * largest / (t * t)
    # A retraction accelerates by about 1, on which the gradient acts.
    return (ahead - here.cost + (behind - here.cost)) / (t * t), rounding + 2.0 * here.gradient_norm


def _cost_nearby(here: Evaluation, displacement: Any) -> float:
    return here.problem.at(here.manifold.retraction(here.point, displacement)).cost
