"""The columns of a large matrix, read where they lie: products and Gram matrices by blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import lapack

from riemtr.data.blocks import Samples, column_blocks, samples_of

_WORTH_GATHERING = 0.65  # share of nonzero weights below which the others are left out
_SAMPLE = 64  # columns per row that a guess is made from
_SAMPLE_ROWS = 128
_WELL_CONDITIONED = 1e-10  # reciprocal condition of C C' above which C serves as it is


@dataclass(frozen=True)
class Columns:
    """The k x m matrix C = scale * basis' M, never formed unless M is small.

    Parameters
    ----------
    matrix : ndarray or Samples, shape (n, m)
        M, real, of any type and memory layout; it is never copied whole. Where Dask keeps it,
        every product is a visit to its blocks, and arrays as long as a row come back.
    scale : float
        Brings the entries of M near 1.
    basis : ndarray, shape (n, k), optional
        None stands for the identity, and for a matrix small enough to be replaced.
    noise : float
        Singular values of C up to this are rounding.
    whole : Columns, optional
        The same scale * M without a basis, which keeps what does not depend on one.
    """

    matrix: Any
    scale: float = 1.0
    basis: np.ndarray | None = None
    noise: float = 0.0
    whole: Columns | None = None

    @property
    def rows(self) -> int:
        """The number k of rows."""
        return self.matrix.shape[0] if self.basis is None else self.basis.shape[1]

    @property
    def count(self) -> int:
        """The number m of columns."""
        return self.matrix.shape[1]

    def dot(self, x: np.ndarray) -> np.ndarray:
        """Return C'x, of length m."""
        weights = self.scale * (x if self.basis is None else self.basis @ x)
        if self._plain:
            return weights @ self._array
        return self._joined(_dot, weights)

    def combine(self, t: np.ndarray) -> np.ndarray:
        """Return C t, of length k."""
        t = self.scale * t
        total = self._array @ t if self._plain else self._sum(_combine, t)
        return total if self.basis is None else self.basis.T @ total

    def gram(self, weight: np.ndarray) -> np.ndarray:
        """Return C diag(weight) C', k x k, for weights >= 0."""
        root = self.scale * np.sqrt(weight)
        basis = self.basis
        if basis is None and self._plain and len(column_blocks(self.matrix.shape)) == 1:
            scaled = self._array * root
            return scaled @ scaled.T
        # an orthonormal basis can wait until the end; another one was made to undo M's condition
        early = None if self._isometric else basis
        total = self._sum(_weighted_gram, root, early)
        return basis.T @ total @ basis if basis is not None and early is None else total

    def take(self, chosen: np.ndarray) -> np.ndarray:
        """Return the chosen columns of C as an array."""
        part = self._data.take(chosen)
        part = self.scale * part.astype(np.float64, copy=False)
        return part if self.basis is None else self.basis.T @ part

    @cached_property
    def lengths(self) -> np.ndarray:
        """The Euclidean lengths of the columns of scale * M."""
        if self.whole is not None:
            return self.whole.lengths
        squares = self._joined(_column_squares, self.scale)
        return np.sqrt(squares, out=squares)

    @cached_property
    def row_lengths(self) -> np.ndarray:
        """The Euclidean lengths of the rows of scale * M."""
        if self.whole is not None:
            return self.whole.row_lengths
        return np.sqrt(self._sum(_row_squares, self.scale))

    @cached_property
    def narrow_sample(self) -> np.ndarray:
        """The :meth:`sample` in single precision."""
        return self.sample(np.float32) if self.whole is None else self.whole.narrow_sample

    def sample(self, dtype: Any) -> np.ndarray:
        """Return columns of scale * M in equal distances, as rows: enough for a guess."""
        n, m = self.matrix.shape
        taken = self._data.take(np.arange(0, m, self.sample_step))
        out = np.empty((taken.shape[1], n), dtype=dtype)
        for first in range(0, len(out), _SAMPLE_ROWS):  # small blocks: a transpose in the cache
            rows = slice(first, first + _SAMPLE_ROWS)
            out[rows] = (self.scale * taken[:, rows]).astype(dtype).T
        return out

    @property
    def sample_step(self) -> int:
        """The distance between columns of the sample."""
        n, m = self.matrix.shape
        return max(m // (_SAMPLE * n), 1)

    @property
    def longest_row(self) -> float:
        """A bound, not loose by more than sqrt(n), on the lengths of the rows of C."""
        if self.basis is None:
            return float(self.row_lengths.max(initial=0.0))
        return float(np.max(self.row_lengths @ np.abs(self.basis), initial=0.0))

    @cached_property
    def total(self) -> np.ndarray:
        """The Gram matrix C C'."""
        return self.gram(np.ones(self.count))

    def well_conditioned(self) -> tuple[Columns, np.ndarray | None]:
        """Return columns spanning the same rows, well conditioned, and the change of basis.

        The change T, None where nothing changed, maps coordinates back: x_old = T x_new. Rows
        that depend on others to rounding are dropped, so T may have fewer columns than rows.
        """
        if self.rows == 0:
            return self, None
        gram = self.total
        factor, failed = lapack.dpotrf(gram)
        if not failed:
            norm = float(np.abs(gram).sum(axis=0).max())
            smallest = lapack.dpocon(factor, norm)[0] * norm
            # a basis applied to the Gram matrix of M leaves rounding of M's size, not of C's
            size = norm if self.basis is None else max(norm, float(np.sum(self.row_lengths**2)))
            if smallest > max(_WELL_CONDITIONED * size, self.noise**2):
                return self, None
        change = self._whitening()
        if self.basis is None:
            return Columns(self.scale * (change.T @ self._array)), change
        return Columns(self.matrix, self.scale, self.basis @ change), change

    def _whitening(self) -> np.ndarray:
        """Return T of full column rank with (T'C)(T'C)' = I, from orthogonal factors of blocks."""
        triangle = self._data.total(_triangle, self.scale, self.basis, merge=_one_triangle)
        _, values, right = np.linalg.svd(triangle, full_matrices=False)
        floor = np.finfo(float).eps * max(self.rows, self.count) * values.max(initial=0.0)
        kept = values > max(floor, self.noise)
        return right[kept].T / values[kept]

    @cached_property
    def _isometric(self) -> bool:
        """Whether the basis is orthonormal."""
        if self.basis is None:
            return True
        excess = self.basis.T @ self.basis - np.eye(self.rows)
        return float(np.max(np.abs(excess), initial=0.0)) < 1e-8

    @cached_property
    def _plain(self) -> bool:
        """Whether BLAS can read the matrix where it lies."""
        matrix = self._data.array
        if matrix is None:
            return False
        if matrix.dtype != np.float64 or not matrix.flags.aligned:
            return False
        step, other = sorted(matrix.strides)
        return step == 8 and other >= 8 * min(matrix.shape) and other % 8 == 0

    @cached_property
    def _data(self) -> Samples:
        return samples_of(self.matrix)

    @property
    def _array(self) -> np.ndarray:
        array = self._data.array
        assert array is not None
        return array

    def _sum(self, function: Callable[..., tuple[np.ndarray]], *arguments: Any) -> np.ndarray:
        return self._data.total(function, *arguments)[0]

    def _joined(self, function: Callable[..., np.ndarray], *arguments: Any) -> np.ndarray:
        return self._data.total(function, *arguments, merge=np.concatenate)


def _dot(block: np.ndarray, first: int, weights: np.ndarray) -> np.ndarray:
    return weights @ np.asarray(block, dtype=np.float64)


def _combine(block: np.ndarray, first: int, t: np.ndarray) -> tuple[np.ndarray]:
    return (np.asarray(block, dtype=np.float64) @ t[first : first + block.shape[1]],)


def _weighted_gram(
    block: np.ndarray, first: int, root: np.ndarray, early: np.ndarray | None
) -> tuple[np.ndarray]:
    block, weights = np.asarray(block, dtype=np.float64), root[first : first + block.shape[1]]
    chosen = np.flatnonzero(weights)
    if len(chosen) < _WORTH_GATHERING * len(weights):
        block, weights = np.take(block, chosen, axis=1), weights[chosen]
    scaled = block * weights
    if early is not None:
        scaled = early.T @ scaled
    return (scaled @ scaled.T,)


def _column_squares(block: np.ndarray, first: int, scale: float) -> np.ndarray:
    block = scale * np.asarray(block, dtype=np.float64)
    return np.einsum("ij,ij->j", block, block)


def _row_squares(block: np.ndarray, first: int, scale: float) -> tuple[np.ndarray]:
    block = scale * np.asarray(block, dtype=np.float64)
    return (np.einsum("ij,ij->i", block, block),)


def _triangle(block: np.ndarray, first: int, scale: float, basis: np.ndarray | None) -> np.ndarray:
    block = scale * np.asarray(block, dtype=np.float64)
    if basis is not None:
        block = basis.T @ block
    return np.asarray(np.linalg.qr(block.T, mode="r"))


def _one_triangle(triangles: Sequence[np.ndarray]) -> np.ndarray:
    return np.asarray(np.linalg.qr(np.vstack(triangles), mode="r"))
