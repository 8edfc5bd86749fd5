"""The one check of a data matrix, for all who take one from the user."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse


def check_data(Y: Any, name: str = "Y") -> np.ndarray:
    """Return a data matrix as a 2-D array of finite floats, or raise an error with the remedy.

    Arrays of native float32 or float64 are returned as they are, without a copy, whatever their
    memory order: memory-mapped, read-only and non-contiguous ones included. Integers, booleans
    and other floats become float64 (float16 becomes float32); scipy.sparse matrices become dense,
    since what is computed from them is.

    Parameters
    ----------
    Y : array_like, shape (n, p)
        n features in rows, p samples in columns, both at least 1.
    name : str
        What to call it in error messages.

    Examples
    --------
    >>> check_data([[1, 2], [3, 4]])
    array([[1., 2.], [3., 4.]])
    >>> check_data([1.0, 2.0])
    Traceback (most recent call last):
    ...
    ValueError: Y must be a 2-D array, features x samples; got shape (2,); for one feature pass \
Y[None, :], for one sample Y[:, None]
    """
    array = as_real_array(Y, name)
    check_shape(array.shape, name)
    if not math.isfinite(largest_entry(array)):
        row, column = first_nonfinite(array)
        keep = f"{name}[:, np.isfinite({name}).all(axis=0)]"
        raise nonfinite(name, array[row, column], row, column, keep)
    return array


def check_shape(shape: tuple[int, ...], name: str) -> None:
    """Raise the error for a shape that is not that of a data matrix."""
    if len(shape) != 2:
        remedy = (
            f"for one feature pass {name}[None, :], for one sample {name}[:, None]"
            if len(shape) == 1
            else "reshape each sample into one column"
        )
        raise ValueError(
            f"{name} must be a 2-D array, features x samples; got shape {shape}; {remedy}"
        )
    if 0 in shape:
        raise ValueError(f"{name} must have at least one row and one column; got shape {shape}")


def nonfinite(name: str, value: float, row: int, column: int, keep: str) -> ValueError:
    """Return the error for an entry that is NaN or infinite; ``keep`` selects the good samples."""
    return ValueError(
        f"{name} must be finite; got {value} at row {row}, column {column}; drop the samples "
        f"concerned: {keep}"
    )


def as_real_array(Y: Any, name: str) -> np.ndarray:
    """Return an array of float32 or float64, dense, without a copy where it is one already."""
    if isinstance(Y, np.ma.MaskedArray) and np.ma.is_masked(Y):
        raise ValueError(f"{name} must have no masked entries; fill or drop them first")
    if not scipy.sparse.issparse(Y):
        try:
            Y = np.asarray(Y)
        except ValueError as error:
            if callable(getattr(Y, "get_data", None)):  # as a recording of MNE has it
                raise TypeError(
                    f"{name} must be an array of numbers; got an object of type "
                    f"{type(Y).__name__}: for a recording raw, pass raw.get_data()"
                ) from error
            raise ValueError(
                f"{name} must be a 2-D array, features x samples; got rows of different lengths"
            ) from error
    if Y.dtype.kind == "O":
        try:
            Y = Y.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"{name} must hold real numbers; got Python objects that do not convert: {error}"
            ) from error
    if Y.dtype.kind == "c":
        raise TypeError(
            f"{name} must be real; got {Y.dtype}; pass {name}.real if the imaginary part is zero: "
            f"the method is for real data"
        )
    if Y.dtype.kind not in "fiub":
        raise TypeError(f"{name} must hold real numbers; got {Y.dtype}; convert it to floats")
    if scipy.sparse.issparse(Y):
        Y = Y.toarray()
    single = Y.dtype.kind == "f" and Y.dtype.itemsize <= 4
    return Y.astype(np.float32 if single else np.float64, copy=False)


def largest_entry(array: np.ndarray) -> float:
    """Return the largest absolute entry, NaN or infinity included, without a temporary array."""
    with np.errstate(invalid="ignore"):
        return float(np.maximum(array.max(), -array.min()))


def first_nonfinite(array: np.ndarray) -> tuple[int, int]:
    """Return row and column of the first entry, row by row, that is NaN or infinite."""
    bad = next(i for i, row in enumerate(array) if not np.isfinite(row).all())
    return bad, int(np.argmin(np.isfinite(array[bad])))
