r"""From any point to a critical point of a chosen Morse index.

In the eigenbasis of the Hessian, with eigenvalues :math:`\lambda_i` and slopes :math:`\gamma_i`, a
step goes up along the k eigenvectors of the smallest eigenvalues and down along all others,

.. math:: s_i = \frac{\gamma_i}{|\lambda_i| + \nu} \quad (i \le k), \qquad
          s_i = -\frac{\gamma_i}{|\lambda_i| + \nu} \quad (i > k),

where :math:`\nu \ge 0` keeps it within a radius. Beside a critical point of index k this is
Newton's step; from all others it leads away. No cost falls along the way: a step is judged by the
gradient, which must change about as the Hessian says (Yin, Zhang and Zhang, *High-index
optimization-based shrinking dimer method for finding high-index saddle points*, SIAM Journal on
Scientific Computing 41, 2019, go the same way by small steps along the signed gradient).
Minimising |grad|^2 takes fewer steps, but nobody chooses the index: where a cost is nearly
nonsmooth, as log-cosh at mu = 0.01, it is drawn to the highest ones alone, and finds no minimizer
(``benchmarks/critical_points.py`` prints both).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from riemtr.errors import NonFiniteHessianError
from riemtr.problem import Evaluation, Problem
from riemtr.problem.differences import OFF_DOMAIN
from riemtr.solvers.stopping import default_tolerances
from riemtr.subproblem.exact import solve_exact

# The first radius, as a share of the manifold's typical distance: a few steps cross it.
_FIRST_RADIUS = 0.1
# The largest: longer steps would pass by what is between.
_LARGEST_RADIUS = 0.3
# The smallest: where no shorter step is foreseen either, the gradient is not smooth.
_SMALLEST_RADIUS = 1e-10
# Share of a gradient's change that the Hessian may have foreseen wrongly for a step to be taken.
_TOLERATED = 0.7
# The share up to which the next step may be twice as long.
_FORESEEN = 0.25
# A step that is refused is followed by one of this share of its length.
_SHRINK = 0.25
# Steps that a search tries at most. Most end within 10 to 40 where there is something to find; what
# takes longer goes around in circles.
_MOST_STEPS = 200
# Length of all steps together at most, in typical distances of the manifold: on the way to infinity
# there is nothing to find.
_LONGEST_WAY = 10.0
# Roundings of the derivatives that a slope may be off by.
_ROUNDINGS = 100.0
# Newton's steps at the end, which bring the point to rounding.
_POLISHING = 3
# The fall of a gradient norm that makes one more of them worth it.
_FALL = 0.5


def search(problem: Problem, start: Any, index: int) -> Evaluation | None:
    """Return a critical point near a start, as a rule one of the index; None where none was found.

    Parameters
    ----------
    problem : Problem
    start : point of the manifold
    index : int
        How many directions lead down from the point looked for.

    Examples
    --------
    >>> import numpy as np, riemtr
    >>> matrix = np.diag([1.0, 2.0, 3.0])
    >>> problem = riemtr.Problem(riemtr.Sphere(3), lambda x: x @ matrix @ x)
    >>> start = np.array([0.6, 0.48, 0.64])
    >>> [round(search(problem, start, index).cost, 9) for index in range(3)]
    [1.0, 2.0, 3.0]
    """
    here = problem.at(start)
    scale = here.manifold.typical_dist
    radius, relative = _FIRST_RADIUS * scale, default_tolerances(here.precision).relative
    way, begun = 0.0, here.gradient_norm
    try:
        for _ in range(_MOST_STEPS):
            # At a pole of the cost any gradient is small beside the Hessian, but not beside the
            # gradient at the start.
            if here.gradient_norm <= min(relative * size_of(here), begun):
                return polished(here) if math.isfinite(here.cost) else None
            there, radius, length = _step(here, index, radius)
            way += length
            if radius < _SMALLEST_RADIUS * scale or way > _LONGEST_WAY * scale:
                return None
            here = there
    except (*OFF_DOMAIN, np.linalg.LinAlgError, NonFiniteHessianError):
        return None  # beside the domain of the cost, as on the way to infinity
    return None


def size_of(here: Evaluation) -> float:
    """Return the scale of the derivatives at a point."""
    return max(float(np.abs(here.eigh[0]).max(initial=0.0)), here.conversion_size)


def polished(here: Evaluation) -> Evaluation:
    """Return the end of a few Newton's steps, as long as they help."""
    for _ in range(_POLISHING):
        index = int(np.count_nonzero(here.eigh[0] < 0.0))
        there, _, _ = _step(here, index, _FIRST_RADIUS * here.manifold.typical_dist)
        if not there.gradient_norm <= _FALL * here.gradient_norm:
            return here
        here = there
    return here


def _step(here: Evaluation, index: int, radius: float) -> tuple[Evaluation, float, float]:
    """Return where a step leads, the next radius, and how far that is.

    A step that is refused leads nowhere.
    """
    values, vectors = here.eigh
    slopes = vectors.T @ here.basis.coordinates(here.gradient)
    # A slope of rounding over a curvature of rounding would be a step of any length.
    none = np.abs(slopes) <= _ROUNDINGS * here.precision * size_of(here)
    turned = np.where(none, 0.0, slopes)
    turned[:index] *= -1.0
    order = np.argsort(np.abs(values), kind="stable")
    solution = solve_exact(np.abs(values)[order], np.eye(len(order)), turned[order], radius)
    step = np.empty_like(slopes)
    step[order] = solution.vector
    vector = here.basis.vector(vectors @ step).astype(here.gradient.dtype, copy=False)
    there = here.moved(vector)
    length = float(np.linalg.norm(step))
    if there is None or not np.isfinite(there.gradient_norm):
        return here, _SHRINK * length, 0.0
    try:
        carried = here.space.transported(there.gradient, there.space)
    except (AttributeError, NotImplementedError):  # of manifolds of others
        return there, radius, length
    ahead = vectors.T @ here.basis.coordinates(carried)
    foreseen = values * step
    change = max(float(np.linalg.norm(ahead - slopes)), float(np.linalg.norm(foreseen)))
    error = float(np.linalg.norm(ahead - slopes - foreseen))
    if error > _TOLERATED * change:
        return here, _SHRINK * length, 0.0
    if error <= _FORESEEN * change and solution.on_boundary:
        radius = min(2.0 * radius, _LARGEST_RADIUS * here.manifold.typical_dist)
    return there, radius, length
