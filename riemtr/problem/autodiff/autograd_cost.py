"""Derivatives by autograd.

Gradient and value come from one forward pass. The gradient is traced once per point, and each
Hessian product is one backward pass through that trace, so no product evaluates the cost or its
gradient again (``benchmarks/autodiff.py`` compares this with forward-over-reverse and with
pymanopt's double reverse).
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NoReturn

import numpy as np

from riemtr.manifolds.arrays import flatten, unflatten
from riemtr.problem.books import lazy
from riemtr.problem.shared_work import NotDifferentiableError

# What plain numpy functions, conversions and methods raise when handed autograd's boxes.
_UNTRACEABLE = (AttributeError, NotImplementedError, TypeError, ValueError)


class _Refusal:
    """The ``__array__`` of autograd's boxes during a trial: it refuses plain numpy at once.

    A box has no ``__array__``, and numpy takes it for a sequence: it makes a box of every entry,
    which takes a minute for a million entries. In threads without a trial the attribute does not
    exist, and after the last trial it is removed.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._trials = 0
        self._thread = threading.local()

    def __get__(self, box: Any, owner: type) -> Callable[..., NoReturn]:
        if not getattr(self._thread, "tries", False):
            raise AttributeError("__array__")
        return self._refuse

    @staticmethod
    def _refuse(*_: Any, **__: Any) -> NoReturn:
        raise TypeError("a function of plain numpy was called")

    @contextmanager
    def trial(self) -> Iterator[None]:
        from autograd.numpy.numpy_boxes import ArrayBox

        before = getattr(self._thread, "tries", False)
        with self._lock:
            self._trials += 1
            ArrayBox.__array__ = self
        self._thread.tries = True
        try:
            yield
        finally:
            self._thread.tries = before
            with self._lock:
                self._trials -= 1
                if not self._trials:
                    del ArrayBox.__array__


_REFUSAL = _Refusal()


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

    def trial(self) -> AbstractContextManager[None]:
        """Return a context in which a cost that calls functions of plain numpy fails at once."""
        return _REFUSAL.trial()


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
            self._raise_what_is_wrong()
            raise NotDifferentiableError(
                f"autograd could not trace the cost ({error}); write it with autograd.numpy "
                'functions, pass autodiff="jax" or "torch" to Problem if it is written with those, '
                "or pass euclidean_gradient (and euclidean_hessian)"
            ) from error

    def _raise_what_is_wrong(self) -> None:
        """Raise what is wrong with the cost itself, if anything is."""
        try:
            self._owner.cost(*self._arrays)
        except TypeError as error:
            if "Tensor" not in str(error):
                raise
            raise NotDifferentiableError(
                f'the cost wants tensors ({error}); pass autodiff="torch" to Problem'
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
