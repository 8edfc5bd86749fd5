"""Limited-memory BFGS within a trust region, on any manifold."""

from __future__ import annotations

import math
from typing import Any

from riemtr.arguments import names_instead
from riemtr.manifolds import retraction
from riemtr.solvers.judging import AdaptiveRadius, SlopeRatioTest
from riemtr.solvers.trust_region import OPTIONS, TrustRegion, continuation
from riemtr.subproblem import SecantSubproblem

# Factor by which the radius shrinks: a secant model that fails is off by more than a Hessian is. On
# 25 classical problems it saves 4 % of the iterations that a half takes.
_SHRINK = 0.25


class LBFGS(TrustRegion):
    r"""Limited-memory BFGS: needs no Hessian, and one gradient for each point.

    The steps of the run and the changes of the gradient along them make a model of the Hessian,

    .. math:: m(s) = \langle g, s \rangle + \tfrac12 \langle s, B s \rangle, \qquad B s_i = y_i,

    which is minimised exactly over a ball, in the small subspace that it knows (see
    :class:`riemtr.SecantSubproblem`). Each step that is tried costs one evaluation of the cost,
    each one that is taken one of the gradient; so does, close to a solution, one that is rejected
    where rounding hides the change of the cost. For costs without a Hessian, or whose Hessian
    products cost much more than gradients. A problem's preconditioner is of no use to it.

    Parameters
    ----------
    memory : int
        How many steps the Hessian is approximated from.
    goal : {"first-order", "second-order"}
        With "first-order", the default, the run ends at a small gradient, after a few Hessian
        products, or differences of gradients, that tell what it means. With "second-order" it
        looks at the curvature there, by Hessian products, or differences of gradients where the
        problem has no Hessian; it leaves saddle points along the direction of negative curvature.
    tolerance, curvature_tolerance, relative_tolerance, max_iterations, max_seconds
        As for :class:`riemtr.TrustRegion`.

    Examples
    --------
    >>> import numpy as np, riemtr
    >>> case = riemtr.problems.build("rayleigh", rng=0, n=20)
    >>> result = riemtr.LBFGS().solve(case.problem, rng=0)
    >>> abs(result.cost - case.truth.cost) < 1e-9, bool(result.history["hessian_products"][-2])
    (True, False)
    >>> bool(result.counts.gradients == sum(result.history["accepted"]))
    True
    >>> saddle = case.truth.details["eigenvectors"][:, 5]
    >>> riemtr.LBFGS(goal="second-order").solve(case.problem, saddle).certificate.verdict
    'minimizer'
    """

    @names_instead({**OPTIONS, "maxcor": "memory"})
    def __init__(
        self,
        *,
        memory: int = SecantSubproblem.memory,
        tolerance: float | None = None,
        curvature_tolerance: float | None = None,
        relative_tolerance: float | None = None,
        goal: str = "first-order",
        max_iterations: int = 10_000,
        max_seconds: float = math.inf,
    ):
        super().__init__(
            subproblem=SecantSubproblem(memory),
            radius=AdaptiveRadius(shrink=_SHRINK),
            acceptance=SlopeRatioTest(),
            move=retraction,
            warm_up=continuation,
            tolerance=tolerance,
            curvature_tolerance=curvature_tolerance,
            relative_tolerance=relative_tolerance,
            goal=goal,
            max_iterations=max_iterations,
            max_seconds=max_seconds,
        )

    @property
    def options(self) -> dict[str, Any]:
        """The options of the constructor that are not at their defaults."""
        options = super().options
        part = options.pop("subproblem", None)
        return options if part is None else {"memory": part.memory, **options}
