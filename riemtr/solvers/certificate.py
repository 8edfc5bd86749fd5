"""A second-order certificate for any point of any solver."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from riemtr.arguments import is_real
from riemtr.manifolds import (
    another_representative,
    dimension,
    random_tangent,
    retraction,
    transport,
)
from riemtr.problem import Evaluation, as_problem
from riemtr.problem.cost_differences import OFF_DOMAIN, contradiction, fall_of_higher_order
from riemtr.problem.curvature import Curvature
from riemtr.problem.layout import like
from riemtr.problem.points import check_point

MINIMIZER = "minimizer"
SADDLE = "saddle"
MAXIMIZER = "maximizer"
UNRESOLVED = "unresolved"
NOT_CRITICAL = "not-critical"

_SEED = 1  # of a direction to probe
_LEFT = 0.1  # share of a slope that a Newton step to a nondegenerate minimum may leave


@dataclass(frozen=True)
class Tolerances:
    """What counts as a vanishing gradient and as no negative curvature."""

    gradient: float
    curvature: float


def check_tolerances(gradient: Any, curvature: Any) -> None:
    """Check tolerances as users pass them."""
    for name, value in (("tolerance", gradient), ("curvature_tolerance", curvature)):
        if value is not None and not (is_real(value) and value >= 0.0):
            raise ValueError(f"{name} must be a nonnegative number, or None; got {value!r}")


def default_tolerances(
    precision: float, gradient: float | None = None, curvature: float | None = None
) -> Tolerances:
    """Fill in tolerances that make sense at a machine precision: 1e-6, or 1e-3 in float32."""
    check_tolerances(gradient, curvature)
    fallback = 1e-6 if precision < 1e-12 else 1e-3
    return Tolerances(
        fallback if gradient is None else float(gradient),
        fallback if curvature is None else float(curvature),
    )


@dataclass(frozen=True, eq=False)
class Certificate:
    """What is known of a point to second order.

    Attributes
    ----------
    verdict : str
        "minimizer": second-order point to tolerance (the smallest eigenvalue's lower bound is at
        least ``-curvature_tolerance``); "saddle" or "maximizer": decidedly negative curvature;
        "unresolved": the error bound straddles the threshold, or the cost itself changes otherwise
        than its derivatives say, or falls along a flat direction; "not-critical": the gradient norm
        is above ``tolerance``.
    gradient_norm : float
    min_eigenvalue : float
        Smallest eigenvalue of the Riemannian Hessian (nan where the point is not critical,
        infinite in dimension 0).
    error_bound : float
        The smallest eigenvalue is at least ``min_eigenvalue - error_bound``.
    direction : tangent vector or None
        The witness: a unit tangent vector of about that curvature.
    strict : bool
        Whether the smallest eigenvalue is above ``+curvature_tolerance``, and Newton's method
        converges from here along its direction and along the gradient: a strict minimizer, with no
        flat direction.
    tolerance, curvature_tolerance : float
        What the verdict was measured with.
    contradiction : str
        What costs beside the point say against a minimum, or against the derivatives; empty if
        nothing.
    """

    verdict: str
    gradient_norm: float
    min_eigenvalue: float
    error_bound: float
    direction: Any
    strict: bool
    tolerance: float
    curvature_tolerance: float
    contradiction: str = ""

    def __repr__(self) -> str:
        return (
            f"<Certificate: {self.verdict_in_words}; gradient norm {self.gradient_norm:.2e}, "
            f"{self.curvature_in_words}>"
        )

    @property
    def curvature_in_words(self) -> str:
        """What is known of the smallest eigenvalue."""
        if self.verdict == NOT_CRITICAL:
            return "curvature not looked at"
        if self.contradiction:
            return self.contradiction
        if self.verdict in (SADDLE, MAXIMIZER):  # how far below is of no interest
            return f"smallest eigenvalue at most {self.min_eigenvalue:.3e}"
        if self.error_bound > 0.1 * abs(self.min_eigenvalue):  # known no better than was needed
            least = self.min_eigenvalue - self.error_bound
            return f"smallest eigenvalue at least {least:.1e}, at most {self.min_eigenvalue:.1e}"
        return f"smallest eigenvalue {self.min_eigenvalue:.3e} (error bound {self.error_bound:.1e})"

    @property
    def verdict_in_words(self) -> str:
        """The verdict, and for minimizers whether the second order leaves no doubt."""
        if self.verdict != MINIMIZER:
            return self.verdict
        if self.strict:
            return f"{MINIMIZER}, strict"
        if self.min_eigenvalue <= self.curvature_tolerance:
            why = "it has flat directions"
        elif self.min_eigenvalue - self.error_bound <= self.curvature_tolerance:
            why = "whether it has flat directions was left open"
        else:
            why = "nearly flat, Newton's method does not settle"
        return f"{MINIMIZER}, to second order: {why}"


def certify_evaluation(here: Evaluation, tolerances: Tolerances) -> Certificate:
    """Certify an evaluated point; costs beside it confirm what its derivatives say."""
    size = here.gradient_norm
    if not size <= tolerances.gradient:
        return Certificate(
            NOT_CRITICAL,
            size,
            math.nan,
            math.nan,
            None,
            False,
            tolerances.gradient,
            tolerances.curvature,
        )
    curvature = here.curvature(tolerances.curvature)
    strict = curvature.lower_bound > tolerances.curvature and _is_settled(here, curvature)
    against = _against(here, curvature, tolerances, strict)
    if against:
        verdict = UNRESOLVED
    elif curvature.lower_bound >= -tolerances.curvature:
        verdict = MINIMIZER
    elif not curvature.decides(tolerances.curvature):
        verdict = UNRESOLVED
    else:
        # The largest eigenvalue is estimated from below, so this needs no error bound of its own
        # to say "saddle"; "maximizer" is to the accuracy of the estimate.
        verdict = MAXIMIZER if curvature.max_eigenvalue <= tolerances.curvature else SADDLE
    return Certificate(
        verdict,
        size,
        curvature.min_eigenvalue,
        math.inf if against else curvature.error_bound,
        curvature.direction,
        verdict == MINIMIZER and strict,
        tolerances.gradient,
        tolerances.curvature,
        against,
    )


def _is_settled(here: Evaluation, curvature: Curvature) -> bool:
    """Whether Newton's method converges from here, to all that can be seen.

    On the way to a degenerate point, as that of x^3 or x^4, the smallest eigenvalue is positive,
    but falls with every step: Newton's method then takes but a part of the slope away. Looked at
    along the direction of least curvature, and along the gradient.
    """
    if curvature.direction is None:
        return True
    largest = max(abs(curvature.max_eigenvalue), curvature.min_eigenvalue)
    if not _takes_slope(here, curvature.direction, curvature.min_eigenvalue, largest):
        return False
    if not here.gradient_norm > 0.0:
        return True
    steepest = (1.0 / here.gradient_norm) * here.gradient
    return _takes_slope(here, steepest, here.inner(steepest, here.hessian(steepest)), largest)


def _takes_slope(here: Evaluation, direction: Any, bend: float, largest: float) -> bool:
    """Whether a Newton step along a direction leaves next to nothing of the slope."""
    slope = here.inner(here.gradient, direction)
    rounding = 100.0 * here.precision * largest * here.reach(direction)
    if abs(slope) <= rounding or not bend > 0.0:
        return abs(slope) <= rounding
    step = -slope / bend
    if abs(step) <= math.sqrt(here.precision):
        return True
    try:
        moved = retraction(here.manifold, here.point, step * direction)
        there = here.problem.at(like(moved, here.point))
        carried = transport(here.manifold, here.point, there.point, direction)
        left = there.inner(there.gradient, carried)
    except (*OFF_DOMAIN, AttributeError, NotImplementedError):  # the last two of a transport
        return True
    return abs(left) <= _LEFT * abs(slope)


def _against(here: Evaluation, curvature: Curvature, tolerances: Tolerances, strict: bool) -> str:
    """Say what speaks against a minimum, or against the derivatives."""
    if curvature.direction is None:
        return ""
    against = _told_apart(here, tolerances) or _contradiction(here, curvature, tolerances)
    if against or strict or curvature.lower_bound < -tolerances.curvature:
        return against
    largest = max(abs(curvature.min_eigenvalue), abs(curvature.max_eigenvalue))
    if curvature.min_eigenvalue + curvature.doubt < 0.0 and largest <= tolerances.curvature:
        return (
            f"curvature is negative, {curvature.min_eigenvalue:.1e}, and nowhere more than the "
            f"curvature_tolerance of {tolerances.curvature:.0e}: lower that to the cost's scale"
        )
    return fall_of_higher_order(
        here, curvature.direction, (tolerances.gradient, tolerances.curvature)
    )


def _told_apart(here: Evaluation, tolerances: Tolerances) -> str:
    """Say that the cost tells arrays apart that stand for the same point, if it does."""
    rng = np.random.default_rng(_SEED)
    other = another_representative(here.manifold, here.point, rng)
    if other is None:
        return ""
    try:
        cost = here.problem.at(other).cost
    except OFF_DOMAIN:
        return ""
    noise = math.sqrt(here.precision) * max(abs(cost), abs(here.cost)) + tolerances.gradient
    if not abs(cost - here.cost) > noise:  # NaN included
        return ""
    return (
        f"the cost is {here.cost:.6g}, and {cost:.6g} at other arrays for the same point of "
        f"{here.manifold}: it is none on this manifold, but perhaps on Stiefel's or the like"
    )


def _contradiction(here: Evaluation, curvature: Curvature, tolerances: Tolerances) -> str:
    """Ask the cost along the direction of the certificate, and along one that nobody chose."""
    ignored = tolerances.gradient, tolerances.curvature + curvature.doubt
    against = contradiction(here, curvature.direction, curvature.min_eigenvalue, ignored)
    if against or dimension(here.manifold) == 1:
        return against
    other = random_tangent(here.manifold, here.point, np.random.default_rng(_SEED))
    other = here.in_precision((1.0 / here.norm(other)) * other)
    return contradiction(here, other, here.inner(other, here.hessian(other)), ignored)


def certify(
    problem: Any,
    point: Any,
    *,
    tolerance: float | None = None,
    curvature_tolerance: float | None = None,
) -> Certificate:
    """Certify a point, whatever solver it comes from.

    Parameters
    ----------
    problem : Problem or pymanopt.Problem
    point : point of the manifold
    tolerance, curvature_tolerance : float, optional
        Largest gradient norm and largest negative curvature that count as none; 1e-6 by default
        (1e-3 in float32).

    Examples
    --------
    >>> import numpy as np, riemtr
    >>> matrix = np.diag([1.0, 2.0, 3.0])
    >>> problem = riemtr.Problem(riemtr.Sphere(3), lambda x: x @ matrix @ x)
    >>> [riemtr.certify(problem, point).verdict for point in np.eye(3)]
    ['minimizer', 'saddle', 'maximizer']
    """
    problem = as_problem(problem)
    here = problem.at(check_point(problem.manifold, point, name="point"))
    return certify_evaluation(
        here, default_tolerances(here.precision, tolerance, curvature_tolerance)
    )
