"""The unit sphere: the paper's manifold (section II.A)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from pymanopt.manifolds.manifold import RiemannianSubmanifold

from riemtr.arguments import integer
from riemtr.manifolds.basis import HouseholderBasis


def safe_norm(vector: np.ndarray) -> float:
    """Euclidean norm, also where its square under- or overflows."""
    squared = float(np.vdot(vector, vector))  # unlike @ and dot, overflows without a warning
    if 1e-280 < squared < 1e280 and (vector.dtype.itemsize >= 8 or 1e-24 < squared < 1e24):
        return math.sqrt(squared)
    largest = float(np.abs(vector).max(initial=0.0))
    if largest == 0.0 or not math.isfinite(largest):
        return largest
    scaled = vector / largest
    return largest * math.sqrt(float(scaled @ scaled))


class Sphere(RiemannianSubmanifold):
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

    def __init__(self, n: int):
        self.n = integer("n", n)
        super().__init__(f"Sphere of unit {n}-vectors", self.n - 1)

    def __repr__(self) -> str:
        return f"Sphere({self.n})"

    @property
    def typical_dist(self) -> float:
        """Largest distance between two points."""
        return math.pi

    def inner_product(
        self, point: np.ndarray, tangent_vector_a: np.ndarray, tangent_vector_b: np.ndarray
    ) -> float:
        """Euclidean inner product."""
        return float(tangent_vector_a @ tangent_vector_b)

    def norm(self, point: np.ndarray, tangent_vector: np.ndarray) -> float:
        """Euclidean norm, safe against underflow and overflow of the square."""
        return safe_norm(tangent_vector)

    def projection(self, point: np.ndarray, vector: np.ndarray) -> np.ndarray:
        """Orthogonal projection onto the tangent space, (I - q q') v."""
        return vector - point.dot(vector) * point

    to_tangent_space = projection

    def weingarten(
        self, point: np.ndarray, tangent_vector: np.ndarray, normal_vector: np.ndarray
    ) -> np.ndarray:
        """Shape operator, -<q, normal> v."""
        return -(point @ normal_vector) * tangent_vector

    def euclidean_to_riemannian_hessian(
        self,
        point: np.ndarray,
        euclidean_gradient: np.ndarray,
        euclidean_hessian: np.ndarray,
        tangent_vector: np.ndarray,
    ) -> np.ndarray:
        """Riemannian Hessian product, P (Hv - <grad, q> v): eq. (fq_rie_hess).

        The projection comes last, so that what rounding leaves of v outside the tangent space is
        mapped to zero rather than to curvature -<grad, q>.
        """
        product = euclidean_hessian - point.dot(euclidean_gradient) * tangent_vector
        product -= point.dot(product) * point
        return product

    def exp(self, point: np.ndarray, tangent_vector: np.ndarray) -> np.ndarray:
        """Exponential map, q cos|v| + v sin|v| / |v| (section II.A)."""
        length = safe_norm(tangent_vector)
        share = math.sin(length) / length if length > 0.0 else 1.0
        moved = point * math.cos(length) + tangent_vector * share
        return moved / safe_norm(moved)

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
            return self.tangent_basis(point_a).vector(first)
        return along * (self.dist(point_a, point_b) / length)

    def dist(self, point_a: np.ndarray, point_b: np.ndarray) -> float:
        """Angle between two points, accurate for close and for antipodal ones."""
        return 2.0 * math.atan2(safe_norm(point_a - point_b), safe_norm(point_a + point_b))

    def retraction(self, point: np.ndarray, tangent_vector: np.ndarray) -> np.ndarray:
        """Normalising retraction, (q + v) / |q + v|."""
        moved = point + tangent_vector
        return moved / safe_norm(moved)

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

    def pair_mean(self, point_a: np.ndarray, point_b: np.ndarray) -> np.ndarray:
        """Midpoint of the shortest geodesic."""
        return self.exp(point_a, 0.5 * self.log(point_a, point_b))

    def zero_vector(self, point: np.ndarray) -> np.ndarray:
        """Origin of the tangent space."""
        return np.zeros_like(point)

    def random_point(self, rng: Any = None) -> np.ndarray:
        """Draw a point uniformly.

        Parameters
        ----------
        rng : numpy.random.Generator, int or None
            Source of randomness. ``None`` draws from numpy's global state, as pymanopt does.
        """
        point = self._normal(rng)
        return point / safe_norm(point)

    def random_tangent_vector(self, point: np.ndarray, rng: Any = None) -> np.ndarray:
        """Draw a unit tangent vector uniformly (zero where the manifold has dimension 0)."""
        if self.dim == 0:
            return np.zeros_like(point)
        rng = None if rng is None else np.random.default_rng(rng)
        while True:
            drawn = self._normal(rng).astype(point.dtype)
            # Twice is enough: the second projection removes what rounding left of the first.
            vector = self.projection(point, self.projection(point, drawn))
            length = safe_norm(vector)
            # Nothing but rounding is left where the point itself came from the same seed.
            if length > 1e-3 * safe_norm(drawn):
                return vector / length

    def tangent_basis(self, point: np.ndarray) -> HouseholderBasis:
        """Orthonormal basis of the tangent space, applied in O(n)."""
        return HouseholderBasis(point)

    def riemannian_hessian_matrix(
        self,
        basis: HouseholderBasis,
        euclidean_gradient: np.ndarray,
        euclidean_hessian: np.ndarray,
    ) -> np.ndarray:
        """Matrix U' (H - <grad, q> I) U of the Riemannian Hessian: eq. (fq_rie_hess)."""
        matrix = basis.compress(euclidean_hessian)
        matrix.flat[:: self.n] -= basis.point @ euclidean_gradient
        return matrix

    def _normal(self, rng: Any) -> np.ndarray:
        if rng is None:
            return np.random.normal(size=self.n)  # noqa: NPY002
        return np.random.default_rng(rng).standard_normal(self.n)
