"""Low-rank matrix completion: a matrix from a few of its entries."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse
from scipy.sparse.linalg import svds

from riemtr.arguments import check_nonnegative, integer, real
from riemtr.manifolds import FixedRank
from riemtr.problem import Problem
from riemtr.problem.books import lazy
from riemtr.problem.evaluation import Derivatives
from riemtr.problems.random_data import apart
from riemtr.problems.registry import Case, Truth, register


class CompletionCost:
    """Half the squared error at known entries of a matrix, with Riemannian derivatives.

    Parameters
    ----------
    known : sparse matrix, shape (m, n)
        The known entries; those that are not stored are not known.
    """

    # By the factors, Euclidean derivatives do not determine the Hessian.
    derivatives = Derivatives("riemannian", "riemannian")

    def __init__(self, known: Any):
        self.known = scipy.sparse.csr_matrix(known, dtype=float)
        self.known.sum_duplicates()
        self.columns = self.known.indices
        self.rows = np.repeat(np.arange(self.known.shape[0]), np.diff(self.known.indptr))

    def __repr__(self) -> str:
        m, n = self.known.shape
        return f"CompletionCost({self.known.nnz} entries of {m} x {n})"

    def at(self, point: Any) -> CompletionPoint:
        """Return the shared work at one point."""
        return CompletionPoint(self, point)

    def entries(self, tall: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Return the entries of the product of A and B' where the matrix is known."""
        return np.einsum("ij,ij->i", tall[self.rows], other[self.columns])

    def sparse(self, values: np.ndarray) -> Any:
        """Return the sparse matrix with given values where the matrix is known."""
        parts = (values, self.columns, self.known.indptr)
        return scipy.sparse.csr_matrix(parts, shape=self.known.shape)


class CompletionPoint:
    """The squared error at one point: its residual serves value, gradient and Hessian."""

    def __init__(self, owner: CompletionCost, point: Any):
        self._owner = owner
        self._left, self._values, transposed = point
        self._right = transposed.T
        found = owner.entries(self._left * self._values, self._right)
        self._residual = found - owner.known.data

    @lazy
    def value(self) -> float:
        """The cost."""
        return 0.5 * float(self._residual @ self._residual)

    @lazy
    def _error(self) -> Any:
        return self._owner.sparse(self._residual)

    @lazy
    def _error_transposed(self) -> Any:
        return self._error.T.tocsr()

    @lazy
    def gradient(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Riemannian gradient: the projection of the residual."""
        return self._projected(self._error @ self._right, self._error_transposed @ self._left)

    def hessian(self, vector: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Riemannian Hessian product with (Up, M, Vp).

        It is the projection of the vector's known entries and, beside it, the curvature of the
        manifold, in which the residual meets Vp and Up over the singular values.
        """
        ups, middle, vps = vector
        owner = self._owner
        along = owner.entries(
            np.hstack([self._left @ middle + ups, self._left]), np.hstack([self._right, vps])
        )
        change = owner.sparse(along)
        by_right, inner, by_left = self._projected(change @ self._right, change.T @ self._left)
        bend_left = self._error @ (vps / self._values)
        bend_right = self._error_transposed @ (ups / self._values)
        by_right += bend_left - self._left @ (self._left.T @ bend_left)
        by_left += bend_right - self._right @ (self._right.T @ bend_right)
        return by_right, inner, by_left

    def _projected(
        self, by_right: np.ndarray, by_left: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the parts of the projection of Z onto the tangent space, from ZV and Z'U."""
        middle = self._left.T @ by_right
        return by_right - self._left @ middle, middle, by_left - self._right @ middle.T


@register("matrix-completion")
def matrix_completion(
    rng: np.random.Generator,
    m: int = 60,
    n: int = 50,
    rank: int = 3,
    oversampling: float = 5.0,
    noise: float = 0.0,
) -> Case:
    r"""Low-rank matrix completion: a matrix of known rank from a few of its entries.

    Entries of an m x n matrix A of rank r are known at random places :math:`\Omega`. Completion
    finds

    .. math:: \min_{\operatorname{rank} X = r} \tfrac12 \sum_{(i,j) \in \Omega} (X_{ij} - A_{ij})^2

    on the manifold ``FixedRank(m, n, r)``, whose points are the factors of a singular value
    decomposition. Nothing of the size m x n is ever formed: with the sparse residual S the gradient
    is its projection onto the tangent space, and the Hessian along
    :math:`UMV' + U_pV' + UV_p'` is the projection of that vector's known entries and of the
    curvature terms :math:`S V_p \Sigma^{-1} V'` and :math:`U \Sigma^{-1} U_p' S`.

    The start is the leading part of the singular value decomposition of the known entries, scaled
    by m n over their number. ``truth.error`` is the relative error of the whole matrix,
    :math:`|X - A|_F / |A|_F`; without noise the minimum is zero and A is attained, as soon as the
    known entries determine it.

    Parameters
    ----------
    m, n : int
        Size of the matrix.
    rank : int
        The rank r.
    oversampling : float
        Known entries for each of the r (m + n - r) degrees of freedom; 3 is about the least that
        determines a random matrix.
    noise : float
        Standard deviation of the noise on known entries, which are of order 1.

    References
    ----------
    Vandereycken, *Low-rank matrix completion by Riemannian optimization*, SIAM Journal on
    Optimization 23 (2013). Keshavan, Montanari and Oh, *Matrix completion from a few entries*, IEEE
    Transactions on Information Theory 56 (2010).
    """
    rng = apart(rng)
    m, n = integer("m", m, low=2), integer("n", n, low=2)
    rank = integer("rank", rank, low=1, high=min(m, n) - 1)
    oversampling = real("oversampling", oversampling, low=1.0)
    check_nonnegative("noise", noise)
    count = min(math.ceil(oversampling * rank * (m + n - rank)), m * n)
    rows, columns = np.divmod(rng.choice(m * n, size=count, replace=False), n)
    left, right = rng.standard_normal((m, rank)), rng.standard_normal((n, rank))
    left /= math.sqrt(rank)
    data = np.einsum("ij,ij->i", left[rows], right[columns]) + noise * rng.standard_normal(count)
    cost = CompletionCost(scipy.sparse.csr_matrix((data, (rows, columns)), shape=(m, n)))
    manifold = FixedRank(m, n, rank)
    size = _product_norm(left, right)

    def error(point: Any) -> float:
        u, s, vt = point
        return _product_norm(np.hstack([u * s, -left]), np.hstack([vt.T, right])) / size

    truth = Truth(
        cost=0.0 if noise == 0.0 else None,
        distance=error if noise == 0.0 else None,
        details={"known": cost.known, "left": left, "right": right},
        point=_singular_values(left, right),
        error=error,
    )
    return Case(Problem(manifold, cost), _spectral_start(rng, cost.known, rank), truth)


def _product_norm(left: np.ndarray, right: np.ndarray) -> float:
    """Return the norm of A B' without forming it, to full accuracy where terms cancel."""
    small = np.linalg.qr(left)[1] @ np.linalg.qr(right)[1].T
    return float(np.linalg.norm(small))


def _singular_values(left: np.ndarray, right: np.ndarray) -> Any:
    """Return the factors of the singular value decomposition of A B'."""
    tall, wide = np.linalg.qr(left), np.linalg.qr(right)
    u, s, vt = np.linalg.svd(tall[1] @ wide[1].T)
    return tall[0] @ u, s, vt @ wide[0].T


def _spectral_start(rng: np.random.Generator, known: Any, rank: int) -> Any:
    m, n = known.shape
    first = rng.standard_normal(min(m, n))
    u, s, vt = svds(known * (m * n / known.nnz), k=rank, v0=first)
    return u[:, ::-1].copy(), s[::-1].copy(), vt[::-1].copy()
