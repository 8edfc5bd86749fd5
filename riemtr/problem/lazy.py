"""Attributes computed when first asked for, and kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class lazy(Generic[T]):
    """A property computed once: ``functools.cached_property`` without its lock.

    The lock costs more than many of the quantities kept this way, of which a run computes
    hundreds (Python dropped it in 3.12).

    Examples
    --------
    >>> class Circle:
    ...     radius = 2.0
    ...     @lazy
    ...     def area(self):
    ...         print("computing")
    ...         return 3.14 * self.radius**2
    >>> circle = Circle()
    >>> circle.area, circle.area
    computing
    (12.56, 12.56)
    """

    def __init__(self, function: Callable[[Any], T]):
        self.func = function
        self.name = function.__name__
        self.__doc__ = function.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> lazy[T]: ...

    @overload
    def __get__(self, instance: object, owner: type) -> T: ...

    def __get__(self, instance: object | None, owner: type) -> lazy[T] | T:
        if instance is None:
            return self
        value = self.func(instance)
        instance.__dict__[self.name] = value
        return value


def is_known(instance: object, name: str) -> bool:
    """Whether a lazy attribute was computed or provided."""
    return name in instance.__dict__


def provide(instance: object, **values: Any) -> None:
    """Set lazy attributes to what is known of them already."""
    instance.__dict__.update(values)


def forget(instance: object, *names: str) -> None:
    """Have lazy attributes computed anew when next asked for."""
    for name in names:
        instance.__dict__.pop(name, None)
