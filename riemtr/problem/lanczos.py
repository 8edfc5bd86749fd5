r"""The smallest eigenvalue of a Hessian from products alone, with an error bound.

By Lanczos from a random start. The smallest Ritz value :math:`\theta` overestimates
:math:`\lambda_{\min}`. By how much at most follows from what k steps know of the spectrum, which is
the first 2k moments of the start's spectral measure: any measure with these moments has on
:math:`(-\infty, x]`, for x left of all Ritz values, a mass of at most
:math:`1/\sum_{j \le k} p_j(x)^2` (the Christoffel function, by the inequality of Chebyshev, Markov
and Stieltjes), with :math:`p_j` the orthonormal polynomials of the Lanczos recurrence

.. math:: \beta_j p_j(x) = (x - \alpha_j)\,p_{j-1}(x) - \beta_{j-1} p_{j-2}(x), \qquad p_0 = 1.

An eigenvector's mass is its squared overlap with the random start, on a space of dimension d at
least :math:`\delta^2\pi/(2d)` with probability :math:`1 - \delta`. Once the Christoffel function at
x is below that, there is no eigenvalue at x or left of it, whatever the spectrum.

Memory is bounded. The recurrence itself needs three vectors. Further vectors are kept, up to
``STORED_ENTRIES`` numbers in all (32 MB), so that a direction can be put together without a second
pass; and while they are few, or the dimension is small, new vectors are orthogonalised against
them. Beyond that the recurrence runs on its own: in finite precision it is exact Lanczos for a
matrix whose eigenvalues lie in tiny clusters around the true ones (Greenbaum, Linear Algebra Appl.
113, 1989), and the bound above is on the mass of a whole half-line, so that it stands. Only the
number of steps says nothing then: more of them than dimensions need not be the end.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np
from scipy.linalg import eigh_tridiagonal
from scipy.linalg.lapack import dstev

from riemtr.manifolds.arrays import as_real, flatten, from_real

if TYPE_CHECKING:
    from riemtr.problem.evaluation import Evaluation

# Chance that the error bound fails, for the worst of all spectra: 1e-6 takes 30% more steps.
FAILURE_PROBABILITY = 1e-4
# Entries of all the vectors that are kept together: 32 MB in double precision.
STORED_ENTRIES = 2**22
# Vectors that are kept whatever their size: as many as the recurrence itself works on.
_FEWEST_STORED = 3
# Entries of the kept vectors up to which orthogonalising against them costs next to nothing beside
# the Python around a product.
_CHEAP_ENTRIES = 2**15
# Dimension up to which all vectors are kept orthogonal: as many steps as there are dimensions then
# tell the whole spectrum, however ill-conditioned it is.
_ORTHOGONAL_DIMENSION = 1000
# Steps at most; a spectrum that needs more is not decided by Lanczos.
_MAX_STEPS = 20_000
# Steps at most over the dimension. A recurrence whose vectors are not orthogonal finds eigenvalues
# again and again, and needs more steps than there are dimensions for the last ones.
_MOST_REPEATED = 3
# Power of the precision up to which vectors that are not quite orthogonal do no harm: the matrix
# is exact to rounding from 1/2 on (Simon, Linear Algebra Appl. 61, 1984).
_LOST = 0.75
# Share of its length that a vector keeps which was orthogonal to the others already.
_KEPT = 0.7
# Steps up to which LAPACK's plain QR iteration is the fastest for the tridiagonal matrix.
_FEW_STEPS = 64
# Share of the most negative curvature known that makes a direction worth following.
_DECENT = 0.1
# Bisections of the error bound, between nothing and the one that is wanted.
_BISECTIONS = 7
# Seed of the random start; no user draws their own starts from it.
_SEED = 0x1A2C205


class Krylov:
    """The Lanczos recurrence at one point, as far as it has been taken.

    Parameters
    ----------
    here : Evaluation
        The point, whose Hessian is multiplied with, across the problem's symmetries.
    failure_probability : float
        Chance that a bound on eigenvalues is wrong, for the worst of all spectra.

    Attributes
    ----------
    steps : int
        Number of steps taken.
    diagonal, offdiagonal : list of float
        The tridiagonal matrix; the last off-diagonal entry belongs to the next step.
    spread : float
        A bound of the size of the tridiagonal matrix, from its entries.
    exhausted : bool
        Whether the recurrence has come to its end, and the spectrum is known.
    at_limit : bool
        Whether there are no further steps to take.
    asymmetry : float
        Largest difference seen between <u, Hv> and <v, Hu>.
    finite : bool
        False once a product was not finite.
    first : pair of ndarray or None
        The random start, of unit length, and the product of the Hessian with it.
    """

    def __init__(self, here: Evaluation, failure_probability: float = FAILURE_PROBABILITY):
        self._here = here
        self.dim = here.manifold.dim - len(here.symmetries)
        self.steps = 0
        self.diagonal: list[float] = []
        self.offdiagonal: list[float] = []
        self.spread = self.asymmetry = 0.0
        self.exhausted, self.at_limit, self.finite = False, self.dim <= 0, True
        self._largest_diagonal = self._largest_offdiagonal = 0.0
        self._orthogonal = here.manifold.dot_metric
        self._random = _generator(here)
        vector = here.space.random(self._random)
        if len(here.symmetries):
            vector = here.across(vector)
            vector = vector / vector.real.dtype.type(here.norm(vector) or 1.0)
        self._vector = vector
        self._before: np.ndarray | None = None
        self._kept: list[np.ndarray] = []
        # The sum of the kept vectors with random signs: what is orthogonal to it is so to them.
        self._sum = 0.0 * vector
        self._was_lost = False
        self._room = max(STORED_ENTRIES // max(as_real(vector).size, 1), _FEWEST_STORED)
        self._most = min(_MAX_STEPS, _MOST_REPEATED * self.dim)
        self._conjugate: _Conjugate | None = None
        self.first: tuple[np.ndarray, np.ndarray] | None = None
        self._enough = 2.0 * self.dim / math.pi / failure_probability**2
        self._chain = _Chain(math.nan)

    def step(self, accuracy: float) -> None:
        """Take one more step; products are known to a relative accuracy."""
        here, vector, before = self._here, self._vector, self._before
        image = here.hessian(vector)
        self.first = self.first or (vector, image)
        alpha = here.inner(vector, image)
        self.diagonal.append(alpha)
        self.steps += 1
        if len(self._kept) < self._room:
            self._kept.append(vector)
        else:
            self._conjugated(vector)
        remainder = image - alpha * vector
        if before is not None:
            beta = self.offdiagonal[-1]
            self.asymmetry = max(self.asymmetry, abs(here.inner(before, image) - beta))
            remainder -= beta * before
        # In every step, since the recurrence multiplies what rounding leaves outside the space.
        remainder = here.tangent(remainder)
        if len(here.symmetries):
            remainder = here.across(remainder)
        residual = here.norm(remainder)
        stored = len(self._kept)
        cheap = stored * as_real(vector).size <= _CHEAP_ENTRIES or self.dim <= _ORTHOGONAL_DIMENSION
        self._orthogonal = self._orthogonal and cheap and stored == self.steps
        if self._orthogonal:
            self._sum += vector if self._random.random() < 0.5 else -vector
            is_lost = abs(here.inner(self._sum, remainder)) > here.precision**_LOST * residual
            if is_lost or self._was_lost:  # the recurrence has what was lost from two vectors
                remainder = self._orthogonalised(remainder, residual)
                residual = here.norm(remainder)
            self._was_lost = is_lost
        self.finite = math.isfinite(alpha + residual)
        self._largest_diagonal = max(self._largest_diagonal, abs(alpha))
        self.spread = self._largest_diagonal + 2.0 * self._largest_offdiagonal
        complete = self._orthogonal and self.steps == self.dim
        # A remainder of rounding alone might hide a little of the spectrum all the same.
        self.exhausted = complete or residual <= accuracy * self.spread
        self.offdiagonal.append(0.0 if complete else residual)
        self.at_limit = self.exhausted or not self.finite or self.steps >= self._most
        if not self.at_limit:
            self._largest_offdiagonal = max(self._largest_offdiagonal, residual)
            self._before, self._vector = vector, remainder / remainder.dtype.type(residual)

    def _orthogonalised(self, remainder: np.ndarray, length: float) -> np.ndarray:
        """Return a vector of some length without its part in the span of the kept vectors."""
        here, known = self._here, np.array([as_real(vector) for vector in self._kept])
        for _ in range(2):
            flat = as_real(remainder)
            remainder = from_real(flat - (known @ flat) @ known, remainder)
            shorter, length = length, here.norm(remainder)
            if length > _KEPT * shorter:  # next to nothing was removed: once is enough
                break
            # The little that is left may be off the tangent space by roundings of what was.
            remainder = here.tangent(remainder)
        return remainder

    def _conjugated(self, vector: np.ndarray) -> None:
        """Take a vector that is not kept into account.

        The directions of CG go along from then on: one of negative curvature is there the moment
        that the recurrence knows of any.
        """
        if self._conjugate is None:
            self._conjugate = _Conjugate()
            betas = [0.0, *self.offdiagonal]
            for before in zip(self._kept, self.diagonal, betas, strict=False):
                self._conjugate.advance(self._here, *before)
        self._conjugate.advance(self._here, vector, self.diagonal[-1], self.offdiagonal[-1])

    def side_of(self, x: float) -> int:
        """Return 1 if no eigenvalue is at x or left of it, -1 if a Ritz value is, 0 otherwise.

        Asked for the same x again, it looks at no more than the steps since.
        """
        chain = self._chain
        if chain.x != x:
            chain = self._chain = _Chain(x)
        return chain.advance(self.diagonal, self.offdiagonal, self._enough)

    def extremes(self) -> tuple[float, float, float]:
        """Return the smallest and the largest Ritz value, and the residual of the smallest."""
        smallest, largest, vector = self._ends(self.steps)
        return smallest, largest, self.offdiagonal[-1] * abs(float(vector[-1]))

    def _ends(self, count: int) -> tuple[float, float, np.ndarray]:
        """Return the extreme eigenvalues of a leading block, and the eigenvector of the smallest.

        The block is brought to order one, or squares of its entries might underflow.
        """
        largest = max(map(abs, self.diagonal)) + 2.0 * max(self.offdiagonal[:-1], default=0.0)
        scale = largest or 1.0
        diagonal = np.array(self.diagonal[:count]) / scale
        offdiagonal = np.array(self.offdiagonal[: count - 1]) / scale
        if count <= _FEW_STEPS:
            beside = offdiagonal if count > 1 else np.zeros(1)
            values, vectors, failed = dstev(diagonal, beside)
            if not failed:
                return scale * float(values[0]), scale * float(values[-1]), vectors[:, 0]
        first, last = (0, 0), (count - 1, count - 1)
        low, vector = eigh_tridiagonal(diagonal, offdiagonal, select="i", select_range=first)
        high = eigh_tridiagonal(
            diagonal, offdiagonal, eigvals_only=True, select="i", select_range=last
        )
        return scale * float(low[0]), scale * float(high[0]), vector[:, 0]

    def excludes(self, x: float) -> bool:
        """Whether no eigenvalue is at x or left of it."""
        return _Chain(x).advance(self.diagonal, self.offdiagonal, self._enough) > 0

    def excludes_above(self, x: float) -> bool:
        """Whether no eigenvalue is at x or right of it."""
        opposite = [-entry for entry in self.diagonal]
        return _Chain(-x).advance(opposite, self.offdiagonal, self._enough) > 0

    def error(self, smallest: float, wanted: float) -> float:
        """Bound how far the smallest eigenvalue is below the smallest Ritz value.

        The search begins with the bound that is ``wanted``, if that is possible.
        """
        tiny = 1e-16 * abs(smallest)
        if self.exhausted and self.offdiagonal[-1] == 0.0:
            return 0.0
        far = wanted if wanted > tiny else max(abs(smallest), 1e-300)
        near = 0.0
        while not self.excludes(smallest - far):
            near, far = far, 4.0 * far
            if not math.isfinite(far):
                return math.inf
        for _ in range(_BISECTIONS):
            middle = 0.5 * (near + far)
            near, far = (near, middle) if self.excludes(smallest - middle) else (middle, far)
        return far

    def best_kept(self) -> tuple[np.ndarray, float, float, np.ndarray | None]:
        """Return the unit vector of the smallest curvature among the combinations of kept vectors.

        The curvature along it and the norm of its residual come second and third. All are those of
        the smallest Ritz value where all vectors were kept; the image under the Hessian, which
        comes last, is then that of the products that were taken.
        """
        stored = len(self._kept)
        value, _, coefficients = self._ends(stored)
        residual = self.offdiagonal[stored - 1] * float(coefficients[-1])
        total = self._combined(coefficients)
        length = total.real.dtype.type(self._here.norm(total))
        direction, image = total / length, None
        if stored == self.steps and (self.exhausted or not self.at_limit):
            image = value * direction
            if not self.exhausted:
                image = image + (residual / length) * self._vector
        return direction, value, abs(residual), image

    def descent(self, smallest: float) -> np.ndarray | None:
        """Return a unit vector of about the smallest Ritz value that needs no second pass.

        None where there is none of a decent share of that.
        """
        if len(self._kept) == self.steps:
            return self.best_kept()[0]
        conjugate = self._conjugate
        if conjugate is None or not conjugate.curvature < _DECENT * smallest:
            return None
        return conjugate.best

    def ritz_vector(self) -> np.ndarray:
        """Return the unit vector of the smallest Ritz value.

        The vectors that were not kept are computed a second time.
        """
        here, count = self._here, len(self._kept)
        if count == self.steps:
            return self.best_kept()[0]
        *_, coefficients = self._ends(self.steps)
        total = self._combined(coefficients)
        before, vector = self._kept[-2:]
        for step in range(count - 1, self.steps - 1):
            remainder = here.hessian(vector) - self.diagonal[step] * vector
            remainder -= self.offdiagonal[step - 1] * before
            remainder = here.across(here.tangent(remainder))
            before, vector = vector, remainder / self.offdiagonal[step]
            total += float(coefficients[step + 1]) * vector
        return total / total.real.dtype.type(here.norm(total))

    def _combined(self, coefficients: np.ndarray) -> np.ndarray:
        """Return the kept vectors times the first of some coefficients."""
        pairs = zip(coefficients.tolist(), self._kept, strict=False)
        share, vector = next(pairs)
        total = share * vector
        for share, vector in pairs:
            total += share * vector
        return total


class _Conjugate:
    r"""The conjugate directions of CG, which the Lanczos vectors make by a recurrence of their own.

    With the factorization :math:`T = L D L'` of the tridiagonal matrix they are
    :math:`p_k = v_k - \ell_{k-1} p_{k-1}`, and :math:`\langle p_k, H p_k \rangle = d_k`.
    """

    def __init__(self) -> None:
        self.best: np.ndarray | None = None
        self.curvature = 0.0
        self._direction: np.ndarray | None = None
        self._pivot = 1.0

    def advance(self, here: Evaluation, vector: np.ndarray, alpha: float, beta: float) -> None:
        """Take one more Lanczos vector into account."""
        direction = vector
        if self._direction is not None:
            share = beta / self._pivot if self._pivot else 0.0
            direction = vector - share * self._direction
            alpha -= share * beta
        self._direction, self._pivot = direction, alpha
        length = here.norm(direction)
        if alpha < self.curvature * length * length:
            self.curvature = alpha / (length * length)
            self.best = direction / direction.real.dtype.type(length)


class _Chain:
    """The orthonormal polynomials of the recurrence at one number, as far as they were computed.

    Left of all Ritz values their signs alternate, as those of a Sturm sequence do, and the sum of
    their squares is the inverse of the Christoffel function.
    """

    def __init__(self, x: float):
        self.x = x
        self._count = self._side = 0
        self._before, self._value, self._total, self._beta = 0.0, 1.0, 1.0, 0.0

    def advance(self, diagonal: list[float], offdiagonal: list[float], enough: float) -> int:
        """Take the steps since the last time into account; return the side of ``side_of``."""
        if self._side:
            return self._side
        x, before, value, total = self.x, self._before, self._value, self._total
        beta_before = self._beta
        for step in range(self._count, len(offdiagonal)):
            new = (x - diagonal[step]) * value - beta_before * before
            beta = offdiagonal[step]
            if not new * value < 0.0 and new * value == new * value:
                self._side = -1
                return -1
            if beta == 0.0:
                self._side = 1
                return 1
            before, value, beta_before = value, new / beta, beta
            total += value * value
            if total >= enough:
                self._side = 1
                return 1
        self._count = len(offdiagonal)
        self._before, self._value, self._total, self._beta = before, value, total, beta_before
        return 0


def _generator(here: Evaluation) -> np.random.Generator:
    """Return a source of randomness that is the same at the same point, and no other.

    A run that left a saddle along what one start has seen is led to where the same start sees as
    little of the rest as before.
    """
    marks = [_SEED]
    for array in flatten(here.point, here.problem.layout):
        marks.append(crc32(np.asarray(array).tobytes()))
    return np.random.default_rng(marks)
