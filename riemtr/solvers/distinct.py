"""Which of many points where the gradient vanishes are the same.

Two isolated ones are the same if they are as close as their own accuracy, or if one is brought
there along directions that the problem names as symmetries. Whether two others are images of each
other under a symmetry that nobody named cannot be known; but such images have the same cost and the
same eigenvalues of the Hessian, so that it can be said where this may be so. Points with flat
directions are not isolated: where their costs agree they are taken for parts of one set.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from riemtr.manifolds.arrays import as_real, from_real
from riemtr.problem import Evaluation, Problem
from riemtr.solvers.certificate import MINIMIZER
from riemtr.solvers.result import Result

# Difference of two costs, over their size, that is none.
_SAME_COST = 1e-8
# Distances between a point and the minimizer that a gradient and a curvature bound, times this.
_SLACK = 10.0
# Share of the manifold's typical distance within which points are never told apart, in units of
# the root of the precision: inverse cosines and the like have no more digits.
_ROUNDINGS = 10.0
# The same beyond which they always are.
_FAR = 1e-2
# Difference of two Hessians' eigenvalues, over the largest, that is none.
_SAME_SPECTRUM = 1e-5
# Dimension up to which all eigenvalues are compared.
_MOST_EIGENVALUES = 300
# Rounds of moving a point along its orbit towards another.
_MOST_ROUNDS = 100
# Length of a move along an orbit, over the manifold's typical distance: it follows the orbit's
# tangent, and longer moves would leave the orbit.
_LONGEST_MOVE = 0.05
# Share of a distance that a round must take away.
_PROGRESS = 1e-6


@dataclass(frozen=True, eq=False)
class Minimizer:
    """A minimizer that some of many runs have reached.

    Attributes
    ----------
    result : Result
        The run that ended there with the lowest cost.
    members : tuple of int
        The numbers of all runs that ended there.
    isolated : bool
        Whether it is strict, up to the symmetries that the problem names. Others have flat
        directions, and are told apart by their costs alone.
    alike : int
        The number of the first minimizer with the same cost and, up to dimension 300, the same
        eigenvalues of the Hessian: an image of it, perhaps, under a symmetry that the problem does
        not name.
    """

    result: Result
    members: tuple[int, ...]
    isolated: bool
    alike: int

    @property
    def point(self) -> Any:
        """The point."""
        return self.result.point

    @property
    def cost(self) -> float:
        """The cost there."""
        return self.result.cost

    @property
    def count(self) -> int:
        """How many runs ended there."""
        return len(self.members)


def distinct(problem: Problem, results: Sequence[Result], solver: Any) -> tuple[Minimizer, ...]:
    """Merge results that are certified minimizers into distinct ones, the lowest first.

    Parameters
    ----------
    problem : Problem
    results : sequence of Result
        With certificates; those that are no minimizers are left out.
    solver : solver
        Brings a point that was moved along a symmetry back to where the gradient vanishes.
    """
    certified = [
        number for number, each in enumerate(results) if each.certificate.verdict == MINIMIZER
    ]
    certified.sort(key=lambda number: (results[number].cost, number))
    known = Places(problem, lambda place, moved: solver.solve(problem, moved).evaluation)
    groups: dict[int, list[int]] = {}
    for number in certified:
        groups.setdefault(known.number_of(_place(results[number])), []).append(number)
    alike = kinds(known)
    return tuple(
        Minimizer(results[group[0]], tuple(sorted(group)), known[place].isolated, alike[place])
        for place, group in groups.items()
    )


@dataclass(frozen=True, eq=False)
class Place:
    """A point where the gradient vanishes, and how well it is known.

    Attributes
    ----------
    evaluation : Evaluation
    isolated : bool
        Whether no flat direction is left but those of the problem's symmetries.
    error : float
        A bound of the distance from the exact point, to first order.
    index : int
        How many directions lead down: points of different indices are different.
    bend : float
        The size of the Hessian, as far as it is known: by how much costs differ beside the point.
    """

    evaluation: Evaluation
    isolated: bool
    error: float
    index: int = 0
    bend: float = 0.0

    @property
    def point(self) -> Any:
        """The point."""
        return self.evaluation.point

    @property
    def cost(self) -> float:
        """The cost there."""
        return self.evaluation.cost


def _place(result: Result) -> Place:
    known = result.certificate
    least = known.min_eigenvalue - known.error_bound
    error = result.gradient_norm / least if least > 0.0 else math.inf
    bend = 0.0 if known.curvature is None else known.curvature.size
    return Place(result.evaluation, known.strict, error, bend=bend)


class Places:
    """Distinct places, numbered as they are found.

    Parameters
    ----------
    problem : Problem
    back : callable
        ``back(place, point)`` is the evaluation where the gradient vanishes near a point that was
        moved from a place along the problem's symmetries, or None.
    """

    def __init__(self, problem: Problem, back: Callable[[Place, Any], Evaluation | None]):
        self.problem, self._back = problem, back
        self._places: list[Place] = []
        # Costs and arrays of all places, in arrays with room for more.
        self._costs, self._arrays = np.zeros(0), np.zeros((0, 0))

    def __len__(self) -> int:
        return len(self._places)

    def __iter__(self) -> Iterator[Place]:
        return iter(self._places)

    def __getitem__(self, number: int) -> Place:
        return self._places[number]

    def number_of(self, place: Place) -> int:
        """Return the number of the place that a place is, a new one where it is none of them."""
        for number in self._candidates(place):
            if self._is_same(self._places[number], place):
                return int(number)
        self._keep(place)
        return len(self._places) - 1

    def _candidates(self, place: Place) -> np.ndarray:
        """Return the places of the same cost, those first whose arrays are near."""
        count = len(self._places)
        costs = self._costs[:count]
        bounds = np.maximum(_SAME_COST * np.abs(costs), _cost_error(place))
        numbers = np.flatnonzero(np.abs(costs - place.cost) <= bounds)
        if len(numbers) < 2:
            return numbers
        apart = np.linalg.norm(self._arrays[numbers] - as_real(place.point), axis=1)
        return numbers[np.argsort(apart, kind="stable")]

    def _keep(self, place: Place) -> None:
        flat, count = as_real(place.point), len(self._places)
        if count == len(self._costs):
            room = max(2 * count, 16)
            costs, arrays = np.zeros(room), np.zeros((room, flat.size))
            costs[:count] = self._costs
            if count:
                arrays[:count] = self._arrays
            self._costs, self._arrays = costs, arrays
        self._costs[count], self._arrays[count] = place.cost, flat
        self._places.append(place)

    def _is_same(self, first: Place, second: Place) -> bool:
        if first.isolated != second.isolated or first.index != second.index:
            return False
        if not same_cost(first, second):
            return False
        if not first.isolated:
            return True
        manifold = self.problem.geometry
        near = _SLACK * (first.error + second.error)
        near = min(max(near, _least(first)), _FAR * manifold.typical_dist)
        if manifold.separation(first.point, second.point) <= near:
            return True
        return self.problem.symmetries is not None and self._is_on_orbit(first, second, near)

    def _is_on_orbit(self, first: Place, second: Place, near: float) -> bool:
        """Whether moves along the problem's symmetries lead from one place to another."""
        manifold, target = self.problem.geometry, second.point
        here, distance = first.evaluation, manifold.separation(first.point, target)
        for _ in range(_MOST_ROUNDS):
            moved = _towards(here, target, distance)
            if moved is None:
                return False
            # A move follows the orbit's tangent: a step or two bring it back to where the gradient
            # vanishes.
            back = self._back(first, moved)
            if back is None:
                return False
            closer = manifold.separation(back.point, target)
            if closer <= near:
                return True
            if closer > (1.0 - _PROGRESS) * distance:
                return False
            here, distance = back, closer
        return False


def kinds(places: Places) -> list[int]:
    """Return for each place the number of the first that it may be an image of."""
    first: list[int] = []
    found = []
    for number in range(len(places)):
        kind = next((one for one in first if _alike(places[one], places[number])), number)
        if kind == number:
            first.append(number)
        found.append(kind)
    return found


def same_cost(first: Place, second: Place) -> bool:
    """Whether the costs of two places agree to what can be told of them."""
    error = max(_SAME_COST * abs(first.cost), _cost_error(second))
    return abs(first.cost - second.cost) <= error


def _cost_error(place: Place) -> float:
    """Return a difference of costs that is none, of points that are never told apart included."""
    size = max(abs(place.cost), place.evaluation.conversion_size)
    return max(_SAME_COST * size, place.bend * _least(place) ** 2)


def _least(place: Place) -> float:
    """Return a distance within which points are never told apart."""
    here = place.evaluation
    return _ROUNDINGS * math.sqrt(here.precision) * here.manifold.typical_dist


def _alike(first: Place, second: Place) -> bool:
    """Whether two places may be images of each other under a symmetry."""
    if first.isolated != second.isolated or first.index != second.index:
        return False
    if not same_cost(first, second):
        return False
    if first.evaluation.manifold.dim > _MOST_EIGENVALUES:
        return True
    one, two = first.evaluation.eigh[0], second.evaluation.eigh[0]
    return bool(np.abs(one - two).max(initial=0.0) <= _SAME_SPECTRUM * np.abs(one).max(initial=0.0))


def _towards(here: Evaluation, target: Any, distance: float) -> Any:
    """Return the point moved towards another along its symmetries; None where none lead there."""
    difference = as_real(target) - as_real(here.point)
    ambient = from_real(difference, here.point)
    vector = as_real(here.space.gradient(ambient))
    rows = here.symmetries
    if not len(rows):
        return None
    along = (rows @ vector) @ rows
    length = float(np.linalg.norm(along))
    if length == 0.0:
        return None
    # From the far side of an orbit hardly any of the difference is along it: moves are as long as
    # they may be until the other point is near.
    longest = _LONGEST_MOVE * here.manifold.typical_dist
    wanted = longest if distance > 2.0 * longest else min(length, longest)
    return here.space.move(from_real(along * (wanted / length), here.gradient))
