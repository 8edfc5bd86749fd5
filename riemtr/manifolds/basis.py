"""Orthonormal bases of tangent spaces: in O(n) on the sphere, by orthogonalisation on any manifold.

A basis turns tangent vectors into coordinate arrays and back, so that dense linear algebra (the
exact subproblem, the Hessian matrix) works on every manifold.
"""

from __future__ import annotations

import itertools
import math
from typing import Any, Protocol

import numpy as np
from pymanopt.manifolds import ComplexEuclidean, Euclidean
from pymanopt.manifolds.manifold import RiemannianSubmanifold
from scipy.linalg import qr

from riemtr.manifolds.protocol import dimension, inner
from riemtr.manifolds.random_points import global_numpy_randomness
from riemtr.manifolds.random_tangents import random_tangent

# A vector whose remainder is this small lies in the span of the others.
_DEPENDENT = 1e-8
# How many random tangent vectors tell a metric.
_PAIRED = 4
# Of the random tangent vectors: no seed that a user would draw their own points from.
_SEED = 0x7A6E7


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
    """Tangent basis where the metric is the dot product of the arrays that make up a vector.

    Parameters
    ----------
    spanning : list of tangent vectors
        Tangent vectors that span the tangent space: arrays, or sequences of arrays.
    """

    def __init__(self, spanning: list[Any]):
        self._like = spanning[0]
        stacked = np.array([as_real(vector) for vector in spanning]).T
        columns, triangle, _ = qr(stacked, mode="economic", pivoting=True)
        sizes = np.abs(np.diag(triangle))
        self._columns = columns[:, sizes > _DEPENDENT * sizes[0]]
        self.dim = self._columns.shape[1]

    def coordinates(self, vector: Any) -> np.ndarray:
        """Inner products with the basis vectors."""
        return self._columns.T @ as_real(vector)

    def vector(self, coordinates: np.ndarray) -> Any:
        """Linear combination of the basis vectors."""
        return from_real(self._columns @ coordinates, self._like)


def as_real(vector: Any) -> np.ndarray:
    """Flatten an array, or a sequence of arrays; complex ones into twice as many real numbers.

    The real inner product stays what it is.

    Examples
    --------
    >>> as_real([np.array([1.0, 2.0]), np.array([[3.0 + 4.0j]])])
    array([1., 2., 3., 4.])
    """
    if isinstance(vector, (list, tuple)):
        return np.concatenate([as_real(part) for part in vector])
    if vector.ndim == 1 and vector.dtype.kind == "f":
        return vector
    flat = np.ascontiguousarray(vector).ravel()
    return flat.view(flat.real.dtype)


def from_real(flat: np.ndarray, like: Any) -> Any:
    """Undo :func:`as_real`, for a vector of the same type and shape as another."""
    if isinstance(like, (list, tuple)):
        ends = np.cumsum([as_real(part).size for part in like])
        parts = [from_real(*pair) for pair in zip(np.split(flat, ends[:-1]), like, strict=True)]
        return rebuilt(like, parts)
    return flat.astype(like.real.dtype, copy=False).view(like.dtype).reshape(like.shape)


def rebuilt(sequence: Any, parts: list[Any]) -> Any:
    """Return a sequence of the same kind with other parts."""
    return type(sequence)(*parts) if hasattr(sequence, "_fields") else type(sequence)(parts)


class GramSchmidtBasis:
    """Tangent basis of any manifold, from its own inner product.

    Parameters
    ----------
    manifold, point
        Where.
    spanning : list of tangent vectors
        Tangent vectors that span the tangent space.
    """

    def __init__(self, manifold: Any, point: Any, spanning: list[Any]):
        self.manifold = manifold
        self.point = point
        self.vectors: list[Any] = []
        for candidate in spanning:
            size = manifold.norm(point, candidate)
            for _ in range(2):  # twice is enough for orthogonality to rounding
                for known in self.vectors:
                    candidate = candidate - inner(manifold, point, known, candidate) * known
            remainder = math.sqrt(max(inner(manifold, point, candidate, candidate), 0.0))
            if remainder > _DEPENDENT * size:
                self.vectors.append(candidate / remainder)
        self.dim = len(self.vectors)

    def coordinates(self, vector: Any) -> np.ndarray:
        """Inner products with the basis vectors."""
        return np.array([inner(self.manifold, self.point, known, vector) for known in self.vectors])

    def vector(self, coordinates: np.ndarray) -> Any:
        """Linear combination of the basis vectors."""
        total = self.manifold.zero_vector(self.point)
        for coordinate, known in zip(coordinates, self.vectors, strict=True):
            total = total + float(coordinate) * known
        return total


def tangent_basis(manifold: Any, point: Any) -> TangentBasis:
    """Return an orthonormal tangent basis: the manifold's own where it has one.

    Elsewhere it is made from the manifold's random tangent vectors, drawn from a fixed seed. They
    span the tangent space; on quotient manifolds they are horizontal, so gauge directions stay
    out, and where a manifold overstates its dimension the basis has the true one.

    Examples
    --------
    >>> import numpy as np, pymanopt.manifolds
    >>> grassmann = pymanopt.manifolds.Grassmann(5, 2)
    >>> tangent_basis(grassmann, np.eye(5)[:, :2]).dim
    6
    """
    if hasattr(manifold, "tangent_basis"):
        return manifold.tangent_basis(point)
    if type(manifold) in (Euclidean, ComplexEuclidean):  # others may have another metric
        return FlatBasis(manifold.zero_vector(point))
    spanning = _drawn(manifold, point, dimension(manifold))
    if _has_dot_product(manifold, point, spanning[:_PAIRED]):
        return ArrayBasis(spanning)
    return GramSchmidtBasis(manifold, point, spanning)


def has_euclidean_metric(manifold: Any, point: Any) -> bool:
    """Whether tangent vectors are arrays in the Euclidean metric."""
    if isinstance(manifold, RiemannianSubmanifold) and hasattr(manifold, "tangent_basis"):
        return True  # riemtr's sphere
    vectors = _drawn(manifold, point, min(dimension(manifold), _PAIRED))
    return _has_dot_product(manifold, point, vectors) and isinstance(vectors[0], np.ndarray)


def _drawn(manifold: Any, point: Any, count: int) -> list[Any]:
    """Random tangent vectors, always the same."""
    rng = np.random.default_rng(_SEED)
    with global_numpy_randomness(rng):
        return [random_tangent(manifold, point, rng) for _ in range(count)]


def _has_dot_product(manifold: Any, point: Any, vectors: list[Any]) -> bool:
    """Whether inner products are dot products of the arrays that make up the vectors.

    Judged on pairs of a few random ones, where another metric agrees with probability zero.
    """
    if not vectors or not _is_made_of_arrays(vectors[0]):
        return False
    return all(
        math.isclose(
            inner(manifold, point, a, b), as_real(a) @ as_real(b), rel_tol=1e-9, abs_tol=1e-12
        )
        for a, b in itertools.combinations_with_replacement(vectors, 2)
    )


def _is_made_of_arrays(vector: Any) -> bool:
    if isinstance(vector, (list, tuple)):
        return all(map(_is_made_of_arrays, vector))
    return isinstance(vector, np.ndarray)
