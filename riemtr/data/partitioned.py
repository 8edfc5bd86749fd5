"""A data matrix in blocks of columns that stay where Dask keeps them.

What is computed from the data here are sums over samples, so functions are sent to the blocks and
only their small results come back, added up in a tree on the way. Nothing ever joins two blocks:
no worker, nor the process that asks, holds all of the data.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from riemtr.data.matrices import (
    as_real_array,
    check_data,
    check_shape,
    first_nonfinite,
    largest_entry,
    nonfinite,
)
from riemtr.errors import require

_FAN_IN = 8  # results added up at once, wherever they are


@dataclass(frozen=True, eq=False)
class Partitioned:
    """An n x p matrix as blocks of columns, each n x width, in the care of Dask.

    Made by :func:`as_data` from a Dask array. A block is computed from its source whenever it is
    visited, unless :meth:`kept`; a block that is lost with its worker is computed again.

    Attributes
    ----------
    blocks : tuple of dask.delayed.Delayed
        Each becomes an array of float32 or float64.
    widths : tuple of int
        Columns of each, all at least 1.
    rows : int
        n.
    dtype : numpy.dtype
    schedule : callable
        Dask's function that computes a graph: of a cluster, of threads, ...
    largest : float
        The largest absolute entry; NaN where it was not looked for.
    """

    blocks: tuple[Any, ...]
    widths: tuple[int, ...]
    rows: int
    dtype: np.dtype
    schedule: Callable[..., Any]
    largest: float = math.nan

    @property
    def shape(self) -> tuple[int, int]:
        """(n, p)."""
        return self.rows, sum(self.widths)

    def total(self, function: Callable[..., Any], *arguments: Any, merge: Any = None) -> Any:
        """Return the sum over the blocks of ``function(block, first, *arguments)``.

        Parameters
        ----------
        function : callable
            Defined at the top of a module, so that it can travel; ``first`` is the number of the
            block's first column. It returns a tuple of arrays and numbers.
        merge : callable, optional
            ``merge(results)`` in place of the sum. The order of the results is that of the columns
            and the tree depends on nothing but their number: the same blocks give the same bits.
        """
        dask = require("dask", extra="dask")
        delayed = require("dask.delayed", extra="dask").delayed
        visit = delayed(function, pure=False, traverse=False)
        merge = merge or add_up
        parts = [
            visit(block, first, *arguments)
            for block, first in zip(self.blocks, self._firsts, strict=True)
        ]
        while len(parts) > _FAN_IN:
            groups = [parts[i : i + _FAN_IN] for i in range(0, len(parts), _FAN_IN)]
            parts = [delayed(merge, pure=False)(group) for group in groups]
        results = dask.compute(*parts, scheduler=self.schedule)
        return merge(results) if len(results) > 1 else results[0]

    def mapped(
        self, function: Callable[..., np.ndarray], *arguments: Any, rows: int
    ) -> Partitioned:
        """Return the matrix whose blocks are ``function(block, *arguments)``; nothing is computed.

        The function keeps the number of columns and the type.
        """
        delayed = require("dask.delayed", extra="dask").delayed
        visit = delayed(function, pure=False, traverse=False)
        # Matrices travel by themselves, and not with every block.
        shared = [
            delayed(each, pure=False, traverse=False) if isinstance(each, np.ndarray) else each
            for each in arguments
        ]
        blocks = tuple(visit(block, *shared) for block in self.blocks)
        return replace(self, blocks=blocks, rows=rows, largest=math.nan)

    def kept(self) -> Partitioned:
        """Return the same with its blocks in the memory of the cluster's workers, if there is one.

        The cluster remembers how they were computed, and does so again for those it loses. In one
        process they would add up to all of the data, so there they are computed when visited.
        """
        client: Any = getattr(self.schedule, "__self__", None)
        if not hasattr(client, "persist"):
            return self
        return replace(self, blocks=tuple(client.persist(list(self.blocks))))

    def to_dask(self) -> Any:
        """Return the matrix as a Dask array, chunked like this."""
        array = require("dask.array", extra="dask")
        return array.concatenate(
            [
                array.from_delayed(block, (self.rows, width), dtype=self.dtype)
                for block, width in zip(self.blocks, self.widths, strict=True)
            ],
            axis=1,
        )

    def take(self, indices: np.ndarray) -> np.ndarray:
        """Return the columns of those numbers, in increasing order, as an array."""
        return self.total(_take, np.unique(indices), merge=np.hstack)

    @cached_property
    def gram(self) -> np.ndarray:
        """M M', n x n, in float64."""
        return self.total(_gram)[0]

    @cached_property
    def _firsts(self) -> list[int]:
        return [0, *np.cumsum(self.widths[:-1]).tolist()]


@dataclass(frozen=True, eq=False)
class Projection:
    """basis' M for a partitioned matrix M (n x p) and a basis (n x k): never formed.

    Sums over the columns of M are taken to those of basis' M where they arrive.
    """

    matrix: Partitioned
    basis: np.ndarray

    @property
    def shape(self) -> tuple[int, int]:
        """(k, p)."""
        return self.basis.shape[1], self.matrix.shape[1]

    @property
    def dtype(self) -> np.dtype:
        """The type of M."""
        return self.matrix.dtype

    @cached_property
    def scale(self) -> float:
        """Root mean square of the entries."""
        squares = np.einsum("ij,ij->", self.basis, self.matrix.gram @ self.basis)
        return float(np.sqrt(max(squares, 0.0) / (self.shape[0] * self.shape[1])))


def is_dask_array(Y: Any) -> bool:
    """Tell whether Y is a Dask array, without importing Dask."""
    return _is_of_dask(Y) and hasattr(Y, "chunks")


def _is_of_dask(Y: Any) -> bool:
    return type(Y).__module__.partition(".")[0] == "dask"


def as_data(Y: Any, name: str = "Y") -> np.ndarray | Partitioned:
    """Check a data matrix from the user: a Dask array stays where it is, the rest is an array.

    See :func:`riemtr.data.check_data` for what is accepted. Chunks that split the features are
    joined, and the samples split instead, into blocks no larger than the largest chunk was.
    """
    if isinstance(Y, Partitioned):
        return Y
    if _is_of_dask(Y) and hasattr(Y, "to_dask_array"):  # numpy would gather it
        raise TypeError(
            f"{name} must be an array, features x samples; got a Dask {type(Y).__name__}; pass "
            f"{name}.to_dask_array(lengths=True).T if its rows are samples"
        )
    return partition(Y, name) if is_dask_array(Y) else check_data(Y, name)


def partition(Y: Any, name: str = "Y") -> Partitioned:
    """Check a Dask array, and return it as :func:`as_data` describes."""
    if np.isnan(np.sum(Y.shape)):
        raise ValueError(
            f"{name} must have chunks of known sizes; got shape {Y.shape}; call "
            f"{name}.compute_chunk_sizes() first"
        )
    check_shape(Y.shape, name)
    dtype = as_real_array(np.empty((1, 1), Y.dtype), name).dtype
    if len(Y.chunks[0]) > 1:
        largest = max(Y.chunks[0]) * max(Y.chunks[1])
        width = min(max(largest // Y.shape[0], 1), Y.shape[1])
        # Each new block depends on the few chunks it overlaps: those alone are redone if lost.
        Y = Y.rechunk({0: -1, 1: width}, method="tasks")
    schedule = require("dask.base", extra="dask").get_scheduler(collections=[Y])
    chunks = [c for c, w in zip(Y.to_delayed().ravel(), Y.chunks[1], strict=True) if w > 0]
    widths = tuple(int(w) for w in Y.chunks[1] if w > 0)
    raw = Partitioned(tuple(chunks), widths, Y.shape[0], dtype, schedule)
    data = raw.mapped(_real, name, rows=raw.rows)
    row, column, value, negative_largest = data.total(_survey, merge=min)
    if row < data.rows:
        keep = f"{name}[:, da.isfinite({name}).all(axis=0).compute()]"
        raise nonfinite(name, value, row, column, keep)
    return replace(data, largest=-negative_largest)


def add_up(parts: Sequence[tuple[Any, ...]]) -> tuple[Any, ...]:
    """Add tuples entry by entry."""
    return tuple(sum(rest, start=first) for first, *rest in zip(*parts, strict=True))


def _real(block: Any, name: str) -> np.ndarray:
    array = as_real_array(block, name)
    in_order = array.flags.c_contiguous or array.flags.f_contiguous
    return array if in_order else np.ascontiguousarray(array)  # or BLAS would, in every product


def _survey(block: np.ndarray, first: int) -> tuple[float, int, float, float]:
    """Return row, column and value of the first entry that is not finite, and minus the largest.

    Without such an entry the row is infinite: the first in order is then the worst of all blocks.
    """
    largest = largest_entry(block)
    if math.isfinite(largest):
        return math.inf, 0, 0.0, -largest
    row, column = first_nonfinite(block)
    return row, first + column, float(block[row, column]), 0.0


def _take(block: np.ndarray, first: int, indices: np.ndarray) -> np.ndarray:
    return np.take(block, mine(indices, first, block.shape[1]), axis=1)


def mine(indices: np.ndarray, first: int, width: int) -> np.ndarray:
    """Return which of the increasing column numbers lie in a block, counted from its first."""
    begin, end = np.searchsorted(indices, [first, first + width])
    return indices[begin:end] - first


def _gram(block: np.ndarray, first: int) -> tuple[np.ndarray]:
    total = np.zeros((block.shape[0], block.shape[0]))
    width = max(2**20 // max(block.shape[0], 1), 1)
    for begin in range(0, block.shape[1], width):
        part = block[:, begin : begin + width].astype(np.float64, copy=False)
        total += part @ part.T
    return (total,)
