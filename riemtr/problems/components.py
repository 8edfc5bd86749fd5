"""Principal components that are sparse, and those that outliers do not move."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from scipy.optimize import minimize_scalar

from riemtr.arguments import check_positive, integer, real
from riemtr.errors import ArgumentError
from riemtr.manifolds import Grassmann, Sphere
from riemtr.problem import Problem
from riemtr.problem.books import lazy
from riemtr.problem.pullback import DerivativeBounds, gamma
from riemtr.problem.shared_work import smoothings
from riemtr.problems.random_data import apart, orthonormal
from riemtr.problems.registry import Case, Truth, register

# Smoothing of the first stage of sparse PCA: of the size of a unit vector's largest entries.
_FIRST_SMOOTHING = 1.0
# The largest third derivative of sqrt(x^2 + 1), at x = 1/2.
_STEEPEST_THIRD = 1.5 / 1.25**2.5
# The gradient norm at which a stage ends, as a share of the penalty's weight.
_STAGE_TOLERANCE = 1e-2


# -- sparse -------------------------------------------------------------------------------------


class SparseComponentCost:
    """A smoothed l1 norm less half the variance along a unit vector.

    Parameters
    ----------
    covariance : ndarray, shape (n, n)
    penalty : float
        Weight of the norm.
    smoothing : float
        Width of the rounded kinks.
    """

    def __init__(self, covariance: np.ndarray, penalty: float, smoothing: float):
        self.covariance, self.penalty, self.smoothing = covariance, penalty, smoothing

    def at(self, point: np.ndarray) -> SparseComponentPoint:
        """Return the shared work at one point."""
        return SparseComponentPoint(self, point)

    def easier(self) -> Iterator[tuple[SparseComponentCost, float]]:
        """Yield the cost with rounder kinks, roundest first, each with a gradient tolerance.

        With sharp kinks nearly every sparse vector is a minimizer. With round ones there is little
        but the variance, and the minimizer moves with the smoothing from there.
        """
        for smoothing in smoothings(_FIRST_SMOOTHING, self.smoothing):
            easier = SparseComponentCost(self.covariance, self.penalty, smoothing)
            yield easier, _STAGE_TOLERANCE * self.penalty


class SparseComponentPoint:
    """The cost at one point: one product with the covariance, and one root for each entry."""

    def __init__(self, owner: SparseComponentCost, point: np.ndarray):
        self._owner, self._point = owner, point
        self._image = owner.covariance @ point
        self._roots = np.sqrt(point**2 + owner.smoothing**2)

    @lazy
    def value(self) -> float:
        """The cost."""
        norm = self._owner.penalty * float(self._roots.sum())
        return norm - 0.5 * float(self._point @ self._image)

    @lazy
    def gradient(self) -> np.ndarray:
        """Euclidean gradient."""
        return self._owner.penalty * self._point / self._roots - self._image

    @lazy
    def _curvatures(self) -> np.ndarray:
        return self._owner.penalty * self._owner.smoothing**2 / self._roots**3

    def hessian(self, vector: np.ndarray) -> np.ndarray:
        """Euclidean Hessian product."""
        return self._curvatures * vector - self._owner.covariance @ vector

    def derivative_bounds(self, radius: float) -> DerivativeBounds:
        r"""Bounds of the derivatives.

        The third derivative of the root, :math:`-3 \varepsilon^2 x / (x^2 + \varepsilon^2)^{5/2}`,
        is largest at :math:`x = \varepsilon/2`.
        """
        owner = self._owner
        rounding = gamma(len(self._point) + 12, float(np.finfo(self._image.dtype).eps))
        absolute = np.abs(owner.covariance)
        largest = float(absolute.sum(axis=1).max())
        terms = absolute @ np.abs(self._point) + owner.penalty * np.abs(self._point) / self._roots
        asymmetry = 0.5 * float(np.abs(owner.covariance - owner.covariance.T).sum(axis=1).max())
        size = largest + float(self._curvatures.max())
        return DerivativeBounds(
            size,
            _STEEPEST_THIRD * owner.penalty / owner.smoothing**2,
            rounding * float(np.linalg.norm(terms)) + asymmetry,
            rounding * size + asymmetry,
        )


@register("sparse-pca")
def sparse_pca(
    rng: np.random.Generator,
    n: int = 40,
    k: int = 6,
    strength: float = 2.0,
    penalty: float = 0.2,
    smoothing: float = 1e-2,
    samples: int | None = None,
) -> Case:
    r"""Sparse principal component: a direction of large variance with few entries.

    With the covariance C of n variables, a component that few of them make up is found by

    .. math:: \min_{|x| = 1} \lambda \sum_{i=1}^n \sqrt{x_i^2 + \varepsilon^2} - \tfrac12 x'Cx,

    where the sum is a smoothed l1 norm, on the manifold ``Sphere(n)``. At small :math:`\varepsilon`
    nearly every sparse vector is a local minimizer; the cost therefore offers itself with larger
    ones, which solvers may pass first (continuation). Only the sign of x is free.

    The covariance is that of the spiked model, :math:`C = I + \beta zz'`, where z has k entries of
    the same size. Then the global minimum is known: for given :math:`c = \langle z, x \rangle` the
    penalty is least, by Jensen's inequality, where the k entries are equal and the others vanish,
    so that the cost is at least

    .. math:: \lambda\left((n-k)\varepsilon + k\sqrt{c^2/k + \varepsilon^2}\right)
       - \tfrac12(1 + \beta c^2),

    and equal to it at x = z for c = 1, which is the least for :math:`\beta \ge 2\lambda\sqrt k`.
    ``truth.error`` is the angle with z or -z. With ``samples`` the covariance is that of so many
    draws, and only z is known.

    Parameters
    ----------
    n : int
        Number of variables.
    k : int
        Number of variables in the planted component.
    strength : float
        The number beta.
    penalty : float
        The number lambda.
    smoothing : float
        The number epsilon.
    samples : int, optional
        Draws of the covariance; the model's own if not given.

    References
    ----------
    Journée, Nesterov, Richtárik and Sepulchre, *Generalized power method for sparse principal
    component analysis*, Journal of Machine Learning Research 11 (2010). Johnstone and Lu, *On
    consistency and sparsity for principal components analysis in high dimensions*, Journal of the
    American Statistical Association 104 (2009).
    """
    rng = apart(rng)
    n = integer("n", n, low=2)
    k = integer("k", k, low=1, high=n)
    strength, penalty = real("strength", strength, low=0.0), real("penalty", penalty, low=0.0)
    check_positive("smoothing", smoothing)
    planted = np.zeros(n)
    support = rng.choice(n, size=k, replace=False)
    planted[support] = rng.choice([-1.0, 1.0], size=k) / math.sqrt(k)
    covariance = np.eye(n) + strength * np.outer(planted, planted)
    if samples is not None:
        draws = rng.standard_normal((n, integer("samples", samples, low=1)))
        draws += math.sqrt(strength) * planted[:, None] * rng.standard_normal(draws.shape[1])
        covariance = draws @ draws.T / draws.shape[1]
    cost = SparseComponentCost(covariance, penalty, smoothing)
    sphere = Sphere(n)

    def error(point: np.ndarray) -> float:
        return float(min(sphere.dist(point, planted), sphere.dist(point, -planted)))

    attained = samples is None and _attained(n, k, strength, penalty, smoothing)
    truth = Truth(
        cost=float(cost.at(planted).value) if attained else None,
        distance=error if attained else None,
        details={"covariance": covariance, "support": np.sort(support)},
        point=planted,
        error=error,
    )
    return Case(Problem(sphere, cost), sphere.random_point(rng), truth)


def _attained(n: int, k: int, strength: float, penalty: float, smoothing: float) -> bool:
    """Whether the lower bound for a given product c with z is least at c = 1."""

    def bound(product: float) -> float:
        return penalty * k * math.sqrt(product**2 / k + smoothing**2) - 0.5 * strength * product**2

    inside = minimize_scalar(bound, bounds=(0.0, 1.0), method="bounded")
    return bound(1.0) <= min(bound(0.0), float(inside.fun))


# -- robust -------------------------------------------------------------------------------------


class RobustSubspaceCost:
    """The mean smoothed distance of samples from a subspace.

    Parameters
    ----------
    data : ndarray, shape (n, samples)
    smoothing : float
    """

    def __init__(self, data: np.ndarray, smoothing: float):
        self.data, self.smoothing = data, smoothing

    def at(self, point: np.ndarray) -> RobustSubspacePoint:
        """Return the shared work at one point."""
        return RobustSubspacePoint(self, point)


class RobustSubspacePoint:
    """The cost at one point: the coordinates X'Y serve everything."""

    def __init__(self, owner: RobustSubspaceCost, point: np.ndarray):
        self._data = owner.data
        self._coordinates = point.T @ owner.data
        # Not from squared lengths, whose difference has no digits where a distance is small.
        outside = owner.data - point @ self._coordinates
        self._roots = np.sqrt(np.sum(outside**2, axis=0) + owner.smoothing**2)

    @lazy
    def value(self) -> float:
        """The cost."""
        return float(self._roots.mean())

    @lazy
    def _weights(self) -> np.ndarray:
        return 1.0 / (self._roots * len(self._roots))

    @lazy
    def gradient(self) -> np.ndarray:
        """Euclidean gradient."""
        return -(self._data @ (self._weights * self._coordinates).T)

    def hessian(self, vector: np.ndarray) -> np.ndarray:
        """Euclidean Hessian product."""
        changes = vector.T @ self._data
        slopes = np.sum(self._coordinates * changes, axis=0) / self._roots**2
        return -(self._data @ (self._weights * (changes + slopes * self._coordinates)).T)


@register("robust-pca")
def robust_pca(
    rng: np.random.Generator,
    n: int = 15,
    k: int = 3,
    samples: int = 150,
    outliers: float = 0.4,
    smoothing: float = 0.1,
) -> Case:
    r"""Robust principal components: a subspace near most samples, whatever the others are.

    Ordinary principal components minimise squared distances of samples y from a subspace, so that
    few outliers move it far. Distances themselves count less:

    .. math:: \min_X \frac1N \sum_{i=1}^N \sqrt{|y_i - XX'y_i|^2 + \mu^2}

    over the k-dimensional subspaces of n-dimensional space, the manifold ``Grassmann(n, k)``, where
    :math:`\mu` smooths the kink at distance zero. The basis of the subspace does not matter, which
    the manifold takes care of.

    The samples are made up so that a planted subspace is exactly critical, and not only on average:
    inliers lie in it, and outliers come in pairs a + b and a - b, with a in the subspace and b
    orthogonal to it, whose pulls cancel. With fewer outliers than inliers it is a minimizer; from
    random starts no lower one has been found. ``truth.distance`` is the Frobenius distance of the
    projections onto the two subspaces.

    Parameters
    ----------
    n : int
        Dimension of the space.
    k : int
        Dimension of the subspace.
    samples : int
        The number N.
    outliers : float
        Share of samples that are outliers, below 1.
    smoothing : float
        The number mu, small beside the samples, whose entries in the subspace are of order 1.

    References
    ----------
    Lerman and Maunu, *An overview of robust subspace recovery*, Proceedings of the IEEE 106 (2018).
    Maunu, Zhang and Lerman, *A well-tempered landscape for non-convex robust subspace recovery*,
    Journal of Machine Learning Research 20 (2019).
    """
    rng = apart(rng)
    n = integer("n", n, low=2)
    k = integer("k", k, low=1, high=n - 1)
    samples = integer("samples", samples, low=1)
    outliers = real("outliers", outliers, low=0.0, high=1.0)
    check_positive("smoothing", smoothing)
    pairs = int(outliers * samples) // 2
    if samples - 2 * pairs < k:
        need = f"leave at least k = {k} inliers"
        raise ArgumentError("outliers", need, outliers, "choose fewer outliers, or more samples")
    basis = orthonormal(rng, n, n)
    inside, outside = basis[:, :k], basis[:, k:]
    inliers = inside @ rng.standard_normal((k, samples - 2 * pairs))
    along = inside @ rng.standard_normal((k, pairs)) * math.sqrt(k / n)
    across = outside @ rng.standard_normal((n - k, pairs)) * math.sqrt(k / n)
    data = np.hstack([inliers, along + across, along - across])
    manifold = Grassmann(n, k)
    projection = inside @ inside.T
    truth = Truth(
        distance=lambda point: float(np.linalg.norm(point @ point.T - projection)),
        details={"data": data},
        point=inside,
    )
    problem = Problem(manifold, RobustSubspaceCost(data, smoothing))
    return Case(problem, manifold.random_point(rng), truth)
