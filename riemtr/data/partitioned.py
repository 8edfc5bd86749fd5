"""A data matrix in blocks of columns that stay where Dask keeps them.

What is computed from the data here are sums over samples, so functions are sent to the blocks and
only their small results come back, added up in a tree on the way. Nothing joins blocks beyond a few
MB: no worker, nor the process that asks, holds all of the data, unless they are as small as that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from riemtr.data.alignment import aligned, empty_aligned
from riemtr.data.blocks import gram
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
_JOINED = 2**19  # entries (4 MB) up to which blocks are joined: a visit's overhead is then small
_KEPT_HERE = 2**22  # entries (32 MB) of all blocks that may stay in this process


@dataclass(frozen=True, eq=False)
class Partitioned:
    """An n x p matrix as blocks of columns, each n x width, in the care of Dask.

    Made by :func:`as_data` from a Dask array. A block is computed from its source whenever it is
    visited, unless :meth:`kept`; a block that is lost with its worker is computed again.

    Attributes
    ----------
    blocks : tuple of dask.delayed.Delayed
        Each becomes an array of float32 or float64.
    source : tuple of dask.delayed.Delayed
        The same, never kept, for an array to be made of, which outlives the cluster.
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
    source: tuple[Any, ...]
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
            block's first column. It returns a tuple of arrays and numbers. All arrays that it is
            given, and that are returned here, are :func:`riemtr.data.alignment.aligned`.
        merge : callable, optional
            ``merge(results)`` in place of the sum. The order of the results is that of the columns
            and the tree depends on nothing but their number: the same blocks give the same bits,
            wherever they are.
        """
        dask = require("dask", extra="dask")
        delayed = require("dask.delayed", extra="dask").delayed
        visit = delayed(_Visit(function), pure=False, traverse=False)
        merge = merge or add_up
        parts = [
            visit(block, first, *arguments)
            for block, first in zip(self.blocks, self._firsts, strict=True)
        ]
        while len(parts) > _FAN_IN:
            groups = [parts[i : i + _FAN_IN] for i in range(0, len(parts), _FAN_IN)]
            parts = [delayed(merge, pure=False)(group) for group in groups]
        results = dask.compute(*parts, scheduler=self.schedule)
        return aligned(merge(results) if len(results) > 1 else results[0])

    def mapped(
        self, function: Callable[..., np.ndarray], *arguments: Any, rows: int
    ) -> Partitioned:
        """Return the matrix whose blocks are ``function(block, *arguments)``; nothing is computed.

        The function keeps the number of columns and the type. Its results are best
        :func:`riemtr.data.alignment.empty_aligned`, or every visit to them begins with a copy.
        """
        delayed = require("dask.delayed", extra="dask").delayed
        visit = delayed(_Visit(function), pure=False, traverse=False)

        def each_of(blocks: tuple[Any, ...]) -> tuple[Any, ...]:
            # Matrices travel by themselves, and not with every block.
            shared = [
                delayed(each, pure=False, traverse=False) if isinstance(each, np.ndarray) else each
                for each in arguments
            ]
            return tuple(visit(block, *shared) for block in blocks)

        blocks, source = each_of(self.blocks), each_of(self.source)
        return replace(self, blocks=blocks, source=source, rows=rows, largest=math.nan)

    def kept(self) -> Partitioned:
        """Return the same with its blocks in the memory of the cluster's workers, if there is one.

        The cluster remembers how they were computed, and does so again for those it loses. In one
        process they would add up to all of the data: there they are kept up to 32 MB only, and
        else computed when visited.
        """
        client: Any = getattr(self.schedule, "__self__", None)
        if hasattr(client, "persist"):
            return replace(self, blocks=tuple(client.persist(list(self.blocks))))
        if math.prod(self.shape) > _KEPT_HERE:
            return self
        dask = require("dask", extra="dask")
        return replace(self, blocks=dask.persist(*self.blocks, scheduler=self.schedule))

    def to_dask(self) -> Any:
        """Return the matrix as a Dask array, chunked like this."""
        array = require("dask.array", extra="dask")
        return array.concatenate(
            [
                array.from_delayed(block, (self.rows, width), dtype=self.dtype)
                for block, width in zip(self.source, self.widths, strict=True)
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


class _Visit:
    """A function for a block, called with aligned arrays, wherever they come from."""

    def __init__(self, function: Callable[..., Any]):
        self.function = function
        self.__name__ = getattr(function, "__name__", "visit")  # for Dask's dashboard

    def __call__(self, *arguments: Any) -> Any:
        return self.function(*aligned(arguments))


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
    joined, and the samples split instead, into blocks no larger than the largest chunk was. Small
    neighbours are joined to blocks of up to 4 MB, since every visit costs its round trip; how
    depends on the chunks alone.
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
        largest = max(max(Y.chunks[0]) * max(Y.chunks[1]), _JOINED)
        width = min(max(largest // Y.shape[0], 1), Y.shape[1])
        # Each new block depends on the few chunks it overlaps: those alone are redone if lost.
        Y = Y.rechunk({0: -1, 1: width}, method="tasks")
    groups = _neighbours(Y.chunks[1], Y.shape[0])
    data = Partitioned(
        blocks=_blocks(Y.to_delayed(), groups, name),
        # An array is optimized when computed. Twice, the same names would stand for other tasks.
        source=_blocks(Y.to_delayed(optimize_graph=False), groups, name),
        widths=tuple(int(sum(Y.chunks[1][i] for i in group)) for group in groups),
        rows=Y.shape[0],
        dtype=dtype,
        schedule=require("dask.base", extra="dask").get_scheduler(collections=[Y]),
    )
    row, column, value, negative_largest = data.total(_survey, merge=min)
    if row < data.rows:
        keep = f"{name}[:, da.isfinite({name}).all(axis=0).compute()]"
        raise nonfinite(name, value, row, column, keep)
    return replace(data, largest=-negative_largest)


def add_up(parts: Sequence[tuple[Any, ...]]) -> tuple[Any, ...]:
    """Add tuples entry by entry."""
    return tuple(sum(rest, start=first) for first, *rest in zip(*parts, strict=True))


def _neighbours(widths: Sequence[int], rows: int) -> list[list[int]]:
    """Return the numbers of the chunks that make up each block; empty ones are left out."""
    groups: list[list[int]] = []
    entries = math.inf
    for number, width in enumerate(widths):
        if width == 0:
            continue
        if entries + rows * width > _JOINED:
            groups.append([])
            entries = 0
        groups[-1].append(number)
        entries += rows * width
    return groups


def _blocks(chunks: np.ndarray, groups: Sequence[Sequence[int]], name: str) -> tuple[Any, ...]:
    delayed = require("dask.delayed", extra="dask").delayed
    join = delayed(_joined, pure=False, traverse=False)
    return tuple(join([chunks[0, i] for i in group], name) for group in groups)


def _joined(chunks: Sequence[Any], name: str) -> np.ndarray:
    parts = [as_real_array(chunk, name) for chunk in chunks]
    if len(parts) == 1:
        return aligned(parts[0])
    shape = parts[0].shape[0], sum(part.shape[1] for part in parts)
    return np.concatenate(parts, axis=1, out=empty_aligned(shape, parts[0].dtype))


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
    return (gram(block),)
