"""What counts as zero in a row of coefficients, and the samples where it is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

_VANISHING = 1e-11  # |<q, y>| / |y| that counts as zero: rounding leaves some 1e-14
_VANISHING_SINGLE = 1e-5  # and in float32
_NOISE = 2.0  # what rounding leaves, over eps times the condition number: 1.1 in 58 recoveries
_LARGEST = 1e-4  # beyond, small coefficients are no less likely than rounding


@dataclass(frozen=True, eq=False)
class Zeros:
    """How many entries of a row q'Y vanish to rounding where the sample does not.

    Attributes
    ----------
    count : int
    unit_gram : ndarray, shape (n, n)
        The Gram matrix of some of those samples, brought to unit length, in float64.
    eighth : float
        The sum of the eighth powers of the whole row: its fourth root is near the largest square.
    """

    count: int
    unit_gram: np.ndarray
    eighth: float


def zeros_of(
    data: np.ndarray, lengths: np.ndarray, direction: np.ndarray, vanishing: float, most: int
) -> Zeros:
    """Find the zeros of the row q'Y, and the Gram matrix of about ``most`` samples among them.

    Parameters
    ----------
    data, lengths : ndarray, shapes (n, p) and (p,)
        Y, and the lengths of its columns.
    direction : ndarray, shape (n,)
        q.
    vanishing : float
        What counts as zero, relative to the length of the sample: see :func:`threshold`.
    most : int
        At least as many samples, if there are, and less than twice as many.
    """
    size = magnitudes(data, direction)
    count, samples, sizes = zero_samples(data, lengths, size, vanishing, most)
    units, powers = samples / sizes, size.astype(np.float64) ** 4
    return Zeros(count, units @ units.T, float(powers @ powers))


def magnitudes(data: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """Return the magnitudes of the row q'Y."""
    return np.abs(direction.astype(data.dtype) @ data)


def zero_samples(
    data: np.ndarray, lengths: np.ndarray, size: np.ndarray, vanishing: float, most: int
) -> tuple[int, np.ndarray, np.ndarray]:
    """Count the zeros of the row q'Y, and return about ``most`` of their samples and lengths.

    ``size`` are its :func:`magnitudes`; the other parameters are those of :func:`zeros_of`.
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


def count_zeros(X: np.ndarray) -> list[int]:
    """Count the zeros of every row where the sample is not zero.

    Examples
    --------
    >>> count_zeros(np.array([[0.0, 0.0, 1.0], [0.0, 2.0, 3.0]]))
    [1, 0]
    """
    empty = np.ones(X.shape[1], dtype=bool)
    for row in X:
        empty &= row == 0
    nothing = np.count_nonzero(empty)
    return [int(np.count_nonzero(row == 0) - nothing) for row in X]


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
