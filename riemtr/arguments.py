"""Numbers and sources of randomness as users pass them, whatever the layer."""

from __future__ import annotations

import functools
import inspect
import math
import operator
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from riemtr.errors import ArgumentError


def is_real(value: Any) -> bool:
    """Whether a value is a real number, of Python's or numpy's, that comparisons work with.

    Examples
    --------
    >>> is_real(1), is_real(np.float32(0.5)), is_real("1e-3"), is_real(None)
    (True, True, False, False)
    """
    kind = np.asarray(value)
    return kind.ndim == 0 and kind.dtype.kind in "iuf"


def missing_members(value: Any, protocol: type) -> list[str]:
    """Return what a value lacks of what a protocol asks for.

    Examples
    --------
    >>> missing_members(3, type("Named", (), {"name": None, "_own": None}))
    ['name']
    """
    return [name for name in members(protocol) if not hasattr(value, name)]


def members(protocol: type) -> list[str]:
    """Return the names that a protocol asks for."""
    return [name for name in vars(protocol) if not name.startswith("_")]


def as_integer(value: Any) -> int | None:
    """Return an integer of Python's or numpy's; None for anything else, booleans included.

    Examples
    --------
    >>> as_integer(np.int64(3)), as_integer(True), as_integer(3.0)
    (3, None, None)
    """
    try:
        return None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        return None


def check_nonnegative(name: str, value: Any) -> None:
    """Check a bound or a limit, which may be infinite."""
    if not (is_real(value) and value >= 0):
        raise ArgumentError(name, "be a number of at least 0", value)


def check_positive(name: str, value: Any, or_else: str = "") -> None:
    """Check a positive, finite number; ``or_else`` is what the error is to say of it besides."""
    if not (is_real(value) and 0.0 < value < math.inf):
        raise ArgumentError(name, f"be a positive finite number{or_else}", value)


def integer(name: str, value: Any, low: int = 1, high: int | None = None, or_else: str = "") -> int:
    """Return an integer from ``low`` to ``high``, or raise an error that names the parameter.

    The error also names what else it may be, and the integers next to a number that is none.

    Examples
    --------
    >>> integer("rows", 2.5)
    Traceback (most recent call last):
    ...
    riemtr.errors.ArgumentError: rows must be an integer of at least 1; got 2.5: pass 2 or 3
    """
    number = as_integer(value)
    if number is None or number < low or (high is not None and number > high):
        limits = f"of at least {low}" if high is None else f"from {low} to {high}"
        near = [] if number is not None else _integers_beside(value)
        allowed = [each for each in near if low <= each and (high is None or each <= high)]
        remedy = f"pass {' or '.join(map(str, allowed))}" if allowed else ""
        raise ArgumentError(name, f"be an integer {limits}{or_else}", value, remedy)
    return number


def _integers_beside(value: Any) -> list[int]:
    """Return the integers next to a finite number, one if it is whole."""
    if not (is_real(value) and math.isfinite(value)):
        return []
    return sorted({math.floor(value), math.ceil(value)})


def real(name: str, value: Any, low: float, high: float = math.inf) -> float:
    """Return a finite number from ``low`` to ``high``, or raise an error that names the parameter.

    Examples
    --------
    >>> real("theta", 1.5, low=0, high=1)
    Traceback (most recent call last):
    ...
    riemtr.errors.ArgumentError: theta must be a number from 0 to 1; got 1.5
    """
    if not (is_real(value) and math.isfinite(value) and low <= value <= high):
        limits = f"of at least {low:g}" if high == math.inf else f"from {low:g} to {high:g}"
        raise ArgumentError(name, f"be a number {limits}", value)
    return float(value)


def generator(rng: Any) -> np.random.Generator:
    """Return the generator that a user's seed stands for.

    Examples
    --------
    >>> generator("a")
    Traceback (most recent call last):
    ...
    riemtr.errors.ArgumentError: rng must be a nonnegative integer, a numpy.random.Generator or
    None; got 'a'
    """
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError):
        raise not_a_seed(rng) from None


def not_a_seed(rng: Any) -> ArgumentError:
    """Return the error that says what a seed may be."""
    return ArgumentError("rng", "be a nonnegative integer, a numpy.random.Generator or None", rng)


F = TypeVar("F", bound=Callable[..., Any])


def names_instead(names: dict[str, str]) -> Callable[[F], F]:
    """Decorate a function so that keywords of other libraries get an error with the right name.

    Parameters
    ----------
    names : dict
        Keywords that people try, and what to use instead.

    Examples
    --------
    >>> @names_instead({"x0": "start"})
    ... def solve(start=None): ...
    >>> solve(x0=1)
    Traceback (most recent call last):
    ...
    TypeError: solve() has no argument 'x0'; use start
    """

    def decorate(function: F) -> F:
        owner = function.__qualname__.removesuffix(".__init__").rpartition(".")[2]

        @functools.wraps(function)
        def checked(*args: Any, **keywords: Any) -> Any:
            for name in keywords:
                if name in names and name not in parameters:
                    raise TypeError(f"{owner}() has no argument {name!r}; use {names[name]}")
            return function(*args, **keywords)

        parameters = inspect.signature(function).parameters
        return checked  # type: ignore[return-value]

    return decorate
