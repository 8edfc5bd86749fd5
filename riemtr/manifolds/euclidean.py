"""Flat space: arrays of one shape, without constraints."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from riemtr.arguments import integer
from riemtr.manifolds.basis import FlatBasis
from riemtr.manifolds.manifold import Manifold, TangentSpace, drawing, safe_norm


class EuclideanSpace(TangentSpace):
    """All arrays of the shape of the point."""

    transports_stacks = True
    keeps_vectors = True

    def tangent(self, vector: np.ndarray) -> np.ndarray:
        """Return the vector."""
        return vector

    def transported(self, vector: np.ndarray, origin: TangentSpace) -> np.ndarray:
        """Return the vector, which is the same everywhere."""
        return vector

    def hessian(
        self, euclidean_gradient: np.ndarray, euclidean_product: np.ndarray, vector: np.ndarray
    ) -> np.ndarray:
        """Return the Euclidean Hessian product."""
        return euclidean_product

    def units(self) -> np.ndarray:
        """Return the unit arrays."""
        shape = self.manifold.shape
        size = math.prod(shape)
        return np.eye(size).reshape(size, *shape)

    def basis(self) -> FlatBasis:
        """Return the unit vectors."""
        return FlatBasis(self.zero())

    def move(self, vector: np.ndarray) -> np.ndarray:
        """Return X + V."""
        return self.point + vector


class Euclidean(Manifold[np.ndarray]):
    r"""Euclidean space of real arrays of one shape.

    The inner product of two tangent vectors is the sum of the products of their entries, and
    geodesics are straight lines.

    Parameters
    ----------
    *shape : int
        Shape of the points: ``Euclidean(n)`` for vectors, ``Euclidean(m, n)`` for matrices.

    Examples
    --------
    >>> import numpy as np, riemtr
    >>> plane = riemtr.Euclidean(2)
    >>> plane.dim
    2
    >>> plane.dist(np.array([0.0, 0.0]), np.array([3.0, 4.0]))
    5.0
    """

    space_type = EuclideanSpace
    bounded = False

    def __init__(self, *shape: int):
        if not shape:
            raise ValueError("shape must consist of at least one integer; got none")
        self.shape = tuple(integer("shape", length) for length in shape)
        words = " x ".join(map(str, self.shape))
        super().__init__(f"Euclidean space of arrays of shape {words}", math.prod(self.shape))

    def __repr__(self) -> str:
        return f"Euclidean({', '.join(map(str, self.shape))})"

    @property
    def typical_dist(self) -> float:
        """Root of the dimension, as there is no largest distance."""
        return math.sqrt(self.dim)

    def frames(self, point: np.ndarray) -> list[np.ndarray]:
        """Return nothing: there are no columns to be orthonormal, and geodesics are lines."""
        return []

    def dist(self, point_a: np.ndarray, point_b: np.ndarray) -> float:
        """Norm of the difference of two points."""
        return safe_norm(point_a - point_b)

    def log(self, point_a: np.ndarray, point_b: np.ndarray) -> np.ndarray:
        """Return the difference of two points."""
        return point_b - point_a

    def stacked_space(self, points: np.ndarray) -> TangentSpace:
        """Return the tangent spaces at many points as one."""
        return self.space_type(self, points)

    def random_point(self, rng: Any = None) -> np.ndarray:
        """Draw an array of standard normal numbers."""
        return drawing(rng).standard_normal(self.shape)
