"""Costs that share work between value, gradient and Hessian: what riemtr knows of a cost.

Every cost is brought to this form: plain callables are wrapped (:mod:`riemtr.problem.costs`) or
differentiated (:mod:`riemtr.problem.autodiff`), pymanopt's are converted
(:mod:`riemtr.problem.pymanopt_cost`), and yours may have it from the outset.

Beyond the two protocols below there is more that a cost may offer, and solvers then use:

``easier()`` on the cost
    Pairs of an easier cost and a gradient tolerance, easiest first, for continuation.
``refresh()`` on the cost
    Called before each run: forget what was made of data that have been changed since.
``dtype`` on the cost
    The floating-point type it computes in, for random starts and for tolerances.
``has_hessian`` at a point
    False where there is none at that point; differences of gradients take its place.
``rough_hessian(v)`` at a point
    The Euclidean Hessian product to five digits, if that is cheaper: for steps.
``hessian_matrix()`` at a point
    The Euclidean Hessian as an array, if forming it is cheap.
``rough_hessian_matrix()`` at a point
    The same to five digits, if that is cheaper still.
``hessian_record`` and ``hessian_floor(record)`` at a point
    What was kept of the Hessian matrix formed there, None if there was none; and a matrix that the
    Hessian nowhere falls below, from the record of an earlier point, or None if it is of no use.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol


class SharedWorkPoint(Protocol):
    """What a cost that shares work knows at one point; all derivatives are Euclidean."""

    @property
    def value(self) -> Any:
        """The cost."""

    @property
    def gradient(self) -> Any:
        """Euclidean gradient."""

    def hessian(self, vector: Any) -> Any:
        """Euclidean Hessian product."""


class SharedWorkCost(Protocol):
    """A cost that shares work between value, gradient and Hessian products."""

    def at(self, point: Any) -> SharedWorkPoint:
        """Everything at one point, evaluated on demand."""


ROUGH_ACCURACY = 1e-5
"""Relative accuracy of what is offered to five digits."""

# autodiff(cost, layout): a plain callable of the point's arrays, and pymanopt's point layout.
Autodiff = Callable[[Callable[..., Any], Any], SharedWorkCost]


class NotDifferentiableError(ValueError):
    """A backend cannot differentiate the cost."""
