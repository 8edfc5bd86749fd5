r"""Rows that are exactly sparse, many at once: snapping onto their zeros, and a dual for each.

Near an exactly sparse row, the smallest coefficients of a direction are those that vanish at the
row itself. Demanding that the 2n smallest vanish determines the row (:func:`snap`), where a linear
program would find the same in a hundred times the work.

The proof of optimality is a dual of the paper's linear program (eqn:LP_rounding) with r = q,

    min_x |x'Y|_1   s.t.  <q, x> = 1 ,      Y t = lambda q,  |t|_inf <= 1 :

t is the sign of q'y where that is not zero, and y'v / |y| on the zeros, with the v that makes Y t a
multiple of q: loud samples get no larger share of it than others. One conjugate-gradient iteration
on v, for all rows, is two products of matrices (:func:`prove`). Where the data are many, v is made
of a first guess on all of them, and of a correction on a sample, which takes out what the guess
leaves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from riemtr.data.blocks import Blocks, Samples, column_lengths
from riemtr.recovery.evidence import different_directions
from riemtr.recovery.rounding import Rounding, uncertainty

# Zeros that determine a row: twice as many as it has unknowns, and some more in few dimensions,
# where samples of one or two sources lie in few planes.
_ZEROS_PER_DIMENSION = 2
_MORE_ZEROS = 64
# Rounds of choosing the smallest coefficients and solving, each from the row of the last one.
_ROUNDS = 4
# The largest coefficient on those zeros, relative to the sample, that data of few digits leave.
FEWEST_DIGITS = 1e-5
# The largest coefficient on those zeros that ends the rounds: rounding leaves some 1e-15.
_SNAPPED = 1e-14
# The same from which zeros are not zero to rounding, and more of them determine the row better.
_NOT_ROUNDING = 1e-12
# Dimensions up to which that costs nothing, and is done in any case.
_FEW_DIMENSIONS = 32
# How much larger other zeros may be than those that were chosen for being small.
_MUCH_WIDER = 10.0
# How much larger they may be than those that were chosen evenly.
_WIDER = 3.0
# Cosine of a direction with the one that it is moved to. Where the smallest coefficients are those
# along the error of the direction, they leave that error open, and any direction in their plane.
_LEAST_OVERLAP = 0.7
# Zeros per dimension that determine a row in data of few digits.
_MANY_ZEROS_PER_DIMENSION = 16
# Entries of all samples that are gathered at once.
_GATHERED = 2**22
# Iterations of conjugate gradients for the dual, of which some 20 are needed, and their goal.
_DUAL_ITERATIONS = 100
_DUAL_RESIDUAL = 1e-14


@dataclass(frozen=True, eq=False)
class Snapped:
    """Directions on the zeros next to given ones.

    Attributes
    ----------
    directions : ndarray, shape (n, k)
        Unit columns.
    largest : ndarray, shape (k,)
        The largest coefficient on the zeros chosen, over the length of the sample: rounding, or
        the precision of the data, for a row that is exactly sparse.
    zeros : list of ndarray
        The numbers of the samples chosen, for each.
    leverages : list of ndarray
        How much each of these is needed to hold the row where it is: 1 if nothing else does.
    """

    directions: np.ndarray
    largest: np.ndarray
    zeros: list[np.ndarray]
    leverages: list[np.ndarray]


@dataclass(frozen=True, eq=False)
class Units:
    """One unit vector for every direction that samples have.

    Attributes
    ----------
    numbers : ndarray, shape (m,)
        Of the samples that they are, brought to length 1.
    vectors : ndarray, shape (m, n)
        The unit vectors, as rows.
    """

    numbers: np.ndarray
    vectors: np.ndarray

    @staticmethod
    def of(samples: np.ndarray, lengths: np.ndarray) -> Units:
        """Return those of samples, columns of an n x p array, of these lengths."""
        numbers = different_directions(samples, lengths)
        vectors = (samples[:, numbers] / lengths[numbers]).T
        return Units(numbers, np.ascontiguousarray(vectors, dtype=np.float64))


def snap(samples: Units, directions: np.ndarray) -> Snapped:
    """Move directions to where their smallest coefficients vanish.

    Parameters
    ----------
    samples : Units
        Of whitened data.
    directions : ndarray, shape (n, k)
        Unit columns.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((5, 500)) * (rng.random((5, 500)) < 0.2)
    >>> near = np.array([[1.0, 0.01, -0.02, 0.0, 0.01]]).T
    >>> found = snap(Units.of(X, np.linalg.norm(X, axis=0)), near / np.linalg.norm(near))
    >>> bool(found.largest[0] < 1e-14), np.abs(found.directions[:, 0]).round(12)
    (True, array([1., 0., 0., 0., 0.]))
    """
    n, count = directions.shape
    there, units = samples.numbers, samples.vectors
    width = min(_ZEROS_PER_DIMENSION * n + _MORE_ZEROS, len(there) // 2)
    found = np.array(directions, dtype=np.float64)
    largest = np.full(count, np.inf)
    zeros = [np.zeros(0, dtype=np.intp)] * count
    leverages = [np.zeros(0)] * count
    if width < n:
        return Snapped(found, largest, zeros, leverages)
    chunk = max(_GATHERED // (width * n), 1)
    for first in range(0, count, chunk):
        open_rows = np.arange(first, min(first + chunk, count))
        for _ in range(_ROUNDS):
            size = np.abs(found[:, open_rows].T @ units.T)
            chosen = np.argpartition(size, width, axis=1)[:, :width]
            vectors, remaining, levers = _solve(units[chosen], found[:, open_rows].T)
            overlap = np.abs(np.einsum("ki,ik->k", vectors, directions[:, open_rows]))
            better = (remaining < largest[open_rows]) & (overlap > _LEAST_OVERLAP)
            for k in np.flatnonzero(better):
                row = open_rows[k]
                found[:, row], largest[row] = vectors[k], remaining[k]
                zeros[row], leverages[row] = there[chosen[k]], levers[k]
            open_rows = open_rows[better & (remaining > _SNAPPED)]
            if not len(open_rows):
                break
    for row in np.flatnonzero(
        ((largest > _NOT_ROUNDING) | (n <= _FEW_DIMENSIONS)) & (largest <= FEWEST_DIGITS)
    ):
        better, remains = on_many_zeros(units, found[:, row], largest[row])
        if np.abs(better @ directions[:, row]) > _LEAST_OVERLAP:
            found[:, row], largest[row] = better, remains
    return Snapped(found, largest, zeros, leverages)


def zeros_that_determine(dimension: int) -> int:
    """Return how many zeros at least determine a row, if there are as many."""
    return _MANY_ZEROS_PER_DIMENSION * dimension + _MORE_ZEROS


def on_many_zeros(
    units: np.ndarray, direction: np.ndarray, largest: float
) -> tuple[np.ndarray, float]:
    """Return a direction from many of its zeros, and the largest coefficient on them.

    The smallest coefficients vanish along the error of a direction as well. Where zeros are not
    zero to rounding, as in data of few digits, others determine the row better.
    """
    wider = _MUCH_WIDER
    for _ in range(_ROUNDS):  # from the second on it knows how large zeros are
        close = np.flatnonzero(np.abs(units @ direction) <= wider * max(largest, _NOT_ROUNDING))
        most = zeros_that_determine(len(direction))
        part = units[close[:: max(len(close) // most, 1)]]
        if len(part) < len(direction):  # which determine nothing
            break
        vectors, remaining, _ = _solve(part[None], direction[None])
        direction, largest, wider = vectors[0], float(remaining[0]), _WIDER
    return direction, largest


def _solve(parts: np.ndarray, near: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return unit vectors with the least sum of squares on each part, and what remains there.

    With <r, q> = 1 for the direction r before, q is a multiple of (P'P + c r r')^-1 r: that matrix
    is well conditioned where the zeros span everything but q.
    """
    turned = parts.swapaxes(1, 2)
    gram = turned @ parts
    weight = np.trace(gram, axis1=1, axis2=2) / gram.shape[-1]
    gram += weight[:, None, None] * (near[:, :, None] * near[:, None, :])
    try:
        inverse = np.linalg.inv(gram)
    except np.linalg.LinAlgError:  # zeros that leave directions open determine nothing
        inverse = np.linalg.pinv(gram, hermitian=True)
    vector = inverse @ near[:, :, None]
    for _ in range(2):  # the second pass refines: the Gram matrix squares the condition number
        vector /= np.linalg.norm(vector, axis=1, keepdims=True)
        vector = vector - inverse @ (turned @ (parts @ vector))
    vector /= np.linalg.norm(vector, axis=1, keepdims=True)
    remaining = np.abs(parts @ vector).max(axis=1)[:, 0]
    levers = np.einsum("kij,kij->ki", parts @ inverse, parts)
    return vector[:, :, 0], np.where(np.isfinite(remaining), remaining, np.inf), levers


@dataclass(frozen=True, eq=False)
class Proof:
    """For every row: the zeros, the l1 norm, and its proven gap."""

    zeros: np.ndarray
    objectives: np.ndarray
    gaps: np.ndarray

    def rounding(self, row: int, direction: np.ndarray) -> Rounding:
        """Return a row's outcome in the form of the linear program's."""
        return Rounding(
            direction=direction,
            solution=direction,
            objective=float(self.objectives[row]),
            duality_gap=float(self.gaps[row]),
            dual=np.empty(0),
            iterations=0,
            method="zeros",
        )


def prove(
    data: Samples,
    samples: Blocks,
    share: float,
    directions: np.ndarray,
    vanishing: np.ndarray,
) -> Proof:
    """Prove rows optimal for their linear programs on all the data.

    Parameters
    ----------
    data : Samples
        All the whitened data.
    samples : Blocks
        Some of the columns of the data, or all.
    share : float
        Their share in the data: 1 if they are all.
    directions : ndarray, shape (n, k)
        Unit columns.
    vanishing : ndarray, shape (k,)
        What counts as zero in each row, over the length of the sample.
    """
    rows = np.ascontiguousarray(directions.T)
    zeros, objectives, spread, image, squares = data.total(_survey, rows, vanishing)
    # What the zeros have to balance: Y sign(q'Y) less its part along q, which is lambda.
    open_part = _without(image, rows)
    multipliers = np.zeros_like(rows)
    farthest = np.zeros(len(rows))
    if share < 1.0:
        # The eigenvalues of the sum of y y' / |y| over the zeros, were they all the same.
        typical = np.where(spread > 0.0, spread / max(len(squares) - 1, 1), np.inf)
        multipliers = open_part / typical[:, None]
        farthest, taken = data.total(_balanced, rows, vanishing, multipliers, merge=_merged)
        open_part = _without(open_part - taken, rows)
    weights = samples.visit(_weights, rows, vanishing)
    correction, left = _corrected(samples, weights, open_part, rows)
    # On the sample t is that of the guess and the correction together; elsewhere the guess alone.
    farthest = np.maximum(farthest, _largest(samples, weights, multipliers + correction))
    # What is left could be spread over the zeros at this price: see riemtr.recovery.l1_program.
    last, left = _corrected(samples, weights, left, rows)
    price = _largest(samples, weights, last)
    outside = np.sqrt(np.einsum("ij,ij->i", left, left))
    unsure = np.array([uncertainty(q, np.sqrt(squares)) for q in rows])
    with np.errstate(divide="ignore", invalid="ignore"):
        gaps = 2.0 * price + (2.0 * outside + unsure) / objectives
        gaps = np.where(farthest <= 1.0, np.minimum(gaps, 1.0), 1.0)
    gaps = np.where(objectives > 0.0, gaps, 0.0)
    return Proof(zeros.astype(np.int64), objectives, gaps)


def _without(vectors: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return vectors less their parts along the rows, each its own."""
    return vectors - np.einsum("ij,ij->i", vectors, rows)[:, None] * rows


def _zeros(rows: np.ndarray, lengths: np.ndarray, vanishing: np.ndarray) -> np.ndarray:
    return (np.abs(rows) <= vanishing[:, None] * lengths) & (lengths > 0)


def _survey(
    block: np.ndarray, first: int, directions: np.ndarray, vanishing: np.ndarray
) -> tuple[Any, ...]:
    """Return zeros, l1 norms, the zeros' lengths, Y sign(q'Y), and the squares of Y's rows."""
    block = block.astype(np.float64, copy=False)
    lengths = column_lengths(block)
    rows = directions @ block
    zero = _zeros(rows, lengths, vanishing)
    rows[zero] = 0.0
    signs = np.sign(rows)
    return (
        np.count_nonzero(zero, axis=1).astype(np.float64),
        np.abs(rows, out=rows).sum(axis=1),
        zero @ lengths,
        signs @ block.T,
        np.einsum("ij,ij->i", block, block),
    )


def _balanced(
    block: np.ndarray,
    first: int,
    directions: np.ndarray,
    vanishing: np.ndarray,
    multipliers: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest y'v / |y| on the zeros, and the sum of (y'v / |y|) y over them."""
    block = block.astype(np.float64, copy=False)
    lengths = column_lengths(block)
    inside = (multipliers @ block) / np.where(lengths > 0, lengths, 1.0)
    inside[~_zeros(directions @ block, lengths, vanishing)] = 0.0
    return np.abs(inside).max(axis=1, initial=0.0), inside @ block.T


def _merged(parts: Sequence[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    farthest, sums = zip(*parts, strict=True)
    return np.max(farthest, axis=0), np.sum(sums, axis=0)


def _weights(
    block: np.ndarray, first: int, directions: np.ndarray, vanishing: np.ndarray
) -> np.ndarray:
    """Return 1 / |y| on the zeros of every row, and 0 elsewhere."""
    block = block.astype(np.float64, copy=False)
    lengths = column_lengths(block)
    zeros = _zeros(directions @ block, lengths, vanishing)
    return zeros / np.where(lengths > 0, lengths, 1.0)


def _products(
    block: np.ndarray, first: int, vectors: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    products = vectors @ block.astype(np.float64, copy=False)
    products *= weights
    return products


def _image(block: np.ndarray, first: int, vectors: np.ndarray, weights: np.ndarray) -> np.ndarray:
    return _products(block, first, vectors, weights) @ block.T


def _peaks(block: np.ndarray, first: int, vectors: np.ndarray, weights: np.ndarray) -> np.ndarray:
    return np.abs(_products(block, first, vectors, weights)).max(axis=1, initial=0.0)


def _largest(samples: Blocks, weights: list[np.ndarray], vectors: np.ndarray) -> np.ndarray:
    """Return the largest weighted product of every vector with a sample."""
    return np.max(samples.visit(_peaks, vectors, each=weights), axis=0)


def _corrected(
    samples: Blocks, weights: list[np.ndarray], wanted: np.ndarray, rows: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return v with the weighted sum of (y'v) y as wanted, for all rows, and what is left.

    Conjugate gradients for every row beside the others: an iteration is two products of matrices.
    The row itself, which no zero holds, is kept out of all vectors.
    """

    def image_of(vectors: np.ndarray) -> np.ndarray:
        return _without(np.sum(samples.visit(_image, vectors, each=weights), axis=0), rows)

    solution = np.zeros_like(wanted)
    residual = _without(wanted, rows)
    direction = residual.copy()
    squared = np.einsum("ij,ij->i", residual, residual)
    going = squared > 0.0
    goal = _DUAL_RESIDUAL**2 * squared
    for _ in range(_DUAL_ITERATIONS):
        image = image_of(direction)
        curvature = np.einsum("ij,ij->i", direction, image)
        going &= curvature > 0.0
        length = np.where(going, squared / np.where(going, curvature, 1.0), 0.0)[:, None]
        solution += length * direction
        residual = residual - length * image
        before, squared = squared, np.einsum("ij,ij->i", residual, residual)
        going &= squared > goal
        if not going.any():
            break
        ratio = np.where(going, squared / np.where(before > 0.0, before, 1.0), 0.0)
        direction = np.where(going[:, None], residual + ratio[:, None] * direction, 0.0)
    return solution, _without(wanted, rows) - image_of(solution)
