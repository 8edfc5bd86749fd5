"""The unit sphere: the paper's manifold (section II.A)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from riemtr.arguments import integer
from riemtr.manifolds.arrays import finite_floats
from riemtr.manifolds.basis import HouseholderBasis
from riemtr.manifolds.manifold import (
    POINT_TOLERANCE,
    Manifold,
    TangentSpace,
    drawing,
    safe_norm,
)

# Value of 1 + <p, q> from which on the formula of parallel transport keeps its digits.
_ANTIPODAL = 1e-8


class SphereSpace(TangentSpace):
    """The vectors orthogonal to a unit vector q."""

    norm = staticmethod(safe_norm)
    keeps_vectors = True
    _slope: float | None = None

    def inner(self, vector_a: np.ndarray, vector_b: np.ndarray) -> float:
        """Return the dot product."""
        return float(vector_a.dot(vector_b))

    def tangent(self, vector: np.ndarray) -> np.ndarray:
        """Return (I - q q') v."""
        return vector - self.point.dot(vector) * self.point

    def gradient(self, euclidean_gradient: np.ndarray) -> np.ndarray:
        """Return (I - q q') grad."""
        return euclidean_gradient - self.point.dot(euclidean_gradient) * self.point

    def hessian(
        self, euclidean_gradient: np.ndarray, euclidean_product: np.ndarray, vector: np.ndarray
    ) -> np.ndarray:
        """Return P (Hv - <grad, q> v): eq. (fq_rie_hess).

        The projection comes last, so that what rounding leaves of v outside the tangent space is
        mapped to zero rather than to curvature -<grad, q>.
        """
        if self._slope is None:
            self._slope = float(self.point.dot(euclidean_gradient))
        product = euclidean_product - self._slope * vector
        product -= self.point.dot(product) * self.point
        return product

    def basis(self) -> HouseholderBasis:
        """Return an orthonormal basis that is applied in O(n)."""
        return HouseholderBasis(self.point)

    def hessian_matrix(
        self,
        basis: HouseholderBasis,
        euclidean_gradient: np.ndarray,
        euclidean_hessian: np.ndarray,
    ) -> np.ndarray:
        """Return the matrix U' (H - <grad, q> I) U of the Riemannian Hessian."""
        matrix = basis.compress(euclidean_hessian)
        matrix.flat[:: len(self.point)] -= self.point @ euclidean_gradient
        return matrix

    def transported(self, vector: np.ndarray, origin: TangentSpace) -> np.ndarray:
        """Return the vector after parallel transport along the shortest geodesic.

        From p to q it is v - <q, v> (p + q) / (1 + <p, q>).
        """
        both = origin.point + self.point
        share = 1.0 + float(origin.point.dot(self.point))
        if share <= _ANTIPODAL:
            return self.manifold.transport(origin.point, self.point, vector)
        return vector - (float(self.point.dot(vector)) / share) * both

    def all_transported(self, vectors: np.ndarray, origin: TangentSpace) -> np.ndarray:
        """Return several vectors, one in each row, after parallel transport."""
        both = origin.point + self.point
        share = 1.0 + float(origin.point.dot(self.point))
        if share <= _ANTIPODAL:
            return super().all_transported(vectors, origin)
        return vectors - np.multiply.outer(vectors.dot(self.point) / share, both)

    def move(self, vector: np.ndarray) -> np.ndarray:
        """Return (q + v) / |q + v|."""
        moved = self.point + vector
        return moved / safe_norm(moved)

    def move_along_geodesic(self, vector: np.ndarray) -> np.ndarray:
        """Return q cos|v| + v sin|v| / |v| (section II.A)."""
        length = safe_norm(vector)
        share = math.sin(length) / length if length > 0.0 else 1.0
        moved = self.point * math.cos(length) + vector * share
        return moved / safe_norm(moved)


class StackedSphereSpace(TangentSpace):
    """The tangent spaces at many unit vectors, one in each row."""

    _slopes: np.ndarray | None = None

    def tangent(self, vector: np.ndarray) -> np.ndarray:
        """Return (I - q q') v, row by row."""
        return vector - _row_dots(self.point, vector) * self.point

    def hessian(
        self, euclidean_gradient: np.ndarray, euclidean_product: np.ndarray, vector: np.ndarray
    ) -> np.ndarray:
        """Return P (Hv - <grad, q> v), row by row."""
        if self._slopes is None:
            self._slopes = _row_dots(self.point, euclidean_gradient)
        return self.tangent(euclidean_product - self._slopes * vector)

    def move(self, vector: np.ndarray) -> np.ndarray:
        """Return (q + v) / |q + v|, row by row."""
        moved = self.point + vector
        return moved / np.sqrt(_row_dots(moved, moved))


def _row_dots(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->i", one, other)[:, None]


class Sphere(Manifold[np.ndarray]):
    r"""Unit sphere :math:`S^{n-1} = \{q \in R^n : |q| = 1\}`; points are 1-D arrays of length n.

    It satisfies pymanopt's manifold interface, so pymanopt's optimizers run on it. Results have
    the dtype of the point.

    Parameters
    ----------
    n : int
        Number of coordinates, at least 1. The dimension of the manifold is ``n - 1``.

    Examples
    --------
    >>> import numpy as np, riemtr
    >>> sphere = riemtr.Sphere(3)
    >>> q = np.array([1.0, 0.0, 0.0])
    >>> sphere.exp(q, np.array([0.0, np.pi / 2, 0.0])).round(12)
    array([0., 1., 0.])
    """

    space_type = SphereSpace
    smooth_basis = True
    is_sphere = True
    typical_dist = math.pi

    def __init__(self, n: int):
        self.n = integer("n", n)
        super().__init__(f"Sphere of unit {n}-vectors", self.n - 1)
        self.euler_characteristic = 1 + (-1) ** (self.n - 1)

    def __repr__(self) -> str:
        return f"Sphere({self.n})"

    def check_point(self, point: Any, name: str = "start") -> np.ndarray:
        """Return a user's point as an array of its own of norm 1, or say what is wrong with it."""
        array = finite_floats(point, name)
        if array.shape != (self.n,):
            raise ValueError(
                f"{name} must have shape ({self.n},) to lie on {self!r}; got {array.shape}"
            )
        if array.dtype.kind == "c":
            raise ValueError(f"{name} must be real to lie on {self!r}; got dtype {array.dtype}")
        norm = safe_norm(array)
        if abs(norm - 1.0) > POINT_TOLERANCE:
            raise ValueError(
                f"{name} must have norm 1 to lie on {self!r}; its norm is {norm:.6g}: divide by it"
            )
        return array / array.dtype.type(norm)

    def frames(self, point: np.ndarray) -> list[np.ndarray]:
        """Return the point as one matrix of one column."""
        return [point.reshape(1, -1, 1)]

    def weingarten(
        self, point: np.ndarray, tangent_vector: np.ndarray, normal_vector: np.ndarray
    ) -> np.ndarray:
        """Return the shape operator, -<q, normal> v."""
        return -(point @ normal_vector) * tangent_vector

    def log(self, point_a: np.ndarray, point_b: np.ndarray) -> np.ndarray:
        """Shortest tangent vector at ``point_a`` whose exponential is ``point_b``.

        At the antipode, where every direction is as short, one of them is returned.
        """
        near = float(point_a @ point_b) >= 0.0
        # The difference to the closer of a and -a is exact where the projection of b would cancel;
        # twice, since the first projection leaves as much rounding as that difference has.
        along = self.projection(point_a, point_b - point_a if near else point_b + point_a)
        along = self.projection(point_a, along)
        length = safe_norm(along)
        if length == 0.0:
            if self.n == 1 or near:
                return np.zeros_like(point_a)
            first = np.zeros(self.dim, dtype=point_a.dtype)
            first[0] = math.pi
            return HouseholderBasis(point_a).vector(first)
        return along * (self.dist(point_a, point_b) / length)

    def dist(self, point_a: np.ndarray, point_b: np.ndarray) -> float:
        """Angle between two points, accurate for close and for antipodal ones."""
        return 2.0 * math.atan2(safe_norm(point_a - point_b), safe_norm(point_a + point_b))

    def parallel_transport(
        self,
        point: np.ndarray,
        direction: np.ndarray,
        tangent_vector: np.ndarray,
        time: float = 1.0,
    ) -> np.ndarray:
        """Translate a tangent vector along the geodesic exp(t * direction): eq. (alg_tsp_op).

        Parameters
        ----------
        point, direction : ndarray of shape (n,)
            Start of the geodesic and its initial velocity.
        tangent_vector : ndarray of shape (n,)
            Tangent vector at ``point``.
        time : float
            How far along the geodesic.
        """
        speed = safe_norm(direction)
        if speed == 0.0:
            return tangent_vector.copy()
        unit = direction / speed
        along = unit @ tangent_vector
        angle = time * speed
        return tangent_vector + along * ((math.cos(angle) - 1.0) * unit - math.sin(angle) * point)

    def transport(
        self, point_a: np.ndarray, point_b: np.ndarray, tangent_vector_a: np.ndarray
    ) -> np.ndarray:
        """Parallel transport along the shortest geodesic from ``point_a`` to ``point_b``."""
        return self.parallel_transport(point_a, self.log(point_a, point_b), tangent_vector_a)

    def stacked_space(self, points: np.ndarray) -> TangentSpace:
        """Return the tangent spaces at many points as one."""
        return StackedSphereSpace(self, points)

    def random_points(self, rng: Any, count: int) -> np.ndarray:
        """Draw points, one in each row."""
        drawn = drawing(rng).standard_normal((count, self.n))
        return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)

    def random_point(self, rng: Any = None) -> np.ndarray:
        """Draw a point uniformly.

        Parameters
        ----------
        rng : numpy.random.Generator, int or None
            Source of randomness. ``None`` draws from numpy's global state, as pymanopt does.
        """
        point = drawing(rng).standard_normal(self.n)
        return point / safe_norm(point)
