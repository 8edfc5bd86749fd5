"""The books of an evaluation: what is computed once, how often and how long the cost was asked."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
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


@dataclass
class Counts:
    """Exact numbers of oracle calls.

    Attributes
    ----------
    costs, gradients : int
        Evaluations of the cost and of its gradient: at most one each per visited point.
    hessian_products : int
        Hessian-vector products, those spent on the certificate included. A Hessian matrix
        assembled from products counts as that many products.
    hessian_matrices : int
        Hessian matrices formed by a cost that offers them, in whole or in part.
    """

    costs: int = 0
    gradients: int = 0
    hessian_products: int = 0
    hessian_matrices: int = 0

    def snapshot(self) -> Counts:
        """Return a copy that further evaluations leave alone."""
        return Counts(self.costs, self.gradients, self.hessian_products, self.hessian_matrices)

    def as_dict(self) -> dict[str, int]:
        """Return the counts by name."""
        return asdict(self)


class Clock:
    """Wall time with a limit; it can be paused.

    Parameters
    ----------
    limit : float
        Seconds after which the time is up.

    Attributes
    ----------
    enough : float
        Gradient norm that a run is content with: no equation need be solved much further.
    """

    def __init__(self, limit: float = math.inf) -> None:
        self.limit = limit
        self.enough = 0.0
        self._started = time.perf_counter()

    @property
    def seconds(self) -> float:
        """Time so far, pauses excluded."""
        return time.perf_counter() - self._started

    @property
    def expired(self) -> bool:
        """Whether the time is up."""
        return self.limit < math.inf and self.seconds >= self.limit

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Leave out the time that the block takes."""
        before = time.perf_counter()
        try:
            yield
        finally:
            self._started += time.perf_counter() - before
