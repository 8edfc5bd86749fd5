"""Blocks of columns: sums and products over all samples without a second copy of the data."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

_IN_CACHE = 2**18  # entries (2 MB of float64): a block and what is computed from it stay in cache
_FULL_SPEED = 2**20  # entries (8 MB) from which matrix products run at full speed
_NARROWEST = 256  # and columns


def column_blocks(shape: tuple[int, ...]) -> list[slice]:
    """Return the columns of an n x p matrix as slices that fit the cache, n x width each.

    Examples
    --------
    >>> column_blocks((2**16, 6))
    [slice(0, 4, None), slice(4, 6, None)]
    """
    n, p = shape
    return _slices(p, max(_IN_CACHE // max(n, 1), 1))


def product_blocks(data: np.ndarray, unit: float = 1.0) -> Iterator[tuple[slice, np.ndarray]]:
    """Iterate over blocks of columns of ``unit * data`` in float64, without a copy if possible.

    They are large enough for matrix products at full speed.
    """
    n, p = data.shape
    ready = data.dtype == np.float64 and data.itemsize in data.strides and min(data.strides) > 0
    for columns in _slices(p, max(_FULL_SPEED // max(n, 1), _NARROWEST)):
        block = data[:, columns]
        if not ready:  # BLAS reads neither float32 in double precision nor arbitrary strides
            block = np.ascontiguousarray(block, dtype=np.float64)
        yield columns, block if unit == 1 else block * unit


def gram(data: np.ndarray, unit: float = 1.0) -> np.ndarray:
    """Return the Gram matrix ``unit^2 M M'`` of an n x p matrix M, summed in float64.

    Examples
    --------
    >>> gram(np.array([[1, 2, 3], [0, 1, 0]], dtype=np.float32))
    array([[14.,  2.], [ 2.,  1.]])
    """
    total = np.zeros((data.shape[0], data.shape[0]))
    for _, block in product_blocks(data, unit):
        total += block @ block.T
    return total


def column_lengths(data: np.ndarray) -> np.ndarray:
    """Return the Euclidean length of each column."""
    lengths = np.empty(data.shape[1])
    for columns in column_blocks(data.shape):
        block = data[:, columns]
        lengths[columns] = np.sqrt(np.einsum("ij,ij->j", block, block))
    return lengths


def _slices(count: int, width: int) -> list[slice]:
    return [slice(first, min(first + width, count)) for first in range(0, count, width)]
