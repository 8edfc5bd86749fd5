"""How a cost and its gradient change along a line, whatever their derivatives say.

The one instrument for that question: certificates, runs, batches, bounds of distances and the
checks of users all ask it. Central differences are taken over a ladder of lengths and extrapolated
to length zero. Each answer is a value with an error, in which the curvature of higher order and the
noise that the numbers themselves show both count. The first length follows from the scale of the
problem at the point: from its own derivatives, and from the size of the point. Where the lengths
turn out too long or too short, others are taken.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from riemtr.manifolds import exponential, retraction
from riemtr.problem.evaluation import Evaluation

OFF_DOMAIN = (np.linalg.LinAlgError, ValueError, ArithmeticError, RuntimeError)
"""The errors that manifolds and costs raise where they are not defined."""

UNFINISHED = (NotImplementedError, RecursionError)
"""Subclasses of these errors that mean a mistake in the code; they are raised before."""

UNCOMPARED = (*OFF_DOMAIN, AttributeError, NotImplementedError)
"""The errors of manifolds without a transport as well, on which gradients are not compared."""

AGREES, CONTRADICTS, OPEN = "agrees", "contradicts", "open"

SEE = ": see riemtr.check_gradient and check_hessian"
"""Where users find out more about a contradiction."""


@dataclass(frozen=True)
class DifferenceRule:
    """Which lengths are taken, and what their differences say."""

    telling: float = 1e8  # change of a cost, over its rounding, that the first length aims at
    shortest: float = 1.3  # shortest length over the point's size, in roots of the precision
    longest: float = 0.05  # longest length, over the size of the point
    change: float = 8.0  # factor between one ladder of lengths and the next
    ladders: int = 6  # ladders at most
    roundings: float = 4.0  # units in the last place that a number may be off by
    noise: float = 5.0  # times the noise that differences show that a number may be off by
    distrust: float = 3.0  # times its own estimate that the error of an extrapolation may be
    noisy: float = 0.1  # share of an error that noise has, where longer lengths are the better
    approach: float = 2.0  # times closer to a limit that half the length must be; it is four times
    resolved: float = 1e-3  # relative error of a value that tells all that is asked
    refuting: float = 1e-4  # relative gap that is no matter of rounding, of a value as good as that
    slight: float = 1e-5  # distance over the point's size that a slope may stand for, and be none
    lasting: float = 0.75  # share of the difference of both sides that stays at a seam
    uneven: float = 0.1  # relative difference of the bends on both sides that shows a seam
    farthest: float = 0.1  # longest length of a look along flat directions, over the point's size
    farther: float = 8.0  # factor between the lengths of such a look
    around: tuple[float, ...] = (0.9, 0.95, 1.0, 1.05, 1.1)  # places that confirm a fall
    # Others, since roundings may be the same at even distances.
    uneven_around: tuple[float, ...] = (0.907, 0.931, 0.968, 0.983, 1.013, 1.037, 1.071)
    followed: int = 50  # times that a way down is made longer at most
    sure: float = 2.0  # times its noise that a cost must be lower by
    other: float = 0.7  # lengths that confirm a contradiction, over those that found it
    stride: float = 64.0  # factor between the lengths that are tried where a point is zero
    strides: int = 14  # of them from 1, to either side

    @property
    def zero_lengths(self) -> tuple[float, ...]:
        """The lengths that are tried where a point is zero, the shortest first."""
        return tuple(self.stride**power for power in range(-self.strides, self.strides + 1))


RULE = DifferenceRule()

# Lengths of a ladder, over the longest.
_RUNGS = (1.0, 0.5, 0.25)
# Weights of five costs in their difference of fourth order, in units of the noise of one.
_FOURTH = np.array([1.0, -4.0, 6.0, -4.0, 1.0]) / math.sqrt(70.0)
# Error of a second difference over that of one cost, of which it takes four.
_SECOND = math.sqrt(6.0)
# Weights of the costs at -4, -2, -1, 0, 1, 2 and 4 quarters in the difference of sixth order, in
# which nothing of a polynomial of fifth order is left: what remains is noise.
_SIXTH = np.array([1.0, -20.0, 64.0, -90.0, 64.0, -20.0, 1.0]) / math.sqrt(17094.0)


@dataclass(frozen=True)
class Measured:
    """A derivative by differences: of one cost, of many, or of a vector.

    Attributes
    ----------
    value, error : float or ndarray
        The extrapolated value, and how far off it may be.
    length : float
        The longest length of the ladder.
    is_noisy : bool
        Whether the error is larger than the rounding of the numbers explains.
    noise : float or ndarray
        The part of the error that noise is to blame for, without doubt.
    """

    value: Any
    error: Any
    length: float = math.nan
    is_noisy: bool = False
    noise: Any = 0.0

    def against(self, stated: Any, harmless: Any = 0.0) -> str:
        """Return whether the value agrees with what is stated, contradicts it or leaves it open."""
        gap = abs(self.value - stated)
        scale = max(abs(self.value), abs(stated))
        if not (math.isfinite(gap) and math.isfinite(self.error)):
            return OPEN
        if gap > self.error + harmless:
            return CONTRADICTS
        return AGREES if self.error <= max(RULE.resolved * scale, harmless) else OPEN


def extrapolated(
    differences: Any, errors: Any, length: float = math.nan, size: Callable[[Any], Any] = abs
) -> Measured:
    """Return central differences over a length, its half and its quarter, taken to length zero.

    Parameters
    ----------
    differences, errors : sequences of three
        The differences, and the size of what noise has done to each.
    length : float
    size : callable
        What measures a difference: ``abs`` for numbers, a norm for vectors.
    """
    long, middle, short = differences
    coarse, fine = (1 / 3) * (4.0 * middle - long), (1 / 3) * (4.0 * short - middle)
    fine_noise = (4.0 * errors[2] + errors[1]) / 3.0
    coarse_noise = (4.0 * errors[1] + errors[0]) / 3.0
    fine_error = RULE.distrust * size(fine - coarse) + fine_noise
    # Where noise rules, longer lengths are the more exact.
    coarse_error = RULE.distrust * size(coarse - long) + coarse_noise
    # Differences that do not approach a limit, as beside a kink, have none to be taken to.
    gaps = size(long - middle), size(middle - short)
    wild = (gaps[1] > errors[1] + errors[2]) & (gaps[0] < RULE.approach * gaps[1])
    wild = wild & (gaps[1] > RULE.resolved * size(short))  # beside noise, they differ by little
    error = np.where(wild, math.inf, np.minimum(fine_error, coarse_error))
    better = fine_error <= coarse_error
    if np.ndim(error) == 0:
        value, noise = (fine, fine_noise) if better else (coarse, coarse_noise)
        return Measured(value, float(error), length, noise=float(noise))
    value, noise = np.where(better, fine, coarse), np.where(better, fine_noise, coarse_noise)
    return Measured(value, error, length, noise=noise)


def derivative(
    function: Callable[[float], Any],
    length: float,
    order: int = 1,
    rounding: float = 0.0,
    size: Callable[[Any], Any] = abs,
) -> Measured:
    """Return the first or second derivative at zero of a function of a number.

    Lengths become shorter as long as that makes the error smaller.

    Parameters
    ----------
    function : callable
        Its values are numbers, or vectors that ``size`` measures.
    length : float
        The longest length of the first ladder.
    order : {1, 2}
    rounding : float
        Rounding of a value.
    size : callable
        What measures a difference.

    Examples
    --------
    >>> import math
    >>> found = derivative(math.exp, 1e-2)
    >>> abs(found.value - 1.0) <= found.error < 1e-7
    True
    >>> found = derivative(math.exp, 1e-2, order=2)
    >>> abs(found.value - 1.0) <= found.error < 1e-7
    True
    """
    best = Measured(math.nan, math.inf)
    middle = function(0.0) if order == 2 else 0.0
    for number in range(RULE.ladders):
        longest = length / RULE.change**number
        rungs = [share * longest for share in _RUNGS]
        sides = [(function(t), function(-t)) for t in rungs]
        values = _slopes(sides, longest) if order == 1 else _bends(sides, middle, longest)
        errors = [_SECOND * rounding / t**order for t in rungs]
        measured = extrapolated(values, errors, longest, size)
        if number and not measured.error < best.error:
            break
        best = measured
    return best


def _slopes(sides: Any, length: Any) -> list[Any]:
    """Return the central differences of values ahead and behind, at the longest length first."""
    pairs = zip(sides, _RUNGS, strict=True)
    return [(0.5 / (share * length)) * (ahead - behind) for (ahead, behind), share in pairs]


def _bends(sides: Any, middle: Any, length: Any) -> list[Any]:
    """Return the second differences, at the longest length first."""
    pairs = zip(sides, _RUNGS, strict=True)
    return [
        (1.0 / (share * length) ** 2) * (ahead - middle + (behind - middle))
        for (ahead, behind), share in pairs
    ]


class Ladder:
    """Costs at three lengths to both sides of a point, of one problem or of a stack of them.

    Parameters
    ----------
    length : float
        The longest of the lengths.
    middle : float or ndarray
        The cost at the point.
    sides : sequence of three pairs
        The costs ahead and behind, at the longest length first.
    rounding : float or ndarray
        Rounding of a cost.
    blur : float
        Rounding of a point, as a length.
    """

    def __init__(self, length: float, middle: Any, sides: Any, rounding: Any, blur: float = 0.0):
        self.length, self.middle, self.sides = length, middle, sides
        (a, b), (c, d), (e, f) = sides
        costs = np.array([b, d, f, middle, e, c, a])
        self.own_noise = np.maximum(
            np.abs(np.tensordot(_SIXTH, costs, 1)), np.abs(np.tensordot(_FOURTH, costs[1:6], 1))
        )
        steepness = np.abs(costs - middle).max(axis=0) / length
        self.grain = _grain(costs)
        rounding = np.maximum(RULE.roundings * rounding, self.grain)
        self.rounding = np.maximum(rounding, blur * steepness)

    @property
    def tells(self) -> bool:
        """Whether costs change from one length to the next, so that no rounding hides them."""
        sides = zip(*self.sides, strict=True)  # ahead and behind
        return any(len({float(self.middle), *map(float, costs)}) == 4 for costs in sides)

    @property
    def digit(self) -> float:
        """The change over lengths that hardly suffice for any; 0 where they do."""
        if self.tells:
            return 0.0
        return max(abs(cost - self.middle) for side in self.sides for cost in side)

    def slope(self, noise: Any) -> Measured:
        """Return the slope, where costs show some noise beside their rounding."""
        noise = np.maximum(noise, self.rounding)
        errors = [noise / (share * self.length) for share in _RUNGS]
        return extrapolated(_slopes(self.sides, self.length), errors, self.length)

    def bends(self) -> list[Any]:
        """Return the second differences, over the longest length first."""
        return _bends(self.sides, self.middle, self.length)

    def unsmooth(self, power: int) -> float:
        """Return the second differences times a power of the length, where they are the same."""
        sizes = [
            bend * (share * self.length) ** power
            for bend, share in zip(self.bends(), _RUNGS, strict=True)
        ]
        rounding = _SECOND * self.rounding * (_RUNGS[-1] * self.length) ** (power - 2)
        same = max(sizes) - min(sizes) <= RULE.uneven * min(map(abs, sizes))
        return float(sizes[-1]) if same and abs(sizes[-1]) > 2.0 * rounding else 0.0

    def bend(self, noise: Any) -> Measured:
        """Return the second derivative, where costs show some noise beside their rounding."""
        noise = np.maximum(noise, self.rounding)
        errors = [_SECOND * noise / (share * self.length) ** 2 for share in _RUNGS]
        return extrapolated(self.bends(), errors, self.length)


def _grain(costs: np.ndarray) -> Any:
    """Return the largest power of two of which all of some costs are multiples.

    It is the last digit of costs that were computed in single precision, or as the difference of
    large numbers.
    """
    mantissas, exponents = np.frexp(costs)
    digits = (mantissas * 2.0**53).astype(np.int64)
    last = np.where(digits == 0, np.inf, (digits & -digits).astype(float))
    return np.min(np.ldexp(last, exponents - 53), axis=0, initial=np.inf, where=digits != 0)


class Line:
    """The cost along one direction through a point; each cost is computed once.

    Parameters
    ----------
    here : Evaluation
    direction : ndarray
        A vector of unit length.
    geodesic : bool
        Whether the line is the geodesic; else it is a curve of the retraction.
    stretch : float
        Lengths over the usual ones.
    """

    def __init__(
        self, here: Evaluation, direction: np.ndarray, geodesic: bool = False, stretch: float = 1.0
    ):
        self.here, self.direction = here, direction
        self._move = exponential if geodesic else retraction
        self._geodesic = geodesic
        self.known_reach = here.known_reach(direction)
        self.reach = here.reach(direction)
        self._stretch = stretch
        self._costs: dict[float, float] = {}
        self._asked: set[float] = set()
        self.ladders: list[Ladder] = []

    def stretched(self, factor: float) -> Line:
        """Return the same line with other lengths."""
        return Line(self.here, self.direction, self._geodesic, factor * self._stretch)

    def first_fall(self, known: float, slope: float = 0.0, begin: float = 0.0) -> float:
        """Return the place where the cost first falls clearly; 0 if it rises before, or never does.

        The first length, on each side, at which the cost changes by more than its noise decides: a
        way that rises is closed, whatever comes behind. A way that is level at its two farthest
        lengths is level.

        Parameters
        ----------
        known : float
            By how much a cost may be lower without a word, as it is on the last bit of the way.
        slope : float
            A slope that is known, along which a cost may be lower without a word.
        begin : float
            A length below which no change is looked for.
        """
        shortest = RULE.shortest * math.sqrt(self.here.precision)
        count = math.ceil(math.log(RULE.farthest / shortest, RULE.farther))
        lengths = self.reach * np.geomspace(shortest, RULE.farthest, count)
        lengths = lengths[min(int(np.count_nonzero(lengths < begin)), count - 1) :]
        shown = 0.0
        for side in (lengths.tolist(), (-lengths).tolist()):
            for t in side[self._levels(side) :]:
                change = self.cost(t) - self.here.cost
                if not change <= RULE.sure * max(self.noise_at(t), shown):  # NaN included
                    break
                if change < -max(self._doubt, RULE.sure * shown) - max(known, slope * abs(t)):
                    if self._is_low(t):
                        return t
                    shown = -change
        return 0.0

    def _levels(self, side: list[float]) -> int:
        """Return how many of some lengths, the shortest first, are too short for any change."""
        end = len(side)
        while end > max(len(side) - 2, 0) and self._is_level(side[end - 1]):
            end -= 1
        if end == max(len(side) - 2, 0):
            return len(side)
        return bisect_left(side, True, hi=end, key=lambda t: not self._is_level(t))

    def _is_level(self, t: float) -> bool:
        return abs(self._cost(t) - self.here.cost) <= self._doubt

    @property
    def _doubt(self) -> float:
        """By how much a cost must differ to be another, if terms that cancel add no rounding."""
        return RULE.sure * self.noise_at(0.0)

    def _is_low(self, place: float) -> bool:
        """Return whether the cost is low all around a place, which noise is not."""
        fall = self.here.cost - self.cost(place)
        around = np.array([self.cost(share * place) for share in RULE.around])
        if not fall > RULE.noise * abs(float(_FOURTH @ around)):
            return False
        highest = max(*around, *(self.cost(share * place) for share in RULE.uneven_around))
        return self.here.cost - highest > 0.5 * fall

    def followed(self, place: float) -> float:
        """Return a place further on, up to which the cost goes on falling."""
        for _ in range(RULE.followed):
            if not self.cost(RULE.farther * place) < self.cost(place):
                break
            place *= RULE.farther
        return place

    def cost(self, t: float) -> float:
        """Return the cost at a distance; NaN where manifold or cost do not reach."""
        self._asked.add(t)
        return self._cost(t)

    def _cost(self, t: float) -> float:
        """Return the cost at a distance that need not be beside the point."""
        if t not in self._costs:
            self._costs[t] = cost_nearby(self.here, t * self.direction, self._move)
        return self._costs[t]

    @property
    def rounding(self) -> float:
        """Rounding of a cost on the line."""
        return max(self.here.noise, self.here.precision * abs(self.here.cost))

    def _rounding_at(self, length: float) -> float:
        """Return the rounding at a distance, of terms of the Hessian's size that cancel there."""
        here = self.here
        size = here.curvature.size if here.known_curvature else 0.0
        if here.newton.units_matter:
            size = min(size, here.newton.largest_bend(self.direction))
        return self.rounding + here.precision * size * length * length

    def noise_at(self, length: float) -> float:
        """Return how far off a cost may be at a distance, as far as ladders have shown it.

        A ladder that is too long shows curvature in place of noise, which then falls with the
        length; and one may show too little by chance, so that else the middle one counts.
        """
        rounding = RULE.roundings * self._rounding_at(length)
        if not self.ladders:
            return rounding
        return max(rounding, self._shown, float(min(ladder.grain for ladder in self.ladders)))

    @property
    def _shown(self) -> float:
        # Where costs are the same over several lengths, their smallest change is their last digit.
        digits = max((ladder.digit for ladder in self.ladders), default=0.0)
        return max(digits, self._own_noise)

    @property
    def _own_noise(self) -> float:
        by_length = sorted(self.ladders, key=lambda ladder: ladder.length)
        shortest, *longer = (float(ladder.own_noise) for ladder in by_length)
        if longer and shortest < 2.0 * min(longer) / RULE.change:  # which noise does not do
            return RULE.noise * shortest
        return RULE.noise * sorted((shortest, *longer))[len(longer) // 2]

    @property
    def _middle(self) -> float:
        """A length between the shortest and the longest, at which to begin.

        Where the point is zero it has no size, and the shortest may be long.
        """
        shortest = math.sqrt(self.here.precision)
        unknown = self.known_reach == 0.0
        return self.reach * (
            RULE.shortest * shortest if unknown else math.sqrt(RULE.longest * shortest)
        )

    # -- derivatives ------------------------------------------------------------------------------

    def slope(self, stated: float, bend: float = 0.0, enough: float = 0.0) -> Measured:
        """Return the slope, by lengths that suit what is stated of it and of the bend."""
        scale = abs(stated) + math.sqrt(RULE.telling * self.rounding * abs(bend))
        first = RULE.telling * self.rounding / scale if scale > 0.0 else self._middle
        return self._resolved(first, lambda ladder: ladder.slope(self._shown), stated, enough)

    def bend(self, stated: float, enough: float = 0.0) -> Measured:
        """Return the second derivative, by lengths that suit what is stated of it.

        Parameters
        ----------
        stated : float
        enough : float
            Error of a value that need not be known any better.
        """
        if stated:
            first = math.sqrt(2.0 * RULE.telling * self.rounding / abs(stated))
        else:
            first = self._middle
        quick = self._as_stated(first, stated)
        if quick is not None:
            return quick
        return self._resolved(first, lambda ladder: ladder.bend(self._shown), stated, enough)

    def _as_stated(self, first: float, stated: float) -> Measured | None:
        """Return the bend over one length where it is as stated; two costs tell that."""
        t = min(self._stretch * max(first, self._middle), RULE.longest * self.reach)
        ahead, behind, middle = self.cost(t), self.cost(-t), self.here.cost
        value = (ahead - middle + (behind - middle)) / (t * t)
        error = _SECOND * RULE.roundings * self._rounding_at(t) / (t * t)
        gap = abs(value - stated)
        if gap + error <= RULE.refuting * abs(stated):  # False for NaN
            return Measured(value, gap + error, t)
        return None

    def _resolved(
        self, first: float, measure: Callable[[Ladder], Measured], stated: float, enough: float
    ) -> Measured:
        """Return the most exact of the values over ladders of several lengths.

        What a ladder shows of noise may be curvature of high order: the shortest one tells.
        """
        longest = self._stretch * RULE.longest * self.reach
        # At shorter lengths the rounding of the point counts, and that inside the cost.
        length = min(self._stretch * max(first, self._middle), longest)
        best, way, turns = Measured(math.nan, math.inf, length), "", 0
        if self.ladders:  # which may tell all that is asked
            best = min((measure(each) for each in self.ladders), key=lambda m: m.error)
            if best.error <= max(RULE.resolved * max(abs(best.value), abs(stated)), enough):
                return best
        for _ in range(RULE.ladders):
            ladder = self.ladder(length)
            before, way = way, "shorter"
            if ladder is not None:
                best = min((measure(each) for each in self.ladders), key=lambda m: m.error)
                scale = max(abs(best.value), abs(stated)) if math.isfinite(best.error) else 0.0
                # Costs that are the same over the longest lengths are so over shorter ones.
                clear = ladder.tells or length == longest
                if best.error <= max(RULE.resolved * scale, enough) and clear:
                    break
                shown = RULE.noise * ladder.own_noise > ladder.rounding
                if not (shown and len(self.ladders) == 1):
                    error = measure(ladder)
                    ruled_by_noise = error.noise >= RULE.noisy * error.error
                    way = "longer" if ruled_by_noise or not ladder.tells else "shorter"
            turns += before not in ("", way)
            known = [length, *(each.length for each in self.ladders)]
            length = RULE.change * max(known) if way == "longer" else min(known) / RULE.change
            length = min(length, longest)
            if turns > 1 or length in known:
                break
        return best

    def ladder(self, length: float) -> Ladder | None:
        """Return the costs over a length, its half and its quarter; None where not all are."""
        for ladder in self.ladders:
            if ladder.length == length:
                return ladder
        lengths = [share * length for share in _RUNGS]
        sides = [(self.cost(t), self.cost(-t)) for t in lengths]
        if not np.isfinite(sides).all():
            return None
        blur = self.here.precision * self.known_reach
        ladder = Ladder(length, self.here.cost, sides, self._rounding_at(length), blur)
        self.ladders.append(ladder)
        return ladder

    # -- features ---------------------------------------------------------------------------------

    def kink(self) -> float:
        """Return by how much the slopes on both sides of the point differ; 0 where they do not.

        Over a kink the second difference doubles as the length is halved.
        """
        return self._unsmooth(1)

    def jump(self) -> float:
        """Return by how much the cost jumps on one side of the point; 0 where it does not.

        Over a jump the second difference grows fourfold as the length is halved.
        """
        return self._unsmooth(2)

    def _unsmooth(self, power: int) -> float:
        """Return the second difference times a power of the length, if that is the same for all.

        Two ladders of other lengths must agree on it, since noise agrees with itself by chance.
        """
        for ladder in sorted(self.ladders, key=lambda ladder: ladder.length):
            size = ladder.unsmooth(power)
            other = self.ladder(RULE.other * ladder.length / RULE.change) if size else None
            again = 0.0 if other is None else other.unsmooth(power)
            if again and abs(again - size) <= RULE.uneven * abs(size):
                return again
        return 0.0

    def _clear(self) -> Iterator[Ladder]:
        """Yield ladders, from the shortest on, whose second differences are no rounding."""
        for ladder in sorted(self.ladders, key=lambda ladder: ladder.length):
            if abs(ladder.bends()[2]) > _SECOND * ladder.rounding / (0.25 * ladder.length) ** 2:
                yield ladder

    def bends_on(self, length: float, value: float) -> bool:
        """Return whether the cost bends by about some value over a length, too."""
        try:
            ahead, behind, middle = self.cost(length), self.cost(-length), self.here.cost
        except (LookupError, AssertionError):  # of costs that never were asked so far away
            return False
        gap = ahead - middle + (behind - middle) - value * length * length
        return abs(gap) <= RULE.uneven * abs(value) * length * length  # False for NaN

    def longest_even(self, value: float, length: float) -> float:
        """Return the length up to which the cost bends by about some value."""
        further = (t for t in RULE.zero_lengths if t > length)
        for longer in further:
            if not self.bends_on(longer, value):
                break
            length = longer
        return length

    def seam(self) -> bool:
        """Return whether the cost bends by one amount ahead of the point and by another behind."""
        for ladder in self._clear():
            gaps = []
            for (far, near), t in zip(pairwise(ladder.sides), _RUNGS[1:], strict=True):
                length = t * ladder.length
                ahead, behind = (
                    (a - b - (b - ladder.middle)) / (length * length)
                    for a, b in zip(far, near, strict=True)
                )
                gaps.append(abs(ahead - behind))
                rounding = 4.0 * float(ladder.rounding) / (length * length)
                uneven = gaps[-1] > rounding + RULE.uneven * max(abs(ahead), abs(behind))
                if not uneven:
                    break
            else:
                if gaps[1] > RULE.lasting * gaps[0]:
                    return True
        return False

    def fall(self, known: float, slope: float = 0.0) -> float:
        """Return by how much a cost looked at is lower than that at the point; 0 if none is.

        Parameters
        ----------
        known, slope : float
            As for :meth:`first_fall`.
        """
        finite = {t: self._costs[t] for t in self._asked if math.isfinite(self._costs[t])}
        lowest = min(finite, key=finite.__getitem__, default=0.0)
        fall = self.here.cost - finite.get(lowest, self.here.cost)
        shown = RULE.noise * float(max((each.own_noise for each in self.ladders), default=0.0))
        noise = max(shown, self.noise_at(lowest))
        clear = fall > max(known, slope * abs(lowest)) + RULE.sure * noise
        return fall if clear and self._is_low(lowest) else 0.0


# -- answers --------------------------------------------------------------------------------------


def line_along(here: Evaluation, direction: np.ndarray) -> Line:
    """Return the line along a direction, with the costs on it that somebody asked for before."""
    for line in here.lines:
        if line.direction is direction or np.array_equal(line.direction, direction):
            return line
    here.lines.append(Line(here, direction))
    return here.lines[-1]


def own_lengths(here: Evaluation) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return lengths over which the cost bends evenly in factors that are zero, and their ends.

    A point that is zero has no size, and its derivatives may be wrong, or come from differences
    themselves. So lengths are tried, the shortest first, until costs approach a limit. None is
    known of a cost that does not bend, or only beyond its noise. The end of the lengths over which
    it bends so is a size; a quadratic form has none.

    Returns
    -------
    lengths, sizes : tuple of float
        Where a factor is zero, and both are known; else 0.
    """
    sizes = here.space.factor_sizes()
    pairs = zip(sizes, here.past_sizes or sizes, strict=True)
    zero = [own <= math.sqrt(here.precision) * past for own, past in pairs]
    if here.manifold.bounded or not any(zero):
        return (), ()
    drawn = here.space.random(np.random.default_rng(0))
    known = []
    for number, is_zero in enumerate(zero):
        part = here.space.weighted(drawn, [float(number == other) for other in range(len(zero))])
        norm = here.norm(part)
        line = Line(here, part / part.dtype.type(norm)) if is_zero and norm > 0.0 else None
        known.append((0.0, 0.0) if line is None else _own_length(line))
    lengths, ends = zip(*known, strict=True)
    return lengths, ends


def _own_length(line: Line) -> tuple[float, float]:
    """Return a length over which the cost bends as over the shortest that tells, and their end.

    Over longer lengths the cost may bend evenly, too, and otherwise.
    """
    bends = ((length, _told(line, length)) for length in RULE.zero_lengths)
    length, bend = next(((length, bend) for length, bend in bends if bend), (0.0, 0.0))
    longest = line.longest_even(bend, length) if bend else 0.0
    if longest < RULE.zero_lengths[-1]:
        return longest, longest
    return max(1.0, RULE.stride * length), 0.0


def _told(line: Line, length: float) -> float:
    """Return how the cost bends over a length; 0 where that is not told."""
    with suppress(LookupError, AssertionError):  # of costs that never were asked so far away
        level = line.cost(length) == line.here.cost == line.cost(-length)
        ladder = None if level else line.ladder(length)
        if ladder is not None:
            bend = ladder.bend(RULE.noise * ladder.own_noise)
            return float(bend.value) if bend.error <= RULE.uneven * abs(bend.value) else 0.0
    return 0.0


def contradicting_slope(here: Evaluation) -> float | None:
    """Return the slope of the cost along its gradient, if not the gradient's norm; else None.

    The costs count for nothing.
    """
    here = here.problem.at(here.point)
    stated = here.gradient_norm
    if not (stated > 0.0 and math.isfinite(stated)):
        return None
    unit = here.gradient / here.gradient.dtype.type(stated)
    line = Line(here, unit)
    value = contradicting(line, lambda other: other.slope(stated), stated, 0.0)
    return None if value is None or abs(value - stated) <= abs(line.kink()) else value


def contradicting_bend(
    line: Line, stated: float, harmless: float, enough: float
) -> tuple[str, Measured]:
    """Say how the cost changes along a line through a critical point, if not as stated.

    Where the curvature is another to either side, as where a squared hinge begins, no Hessian says
    what the cost does.

    Parameters
    ----------
    line : Line
    stated : float
        ``<v, Hv>``.
    harmless : float
        A slope that does not matter.
    enough : float
        A curvature that does not matter.
    """
    here = line.here
    slope = here.inner(here.gradient, line.direction)
    measured = line.bend(stated, enough)
    jump = line.jump()
    if jump:
        way = "up" if jump > 0.0 else "down"
        return f"the cost jumps {way} by {abs(jump):.3g} right beside the point", measured
    kink = line.kink()
    if abs(kink) > harmless:
        way = "up" if kink > 0.0 else "down"
        sentence = f"the cost has a kink here, which bends it {way} by {abs(kink):.3g}"
        return f"{sentence}: it is not smooth", measured
    # A retraction accelerates, on which the gradient acts.
    ignored = 2.0 * here.gradient_norm / line.reach
    ignored += enough + RULE.refuting * max(abs(measured.value), abs(stated))
    value = contradicting(line, lambda other: other.bend(stated, enough), stated, ignored)
    if value is not None:
        if line.seam():
            sentence = "the cost bends otherwise ahead of the point than behind it"
            return f"{sentence}: it has no second derivative here", measured
        return f"the cost bends by {value:.6g} where its Hessian says {stated:.6g}{SEE}", measured
    if measured.error <= RULE.refuting * abs(stated):  # so is the slope, over the same length
        t = measured.length
        central = (line.cost(t) - line.cost(-t)) / (2.0 * t)
        error = RULE.roundings * line.rounding / t + RULE.slight * abs(stated) * line.known_reach
        if abs(central - slope) <= error + harmless:
            return "", measured
    slight = max(harmless, enough * RULE.longest * line.reach)
    value = contradicting(line, lambda other: other.slope(slope, stated, slight), slope, harmless)
    if value is not None:
        return (
            f"the cost has a slope of {value:.6g} where its gradient says {slope:.6g}{SEE}",
            measured,
        )
    return "", measured


def contradicting(
    line: Line, measure: Callable[[Line], Measured], stated: float, harmless: float
) -> float | None:
    """Return a measured value that contradicts what is stated, at other lengths too."""
    measured = measure(line)
    if measured.against(stated, harmless) != CONTRADICTS:
        return None
    other = measure(line.stretched(RULE.other))
    again = other.against(stated, harmless) == CONTRADICTS
    same = abs(other.value - measured.value) <= other.error + measured.error
    return float(measured.value) if again and same else None


def image(
    here: Evaluation,
    vector: np.ndarray,
    stated: Any,
    length: float = math.nan,
    exact: bool = False,
) -> Measured:
    """Return the change of the gradient along a unit vector: the image under the true Hessian.

    Two gradients do where they agree with what is stated to rounding, or four, whose extrapolation
    does. ``error`` is a norm. It is infinite where differences approach no limit, and ``length`` is
    NaN where gradients are not to be had.

    Parameters
    ----------
    here : Evaluation
    vector, stated : ndarray
        The vector, and its image as it is stated.
    length : float
        A length over which the cost itself was found to be smooth, if one is known.
    exact : bool
        Whether all digits are asked for that there are.
    """
    usual = here.precision ** (1.0 / 3.0) * here.reach(vector)
    scale = max(here.norm(stated), here.curvature.size if here.known_curvature else 0.0)
    rounding = here.precision * (here.conversion_size + scale * here.reach(vector))
    rounding = 2.0 * RULE.roundings * rounding
    best = Measured(0.0 * vector, math.inf, usual)
    try:
        long = _gradient_difference(here, vector, usual)
        gap, noise = here.norm(long - stated), rounding / usual
        if gap <= noise:
            return Measured(long, gap + noise, usual)
        middle = _gradient_difference(here, vector, 0.5 * usual)
        coarse = (1 / 3) * (4.0 * middle - long)
        gap, noise = here.norm(coarse - stated), 3.0 * noise
        if gap <= noise:
            return Measured(coarse, gap + noise, usual)
        known = {usual: long, 0.5 * usual: middle}
        lengths = [usual / RULE.change**number for number in range(RULE.ladders)]
        if length < lengths[-1]:
            lengths.append(length)
        for t in lengths:
            rungs = [share * t for share in _RUNGS]
            differences = [
                known[rung] if rung in known else _gradient_difference(here, vector, rung)
                for rung in rungs
            ]
            errors = [rounding / rung for rung in rungs]
            measured = extrapolated(differences, errors, t, here.norm)
            if math.isfinite(best.error) and not measured.error < best.error:
                # Shorter lengths are no better: what is more than rounding is noise.
                noisy = best.error > RULE.distrust * rounding / best.length
                best = replace(best, is_noisy=noisy)
                break
            best = measured
            enough = 0.0 if exact else RULE.refuting * scale
            if measured.error <= max(enough, RULE.distrust * errors[2]):
                break
    except UNCOMPARED:
        return Measured(0.0 * vector, math.inf)
    return best


def _gradient_difference(here: Evaluation, vector: np.ndarray, length: float) -> np.ndarray:
    """Return the central difference of the gradient."""
    ahead, behind = (_gradient_nearby(here, signed * vector) for signed in (length, -length))
    return (ahead - behind) * (0.5 / length)


def _gradient_nearby(here: Evaluation, displacement: np.ndarray) -> np.ndarray:
    """Return the gradient at the end of a step, carried back."""
    there = here.moved(displacement)
    if there is None:
        raise ValueError("the point is too close to the end of the manifold")
    gradient = here.space.transported(there.gradient, there.space)
    if not math.isfinite(here.norm(gradient)):
        raise ValueError("the gradient is not finite beside the point")
    return gradient


def uneven_turn(here: Evaluation, vector: np.ndarray, length: float) -> float:
    """Return by how much the gradient turns otherwise ahead than behind; 0 where that vanishes.

    Beside a smooth point the difference between both sides is half as large over half the length.
    """
    uneven = []
    for t in (length, 0.5 * length):
        ahead, behind = (_gradient_nearby(here, signed * vector) for signed in (t, -t))
        uneven.append(here.norm(ahead + behind - 2.0 * here.gradient) / t)
    return uneven[1] if uneven[1] > RULE.lasting * uneven[0] else 0.0


def gradient_noise(here: Evaluation, direction: np.ndarray) -> float:
    """Return how far off gradients are, by what differences of third order leave of them.

    The steps are so long that single precision inside a gradient is seen. The noise is infinite
    where gradients are not to be had.
    """
    step = 1.5 * here.precision**0.25 * here.reach(direction) * RULE.longest
    try:
        a, b, d, e = (_gradient_nearby(here, n * step * direction) for n in (-2, -1, 1, 2))
    except UNCOMPARED:
        return math.inf
    # One of them may be small by chance.
    c = here.gradient
    return max(map(here.norm, (d - a + 3.0 * (b - c), e - b + 3.0 * (c - d)))) / math.sqrt(20.0)


def answers_differently(here: Evaluation) -> float:
    """Return by how much the cost differs when it is asked twice at the same point."""
    again = here.problem.at(here.point, here.counts, here.clock).cost
    return abs(again - here.cost) if again != here.cost else 0.0


def cost_nearby(
    here: Evaluation, displacement: np.ndarray, move: Callable[..., Any] = retraction
) -> float:
    """Return the cost at the end of a step; NaN where manifold or cost do not reach."""
    try:
        with np.errstate(all="ignore"):
            there = here.moved(displacement, move)
            return math.nan if there is None else there.cost
    except UNFINISHED:
        raise
    except OFF_DOMAIN:
        return math.nan
