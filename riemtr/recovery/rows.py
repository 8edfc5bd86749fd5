"""One row: solve on the sphere of the deflated problem, round against all of the data."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields
from typing import Any, Protocol

import numpy as np

from riemtr.data.partitioned import Projection
from riemtr.manifolds import Sphere
from riemtr.problem import Problem
from riemtr.problems.dictionary_learning import dictionary_cost
from riemtr.recovery.census import SampleCounts, effective_samples
from riemtr.recovery.deflation import Deflation
from riemtr.recovery.partitioned_deflation import PartitionedDeflation
from riemtr.recovery.rounding import Rounding
from riemtr.recovery.zeros import threshold
from riemtr.solvers import PracticalTRM, Status
from riemtr.store import Record

_VERTEX = 2  # zeros per direction other than the row's: any vertex of the linear program has one
_CHANCE = 4.0  # times as many entries as vanish by chance on average
_SPANNING = 0.1  # least share of the typical eigenvalue, of the Gram matrix of a row's zeros
_SPANNED = 1e-6  # the share below which a direction is not spanned at all
_SAMPLE = 64  # zeros per unknown that suffice for that
_GAUSSIAN = math.sqrt(2.0 / math.pi)  # mean magnitude of a standard Gaussian
_TINY = 1e-300  # what one sample leaves of the sum of squares where it has all of it
# Rounding needs the basin, no digits: gradient norm over the data's scale, and negative curvature
# over what curvatures grow with as mu falls, the scale squared over mu.
_TOLERANCE = 1e-2
_CURVATURE_TOLERANCE = 1e-3


DeflatedData = Deflation | PartitionedDeflation
"""All the data and the directions set aside: in memory, or partitioned."""


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


def default_solver(scale: float, mu: float) -> RowSolver:
    """Return the solver used unless another is given; scale is the size of the data's entries."""
    tolerance = _TOLERANCE * scale
    curvature_tolerance = max(_CURVATURE_TOLERANCE * scale * (scale / mu), tolerance)
    return PracticalTRM(tolerance=tolerance, curvature_tolerance=curvature_tolerance)


def solve_deflated(
    data: np.ndarray | Projection, mu: float, solver: RowSolver, seed: np.random.SeedSequence
) -> Record:
    """Minimize f(z; data) over the sphere from a random start; the point and what goes with it."""
    dimension = data.shape[0]
    if dimension == 1:  # two points, and both are the same row
        return {
            "point": np.ones(1),
            "cost": float(dictionary_cost(data, mu).at(np.ones(1, data.dtype)).value),
            "gradient_norm": 0.0,
            "iterations": 0,
            "seconds": 0.0,
            "converged": True,
            "status": "converged: in dimension 1 there is nothing to choose",
        }
    sphere = Sphere(dimension)
    rng = np.random.default_rng(seed)
    start = sphere.random_point(rng).astype(data.dtype, copy=False)
    result = solver.solve(Problem(sphere, dictionary_cost(data, mu)), start, rng=rng)
    if getattr(result, "status", None) is Status.INTERRUPTED:
        raise KeyboardInterrupt  # what was interrupted must not be taken for an outcome
    return {
        "point": _unit_point(result.point, dimension, solver),
        "cost": float(result.cost),
        "gradient_norm": float(getattr(result, "gradient_norm", np.nan)),
        "iterations": int(getattr(result, "iterations", 0)),
        "seconds": float(getattr(result, "seconds", np.nan)),
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


def lifted(record: Record, deflation: DeflatedData) -> Solve:
    """Return the outcome of a solve on the complement in the coordinates of all the data."""
    rest = {name: value for name, value in record.items() if name != "point"}
    point = record["point"]
    return Solve(direction=deflation.lift(point), dimension=len(point), **rest)


def round_against(deflation: DeflatedData, direction: np.ndarray) -> Record:
    """Round a direction against all the data; as a record, in the original coordinates."""
    return asdict(deflation.round(direction))


def as_rounding(record: Record) -> Rounding:
    """Return the rounding that a record holds."""
    return Rounding(**{field.name: record[field.name] for field in fields(Rounding)})


@dataclass(frozen=True)
class Sparsity:
    """What the zeros of a row say.

    Attributes
    ----------
    zeros : int
        How many entries vanish to rounding where the sample does not.
    forced : int
        How many of the n - 1 other directions are held by one sample alone, or by none: all of
        them at a vertex of the linear program, none in a row that is sparse by itself.
    exact : bool
        Whether it is: no direction is forced, and zeros are far more than a vertex has.
    largest : float
        The largest square of the row, or a little more.
    """

    zeros: int
    forced: int
    exact: bool
    largest: float


class Inspector:
    """Tells rows that are sparse by themselves from those that merely solve a linear program.

    Every vertex of the program vanishes on some n - 1 independent samples; a mixture of two
    sparse rows on thousands, where both do, which leave one direction open, and on one sample
    more. A row is exact if its zeros span all the other directions, each by several samples
    (:mod:`riemtr.recovery.lone_samples`) and with the energy that as many samples have elsewhere,
    measured by the eigenvalues of their Gram matrix relative to that of all samples. Samples count
    with unit length in both, or a few loud ones would be all the energy there is.

    Parameters
    ----------
    deflation : Deflation or PartitionedDeflation
        The whitened data, in whatever coordinates.
    matrix, inverse : ndarray, shapes (r, n) and (n, r)
        The whitening map W and its inverse, which multiply the rounding errors of the data.

    Attributes
    ----------
    gram : ndarray, shape (n, n)
        Y Y'.
    counts : SampleCounts
        How many samples there are, and how many they are worth.
    """

    def __init__(self, deflation: DeflatedData, matrix: np.ndarray, inverse: np.ndarray):
        self.deflation = deflation
        size = float(np.linalg.norm(inverse.astype(np.float64), 2))
        self._noise = size * matrix.astype(np.float64)
        self.gram = deflation.gram()
        values = np.linalg.eigvalsh(self.gram)
        if not values[0] > len(values) * np.finfo(deflation.data.dtype).eps * values[-1]:
            raise ValueError(
                f"Y must be of full rank; got shape {deflation.data.shape} with rows that are "
                f"combinations of others; precondition it with rank='auto'"
            )
        self._census = deflation.census()
        self.counts = SampleCounts(
            total=deflation.data.shape[1],
            nonzero=self._census.samples,
            different=deflation.count_directions(),
            effective=effective_samples(self._census, float(np.trace(self.gram))),
        )
        values, vectors = np.linalg.eigh(self._census.unit_gram)
        rounding = np.finfo(float).eps * values[-1]
        self._whiten = (vectors / np.sqrt(np.maximum(values, rounding))).T

    def inspect(self, direction: np.ndarray) -> Sparsity:
        """Count the zeros of the row q'Y, and tell whether they make it exactly sparse."""
        n, vanishing = len(direction), self.vanishing(direction)
        most = _SAMPLE * n
        zeros = self.deflation.zeros(direction, vanishing, most)
        by_chance = vanishing * np.sqrt(n) * self.deflation.data.shape[1]
        least = _VERTEX * (n - 1) + 1 + _CHANCE * by_chance
        largest = zeros.eighth**0.25
        if n == 1:
            return Sparsity(zeros.count, 0, zeros.count >= least, largest)
        if zeros.count < least:
            return Sparsity(zeros.count, n - 1, False, largest)
        shares, vectors = np.linalg.eigh(self._whiten @ zeros.unit_gram @ self._whiten.T)
        # All samples have the share 1 in every direction, so the typical one is their mean.
        typical = float(shares[1:].mean())
        spanned = shares > _SPANNED * typical
        spanned[0] = False  # that of q itself
        factor = (vectors[:, spanned] / np.sqrt(shares[spanned])).T @ self._whiten
        lone = self.deflation.lone(direction, vanishing, most, factor)
        weak = int(np.count_nonzero(shares[1:] < _SPANNING * typical))
        forced = min(max(weak, n - 1 - int(spanned.sum()) + lone), n - 1)
        return Sparsity(zeros.count, forced, forced == 0, largest)

    @property
    def noise_flatness(self) -> float:
        """The :meth:`flatness` of every row of noise without any direction, of these lengths.

        1 for Gaussian noise; less the more the lengths of the samples vary, as where noise is loud
        and quiet in turn.
        """
        n = len(self.gram)
        # Mean magnitude of an entry of a random unit vector.
        entry = math.exp(math.lgamma(n / 2) - math.lgamma((n + 1) / 2)) / math.sqrt(math.pi)
        mean = entry * self._census.length / self._census.samples
        square = float(np.trace(self.gram)) / (n * self._census.samples)
        return mean / math.sqrt(square) / _GAUSSIAN

    def vanishing(self, direction: np.ndarray) -> float:
        """What counts as zero in the row q'Y, over the length of the sample."""
        return threshold(self.deflation.data.dtype, self.condition(direction))

    def condition(self, direction: np.ndarray) -> float:
        """What rounding errors of a sample are multiplied by in the row q'Y."""
        # rounding of a sample y, eps |y|, becomes eps |W'q| |y|, and |y| <= |W^+| |W y|
        return float(np.linalg.norm(direction @ self._noise))

    def flatness(self, solve: Solve, rounding: Rounding | None, seen: Sparsity) -> float:
        """Return the mean magnitude of the row over its root mean square, 1 for Gaussian noise.

        Samples that are zero do not count; nor does the largest square: a row that points at a loud
        sample is not sparse for that.
        """
        q = solve.direction if rounding is None else rounding.solution
        p = self.deflation.data.shape[1]
        total = p * solve.cost if rounding is None else rounding.objective
        square = float(q @ self.gram @ q) - float(q @ q) * seen.largest
        return total / math.sqrt(self._census.samples * max(square, _TINY)) / _GAUSSIAN
