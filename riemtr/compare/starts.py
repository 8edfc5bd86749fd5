"""Where solvers start: random points, and critical points that are not minimizers.

A saddle is found by a search for a vanishing gradient, whatever the curvature: Levenberg-Marquardt
steps on half the squared gradient norm,

.. math:: s = -(H^2 + \\lambda I)^{-1} H g,

from a random point, with the dense Hessian H. They turn into Newton's, so the gradient ends at
rounding, and a method that looks at nothing else stays there. A cost that offers easier versions
of itself is followed through them, as near-nonsmooth costs ask for. The certificate has the last
word: only saddles and maximizers count.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from riemtr.interrupts import OutOfTime, deadline
from riemtr.problem import Clock, Evaluation, Problem
from riemtr.solvers.certificate import MAXIMIZER, SADDLE, certify_evaluation, default_tolerances

_MOST_STEPS = 60
_MOST_DAMPINGS = 14
# Searches without a single saddle before a problem is taken to have none.
_PATIENCE = 8
# Searches per saddle asked for: some end at minimizers, or where another one ended.
_SEARCHES = 4
# Gradient norm of a critical point, in units of rounding at the size of the Hessian.
_ROUNDING = 1e4
# Costs that agree to so many digits belong to the same critical point, or to its mirror image.
_SAME_COST = 1e-9


@dataclass(frozen=True, eq=False)
class Start:
    """A point to start from.

    Attributes
    ----------
    kind : str
        "random" or "saddle" (maximizers included).
    point : point of the manifold
    verdict : str or None
        Of the certificate, for saddle starts.
    gradient_norm : float or None
        Likewise: zero but for rounding.
    """

    kind: str
    point: Any
    verdict: str | None = None
    gradient_norm: float | None = None


def random_starts(problem: Problem, count: int, seed: int) -> list[Start]:
    """Draw random points; the first ones are the same however many are drawn.

    Examples
    --------
    >>> import riemtr
    >>> problem = riemtr.problems.build("rayleigh", rng=0, n=5).problem
    >>> few, many = (random_starts(problem, count, seed=0) for count in (2, 3))
    >>> bool((few[1].point == many[1].point).all())
    True
    """
    # Zeros at the end of a seed count for nothing: (seed, 0, 0) would draw what the data came from.
    return [Start("random", problem.random_point((seed, 3, number))) for number in range(count)]


def saddle_starts(
    problem: Problem, count: int, rng: int, max_seconds: float = math.inf
) -> list[Start]:
    """Find critical points that are not minimizers, no two with the same cost.

    Fewer than asked for where a problem has fewer, or where the time did not suffice; none where
    it has none, such as a cost that is convex along geodesics. Needs the Hessian as a matrix: for
    dimensions up to a thousand or so.

    Parameters
    ----------
    problem : Problem
    count : int
        How many at most.
    rng : int
        Where to search.
    max_seconds : float
        For how long, at most.

    Examples
    --------
    >>> import riemtr
    >>> case = riemtr.problems.build("rayleigh", rng=0, n=5)
    >>> saddles = saddle_starts(case.problem, 3, rng=0)
    >>> [saddle.gradient_norm < 1e-14 for saddle in saddles]
    [True, True, True]
    """
    return search_saddles(problem, count, rng, max_seconds)[0]


def search_saddles(
    problem: Problem, count: int, seed: int, max_seconds: float
) -> tuple[list[Start], str]:
    """Return what :func:`saddle_starts` does, and in words why there are not more, if known."""
    found: dict[float, Start] = {}
    watch, trouble = Clock(), ""
    try:
        with deadline(max_seconds):
            for number in range(_PATIENCE + _SEARCHES * count):
                if len(found) == count or (number >= _PATIENCE and not found):
                    break
                if watch.seconds > max_seconds:  # where there are no alarms
                    raise OutOfTime
                try:
                    here = _critical_point(problem, problem.random_point((seed, 1, number)))
                    size = max(abs(here.cost), _hessian_size(here))
                    if not any(abs(here.cost - cost) <= _SAME_COST * size for cost in found):
                        start = _as_saddle(here)
                        found |= {} if start is None else {here.cost: start}
                except Exception as error:  # such as a step to where the cost is not finite
                    trouble = f"{type(error).__name__}: {' '.join(str(error).split())}"
    except OutOfTime:
        return list(found.values()), f"the search was ended after {max_seconds:g} s"
    return list(found.values()), "" if found else trouble


def _critical_point(problem: Problem, point: Any) -> Evaluation:
    for easier, _ in problem.easier():
        point = _descend_gradient(easier, point).point
    return _descend_gradient(problem, point)


def _descend_gradient(problem: Problem, point: Any) -> Evaluation:
    """Search for a vanishing gradient until the gradient norm no longer falls."""
    here = problem.at(point)
    damping = 1e-3
    for _ in range(_MOST_STEPS):
        values, vectors = here.eigh
        slope = vectors.T @ here.basis.coordinates(here.gradient)
        size = _hessian_size(here)
        if here.gradient_norm == 0.0 or size == 0.0:
            return here
        for _ in range(_MOST_DAMPINGS):
            step = vectors @ (-values * slope / (values**2 + damping * size**2))
            moved = here.space.move(here.basis.vector(step))
            there = problem.at(moved)
            if there.gradient_norm < here.gradient_norm:
                break
            damping *= 10.0
        else:
            return here
        here = there
        damping = max(0.1 * damping, 1e-20)
    return here


def _hessian_size(here: Evaluation) -> float:
    return float(np.abs(here.eigh[0]).max(initial=0.0))


def _as_saddle(here: Evaluation) -> Start | None:
    size = _hessian_size(here)
    tolerance = _ROUNDING * here.precision * size
    verdict = certify_evaluation(
        here, default_tolerances(here.precision, tolerance, 1e-3 * size)
    ).verdict
    if verdict not in (SADDLE, MAXIMIZER):
        return None
    return Start("saddle", here.point, verdict, here.gradient_norm)
