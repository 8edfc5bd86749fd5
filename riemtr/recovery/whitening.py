"""Singular values and whitened copies of data, in passes.

Forming ``Y Y'`` squares the condition number. Data that are not well conditioned are therefore
whitened in several passes, each on the result of the one before (as in CholeskyQR2), and what comes
out has orthogonal rows to rounding at any condition number that is not a numerical rank deficiency.
Blocks of columns keep the memory at that of the result.
"""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import numpy as np

from riemtr.data.aligned_arrays import empty_aligned
from riemtr.data.blocks import Blocks, gram, product_blocks
from riemtr.data.partitioned import Matrix, Partitioned
from riemtr.recovery.reconstruction import column_signs
from riemtr.recovery.units import power_of_two

_WELL_CONDITIONED = 1e-2  # eigenvalue ratio of a Gram matrix from which one pass is accurate
_MOST_PASSES = 6  # three whiten anything that is not rank-deficient: it only guards the loop


@dataclass(frozen=True, eq=False)
class Whitening:
    """``unit * Y = left @ diag(values) @ (turn @ Z)``, whose last factor has orthonormal rows."""

    left: np.ndarray
    values: np.ndarray
    turn: np.ndarray
    Z: Matrix
    unit: float


def decompose(Y: Matrix, pool: Executor | None = None) -> Whitening:
    """Find the singular values and vectors of Y, with threads of a pool if there is one.

    Those of data with more rows than columns are found from the small triangular factor R of
    Y = Q R: the Gram matrix of all rows would be larger than Y.
    """
    n = Y.shape[0]
    if isinstance(Y, Partitioned) or n <= Y.shape[1]:
        return _in_passes(Y, n, pool)
    unit = power_of_two(Y)
    Q, R = np.linalg.qr(Y.astype(np.float64) * unit)
    small = _in_passes(R.astype(Y.dtype), n)
    left = Q @ small.left
    signs = column_signs(left)
    return Whitening(left * signs, small.values, signs[:, None] * small.turn, small.Z, unit)


def _in_passes(Y: Matrix, n: int, pool: Executor | None = None) -> Whitening:
    """Find them in passes over whitened copies Z of Y.

    The invariant is ``unit * Y = root @ Z``: each pass whitens Z by its own Gram matrix and
    multiplies root by what that took out. A Gram matrix does not resolve eigenvalues below a
    floor; those are raised to it, and what remains of them is left to the next pass. Two such
    passes reach ``floor * largest``: singular values that small are rounding, and are dropped.

    Parameters
    ----------
    Y : Matrix
    n : int
        The size that rounding errors grow with: the rows of the data that Y stands for.
    """
    floor = 10 * n * float(np.finfo(np.float64).eps)
    tolerance = max(2 * floor, n * float(np.finfo(np.float32).eps) * (Y.dtype == np.float32))
    unit = power_of_two(Y)
    Z: Matrix = Y
    root = np.eye(Y.shape[0])
    for _ in range(_MOST_PASSES):
        eigenvalues, vectors = np.linalg.eigh(_gram(Z, unit if Z is Y else 1.0, pool))
        if eigenvalues[-1] == 0:
            raise ValueError("Y must not be zero everywhere; got only zeros")
        spread = np.sqrt(np.maximum(eigenvalues, floor * eigenvalues[-1]))
        left, values, right = np.linalg.svd(root @ (vectors * spread), full_matrices=False)
        kept = int(np.count_nonzero(values > tolerance * values[0]))
        turn = right[:kept] @ (vectors / spread).T
        left, values = left[:, :kept], values[:kept]
        if eigenvalues[0] >= _WELL_CONDITIONED * eigenvalues[-1]:
            break
        Z, root = apply_map(turn, Z, Y, unit, pool), left * values
        turn = np.eye(kept)
    signs = column_signs(left)  # or rounding would choose them
    return Whitening(left * signs, values, signs[:, None] * turn, Z, unit)


def _gram(Z: Matrix, unit: float, pool: Executor | None) -> np.ndarray:
    """Return ``unit^2 Z Z'``, summed in float64."""
    data = Z if isinstance(Z, Partitioned) else Blocks(Z, pool)
    return data.total(_gram_of_block, unit)[0]


def _gram_of_block(block: np.ndarray, first: int, unit: float) -> tuple[np.ndarray]:
    return (gram(block, unit),)


def apply_map(
    map_: np.ndarray, Z: Matrix, Y: Matrix, unit: float, pool: Executor | None = None
) -> Any:
    """Return ``map_ @ Z``: over Z itself, or if that is still the user's Y, in a new array.

    What is partitioned is mapped when visited, and so takes no memory until it is kept.
    """
    r = map_.shape[0]
    if isinstance(Z, Partitioned):
        return Z.mapped(_apply_to_block, map_, unit if Z is Y else 1.0, rows=r)
    if Z is Y:
        out = empty_aligned((r, Y.shape[1]), Y.dtype)
    else:
        out, unit = Z[:r], 1.0
    Blocks(Z, pool).visit(_map_into, out, map_, unit)
    return out


def _map_into(
    block: np.ndarray, first: int, out: np.ndarray, map_: np.ndarray, unit: float
) -> None:
    for columns, part in product_blocks(block, unit):
        out[:, first + columns.start : first + columns.stop] = map_ @ part


def _apply_to_block(block: np.ndarray, map_: np.ndarray, unit: float) -> np.ndarray:
    return apply_map(map_, block, block, unit)
