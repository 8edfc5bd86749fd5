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

from typing import Any

import numpy as np
import scipy.sparse
from scipy.linalg import eigvalsh
from scipy.sparse.linalg import LinearOperator, eigsh

from riemtr.manifolds.arrays import adjoint
from riemtr.problems.random_data import block_rows

# Rows up to which all eigenvalues are computed; beyond, Lanczos takes less time.
_DENSE = 1500
# Lanczos vectors that are kept: the eigenvalue asked for has many others beside it.
_LANCZOS_VECTORS = 80
# Relative error of an eigenvalue at which Lanczos stops.
_EIGENVALUE_ERROR = 1e-9
# Seed of Lanczos' first vector, so that a bound is the same in every call.
_SEED = 17


def block_bound(matrix: Any, factor: np.ndarray, block: int = 1) -> float:
    """Return a number that half of <C, YY'> is not below, for any Y with orthonormal blocks.

    Parameters
    ----------
    matrix : ndarray, sparse matrix or LinearOperator, shape (N, N)
        The matrix C, symmetric or Hermitian.
    factor : ndarray, shape (N, r)
        The matrix Y from which the multipliers are made.
    block : int
        The number d of rows in a block.

    Examples
    --------
    >>> import numpy as np
    >>> edge = np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> float(block_bound(edge, np.array([[1.0], [-1.0]])))  # and <C, YY'> / 2 is -1 at this Y
    -1.0
    """
    rows = matrix.shape[0]
    count = rows // block
    images = (matrix @ factor).reshape(count, block, -1)
    products = images @ adjoint(factor.reshape(count, block, -1))
    multipliers = 0.5 * (products + adjoint(products))
    trace = float(np.trace(multipliers, axis1=1, axis2=2).real.sum())
    places = block * np.arange(count)
    diagonal = block_rows(places, places, multipliers, (rows, rows))
    least = smallest_eigenvalue(matrix, diagonal)
    return 0.5 * trace + 0.5 * rows * min(0.0, least)


def smallest_eigenvalue(matrix: Any, subtracted: Any) -> float:
    """Return the smallest eigenvalue of the difference of two matrices, of which one is sparse."""
    rows = matrix.shape[0]
    if rows <= _DENSE:
        if isinstance(matrix, LinearOperator):
            matrix = matrix @ np.eye(rows)
        dense = matrix.toarray() if scipy.sparse.issparse(matrix) else np.asarray(matrix)
        return float(eigvalsh(dense - subtracted.toarray(), subset_by_index=[0, 0])[0])
    kind = np.result_type(matrix.dtype, subtracted.dtype)

    def product(vector: np.ndarray) -> np.ndarray:
        return matrix @ vector - subtracted @ vector

    operator = LinearOperator((rows, rows), matvec=product, dtype=kind)
    start = np.random.default_rng(_SEED).standard_normal(rows).astype(kind)
    values, vectors = eigsh(
        operator, k=1, which="SA", v0=start, ncv=_LANCZOS_VECTORS, tol=_EIGENVALUE_ERROR
    )
    residual = product(vectors[:, 0]) - values[0] * vectors[:, 0]
    return float(values[0] - np.linalg.norm(residual))
