"""Arrays at addresses that are the same, modulo a cache line, in every run and process.

What arrives from another process is a view into its message, at any address. Products and sums of
such arrays are slower, as numpy copies them each time, and round differently, as it then calls
other kernels; of other libraries, kernels may depend on finer alignments. The same bits in every
run need the same alignment.
"""

from __future__ import annotations

import math
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

_LINE = 64  # bytes: a cache line, and the widest registers


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
