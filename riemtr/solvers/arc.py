"""Adaptive regularisation with cubics, on any manifold."""

from __future__ import annotations

import math

from riemtr.arguments import names_instead
from riemtr.manifolds import retraction
from riemtr.solvers.judging import RatioTest
from riemtr.solvers.trust_region import OPTIONS, TrustRegion, continuation
from riemtr.solvers.weights import AdaptiveWeight
from riemtr.subproblem import CubicKrylov


class ARC(TrustRegion):
    r"""Adaptive regularisation with cubics.

    In place of a ball there is a cubic term, whose weight adapts:

    .. math:: m(s) = \langle g, s \rangle + \tfrac12 \langle s, Hs \rangle
        + \tfrac{\sigma}{3} |s|^3,

    minimised in the Krylov space of the gradient (see :class:`riemtr.CubicKrylov`). Its worst case
    is the best that is known of methods of second order: an approximate second-order point after
    :math:`O(\epsilon^{-3/2})` steps (Agarwal, Boumal, Bullins and Cartis, Math. Programming 188,
    2021). The history's ``radius`` is about the length of the steps that the weight allows.

    Parameters
    ----------
    tolerance, curvature_tolerance, relative_tolerance, goal, max_iterations, max_seconds
        As for :class:`riemtr.TrustRegion`.

    Examples
    --------
    >>> import riemtr
    >>> case = riemtr.problems.build("rayleigh", rng=0, n=20)
    >>> result = riemtr.ARC().solve(case.problem, rng=0)
    >>> result.certificate.verdict, abs(result.cost - case.truth.cost) < 1e-12
    ('minimizer', True)
    """

    @names_instead(OPTIONS)
    def __init__(
        self,
        *,
        tolerance: float | None = None,
        curvature_tolerance: float | None = None,
        relative_tolerance: float | None = None,
        goal: str = "second-order",
        max_iterations: int = 1000,
        max_seconds: float = math.inf,
    ):
        super().__init__(
            subproblem=CubicKrylov(),
            radius=AdaptiveWeight(),
            acceptance=RatioTest(),
            move=retraction,
            warm_up=continuation,
            tolerance=tolerance,
            curvature_tolerance=curvature_tolerance,
            relative_tolerance=relative_tolerance,
            goal=goal,
            max_iterations=max_iterations,
            max_seconds=max_seconds,
        )
