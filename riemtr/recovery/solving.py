"""Solving: one row on the sphere of the deflated problem, or all rows at once.

The paper solves for one row after the other, each on the complement of those before. All rows at
once, over the orthogonal matrices, keep each other apart instead, and their products with the data
are products of matrices: that is several times faster, and the default. Either needs the basin of a
row and no digits, which rounding supplies.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from riemtr.data.blocks import Blocks
from riemtr.manifolds import Rotations, Sphere
from riemtr.problem import Problem
from riemtr.problems.dictionary_learning import DictionaryCost
from riemtr.problems.joint_dictionary import (
    STAGE_TOLERANCE,
    JointCost,
    full_problem,
    orthogonal_problem,
)
from riemtr.problems.surrogates import LogCosh, Surrogate
from riemtr.solvers import PracticalTRM, Status, TrustRegion
from riemtr.store import Form, Numbers, Record

# Gradient norm of a row's solve, over the data's scale.
_TOLERANCE = 1e-2
# Negative curvature that matters, over what curvatures grow with: the scale squared over mu.
_CURVATURE_TOLERANCE = 1e-3
# Smoothing parameters, over the rows' size, of the stages without angles: down to where the zeros
# of an exactly sparse row stand apart from its other coefficients.
_FREE_SMOOTHINGS = (0.1, 0.03)
# Gradient norm at which those end, over the root of the number of rows.
_FREE_TOLERANCE = 4e-3
# Iterations after which a joint solve is given up: some 20 are needed, 150 on images.
_ITERATIONS = 500


class RowSolver(Protocol):
    """What recovers a row: any solver of riemtr, or one of pymanopt's through interop."""

    def solve(self, problem: Problem, start: Any, *, rng: Any) -> Any:
        """Return a result with at least ``point``, ``cost`` and ``converged``."""


@dataclass(frozen=True, eq=False)
class Solve:
    """What the solver said of one row.

    Attributes
    ----------
    direction : ndarray, shape (r,)
        Its point, lifted from the deflated sphere to that of all the (whitened) data.
    dimension : int
        Of the deflated problem: r for the first row, 1 for the last. Where all rows were solved
        for at once, r for each.
    cost, gradient_norm, iterations, seconds, converged
        As in :class:`riemtr.Result`, on the deflated problem. Where rows were solved for at once,
        ``cost`` is the row's own share, ``seconds`` an equal share, and the rest that of all.
    status : str
        How it ended, in words.
    """

    direction: np.ndarray
    dimension: int
    cost: float
    gradient_norm: float
    iterations: int
    seconds: float
    converged: bool
    status: str


def default_solver(scale: float, mu: float) -> TrustRegion:
    """Return the solver of single rows unless another is given; scale is the size of the data."""
    tolerance = _TOLERANCE * scale
    curvature_tolerance = max(_CURVATURE_TOLERANCE * scale * (scale / mu), tolerance)
    return PracticalTRM(tolerance=tolerance, curvature_tolerance=curvature_tolerance)


def solve_deflated(
    data: np.ndarray, surrogate: Surrogate, solver: RowSolver, seed: np.random.SeedSequence
) -> Record:
    """Minimize f(z; data) over the sphere from a random start; the point and what goes with it."""
    dimension = data.shape[0]
    # The paper's cost has a Hessian matrix of its own, and is faster for it.
    cost: Any = (
        DictionaryCost(data, surrogate.mu)
        if isinstance(surrogate, LogCosh)
        else JointCost(Blocks(data), surrogate)
    )
    if dimension == 1:
        return _only_point(cost.at(np.ones(1, data.dtype)).value)
    sphere = Sphere(dimension)
    rng = np.random.default_rng(seed)
    start = sphere.random_point(rng).astype(data.dtype, copy=False)
    result = solver.solve(Problem(sphere, cost), start, rng=rng)
    point = _unit_point(result.point, dimension, solver)[:, None]
    return _record(result, point, np.array([float(result.cost)]))


def solve_jointly(
    data: Blocks,
    surrogate: Surrogate,
    seed: np.random.SeedSequence,
    near: np.ndarray | None = None,
    iterations: int = _ITERATIONS,
) -> Record:
    """Minimize the sum of f over all rows, orthonormal directions, from a random start.

    Parameters
    ----------
    data : Blocks
        Samples, m x p, of root mean square 1; in single precision they take half the time.
    surrogate : Surrogate
        h; its ``rough()``, where it has that, has the same rows and fewer wiggles.
    near : ndarray, shape (m, m), optional
        Directions to begin near, in place of a random start.
    iterations : int
        How many to take at most.
    """
    m = data.shape[0]
    if m == 1:
        return _only_point(JointCost(data, surrogate).at(np.ones((1, 1))).value)
    rng = np.random.default_rng(seed)
    start = Rotations(m).random_point(rng) if near is None else nearest_rotation(near)
    rough = getattr(surrogate, "rough", None)
    problem = orthogonal_problem(data, surrogate if rough is None else rough())
    tolerance = STAGE_TOLERANCE * math.sqrt(m)
    solver = PracticalTRM(tolerance=tolerance, goal="first-order", max_iterations=iterations)
    result = solver.solve(problem, start.astype(data.dtype), rng=rng)
    points = result.point.astype(np.float64)
    return _record(result, points, np.full(m, float(result.cost) / m))


def _only_point(cost: float) -> Record:
    """Return the record of dimension 1: there are two points, and both are the same row."""
    return {
        "points": np.ones((1, 1)),
        "costs": np.array([cost]),
        "gradient_norm": 0.0,
        "iterations": 0,
        "seconds": 0.0,
        "converged": True,
        "status": "converged: in dimension 1 there is nothing to choose",
    }


def nearest_rotation(directions: np.ndarray) -> np.ndarray:
    """Return the rotation nearest to given columns, one of them negated if need be."""
    left, _, right = np.linalg.svd(directions)
    point = left @ right
    point[:, 0] *= np.sign(np.linalg.det(point))
    return point


def freed(data: Blocks, directions: np.ndarray, iterations: int) -> np.ndarray:
    """Return unit directions near given ones whose rows are sparser, no longer orthogonal.

    Whitening makes rows orthogonal only as far as samples go. Without that constraint the zeros of
    exactly sparse rows stand apart from the other coefficients.
    """
    point = directions.astype(data.dtype)
    for mu in _FREE_SMOOTHINGS:
        tolerance = _FREE_TOLERANCE * math.sqrt(len(directions))
        solver = TrustRegion(tolerance=tolerance, goal="first-order", max_iterations=iterations)
        point = completed(solver.solve(full_problem(data, LogCosh(mu)), point, rng=0)).point
    wide = point.astype(np.float64)
    return wide / np.linalg.norm(wide, axis=0)


def completed(result: Any) -> Any:
    """Return the result of a solver, or raise Ctrl-C if that ended the solver early.

    A solver returns its best point after Ctrl-C, which must not be taken for its outcome.
    """
    if getattr(result, "status", None) is Status.INTERRUPTED:
        raise KeyboardInterrupt
    return result


def form_of_solve(dimension: int, rows: int) -> Form:
    """Return the form of the record of a solve for so many rows."""
    return {
        "points": Numbers((dimension, rows)),
        "costs": Numbers((rows,)),
        "gradient_norm": float,
        "iterations": int,
        "seconds": float,
        "converged": bool,
        "status": str,
    }


def _record(result: Any, points: np.ndarray, costs: np.ndarray) -> Record:
    completed(result)
    return {
        "points": points,
        "costs": costs,
        "gradient_norm": float(getattr(result, "gradient_norm", np.nan)),
        "iterations": int(getattr(result, "iterations", 0)),
        "seconds": float(getattr(result, "seconds", np.nan)) / len(costs),
        "converged": bool(result.converged),
        "status": str(getattr(result, "reason", getattr(result, "status", ""))),
    }


def _unit_point(point: Any, dimension: int, solver: RowSolver) -> np.ndarray:
    """Return a solver's point as a unit vector, or say what is wrong with it."""
    try:
        vector = np.asarray(point, dtype=np.float64)
    except (TypeError, ValueError):
        vector = np.empty(0)
    size = float(np.linalg.norm(vector))
    if vector.shape != (dimension,) or not (np.isfinite(size) and size > 0.0):
        got = f"shape {vector.shape}" if vector.shape != (dimension,) else f"norm {size}"
        raise ValueError(
            f"solver must return a result whose point is a unit vector of shape ({dimension},), "
            f"finite and not zero; {solver!r} returned one of {got}: correct its solve method, or "
            f"leave solver out for the default"
        )
    return vector / size


def solves_of(record: Record, directions: np.ndarray) -> list[Solve]:
    """Return the solve of every row from a record, with directions in all coordinates."""
    rest = {name: record[name] for name in ("gradient_norm", "iterations", "seconds", "status")}
    dimension, converged = len(record["points"]), bool(record["converged"])
    return [
        Solve(direction, dimension, float(cost), converged=converged, **rest)
        for direction, cost in zip(directions.T, record["costs"], strict=True)
    ]
