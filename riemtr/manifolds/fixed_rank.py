"""Matrices of one rank, given by their singular value decompositions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from pymanopt.manifolds.fixed_rank import _FixedRankPoint, _FixedRankTangentVector

from riemtr.arguments import integer
from riemtr.manifolds.manifold import OTHER_POINTS, Manifold, TangentSpace, drawing, safe_norm
from riemtr.manifolds.stiefel import ComplementBasis, random_frames


class FixedRankSpace(TangentSpace):
    """The matrices U M V' + Up V' + U Vp', as the entries of Up, M and Vp in a row."""

    def __init__(self, manifold: Any, point: Any):
        super().__init__(manifold, point)
        self._left, self._values, self._right = point[0], point[1], point[2].T
        rank = len(point[1])
        self._ends = (self._left.size, self._left.size + rank * rank)

    def _parts(self, vector: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        first, second = self._ends
        rank = len(self._values)
        return (
            vector[:first].reshape(self._left.shape),
            vector[first:second].reshape(rank, rank),
            vector[second:].reshape(self._right.shape),
        )

    def factor_sizes(self) -> tuple[float, ...]:
        """Return the Frobenius norm of the matrix."""
        return (safe_norm(self._values),)

    def zero(self) -> np.ndarray:
        """Return the zero vector."""
        return np.zeros(self._ends[1] + self._right.size, dtype=self._left.dtype)

    def tangent(self, vector: np.ndarray) -> np.ndarray:
        """Return the vector with Up orthogonal to U and Vp orthogonal to V."""
        ups, middle, vps = self._parts(vector)
        return _flat(_without(self._left, ups), middle, _without(self._right, vps))

    def pack(self, vector: Any) -> np.ndarray:
        """Return the entries of Up, M and Vp."""
        return _flat(*vector)

    def unpack(self, vector: np.ndarray) -> _FixedRankTangentVector:
        """Return pymanopt's tangent vector (Up, M, Vp)."""
        return _FixedRankTangentVector(*self._parts(vector))

    def embed(self, vector: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the vector as a product A B C' of three matrices, as pymanopt does."""
        ups, middle, vps = self._parts(vector)
        first = np.hstack((self._left @ middle + ups, self._left))
        second = np.eye(first.shape[1], dtype=first.dtype)
        return first, second, np.hstack((self._right, vps))

    def basis(self) -> FixedRankBasis:
        """Return bases of the complements of U and of V, and the unit matrices."""
        return FixedRankBasis(self._left, self._right, self._ends)

    def transported(self, vector: np.ndarray, origin: TangentSpace) -> np.ndarray:
        """Return the projection of the vector as it is in the space of matrices, by its factors."""
        return self.projected(*origin.embed(vector))

    def projected(self, first: np.ndarray, second: np.ndarray, third: np.ndarray) -> np.ndarray:
        """Return the projection of the matrix A B C' onto the space."""
        along_right = first @ (second @ (third.T @ self._right))
        along_left = third @ (second.T @ (first.T @ self._left))
        return self._from_products(along_right, along_left)

    def projected_matrix(self, matrix: np.ndarray) -> np.ndarray:
        """Return the projection of an m x n matrix onto the space."""
        return self._from_products(matrix @ self._right, matrix.T @ self._left)

    def _from_products(self, along_right: np.ndarray, along_left: np.ndarray) -> np.ndarray:
        """Return the projection of Z from Z V and Z'U."""
        middle = self._left.T @ along_right
        ups, vps = along_right - self._left @ middle, along_left - self._right @ middle.T
        return _flat(ups, middle, vps)

    def gradient(self, euclidean_gradient: Any) -> np.ndarray:
        """Return the Riemannian gradient from the derivatives by u, s and vt.

        Where two singular values agree, these determine it only for costs of u @ diag(s) @ vt.
        """
        by_left, by_values, by_right = euclidean_gradient
        values, by_right = self._values, by_right.T
        inside_left, inside_right = self._left.T @ by_left, self._right.T @ by_right
        ups = (by_left - self._left @ inside_left) / values
        vps = (by_right - self._right @ inside_right) / values
        # For Z the gradient by the matrix, inside_left is U'ZV S and inside_right is V'Z'U S, up
        # to symmetric matrices, which say how the cost goes on where u and v are not orthonormal.
        squares = values * values
        gaps = squares - squares[:, None]
        equal = np.abs(gaps) <= math.sqrt(np.finfo(values.dtype).eps) * squares.max()
        turns = (inside_left - inside_left.T) * values
        turns += values[:, None] * (inside_right - inside_right.T)
        plain = 0.5 * (inside_left / values + (inside_right / values).T)
        middle = np.where(equal, plain, turns / np.where(equal, 1.0, gaps).astype(gaps.dtype))
        np.fill_diagonal(middle, by_values)
        return _flat(ups, middle, vps)

    def hessian(self, euclidean_gradient: Any, euclidean_product: Any, vector: np.ndarray) -> Any:
        """Refuse: derivatives by u, s and vt do not determine the Riemannian Hessian."""
        raise NotImplementedError(
            "FixedRank does not convert Euclidean Hessians: leave the Hessian out, or give the "
            "Riemannian one"
        )

    def move(self, vector: np.ndarray) -> _FixedRankPoint:
        """Return the matrix of the rank that is closest to X + V.

        Its factors are orthonormal even where Up or Vp lacks rank, or has no room beside U or V.
        """
        ups, middle, vps = self._parts(vector)
        rank = len(self._values)
        left, left_triangle = np.linalg.qr(np.hstack((self._left, ups)))
        right, right_triangle = np.linalg.qr(np.hstack((self._right, vps)))
        core = left_triangle[:, :rank] @ (
            (np.diag(self._values) + middle) @ right_triangle[:, :rank].T
            + right_triangle[:, rank:].T
        )
        core += left_triangle[:, rank:] @ right_triangle[:, :rank].T
        turn_left, values, turn_right = np.linalg.svd(core, full_matrices=False)
        # A step to a matrix of lower rank ends beside it, as far away as rounding.
        least = np.finfo(values.dtype).eps * (values[0] if values[0] > 0.0 else 1.0)
        return _FixedRankPoint(
            left @ turn_left[:, :rank],
            np.maximum(values[:rank], least).astype(values.dtype, copy=False),
            turn_right[:rank] @ right.T,
        )


class FixedRank(Manifold[_FixedRankPoint]):
    r"""Manifold of m x n matrices of rank r.

    A point is a tuple ``(u, s, vt)`` of arrays of shapes ``(m, r)``, ``(r,)`` and ``(r, n)``, the
    singular value decomposition of the matrix ``u @ diag(s) @ vt``. A tangent vector is a tuple
    ``(Up, M, Vp)``, which stands for the matrix

    .. math:: U M V' + U_p V' + U V_p', \qquad U' U_p = 0, \quad V' V_p = 0.

    The metric is that of the space of matrices. Costs are functions of the three arrays, and so
    are their derivatives; they do not determine the Riemannian Hessian. The retraction takes the
    closest matrix of rank r, which is of second order.

    Parameters
    ----------
    m, n : int
        Numbers of rows and of columns.
    r : int
        The rank, at most the smaller of them.

    Examples
    --------
    >>> import numpy as np, riemtr
    >>> manifold = riemtr.FixedRank(5, 4, 2)
    >>> manifold.dim
    14
    >>> u, s, vt = manifold.random_point(0)
    >>> int(np.linalg.matrix_rank(u @ np.diag(s) @ vt))
    2
    """

    space_type = FixedRankSpace
    bounded = False
    converts_hessians = False
    has_exponential = False
    parts = " (u, s, vt), the SVD of a matrix cut to its rank,"

    def __init__(self, m: int, n: int, r: int):
        self.m, self.n = integer("m", m), integer("n", n)
        self.r = integer("r", r, 1, min(self.m, self.n))
        name = f"Manifold of {m} x {n} matrices of rank {r}"
        super().__init__(name, (self.m + self.n - self.r) * self.r, point_layout=3)

    def __repr__(self) -> str:
        return f"FixedRank({self.m}, {self.n}, {self.r})"

    def space(self, point: Any) -> FixedRankSpace:
        """Return the tangent space at a point."""
        return FixedRankSpace(self, point)

    def gradient_hint(self, kind: str) -> str:
        """Return what a gradient consists of, which is no matter of course here."""
        forms = {
            "euclidean": "derivatives by u, s and vt: with that by the matrix (u * s) @ vt, G, "
            "they are G @ vt.T * s, np.diag(u.T @ G @ vt.T) and (u * s).T @ G",
            "riemannian": "the parts Up, M and Vp of a tangent vector: with the derivative by the "
            "matrix (u * s) @ vt, G, they are G @ vt.T - u @ M, M = u.T @ G @ vt.T and "
            "G.T @ u - vt.T @ M.T",
        }
        return f". On manifolds of fixed rank pass {forms[kind]}"

    @property
    def typical_dist(self) -> float:
        """The dimension, as there is no largest distance."""
        return self.dim

    def check_point(self, point: Any, name: str = "start") -> _FixedRankPoint:
        """Return a user's point as floating-point arrays of its own, or say what is wrong."""
        checked = super().check_point(point, name)
        dtype = np.result_type(*checked)
        return _FixedRankPoint(*(part.astype(dtype, copy=False) for part in checked))

    def complaint(self, point: Any, tolerance: float) -> str | None:
        """Return what keeps a point off the manifold, and the remedy; None if nothing does."""
        return no_svd(point, tolerance)

    def projection(self, point: Any, vector: Any) -> _FixedRankTangentVector:
        """Return the orthogonal projection of a matrix onto the tangent space.

        Parameters
        ----------
        point : tuple of ndarray
        vector : ndarray of shape (m, n), or tuple of three matrices whose product A B C' is it
        """
        space = self.space(point)
        if isinstance(vector, (list, tuple)):
            return space.unpack(space.projected(*vector))
        return space.unpack(space.projected_matrix(vector))

    def separation(self, point_a: Any, point_b: Any) -> float:
        """Return the norm of the difference of two matrices, from their factors."""
        (left, values, right), (other_left, other_values, other_right) = point_a, point_b
        # The product of two tall matrices, of which the triangular factors alone have the norm.
        tall = np.linalg.qr(np.hstack((left * values, other_left * other_values)))[1]
        wide = np.linalg.qr(np.vstack((right, -other_right)).T)[1]
        return safe_norm(tall @ wide.T)

    def random_point(self, rng: Any = None) -> _FixedRankPoint:
        """Draw singular vectors uniformly, and singular values between 0 and 1."""
        rng = drawing(rng)
        left = random_frames(rng, self.m, self.r, 1)
        # 1 - [0, 1) is never 0.
        values = np.sort(1.0 - rng.uniform(size=self.r))[::-1].copy()
        right = random_frames(rng, self.n, self.r, 1)
        return _FixedRankPoint(left, values, right.T)


class FixedRankBasis:
    """Orthonormal basis of a tangent space: those of the complements of U and V, and all of M.

    Parameters
    ----------
    left, right : ndarray of shape (m, r) and (n, r)
    ends : pair of int
        Where the entries of Up and of M end in a vector.
    """

    def __init__(self, left: np.ndarray, right: np.ndarray, ends: tuple[int, int]):
        self._left, self._right = ComplementBasis(left), ComplementBasis(right)
        self._shapes, self._ends = (left.shape, right.shape), ends
        self._cuts = [self._left.dim, self._left.dim + ends[1] - ends[0]]
        self.dim = self._cuts[1] + self._right.dim

    def coordinates(self, vector: np.ndarray) -> np.ndarray:
        """Return the coordinates of Up, M and Vp."""
        ups, middle, vps = np.split(vector, self._ends)
        ups = self._left.coordinates(ups.reshape(self._shapes[0]))
        vps = self._right.coordinates(vps.reshape(self._shapes[1]))
        return np.concatenate((ups, middle, vps))

    def vector(self, coordinates: np.ndarray) -> np.ndarray:
        """Return the vector with these coordinates."""
        ups, middle, vps = np.split(coordinates, self._cuts)
        return _flat(self._left.vector(ups), middle, self._right.vector(vps))


def no_svd(point: Any, tolerance: float) -> str | None:
    """Return what keeps three arrays from being an SVD, and the remedy; None if nothing does."""
    left, values, right = point
    for gram in (left.T @ left, right @ right.T):
        if not np.allclose(gram, np.eye(len(gram)), rtol=0.0, atol=tolerance):
            return (
                "its first factor must have orthonormal columns, its last orthonormal rows; "
                f"{OTHER_POINTS}"
            )
    if not np.all(values > 0.0):
        return f"its singular values must be positive; {OTHER_POINTS}"
    return None


def _flat(*parts: np.ndarray) -> np.ndarray:
    return np.concatenate([part.ravel() for part in parts])


def _without(frame: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    return matrix - frame @ (frame.T @ matrix)
