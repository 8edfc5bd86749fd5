"""Costs that are quadratic in the arrays of a point: one product with a matrix serves them all."""

from __future__ import annotations

from typing import Any

import numpy as np

from riemtr.problem.books import lazy


class QuadraticCost:
    r"""The form :math:`\frac12 \langle Z, C Z \rangle` of the entries of a point.

    Parameters
    ----------
    matrix : ndarray or sparse matrix, shape (N, N)
        The symmetric matrix C.
    rows : Rows
        Writes points as matrices Z of N rows, and matrices as points.
    """

    def __init__(self, matrix: Any, rows: Rows):
        self.matrix = matrix
        self.rows = rows

    def __repr__(self) -> str:
        return f"QuadraticCost({self.matrix.shape[0]} rows)"

    def at(self, point: Any) -> QuadraticPoint:
        """Return the shared work at one point."""
        return QuadraticPoint(self, point)


class QuadraticPoint:
    """A quadratic form at one point: one product gives value and gradient."""

    def __init__(self, owner: QuadraticCost, point: Any):
        self._matrix, self._rows = owner.matrix, owner.rows
        self._stacked = owner.rows.stacked(point)
        self._product = owner.matrix @ self._stacked

    @lazy
    def value(self) -> float:
        """The cost."""
        return 0.5 * float(np.vdot(self._stacked, self._product).real)

    @lazy
    def gradient(self) -> Any:
        """Euclidean gradient, C Z."""
        return self._rows.split(self._product)

    def hessian(self, vector: Any) -> Any:
        """Euclidean Hessian product, C V."""
        return self._rows.split(self._matrix @ self._rows.stacked(vector))


class LeastSquaresCost:
    r"""The sum of squares :math:`\frac12 |J Z|^2`, exact to the last digit where it vanishes.

    Parameters
    ----------
    jacobian : sparse matrix, shape (M, N)
        The matrix J.
    rows : Rows
        Writes points as matrices Z of N rows, and matrices as points.
    """

    def __init__(self, jacobian: Any, rows: Rows):
        self.jacobian = jacobian.tocsr()
        self.transposed = jacobian.T.tocsr()
        self.normal = (self.transposed @ self.jacobian).tocsr()
        self.rows = rows

    def __repr__(self) -> str:
        return f"LeastSquaresCost({self.jacobian.shape[0]} residuals)"

    def at(self, point: Any) -> LeastSquaresPoint:
        """Return the shared work at one point."""
        return LeastSquaresPoint(self, point)


class LeastSquaresPoint:
    """A sum of squares at one point: its residuals give value and gradient."""

    def __init__(self, owner: LeastSquaresCost, point: Any):
        self._owner = owner
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


class ComplexRows(Rows):
    """Points of two rows, the real and the imaginary parts of the entries of one vector."""

    def stacked(self, point: Any) -> np.ndarray:
        """Return the complex vector."""
        return point[0] + 1j * point[1]

    def split(self, matrix: np.ndarray) -> Any:
        """Return real and imaginary parts."""
        return np.stack([matrix.real, matrix.imag])


class RotationRows(Rows):
    """A stack of k matrices of size d: the rows are those of their transposes, one after another.

    Parameters
    ----------
    d, k : int
    """

    def __init__(self, d: int, k: int):
        self.d, self.k = d, k

    def stacked(self, point: Any) -> np.ndarray:
        """Return the kd x d matrix of all transposes."""
        return point.reshape(self.k, self.d, self.d).swapaxes(1, 2).reshape(-1, self.d)

    def split(self, matrix: np.ndarray) -> Any:
        """Return the stack."""
        return matrix.reshape(self.k, self.d, self.d).swapaxes(1, 2)


class PoseRows(Rows):
    """A stack of k rotations of size d and k places: first all transposes, then the places.

    Parameters
    ----------
    d, k : int
    """

    def __init__(self, d: int, k: int):
        self.turns = RotationRows(d, k)

    def stacked(self, point: Any) -> np.ndarray:
        """Return the k(d + 1) x d matrix of all transposes and places."""
        rotations, places = point
        return np.concatenate([self.turns.stacked(rotations), places])

    def split(self, matrix: np.ndarray) -> Any:
        """Return the stack and the places."""
        end = self.turns.d * self.turns.k
        return [self.turns.split(matrix[:end]), matrix[end:]]
