"""Rows that are exactly sparse, and yet mixtures: those that another row makes sparser.

With coefficients of few values, as +1 and -1, the sum of two rows vanishes wherever they cancel,
often enough to hold it in place. But it is less sparse than either: subtract from a row, of all
multiples of another, the one that cancels the most of its entries. If that makes more zeros than it
destroys, the row was a mixture. One of three rows or more may look like none, so that no row of few
values is proved by its zeros.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from riemtr.data.blocks import column_blocks

_SAME = 1e-6  # relative difference of numbers that are the same
_FEW_VALUES = 0.05  # share of a row's entries of the same size that no continuous values have
_MOST = 4096  # samples to look at for that
_ENOUGH = 50  # of them that a ratio cancels, so that half as many are no chance
_DIGITS = 6  # by which samples are the same


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


def doubts_of_mixing(better: dict[int, Sparser], rows: list[int], unmixed: int) -> dict[int, str]:
    """Return what speaks against rows that are exactly sparse, ``unmixed`` others of which mixed.

    Examples
    --------
    >>> doubts_of_mixing({1: Sparser(row=1, other=0, factor=1.0, gain=3)}, [1], unmixed=0)
    {1: 'less 1 times row 0 it has 3 more zeros: it mixes several'}
    """
    found = {
        row: f"less {each.factor:.3g} times row {each.other} it has {each.gain} more zeros: it "
        f"mixes several"
        for row, each in better.items()
        if row in rows
    }
    if not unmixed:
        return found
    no_proof = (
        f"exactly sparse, as {unmixed} {'mixture was' if unmixed == 1 else 'mixtures were'} that "
        f"had to be replaced: coefficients of few values, an offset or more sources than rows make "
        f"such; see if another seed gives the same"
    )
    return {row: found.get(row, no_proof) for row in rows}


def doubts_of_values(X: np.ndarray, rows: list[int]) -> dict[int, str]:
    """Return what speaks against exactly sparse rows many of whose entries have the same size.

    Examples
    --------
    >>> X = np.array([[1.0, -1.0, 0.0, 1.0, 0.0], [0.3, 0.0, 0.1, 0.0, 0.0]])
    >>> list(doubts_of_values(X, [0, 1]))
    [0]
    """
    found = {}
    looked_at = _different(_some(X)) if rows else X
    for row in rows:
        entries = np.abs(looked_at[row])
        share = _most_frequent(np.sort(entries[entries > 0.0]))
        if share >= _FEW_VALUES:
            found[row] = (
                f"{share:.0%} of its coefficients have the same size: exact zeros do not prove "
                f"rows of few values, which mixtures of them have as well; see if another seed "
                f"gives the same"
            )
    return found


def _some(X: np.ndarray) -> np.ndarray:
    """Return as many columns as suffice to tell what is frequent."""
    return X[:, :: max(X.shape[1] // _MOST, 1)]


def _different(X: np.ndarray) -> np.ndarray:
    """Return the columns without copies of others, up to a factor."""
    largest = np.abs(X).max(axis=0, initial=0.0)
    X = X[:, largest > 0.0]
    peaks = np.take_along_axis(X, np.abs(X).argmax(axis=0)[None], axis=0)
    _, chosen = np.unique((X / peaks).round(_DIGITS), axis=1, return_index=True)
    return X[:, np.sort(chosen)]


def _most_frequent(ordered: np.ndarray) -> float:
    """Return the share of the most frequent of sorted numbers, if there are more than one of it."""
    if not ordered.size:
        return 0.0
    most = int(np.bincount(_groups(ordered)).max())
    return most / ordered.size if most > 1 else 0.0


def _groups(ordered: np.ndarray) -> np.ndarray:
    """Number sorted values so that equal ones have the same number."""
    return np.cumsum(np.diff(ordered, prepend=ordered[:1]) > _SAME * np.abs(ordered))


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
    if common * least < _ENOUGH:
        return False
    return _most_frequent_ratio(row, other)[1] < 0.5 * least * common


def _most_frequent_ratio(row: np.ndarray, other: np.ndarray) -> tuple[float, int]:
    there = (row != 0.0) & (other != 0.0)
    ratios = np.sort(row[there].astype(np.float64) / other[there])
    groups = _groups(ratios)
    sizes = np.bincount(groups)
    largest = int(np.argmax(sizes))
    return float(ratios[np.searchsorted(groups, largest)]), int(sizes[largest])
