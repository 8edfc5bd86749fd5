"""Gaussian mixtures fitted by second-order optimization on positive definite matrices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import log_softmax, logsumexp, softmax

from riemtr.arguments import integer, real
from riemtr.errors import ArgumentError
from riemtr.manifolds import Euclidean, PositiveDefinite, Product
from riemtr.problem import Problem
from riemtr.problem.books import lazy
from riemtr.problems.random_data import apart, definite
from riemtr.problems.registry import Case, Truth, register

# Draws of planted means before the farthest apart are taken as they are.
_MEAN_DRAWS = 200


class MixtureCost:
    """Minus the mean log-likelihood of a Gaussian mixture, in terms of second moments.

    Parameters
    ----------
    data : ndarray, shape (samples, d)
    """

    def __init__(self, data: np.ndarray):
        self.augmented = np.hstack([data, np.ones((len(data), 1))])
        # The factor of the reformulation: at a maximum it makes the likelihood that of the data.
        self.constant = 0.5 - 0.5 * data.shape[1] * math.log(2.0 * math.pi)

    def __repr__(self) -> str:
        samples, size = self.augmented.shape
        return f"MixtureCost({samples} samples of dimension {size - 1})"

    def at(self, point: Any) -> MixturePoint:
        """Return the shared work at one point."""
        return MixturePoint(self, point)


class MixturePoint:
    """The likelihood at one point: products of all samples with all inverses serve everything."""

    def __init__(self, owner: MixtureCost, point: Any):
        moments, logits = point
        self._samples = owner.augmented
        self._inverses = np.linalg.inv(moments)
        self._images = self._samples @ self._inverses  # (components, samples, d + 1)
        logits = np.append(logits, 0.0)
        self._weights = softmax(logits)
        quadratic = np.sum(self._images * self._samples, axis=-1)
        determinants = np.linalg.slogdet(moments)[1]
        self._terms = owner.constant + log_softmax(logits)[:, None]
        self._terms = self._terms - 0.5 * (quadratic + determinants[:, None])

    @lazy
    def _totals(self) -> np.ndarray:
        return logsumexp(self._terms, axis=0)

    @lazy
    def value(self) -> float:
        """The cost."""
        return -float(self._totals.mean())

    @lazy
    def _shares(self) -> np.ndarray:
        """How much of each sample is each component's, over the number of samples."""
        return np.exp(self._terms - self._totals) / len(self._samples)

    @lazy
    def _sums(self) -> np.ndarray:
        return self._shares.sum(axis=1)

    @lazy
    def _spread(self) -> np.ndarray:
        """The second moments of each component's share, between inverses."""
        return self._moments(self._shares)

    def _moments(self, shares: np.ndarray) -> np.ndarray:
        return self._images.swapaxes(-1, -2) @ (shares[:, :, None] * self._images)

    @lazy
    def gradient(self) -> list[np.ndarray]:
        """Euclidean gradient by the moments and by the logits."""
        by_moments = 0.5 * (self._sums[:, None, None] * self._inverses - self._spread)
        return [by_moments, (self._weights - self._sums)[:-1]]

    def hessian(self, vector: Any) -> list[np.ndarray]:
        """Euclidean Hessian product."""
        along, logits = vector
        logits = np.append(logits, 0.0)
        shift = logits - self._weights @ logits
        traces = np.sum(self._inverses * along, axis=(1, 2))
        bent = np.sum((self._images @ along) * self._images, axis=-1)
        changes = shift[:, None] + 0.5 * (bent - traces[:, None])
        # The shares of one sample add up to a constant.
        means = np.sum(self._shares * changes, axis=0) * len(self._samples)
        shares = self._shares * (changes - means)
        sums = shares.sum(axis=1)
        conjugate = self._inverses @ along @ self._inverses
        # The inverses on both sides of the spread change as well.
        twice = self._inverses @ along @ self._spread
        by_moments = sums[:, None, None] * self._inverses - self._sums[:, None, None] * conjugate
        by_moments += twice + twice.swapaxes(-1, -2) - self._moments(shares)
        return [0.5 * by_moments, (self._weights * shift - sums)[:-1]]


@register("gaussian-mixture")
def gaussian_mixture(
    rng: np.random.Generator,
    d: int = 2,
    components: int = 3,
    samples: int = 600,
    separation: float = 4.0,
) -> Case:
    r"""Gaussian mixture by maximum likelihood, with mean and covariance in one definite matrix.

    Samples x in d dimensions come from K Gaussians with weights :math:`\alpha_j`. Hosseini and Sra
    put a one below each sample, y = (x, 1), and mean and covariance of a component into one
    positive definite matrix of size d + 1,

    .. math:: S_j = \begin{pmatrix} \Sigma_j + \mu_j\mu_j' & \mu_j \\ \mu_j' & 1 \end{pmatrix},

    and minimise minus the mean log-likelihood

    .. math:: -\frac1N \sum_{i=1}^N \log \sum_{j=1}^K \alpha_j
       \frac{\exp(\frac12 - \frac12 y_i' S_j^{-1} y_i)}{(2\pi)^{d/2} \sqrt{\det S_j}}

    over all positive definite :math:`S_j`, whose last entry turns out to be 1 at every critical
    point, and over the logits :math:`\eta_1, \dots, \eta_{K-1}` of the weights (the last is zero).
    The manifold is the product of ``PositiveDefinite(d + 1, K)`` and ``Euclidean(K - 1)``. This is
    Manopt's demonstration problem; a single Gaussian becomes convex along geodesics by it.

    The components may be renamed, which are K! minimizers of the same cost. The likelihood has no
    upper limit, as one Gaussian may shrink to one sample; good minimizers are local ones. The start
    puts means at samples far from each other (as k-means++ does) and gives each the covariance of
    all data.

    Nothing but the parameters that the data were drawn from is known: ``truth.error`` is the
    largest distance of a fitted mean from its planted one, over the standard deviation of the
    component there, as good as names make it: about :math:`\sqrt{dK/N}` at a good minimizer, and of
    order ``separation`` at others. At any critical point one step of expectation maximisation
    changes nothing, which :func:`em_step` checks independently.

    Parameters
    ----------
    d : int
        Dimension of the samples.
    components : int
        The number K, at least 2.
    samples : int
        The number N.
    separation : float
        Least distance of two planted means; standard deviations are about 1.

    References
    ----------
    Hosseini and Sra, *Matrix manifold optimization for Gaussian mixtures*, NIPS 2015. Boumal,
    Mishra, Absil and Sepulchre, *Manopt, a Matlab toolbox for optimization on manifolds*, Journal
    of Machine Learning Research 15 (2014).
    """
    rng = apart(rng)
    d, components = integer("d", d, low=1), integer("components", components, low=2)
    samples = integer("samples", samples, low=1)
    if samples <= 2 * components * (d + 1):
        need = f"exceed 2 components (d + 1) = {2 * components * (d + 1)}"
        raise ArgumentError("samples", need, samples, "draw more")
    separation = real("separation", separation, low=0.0)
    weights = rng.dirichlet(np.full(components, 10.0))
    means = _far_apart(rng, components, d, separation)
    covariances = definite(rng, components, d)
    labels = rng.choice(components, size=samples, p=weights)
    roots = np.linalg.cholesky(covariances)
    drawn = rng.standard_normal((samples, d, 1))
    data = means[labels] + (roots[labels] @ drawn)[..., 0]
    manifold = Product([PositiveDefinite(d + 1, components), Euclidean(components - 1)])

    def error(point: Any) -> float:
        offsets = means_and_covariances(point)[0][:, None] - means
        scaled = np.linalg.solve(roots, offsets[..., None])[..., 0]
        lengths = np.linalg.norm(scaled, axis=-1)
        return float(lengths[linear_sum_assignment(lengths)].max())

    truth = Truth(
        details={"data": data, "weights": weights, "means": means, "covariances": covariances},
        point=_as_point(means, covariances, weights),
        error=error,
    )
    return Case(Problem(manifold, MixtureCost(data)), _start(rng, data, components), truth)


def means_and_covariances(point: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the means and the covariances of the components of a mixture."""
    moments = point[0] / point[0][:, -1:, -1:]
    means = moments[:, :-1, -1]
    return means, moments[:, :-1, :-1] - means[:, :, None] * means[:, None, :]


def em_step(data: np.ndarray, point: Any) -> list[np.ndarray]:
    """Return the mixture after one step of expectation maximisation; it needs no derivatives."""
    means, covariances = means_and_covariances(point)
    offsets = data - means[:, None]
    solved = np.linalg.solve(covariances, offsets.swapaxes(1, 2)).swapaxes(1, 2)
    quadratic = np.sum(offsets * solved, axis=-1)
    logarithms = log_softmax(np.append(point[1], 0.0))
    logarithms = logarithms - 0.5 * np.linalg.slogdet(covariances)[1]
    shares = softmax(logarithms[:, None] - 0.5 * quadratic, axis=0)
    sums = shares.sum(axis=1)
    means = (shares @ data) / sums[:, None]
    offsets = data - means[:, None]
    covariances = offsets.swapaxes(1, 2) @ (shares[:, :, None] * offsets) / sums[:, None, None]
    return _as_point(means, covariances, sums / len(data))


def _as_point(means: np.ndarray, covariances: np.ndarray, weights: np.ndarray) -> list[np.ndarray]:
    components, d = means.shape
    moments = np.ones((components, d + 1, d + 1))
    moments[:, :-1, :-1] = covariances + means[:, :, None] * means[:, None, :]
    moments[:, :-1, -1] = moments[:, -1, :-1] = means
    return [moments, np.log(weights[:-1] / weights[-1])]


def _far_apart(rng: np.random.Generator, components: int, d: int, separation: float) -> np.ndarray:
    """Draw means in a box that has room for them, scaled up to the separation where too close."""
    side = separation * (1.0 + components ** (1.0 / d))
    best, widest = np.zeros((components, d)), -1.0
    for _ in range(_MEAN_DRAWS):
        means = side * (rng.random((components, d)) - 0.5)
        gaps = np.linalg.norm(means[:, None] - means, axis=-1)
        least = float(gaps[np.triu_indices(components, 1)].min())
        if least > widest:
            best, widest = means, least
        if least >= separation:
            return means
    return best * (separation / widest)


def _start(rng: np.random.Generator, data: np.ndarray, components: int) -> list[np.ndarray]:
    chosen = [int(rng.integers(len(data)))]
    squares = np.full(len(data), np.inf)
    for _ in range(components - 1):
        squares = np.minimum(squares, np.sum((data - data[chosen[-1]]) ** 2, axis=1))
        chosen.append(int(rng.choice(len(data), p=squares / squares.sum())))
    pooled = np.cov(data.T, bias=True).reshape(data.shape[1], -1)
    covariances = np.broadcast_to(pooled, (components, *pooled.shape))
    return _as_point(data[chosen], covariances, np.full(components, 1.0 / components))
