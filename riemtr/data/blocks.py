"""Samples: a data matrix as blocks of columns, wherever it is, to which functions are sent.

What is computed from data here are sums over samples, and maps of samples. One protocol,
:class:`Samples`, has both for a matrix in memory (:class:`Blocks`) and for a matrix that Dask keeps
(:class:`riemtr.data.dask_arrays.Partitioned`), without a second copy of the data.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from typing import Any, Protocol, TypeVar

import numpy as np

from riemtr.data.matrices import check_data, largest_entry

T = TypeVar("T")

_IN_CACHE = 2**18  # entries (2 MB of float64): a block and what is computed from it stay in cache
_FULL_SPEED = 2**20  # entries (8 MB) from which matrix products run at full speed
_NARROWEST = 256  # and columns
_LINE = 64  # bytes: a cache line, and the widest registers


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


class Samples(Protocol):
    """An n x p matrix whose columns are samples, wherever it is."""

    @property
    def array(self) -> np.ndarray | None:
        """The whole matrix if it is in memory, else None."""

    @property
    def shape(self) -> tuple[int, int]:
        """(n, p)."""

    @property
    def dtype(self) -> np.dtype:
        """The floating-point type."""

    @property
    def largest(self) -> float:
        """The largest absolute entry; NaN where nobody looked for it."""

    def with_pool(self, pool: Executor | None) -> Samples:
        """Return the same, whose blocks in memory are visited by the threads of a pool."""

    def visit(
        self, function: Callable[..., T], *arguments: Any, each: Sequence[Any] | None = None
    ) -> list[T]:
        """Return ``function(block, first, *arguments)`` of every block, in their order.

        ``first`` is the number of the block's first column; ``each`` has one further argument for
        every block.
        """

    def total(self, function: Callable[..., Any], *arguments: Any, merge: Any = None) -> Any:
        """Return the sum of the tuples that :meth:`visit` returns, or ``merge`` of them."""

    def mapped(
        self,
        function: Callable[..., np.ndarray],
        *arguments: Any,
        rows: int,
        over: bool = False,
        largest: float = math.nan,
    ) -> Samples:
        """Return the matrix whose blocks are ``function(block, *arguments)``.

        The function keeps the number of columns and the type. With ``over`` the blocks of a matrix
        in memory are overwritten. ``largest`` is a bound of the new entries, if one is known.
        """

    def take(self, indices: np.ndarray) -> np.ndarray:
        """Return the columns of those numbers, as an array."""

    def narrowed(self, most: int) -> Samples:
        """Return a copy in single precision if up to so many entries are in memory, else itself."""

    def kept(self) -> Samples:
        """Return the same, with its blocks where they need not be computed again."""

    def alone(self) -> Samples:
        """Return the same without the memory of a larger matrix that it is a part of."""

    def as_array(self) -> Any:
        """Return the matrix as the user has it: an array, or a Dask array."""


@dataclass(frozen=True, eq=False)
class Blocks:
    """A matrix in memory: :class:`Samples` whose blocks fit the cache.

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
        """Return ``function(block, first, *arguments)`` of every block, in their order."""
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

    @cached_property
    def largest(self) -> float:
        """The largest absolute entry."""
        return largest_entry(self.array)

    def with_pool(self, pool: Executor | None) -> Blocks:
        """Return the same, visited by the threads of a pool."""
        return Blocks(self.array, pool)

    def mapped(
        self,
        function: Callable[..., np.ndarray],
        *arguments: Any,
        rows: int,
        over: bool = False,
        largest: float = math.nan,
    ) -> Blocks:
        """Return the matrix whose blocks are ``function(block, *arguments)``."""
        new = self.array[:rows] if over else empty_aligned((rows, self.shape[1]), self.dtype)
        self.visit(_fill, new, function, arguments)
        return Blocks(new, self.pool)

    def take(self, indices: np.ndarray) -> np.ndarray:
        """Return the columns of those numbers, as an array."""
        return np.take(self.array, indices, axis=1)

    def narrowed(self, most: int) -> Blocks:
        """Return a copy in single precision if there are up to so many entries, else itself."""
        if self.dtype == np.float32 or self.array.size > most:
            return self
        return Blocks(self.array.astype(np.float32), self.pool)

    def kept(self) -> Blocks:
        """Return the same."""
        return self

    def alone(self) -> Blocks:
        """Return a copy, which frees the rest of a larger array."""
        return Blocks(self.array.copy(), self.pool)

    def as_array(self) -> np.ndarray:
        """Return the matrix."""
        return self.array


def _fill(
    block: np.ndarray,
    first: int,
    new: np.ndarray,
    function: Callable[..., np.ndarray],
    arguments: tuple[Any, ...],
) -> None:
    new[:, first : first + block.shape[1]] = function(block, *arguments)


def samples_of(data: Any) -> Samples:
    """Return samples as they are, and an array that was checked as samples in memory."""
    return Blocks(data) if isinstance(data, np.ndarray) else data


def is_dask_array(Y: Any) -> bool:
    """Tell whether Y is a Dask array, without importing Dask."""
    return _is_of_dask(Y) and hasattr(Y, "chunks")


def _is_of_dask(Y: Any) -> bool:
    return type(Y).__module__.partition(".")[0] == "dask"


def as_data(Y: Any, name: str = "Y") -> Samples:
    """Check a data matrix from the user, and return its samples.

    See :func:`riemtr.data.check_data` for what is accepted. A Dask array stays where it is. Chunks
    that split the features are joined, and the samples split instead, into blocks no larger than
    the largest chunk was. Small neighbours are joined to blocks of up to 4 MB, since every visit
    costs its round trip; how depends on the chunks alone.
    """
    if not _is_of_dask(Y):
        return Blocks(check_data(Y, name))
    if hasattr(Y, "to_dask_array"):  # numpy would gather it
        raise TypeError(
            f"{name} must be an array, features x samples; got a Dask {type(Y).__name__}; pass "
            f"{name}.to_dask_array(lengths=True).T if its rows are samples"
        )
    if not is_dask_array(Y):
        return Blocks(check_data(Y, name))
    from riemtr.data.dask_arrays import partition  # made of blocks from here

    return partition(Y, name)


def add_up(parts: Sequence[tuple[Any, ...]]) -> tuple[Any, ...]:
    """Add tuples entry by entry."""
    return tuple(sum(rest, start=first) for first, *rest in zip(*parts, strict=True))


# --- where arrays lie ----------------------------------------------------------------------------
#
# What arrives from another process is a view into its message, at any address. Products and sums of
# such arrays are slower, as numpy copies them each time, and round differently, as it then calls
# other kernels; of other libraries, kernels may depend on finer alignments. The same bits in every
# run need the same alignment: addresses are multiples of a cache line, in every run and process.


def empty_aligned(shape: tuple[int, ...], dtype: Any, order: Any = "C") -> np.ndarray:
    """Return an array of any content that begins at a multiple of 64 bytes."""
    dtype = np.dtype(dtype)
    memory = np.empty(math.prod(shape) * dtype.itemsize + _LINE, dtype=np.uint8)
    return np.ndarray(shape, dtype, memory, -_address(memory) % _LINE, order=order)


def aligned(value: Any) -> Any:
    """Return an array that lies in one piece from a multiple of 64 bytes on: itself, or a copy.

    Fortran order stays. In tuples and dataclasses, so are all arrays; the rest is left as it is.
    """
    if isinstance(value, np.ndarray):
        return _aligned_array(value)
    if isinstance(value, tuple):
        return tuple(aligned(each) for each in value)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{f.name: aligned(getattr(value, f.name)) for f in fields(value)})
    return value


def _aligned_array(array: np.ndarray) -> np.ndarray:
    flags = array.flags
    in_order = flags.c_contiguous or flags.f_contiguous
    if array.dtype.hasobject or (in_order and _address(array) % _LINE == 0):
        return array
    copy = empty_aligned(
        array.shape, array.dtype, "C" if flags.c_contiguous or not in_order else "F"
    )
    copy[...] = array
    return copy


def _address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def mean_of(samples: Samples, unit: float = 1.0) -> np.ndarray:
    """Return the mean of the samples in float64, summed in a unit in which nothing overflows."""
    return samples.total(_sum, unit)[0] / samples.shape[1] / unit


def gram_of(samples: Samples, unit: float = 1.0) -> np.ndarray:
    """Return the Gram matrix of ``unit`` times the samples."""
    return samples.total(_gram, unit)[0]


def turned(samples: Samples, turn: np.ndarray) -> Samples:
    """Return ``turn`` times the samples, where they need not be computed again."""
    return samples.mapped(_turned, turn, rows=len(turn)).kept()


def _sum(block: np.ndarray, first: int, unit: float) -> tuple[np.ndarray]:
    scaled = block if unit == 1.0 else block * block.dtype.type(unit)
    return (scaled.sum(axis=1, dtype=np.float64),)


def _gram(block: np.ndarray, first: int, unit: float) -> tuple[np.ndarray]:
    return (gram(block, unit),)


def _turned(block: np.ndarray, turn: np.ndarray) -> np.ndarray:
    return turn.astype(block.dtype) @ block
