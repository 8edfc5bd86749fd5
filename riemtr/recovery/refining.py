r"""Refining: all rows together, where no row is exactly sparse.

Rows found one by one, or rounded one by one, each have their own error. Together, over the
orthogonal matrices or without that constraint, they are one estimate:

* ``"orthogonal"``: the sum of the surrogate over orthonormal directions of the whitened data, down
  to the smoothing parameter mu: the sparsest orthogonal dictionary near the start.
* ``"full"``: the same with -log|det| in place of the constraint. Whitening makes rows orthogonal
  only up to 1/sqrt(p), an error that this estimate does not have.
* ``"auto"``: where the magnitudes of the rows hardly depend on each other, as those of sources, the
  maximum-likelihood estimate: the full form with a density for every row
  (:class:`riemtr.recovery.densities.Densities`), fitted along the way: sharp where rows are sparse,
  smooth where they are dense, flat or skewed where they are that. Elsewhere, as on images, such a
  likelihood means nothing, and the orthogonal form gives the sparsest code.

:mod:`riemtr.recovery.errors` has the standard errors.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from riemtr.data.blocks import Samples, mean_of, turned
from riemtr.manifolds import Rotations
from riemtr.problems.joint_dictionary import (
    JointCost,
    full_problem,
    in_single_precision,
    orthogonal_problem,
)
from riemtr.problems.surrogates import FIRST_SMOOTHING, LogCosh, Negative, Surrogate
from riemtr.recovery.densities import Densities
from riemtr.recovery.errors import (
    DEVIATIONS,
    Errors,
    Moments,
    noise_covariance,
    subspaces,
)
from riemtr.recovery.evidence import dependence, dependence_limit
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
# Width of a density, over that of its row, below which rounding to single precision is more than
# the tolerance of its slope.
_SHARP = 1e-2
# Steps of Newton's method beside exact rows: the first one takes nearly all of the error.
_STEPS = 2
# Times at most that densities are fitted to rows, and rows to densities, and the share of their
# standard errors that rows still move where that ends.
_MOST_FITS = 10
_SETTLED = 0.1


@dataclass(frozen=True, eq=False)
class Refined:
    """Rows refined together.

    Attributes
    ----------
    directions : ndarray, shape (n, n)
        Unit columns.
    variances, gains, common, bias : ndarray, shape (n, n)
        Of T, for rows of these directions: :class:`riemtr.recovery.errors.Errors`.
    form : str
        The form that was chosen, in words.
    cost : float
        What the form makes small.
    iterations : int
    """

    directions: np.ndarray
    variances: np.ndarray
    gains: np.ndarray
    common: np.ndarray
    bias: np.ndarray
    form: str
    cost: float
    iterations: int

    @staticmethod
    def form_of_record(rows: int) -> Form:
        """Return the form of the record that :func:`refine` makes of so many rows."""
        square = (rows, rows)
        return {
            "directions": Numbers(square),
            "variances": Numbers(square, finite=False),
            "gains": Numbers(square),
            "common": Numbers(square),
            "bias": Numbers(square),
            "form": str,
            "cost": float,
            "iterations": int,
        }

    @property
    def subspaces(self) -> np.ndarray:
        """The number of the group of each row: rows of one group are not told apart."""
        return subspaces(np.isinf(self.variances))

    @property
    def are_told_apart(self) -> np.ndarray:
        """Which rows are told from all others."""
        return np.isfinite(self.variances).all(axis=1)

    def standard_errors(self, inverse: np.ndarray) -> np.ndarray:
        """Return the standard error of every atom, relative to its length; NaN where not known.

        Parameters
        ----------
        inverse : ndarray, shape (m, n)
            The map from whitened data to the data.
        """
        errors = Errors(self.variances, self.gains, self.common, self.bias)
        return errors.of_atoms(inverse, self.directions)


def beside(
    refined: Refined,
    basis: np.ndarray,
    exact: Sequence[np.ndarray],
    inverse: np.ndarray,
    data: Samples,
    samples: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Return refined rows beside exact ones, and the standard errors of all atoms.

    Rows were refined on the complement of exact ones, where they are uncorrelated with these. Exact
    rows have no error, so that of the others in their directions takes one equation for each,
    mean(h'(x_i) x_j) = 0, which steps of Newton's method solve. It moves the atoms of exact rows.

    Parameters
    ----------
    refined : Refined
    basis : ndarray, shape (n, k)
        Of the complement of the exact rows.
    exact : sequence of ndarray, shape (n,)
        The directions of exact rows.
    inverse : ndarray, shape (m, n)
        The map from whitened data to the data.
    data : Samples
        All whitened data.
    samples : ndarray, shape (n, some)
        Some of them, to fit densities to.

    Returns
    -------
    directions : ndarray, shape (n, k)
        Of the refined rows.
    errors : ndarray
        The standard errors of the atoms of exact rows, then of refined ones.
    """
    wide, known = inverse.astype(np.float64), len(exact)
    directions = basis @ refined.directions
    if not known:
        return directions, refined.standard_errors(wide @ basis)
    mean = mean_of(data)
    centred = data.mapped(_moved_by, -mean, rows=len(mean)).kept()
    every = np.column_stack([*exact, directions])
    for _ in range(_STEPS):
        rows = every.T @ (samples - mean[:, None])
        densities = Densities.fitted(rows)
        densities = Densities.finer(rows, densities) or densities
        moments = Moments.of(centred, every, densities)
        step = moments.slopes / np.outer(moments.bend, moments.square)
        every[:, known:] -= every[:, :known] @ step[known:, :known].T
    size = np.linalg.norm(every, axis=0)
    variances, gains, common, bias = np.zeros((4, len(size), len(size)))
    scale = size[None, :] / size[:, None]
    variances[known:, :known] = (moments.alone() * scale**2)[known:, :known]
    for whole, part in (
        (variances, refined.variances),
        (gains, refined.gains),
        (common, refined.common),
        (bias, refined.bias),
    ):
        whole[known:, known:] = part
    every /= size
    return every[:, known:], Errors(variances, gains, common, bias).of_atoms(wide, every)


def refine(
    data: Samples,
    samples: np.ndarray,
    directions: np.ndarray,
    form: str,
    surrogate: Surrogate,
) -> Record:
    """Refine all rows together; as a record of the fields of :class:`Refined`.

    Parameters
    ----------
    data : Samples
        All whitened data, of root mean square 1.
    samples : ndarray, shape (n, m)
        Some of them, to fit a likelihood to.
    directions : ndarray, shape (n, n)
        Where to begin, as columns.
    form : {"auto", "orthogonal", "full"}
    surrogate : Surrogate
        The pipeline's own, for the last two.
    """
    point = nearest_rotation(directions)
    if form == "auto":
        form = "likelihood" if _are_sources(data, samples, point) else "orthogonal"
    if form == "likelihood":
        return _likeliest(data, samples, point)
    narrow = in_single_precision(data)
    iterations = 0
    for each in _stages(surrogate):
        problem = orthogonal_problem if form == "orthogonal" else full_problem
        point, taken = _descend(problem(narrow, each), point)
        iterations += taken
    moments = Moments.of(narrow, point, surrogate)
    noise = noise_covariance(narrow, point, Densities.fitted(point.T @ samples))
    errors = moments.orthogonal(noise) if form == "orthogonal" else moments.full(noise)
    cost = problem(narrow, surrogate).cost.at(point.astype(narrow.dtype)).value
    return _record(point, errors, form, cost, iterations)


def _likeliest(data: Samples, samples: np.ndarray, point: np.ndarray) -> Record:
    """Return the most likely rows, each with a density of its own, near orthonormal columns.

    Noise buries some sources where the dictionary is ill-conditioned. Sharp densities then follow
    the noise, and smooth orthogonal rows, which the first stage gives, have the smaller errors.
    """
    mean = mean_of(data)
    wide = data.mapped(_moved_by, -mean, rows=len(mean)).kept()
    narrow = in_single_precision(wide)
    some = samples - mean[:, None]
    # Noise makes wiggles of its own at sharper ones.
    first = LogCosh(FIRST_SMOOTHING)
    point, iterations = _descend(orthogonal_problem(narrow, first), point)
    point, taken = _flat_rows_apart(narrow, point)
    iterations += taken
    smooth = point
    densities = Densities.fitted(point.T @ some)
    point, source, densities, taken = _settled(narrow, wide, some, point, densities)
    iterations += taken
    moments = Moments.of(source, point, densities)
    errors = moments.full(noise_covariance(source, point, densities))
    # Of rows that depend on each other, as under corruptions, finer densities follow that.
    rows = point.T @ some
    depend = float(np.median(dependence(rows))) > dependence_limit(len(rows))
    finer = None if depend else Densities.finer(rows, densities)
    if finer is not None:
        other, origin, finer, taken = _settled(narrow, wide, some, point, finer, errors.variances)
        iterations += taken
        # Both are estimates of the same rows (Hausman's test), or one of them is in a trap.
        if _moved(point, other, errors.variances) < DEVIATIONS:
            noise = noise_covariance(source, other, densities)
            point, source, densities = other, origin, finer
            moments = Moments.of(source, point, densities)
            errors = moments.full(noise)
    form = "likelihood of independent rows"
    # Likely rows take the noise that they have in common for their own: smooth ones show it.
    noise = noise_covariance(narrow, smooth, Densities.fitted(smooth.T @ some))
    likely = moments.full(noise).scaled(point)
    others = Moments.of(narrow, smooth, first).orthogonal(noise)
    if np.isfinite(likely.variances).all() and others.scaled(smooth).of_rows < likely.of_rows:
        point, errors, form = smooth, others, "orthogonal, smooth since noise buries sources"
    cost = full_problem(source, densities).cost.at(point.astype(source.dtype)).value
    return _record(point, errors, form, cost, iterations)


def _settled(
    narrow: Samples,
    wide: Samples,
    samples: np.ndarray,
    point: np.ndarray,
    densities: Densities,
    variances: np.ndarray | None = None,
) -> tuple[np.ndarray, Samples, Densities, int]:
    """Return likely rows, the data they are from and their densities, which follow each other.

    Rows that are not told apart have Gaussian densities meanwhile: what they differ by is chance,
    as is a step that is no shorter than the one before.
    """
    iterations, last = 0, math.inf
    for _ in range(_MOST_FITS):
        alike = np.zeros(len(point)) if variances is None else np.isinf(variances).any(axis=1)
        source = narrow if densities.sharpest > _SHARP else wide
        used = densities.gaussian(alike.astype(bool))
        before, (point, taken) = point, _descend(full_problem(source, used), point)
        iterations += taken
        densities = Densities.fitted(point.T @ samples, near=densities)
        if variances is not None:
            moved = _moved(before, point, variances)
            if moved < _SETTLED or moved >= last:
                break
            last = moved
        variances = Moments.of(source, point, densities).full(0.0 * point).variances
    return point, source, densities, iterations


def _are_sources(data: Samples, samples: np.ndarray, point: np.ndarray) -> bool:
    """Whether the magnitudes of rows hardly depend on each other, as those of sources."""

    def depend(directions: np.ndarray) -> bool:
        return bool(np.median(dependence(directions.T @ samples, per_chance=False)) > _DEPENDENT)

    # Flat sources that are mixed depend on each other until they are told apart.
    return not depend(point) or not depend(_flat_rows_apart(data, point)[0])


def _record(
    point: np.ndarray,
    errors: Errors,
    form: str,
    cost: float,
    iterations: int,
) -> Record:
    errors = errors.scaled(point)
    return {
        "directions": point / np.linalg.norm(point, axis=0),
        "variances": errors.variances,
        "gains": errors.gains,
        "common": errors.common,
        "bias": errors.bias,
        "form": form,
        "cost": cost,
        "iterations": iterations,
    }


def _flat_rows_apart(data: Samples, point: np.ndarray) -> tuple[np.ndarray, int]:
    """Return orthonormal columns whose flat rows are told apart as well.

    The sum of a surrogate of the l1 norm has its minima at peaked rows. In what these leave it
    mixes flat rows as far as it can, to where every density's slopes vanish by symmetry: there, its
    maxima from a random start are the rows.
    """
    peaked = LogCosh(FIRST_SMOOTHING)
    here = JointCost(data, peaked).at(point.astype(data.dtype))
    rest = np.flatnonzero(here.curvatures <= 0.0)
    if len(rest) < 2:
        return point, 0
    basis = point[:, rest]
    inside = turned(data, basis.T)
    start = Rotations(len(rest)).random_point(np.random.default_rng(0))
    turn, taken = _descend(orthogonal_problem(inside, Negative(peaked)), start)
    point = point.copy()
    point[:, rest] = basis @ turn
    return point, taken


def _moved(before: np.ndarray, after: np.ndarray, variances: np.ndarray) -> float:
    """Return how far rows moved, over their standard errors."""
    change = np.linalg.solve(before, after).T
    change = change / np.linalg.norm(change, axis=1, keepdims=True)
    np.fill_diagonal(change, 0.0)
    known = np.isfinite(variances) & (variances > 0.0)
    known[np.isinf(variances).any(axis=1)] = False  # rows that are not told apart turn freely
    return float(np.sqrt(np.mean(change[known] ** 2 / variances[known]))) if known.any() else 0.0


def _stages(surrogate: Any) -> Iterable[Any]:
    sharper = getattr(surrogate, "sharper", None)
    return [surrogate] if sharper is None else sharper()


def _descend(problem: Any, point: np.ndarray) -> tuple[np.ndarray, int]:
    tolerance = _TOLERANCE * math.sqrt(len(point))
    solver = TrustRegion(tolerance=tolerance, goal="first-order", max_iterations=_ITERATIONS)
    result = completed(solver.solve(problem, point.astype(problem.cost.dtype), rng=0))
    return result.point.astype(np.float64), result.iterations


def _moved_by(block: np.ndarray, step: np.ndarray) -> np.ndarray:
    return block + step[:, None].astype(block.dtype)
