r"""Semidefinite relaxations of quadratic forms, and bounds that no point is below.

Let blocks :math:`Y_1, \dots, Y_k` of d rows each have orthonormal rows, and let Y be all of them,
one above the other. Then X = YY' is positive semidefinite and its diagonal blocks are identities;
its trace is dk. For all such X, and all block-diagonal :math:`\Lambda`,

.. math:: \langle C, X \rangle = \operatorname{tr} \Lambda + \langle C - \Lambda, X \rangle
   \ge \operatorname{tr} \Lambda + dk \min(0, \lambda_{\min}(C - \Lambda)).

This holds at every point and for all multipliers: nothing is assumed of the point that they were
made from. At a critical point Y the multipliers
:math:`\Lambda_i = \operatorname{sym}((CY)_i Y_i')` make the first term the value of the form; where
:math:`C - \Lambda` is positive semidefinite, Y is a global minimizer. Boumal, Voroninski and
Bandeira, *Deterministic guarantees for Burer-Monteiro factorizations of smooth semidefinite
programs* (2020); Rosen, Carlone, Bandeira and Leonard, *SE-Sync* (2019).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from scipy.sparse.linalg import LinearOperator, aslinearoperator, splu

from riemtr.manifolds.arrays import adjoint
from riemtr.problem.books import lazy
from riemtr.problem.definite import DENSE_ROWS, prove, sum_rounded_down
from riemtr.problem.quadratic import block_rows

# Share of the relative gap asked for that a shift of the dual matrix may cost; one that does is not
# made smaller.
_ENOUGH = 0.05
# How far from the identity the blocks of a point may be that is still feasible but for rounding.
_FEASIBLE = 1e-10
# Relative gap asked for, if nothing else is: about the square root of the precision.
TOLERANCE = 1e-8


@dataclass(frozen=True)
class DualBound:
    """A number that the form is not below, for any positive semidefinite X with identity blocks.

    Attributes
    ----------
    value : float
        The form at the factor given.
    lower_bound : float
        The bound.
    multipliers : ndarray, shape (k, d, d)
        The blocks of Lambda.
    shift : float
        The dual matrix C - Lambda has no eigenvalue below minus this much, but for rounding that
        the bound accounts for.
    rounding : float
        The part of the gap that rounding is answerable for.
    infeasibility : float
        The largest entry by which blocks of YY' are not identities.
    failure_probability : float
        The chance that the bound is wrong: 0 but for matrices known by products alone.
    """

    value: float
    lower_bound: float
    multipliers: np.ndarray
    shift: float
    rounding: float
    infeasibility: float
    failure_probability: float

    @property
    def gap(self) -> float:
        """How much lower than the value the minimum may be; infinite for no feasible factor."""
        if not self.infeasibility <= _FEASIBLE:
            return math.inf
        return max(self.value - self.lower_bound, 0.0)


class Relaxation:
    """Minimise <C, X> over positive semidefinite X whose diagonal blocks are identities.

    Parameters
    ----------
    matrix : ndarray, sparse matrix or LinearOperator, shape (N, N)
        The matrix C, real symmetric or Hermitian.
    block : int
        The number d of rows in a block.
    constrained : int, optional
        The number of rows in blocks, all if not given. Rows after them are free, C must be positive
        definite in them, and they are eliminated: they are at their best for the others.
    reach : callable, optional
        ``reach(value)``, where rows are free: bounds on their lengths in all points at which the
        form is at most ``value``.

    Examples
    --------
    >>> import numpy as np
    >>> edge = np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> found = Relaxation(edge).bound(np.array([[1.0], [-1.0]]))
    >>> found.value, found.gap < 1e-8
    (-2.0, True)
    """

    def __init__(
        self,
        matrix: Any,
        block: int = 1,
        constrained: int | None = None,
        reach: Callable[[float], np.ndarray] | None = None,
    ):
        self.matrix, self.block = matrix, block
        self.rows = matrix.shape[0] if constrained is None else constrained
        self._reach = reach

    @property
    def count(self) -> int:
        """The number k of blocks."""
        return self.rows // self.block

    @lazy
    def reduced(self) -> Any:
        """The matrix of the form in the constrained rows alone, the others at their best."""
        if self.rows == self.matrix.shape[0]:
            return self.matrix
        shape = (self.rows, self.rows)
        return LinearOperator(shape, matvec=self._product, matmat=self._product, dtype=float)

    @lazy
    def _parts(self) -> tuple[Any, Any, Any]:
        """The matrix in constrained rows, between both kinds, and factors of that in free rows."""
        end = self.rows
        matrix = self.matrix.tocsr()
        free = splu(matrix[end:, end:].tocsc(), permc_spec="MMD_AT_PLUS_A")
        return matrix[:end, :end], matrix[end:, :end], free

    def _product(self, rows: np.ndarray) -> np.ndarray:
        fixed, mixed, free = self._parts
        return fixed @ rows - mixed.T @ free.solve(mixed @ rows)

    def completed(self, factor: np.ndarray) -> np.ndarray:
        """Return the constrained rows, and below them the free ones that are best for them."""
        if self.rows == self.matrix.shape[0]:
            return factor
        _, mixed, free = self._parts
        return np.concatenate([factor, free.solve(-(mixed @ factor))])

    def multipliers(self, factor: np.ndarray) -> np.ndarray:
        """Return the multipliers that belong to a factor, sym((CY)_i Y_i')."""
        images = (self.reduced @ factor).reshape(self.count, self.block, -1)
        products = images @ adjoint(factor.reshape(images.shape))
        return 0.5 * (products + adjoint(products))

    def dual_matrix(self, multipliers: np.ndarray) -> Any:
        """Return C - Lambda: dense or sparse, or an operator where it is too large to be formed."""
        rows, places = self.formed.shape[0], self.block * np.arange(self.count)
        below = block_rows(places, places, multipliers, (rows, rows))
        if isinstance(self.formed, LinearOperator):
            return self.formed - aslinearoperator(below)
        difference = self.formed - below
        return difference if scipy.sparse.issparse(difference) else np.asarray(difference)

    def reduced_dual_matrix(self, multipliers: np.ndarray) -> Any:
        """Return the same in the constrained rows alone, with the others at their best."""
        if self.rows == self.matrix.shape[0]:
            return self.dual_matrix(multipliers)
        places = self.block * np.arange(self.count)
        below = block_rows(places, places, multipliers, (self.rows, self.rows))
        return self.reduced - aslinearoperator(below)

    @lazy
    def formed(self) -> Any:
        """The matrix by its entries, if it has no more rows than can be made dense."""
        small = self.matrix.shape[0] <= DENSE_ROWS
        if not (isinstance(self.matrix, LinearOperator) and small):
            return self.matrix
        dense = self.matrix @ np.eye(self.matrix.shape[0])
        return 0.5 * (dense + adjoint(dense))

    @property
    def diagonal_size(self) -> float:
        """The sum of the diagonal of C by magnitude; 0 where it is not known."""
        if isinstance(self.formed, LinearOperator):
            return 0.0
        return float(np.abs(self.formed.diagonal()[: self.rows]).sum())

    def value(self, factor: np.ndarray) -> float:
        """Return the form at a factor."""
        return float(np.vdot(factor, self.reduced @ factor).real)

    def bound(
        self,
        factor: np.ndarray,
        multipliers: np.ndarray | None = None,
        tolerance: float = TOLERANCE,
    ) -> DualBound:
        """Return a number that the form is not below, as good as the multipliers are.

        Parameters
        ----------
        factor : ndarray, shape (rows, r)
            The matrix Y, without free rows.
        multipliers : ndarray, shape (k, d, d), optional
            Hermitian blocks; those that belong to the factor if not given.
        tolerance : float
            The relative gap asked for: no time is spent on a much smaller one.
        """
        value = self.value(factor)
        if multipliers is None:
            multipliers = self.multipliers(factor)
        # A point at which the form is larger than here is not below the bound anyway.
        reach = np.zeros(0) if self._reach is None else self._reach(value)
        sizes = np.concatenate([np.ones(self.rows), reach])
        enough = _ENOUGH * tolerance * abs(value) / self.rows
        proof = prove(self.dual_matrix(multipliers), sizes, self.rows, enough)
        terms = np.diagonal(multipliers, axis1=1, axis2=2).real.ravel().tolist()
        if proof.shift > 0.0:
            terms.append(-math.nextafter(self.rows * proof.shift, math.inf))
        below = sum_rounded_down([*terms, -proof.rounding])
        blocks = factor.reshape(self.count, self.block, -1)
        apart = float(np.abs(blocks @ adjoint(blocks) - np.eye(self.block)).max())
        return DualBound(
            value=value,
            lower_bound=below,
            multipliers=multipliers,
            shift=proof.shift,
            rounding=proof.rounding,
            infeasibility=apart,
            failure_probability=proof.failure_probability,
        )
