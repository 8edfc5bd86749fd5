"""Derivatives of plain callables by autograd, behind a seam that other backends can fill.

A backend turns a plain cost into one that shares work: an object whose ``at(point)`` has
``value``, ``gradient`` and ``hessian(v)``. Gradient and value come from one forward pass. The
gradient is traced once per point, and each Hessian product is one backward pass through that
trace, so no product evaluates the cost or its gradient again (``benchmarks/autodiff.py`` compares
this with forward-over-reverse and with pymanopt's double reverse).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from riemtr.problem.layout import flatten, unflatten
from riemtr.problem.lazy import lazy


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


# What plain numpy functions, conversions and methods raise when handed autograd's boxes.
_UNTRACEABLE = (AttributeError, NotImplementedError, TypeError, ValueError)


class NotDifferentiableError(ValueError):
    """autograd cannot differentiate the cost."""


class UnverifiedError(ValueError):
    """Whether autograd sees the cost as it is cannot be told at this point."""


class AutogradCost:
    """A plain callable with autograd's derivatives.

    Parameters
    ----------
    cost : callable
        Takes the arrays of a point, returns a real number; written with ``autograd.numpy``.
    layout : int or sequence of int
        pymanopt's point layout.
    """

    def __init__(self, cost: Callable[..., Any], layout: Any):
        self.cost = cost
        self.layout = layout

    def at(self, point: Any) -> AutogradPoint:
        """Return the shared work at one point."""
        return AutogradPoint(self, tuple(flatten(point, self.layout)))


class AutogradPoint:
    """Value, gradient and Hessian products of one cost at one point."""

    def __init__(self, owner: AutogradCost, arrays: tuple[Any, ...]):
        self._owner = owner
        self._arrays = arrays

    def _on_tuple(self, arrays: tuple[Any, ...]) -> Any:
        return self._owner.cost(*arrays)

    @lazy
    def _forward(self) -> tuple[Callable[[Any], Any], Any]:
        from autograd.core import make_vjp

        try:
            return make_vjp(self._on_tuple, self._arrays)
        except _UNTRACEABLE as error:
            raise NotDifferentiableError(
                f"autograd could not trace the cost ({error}); write it with autograd.numpy "
                "functions, or pass euclidean_gradient (and euclidean_hessian) to Problem"
            ) from error

    @property
    def value(self) -> float:
        """The cost."""
        return self._forward[1]

    @lazy
    def gradient(self) -> Any:
        """Euclidean gradient, from the same forward pass as the value."""
        backward, value = self._forward
        return self._restore(backward(np.ones_like(value)))

    @lazy
    def _linearization(self) -> Callable[[Any], Any]:
        from autograd import grad
        from autograd.core import make_vjp

        try:
            with warnings.catch_warnings():
                # The gradient of a linear cost is independent of the point, and rightly so.
                warnings.filterwarnings("ignore", "Output seems independent", UserWarning)
                return make_vjp(grad(self._on_tuple), self._arrays)[0]
        except _UNTRACEABLE as error:
            raise NotDifferentiableError(
                f"autograd could not differentiate the gradient of the cost ({error}); pass "
                "euclidean_hessian to Problem, or a gradient to be differenced"
            ) from error

    def hessian(self, vector: Any) -> Any:
        """Euclidean Hessian product: one backward pass through the traced gradient."""
        return self._restore(self._linearization(tuple(flatten(vector, self._owner.layout))))

    def _restore(self, arrays: tuple[Any, ...]) -> Any:
        # autograd's derivative of a real function of z = x + iy is d/dx - i d/dy; the gradient
        # in the real inner product Re<a, b> is its conjugate.
        conjugated = [np.conj(a) if np.iscomplexobj(a) else a for a in arrays]
        return unflatten(conjugated, self._owner.layout)
