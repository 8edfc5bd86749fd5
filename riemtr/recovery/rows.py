"""One row: solve on the sphere of the deflated problem, round against all of the data."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Protocol

import numpy as np

from riemtr.manifolds import Sphere
from riemtr.problem import Problem
from riemtr.problems.dictionary_learning import DictionaryCost
from riemtr.recovery.checkpoint import Record
from riemtr.recovery.deflation import Deflation
from riemtr.recovery.rounding import Rounding, round_direction
from riemtr.solvers import PracticalTRM

_VANISHING = 1e-11  # |<q, y>| / |y| that counts as zero: rounding leaves some 1e-14
_VANISHING_SINGLE = 1e-5  # and in float32
_TOLERANCE = 1e-2  # gradient norm over the data's scale: rounding needs the basin, no digits


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
        Of the deflated problem: r for the first row, 1 for the last.
    cost, gradient_norm, iterations, seconds, converged
        As in :class:`riemtr.Result`, on the deflated problem.
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


@dataclass(frozen=True, eq=False)
class Row:
    """A row as found so far: the solver's outcome, and the rounding's, if there was one.

    Attributes
    ----------
    solve : Solve
    rounding : Rounding or None
        Without its dual, which would take p numbers per row.
    direction : ndarray, shape (r,)
        The unit vector q for which q'Y is the row, Y being the (whitened) data.
    zeros : int
        Entries of the row that vanish to rounding where the sample does not.
    attempt : int
        0 for the first pass, above for rows that were solved for again.
    """

    solve: Solve
    rounding: Rounding | None
    direction: np.ndarray
    zeros: int
    attempt: int

    @property
    def exact(self) -> bool:
        """Whether far more entries vanish than the n - 1 of any vertex of the linear program."""
        return self.zeros >= 2 * len(self.direction)

    @property
    def certified(self) -> bool:
        """Whether the rounding is proved optimal."""
        return self.rounding is not None and self.rounding.certified


def default_solver(scale: float) -> RowSolver:
    """Return the solver used unless another is given; scale is the size of the data's entries."""
    return PracticalTRM(tolerance=_TOLERANCE * scale, curvature_tolerance=_TOLERANCE * scale)


def solve_deflated(
    data: np.ndarray, mu: float, solver: RowSolver, seed: np.random.SeedSequence
) -> Record:
    """Minimize f(z; data) over the sphere from a random start; the point and what goes with it."""
    dimension = data.shape[0]
    if dimension == 1:  # two points, and both are the same row
        return {
            "point": np.ones(1),
            "cost": float(DictionaryCost(data, mu).at(np.ones(1, data.dtype)).value),
            "gradient_norm": 0.0,
            "iterations": 0,
            "seconds": 0.0,
            "converged": True,
            "status": "converged: in dimension 1 there is nothing to choose",
        }
    sphere = Sphere(dimension)
    rng = np.random.default_rng(seed)
    start = sphere.random_point(rng).astype(data.dtype, copy=False)
    result = solver.solve(Problem(sphere, DictionaryCost(data, mu)), start, rng=rng)
    point = np.asarray(result.point, dtype=np.float64)
    return {
        "point": point / np.linalg.norm(point),
        "cost": float(result.cost),
        "gradient_norm": float(getattr(result, "gradient_norm", np.nan)),
        "iterations": int(getattr(result, "iterations", 0)),
        "seconds": float(getattr(result, "seconds", np.nan)),
        "converged": bool(result.converged),
        "status": str(getattr(result, "reason", getattr(result, "status", ""))),
    }


def lifted(record: Record, deflation: Deflation) -> Solve:
    """Return the outcome of a solve on the complement in the coordinates of all the data."""
    rest = {name: value for name, value in record.items() if name != "point"}
    point = record["point"]
    return Solve(direction=deflation.lift(point), dimension=len(point), **rest)


def round_against(deflation: Deflation, direction: np.ndarray) -> Record:
    """Round a direction against all the data; as a record, in the original coordinates."""
    turned = round_direction(deflation.data, deflation.rotation.T @ direction)
    record = asdict(replace(turned, dual=np.empty(0)))
    record["direction"] = deflation.rotation @ turned.direction
    record["solution"] = deflation.rotation @ turned.solution
    return record


def as_rounding(record: Record) -> Rounding:
    """Return the rounding that a record holds."""
    return Rounding(**{field.name: record[field.name] for field in fields(Rounding)})


def count_zeros(deflation: Deflation, lengths: np.ndarray, direction: np.ndarray) -> int:
    """Count the samples y, not zero themselves, with <q, y> = 0 to rounding."""
    turned = (deflation.rotation.T @ direction).astype(deflation.data.dtype)
    coefficients = np.abs(turned @ deflation.data)
    return int(np.count_nonzero(coefficients[lengths > 0] <= threshold(deflation.data, lengths)))


def threshold(data: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """What counts as zero for each sample that is not zero."""
    relative = _VANISHING_SINGLE if data.dtype == np.float32 else _VANISHING
    return relative * lengths[lengths > 0]
