r"""The paper's cost on data partitioned over the samples.

With blocks :math:`Y_b` of :math:`p_b` columns,
:math:`f(q; Y) = \sum_b \frac{p_b}{p} f(q; Y_b)`, and so are gradient and Hessian. Each is one
visit to every block, wherever it is. A visit costs its round trip whatever it asks for, so value
and gradient come together, and the Hessian matrix with them where the blocks are small beside
that.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from riemtr.data.partitioned import Projection
from riemtr.problem.books import is_known, lazy
from riemtr.problems.dictionary_learning import DictionaryCost, smoothings

# Multiplications per block, n^2 times its width, that take no longer than a round trip.
_CHEAP_MATRIX = 2**27


class PartitionedCost:
    """The log-cosh cost f(q; B'M), for M partitioned over its columns.

    Parameters
    ----------
    data : Projection
        B'M.
    mu : float
        Smoothing parameter.
    """

    def __init__(self, data: Projection, mu: float):
        self.data = data
        self.mu = mu
        matrix = data.matrix
        self._matrix_is_cheap = matrix.rows**2 * max(matrix.widths) <= _CHEAP_MATRIX

    def __repr__(self) -> str:
        n, p = self.data.shape
        blocks = len(self.data.matrix.blocks)
        return f"PartitionedCost(n={n}, p={p} in {blocks} blocks, mu={self.mu:g})"

    def at(self, point: np.ndarray) -> PartitionedPoint:
        """Return the shared work at one point."""
        return PartitionedPoint(self, point)

    @property
    def dtype(self) -> np.dtype:
        """Floating-point type of the data."""
        return self.data.dtype

    @property
    def scale(self) -> float:
        """Root mean square of the data's entries: the typical size of <q, y>."""
        return self.data.scale

    def easier(self) -> Iterator[tuple[PartitionedCost, float]]:
        """Yield smoother versions of the cost, smoothest first, each with a gradient tolerance."""
        for mu, tolerance in smoothings(self.mu, self.scale):
            yield PartitionedCost(self.data, mu), tolerance


class PartitionedPoint:
    """The log-cosh cost at one point: one visit to the blocks for value and gradient."""

    def __init__(self, owner: PartitionedCost, point: np.ndarray):
        self._owner = owner
        self._basis = owner.data.basis
        # q' B'M = (B q)'M
        self._point = (self._basis @ point).astype(owner.dtype, copy=False)

    def _visit(self, function: object, *arguments: object) -> tuple:
        matrix = self._owner.data.matrix
        total: Any = matrix.total
        sums = total(function, self._point, self._owner.mu, *arguments)
        return tuple(each / matrix.shape[1] for each in sums)

    @lazy
    def _first_visit(self) -> tuple:
        return self._visit(_value_and_gradient, self._owner._matrix_is_cheap)

    @lazy
    def value(self) -> float:
        """The cost, eq. (main_obj)."""
        return float(self._first_visit[0])

    @lazy
    def gradient(self) -> np.ndarray:
        """Euclidean gradient, eq. (fq_grad)."""
        return self._basis.T @ self._first_visit[1]

    @lazy
    def _matrix(self) -> np.ndarray:
        known = self._first_visit[2:]
        (matrix,) = known or self._visit(_hessian_matrix)
        return self._basis.T @ matrix @ self._basis

    def hessian(self, vector: np.ndarray) -> np.ndarray:
        """Euclidean Hessian product, eq. (fq_hess)."""
        if self._owner._matrix_is_cheap or is_known(self, "_matrix"):
            return self._matrix @ vector
        along = (self._basis @ vector).astype(self._owner.dtype, copy=False)
        return self._basis.T @ self._visit(_hessian_product, along)[0]

    def hessian_matrix(self) -> np.ndarray:
        """Euclidean Hessian matrix, eq. (fq_hess)."""
        return self._matrix


def _value_and_gradient(
    block: np.ndarray, first: int, point: np.ndarray, mu: float, matrix_too: bool
) -> tuple:
    here, width = DictionaryCost(block, mu).at(point), block.shape[1]
    sums = (width * here.value, width * here.gradient)
    return (*sums, width * here.hessian_matrix()) if matrix_too else sums


def _hessian_matrix(block: np.ndarray, first: int, point: np.ndarray, mu: float) -> tuple:
    return (block.shape[1] * DictionaryCost(block, mu).at(point).hessian_matrix(),)


def _hessian_product(
    block: np.ndarray, first: int, point: np.ndarray, mu: float, vector: np.ndarray
) -> tuple:
    return (block.shape[1] * DictionaryCost(block, mu).at(point).hessian(vector),)
