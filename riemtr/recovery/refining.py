r"""Refining: all rows together, where no row is exactly sparse.

Rows found one by one, or rounded one by one, each have their own error. Together, over the
orthogonal matrices or without that constraint, they are one estimate:

* ``"orthogonal"``: the sum of the surrogate over orthonormal directions of the whitened data, down
  to the smoothing parameter mu: the sparsest orthogonal dictionary near the start.
* ``"full"``: the same with -log|det| in place of the constraint. Whitening makes rows orthogonal
  only up to 1/sqrt(p), an error that this estimate does not have.
* ``"auto"``: where the magnitudes of the rows hardly depend on each other, as those of sources, the
  maximum-likelihood estimate: the full form with the likelihood of the paper's model under noise
  (:class:`riemtr.problems.surrogates.NoisySparse`), whose smoothing is the size of the noise,
  fitted along the way. Elsewhere, as on images, such a likelihood means nothing, and the orthogonal
  form gives the sparsest code.

The standard errors are those of an M-estimate. With the unmixing matrix found written (I + T) times
the true one, T is to first order a mean over the samples, whose variance the samples give.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from riemtr.data.blocks import Blocks
from riemtr.data.partitioned import Partitioned
from riemtr.problems.joint_dictionary import (
    Data,
    full_problem,
    in_single_precision,
    orthogonal_problem,
)
from riemtr.problems.surrogates import FIRST_SMOOTHING, LogCosh, NoisySparse, Surrogate
from riemtr.recovery.evidence import dependence
from riemtr.recovery.solving import completed, nearest_rotation
from riemtr.solvers import TrustRegion
from riemtr.store import Form, Numbers, Record

FORMS = ("auto", "orthogonal", "full")
"""How rows can be refined."""

# Gradient norm over the root of the number of rows: far below the standard errors of any data.
_TOLERANCE = 1e-3
# Iterations after which a stage is given up.
_ITERATIONS = 500
# Root mean square of the correlations of magnitudes from which rows are no independent sources:
# some 0.01 under noise and corruptions, 0.07 with more sources than rows, 0.1 to 0.3 on images.
_DEPENDENT = 0.15
# Times that the likelihood is fitted to the rows, and the rows to the likelihood.
_FITS = 2


@dataclass(frozen=True, eq=False)
class Refined:
    """Rows refined together.

    Attributes
    ----------
    directions : ndarray, shape (n, n)
        Unit columns.
    variances : ndarray, shape (n, n)
        Of the entries of T, for rows of root mean square 1.
    form : str
        The form that was chosen, in words.
    iterations : int
    """

    directions: np.ndarray
    variances: np.ndarray
    form: str
    iterations: int

    @staticmethod
    def form_of_record(rows: int) -> Form:
        """Return the form of the record that :func:`refine` makes of so many rows."""
        square = (rows, rows)
        return {
            "directions": Numbers(square),
            "variances": Numbers(square, finite=False),
            "form": str,
            "iterations": int,
        }

    def standard_errors(self, inverse: np.ndarray) -> np.ndarray:
        """Return the standard error of every atom, relative to its length.

        Parameters
        ----------
        inverse : ndarray, shape (m, n)
            The map from whitened data to the data.
        """
        # Relative errors have no unit, in which squares could over- or underflow.
        atoms = (inverse / np.abs(inverse).max()) @ np.linalg.inv(self.directions.T)
        lengths = np.linalg.norm(atoms, axis=0)
        # An error along the atom itself is one of its length, which is chosen anyway.
        overlaps = (atoms.T @ atoms) / lengths
        across = np.maximum(lengths[:, None] ** 2 - overlaps**2, 0.0)
        return np.sqrt((self.variances * across).sum(axis=0)) / lengths


def refine(
    data: Data, samples: np.ndarray, directions: np.ndarray, form: str, surrogate: Surrogate
) -> Record:
    """Refine all rows together; as a record of the fields of :class:`Refined`.

    Parameters
    ----------
    data : Blocks or Partitioned
        All whitened data, of root mean square 1.
    samples : ndarray, shape (n, m)
        Some of them, to fit a likelihood to.
    directions : ndarray, shape (n, n)
        Where to begin, as columns.
    form : {"auto", "orthogonal", "full"}
    surrogate : Surrogate
        The pipeline's own, for the last two.
    """
    narrow = in_single_precision(data)
    point = nearest_rotation(directions)
    if form == "auto":
        depends = float(np.median(dependence(point.T @ samples, per_chance=False)))
        form = "orthogonal" if depends > _DEPENDENT else "likelihood"
    iterations = 0
    if form == "likelihood":
        # Noise makes wiggles of its own at sharper ones.
        point, iterations = _descend(orthogonal_problem(narrow, LogCosh(FIRST_SMOOTHING)), point)
        for _ in range(_FITS):
            surrogate = NoisySparse.fitted(point.T @ samples)
            point, taken = _descend(full_problem(narrow, surrogate), point)
            iterations += taken
    else:
        for each in _stages(surrogate):
            problem = orthogonal_problem if form == "orthogonal" else full_problem
            point, taken = _descend(problem(narrow, each), point)
            iterations += taken
    variances = _variances(narrow, point, surrogate, form == "orthogonal")
    if isinstance(surrogate, NoisySparse) and surrogate.is_degenerate:
        variances = np.full_like(variances, np.nan)  # no noise makes zeros like these
    size = np.linalg.norm(point, axis=0)
    # Variances of T for rows scaled to their size: t_ij scales with row i over row j.
    scaled = variances * (size[None, :] / size[:, None]) ** 2
    words = {"likelihood": "likelihood of noisy sparse rows"}.get(form, form)
    return {
        "directions": point / size,
        "variances": scaled,
        "form": words,
        "iterations": iterations,
    }


def _stages(surrogate: Any) -> Iterable[Any]:
    sharper = getattr(surrogate, "sharper", None)
    return [surrogate] if sharper is None else sharper()


def _descend(problem: Any, point: np.ndarray) -> tuple[np.ndarray, int]:
    tolerance = _TOLERANCE * math.sqrt(len(point))
    solver = TrustRegion(tolerance=tolerance, goal="first-order", max_iterations=_ITERATIONS)
    result = completed(solver.solve(problem, point.astype(problem.cost.dtype), rng=0))
    return result.point.astype(np.float64), result.iterations


def _variances(
    data: Blocks | Partitioned, point: np.ndarray, surrogate: Surrogate, orthogonal: bool
) -> np.ndarray:
    """Return the variances of the entries of T, from second moments of what T is a mean of.

    For the full form, rows i and j satisfy mean(h'(x_i) x_j) = 0, whose derivatives with respect to
    t_ij and t_ji are [[a_ij, 1], [1, a_ji]] with a_ij = E h''(x_i) E x_j^2. For the orthogonal one,
    whitening sets t_ij + t_ji to minus mean(x_i x_j), and the difference is left to
    mean(h'(x_i) x_j - h'(x_j) x_i) = 0.
    """
    directions = np.ascontiguousarray(point.T, dtype=data.dtype)
    sums = data.total(_moments, directions, surrogate)
    bend, overlap, square, crossed, paired, squares, mixed = (each / data.shape[1] for each in sums)
    if orthogonal:
        curvature = np.add.outer(bend * square - overlap, bend * square - overlap)
        curvature = np.where(np.abs(curvature) > _TOLERANCE, curvature, np.nan)
        total = bend * square + overlap
        share = 0.5 * (np.subtract.outer(total, total) / curvature - 1.0)
        found = (crossed + crossed.T - 2.0 * paired) / curvature**2 + share**2 * squares
        found = found - 2.0 * share / curvature * (mixed - mixed.T)
    else:
        own = np.outer(bend, square)
        determinant = own * own.T - 1.0
        determinant = np.where(np.abs(determinant) > _TOLERANCE, determinant, np.nan)
        found = (own.T**2 * crossed + crossed.T - 2.0 * own.T * paired) / determinant**2
    np.fill_diagonal(found, 0.0)
    return found / data.shape[1]


def _moments(
    block: np.ndarray, first: int, directions: np.ndarray, surrogate: Surrogate
) -> tuple[np.ndarray, ...]:
    rows = directions @ block
    _, slope, bend = surrogate.derivatives(rows)
    squares, product = rows * rows, slope * rows
    return tuple(
        each.astype(np.float64)
        for each in (
            bend.sum(axis=1),
            product.sum(axis=1),
            squares.sum(axis=1),
            (slope * slope) @ squares.T,
            product @ product.T,
            squares @ squares.T,
            product @ squares.T,
        )
    )
