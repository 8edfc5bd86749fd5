r"""How far the minimizer is: a radius around a point that holds exactly one critical point.

**Theorem** (Newton and Kantorovich). Let :math:`F(v) = f(\exp_x v)` on the tangent space at x have
a Hessian with Lipschitz constant L on the ball of radius :math:`2\eta`, where
:math:`|H^{-1} g| \le \eta` for the gradient g and the Hessian H at 0, and let
:math:`\lambda > 0` be a lower bound of the eigenvalues of H. If
:math:`h = L\eta/\lambda < 1/2`, then F has exactly one critical point v* with

.. math:: |v^*| \le r = \frac{2\eta}{1 + \sqrt{1 - 2h}},

and it is a strict minimizer: on that ball the Hessian is at least
:math:`\lambda - Lr = \lambda\sqrt{1 - 2h} > 0`. (Kantorovich 1948; for the
theorem on manifolds see arXiv 1505.05573.) The manifold is complete, so that every point
within r of x is :math:`\exp_x v` with :math:`|v| \le r`, and r is its geodesic distance; arrays of
submanifolds are closer still. Taylor's formula adds that :math:`f(x) - f(x^*)` is between 0 and
:math:`\frac12 g'H^{-1}g + \frac16 L r^3`.

**Symmetries.** Let the cost be invariant under a group of isometries whose orbits are closed, and
let the theorem hold for F on the vectors orthogonal to the orbit of x. Every point within r of the
orbit can be turned so that x is the point of the orbit nearest to it, and the geodesic that joins
them is then orthogonal to the orbit. Hence :math:`f(x^*)` is the least value within r of the orbit,
:math:`x^*` is critical, and every other critical point there is an image of it.

**Rounding.** "proved" accounts for all of it: for the point's own, which is a little off its
manifold, and for that of gradient and Hessian (:mod:`riemtr.problem.pullback`). That no
eigenvalue is below :math:`\lambda` is shown by a Cholesky factorization of the shifted matrix
that runs to its end (Rump, *Verification of positive definiteness*, BIT 46, 2006), and
:math:`\eta` has the residual of the Newton step in it. No probability is involved.

**The user's word.** Where the user states L (``Problem(..., hessian_lipschitz=...)``), it is taken
for true; rounding is measured, and has to be small beside the bound for that to be called proved.

**Estimated.** Elsewhere L is the largest change of Hessian products seen along a few directions,
times a safety factor. With more dimensions than the matrix is formed for, the smallest eigenvalue
is that of Lanczos's recurrence.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg.lapack import dpotrs

from riemtr.arguments import check_nonnegative
from riemtr.errors import ArgumentError, NonFiniteHessianError, OutOfTimeError
from riemtr.manifolds.arrays import as_real
from riemtr.problem import Evaluation
from riemtr.problem.cholesky import shifted_cholesky
from riemtr.problem.curvature import accuracy_of
from riemtr.problem.differences import OFF_DOMAIN, gradient_noise
from riemtr.problem.pullback import Pullback, gamma, pullback

PROVED = "proved"
ESTIMATED = "estimated"

# Dimension up to which the Hessian matrix is formed by products for a proof.
MOST_FORMED = 500
# Dimension up to which the Hessian matrix takes no longer than Lanczos's recurrence, about.
_SMALL = 64
# Products for the matrix, over those for the curvature, that take less time than the certificate.
_CHEAP = 1.5
# Share of the smallest eigenvalue that a Cholesky factorization is asked to confirm.
_CONFIRMED = 0.9
# Relative error of the few operations after everything that may cancel.
_LAST_ROUNDINGS = 1e-12
# Safety factor of an estimated Lipschitz constant: it was seen along a few directions only.
_SAFETY = 10.0
# Rounds of the power method that look for the directions along which the Hessian changes most.
_POWER_ROUNDS = 3
# Safety factor of a rounding error that was measured once, by a difference of gradients.
_UNLUCKY = 10.0
# Share of the Newton step that a measured rounding error may make up in a proof.
_NEGLIGIBLE = 0.1
# Share of the Ritz value that the smallest eigenvalue is not below, as Lanczos usually ends.
_RITZ_SHARE = 0.5
# Residual of the Newton step, over the gradient, at which conjugate gradients end.
_CG_RESIDUAL = 1e-3
# Their largest number of steps.
_CG_STEPS = 1000
# Seed of the direction, chosen by nobody, along which derivatives are compared.
_SEED = 2

# Raised beside a domain, by a manifold without transports, and where too much would be computed.
_UNDEFINED = (
    *OFF_DOMAIN,
    NonFiniteHessianError,
    OutOfTimeError,
    MemoryError,
    AttributeError,
    NotImplementedError,
)


@dataclass(frozen=True)
class Distance:
    """How far the minimizer is.

    Attributes
    ----------
    bound : float
        Exactly one critical point is within this geodesic distance, up to named symmetries, and it
        is a strict minimizer.
    cost_bound : float
        The exact cost of the point exceeds that of the minimizer by this much at most.
    kind : {"proved", "estimated"}
    """

    bound: float
    cost_bound: float
    kind: str


@dataclass(frozen=True)
class Newton:
    """The Newton step at a point, with errors: all that the theorem takes of it.

    Attributes
    ----------
    least : float
        Lower bound of the eigenvalues of the Hessian.
    length : float
        The bound eta of the length of the exact Newton step.
    decrease : float
        Bound of g' H^-1 g.
    """

    least: float
    length: float
    decrease: float


def kantorovich(
    newton: Newton, lipschitz: Callable[[float], float], off: float, kind: str
) -> Distance | None:
    """Return what the theorem says; None where its conditions do not hold.

    Parameters
    ----------
    newton : Newton
    lipschitz : callable
        ``lipschitz(radius)``, the constant L on the ball of a radius.
    off : float
        Distance of the array from the exact point of the manifold.
    kind : str
        What the numbers rest on.

    Examples
    --------
    >>> found = kantorovich(Newton(2.0, 0.1, 0.02), lambda radius: 3.0, 0.0, "proved")
    >>> round(found.bound, 6)
    0.108893
    """
    radius = 2.0 * (newton.length + off)
    if not (math.isfinite(radius) and newton.least > 0.0):
        return None
    constant = lipschitz(radius)
    share = constant * newton.length / newton.least
    if not 2.0 * share < 1.0:
        return None
    within = 2.0 * newton.length / (1.0 + math.sqrt(1.0 - 2.0 * share)) + off
    within *= 1.0 + _LAST_ROUNDINGS
    # The ball with the roundings has to be one of convexity, too.
    if not (within <= radius and constant * within < newton.least):
        return None
    decrease = 0.5 * newton.decrease + constant * within**3 / 6.0
    return Distance(within, decrease * (1.0 + _LAST_ROUNDINGS), kind)


def proved(here: Evaluation) -> Distance | None:
    """Return how far the minimizer beside a point is, by the cost's bounds of its derivatives.

    None where it has none, or where the theorem's conditions do not hold.
    """
    try:
        known = pullback(here)
        if known is None or not _forms_matrix(here):
            return None
        newton = _by_matrix(here, *known.widened(_slice_error(here, known)))
        if newton is None:
            return None
        return kantorovich(newton, known.lipschitz, known.off, PROVED)
    except _UNDEFINED:
        return None


def estimated(here: Evaluation) -> Distance | None:
    """Return how far the minimizer beside a point is, by what was measured or the user states."""
    try:
        return _estimated(here)
    except ArgumentError:  # the user's constant is none
        raise
    except _UNDEFINED:
        return None


def is_small(here: Evaluation) -> bool:
    """Whether the Hessian matrix takes no longer than Lanczos's recurrence, and will be needed."""
    return here.bounds_derivatives and here.manifold.dim <= _SMALL


def is_cheap(here: Evaluation) -> bool:
    """Whether a proof takes no longer than the certificate: the matrix is there, or is small."""
    if not here.bounds_derivatives:
        return False
    return here.has_matrix or here.manifold.dim <= _CHEAP * here.curvature.products


def _forms_matrix(here: Evaluation) -> bool:
    return here.has_matrix or here.offers_matrix or here.manifold.dim <= MOST_FORMED


def _slice_error(here: Evaluation, known: Pullback) -> float:
    """Bound the angle between the computed directions across the symmetries and the exact ones."""
    count = len(here.symmetries)
    if not count:
        return 0.0
    size = here.symmetries.shape[1]
    rounding = gamma(10.0 * size * math.sqrt(count), here.precision) + 2.0 * known.off
    return math.sqrt(count) * here.orbit_condition * rounding


def rounded_up(bound: float) -> str:
    """Return a bound in two digits that are no less than it.

    Examples
    --------
    >>> rounded_up(7.7301e-8), rounded_up(0.0)
    ('7.8e-08', '0.0e+00')
    """
    digits = Context(prec=2, rounding=ROUND_CEILING).create_decimal_from_float(bound)
    return f"{float(digits):.1e}"


# -- the Newton step ------------------------------------------------------------------------------


def _by_matrix(here: Evaluation, gradient_error: float, matrix_error: float) -> Newton | None:
    """Return the Newton step by Cholesky factorizations, whose errors are bounded."""
    slope = here.coordinates_across(here.gradient)
    matrix = here.matrix_across(np.asarray(here.hessian_matrix(), dtype=float))
    dim = len(slope)
    size = float(np.linalg.norm(matrix))
    if dim == 0 or not math.isfinite(size):
        return None
    if len(here.symmetries):  # the products with the basis of the slice
        matrix_error += gamma(4.0 * len(here.gradient.ravel()) + dim) * math.sqrt(dim) * size
    shift = _confirmed(matrix, here.curvature.min_eigenvalue)
    # Rump's bound: a factorization that runs to its end is that of a matrix so close.
    share = gamma(dim + 4)
    trace = float(np.abs(matrix.diagonal()).sum())
    least = shift * (1.0 - _LAST_ROUNDINGS) - share / (1.0 - share) * trace - matrix_error
    if not least > 0.0:
        return None
    step = -dpotrs(shifted_cholesky(matrix, 0.0)[0], slope)[0]
    length, steepness = float(np.linalg.norm(step)), float(np.linalg.norm(slope))
    residual = float(np.linalg.norm(slope + matrix @ step))
    residual += gamma(dim + 2) * (steepness + size * length)
    return _with_errors(slope, step, least, residual + matrix_error * length, gradient_error)


def _confirmed(matrix: np.ndarray, guess: float) -> float:
    """Return a number that a factorization says no eigenvalue is below; 0 if one is not positive.

    Parameters
    ----------
    matrix : ndarray
    guess : float
        What Lanczos says of the smallest eigenvalue; it may be too large.
    """
    if guess > 0.0 and shifted_cholesky(matrix, -_CONFIRMED * guess)[1] == 0:
        return _CONFIRMED * guess
    shift = _CONFIRMED * float(np.linalg.eigvalsh(matrix)[0])
    return shift if shift > 0.0 and shifted_cholesky(matrix, -shift)[1] == 0 else 0.0


def _with_errors(
    slope: np.ndarray, step: np.ndarray, least: float, residual: float, gradient_error: float
) -> Newton:
    """Return the Newton step with all that may be between the computed one and the exact one."""
    length, steepness = float(np.linalg.norm(step)), float(np.linalg.norm(slope))
    missed = (residual + gradient_error) / least
    decrease = abs(float(slope @ step)) + steepness * missed + gradient_error * (length + missed)
    return Newton(least, length + missed, decrease * (1.0 + gamma(len(slope) + 2)))


# -- estimates ------------------------------------------------------------------------------------


def _estimated(here: Evaluation) -> Distance | None:
    """Return the distance by estimates of what is not known."""
    given = here.problem.hessian_lipschitz
    scale = max(here.curvature.measured_size(), here.conversion_size)
    rng = np.random.default_rng(_SEED)
    direction = here.across(here.space.random(rng))
    noise = _UNLUCKY * gradient_noise(here, direction)
    noise += _UNLUCKY * here.precision * scale
    if _forms_matrix(here):
        error = _UNLUCKY * accuracy_of(here) * scale * math.sqrt(here.manifold.dim)
        newton = _by_matrix(here, noise, error)
    else:
        newton = _by_conjugate_gradients(here, noise)
    if newton is None:
        return None
    off = here.precision * here.largest_entry
    if given is None:
        constant = _SAFETY * _change_of_hessian(here, direction, 2.0 * newton.length)
        return kantorovich(newton, lambda radius: constant, off, ESTIMATED)
    # A proof does not hang on a rounding that was measured.
    exact = noise <= _NEGLIGIBLE * newton.least * newton.length and _forms_matrix(here)
    exact &= here.hessian_kind != "differences"
    kind = PROVED if exact else ESTIMATED
    return kantorovich(newton, partial(_stated, given, here.point), off, kind)


def _stated(given: Any, point: Any, radius: float) -> float:
    """Return the user's constant for a radius."""
    if not callable(given):
        return float(given)
    value = given(point, radius)
    check_nonnegative("hessian_lipschitz(point, radius)", value)
    return float(value)


def _change_of_hessian(here: Evaluation, direction: np.ndarray, radius: float) -> float:
    """Return the largest change of Hessian products seen, over the distance.

    The largest of a symmetric form of third order is looked for by its power method, from a random
    direction and from that of the Newton step's steepest part.
    """
    length = max(float(np.cbrt(here.precision)) * here.reach(direction), radius)
    largest = 0.0
    starts = [direction]
    if here.gradient_norm > 0.0:
        starts.append(here.gradient / here.gradient_norm)
    if here.curvature.direction is not None:
        starts.append(here.curvature.direction)
    for unit in starts:
        for _ in range(_POWER_ROUNDS):
            there = here.moved(length * unit)
            if there is None:
                return math.inf
            ahead = there.space.transported(unit, here.space)
            image = here.space.transported(there.hessian(ahead), there.space)
            change = here.across(image - here.hessian(unit)) / length
            size = here.norm(change)
            if not math.isfinite(size):
                return math.inf
            largest = max(largest, size)
            if size == 0.0:
                break
            unit = change / change.real.dtype.type(size)
    return largest


def _by_conjugate_gradients(here: Evaluation, gradient_error: float) -> Newton | None:
    """Return the Newton step by products alone."""
    ritz = here.curvature.min_eigenvalue
    least = max(_RITZ_SHARE * ritz, here.curvature.lower_bound)
    if not 0.0 < least < math.inf:
        return None
    slope = here.across(here.gradient)
    step, residual = 0.0 * slope, -slope
    ahead, square = residual, here.inner(residual, residual)
    enough = (_CG_RESIDUAL * here.norm(slope)) ** 2
    for _ in range(_CG_STEPS):
        if square <= enough:
            break
        if here.clock.expired:
            raise OutOfTimeError("in the Newton step")
        image = here.across(here.hessian(ahead))
        share = square / here.inner(ahead, image)
        step, residual = step + share * ahead, residual - share * image
        square, before = here.inner(residual, residual), square
        ahead = residual + (square / before) * ahead
    flat = as_real(slope), as_real(step)
    return _with_errors(*flat, least, math.sqrt(square), gradient_error)
