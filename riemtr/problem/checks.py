"""Numerical checks of derivatives and retractions: numbers first, a plot on request.

Differences along a smooth curve through a point decide (:mod:`riemtr.problem.differences`). For the
eye there is the order of the local model as well: its error, against the length of the step, is a
line on a log-log plot whose slope is the order. Rounding bends the line at short steps and higher
orders bend it at long ones, so that the slope is taken at the shortest steps whose errors stand
clearly above the rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from riemtr.arguments import generator
from riemtr.errors import require
from riemtr.manifolds import adapt, exponential
from riemtr.manifolds.arrays import as_real, machine_precision
from riemtr.problem.curvature import accuracy_of
from riemtr.problem.differences import (
    CONTRADICTS,
    OFF_DOMAIN,
    UNFINISHED,
    Line,
    Measured,
    answers_differently,
    cost_nearby,
    image,
)
from riemtr.problem.differences import RULE as DIFFERENCES
from riemtr.problem.evaluation import Evaluation
from riemtr.problem.problem import as_problem
from riemtr.problem.shared_work import ROUGH_ACCURACY


@dataclass(frozen=True)
class CheckRule:
    """How the order of a model is read off its errors."""

    step_count: int = 51  # steps at which a model is tried
    window: int = 10  # steps that a slope is fitted to
    lack: float = 0.15  # by how much a slope may be below the expected one
    rounding: float = 100.0  # roundings of one value within which an error is nothing else
    needed: float = 0.1  # relative error of differences that confirm a derivative at all
    halved: float = 10.0  # times the change by halved steps that a product by differences is off by
    same: float = 1e-3  # relative difference up to which factors along several directions are one


RULE = CheckRule()


@dataclass(frozen=True, eq=False)
class DerivativeCheck:
    """Outcome of a check.

    Attributes
    ----------
    name : str
        What was checked.
    ok : bool
        Whether everything is as it should be.
    slope, expected_slope : float
        Order of the model's error, and what it must be at least.
    steps, errors : ndarray
        Step lengths and the model's error at each.
    linear_piece : slice
        The steps that the slope was fitted to.
    symmetry_error, symmetry_bound : float or None
        Relative asymmetry of the Hessian, and the largest that is right; None for gradients.
    tangency_error : float or None
        How far out of the tangent space the gradient or Hessian product reaches, relatively; None
        for retractions.
    exact : bool
        Whether the model's error is nothing but rounding, whose slope means nothing.
    confirmed : float or None
        Where the slope means nothing else, the relative accuracy to which differences of the cost
        confirm the derivative.
    undecided : bool
        Whether rounding leaves it open; ``ok`` is then False.
    hint : str
        What is likely to be wrong, if something is.
    """

    name: str
    ok: bool
    slope: float
    expected_slope: float
    steps: np.ndarray
    errors: np.ndarray
    linear_piece: slice
    symmetry_error: float | None = None
    symmetry_bound: float | None = None
    tangency_error: float | None = None
    exact: bool = False
    confirmed: float | None = None
    undecided: bool = False
    hint: str = ""

    def __bool__(self) -> bool:
        return self.ok

    def __repr__(self) -> str:
        found = [f"slope {self.slope:.2f} (expected {self.expected_slope:.0f})"]
        if self.exact:
            found = ["exact to rounding"]
        elif self.confirmed is not None:
            found = [f"right to {self.confirmed:.0e} by differences of the cost"]
        elif self.undecided:
            found = []
        for name, error in (("symmetry", self.symmetry_error), ("tangency", self.tangency_error)):
            if error is not None:
                found.append(f"{name} error {error:.1e}")
        words = [f"{self.name}: {self.verdict}", ", ".join(found), self.hint]
        return f"<{'; '.join(filter(None, words))}>"

    @property
    def verdict(self) -> str:
        """The outcome in a word: ok, undecided or WRONG."""
        return "ok" if self.ok else "undecided" if self.undecided else "WRONG"

    def plot(self, axes: Any = None) -> Any:
        """Draw the error against the step length; needs the extra ``plot``. Returns the axes."""
        if axes is None:
            _, axes = require("matplotlib.pyplot", extra="plot").subplots()
        steps, shown = self.steps, np.where(self.errors > 0.0, self.errors, np.nan)
        axes.loglog(steps, shown, ".", color="0.6", label="error")
        if not self.exact and np.isfinite(self.slope):
            piece = self.linear_piece
            fitted = f"slope {self.slope:.2f}"
            axes.loglog(steps[piece], shown[piece], color="C0", linewidth=3, label=fitted)
            # A line of the expected slope goes through the middle of the fitted piece.
            middle = (piece.start + piece.stop) // 2
            line = shown[middle] * (steps / steps[middle]) ** self.expected_slope
            visible = (line >= np.nanmin(shown)) & (line <= 10.0 * np.nanmax(shown))
            expected = f"expected: {self.expected_slope:.0f}"
            axes.loglog(steps[visible], line[visible], "--", color="C1", lw=1, label=expected)
        title = f"{self.name}: {self.verdict}{', exact to rounding' if self.exact else ''}"
        axes.set(xlabel="step length", ylabel="error of the local model", title=title)
        axes.legend()
        return axes


def check_gradient(problem: Any, point: Any = None, *, rng: Any = None) -> DerivativeCheck:
    """Check the gradient: f(exp(tv)) - f - t <grad, v> must shrink like t^2.

    On a manifold without an exponential map a retraction stands for it. Where rounding of the cost
    hides that, differences of the cost over longer steps decide; where it hides those as well, the
    check is ``undecided``.

    Parameters
    ----------
    problem : Problem or pymanopt.Problem
    point : optional
        Where to check; a random point if not given.
    rng : numpy.random.Generator, int or None
        Source of the random point and directions.

    Examples
    --------
    >>> import riemtr
    >>> case = riemtr.problems.build("rayleigh", rng=0, n=5)
    >>> riemtr.check_gradient(case.problem, rng=0).ok
    True
    """
    here, direction, rng = _start(problem, point, rng)

    def compared(vector: np.ndarray, stretch: float = 1.0) -> tuple[Measured, float]:
        stated = here.inner(here.gradient, vector)
        return Line(here, vector, True, stretch).slope(stated), stated

    stated = here.inner(here.gradient, direction)
    return _judged(
        "gradient",
        2.0,
        here,
        direction,
        _model_errors(here, direction, stated),
        compared,
        here.gradient_norm,
        rng,
        tangency=_tangency_error(here, here.gradient),
    )


def check_hessian(problem: Any, point: Any = None, *, rng: Any = None) -> DerivativeCheck:
    """Check the Hessian against the cost, or against the gradient where there is no geodesic.

    Along a geodesic, f - t <grad, v> - t^2 <v, Hv>/2 must shrink like t^3. On a manifold without
    an exponential map, the transported gradient minus grad + t Hv must shrink like t^2. The
    Hessian must be symmetric, its products tangent, and a matrix that the cost offers the same.

    Parameters
    ----------
    problem : Problem or pymanopt.Problem
    point : optional
        Where to check; a random point if not given.
    rng : numpy.random.Generator, int or None
        Source of the random point and directions.

    Examples
    --------
    >>> import riemtr
    >>> case = riemtr.problems.build("rayleigh", rng=0, n=5)
    >>> riemtr.check_hessian(case.problem, rng=0).ok
    True
    """
    here, direction, rng = _start(problem, point, rng)
    product = here.hessian(direction)
    symmetry = _symmetry(here, direction, product, here.space.random(rng))
    inexact = 0.0
    if here.hessian_kind == "differences":
        scale = max(here.gradient_norm, here.norm(product))
        inexact = max(10.0 * accuracy_of(here) * scale, _doubt(here, direction, product))
    mistakes = [_other_forms(here, direction, product)]
    if here.manifold.has_exponential:
        expected = 3.0
        slope, bend = here.inner(here.gradient, direction), here.inner(direction, product)
        errors = _model_errors(here, direction, slope, bend)

        def compared(vector: np.ndarray, stretch: float = 1.0) -> tuple[Measured, float]:
            stated = here.inner(vector, here.hessian(vector))
            return Line(here, vector, True, stretch).bend(stated), stated

        measured = Line(here, direction, geodesic=True).slope(slope, bend)
        if measured.against(slope) == CONTRADICTS:
            mistakes.append("an error of first order is the gradient's: see check_gradient")
    else:
        expected = 2.0
        steps = _steps(here, direction)
        errors = np.array([_gradient_error(here, direction, product, t) for t in steps])

        def compared(vector: np.ndarray, stretch: float = 1.0) -> tuple[Measured, float]:
            stated = here.hessian(vector)
            found = image(here, vector, stated, exact=True)
            size = here.norm(stated)
            gap = here.norm(found.value - stated)
            return Measured(size - gap, found.error, found.length), size

    return _judged(
        "Hessian",
        expected,
        here,
        direction,
        errors,
        compared,
        here.norm(product),
        rng,
        inexact=inexact,
        symmetry=symmetry,
        tangency=_tangency_error(here, product),
        mistakes=mistakes,
    )


def check_retraction(manifold: Any, point: Any = None, *, rng: Any = None) -> DerivativeCheck:
    """Check that the retraction agrees with the exponential map to first order at least.

    The distance between the two must shrink like t^2; a slope of 3 or more says the retraction is
    of second order.

    Parameters
    ----------
    manifold : Manifold, or Problem on it
        With an exponential map; the distance is that of the points' arrays.
    point : optional
        Where to check; a random point if not given.
    rng : numpy.random.Generator, int or None
        Source of the random point and direction.

    Examples
    --------
    >>> import riemtr
    >>> check = riemtr.check_retraction(riemtr.Sphere(4), rng=0)
    >>> check.ok, round(check.slope)
    (True, 3)
    """
    rng = generator(rng)
    geometry = adapt(getattr(manifold, "manifold", manifold))
    if point is None:
        point = geometry.random_point(rng)
    point = geometry.check_point(point, name="point")
    if not geometry.has_exponential:
        raise ValueError(
            f"manifold must have an exponential map to check its retraction against; {geometry} "
            "has none"
        )
    space = geometry.space(point)
    direction = space.random(rng)
    precision = machine_precision(point)
    ends = [
        (as_real(space.move(t * direction)), as_real(space.move_along_geodesic(t * direction)))
        for t in step_lengths(precision)
    ]
    errors = np.array([float(np.linalg.norm(moved - followed)) for moved, followed in ends])
    order = order_of(step_lengths(precision), errors, precision)
    right = order.exact or order.slope >= 2.0 - RULE.lack
    return DerivativeCheck(
        name="retraction",
        ok=right,
        slope=order.slope,
        expected_slope=2.0,
        steps=step_lengths(precision),
        errors=errors,
        linear_piece=order.piece,
        exact=order.exact,
        hint="" if right else "it moves otherwise than the exponential map to first order",
    )


def _start(problem: Any, point: Any, rng: Any) -> tuple[Evaluation, Any, np.random.Generator]:
    problem = as_problem(problem)
    rng = generator(rng)
    if point is None:
        point = problem.random_point(rng)
    here = problem.at(problem.geometry.check_point(point, name="point"))
    return here, here.space.random(rng), rng


def _tangency_error(here: Evaluation, vector: np.ndarray) -> float:
    # Near a critical point little is left of a gradient but the rounding of what it is made of.
    rounding = here.precision**0.5 * abs(here.cost)
    size = max(here.norm(vector), here.conversion_size, rounding)
    return here.norm_outside(vector) / size if size > 0.0 else 0.0


def _symmetry(
    here: Evaluation, vector: np.ndarray, product: np.ndarray, other: np.ndarray
) -> tuple[float, float]:
    """Return the relative asymmetry of a Hessian, by two vectors, and the largest that is right."""
    image, bound = here.hessian(other), here.precision**0.5
    size = max(here.norm(product) * here.norm(other), here.norm(image) * here.norm(vector))
    if size == 0.0:
        return 0.0, bound
    asymmetry = abs(here.inner(other, product) - here.inner(vector, image)) / size
    if asymmetry > bound and here.hessian_kind == "differences":
        pairs = ((vector, product), (other, image))
        bound = max(bound, *(_doubt(here, *pair) * here.norm(pair[0]) / size for pair in pairs))
    return asymmetry, bound


def _doubt(here: Evaluation, vector: np.ndarray, product: np.ndarray) -> float:
    """Return what a Hessian product by differences may be off by.

    Where steps are too long, or rounding is large, steps half as long give something else.
    """
    return RULE.halved * here.norm(here.second_opinion(vector) - product)


def _other_forms(here: Evaluation, direction: np.ndarray, product: np.ndarray) -> str:
    """Say which other form of the Hessian that the cost offers is not that of its products."""
    if not here.offers_matrix:
        return ""
    rough = None if here.has_matrix else here.step_matrix()
    matrix = here.hessian_matrix()
    image = here.basis.vector(matrix @ here.basis.coordinates(direction))
    size = max(here.norm(product), here.conversion_size) or 1.0
    errors = {"hessian_matrix": (here.norm(image - product) / size, here.precision**0.5)}
    if rough is not None:  # minimizers are proved by it
        whole = max(float(np.linalg.norm(matrix)), here.conversion_size) or 1.0
        error = float(np.linalg.norm(rough - matrix)) / whole
        errors["hessian_matrix(accuracy=1e-5)"] = (error, ROUGH_ACCURACY)
    for name, (error, accuracy) in errors.items():
        if not error <= accuracy:
            return f"{name} does not agree with hessian: they differ by {error:.1e}"
    return ""


def _steps(here: Evaluation, direction: np.ndarray) -> np.ndarray:
    return step_lengths(here.precision, here.reach(direction))


def _model_errors(
    here: Evaluation, direction: np.ndarray, slope: float, bend: float = 0.0
) -> np.ndarray:
    """Return the errors of the model with these derivatives, along a geodesic."""
    steps = _steps(here, direction)
    costs = np.array([cost_nearby(here, t * direction, exponential) for t in steps])
    return np.abs(costs - here.cost - steps * (slope + 0.5 * steps * bend))


def _gradient_error(
    here: Evaluation, direction: np.ndarray, product: np.ndarray, t: float
) -> float:
    try:
        there = here.problem.at(here.space.move(t * direction))
        back = here.space.transported(there.gradient, there.space)
        return here.norm(back - here.gradient - t * product)
    except UNFINISHED:
        raise
    except OFF_DOMAIN:
        return math.nan


def _judged(
    name: str,
    expected: float,
    here: Evaluation,
    direction: np.ndarray,
    errors: np.ndarray,
    compared: Callable[..., tuple[Measured, float]],
    size: float,
    rng: np.random.Generator,
    *,
    inexact: float = 0.0,
    symmetry: tuple[float, float] | None = None,
    tangency: float | None = None,
    mistakes: Sequence[str] = (),
) -> DerivativeCheck:
    """Judge a derivative by differences along a direction.

    Parameters
    ----------
    compared : callable
        ``compared(vector, stretch)``, the derivative along a vector as measured, over lengths that
        are so many times the usual ones, and as stated.
    size : float
        Size of the derivative along any direction.
    inexact : float
        What the stated derivative may be off by, by the way it is computed.
    mistakes : sequence of str
        What else is wrong.
    """
    measured, stated = compared(direction)
    scale = max(abs(measured.value), abs(stated), size / math.sqrt(max(here.manifold.dim, 1)))
    rounding = here.precision * max(abs(here.cost), size, here.gradient_norm)
    order = order_of(_steps(here, direction), errors, rounding)
    trivial = here.manifold.dim == 0
    wrong = measured.against(stated, inexact) == CONTRADICTS and not trivial
    if wrong:  # noise that agrees with itself by chance does not do so twice
        other = compared(direction, DIFFERENCES.other)[0]
        wrong = other.against(stated, inexact) == CONTRADICTS
    enough = max(RULE.needed * scale, rounding, inexact)
    drowned = 0.0 < abs(stated) <= 10.0 * RULE.rounding * rounding
    exact = order.exact and not drowned
    known = trivial or exact or measured.error <= enough
    if not (tangency or 0.0) <= here.precision**0.5:
        mistakes = ["it is not tangent: if it is Euclidean, pass it by that name", *mistakes]
    if symmetry is not None and not symmetry[0] <= symmetry[1]:
        why = "it is not symmetric"
        if here.manifold.another_representative(here.point, np.random.default_rng(0)) is not None:
            why += (
                "; on a quotient manifold, as this, ask if the cost is the same for all arrays "
                "that stand for one point"
            )
        mistakes = [why, *mistakes]
    differing = answers_differently(here)
    if differing > 0.0:
        why = (
            f"the cost is random: asked twice at this point, its answers differ by {differing:.1e}"
        )
        mistakes = [why, *mistakes]
    mistake = "; ".join(filter(None, mistakes))
    why = ""
    if not np.isfinite(errors[: RULE.window]).all():
        why, wrong = "the cost or a derivative is not finite nearby", True
    elif wrong and not any("see check_gradient" in each for each in mistakes):
        why = _difference(measured, stated, compared, here, rng)
    elif not (known or wrong):
        hidden = "rounding, noise or kinks hide how the cost changes"
        why = f"{hidden}: subtract a constant from a large one"
    right = known and not wrong
    by_order = exact or (order.clear and order.slope >= expected - RULE.lack)
    return DerivativeCheck(
        name=name,
        ok=right and not mistake,
        slope=order.slope,
        expected_slope=expected,
        steps=_steps(here, direction),
        errors=errors,
        linear_piece=order.piece,
        symmetry_error=None if symmetry is None else symmetry[0],
        symmetry_bound=None if symmetry is None else symmetry[1],
        tangency_error=tangency,
        exact=exact and right,
        confirmed=measured.error / scale if right and not by_order and scale > 0.0 else None,
        undecided=not (known or wrong or mistake),
        hint="; ".join(filter(None, (why, mistake))),
    )


def _difference(
    measured: Measured,
    stated: float,
    compared: Callable[..., tuple[Measured, float]],
    here: Evaluation,
    rng: np.random.Generator,
) -> str:
    """Say how a derivative differs from what is measured: by a factor, or otherwise.

    Directions that agree on a factor tell it; where there is one direction only, none does.
    """
    pairs = [(measured, stated)]
    if here.manifold.dim > 1:
        pairs += [compared(here.space.random(rng)) for _ in range(2)]
        factors = [m.value / s if s else math.nan for m, s in pairs]
        errors = [m.error / abs(s) if s else math.nan for m, s in pairs]
        spread = max(factors) - min(factors)
        if spread <= max(errors) + RULE.same * abs(factors[0]):  # NaN is no factor
            return f"the cost's own is {factors[0]:.4g} times what this says"
    return f"differences of the cost give {measured.value:.6g}, this says {stated:.6g}"


class Order(NamedTuple):
    """The order of a model, as far as its errors tell.

    Attributes
    ----------
    slope : float
        Slope of the error on a log-log plot; NaN where there are too few errors.
    piece : slice
        The steps where it was fitted.
    exact : bool
        Whether the errors are nothing but rounding.
    clear : bool
        Whether they are more than rounding at as many steps as a slope needs.
    """

    slope: float = np.nan
    piece: slice = slice(0, 0)
    exact: bool = False
    clear: bool = False


def step_lengths(precision: float, reach: float = 1.0) -> np.ndarray:
    """Return the lengths of the steps at which models are tried."""
    # Below the root of the precision a step changes a value by less than its rounding.
    return reach * np.logspace(0.5 * np.log10(precision), 0.0, RULE.step_count)


def order_of(steps: np.ndarray, errors: np.ndarray, rounding: float) -> Order:
    """Read the order of a model off its errors, beside the rounding of one value."""
    # Long steps may leave the cost's domain.
    usable = int(np.argmin(np.append(np.isfinite(errors), False)))
    if usable < 2 * RULE.window:
        return Order()
    steps, errors = steps[:usable], errors[:usable]
    visible = errors > RULE.rounding * rounding
    pieces = [slice(first, first + RULE.window) for first in range(usable - RULE.window + 1)]
    clear = [piece for piece in pieces if visible[piece].all()]
    piece = clear[0] if clear else pieces[-1]
    logs = np.log10(np.maximum(errors[piece], np.finfo(float).tiny))
    slope = float(np.polyfit(np.log10(steps[piece]), logs, 1)[0])
    return Order(slope, piece, not visible.any(), bool(clear))
