r"""The density of each row: a mixture of two Gaussians, fitted to the row.

One above the other, a narrow and a wide one, they are the paper's model under noise (a coefficient
is noise alone, or drawn and noise), and any other peaked density nearly; side by side they are a
flat density, and of different weights a skewed one. A row that is Gaussian has two equal ones. The
logarithm of the likelihood of rows with such densities has its largest value, in expectation, at
the true unmixing matrix if sources are independent, whatever their densities: a density that fits
badly costs accuracy, and no more.

Each density has a place, so that constants added to rows change nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from riemtr.problems.surrogates import Derivatives

# Rounds of expectation maximization, and the gain of log-likelihood per sample where they end.
_MOST_ROUNDS = 200
_SETTLED = 1e-7
# Samples that a density is fitted to, whose parameters are then known to a percent, and the bins
# of neighbours that stand for them.
_FITTED_SAMPLES = 2**15
_BINS = 512
# Share of the samples that a component keeps, so that none vanishes.
_LEAST_SHARE = 0.02
# The least width of a component over that of the row: what single precision resolves.
_NARROWEST = 1e-4
# A logarithm whose exponential single precision holds.
_LARGEST = 80.0
# Where the fits begin, for rows of mean square 1: variances of a peaked density, and the distance
# from the middle of the two parts of a flat one, which has the kurtosis of a uniform density.
_PEAKED = (0.1, 2.0)
_APART = 0.6**0.25


@dataclass(frozen=True, eq=False)
class Densities:
    r"""Minus the log-likelihood of rows, each with a mixture of two Gaussians.

    .. math:: h(z) = -\log\left(s\,N(z; m_1, v_1) + (1 - s)\,N(z; m_2, v_2)\right)

    Parameters
    ----------
    share : ndarray, shape (rows,)
        s, of the narrower component.
    means, variances : ndarray, shape (2, rows)
    """

    share: np.ndarray
    means: np.ndarray
    variances: np.ndarray

    def derivatives(self, rows: np.ndarray) -> Derivatives:
        """Return h, h' and h'' of every entry."""
        kind = rows.dtype.type
        first, second = self._logarithms()
        sharp, flat = ((1.0 / each[:, None]).astype(kind) for each in self.variances)
        one, other = (rows - mean[:, None].astype(kind) for mean in self.means)
        slope_one, slope_other = one * sharp, other * flat
        one *= slope_one
        other *= slope_other
        one *= kind(-0.5)
        other *= kind(-0.5)
        one += first[:, None].astype(kind)
        other += second[:, None].astype(kind)
        # The larger of the two logarithms, and what the other one adds: nothing cancels.
        value = np.maximum(one, other)
        one -= other
        np.abs(one, out=other)
        weight = np.exp(-other, out=other)
        value += np.log1p(weight)
        np.negative(value, out=value)
        posterior = np.where(one > 0.0, kind(1.0), weight)
        posterior /= 1.0 + weight
        step = slope_one - slope_other
        slope = slope_other + posterior * step
        step *= step
        step *= posterior * (1.0 - posterior)
        bend = flat + posterior * (sharp - flat)
        bend -= step
        return value, slope, bend

    @property
    def sharpest(self) -> float:
        """The least width of a component over that of its row."""
        spread = np.abs(self.means[0] - self.means[1]) + np.sqrt(self.variances.max(axis=0))
        return float((np.sqrt(self.variances.min(axis=0)) / spread).min())

    def narrow_parts(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return rows around their narrower component, times its posterior, and that by itself."""
        kind = rows.dtype.type
        centred, logarithms = [], []
        for level, mean, variance in zip(
            self._logarithms(), self.means, self.variances, strict=True
        ):
            centred.append(rows - mean[:, None].astype(kind))
            precision = (-0.5 / variance)[:, None].astype(kind)
            logarithms.append(centred[-1] ** 2 * precision + level[:, None].astype(kind))
        ratio = np.clip(logarithms[1] - logarithms[0], -_LARGEST, _LARGEST)
        posterior = 1.0 / (1.0 + np.exp(ratio))
        return centred[0] * posterior, posterior

    def _logarithms(self) -> tuple[np.ndarray, np.ndarray]:
        constants = -0.5 * np.log(2.0 * math.pi * self.variances)
        return np.log(self.share) + constants[0], np.log(1.0 - self.share) + constants[1]

    @staticmethod
    def fitted(rows: np.ndarray) -> Densities:
        """Return the densities that fit rows best, by expectation maximization.

        Each row is fitted from a peaked density and from a flat one, and keeps the likelier.

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> noise, sparse, flat = rng.standard_normal((3, 20000))
        >>> sparse[rng.random(20000) < 0.7] = 0.0
        >>> fit = Densities.fitted(np.array([0.1 * noise + sparse, np.sign(flat) + 0.5 * noise]))
        >>> fit.share.round(1), np.sqrt(fit.variances[0]).round(1), fit.means[0].round(1)
        (array([0.7, 0.5]), array([0.1, 0.5]), array([0., 1.]))
        """
        step = max(rows.shape[1] // _FITTED_SAMPLES, 1)
        some = rows[:, ::step].astype(np.float64)
        centre = some.mean(axis=1, keepdims=True)
        size = some.std(axis=1, keepdims=True)
        size = np.where(size > 0.0, size, 1.0)
        bins = Bins.of((some - centre) / size)
        n = len(some)
        half, middle = np.full(n, 0.5), np.median(bins.means, axis=1)
        peaked = (half, np.array([middle, middle]), np.outer(_PEAKED, np.ones(n)))
        flat = (half, np.outer([-_APART, _APART], np.ones(n)), np.full((2, n), 1.0 - _APART**2))
        fits = [_maximized(bins, *start) for start in (peaked, flat)]
        better = fits[1][0] > fits[0][0]
        share, means, variances = (
            np.where(better, flat_one, peaked_one)
            for peaked_one, flat_one in zip(fits[0][1:], fits[1][1:], strict=True)
        )
        swapped = variances[0] > variances[1]
        share = np.where(swapped, 1.0 - share, share)
        means, variances = (
            np.where(swapped, each[::-1], each)
            for each in (means * size.T + centre.T, variances * size.T**2)
        )
        return Densities(share, means, variances)


@dataclass(frozen=True, eq=False)
class Bins:
    """Rows of numbers as bins of neighbours, with all that expectation maximization asks of them.

    Attributes
    ----------
    weights : ndarray, shape (bins,)
        The share of the samples in each bin.
    means, squares : ndarray, shape (rows, bins)
        The means of the numbers and of their squares.
    """

    weights: np.ndarray
    means: np.ndarray
    squares: np.ndarray

    @staticmethod
    def of(rows: np.ndarray) -> Bins:
        """Return the bins of rows, of equally many neighbours each."""
        ordered = np.sort(rows, axis=1)
        count = rows.shape[1]
        first = np.linspace(0, count, min(_BINS, count), endpoint=False).astype(int)
        sizes = np.diff(first, append=count)
        means, squares = (
            np.add.reduceat(each, first, axis=1) / sizes for each in (ordered, ordered**2)
        )
        return Bins(sizes / count, means, squares)


def _maximized(
    bins: Bins, share: np.ndarray, means: np.ndarray, variances: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the log-likelihood per sample with the parameters that make it largest nearby."""
    rows, squares = bins.means, bins.squares
    totals = np.array([rows @ bins.weights, squares @ bins.weights])
    before = np.full(len(rows), -np.inf)
    for _ in range(_MOST_ROUNDS):
        first, second = Densities(share, means, variances)._logarithms()
        one, other = (
            level[:, None]
            - 0.5 * (squares - 2.0 * mean[:, None] * rows + mean[:, None] ** 2) / variance[:, None]
            for level, mean, variance in zip((first, second), means, variances, strict=True)
        )
        likelihood = np.logaddexp(one, other)
        value = likelihood @ bins.weights
        if np.all(value - before < _SETTLED):
            break
        before = value
        posterior = np.exp(one - likelihood) * bins.weights
        inside = np.clip(posterior.sum(axis=1), _LEAST_SHARE, 1.0 - _LEAST_SHARE)
        within = np.array([(posterior * each).sum(axis=1) for each in (rows, squares)])
        share = inside
        means = np.array([within[0] / inside, (totals[0] - within[0]) / (1.0 - inside)])
        spread = np.array([within[1] / inside, (totals[1] - within[1]) / (1.0 - inside)])
        variances = np.maximum(spread - means**2, _NARROWEST**2)
    return value, share, means, variances
