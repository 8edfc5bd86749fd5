"""Offsets: Y = A X + b, with data that are whitened less their mean, beside a row of ones.

The row space of [Y; 1] does not depend on constants that are added to the rows of Y. Ones are
orthogonal to the data less their mean, so that these are whitened alone: no offset, however large,
makes that less accurate, and what counts as zero follows from the condition number of the data less
their mean. An exactly sparse row is a row of these data and a multiple of the ones.

Whether there is an offset is asked of the mean alone: if independent samples of mean 0 are hardly
ever as far from 0, the offset is an unknown. Exact rows answer the rest. If the offset is zero to
rounding, there is none; if rows are not exact without an offset, they may be with one that the mean
does not show.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from riemtr.data.blocks import Samples, mean_of
from riemtr.recovery.candidates import are_exact, onto_zeros
from riemtr.recovery.report import Recovery
from riemtr.recovery.task import Task
from riemtr.recovery.whitening import Preconditioned, power_of_two, whitened_less

# Samples from which the spread of a mean is estimated: so many per row, and at least so many.
_SPREAD_SAMPLES, _FEWEST_SPREAD_SAMPLES = 16, 100
# Standard deviations from which a mean of the samples is not zero by chance.
_MEAN_DEVIATIONS = 6.0
# How much less zeros have left with an offset than without one, if there is one.
_MUCH_FINER = 10.0


def mean(Y: Samples) -> np.ndarray:
    """Return the mean of the samples, in float64."""
    unit = power_of_two(Y) if Y.largest > 1.0 else 1.0  # or sums could overflow
    return mean_of(Y, unit)


def is_zero_by_chance(Y: Samples, centre: np.ndarray) -> bool:
    """Whether the mean of the samples is no larger than independent samples of mean 0 make it.

    For n rows and p samples, p times the squared length of the mean in whitened coordinates
    (Hotelling's statistic) has mean n and variance 2 n. It is zero if there is nothing but a mean.
    """
    n, p = Y.shape
    numbers = np.arange(0, p, max(p // max(_SPREAD_SAMPLES * n, _FEWEST_SPREAD_SAMPLES), 1))
    samples = Y.take(numbers)
    size = float(np.abs(samples).max())
    if size == 0.0 or len(numbers) <= n + 2:
        return True
    samples, centre = samples.astype(np.float64) / size, centre / size
    samples -= samples.mean(axis=1, keepdims=True)
    _, values, right = np.linalg.svd(np.linalg.qr(samples.T, mode="r"))
    rounding = n * float(np.finfo(Y.dtype).eps)
    right = right[: np.count_nonzero(values > rounding * math.sqrt(len(numbers)))]
    if not len(right):
        return True
    inside = right @ centre
    if float(np.linalg.norm(centre - inside @ right)) > rounding:
        return False
    square = float(np.sum((inside / values[: len(right)]) ** 2)) * (len(numbers) - len(right) - 2)
    return p * square - len(right) <= _MEAN_DEVIATIONS * math.sqrt(2.0 * len(right))


def beside_ones(Y: Samples, centre: np.ndarray, rank: int | str | None) -> Preconditioned | None:
    """Whiten [Y; 1], the data with a row of ones below, which stand for an offset.

    In the whitened data the ones are the first row. ``matrix`` maps [Y; 1] to these, and
    ``inverse`` maps them back.

    Parameters
    ----------
    Y : Samples
        The data.
    centre : ndarray, shape (n,)
        The mean of the samples.
    rank : None, int or "auto"
        As for :func:`riemtr.precondition`, of Y less its mean. None keeps n directions, or n - 1 if
        the ones are a combination of the rows of Y, as in data that add up to 1.

    Returns
    -------
    Preconditioned or None
        None if Y less its mean does not have that rank, or not more samples.
    """
    n, p = Y.shape
    moved = Y.mapped(_moved, centre, rows=n, largest=2.0 * Y.largest)
    again = mean(moved)  # what rounding leaves, in single precision above all
    moved = moved.mapped(_moved, again, rows=n, largest=2.0 * Y.largest, over=True)
    centre = centre + again
    white = whitened_less(moved, centre, Y, rank)
    if white is None or white.rank + 1 >= p:
        return None
    r, kind = white.rank, Y.dtype
    matrix, inverse = np.zeros((r + 1, n + 1), kind), np.zeros((n + 1, r + 1), kind)
    matrix[1:, :n], matrix[1:, n], matrix[0, n] = white.matrix, -white.matrix @ centre, 1.0
    inverse[:n, 1:], inverse[:n, 0], inverse[n, 0] = white.inverse, centre, 1.0
    basis = np.zeros((n + 1, r + 1), kind)
    basis[:n, 1:], basis[n, 0] = white.basis, 1.0
    data = white.data.mapped(_below_ones, rows=r + 1)
    return replace(white, data=data, matrix=matrix, inverse=inverse, basis=basis, rank=r + 1)


def _moved(block: np.ndarray, centre: np.ndarray) -> np.ndarray:
    out = np.empty_like(block)
    return np.subtract(block, centre[:, None], out=out, dtype=np.float64, casting="same_kind")


def _below_ones(block: np.ndarray) -> np.ndarray:
    return np.vstack([np.ones((1, block.shape[1]), dtype=block.dtype), block])


# --- with an offset or without -------------------------------------------------------------------


def may_have_one(task: Task, found: Recovery) -> bool:
    """Whether rows that were found without an offset may be exact with one.

    An offset that the mean does not show leaves no row exact, or none to the last digit.
    """
    return not task.constant and _digits_left(found) > 0.0


def is_next_to(task: Task, other: Task, found: Recovery) -> bool:
    """Whether more rows than were exact without an offset are next to exactly sparse ones with it.

    With a small offset the differences of two rows may be exactly sparse, and no row is.
    """
    n = other.white.matrix.shape[1]
    directions = other.white.matrix.T.astype(np.float64) @ found.directions
    directions = task.white.inverse[:n].T.astype(np.float64) @ directions
    for row in task.known:
        directions -= np.outer(row.direction, row.direction @ directions)
    moved = onto_zeros(task, directions / np.linalg.norm(directions, axis=0)).directions
    exact = 0 if found.encoder.precision else sum(atom.exact for atom in found.atoms)
    return are_exact(task, moved, exact / len(found.atoms))


def is_better(found: Recovery, before: Recovery) -> bool:
    """Whether all rows are exact, to more digits than without an offset, which is not zero."""
    finer = _MUCH_FINER * _digits_left(found) < _digits_left(before)
    return finer and not found.offset_is_rounding


def _digits_left(found: Recovery) -> float:
    """Return what the zeros of rows have left beyond rounding; infinite where a row has none."""
    return found.encoder.precision if all(atom.exact for atom in found.atoms) else math.inf
