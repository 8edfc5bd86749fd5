"""Matrices with orthonormal columns, and what other manifolds of such matrices share with them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.linalg import expm

from riemtr.arguments import integer
from riemtr.manifolds.arrays import adjoint
from riemtr.manifolds.basis import TangentBasis
from riemtr.manifolds.manifold import Manifold, TangentSpace, drawing

# Columns of Y up to this squared length are orthonormalised by the Cholesky factor of Y'Y, which
# loses about as many roundings; it takes half the time of a QR factorisation.
_SHORT = 10.0


class StiefelSpace(TangentSpace):
    """The matrices V for which X'V is skew-symmetric."""

    transports_stacks = True
    keeps_vectors = True
    _bend: np.ndarray | None = None

    def __init__(self, manifold: Any, point: np.ndarray):
        super().__init__(manifold, point)
        self._transposed = point.swapaxes(-1, -2)

    def along(self, vector: np.ndarray) -> np.ndarray:
        """Return the matrix S for which X S is the part of V outside the space: sym(X'V)."""
        return symmetric(self._transposed @ vector)

    def tangent(self, vector: np.ndarray) -> np.ndarray:
        """Return V - X S."""
        return vector - self.point @ self.along(vector)

    def hessian(
        self, euclidean_gradient: np.ndarray, euclidean_product: np.ndarray, vector: np.ndarray
    ) -> np.ndarray:
        """Return the projection of H - V S, where S is that of the Euclidean gradient."""
        if self._bend is None:
            self._bend = self.along(euclidean_gradient)
        product = euclidean_product - vector @ self._bend
        product -= self.point @ self.along(product)
        return product

    def basis(self) -> TangentBasis:
        """Return X times the skew-symmetric unit matrices, and a basis of the complement of X."""
        return FrameBasis(self.point)

    def move(self, vector: np.ndarray) -> np.ndarray:
        """Return the orthonormal factor Q of X + V = QR, where R has a positive diagonal."""
        return orthonormalized(self.point + vector)

    def move_along_geodesic(self, vector: np.ndarray) -> np.ndarray:
        """Return the end of the geodesic, the closed form of Edelman, Arias and Smith.

        It is made orthonormal again, since the closed form amplifies rounding.
        """
        point, columns = self.point, self.point.shape[-1]
        turn = self._transposed @ vector
        square = vector.swapaxes(-1, -2) @ vector
        identity = np.broadcast_to(np.eye(columns, dtype=point.dtype), turn.shape)
        block = np.concatenate(
            (
                np.concatenate((turn, -square), axis=-1),
                np.concatenate((identity, turn), axis=-1),
            ),
            axis=-2,
        )
        ahead = expm(block)[..., :columns] @ expm(-turn)
        moved = np.concatenate((point, vector), axis=-1) @ ahead
        return orthonormalized(moved.astype(point.dtype, copy=False))


class Stiefel(Manifold[np.ndarray]):
    r"""Stiefel manifold of n x p matrices with orthonormal columns, or of k of them.

    .. math:: St(n, p) = \{X \in R^{n \times p} : X'X = I\}

    The metric is that of the space of matrices. The gradient is
    :math:`G - X \operatorname{sym}(X'G)` and the Hessian along V is the projection of
    :math:`H - V \operatorname{sym}(X'G)`. The retraction takes the orthonormal factor of the QR
    factorisation of :math:`X + V`.

    Parameters
    ----------
    n, p : int
        Numbers of rows and of columns, with p at most n.
    k : int
        Number of matrices. Points have the shape ``(n, p)`` if it is 1, else ``(k, n, p)``.

    Examples
    --------
    >>> import numpy as np, riemtr
    >>> manifold = riemtr.Stiefel(5, 2)
    >>> manifold.dim
    7
    >>> x = manifold.random_point(0)
    >>> bool(np.allclose(x.T @ x, np.eye(2)))
    True
    """

    space_type = StiefelSpace

    def __init__(self, n: int, p: int, k: int = 1):
        self.n = integer("n", n)
        self.p = integer("p", p, 1, self.n)
        self.k = integer("k", k)
        dim = self.k * (self.n * self.p - self.p * (self.p + 1) // 2)
        super().__init__(f"Stiefel manifold St({n},{p})" + power(self.k), dim)
        # One sphere for each column, in the complement of those before.
        columns = range(self.n - self.p, self.n)
        self.euler_characteristic = math.prod(1 + (-1) ** each for each in columns) ** self.k

    def __repr__(self) -> str:
        return f"Stiefel({self.n}, {self.p}{repeated(self.k)})"

    @property
    def typical_dist(self) -> float:
        """Norm of a point, a scale of the manifold."""
        return math.sqrt(self.p * self.k)

    def frames(self, point: np.ndarray) -> list[np.ndarray]:
        """Return the matrices themselves, stacked."""
        return [point.reshape(self.k, self.n, self.p)]

    def stacked_space(self, points: np.ndarray) -> TangentSpace:
        """Return the tangent spaces at many points as one."""
        return self.space_type(self, points)

    def random_points(self, rng: Any, count: int) -> np.ndarray:
        """Draw points, stacked."""
        drawn = Stiefel(self.n, self.p, k=self.k * count).random_point(rng)
        return drawn.reshape(count, *((self.k,) if self.k > 1 else ()), self.n, self.p)

    def random_point(self, rng: Any = None) -> np.ndarray:
        """Draw a point uniformly."""
        return random_frames(drawing(rng), self.n, self.p, self.k)


class FrameBasis:
    """Tangent basis of the Stiefel manifold: X A + Y B, with Y a basis of the complement of X.

    Parameters
    ----------
    point : ndarray of shape (..., n, p)
    """

    def __init__(self, point: np.ndarray):
        self._turns = SkewBasis(np.zeros((*point.shape[:-2],) + 2 * point.shape[-1:], point.dtype))
        self._rest = ComplementBasis(point)
        self._point, self._transposed = point, point.swapaxes(-1, -2)
        self.dim = self._turns.dim + self._rest.dim

    def coordinates(self, vector: np.ndarray) -> np.ndarray:
        """Return those of A = X'V, then the entries of B = Y'V."""
        turns = self._turns.coordinates(self._transposed @ vector)
        return np.concatenate((turns, self._rest.coordinates(vector)))

    def vector(self, coordinates: np.ndarray) -> np.ndarray:
        """Return X A + Y B."""
        turns = self._turns.vector(coordinates[: self._turns.dim])
        return self._point @ turns + self._rest.vector(coordinates[self._turns.dim :])


class ComplementBasis:
    """Orthonormal basis of the matrices whose columns are orthogonal to those of another: Y B.

    Parameters
    ----------
    point : ndarray of shape (..., n, p)
        Matrix with orthonormal columns, or a stack of them.
    """

    def __init__(self, point: np.ndarray):
        rows, columns = point.shape[-2:]
        self._frame = np.linalg.qr(point, mode="complete")[0][..., columns:]
        self._transposed = self._frame.swapaxes(-1, -2)
        self._shape = (*point.shape[:-2], rows - columns, columns)
        self.dim = math.prod(self._shape)

    def coordinates(self, vector: np.ndarray) -> np.ndarray:
        """Return the entries of B = Y'V."""
        return (self._transposed @ vector).ravel()

    def vector(self, coordinates: np.ndarray) -> np.ndarray:
        """Return Y B."""
        return self._frame @ coordinates.reshape(self._shape)


class SkewBasis:
    """Orthonormal basis of the skew-symmetric matrices: their entries below the diagonal.

    Parameters
    ----------
    like : ndarray of shape (..., n, n)
        A matrix, or a stack of them, for type and shape.
    """

    # Each entry below the diagonal stands for two.
    _twice = math.sqrt(2.0)

    def __init__(self, like: np.ndarray):
        self._like = like
        self._below = (..., *np.tril_indices(like.shape[-1], -1))
        self._lower_shape = like[self._below].shape
        self.dim = math.prod(self._lower_shape)

    def coordinates(self, vector: np.ndarray) -> np.ndarray:
        """Return the entries below the diagonal, times the root of 2."""
        return self._twice * vector[self._below].ravel()

    def vector(self, coordinates: np.ndarray) -> np.ndarray:
        """Return the matrix with these entries."""
        vector = np.zeros(self._like.shape, np.result_type(coordinates, self._like.dtype))
        vector[self._below] = coordinates.reshape(self._lower_shape) / self._twice
        return vector - vector.swapaxes(-1, -2)


def symmetric(matrix: np.ndarray) -> np.ndarray:
    """Return the symmetric part of a matrix, or of each of a stack; if complex, the Hermitian."""
    return 0.5 * (matrix + adjoint(matrix))


def skew(matrix: np.ndarray) -> np.ndarray:
    """Return the skew-symmetric part, or of each of a stack; if complex, the skew-Hermitian."""
    return 0.5 * (matrix - adjoint(matrix))


def orthonormalized(matrix: np.ndarray) -> np.ndarray:
    """Return the orthonormal factor of the QR factorisation with a positive diagonal, of each.

    The matrices must be at least about as long as orthonormal ones in every direction, as X + V is
    for a tangent vector V: then no column is lost to rounding.
    """
    gram = matrix.swapaxes(-1, -2) @ matrix
    if gram.max() <= _SHORT:
        return matrix @ np.linalg.inv(np.linalg.cholesky(gram)).swapaxes(-1, -2)
    return orthonormal_factor(matrix)


def orthonormal_factor(matrix: np.ndarray) -> np.ndarray:
    """Return the orthonormal factor of the QR factorisation with a positive diagonal, of each."""
    factor, triangle = np.linalg.qr(matrix)
    negative = np.diagonal(triangle, axis1=-2, axis2=-1) < 0.0
    return np.where(negative[..., None, :], -factor, factor)


def random_frames(rng: Any, rows: int, columns: int, count: int) -> np.ndarray:
    """Draw a matrix with orthonormal columns uniformly, or a stack of them if ``count`` > 1."""
    shape = (rows, columns) if count == 1 else (count, rows, columns)
    return orthonormal_factor(rng.standard_normal(shape))


def repeated(count: int) -> str:
    """Return the argument ``k`` of a manifold's representation, if it is not 1."""
    return "" if count == 1 else f", k={count}"


def power(count: int) -> str:
    """Return the exponent of a manifold's name, if it is not 1."""
    return "" if count == 1 else f"^{count}"
