"""Costs that are quadratic in the arrays of a point: one product with a matrix serves them all."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse

from riemtr.problem.books import lazy
from riemtr.problem.pullback import DerivativeBounds, gamma

if TYPE_CHECKING:
    from riemtr.problem.relaxation import Relaxation


# Relative gap of a certificate, as small as rounding mostly allows.
_RELATIVE_GAP = 1e-10


class RelaxedCost:
    """Half a quadratic form of the rows of a point, which a semidefinite relaxation may bound.

    Parameters
    ----------
    rows : Rows
        Writes points as matrices, and matrices as points.
    relaxation : Relaxation or None
        That of the form.
    """

    def __init__(self, rows: Rows, relaxation: Relaxation | None):
        self.rows, self.relaxation = rows, relaxation

    def dual_bound(self, point: Any) -> float | None:
        """Return a number that the cost of no point is below; None without a relaxation."""
        if self.relaxation is None:
            return None
        factor = self.rows.stacked(point)[: self.relaxation.rows]
        factor = factor.reshape(len(factor), -1)
        return 0.5 * self.relaxation.bound(factor, tolerance=_RELATIVE_GAP).lower_bound


class QuadraticCost(RelaxedCost):
    r"""The form :math:`\frac12 \langle Z, C Z D \rangle` of the entries of a point.

    Parameters
    ----------
    matrix : ndarray or sparse matrix, shape (N, N)
        The symmetric matrix C.
    rows : Rows
        Writes points as matrices Z of N rows, and matrices as points.
    weights : ndarray, optional
        The diagonal of D, ones if not given.
    relaxation : Relaxation, optional
        That of C, where blocks of rows of Z are orthonormal, and weights are not given.
    """

    def __init__(
        self,
        matrix: Any,
        rows: Rows,
        weights: np.ndarray | None = None,
        relaxation: Relaxation | None = None,
    ):
        super().__init__(rows, relaxation)
        self.matrix = matrix
        self.weights = weights

    @lazy
    def absolute(self) -> Any:
        """The matrix of the magnitudes of all entries."""
        return abs(self.matrix)

    @lazy
    def size(self) -> float:
        """Bound of the matrix's norm, the largest sum of the magnitudes in a row."""
        return largest_row(self.absolute) * self.largest_weight

    @lazy
    def asymmetry(self) -> float:
        """Norm of what rounding has left of the matrix beside its symmetric part."""
        return 0.5 * largest_row(abs(self.matrix - self.matrix.conj().T)) * self.largest_weight

    @property
    def largest_weight(self) -> float:
        """The largest weight of a column."""
        return 1.0 if self.weights is None else float(np.abs(self.weights).max())

    def weighted(self, product: np.ndarray) -> np.ndarray:
        """Return a product with its columns weighted."""
        return product if self.weights is None else product * self.weights

    def __repr__(self) -> str:
        return f"QuadraticCost({self.matrix.shape[0]} rows)"

    def at(self, point: Any) -> QuadraticPoint:
        """Return the shared work at one point."""
        return QuadraticPoint(self, point)


class QuadraticPoint:
    """A quadratic form at one point: one product gives value and gradient."""

    def __init__(self, owner: QuadraticCost, point: Any):
        self._owner, self._rows = owner, owner.rows
        self._stacked = owner.rows.stacked(point)
        self._product = owner.weighted(owner.matrix @ self._stacked)

    @lazy
    def value(self) -> float:
        """The cost."""
        return 0.5 * float(np.vdot(self._stacked, self._product).real)

    @lazy
    def gradient(self) -> Any:
        """Euclidean gradient, C Z D."""
        return self._rows.split(self._product)

    def hessian(self, vector: Any) -> Any:
        """Euclidean Hessian product, C V D."""
        owner = self._owner
        return self._rows.split(owner.weighted(owner.matrix @ self._rows.stacked(vector)))

    def derivative_bounds(self, radius: float) -> DerivativeBounds:
        """Bounds of the derivatives: the third is zero."""
        owner = self._owner
        rounding = rounding_of(longest_row(owner.matrix), self._product)
        terms = np.linalg.norm(owner.weighted(owner.absolute @ np.abs(self._stacked)))
        gradient = rounding * float(terms)
        gradient += owner.asymmetry * float(np.linalg.norm(self._stacked))
        return DerivativeBounds(owner.size, 0.0, gradient, rounding * owner.size + owner.asymmetry)


def rounding_of(terms: int, result: np.ndarray) -> float:
    """Relative error of a matrix product with sums of so many terms, and one factor more."""
    precision = float(np.finfo(result.dtype).eps)
    if result.dtype.kind == "c":  # each product is two, and each real one of two factors
        return gamma(4 * (terms + 4), precision)
    return gamma(terms + 3, precision)


def longest_row(matrix: Any) -> int:
    """Return the largest number of stored entries in a row."""
    if scipy.sparse.issparse(matrix):
        return int(np.diff(matrix.tocsr().indptr).max(initial=0))
    return int(matrix.shape[1])


def largest_row(matrix: Any) -> float:
    """Return the largest sum of a row of nonnegative entries, rounded upwards."""
    sums = np.asarray(matrix.sum(axis=1))
    return float(sums.max(initial=0.0)) * (1.0 + gamma(matrix.shape[1]))


class LeastSquaresCost(RelaxedCost):
    r"""The sum of squares :math:`\frac12 |J Z|^2`, exact to the last digit where it vanishes.

    Parameters
    ----------
    jacobian : sparse matrix, shape (M, N)
        The matrix J.
    rows : Rows
        Writes points as matrices Z of N rows, and matrices as points.
    relaxation : callable, optional
        ``relaxation(J'J)``, where blocks of rows of Z are orthonormal: that of J'J.
    """

    def __init__(
        self,
        jacobian: Any,
        rows: Rows,
        relaxation: Callable[[Any], Relaxation] | None = None,
    ):
        self.jacobian = jacobian.tocsr()
        self.transposed = jacobian.T.tocsr()
        self.normal = (self.transposed @ self.jacobian).tocsr()
        super().__init__(rows, None if relaxation is None else relaxation(self.normal))

    @lazy
    def size(self) -> float:
        """Bound of the norm of J'J, from the magnitudes of the entries of J."""
        return largest_row(abs(self.transposed) @ abs(self.jacobian))

    def __repr__(self) -> str:
        return f"LeastSquaresCost({self.jacobian.shape[0]} residuals)"

    def at(self, point: Any) -> LeastSquaresPoint:
        """Return the shared work at one point."""
        return LeastSquaresPoint(self, point)


class LeastSquaresPoint:
    """A sum of squares at one point: its residuals give value and gradient."""

    def __init__(self, owner: LeastSquaresCost, point: Any):
        self._owner, self._point = owner, point
        self._residuals = owner.jacobian @ owner.rows.stacked(point)

    @lazy
    def value(self) -> float:
        """The cost."""
        return 0.5 * float(np.vdot(self._residuals, self._residuals))

    @lazy
    def gradient(self) -> Any:
        """Euclidean gradient, J'J Z."""
        return self._owner.rows.split(self._owner.transposed @ self._residuals)

    def hessian(self, vector: Any) -> Any:
        """Euclidean Hessian product, J'J V."""
        rows = self._owner.rows
        return rows.split(self._owner.normal @ rows.stacked(vector))

    def derivative_bounds(self, radius: float) -> DerivativeBounds:
        """Bounds of the derivatives: the third is zero."""
        owner, residuals = self._owner, self._residuals
        forth, back = longest_row(owner.jacobian), longest_row(owner.transposed)
        error = rounding_of(forth, residuals) * (
            abs(owner.jacobian) @ np.abs(owner.rows.stacked(self._point))
        )
        error += rounding_of(back, residuals) * np.abs(residuals)
        gradient = float(np.linalg.norm(abs(owner.transposed) @ error))
        products = rounding_of(back + longest_row(owner.normal), residuals)
        return DerivativeBounds(owner.size, 0.0, gradient, products * owner.size)


class Rows:
    """Points that are matrices with as many rows as the form: they are used as they are."""

    def stacked(self, point: Any) -> np.ndarray:
        """Return the point as one matrix."""
        return point

    def split(self, matrix: np.ndarray) -> Any:
        """Return a matrix in the form of a point."""
        return matrix


class TransposedRows(Rows):
    """Points whose columns are the rows of the form, as on oblique manifolds."""

    def stacked(self, point: Any) -> np.ndarray:
        """Return the transpose."""
        return point.T

    def split(self, matrix: np.ndarray) -> Any:
        """Return the transpose."""
        return np.ascontiguousarray(matrix.T)


class PairRows(Rows):
    """Points of two vectors: one below the other.

    Parameters
    ----------
    first : int
        Length of the first.
    """

    def __init__(self, first: int):
        self.first = first

    def stacked(self, point: Any) -> np.ndarray:
        """Return both vectors in a row."""
        return np.concatenate(list(point))

    def split(self, matrix: np.ndarray) -> Any:
        """Return the two vectors."""
        return [matrix[: self.first], matrix[self.first :]]


class ComplexRows(Rows):
    """Points of two rows, the real and the imaginary parts of the entries of one vector."""

    def stacked(self, point: Any) -> np.ndarray:
        """Return the complex vector."""
        return point[0] + 1j * point[1]

    def split(self, matrix: np.ndarray) -> Any:
        """Return real and imaginary parts."""
        return np.stack([matrix.real, matrix.imag])


class FrameRows(Rows):
    """A stack of k matrices of d columns: the rows are those of their transposes, one by one.

    Parameters
    ----------
    d, k : int
    """

    def __init__(self, d: int, k: int):
        self.d, self.k = d, k

    def stacked(self, point: Any) -> np.ndarray:
        """Return the matrix of kd rows of all transposes."""
        frames = point.reshape(self.k, -1, self.d)
        return frames.swapaxes(1, 2).reshape(self.k * self.d, -1)

    def split(self, matrix: np.ndarray) -> Any:
        """Return the stack."""
        frames = matrix.reshape(self.k, self.d, -1).swapaxes(1, 2)
        return frames if self.k > 1 else frames[0]


class PoseRows(Rows):
    """A stack of k rotations of size d and k places: first all transposes, then the places.

    Parameters
    ----------
    d, k : int
    """

    def __init__(self, d: int, k: int):
        self.turns = FrameRows(d, k)

    def stacked(self, point: Any) -> np.ndarray:
        """Return the k(d + 1) x d matrix of all transposes and places."""
        rotations, places = point
        return np.concatenate([self.turns.stacked(rotations), places])

    def split(self, matrix: np.ndarray) -> Any:
        """Return the stack and the places; the first is at the origin where it is missing."""
        end = self.turns.d * self.turns.k
        missing = np.zeros((end + self.turns.k - len(matrix), matrix.shape[1]))
        return [self.turns.split(matrix[:end]), np.concatenate([missing, matrix[end:]])]


def block_rows(
    rows: np.ndarray, columns: np.ndarray, blocks: np.ndarray, shape: tuple[int, int]
) -> scipy.sparse.csr_matrix:
    """Return a sparse matrix made of dense blocks.

    Parameters
    ----------
    rows, columns : ndarray of int, shape (count,)
        Where the first entry of each block is.
    blocks : ndarray, shape (count, a, b)
    shape : pair of int
        Of the whole.
    """
    _, height, width = blocks.shape
    down = np.broadcast_to(rows[:, None, None] + np.arange(height)[:, None], blocks.shape)
    right = np.broadcast_to(columns[:, None, None] + np.arange(width), blocks.shape)
    entries = (blocks.ravel(), (down.ravel(), right.ravel()))
    return scipy.sparse.csr_matrix(entries, shape=shape)
