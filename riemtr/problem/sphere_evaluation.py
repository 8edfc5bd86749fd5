"""A problem at one point of the sphere, without the detour over pymanopt's conventions.

There vectors are arrays in the Euclidean metric, and one number, the derivative along the point,
converts gradients and Hessians. Around products of microseconds, calls that do nothing count.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from riemtr.manifolds.sphere import safe_norm
from riemtr.problem.evaluation import Evaluation
from riemtr.problem.lazy import lazy


class SphereEvaluation(Evaluation):
    """A problem at one point of :class:`riemtr.Sphere`."""

    norm = staticmethod(safe_norm)

    @staticmethod
    def inner(vector_a: np.ndarray, vector_b: np.ndarray) -> float:
        """Inner product of tangent vectors."""
        return float(vector_a.dot(vector_b))

    def tangent(self, vector: np.ndarray) -> np.ndarray:
        """Remove what rounding has left of a vector outside the tangent space."""
        return vector - self.point.dot(vector) * self.point

    @lazy
    def _slope(self) -> float:
        """Derivative of the cost along the point, <grad, q>."""
        return float(self.point.dot(self._raw_gradient))

    @lazy
    def gradient(self) -> Any:
        """Riemannian gradient, (I - q q') grad."""
        if self.problem.derivatives.gradient == "riemannian":
            return self._as_tangent(self._raw_gradient)
        return self._raw_gradient - self._slope * self.point

    @lazy
    def conversion_size(self) -> float:
        """Size of the Euclidean gradient, from its two parts."""
        if self.hessian_kind != "euclidean":
            return 0.0
        return math.hypot(self._slope, self.gradient_norm)

    def _product(self, product: Any, vector: np.ndarray) -> Any:
        image = self.in_precision(product(vector))
        if np.shape(image) != vector.shape:
            raise ValueError(
                f"a Hessian product must have the shape of the point, {vector.shape}; it has "
                f"{np.shape(image)}"
            )
        if self.hessian_kind == "riemannian":
            return self._as_tangent(self._owned(image))
        # Sphere.euclidean_to_riemannian_hessian, with <grad, q> computed once per point.
        return self.tangent(image - self._slope * vector)

    def _riemannian(self, ambient: np.ndarray) -> np.ndarray:
        return self.manifold.riemannian_hessian_matrix(self.basis, self._raw_gradient, ambient)
