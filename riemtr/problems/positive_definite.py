"""Means and medians of positive definite matrices in the affine-invariant metric."""

from __future__ import annotations

import math

import numpy as np

from riemtr.arguments import integer, real
from riemtr.manifolds import PositiveDefinite
from riemtr.problem import Problem
from riemtr.problem.books import lazy
from riemtr.problems.random_data import apart, definite, symmetric_stack
from riemtr.problems.registry import Case, Truth, register

# Relative gap of two eigenvalues below which their divided difference is a derivative: the error
# of the quotient, roundings over the gap, is then about that of the derivative, the gap squared.
_NEAR = 1e-5
# Length of the longest planted vector over that of the shortest, in a pair: one of them is far out.
_FAR = 5.0


class Distances:
    """Half the squared distances from given matrices to one point X, and their derivatives.

    With A = L L' and L^-1 X L^-T = Q diag(values) Q', half the squared distance of X from A is half
    the sum of all log(value)^2; its derivatives are those of a function of the eigenvalues.

    Parameters
    ----------
    inverses : ndarray, shape (count, n, n)
        The matrices L^-1.
    point : ndarray, shape (n, n)
    """

    def __init__(self, inverses: np.ndarray, point: np.ndarray):
        transposed = inverses.swapaxes(-1, -2)
        values, vectors = np.linalg.eigh(inverses @ point @ transposed)
        self._values, self._vectors = values, transposed @ vectors
        self._logarithms = np.log(values)
        self.halves = 0.5 * np.sum(self._logarithms**2, axis=-1)

    @lazy
    def _slopes(self) -> np.ndarray:
        return self._logarithms / self._values

    @lazy
    def gradients(self) -> np.ndarray:
        """Euclidean gradient of each half squared distance."""
        return (self._vectors * self._slopes[:, None, :]) @ self._vectors.swapaxes(-1, -2)

    @lazy
    def _divided(self) -> np.ndarray:
        """Divided differences of log(t)/t at all pairs of eigenvalues."""
        values, slopes = self._values, self._slopes
        gaps = values[:, :, None] - values[:, None, :]
        middles = 0.5 * (values[:, :, None] + values[:, None, :])
        near = np.abs(gaps) <= _NEAR * middles
        quotients = (slopes[:, :, None] - slopes[:, None, :]) / np.where(near, 1.0, gaps)
        return np.where(near, (1.0 - np.log(middles)) / middles**2, quotients)

    def hessians(self, vector: np.ndarray) -> np.ndarray:
        """Euclidean Hessian product of each half squared distance."""
        transposed = self._vectors.swapaxes(-1, -2)
        inside = self._divided * (transposed @ vector @ self._vectors)
        return self._vectors @ inside @ transposed


class MeanCost:
    """Half the mean squared distance from positive definite matrices.

    Parameters
    ----------
    matrices : ndarray, shape (count, n, n)
    """

    def __init__(self, matrices: np.ndarray):
        self.inverses = np.linalg.inv(np.linalg.cholesky(matrices))

    def at(self, point: np.ndarray) -> MeanPoint:
        """Return the shared work at one point."""
        return MeanPoint(Distances(self.inverses, point))


class MeanPoint:
    """The mean squared distance at one point: one eigendecomposition for each matrix."""

    def __init__(self, distances: Distances):
        self._distances = distances

    @lazy
    def value(self) -> float:
        """The cost."""
        return float(self._distances.halves.mean())

    @lazy
    def gradient(self) -> np.ndarray:
        """Euclidean gradient."""
        return self._distances.gradients.mean(axis=0)

    def hessian(self, vector: np.ndarray) -> np.ndarray:
        """Euclidean Hessian product."""
        return self._distances.hessians(vector).mean(axis=0)


class MedianCost(MeanCost):
    """The mean of sqrt(distance^2 + smoothing^2) from positive definite matrices.

    Parameters
    ----------
    matrices : ndarray, shape (count, n, n)
    smoothing : float
    """

    def __init__(self, matrices: np.ndarray, smoothing: float):
        super().__init__(matrices)
        self.smoothing = smoothing

    def at(self, point: np.ndarray) -> MedianPoint:  # type: ignore[override]
        """Return the shared work at one point."""
        return MedianPoint(Distances(self.inverses, point), self.smoothing)


class MedianPoint:
    """The mean distance at one point: one eigendecomposition for each matrix."""

    def __init__(self, distances: Distances, smoothing: float):
        self._distances = distances
        self._roots = np.sqrt(2.0 * distances.halves + smoothing**2)

    @lazy
    def value(self) -> float:
        """The cost."""
        return float(self._roots.mean())

    @lazy
    def gradient(self) -> np.ndarray:
        """Euclidean gradient."""
        return self._weighted(self._distances.gradients, 1.0 / self._roots)

    def hessian(self, vector: np.ndarray) -> np.ndarray:
        """Euclidean Hessian product."""
        gradients = self._distances.gradients
        slopes = np.tensordot(gradients, vector, axes=2)
        bent = self._weighted(self._distances.hessians(vector), 1.0 / self._roots)
        return bent - self._weighted(gradients, slopes / self._roots**3)

    def _weighted(self, stack: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return np.tensordot(weights, stack, axes=1) / len(weights)


@register("karcher-mean")
def karcher_mean(
    rng: np.random.Generator, n: int = 5, count: int = 20, spread: float = 0.5
) -> Case:
    r"""Karcher mean of positive definite matrices: least squared distance from all of them.

    In the affine-invariant metric the distance of two positive definite matrices is
    :math:`d(X, A) = |\log(A^{-1/2} X A^{-1/2})|_F`. The mean of :math:`A_1, \dots, A_N`, the
    generalisation of the geometric mean to matrices, is

    .. math:: \min_{X \succ 0} \frac{1}{2N} \sum_i d(X, A_i)^2

    on the manifold ``PositiveDefinite(n)``. It has nonpositive curvature, on which the cost is
    strictly convex along geodesics: there is one minimizer, and no other critical point.

    The mean is planted: a matrix M is drawn, tangent vectors :math:`V_i` at M whose sum is zero,
    and :math:`A_i = \exp_M V_i`. The gradient at M, minus their mean, vanishes, so that M is the
    mean; the minimum is :math:`\frac{1}{2N}\sum |V_i|^2`. ``truth.distance`` is that from M.

    Each point takes one eigendecomposition for each matrix, all of them at once; the Hessian is
    exact, by divided differences of log(t)/t at pairs of eigenvalues.

    Parameters
    ----------
    n : int
        Size of the matrices.
    count : int
        The number N of matrices.
    spread : float
        Standard deviation of the entries of :math:`M^{-1/2} V_i M^{-1/2}`.

    References
    ----------
    Karcher, *Riemannian center of mass and mollifier smoothing*, Communications on Pure and
    Applied Mathematics 30 (1977). Bhatia, *Positive Definite Matrices*, Princeton (2007).
    Jeuris, Vandebril and Vandereycken, *A survey and comparison of contemporary algorithms for
    computing the matrix geometric mean*, Electronic Transactions on Numerical Analysis 39 (2012).
    """
    rng = apart(rng)
    n, count = integer("n", n, low=1), integer("count", count, low=2)
    spread = real("spread", spread, low=0.0)
    vectors = spread * symmetric_stack(rng, count, n)
    vectors -= vectors.mean(axis=0)
    planted = definite(rng, n)
    matrices = _exponentials(planted, vectors)
    manifold = PositiveDefinite(n)
    truth = Truth(
        cost=0.5 * float(np.sum(vectors**2)) / count,
        distance=lambda point: float(manifold.dist(point, planted)),
        details={"matrices": matrices},
        point=planted,
    )
    return Case(Problem(manifold, MeanCost(matrices)), manifold.random_point(rng), truth)


@register("geometric-median")
def geometric_median(
    rng: np.random.Generator, n: int = 4, count: int = 12, smoothing: float = 1e-2
) -> Case:
    r"""Geometric median of positive definite matrices: least distance from all of them.

    The median is less moved by outliers than the mean: distances count, not their squares. With
    the affine-invariant distance d of ``karcher-mean`` it is

    .. math:: \min_{X \succ 0} \frac1N \sum_i \sqrt{d(X, A_i)^2 + \varepsilon^2}

    on the manifold ``PositiveDefinite(n)``, where :math:`\varepsilon` smooths the kink at each of
    the matrices. The cost is convex along geodesics; the minimizer is unique unless all matrices
    lie on one geodesic.

    The median is planted: a matrix M is drawn, and tangent vectors :math:`V_i` at M with
    :math:`\sum_i V_i / \sqrt{|V_i|^2 + \varepsilon^2} = 0`; then :math:`A_i = \exp_M V_i`. They
    come in pairs of opposite directions, of which one is an outlier, five times as far as the
    other; the last pair makes up for what smoothing leaves of the sum. The minimum is
    :math:`\frac1N \sum_i \sqrt{|V_i|^2 + \varepsilon^2}`, and ``truth.distance`` is that from M.

    Parameters
    ----------
    n : int
        Size of the matrices, at least 2.
    count : int
        The number N of matrices, even and at least 4.
    smoothing : float
        The number epsilon, small beside the distances, which are of order 1.

    References
    ----------
    Fletcher, Venkatasubramanian and Joshi, *The geometric median on Riemannian manifolds with
    application to robust atlas estimation*, NeuroImage 45 (2009).
    """
    rng = apart(rng)
    n, pairs = integer("n", n, low=2), integer("count", count, low=4) // 2
    smoothing = real("smoothing", smoothing, low=0.0, high=0.1)
    vectors = _balanced_vectors(rng, pairs, n, smoothing)
    planted = definite(rng, n)
    matrices = _exponentials(planted, vectors)
    manifold = PositiveDefinite(n)
    squares = np.sum(vectors**2, axis=(1, 2))
    truth = Truth(
        cost=float(np.mean(np.sqrt(squares + smoothing**2))),
        distance=lambda point: float(manifold.dist(point, planted)),
        details={"matrices": matrices},
        point=planted,
    )
    problem = Problem(manifold, MedianCost(matrices, smoothing))
    return Case(problem, manifold.random_point(rng), truth)


def _exponentials(planted: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Return the ends of geodesics from L L', with vectors as they are after L^-1 and L^-T."""
    space = PositiveDefinite(len(planted)).space(planted)
    return space.move_along_geodesic(vectors)


def _balanced_vectors(rng: np.random.Generator, pairs: int, n: int, smoothing: float) -> np.ndarray:
    """Return symmetric matrices for which the sum of V / sqrt(|V|^2 + smoothing^2) vanishes."""
    directions = symmetric_stack(rng, pairs + 1, n)
    directions /= np.linalg.norm(directions, axis=(1, 2), keepdims=True)
    lengths = rng.uniform(0.5, 1.0, size=(pairs - 1, 1, 1))
    vectors = np.concatenate([lengths * directions[:-2], -_FAR * lengths * directions[:-2]])
    sizes = np.sqrt(np.sum(vectors**2, axis=(1, 2), keepdims=True) + smoothing**2)
    left = np.sum(vectors / sizes, axis=0)
    # Two vectors of length 1 that lean towards minus the rest: each share of theirs is `share`,
    # and their sum is twice its cosine.
    share = 1.0 / math.sqrt(1.0 + smoothing**2)
    rest = float(np.linalg.norm(left))
    if rest == 0.0:
        return np.concatenate([vectors, directions[-1:], -directions[-1:]])
    towards = -left / rest
    beside = directions[-1] - np.sum(directions[-1] * towards) * towards
    beside /= np.linalg.norm(beside)
    cosine = rest / (2.0 * share)
    sine = math.sqrt(1.0 - cosine**2)
    last = np.stack([cosine * towards + sine * beside, cosine * towards - sine * beside])
    return np.concatenate([vectors, last])
