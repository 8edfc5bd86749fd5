"""The two methods of the paper: constructors that choose the parts of the one loop."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from riemtr.manifolds import exponential, retraction
from riemtr.solvers.acceptance import AlwaysAccept, RatioTest
from riemtr.solvers.radius import AdaptiveRadius, FixedRadius
from riemtr.solvers.trust_region import TrustRegion, continuation
from riemtr.subproblem import ExactSubproblem, HybridSubproblem


def ExactTRM(
    radius: float = 0.1,
    *,
    tolerance: float | None = None,
    curvature_tolerance: float | None = None,
    max_iterations: int = 10_000,
    max_seconds: float = math.inf,
) -> TrustRegion:
    """Return the method the paper analyses (section II.C).

    Exactly solved subproblems, a fixed radius, every step taken along the exponential map. Too
    large a radius makes it cycle, which the result's status reports.

    Parameters
    ----------
    radius : float
        The fixed radius.
    tolerance, curvature_tolerance, max_iterations, max_seconds
        As for :class:`TrustRegion`.

    Examples
    --------
    >>> import riemtr
    >>> case = riemtr.problems.build("rayleigh", rng=0, n=20)
    >>> result = riemtr.ExactTRM(radius=0.5).solve(case.problem, rng=0)
    >>> bool((result.history["cost"][1:] <= result.history["cost"][:-1] + 1e-12).all())
    True
    """
    return TrustRegion(
        subproblem=ExactSubproblem(),
        radius=FixedRadius(radius),
        acceptance=AlwaysAccept(),
        move=exponential,
        tolerance=tolerance,
        curvature_tolerance=curvature_tolerance,
        max_iterations=max_iterations,
        max_seconds=max_seconds,
    )


def PracticalTRM(
    *,
    tolerance: float | None = None,
    curvature_tolerance: float | None = None,
    max_iterations: int = 1000,
    max_seconds: float = math.inf,
) -> TrustRegion:
    """Return the practical method (paper, section IV.A).

    Truncated CG that starts along negative curvature where the gradient is small, an adaptive
    radius, a ratio test, retractions. A cost that offers its Hessian matrix gets near-exact steps
    where they pay, one that offers easier versions of itself is solved by continuation.

    Parameters
    ----------
    tolerance, curvature_tolerance, max_iterations, max_seconds
        As for :class:`TrustRegion`.

    Examples
    --------
    >>> import riemtr
    >>> case = riemtr.problems.build("rayleigh", rng=0, n=20)
    >>> result = riemtr.PracticalTRM(tolerance=1e-9).solve(case.problem, rng=0)
    >>> result.converged, abs(result.cost - case.truth.cost) < 1e-12
    (True, True)
    """
    return TrustRegion(
        subproblem=HybridSubproblem(),
        radius=AdaptiveRadius(),
        acceptance=RatioTest(),
        move=retraction,
        warm_up=continuation,
        tolerance=tolerance,
        curvature_tolerance=curvature_tolerance,
        max_iterations=max_iterations,
        max_seconds=max_seconds,
    )


def constructor_of(solver: TrustRegion) -> tuple[Callable[..., TrustRegion], dict[str, Any]]:
    """Return what makes such a solver, one of the two above if possible, and with which options.

    Options that have their defaults are left out.

    Examples
    --------
    >>> make, options = constructor_of(ExactTRM(0.2, tolerance=1e-8))
    >>> make.__name__, options
    ('ExactTRM', {'radius': 0.2, 'tolerance': 1e-08})
    """
    limits = ("tolerance", "curvature_tolerance", "max_iterations", "max_seconds")
    common = {name: getattr(solver, name) for name in limits}
    candidates: list[tuple[Callable[..., TrustRegion], dict[str, Any]]] = [(PracticalTRM, common)]
    if isinstance(solver.radius, FixedRadius):
        candidates.append((ExactTRM, {"radius": solver.radius.radius, **common}))
    for make, options in candidates:
        if make(**options) == solver:
            break
    else:
        make, options = TrustRegion, vars(solver)
    plain = vars(make())
    return make, {name: value for name, value in options.items() if value != plain[name]}
