"""Deflation of data that no machine holds: the coordinates turn, the data stay as they are.

In place of V'Y there are Y, in blocks of samples that Dask keeps, and V, n x n, here: sums over
samples are turned where they arrive.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from riemtr.data.blocks import column_lengths
from riemtr.data.partitioned import Partitioned, Projection
from riemtr.recovery.deflation import Coordinates
from riemtr.recovery.lone_samples import count_lone
from riemtr.recovery.partitioned_rounding import round_partitioned, sample_step
from riemtr.recovery.reconstruction import NormalForm
from riemtr.recovery.rounding import Rounding
from riemtr.recovery.zeros import Zeros, clear_rounding, zeros_of


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

    def count_samples(self) -> int:
        """Count the samples that are not zero."""
        return int(self.data.total(_samples)[0])

    def zeros(self, direction: np.ndarray, vanishing: float, most: int) -> Zeros:
        """Find the zeros of the row q'Y, and the Gram matrix of about ``most`` samples there."""
        share = most / self.data.shape[1]
        return Zeros(*self.data.total(_zeros, direction, vanishing, share))

    def lone(self, direction: np.ndarray, vanishing: float, most: int, factor: np.ndarray) -> int:
        """Count the zeros of leverage 1 among them, given a factor of their inverse Gram matrix."""
        share = most / self.data.shape[1]
        return int(self.data.total(_lone, direction, vanishing, share, factor)[0])

    def round(self, direction: np.ndarray) -> Rounding:
        """Round a direction against all the data."""
        return round_partitioned(self.data, self._sample, direction)

    def coefficients(self, form: NormalForm, vanishing: np.ndarray) -> Any:
        """Return X = scales * Q'Y as a Dask array, not computed yet, chunked like Y."""
        matrix = form.scales[:, None] * form.directions.T
        blocks = self.data.mapped(_coefficients, matrix, form.scales, vanishing, rows=len(matrix))
        return blocks.to_dask()

    @cached_property
    def _sample(self) -> np.ndarray:
        """Every so many columns, for all first guesses of roundings."""
        n, p = self.data.shape
        return self.data.take(np.arange(0, p, sample_step(n, p)))


def _sum(block: np.ndarray, first: int) -> tuple[np.ndarray]:
    return (block.sum(axis=1, dtype=np.float64),)


def _samples(block: np.ndarray, first: int) -> tuple[int]:
    return (int(np.count_nonzero(column_lengths(block))),)


def _zeros(
    block: np.ndarray, first: int, direction: np.ndarray, vanishing: float, share: float
) -> tuple[int, np.ndarray]:
    most = int(np.ceil(share * block.shape[1]))
    found = zeros_of(block, column_lengths(block), direction, vanishing, most)
    return found.count, found.gram


def _lone(
    block: np.ndarray,
    first: int,
    direction: np.ndarray,
    vanishing: float,
    share: float,
    factor: np.ndarray,
) -> tuple[int]:
    most = int(np.ceil(share * block.shape[1]))
    return (count_lone(block, column_lengths(block), direction, vanishing, most, factor),)


def _coefficients(
    block: np.ndarray, matrix: np.ndarray, scales: np.ndarray, vanishing: np.ndarray
) -> np.ndarray:
    X = matrix.astype(block.dtype) @ block
    clear_rounding(X, column_lengths(block), scales, vanishing)
    return X
