"""Which of many results are the same minimizer.

Two strict minimizers are the same if they are as close as their own accuracy, or if one is brought
there along directions that the problem names as symmetries. Whether two others are images of each
other under a symmetry that nobody named cannot be known; but such images have the same cost and the
same eigenvalues of the Hessian, so that it can be said where this may be so. Minimizers with flat
directions are not isolated: where their costs agree they are taken for parts of one set.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
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
    groups: list[list[int]] = []
    for number in certified:
        same = (group for group in groups if _is_same(problem, results, group[0], number, solver))
        group = next(same, None)
        if group is None:
            groups.append([number])
        else:
            group.append(number)
    found: list[Minimizer] = []
    for group in groups:
        first = results[group[0]]
        alike = next((other.alike for other in found if _alike(other.result, first)), len(found))
        isolated = first.certificate.strict
        found.append(Minimizer(first, tuple(sorted(group)), isolated, alike))
    return tuple(found)


def _is_same(problem: Problem, results: Sequence[Result], one: int, two: int, solver: Any) -> bool:
    first, second = results[one], results[two]
    if not _same_cost(first, second) or first.certificate.strict != second.certificate.strict:
        return False
    if not first.certificate.strict:
        return True
    manifold = problem.geometry
    near = _SLACK * (_error(first) + _error(second))
    precision = first.evaluation.precision
    least = _ROUNDINGS * math.sqrt(precision) * manifold.typical_dist
    near = min(max(near, least), _FAR * manifold.typical_dist)
    if manifold.separation(first.point, second.point) <= near:
        return True
    return problem.symmetries is not None and _is_on_orbit(problem, first, second, near, solver)


def _same_cost(first: Result, second: Result) -> bool:
    size = max(abs(first.cost), abs(second.cost), first.evaluation.conversion_size)
    return abs(first.cost - second.cost) <= _SAME_COST * size


def _error(result: Result) -> float:
    """Return a bound of the distance from a strict minimizer, to first order."""
    known = result.certificate
    least = known.min_eigenvalue - known.error_bound
    return result.gradient_norm / least if least > 0.0 else math.inf


def _alike(first: Result, second: Result) -> bool:
    """Whether two minimizers may be images of each other under a symmetry."""
    if not _same_cost(first, second):
        return False
    if first.certificate.strict != second.certificate.strict:
        return False
    if first.evaluation.manifold.dim > _MOST_EIGENVALUES:
        return True
    one, two = first.evaluation.eigh[0], second.evaluation.eigh[0]
    return bool(np.abs(one - two).max(initial=0.0) <= _SAME_SPECTRUM * np.abs(one).max(initial=0.0))


def _is_on_orbit(problem: Problem, first: Result, second: Result, near: float, solver: Any) -> bool:
    """Whether moves along the problem's symmetries lead from one minimizer to another."""
    manifold, target = problem.geometry, second.point
    here, distance = first.evaluation, manifold.separation(first.point, target)
    for _ in range(_MOST_ROUNDS):
        moved = _towards(here, target, distance)
        if moved is None:
            return False
        # A move follows the orbit's tangent: a step or two bring it back to the minimizers.
        back = solver.solve(problem, moved)
        closer = manifold.separation(back.point, target)
        if closer <= near:
            return True
        if closer > (1.0 - _PROGRESS) * distance:
            return False
        here, distance = back.evaluation, closer
    return False


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
