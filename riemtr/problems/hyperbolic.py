"""Embedding in hyperbolic space: points from their distances."""

from __future__ import annotations

import math

import numpy as np
from pymanopt.manifolds import PoincareBall
from scipy.special import comb

from riemtr.arguments import check_nonnegative, check_positive, integer
from riemtr.manifolds import adapt
from riemtr.problem import Problem
from riemtr.problem.books import lazy
from riemtr.problems.random_data import apart, skew_units
from riemtr.problems.registry import Case, Truth, register

# Up to here a squared distance is its power series, since its closed form loses digits near 0.
_SERIES_RANGE = 0.05
# Terms of the power series: the last is below rounding at the end of its range.
_SERIES_TERMS = 12
# Distance from the origin, in the metric, of the start's points: too near for any to be far out.
_START_RADIUS = 0.5


def squared_distances(excess: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    r"""Return the function :math:`\operatorname{arccosh}(1 + t)^2` and its first two derivatives.

    Parameters
    ----------
    excess : ndarray
        The numbers t, not negative.

    Examples
    --------
    >>> [float(part) for part in squared_distances(np.array(0.0))]  # 2t - t^2 / 3 + ...
    [0.0, 2.0, -0.666...]
    """
    powers = np.arange(1, _SERIES_TERMS + 1)
    terms = -2.0 * (-2.0) ** powers / (powers**2 * comb(2 * powers, powers))
    small = np.minimum(excess, _SERIES_RANGE)
    series = np.polynomial.Polynomial(np.append(0.0, terms))
    near = [polynomial(small) for polynomial in (series, series.deriv(), series.deriv(2))]
    large = np.maximum(excess, _SERIES_RANGE)
    squares = large * (large + 2.0)
    distances = np.arccosh(1.0 + large)
    slopes = 2.0 * distances / np.sqrt(squares)
    far = [distances**2, slopes, (2.0 - slopes * (1.0 + large)) / squares]
    pairs = zip(near, far, strict=True)
    value, slope, bend = (np.where(excess < _SERIES_RANGE, one, two) for one, two in pairs)
    return value, slope, bend


def excesses(points: np.ndarray) -> np.ndarray:
    """Return t for all pairs of points in the ball: their distance is arccosh(1 + t)."""
    room = 1.0 - np.sum(points**2, axis=1)
    squares = np.sum((points[:, None] - points) ** 2, axis=-1)
    return 2.0 * squares / np.outer(room, room)


class HyperbolicStressCost:
    """A quarter of the mean squared error of squared distances.

    Parameters
    ----------
    squares : ndarray, shape (count, count)
        The squared distances that are wanted.
    """

    def __init__(self, squares: np.ndarray):
        self.squares = squares
        self.pairs = len(squares) * (len(squares) - 1) // 2

    def at(self, point: np.ndarray) -> HyperbolicStressPoint:
        """Return the shared work at one point."""
        return HyperbolicStressPoint(self, point)


class HyperbolicStressPoint:
    """The error at one point: distances of all pairs and their derivatives serve everything."""

    def __init__(self, owner: HyperbolicStressCost, point: np.ndarray):
        self._point, self._pairs = point, owner.pairs
        room = 1.0 - np.sum(point**2, axis=1)
        self._room = room[:, None]
        self._scales = 4.0 / np.outer(room, room)
        self._excess = excesses(point)
        found, self._slopes, self._bends = squared_distances(self._excess)
        self._errors = found - owner.squares
        np.fill_diagonal(self._errors, 0.0)

    @lazy
    def value(self) -> float:
        """The cost; each pair comes twice."""
        return 0.125 * float(np.sum(self._errors**2)) / self._pairs

    @lazy
    def _weights(self) -> np.ndarray:
        return 0.5 * self._errors * self._slopes / self._pairs

    @lazy
    def _outward(self) -> np.ndarray:
        """The share of the growing metric, towards the boundary, in each point's own weight."""
        return 2.0 * np.sum(self._weights * self._excess, axis=1, keepdims=True) / self._room

    @lazy
    def gradient(self) -> np.ndarray:
        """Euclidean gradient."""
        return self._pulled(self._weights * self._scales, self._point) + self._outward * self._point

    @staticmethod
    def _pulled(weights: np.ndarray, points: np.ndarray) -> np.ndarray:
        """Return the sum of w_ij (x_i - x_j) over all j."""
        return weights.sum(axis=1, keepdims=True) * points - weights @ points

    def hessian(self, vector: np.ndarray) -> np.ndarray:
        """Euclidean Hessian product."""
        point, weights = self._point, self._weights
        along = np.sum(point * vector, axis=1, keepdims=True)
        growth = 2.0 * along / self._room
        both = growth + growth.T
        products = point @ vector.T
        moved = self._scales * (along + along.T - products - products.T)
        moved += self._excess * both
        bent = 0.5 * (self._slopes**2 + self._errors * self._bends) * moved / self._pairs
        np.fill_diagonal(bent, 0.0)
        product = self._pulled((bent + weights * both) * self._scales, point)
        product += self._pulled(weights * self._scales, vector)
        turned = np.sum(bent * self._excess + weights * moved, axis=1, keepdims=True)
        product += (2.0 * turned / self._room + self._outward * growth) * point
        return product + self._outward * vector


@register("hyperbolic-embedding")
def hyperbolic_embedding(
    rng: np.random.Generator,
    count: int = 12,
    dimension: int = 2,
    radius: float = 1.0,
    noise: float = 0.0,
) -> Case:
    r"""Embedding in hyperbolic space: points from their distances, as trees have them.

    Volumes grow exponentially in hyperbolic space, as the number of nodes of a tree does; trees and
    hierarchies have good embeddings there, in few dimensions. In the Poincaré ball points are
    vectors of length below 1, and distances are :math:`d(x, y) = \operatorname{arccosh}(1 + t)`
    with :math:`t = 2|x - y|^2 / ((1 - |x|^2)(1 - |y|^2))`. Points at given distances
    :math:`\delta_{ij}` are found by multidimensional scaling,

    .. math:: \min_x \frac{1}{4P} \sum_{i<j} \left(d(x_i, x_j)^2 - \delta_{ij}^2\right)^2,

    over P pairs; squares of distances are smooth even where points coincide. The manifold is
    pymanopt's ``PoincareBall(dimension, k=count)``, whose points have positions as rows. Every
    isometry of hyperbolic space leaves the cost alone: with n dimensions there are n(n-1)/2
    rotations, :math:`x \to Ax`, and n translations, :math:`(1 + |x|^2)b - 2\langle b, x\rangle x`,
    all named as symmetries. Not every minimizer is global: with planted points far from the origin,
    at a radius of 2, about half of all starts end at another one.

    Distances are those of planted points. Without noise the minimum is zero; ``truth.error`` is
    the root mean square error of distances, which no isometry changes.

    Parameters
    ----------
    count : int
        How many points.
    dimension : int
        Dimension of the space.
    radius : float
        Root mean square distance of the planted points from the origin, about.
    noise : float
        Standard deviation of the noise on distances, relative to each.

    References
    ----------
    Nickel and Kiela, *Poincaré embeddings for learning hierarchical representations*, NIPS 2017.
    Sala, De Sa, Gu and Ré, *Representation tradeoffs for hyperbolic embeddings*, ICML 2018. Tabaghi
    and Dokmanić, *Hyperbolic distance matrices*, KDD 2020.
    """
    rng = apart(rng)
    count, dimension = integer("count", count, low=3), integer("dimension", dimension, low=1)
    check_positive("radius", radius)
    check_nonnegative("noise", noise)
    planted = _in_ball(rng, count, dimension, radius)
    distances = np.arccosh(1.0 + excesses(planted))
    factors = np.triu(1.0 + noise * rng.standard_normal((count, count)), 1)
    wanted = distances * (factors + factors.T)
    above = np.triu_indices(count, 1)

    def error(point: np.ndarray) -> float:
        errors = np.arccosh(1.0 + excesses(point)) - distances
        return math.sqrt(float(np.mean(errors[above] ** 2)))

    truth = Truth(
        cost=0.0 if noise == 0.0 else None,
        distance=error if noise == 0.0 else None,
        details={"distances": wanted},
        point=planted,
        error=error,
    )
    # With riemtr's repairs: pymanopt's own has no vector transport, which other solvers need.
    manifold = adapt(PoincareBall(dimension, k=count))
    problem = Problem(manifold, HyperbolicStressCost(wanted**2), symmetries=_isometries)
    return Case(problem, _in_ball(rng, count, dimension, _START_RADIUS), truth)


def _in_ball(rng: np.random.Generator, count: int, dimension: int, radius: float) -> np.ndarray:
    """Draw points at distances from the origin that are those of Gaussian vectors."""
    vectors = radius * rng.standard_normal((count, dimension)) / math.sqrt(dimension)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / lengths * np.tanh(0.5 * lengths)


def _isometries(point: np.ndarray) -> np.ndarray:
    """Return the directions in which rotations and translations of the space move all points."""
    dimension = point.shape[1]
    turned = point @ skew_units(dimension)
    units = np.eye(dimension)[:, None, :]
    squares = np.sum(point**2, axis=1, keepdims=True)
    shifted = (1.0 + squares) * units - 2.0 * point * np.sum(point * units, axis=-1, keepdims=True)
    return np.concatenate([turned, shifted])
