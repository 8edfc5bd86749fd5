r"""The density of each row: a mixture of a few Gaussians, fitted to the row.

One above the other, a narrow and a wide one, they are the paper's model under noise (a coefficient
is noise alone, or drawn and noise); more of them are any other peaked density nearly, side by side
they are a flat density, and of different weights a skewed one. The logarithm of the likelihood of
rows with such densities has its largest value, in expectation, at the true unmixing matrix if
sources are independent, whatever their densities: a density that fits badly costs accuracy, and no
more.

Each component has a place, so that constants added to rows change nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from riemtr.problems.surrogates import Derivatives

# Rounds of expectation maximization, and the gain of log-likelihood per sample where they end.
_MOST_ROUNDS = 100
_SETTLED = 1e-6
# Samples that a density is fitted to, whose parameters are then known to a percent, and the bins
# of neighbours that stand for them.
_FITTED_SAMPLES = 2**15
_BINS = 128
# Components of a density, and of one that two fit clearly worse.
_FEW, _SOME = 2, 4
# Share of the samples that a component keeps, so that none vanishes.
_LEAST_SHARE = 0.02
# The least width of a component over that of the row: what single precision resolves.
_NARROWEST = 1e-4
# Samples of a narrow component over the number of rows: n - 1 samples have the same coefficient in
# a row that is chosen for it. A component of fewer samples is no narrower than this, over the row.
_CROWD = 4.0
_NOT_NARROW = 0.25
# Where the fits begin, for rows of mean square 1: the variances of a peaked density.
_PEAKED = (0.1, 2.0)

Fit = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""The log-likelihood per sample of each row, then shares, means and variances."""


@dataclass(frozen=True, eq=False)
class Densities:
    r"""Minus the log-likelihood of rows, each with a mixture of Gaussians.

    .. math:: h(z) = -\log\sum_k s_k\,N(z; m_k, v_k)

    Parameters
    ----------
    shares, means, variances : ndarray, shape (components, rows)
        s, m and v; the component of the largest density comes first.
    """

    shares: np.ndarray
    means: np.ndarray
    variances: np.ndarray

    def derivatives(self, rows: np.ndarray) -> Derivatives:
        """Return h, h' and h'' of every entry."""
        kind = rows.dtype.type
        value, logarithms, slopes = None, [], []
        for level, mean, variance in zip(self.levels, self.means, self.variances, strict=True):
            distance = rows - mean[:, None].astype(kind)
            slopes.append(distance * (1.0 / variance)[:, None].astype(kind))
            distance *= slopes[-1]
            distance *= kind(-0.5)
            distance += level[:, None].astype(kind)
            logarithms.append(distance)
            value = distance.copy() if value is None else np.maximum(value, distance, out=value)
        assert value is not None
        total, slope, bend = np.zeros((3, *rows.shape), dtype=rows.dtype)
        for logarithm, own, variance in zip(logarithms, slopes, self.variances, strict=True):
            logarithm -= value  # of the largest one is the rest taken: nothing overflows
            weight = np.exp(logarithm, out=logarithm)
            total += weight
            curvature = own * own
            own *= weight
            slope += own
            curvature -= (1.0 / variance)[:, None].astype(kind)
            curvature *= weight
            bend -= curvature
        slope /= total
        bend /= total
        bend += slope * slope
        value += np.log(total)
        return np.negative(value, out=value), slope, bend

    def gaussian(self, which: np.ndarray) -> Densities:
        """Return the same with Gaussian densities of the same mean and variance for some rows."""
        mean = (self.shares * self.means).sum(axis=0)
        variance = (self.shares * (self.variances + self.means**2)).sum(axis=0) - mean**2
        return Densities(
            np.where(which, 1.0 / len(self.shares), self.shares),
            np.where(which, mean, self.means),
            np.where(which, variance, self.variances),
        )

    @property
    def levels(self) -> np.ndarray:
        """The logarithms of the components at their means, shape (components, rows)."""
        return np.log(self.shares) - 0.5 * np.log(2.0 * math.pi * self.variances)

    @property
    def sharpest(self) -> float:
        """The least width of a component over that of its row."""
        spread = np.ptp(self.means, axis=0) + np.sqrt(self.variances.max(axis=0))
        return float((np.sqrt(self.variances.min(axis=0)) / spread).min())

    def narrow_parts(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return rows around their densest component, times its posterior, and that by itself."""
        kind = rows.dtype.type
        centred = rows - self.means[0][:, None].astype(kind)
        precision = (-0.5 / self.variances[0])[:, None].astype(kind)
        posterior = centred**2 * precision
        posterior += self.levels[0][:, None].astype(kind)
        posterior += self.derivatives(rows)[0]
        np.exp(posterior, out=posterior)
        return centred * posterior, posterior

    @staticmethod
    def fitted(rows: np.ndarray, near: Densities | None = None) -> Densities:
        """Return the densities that fit rows best, by expectation maximization.

        Rows are fitted from a peaked density and from a flat one, of two components each, and keep
        the likelier.

        Parameters
        ----------
        rows : ndarray, shape (rows, samples)
        near : Densities, optional
            Where to begin instead, with as many components.

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> noise, sparse, flat = rng.standard_normal((3, 20000))
        >>> sparse[rng.random(20000) < 0.7] = 0.0
        >>> fit = Densities.fitted(np.array([0.1 * noise + sparse, np.sign(flat) + 0.5 * noise]))
        >>> fit.shares[0].round(1), np.sqrt(fit.variances[0]).round(1), fit.means[0].round(1)
        (array([0.7, 0.5]), array([0.1, 0.5]), array([ 0., -1.]))
        """
        bins = Bins.of(rows)
        if near is None:
            return bins.density(_likeliest(bins, _FEW))
        means = (near.means - bins.centre) / bins.size
        return bins.density(_maximized(bins, near.shares, means, near.variances / bins.size**2))

    @staticmethod
    def finer(rows: np.ndarray, coarse: Densities) -> Densities | None:
        """Return densities of more components than coarse ones have, if a row asks for them.

        They are likelier for a row by more than they make any row, by Akaike's criterion. Rows
        that are far from their sources have spikes, to which more components would lead.
        """
        bins = Bins.of(rows)
        fine = _likeliest(bins, _SOME)
        value = -coarse.derivatives(rows)[0].mean(axis=1) + np.log(bins.size)
        margin = 3.0 * (_SOME - _FEW) / bins.samples
        return bins.density(fine) if np.any(fine[0] > value + margin) else None


def _starts(bins: Bins, components: int) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Return shares, means and variances of a peaked density and of a flat one."""
    rows = len(bins.means)
    shares = np.full((components, rows), 1.0 / components)
    middle = np.tile(np.median(bins.means, axis=1), (components, 1))
    peaked = np.outer(np.geomspace(*_PEAKED, components), np.ones(rows))
    places = (2.0 * np.arange(components) + 1.0) / components - 1.0
    # Equal parts of an even density of mean square 1.
    flat = np.outer(math.sqrt(3.0) * places, np.ones(rows))
    return [(shares, middle, peaked), (shares, flat, np.full_like(flat, components**-2.0))]


def _likeliest(bins: Bins, components: int) -> Fit:
    """Return the likelier of the fits that begin at a peaked density and at a flat one."""
    one, other = (_maximized(bins, *start) for start in _starts(bins, components))
    better = other[0] > one[0]
    value, shares, means, variances = (
        np.where(better, theirs, ours) for ours, theirs in zip(one, other, strict=True)
    )
    return value, shares, means, variances


@dataclass(frozen=True, eq=False)
class Bins:
    """Rows of numbers as bins of neighbours, with all that expectation maximization asks of them.

    Attributes
    ----------
    weights : ndarray, shape (bins,)
        The share of the samples in each bin.
    means, squares : ndarray, shape (rows, bins)
        The means of the numbers and of their squares, for rows of mean 0 and mean square 1.
    centre, size : ndarray, shape (rows,)
        The means and deviations of the rows.
    samples : int
        How many there are in all bins.
    """

    weights: np.ndarray
    means: np.ndarray
    squares: np.ndarray
    centre: np.ndarray
    size: np.ndarray
    samples: int

    @staticmethod
    def of(rows: np.ndarray) -> Bins:
        """Return the bins of rows, of equally many neighbours each, or of some of the samples."""
        some = rows[:, :: max(rows.shape[1] // _FITTED_SAMPLES, 1)].astype(np.float64)
        centre, size = some.mean(axis=1), some.std(axis=1)
        size = np.where(size > 0.0, size, 1.0)
        ordered = np.sort((some - centre[:, None]) / size[:, None], axis=1)
        count = some.shape[1]
        first = np.linspace(0, count, min(_BINS, count), endpoint=False).astype(int)
        sizes = np.diff(first, append=count)
        means, squares = (
            np.add.reduceat(each, first, axis=1) / sizes for each in (ordered, ordered**2)
        )
        return Bins(sizes / count, means, squares, centre, size, count)

    def density(self, fit: Fit) -> Densities:
        """Return the densities of the rows themselves."""
        _, shares, means, variances = fit
        order = np.argsort(-(np.log(shares) - 0.5 * np.log(variances)), axis=0, kind="stable")
        shares, means, variances = (
            np.take_along_axis(each, order, axis=0) for each in (shares, means, variances)
        )
        return Densities(shares, means * self.size + self.centre, variances * self.size**2)


def _maximized(bins: Bins, shares: np.ndarray, means: np.ndarray, variances: np.ndarray) -> Fit:
    """Return the log-likelihood per sample with the parameters that make it largest nearby."""
    shares, means, variances = (np.array(each) for each in (shares, means, variances))
    value = np.full(len(bins.means), -np.inf)
    active = np.arange(len(value))  # rows that are not settled
    for _ in range(_MOST_ROUNDS):
        rows, squares = bins.means[active], bins.squares[active]
        mean, variance = means[:, active, None], variances[:, active, None]
        logarithms = squares - 2.0 * mean * rows + mean**2
        logarithms *= -0.5 / variance
        logarithms += np.log(shares[:, active, None]) - 0.5 * np.log(2.0 * math.pi * variance)
        largest = logarithms.max(axis=0)
        posteriors = np.exp(logarithms - largest)
        total = posteriors.sum(axis=0)
        likelihood = (largest + np.log(total)) @ bins.weights
        posteriors *= bins.weights / total
        inside = posteriors.sum(axis=2)
        first = np.einsum("kij,ij->ki", posteriors, rows) / np.maximum(inside, _LEAST_SHARE**2)
        second = np.einsum("kij,ij->ki", posteriors, squares) / np.maximum(inside, _LEAST_SHARE**2)
        moving = likelihood - value[active] >= _SETTLED
        value[active] = likelihood
        inside = np.maximum(inside, _LEAST_SHARE)
        shares[:, active] = inside / inside.sum(axis=0)
        means[:, active] = first
        crowd = _CROWD * len(value) / bins.samples
        least = np.where(inside < crowd, _NOT_NARROW**2, _NARROWEST**2)
        variances[:, active] = np.maximum(second - first**2, least)
        active = active[moving]
        if not len(active):
            break
    return value, shares, means, variances
