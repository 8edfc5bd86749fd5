"""A data matrix in blocks of columns that stay where Dask keeps them.

What is computed from the data here are sums over samples, so functions are sent to the blocks and
only their small results come back, added up in a tree on the way. Nothing joins blocks beyond a few
MB: no worker, nor the process that asks, holds all of the data, unless they are as small as that.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from riemtr.data.aligned_arrays import aligned
from riemtr.data.blocks import add_up, gram
from riemtr.errors import require

_FAN_IN = 8  # results added up at once, wherever they are
_KEPT_HERE = 2**22  # entries (32 MB) of all blocks that may stay in this process


@dataclass(frozen=True, eq=False)
class Partitioned:
    """An n x p matrix as blocks of columns, each n x width, in the care of Dask.

    Made by :func:`riemtr.data.dask_arrays.as_data` from a Dask array. A block is computed from its
    source whenever it is visited, unless :meth:`kept`; a block that is lost with its worker is
    computed again.

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
            given, and that are returned here, are :func:`riemtr.data.aligned_arrays.aligned`.
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
        :func:`riemtr.data.aligned_arrays.empty_aligned`, or every visit to them begins with a copy.
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


Matrix = np.ndarray | Partitioned
"""In memory, or partitioned: what is done to it are sums over its columns and maps of them."""


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


def _take(block: np.ndarray, first: int, indices: np.ndarray) -> np.ndarray:
    return np.take(block, mine(indices, first, block.shape[1]), axis=1)


def mine(indices: np.ndarray, first: int, width: int) -> np.ndarray:
    """Return which of the increasing column numbers lie in a block, counted from its first."""
    begin, end = np.searchsorted(indices, [first, first + width])
    return indices[begin:end] - first


def _gram(block: np.ndarray, first: int) -> tuple[np.ndarray]:
    return (gram(block),)
