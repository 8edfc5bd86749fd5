r"""Proofs that a symmetric matrix is positive semidefinite but for a shift, rounding included.

A factorization proves a lower bound by itself. Let :math:`M + sE` be factorized, with E the
identity on some rows, and let R be what the factors L miss it by. For all positive semidefinite X

.. math:: \langle M, X \rangle = \langle LL', X \rangle + \langle R, X \rangle
   - s \operatorname{tr}(EX) \ge -s \operatorname{tr}(EX) - \sum_{ij} |R_{ij}| x_i x_j,

where :math:`x_i^2` bounds the diagonal of X. The analysis of rounding errors says that
:math:`|R| \le \gamma_k |L||L'|` for inner products of k terms in any order, with
:math:`\gamma_k = ku/(1 - ku)` and u = 2^-53 (Higham, *Accuracy and Stability of Numerical
Algorithms*, theorems 9.3 and 10.3): the sum is at most :math:`\gamma_k \big| |L|'x \big|^2`. That
is never more than the bound of Rump (*Verification of positive definiteness*, BIT 46, 2006), which
has the trace of the matrix in its place. No probability and no eigenvalue is part of the proof.

A matrix that is known by products alone has no factors. Lanczos bounds its smallest eigenvalue
then, and fails with a probability of 1e-6 at most (:mod:`riemtr.problem.lanczos`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from scipy.linalg.lapack import get_lapack_funcs
from scipy.sparse.linalg import LinearOperator, splu

from riemtr.manifolds import Euclidean
from riemtr.problem.curvature import Curvature, Threshold
from riemtr.problem.problem import Problem

# Share of its rounding error that a proof claims: whoever repeats it by factors of their own, whose
# rounding differs a little, arrives at the same claim.
_CLAIMED = 2.0
# Rows up to which a sparse matrix is made dense: LAPACK factorizes 2500 rows in a fifth of a second
# however they are filled, and one cannot tell beforehand how much a sparse factorization fills.
DENSE_ROWS = 2500
# The unit roundoff of double precision.
_UNIT = 2.0**-53
# Roundings of an entry beside those of its inner product: multipliers subtracted from the matrix,
# the shift added, a division, a root, and as many again for kernels that multiply by reciprocals.
_EXTRA_ROUNDINGS = 10
# Roundings of a complex multiplication and addition over those of a real one (Higham, lemma 3.5).
_COMPLEX = 4
# The largest error of an underflow.
_TINY = 2.0**-1074
# Entries in a row of a sparse factor over those of the matrix, about.
_FILL = 10
# The factor between two shifts that are tried.
_FACTOR = 10.0
# Chance that a bound by products is wrong: it is called a proof, and costs but a few more products.
_FAILURE_PROBABILITY = 1e-6
# Halvings, on a logarithmic scale, of the range that the least shift lies in.
_HALVINGS = 3


@dataclass(frozen=True)
class Proof:
    """A lower bound on <M, X> for positive semidefinite X of bounded diagonal.

    Attributes
    ----------
    shift : float
        It counts once for each unit of the trace of X on the rows that were shifted.
    rounding : float
        What rounding may hide, for all of X.
    failure_probability : float
        The chance that the proof is wrong: 0 for factorizations.
    """

    shift: float
    rounding: float
    failure_probability: float = 0.0


def prove(matrix: Any, sizes: np.ndarray, end: int, enough: float) -> Proof:
    """Return a proof with a shift as small as a few factorizations find it.

    Parameters
    ----------
    matrix : ndarray, sparse matrix or LinearOperator
        Real symmetric or Hermitian.
    sizes : ndarray
        The numbers x_i: roots of bounds on the diagonal of X.
    end : int
        The number of rows that are shifted, the first ones. The matrix must be positive definite in
        the others.
    enough : float
        A shift that is as good as none. It is tried first, and neither it nor the next one that is
        tried is made smaller.

    Examples
    --------
    >>> import numpy as np
    >>> proof = prove(np.array([[1.0, 2.0], [2.0, 1.0]]), np.ones(2), 2, enough=0.0)
    >>> 1.0 <= proof.shift < 2.0, proof.rounding < 1e-13  # the smallest eigenvalue is -1
    (True, True)
    """
    if isinstance(matrix, LinearOperator):
        return _prove_by_products(matrix, enough)
    if not abs(matrix).max() > 0.0:
        return Proof(0.0, 0.0)
    factorize = _factorization(matrix)
    low, shift = 0.0, max(enough, _least_shift(matrix, end))
    best = factorize(shift, end, sizes)
    while best is None:  # the diagonal dominates in the end
        low, shift = shift, _FACTOR * shift
        best = factorize(shift, end, sizes)
    for _ in range(_HALVINGS if low > enough else 0):
        shift = math.sqrt(low * best.shift)
        nearer = factorize(shift, end, sizes)
        low, best = (shift, best) if nearer is None else (low, nearer)
    return best


def sum_rounded_down(terms: Iterable[float]) -> float:
    """Return the largest number that is not above the exact sum.

    Examples
    --------
    >>> sum_rounded_down([1.0, 2.0**-60]), sum_rounded_down([1.0, -(2.0**-60)]) < 1.0
    (1.0, True)
    """
    terms = [float(term) for term in terms]
    below = math.fsum(terms)
    # The sum is rounded once, so that the sign of what is left of it is right.
    return below if math.fsum([*terms, -below]) >= 0.0 else math.nextafter(below, -math.inf)


def _least_shift(matrix: Any, end: int) -> float:
    """Return a shift as small as rounding lets a factorization of a singular matrix succeed."""
    largest = float(np.abs(matrix.diagonal()[:end]).max(initial=0.0)) or float(abs(matrix).max())
    terms = matrix.shape[0]
    if scipy.sparse.issparse(matrix) and terms > DENSE_ROWS:
        terms = _FILL * int(np.diff(matrix.tocsr().indptr).max(initial=1))
    return _UNIT * terms * largest


def _factorization(matrix: Any) -> Any:
    """Return the function ``factorize(shift, end, sizes)`` for a matrix: a proof, or None."""
    if scipy.sparse.issparse(matrix):
        if matrix.shape[0] > DENSE_ROWS:
            return _Sparse(matrix).proof
        matrix = matrix.toarray()
    return _Dense(np.asarray(matrix)).proof


def _gamma(terms: Any, is_complex: bool) -> Any:
    """Return the relative error of an inner product of so many terms, or of several."""
    roundings = (terms + _EXTRA_ROUNDINGS) * (_COMPLEX if is_complex else 1) * _UNIT
    return roundings / (1.0 - roundings)


def _underflow(sizes: np.ndarray, lower: float, upper: float) -> float:
    """Return what underflow may hide, for factors whose entries are at most so large."""
    terms = len(sizes) + _EXTRA_ROUNDINGS
    return _TINY * terms * float(sizes.sum()) ** 2 * float((1.0 + lower) * (1.0 + upper))


class _Dense:
    """Cholesky factorizations of one dense matrix with several shifts."""

    def __init__(self, matrix: np.ndarray):
        self._matrix = matrix
        self._gamma = _gamma(len(matrix), np.iscomplexobj(matrix))

    def proof(self, shift: float, end: int, sizes: np.ndarray) -> Proof | None:
        # The transpose of a Hermitian matrix is its conjugate, which is as definite.
        shifted = np.array(self._matrix.T, order="F")
        shifted.reshape(-1, order="F")[: end * (len(shifted) + 1) : len(shifted) + 1] += shift
        (potrf,) = get_lapack_funcs(("potrf",), (shifted,))
        factor, failed_at = potrf(shifted, lower=True, clean=True, overwrite_a=True)
        if failed_at or not np.isfinite(factor[-1, -1]):
            return None
        np.abs(factor, out=factor)
        rounding = self._gamma * float(np.sum((sizes @ factor.real) ** 2))
        largest = float(factor.real.max())
        return Proof(shift, _CLAIMED * (rounding + _underflow(sizes, largest, largest)))


class _Sparse:
    """Factorizations LU of one sparse matrix with several shifts, all pivots on the diagonal.

    With D the diagonal of U and F = U - DL', the product LU is LDL' + LF. The first is positive
    semidefinite where D is positive, and the second is a rounding error that is known.
    """

    def __init__(self, matrix: Any):
        self._matrix = matrix.tocsc()
        self._is_complex = np.iscomplexobj(matrix.data)

    def proof(self, shift: float, end: int, sizes: np.ndarray) -> Proof | None:
        factor = symmetric_factor(self._matrix, shift, end)
        if factor is None:
            return None
        lower, upper = factor.L.tocsr(), factor.U.tocsr()
        pivots = upper.diagonal()
        # An entry of row i is an inner product with row i of L, which has few entries in most rows.
        gammas = _gamma(np.diff(lower.indptr), self._is_complex)
        # Row i of what is factorized is row j of the matrix where perm_r[j] is i.
        ordered = np.empty_like(sizes)
        ordered[factor.perm_r] = sizes
        left = ordered @ abs(lower)
        apart = upper - scipy.sparse.diags(pivots.real) @ lower.conj().T
        rounding = float((gammas * ordered) @ (abs(lower) @ (abs(upper) @ ordered)))
        rounding += (1.0 + float(gammas.max())) * float(left @ (abs(apart) @ ordered))
        rounding += _underflow(sizes, abs(lower).max(), abs(upper).max())
        return Proof(shift, _CLAIMED * rounding)


def symmetric_factor(matrix: Any, shift: float = 0.0, end: int | None = None) -> Any:
    """Return SciPy's factors of a sparse matrix with a shift, or None where a pivot is negative.

    Parameters
    ----------
    matrix : sparse matrix
        Real symmetric or Hermitian.
    shift : float
        It is added to the diagonal.
    end : int, optional
        The rows before it are shifted, all if not given.
    """
    rows = matrix.shape[0]
    shifts = shift * (np.arange(rows) < (rows if end is None else end))
    try:
        factor = splu(
            (matrix + scipy.sparse.diags(shifts)).tocsc(),
            permc_spec="MMD_AT_PLUS_A",
            diag_pivot_thresh=0.0,
            options={"SymmetricMode": True},
        )
    except RuntimeError:  # it is singular
        return None
    pivots = factor.U.diagonal()
    definite = np.array_equal(factor.perm_r, factor.perm_c) and bool(np.all(pivots.real > 0.0))
    return factor if definite else None


def _prove_by_products(matrix: LinearOperator, enough: float) -> Proof:
    """Return the bound of Lanczos on the smallest eigenvalue, which is a shift of all rows."""
    rows = matrix.shape[0]
    form = _Form(matrix)
    here = Problem(Euclidean(form.dim), form).at(np.zeros(form.dim))
    known = Curvature(here, _FAILURE_PROBABILITY)
    tolerance = max(enough, _UNIT * rows * known.measured_size())
    while known.lower_bound == -math.inf:
        known.side(Threshold(absolute=tolerance))
        tolerance *= _FACTOR
    return Proof(max(0.0, -known.lower_bound), 0.0, _FAILURE_PROBABILITY)


class _Form:
    """The quadratic form of a matrix, in real and imaginary parts if it is complex."""

    value = 0.0

    def __init__(self, matrix: LinearOperator):
        self._matrix = matrix
        self._is_complex = np.iscomplexobj(np.empty(0, matrix.dtype))
        self.dim = matrix.shape[0] * (2 if self._is_complex else 1)

    def at(self, point: np.ndarray) -> _Form:
        """Return the form itself: only its Hessian is asked for, at the origin."""
        return self

    @property
    def gradient(self) -> np.ndarray:
        """The gradient at the origin."""
        return np.zeros(self.dim)

    def hessian(self, vector: np.ndarray) -> np.ndarray:
        """Return the product with the matrix."""
        if not self._is_complex:
            return self._matrix @ vector
        half = self.dim // 2
        image = self._matrix @ (vector[:half] + 1j * vector[half:])
        return np.concatenate([image.real, image.imag])
