"""Check a proof that ``riemtr.solve_semidefinite(C, block).save(FILE)`` wrote, without riemtr.

``python verify_certificate.py FILE`` exits with 0 if the file proves its claims. Otherwise it
prints one sentence and exits with 1. The claims are: FF' (F is ``factor``) has identity blocks on
its diagonal up to 1e-10, <C, FF'> is ``value`` up to rounding, and no positive semidefinite X with
identity blocks on its diagonal has <C, X> < ``lower_bound``. The script does not know your matrix:
compare the C of the file (``matrix``, or ``data``, ``indices`` and ``indptr``) with yours.

For any block-diagonal L (``multipliers``) and any s, <C, X> >= tr L - n s if C - L + s I is
positive semidefinite. A factorization proves it except for rounding errors of at most gamma |G||G'|
(Higham, Accuracy and Stability of Numerical Algorithms, theorems 9.3, 10.3) and underflow."""

import math
import os
import sys
import zipfile

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

UNIT, TINY = 2.0**-53, 2.0**-1074  # the largest errors of rounding, relative, and of underflow
DENSE = ["factor", "lower_bound", "matrix", "multipliers", "value"]
SPARSE = ["data", "factor", "indices", "indptr", "lower_bound", "multipliers", "value"]


def claim(holds, otherwise):
    """Raise an error where a claim does not hold; an assertion would be silent under -O."""
    if not holds:
        raise ArithmeticError(otherwise)


def read(path):
    """Return the arrays of a file that has each known name once, and nothing else."""
    with zipfile.ZipFile(path) as archive:  # it states all sizes before anything is unpacked
        size = sum(member.file_size for member in archive.infolist())
    claim(size <= max(2**30, 100 * os.path.getsize(path)), "the file would fill the memory")
    with np.load(path, allow_pickle=False) as file:
        claim(sorted(file.files) in (DENSE, SPARSE), f"the file must hold {DENSE} or {SPARSE}")
        return {name: file[name] for name in file.files}


def exact(arrays, name, axes, kinds="biufc"):
    """Return finite numbers in (complex) double precision, or for kinds "iu" whole numbers."""
    array = np.asarray(arrays[name])
    kind = np.int64 if kinds == "iu" else complex if array.dtype.kind == "c" else float
    claim(array.dtype.kind in kinds, f"{name} must not have entries of type {array.dtype}")
    claim(array.ndim == axes, f"{name} must have {axes} axes and not {array.ndim}")
    cast = array.astype(kind)
    whole = np.isfinite(cast).all() and np.array_equal(cast.astype(array.dtype), array)
    claim(whole, f"{name} must be finite, and exact in double precision")
    return cast


def sparse(arrays, n):
    """Return the sparse matrix C; no index is used before all of them were checked."""
    indices, ends = exact(arrays, "indices", 1, "iu"), exact(arrays, "indptr", 1, "iu")
    data = exact(arrays, "data", 1)
    fits = len(ends) == n + 1 and ends[0] == 0 and (ends[:-1] <= ends[1:]).all()
    claim(fits and len(data) == len(indices) == ends[-1], "indptr does not fit the other arrays")
    claim(((indices >= 0) & (indices < n)).all(), "an index is outside of the matrix")
    rows = np.repeat(np.arange(n), np.diff(ends))
    C = sp.coo_matrix((data, (rows, indices)), shape=(n, n)).tocsr()
    claim(C.nnz == len(data), "an entry of the matrix is given twice")
    return C.toarray() if n <= 2500 else C


def rounding_of_proof(matrix):
    """Bound -<R, X> for what a factorization misses, R; infinite if there is no factorization."""
    n, unit = matrix.shape[0], UNIT * (4 if np.iscomplexobj(matrix) else 1)
    claim(abs(matrix).max() < math.inf, "the numbers are too large")
    options = {"diag_pivot_thresh": 0.0, "options": {"SymmetricMode": True}}
    try:
        if sp.issparse(matrix):
            lu = splu(matrix.tocsc(), permc_spec="MMD_AT_PLUS_A", **options)
            low, up, pivots = lu.L.tocsr(), lu.U.tocsr(), lu.U.diagonal().real
            claim(np.array_equal(lu.perm_r, lu.perm_c) and np.all(pivots > 0.0), "indefinite")
            apart, terms = up - sp.diags(pivots) @ low.conj().T, int(np.diff(low.indptr).max())
        else:
            low = np.linalg.cholesky(matrix)
            up, apart, terms = low.conj().T, np.zeros((n, n)), n
    except (np.linalg.LinAlgError, RuntimeError, ArithmeticError):  # it is not positive definite
        return math.inf
    left, gamma = np.ones(n) @ abs(low), (terms + 10) * unit * 1.01
    sizes, missed = (float(np.sum(left @ abs(part))) for part in (up, apart))
    lost = TINY * n**2 * (n + 10) * float((1.0 + abs(low).max()) * (1.0 + abs(up).max()))
    return gamma * sizes + (1.0 + gamma) * missed + lost


def verify(arrays):
    """Return in words what is proved, or raise an error that says which claim is not proved."""
    factor, blocks = exact(arrays, "factor", 2), exact(arrays, "multipliers", 3)
    value, bound = (float(exact(arrays, name, 0, "biuf")) for name in ("value", "lower_bound"))
    (n, rank), (k, d, e) = factor.shape, blocks.shape
    C = exact(arrays, "matrix", 2) if "matrix" in arrays else sparse(arrays, n)
    claim(k * d == n and d == e and C.shape == (n, n), "the shapes must fit together")
    claim(abs(C - C.conj().T).max() == 0.0, "C must be Hermitian")
    claim(np.array_equal(blocks, blocks.conj().swapaxes(1, 2)), "the multipliers must be Hermitian")
    frames = factor.reshape(k, d, rank)
    apart = float(abs(frames @ frames.conj().swapaxes(1, 2) - np.eye(d)).max())
    claim(apart <= 1e-10, "the factor is not feasible")
    found = math.fsum((factor.conj() * (C @ factor)).real.ravel())
    size = float(np.vdot(abs(factor), abs(C) @ abs(factor)))
    # The error of long sums, theirs and ours.
    error = 8.0 * UNIT * (10.0 + math.sqrt(factor.size)) * size + TINY * n * factor.size
    claim(abs(found - value) <= error < math.inf, f"the value is {found!r} and not {value!r}")
    each = (blocks, np.arange(len(blocks)), np.arange(len(blocks) + 1))  # on the diagonal
    L, unit = sp.bsr_matrix(each, shape=(n, n)).tocsr(), sp.identity(n, format="csr")
    S, unit = (C - L, unit) if sp.issparse(C) else (C - L.toarray(), unit.toarray())
    diagonals = np.diagonal(blocks, axis1=1, axis2=2).real
    terms, shift, rounding = [*diagonals.ravel(), -bound], 0.0, 0.0
    if abs(S).max() > 0.0:
        room = math.fsum(terms)
        shift = (room - 1.5 * rounding_of_proof(S + room / n * unit)) / n
        rounding = rounding_of_proof(S + shift * unit) if math.isfinite(shift) else math.inf
        terms.append(-math.nextafter(n * shift, math.inf))
    # The sum is rounded once, so that its sign is right.
    claim(rounding <= math.fsum(terms), "the bound is not proved")
    error += apart * (float(abs(blocks).sum()) + n * abs(shift))
    claim(bound <= value + error, "the bound is above the value")
    return f"value {value!r} up to {error:.0e}, and nothing is below {bound!r}"


if __name__ == "__main__":
    try:
        claim(len(sys.argv) == 2, "the command must be python verify_certificate.py FILE")
        with np.errstate(all="ignore"):
            print("verified:", verify(read(sys.argv[1])))
    except Exception as failure:  # whatever a file does to the libraries, it is not verified
        sys.exit(" ".join(f"refused: {str(failure) or type(failure).__name__}".split()))
