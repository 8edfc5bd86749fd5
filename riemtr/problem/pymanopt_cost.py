"""The functions of a ``pymanopt.Problem`` as a cost with ``at(point)``."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pymanopt
from pymanopt.autodiff import Function
from pymanopt.manifolds import Product

from riemtr.manifolds import adapt
from riemtr.problem.evaluation import Derivatives

# pymanopt's names of what riemtr differentiates as well.
_BACKENDS = {"Autograd": "autograd", "Jax": "jax", "PyTorch": "torch"}


def is_given(derivative: Any) -> bool:
    """Whether a derivative of a ``pymanopt.Problem`` was given by the user.

    pymanopt keeps the ones it generates in the same attributes once they were asked for; only
    those that the user gave lead back to a decorated function.
    """
    return derivative is not None and isinstance(inspect.unwrap(derivative), Function)


class PymanoptCost:
    """Cost, gradient and Hessian of a ``pymanopt.Problem``, of the kinds it was given.

    Taking the Euclidean ones wherever pymanopt has them lets the Riemannian Hessian product reuse
    the gradient at the point, which pymanopt computes again in every product.
    """

    def __init__(self, problem: pymanopt.Problem):
        original = problem._original_cost
        backend = str(getattr(original, "_backend", ""))
        given = {
            name: is_given(getattr(problem, f"_{name}"))
            for order in ("gradient", "hessian")
            for name in (f"euclidean_{order}", f"riemannian_{order}")
        }

        gradient_kind = "riemannian" if given["riemannian_gradient"] else "euclidean"
        hessian_kind = gradient_kind
        if given["riemannian_hessian"]:
            hessian_kind = "riemannian"
        elif (
            backend == "NumPy" and not (given["euclidean_hessian"] and given["euclidean_gradient"])
        ) or (hessian_kind == "riemannian" and not adapt(problem.manifold).converts_hessians):
            hessian_kind = "differences"

        if backend == "NumPy" and not (given["euclidean_gradient"] or given["riemannian_gradient"]):
            raise ValueError(
                "a pymanopt.Problem whose cost is decorated with pymanopt.function.numpy needs a "
                "gradient: pass euclidean_gradient to it, or write the cost with autograd.numpy "
                "and decorate it with pymanopt.function.autograd"
            )
        self.cost: Callable[[Any], Any] = problem.cost
        self.gradient: Callable[[Any], Any] = getattr(problem, f"{gradient_kind}_gradient")
        self.hessian: Callable[[Any, Any], Any] | None = None
        if hessian_kind != "differences":
            self.hessian = getattr(problem, f"{hessian_kind}_hessian")
        # pymanopt's euclidean_hessian embeds the tangent vector itself; on a product it should.
        embeds = isinstance(problem.manifold, Product)
        self.derivatives = Derivatives(gradient_kind, hessian_kind, embeds_vectors=embeds)

        # The function as it was before pymanopt's decorator, and who differentiates it.
        self.differentiable: tuple[Callable[..., Any], str] | None = None
        if backend in _BACKENDS and not any(given.values()):
            self.differentiable = original._original_function, _BACKENDS[backend]

    def at(self, point: Any) -> PymanoptPoint:
        """Return the functions bound to one point."""
        return PymanoptPoint(self, point)


class PymanoptPoint:
    """A :class:`PymanoptCost` at one point.

    Functions get copies, which they may change.
    """

    def __init__(self, owner: PymanoptCost, point: Any):
        self._owner = owner
        self._point = point

    @property
    def value(self) -> Any:
        """The cost."""
        return self._owner.cost(deepcopy(self._point))

    @property
    def gradient(self) -> Any:
        """The gradient."""
        return self._owner.gradient(deepcopy(self._point))

    def hessian(self, vector: Any) -> Any:
        """Hessian product."""
        assert self._owner.hessian is not None
        return self._owner.hessian(deepcopy(self._point), deepcopy(vector))
