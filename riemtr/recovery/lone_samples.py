"""Samples that alone hold a row where it is: what tells a mixture from a sparse row.

The zeros of a row q'Y determine q as long as they span n - 1 directions. Those of a sparse row do
so many times over. Those of a mixture of k sparse rows are the samples on which all k vanish, which
leave k - 1 directions open, and k - 1 further samples on which the linear program made the mixture
vanish: without any one of these, q would not be determined. Such a sample has leverage 1 among the
zeros: y'G^+ y with G their Gram matrix, which no choice of coordinates changes. Samples count with
unit length, so that a large one is no lone one; those that are parallel, as copies are, have their
leverage together. But where parallel ones have more different lengths than those of other
directions, as the samples of one atom alone have, they hold the row many times over as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from riemtr.recovery.zeros import magnitudes, zero_samples

_LONE = 1e-3  # what leverage may lack to 1: rounding in single precision at condition number 1e4

_FEW_LENGTHS = 0.1  # share of the directions that have the fewest, as many as scaled copies make

_SAME = 1e2  # times the precision: what turning leaves between parallel samples, or equal lengths


class Leverages(NamedTuple):
    """What is known of some zeros: their :func:`sample_keys`, and leverage."""

    keys: np.ndarray  # (3, m)
    values: np.ndarray  # (m,)


def leverages(
    data: np.ndarray,
    lengths: np.ndarray,
    direction: np.ndarray,
    vanishing: float,
    most: int,
    factor: np.ndarray,
) -> Leverages:
    """Return the leverage of those zeros whose ``unit_gram`` :func:`zeros_of` returns.

    Parameters
    ----------
    data, lengths, direction, vanishing, most
        As for :func:`riemtr.recovery.zeros.zeros_of`.
    factor : ndarray, shape (k, n)
        F with F'F = G^+, G being that Gram matrix (of all blocks, where data is one of several).
    """
    size = magnitudes(data, direction)
    _, samples, sizes = zero_samples(data, lengths, size, vanishing, most)
    units = samples / sizes
    turned = factor @ units
    return Leverages(sample_keys(samples, sizes), np.einsum("ij,ij->j", turned, turned))


def joined(parts: Sequence[Leverages]) -> Leverages:
    """Return what several blocks know as one."""
    keys, values = zip(*parts, strict=True)
    return Leverages(np.concatenate(keys, axis=1), np.concatenate(values))


def count_lone(found: Leverages, dtype: np.dtype, usual: int) -> int:
    """Count the directions of leverage 1, of samples in a floating-point type.

    ``usual`` is how many different lengths the samples of a direction have: :func:`usual_lengths`.
    """
    if not found.values.size:
        return 0
    together = np.bincount(_same_direction(found.keys, dtype), found.values)
    lengths = count_lengths(found.keys, dtype)
    return int(np.count_nonzero((together > 1.0 - _LONE) & (lengths <= 2 * usual)))


def usual_lengths(counts: np.ndarray) -> int:
    """Return how many lengths a direction has that is no atom's, from :func:`count_lengths`."""
    return int(np.quantile(counts, _FEW_LENGTHS, method="lower")) if counts.size else 1


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
    return _SAME * float(np.finfo(dtype).eps)


def _same_direction(keys: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Number the keys so that those of equal directions have the same number."""
    keys = keys[:2]
    order = np.argsort(keys[0])
    rounding = _precision(dtype) * float(np.max(np.abs(keys)))
    steps = np.abs(np.diff(keys[:, order], axis=1)).max(axis=0)
    numbers = np.empty(keys.shape[1], dtype=np.intp)
    numbers[order] = np.concatenate([[0], np.cumsum(steps > rounding)])
    return numbers
