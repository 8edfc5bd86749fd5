"""How the cost itself changes along a direction, whatever its derivatives say.

Differences of the cost alone, beside a point, contradict a derivative only where they are clear:
rounding or a kink leave it open, and differences over several lengths have to agree.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from riemtr.manifolds import retraction
from riemtr.problem.evaluation import Evaluation
from riemtr.problem.layout import like

OFF_DOMAIN = (np.linalg.LinAlgError, ValueError, ArithmeticError, RuntimeError)
"""What manifolds and costs raise where they are not defined."""

UNFINISHED = (NotImplementedError, RecursionError)
"""Those of them, by Python's order, that mean something else: to be raised before."""

Move = Callable[[Any, Any, Any], Any]
"""``move(manifold, point, vector)``."""

Difference = tuple[float, float]
"""A difference quotient, and what it may be off."""

_SHARES = (1.0, 0.25, 4.0)  # of the usual step: a derivative is the same at all of them
_DISTANCES = (0.02, 0.04, 0.08)  # to look along flat directions
_LEAST, _MOST = 2.0**2.5, 2.0**12  # growth, over twice the distance, of falls of third order and up
_LONGER = 2.0  # times as far a cost falls, at least, over a step four times as long
_DIFFERENCE = 0.1  # relative, from which on two numbers are not the same
_REFUTING = 1e-4  # the same, where differences of the cost are to tell a mistake from rounding
_ROUNDINGS = 100.0  # that a cost may be off by
_SEE = ": see riemtr.check_gradient and check_hessian"


def contradicting_slope(here: Evaluation) -> float | None:
    """Return the slope of the cost along its gradient, if not the gradient's norm; else None."""
    stated = here.gradient_norm
    if not (stated > 0.0 and math.isfinite(stated)):
        return None
    direction = (1.0 / stated) * here.gradient
    found = _otherwise(lambda share: first_difference(here, direction, share), stated, 0.0)
    if found is None:
        return None
    kink = _jump(here, direction, lambda share: differences(here, direction, share))
    return found if abs(found - stated) > kink else None


def contradiction(
    here: Evaluation, direction: Any, stated: float, tolerances: tuple[float, float]
) -> str:
    """Say how the cost changes along a direction, if not as its gradient and Hessian say.

    Nothing if it does. A kink may bend a cost up by any amount, which contradicts no Hessian; down,
    at all lengths, it shows that there is no minimum. Nor does a Hessian that is another to either
    side, as where a squared hinge begins.

    Parameters
    ----------
    here : Evaluation
        A critical point.
    direction : tangent vector
        Of unit length.
    stated : float
        ``<v, Hv>``.
    tolerances : pair of float
        Absolute differences of slope and of bend that do not matter.
    """
    slope = here.inner(here.gradient, direction)
    measure = cache(lambda share: differences(here, direction, share))  # the same costs for both
    measured = _otherwise(lambda share: measure(share)[0], slope, tolerances[0])
    if measured is not None and abs(measured - slope) > _jump(here, direction, measure):
        return f"the cost has a slope of {measured:.3g} where its gradient says {slope:.3g}{_SEE}"
    # A retraction accelerates by about 1, on which the gradient acts.
    ignored = tolerances[1] + 2.0 * here.gradient_norm
    measured = _otherwise(lambda share: measure(share)[1], stated, ignored, down=True)
    if measured is not None and not (measured > 0.0 and _bends_unevenly(here, direction)):
        return f"the cost bends by {measured:.3g} where its Hessian says {stated:.3g}{_SEE}"
    return ""


def _jump(
    here: Evaluation, direction: Any, measure: Callable[[float], tuple[Difference, Difference]]
) -> float:
    """Return by how much slopes to both sides differ: next to a kink a gradient may lie between.

    Over a kink the bend grows as steps get shorter; that of a smooth cost stays the same.
    """
    bends = [measure(share)[1][0] for share in _SHARES]
    return (max(bends) - min(bends)) * _bend_step(here, direction, min(_SHARES))


def _bends_unevenly(here: Evaluation, direction: Any) -> bool:
    """Whether the cost bends by one amount ahead and by another behind."""
    t = _bend_step(here, direction, 1.0)
    bends, errors = [], []
    for step in (t, -t):
        near, far = (cost_nearby(here, times * step * direction) for times in (1.0, 2.0))
        bends.append((far - near - (near - here.cost)) / (t * t))
        errors.append(_rounding(here, near, far) / (t * t))
    return abs(bends[0] - bends[1]) > sum(errors) + _DIFFERENCE * max(map(abs, bends))


def fall_of_higher_order(here: Evaluation, direction: Any, tolerances: tuple[float, float]) -> str:
    """Say how the cost falls along a flat direction, if by more than slope and bend account for.

    Nothing if it does not: along a symmetry it stays the same, or rises where the way leaves it.
    A fall must grow with the distance like a power above 2, as that of -x^4 or of a monkey saddle
    does; that into another valley does not.
    """
    for sign in (1.0, -1.0):
        falls = [_fall(here, sign * t, direction, tolerances) for t in _DISTANCES]
        growths = [_LEAST * one <= two <= _MOST * one for one, two in pairwise(falls)]
        if falls[0] > 0.0 and all(growths):
            over = f"{_DISTANCES[-1]:g} along a flat direction"
            return f"the cost falls by {falls[-1]:.1e} over {over}"
    return ""


def _fall(here: Evaluation, t: float, direction: Any, tolerances: tuple[float, float]) -> float:
    """By how much the cost falls over a distance, less what may be rounding, slope and bend."""
    cost = cost_nearby(here, t * direction)
    known = tolerances[0] * abs(t) + 0.5 * tolerances[1] * t * t
    return here.cost - cost - known - _rounding(here, cost, cost)


def _otherwise(
    difference: Callable[[float], Difference],
    stated: float,
    tolerance: float,
    down: bool = False,
) -> float | None:
    """Return what is measured, if that is the same at all lengths and clearly not as stated.

    With ``down`` it need not be the same, if the cost falls by more the longer the step is.
    """
    found = []
    for share in _SHARES:
        found.append(difference(share))
        if not _gap(found[-1], stated, _REFUTING) > tolerance:  # NaN included
            return None
    smallest, middle, largest = sorted(value for value, _ in found)
    plain = all(_gap(each, stated, _DIFFERENCE) > tolerance for each in found)
    if largest - smallest <= _DIFFERENCE * max(abs(smallest), abs(largest)):
        return middle if plain or _refute(found, stated, tolerance) else None
    falls = down and largest < stated and _falls([value for value, _ in found])
    return middle if plain and falls else None


def refuted(difference: Callable[[float], Difference], stated: float) -> bool:
    """Whether differences of the cost agree with each other, and not with a stated derivative.

    ``difference`` is a function of the share of the usual step.
    """
    return _refute([difference(share) for share in _SHARES], stated, 0.0)


def _refute(found: Sequence[Difference], stated: float, tolerance: float) -> bool:
    """Whether differences are further from what is stated than from each other."""
    values = [value for value, _ in found]
    gap = min(_gap(each, stated, _REFUTING) for each in found)
    return gap - tolerance > 2.0 * (max(values) - min(values))  # False for NaN


def _gap(found: Difference, stated: float, relative: float) -> float:
    """By how much a difference is off what is stated, less what may be its error."""
    value, error = found
    return abs(value - stated) - error - relative * max(abs(value), abs(stated))


def _falls(bends: Sequence[float]) -> bool:
    """Whether a cost falls to both sides; rounding falls no further over longer steps."""
    falls = {share: -share * share * bend for share, bend in zip(_SHARES, bends, strict=True)}
    short, middle, long = (falls[share] for share in sorted(_SHARES))
    return short > 0.0 and middle >= _LONGER * short and long >= _LONGER * middle


def first_difference(here: Evaluation, direction: Any, share: float = 1.0) -> Difference:
    """Return the central difference of the cost, over a share of the usual step."""
    # The cube root of the precision balances truncation and rounding.
    t = share * here.precision ** (1.0 / 3.0) * here.reach(direction)
    ahead, behind = _costs_beside(here, t, direction)
    return (ahead - behind) / (2.0 * t), _rounding(here, ahead, behind) / t


def differences(
    here: Evaluation, direction: Any, share: float = 1.0
) -> tuple[Difference, Difference]:
    """Return first and second difference of the cost, over a share of the usual step."""
    t = _bend_step(here, direction, share)
    ahead, behind = _costs_beside(here, t, direction)
    rounding = _rounding(here, ahead, behind)
    slope = (ahead - behind) / (2.0 * t)
    bend = (ahead - here.cost + (behind - here.cost)) / (t * t)
    return (slope, rounding / t), (bend, rounding / (t * t))


def _bend_step(here: Evaluation, direction: Any, share: float) -> float:
    # The fourth root of the precision balances truncation and rounding of second differences.
    return share * here.precision**0.25 * here.reach(direction)


def _rounding(here: Evaluation, ahead: float, behind: float) -> float:
    return _ROUNDINGS * here.precision * max(abs(ahead), abs(behind), abs(here.cost))


def _costs_beside(here: Evaluation, t: float, direction: Any) -> tuple[float, float]:
    costs = cost_nearby(here, t * direction), cost_nearby(here, -t * direction)
    same = costs[0] == costs[1] == here.cost
    return (math.nan, math.nan) if same else costs  # all of it may be lost to rounding


def cost_nearby(here: Evaluation, displacement: Any, move: Move = retraction) -> float:
    """Return the cost at the end of a step; NaN where manifold or cost do not reach."""
    try:
        with np.errstate(all="ignore"):
            point = move(here.manifold, here.point, displacement)
            return here.problem.at(like(point, here.point), here.counts).cost
    except UNFINISHED:
        raise
    except OFF_DOMAIN:
        return math.nan
