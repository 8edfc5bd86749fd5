"""Points brought to one place of their orbits, along directions that a problem names as symmetries.

The directions at all points are vector fields, and the flow of a combination of them is a motion
that does not change the cost. Two points are images of each other under such motions if and only if
they share an orbit. To compare many points at once, each is moved along its orbit to where it is
nearest to one and the same reference: a least-squares problem with as many unknowns as there are
directions, for Newton's method. It asks for no cost. Points of one orbit end at the same place.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from riemtr.manifolds.arrays import as_real, from_real, owned
from riemtr.problem import Problem

# Relative accuracy of a flow: points that it leads to are compared to the root of the precision.
_ACCURACY = 1e-9
# Slope of the squared distance along the orbit, over the square of the points' size, at the end.
_SLOPE = 1e-4
# Length of a step along the orbit at most, over the size of the points: 60 degrees on a circle.
_LONGEST = 1.0
# Steps at most; from the far side of an orbit ten suffice.
_MOST_STEPS = 40
# Length of a difference quotient of the directions, over the size of the point.
_DIFFERENCE = 1e-6
# Curvatures of the squared distance, over the largest, below which none is trusted.
_FLAT = 1e-3
# Singular values of the directions, each of length 1, from which on they are independent. Flows
# along others turn fast around almost nothing.
_INDEPENDENT = 1e-3
# Directions at most: with more, a motion takes longer than the descent to a point.
_MOST_DIRECTIONS = 10
# Steps of a flow at most, each of which may be as long as a turn by one radian.
_MOST_FLOW_STEPS = 20
# Further places of an orbit from which the first point is moved, to learn whether the squared
# distance has several minima there.
_TRIALS = 3
# The same for all points where there are several.
_MORE_TRIALS = 12
# Distance of two ends, over the size of the points, that is the same end.
_SAME_END = 1e-2
# Seed of the reference and of the trials, chosen by nobody.
_SEED = 3


class Orbits:
    """Where points end that are moved along their orbits towards a reference.

    Parameters
    ----------
    problem : Problem
        With ``symmetries``, which has to return its directions in the same order at all points.
    """

    def __init__(self, problem: Problem):
        self.problem, self._manifold = problem, problem.geometry
        self._reference = as_real(problem.random_point(np.random.default_rng(_SEED)))
        self._trials, self._tried = _TRIALS, False

    def follow(self, point: Any) -> bool:
        """Whether orbits are followed: along few directions, arranged as the point's arrays are."""
        rows = self._directions(as_real(point), point)
        return 0 < len(rows) <= _MOST_DIRECTIONS and rows.shape[1] == as_real(point).size

    def end(self, point: Any) -> np.ndarray:
        """Return the point of the orbit that is nearest to the reference, as real numbers.

        The first point is moved from several places of its orbit. If all of them lead to the same
        end, other points are moved from where they are; otherwise all are moved from more places,
        and the nearest end counts.
        """
        array = as_real(point)
        ends = [self._nearest(array, point, self._reference, _SLOPE)]
        for number in range(self._trials):
            start = self._elsewhere(array, point, np.random.default_rng((_SEED, number)))
            ends.append(self._nearest(start, point, self._reference, _SLOPE))
        if not self._tried:
            apart = max(float(np.linalg.norm(end - ends[0])) for end in ends)
            self._tried, single = True, apart <= _SAME_END * _size(array)
            self._trials = 0 if single else _MORE_TRIALS
            return self.end(point) if self._trials else ends[0]
        return min(ends, key=lambda end: float(np.linalg.norm(end - self._reference)))

    def apart(self, point: Any, end: np.ndarray, other: np.ndarray) -> float:
        """Return how far two ends are apart once one is moved along its orbit towards the other.

        ``point`` is any point of the form of both.
        """
        moved = self._nearest(end, point, other, _ACCURACY)
        return self._manifold.separation(from_real(moved, point), from_real(other, point))

    def _elsewhere(self, array: np.ndarray, like: Any, rng: np.random.Generator) -> np.ndarray:
        """Return another point of the orbit, up to two turns away along a random combination."""
        units = _independent(self._directions(array, like))
        drawn = rng.standard_normal(units.shape[1])
        length = 4.0 * math.pi * _size(array) * rng.random()
        moved = self._moved(array, like, units @ (drawn * (length / np.linalg.norm(drawn))))
        return array if moved is None else moved

    def _directions(self, array: np.ndarray, like: Any) -> np.ndarray:
        """Return the directions at an array as rows, also beside the manifold.

        The flow stays on the manifold whatever they are there, as long as they are smooth.
        """
        point = from_real(array, like)
        space = self._manifold.space(point)
        given = self.problem.symmetries(point)  # type: ignore[misc]
        return np.array([as_real(space.embed(space.pack(owned(each, point)))) for each in given])

    def _on_manifold(self, array: np.ndarray, like: Any) -> np.ndarray:
        point = from_real(array, like)
        return as_real(self._manifold.retraction(point, self._manifold.zero_vector(point)))

    def _moved(self, array: np.ndarray, like: Any, shares: np.ndarray) -> np.ndarray | None:
        """Return where the flow of a combination of the directions leads; None if it ends early."""
        from scipy.integrate import DOP853

        size = _size(array)
        try:
            flow = DOP853(
                lambda _, there: shares @ self._directions(there, like),
                0.0,
                array,
                1.0,
                first_step=1.0,
                rtol=_ACCURACY,
                atol=_ACCURACY * size / math.sqrt(array.size),
            )
            for _ in range(_MOST_FLOW_STEPS):
                if flow.status == "running":
                    flow.step()
            return self._on_manifold(flow.y, like) if flow.status == "finished" else None
        except (ArithmeticError, ValueError, np.linalg.LinAlgError):  # beyond the domain
            return None

    def _nearest(
        self, array: np.ndarray, like: Any, target: np.ndarray, slope: float
    ) -> np.ndarray:
        """Return the point of the orbit of an array that is nearest to a target, by Newton steps.

        They end where the slope of the distance, over the size of the array, is small enough.
        """
        size = _size(array)
        longest = _LONGEST * size
        distance = float(np.linalg.norm(array - target))
        for _ in range(_MOST_STEPS):
            shares, length = self._newton_step(array, like, target, slope)
            if length == 0.0:
                break
            moved = self._moved(array, like, shares * min(1.0, longest / length))
            closer = math.inf if moved is None else float(np.linalg.norm(moved - target))
            if moved is None or closer > distance:
                longest = 0.25 * min(longest, length)
                if longest < _DIFFERENCE * size:
                    break
                continue
            array, distance = moved, closer
        return array

    def _newton_step(
        self, array: np.ndarray, like: Any, target: np.ndarray, slope: float
    ) -> tuple[np.ndarray, float]:
        """Return a combination of the directions and its length; 0 where the slope vanishes."""
        rows = self._directions(array, like)
        size, to_target = _size(array), array - target
        units = _independent(rows)
        slopes = units.T @ (rows @ to_target)
        if np.linalg.norm(slopes) <= slope * size:
            return np.zeros(len(rows)), 0.0
        bends = np.empty((len(rows), units.shape[1]))
        for column, shares in enumerate(units.T):
            ahead = self._directions(array + _DIFFERENCE * size * (shares @ rows), like)
            bends[:, column] = (ahead - rows) @ to_target / (_DIFFERENCE * size)
        bends = units.T @ bends
        curvatures, axes = np.linalg.eigh(np.eye(len(bends)) + 0.5 * (bends + bends.T))
        trusted = np.maximum(np.abs(curvatures), _FLAT * np.abs(curvatures).max())
        step = -axes @ ((axes.T @ slopes) / trusted)
        return units @ step, float(np.linalg.norm(step))


def _independent(rows: np.ndarray) -> np.ndarray:
    """Return combinations of rows, as columns, that make orthonormal vectors of them."""
    lengths = np.linalg.norm(rows, axis=1)
    scales = 1.0 / np.where(lengths > 0.0, lengths, 1.0)
    squares, left = np.linalg.eigh((scales[:, None] * rows) @ (scales[:, None] * rows).T)
    kept = squares > _INDEPENDENT**2
    return scales[:, None] * left[:, kept] / np.sqrt(squares[kept])


def _size(array: np.ndarray) -> float:
    return max(float(np.linalg.norm(array)), float(np.finfo(array.dtype).tiny))
