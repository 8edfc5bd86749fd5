r"""Semidefinite programs with identity blocks on the diagonal, solved to a proof.

.. math:: \min_X \; \langle C, X \rangle \quad \text{subject to} \quad X \succeq 0, \;
   X_{ii} = I_d \text{ for each diagonal block}

is the relaxation of max-cut and of the synchronisation of signs, phases and rotations. Burer and
Monteiro write X = YY' with a Y of few columns, whose blocks of d rows are then orthonormal: a
quadratic cost on a product of Stiefel manifolds, spheres for d = 1. The staircase of Boumal climbs
in the number of columns:

1. Descend by trust regions at the present rank; on the way drop the directions in which Y vanishes,
   since at a solution of smaller rank the Hessian is singular along them.
2. Bound the value from below by duality (:mod:`riemtr.problem.relaxation`). The bound is proved by
   a factorization, and holds for every X. Where the gap is small, end.
3. Otherwise the dual matrix has a negative eigenvalue: its eigenvector in a new column leads down.

Burer and Monteiro, *A nonlinear programming algorithm for solving semidefinite programs via
low-rank factorization*, Mathematical Programming 95 (2003). Boumal, *A Riemannian low-rank method
for optimization over semidefinite matrices with block-diagonal constraints* (2015).
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from riemtr.arguments import check_nonnegative, check_positive, generator, integer
from riemtr.errors import ArgumentError, DoesNotApply
from riemtr.files import write_atomically
from riemtr.manifolds import Manifold, Oblique, Stiefel
from riemtr.manifolds.arrays import adjoint
from riemtr.problem import Clock, Problem
from riemtr.problem.definite import symmetric_factor
from riemtr.problem.quadratic import FrameRows, QuadraticCost, Rows, TransposedRows
from riemtr.problem.relaxation import TOLERANCE, Relaxation
from riemtr.solvers.status import Status
from riemtr.solvers.trust_region import PracticalTRM
from riemtr.summary import DOUBTFUL, GOOD, Summarised, Summary

# Gap, over the sum of the diagonal of C by magnitude, that rounding leaves where values vanish.
_ROUNDING = 1e-11
# Relative gradient norms of the descents at the first rank. After each, directions are dropped in
# which the factor is smaller than the root of that number, relative to its largest one. Three times
# as much drops directions that are needed: an ascent to bring one back costs more than it saves.
_DESCENTS = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7)
# The relative gradient norm at which a bound is looked for, and the factor by which it is made
# smaller where the gradient is all that keeps the gap open.
_FINE = 1e-9
_FINER = 1e-2
# The smallest relative gradient norm that rounding allows.
_FINEST = 1e-13
# Columns more than rows in a block to begin with, where blocks have several rows: solutions of
# synchronisation problems have no more columns than that.
_MORE_COLUMNS = 2
# Columns to begin with where blocks have one row, over the number from which on a random problem
# has no spurious minima: solutions of cut problems have usually fewer than half of them.
_SHARE = 0.5
# Ascents at most. Each adds a column or more, and solutions have fewer columns than this.
_MOST_ASCENTS = 100
# Eigenvectors of the dual matrix that are followed at once.
_WAYS = 4
# Rows up to which all of its eigenvectors are computed.
_FEW_ROWS = 200
# Accuracy of eigenvectors otherwise, relative to their eigenvalues: any negative curvature serves.
_ROUGH = 1e-2
# Restarts of Lanczos for them at most.
_RESTARTS = 300
# Lengths of a step into new columns, of which the best is taken.
_STEPS = 0.5 ** np.arange(12)
# Blocks that a block is coupled with, on average, up to which sparse factors of the dual matrix
# stay sparse: as on grids, chains with loops and maps.
_NEIGHBOURS = 6.0
# Steps of inverse iteration for a start.
_INVERSE_ITERATIONS = 5
# Shift of the dual matrix in the preconditioner, over the mean sum of a row, to begin with.
_SHIFT = 1e-4
# Relative asymmetry of C that rounding explains.
_ASYMMETRY = 1e-12
# Random directions that a solution is rounded along; the best counts.
_DIRECTIONS = 100
# Signs of all points together that descend by flips at once: more would leave the cache, and the
# points of the lowest values suffice.
_SIGNS_TOGETHER = 250_000


@dataclass(frozen=True, eq=False)
class Rounded:
    """A point of rank d next to a solution: signs, phases, rotations.

    Attributes
    ----------
    point : ndarray, shape (n, d)
        Its blocks of d rows are orthogonal: for d = 1 the entries are signs or complex phases, else
        the blocks are transposes of rotations, or unitary.
    value : float
        The form <C, ZZ'> at this point Z.
    gap : float
        How much lower than that the best point of rank d may be.
    """

    point: np.ndarray
    value: float
    gap: float


@dataclass(frozen=True, eq=False, repr=False)
class SemidefiniteSolution(Summarised):
    """A positive semidefinite matrix with identity blocks, and a proof of how good it is.

    Attributes
    ----------
    factor : ndarray, shape (n, r)
        The matrix Y, with X = YY'.
    value : float
        The form <C, X>.
    lower_bound : float
        A number that <C, X> is not below for any feasible X.
    multipliers : ndarray, shape (k, d, d)
        The diagonal blocks of Lambda that prove it.
    tolerance : float
        The relative gap that was asked for.
    rounding : float
        The part of the gap that rounding of the proof is answerable for, and no descent closes.
    failure_probability : float
        The chance that the bound is wrong: 0 for proofs by factorization, 1e-6 where C is an
        operator too large to be formed.
    ascents : int
        How often the rank was raised.
    seconds : float
    relaxation : Relaxation
        The problem.
    """

    factor: np.ndarray
    value: float
    lower_bound: float
    multipliers: np.ndarray
    tolerance: float
    rounding: float
    failure_probability: float
    ascents: int
    seconds: float
    relaxation: Relaxation = field(repr=False)

    @property
    def gap(self) -> float:
        """How much lower than the value the minimum may be."""
        return max(self.value - self.lower_bound, 0.0)

    @property
    def rank(self) -> int:
        """The number of columns of the factor."""
        return self.factor.shape[1]

    @property
    def certified(self) -> bool:
        """Whether the gap is at most ``tolerance`` times the value, or what rounding leaves."""
        size = _ROUNDING * self.relaxation.diagonal_size
        return self.gap <= max(self.tolerance * abs(self.value), size)

    @property
    def relative_gap(self) -> float:
        """The gap over the value by magnitude; infinite where only the value vanishes."""
        if self.gap == 0.0:
            return 0.0
        return self.gap / abs(self.value) if self.value else math.inf

    @property
    def verdict(self) -> str:
        """Whether it is certified, or to what part of the value it is proved to be the minimum."""
        return "certified" if self.certified else f"proved to {self.relative_gap:.1e} of the value"

    def summary(self) -> Summary:
        """Return value, bound and gap in words."""
        pairs: tuple[tuple[str, str], ...] = (
            ("value", f"{self.value:.12g}"),
            ("lower bound", f"{self.lower_bound:.12g}, for every feasible matrix"),
            ("gap", f"{self.gap:.1e}, {self.verdict}"),
            ("rank", f"{self.rank}, after {self.ascents} ascents"),
        )
        if self.failure_probability:
            pairs += (("chance", f"the bound is wrong with one of {self.failure_probability:.0e}"),)
        line = f"{self.verdict}: value {self.value:.9g}, gap {self.gap:.1e}, rank {self.rank}"
        tone = GOOD if self.certified else DOUBTFUL
        return Summary("Semidefinite program", pairs, tone=tone, line=line)

    def rounded(self, rng: Any = 0) -> Rounded:
        """Return a point of rank d: signs, phases or rotations.

        Signs and phases are the best of many random projections, as Goemans and Williamson round
        cuts. The signs of the lowest values then change one at a time, as long as a change lowers
        the value: no single flip improves the signs that are returned, unless C is an operator too
        large to be formed, whose signs are those of the projection. Rotations are the blocks
        nearest to the principal projection, and from there the next local minimum. The gap is to
        the same lower bound, which holds for points of rank d as well.

        Parameters
        ----------
        rng : numpy.random.Generator, int or None

        Examples
        --------
        >>> import numpy as np, riemtr
        >>> pentagon = np.roll(np.eye(5), 1, axis=0) + np.roll(np.eye(5), -1, axis=0)
        >>> solution = riemtr.solve_semidefinite(pentagon)
        >>> solution.rounded().value, round(solution.value, 6)  # no cut has 5 edges
        (-6.0, -8.09017)
        """
        form, factor = self.relaxation, self.factor
        principal = np.linalg.eigh(adjoint(factor) @ factor)[1][:, ::-1][:, : form.block]
        if form.block > 1:
            point = self._rotations(factor @ principal)
        else:
            shape = (self.rank, _DIRECTIONS)
            drawn = generator(rng).standard_normal((2, *shape))
            directions = drawn[0] + 1j * drawn[1] if factor.dtype.kind == "c" else drawn[0]
            along = factor @ np.concatenate([principal, directions], axis=1)
            sizes = np.abs(along)
            points = np.where(sizes > 0.0, along, 1.0) / np.where(sizes > 0.0, sizes, 1.0)
            images = form.reduced @ points
            values = np.sum((points.conj() * images).real, axis=0)
            if points.dtype.kind != "c" and self._entries is not None:
                count = max(_SIGNS_TOGETHER // len(points), 1)
                lowest = np.argsort(values, kind="stable")[:count]
                points = _flipped(self._entries, points[:, lowest], images[:, lowest])
                values = np.sum(points * (form.reduced @ points), axis=0)
            point = points[:, [int(np.argmin(values))]]
        value = form.value(point)
        return Rounded(point, value, max(value - self.lower_bound, 0.0))

    @property
    def _entries(self) -> Any:
        """The matrix C by its entries, or None if they are not known."""
        matrix = self.relaxation.formed
        whole = matrix.shape[0] == self.relaxation.rows
        return matrix if whole and not isinstance(matrix, LinearOperator) else None

    def _rotations(self, matrix: np.ndarray) -> np.ndarray:
        """Return the rotations nearest to square blocks, and from there to a local minimum."""
        form = self.relaxation
        if matrix.dtype.kind == "c":
            return orthonormal_blocks(matrix, form.block)
        rows = FrameRows(form.block, form.count)
        manifold = Stiefel(form.block, form.block, form.count)
        problem = Problem(manifold, QuadraticCost(form.reduced, rows))
        start = rows.split(_rotated_blocks(matrix, form.block))
        return rows.stacked(PracticalTRM(goal="first-order").solve(problem, start).point)

    def save(self, path: Any, overwrite: bool = False) -> None:
        """Save the proof to a ``.npz`` file of numbers, which can be checked without riemtr.

        The script ``riemtr/solvers/verify_certificate.py`` imports numpy and scipy only:
        ``python verify_certificate.py FILE`` verifies the point, its value and the bound. The value
        in the file is computed from the entries of C in the file, also if C is an operator.
        """
        path = Path(path)
        if path.exists() and not overwrite:
            raise FileExistsError(f"{path} exists; choose a new path, or pass overwrite=True")
        matrix = self._entries
        if matrix is None:
            raise ValueError("the proof cannot be saved: its matrix C is not known by its entries")
        arrays: dict[str, Any] = {
            "factor": self.factor,
            "multipliers": self.multipliers,
            "value": float(np.vdot(self.factor, matrix @ self.factor).real),
            "lower_bound": self.lower_bound,
        }
        if scipy.sparse.issparse(matrix):
            rows = matrix.tocsr(copy=True)
            rows.sum_duplicates()  # one place, one entry: the script refuses others
            arrays |= {"data": rows.data, "indices": rows.indices, "indptr": rows.indptr}
        else:
            arrays["matrix"] = matrix
        archive = io.BytesIO()
        np.savez_compressed(archive, **arrays)
        write_atomically(path, archive.getvalue())


def solve_semidefinite(
    C: Any,
    block: int = 1,
    rng: Any = 0,
    *,
    tolerance: float = TOLERANCE,
    rank: int | None = None,
    max_seconds: float = math.inf,
) -> SemidefiniteSolution:
    r"""Minimise <C, X> over positive semidefinite X with identity blocks on the diagonal.

    The relaxation of max-cut and of the synchronisation of signs (``block=1``), of phases (the same
    with a complex C), and of rotations (``block=3``). Not reaching the tolerance is no error: the
    bound then says how much is missing.

    Parameters
    ----------
    C : ndarray, sparse matrix or LinearOperator, shape (n, n)
        Real symmetric or complex Hermitian.
    block : int
        The number d of rows in a block.
    rng : numpy.random.Generator, int or None
        Source of the start.
    tolerance : float
        Gap between value and lower bound, relative to the value, to end at.
    rank : int, optional
        Columns of the factor to begin with.
    max_seconds : float
        Time after which no further descent is begun.

    Returns
    -------
    SemidefiniteSolution
        ``.factor .value .lower_bound .gap .multipliers .rank .certified``, ``.rounded()`` and
        ``.save(path)``.

    Examples
    --------
    >>> import numpy as np, riemtr
    >>> pentagon = np.roll(np.eye(5), 1, axis=0) + np.roll(np.eye(5), -1, axis=0)
    >>> solution = riemtr.solve_semidefinite(pentagon)
    >>> bool(np.isclose(solution.value, 10.0 * np.cos(0.8 * np.pi))), solution.certified
    (True, True)
    """
    check_positive("tolerance", tolerance)
    check_nonnegative("max_seconds", max_seconds)
    relaxation = Relaxation(*_checked(C, block))
    if rank is not None:
        rank = integer("rank", rank, low=relaxation.block)
    return climb(relaxation, rng, tolerance=tolerance, rank=rank, clock=Clock(max_seconds))


def _checked(matrix: Any, block: Any) -> tuple[Any, int]:
    """Return a matrix of floats that is exactly Hermitian, and the size of its blocks."""
    if not (isinstance(matrix, LinearOperator) or scipy.sparse.issparse(matrix)):
        try:
            matrix = np.asarray(matrix)
            matrix = matrix.astype(np.result_type(matrix, np.float64))
        except (TypeError, ValueError):
            raise ArgumentError("C", "be a matrix of numbers", matrix) from None
    shape = matrix.shape
    if len(shape) != 2 or shape[0] != shape[1] or shape[0] < 1:
        raise ArgumentError("C", "be a square matrix", shape)
    block = integer("block", block)
    if shape[0] % block:
        raise ArgumentError("block", f"divide the number of rows, {shape[0]}", block)
    if isinstance(matrix, LinearOperator):
        _check_operator(matrix)
        return matrix, block
    if scipy.sparse.issparse(matrix):
        matrix = scipy.sparse.csr_matrix(matrix, dtype=np.result_type(matrix.dtype, np.float64))
    entries = matrix.data if scipy.sparse.issparse(matrix) else matrix
    if not np.isfinite(entries).all():
        raise ArgumentError("C", "have finite entries")
    difference = abs(matrix - matrix.conj().T).max()
    if difference > _ASYMMETRY * abs(matrix).max():
        raise ArgumentError(
            "C", "be symmetric, or Hermitian", remedy="pass (C + C.conj().T) / 2 if that is meant"
        )
    matrix = 0.5 * (matrix + matrix.conj().T) if difference > 0.0 else matrix
    is_real = np.iscomplexobj(matrix) and not abs(matrix.imag).max() > 0.0
    return (matrix.real if is_real else matrix), block


def _check_operator(matrix: LinearOperator) -> None:
    """Check that an operator is Hermitian along two directions."""
    rng = np.random.default_rng(0)
    first, second = rng.standard_normal((2, matrix.shape[0]))
    ahead, back = matrix @ first, matrix @ second
    size = np.linalg.norm(ahead) * np.linalg.norm(second)
    if not abs(np.vdot(second, ahead) - np.vdot(back, first)) <= math.sqrt(_ASYMMETRY) * size:
        raise ArgumentError("C", "be a symmetric, or Hermitian, operator with finite products")


def climb(
    relaxation: Relaxation,
    rng: Any = 0,
    *,
    tolerance: float = TOLERANCE,
    rank: int | None = None,
    clock: Clock | None = None,
) -> SemidefiniteSolution:
    """Solve a relaxation by the staircase; see :func:`solve_semidefinite`."""
    rng, clock = generator(rng), Clock() if clock is None else clock
    search = _Search(relaxation, clock)
    factor = search.random(search.first_rank if rank is None else rank, rng)
    for accuracy in _DESCENTS:
        factor = search.reduced(search.descended(factor, accuracy), math.sqrt(accuracy))
    accuracy, ascents, share = _FINE, 0, math.sqrt(_DESCENTS[-1])
    while True:
        factor = search.descended(factor, accuracy)
        mine = search.translated(factor)
        found = relaxation.bound(mine, tolerance=tolerance)
        solution = SemidefiniteSolution(
            factor=mine,
            value=found.value,
            lower_bound=found.lower_bound,
            multipliers=found.multipliers,
            tolerance=tolerance,
            rounding=found.rounding,
            failure_probability=found.failure_probability,
            ascents=ascents,
            seconds=clock.seconds,
            relaxation=relaxation,
        )
        closed = solution.gap - solution.rounding <= tolerance * abs(solution.value)
        if closed or solution.certified or search.is_over or ascents == _MOST_ASCENTS:
            return solution
        higher = search.ascended(factor, rng)
        if higher is not None:
            # A column that was added is not dropped again for being small.
            ascents, accuracy, share = ascents + 1, _FINE, 0.1 * share
            for descent in _DESCENTS:
                higher = search.descended(higher, descent)
            factor = search.reduced(higher, share)
        elif accuracy > _FINEST:
            accuracy *= _FINER
        else:
            return solution


class _Search:
    """Descents and ascents on the real form of a relaxation.

    A complex matrix A + iB becomes [[A, -B], [B, A]], with blocks twice as large. A positive
    semidefinite matrix of that size, averaged with its image under multiplication by i, is the real
    form of a complex one of the same value, so that nothing is lost.
    """

    def __init__(self, relaxation: Relaxation, clock: Clock):
        self._clock = clock
        self._is_complex = np.iscomplexobj(np.empty(0, relaxation.matrix.dtype))
        self._form = _real_form(relaxation) if self._is_complex else relaxation
        d, k = self._form.block, self._form.count
        self._rows: Rows = TransposedRows() if d == 1 else FrameRows(d, k)
        self._interrupted = False

    @property
    def is_over(self) -> bool:
        """Whether the user or the clock has ended it."""
        return self._interrupted or self._clock.expired

    @property
    def first_rank(self) -> int:
        """The number of columns to begin with."""
        form = self._form
        if form.block > 1:
            return min(form.block + _MORE_COLUMNS, form.rows)
        return min(max(math.ceil(_SHARE * math.sqrt(2.0 * form.rows)), 2), form.rows)

    def _manifold(self, rank: int) -> Manifold:
        form = self._form
        if form.block == 1:
            return Oblique(rank, form.rows)
        return Stiefel(rank, form.block, form.count)

    def random(self, rank: int, rng: np.random.Generator) -> np.ndarray:
        """Return a random factor, brought near the smallest eigenvectors of C if that is cheap."""
        form, rank = self._form, max(rank, self._form.block)
        factor = self._rows.stacked(self._manifold(rank).random_point(rng))
        if not self._is_map:
            return factor
        inverse = self._inverse(np.zeros((form.count, form.block, form.block)))
        for _ in range(_INVERSE_ITERATIONS):
            factor = np.linalg.qr(inverse(factor))[0]
        return orthonormal_blocks(math.sqrt(form.rows / rank) * factor, form.block)

    @property
    def _is_map(self) -> bool:
        """Whether the dual matrix has sparse factors, as far as the number of neighbours tells."""
        form = self._form
        if not scipy.sparse.issparse(form.matrix):
            return False
        coupled = form.matrix.nnz - form.rows * form.block
        return coupled <= _NEIGHBOURS * form.block**2 * form.count

    def _inverse(self, multipliers: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """Return the inverse of the sparse dual matrix, shifted until it is definite."""
        form = self._form
        dual = form.dual_matrix(multipliers).tocsc()
        shift = _SHIFT * float(abs(dual).sum()) / dual.shape[0] or 1.0  # not 0 by underflow either
        while (factors := symmetric_factor(dual, shift, form.rows)) is None:
            shift *= 10.0

        def inverse(rows: np.ndarray) -> np.ndarray:
            free = np.zeros((dual.shape[0] - form.rows, rows.shape[1]))
            return factors.solve(np.concatenate([rows, free]))[: form.rows]

        return inverse

    def translated(self, factor: np.ndarray) -> np.ndarray:
        """Return the factor of the user's own problem, with no more columns than it needs."""
        d = self._form.block
        if self._is_complex:
            d //= 2
            parts = factor.reshape(self._form.count, 2, d, -1)
            complex_rows = (parts[:, 0] + 1j * parts[:, 1]) * math.sqrt(0.5)
            factor = complex_rows.reshape(len(factor) // 2, -1)
        return orthonormal_blocks(_principal(factor, _FINE, d), d)

    def reduced(self, factor: np.ndarray, share: float) -> np.ndarray:
        """Return a factor without the directions in which it is smaller than a share of itself."""
        return _principal(factor, share, self._form.block)

    def descended(self, factor: np.ndarray, accuracy: float) -> np.ndarray:
        """Return the factor to which trust regions lead, to a relative gradient norm."""
        if self.is_over:
            return orthonormal_blocks(factor, self._form.block)
        factor = orthonormal_blocks(factor, self._form.block)
        problem = Problem(
            self._manifold(factor.shape[1]),
            QuadraticCost(self._form.reduced, self._rows),
            preconditioner=self._preconditioner(factor),
        )
        # Negative curvature shows in the dual matrix, where all further columns are seen as well.
        solver = PracticalTRM(
            relative_tolerance=accuracy,
            goal="first-order",
            max_seconds=max(self._clock.limit - self._clock.seconds, 0.0),
        )
        result = solver.solve(problem, self._rows.split(factor))
        self._interrupted |= result.status is Status.INTERRUPTED
        return self._rows.stacked(result.point)

    def _preconditioner(self, factor: np.ndarray) -> Callable[[Any, Any], Any] | None:
        """Return the inverse of the shifted dual matrix between projections, if it is sparse.

        The Riemannian Hessian is the dual matrix between projections.
        """
        if not self._is_map:
            return None
        inverse = self._inverse(self._form.multipliers(factor))
        space, rows = self._manifold(factor.shape[1]).space, self._rows

        def precondition(point: np.ndarray, vector: np.ndarray) -> np.ndarray:
            return space(point).tangent(rows.split(inverse(rows.stacked(vector))))

        return precondition

    def ascended(self, factor: np.ndarray, rng: np.random.Generator) -> np.ndarray | None:
        """Return a lower point with further columns, along eigenvectors of the dual matrix.

        In a new column the form is <v, Sv> to second order. None where no step leads down.
        """
        form = self._form
        vectors = _leftmost(form.reduced_dual_matrix(form.multipliers(factor)), rng)
        if not vectors.shape[1]:
            return None
        lowest, best = form.value(factor), None
        for step in _STEPS:
            columns = step * math.sqrt(form.rows) * vectors
            there = orthonormal_blocks(np.concatenate([factor, columns], axis=1), form.block)
            value = form.value(there)
            if value < lowest:
                lowest, best = value, there
        return best


def _real_form(relaxation: Relaxation) -> Relaxation:
    """Return the same problem in real numbers, block by block: first real, then imaginary parts."""
    matrix, d, n = relaxation.matrix, relaxation.block, relaxation.rows
    # Row 2d i + j is the real part of row d i + j for j < d, else the imaginary part of j - d.
    order = np.arange(2 * n).reshape(2, -1, d).swapaxes(0, 1).ravel()
    if isinstance(matrix, LinearOperator):

        def product(vector: np.ndarray) -> np.ndarray:
            parts = np.empty_like(vector)
            parts[order] = vector
            image = matrix @ (parts[:n] + 1j * parts[n:])
            return np.concatenate([image.real, image.imag])[order]

        real = LinearOperator((2 * n, 2 * n), matvec=product, matmat=product, dtype=float)
        return Relaxation(real, 2 * d)
    if scipy.sparse.issparse(matrix):
        parts = [[matrix.real, -matrix.imag], [matrix.imag, matrix.real]]
        return Relaxation(scipy.sparse.bmat(parts, format="csr")[order][:, order], 2 * d)
    real = np.block([[matrix.real, -matrix.imag], [matrix.imag, matrix.real]])
    return Relaxation(real[np.ix_(order, order)], 2 * d)


def relaxed_start(
    problem: Any, rng: Any = 0, *, max_seconds: float = math.inf
) -> tuple[Any, SemidefiniteSolution]:
    """Return a start from the relaxation that the cost of a problem offers, and its solution.

    Where the relaxation is tight, the start is a global minimizer but for the tolerance, and a
    solver has nothing left to do but to certify it.

    Parameters
    ----------
    problem : Problem
        Its cost has a ``relaxation``, as those of pose graphs and of synchronisation have.
    rng : numpy.random.Generator, int or None
    max_seconds : float

    Examples
    --------
    >>> import riemtr
    >>> case = riemtr.problems.build("rotation-averaging", rng=0)
    >>> start, solution = riemtr.solvers.relaxed_start(case.problem)
    >>> result = riemtr.PracticalTRM().solve(case.problem, start)
    >>> result.iterations <= 1, result.certificate.gap < 1e-6 * result.cost
    (True, True)
    """
    cost = problem.cost
    relaxation = getattr(cost, "relaxation", None)
    if relaxation is None:
        raise DoesNotApply("the staircase needs a cost that offers a semidefinite relaxation")
    solution = climb(relaxation, rng, clock=Clock(max_seconds))
    shape = cost.rows.stacked(problem.random_point(0)).shape
    columns = math.prod(shape[1:])
    if columns == relaxation.block:
        rows = solution.rounded(rng).point
    else:
        wide = np.pad(_principal(solution.factor, 0.0, 1), ((0, 0), (0, columns)))
        order = np.argsort(-np.linalg.norm(wide, axis=0), kind="stable")[:columns]
        rows = orthonormal_blocks(wide[:, order], relaxation.block)
    completed = relaxation.completed(rows)
    return cost.rows.split(completed.reshape(len(completed), *shape[1:])), solution


def _leftmost(matrix: Any, rng: np.random.Generator) -> np.ndarray:
    """Return eigenvectors of negative eigenvalues, a few of the smallest, as columns."""
    rows = matrix.shape[0]
    if rows <= _FEW_ROWS:
        dense = matrix.toarray() if scipy.sparse.issparse(matrix) else matrix @ np.eye(rows)
        values, vectors = np.linalg.eigh(dense)
        return vectors[:, :_WAYS][:, values[:_WAYS] < 0.0]
    start = rng.standard_normal(rows)
    try:
        values, vectors = eigsh(
            matrix, k=_WAYS, which="SA", tol=_ROUGH, v0=start, maxiter=_RESTARTS
        )
    except ArpackNoConvergence as error:
        values, vectors = error.eigenvalues, error.eigenvectors
    return vectors[:, values < 0.0]


def _principal(factor: np.ndarray, share: float, least: int) -> np.ndarray:
    """Return a factor in its principal directions, without the smallest; at least some are kept.

    A direction is dropped if its singular value is at most a share of the largest one, or if
    rounding explains it. The eigenvalues of the Gram matrix are squares of the singular values, and
    rounding would hide every singular value below 1e-8 of the largest in them.
    """
    left, values, _ = np.linalg.svd(factor, full_matrices=False)
    rounding = max(factor.shape) * np.finfo(values.dtype).eps
    kept = values > max(share, rounding) * values[0]
    kept[:least] = True
    return left[:, kept] * values[kept]


def orthonormal_blocks(matrix: np.ndarray, block: int) -> np.ndarray:
    """Return the matrix with orthonormal rows in each block that is nearest to a matrix."""
    if block == 1:
        lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
        whole = np.where(lengths > 0.0, matrix, np.eye(1, matrix.shape[1]))
        return whole / np.where(lengths > 0.0, lengths, 1.0)
    left, _, right = np.linalg.svd(matrix.reshape(-1, block, matrix.shape[1]), full_matrices=False)
    return (left @ right).reshape(matrix.shape)


def _flipped(matrix: Any, points: np.ndarray, images: np.ndarray) -> np.ndarray:
    """Return signs of which no single flip lowers the form, descending from each column of points.

    Each column flips the sign that lowers its form the most, until no flip lowers the form by more
    than rounding. ``images`` is the product of the matrix with the points.
    """
    points, images = points.copy(), images.copy()
    sparse = scipy.sparse.issparse(matrix)
    matrix = matrix.tocsc() if sparse else np.asarray(matrix)
    diagonal = matrix.diagonal()[:, None]
    sizes = np.abs(images).max(axis=0, initial=0.0)
    active = np.arange(points.shape[1])
    while len(active):
        # A flip of the sign s_i changes the form by 4 (C_ii - s_i (Cs)_i).
        gains = points[:, active] * images[:, active] - diagonal
        places = np.argmax(gains, axis=0)
        lower = gains[places, np.arange(len(active))] > _ROUNDING * sizes[active]
        active, places = active[lower], places[lower]
        columns = matrix[:, places].toarray() if sparse else matrix[:, places]
        images[:, active] -= 2.0 * points[places, active] * columns
        points[places, active] *= -1.0
        sizes[active] = np.fmax(sizes[active], np.abs(columns).max(axis=0, initial=0.0))
    return points


def _rotated_blocks(matrix: np.ndarray, block: int) -> np.ndarray:
    """Return the rotations nearest to square blocks, after a reflection of all if most need one."""
    left, _, right = np.linalg.svd(matrix.reshape(-1, block, block))
    signs = np.linalg.det(left @ right)
    if signs.sum() < 0.0:
        right[..., -1] *= -1.0
        signs = -signs
    left[..., -1] *= signs[:, None]
    return (left @ right).reshape(matrix.shape)
