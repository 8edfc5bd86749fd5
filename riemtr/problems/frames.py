"""Frames that fit: Procrustes problems, and generalised eigenvalues."""

from __future__ import annotations

import math

import numpy as np
import scipy.linalg

from riemtr.arguments import check_nonnegative, integer
from riemtr.manifolds import Grassmann, Stiefel
from riemtr.problem import Problem
from riemtr.problem.books import lazy
from riemtr.problem.pullback import DerivativeBounds, gamma
from riemtr.problems.random_data import apart, definite, orthonormal, symmetric_matrix
from riemtr.problems.registry import Case, Truth, register

# -- Procrustes -----------------------------------------------------------------------------------


class ProcrustesCost:
    """Half the squared error of A X = B.

    Parameters
    ----------
    design : ndarray, shape (m, n)
        The matrix A.
    target : ndarray, shape (m, p)
        The matrix B.
    """

    def __init__(self, design: np.ndarray, target: np.ndarray):
        self.design, self.target = design, target

    def at(self, point: np.ndarray) -> ProcrustesPoint:
        """Return the shared work at one point."""
        return ProcrustesPoint(self, point)


class ProcrustesPoint:
    """The error at one point: the residual gives value and gradient."""

    def __init__(self, owner: ProcrustesCost, point: np.ndarray):
        self._design, self._target, self._point = owner.design, owner.target, point
        self._residual = owner.design @ point - owner.target

    @lazy
    def value(self) -> float:
        """The cost."""
        return 0.5 * float(np.sum(self._residual**2))

    @lazy
    def gradient(self) -> np.ndarray:
        """Euclidean gradient."""
        return self._design.T @ self._residual

    def hessian(self, vector: np.ndarray) -> np.ndarray:
        """Euclidean Hessian product."""
        return self._design.T @ (self._design @ vector)

    def derivative_bounds(self, radius: float) -> DerivativeBounds:
        """Bounds of the derivatives: the third is zero."""
        precision, (m, n) = float(np.finfo(self._residual.dtype).eps), self._design.shape
        absolute = np.abs(self._design)
        size = float((absolute.T @ absolute).sum(axis=1).max()) * (1.0 + gamma(m + n))
        error = gamma(n + 2, precision) * (absolute @ np.abs(self._point) + np.abs(self._target))
        error += gamma(m + 2, precision) * np.abs(self._residual)
        gradient = float(np.linalg.norm(absolute.T @ error))
        return DerivativeBounds(size, 0.0, gradient, gamma(m + n + 4, precision) * size)


@register("procrustes")
def procrustes(
    rng: np.random.Generator,
    n: int = 12,
    p: int = 4,
    m: int | None = None,
    noise: float = 0.0,
) -> Case:
    r"""Procrustes: orthonormal columns X that bring A X nearest to B.

    Two matrices A (m x n) and B (m x p) are given; the problem of Procrustes is

    .. math:: \min_{X'X = I} \tfrac12 |AX - B|_F^2

    on the manifold ``Stiefel(n, p)``. For p = n it is the orthogonal problem, solved in closed form
    by the polar factor of A'B, since |AX| does not depend on X. For p < n it is unbalanced: there
    is no closed form, and there may be minimizers that are not global.

    B is made from planted columns. The minimum is known for p = n with any noise, from the singular
    values of A'B, and without noise for any p, when it is zero. ``truth.error`` is the Frobenius
    distance from the minimizer (with noise and p < n, from what was planted). No direction is flat.

    Parameters
    ----------
    n, p : int
        Size of X.
    m : int, optional
        Number of rows of A, 2 n if not given, at least n.
    noise : float
        Standard deviation of the noise on the entries of B, which are of order 1.

    References
    ----------
    Schönemann, *A generalized solution of the orthogonal Procrustes problem*, Psychometrika 31
    (1966). Eldén and Park, *A Procrustes problem on the Stiefel manifold*, Numerische Mathematik 82
    (1999).
    """
    rng = apart(rng)
    n = integer("n", n, low=1)
    p = integer("p", p, low=1, high=n)
    m = 2 * n if m is None else integer("m", m, low=n)
    check_nonnegative("noise", noise)
    design = rng.standard_normal((m, n))
    planted = orthonormal(rng, n, p)
    target = design @ planted + noise * rng.standard_normal((m, p))
    best, least = planted, 0.0 if noise == 0.0 else None
    if p == n:
        left, values, right = np.linalg.svd(design.T @ target)
        best = left @ right
        squares = np.sum(design**2) + np.sum(target**2) - 2.0 * values.sum()
        least = 0.5 * max(float(squares), 0.0)
    manifold = Stiefel(n, p)

    def error(point: np.ndarray) -> float:
        return float(np.linalg.norm(point - best))

    truth = Truth(
        cost=least,
        distance=None if least is None else error,
        details={"design": design, "target": target},
        point=best,
        error=error,
    )
    problem = Problem(manifold, ProcrustesCost(design, target))
    return Case(problem, manifold.random_point(rng), truth)


# -- generalised eigenvalues ----------------------------------------------------------------------


class PencilCost:
    """The trace of (X'BX)^-1 X'AX, which depends on the span of X only.

    Parameters
    ----------
    first, second : ndarray, shape (n, n)
        The symmetric matrices A and B; B is positive definite.
    """

    def __init__(self, first: np.ndarray, second: np.ndarray):
        self.first, self.second = first, second

    def at(self, point: np.ndarray) -> PencilPoint:
        """Return the shared work at one point."""
        return PencilPoint(self, point)


class PencilPoint:
    """The trace at one point: the products AX and BX serve everything."""

    def __init__(self, owner: PencilCost, point: np.ndarray):
        self._owner, self._point = owner, point
        self._first, self._second = owner.first @ point, owner.second @ point
        self._inverse = np.linalg.inv(point.T @ self._second)
        self._quotient = self._inverse @ (point.T @ self._first)

    @lazy
    def value(self) -> float:
        """The cost."""
        return float(np.trace(self._quotient))

    @lazy
    def _residual(self) -> np.ndarray:
        """The matrix AX - BX Q, with the quotient Q = (X'BX)^-1 X'AX."""
        return self._first - self._second @ self._quotient

    @lazy
    def gradient(self) -> np.ndarray:
        """Euclidean gradient."""
        return 2.0 * self._residual @ self._inverse

    def hessian(self, vector: np.ndarray) -> np.ndarray:
        """Euclidean Hessian product."""
        first, second = self._owner.first @ vector, self._owner.second @ vector
        size = vector.T @ self._second + self._point.T @ second
        moved = vector.T @ self._first + self._point.T @ first
        quotient = self._inverse @ (moved - size @ self._quotient)
        residual = first - second @ self._quotient - self._second @ quotient
        return 2.0 * (residual - self._residual @ (self._inverse @ size)) @ self._inverse


@register("generalised-eigenvalues")
def generalised_eigenvalues(rng: np.random.Generator, n: int = 30, k: int = 3) -> Case:
    r"""Smallest generalised eigenvalues of a symmetric pencil, and the subspace they belong to.

    Numbers :math:`\lambda` and vectors x with :math:`Ax = \lambda Bx`, for symmetric A and positive
    definite B, are the vibrations of structures and the discriminants of statistics. The k smallest
    are found at once by the generalised Rayleigh quotient,

    .. math:: \min_X \operatorname{tr}\left((X'BX)^{-1} X'AX\right)

    over the k-dimensional subspaces of n-dimensional space, the manifold ``Grassmann(n, k)``: the
    trace does not depend on the basis of the subspace, which the manifold takes care of. The
    minimum is the sum of the k smallest generalised eigenvalues; every other invariant subspace is
    a saddle point, or the maximizer.

    The truth is LAPACK's, by ``scipy.linalg.eigh(A, B)``. ``truth.distance`` is the Frobenius
    distance of the projections onto the two subspaces.

    Parameters
    ----------
    n : int
        Size of the matrices.
    k : int
        Dimension of the subspace.

    References
    ----------
    Absil, Mahony and Sepulchre, *Optimization Algorithms on Matrix Manifolds*, Princeton (2008).
    Sameh and Wisniewski, *A trace minimization algorithm for the generalized eigenvalue problem*,
    SIAM Journal on Numerical Analysis 19 (1982).
    """
    rng = apart(rng)
    n = integer("n", n, low=2)
    k = integer("k", k, low=1, high=n - 1)
    first, second = symmetric_matrix(rng, n), definite(rng, n)
    values, vectors = scipy.linalg.eigh(first, second)
    target = np.linalg.qr(vectors[:, :k])[0]
    projection = target @ target.T
    manifold = Grassmann(n, k)
    truth = Truth(
        cost=math.fsum(values[:k]),
        distance=lambda point: float(np.linalg.norm(point @ point.T - projection)),
        details={"first": first, "second": second, "eigenvalues": values},
        point=target,
    )
    problem = Problem(manifold, PencilCost(first, second))
    return Case(problem, manifold.random_point(rng), truth)
