"""Samples that alone hold a row where it is: what tells a mixture from a sparse row.

The zeros of a row q'Y determine q as long as they span n - 1 directions. Those of a sparse row do
so many times over. Those of a mixture of k sparse rows are the samples on which all k vanish, which
leave k - 1 directions open, and k - 1 further samples on which the linear program made the mixture
vanish: without any one of these, q would not be determined. Such a sample has leverage 1 among the
zeros: y'G^+ y with G their Gram matrix, which no choice of coordinates or units changes. Samples
that come several times have it together.
"""

from __future__ import annotations

import numpy as np

_LONE = 1e-3  # what leverage may lack to 1: rounding in single precision at condition number 1e4

_SAME = 1e3  # times the precision: what turning leaves between equal samples


def count_lone(
    data: np.ndarray,
    lengths: np.ndarray,
    direction: np.ndarray,
    vanishing: float,
    most: int,
    factor: np.ndarray,
) -> int:
    """Count, among those zeros whose Gram matrix ``zeros_of`` returns, the ones of leverage 1.

    Parameters
    ----------
    data, lengths, direction, vanishing, most
        As for :func:`riemtr.recovery.zeros.zeros_of`.
    factor : ndarray, shape (k, n)
        F with F'F = G^+, G being that Gram matrix (of all blocks, where data is one of several).
    """
    size = np.abs(direction.astype(data.dtype) @ data)
    zeros = np.flatnonzero((size <= vanishing * lengths) & (lengths > 0))
    if not zeros.size:
        return 0
    some = zeros[:: max(len(zeros) // most, 1)]
    samples = np.take(data, some, axis=1)
    turned = factor @ samples
    leverage = np.bincount(_same(samples), np.einsum("ij,ij->j", turned, turned))
    return int(np.count_nonzero(leverage > 1.0 - _LONE))


def _same(samples: np.ndarray) -> np.ndarray:
    """Number the samples so that equal ones have the same number."""
    weights = np.cos(np.arange(1.0, len(samples) + 1))  # any that no combination of data cancels
    keys = weights @ samples
    order = np.argsort(keys)
    rounding = _SAME * float(np.finfo(samples.dtype).eps) * np.max(np.abs(keys))
    numbers = np.empty(len(keys), dtype=np.intp)
    numbers[order] = np.cumsum(np.diff(keys[order], prepend=-np.inf) > rounding)
    return numbers
