"""The check of a data matrix that may be a Dask array, whose chunks become blocks of samples."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from riemtr.data.aligned_arrays import aligned, empty_aligned
from riemtr.data.matrices import (
    as_real_array,
    check_data,
    check_shape,
    first_nonfinite,
    largest_entry,
    nonfinite,
)
from riemtr.data.partitioned import Matrix, Partitioned
from riemtr.errors import require

_JOINED = 2**19  # entries (4 MB) up to which blocks are joined: a visit's overhead is then small


def is_dask_array(Y: Any) -> bool:
    """Tell whether Y is a Dask array, without importing Dask."""
    return _is_of_dask(Y) and hasattr(Y, "chunks")


def _is_of_dask(Y: Any) -> bool:
    return type(Y).__module__.partition(".")[0] == "dask"


def as_data(Y: Any, name: str = "Y") -> Matrix:
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
