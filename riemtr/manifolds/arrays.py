"""Points and vectors as arrays: flattened, rebuilt, of one type, and checked.

A layout is pymanopt's ``point_layout``: 1 for a single array, k for a sequence of k arrays, a
sequence of such numbers for a product.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np


def as_real(vector: Any) -> np.ndarray:
    """Flatten an array, or a sequence of arrays; complex ones into twice as many real numbers.

    The real inner product stays what it is.

    Examples
    --------
    >>> as_real([np.array([1.0, 2.0]), np.array([[3.0 + 4.0j]])])
    array([1., 2., 3., 4.])
    """
    if isinstance(vector, (list, tuple)):
        return np.concatenate([as_real(part) for part in vector])
    if vector.ndim == 1 and vector.dtype.kind == "f":
        return vector
    flat = np.ascontiguousarray(vector).ravel()
    return flat.view(flat.real.dtype)


def as_real_rows(vectors: np.ndarray) -> np.ndarray:
    """Flatten each array of a stack, as :func:`as_real` does one.

    Examples
    --------
    >>> as_real_rows(np.array([[[1.0 + 2.0j]], [[3.0 + 4.0j]]]))
    array([[1., 2.],
           [3., 4.]])
    """
    flat = np.ascontiguousarray(vectors).reshape(len(vectors), -1)
    return flat.view(flat.real.dtype)


def from_real(flat: np.ndarray, like: Any) -> Any:
    """Undo :func:`as_real`, for a vector of the same type and shape as another."""
    if isinstance(like, (list, tuple)):
        ends = np.cumsum([as_real(part).size for part in like])
        parts = [from_real(*pair) for pair in zip(np.split(flat, ends[:-1]), like, strict=True)]
        return rebuilt(like, parts)
    return flat.astype(like.real.dtype, copy=False).view(like.dtype).reshape(like.shape)


def rebuilt(sequence: Any, parts: list[Any]) -> Any:
    """Return a sequence of the same kind with other parts, under the same names if it has any."""
    if hasattr(sequence, "names"):
        return type(sequence)(parts, sequence.names)
    return type(sequence)(*parts) if hasattr(sequence, "_fields") else type(sequence)(parts)


def adjoint(matrix: np.ndarray) -> np.ndarray:
    """Return the conjugate transpose of a matrix, or of each of a stack of matrices."""
    transposed = matrix.swapaxes(-1, -2)
    return transposed.conj() if matrix.dtype.kind == "c" else transposed


def finite_floats(point: Any, name: str) -> np.ndarray:
    """Return a copy as an array of float32, float64 or their complex counterparts."""
    array = np.array(point)
    if array.dtype.kind not in "fciub":
        hint = ": pass its point" if hasattr(point, "point") else ""
        got = f"a {type(point).__name__}{hint}" if array.ndim == 0 else f"dtype {array.dtype}"
        raise ValueError(f"{name} must be an array of numbers; got {got}")
    if array.dtype.kind not in "fc" or array.dtype == np.float16:
        array = array.astype(float)
    elif array.dtype.itemsize > np.dtype(complex if array.dtype.kind == "c" else float).itemsize:
        array = array.astype(complex if array.dtype.kind == "c" else float)  # no BLAS beyond
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{name} must be finite; it contains NaN or infinite entries")
    return array


def like_example(example: np.ndarray, array: np.ndarray, name: str, manifold: Any) -> np.ndarray:
    """Return an array after a check of its shape; complex if the example is."""
    if array.shape != example.shape:
        raise ValueError(
            f"{name} must have shape {example.shape} to lie on {manifold}; got {array.shape}"
        )
    if example.dtype.kind == "c":
        return array.astype(np.result_type(array.dtype, np.complex64), copy=False)
    if array.dtype.kind == "c":
        if np.any(array.imag):
            raise ValueError(f"{name} must be real to lie on {manifold}; got dtype {array.dtype}")
        return array.real.copy()
    return array


def arranged(example: Any, point: Any, name: str, manifold: Any, parts: str = "") -> Any:
    """Return a user's arrays in the arrangement of an example, after checks of their shapes.

    Parameters
    ----------
    example : array, or sequence of such
        A point of the manifold.
    point : object
        A point as a user gives it.
    name : str
        The name of the argument, for messages.
    manifold : Manifold
    parts : str
        A description of the parts of a point, for messages.
    """
    if isinstance(example, np.ndarray):
        return like_example(example, finite_floats(point, name), name, manifold)
    if not isinstance(point, (list, tuple)) or len(point) != len(example):
        raise ValueError(
            f"{name} must be a list of {len(example)} parts{parts} to lie on {manifold}; got "
            f"{in_words(point)}"
        )
    pairs = enumerate(zip(example, point, strict=True))
    return rebuilt(example, [arranged(*pair, f"{name}[{i}]", manifold) for i, pair in pairs])


def in_words(point: Any) -> str:
    """Return what a value is that should be a list of parts."""
    if isinstance(point, np.ndarray):
        return f"an array of shape {point.shape}"
    if isinstance(point, Mapping):
        return "a dict"
    return f"{len(point)} of them" if hasattr(point, "__len__") else repr(point)


# -- layouts --------------------------------------------------------------------------------------


def flatten(value: Any, layout: Any) -> list[Any]:
    """List the arrays a point (or vector) consists of.

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
