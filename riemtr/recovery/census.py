"""What one pass over all samples tells of them: how many, how long, and where they point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from riemtr.data.blocks import product_blocks

_LOUD = 0.5  # share of the samples below which it is worth saying that they count as fewer


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
        if self.effective < _LOUD * self.different:
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
