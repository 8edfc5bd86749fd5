"""Points made of several arrays, in pymanopt's layout, flattened to a list of arrays and back."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from riemtr.manifolds.arrays import rebuilt


def flatten(value: Any, layout: Any) -> list[Any]:
    """List the arrays a point (or vector) consists of.

    ``layout`` is pymanopt's ``point_layout``: 1 for a single array, k for a sequence of k arrays,
    a sequence of such numbers for a product.

    Examples
    --------
    >>> flatten([[1, 2, 3], 4], (3, 1))
    [1, 2, 3, 4]
    """
    if isinstance(layout, Sequence):
        return [
            array
            for part, inner in zip(value, layout, strict=True)
            for array in flatten(part, inner)
        ]
    return [value] if layout == 1 else list(value)


def unflatten(arrays: Sequence[Any], layout: Any) -> Any:
    """Undo :func:`flatten`.

    Examples
    --------
    >>> unflatten([1, 2, 3, 4], (3, 1))
    [[1, 2, 3], 4]
    """
    if not isinstance(layout, Sequence):
        return arrays[0] if layout == 1 else list(arrays)
    groups, position = [], 0
    for inner in layout:
        count = array_count(inner)
        groups.append(unflatten(arrays[position : position + count], inner))
        position += count
    return groups


def array_count(layout: Any) -> int:
    """Return how many arrays a point of some layout is made of.

    Examples
    --------
    >>> array_count((3, (1, 1)))
    5
    """
    return sum(map(array_count, layout)) if isinstance(layout, Sequence) else layout


def owned(value: Any, like: Any) -> Any:
    """Return copies of the arrays of a derivative, in the precision of a point.

    Functions may use their arrays again. Arrays of JAX and tensors of PyTorch become numpy's.

    Examples
    --------
    >>> owned([1, 2], np.zeros(2, np.float32))
    array([1., 2.], dtype=float32)
    """
    if isinstance(value, (list, tuple)) and not isinstance(like, np.ndarray):
        matches = isinstance(like, (list, tuple)) and len(like) == len(value)
        models = like if matches else [None] * len(value)
        return rebuilt(value, [owned(*pair) for pair in zip(value, models, strict=True)])
    if hasattr(value, "detach"):
        value = value.detach().cpu()
    array = np.array(value)
    if isinstance(like, np.ndarray) and array.dtype != like.dtype and array.dtype.kind in "fciub":
        complex_to_real = array.dtype.kind == "c" and like.dtype.kind == "f"
        array = array.real.astype(like.dtype) if complex_to_real else array.astype(like.dtype)
    return array


def as_type(value: Any, dtype: np.dtype) -> Any:
    """Return a point whose arrays have the precision of a type; complex arrays stay complex.

    Examples
    --------
    >>> as_type([np.zeros(1), np.zeros(1, complex)], np.dtype("float32"))
    [array([0.], dtype=float32), array([0.+0.j], dtype=complex64)]
    """
    if isinstance(value, np.ndarray):
        wide = np.result_type(dtype, np.complex64) if value.dtype.kind == "c" else dtype
        return value if value.dtype == wide else value.astype(wide)
    return _rebuilt(value, [as_type(part, dtype) for part in value])


def like(value: Any, reference: Any) -> Any:
    """Return a point whose arrays have the types of those of another."""
    if isinstance(value, np.ndarray):
        return value if value.dtype == reference.dtype else value.astype(reference.dtype)
    return _rebuilt(value, [like(*pair) for pair in zip(value, reference, strict=True)])


def _rebuilt(value: Any, parts: list[Any]) -> Any:
    """Return a sequence of the same kind with other parts; itself, if they are the same."""
    if all(part is own for part, own in zip(parts, value, strict=True)):
        return value
    return rebuilt(value, parts)


def machine_precision(value: Any) -> float:
    """Machine epsilon of the floating-point arrays a point consists of (the coarsest of them)."""
    if isinstance(value, np.ndarray):
        return _epsilon(value.dtype)
    if isinstance(value, (list, tuple)):
        return max(machine_precision(part) for part in value)
    return 2.0**-52


@lru_cache
def _epsilon(dtype: np.dtype) -> float:
    return float(np.finfo(dtype).eps) if dtype.kind in "fc" else 2.0**-52
