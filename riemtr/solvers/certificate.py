"""A second-order certificate for any point of any solver."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from riemtr.arguments import check_nonnegative, is_real
from riemtr.errors import ArgumentError, NonFiniteHessianError, OutOfTimeError
from riemtr.manifolds.arrays import from_real
from riemtr.problem import Clock, Curvature, Evaluation, Threshold, as_problem
from riemtr.problem.books import provide
from riemtr.problem.differences import (
    OFF_DOMAIN,
    RULE,
    SEE,
    UNCOMPARED,
    Line,
    Measured,
    answers_differently,
    contradicting_bend,
    cost_nearby,
    gradient_noise,
    line_along,
    own_lengths,
    uneven_turn,
)
from riemtr.problem.differences import image as gradient_image
from riemtr.problem.lanczos import FAILURE_PROBABILITY
from riemtr.problem.newton import Nearness
from riemtr.solvers.distance import Distance, estimated, is_cheap, is_small, proved, rounded_up
from riemtr.solvers.stopping import Tolerances, default_tolerances, flat_directions
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


@dataclass(frozen=True)
class CertificateRule:
    """When evidence beside a point is enough for a claim."""

    left: float = 0.1  # share of a slope that the Newton step to a nondegenerate minimum may leave
    # Error of a Hessian over what one random vector shows of it, times the root of the dimension.
    # An error in one direction shows less than that with a chance of 1 in 1250.
    hidden: float = 1000.0
    # A run measures its last gradient by the curvature at the point before, a certificate by that
    # at the point itself, which may be a little less.
    slack: float = 2.0
    soft: float = 1e-3  # curvature over the largest that has to stand at the end of Newton's step
    kept: float = 0.5  # share of it that has to stand
    roundings: float = 100.0  # roundings that a slope along a symmetry may be off by
    noises: float = 10.0  # times the measured noise of a gradient that it may be off by
    beside: float = 0.02  # share of the size of a point at which its symmetries are tried
    multiples: tuple[float, ...] = (2.0, 4.0, 8.0)  # of a Newton step that does not settle
    minimum: float = (
        2.0  # times the model's own decrease that a cost beside a minimizer may be lower
    )


CLAIM = CertificateRule()


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
        is above ``tolerance``, or the nearest minimizer is far away beside the size of the point.
    gradient_norm : float
    min_eigenvalue : float
        Smallest eigenvalue of the Riemannian Hessian (nan where the point is not critical,
        infinite in dimension 0).
    error_bound : float
        The smallest eigenvalue is at least ``min_eigenvalue - error_bound``.
    direction : tangent vector or None
        The witness: a unit tangent vector of about that curvature.
    strict : bool
        Whether the smallest eigenvalue is positive beyond all errors, differences of costs or of
        gradients along its direction confirm that, and Newton's step takes the slope away: a strict
        minimizer, with no flat direction but those of the problem's symmetries.
    tolerance, curvature_tolerance : float
        What the verdict was measured with.
    contradiction : str
        What costs beside the point say against a minimum, or against the derivatives; empty if
        nothing.
    symmetries : int
        How many flat directions the problem's symmetries explain; the smallest eigenvalue is that
        across them.
    nearness : Nearness or None
        How far the minimum of the local model is, with its error, and whether that is near; None
        where nobody had to know.
    open_question : str
        Why a minimizer with positive curvature is not called strict; empty if it is.
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
    nearness: Nearness | None = None
    open_question: str = ""
    curvature: Curvature | None = field(default=None, repr=False)
    evaluation: Evaluation | None = field(default=None, repr=False)

    def summary(self) -> Summary:
        """Return what is known of the point, in words; flat directions are not counted for it."""
        pairs: tuple[tuple[str, str], ...] = (
            ("verdict", self.verdict_in_words),
            ("meaning", self.meaning),
            ("gradient norm", f"{self.gradient_norm:.2e}, of at most {self.tolerance:.2e}"),
            ("curvature", self.curvature_in_words),
            *([] if self.nearness is None else [("Newton's step", self.nearness.in_words)]),
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
        if self.verdict == NOT_CRITICAL and self.gradient_norm <= self.tolerance:
            return (
                "none yet: the slope is small, but so is the curvature, and the minimizer is far: "
                "this is a point on the way down"
            )
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
        if self.verdict == NOT_CRITICAL and math.isnan(self.min_eigenvalue):
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
        if self.open_question:
            why = self.open_question
        elif self.min_eigenvalue <= _flat(self):
            why = self._flatness
        else:
            why = "whether it has flat directions was left open"
        return f"{MINIMIZER}, to second order: {why}"


def _flat(known: Certificate) -> float:
    """Return the curvature up to which a direction is called flat."""
    return max(known.curvature_tolerance, known.error_bound)


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
    lengths, sizes = own_lengths(here)
    if lengths:  # anew, since steps of other lengths may have been taken before
        before, here = here, here.problem.at(here.point, here.counts, here.clock)
        here.past_sizes, here.own_lengths, here.own_sizes = before.past_sizes, lengths, sizes
        here.failure_probability = before.failure_probability
    size, known = here.gradient_norm, here.curvature
    bound = tolerances.gradient_at(here, curvature_met)
    if not size <= bound and tolerances.relative:
        bound = max(bound, CLAIM.slack * tolerances.gradient_at(here, known.measured_size()))
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
    known.settle_positive(tolerances.curvature)
    evidence = _Evidence(here, tolerances, bound)
    against = evidence.against()
    side, nearness = known.known_side(tolerances.curvature), evidence.nearness
    tolerance = known.tolerated(tolerances.curvature)
    far = bool(tolerances.relative) and (
        nearness.near is False if nearness is not None else evidence.slopes_down()
    )
    # Time that is up, say, leaves open how far the minimizer is.
    open_distance = nearness is not None and nearness.near is None and here.newton.limited
    if far:
        verdict = NOT_CRITICAL
    elif against or side == 0 or (tolerances.relative and open_distance):
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
    open_question = "" if verdict != MINIMIZER else evidence.open_question()
    certificate = Certificate(
        verdict,
        size,
        smallest,
        math.inf if against else smallest - known.lower_bound if smallest < math.inf else 0.0,
        None if direction is None else here.space.unpack(direction),
        verdict == MINIMIZER and evidence.is_positive and not open_question,
        bound,
        tolerance,
        "" if far else against,
        len(here.symmetries),
        nearness,
        open_question,
        known,
        here,
    )
    away = proved(here) if verdict == MINIMIZER and is_cheap(here) else None
    if away is not None:
        provide(certificate, _distance=away)
    return certificate


class _Evidence:
    """What costs and gradients beside a point say of a minimum, and of the derivatives.

    They are asked along the direction of least curvature, and along one that nobody chose.

    Attributes
    ----------
    nearness : Nearness or None
        How far the minimum of the model is; None where the model has none.
    """

    def __init__(self, here: Evaluation, tolerances: Tolerances, bound: float):
        self.here, self.curvature = here, here.curvature
        self._tolerances, self._bound = tolerances, bound
        self.nearness: Nearness | None = None
        if self.curvature.known_side(tolerances.curvature) >= 0:
            self.nearness = self._beside_noise(tolerances.nearness(here))
        self.direction = self.curvature.direction
        newton = here.newton
        if newton.units_matter:
            newton.solve_exactly()
            self.direction = self.direction if newton.softest is None else newton.softest
        # Whether costs or gradients confirm the least curvature, and whether gradients cannot.
        self._confirmed = self._open = False
        # Whether costs are as stated to as many digits as no chance brings about.
        self._quiet = True

    def _beside_noise(self, nearness: Nearness) -> Nearness:
        """Return how far the minimum is where the slope at a point that is zero is but noise.

        The length over which the cost bends evenly stands for the size that such a point lacks. The
        noise of the gradient may hide as much again of the way, or more than is asked for.
        """
        here, least = self.here, self.curvature.lower_bound
        if nearness.near is not False or not any(here.own_sizes) or not least > 0.0:
            return nearness
        unit = here.gradient / here.gradient.dtype.type(here.gradient_norm)
        noise = CLAIM.noises * gradient_noise(here, unit)
        if not here.gradient_norm <= noise < math.inf:
            return nearness
        error = nearness.error + noise / least
        sizes = here.lengths(here.precision)
        pairs = zip(nearness.lengths, sizes, strict=True)
        close = all(length + error <= self._tolerances.distance * size for length, size in pairs)
        return replace(nearness, near=True if close else None, sizes=sizes, error=error)

    def slopes_down(self) -> bool:
        """Whether the slope along negative curvature is that of a point far from a saddle."""
        here, direction = self.here, self.direction
        if direction is None:
            return False
        slope = abs(here.inner(here.gradient, direction))
        length = self._tolerances.distance * here.reach(direction)
        rounding = here.newton.rounding
        return slope > max(rounding, abs(self.curvature.min_eigenvalue) * length)

    @property
    def is_positive(self) -> bool:
        """Whether no eigenvalue is zero or negative, beyond all errors."""
        newton = self.here.newton
        if newton.units_matter and newton.softest is not None:
            return newton.is_positive
        return self.curvature.lower_bound > 0.0

    # -- contradictions ---------------------------------------------------------------------------

    def against(self) -> str:
        """Say what speaks against a minimum, or against the derivatives; empty if nothing does."""
        here, known = self.here, self.curvature
        if self.direction is None:
            return ""
        apart = _told_apart(here, self._bound)
        if apart:
            return apart
        if len(here.symmetries) and not _is_symmetric(here):
            return "the cost changes along the directions that symmetries(point) returns"
        against = self._of_curvature() or self._along_lines()
        differing = answers_differently(here) if against or not self._quiet else 0.0
        if differing > 0.0:
            return (
                f"the cost is random: asked twice at this point, its answers differ by "
                f"{differing:.1e}; fix the random numbers that it draws, or average over them"
            )
        if against or self.nearness is None:
            return against
        if self.nearness.near is None and known.lower_bound > 0.0 and self._tolerances.relative:
            return f"whether the minimizer is near is open: it is {self.nearness.in_words}"
        return self._overshoot()

    def _along_lines(self) -> str:
        """Say how costs and gradients change along lines, if not as stated."""
        here, known = self.here, self.curvature
        direction = self.direction
        assert direction is not None
        image = known.image if direction is known.direction else None
        product = here.hessian(direction) if image is None else image
        ways = flat_directions(here, self._tolerances)
        asked = [(direction, product)]
        if here.manifold.dim > 1:  # there is another one
            asked.append(_another(here, direction))
            gap = abs(here.inner(direction, asked[1][1]) - here.inner(asked[1][0], product))
            known.asymmetry = max(known.asymmetry, gap)
        if known.is_unsymmetric:
            return (
                f"the Hessian is not symmetric, <u, Hv> and <v, Hu> differ by "
                f"{known.asymmetry:.1e}: see riemtr.check_hessian"
            )
        for number, (vector, stated) in enumerate(asked):
            line = line_along(here, vector)
            bend = here.inner(vector, stated)
            tolerated = self._tolerances.curvature_at(here, vector)
            slope = self._tolerances.slope_at(here, vector, bend, known.size)
            sentence, measured = contradicting_bend(line, bend, slope, tolerated)
            flat = number == 0 and bool(ways)
            self._quiet &= bool(measured.error <= RULE.refuting * abs(bend))
            if number == 0 and measured.value - measured.error > 0.0:
                self._confirmed = True
            if not sentence and self.nearness is not None:
                sentence = self._fall(line, flat)
            if not sentence and not (number == 0 and self._confirmed):
                sentence = self._gradients(vector, stated, measured, number)
            if sentence:
                return sentence
        for way, begin in ways[1:] if self.nearness is not None else ():
            sentence = self._fall(line_along(here, way), True, begin, 0.0)
            if sentence:
                return sentence
        clear = known.lower_bound > known.tolerated(self._tolerances.curvature)
        if not self._confirmed and (self._open or clear):
            return (
                "neither costs nor gradients beside the point tell how the cost bends: they have "
                "noise, or are not smooth"
            )
        return ""

    def _fall(
        self, line: Line, flat: bool, begin: float = 0.0, share: float = CLAIM.minimum
    ) -> str:
        """Say that a cost beside the point is lower by more than a share of the model's decrease.

        Along a slope that no curvature explains the model does not decrease.
        """
        nearness = self.nearness
        assert nearness is not None
        known, slope = share * nearness.decrease, 0.0
        if self._tolerances.gradient:  # a slope that the user takes for none
            slope = abs(line.here.inner(line.here.gradient, line.direction))
        place = line.first_fall(known, slope, begin) if flat else 0.0
        if place:
            fall = line.here.cost - line.cost(place)
            return f"the cost falls by {fall:.1e} over {abs(place):.2g} along a flat direction"
        fall = line.fall(known, slope)
        return f"the cost falls by {fall:.1e} beside the point" if fall > 0.0 else ""

    def _gradients(self, vector: np.ndarray, stated: Any, along: Measured, number: int) -> str:
        """Say that gradients change otherwise than the Hessian says, if they clearly do.

        If they do by a little, as with a Hessian of few digits or gradients with noise, that widens
        the bounds of the eigenvalues, by as much as may be hidden from one direction.
        """
        here, known = self.here, self.curvature
        scale = max(known.size, here.norm(stated))
        exact = not self._confirmed and known.lower_bound < CLAIM.soft * scale
        measured = gradient_image(here, vector, stated, along.length, exact)
        if not math.isfinite(measured.error):
            self._open = self._open or math.isfinite(measured.length)
            return ""
        gap = here.norm(here.across(measured.value - stated))
        bend = here.inner(vector, stated)
        if number == 0 and gap + measured.error < bend:
            self._confirmed = True
        clear = gap > measured.error
        dim = here.manifold.dim
        if number == 0 and dim > 1:  # one direction of its own
            hidden = 1.0
        else:
            hidden = math.sqrt(dim) * (CLAIM.hidden if clear and dim > 1 else 1.0)
        if clear and uneven_turn(here, vector, measured.length) > RULE.uneven * gap:
            return ""  # as where a squared hinge begins
        if clear:  # unless it is noise of the gradient that its few differences did not show
            noise = CLAIM.noises * gradient_noise(here, vector) / measured.length
            clear = gap > measured.error + noise
        if clear and gap > RULE.refuting * scale and here.hessian_kind != "differences":
            share = gap / max(scale, gap)  # the Hessian may be stated to be zero
            return f"the gradient changes otherwise than the Hessian says, by {share:.1e}{SEE}"
        if not (clear or measured.is_noisy):
            return ""
        before = known.known_side(self._tolerances.curvature)
        known.widen(hidden * (gap if clear else measured.error))
        if before <= 0 or known.known_side(self._tolerances.curvature):
            return ""
        share = max(gap, measured.error) / max(scale, gap)
        return (
            f"the gradient changes otherwise than the Hessian says, or has noise, by {share:.1e}, "
            "which leaves the sign of the curvature open: see riemtr.check_hessian, or raise "
            "curvature_tolerance"
        )

    def _of_curvature(self) -> str:
        """Say that a tolerance of the Hessian's own size passes a point with negative curvature."""
        known = self.curvature
        tolerance = known.tolerated(self._tolerances.curvature)
        if known.lower_bound > 0.0 or not -tolerance <= known.lower_bound:
            return ""
        if known.size <= tolerance and known.side(_usual(self.here)) <= 0:
            return (
                f"curvature is negative, {known.min_eigenvalue:.1e}, and nowhere more than the "
                f"curvature_tolerance of {tolerance:.0e}: lower that to the cost's scale"
            )
        return ""

    # -- claims -----------------------------------------------------------------------------------

    def open_question(self) -> str:
        """Say what keeps a minimizer with positive curvature from being called strict."""
        if self.direction is None or not self.is_positive:
            return ""
        if not self._confirmed:
            return "rounding and noise hide from differences whether the cost bends up"
        return "" if self._settles else "nearly flat, Newton's method does not settle"

    @cached_property
    def _settles(self) -> bool:
        """Whether the Newton step takes the slope away, to all that can be seen.

        On the way to a degenerate point, as that of x^3 or x^4, the smallest eigenvalue is
        positive, but falls with every step: Newton's method takes but a part of the slope away.
        """
        here, newton, known = self.here, self.here.newton, self.curvature
        # Over so short a way a curvature that changes as fast as the largest one stands.
        reach, least = here.reach(here.gradient), known.lower_bound
        if here.gradient_norm * known.size <= CLAIM.left * least * least * reach and least > 0.0:
            return True
        step = self._first_steps() if newton.is_unknown else newton.step
        slope, length = here.inner(here.gradient, step), here.norm(step)
        if not length > 0.0:
            return True
        if newton.units_matter:
            rounding, soft = newton.noise, newton.softness < CLAIM.soft
        else:
            rounding = length * newton.rounding
            soft = known.min_eigenvalue < CLAIM.soft * known.size
        if abs(slope) <= rounding and not soft:
            return True
        try:
            there = here.moved(step)
            if there is None:
                return True
            back = here.space.transported(there.gradient, there.space)
            if abs(here.inner(back, step)) > CLAIM.left * abs(slope) + rounding:
                return False
            if not soft or self.direction is None:
                return True
            # Curvature that comes from a slope, as along an orbit, goes with it.
            ahead = there.space.transported(self.direction, here.space)
            bend = there.inner(ahead, there.hessian(ahead))
            before = here.inner(self.direction, here.hessian(self.direction))
        except (*UNCOMPARED, NonFiniteHessianError):
            return True
        return bend > CLAIM.kept * before

    def _first_steps(self) -> np.ndarray:
        """Return the Newton steps along the gradient and along the direction of least curvature."""
        here, step = self.here, 0.0 * self.here.gradient
        for vector in (here.across(here.gradient), self.direction):
            length = 0.0 if vector is None else here.norm(vector)
            if vector is None or not length > 0.0:
                continue
            unit = vector / vector.dtype.type(length)
            left = here.inner(here.gradient, unit)
            if step.any():  # conjugate to the step before
                left += here.inner(unit, here.hessian(step))
            bend = here.inner(unit, here.hessian(unit))
            if bend > 0.0:
                step = step - (left / bend) * unit
        return step

    def _overshoot(self) -> str:
        """Say that the cost falls on where Newton's method does not settle, as for x^3."""
        here, newton = self.here, self.here.newton
        # Over the last digits of a point nothing is told but rounding.
        if self._settles:
            return ""
        newton.solve()
        if here.norm(newton.step) <= math.sqrt(here.precision) * here.reach(newton.step):
            return ""
        known = CLAIM.minimum * newton.decrease
        for multiple in CLAIM.multiples:
            fall = here.cost - cost_nearby(here, multiple * newton.step)
            if fall > known + CLAIM.minimum * RULE.roundings * here.noise:
                return f"the cost falls by {fall:.1e} behind the end of the Newton step"
        return ""


def _another(here: Evaluation, direction: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a direction that nobody chose, with the Hessian's product; that of Lanczos if it does.

    It is turned from the one given by a radian at least: two lines that are close see the same. In
    factors of other sizes it is as long beside these.
    """
    known = here.curvature.drawn
    apart = known is not None and abs(here.inner(direction, known[0])) <= math.cos(1.0)
    if known is not None and apart and not here.newton.units_matter:
        return known
    drawn = here.space.random(np.random.default_rng(_SEED))
    if here.newton.units_matter:
        drawn = here.newton.weighted(drawn)
        drawn = drawn / drawn.dtype.type(here.norm(drawn))
        return drawn, here.hessian(drawn)
    rest = drawn - drawn.dtype.type(here.inner(direction, drawn)) * direction
    length = here.norm(rest)
    if 0.0 < length < math.sin(1.0):
        share = drawn.dtype.type(math.sin(1.0) / length)
        drawn = drawn.dtype.type(math.cos(1.0)) * direction + share * rest
    return drawn, here.hessian(drawn)


def _usual(here: Evaluation) -> Threshold:
    """Return the curvature that counts as none where nobody says so."""
    return default_tolerances(here.precision).curvature


def _is_symmetric(here: Evaluation) -> bool:
    """Whether the cost has no slope along its symmetries, as a combination nobody chose tells.

    At a critical point there is no slope along anything; it is looked for beside the point, where
    the gradient is large.
    """
    rng = np.random.default_rng(_SEED)
    away = here.space.random(rng)
    away = (CLAIM.beside * here.reach(away)) * away
    for there in (here, here.moved(away)):
        if there is None:
            continue
        try:
            rows = there.symmetries
            if not len(rows):
                continue
            shares = rng.standard_normal(len(rows))
            unit = from_real(shares / np.linalg.norm(shares) @ rows, there.space.zero())
            slope = abs(there.inner(there.gradient, unit))
            scale = max(there.conversion_size, there.gradient_norm)
            scale += here.curvature.size * max(there.sizes(0.0), default=0.0)
            allowed = CLAIM.roundings * here.precision * scale
            if slope > allowed and slope > CLAIM.noises * gradient_noise(there, unit) + allowed:
                return False
        except OFF_DOMAIN:
            continue
    return True


def _told_apart(here: Evaluation, bound: float) -> str:
    """Say that the cost tells arrays apart that stand for the same point, if it does."""
    rng = np.random.default_rng(_SEED)
    other = here.manifold.another_representative(here.point, rng)
    if other is None:
        return ""
    try:
        cost = here.problem.at(other).cost
    except OFF_DOMAIN:
        return ""
    noise = math.sqrt(here.precision) * max(abs(cost), abs(here.cost)) + bound
    if not abs(cost - here.cost) > noise:  # NaN included
        return ""
    return (
        f"the cost is {here.cost:.6g}, and {cost:.6g} at other arrays for the same point of "
        f"{here.manifold}: a cost on a quotient manifold must be the same for all of them; a "
        "manifold without the quotient, as Stiefel for Grassmann, may be what you want"
    )


def certify(
    problem: Any,
    point: Any,
    *,
    tolerance: float | None = None,
    curvature_tolerance: float | None = None,
    relative_tolerance: float | None = None,
    max_seconds: float | None = math.inf,
    failure_probability: float = FAILURE_PROBABILITY,
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
    failure_probability : float, optional
        Chance that the bound on the smallest eigenvalue is wrong, for the worst of all spectra,
        where no Hessian matrix is known.

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
    if not (is_real(failure_probability) and 0.0 < failure_probability < 1.0):
        raise ArgumentError("failure_probability", "be between 0 and 1", failure_probability)
    here = problem.at(problem.geometry.check_point(point, name="point"), clock=Clock(limit))
    here.failure_probability = failure_probability
    return certify_evaluation(
        here,
        default_tolerances(here.precision, tolerance, curvature_tolerance, relative_tolerance),
    )
