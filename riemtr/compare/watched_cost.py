"""A cost that counts whatever is asked of it, directly or by the evaluations of a problem."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from riemtr.problem import Counts

_ONCE = {"value": "costs", "gradient": "gradients"}
_EACH = {"hessian": "hessian_products", "hessian_matrix": "hessian_matrices"}
# What a plain cost was made of.
_FUNCTIONS = {"cost": "costs", "gradient": "gradients", "hessian": "hessian_products"}


def _ignore(point: Any) -> None:
    """What easier versions of a cost report their gradients to."""


class WatchedCost:
    """A cost that counts what is asked of it; everything else is the cost's own.

    Parameters
    ----------
    cost : object with ``at(point)``
    counts : Counts
        To count into.
    on_gradient : callable
        Called with what :meth:`at` returned, once its gradient is known.
    """

    def __init__(
        self, cost: Any, counts: Counts, on_gradient: Callable[[WatchedPoint], None] = _ignore
    ):
        self.watched = cost
        self._counts = counts
        self._on_gradient = on_gradient

    def __getattr__(self, name: str) -> Any:
        if name in ("watched", "_counts", "_on_gradient"):  # while it is being copied
            raise AttributeError(name)
        found = getattr(self.watched, name)
        if name in _FUNCTIONS and callable(found):
            return _counted(found, _FUNCTIONS[name], self._counts)
        return self._easier if name == "easier" else found

    def at(self, point: Any) -> WatchedPoint:
        """Return what the cost knows at a point, counted."""
        return WatchedPoint(self.watched.at(point), self._counts, self._on_gradient)

    def _easier(self) -> Iterator[tuple[WatchedCost, float]]:
        for cost, tolerance in self.watched.easier():
            yield WatchedCost(cost, self._counts), tolerance


class WatchedPoint:
    """What a cost knows at one point; value and gradient count once, as in an evaluation."""

    def __init__(self, point: Any, counts: Counts, on_gradient: Callable[[WatchedPoint], None]):
        self.watched = point
        self._counts = counts
        self._on_gradient = on_gradient
        self._known: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        if name in ("watched", "_counts", "_on_gradient", "_known"):
            raise AttributeError(name)
        found = getattr(self.watched, name)
        if name in _ONCE and name not in self._known:
            self._known.add(name)
            _count(self._counts, _ONCE[name])
            if name == "gradient":
                self._on_gradient(self)
        if name in _EACH:
            # Kept, since looking for it takes longer than many a product.
            found = self.__dict__[name] = _counted(found, _EACH[name], self._counts)
        return found


def _counted(function: Callable[..., Any], column: str, counts: Counts) -> Callable[..., Any]:
    def call(*arguments: Any, **options: Any) -> Any:
        value = function(*arguments, **options)
        _count(counts, column)
        return value

    return call


def _count(counts: Counts, column: str) -> None:
    setattr(counts, column, getattr(counts, column) + 1)
