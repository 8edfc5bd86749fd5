"""What counts as zero in a row of coefficients, and the samples where it is."""

from __future__ import annotations

import numpy as np

_VANISHING = 1e-11  # |<q, y>| / |y| that counts as zero: rounding leaves some 1e-14
_VANISHING_SINGLE = 1e-5  # and in float32
_NOISE = 2.0  # what rounding leaves, over eps times the condition number: 1.1 in 58 recoveries
_DENSEST = 8  # one of so many entries: fewer than are zero in any sparse row, and no few of them
_LARGEST = 1e-4  # beyond, small coefficients are no less likely than rounding


def magnitudes(data: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """Return the magnitudes of the row q'Y."""
    return np.abs(direction.astype(data.dtype) @ data)


def densest_values(rows: np.ndarray) -> np.ndarray:
    """Return of each row the value that the most entries are next to: its zeros, if they are moved.

    It is the middle of the shortest interval that holds an eighth of the entries.

    Examples
    --------
    >>> rows = np.array([[0.0, 5.0, 0.0, -3.0, 9.0, 0.0, 1.0, 0.0] * 4])
    >>> densest_values(rows - 0.7)
    array([-0.7])
    """
    ordered = np.sort(rows, axis=1).astype(np.float64)
    count = max(ordered.shape[1] // _DENSEST, 1)
    widths = ordered[:, count:] - ordered[:, : ordered.shape[1] - count]
    first = np.argmin(widths, axis=1)
    return ordered[np.arange(len(rows)), first + count // 2]


def zero_samples(
    data: np.ndarray, lengths: np.ndarray, size: np.ndarray, vanishing: float, most: int
) -> tuple[int, np.ndarray, np.ndarray]:
    """Count the zeros of the row q'Y, and return about ``most`` of their samples and lengths.

    Parameters
    ----------
    data, lengths : ndarray, shapes (n, p) and (p,)
        Y, and the lengths of its columns.
    size : ndarray, shape (p,)
        The row's :func:`magnitudes`.
    vanishing : float
        What counts as zero, relative to the length of the sample: see :func:`threshold`.
    most : int
        At least as many samples, if there are, and less than twice as many.
    """
    zeros = np.flatnonzero((size <= vanishing * lengths) & (lengths > 0))
    some = zeros[:: max(len(zeros) // most, 1)]
    samples = np.take(data, some, axis=1).astype(np.float64, copy=False)
    return len(zeros), samples, lengths[some]


def clear_rounding(
    X: np.ndarray, lengths: np.ndarray, scales: np.ndarray, vanishing: np.ndarray
) -> None:
    """Set to zero what counts as zero, in place.

    Parameters
    ----------
    X : ndarray, shape (r, p)
        Coefficients scales * Q'Y.
    lengths : ndarray, shape (p,)
        Those of the columns of Y.
    scales, vanishing : ndarray, shape (r,)
        What counts as zero is relative to the lengths: see :func:`threshold`.
    """
    for row, scale, share in zip(X, scales, vanishing, strict=True):
        row[np.abs(row) <= (share * scale) * lengths] = 0.0


def threshold(dtype: np.dtype, condition: float) -> float:
    """What counts as zero, relative to the length of the sample.

    Parameters
    ----------
    dtype : numpy.dtype
    condition : float
        How much whitening multiplies rounding errors of the data by, in the direction concerned.

    Examples
    --------
    >>> threshold(np.dtype(np.float64), 1.0)
    1e-11
    >>> threshold(np.dtype(np.float64), 1e7) > 1e-9
    True
    """
    least = _VANISHING_SINGLE if dtype == np.float32 else _VANISHING
    noise = _NOISE * float(np.finfo(dtype).eps) * condition
    return max(least, min(noise, _LARGEST))
