r"""Bounds that no point is below, from the semidefinite relaxation of a quadratic form.

Let blocks :math:`Y_1, \dots, Y_k` of d rows each have orthonormal rows, and let Y be all of them,
one above the other. Then X = YY' is positive semidefinite and its diagonal blocks are identities;
its trace is dk. For all such X, and all block-diagonal :math:`\Lambda`,

.. math:: \tfrac12 \langle C, X \rangle
   = \tfrac12 \operatorname{tr} \Lambda + \tfrac12 \langle C - \Lambda, X \rangle
   \ge \tfrac12 \operatorname{tr} \Lambda + \tfrac12 dk \min(0, \lambda_{\min}(C - \Lambda)).

At a critical point Y the multipliers :math:`\Lambda_i = \operatorname{sym}((CY)_i Y_i')` make the
first term its cost; where :math:`C - \Lambda` is positive semidefinite, Y is a global minimizer.
Boumal, Voroninski and Bandeira, *Deterministic guarantees for Burer-Monteiro factorizations of
smooth semidefinite programs* (2020); Rosen, Carlone, Bandeira and Leonard, *SE-Sync* (2019).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse
from scipy.linalg import cho_factor, cho_solve, eigvalsh
from scipy.sparse.linalg import splu

from riemtr.manifolds.arrays import adjoint
from riemtr.problems.random_data import block_rows

# Rows up to which a sparse matrix is made dense for its smallest eigenvalue.
_DENSE = 1500
# Shifts of a sparse matrix that make it definite, relative to its diagonal: the first is about what
# rounding allows.
_FIRST_SHIFT = 1e-13
# The factor between two shifts.
_SHIFT_FACTOR = 10.0
# Halvings, on a logarithmic scale, of the range that the least of them lies in.
_HALVINGS = 4


def block_bound(
    matrix: Any, factor: np.ndarray, block: int = 1, constrained: int | None = None
) -> float:
    """Return a number that half of <C, YY'> is not below, for any Y with orthonormal blocks.

    Parameters
    ----------
    matrix : ndarray or sparse matrix, shape (N, N)
        The matrix C, symmetric or Hermitian.
    factor : ndarray, shape (N, r)
        The matrix Y from which the multipliers are made.
    block : int
        The number d of rows in a block.
    constrained : int, optional
        The number of rows in blocks, all if not given. Rows after them are free; in ``factor`` they
        are at their best for the others, and C must be positive definite in them.

    Examples
    --------
    >>> import numpy as np
    >>> edge = np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> float(block_bound(edge, np.array([[1.0], [-1.0]])))  # and <C, YY'> / 2 is -1 at this Y
    -1.0
    """
    rows = matrix.shape[0]
    end = rows if constrained is None else constrained
    count = end // block
    images = (matrix @ factor)[:end].reshape(count, block, -1)
    products = images @ adjoint(factor[:end].reshape(count, block, -1))
    multipliers = 0.5 * (products + adjoint(products))
    trace = float(np.trace(multipliers, axis1=1, axis2=2).real.sum())
    places = block * np.arange(count)
    difference = matrix - block_rows(places, places, multipliers, (rows, rows))
    return 0.5 * trace + 0.5 * end * min(0.0, _smallest_eigenvalue(difference, end))


def _smallest_eigenvalue(matrix: Any, end: int) -> float:
    """Return a lower bound, tight but for rounding, on the smallest eigenvalue.

    Rows from ``end`` on are eliminated first.
    """
    if scipy.sparse.issparse(matrix) and matrix.shape[0] > _DENSE:
        return -_definite_shift(matrix.tocsc(), end)
    dense = matrix.toarray() if scipy.sparse.issparse(matrix) else np.asarray(matrix)
    if end < len(dense):
        mixed = dense[:end, end:]
        dense = dense[:end, :end] - mixed @ cho_solve(cho_factor(dense[end:, end:]), adjoint(mixed))
    return float(eigvalsh(dense, subset_by_index=[0, 0])[0])


def _definite_shift(matrix: Any, end: int) -> float:
    """Return a number that makes a sparse matrix positive definite if added to its diagonal.

    It is added to rows before ``end`` only: that makes the whole definite just where it makes what
    is left after elimination of the others definite. One factorization tells for each number, and
    needs no eigenvalues, of which there are thousands beside the smallest.
    """
    unit = scipy.sparse.diags((np.arange(matrix.shape[0]) < end).astype(float)).tocsc()
    scale = float(np.abs(matrix.diagonal()).mean())
    low, high = 0.0, _FIRST_SHIFT * scale
    while not _is_definite(matrix + high * unit):
        low, high = high, _SHIFT_FACTOR * high
    for _ in range(_HALVINGS if low > 0.0 else 0):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if _is_definite(matrix + middle * unit) else (middle, high)
    return high


def _is_definite(matrix: Any) -> bool:
    """Whether a sparse symmetric matrix is positive definite: all pivots are positive, in order."""
    try:
        factor = splu(
            matrix,
            permc_spec="MMD_AT_PLUS_A",
            diag_pivot_thresh=0.0,
            options={"SymmetricMode": True},
        )
    except RuntimeError:  # it is singular
        return False
    in_order = np.array_equal(factor.perm_r, factor.perm_c)
    return in_order and bool(np.all(factor.U.diagonal() > 0.0))
