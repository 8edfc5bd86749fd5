"""Which of many points where the gradient vanishes are the same.

Two isolated points of equal cost are the same if they are as close as their own accuracy, if the
invariants that the problem names agree, or, if the problem names directions as symmetries and no
invariants, if a motion along these directions leads from one point to the other
(:mod:`riemtr.solvers.orbits`). None of that solves anything again: each point is moved once, and
only if another point has the same cost.

Whether two other points are images of each other under a symmetry that the problem does not name
cannot be known. But such images have the same cost and the same eigenvalues of the Hessian, so that
``alike`` can report where it may be so. Points with flat directions are not isolated: where their
costs agree, and their invariants if the problem names any, they are taken for parts of one set.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from riemtr.errors import ArgumentError
from riemtr.manifolds.arrays import as_real
from riemtr.problem import Evaluation, Problem
from riemtr.solvers.certificate import MINIMIZER
from riemtr.solvers.orbits import Orbits
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
# Difference of two Hessians' eigenvalues, or of two points' invariants, over the largest, that is
# none.
_SAME_INVARIANTS = 1e-5
# Dimension up to which all eigenvalues are compared.
_MOST_EIGENVALUES = 300
# Seed of the direction along which invariants are measured, chosen by nobody.
_SEED = 4


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


def distinct(
    problem: Problem, results: Sequence[Result], tick: Callable[[int, int], Any] = lambda *_: None
) -> tuple[Minimizer, ...]:
    """Merge results that are certified minimizers into distinct ones, the lowest first.

    Parameters
    ----------
    problem : Problem
    results : sequence of Result
        With certificates; those that are no minimizers are left out.
    tick : callable
        ``tick(done, total)``, called with every result that has been compared.
    """
    certified = [
        number for number, each in enumerate(results) if each.certificate.verdict == MINIMIZER
    ]
    certified.sort(key=lambda number: (results[number].cost, number))
    known = Places(problem)
    groups: dict[int, list[int]] = {}
    for done, number in enumerate(certified, 1):
        groups.setdefault(known.number_of(_place(results[number])), []).append(number)
        tick(done, len(certified))
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
    here = result.evaluation
    if here.clock.expired:  # the time of the run is not that of the comparison
        here = here.problem.at(here.point)
    return Place(here, known.strict, error, bend=bend)


class Places:
    """Distinct places, numbered as they are found.

    Parameters
    ----------
    problem : Problem
    """

    def __init__(self, problem: Problem):
        self.problem = problem
        self._places: list[Place] = []
        # By the numbers of places: their invariants, and where they end on their orbits.
        self._invariants: dict[int, np.ndarray] = {}
        self._orbits: Orbits | None = None
        self._ends: dict[int, np.ndarray] = {}
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
        candidates = [
            int(number)
            for number in self._candidates(place)
            if _comparable(self._places[number], place)
        ]
        new = len(self._places)
        self._ends.pop(new, None)  # of the last place, if that was none
        if self.problem.invariants is not None:
            self._invariants[new] = self._invariants_at(place.point)
        for same in (self._is_near, self._has_same_invariants, self._is_on_orbit):
            for number in candidates:
                if same(number, place):
                    return number
        self._keep(place)
        return new

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

    def _is_near(self, number: int, place: Place) -> bool:
        """Whether a place is no farther from another than their accuracy; or has flat directions.

        Without invariants nothing tells places with flat directions apart but their costs.
        """
        first = self._places[number]
        if not place.isolated:
            return self.problem.invariants is None
        separation = self.problem.geometry.separation(first.point, place.point)
        return separation <= _nearness(first, place)

    def _has_same_invariants(self, number: int, place: Place) -> bool:
        if self.problem.invariants is None:
            return False
        first, second = self._invariants[number], self._invariants[len(self._places)]
        if first.shape != second.shape:
            raise ArgumentError(
                "invariants", f"return {first.size} numbers at every point", second.size
            )
        if _agree(first, second):
            return True
        # Points are not exact, and their invariants change with them.
        near = _nearness(self._places[number], place)
        return bool(np.linalg.norm(first - second) <= near * self._rate(place, second))

    def _rate(self, place: Place, invariants: np.ndarray) -> float:
        """Return how much the invariants change with a point, along a direction that is drawn."""
        space, step = place.evaluation.space, _least(place)
        vector = space.random(np.random.default_rng(_SEED))
        beside = self._invariants_at(space.move(step * vector))
        return float(np.linalg.norm(beside - invariants)) / step

    def _invariants_at(self, point: Any) -> np.ndarray:
        assert self.problem.invariants is not None
        return np.asarray(self.problem.invariants(point), dtype=float).ravel()

    def _is_on_orbit(self, number: int, place: Place) -> bool:
        """Whether a motion along the problem's symmetries leads from one place to another."""
        here = place.evaluation
        named = self.problem.symmetries is not None and self.problem.invariants is None
        if not (named and place.isolated and len(here.symmetries)):
            return False
        first, new = self._places[number], len(self._places)
        self._orbits = self._orbits or Orbits(self.problem)
        if not self._orbits.follow(place.point):
            return False
        for place_number, point in ((number, first.point), (new, place.point)):
            if place_number not in self._ends:
                self._ends[place_number] = self._orbits.end(point)
        ends = self._ends[number], self._ends[new]
        if np.linalg.norm(ends[0] - ends[1]) > _FAR * np.linalg.norm(ends[0]):
            return False
        return self._orbits.apart(place.point, *ends) <= _nearness(first, place)


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


def _comparable(first: Place, second: Place) -> bool:
    """Whether nothing that is known of two places without looking at their points differs."""
    kind = first.isolated == second.isolated and first.index == second.index
    return kind and same_cost(first, second)


def _nearness(first: Place, second: Place) -> float:
    """Return the distance up to which two places are one."""
    near = max(_SLACK * (first.error + second.error), _least(first))
    return min(near, _FAR * first.evaluation.manifold.typical_dist)


def _agree(first: np.ndarray, second: np.ndarray) -> bool:
    """Whether sorted eigenvalues, or invariants, of two places are the same."""
    apart = np.abs(first - second).max(initial=0.0)
    return bool(apart <= _SAME_INVARIANTS * np.abs(first).max(initial=0.0))


def same_cost(first: Place, second: Place) -> bool:
    """Whether the costs of two places agree to what can be told of them."""
    error = max(_SAME_COST * abs(first.cost), _cost_error(second))
    return abs(first.cost - second.cost) <= error


def _cost_error(place: Place) -> float:
    """Return a difference of costs that is none, of points that are never told apart included.

    An isolated point is no lower than its slope allows within the distance from the exact point.
    """
    here = place.evaluation
    size = max(abs(place.cost), here.conversion_size)
    above = here.gradient_norm * place.error if place.isolated else 0.0
    return max(_SAME_COST * size, place.bend * _least(place) ** 2, above)


def _least(place: Place) -> float:
    """Return a distance within which points are never told apart."""
    here = place.evaluation
    return _ROUNDINGS * math.sqrt(here.precision) * here.manifold.typical_dist


def _alike(first: Place, second: Place) -> bool:
    """Whether two places may be images of each other under a symmetry."""
    if not _comparable(first, second):
        return False
    if first.evaluation.manifold.dim > _MOST_EIGENVALUES:
        return True
    return _agree(first.evaluation.eigh[0], second.evaluation.eigh[0])
