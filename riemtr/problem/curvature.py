r"""The smallest eigenvalue of the Hessian, with a direction and an error bound.

Matrix-free by Lanczos with full reorthogonalisation from a random start. After k steps on a space
of dimension d, the smallest Ritz value :math:`\theta` overestimates :math:`\lambda_{\min}`, and

* with probability at least :math:`1 - \delta` by at most
  :math:`(\theta_{\max} - \theta)\,\bigl(\ln(1.648\sqrt d/\delta)/(2k-1)\bigr)^2`
  (Kuczyński and Woźniakowski, SIAM J. Matrix Anal. Appl. 13(4), 1992, theorem 4.2);
* by at most the residual of the Ritz pair over the overlap of the smallest eigenvector with the
  random start, which is at least :math:`\delta\sqrt{\pi/(2d)}` with probability
  :math:`1 - \delta`: a small residual alone would prove nothing about *smaller* eigenvalues that
  the start barely touches;
* after d steps, by rounding only.

One more product measures the residual of the result itself. What it exceeds the expected by (a
Hessian by differences that are too coarse, or one that is not symmetric) widens the bounds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import eigh_tridiagonal
from scipy.linalg.lapack import dpotrf, dstev

from riemtr.manifolds import as_real, has_euclidean_metric, random_tangent

if TYPE_CHECKING:
    from riemtr.problem.evaluation import Evaluation

# Chance that the probabilistic bound fails, for the worst of all spectra.
FAILURE_PROBABILITY = 1e-6
# Residual of a direction of negative curvature, relative to it, that is good enough to follow.
_WITNESS = 0.02
_MAX_STEPS = 2000
_FEW_STEPS = 64
# Of the random start: no seed that a user would draw their own starts from.
_SEED = 0x1A2C205


@dataclass(frozen=True)
class Curvature:
    """Extreme eigenvalues of a Hessian.

    Attributes
    ----------
    min_eigenvalue, max_eigenvalue : float
        Estimates of the smallest (from above) and the largest eigenvalue (from below).
    error_bound : float
        The smallest eigenvalue lies in ``[min_eigenvalue - error_bound, min_eigenvalue +
        rounding]``.
    direction : tangent vector or None
        Unit eigenvector estimate of the smallest eigenvalue; None in dimension 0.
    doubt : float
        How far the Hessian's own product along ``direction`` is off, beyond what the method
        explains: no more than rounding, unless the Hessian is inexact or unsymmetric.
    """

    min_eigenvalue: float
    max_eigenvalue: float
    error_bound: float
    direction: Any
    doubt: float = 0.0

    @property
    def lower_bound(self) -> float:
        """What the smallest eigenvalue is not below."""
        return self.min_eigenvalue - self.error_bound

    def decides(self, tolerance: float) -> bool:
        """Whether it is known on which side of ``-tolerance`` the smallest eigenvalue lies."""
        return self.lower_bound >= -tolerance or self.min_eigenvalue + self.doubt < -tolerance


_NOTHING = Curvature(math.inf, -math.inf, 0.0, None)


def dense_curvature(here: Evaluation) -> Curvature:
    """Curvature from the eigendecomposition of the Hessian matrix."""
    values, vectors = here.eigh
    if len(values) == 0:
        return _NOTHING
    largest = float(np.abs(values[[0, -1]]).max())
    found = Curvature(
        min_eigenvalue=float(values[0]),
        max_eigenvalue=float(values[-1]),
        error_bound=_rounding(here, largest, len(values)),
        direction=here.basis.vector(vectors[:, 0]),
    )
    return _checked(here, found, expected=0.0)


def is_positive(
    here: Evaluation, matrix: np.ndarray, tolerance: float, accuracy: float = 0.0
) -> bool | None:
    """Whether no eigenvalue is below ``-tolerance``, by Cholesky factorizations; None if too close.

    The matrix is known to a relative ``accuracy``, or to that of the Hessian if it is coarser.
    """
    dim = len(matrix)
    if dim == 0:
        return True
    size = float(np.linalg.norm(matrix))
    if not math.isfinite(size):
        return None
    error = max(accuracy * size, _rounding(here, size, dim))
    if _is_definite(matrix, tolerance - error):
        return True
    return None if _is_definite(matrix, tolerance + error) else False


def _is_definite(matrix: np.ndarray, shift: float) -> bool:
    shifted = np.array(matrix, dtype=float)
    shifted.flat[:: len(shifted) + 1] += shift
    return dpotrf(shifted, overwrite_a=True)[1] == 0


def lanczos_curvature(here: Evaluation, tolerance: float) -> Curvature:
    """Curvature from Hessian products, as few as decide it against ``-tolerance``."""
    dim = here.manifold.dim
    if dim == 0:
        return _NOTHING
    basis = (_ArrayKrylov if has_euclidean_metric(here.manifold, here.point) else _Krylov)(here)
    diagonal: list[float] = []
    offdiagonal: list[float] = []
    steps = min(dim, _MAX_STEPS)
    vector = random_tangent(here.manifold, here.point, np.random.default_rng(_SEED))
    vector = vector / here.norm(vector)
    for step in range(1, steps + 1):
        basis.append(vector)
        image = here.hessian(vector)
        diagonal.append(here.inner(vector, image))
        remainder, residual = basis.orthogonalize(image)
        spread = _spread(diagonal, offdiagonal)
        negligible = max(1e-13, _accuracy(here)) * max(spread, abs(diagonal[-1]))
        exhausted = step == dim or residual <= negligible
        last = exhausted or step == steps
        # Looking at the Ritz values costs O(step^2): do so at a growing distance.
        if not math.isfinite(diagonal[-1] + residual):
            return Curvature(math.nan, math.nan, math.inf, None)
        if last or step % max(1, step // 8) == 0:
            found, settled = _ritz(here, diagonal, offdiagonal, residual, exhausted, tolerance)
            if last or settled:
                expected = residual * abs(float(found.direction[-1]))
                found = replace(found, direction=basis.combine(found.direction))
                return _checked(here, found, expected)
        offdiagonal.append(residual)
        vector = remainder / residual
    raise AssertionError("the last step returns")


def _spread(diagonal: list[float], offdiagonal: list[float]) -> float:
    return max(diagonal) - min(diagonal) + 2.0 * max(offdiagonal, default=0.0)


def _ritz(
    here: Evaluation,
    diagonal: list[float],
    offdiagonal: list[float],
    residual: float,
    exhausted: bool,
    tolerance: float,
) -> tuple[Curvature, bool]:
    """Extreme Ritz values, and whether they settle what there is to know.

    The direction is still in coordinates of the Krylov basis.
    """
    values, vectors = _eigenpairs(np.array(diagonal), np.array(offdiagonal))
    smallest, largest = float(values[0]), float(values[-1])
    rounding = _rounding(here, max(abs(smallest), abs(largest)), len(values))
    bottom, top = residual * np.abs(vectors[-1, [0, -1]])
    probable = rounding
    overlap = math.sqrt(2.0 * here.manifold.dim / math.pi) / FAILURE_PROBABILITY
    if not exhausted:
        probable += _probable_error(largest - smallest, len(values), here.manifold.dim)
    bound = min(probable, overlap * float(bottom) + rounding)
    found = Curvature(smallest, largest, bound, vectors[:, 0])
    if smallest < -tolerance:
        # A witness good enough to follow, and a saddle told from a maximizer.
        witness = bottom <= _WITNESS * -smallest
        above = min(probable, overlap * float(top) + rounding)
        told = largest > tolerance or above + largest <= tolerance
        return found, bool(witness and told)
    return found, found.decides(tolerance)


def _eigenpairs(diagonal: np.ndarray, offdiagonal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues, in ascending order, and eigenvectors of a symmetric tridiagonal matrix."""
    if len(diagonal) <= _FEW_STEPS:  # QR iteration: most of the others' time would be overhead
        values, vectors, failed = dstev(diagonal, offdiagonal if len(diagonal) > 1 else np.zeros(1))
        if not failed:
            return values, vectors
    return eigh_tridiagonal(diagonal, offdiagonal)


def _checked(here: Evaluation, found: Curvature, expected: float) -> Curvature:
    """Measure the residual of a result; what is not expected of it goes into the bounds."""
    residual = here.norm(here.hessian(found.direction) - found.min_eigenvalue * found.direction)
    size = max(abs(found.min_eigenvalue), abs(found.max_eigenvalue))
    doubt = residual - expected
    if doubt <= 1e3 * _accuracy(here) * size:
        return found
    return replace(found, error_bound=found.error_bound + doubt, doubt=doubt)


def _probable_error(spread: float, steps: int, dim: int) -> float:
    # The theorem has the true spread of the spectrum; the Ritz values' own is short of it by the
    # same relative error at either end.
    root = math.log(1.648 * math.sqrt(dim) / FAILURE_PROBABILITY) / (2 * steps - 1)
    relative = root**2
    return spread * relative / (1.0 - 2.0 * relative) if relative < 0.25 else math.inf


def _rounding(here: Evaluation, size: float, terms: int) -> float:
    """Error of an eigenvalue of a Hessian of the given size."""
    return _accuracy(here) * max(size, here.conversion_size) * math.sqrt(terms)


def _accuracy(here: Evaluation) -> float:
    """Relative accuracy of Hessian products."""
    if here.problem.derivatives.hessian == "differences":
        return 10.0 * here.precision ** (2.0 / 3.0)
    return 10.0 * here.precision


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
        self._rows = np.empty((0, 0))

    def append(self, vector: Any) -> None:
        count, flat = len(self._vectors), as_real(vector)
        if count >= len(self._rows):  # room for twice as many
            rows = np.empty((max(2 * count, 16), flat.size), dtype=flat.dtype)
            if count:
                rows[:count] = self._rows[:count]
            self._rows = rows
        self._rows[count] = flat
        super().append(vector)

    def _reduce(self, vector: Any) -> Any:
        known, flat = self._rows[: len(self._vectors)], as_real(vector)
        reduced = flat - (known @ flat) @ known
        return reduced.view(vector.dtype).reshape(vector.shape)
