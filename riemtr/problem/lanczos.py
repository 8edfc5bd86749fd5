r"""The smallest eigenvalue of a Hessian from products alone, with an error bound.

By Lanczos with full reorthogonalisation from a random start. The smallest Ritz value
:math:`\theta` overestimates :math:`\lambda_{\min}`. By how much at most follows from what k steps
know of the spectrum, which is the first 2k moments of the start's spectral measure: any measure
with these moments has at a point x a mass of at most :math:`1/\sum_{j \le k} p_j(x)^2`, the
Christoffel function, with :math:`p_j` the orthonormal polynomials of the Lanczos recurrence

.. math:: \beta_j p_j(x) = (x - \alpha_j)\,p_{j-1}(x) - \beta_{j-1} p_{j-2}(x), \qquad p_0 = 1.

(For :math:`K(t) = \sum_j p_j(x) p_j(t)`, the mass times :math:`K(x)^2` is at most
:math:`\int K^2 = K(x)`.) An eigenvector's mass is its squared overlap with the random start, on a
space of dimension d at least :math:`\delta^2\pi/(2d)` with probability :math:`1 - \delta`. Left of
:math:`\theta` the function grows with x, so that once it is below that at x there is no eigenvalue
at x or left of it, whatever the spectrum; and the signs of :math:`p_j(x)` tell whether a Ritz
value is. After d steps only rounding is left.

One more product measures the residual of the result itself. What it exceeds the expected by (a
Hessian by differences that are too coarse, or one that is not symmetric) widens the bounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np
from scipy.linalg import eigh_tridiagonal
from scipy.linalg.lapack import dstev

from riemtr.manifolds import as_real, dimension, from_real, random_tangent
from riemtr.problem.curvature import (
    NO_CURVATURE,
    UNKNOWN_CURVATURE,
    Curvature,
    accuracy_of,
    checked,
    rounding_of,
)
from riemtr.problem.layout import flatten

if TYPE_CHECKING:
    from riemtr.problem.evaluation import Evaluation

# Chance that the error bound fails, for the worst of all spectra.
FAILURE_PROBABILITY = 1e-6
# Bisections of the error bound, between nothing and what is wanted of it.
_BISECTIONS = 7
# Residual of a direction of negative curvature, relative to it, that is good enough to follow.
_WITNESS = 0.02
_MAX_STEPS = 2000
_MAX_ENTRIES = 2**27  # of all vectors together, 1 GiB
_FEW_STEPS = 64
# Of the random start: no seed that a user would draw their own starts from.
_SEED = 0x1A2C205


def lanczos_curvature(here: Evaluation, tolerance: float) -> Curvature:
    """Curvature from Hessian products, as few as decide it against ``-tolerance``."""
    dim = dimension(here.manifold)
    if dim == 0:
        return NO_CURVATURE
    basis = (_ArrayKrylov if here.problem.has_euclidean_vectors else _Krylov)(here)
    diagonal: list[float] = []
    offdiagonal: list[float] = []
    threshold = _Exclusion(-tolerance, dim)
    steps = min(dim, _MAX_STEPS, max(_FEW_STEPS, _MAX_ENTRIES // dim))
    vector = random_tangent(here.manifold, here.point, _generator(here))
    vector = here.in_precision(vector / here.norm(vector))
    looked = False
    for step in range(1, steps + 1):
        basis.append(vector)
        image = here.hessian(vector)
        diagonal.append(here.inner(vector, image))
        remainder, residual = basis.orthogonalize(image)
        if not math.isfinite(diagonal[-1] + residual):
            return UNKNOWN_CURVATURE
        spread = max(diagonal) - min(diagonal) + 2.0 * max(offdiagonal, default=0.0)
        negligible = accuracy_of(here) * max(spread, abs(diagonal[-1]))
        last = step == steps or residual <= negligible or here.is_out_of_time()
        # What is negligible is rounding, but for all one knows also a little of the spectrum.
        offdiagonal.append(0.0 if step == dim else residual)
        threshold.extend(diagonal[-1], offdiagonal[-1])
        # Looking at the Ritz vectors costs O(step^2): where once is not enough, do so at a growing
        # distance.
        told = threshold.crossed or threshold.excluded
        if last or (told and (not looked or step % max(1, step // 8) == 0)):
            looked = True
            found, settled = _ritz(here, diagonal, offdiagonal, tolerance)
            if last or settled:
                expected = residual * abs(float(found.direction[-1]))
                found = replace(found, direction=basis.combine(found.direction))
                return checked(here, found, expected)
        vector = remainder / residual
    raise AssertionError("the last step returns")


def _generator(here: Evaluation) -> np.random.Generator:
    """Return a source of randomness that is the same at the same point, and no other.

    A run that left a saddle along what one start has seen is led to where the same start sees as
    little of the rest as before.
    """
    arrays = flatten(here.point, getattr(here.manifold, "point_layout", 1))
    return np.random.default_rng([_SEED, *(crc32(np.asarray(array).tobytes()) for array in arrays)])


class _Exclusion:
    """What the Lanczos recurrence tells of eigenvalues at x or beyond, as seen from the others.

    Attributes
    ----------
    excluded : bool
        Whether there are none, but for the failure probability.
    crossed : bool
        Whether a Ritz value is at x or left of it.
    """

    def __init__(self, x: float, dim: int):
        self.x = x
        self.excluded = self.crossed = False
        self._enough = 2.0 * dim / math.pi / FAILURE_PROBABILITY**2
        self._before, self._value, self._offdiagonal = 0.0, 1.0, 0.0
        self._total = 1.0

    def extend(self, diagonal: float, offdiagonal: float) -> None:
        """Take one more step into account; an off-diagonal of zero ends the recurrence."""
        new = (self.x - diagonal) * self._value - self._offdiagonal * self._before
        self.crossed = self.crossed or new * self._value >= 0.0
        if offdiagonal == 0.0:
            self.excluded = True
            return
        self._before, self._value = self._value, new / offdiagonal
        self._offdiagonal = offdiagonal
        self._total += self._value * self._value
        self.excluded = self.excluded or self._total >= self._enough


def _is_excluded(x: float, diagonal: list[float], offdiagonal: list[float], dim: int) -> bool:
    """Whether no eigenvalue is at x or beyond, where x is outside of all Ritz values."""
    exclusion = _Exclusion(x, dim)
    for pair in zip(diagonal, offdiagonal, strict=True):
        exclusion.extend(*pair)
        if exclusion.excluded:
            return True
    return False


def _ritz(
    here: Evaluation, diagonal: list[float], offdiagonal: list[float], tolerance: float
) -> tuple[Curvature, bool]:
    """Extreme Ritz values, and whether they settle what there is to know.

    The direction is still in coordinates of the Krylov basis.
    """
    values, vectors = _eigenpairs(np.array(diagonal), np.array(offdiagonal[:-1]))
    smallest, largest = float(values[0]), float(values[-1])
    rounding = rounding_of(here, max(abs(smallest), abs(largest)), len(values))
    dim = dimension(here.manifold)

    def excluded(x: float) -> bool:
        return _is_excluded(x, diagonal, offdiagonal, dim)

    bound = rounding + _error(smallest, smallest + tolerance - rounding, excluded)
    found = Curvature(smallest, largest, bound, vectors[:, 0], rounding)
    if smallest + rounding < -tolerance:
        # A witness good enough to follow, and a saddle told from a maximizer.
        witness = offdiagonal[-1] * abs(float(vectors[-1, 0])) <= _WITNESS * -smallest
        told = largest > tolerance or excluded(tolerance - rounding)
        return found, witness and told
    return found, found.decides(tolerance)


def _error(smallest: float, wanted: float, excluded: Callable[[float], bool]) -> float:
    """Bound how far the smallest eigenvalue is below the smallest Ritz value.

    Begins where it is ``wanted`` to be, if that is possible: the bound is then no larger.
    """
    tiny = 1e-16 * abs(smallest)
    if excluded(smallest - tiny):
        return 0.0
    far = wanted if wanted > tiny else max(abs(smallest), 1e-300)
    near = 0.0
    while not excluded(smallest - far):
        near, far = far, 4.0 * far
        if not math.isfinite(far):
            return math.inf
    for _ in range(_BISECTIONS):
        middle = 0.5 * (near + far)
        near, far = (near, middle) if excluded(smallest - middle) else (middle, far)
    return far


def _eigenpairs(diagonal: np.ndarray, offdiagonal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues, in ascending order, and eigenvectors of a symmetric tridiagonal matrix."""
    if len(diagonal) <= _FEW_STEPS:  # QR iteration: most of the others' time would be overhead
        values, vectors, failed = dstev(diagonal, offdiagonal if len(diagonal) > 1 else np.zeros(1))
        if not failed:
            return values, vectors
    return eigh_tridiagonal(diagonal, offdiagonal)


class _Krylov:
    """Orthonormal tangent vectors at one point of any manifold."""

    def __init__(self, here: Evaluation):
        self._here = here
        self._vectors: list[Any] = []

    def append(self, vector: Any) -> None:
        self._vectors.append(vector)

    def orthogonalize(self, vector: Any) -> tuple[Any, float]:
        # Twice is enough. In between back to the tangent space: where little is left but rounding,
        # that matters.
        vector = self._here.tangent(self._reduce(vector))
        vector = self._reduce(vector)
        return vector, self._here.norm(vector)

    def _reduce(self, vector: Any) -> Any:
        for known in self._vectors:
            vector = vector - self._here.inner(known, vector) * known
        return vector

    def combine(self, coefficients: np.ndarray) -> Any:
        total = float(coefficients[0]) * self._vectors[0]
        for coefficient, vector in zip(coefficients[1:], self._vectors[1:], strict=True):
            total = total + float(coefficient) * vector
        return total / self._here.norm(total)


class _ArrayKrylov(_Krylov):
    """The same for arrays in the Euclidean metric, at the speed of matrix products."""

    def __init__(self, here: Evaluation):
        super().__init__(here)
        self._rows = np.zeros((0, 0))
        self._count = 0

    def append(self, vector: Any) -> None:
        count, flat = self._count, as_real(vector)
        if count >= len(self._rows):  # room for half as many again
            # Zeros, since BLAS may look at rows not filled yet, and complain about what is there.
            rows = np.zeros((max(3 * count // 2, 16), flat.size), dtype=flat.dtype)
            if count:
                rows[:count] = self._rows[:count]
            self._rows = rows
        self._rows[count] = flat
        self._count += 1
        self._like = vector

    # What is not finite is looked for afterwards; BLAS flags it now and then where nothing is.
    @np.errstate(invalid="ignore")
    def _reduce(self, vector: Any) -> Any:
        known, flat = self._rows[: self._count], as_real(vector)
        return from_real(flat - (known @ flat) @ known, vector)

    def combine(self, coefficients: np.ndarray) -> Any:
        total = from_real(coefficients @ self._rows[: self._count], self._like)
        return total / self._here.norm(total)
