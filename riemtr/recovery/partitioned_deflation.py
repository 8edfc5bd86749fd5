"""Deflation of data that no machine holds: the coordinates turn, the data stay as they are.

In place of V'Y there are Y, in blocks of samples that Dask keeps, and V, n x n, here: sums over
samples are turned where they arrive.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from riemtr.data.blocks import column_lengths
from riemtr.data.partitioned import Partitioned, Projection
from riemtr.recovery.census import Census, census_of
from riemtr.recovery.deflation import Coordinates
from riemtr.recovery.lone_samples import (
    Leverages,
    count_lengths,
    count_lone,
    joined,
    leverages,
    sample_keys,
    usual_lengths,
)
from riemtr.recovery.partitioned_rounding import round_partitioned, sample_step
from riemtr.recovery.reconstruction import NormalForm
from riemtr.recovery.rounding import Rounding
from riemtr.recovery.zeros import Zeros, clear_rounding, zeros_of

_KEYS = 64  # per dimension: what travels, three numbers each, to see which samples are parallel
_FINE = 1e4  # shares of the range of a key by which samples are chosen


class PartitionedDeflation(Coordinates):
    """Partitioned data Y, and an orthogonal V with its first columns set aside.

    The counterpart of :class:`riemtr.recovery.deflation.Deflation`.

    Parameters
    ----------
    data : Partitioned
        Y, n x p; from now on in the memory of the workers, if there is a cluster.
    """

    rounds_meanwhile = False  # the workers are busy

    def __init__(self, data: Partitioned):
        super().__init__(data.rows)
        self.data = data.kept()

    @property
    def complement(self) -> Projection:
        """The data of the deflated problem, (n - found) x p."""
        return Projection(self.data, self.rotation[:, self.found :].copy())

    def gram(self) -> np.ndarray:
        """Return Y Y', in the original coordinates."""
        return self.data.gram

    def mean(self) -> np.ndarray:
        """Return the average sample."""
        return self.data.total(_sum)[0] / self.data.shape[1]

    def census(self) -> Census:
        """Return what one pass over all samples tells."""
        return Census(*self.data.total(_census))

    def count_directions(self) -> int:
        """Estimate how many different directions they have, from a share of them."""
        return int(len(self._lengths_per_direction) / self._share_looked_at)

    @property
    def _share_looked_at(self) -> float:
        n, p = self.data.shape
        return min(1.0, _KEYS * n / p)

    @cached_property
    def _lengths_per_direction(self) -> np.ndarray:
        keys = self.data.total(_keys, self._share_looked_at, merge=_side_by_side)
        return count_lengths(keys[0], self.data.dtype)

    def zeros(self, direction: np.ndarray, vanishing: float, most: int) -> Zeros:
        """Find the zeros of the row q'Y, and the Gram matrix of about ``most`` samples there."""
        share = most / self.data.shape[1]
        return Zeros(*self.data.total(_zeros, direction, vanishing, share))

    def lone(self, direction: np.ndarray, vanishing: float, most: int, factor: np.ndarray) -> int:
        """Count the zeros of leverage 1 among them, given a factor of their inverse Gram matrix."""
        share = most / self.data.shape[1]
        found = self.data.total(_leverages, direction, vanishing, share, factor, merge=joined)
        usual = usual_lengths(self._lengths_per_direction)
        return count_lone(Leverages(*found), self.data.dtype, usual)

    def round(self, direction: np.ndarray) -> Rounding:
        """Round a direction against all the data."""
        return round_partitioned(self.data, self._sample, direction)

    def coefficients(self, form: NormalForm, vanishing: np.ndarray) -> Any:
        """Return X = scales * Q'Y as a Dask array, not computed yet, chunked like Y."""
        matrix = form.scales[:, None] * form.directions.T
        blocks = self.data.mapped(_coefficients, matrix, form.scales, vanishing, rows=len(matrix))
        return blocks.to_dask()

    def some_coefficients(self, form: NormalForm, vanishing: np.ndarray) -> np.ndarray:
        """Return some columns of X, as an array."""
        matrix = form.scales[:, None] * form.directions.T
        return _coefficients(self._sample, matrix, form.scales, vanishing)

    def preview(self, form: NormalForm, vanishing: np.ndarray) -> None:
        """Return nothing: the coefficients are many, and far."""

    @cached_property
    def _sample(self) -> np.ndarray:
        """Every so many columns, for all first guesses of roundings."""
        n, p = self.data.shape
        return self.data.take(np.arange(0, p, sample_step(n, p)))


def _sum(block: np.ndarray, first: int) -> tuple[np.ndarray]:
    return (block.sum(axis=1, dtype=np.float64),)


def _census(block: np.ndarray, first: int) -> Census:
    return census_of(block, column_lengths(block))


def _zeros(
    block: np.ndarray, first: int, direction: np.ndarray, vanishing: float, share: float
) -> tuple[int, np.ndarray, float]:
    most = int(np.ceil(share * block.shape[1]))
    found = zeros_of(block, column_lengths(block), direction, vanishing, most)
    return found.count, found.unit_gram, found.eighth


def _keys(block: np.ndarray, first: int, share: float) -> tuple[np.ndarray]:
    keys = sample_keys(block, column_lengths(block))
    # By what copies have in common: all of them are chosen, or none.
    return (keys[:, np.modf(_FINE * keys[0])[0] < share],)


def _side_by_side(parts: Sequence[tuple[np.ndarray]]) -> tuple[np.ndarray]:
    return (np.concatenate([keys for (keys,) in parts], axis=1),)


def _leverages(
    block: np.ndarray,
    first: int,
    direction: np.ndarray,
    vanishing: float,
    share: float,
    factor: np.ndarray,
) -> Leverages:
    most = int(np.ceil(share * block.shape[1]))
    return leverages(block, column_lengths(block), direction, vanishing, most, factor)


def _coefficients(
    block: np.ndarray, matrix: np.ndarray, scales: np.ndarray, vanishing: np.ndarray
) -> np.ndarray:
    X = matrix.astype(block.dtype) @ block
    clear_rounding(X, column_lengths(block), scales, vanishing)
    return X
