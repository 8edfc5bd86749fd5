"""A second-order certificate for any point of any solver."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from riemtr.arguments import check_nonnegative
from riemtr.errors import OutOfTimeError
from riemtr.manifolds.arrays import as_real, from_real
from riemtr.problem import Clock, Curvature, Evaluation, Threshold, as_problem
from riemtr.problem.books import provide
from riemtr.problem.cost_differences import (
    OFF_DOMAIN,
    RULE,
    SEE,
    Probe,
    contradiction,
    flat_probe,
    hessian_gap,
)
from riemtr.solvers.distance import Distance, estimated, is_cheap, is_small, proved, rounded_up
from riemtr.solvers.stopping import Tolerances, default_tolerances
from riemtr.summary import DOUBTFUL, GOOD, Summarised, Summary, plural

MINIMIZER = "minimizer"
SADDLE = "saddle"
MAXIMIZER = "maximizer"
UNRESOLVED = "unresolved"
NOT_CRITICAL = "not-critical"

_MEANING = {
    MINIMIZER: "a minimizer: the slope is zero to tolerance, and no way leads down to second order",
    SADDLE: "a saddle point, not a solution: the slope is zero, but one way still leads down",
    MAXIMIZER: "a maximizer, not a solution: the slope is zero, and every way leads down",
    UNRESOLVED: "undecided, perhaps a saddle point: the slope is zero, no more is known",
    NOT_CRITICAL: "none yet: the slope is above the tolerance, so this is a point on the way down",
}

# Seed of the direction, chosen by nobody, along which the cost is asked.
_SEED = 1
# Length of a Newton step that ends at the minimum, if the curvature is not another so close by; on
# the way to a minimum of |x|^p with p of 2.3 and more it is longer wherever the slope is tolerable.
_NEAR = 1e-6
# Share of a slope that a Newton step to a nondegenerate minimum may leave.
_LEFT = 0.1
# Change of a gradient along an orbit of unit speed, over its norm.
_ORBITS = 100.0
# Roundings that a slope may be off by.
_ROUNDINGS = 100.0
# Size of a Hessian's error over what one random vector shows of it, times the root of the
# dimension. An error in one direction shows less than that with a chance of 1 in 1250.
_HIDDEN = 1000.0
# A run measures its last gradient by the curvature at the point before, a certificate by that at
# the point itself, which may be a little less.
_SLACK = 2.0


@dataclass(frozen=True, eq=False, repr=False)
class Certificate(Summarised):
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
        flat direction but those of the problem's symmetries.
    tolerance, curvature_tolerance : float
        What the verdict was measured with.
    contradiction : str
        What costs beside the point say against a minimum, or against the derivatives; empty if
        nothing.
    symmetries : int
        How many flat directions the problem's symmetries explain; the smallest eigenvalue is that
        across them.
    curvature : Curvature or None
        All that is known of the curvature, for further questions; None for a saved certificate.
    evaluation : Evaluation or None
        The problem at the point, for bounds; None for a saved certificate.

    Examples
    --------
    >>> import riemtr
    >>> case = riemtr.problems.build("rayleigh", rng=0, n=10)
    >>> known = riemtr.PracticalTRM().solve(case.problem, case.start).certificate
    >>> known.distance_bound_is, bool(known.distance_bound < 1e-6)
    ('proved', True)
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
    symmetries: int = 0
    curvature: Curvature | None = field(default=None, repr=False)
    evaluation: Evaluation | None = field(default=None, repr=False)

    def summary(self) -> Summary:
        """Return what is known of the point, in words; flat directions are not counted for it."""
        pairs: tuple[tuple[str, str], ...] = (
            ("verdict", self.verdict_in_words),
            ("meaning", self.meaning),
            ("gradient norm", f"{self.gradient_norm:.2e}, of at most {self.tolerance:.2e}"),
            ("curvature", self.curvature_in_words),
            *([("minimizer", self.distance_in_words)] if self.distance_in_words else []),
        )
        if self.__dict__.get("gap") is not None:  # printing computes nothing
            pairs += (("best anywhere", f"no point is lower by more than {self.gap:.1e}"),)
        tone = GOOD if self.verdict == MINIMIZER else DOUBTFUL
        return Summary("Certificate", pairs, tone=tone, line=self.verdict_in_words)

    @cached_property
    def _distance(self) -> Distance | None:
        if self.verdict != MINIMIZER or self.curvature is None:
            return None
        here = self.curvature.here
        return proved(here) or (estimated(here) if self.strict else None)

    @property
    def distance_bound(self) -> float | None:
        """Exactly one critical point is within this distance, and it is a strict minimizer.

        The distance is that along geodesics; that of the arrays of a submanifold is smaller. Where
        symmetries are named, all critical points so near are images of one another. None where
        nothing is known. It is found with the certificate where that costs little, else when it is
        first asked for; :mod:`riemtr.solvers.distance` has the theorem.
        """
        return None if self._distance is None else self._distance.bound

    @property
    def distance_bound_is(self) -> str | None:
        """What the bounds of distance and cost are, "proved" or "estimated"; None without any.

        A proof rests on bounds of the cost's derivatives: those that registered costs have, with
        all rounding accounted for, or the ``hessian_lipschitz`` of a user, taken at its word.
        """
        return None if self._distance is None else self._distance.kind

    @property
    def cost_bound(self) -> float | None:
        """The exact cost of the point exceeds that of this minimizer by so much at most."""
        return None if self._distance is None else self._distance.cost_bound

    @property
    def meaning(self) -> str:
        """The verdict in a sentence for people who do not know the field."""
        if self.strict:
            return "a strict minimizer: the slope is zero to tolerance, and every way leads up"
        return _MEANING[self.verdict]

    @cached_property
    def flat_directions(self) -> int | None:
        """How many eigenvalues vanish to tolerance, symmetries included.

        Counted when first asked for, which takes the Hessian matrix unless the minimizer is strict;
        None where that is too large, or where the point is not critical.
        """
        if self.strict:
            return self.symmetries
        values = None if self.curvature is None else self.curvature.eigenvalues()
        if values is None:
            return None
        return int(np.count_nonzero(np.abs(values) <= self.curvature_tolerance))

    @cached_property
    def lower_bound(self) -> float | None:
        """A number that the cost of no point anywhere is below; None where none is known.

        Computed when first asked for, by the cost's own ``dual_bound(point)``.
        """
        here = self.evaluation
        if here is None or not hasattr(here.problem.cost, "dual_bound"):
            return None
        return here.problem.cost.dual_bound(here.point)

    @cached_property
    def gap(self) -> float | None:
        """How much lower than here the cost may be anywhere; None where no bound is known."""
        if self.lower_bound is None or self.evaluation is None:
            return None
        return max(self.evaluation.cost - self.lower_bound, 0.0)

    def __getstate__(self) -> dict[str, Any]:
        """Pickle numbers, and not the problem that they come from."""
        return {**self.__dict__, "curvature": None, "evaluation": None}

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
    def distance_in_words(self) -> str:
        """How far the minimizer is; empty where that is not known, or nobody has asked yet."""
        known = self.__dict__.get("_distance")  # printing computes nothing
        if known is None:
            return ""
        away, lower = rounded_up(known.bound), rounded_up(known.cost_bound)
        return f"at most {away} away, its cost at most {lower} lower ({known.kind})"

    @property
    def _flatness(self) -> str:
        known = f", {self.symmetries} of them by symmetry" if self.symmetries else ""
        if self.__dict__.get("flat_directions") is None:  # printing computes nothing
            return f"it has flat directions{known}"
        count = self.flat_directions
        return f"it has {count} flat direction{'s' if count != 1 else ''}{known}"

    @property
    def verdict_in_words(self) -> str:
        """The verdict, and for minimizers whether the second order leaves no doubt."""
        if self.verdict != MINIMIZER:
            return self.verdict
        if self.strict:
            across = f" up to {plural(self.symmetries, 'symmetric direction')}"
            return f"{MINIMIZER}, strict{across if self.symmetries else ''}"
        if self.min_eigenvalue <= self.curvature_tolerance:
            why = self._flatness
        elif self.min_eigenvalue - self.error_bound <= self.curvature_tolerance:
            why = "whether it has flat directions was left open"
        else:
            why = "nearly flat, Newton's method does not settle"
        return f"{MINIMIZER}, to second order: {why}"


class Drawn(NamedTuple):
    """A random unit vector, and its image under the Hessian."""

    vector: np.ndarray
    product: np.ndarray


def certify_evaluation(
    here: Evaluation, tolerances: Tolerances, curvature_met: float = 0.0
) -> Certificate:
    """Certify an evaluated point; costs beside it confirm what its derivatives say.

    Parameters
    ----------
    here : Evaluation
    tolerances : Tolerances
    curvature_met : float
        The largest curvature that a run has met beside the point.
    """
    size, known = here.gradient_norm, here.curvature
    bound = tolerances.gradient_at(here, curvature_met)
    if not size <= bound and tolerances.relative:
        bound = max(bound, _SLACK * tolerances.gradient_at(here, known.measured_size()))
    if not size <= bound:
        return Certificate(
            NOT_CRITICAL,
            size,
            math.nan,
            math.nan,
            None,
            False,
            bound,
            known.tolerated(tolerances.curvature),
            evaluation=here,
        )
    if known.products == 0 and is_small(here):
        with suppress(OutOfTimeError):  # Lanczos makes do with less
            here.hessian_matrix()
    known.estimate(tolerances.curvature)
    drawn = _drawn(here, known)
    wrong = _wrong_hessian(here, drawn, tolerances.curvature)
    tolerance = known.tolerated(tolerances.curvature)
    limits = bound, tolerance
    strict = known.lower_bound > tolerance and not wrong and _is_settled(here, known)
    against = _against(here, known, drawn, limits, strict) or wrong
    side = known.known_side(tolerances.curvature)
    if against or side == 0:
        verdict = UNRESOLVED
    elif side > 0:
        verdict = MINIMIZER
    else:
        # The largest eigenvalue is estimated from below, so this needs no error bound of its own
        # to say "saddle"; "maximizer" is to the accuracy of the estimate.
        verdict = MAXIMIZER if known.max_eigenvalue <= tolerance else SADDLE
    direction = known.direction
    smallest = known.min_eigenvalue
    if math.isnan(smallest):  # only a bound is known
        smallest = known.lower_bound
    found = Certificate(
        verdict,
        size,
        smallest,
        math.inf if against else smallest - known.lower_bound if smallest < math.inf else 0.0,
        None if direction is None else here.space.unpack(direction),
        verdict == MINIMIZER and strict,
        bound,
        tolerance,
        against,
        len(here.symmetries),
        known,
        here,
    )
    away = proved(here) if verdict == MINIMIZER and is_cheap(here) else None
    if away is not None:
        provide(found, _distance=away)
    return found


def _is_settled(here: Evaluation, curvature: Curvature) -> bool:
    """Whether Newton's method converges from here, to all that can be seen.

    On the way to a degenerate point, as that of x^3 or x^4, the smallest eigenvalue is positive,
    but falls with every step: Newton's method then takes but a part of the slope away. Looked at
    along the direction of least curvature, and along the gradient.
    """
    near = here.gradient_norm <= _NEAR * curvature.lower_bound
    if curvature.direction is None or near:
        return True
    if not _takes_slope(here, curvature, curvature.direction, curvature.bend):
        return False
    if not here.gradient_norm > 0.0:
        return True
    steepest = here.gradient / here.gradient.dtype.type(here.gradient_norm)
    return _takes_slope(here, curvature, steepest)


def _takes_slope(
    here: Evaluation, curvature: Curvature, direction: np.ndarray, bend: float = math.nan
) -> bool:
    """Whether a Newton step along a direction leaves next to nothing of the slope."""
    slope = here.inner(here.gradient, direction)
    rounding = 100.0 * here.precision * curvature.size * here.reach(direction)
    if abs(slope) <= rounding:
        return True
    if math.isnan(bend):
        bend = here.inner(direction, here.hessian(direction))
    if not bend > 0.0:
        return False
    step = -slope / bend
    if abs(step) <= math.sqrt(here.precision):
        return True
    try:
        there = here.moved(step * direction)
        if there is None:
            return True
        carried = there.space.transported(direction, here.space)
        left = there.inner(there.gradient, carried)
    except (*OFF_DOMAIN, AttributeError, NotImplementedError):  # the last two of a transport
        return True
    return abs(left) <= _LEFT * abs(slope)


def _drawn(here: Evaluation, curvature: Curvature) -> Drawn | None:
    """Return a direction that nobody chose; in dimension 1 there is only one, in 0 none."""
    direction = curvature.direction
    if direction is None:
        return None
    if here.manifold.dim > 1:
        direction = here.space.random(np.random.default_rng(_SEED))
    return Drawn(direction, here.hessian(direction))


def _wrong_hessian(here: Evaluation, drawn: Drawn | None, threshold: Threshold) -> str:
    """Say that gradients change otherwise than the Hessian says, if they clearly do.

    If they do by a little, as with a Hessian of few digits, that widens the bounds of the
    eigenvalues, by as much as may be hidden from one direction.
    """
    if drawn is None:
        return ""
    curvature, dim = here.curvature, here.manifold.dim
    scale = max(curvature.size, here.norm(drawn.product))
    hidden = _HIDDEN * math.sqrt(dim) if dim > 1 else 1.0
    margin = curvature.lower_bound - curvature.tolerated(threshold)
    harmless = min(margin / hidden, RULE.refuting * scale)
    gap = hessian_gap(here, drawn.vector, drawn.product, scale, harmless)
    if not gap > 0.0:
        return ""
    curvature.widen(hidden * gap)
    share = gap / max(scale, gap)  # the Hessian may be stated to be zero
    if gap > RULE.refuting * scale:
        return f"the gradient changes otherwise than the Hessian says, by {share:.1e}{SEE}"
    if curvature.known_side(threshold):
        return ""
    return (
        f"the gradient changes otherwise than the Hessian says, by {share:.1e}, which leaves the "
        f"sign of the curvature open: see riemtr.check_hessian, or raise curvature_tolerance"
    )


def _against(
    here: Evaluation,
    curvature: Curvature,
    drawn: Drawn | None,
    limits: tuple[float, float],
    strict: bool,
) -> str:
    """Say what speaks against a minimum, or against the derivatives."""
    if curvature.direction is None or drawn is None:
        return ""
    apart = _told_apart(here, limits)
    if apart:
        return apart
    if len(here.symmetries) and not _is_symmetric(here, curvature):
        return "the cost changes along the directions that symmetries(point) returns"
    if curvature.is_unsymmetric:
        return (
            f"the Hessian is not symmetric, <u, Hv> and <v, Hu> differ by "
            f"{curvature.asymmetry:.1e}: see riemtr.check_hessian"
        )
    probe = flat_probe(here)
    assert probe is not None
    flat = not strict and curvature.lower_bound >= -limits[1]
    fall = probe.fall(limits) if flat else None
    if fall is not None:
        return f"the cost falls by {fall[1]:.1e} over {RULE.distances[-1]:g} along a flat direction"
    against = _contradiction(probe, curvature, drawn, limits)
    if against or not flat:
        return against
    # A tolerance of the Hessian's own size passes every point; the sign then has to decide.
    if curvature.size <= limits[1] and curvature.side(_usual(here)) <= 0:
        return (
            f"curvature is negative, {curvature.min_eigenvalue:.1e}, and nowhere more than the "
            f"curvature_tolerance of {limits[1]:.0e}: lower that to the cost's scale"
        )
    return ""


def _usual(here: Evaluation) -> Threshold:
    """Return the curvature that counts as none where nobody says so."""
    return default_tolerances(here.precision).curvature


def _is_symmetric(here: Evaluation, curvature: Curvature) -> bool:
    """Whether the cost is flat along its symmetries, as a combination that nobody chose tells.

    Along an orbit there is no slope, and the gradient turns with the point, so that it changes by
    its own size at most.
    """
    slopes = here.symmetries @ as_real(here.gradient)
    scale = here.conversion_size + curvature.size * max(1.0, here.largest_entry)
    if np.abs(slopes).max() > _ROUNDINGS * here.precision * scale:
        return False
    shares = np.random.default_rng(_SEED).standard_normal(len(here.symmetries))
    along = from_real(shares / np.linalg.norm(shares) @ here.symmetries, here.space.zero())
    rounding = math.sqrt(here.precision) * curvature.size
    return here.norm(here.hessian(along)) <= _ORBITS * here.gradient_norm + rounding


def _told_apart(here: Evaluation, limits: tuple[float, float]) -> str:
    """Say that the cost tells arrays apart that stand for the same point, if it does."""
    rng = np.random.default_rng(_SEED)
    other = here.manifold.another_representative(here.point, rng)
    if other is None:
        return ""
    try:
        cost = here.problem.at(other).cost
    except OFF_DOMAIN:
        return ""
    noise = math.sqrt(here.precision) * max(abs(cost), abs(here.cost)) + limits[0]
    if not abs(cost - here.cost) > noise:  # NaN included
        return ""
    return (
        f"the cost is {here.cost:.6g}, and {cost:.6g} at other arrays for the same point of "
        f"{here.manifold}: a cost on a quotient manifold must be the same for all of them; a "
        "manifold without the quotient, as Stiefel for Grassmann, may be what you want"
    )


def _contradiction(
    probe: Probe, curvature: Curvature, drawn: Drawn, limits: tuple[float, float]
) -> str:
    """Ask the cost along the direction of the certificate, and along one that nobody chose."""
    here, bend = probe.here, curvature.bend
    if math.isnan(bend):
        bend = here.inner(probe.direction, here.hessian(probe.direction))
    against = contradiction(probe, bend, limits)
    if against or here.manifold.dim == 1:
        return against
    bend = here.inner(drawn.vector, drawn.product)
    return contradiction(Probe(here, drawn.vector), bend, limits)


def certify(
    problem: Any,
    point: Any,
    *,
    tolerance: float | None = None,
    curvature_tolerance: float | None = None,
    relative_tolerance: float | None = None,
    max_seconds: float | None = math.inf,
) -> Certificate:
    """Certify a point, whatever solver it comes from.

    Parameters
    ----------
    problem : Problem or pymanopt.Problem
    point : point of the manifold
    tolerance : float, optional
        Largest gradient norm that counts as none.
    curvature_tolerance : float, optional
        Largest negative curvature that counts as none; by default 1e-6 times the size of the
        Hessian (1e-3 in float32).
    relative_tolerance : float, optional
        Largest gradient norm that counts as none, over the scale of the derivatives at the point;
        1e-7 by default (1e-4 in float32), unless ``tolerance`` is given.
    max_seconds : float, optional
        Time to take at most; the verdict is "unresolved" where that does not suffice, with what is
        known by then.

    Examples
    --------
    >>> import numpy as np, riemtr
    >>> matrix = np.diag([1.0, 2.0, 3.0])
    >>> problem = riemtr.Problem(riemtr.Sphere(3), lambda x: x @ matrix @ x)
    >>> [riemtr.certify(problem, point).verdict for point in np.eye(3)]
    ['minimizer', 'saddle', 'maximizer']
    """
    problem = as_problem(problem)
    limit = math.inf if max_seconds is None else max_seconds
    check_nonnegative("max_seconds", limit)
    here = problem.at(problem.geometry.check_point(point, name="point"), clock=Clock(limit))
    return certify_evaluation(
        here,
        default_tolerances(here.precision, tolerance, curvature_tolerance, relative_tolerance),
    )
