"""Blocks of columns: sums and products over all samples without a second copy of the data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")

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


@dataclass(frozen=True, eq=False)
class Blocks:
    """A matrix in memory as blocks of columns, to which functions are sent.

    :class:`riemtr.data.partitioned.Partitioned` is the same for matrices that Dask keeps.

    Parameters
    ----------
    array : ndarray, shape (n, p)
    pool : concurrent.futures.Executor, optional
        Threads that visit blocks beside each other; the results do not depend on it.

    Examples
    --------
    >>> data = Blocks(np.arange(6.0).reshape(2, 3))
    >>> data.total(lambda block, first: (float(block.sum()), block.shape[1]))
    (15.0, 3)
    """

    array: np.ndarray
    pool: Executor | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """(n, p)."""
        return self.array.shape[0], self.array.shape[1]

    @property
    def dtype(self) -> np.dtype:
        """The floating-point type."""
        return self.array.dtype

    @cached_property
    def slices(self) -> list[slice]:
        """The columns of each block, which depend on nothing but the shape."""
        return column_blocks(self.array.shape)

    def visit(
        self, function: Callable[..., T], *arguments: Any, each: Sequence[Any] | None = None
    ) -> list[T]:
        """Return ``function(block, first, *arguments)`` of every block, in their order.

        ``first`` is the number of the block's first column; ``each`` has one further argument for
        every block.
        """
        tasks = [
            (
                self.array[:, columns],
                columns.start,
                *arguments,
                *([] if each is None else [each[k]]),
            )
            for k, columns in enumerate(self.slices)
        ]
        if self.pool is None or len(tasks) == 1:
            return [function(*task) for task in tasks]
        return list(self.pool.map(lambda task: function(*task), tasks))

    def total(self, function: Callable[..., Any], *arguments: Any, merge: Any = None) -> Any:
        """Return the sum of the tuples that :meth:`visit` returns, or ``merge`` of them."""
        return (merge or add_up)(self.visit(function, *arguments))

    def take(self, indices: np.ndarray) -> np.ndarray:
        """Return the columns of those numbers, in increasing order, as an array."""
        return np.take(self.array, np.unique(indices), axis=1)


def add_up(parts: Sequence[tuple[Any, ...]]) -> tuple[Any, ...]:
    """Add tuples entry by entry."""
    return tuple(sum(rest, start=first) for first, *rest in zip(*parts, strict=True))
