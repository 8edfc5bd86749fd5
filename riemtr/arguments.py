"""Numbers and sources of randomness as users pass them, whatever the layer."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np


def is_real(value: Any) -> bool:
    """Whether a value is a real number, of Python's or numpy's, that comparisons work with.

    Examples
    --------
    >>> is_real(1), is_real(np.float32(0.5)), is_real("1e-3"), is_real(None)
    (True, True, False, False)
    """
    kind = np.asarray(value)
    return kind.ndim == 0 and kind.dtype.kind in "iuf"


def positive(name: str, value: Any, low: int = 1, or_else: str = "") -> int:
    """Return an integer of at least ``low``, or raise an error that names the parameter.

    The error also names what else it may be.

    Examples
    --------
    >>> positive("rows", 2.5)
    Traceback (most recent call last):
    ...
    ValueError: rows must be an integer of at least 1; got 2.5
    """
    try:
        number = operator.index(value)
    except TypeError:
        number = low - 1
    if isinstance(value, bool) or number < low:
        raise ValueError(f"{name} must be an integer of at least {low}{or_else}; got {value!r}")
    return number


def generator(rng: Any) -> np.random.Generator:
    """Return the generator that a user's seed stands for.

    Examples
    --------
    >>> generator("a")
    Traceback (most recent call last):
    ...
    ValueError: rng must be a nonnegative integer, a numpy.random.Generator or None; got 'a'
    """
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError):
        raise ValueError(
            f"rng must be a nonnegative integer, a numpy.random.Generator or None; got {rng!r}"
        ) from None
