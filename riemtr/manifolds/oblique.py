"""Matrices whose columns are unit vectors: one sphere for each column."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from riemtr.arguments import integer
from riemtr.manifolds.manifold import Manifold, TangentSpace, drawing, safe_norm


class ObliqueSpace(TangentSpace):
    """The matrices each column of which is orthogonal to that of the point."""

    keeps_vectors = True
    _slopes: np.ndarray | None = None

    def tangent(self, vector: np.ndarray) -> np.ndarray:
        """Return V - X diag(X'V)."""
        return vector - self.point * _column_dots(self.point, vector)

    def all_transported(self, vectors: np.ndarray, origin: TangentSpace) -> np.ndarray:
        """Return the projections of several matrices, stacked."""
        return vectors - self.point * np.einsum("ij,kij->kj", self.point, vectors)[:, None, :]

    def hessian(
        self, euclidean_gradient: np.ndarray, euclidean_product: np.ndarray, vector: np.ndarray
    ) -> np.ndarray:
        """Return P (H - V diag(X'G))."""
        if self._slopes is None:
            self._slopes = _column_dots(self.point, euclidean_gradient)
        product = euclidean_product - vector * self._slopes
        product -= self.point * _column_dots(self.point, product)
        return product

    def basis(self) -> ColumnsBasis:
        """Return an orthonormal basis that is applied in the time it takes to read a vector."""
        return ColumnsBasis(self.point)

    def move(self, vector: np.ndarray) -> np.ndarray:
        """Return X + V with its columns scaled to length 1."""
        return _normalized(self.point + vector)

    def move_along_geodesic(self, vector: np.ndarray) -> np.ndarray:
        """Return x cos|v| + v sin|v| / |v|, column by column."""
        lengths = _column_norms(vector)
        # An infinite length leaves no direction; NaN says so without a warning.
        with np.errstate(invalid="ignore"):
            moved = self.point * np.cos(lengths) + vector * np.sinc(lengths / math.pi)
        return _normalized(moved)


class Oblique(Manifold[np.ndarray]):
    r"""Manifold of m x n matrices with columns of norm 1.

    .. math:: OB(m, n) = \{X \in R^{m \times n} : (X'X)_{jj} = 1 \text{ for every } j\}

    The metric is that of the space of matrices. The gradient is
    :math:`G - X \operatorname{diag}(X'G)` and the Hessian along V is the projection of
    :math:`H - V \operatorname{diag}(X'G)`.

    Parameters
    ----------
    m : int
        Number of rows, the length of each column.
    n : int
        Number of columns.

    Examples
    --------
    >>> import numpy as np, riemtr
    >>> manifold = riemtr.Oblique(3, 4)
    >>> manifold.dim
    8
    >>> bool(np.allclose(np.linalg.norm(manifold.random_point(0), axis=0), 1.0))
    True
    """

    space_type = ObliqueSpace

    def __init__(self, m: int, n: int):
        self.m, self.n = integer("m", m), integer("n", n)
        super().__init__(f"Oblique manifold OB({m},{n})", (self.m - 1) * self.n)
        self.euler_characteristic = (1 + (-1) ** (self.m - 1)) ** self.n

    def __repr__(self) -> str:
        return f"Oblique({self.m}, {self.n})"

    @property
    def typical_dist(self) -> float:
        """Largest distance between two points."""
        return math.pi * math.sqrt(self.n)

    def frames(self, point: np.ndarray) -> list[np.ndarray]:
        """Return each column as a matrix of its own."""
        return [point.T[:, :, None]]

    def dist(self, point_a: np.ndarray, point_b: np.ndarray) -> float:
        """Root of the sum of the squared angles between columns, accurate for all angles."""
        return safe_norm(_column_angles(point_a, point_b))

    def log(self, point_a: np.ndarray, point_b: np.ndarray) -> np.ndarray:
        """Shortest tangent vector at ``point_a`` whose exponential is ``point_b``.

        For a column at the antipode, where every direction is as short, one of them is returned.
        """
        near = _column_dots(point_a, point_b) >= 0.0
        space = self.space(point_a)
        # The difference to the closer of a and -a is exact where the projection of b would cancel;
        # twice, since the first projection leaves as much rounding as that difference has.
        along = space.tangent(np.where(near, point_b - point_a, point_b + point_a))
        along = space.tangent(along)
        lengths = _column_norms(along)
        opposite = np.flatnonzero((lengths == 0.0) & ~near) if self.m > 1 else ()
        if len(opposite):
            flattest = np.abs(point_a[:, opposite]).argmin(axis=0)
            along[flattest, opposite] = 1.0
            along[:, opposite] = space.tangent(along)[:, opposite]
            lengths = _column_norms(along)
        lengths[lengths == 0.0] = 1.0
        return along * (_column_angles(point_a, point_b) / lengths)

    def random_point(self, rng: Any = None) -> np.ndarray:
        """Draw each column uniformly."""
        return _normalized(drawing(rng).standard_normal((self.m, self.n)))


class ColumnsBasis:
    """Tangent basis of matrices with unit columns: for each column, that of its sphere.

    Parameters
    ----------
    point : ndarray of shape (m, n)
    """

    def __init__(self, point: np.ndarray):
        self._shape = (len(point) - 1, point.shape[1])
        self.dim = self._shape[0] * self._shape[1]
        self._axes = point.copy()
        self._axes[0] += np.where(point[0] >= 0.0, 1.0, -1.0).astype(point.dtype)
        self._betas = 1.0 / (1.0 + np.abs(point[0]))

    def coordinates(self, vector: np.ndarray) -> np.ndarray:
        """Return the coordinates, row by row of what a reflection leaves of each column."""
        along = self._betas * _column_dots(self._axes, vector)
        return (vector[1:] - along * self._axes[1:]).ravel()

    def vector(self, coordinates: np.ndarray) -> np.ndarray:
        """Return the matrix with these coordinates."""
        rows = coordinates.reshape(self._shape)
        vector = -(self._betas * _column_dots(self._axes[1:], rows)) * self._axes
        vector[1:] += rows
        return vector


def _column_dots(matrix_a: np.ndarray, matrix_b: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->j", matrix_a, matrix_b)


def _column_norms(matrix: np.ndarray) -> np.ndarray:
    """Return the norms of columns, also where their squares overflow."""
    with np.errstate(over="ignore", invalid="ignore"):
        norms = np.sqrt(_column_dots(matrix, matrix))
        if not np.isfinite(norms).all():
            largest = np.abs(matrix).max()
            scaled = matrix / largest
            norms = largest * np.sqrt(_column_dots(scaled, scaled))
    return norms


def _column_angles(point_a: np.ndarray, point_b: np.ndarray) -> np.ndarray:
    return 2.0 * np.arctan2(_column_norms(point_a - point_b), _column_norms(point_a + point_b))


def _normalized(matrix: np.ndarray) -> np.ndarray:
    return matrix / _column_norms(matrix)
