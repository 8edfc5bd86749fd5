"""Rows that are exactly sparse, and yet mixtures: those that another row makes sparser.

With coefficients of few values, as +1 and -1, the sum of two rows vanishes wherever they cancel,
often enough to hold it in place. But it is less sparse than either: subtract from a row, of all
multiples of another, the one that cancels the most of its entries. If that makes more zeros than it
destroys, the row was a mixture.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from riemtr.data.blocks import column_blocks

_SAME = 1e-6  # relative difference of ratios that are the same


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
    found: dict[int, Sparser] = {}
    for row in rows:
        # No more zeros can be made than there are common entries.
        worth = both[row] > counts - both[row]
        worth[row] = False
        for other in np.flatnonzero(worth):
            factor, cancelled = _most_frequent_ratio(X[row], X[other])
            gain = cancelled - int(counts[other] - both[row, other])
            if gain > (found[row].gain if row in found else 0):
                found[row] = Sparser(row, int(other), factor, gain)
    return found


def doubts_of_mixing(X: np.ndarray, rows: list[int], unmixed: int) -> dict[int, str]:
    """Return what speaks against rows that are exactly sparse, ``unmixed`` others of which mixed.

    Examples
    --------
    >>> X = np.array([[1.0, -1.0, 1.0, 0.0, 0.0], [1.0, -1.0, 1.0, 1.0, 0.0]])
    >>> doubts_of_mixing(X, [1], unmixed=0)
    {1: 'less 1 times row 0 it has 3 more zeros: it mixes several'}
    """
    better = sparser_combinations(X, rows)
    found = {
        row: f"less {each.factor:.3g} times row {each.other} it has {each.gain} more zeros: it "
        f"mixes several"
        for row, each in better.items()
    }
    if not unmixed:
        return found
    no_proof = (
        f"exactly sparse as {unmixed} mixtures were, that have been replaced: with coefficients of "
        f"so few values it is no proof; see if another seed gives the same"
    )
    return {row: found.get(row, no_proof) for row in rows}


def _common_entries(X: np.ndarray) -> np.ndarray:
    """Count, for every pair of rows, the samples on which neither vanishes."""
    total = np.zeros((len(X), len(X)))
    for columns in column_blocks(X.shape):
        support = (X[:, columns] != 0.0).astype(np.float32)
        total += support @ support.T
    return total.astype(np.int64)


def _most_frequent_ratio(row: np.ndarray, other: np.ndarray) -> tuple[float, int]:
    there = (row != 0.0) & (other != 0.0)
    ratios = np.sort(row[there].astype(np.float64) / other[there])
    groups = np.cumsum(np.diff(ratios, prepend=ratios[:1]) > _SAME * np.abs(ratios))
    sizes = np.bincount(groups)
    largest = int(np.argmax(sizes))
    return float(ratios[np.searchsorted(groups, largest)]), int(sizes[largest])
