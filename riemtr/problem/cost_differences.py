"""How the cost itself changes along a direction, whatever its derivatives say.

Differences of the cost alone, beside a point, contradict a derivative only where they are clear:
rounding or a kink leave it open, differences over several lengths have to agree, and those over
several other lengths have to confirm it. Differences of gradients say how wrong a Hessian is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from riemtr.manifolds import exponential, retraction
from riemtr.problem.evaluation import Evaluation

OFF_DOMAIN = (np.linalg.LinAlgError, ValueError, ArithmeticError, RuntimeError)
"""The errors that manifolds and costs raise where they are not defined."""

UNFINISHED = (NotImplementedError, RecursionError)
"""Subclasses of these errors that mean a mistake in the code; they are raised before."""

Difference = tuple[float, float]
"""A difference quotient, and how far rounding may have moved it."""

SEE = ": see riemtr.check_gradient and check_hessian"
"""Where users find out more about a contradiction."""


@dataclass(frozen=True)
class ProbeRule:
    """When costs beside a point contradict a derivative.

    Attributes
    ----------
    shares : tuple of float
        Lengths of the steps, over the usual one; a derivative is the same at all of them.
    distances : tuple of float
        Distances over which a fall along a flat direction is looked for.
    least_growth, most_growth : float
        Growth, over twice the distance, of falls of third order and up.
    longer : float
        A cost that falls to both sides falls this many times as far over a step four times as long.
    different : float
        Relative difference from which on two numbers are not the same.
    refuting : float
        The same where several differences agree with each other far better than that.
    roundings : float
        Roundings that a cost may be off by.
    gradient_roundings : float
        Roundings of a gradient that are not looked into; the differences themselves tell the rest.
    halved : float
        Share of what is left of a smooth difference over half the step, at most: it is a half.
    second_look : float
        Lengths of the steps that confirm a contradiction, over those that found it.
    """

    shares: tuple[float, ...] = (1.0, 0.25, 4.0)
    distances: tuple[float, ...] = (0.02, 0.04, 0.08)
    least_growth: float = 2.0**2.5
    most_growth: float = 2.0**12
    longer: float = 2.0
    different: float = 0.1
    refuting: float = 1e-4
    roundings: float = 100.0
    gradient_roundings: float = 10.0
    halved: float = 0.75
    second_look: float = 0.7


RULE = ProbeRule()


class Probe:
    """The cost along one direction through a point; each cost is computed once.

    Parameters
    ----------
    here : Evaluation
    direction : ndarray
        A vector of unit length.
    stretch : float
        Lengths of all steps, over the usual ones.
    """

    def __init__(self, here: Evaluation, direction: np.ndarray, stretch: float = 1.0):
        self.here, self.direction = here, direction
        self._reach = stretch * here.reach(direction)
        self._costs: dict[float, float] = {}

    def cost(self, t: float) -> float:
        """Return the cost at a distance; NaN where manifold or cost do not reach."""
        if t not in self._costs:
            self._costs[t] = cost_nearby(self.here, t * self.direction)
        return self._costs[t]

    def length(self, share: float, order: int = 2) -> float:
        """Return a share of the usual step.

        The cube root of the precision balances truncation and rounding of first differences, the
        fourth root that of second differences.
        """
        return share * self.here.precision ** (1.0 / (order + 2)) * self._reach

    def slope(self, share: float, order: int = 2) -> Difference:
        """Return the central difference, over the usual step for differences of some order."""
        t = self.length(share, order)
        ahead, behind = self._beside(t)
        return (ahead - behind) / (2.0 * t), self.rounding(ahead, behind) / t

    def bend(self, share: float) -> Difference:
        """Return the second difference."""
        t = self.length(share)
        ahead, behind = self._beside(t)
        middle = self.here.cost
        bend = (ahead - middle + (behind - middle)) / (t * t)
        return bend, self.rounding(ahead, behind) / (t * t)

    def rounding(self, *costs: float) -> float:
        """Return how far rounding may have moved some costs."""
        return RULE.roundings * self.here.precision * max(map(abs, (*costs, self.here.cost)))

    def _beside(self, t: float) -> tuple[float, float]:
        costs = self.cost(t), self.cost(-t)
        same = costs[0] == costs[1] == self.here.cost
        return (math.nan, math.nan) if same else costs  # all of it may be lost to rounding

    # -- features ---------------------------------------------------------------------------------

    def kink(self) -> float:
        """Return by how much slopes to both sides differ: beside a kink a gradient lies between.

        Over a kink the bend grows as steps get shorter; that of a smooth cost stays the same.
        """
        bends = [self.bend(share)[0] for share in RULE.shares]
        return (max(bends) - min(bends)) * self.length(min(RULE.shares))

    def jump(self) -> float:
        """Return by how much the cost falls at once, on one side of the point; 0 if it does not.

        A fall that is the same over steps of several lengths is no slope and no bend.
        """
        for sign in (1.0, -1.0):
            costs = [self.cost(sign * self.length(share)) for share in RULE.shares]
            falls = [self.here.cost - cost for cost in costs]
            least, most = min(falls), max(falls)
            rounding = RULE.roundings * self.rounding(*costs)
            if least > rounding and most - least <= RULE.different * least:
                return least
        return 0.0

    def bends_unevenly(self) -> bool:
        """Return whether the cost bends by one amount ahead and by another behind."""
        t = self.length(1.0)
        bends, errors = [], []
        for step in (t, -t):
            near, far = self.cost(step), self.cost(2.0 * step)
            bends.append((far - near - (near - self.here.cost)) / (t * t))
            errors.append(self.rounding(near, far) / (t * t))
        return abs(bends[0] - bends[1]) > sum(errors) + RULE.different * max(map(abs, bends))

    def fall(self, tolerances: tuple[float, float]) -> tuple[float, float] | None:
        """Return the side to which the cost falls by a term of higher order, and by how much.

        None if it does not: along a symmetry it stays the same, or rises where the way leaves it. A
        fall must grow with the distance like a power above 2, as that of -x^4 or of a monkey saddle
        does; that into another valley does not.
        """
        for sign in (1.0, -1.0):
            falls = [self._fall(sign * t, tolerances) for t in RULE.distances]
            growths = (
                RULE.least_growth * one <= two <= RULE.most_growth * one
                for one, two in pairwise(falls)
            )
            if falls[0] > 0.0 and all(growths):
                return sign, falls[-1]
        return None

    def _fall(self, t: float, tolerances: tuple[float, float]) -> float:
        """Return the fall over a distance, less what may be rounding, slope and bend."""
        cost = self.cost(t)
        known = tolerances[0] * abs(t) + 0.5 * tolerances[1] * t * t
        return self.here.cost - cost - known - self.rounding(cost)


def flat_probe(here: Evaluation) -> Probe | None:
    """Return the costs along the direction of least curvature, which a run and its result share."""
    known = here.curvature
    if known.probe is None and known.direction is not None:
        known.probe = Probe(here, known.direction)
    return known.probe


# -- contradictions -------------------------------------------------------------------------------


def contradicting_slope(here: Evaluation) -> float | None:
    """Return the slope of the cost along its gradient, if not the gradient's norm; else None."""
    stated = here.gradient_norm
    if not (stated > 0.0 and math.isfinite(stated)):
        return None
    probe = Probe(here, (1.0 / stated) * here.gradient)
    found = _otherwise((probe.slope(share, 1) for share in RULE.shares), stated, 0.0)
    return found if found is not None and abs(found - stated) > probe.kink() else None


def contradiction(probe: Probe, stated: float, tolerances: tuple[float, float]) -> str:
    """Say how the cost changes along a direction, if not as its gradient and Hessian say.

    Nothing if it does, and nothing where costs over other lengths do not confirm it: noise that is
    larger than rounding agrees with itself by chance. A kink may bend a cost up by any amount,
    which contradicts no Hessian; down, at all lengths, it shows that there is no minimum. Nor does
    a Hessian that is another to either side, as where a squared hinge begins.

    Parameters
    ----------
    probe : Probe
        Costs beside a critical point.
    stated : float
        ``<v, Hv>``.
    tolerances : pair of float
        Absolute differences of slope and of bend that do not matter.
    """
    found = _contradicted(probe, stated, tolerances)
    if not found:
        return ""
    other = Probe(probe.here, probe.direction, RULE.second_look)
    return found if _contradicted(other, stated, tolerances) else ""


def _contradicted(probe: Probe, stated: float, tolerances: tuple[float, float]) -> str:
    """Say how the cost changes over one set of lengths, if not as stated."""
    here = probe.here
    slope = here.inner(here.gradient, probe.direction)
    # A retraction accelerates by about 1, on which the gradient acts.
    ignored = tolerances[1] + 2.0 * here.gradient_norm
    as_stated = not (
        _gap(probe.slope(1.0), slope, RULE.refuting) > tolerances[0]
        or _gap(probe.bend(1.0), stated, RULE.refuting) > ignored
    )
    if as_stated:
        return ""
    jump = probe.jump()
    if jump > 0.0:
        return f"the cost jumps down by {jump:.3g} right beside the point"
    measured = _otherwise([probe.slope(share) for share in RULE.shares], slope, tolerances[0])
    if measured is not None and abs(measured - slope) > probe.kink():
        return f"the cost has a slope of {measured:.3g} where its gradient says {slope:.3g}{SEE}"
    bends = [probe.bend(share) for share in RULE.shares]
    if stated < -ignored and all(bend - error > 0.0 for bend, error in bends):
        return f"the cost rises to both sides where its Hessian says {stated:.3g}{SEE}"
    measured = _otherwise(bends, stated, ignored, down=True)
    if measured is not None and not (measured > 0.0 and probe.bends_unevenly()):
        return f"the cost bends by {measured:.3g} where its Hessian says {stated:.3g}{SEE}"
    return ""


def hessian_gap(
    here: Evaluation,
    vector: np.ndarray,
    product: np.ndarray,
    size: float,
    harmless: float = 0.0,
) -> float:
    """Return how far a Hessian product is from the change of the gradient; 0 if it is as stated.

    So it is where differences of gradients are as far from each other, as with noise, or for lack
    of a derivative beside a kink; and where the Hessian itself comes from such differences.

    Parameters
    ----------
    here : Evaluation
        A critical point.
    vector, product : ndarray
        A unit vector and its image under the Hessian.
    size : float
        Size of the Hessian.
    harmless : float
        A gap that does not matter, so that nobody needs to know whether it is one.
    """
    if here.hessian_kind == "differences":
        return 0.0
    reach = here.reach(vector)
    step = here.precision ** (1.0 / 3.0) * reach
    rounding = RULE.gradient_roundings * here.precision * (here.conversion_size + size * reach)
    try:
        ahead, behind = _gradient_changes(here, step, vector)
        measured = 0.5 * (ahead + behind)
        gap = here.norm(measured - product)
        if not gap > max(rounding / step, harmless):  # NaN included
            return 0.0
        near, nearer = _gradient_changes(here, 0.5 * step, vector)
    except (*OFF_DOMAIN, AttributeError):
        return 0.0
    # Where the gradient turns within a step, its differences say nothing of the Hessian.
    told = min(RULE.different * gap, max(RULE.different * here.norm(measured), rounding / step))
    blurred = here.norm(measured - 0.5 * (near + nearer)) > told
    # The third derivative makes both sides differ by as much as the step is long; a kink does not.
    uneven, left = here.norm(ahead - behind), here.norm(near - nearer)
    kinked = left > told and left > RULE.halved * uneven
    return 0.0 if blurred or kinked else gap


def _gradient_changes(
    here: Evaluation, step: float, vector: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the change of the gradient, per length, ahead of the point and behind it."""
    changes = []
    for signed in (step, -step):
        there = here.moved(signed * vector)
        if there is None:
            raise ValueError("the point is too close to the end of the manifold")
        back = here.space.transported(there.gradient, there.space)
        changes.append((back - here.gradient) * (1.0 / signed))
    return changes[0], changes[1]


def _otherwise(
    differences: Iterable[Difference], stated: float, tolerance: float, down: bool = False
) -> float | None:
    """Return what is measured, if that is the same at all lengths and clearly not as stated.

    With ``down`` it need not be the same, if the cost falls by more the longer the step is. Of an
    iterator no more differences are taken than are needed.
    """
    found = []
    for each in differences:
        found.append(each)
        if not _gap(each, stated, RULE.refuting) > tolerance:  # NaN included
            return None
    smallest, middle, largest = sorted(value for value, _ in found)
    plain = all(_gap(each, stated, RULE.different) > tolerance for each in found)
    if largest - smallest <= RULE.different * max(abs(smallest), abs(largest)):
        return middle if plain or refuted(found, stated, tolerance) else None
    falls = down and largest < stated and _falls([value for value, _ in found])
    return middle if plain and falls else None


def refuted(found: Sequence[Difference], stated: float, tolerance: float = 0.0) -> bool:
    """Return whether differences are further from a stated value than from each other."""
    values = [value for value, _ in found]
    gap = min(_gap(each, stated, RULE.refuting) for each in found)
    return gap - tolerance > 2.0 * (max(values) - min(values))  # False for NaN


def _gap(found: Difference, stated: float, relative: float) -> float:
    """Return by how much a difference is off what is stated, less what may be its error."""
    value, error = found
    return abs(value - stated) - error - relative * max(abs(value), abs(stated))


def _falls(bends: Sequence[float]) -> bool:
    """Return whether a cost falls to both sides; rounding falls no further over longer steps."""
    falls = {share: -share * share * bend for share, bend in zip(RULE.shares, bends, strict=True)}
    short, middle, long = (falls[share] for share in sorted(RULE.shares))
    return short > 0.0 and middle >= RULE.longer * short and long >= RULE.longer * middle


def cost_nearby(here: Evaluation, displacement: np.ndarray, geodesic: bool = False) -> float:
    """Return the cost at the end of a step; NaN where manifold or cost do not reach.

    The step follows the retraction, or the geodesic.
    """
    try:
        with np.errstate(all="ignore"):
            there = here.moved(displacement, exponential if geodesic else retraction)
            return math.nan if there is None else there.cost
    except UNFINISHED:
        raise
    except OFF_DOMAIN:
        return math.nan
