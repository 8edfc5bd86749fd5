"""Weighted Gram matrices Y diag(w) Y', formed in blocks, and bounded from below where w changed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from riemtr.data.blocks import column_blocks

# Share of columns below which gathering them costs less than multiplying the others by zero.
_WORTH_GATHERING = 0.65
# A floor lets go of this share of an earlier matrix, so that only columns which lost more than that
# need a correction; it is worth its price up to this share of such columns, and keeps its digits
# up to this share of the matrix.
_SLACK = 0.03
_MOST_COLUMNS = 0.25
_MOST_CORRECTION = 0.5


class WeightedGram(NamedTuple):
    """The matrix Y diag(w) Y' with the weights that are in it."""

    matrix: np.ndarray
    weights: np.ndarray


def weighted_gram(
    data: np.ndarray, weights: np.ndarray, active: np.ndarray, dtype: np.dtype
) -> WeightedGram:
    """Return Y diag(w) Y', multiplied in the given floating-point type.

    Parameters
    ----------
    data : ndarray of shape (n, p)
    weights : ndarray of shape (p,)
        Nonnegative.
    active : ndarray of bool, shape (p,)
        Columns whose weight is not negligible; the others are left out where that saves time.
    dtype : dtype
    """
    n, p = data.shape
    gather = np.count_nonzero(active) < _WORTH_GATHERING * p
    if gather:
        weights = np.where(active, weights, 0.0)
    matrix = np.zeros((n, n), dtype=dtype)
    for here in column_blocks(data.shape):
        columns, chosen = data[:, here], weights[here]
        if gather:
            kept = np.flatnonzero(active[here])
            columns, chosen = _taken(columns, kept), chosen[kept]
        matrix += _gram(columns, chosen, dtype)
    return WeightedGram(matrix, weights)


def floor_of_gram(
    data: np.ndarray, weights: np.ndarray, earlier: WeightedGram
) -> np.ndarray | None:
    r"""Return a matrix that Y diag(w) Y' nowhere falls below, from one with earlier weights v.

    With :math:`\kappa = 0.97` and B the columns that lost more than that, :math:`w_k < \kappa v_k`,

    .. math:: Y \mathrm{diag}(w) Y' \succeq
        \kappa\, Y \mathrm{diag}(v) Y' - \sum_{k \in B} (\kappa v_k - w_k)\, y_k y_k',

    since the difference is a sum of squares with nonnegative weights. Between close points B is
    small, and the bound costs a fraction of the matrix.

    Returns
    -------
    ndarray of shape (n, n), or None
        In the precision of the earlier matrix; None where too much has changed.
    """
    kept = (1.0 - _SLACK) * earlier.weights
    lost = weights < kept
    count = np.count_nonzero(lost)
    if count > _MOST_COLUMNS * weights.size:
        return None
    floor = (1.0 - _SLACK) * earlier.matrix
    if count == 0:
        return floor
    correction = weighted_gram(
        data, np.where(lost, kept - weights, 0.0), lost, earlier.matrix.dtype
    ).matrix
    if not _norm(correction) <= _MOST_CORRECTION * _norm(floor):
        return None
    return floor - correction


def _taken(columns: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Return some of the columns, in the memory layout that they have."""
    if columns.flags.f_contiguous:
        return np.take(columns.T, kept, axis=0).T
    return np.take(columns, kept, axis=1)


def _norm(matrix: np.ndarray) -> float:
    """Frobenius norm, of float32 as well, whose squares would overflow."""
    return float(np.linalg.norm(matrix.astype(float)))


def _gram(columns: np.ndarray, weights: np.ndarray, dtype: np.dtype) -> np.ndarray:
    scaled = np.multiply(columns, np.sqrt(weights), dtype=dtype, casting="same_kind")
    return scaled @ scaled.T
