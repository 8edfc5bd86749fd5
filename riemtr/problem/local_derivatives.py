"""Cost, gradient and Hessian products at one point: computed on demand, once, and counted."""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from pymanopt.manifolds import FixedRankEmbedded
from scipy.linalg import norm

from riemtr.manifolds import (
    embed,
    is_bounded,
    riemannian_gradient,
    riemannian_hessian,
    to_tangent,
    transport,
)
from riemtr.manifolds.protocol import is_a
from riemtr.problem.counts import Counts
from riemtr.problem.layout import flatten
from riemtr.problem.lazy import lazy, provide
from riemtr.problem.shared_work import NotDifferentiableError

if TYPE_CHECKING:
    from riemtr.problem.problem import Problem


@dataclass(frozen=True)
class Derivatives:
    """What kind the derivatives of a cost are of.

    Attributes
    ----------
    gradient : {"euclidean", "riemannian"}
    hessian : {"euclidean", "riemannian", "differences"}
        "differences": central differences of the Riemannian gradient.
    embeds_vectors : bool
        Whether tangent vectors must be embedded before a Euclidean Hessian sees them.
    """

    gradient: str
    hessian: str
    embeds_vectors: bool = True


class LocalDerivatives:
    """The derivatives of a problem at one point, and the geometry of its tangent space."""

    def __init__(self, problem: Problem, point: Any, counts: Counts):
        self.problem = problem
        self.manifold = problem.manifold
        self.point = point
        self.counts = counts

    @lazy
    def _local(self) -> Any:
        """What the cost knows at the point."""
        return self.problem.cost.at(self.point)

    @lazy
    def cost(self) -> float:
        """The cost."""
        self.counts.costs += 1
        value = self._local.value
        if type(value) is float:
            return value
        if isinstance(value, np.ndarray) and value.size == 1:
            value = value.reshape(())[()]
        if isinstance(value, (complex, np.complexfloating)):
            if not abs(value.imag) <= self.precision**0.5 * abs(value):
                raise ValueError(
                    f"the cost must return one real number; it returned {value!r}: is a conjugate "
                    f"missing?"
                )
            value = value.real
        try:
            return float(value)
        except (TypeError, ValueError):
            hint = ""
            if callable(value):
                hint = "; value and gradient are attributes or properties, not methods"
            elif "ArrayBox" in type(value).__name__:
                hint = "; write it with autograd.numpy, whose values those are, not with numpy"
            raise ValueError(
                f"the cost must return one real number; it returned {value!r}{hint}"
            ) from None

    @lazy
    def _raw_gradient(self) -> Any:
        self.counts.gradients += 1
        gradient = self._owned(self._local.gradient)
        point = self.point
        if not (isinstance(point, np.ndarray) and np.shape(gradient) == point.shape):
            self._check_parts(gradient)
        return gradient

    def _check_parts(self, gradient: Any) -> None:
        # Tangent vectors may have other parts than points, as on manifolds of fixed rank.
        kind = self.problem.derivatives.gradient
        if kind == "euclidean" or isinstance(self.point, np.ndarray):
            wrong = _mismatch(gradient, self.point)
        else:
            wrong = _mismatch(gradient, self.manifold.zero_vector(self.point), of="tangent vector")
        if wrong:
            raise ValueError(f"the gradient{wrong}{_form(self.manifold, kind)}")

    def in_precision(self, vector: Any) -> Any:
        """Return the vector with the point's floating-point type, so that float32 stays float32."""
        if isinstance(vector, np.ndarray) and isinstance(self.point, np.ndarray):
            dtype = self.point.dtype
            return vector if vector.dtype == dtype else vector.astype(dtype)
        return vector

    def _owned(self, value: Any) -> Any:
        """Return what a cost computed, in the point's precision; it may use its arrays again."""
        vector = self.in_precision(value)
        if vector is not value:
            return vector
        return value.copy() if isinstance(value, np.ndarray) else deepcopy(value)

    def _as_tangent(self, vector: Any) -> Any:
        """Return a user's plain sequence of arrays as a tangent vector, which adds and scales."""
        if type(vector) in (list, tuple):
            return self.manifold.zero_vector(self.point) + vector
        return vector

    @lazy
    def gradient(self) -> Any:
        """Riemannian gradient."""
        if self.problem.derivatives.gradient == "riemannian":
            return self._as_tangent(self._raw_gradient)
        return riemannian_gradient(self.manifold, self.point, self._raw_gradient)

    @lazy
    def gradient_norm(self) -> float:
        """Norm of the Riemannian gradient."""
        return float(self.norm(self.gradient))

    def inner(self, vector_a: Any, vector_b: Any) -> float:
        """Inner product of tangent vectors at the point."""
        return float(self.manifold.inner_product(self.point, vector_a, vector_b).real)

    def norm(self, vector: Any) -> float:
        """Norm of a tangent vector at the point, of vectors whose square under- or overflows too.

        Rounding can make a square negative; it is then as uncertain as it is large.
        """
        with np.errstate(over="ignore"):
            square = abs(self.inner(vector, vector))
        if 1e-250 < square < 1e250:
            return math.sqrt(square)
        size = self.largest_entry(vector)
        if size == 0.0 or not math.isfinite(size):
            return size
        unit = vector / size
        return size * math.sqrt(abs(self.inner(unit, unit)))

    def largest_entry(self, vector: Any) -> float:
        """The largest entry of the arrays of a point or a vector, by magnitude."""
        arrays = flatten(vector, getattr(self.manifold, "point_layout", 1))
        return max(float(np.abs(array).max(initial=0.0)) for array in arrays)

    def tangent(self, vector: Any) -> Any:
        """Remove what rounding has left of a vector outside the tangent space."""
        return to_tangent(self.manifold, self.point, vector)

    def norm_outside(self, vector: Any) -> float:
        """Norm of what a vector has outside the tangent space."""
        return self.norm(vector - self.tangent(vector))

    @lazy
    def hessian_kind(self) -> str:
        """Of what kind Hessian products are here, as in :class:`Derivatives`."""
        kind = self.problem.derivatives.hessian
        if kind == "differences":
            return kind
        if not hasattr(self._local, "hessian"):
            self.problem.use_differences()
            return "differences"
        # Elsewhere there may be one.
        return kind if getattr(self._local, "has_hessian", True) else "differences"

    def hessian(self, vector: Any) -> Any:
        """Riemannian Hessian product."""
        if self.hessian_kind == "differences":
            return self._difference(vector)
        try:
            product = self._product(self._local.hessian, vector)
        except NotDifferentiableError:
            self.problem.use_differences()
            provide(self, hessian_kind="differences")
            return self._difference(vector)
        self.counts.hessian_products += 1
        return product

    def step_product(self, vector: Any) -> Any:
        """Riemannian Hessian product to the accuracy that steps need.

        In single precision where the cost offers that at a lower price.
        """
        rough = getattr(self._local, "rough_hessian", None)
        if rough is None or self.hessian_kind != "euclidean":
            return self.hessian(vector)
        self.counts.hessian_products += 1
        return self._product(rough, vector)

    def _product(self, product: Callable[[Any], Any], vector: Any) -> Any:
        """Riemannian Hessian product from the one that the cost offers."""
        if self.hessian_kind == "riemannian":
            image = self._owned(product(vector))
            wrong = _mismatch(image, vector, of="vector")
            if wrong:
                raise ValueError(f"a Hessian product{wrong}")
            return self._as_tangent(image)
        embedded = vector
        if self.problem.derivatives.embeds_vectors:
            embedded = embed(self.manifold, self.point, vector)
        image = self._owned(product(embedded))
        wrong = _mismatch(image, self.point)
        if wrong:
            raise ValueError(f"a Hessian product{wrong}")
        return riemannian_hessian(self.manifold, self.point, self._raw_gradient, image, vector)

    def _difference(self, vector: Any, share: float = 1.0) -> Any:
        length = self.norm(vector)
        self.counts.hessian_products += 1
        if length == 0.0:
            return 0.0 * vector
        # The cube root of the precision balances truncation and rounding of central differences.
        step = share * float(np.cbrt(self.precision)) * self.reach(vector) / length
        ahead, behind = (self._gradient_nearby(sign * step * vector) for sign in (1.0, -1.0))
        return (ahead - behind) * (0.5 / step)

    def reach(self, vector: Any) -> float:
        """The length of a step along a vector beside which roundings of the point are relative.

        At least 1; more far out where the metric does not shrink steps with the distance.
        """
        if is_bounded(self.manifold):
            return 1.0
        size, entry = self.largest_entry(self.point), self.largest_entry(vector)
        return max(1.0, size * self.norm(vector) / entry) if entry > 0.0 else 1.0

    def second_opinion(self, vector: Any) -> Any:
        """Hessian product once more; by differences, with steps half as long.

        Where they are too long the two differ, and by most of what both are off.
        """
        if self.hessian_kind == "differences":
            return self._difference(vector, share=0.5)
        return self.hessian(vector)

    def _gradient_nearby(self, displacement: Any) -> Any:
        point = self.manifold.retraction(self.point, displacement)
        nearby = type(self)(self.problem, point, self.counts)
        return transport(self.manifold, nearby.point, self.point, nearby.gradient)

    def precondition(self, vector: Any) -> Any:
        """Apply the problem's preconditioner (the identity if it has none)."""
        if self.problem.preconditioner is None:
            return vector
        image = self.problem.preconditioner(self.point, vector)
        wrong = _mismatch(image, vector, of="vector")
        if wrong:
            raise ValueError(f"the result of preconditioner(point, vector){wrong}")
        return self._as_tangent(image)

    @lazy
    def precision(self) -> float:
        """Machine epsilon of the coarser of the point's floating-point type and the cost's."""
        return self.problem.precision(self.point)

    @lazy
    def conversion_size(self) -> float:
        """Size of what the Riemannian Hessian is the difference of: the Euclidean gradient's.

        Where it is large beside the Hessian, the digits they share are lost.
        """
        if self.hessian_kind != "euclidean":
            return 0.0
        parts = flatten(self._raw_gradient, getattr(self.manifold, "point_layout", 1))
        # BLAS's norm, since squares overflow long before it does.
        return math.hypot(*(norm(np.ravel(part), check_finite=False) for part in parts))


def _mismatch(vector: Any, model: Any, where: str = "", of: str = "point") -> str:
    """Say how a vector's arrays are not those of a point or another vector; nothing if they are."""
    if isinstance(model, np.ndarray):
        if np.shape(vector) == model.shape:
            return ""
        return f"{where} must have the shape of the {of}, {model.shape}; it has {np.shape(vector)}"
    if isinstance(vector, np.ndarray) or not hasattr(vector, "__len__"):
        found = f"it is an array of shape {np.shape(vector)}"
    elif len(vector) != len(model):
        found = f"it has {len(vector)}"
    else:
        pairs = enumerate(zip(vector, model, strict=True))
        mismatches = (_mismatch(*pair, f"{where}[{index}]", of) for index, pair in pairs)
        return next(filter(None, mismatches), "")
    return f"{where} must have {len(model)} parts, as the {of} has; {found}"


def _form(manifold: Any, kind: str) -> str:
    """Say what gradients are made of where that is no matter of course."""
    factors = getattr(manifold, "manifolds", [manifold])
    if not any(is_a(factor, FixedRankEmbedded) for factor in factors):
        return ""
    forms = {
        "euclidean": "derivatives by u, s and vt: with that by the matrix (u * s) @ vt, G, they "
        "are G @ vt.T * s, np.diag(u.T @ G @ vt.T) and (u * s).T @ G",
        "riemannian": "the parts Up, M and Vp of a tangent vector: with the derivative by the "
        "matrix (u * s) @ vt, G, they are G @ vt.T - u @ M, M = u.T @ G @ vt.T and "
        "G.T @ u - vt.T @ M.T",
    }
    return f". On manifolds of fixed rank pass {forms[kind]}"
