"""Numerical checks of derivatives and retractions: numbers first, a plot on request.

Each check follows a smooth curve away from a point and fits how fast the error of a local model
shrinks (:mod:`riemtr.problem.derivative_check`).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from riemtr.arguments import generator
from riemtr.manifolds import (
    another_representative,
    exponential,
    has_exponential,
    random_point,
    random_tangent,
    transport,
)
from riemtr.problem.cost_differences import OFF_DOMAIN, UNFINISHED
from riemtr.problem.curvature import accuracy_of
from riemtr.problem.derivative_check import NO_COMPARISON, DerivativeCheck, judge, step_lengths
from riemtr.problem.evaluation import Evaluation
from riemtr.problem.geodesic_costs import Line
from riemtr.problem.layout import machine_precision
from riemtr.problem.points import check_point
from riemtr.problem.problem import as_problem
from riemtr.problem.shared_work import ROUGH_ACCURACY

_ROUGH_STEPS = 1e-3  # relative error of a rough product that steps do not mind
_FURTHER = 2  # directions that must agree on a factor
_DOUBTS = 10.0  # times what steps half as long change of a difference that it may be off by

Pair = tuple[Any, Any]
"""A vector and its image under the Hessian."""


def _start(problem: Any, point: Any, rng: Any) -> tuple[Evaluation, Any, np.random.Generator]:
    problem = as_problem(problem)
    rng = generator(rng)
    if point is None:
        point = problem.random_point(rng)
    point = check_point(problem.manifold, point, name="point")
    direction = random_tangent(problem.manifold, point, rng)
    here = problem.at(point)
    length = here.norm(direction)
    return here, direction / length if length > 0.0 else direction, rng


def _tangency_error(here: Evaluation, vector: Any) -> float:
    # Near a critical point little is left of a gradient but the rounding of what it is made of.
    rounding = here.precision**0.5 * abs(here.cost)
    size = max(here.norm(vector), here.conversion_size, rounding)
    return here.norm_outside(vector) / size if size > 0.0 else 0.0


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
    line = Line(here, direction)
    rate = here.inner(here.gradient, direction)
    differences = line.differences()
    along = differences.compare(direction, 1, rate, here.gradient_norm)
    if not along.agrees:
        further = [random_tangent(here.manifold, here.point, rng) for _ in range(_FURTHER)]
        rates = [(other, here.inner(here.gradient, other)) for other in further]
        along = replace(along, factor=differences.factor(along, 1, rates))
    return judge(
        "gradient",
        2.0,
        line.errors(rate),
        max(abs(here.cost), here.gradient_norm, differences.scale),
        here.precision,
        along=along,
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
    other = random_tangent(here.manifold, here.point, rng)
    image = here.hessian(other)
    along = NO_COMPARISON
    if has_exponential(here.manifold):
        expected = 3.0
        line = Line(here, direction)
        rate = here.inner(here.gradient, direction)
        bend = here.inner(direction, product)
        errors = line.errors(rate, bend)
        differences = line.differences()
        scale = max(abs(here.cost), here.gradient_norm, abs(bend), differences.scale)
        along = differences.compare(direction, 2, bend, here.norm(product))
        if not along.agrees:
            last = random_tangent(here.manifold, here.point, rng)
            bends = [
                (other, here.inner(other, image)),
                (last, here.inner(last, here.hessian(last))),
            ]
            along = replace(along, factor=differences.factor(along, 2, bends))
        slope = differences.compare(direction, 1, rate, here.gradient_norm)
        along = replace(along, right_below=slope.consistent)
    else:
        expected = 2.0
        steps = step_lengths(here.precision)
        errors = np.array([_gradient_error(here, direction, product, t) for t in steps])
        scale = max(here.gradient_norm, here.norm(product))
    inexact = 0.0
    if here.hessian_kind == "differences":
        inexact = max(10.0 * accuracy_of(here) * scale, _doubt(here, direction, product))
    symmetry, unsymmetric = _symmetry(here, (direction, product), (other, image))
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


def _symmetry(here: Evaluation, first: Pair, second: Pair) -> tuple[float, str]:
    """Relative asymmetry of a Hessian, by two vectors and their images, and what to say of it."""
    (vector, product), (other, image) = first, second
    size = max(here.norm(product) * here.norm(other), here.norm(image) * here.norm(vector))
    if size == 0.0:
        return 0.0, ""
    asymmetry = abs(here.inner(other, product) - here.inner(vector, image)) / size
    if asymmetry <= here.precision**0.5:
        return asymmetry, ""
    if here.hessian_kind == "differences":
        doubts = [_doubt(here, v, image) * here.norm(v) for v, image in (first, second)]
        if asymmetry <= max(doubts) / size:
            return asymmetry, ""
    hint = "it is not symmetric"
    if another_representative(here.manifold, here.point, np.random.default_rng(0)) is not None:
        hint += (
            "; on a quotient manifold, as this, ask if the cost is the same for all arrays that "
            "stand for one point"
        )
    return asymmetry, hint


def _doubt(here: Evaluation, vector: Any, product: Any) -> float:
    """What a Hessian product by differences may be off by.

    Where steps are too long, or rounding is large, those half as long give something else.
    """
    return _DOUBTS * here.norm(here.second_opinion(vector) - product)


def _other_forms(here: Evaluation, direction: Any, product: Any) -> str:
    """Say which other form of the Hessian that the cost offers is not that of its products."""
    size = max(here.norm(product), here.conversion_size) or 1.0
    errors = {"rough_hessian": (here.norm(here.step_product(direction) - product), _ROUGH_STEPS)}
    if here.offers_matrix:
        rough = None if here.has_matrix else here.step_matrix()
        matrix = here.hessian_matrix()
        image = here.basis.vector(matrix @ here.basis.coordinates(direction))
        errors["hessian_matrix"] = (here.norm(image - product), here.precision**0.5)
        if rough is not None:  # minimizers are proved by it
            whole = max(float(np.linalg.norm(matrix)), here.conversion_size) or 1.0
            off = float(np.linalg.norm(rough - matrix))
            errors["rough_hessian_matrix"] = (off * size / whole, ROUGH_ACCURACY)
    for name, (error, accuracy) in errors.items():
        if not error <= accuracy * size:
            return f"{name} does not agree with hessian: they differ by {error / size:.1e}"
    return ""


def _gradient_error(here: Evaluation, direction: Any, product: Any, t: float) -> float:
    try:
        there = here.problem.at(here.manifold.retraction(here.point, t * direction))
        back = transport(here.manifold, there.point, here.point, there.gradient)
        return here.norm(back - here.gradient - t * product)
    except UNFINISHED:
        raise
    except OFF_DOMAIN:
        return math.nan


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
    manifold = getattr(manifold, "manifold", manifold)
    if point is None:
        point = random_point(manifold, rng)
    point = check_point(manifold, point, name="point")
    if not has_exponential(manifold):
        raise ValueError(
            f"manifold must have an exponential map to check its retraction against; {manifold} "
            "has none"
        )
    direction = random_tangent(manifold, point, rng)
    direction = direction / (manifold.norm(point, direction) or 1.0)
    precision = machine_precision(point)
    errors = np.array(
        [
            _difference(
                manifold.retraction(point, t * direction),
                exponential(manifold, point, t * direction),
            )
            for t in step_lengths(precision)
        ]
    )
    return judge("retraction", 2.0, errors, 1.0, precision)


def _difference(point_a: Any, point_b: Any) -> float:
    if isinstance(point_a, np.ndarray):
        return float(np.linalg.norm(point_a - point_b))
    return float(
        np.sqrt(sum(_difference(a, b) ** 2 for a, b in zip(point_a, point_b, strict=True)))
    )
