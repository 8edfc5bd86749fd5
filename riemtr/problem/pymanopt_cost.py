"""The functions of a ``pymanopt.Problem`` as a cost with ``at(point)``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pymanopt

from riemtr.problem.evaluation import Derivatives


class PymanoptCost:
    """Cost, gradient and Hessian of a ``pymanopt.Problem``, of the kinds it was given.

    Taking the Euclidean ones wherever pymanopt has them lets the Riemannian Hessian product reuse
    the gradient at the point, which pymanopt computes again in every product.
    """

    def __init__(self, problem: pymanopt.Problem):
        original = problem._original_cost
        backend = str(getattr(original, "_backend", ""))
        given = {
            kind: getattr(problem, f"_{kind}") is not None
            for kind in ("riemannian_gradient", "riemannian_hessian")
        }
        given["gradient"] = given["riemannian_gradient"] or problem._euclidean_gradient is not None
        given["hessian"] = given["riemannian_hessian"] or problem._euclidean_hessian is not None

        gradient_kind = "riemannian" if given["riemannian_gradient"] else "euclidean"
        hessian_kind = gradient_kind if not given["riemannian_hessian"] else "riemannian"
        if backend == "NumPy" and not given["hessian"]:
            hessian_kind = "differences"

        self.cost: Callable[[Any], Any] = problem.cost
        self.gradient: Callable[[Any], Any] = getattr(problem, f"{gradient_kind}_gradient")
        self.hessian: Callable[[Any, Any], Any] | None = None
        if hessian_kind != "differences":
            self.hessian = getattr(problem, f"{hessian_kind}_hessian")
        # pymanopt's euclidean_hessian embeds the tangent vector itself.
        self.derivatives = Derivatives(gradient_kind, hessian_kind, embeds_vectors=False)

        self.autograd_function: Callable[..., Any] | None = None
        if backend == "Autograd" and not given["gradient"] and not given["hessian"]:
            self.autograd_function = original._original_function

    def at(self, point: Any) -> PymanoptPoint:
        """Return the functions bound to one point."""
        return PymanoptPoint(self, point)


class PymanoptPoint:
    """A :class:`PymanoptCost` at one point."""

    def __init__(self, owner: PymanoptCost, point: Any):
        self._owner = owner
        self._point = point

    @property
    def value(self) -> Any:
        """The cost."""
        return self._owner.cost(self._point)

    @property
    def gradient(self) -> Any:
        """The gradient."""
        return self._owner.gradient(self._point)

    def hessian(self, vector: Any) -> Any:
        """Hessian product."""
        assert self._owner.hessian is not None
        return self._owner.hessian(self._point, vector)
