"""Orthonormal bases of tangent spaces: in O(n) on the sphere, by orthogonalisation on any manifold.

A basis turns tangent vectors into coordinate arrays and back, so that dense linear algebra (the
exact subproblem, the Hessian matrix) works on every manifold.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from scipy.linalg import qr

from riemtr.manifolds.arrays import as_real, from_real

# A vector whose remainder is this small lies in the span of the others.
_DEPENDENT = 1e-8


class TangentBasis(Protocol):
    """Orthonormal basis of the tangent space at one point."""

    dim: int

    def coordinates(self, vector: Any) -> np.ndarray:
        """Coordinates of a tangent vector, an array of length ``dim``."""

    def vector(self, coordinates: np.ndarray) -> Any:
        """Tangent vector with the given coordinates."""


class HouseholderBasis:
    r"""Tangent basis of the sphere at q: all but the first column of a reflector.

    The reflector :math:`R = I - \beta v v'` with :math:`v = q + \mathrm{sign}(q_1) e_1` maps q to
    a multiple of the first unit vector, so the other columns of R span the complement of q.
    It is applied in O(n); :meth:`matrix` forms the n x (n - 1) array on request.

    Examples
    --------
    >>> import numpy as np
    >>> basis = HouseholderBasis(np.array([0.6, 0.8]))
    >>> basis.vector(np.array([1.0])).round(12) + 0.0
    array([-0.8,  0.6])
    """

    def __init__(self, point: np.ndarray):
        self.point = point
        self.dim = len(point) - 1
        self._axis = point.copy()
        self._axis[0] += 1.0 if point[0] >= 0 else -1.0
        self._beta = 1.0 / (1.0 + abs(float(point[0])))

    def coordinates(self, vector: np.ndarray) -> np.ndarray:
        """Return U' v."""
        return vector[1:] - (self._beta * float(self._axis.dot(vector))) * self._axis[1:]

    def vector(self, coordinates: np.ndarray) -> np.ndarray:
        """Return U c."""
        along = self._beta * float(self._axis[1:].dot(coordinates))
        vector = -along * self._axis
        vector[1:] += coordinates
        return vector

    def compress(self, matrix: np.ndarray) -> np.ndarray:
        """Return U' M U for a symmetric n x n matrix, in O(n^2)."""
        beta, axis = self._beta, self._axis
        image = beta * matrix.dot(axis)
        image -= (0.5 * beta * image.dot(axis)) * axis
        # R M R = M - image axis' - axis image', both outer products in one.
        pair, other = np.array(((image[1:], axis[1:]), (axis[1:], image[1:])))
        return matrix[1:, 1:] - pair.T @ other

    def matrix(self) -> np.ndarray:
        """Return U itself, of shape (n, n - 1)."""
        reflector = np.eye(self.dim + 1, dtype=self.point.dtype)
        reflector -= self._beta * np.outer(self._axis, self._axis)
        return reflector[:, 1:]


class FlatBasis:
    """The unit vectors of a space of arrays, which is its own tangent space.

    Parameters
    ----------
    like : ndarray
        A tangent vector.
    """

    def __init__(self, like: np.ndarray):
        self._like = like
        self.dim = as_real(like).size

    def coordinates(self, vector: np.ndarray) -> np.ndarray:
        """Return the entries."""
        return as_real(vector)

    def vector(self, coordinates: np.ndarray) -> np.ndarray:
        """Return the array with these entries."""
        return from_real(coordinates, self._like)


class ArrayBasis:
    """Tangent basis where the inner product is the dot product of arrays.

    Parameters
    ----------
    spanning : list of ndarray
        Vectors that span the tangent space.
    like : ndarray
        A vector of the space, for type and shape.
    """

    def __init__(self, spanning: list[np.ndarray], like: np.ndarray):
        self._like = like
        if not spanning:
            self._columns = np.zeros((as_real(like).size, 0))
        else:
            stacked = np.array([as_real(vector) for vector in spanning]).T
            columns, triangle, _ = qr(stacked, mode="economic", pivoting=True)
            sizes = np.abs(np.diag(triangle))
            self._columns = columns[:, sizes > _DEPENDENT * sizes[0]]
        self.dim = self._columns.shape[1]

    def coordinates(self, vector: np.ndarray) -> np.ndarray:
        """Return the inner products with the basis vectors."""
        return self._columns.T @ as_real(vector)

    def vector(self, coordinates: np.ndarray) -> np.ndarray:
        """Return the linear combination of the basis vectors."""
        return from_real(self._columns @ coordinates, self._like)


class MetricBasis:
    """Tangent basis for an inner product that is not the dot product of arrays.

    Parameters
    ----------
    spanning : list of ndarray
        Vectors that span the tangent space.
    like : ndarray
        A vector of the space, for type and shape.
    inner : callable
        ``inner(a, b)``, the inner product.
    """

    def __init__(
        self,
        spanning: list[np.ndarray],
        like: np.ndarray,
        inner: Callable[[np.ndarray, np.ndarray], float],
    ):
        self._like, self._inner = like, inner
        self._vectors: list[np.ndarray] = []
        for candidate in spanning:
            size = max(inner(candidate, candidate), 0.0) ** 0.5
            for _ in range(2):  # twice is enough for orthogonality to rounding
                for known in self._vectors:
                    candidate = candidate - inner(known, candidate) * known
            remainder = max(inner(candidate, candidate), 0.0) ** 0.5
            if remainder > _DEPENDENT * size:
                self._vectors.append(candidate / remainder)
        self.dim = len(self._vectors)

    def coordinates(self, vector: np.ndarray) -> np.ndarray:
        """Return the inner products with the basis vectors."""
        return np.array([self._inner(known, vector) for known in self._vectors])

    def vector(self, coordinates: np.ndarray) -> np.ndarray:
        """Return the linear combination of the basis vectors."""
        flat = coordinates @ np.array([as_real(known) for known in self._vectors])
        return from_real(flat, self._like)
