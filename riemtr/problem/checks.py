"""Numerical checks of derivatives and retractions: numbers first, a plot on request.

Each check follows a smooth curve away from a point and fits how fast the error of a local model
shrinks (:mod:`riemtr.problem.derivative_check`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from riemtr.arguments import generator
from riemtr.manifolds import adapt
from riemtr.manifolds.arrays import as_real, machine_precision
from riemtr.problem.cost_differences import OFF_DOMAIN, UNFINISHED, Difference, cost_nearby, refuted
from riemtr.problem.cost_differences import RULE as PROBES
from riemtr.problem.curvature import accuracy_of
from riemtr.problem.derivative_check import (
    NO_COMPARISON,
    RULE,
    Comparison,
    DerivativeCheck,
    common_factor,
    judge,
    step_lengths,
)
from riemtr.problem.evaluation import Evaluation
from riemtr.problem.problem import as_problem
from riemtr.problem.shared_work import ROUGH_ACCURACY


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

    def rate(vector: np.ndarray) -> float:
        return here.inner(here.gradient, vector)

    line = Line(here, direction)
    return judge(
        "gradient",
        2.0,
        line.errors(rate(direction)),
        max(abs(here.cost), here.gradient_norm, line.scale),
        here.precision,
        along=line.compared(1, rate, here.gradient_norm, rng),
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
    symmetry, unsymmetric = _symmetry(here, direction, product, here.space.random(rng))
    along = NO_COMPARISON
    if here.manifold.has_exponential:
        expected = 3.0
        line = Line(here, direction)
        rate, bend = here.inner(here.gradient, direction), here.inner(direction, product)
        errors = line.errors(rate, bend)
        scale = max(abs(here.cost), here.gradient_norm, abs(bend), line.scale)
        slope = line.comparison(1, rate, here.gradient_norm)
        along = line.compared(2, lambda v: here.inner(v, here.hessian(v)), here.norm(product), rng)
        along = replace(along, right_below=slope.consistent)
    else:
        expected = 2.0
        steps = step_lengths(here.precision)
        errors = np.array([_gradient_error(here, direction, product, t) for t in steps])
        scale = max(here.gradient_norm, here.norm(product))
    inexact = 0.0
    if here.hessian_kind == "differences":
        inexact = max(10.0 * accuracy_of(here) * scale, _doubt(here, direction, product))
    return judge(
        "Hessian",
        expected,
        errors,
        scale,
        here.precision,
        along=along,
        inexact=inexact,
        symmetry=symmetry,
        tangency=_tangency_error(here, product),
        mistakes=[unsymmetric, _other_forms(here, direction, product)],
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
    return judge("retraction", 2.0, errors, 1.0, precision)


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
) -> tuple[float, str]:
    """Return the relative asymmetry of a Hessian, by two vectors, and what to say of it."""
    image = here.hessian(other)
    size = max(here.norm(product) * here.norm(other), here.norm(image) * here.norm(vector))
    if size == 0.0:
        return 0.0, ""
    asymmetry = abs(here.inner(other, product) - here.inner(vector, image)) / size
    if asymmetry <= here.precision**0.5:
        return asymmetry, ""
    if here.hessian_kind == "differences":
        pairs = ((vector, product), (other, image))
        if asymmetry <= max(_doubt(here, *pair) * here.norm(pair[0]) for pair in pairs) / size:
            return asymmetry, ""
    hint = "it is not symmetric"
    if here.manifold.another_representative(here.point, np.random.default_rng(0)) is not None:
        hint += (
            "; on a quotient manifold, as this, ask if the cost is the same for all arrays that "
            "stand for one point"
        )
    return asymmetry, hint


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


class Line:
    """The cost along a geodesic, at the steps of a check, and differences of it.

    The steps of differences suit the rounding that the cost itself shows: a large constant hides
    what it is added to, and only over longer steps do changes stand out of it.

    Attributes
    ----------
    noise : float
        Rounding of one cost.
    change : float
        Largest change of the cost over the steps of a check.
    """

    def __init__(self, here: Evaluation, direction: np.ndarray):
        self.here, self.direction = here, direction
        self.steps = step_lengths(here.precision)
        costs = [cost_nearby(here, t * direction, geodesic=True) for t in self.steps]
        self.changes = np.array(costs) - here.cost
        sizes = np.abs(self.changes[np.isfinite(self.changes)])
        self.change = float(sizes.max(initial=0.0))
        least = RULE.least_noise * here.precision * abs(here.cost)
        self.noise = max(RULE.noise * self._scatter(), least)
        if self.change > 0.0 and not sizes.all():  # a last digit is larger than some
            self.noise = max(self.noise, float(sizes[sizes > 0.0].min()))

    def _scatter(self) -> float:
        """Return what no derivative accounts for in the changes over the shortest steps."""
        short = self.changes[: RULE.shortest]
        if not np.isfinite(short).all():
            return 0.0
        t = self.steps[: RULE.shortest] / self.steps[RULE.shortest]
        powers = np.stack([t, t**2], axis=1)
        return float(np.abs(short - powers @ np.linalg.lstsq(powers, short, rcond=None)[0]).max())

    @property
    def scale(self) -> float:
        """Size of a cost that rounds like this one, which may be a difference of larger ones."""
        return 0.1 * self.noise / self.here.precision

    def errors(self, rate: float, bend: float = 0.0) -> np.ndarray:
        """Return the errors of the model with these derivatives."""
        return np.abs(self.changes - self.steps * (rate + 0.5 * self.steps * bend))

    def difference(self, direction: np.ndarray, order: int, share: float = 1.0) -> Difference:
        """Return the first or second difference, over a share of the step that balances errors."""
        here, root = self.here, 1.0 / (order + 2)
        balanced = (self.noise / self.change if self.change > 0.0 else 1.0) ** root
        t = share * min(max(balanced, here.precision**root), RULE.longest) * here.reach(direction)
        ahead, behind = (cost_nearby(here, sign * t * direction, geodesic=True) for sign in (1, -1))
        if order == 1:
            return (ahead - behind) / (2.0 * t), self.noise / t
        return (ahead - here.cost + (behind - here.cost)) / t**2, 2.0 * self.noise / t**2

    def comparison(self, order: int, stated: float, size: float) -> Comparison:
        """Compare a derivative, of some size all told, with differences along the direction."""
        difference = cache(lambda share: self.difference(self.direction, order, share))
        measured, error = difference(1.0)
        # Steps 4 times as long have 16 times the error; shorter ones clearly lack it.
        longer, (shorter, blur) = difference(4.0)[0], difference(0.25)
        curved = [abs(longer - measured) / 15.0, abs(shorter - measured) - blur]
        error += RULE.curved * float(np.nan_to_num(curved, posinf=0.0).max(initial=0.0))
        return Comparison(
            measured,
            error,
            stated,
            typical=size / math.sqrt(max(self.here.manifold.dim, 1)),
            refuted=refuted([difference(share) for share in PROBES.shares], stated),
        )

    def compared(
        self,
        order: int,
        derivative: Callable[[np.ndarray], float],
        size: float,
        rng: np.random.Generator,
    ) -> Comparison:
        """Compare a derivative with differences, along further directions if that fails.

        Directions that agree on a factor tell it; where there is one direction only, none does.
        """
        found = self.comparison(order, derivative(self.direction), size)
        if found.agrees or self.here.manifold.dim < 2:
            return found
        further = [self.here.space.random(rng) for _ in range(2)]
        others = [Comparison(*self.difference(v, order), derivative(v)) for v in further]
        return replace(found, factor=common_factor([found, *others]))
