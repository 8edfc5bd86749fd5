"""Numerical checks of derivatives and retractions: numbers first, a plot on request.

Each check follows a smooth curve away from a point and fits how fast the error of a local model
shrinks: on a log-log plot it is a line whose slope is the order of the error. Rounding bends the
line at short steps and higher orders bend it at long ones, so the slope is that of its straightest
piece.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from riemtr.errors import require
from riemtr.manifolds import (
    exponential,
    has_exponential,
    random_point,
    random_tangent,
    transport,
)
from riemtr.problem.evaluation import Evaluation
from riemtr.problem.layout import machine_precision
from riemtr.problem.points import check_point
from riemtr.problem.problem import as_problem

# In single precision only long steps stand out of the rounding, where higher orders bend the line.
_SLOPE_TOLERANCE = {"double": 0.15, "single": 0.4}
_STEP_COUNT = 51
_WINDOW = 10
# Multiple of the rounding of one value within which an error is nothing but rounding.
_ROUNDING = 1e3


@dataclass(frozen=True)
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
        The straightest piece of the error curve, where the slope was fitted.
    symmetry_error, tangency_error : float
        Relative asymmetry of the Hessian, and how far out of the tangent space the gradient or
        Hessian product reaches, relatively; 0 where it does not apply.
    """

    name: str
    ok: bool
    slope: float
    expected_slope: float
    steps: np.ndarray
    errors: np.ndarray
    linear_piece: slice
    symmetry_error: float = 0.0
    tangency_error: float = 0.0

    def __bool__(self) -> bool:
        return self.ok

    def __repr__(self) -> str:
        return (
            f"<{self.name}: {'ok' if self.ok else 'WRONG'}; slope {self.slope:.2f} (expected "
            f"{self.expected_slope:.0f}), symmetry error {self.symmetry_error:.1e}, tangency "
            f"error {self.tangency_error:.1e}>"
        )

    def plot(self, axes: Any = None) -> Any:
        """Draw the error against the step length; needs the extra ``plot``. Returns the axes."""
        if axes is None:
            _, axes = require("matplotlib.pyplot", extra="plot").subplots()
        floor = np.finfo(float).tiny
        axes.loglog(self.steps, np.maximum(self.errors, floor), ".", color="0.6", label="error")
        piece = self.linear_piece
        axes.loglog(
            self.steps[piece],
            np.maximum(self.errors[piece], floor),
            color="C0",
            linewidth=3,
            label=f"slope {self.slope:.2f} (expected {self.expected_slope:.0f})",
        )
        axes.set(xlabel="step length", ylabel="error of the local model", title=self.name)
        axes.legend()
        return axes


def _steps(precision: float) -> np.ndarray:
    # Below the root of the precision a step changes a value by less than its rounding.
    return np.logspace(0.5 * np.log10(precision), 0.0, _STEP_COUNT)


def _fit(steps: np.ndarray, errors: np.ndarray, rounding: float) -> tuple[float, slice]:
    """Slope of the straightest piece of the log-log curve that stands out of the rounding."""
    logs = np.log10(np.maximum(errors, np.finfo(float).tiny))
    pieces = [slice(first, first + _WINDOW) for first in range(len(steps) - _WINDOW + 1)]
    clear = [piece for piece in pieces if errors[piece].min() > rounding]
    best = (np.inf, np.nan, pieces[-1])
    for piece in clear or pieces:
        coefficients, residual, *_ = np.polyfit(np.log10(steps[piece]), logs[piece], 1, full=True)
        badness = float(residual[0]) if len(residual) else 0.0
        if badness < best[0]:
            best = (badness, float(coefficients[0]), piece)
    return best[1], best[2]


def _judge(
    name: str,
    expected: float,
    errors: np.ndarray,
    scale: float,
    precision: float,
    symmetry: float = 0.0,
    tangency: float = 0.0,
) -> DerivativeCheck:
    steps = _steps(precision)
    slope, piece = _fit(steps, errors, 4.0 * precision * scale)
    # A model that is exact leaves only rounding, whose slope means nothing.
    exact = bool(np.all(errors <= _ROUNDING * precision * scale))
    steep = slope >= expected - _SLOPE_TOLERANCE["double" if precision < 1e-12 else "single"]
    tidy = max(symmetry, tangency) <= precision**0.5
    ok = bool(np.all(np.isfinite(errors))) and (exact or steep) and tidy
    return DerivativeCheck(name, ok, slope, expected, steps, errors, piece, symmetry, tangency)


def _start(problem: Any, point: Any, rng: Any) -> tuple[Evaluation, Any, np.random.Generator]:
    problem = as_problem(problem)
    rng = np.random.default_rng(rng)
    if point is None:
        point = problem.random_point(rng)
    point = check_point(problem.manifold, point, name="point")
    direction = random_tangent(problem.manifold, point, rng)
    here = problem.at(point)
    length = here.norm(direction)
    return here, direction / length if length > 0.0 else direction, rng


def _tangency_error(here: Evaluation, vector: Any) -> float:
    size = here.norm(vector)
    return here.norm(vector - here.tangent(vector)) / size if size > 0.0 else 0.0


def check_gradient(problem: Any, point: Any = None, *, rng: Any = None) -> DerivativeCheck:
    """Check the gradient: f(exp(tv)) - f - t <grad, v> must shrink like t^2.

    On a manifold without an exponential map a retraction stands for it.

    Parameters
    ----------
    problem : Problem or pymanopt.Problem
    point : optional
        Where to check; a random point if not given.
    rng : numpy.random.Generator, int or None
        Source of the random point and direction.

    Examples
    --------
    >>> import riemtr
    >>> case = riemtr.problems.build("rayleigh", rng=0, n=5)
    >>> riemtr.check_gradient(case.problem, rng=0).ok
    True
    """
    here, direction, _ = _start(problem, point, rng)
    rate = here.inner(here.gradient, direction)
    errors = np.array(
        [
            abs(_cost_along(here, t * direction) - here.cost - t * rate)
            for t in _steps(here.precision)
        ]
    )
    scale = max(abs(here.cost), here.gradient_norm)
    tangency = _tangency_error(here, here.gradient)
    return _judge("gradient", 2.0, errors, scale, here.precision, tangency=tangency)


def _cost_along(here: Evaluation, displacement: Any) -> float:
    return here.problem.at(exponential(here.manifold, here.point, displacement)).cost


def check_hessian(problem: Any, point: Any = None, *, rng: Any = None) -> DerivativeCheck:
    """Check the Hessian against the cost, or against the gradient where there is no geodesic.

    Along a geodesic, f - t <grad, v> - t^2 <v, Hv>/2 must shrink like t^3. On a manifold without
    an exponential map, the transported gradient minus grad + t Hv must shrink like t^2. The
    Hessian must be symmetric and its products tangent.

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
    if has_exponential(here.manifold):
        expected = 3.0
        rate = here.inner(here.gradient, direction)
        bend = here.inner(direction, product)
        errors = np.array(
            [
                abs(_cost_along(here, t * direction) - here.cost - t * rate - 0.5 * t * t * bend)
                for t in _steps(here.precision)
            ]
        )
        scale = max(abs(here.cost), here.gradient_norm, abs(bend))
    else:
        expected = 2.0
        steps = _steps(here.precision)
        errors = np.array([_gradient_error(here, direction, product, t) for t in steps])
        scale = max(here.gradient_norm, here.norm(product))
    other = random_tangent(here.manifold, here.point, rng)
    image = here.hessian(other)
    asymmetry = abs(here.inner(other, product) - here.inner(direction, image))
    size = max(here.norm(product) * here.norm(other), here.norm(image))
    return _judge(
        "Hessian",
        expected,
        errors,
        scale,
        here.precision,
        symmetry=asymmetry / size if size > 0.0 else 0.0,
        tangency=_tangency_error(here, product),
    )


def _gradient_error(here: Evaluation, direction: Any, product: Any, t: float) -> float:
    there = here.problem.at(here.manifold.retraction(here.point, t * direction))
    back = transport(here.manifold, there.point, here.point, there.gradient)
    return here.norm(back - here.gradient - t * product)


def check_retraction(manifold: Any, point: Any = None, *, rng: Any = None) -> DerivativeCheck:
    """Check that the retraction agrees with the exponential map to first order at least.

    The distance between the two must shrink like t^2; a slope of 3 or more says the retraction is
    of second order.

    Parameters
    ----------
    manifold : Manifold
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
    rng = np.random.default_rng(rng)
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
            for t in _steps(precision)
        ]
    )
    return _judge("retraction", 2.0, errors, 1.0, precision)


def _difference(point_a: Any, point_b: Any) -> float:
    if isinstance(point_a, np.ndarray):
        return float(np.linalg.norm(point_a - point_b))
    return float(
        np.sqrt(sum(_difference(a, b) ** 2 for a, b in zip(point_a, point_b, strict=True)))
    )
