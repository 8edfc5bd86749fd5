"""Arrays, and sequences of arrays: flattened to real numbers and back, and checked."""

from __future__ import annotations

from collections.abc import Mapping
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
