"""Plain callables wrapped into costs with ``at(point)``."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np

from riemtr.manifolds.arrays import array_count, flatten, owned, unflatten
from riemtr.problem.books import lazy
from riemtr.problem.shared_work import NotDifferentiableError, SharedWorkCost, SharedWorkPoint


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
        self._overwrites = False

    def at(self, point: Any) -> CallablePoint:
        """Return the lazily evaluated values at one point."""
        return CallablePoint(self, point)

    def readable(self, value: Any) -> list[Any]:
        """Return the arrays of a point or a vector, for functions to read."""
        arrays = [value] if self.layout == 1 else flatten(value, self.layout)
        for index, array in enumerate(arrays):
            view = np.asarray(array).view()
            view.flags.writeable = False
            arrays[index] = view
        return arrays

    def call(self, function: Callable[..., Any], arrays: list[Any]) -> Any:
        """Call a function with arrays to read; one that writes into them gets copies."""
        if not self._overwrites:
            try:
                return function(*arrays)
            except ValueError as error:
                if "read-only" not in str(error):
                    raise
            self._overwrites = True
        return function(*map(np.array, arrays))

    def traces(self, here: CallablePoint) -> bool | None:
        """Whether the traced gradient is the one that was given; None if it cannot be told.

        A cost written with plain numpy can slip through autodiff untraced, with derivatives of
        zero. It is told at a point that nobody chose, so that no run depends on earlier ones, or
        where that is off the domain of the cost at the point itself.
        """
        return self._traces(here) if self._traces_anywhere is None else self._traces_anywhere

    @lazy
    def _traces_anywhere(self) -> bool | None:
        try:
            with np.errstate(all="ignore"):
                return self._traces(self.at(self._probe()))
        except Exception:  # of functions that anyone may have written
            return None

    def _traces(self, here: CallablePoint) -> bool | None:
        given = flatten(here.gradient, self.layout)
        if not all(np.isfinite(part).all() for part in given) or not any(map(np.any, given)):
            return None  # zeros verify nothing
        try:
            with getattr(self.traced, "trial", nullcontext)():
                found = flatten(self.traced.at(here.point).gradient, self.layout)
        except NotDifferentiableError:
            return False
        pairs = list(zip(found, given, strict=True))
        return all(np.allclose(a, b, rtol=1e-3, atol=1e-3 * np.abs(b).max()) for a, b in pairs)


class CallablePoint:
    """Values of plain callables at one point."""

    def __init__(self, owner: CallableCost, point: Any):
        self.point = point
        self._owner = owner
        self._arrays = owner.readable(point)

    @lazy
    def value(self) -> Any:
        """The cost."""
        return self._owner.call(self._owner.cost, self._arrays)

    @lazy
    def gradient(self) -> Any:
        """The gradient, in the layout of a point."""
        # Kept, and a function may use its arrays again.
        return owned(self._arranged(self._owner.call(self._owner.gradient, self._arrays)), None)

    def hessian(self, vector: Any) -> Any:
        """Hessian product, in the layout of a point; by autodiff if no Hessian was given."""
        owner = self._owner
        if owner.hessian is None:
            return self._traced.hessian(vector)
        image = owner.call(owner.hessian, self._arrays + owner.readable(vector))
        return image if owner.layout == 1 else self._arranged(image)

    @property
    def has_hessian(self) -> bool:
        """Whether one was given, or autodiff is known to see the cost as it is."""
        return self._owner.hessian is not None or self._traces is not None

    @lazy
    def _traces(self) -> bool | None:
        return self._owner.traces(self)

    @lazy
    def _traced(self) -> SharedWorkPoint:
        if not self._traces:
            raise NotDifferentiableError("the traced gradient of the cost is not the one given")
        return self._owner.traced.at(self.point)

    def _arranged(self, value: Any) -> Any:
        """Return the value in the layout of a point."""
        layout = self._owner.layout
        if isinstance(layout, int):
            return value
        parts, count = list(value), array_count(layout)
        if len(parts) != count:
            counts = ", ".join(map(str, layout))
            raise ValueError(
                f"derivatives must have {count} arrays, one for each of the point's; "
                f"got {len(parts)} (points of the product's factors have {counts})"
            )
        return unflatten(parts, layout)
