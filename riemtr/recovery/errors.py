r"""The errors of rows that were estimated together, and how far rows depend on each other.

With the unmixing matrix found written (I + T) times the true one, T is to first order a mean over
the samples of what its estimating equations weigh: rows i and j satisfy mean(h'(x_i) x_j) = 0,
whose derivatives with respect to t_ij and t_ji are [[a_ij, 1], [1, a_ji]] with
a_ij = E h''(x_i) E x_j^2. The variances of these means are seen in two ways, of which the larger
counts: from the samples themselves, as if each were drawn by itself, whatever rows do to each
other; and from the spectra of h'(x_i) and x_j, as of independent time series that may have any
memory: the variance of a sum of products is the sum over frequencies of the products of the two
periodograms (Bartlett's formula), which needs no bandwidth. Nowhere is the density of a row that of
the model.

Two rows whose a_ij a_ji is not above 1 by more than its error, and by more than choosing among all
directions makes of Gaussian rows, are not told apart: any rotation of them is as likely.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.fft import next_fast_len, rfft
from scipy.sparse.csgraph import connected_components

from riemtr.data.blocks import Samples
from riemtr.problems.surrogates import Surrogate
from riemtr.recovery.densities import Densities

# Standard errors by which two rows must be told apart, and that a plausible error may be off by.
DEVIATIONS = 4.0
# The logarithm of E h'' E x^2 that Gaussian rows have because they were chosen among n directions,
# over n / p: 5 to 20 for n = 5 to 50 and p = 60 n to 4000 n.
_CHOSEN = 20.0
# A mean square that no row has.
_TINY = 1e-300
# The curvature, of rows of mean square 1, below which orthogonal rows are not told apart.
_LEAST_CURVATURE = 1e-3


@dataclass(frozen=True, eq=False)
class Moments:
    """Means over the samples that errors are made of; rows along the first axis, for h'.

    Attributes
    ----------
    bend, product, square : ndarray, shape (n,)
        Of h''(x), h'(x) x and x^2.
    slopes, curvatures : ndarray, shape (n, n)
        Of h'(x_i) x_j and h''(x_i) x_j^2, which is a_ij also if rows are silent together.
    informed : ndarray, shape (n,)
        The variance of the logarithm of E h'' E x^2.
    crossed, paired : ndarray, shape (n, n)
        p times the variances of mean(h'(x_i) x_j), and their covariances with (j, i), as if each
        sample were drawn by itself.
    squares, mixed : ndarray, shape (n, n)
        The same of mean(x_i x_j), and its covariances with mean(h'(x_i) x_j).
    crossed_series, paired_series, squares_series, mixed_series : ndarray, shape (n, n)
        The four as if rows were independent series.
    common : ndarray, shape (n, n)
        The means of h'(x_i) h'(x_j).
    samples : int
    """

    bend: np.ndarray
    product: np.ndarray
    square: np.ndarray
    informed: np.ndarray
    slopes: np.ndarray
    curvatures: np.ndarray
    crossed: np.ndarray
    paired: np.ndarray
    squares: np.ndarray
    mixed: np.ndarray
    crossed_series: np.ndarray
    paired_series: np.ndarray
    squares_series: np.ndarray
    mixed_series: np.ndarray
    common: np.ndarray
    samples: int

    @staticmethod
    def of(data: Samples, point: np.ndarray, surrogate: Surrogate) -> Moments:
        """Return the moments of the rows of directions, the columns of a point."""
        directions = np.ascontiguousarray(point.T, dtype=data.dtype)
        sums: Any = data.total(_sums, directions, surrogate)
        bend, product, square, *pairs, bends, fourth, bent, memory = (
            each / data.shape[1] for each in sums
        )
        # Of log(mean h'' mean x^2) per sample, times what memory adds.
        single = bends / bend**2 + fourth / square**2 + 2.0 * bent / (bend * square) - 4.0
        informed = np.maximum(single, memory / (bend * square) ** 2) / data.shape[1]
        return Moments(bend, product, square, informed, *pairs, samples=data.shape[1])  # type: ignore[misc]

    def inseparable(self) -> np.ndarray:
        """Return which pairs of rows are not told apart, as a matrix of truth values."""
        with np.errstate(invalid="ignore", divide="ignore"):
            own = np.log(self.bend * self.square)
        error = np.sqrt(np.add.outer(self.informed, self.informed))
        chosen = 2.0 * _CHOSEN * len(own) / self.samples
        return ~(np.add.outer(own, own) > DEVIATIONS * error + chosen)

    def full(self, noise: np.ndarray) -> Errors:
        """Return the errors of the full form, under a covariance that noise gives the rows."""
        own = self.curvatures
        determinant = own * own.T - 1.0
        unknown = self.inseparable()
        determinant[unknown] = np.inf

        def by(crossed: np.ndarray, paired: np.ndarray) -> np.ndarray:
            return own.T**2 * crossed + crossed.T - 2.0 * own.T * paired

        larger = np.maximum(
            by(self.crossed, self.paired), by(self.crossed_series, self.paired_series)
        )
        variances = np.where(unknown, np.inf, larger / determinant**2) / self.samples
        np.fill_diagonal(variances, 0.0)
        gains = own.T / determinant * np.sqrt(self.square / self.samples)
        bias = -noise * (own.T * self.bend[:, None] - self.bend) / determinant
        return Errors.of(variances, gains, self.common, bias)

    def orthogonal(self, noise: np.ndarray) -> Errors:
        """Return the errors of the orthogonal form, under a covariance that noise gives the rows.

        Whitening sets t_ij + t_ji to minus mean(x_i x_j), and the difference is left to
        mean(h'(x_i) x_j - h'(x_j) x_i) = 0.
        """
        own = self.bend * self.square - self.product
        curvature = np.add.outer(own, own)
        unknown = np.abs(curvature) <= _LEAST_CURVATURE
        curvature = np.where(unknown, np.inf, curvature)
        total = self.bend * self.square + self.product
        share = 0.5 * (np.subtract.outer(total, total) / curvature - 1.0)

        def by(
            crossed: np.ndarray, paired: np.ndarray, squares: np.ndarray, mixed: np.ndarray
        ) -> np.ndarray:
            found = (crossed + crossed.T - 2.0 * paired) / curvature**2 + share**2 * squares
            return found - 2.0 * share / curvature * (mixed - mixed.T)

        found = np.maximum(
            by(self.crossed, self.paired, self.squares, self.mixed),
            by(self.crossed_series, self.paired_series, self.squares_series, self.mixed_series),
        )
        bias = -noise / self.square * own[:, None] / curvature
        found = np.where(unknown, np.inf, found) / self.samples
        return Errors.of(found, np.zeros_like(found), self.common, bias)

    def alone(self) -> np.ndarray:
        """Return the variances of t_ij of row i where row j has no error."""
        larger = np.maximum(self.crossed, self.crossed_series)
        return larger / self.curvatures**2 / self.samples


@dataclass(frozen=True, eq=False)
class Errors:
    """The errors of T, for rows in their own scale.

    Attributes
    ----------
    variances : ndarray, shape (n, n)
        Of the entries; infinite where not known.
    gains, common : ndarray, shape (n, n)
        t_ij and t_kj have the covariance gains_ij gains_kj common_ik: noise that rows i and k have
        in common moves both.
    bias : ndarray, shape (n, n)
        By how much noise that rows have in common moves the mean of T.
    """

    variances: np.ndarray
    gains: np.ndarray
    common: np.ndarray
    bias: np.ndarray

    @staticmethod
    def of(
        variances: np.ndarray, gains: np.ndarray, common: np.ndarray, bias: np.ndarray
    ) -> Errors:
        """Return errors without entries on the diagonal, which say nothing."""
        off = ~np.eye(len(variances), dtype=bool)
        return Errors(*(np.where(off, each, 0.0) for each in (variances, gains, common, bias)))

    def scaled(self, point: np.ndarray) -> Errors:
        """Return the errors of rows whose directions, the columns of a point, have length 1."""
        size = np.linalg.norm(point, axis=0)
        scale = size[None, :] / size[:, None]  # t_ij goes with row j over row i
        return Errors(self.variances * scale**2, self.gains * scale, self.common, self.bias * scale)

    @property
    def by_chance(self) -> float:
        """The sum of the variances that are known."""
        return float(np.sum(self.variances[np.isfinite(self.variances)]))

    @property
    def biased(self) -> float:
        """The sum of the squares of the bias."""
        return float(np.sum(self.bias**2))

    @property
    def of_rows(self) -> float:
        """The mean square of what rows have of other sources, as far as it is known."""
        return self.by_chance + self.biased

    def of_atoms(self, inverse: np.ndarray, point: np.ndarray) -> np.ndarray:
        """Return the standard error of every atom, relative to its length; NaN where not known.

        Parameters
        ----------
        inverse : ndarray, shape (m, n)
            The map from whitened data to the data.
        point : ndarray, shape (n, n) or (n, n - 1)
            The directions of the rows, as columns; of all but the ones where there is an offset.
        """
        # Relative errors have no unit, in which squares could over- or underflow.
        atoms = (inverse / np.abs(inverse).max()) @ np.linalg.pinv(point.T)
        products = atoms.T @ atoms
        squares = np.diagonal(products)
        # An error along the atom itself is one of its length, which is chosen anyway.
        across = np.maximum(squares[:, None] - products**2 / squares, 0.0)
        unknown = ~np.isfinite(self.variances)
        found = (np.where(unknown, 0.0, self.variances) * across).sum(axis=0)
        shared = products * self.common
        along = products * self.gains
        found += np.einsum("ij,ij->j", self.gains, shared @ self.gains)
        found -= np.einsum("ij,ij->j", along, self.common @ along) / squares
        moved = atoms @ self.bias
        moved -= atoms * (np.einsum("ij,ij->j", atoms, moved) / squares)
        found = np.maximum(found, 0.0) + np.einsum("ij,ij->j", moved, moved)
        return np.where(unknown.any(axis=0), np.nan, np.sqrt(found / squares))


def _sums(
    block: np.ndarray, first: int, directions: np.ndarray, surrogate: Surrogate
) -> tuple[Any, ...]:
    rows = directions @ block
    _, slope, bend = surrogate.derivatives(rows)
    squares, product = rows * rows, slope * rows
    width = block.shape[1]
    row_waves, slope_waves = _waves(rows), _waves(slope)
    weights = _weights(row_waves.shape[1], width)
    cross = slope_waves * row_waves.conj() * np.sqrt(weights).astype(rows.dtype)
    real, imaginary = np.ascontiguousarray(cross.real), np.ascontiguousarray(cross.imag)
    row_power, slope_power = _power(row_waves), _power(slope_waves)
    slope_power *= weights.astype(rows.dtype)
    # The lowest frequencies have the memory of what a_ij is a mean of.
    mean_bend, mean_square = bend.mean(axis=1), squares.mean(axis=1)
    informing = bend * mean_square[:, None] + squares * mean_bend[:, None]
    informing -= informing.mean(axis=1, keepdims=True)
    memory = _power(_waves(informing)[:, 1 : 2 + math.isqrt(width)]).mean(axis=1)
    return tuple(
        np.asarray(each, dtype=np.float64)
        for each in (
            bend.sum(axis=1, dtype=np.float64),
            product.sum(axis=1, dtype=np.float64),
            squares.sum(axis=1, dtype=np.float64),
            slope @ rows.T,
            bend @ squares.T,
            (slope * slope) @ squares.T,
            product @ product.T,
            squares @ squares.T,
            product @ squares.T,
            slope_power @ row_power.T,
            real @ real.T - imaginary @ imaginary.T,
            (row_power * weights.astype(rows.dtype)) @ row_power.T,
            (real * np.sqrt(weights).astype(rows.dtype)) @ row_power.T,
            slope @ slope.T,
            np.einsum("ij,ij->i", bend, bend, dtype=np.float64),
            np.einsum("ij,ij->i", squares, squares, dtype=np.float64),
            np.einsum("ij,ij->i", bend, squares, dtype=np.float64),
            memory,
        )
    )


def _waves(rows: np.ndarray) -> np.ndarray:
    """Return the waves of rows, padded with zeros to an even length whose transform is fast."""
    length = 2 * next_fast_len((rows.shape[1] + 1) // 2, real=True)
    return rfft(rows, n=length, axis=1)


def _weights(frequencies: int, width: int) -> np.ndarray:
    """Return what products of periodograms count in the variance of a sum of so many samples."""
    # All frequencies but the first and the last stand for two.
    weights = np.full(frequencies, 2.0)
    weights[[0, -1]] = 1.0
    return weights / (2.0 * max(frequencies - 1, 1) * width)


def _power(waves: np.ndarray) -> np.ndarray:
    return waves.real**2 + waves.imag**2


def noise_covariance(data: Samples, point: np.ndarray, densities: Densities) -> np.ndarray:
    """Return the covariance of rows where both are small, as noise that they have in common makes.

    Sources that are independent have none there, whatever their densities.
    """
    directions = np.ascontiguousarray(point.T, dtype=data.dtype)
    products, weights = data.total(_small, directions, densities)
    found = products / np.maximum(weights, 1.0)
    # What counts as small is less than all of the narrow component where that is not far from the
    # others; but the variance of all of it is known.
    size = np.sqrt(densities.variances[0] / np.maximum(np.diagonal(found), _TINY))
    return found * np.outer(size, size)


def _small(
    block: np.ndarray, first: int, directions: np.ndarray, densities: Densities
) -> tuple[np.ndarray, np.ndarray]:
    rows, weights = densities.narrow_parts(directions @ block)
    return (rows @ rows.T).astype(np.float64), (weights @ weights.T).astype(np.float64)


def errors_of_zeros(rows: np.ndarray, zeros: np.ndarray, used: int) -> Errors:
    """Return the errors of rows that are determined by zeros which are so to a few digits only.

    A row takes t_ij of row j to make its zeros least squares.

    Parameters
    ----------
    rows : ndarray, shape (n, p)
    zeros : ndarray of bool, shape (n, p)
        Where rows count as zero.
    used : int
        How many of the zeros determine each row.
    """
    chosen, squares = zeros.astype(np.float64), rows.astype(np.float64) ** 2
    counts = np.maximum(chosen.sum(axis=1), 1.0)
    noise = (chosen * squares).sum(axis=1) / counts
    information = chosen @ squares.T * np.minimum(used / counts, 1.0)[:, None]
    none = np.zeros((len(rows), len(rows)))
    return Errors.of(noise[:, None] / np.maximum(information, _TINY), none, none, none)


def subspaces(inseparable: np.ndarray) -> np.ndarray:
    """Return the number of the group of each row: those not told apart, however indirectly.

    Examples
    --------
    >>> pairs = np.zeros((4, 4), dtype=bool)
    >>> pairs[1, 3] = pairs[3, 1] = True
    >>> subspaces(pairs)
    array([0, 1, 2, 1], dtype=int32)
    """
    pairs = np.array(inseparable)
    np.fill_diagonal(pairs, False)
    return connected_components(pairs, directed=False)[1]


def dependence(series: np.ndarray) -> np.ndarray:
    """Return how far every series depends on the others, over what chance makes it.

    It is the root mean square, over the other rows, of the covariances over their standard errors,
    as of independent series with any memory: some 1 if they are.

    Parameters
    ----------
    series : ndarray, shape (n, p)
        One function of each row, as its magnitude.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> drift = np.cumsum(rng.standard_normal((3, 2000)), axis=1)
    >>> noise = rng.standard_normal((3, 2000))
    >>> bool(dependence(drift).max() < 3.0), bool(dependence(noise + noise[0]).min() > 3.0)
    (True, True)
    """
    if len(series) < 2:
        return np.zeros(len(series))
    series = series - series.mean(axis=1, keepdims=True)
    power = _power(_waves(series))
    variance = (power * _weights(power.shape[1], series.shape[1])) @ power.T
    scores = (series @ series.T) ** 2 / np.where(variance > 0.0, variance, 1.0)
    np.fill_diagonal(scores, 0.0)
    return np.sqrt(scores.sum(axis=1) / (len(series) - 1))
