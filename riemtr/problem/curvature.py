"""The smallest eigenvalue of a Hessian: what is known of it, and how the matrix tells it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from riemtr.problem.cholesky import indefinite_direction, shifted_cholesky

if TYPE_CHECKING:
    from riemtr.problem.evaluation import Evaluation

# Halving a step of differences leaves a quarter of their error: this much of the change, and more,
# is what the longer step was off.
_COARSE = 2.0


@dataclass(frozen=True, eq=False)
class Curvature:
    """Extreme eigenvalues of a Hessian.

    Attributes
    ----------
    min_eigenvalue, max_eigenvalue : float
        Estimates of the smallest (from above) and the largest eigenvalue (from below).
    error_bound : float
        The smallest eigenvalue lies in ``[min_eigenvalue - error_bound, min_eigenvalue + doubt]``.
    direction : tangent vector or None
        Unit eigenvector estimate of the smallest eigenvalue; None in dimension 0.
    doubt : float
        What the smallest eigenvalue may be above ``min_eigenvalue``: rounding, and how far the
        Hessian's own product along ``direction`` is off, if it is inexact or unsymmetric.
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

    def not_below(self, bound: float) -> Curvature:
        """Return the same with what else is known: that the smallest eigenvalue is not below."""
        if not self.lower_bound < bound:
            return self
        smallest = max(self.min_eigenvalue, bound)
        return replace(self, min_eigenvalue=smallest, error_bound=smallest - bound)

    def decides(self, tolerance: float) -> bool:
        """Whether it is known on which side of ``-tolerance`` the smallest eigenvalue lies."""
        return self.lower_bound >= -tolerance or self.min_eigenvalue + self.doubt < -tolerance


NO_CURVATURE = Curvature(math.inf, -math.inf, 0.0, None)
"""In dimension 0."""
UNKNOWN_CURVATURE = Curvature(math.nan, math.nan, math.inf, None)


def dense_curvature(here: Evaluation) -> Curvature:
    """Curvature from the eigendecomposition of the Hessian matrix."""
    values, vectors = here.eigh
    if len(values) == 0:
        return NO_CURVATURE
    rounding = rounding_of(here, float(np.abs(values[[0, -1]]).max()), len(values))
    found = Curvature(
        min_eigenvalue=float(values[0]),
        max_eigenvalue=float(values[-1]),
        error_bound=rounding,
        direction=here.basis.vector(vectors[:, 0]),
        doubt=rounding,
    )
    return checked(here, found, expected=0.0)


def is_positive(
    here: Evaluation, matrix: np.ndarray, tolerance: float, accuracy: float = 0.0
) -> bool | None:
    """Whether no eigenvalue is below ``-tolerance``, by Cholesky factorizations; None if unclear.

    The matrix is known to a relative ``accuracy``, or to that of the Hessian if it is coarser.
    Where it is too negative to be factorized, a product of the Hessian itself must confirm it.
    """
    rounding, error = _errors(here, matrix, accuracy)
    if not math.isfinite(error):
        return None
    if shifted_cholesky(matrix, tolerance - error)[1] == 0:
        return True
    factor, failed_at = shifted_cholesky(matrix, tolerance + error)
    if failed_at == 0:
        return None
    witness = here.basis.vector(indefinite_direction(matrix, factor, failed_at))
    bend = here.inner(witness, here.hessian(witness)) / here.inner(witness, witness)
    return False if bend + rounding < -tolerance else None


def is_clearly_positive(
    here: Evaluation, matrix: np.ndarray, tolerance: float, accuracy: float = 0.0
) -> bool:
    """Whether one factorization shows that no eigenvalue is below ``-tolerance``.

    The matrix, or a bound of the Hessian from below, is known to a relative ``accuracy``.
    """
    _, error = _errors(here, matrix, accuracy)
    return math.isfinite(error) and shifted_cholesky(matrix, tolerance - error)[1] == 0


def _errors(here: Evaluation, matrix: np.ndarray, accuracy: float) -> tuple[float, float]:
    """Rounding of the Hessian's eigenvalues, and how far off those of the matrix may be."""
    size = float(np.linalg.norm(matrix))
    rounding = rounding_of(here, size, len(matrix))
    return rounding, max(accuracy * max(size, here.conversion_size), rounding)


def checked(here: Evaluation, found: Curvature, expected: float) -> Curvature:
    """Measure the residual of a result; what is not expected of it goes into the bounds."""
    product = here.second_opinion(found.direction)
    residual = here.norm(product - found.min_eigenvalue * found.direction)
    size = max(abs(found.min_eigenvalue), abs(found.max_eigenvalue))
    doubt = residual - expected
    if here.hessian_kind == "differences":
        doubt *= _COARSE
    if doubt <= 1e3 * accuracy_of(here) * size:
        return found
    return replace(found, error_bound=found.error_bound + doubt, doubt=found.doubt + doubt)


def rounding_of(here: Evaluation, size: float, terms: int) -> float:
    """Error of an eigenvalue of a Hessian of the given size."""
    return accuracy_of(here) * max(size, here.conversion_size) * math.sqrt(terms)


def accuracy_of(here: Evaluation) -> float:
    """Relative accuracy of Hessian products."""
    if here.hessian_kind == "differences":
        return 10.0 * here.precision ** (2.0 / 3.0)
    return 10.0 * here.precision
