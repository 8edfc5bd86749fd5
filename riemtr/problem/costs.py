"""Plain callables wrapped into costs with ``at(point)``."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from riemtr.problem.layout import flatten, unflatten
from riemtr.problem.lazy import lazy
from riemtr.problem.shared_work import (
    NotDifferentiableError,
    SharedWorkCost,
    SharedWorkPoint,
)


class CallableCost:
    """A cost and its gradient, perhaps its Hessian, as plain callables.

    Callables take one argument per array of the point, as in pymanopt: ``cost(x)`` on a sphere,
    ``cost(x, y)`` on a product of two; Hessians take the arrays of the vector after those of the
    point.
    """

    def __init__(
        self,
        cost: Callable[..., Any],
        gradient: Callable[..., Any],
        hessian: Callable[..., Any] | None,
        traced: SharedWorkCost,
        layout: Any,
        probe: Callable[[], Any],
    ):
        self.cost = cost
        self.gradient = gradient
        self.hessian = hessian
        self.traced = traced
        self.layout = layout
        self._probe = probe

    def at(self, point: Any) -> CallablePoint:
        """Return the lazily evaluated values at one point."""
        return CallablePoint(self, point)

    @lazy
    def traces(self) -> bool:
        """Whether the traced gradient is the one that was given, at a point that nobody chose.

        A cost written with plain numpy can slip through autograd untraced, with derivatives of
        zero.
        """
        try:
            point = self._probe()
            found = flatten(self.traced.at(point).gradient, self.layout)
            given = flatten(self.at(point).gradient, self.layout)
        except Exception:  # of functions that anyone may have written, or of autograd
            return False
        pairs = list(zip(found, given, strict=True))
        same = all(np.allclose(a, b, rtol=1e-3, atol=1e-3 * np.abs(b).max()) for a, b in pairs)
        return same and any(np.any(part) for part in given)  # zeros verify nothing


class CallablePoint:
    """Values of plain callables at one point."""

    def __init__(self, owner: CallableCost, point: Any):
        self._owner = owner
        self._arrays = flatten(point, owner.layout)

    def _copies(self) -> list[Any]:
        """The point's arrays, for a function to do with as it likes."""
        return [np.array(array) for array in self._arrays]

    @lazy
    def value(self) -> Any:
        """The cost."""
        return self._owner.cost(*self._copies())

    @lazy
    def gradient(self) -> Any:
        """The gradient, in the layout of a point."""
        return self._own(self._owner.gradient(*self._copies()))

    def hessian(self, vector: Any) -> Any:
        """Hessian product, in the layout of a point; by autograd if no Hessian was given."""
        if self._owner.hessian is None:
            return self._traced.hessian(vector)
        vectors = [np.array(part) for part in flatten(vector, self._owner.layout)]
        return self._own(self._owner.hessian(*self._copies(), *vectors))

    @lazy
    def _traced(self) -> SharedWorkPoint:
        if not self._owner.traces:
            raise NotDifferentiableError("the traced gradient of the cost is not the one given")
        return self._owner.traced.at(unflatten(self._arrays, self._owner.layout))

    def _own(self, value: Any) -> Any:
        """Return the value in the layout of a point, as arrays that a function cannot reuse."""
        layout = self._owner.layout
        if layout == 1:
            return value.copy() if isinstance(value, np.ndarray) else value
        if isinstance(layout, int):
            return copy.deepcopy(value)
        parts = list(value)
        if len(parts) != len(self._arrays):
            raise ValueError(
                f"derivatives must have {len(self._arrays)} arrays, one for each of the point's; "
                f"got {len(parts)}"
            )
        return copy.deepcopy(unflatten(parts, layout))
