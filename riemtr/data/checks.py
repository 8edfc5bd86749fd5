"""Checks shared by the data models: each error names the parameter, its range and what came."""

from __future__ import annotations

import math
import operator
from typing import SupportsFloat, SupportsIndex


def integer(name: str, value: SupportsIndex, low: int, high: int | None = None) -> int:
    """Return ``value`` as an int in ``[low, high]``, or raise an error that names ``name``.

    Examples
    --------
    >>> integer("k", 3, low=1, high=10)
    3
    >>> integer("k", 11, low=1, high=10)
    Traceback (most recent call last):
    ...
    ValueError: k must be an integer from 1 to 10; got 11
    """
    range_ = f"of at least {low}" if high is None else f"from {low} to {high}"
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer {range_}; got {value!r}") from None
    if isinstance(value, bool) or number < low or (high is not None and number > high):
        raise ValueError(f"{name} must be an integer {range_}; got {value!r}")
    return number


def real(name: str, value: SupportsFloat, low: float, high: float = math.inf) -> float:
    """Return ``value`` as a finite float in ``[low, high]``, or raise an error naming ``name``.

    Examples
    --------
    >>> real("theta", 1.5, low=0, high=1)
    Traceback (most recent call last):
    ...
    ValueError: theta must be a number from 0 to 1; got 1.5
    """
    range_ = f"of at least {low:g}" if high == math.inf else f"from {low:g} to {high:g}"
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a number {range_}; got {value!r}") from None
    if not (math.isfinite(number) and low <= number <= high):
        raise ValueError(f"{name} must be a number {range_}; got {value!r}")
    return number
