"""Derivatives by JAX, compiled: one program for value and gradient, one for Hessian products.

Products are forward-over-reverse. A cost that cannot be compiled, as where Python decides on its
values, is differentiated as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from riemtr.errors import require
from riemtr.manifolds.arrays import flatten, unflatten
from riemtr.problem.books import forget, lazy
from riemtr.problem.shared_work import NotDifferentiableError

# What functions of other libraries, conversions and decisions raise when handed JAX's tracers.
_UNTRACEABLE = (AttributeError, IndexError, NotImplementedError, TypeError, ValueError)

Arrays = tuple[Any, ...]


class JaxCost:
    """A plain callable with JAX's derivatives; needs the extra ``jax``.

    Parameters
    ----------
    cost : callable
        Takes the arrays of a point, returns a real number; written with ``jax.numpy``.
    layout : int or sequence of int
        pymanopt's point layout.
    """

    def __init__(self, cost: Callable[..., Any], layout: Any):
        require("jax", extra="jax")
        self.cost = cost
        self.layout = layout
        self._compiles = True

    def __getstate__(self) -> dict[str, Any]:
        """Pickle no programs, which are made anew."""
        return {name: value for name, value in self.__dict__.items() if name != "_programs"}

    def at(self, point: Any) -> JaxPoint:
        """Return the shared work at one point."""
        return JaxPoint(self, tuple(flatten(point, self.layout)))

    @lazy
    def _programs(self) -> tuple[Callable[..., Any], Callable[..., Any]]:
        """Value and gradient as a function of arrays; products as one of arrays and vectors."""
        import jax

        every = tuple(range(int(np.sum(self.layout))))
        gradient = jax.grad(self.cost, argnums=every)

        def product(arrays: Arrays, vectors: Arrays) -> Any:
            return jax.jvp(gradient, arrays, vectors)[1]

        programs = jax.value_and_grad(self.cost, argnums=every), product
        return (jax.jit(programs[0]), jax.jit(programs[1])) if self._compiles else programs

    def value_and_gradient(self, arrays: Arrays) -> tuple[float, list[np.ndarray]]:
        """Return the cost and the arrays of its gradient."""
        value, gradient = self._run(lambda programs: programs[0](*arrays))
        return float(value), _as_numpy(gradient, arrays)

    def product(self, arrays: Arrays, vectors: Arrays) -> list[np.ndarray]:
        """Return the arrays of a Hessian product."""
        # JAX wants the types of both to agree, and its own arrays.
        pairs = zip(vectors, arrays, strict=True)
        vectors = tuple(np.asarray(vector, dtype=array.dtype) for vector, array in pairs)
        return _as_numpy(self._run(lambda programs: programs[1](arrays, vectors)), arrays)

    def _run(self, use: Callable[[Any], Any]) -> Any:
        try:
            return use(self._programs)
        except _UNTRACEABLE:
            if not self._compiles:
                raise
        self._compiles = False
        forget(self, "_programs")
        return use(self._programs)


class JaxPoint:
    """Value, gradient and Hessian products of one cost at one point."""

    def __init__(self, owner: JaxCost, arrays: Arrays):
        self._owner = owner
        self._arrays = arrays

    @lazy
    def _value_and_gradient(self) -> tuple[float, list[np.ndarray]]:
        try:
            return self._owner.value_and_gradient(self._arrays)
        except _UNTRACEABLE as error:
            self._owner.cost(*self._arrays)  # raises what is wrong with the cost itself
            raise NotDifferentiableError(
                f"jax could not differentiate the cost ({_first_line(error)}); write it with "
                "jax.numpy functions, or pass euclidean_gradient (and euclidean_hessian) to Problem"
            ) from error

    @property
    def value(self) -> float:
        """The cost."""
        return self._value_and_gradient[0]

    @property
    def gradient(self) -> Any:
        """Euclidean gradient."""
        return unflatten(self._value_and_gradient[1], self._owner.layout)

    def hessian(self, vector: Any) -> Any:
        """Euclidean Hessian product."""
        layout = self._owner.layout
        try:
            product = self._owner.product(self._arrays, tuple(flatten(vector, layout)))
        except _UNTRACEABLE as error:
            raise NotDifferentiableError(
                f"jax could not differentiate the gradient of the cost ({_first_line(error)}); "
                "pass euclidean_hessian to Problem, or a gradient to be differenced"
            ) from error
        return unflatten(product, layout)


def _as_numpy(derivatives: Any, arrays: Arrays) -> list[np.ndarray]:
    """Return derivatives of a real function as gradients in the real inner product Re<a, b>.

    JAX's are their conjugates, d/dx - i d/dy for z = x + iy.
    """
    found = [np.conj(part) if np.iscomplexobj(part) else np.asarray(part) for part in derivatives]
    for part, array in zip(found, arrays, strict=True):
        if part.dtype.itemsize < array.dtype.itemsize:
            raise RuntimeError(
                f"jax computes in {part.dtype} where the point is {array.dtype}: call "
                'jax.config.update("jax_enable_x64", True) first, or start from a float32 point'
            )
    return found


def _first_line(error: Exception) -> str:
    return str(error).split("\n")[0]
