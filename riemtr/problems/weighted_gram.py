"""Weighted Gram matrices Y diag(w) Y', formed in blocks."""

from __future__ import annotations

import numpy as np

from riemtr.data.blocks import column_blocks

# Share of columns below which gathering them costs less than multiplying the others by zero.
_WORTH_GATHERING = 0.65


def weighted_gram(
    data: np.ndarray, weights: np.ndarray, active: np.ndarray, dtype: np.dtype
) -> np.ndarray:
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
    matrix = np.zeros((n, n), dtype=dtype)
    for here in column_blocks(data.shape):
        columns, chosen = data[:, here], weights[here]
        if gather:
            kept = np.flatnonzero(active[here])
            columns, chosen = taken(columns, kept), chosen[kept]
        matrix += _gram(columns, chosen, dtype)
    return matrix


def taken(columns: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Return some of the columns, in the memory layout that they have."""
    if columns.flags.f_contiguous:
        return np.take(columns.T, kept, axis=0).T
    return np.take(columns, kept, axis=1)


def _gram(columns: np.ndarray, weights: np.ndarray, dtype: np.dtype) -> np.ndarray:
    scaled = np.multiply(columns, np.sqrt(weights), dtype=dtype, casting="same_kind")
    return scaled @ scaled.T
