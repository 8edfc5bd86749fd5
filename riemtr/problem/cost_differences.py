"""How the cost itself changes along a direction, whatever its derivatives say.

Differences of the cost alone, beside a point, contradict a derivative only where they are clear:
rounding or a kink leave it open, and differences over several lengths have to agree.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from riemtr.manifolds import retraction
from riemtr.problem.evaluation import Evaluation
from riemtr.problem.layout import like

_SHARES = (1.0, 0.25, 4.0)  # of the usual step: a derivative is the same at all of them
_DIFFERENCE = 0.25  # relative, from which on two numbers are not the same
_ROUNDINGS = 100.0  # that a cost may be off by


def contradicting_slope(here: Evaluation) -> float | None:
    """Return the slope of the cost along its gradient, if not the gradient's norm; else None."""
    stated = here.gradient_norm
    if not (stated > 0.0 and math.isfinite(stated)):
        return None
    direction = (1.0 / stated) * here.gradient
    return _contradiction(lambda share: _first_difference(here, direction, share), stated, 0.0)


def contradicting_bend(
    here: Evaluation, direction: Any, stated: float, tolerance: float
) -> float | None:
    """Return the second derivative of the cost along a direction, if not what its Hessian says.

    None if it is as stated.

    Parameters
    ----------
    here : Evaluation
        A critical point.
    direction : tangent vector
        Of unit length.
    stated : float
        ``<v, Hv>``.
    tolerance : float
        Absolute difference that does not matter.
    """
    return _contradiction(
        lambda share: _second_difference(here, direction, share), stated, tolerance
    )


def _contradiction(
    difference: Callable[[float], tuple[float, float]], stated: float, tolerance: float
) -> float | None:
    """Return what is measured, if that is the same at all lengths and clearly not as stated."""
    measured = []
    for share in _SHARES:
        value, error = difference(share)
        allowed = error + tolerance + _DIFFERENCE * max(abs(value), abs(stated))
        if not abs(value - stated) > allowed:  # NaN included
            return None
        measured.append(value)
    smallest, middle, largest = sorted(measured)
    agree = largest - smallest <= _DIFFERENCE * max(abs(smallest), abs(largest))
    return middle if agree else None


def _first_difference(here: Evaluation, direction: Any, share: float) -> tuple[float, float]:
    """Return the central difference of the cost along a retraction, and its rounding error."""
    # The cube root of the precision balances truncation and rounding.
    t = share * here.precision ** (1.0 / 3.0) * here.reach(direction)
    ahead, behind = _costs_beside(here, t, direction)
    return (ahead - behind) / (2.0 * t), _rounding(here, ahead, behind) / t


def _second_difference(here: Evaluation, direction: Any, share: float) -> tuple[float, float]:
    """Return the second difference of the cost along a retraction, and its rounding error."""
    # The fourth root of the precision balances truncation and rounding.
    t = share * here.precision**0.25 * here.reach(direction)
    ahead, behind = _costs_beside(here, t, direction)
    bend = (ahead - here.cost + (behind - here.cost)) / (t * t)
    # A retraction accelerates by about 1, on which the gradient acts.
    return bend, _rounding(here, ahead, behind) / (t * t) + 2.0 * here.gradient_norm


def _rounding(here: Evaluation, ahead: float, behind: float) -> float:
    return _ROUNDINGS * here.precision * max(abs(ahead), abs(behind), abs(here.cost))


def _costs_beside(here: Evaluation, t: float, direction: Any) -> tuple[float, float]:
    try:
        with np.errstate(all="ignore"):
            return _cost_nearby(here, t * direction), _cost_nearby(here, -t * direction)
    except np.linalg.LinAlgError:  # of the manifold or the cost, off its domain
        return math.nan, math.nan


def _cost_nearby(here: Evaluation, displacement: Any) -> float:
    point = retraction(here.manifold, here.point, displacement)
    return here.problem.at(like(point, here.point), here.counts).cost
