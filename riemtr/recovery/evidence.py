"""The evidence for a row: is it right?

**Proved** is a row that is exactly sparse: its zeros hold it in place many times over, which no
mixture of rows with continuous values achieves (:class:`Inspector`). The zeros of a row q'Y
determine q as long as they span n - 1 directions. Those of a sparse row do so many times over.
Those of a mixture of k sparse rows are the samples on which all k vanish, which leave k - 1
directions open, and k - 1 further samples on which the linear program made the mixture vanish:
without any one of these, q would not be determined. Such a *lone* sample has leverage 1 among the
zeros: y'G^+ y with G their Gram matrix, which no choice of coordinates changes. Samples count with
unit length, so that a large one is no lone one; parallel ones, as copies are, have their leverage
together. But where parallel ones have more different lengths than those of other directions, as the
samples of one atom alone have, they hold the row many times over as well.

With coefficients of few values, as +1 and -1, the sum of two rows vanishes wherever they cancel,
often enough to hold it in place. But it is less sparse than either: subtract from a row, of all
multiples of another, the one that cancels the most of its entries. If that makes more zeros than it
destroys, the row was a mixture (:func:`sparser_combinations`). A mixture of three rows or more may
look like none, so that zeros alone prove no row of few values.

**Plausible** is a row that nothing speaks against though nothing proves it: its standard error is
small, other starts lead to it as well, it is sparser than noise can be made, and its magnitude is
independent of the other rows', as that of a source is. More sources than rows, and the patches of
images, fail the last test; data that miss some samples or are noise fail the others.

**Doubtful** is every other row, with the reasons.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from riemtr.data.blocks import column_blocks, column_lengths, gram, product_blocks
from riemtr.recovery.errors import dependence as over_chance
from riemtr.recovery.zeros import magnitudes, threshold, zero_samples


@dataclass(frozen=True)
class EvidenceRule:
    """The thresholds by which rows are judged, each with its reason."""

    # Share of the samples below which it is worth saying that loud ones count as fewer.
    loud: float = 0.5
    # Leverage that is 1 but for rounding in single precision at condition number 1e4.
    lone: float = 1.0 - 1e-3
    # Leverage below which some zeros of a row suffice to show that none of them is lone.
    surely_not_lone: float = 0.9
    # Share of the directions that have the fewest lengths, as many as scaled copies make.
    few_lengths: float = 0.1
    # Times the precision: what turning leaves between parallel samples, or equal lengths.
    same: float = 1e2
    # Zeros per direction other than the row's: any vertex of the linear program has one.
    vertex: int = 2
    # Times as many entries as vanish by chance on average.
    chance: float = 4.0
    # Least share of the typical eigenvalue, of the Gram matrix of a row's zeros.
    spanning: float = 0.1
    # The share below which a direction is not spanned at all.
    spanned: float = 1e-6
    # Zeros per unknown that suffice for these.
    zeros_looked_at: int = 64
    # Least part of a direction outside the span of better rows.
    independent: float = 0.1
    # The least flatness over the sphere falls like sqrt(n / p) for Gaussian noise, by Gordon's
    # theorem; the factor is 0.61 at most over 90 recoveries, n = 2 to 64 and p = 5 n to 400 n.
    noise: float = 0.62
    # Samples per dimension below which noise has rows as sparse as the model's.
    few_samples: int = 5
    # Residual from which a reduction of the rank counts as one: 4% of the energy.
    lost: float = 0.2
    # The same for data without noise, as those with exactly sparse rows are.
    lost_exact: float = 1e-4
    # Share of zeros from which a row shows that data follow the model. Integers, such as pixels,
    # cancel in some combinations on a few percent of the samples.
    sparse: float = 0.25
    # Relative difference of coefficients, or of their ratios, that are the same.
    equal: float = 1e-6
    # Share of a row's entries of the same size that no continuous values have.
    few_values: float = 0.05
    # Samples to look at for that.
    values_looked_at: int = 4096
    # Samples that a ratio cancels, so that half as many are no chance.
    enough: int = 50
    # Chance that two rows of continuous values are in proportion on as many samples.
    coincidence: float = 1e-4
    # Other rows that each is compared with for that.
    partners: int = 8
    # Digits by which samples are the same.
    digits: int = 6
    # The largest error of a plausible row, relative to its atom: that of four standard errors.
    error: float = 0.01
    # Sine of the angle up to which two starts have led to the same row: three such errors.
    same_row: float = 0.03
    # Standard deviations that the dependence of a row on the others may be off by chance.
    dependence: float = 4.0


RULE = EvidenceRule()
"""The rule in force."""

_GAUSSIAN = math.sqrt(2.0 / math.pi)  # mean magnitude of a standard Gaussian
_TINY = 1e-300  # what one sample leaves of the sum of squares where it has all of it


# --- samples -------------------------------------------------------------------------------------


class Census(NamedTuple):
    """Sums over the samples y of a block, or of all blocks.

    Attributes
    ----------
    samples : int
        How many are not zero.
    length, fourth : float
        The sums of \\|y\\| and of \\|y\\|^4.
    unit_gram : ndarray, shape (n, n)
        The Gram matrix of the samples brought to unit length, which no loud one dominates.
    """

    samples: int
    length: float
    fourth: float
    unit_gram: np.ndarray


@dataclass(frozen=True)
class SampleCounts:
    """How many samples there are, and how many they are worth as evidence.

    Attributes
    ----------
    total, nonzero : int
        All, and those that are not zero.
    different : int
        Of these, the different ones, but for their length and sign.
    effective : float
        How many of lengths as even as those of Gaussian noise would have a mean square as certain.

    Examples
    --------
    >>> print(SampleCounts(total=20, nonzero=18, different=13, effective=18.0))
    20 samples (2 zero, 5 copies of others up to a factor)
    """

    total: int
    nonzero: int
    different: int
    effective: float

    @property
    def worth(self) -> int:
        """How many samples to count on."""
        return min(self.different, int(self.effective))

    def __str__(self) -> str:
        zero, copies = self.total - self.nonzero, self.nonzero - self.different
        less = [f"{zero} zero"] if zero else []
        less += [f"{copies} copies of others up to a factor"] if copies else []
        if self.effective < RULE.loud * self.different:
            less.append(f"the loudest outweigh the others, as if there were {self.worth}")
        return f"{self.total} samples" + (f" ({', '.join(less)})" if less else "")


def effective_samples(census: Census, square: float) -> float:
    """Return the number of samples, less where loud ones outweigh the others.

    It is (sum l^2)^2 / sum l^4 over their lengths l, times what makes it the number of samples for
    Gaussian noise, (n + 2) / n, and at most that number. The mean square varies accordingly.

    Parameters
    ----------
    census : Census
    square : float
        The sum of l^2.

    Examples
    --------
    >>> effective_samples(Census(100, 0.0, 2 * 10.0**4, np.eye(2)), square=2 * 10.0**2)
    4.0
    """
    n = len(census.unit_gram)
    return min((1 + 2 / n) * square**2 / census.fourth, float(census.samples))


def census_of(data: np.ndarray, lengths: np.ndarray) -> Census:
    """Return the sums over the columns of data, of those lengths.

    Examples
    --------
    >>> census_of(np.array([[3.0, 0.0, 0.0], [4.0, 0.0, 2.0]]), np.array([5.0, 0.0, 2.0])).unit_gram
    array([[0.36, 0.48], [0.48, 1.64]])
    """
    total = np.zeros((len(data), len(data)))
    divisors = np.where(lengths > 0, lengths, 1.0)
    for columns, block in product_blocks(data):
        units = block / divisors[columns]
        total += units @ units.T
    return Census(
        int(np.count_nonzero(lengths)), float(lengths.sum()), float((lengths**4).sum()), total
    )


# --- lone samples --------------------------------------------------------------------------------


class Leverages(NamedTuple):
    """What is known of some zeros: their :func:`sample_keys`, and leverage."""

    keys: np.ndarray  # (3, m)
    values: np.ndarray  # (m,)


def count_lone(found: Leverages, dtype: np.dtype, usual: int) -> int:
    """Count the directions of leverage 1, of samples in a floating-point type.

    ``usual`` is how many different lengths the samples of a direction have: :func:`usual_lengths`.
    """
    if not found.values.size:
        return 0
    together = np.bincount(_same_direction(found.keys, dtype), found.values)
    lengths = count_lengths(found.keys, dtype)
    return int(np.count_nonzero((together > RULE.lone) & (lengths <= 2 * usual)))


def usual_lengths(counts: np.ndarray) -> int:
    """Return how many lengths a direction has that is no atom's, from :func:`count_lengths`."""
    return int(np.quantile(counts, RULE.few_lengths, method="lower")) if counts.size else 1


def count_lengths(keys: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Count the different lengths in each of the different directions of samples.

    Copies of a sample, negated or not, have one together: they are no further evidence, however
    many there are.
    """
    if not keys.size:
        return np.zeros(0, dtype=np.intp)
    numbers = _same_direction(keys, dtype)
    order = np.lexsort([keys[2], numbers])
    lengths = keys[2, order]
    longer = np.diff(lengths) > _precision(dtype) * lengths[1:]
    first = np.concatenate([[True], longer | (np.diff(numbers[order]) > 0)])
    return np.bincount(numbers[order][first])


def sample_keys(samples: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return three numbers for each sample that is not zero: two of its direction, and its length.

    They are the same for samples that are the same up to sign.
    """
    there = lengths > 0
    angles = np.arange(1.0, len(samples) + 1)
    weights = np.stack([np.cos(angles), np.sin(angles**2)])  # any that no data cancel
    keys = (weights.astype(samples.dtype) @ samples)[:, there] / lengths[there]
    return np.vstack([keys * np.where(keys[0] < 0.0, -1.0, 1.0), lengths[there]])


def _precision(dtype: np.dtype) -> float:
    return RULE.same * float(np.finfo(dtype).eps)


def _same_direction(keys: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Number the keys so that those of equal directions have the same number."""
    keys = keys[:2]
    order = np.argsort(keys[0])
    rounding = _precision(dtype) * float(np.max(np.abs(keys)))
    steps = np.abs(np.diff(keys[:, order], axis=1)).max(axis=0)
    numbers = np.empty(keys.shape[1], dtype=np.intp)
    numbers[order] = np.concatenate([[0], np.cumsum(steps > rounding)])
    return numbers


def different_directions(samples: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return the number of one sample for every direction that samples have."""
    there = np.flatnonzero(lengths > 0)
    if not len(there):
        return there
    numbers = _same_direction(sample_keys(samples, lengths), samples.dtype)
    return there[np.sort(np.unique(numbers, return_index=True)[1])]


# --- exactly sparse rows -------------------------------------------------------------------------


@dataclass(frozen=True)
class Sparsity:
    """What the coefficients of a row say.

    Attributes
    ----------
    zeros : int
        How many entries vanish to rounding where the sample does not.
    forced : int
        How many of the n - 1 other directions are held by one sample alone, or by none: all of
        them at a vertex of the linear program, none in a row that is sparse by itself.
    exact : bool
        Whether it is: no direction is forced, and zeros are far more than a vertex has.
    flatness : float
        The mean magnitude of the row over its root mean square, 1 for Gaussian noise. Samples that
        are zero do not count; nor does the largest square: a row that points at a loud sample is
        not sparse for that.
    """

    zeros: int
    forced: int
    exact: bool
    flatness: float


class Inspector:
    """Tells rows that are sparse by themselves from those that merely solve a linear program.

    Every vertex of the program vanishes on some n - 1 independent samples; a mixture of two
    sparse rows on thousands, where both do, which leave one direction open, and on one sample
    more. A row is exact if its zeros span all the other directions, each by several samples and
    with the energy that as many samples have elsewhere, measured by the eigenvalues of their Gram
    matrix relative to that of all samples. Samples count with unit length in both, or a few loud
    ones would be all the energy there is. Some samples suffice: further ones only hold a row more
    firmly.

    Parameters
    ----------
    samples : ndarray, shape (n, p)
        Whitened samples.
    matrix, inverse : ndarray, shapes (r, n) and (n, r)
        The whitening map W and its inverse, which multiply the rounding errors of the data.

    Attributes
    ----------
    lengths : ndarray, shape (p,)
        Those of the samples.
    gram : ndarray, shape (n, n)
        The samples' Gram matrix.
    counts : SampleCounts
        How many samples there are, and how many they are worth.
    precision : float
        What the zeros of exactly sparse rows are known to have left beyond rounding, over the
        length of the sample: data of few digits are zero to these digits.
    """

    def __init__(self, samples: np.ndarray, matrix: np.ndarray, inverse: np.ndarray):
        self.samples = samples
        self.precision = 0.0
        size = float(np.linalg.norm(inverse.astype(np.float64), 2))
        self._noise = size * matrix.astype(np.float64)
        self.lengths = column_lengths(samples)
        self.gram = gram(samples)
        values = np.linalg.eigvalsh(self.gram)
        if not values[0] > len(values) * np.finfo(samples.dtype).eps * values[-1]:
            raise ValueError(
                "Y must be of full rank; got rows that are combinations of others; precondition it "
                "with rank='auto'"
            )
        self._census = census_of(samples, self.lengths)
        keys = sample_keys(samples, self.lengths)
        self._lengths_per_direction = count_lengths(keys, samples.dtype)
        self.counts = SampleCounts(
            total=samples.shape[1],
            nonzero=self._census.samples,
            different=len(self._lengths_per_direction),
            effective=effective_samples(self._census, float(np.trace(self.gram))),
        )
        values, vectors = np.linalg.eigh(self._census.unit_gram)
        rounding = np.finfo(float).eps * values[-1]
        self._whiten = (vectors / np.sqrt(np.maximum(values, rounding))).T

    def with_precision(self, precision: float) -> Inspector:
        """Return the same of zeros that have so much left."""
        other = copy.copy(self)
        other.precision = precision
        return other

    def inspect(self, direction: np.ndarray, leverage: float = math.inf) -> Sparsity:
        """Count the zeros of the row q'Y, and tell whether they make it exactly sparse.

        ``leverage`` is the largest among some of its zeros, of different directions, if known.
        """
        n, vanishing = len(direction), self.vanishing(direction)
        size = magnitudes(self.samples, direction)
        count = int(np.count_nonzero((size <= vanishing * self.lengths) & (self.lengths > 0)))
        flatness = self._flatness(direction, size)
        by_chance = vanishing * np.sqrt(n) * self.samples.shape[1]
        least = RULE.vertex * (n - 1) + 1 + RULE.chance * by_chance
        if n == 1:
            return Sparsity(count, 0, count >= least, flatness)
        if count < least:
            return Sparsity(count, n - 1, False, flatness)
        if leverage < RULE.surely_not_lone:
            return Sparsity(count, 0, True, flatness)
        forced = self._forced(direction, size, vanishing)
        return Sparsity(count, forced, forced == 0, flatness)

    def _forced(self, direction: np.ndarray, size: np.ndarray, vanishing: float) -> int:
        """Return how many of the other directions are held by one sample alone, or by none."""
        n = len(direction)
        most = RULE.zeros_looked_at * n
        _, chosen, sizes = zero_samples(self.samples, self.lengths, size, vanishing, most)
        units = chosen / sizes
        shares, vectors = np.linalg.eigh(self._whiten @ (units @ units.T) @ self._whiten.T)
        # All samples have the share 1 in every direction, so the typical one is their mean.
        typical = float(shares[1:].mean())
        spanned = shares > RULE.spanned * typical
        spanned[0] = False  # that of q itself
        factor = (vectors[:, spanned] / np.sqrt(shares[spanned])).T @ self._whiten
        turned = factor @ units
        found = Leverages(sample_keys(chosen, sizes), np.einsum("ij,ij->j", turned, turned))
        usual = usual_lengths(self._lengths_per_direction)
        lone = count_lone(found, self.samples.dtype, usual)
        weak = int(np.count_nonzero(shares[1:] < RULE.spanning * typical))
        return min(max(weak, n - 1 - int(spanned.sum()) + lone), n - 1)

    def _flatness(self, direction: np.ndarray, size: np.ndarray) -> float:
        powers = size.astype(np.float64) ** 4
        largest = float(powers @ powers) ** 0.25  # of the squares, or a little more
        square = float(direction @ self.gram @ direction) - largest
        total = float(size.sum(dtype=np.float64))
        return total / math.sqrt(self._census.samples * max(square, _TINY)) / _GAUSSIAN

    @property
    def noise_flatness(self) -> float:
        """The flatness of every row of noise without any direction, of these lengths.

        1 for Gaussian noise; less the more the lengths of the samples vary, as where noise is loud
        and quiet in turn.
        """
        n = len(self.gram)
        # Mean magnitude of an entry of a random unit vector.
        entry = math.exp(math.lgamma(n / 2) - math.lgamma((n + 1) / 2)) / math.sqrt(math.pi)
        mean = entry * self._census.length / self._census.samples
        square = float(np.trace(self.gram)) / (n * self._census.samples)
        return mean / math.sqrt(square) / _GAUSSIAN

    def vanishing(self, direction: np.ndarray) -> float:
        """What counts as zero in the row q'Y, over the length of the sample."""
        return max(threshold(self.samples.dtype, self.condition(direction)), self.precision)

    def condition(self, direction: np.ndarray) -> float:
        """What rounding errors of a sample are multiplied by in the row q'Y."""
        # rounding of a sample y, eps |y|, becomes eps |W'q| |y|, and |y| <= |W^+| |W y|
        return float(np.linalg.norm(direction @ self._noise))


def dependence(rows: np.ndarray, per_chance: bool = True) -> np.ndarray:
    """Return how far the magnitude of every row depends on the others'.

    It is the root mean square of the correlations of its magnitudes with those of the others, over
    what chance makes it, unless that is not asked for, or that of its entries with theirs, if that
    is more: some 1 for independent rows.

    Examples
    --------
    >>> rows = np.random.default_rng(0).standard_normal((20, 4000))
    >>> bool(dependence(rows).max() < dependence_limit(20))
    True
    >>> bool(dependence(rows * np.exp(rows[0])).min() > dependence_limit(20))
    True
    """
    size = np.abs(rows).astype(np.float64)
    there = size.max(axis=0, initial=0.0) > 0.0
    if len(size) < 2 or np.count_nonzero(there) < 2:
        return np.zeros(len(size))
    average = size.mean(axis=1, keepdims=True)
    size = np.log1p(size / np.where(average > 0.0, average, 1.0))  # no loud sample is all of it
    # Sparse rows are silent together now and then, and without these samples they would exclude
    # each other; with silence added to the data they would go together.
    parts = (size,) if there.all() else (size, size[:, there])
    if not per_chance:
        return min((_correlations(part) for part in parts), key=np.sum)
    seen = min((over_chance(part) for part in parts), key=np.sum)
    # Rows that their zeros determine may be correlated, as sums and differences of sources are.
    return np.maximum(seen, over_chance(np.copysign(size, rows)))


def _correlations(series: np.ndarray) -> np.ndarray:
    """Return the root mean square of the correlations of each series with the others."""
    series = series - series.mean(axis=1, keepdims=True)
    lengths = np.linalg.norm(series, axis=1, keepdims=True)
    series = series / np.where(lengths > 0.0, lengths, 1.0)
    correlations = series @ series.T
    np.fill_diagonal(correlations, 0.0)
    return np.sqrt((correlations**2).sum(axis=1) / (len(series) - 1))


def dependence_limit(rows: int) -> float:
    """Return the dependence that independent rows exceed hardly ever."""
    return 1.0 + RULE.dependence / math.sqrt(2.0 * max(rows - 1, 1))


# --- mixtures of rows of few values --------------------------------------------------------------


class Sparser(NamedTuple):
    """Row ``row`` less ``factor`` times row ``other`` has ``gain`` more zeros."""

    row: int
    other: int
    factor: float
    gain: int


def sparser_combinations(X: np.ndarray, rows: list[int]) -> dict[int, Sparser]:
    """Return, for each of the rows of which there is one, the best combination with another row.

    Examples
    --------
    >>> X = np.array([[1.0, -1.0, 1.0, 0.0, 0.0], [1.0, -1.0, 1.0, 1.0, 0.0]])
    >>> sparser_combinations(X, [1])
    {1: Sparser(row=1, other=0, factor=1.0, gain=3)}
    """
    both = _common_entries(X)
    counts = both.diagonal()
    some = np.ascontiguousarray(_some(X))
    found: dict[int, Sparser] = {}
    for row in rows:
        # No more zeros can be made than there are common entries.
        worth = both[row] > counts - both[row]
        worth[row] = False
        for other in np.flatnonzero(worth):
            lost = int(counts[other] - both[row, other])
            if _is_hopeless(some[row], some[other], lost / both[row, other]):
                continue
            factor, cancelled = _most_frequent_ratio(X[row], X[other])
            gain = cancelled - lost
            if gain > (found[row].gain if row in found else 0):
                found[row] = Sparser(row, int(other), factor, gain)
    return found


def sharing(X: np.ndarray, rows: list[int]) -> set[int]:
    """Return which exactly sparse rows are in proportion to another one on many samples.

    Two rows of X with continuous values are in the same proportion on two samples hardly ever. Two
    mixtures with a source in common are wherever that source alone acts on both, as where there
    are more sources than rows.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((3, 90)) * [[1.0] * 60 + [0.0] * 30] * 1.0
    >>> sharing(np.vstack([X[0], X[1], 2 * X[0]]), [0, 1, 2])
    {0, 2}
    """
    looked_at = _different(_some(X)) if rows else X
    found: set[int] = set()
    for place, row in enumerate(rows):
        for step in range(1, min(RULE.partners, len(rows) - 1) + 1):
            other = rows[(place + step) % len(rows)]
            common = int(np.count_nonzero((looked_at[row] != 0.0) & (looked_at[other] != 0.0)))
            if not common:
                continue
            same = _most_frequent_ratio(looked_at[row], looked_at[other])[1]
            # Of continuous ratios so many agree to that accuracy by chance.
            if same > 1 and math.comb(common, same) * RULE.equal ** (same - 1) <= RULE.coincidence:
                found |= {row, other}
    return found


def equal_share(X: np.ndarray, rows: list[int]) -> dict[int, float]:
    """Return, for each of the rows, the share of its entries that have the most frequent size.

    Examples
    --------
    >>> X = np.array([[1.0, -1.0, 0.0, 1.0, 0.0], [0.3, 0.0, 0.1, 0.0, 0.0]])
    >>> equal_share(X, [0, 1])
    {0: 1.0, 1: 0.0}
    """
    looked_at = np.abs(_different(_some(X)) if rows else X)
    return {row: _most_frequent(np.sort(looked_at[row][looked_at[row] > 0.0])) for row in rows}


def _some(X: np.ndarray) -> np.ndarray:
    """Return as many columns as suffice to tell what is frequent."""
    return X[:, :: max(X.shape[1] // RULE.values_looked_at, 1)]


def _different(X: np.ndarray) -> np.ndarray:
    """Return the columns without copies of others, up to a factor."""
    largest = np.abs(X).max(axis=0, initial=0.0)
    X = X[:, largest > 0.0]
    peaks = np.take_along_axis(X, np.abs(X).argmax(axis=0)[None], axis=0)
    _, chosen = np.unique((X / peaks).round(RULE.digits), axis=1, return_index=True)
    return X[:, np.sort(chosen)]


def _most_frequent(ordered: np.ndarray) -> float:
    """Return the share of the most frequent of sorted numbers, if there are more than one of it."""
    if not ordered.size:
        return 0.0
    most = int(np.bincount(_groups(ordered)).max())
    return most / ordered.size if most > 1 else 0.0


def _groups(ordered: np.ndarray) -> np.ndarray:
    """Number sorted values so that equal ones have the same number."""
    return np.cumsum(np.diff(ordered, prepend=ordered[:1]) > RULE.equal * np.abs(ordered))


def _common_entries(X: np.ndarray) -> np.ndarray:
    """Count, for every pair of rows, the samples on which neither vanishes."""
    total = np.zeros((len(X), len(X)))
    for columns in column_blocks(X.shape):
        support = (X[:, columns] != 0.0).astype(np.float32)
        total += support @ support.T
    return total.astype(np.int64)


def _is_hopeless(row: np.ndarray, other: np.ndarray, least: float) -> bool:
    """Whether no ratio is near as frequent as it would have to be, judged by some samples."""
    common = int(np.count_nonzero((row != 0.0) & (other != 0.0)))
    if common * least < RULE.enough:
        return False
    return _most_frequent_ratio(row, other)[1] < 0.5 * least * common


def _most_frequent_ratio(row: np.ndarray, other: np.ndarray) -> tuple[float, int]:
    there = (row != 0.0) & (other != 0.0)
    ratios = np.sort(row[there].astype(np.float64) / other[there])
    groups = _groups(ratios)
    sizes = np.bincount(groups)
    largest = int(np.argmax(sizes))
    return float(ratios[np.searchsorted(groups, largest)]), int(sizes[largest])


# --- other starts ------------------------------------------------------------------------------


def came_back(directions: np.ndarray, others: Sequence[np.ndarray]) -> np.ndarray:
    """Count, for every unit column, the other sets of columns that have it, up to sign.

    Examples
    --------
    >>> came_back(np.eye(2), [np.eye(2), np.array([[1.0, 0.6], [0.0, 0.8]])])
    array([2, 1])
    """
    least = math.sqrt(1.0 - RULE.same_row**2)
    found = np.zeros(directions.shape[1], dtype=np.int64)
    for other in others:
        found += np.abs(directions.T @ other).max(axis=1) > least
    return found
