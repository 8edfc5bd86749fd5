"""Costs that share work between value, gradient and Hessian: what riemtr knows of a cost.

Every cost is brought to this form: plain callables are wrapped (:mod:`riemtr.problem.costs`) or
differentiated (:mod:`riemtr.problem.autodiff`), pymanopt's are converted
(:mod:`riemtr.problem.pymanopt_cost`), and yours may have it from the outset.

Beyond the two protocols below there is more that a cost may offer, and solvers then use:

``easier()`` on the cost
    Pairs of an easier cost and a gradient tolerance, easiest first, for continuation.
``dtype`` on the cost
    The floating-point type it computes in, for random starts and for tolerances.
``derivatives`` on the cost
    The kinds of its derivatives, a :class:`riemtr.problem.evaluation.Derivatives`, where they are
    Riemannian and not Euclidean: vectors are then those of the manifold.
``dual_bound(point)`` on the cost
    A number that the cost of no point anywhere is below, or None. Duality makes it of the point
    given; where it is that point's cost, the point is a global minimizer. It is the
    ``lower_bound`` of a certificate.
``relaxation`` on the cost
    A :class:`riemtr.problem.relaxation.Relaxation` that the staircase climbs, with ``rows`` that
    write its factors as points.
``has_hessian`` at a point
    False where there is none at that point; differences of gradients take its place.
``hessian_matrix()`` at a point
    The Euclidean Hessian as an array, if forming it is cheap.
``derivative_bounds(radius)`` at a point
    Bounds of the derivatives within that radius and of their rounding errors, a
    :class:`riemtr.problem.DerivativeBounds`: certificates then prove how far the minimizer is.
``precondition(vector)`` at a point
    The inverse of an approximate Hessian, symmetric and positive definite on tangent vectors.
``trial()`` on a cost that a backend made
    A context manager in which the backend fails early, where a cost of which the gradient is given
    is tried for a Hessian.
``rounds_matrix`` at a point
    True if ``hessian_matrix(accuracy=...)`` is cheaper where a relative error of that size is
    allowed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
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
"""Relative error of a Hessian matrix that steps, and proofs with a margin, can do with."""

SMOOTHING_FACTOR = 0.3
"""The factor between the smoothing parameters of two stages of a continuation."""


def smoothings(first: float, last: float, factor: float = SMOOTHING_FACTOR) -> Iterator[float]:
    """Yield smoothing parameters from the first down to near the last, which is not among them.

    Examples
    --------
    >>> list(smoothings(1.0, 0.1, factor=0.5)), list(smoothings(1.0, 0.9))
    ([1.0, 0.5, 0.25], [])
    """
    while last / math.sqrt(factor) < first < math.inf:
        yield first
        first *= factor


# autodiff(cost, layout): a plain callable of the point's arrays, and pymanopt's point layout.
Autodiff = Callable[[Callable[..., Any], Any], SharedWorkCost]


class NotDifferentiableError(ValueError):
    """A backend cannot differentiate the cost."""
