"""What counts as zero in a row of coefficients, and the samples where it is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

_VANISHING = 1e-11  # |<q, y>| / |y| that counts as zero: rounding leaves some 1e-14
_VANISHING_SINGLE = 1e-5  # and in float32


@dataclass(frozen=True, eq=False)
class Zeros:
    """How many entries of a row q'Y vanish to rounding where the sample does not.

    Attributes
    ----------
    count : int
    gram : ndarray, shape (n, n)
        The Gram matrix of some of those samples, in float64.
    """

    count: int
    gram: np.ndarray


def zeros_of(data: np.ndarray, lengths: np.ndarray, direction: np.ndarray, most: int) -> Zeros:
    """Find the zeros of the row q'Y, and the Gram matrix of about ``most`` samples among them.

    Parameters
    ----------
    data, lengths : ndarray, shapes (n, p) and (p,)
        Y, and the lengths of its columns.
    direction : ndarray, shape (n,)
        q.
    most : int
        At least as many samples, if there are, and less than twice as many.
    """
    size = np.abs(direction.astype(data.dtype) @ data)
    vanishing = np.flatnonzero((size <= threshold(data.dtype) * lengths) & (lengths > 0))
    some = vanishing[:: max(len(vanishing) // most, 1)]
    samples = np.take(data, some, axis=1).astype(np.float64, copy=False)
    return Zeros(len(vanishing), samples @ samples.T)


def clear_rounding(
    X: np.ndarray, lengths: np.ndarray, scales: np.ndarray, exact: np.ndarray
) -> None:
    """Set to zero what rounding left of zeros, in place.

    Parameters
    ----------
    X : ndarray, shape (r, p)
        Coefficients scales * Q'Y.
    lengths : ndarray, shape (p,)
        Those of the columns of Y.
    scales : ndarray, shape (r,)
    exact : ndarray of bool, shape (r,)
        Which rows are exactly sparse; the others are left alone.
    """
    for row in np.flatnonzero(exact):
        X[row, np.abs(X[row]) <= threshold(X.dtype) * scales[row] * lengths] = 0.0


def threshold(dtype: np.dtype) -> float:
    """What counts as zero, relative to the length of the sample."""
    return _VANISHING_SINGLE if dtype == np.float32 else _VANISHING
