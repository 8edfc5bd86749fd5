"""Samples that alone hold a row where it is: what tells a mixture from a sparse row.

The zeros of a row q'Y determine q as long as they span n - 1 directions. Those of a sparse row do
so many times over. Those of a mixture of k sparse rows are the samples on which all k vanish, which
leave k - 1 directions open, and k - 1 further samples on which the linear program made the mixture
vanish: without any one of these, q would not be determined. Such a sample has leverage 1 among the
zeros: y'G^+ y with G their Gram matrix, which no choice of coordinates changes. Samples count with
unit length, so that a large one is no lone one; those that are parallel, as copies are, have their
leverage together. But where more are parallel than each sample has copies, as those of one atom
alone are, they hold the row many times over as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from riemtr.recovery.zeros import zero_samples

_LONE = 1e-3  # what leverage may lack to 1: rounding in single precision at condition number 1e4

_FEW_COPIES = 0.1  # share of the directions that have the fewest samples, as many as copies

_SAME = 1e2  # times the precision: what turning leaves between parallel samples


class Leverages(NamedTuple):
    """What is known of some zeros, each a column: two keys of their direction, and leverage."""

    keys: np.ndarray  # (2, m)
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
    _, samples, sizes = zero_samples(data, lengths, direction, vanishing, most)
    units = samples / sizes
    turned = factor @ units
    return Leverages(direction_keys(units), np.einsum("ij,ij->j", turned, turned))


def joined(parts: Sequence[Leverages]) -> Leverages:
    """Return what several blocks know as one."""
    keys, values = zip(*parts, strict=True)
    return Leverages(np.concatenate(keys, axis=1), np.concatenate(values))


def count_lone(found: Leverages, dtype: np.dtype, copies: int) -> int:
    """Count the directions of leverage 1, of samples in a floating-point type.

    ``copies`` is how often each sample comes.
    """
    if not found.values.size:
        return 0
    numbers = _same_direction(found.keys, dtype)
    together, sizes = np.bincount(numbers, found.values), np.bincount(numbers)
    return int(np.count_nonzero((together > 1.0 - _LONE) & (sizes <= 2 * copies)))


def count_copies(sizes: np.ndarray) -> int:
    """Return how often each sample comes, from the numbers of samples in each direction."""
    if not sizes.size:
        return 1
    return int(np.quantile(sizes, _FEW_COPIES, method="lower"))


def samples_per_direction(keys: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Count the samples in each of their different directions, given their keys."""
    return np.bincount(_same_direction(keys, dtype)) if keys.size else np.zeros(0, dtype=np.intp)


def keys_of_samples(data: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return the keys of the directions of all samples that are not zero."""
    there = lengths > 0
    return direction_keys(data)[:, there] / lengths[there]


def direction_keys(samples: np.ndarray) -> np.ndarray:
    """Return two numbers for each sample, the same for samples that are the same up to sign."""
    angles = np.arange(1.0, len(samples) + 1)
    weights = np.stack([np.cos(angles), np.sin(angles**2)])  # any that no data cancel
    keys = weights.astype(samples.dtype) @ samples
    return keys * np.where(keys[0] < 0.0, -1.0, 1.0)


def _same_direction(keys: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Number the keys so that equal ones have the same number."""
    order = np.argsort(keys[0])
    rounding = _SAME * float(np.finfo(dtype).eps) * float(np.max(np.abs(keys)))
    steps = np.abs(np.diff(keys[:, order], axis=1)).max(axis=0)
    numbers = np.empty(keys.shape[1], dtype=np.intp)
    numbers[order] = np.concatenate([[0], np.cumsum(steps > rounding)])
    return numbers
