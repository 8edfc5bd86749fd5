"""Samples that stay where Dask keeps them: a Dask array, whose chunks become blocks of samples.

What is computed from the data here are sums over samples, so functions are sent to the blocks and
only their small results come back, added up in a tree on the way. Nothing joins blocks beyond a few
MB: no worker, nor the process that asks, holds all of the data, unless they are as small as that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from riemtr.data.blocks import add_up, aligned, empty_aligned
from riemtr.data.matrices import (
    as_real_array,
    check_shape,
    first_nonfinite,
    largest_entry,
    nonfinite,
)
from riemtr.errors import require

T = TypeVar("T")

_JOINED = 2**19  # entries (4 MB) up to which blocks are joined: a visit's overhead is then small
_FAN_IN = 8  # results added up at once, wherever they are
_KEPT_HERE = 2**22  # entries (32 MB) of all blocks that may stay in this process


@dataclass(frozen=True, eq=False)
class Partitioned:
    """An n x p matrix as blocks of columns, each n x width, in the care of Dask.

    It is made by :func:`partition` from a Dask array, and has the protocol
    :class:`riemtr.data.blocks.Samples`. A block is computed from its source whenever it is visited,
    unless :meth:`kept`; a block that is lost with its worker is computed again.

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

    def visit(
        self, function: Callable[..., T], *arguments: Any, each: Sequence[Any] | None = None
    ) -> list[T]:
        """Return ``function(block, first, *arguments)`` of every block, in their order."""
        visits = self._visits(function, arguments, each)
        dask = require("dask", extra="dask")
        return list(aligned(dask.compute(*visits, scheduler=self.schedule)))

    def _visits(
        self, function: Callable[..., Any], arguments: tuple[Any, ...], each: Any = None
    ) -> list[Any]:
        delayed = require("dask.delayed", extra="dask").delayed
        visit = delayed(_Visit(function), pure=False, traverse=False)
        rest = [()] * len(self.blocks) if each is None else [(own,) for own in each]
        return [
            visit(block, first, *arguments, *own)
            for block, first, own in zip(self.blocks, self._firsts, rest, strict=True)
        ]

    def total(self, function: Callable[..., Any], *arguments: Any, merge: Any = None) -> Any:
        """Return the sum over the blocks of ``function(block, first, *arguments)``.

        Parameters
        ----------
        function : callable
            Defined at the top of a module, so that it can travel; ``first`` is the number of the
            block's first column. It returns a tuple of arrays and numbers. All arrays that it is
            given, and that are returned here, are :func:`riemtr.data.blocks.aligned`.
        merge : callable, optional
            ``merge(results)`` in place of the sum. The order of the results is that of the columns
            and the tree depends on nothing but their number: the same blocks give the same bits,
            wherever they are.
        """
        dask = require("dask", extra="dask")
        delayed = require("dask.delayed", extra="dask").delayed
        merge = merge or add_up
        parts = self._visits(function, arguments)
        while len(parts) > _FAN_IN:
            groups = [parts[i : i + _FAN_IN] for i in range(0, len(parts), _FAN_IN)]
            parts = [delayed(merge, pure=False)(group) for group in groups]
        results = dask.compute(*parts, scheduler=self.schedule)
        return aligned(merge(results) if len(results) > 1 else results[0])

    @property
    def array(self) -> None:
        """No process holds the whole matrix."""
        return None

    def with_pool(self, pool: Executor | None) -> Partitioned:
        """Return the same: Dask has its own threads."""
        return self

    def mapped(
        self,
        function: Callable[..., np.ndarray],
        *arguments: Any,
        rows: int,
        over: bool = False,
        largest: float = math.nan,
    ) -> Partitioned:
        """Return the matrix whose blocks are ``function(block, *arguments)``; nothing is computed.

        The function keeps the number of columns and the type. Its results are best
        :func:`riemtr.data.blocks.empty_aligned`, or every visit to them begins with a copy.
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
        return replace(self, blocks=blocks, source=source, rows=rows, largest=largest)

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

    def narrowed(self, most: int) -> Partitioned:
        """Return the same: no copy is made of blocks elsewhere."""
        return self

    def alone(self) -> Partitioned:
        """Return the same: blocks share no memory."""
        return self

    def as_array(self) -> Any:
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
        """Return the columns of those numbers, as an array."""
        known, places = np.unique(indices, return_inverse=True)
        return self.total(_take, known, merge=np.hstack)[:, places]

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


def _take(block: np.ndarray, first: int, indices: np.ndarray) -> np.ndarray:
    return np.take(block, mine(indices, first, block.shape[1]), axis=1)


def mine(indices: np.ndarray, first: int, width: int) -> np.ndarray:
    """Return which of the increasing column numbers lie in a block, counted from its first."""
    begin, end = np.searchsorted(indices, [first, first + width])
    return indices[begin:end] - first


def partition(Y: Any, name: str = "Y") -> Partitioned:
    """Check a Dask array, and return it as :func:`riemtr.data.blocks.as_data` describes."""
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
