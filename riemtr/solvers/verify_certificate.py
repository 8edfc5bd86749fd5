"""Check a proof that ``riemtr.solve_semidefinite(C, block).save(FILE)`` wrote, without riemtr.

``python verify_certificate.py FILE``. The file claims that FF' (F is ``factor``) is feasible, that
<C, FF'> is ``value``, and that no positive semidefinite X with identity blocks on its diagonal has
<C, X> < ``lower_bound``. For any block-diagonal L (``multipliers``) and any s, <C, X> >= tr L - n s
if C - L + s I is positive semidefinite. A factorization proves it but for rounding errors of at
most gamma |G||G'| (Higham, Accuracy and Stability of Numerical Algorithms, theorems 9.3, 10.3)."""

import math
import sys

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu


def claim(holds, otherwise):
    """Raise an error where a claim does not hold; an assertion would be silent under -O."""
    if not holds:
        raise ArithmeticError(otherwise)


def rounding_of_proof(matrix):
    """Bound <R, X> for the rounding R of a factorization."""
    unit, ones = 2.0**-53 * (4 if np.iscomplexobj(matrix) else 1), np.ones(matrix.shape[0])
    if not sp.issparse(matrix):
        factor = np.abs(np.linalg.cholesky(matrix))
        return (len(ones) + 10) * unit * 1.01 * float(np.sum((ones @ factor) ** 2))
    symmetric = {"diag_pivot_thresh": 0.0, "options": {"SymmetricMode": True}}
    lu = splu(matrix.tocsc(), permc_spec="MMD_AT_PLUS_A", **symmetric)
    low, up, pivots = lu.L.tocsr(), lu.U.tocsr(), lu.U.diagonal().real
    claim(np.array_equal(lu.perm_r, lu.perm_c) and np.all(pivots > 0.0), "the dual is indefinite")
    left, apart = ones @ abs(low), abs(up - sp.diags(pivots) @ low.conj().T) @ ones
    gamma = (int(np.diff(low.indptr).max()) + 10) * unit * 1.01
    return float(gamma * (left @ (abs(up) @ ones)) + (1.0 + gamma) * (left @ apart))


def verify(factor, multipliers, value, lower_bound, matrix=None, **sparse):
    """Raise an error that says which claim is not proved."""
    n, (k, d, _), blocks = len(factor), multipliers.shape, multipliers
    C = sp.csr_matrix(tuple(sparse.values()), shape=(n, n)) if matrix is None else matrix
    claim(k * d == n and C.shape == (n, n) and abs(lower_bound) < math.inf, "it does not fit")
    claim(abs(C - C.conj().T).max() == 0.0, "C is not finite and Hermitian")  # NaN included
    claim(np.array_equal(blocks, blocks.conj().swapaxes(1, 2)), "L is not finite and Hermitian")
    grams = (frames := factor.reshape(k, d, -1)) @ frames.conj().swapaxes(1, 2)
    claim(abs(grams - np.eye(d)).max() <= 1e-10, "the factor is not feasible")
    size = max(abs(value), float(abs(C.diagonal()).sum()))
    claim(abs(np.vdot(factor, C @ factor).real - value) <= 1e-11 * size, "the value is wrong")
    S, unit = C - sp.block_diag(list(blocks), format="csr"), sp.eye(n, format="csr")
    if n <= 2500 or not sp.issparse(S):
        S, unit = (S.toarray() if sp.issparse(S) else np.asarray(S)), np.eye(n)
    room = math.fsum(np.trace(blocks, axis1=1, axis2=2).real) - lower_bound
    shift = (room - 1.5 * rounding_of_proof(S + room / n * unit)) / n
    claim(shift * n + rounding_of_proof(S + shift * unit) <= room, "the bound is not proved")
    print(f"verified: value {value:.15g}, and nothing is below {lower_bound:.15g}")


if __name__ == "__main__":
    with np.load(sys.argv[1], allow_pickle=False) as file:
        verify(**{name: file[name][()] for name in file.files})
