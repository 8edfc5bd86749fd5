"""A near-exact dense subproblem solver that needs only a few Cholesky factorizations.

Moré and Sorensen's method (*Computing a trust region step*, 1983): find a multiplier for which
``(H + lambda I) s = -g`` reaches the boundary, by Newton's method on ``1/|s| - 1/radius``. It ends
on a proof rather than on ``|s| ~ radius``: by weak duality no feasible step decreases the model by
more than ``D = (g'(H + lambda I)^-1 g + lambda radius^2) / 2`` for any ``lambda >= 0`` with
``H + lambda I`` positive definite, so a step is good as soon as its own decrease comes close to
``D``. With ``A = -g's`` two kinds of steps on the boundary have a known gap to ``D``:

- ``alpha s`` with ``alpha = radius/|s|``: ``A (1 - alpha)^2 / (A + lambda radius^2)``,
- ``s + tau u`` for a unit ``u`` (the hard case, ``u`` near the leftmost eigenvector):
  ``tau^2 u'(H + lambda I)u / (A + lambda radius^2)``.

A few Lanczos steps or inverse iterations estimate the leftmost eigenvector, which is needed only to
a fraction of the tolerance.

The root of ``|s(lambda)| = radius``, with ``(H + lambda I) s = -g``, lies right of the pole at
``-lambda_1(H)``. Each factorization, successful or not, narrows the interval that holds it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from riemtr.problem.cholesky import indefinite_direction, shifted_cholesky
from riemtr.subproblem.exact import solve_exact_dense

_SMALL, _LARGE = 1e-60, 1e60  # beyond these, squares and their products get near the limits


@dataclass(frozen=True, eq=False)
class NearExactSolution:
    """A step whose decrease of the model is certified to be near the best possible.

    Attributes
    ----------
    vector : ndarray, shape (n,)
        The step ``s``, on the boundary to rounding or inside. Inside, the multiplier is zero, or
        next to nothing where ``H`` is singular and had to be shifted to be factorized.
    hessian_vector : ndarray, shape (n,)
        ``H s``.
    multiplier : float
        The last multiplier.
    on_boundary : bool
        Whether the step ends on the boundary.
    hard_case : bool
        Whether the boundary was reached along an estimate of the leftmost eigenvector.
    model_decrease : float
        ``-(g's + s'Hs/2)``.
    gap : float
        A proven bound: ``model_decrease >= (1 - gap) * best``; zero for the Newton step.
    factor : ndarray, shape (n, n), or None
        Upper triangular ``R`` (what is below the diagonal is not used) with
        ``R'R = H + multiplier I``, for ``scipy.linalg.cho_solve((factor, False), ...)``; None
        if the eigendecomposition had to step in.
    factorizations : int
        How many Cholesky factorizations were tried.
    """

    vector: np.ndarray
    hessian_vector: np.ndarray = field(repr=False)
    multiplier: float
    on_boundary: bool
    hard_case: bool
    model_decrease: float
    gap: float
    factor: np.ndarray | None = field(repr=False)
    factorizations: int


def solve_near_exact(
    hessian: np.ndarray,
    gradient: np.ndarray,
    radius: float,
    *,
    tolerance: float = 0.1,
    initial_multiplier: float = 0.0,
    max_factorizations: int = 10,
) -> NearExactSolution:
    """Find a step with at least ``1 - tolerance`` of the best possible decrease.

    Parameters
    ----------
    hessian : ndarray, shape (n, n)
        Symmetric, in double precision; not checked.
    gradient : ndarray, shape (n,)
        In double precision; not checked.
    radius : float
        Positive.
    tolerance : float
        Largest relative loss of model decrease, between 0 and 1. Where ``H`` is positive
        definite and the Newton step lies inside, that step is returned.
    initial_multiplier : float
        Where to begin, nonnegative: zero tries the Newton step first; the previous multiplier
        saves factorizations where the Hessian changes little.
    max_factorizations : int
        After so many the exact solver takes over.

    Examples
    --------
    >>> import numpy as np
    >>> near = solve_near_exact(np.diag([1.0, 4.0]), np.array([1.0, 4.0]), radius=2.0)
    >>> near.vector, near.on_boundary, near.factorizations
    (array([-1., -1.]), False, 1)
    """
    n = gradient.shape[0]
    gradient_norm = math.sqrt(gradient.dot(gradient))
    frobenius = math.sqrt(np.vdot(hessian, hessian)) if n else 0.0
    if not (
        _SMALL < frobenius < _LARGE
        and _SMALL < radius < _LARGE
        and (_SMALL < gradient_norm < _LARGE or not gradient.any())
    ):
        return _by_eigendecomposition(hessian, gradient, radius, 0)

    bounds = MultiplierBounds(hessian, gradient, frobenius, gradient_norm, radius, tolerance)
    multiplier = max(float(initial_multiplier), bounds.lower)
    leftmost = None
    for count in range(1, max_factorizations + 1):
        factor, failed_at = shifted_cholesky(hessian, multiplier)
        if failed_at:
            leftmost = lanczos(hessian, indefinite_direction(hessian, factor, failed_at))
            multiplier = bounds.after_failure(multiplier, leftmost)
            continue
        trial = _solve_shifted(factor, gradient, multiplier, radius, count)
        found = _step_along(trial, tolerance, bounds.rounding)
        if found is not None:
            return found
        newton = _newton_multiplier(trial)
        if trial.length > radius:
            multiplier = bounds.rise(multiplier, newton)
            continue
        found = _step_across(trial, leftmost, tolerance) if leftmost else None
        if found is not None:
            return found
        leftmost = inverse_iteration(factor, multiplier, leftmost)
        found = _step_across(trial, leftmost, tolerance)
        if found is not None:
            return found
        multiplier = bounds.fall(multiplier, newton, leftmost)
    return _by_eigendecomposition(hessian, gradient, radius, max_factorizations)


class _Trial(NamedTuple):
    """What one successful factorization gives."""

    factor: np.ndarray
    gradient: np.ndarray
    multiplier: float
    radius: float
    factorizations: int
    step: np.ndarray
    length: float
    along: float  # A = -g's = s'(H + lambda I)s
    best: float  # twice the bound D on any step's decrease

    def finish(
        self, vector: np.ndarray, image: np.ndarray, gap: float, on_boundary: bool, hard_case: bool
    ) -> NearExactSolution:
        return NearExactSolution(
            vector=vector,
            hessian_vector=image,
            multiplier=self.multiplier,
            on_boundary=on_boundary,
            hard_case=hard_case,
            model_decrease=0.5 * self.best * (1.0 - gap),
            gap=gap,
            factor=self.factor,
            factorizations=self.factorizations,
        )


def _solve_shifted(
    factor: np.ndarray, gradient: np.ndarray, multiplier: float, radius: float, count: int
) -> _Trial:
    step = lapack.dpotrs(factor, gradient)[0]
    np.negative(step, out=step)
    length = math.sqrt(step.dot(step))
    along = -float(gradient.dot(step))
    best = along + multiplier * radius * radius
    return _Trial(factor, gradient, multiplier, radius, count, step, length, along, best)


def _step_along(trial: _Trial, tolerance: float, rounding: float) -> NearExactSolution | None:
    """Return ``s``, or ``s`` brought to the boundary, if that is good enough."""
    slack = trial.multiplier * (trial.radius - trial.length) * (trial.radius + trial.length)
    limited = trial.multiplier > rounding and trial.length >= 0.99 * trial.radius
    if (
        trial.length <= trial.radius
        and not limited
        # Inside only where the constraint is worth nothing: a step across to the boundary would
        # follow a flat direction of a semidefinite Hessian.
        and (slack <= 0.01 * tolerance * trial.best or trial.multiplier <= rounding)
    ):
        gap = slack / trial.best if trial.best > 0.0 else 0.0
        image = -trial.gradient - trial.multiplier * trial.step
        return trial.finish(trial.step, image, gap, on_boundary=False, hard_case=False)
    ratio = trial.radius / trial.length if trial.length > 0.0 else math.inf
    loss = trial.along * (1.0 - ratio) ** 2 if trial.along > 0.0 else math.inf
    if loss > tolerance * trial.best:
        return None
    vector = ratio * trial.step
    image = -ratio * trial.gradient - trial.multiplier * vector
    return trial.finish(vector, image, loss / trial.best, on_boundary=True, hard_case=False)


def _step_across(trial: _Trial, leftmost: Leftmost, tolerance: float) -> NearExactSolution | None:
    """Return ``s + tau u`` on the boundary if that is good enough: the hard case."""
    inner = float(trial.step.dot(leftmost.vector))
    slack = (trial.radius - trial.length) * (trial.radius + trial.length)
    # The root of |s + tau u| = radius that is smaller in magnitude, without cancellation.
    tau = slack / (inner + math.copysign(math.sqrt(inner * inner + slack), inner))
    loss = tau * tau * (leftmost.curvature + trial.multiplier)
    if loss > tolerance * trial.best:
        return None
    image = tau * leftmost.image - trial.gradient - trial.multiplier * trial.step
    vector = trial.step + tau * leftmost.vector
    return trial.finish(
        vector, image, max(0.0, loss / trial.best), on_boundary=True, hard_case=True
    )


def _newton_multiplier(trial: _Trial) -> float:
    """One step of Newton's method on ``1/|s| - 1/radius``."""
    if trial.length == 0.0:
        return 0.0
    solved = lapack.dtrtrs(trial.factor, trial.step, trans=1)[0]
    ratio = trial.length / math.sqrt(solved.dot(solved))
    return trial.multiplier + ratio * ratio * (trial.length - trial.radius) / trial.radius


def _by_eigendecomposition(
    hessian: np.ndarray, gradient: np.ndarray, radius: float, factorizations: int
) -> NearExactSolution:
    exact = solve_exact_dense(hessian, gradient, radius)
    return NearExactSolution(
        vector=exact.vector,
        hessian_vector=exact.hessian_vector,
        multiplier=exact.multiplier,
        on_boundary=exact.on_boundary,
        hard_case=exact.hard_case,
        model_decrease=exact.model_decrease,
        gap=0.0,
        factor=None,
        factorizations=factorizations,
    )


# -- cheap estimates of the leftmost eigenvector of a dense symmetric matrix ----------------------

_LANCZOS_STEPS = 6
_INVERSE_ITERATIONS = 3


class Leftmost(NamedTuple):
    """An estimate of the leftmost eigenvector of ``H``: unit ``u``, ``H u``, ``u'H u``."""

    vector: np.ndarray
    image: np.ndarray
    curvature: float
    error: float  # |H u - (u'H u) u|, or 0 where it was not computed


def lanczos(hessian: np.ndarray, start: np.ndarray) -> Leftmost:
    """Refine a guess of the leftmost eigenvector by a few Lanczos steps."""
    basis = [start]
    diagonal: list[float] = []
    off_diagonal: list[float] = []
    for _ in range(min(_LANCZOS_STEPS, start.shape[0])):
        image = hessian.dot(basis[-1])
        diagonal.append(float(image.dot(basis[-1])))
        image -= diagonal[-1] * basis[-1]
        if off_diagonal:
            image -= off_diagonal[-1] * basis[-2]
        off_diagonal.append(math.sqrt(image.dot(image)))
        if off_diagonal[-1] <= 1e-8 * (abs(diagonal[-1]) + off_diagonal[0]):
            break  # an invariant subspace
        basis.append(image / off_diagonal[-1])
    size = len(diagonal)
    vectors = lapack.dstev(np.array(diagonal), np.array(off_diagonal[: size - 1] or [0.0]))[1]
    return _estimate(hessian, vectors[:, 0].dot(np.array(basis[:size])))


def inverse_iteration(factor: np.ndarray, shift: float, start: Leftmost | None) -> Leftmost:
    """Refine an estimate of the leftmost eigenvector with ``R'R = H + shift I``."""
    vector = _starting_direction(factor.shape[0]) if start is None else start.vector
    for _ in range(_INVERSE_ITERATIONS):
        previous = vector
        solved = lapack.dpotrs(factor, previous)[0]
        length = math.sqrt(solved.dot(solved))
        vector = solved / length
    image = previous / length - shift * vector
    return Leftmost(vector, image, float(vector.dot(image)), 0.0)


def _estimate(hessian: np.ndarray, vector: np.ndarray) -> Leftmost:
    vector = vector / math.sqrt(vector.dot(vector))
    image = hessian.dot(vector)
    curvature = float(vector.dot(image))
    residual = image - curvature * vector
    return Leftmost(vector, image, curvature, math.sqrt(residual.dot(residual)))


@lru_cache(maxsize=32)
def _starting_direction(n: int) -> np.ndarray:
    """Return a fixed unit vector that is orthogonal to no eigenvector one meets in practice."""
    vector = np.cos(0.7 * np.arange(1, n + 1) ** 2) + 0.1
    vector /= math.sqrt(vector.dot(vector))
    vector.flags.writeable = False
    return vector


# -- where the multiplier of a trust-region step can be, and where to look for it next ------------

_EPS = float(np.finfo(float).eps)


class MultiplierBounds:
    """The interval that holds the optimal multiplier, and where in it to look next."""

    def __init__(
        self,
        hessian: np.ndarray,
        gradient: np.ndarray,
        frobenius: float,
        gradient_norm: float,
        radius: float,
        tolerance: float,
    ) -> None:
        self.hessian = hessian
        self.frobenius = frobenius
        self.slope = gradient_norm / radius
        self.tolerance = tolerance
        self.rounding = gradient.shape[0] * _EPS * frobenius
        self.failed = False  # whether a factorization was
        self.upper = math.inf
        self.lower = 0.0
        if gradient_norm > 0.0:
            # Jensen's inequality, for |s|^2 as a weighted mean of 1/(lambda_i + lambda)^2.
            unit = gradient / gradient_norm
            self.lower = max(0.0, self.slope - float(unit.dot(hessian.dot(unit))))

    def after_failure(self, multiplier: float, leftmost: Leftmost) -> float:
        """``H + multiplier I`` is not positive definite: the root lies to the right.

        Look just to the right of the estimated pole; bisect where the estimate has proved poor.
        """
        self.lower = max(self.lower, multiplier, -leftmost.curvature)
        self.upper = min(self.upper, max(self.lower, self._upper_bound()))
        if self.failed and leftmost.error > 0.5 * self.lower:
            return max(math.sqrt(self.lower * self.upper), 0.99 * self.lower + 0.01 * self.upper)
        self.failed = True
        return self._right_of_pole(leftmost.error - leftmost.curvature)

    def rise(self, multiplier: float, newton: float) -> float:
        """``|s| > radius``: Newton's method does not overshoot from this side."""
        self.lower = max(self.lower, multiplier)
        return newton

    def fall(self, multiplier: float, newton: float, leftmost: Leftmost) -> float:
        """``|s| < radius``: Newton's multiplier is a lower bound, and so is the pole's estimate."""
        self.upper = min(self.upper, multiplier)
        pole = -leftmost.curvature
        if newton > max(pole, self.lower):
            self.lower = newton
            return newton
        self.lower = max(self.lower, newton, pole)
        if self.lower == 0.0 and not self.failed:
            return 0.0
        return self._right_of_pole(self.lower)

    def _upper_bound(self) -> float:
        """Bound the root from the entries of the Hessian.

        With ``m`` the mean of the eigenvalues and ``d`` their standard deviation, the smallest is
        at least ``m - d sqrt(n-1)`` (Wolkowicz and Styan, 1980). Where that is tight the slack
        leaves room for a factorization.
        """
        n = self.hessian.shape[0]
        mean = float(self.hessian.diagonal().sum()) / n
        deviation = math.sqrt(max(0.0, self.frobenius * self.frobenius / n - mean * mean))
        pole = max(0.0, deviation * math.sqrt(n - 1) - mean)
        return (1.0 + self.tolerance) * pole + self.slope + 10.0 * self.rounding

    def _right_of_pole(self, farthest: float) -> float:
        """Return a multiplier where the hard case ends and the easy one is left of its root."""
        near = max(self.lower * (1.0 + 0.5 * self.tolerance), 0.5 * (self.lower + farthest))
        return max(min(near, 0.5 * (self.lower + self.upper)), self.rounding)
