"""Truncated CG and near-exact dense steps, each where it is the cheaper.

Where a cost offers its Hessian matrix: far from a solution a few CG products give as good a
step as the matrix would. Once CG stays well inside the ball, the matrix is formed at the next point
and the step taken near-exactly; if it is positive definite, its Cholesky factor is kept as the
preconditioner of CG at the points after, where it is nearly the inverse Hessian, so that two or
three products make a Newton step. When that no longer works, the matrix is formed anew; and so it
is, whatever the steps, after as many products as there are dimensions, since along the boundary CG
may never settle.

Where a cost does not offer it, CG goes on; but a run that took as many products as there are
dimensions, as on ill-conditioned costs, has cost as much as the matrix, which is then formed from
products.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.linalg.lapack import dpotrs

from riemtr.arguments import integer
from riemtr.problem import Evaluation
from riemtr.subproblem.model import Ended, Model, Step
from riemtr.subproblem.tangent import check_loss, dense_step, near_exact
from riemtr.subproblem.truncated_cg import (
    CGModel,
    Pairs,
    TruncatedCG,
    along_curvature,
    conjugate_gradients,
    own_preconditioner,
    prefers_curvature,
)

# Up to which matrices from products are formed.
_MOST_DIMENSIONS = 1000
# Share of the radius below which a step of CG is well inside the ball.
_INSIDE = 0.5


@dataclass(frozen=True)
class HybridSubproblem:
    """Truncated CG, with near-exact steps where the Hessian matrix is the cheaper.

    Parameters
    ----------
    cg : TruncatedCG
        For costs that do not offer the matrix; its stopping rule serves both.
    budget : int
        CG products per step beyond which the Hessian matrix is preferred.
    tolerance : float
        Largest relative loss of model decrease of near-exact steps.
    """

    cg: TruncatedCG = field(default_factory=TruncatedCG)
    budget: int = 5
    tolerance: float = 0.1

    def __post_init__(self) -> None:
        integer("budget", self.budget)
        check_loss(self.tolerance)

    def at(self, here: Evaluation, before: Model | None = None) -> Model:
        """Return the model of the method that is the cheaper at this point."""
        last = before if isinstance(before, _HybridModel) and before.ended is not None else None
        if here.offers_matrix or last is not None or _is_worth(here, before):
            return _HybridModel(self, here, last)
        return self.cg.at(here, before)


class _HybridModel:
    """The model at one point: products of CG there, and the Hessian matrix once that is cheaper."""

    def __init__(self, part: HybridSubproblem, here: Evaluation, before: _HybridModel | None):
        self.here, self._part = here, part
        self.ended: Ended | None = None
        self._products = Pairs(here.gradient.size)
        self._target = part.cg.target(here, None if before is None else before.here)
        self._multiplier = 0.0  # of the last dense step here
        self.dense = not here.offers_matrix  # whether CG is no longer worth trying alone
        self.factor: np.ndarray | None = None  # Cholesky factor of an earlier Hessian matrix
        self.spent = 0  # products since that matrix
        if before is not None:
            self.dense, self.factor, self.spent = before.dense, before.factor, before.spent

    def step(self, radius: float) -> Step:
        """Return a step by the method that is the cheaper."""
        here = self.here
        if not here.offers_matrix and prefers_curvature(here, radius):  # as CG alone does
            self.ended = None
            return along_curvature(here, radius)
        dense = here.has_step_matrix or (self.dense and self.factor is None)
        step = self._dense(radius) if dense else self._conjugate(radius)
        self.ended = step.ended
        return step

    def _dense(self, radius: float) -> Step:
        here = self.here
        # After a rejected step the multiplier can only be larger than it was.
        solution = near_exact(here, radius, self._part.tolerance, self._multiplier)
        self._multiplier, self.dense, self.spent = solution.multiplier, True, 0
        # Bases made of random vectors do not turn smoothly with the point, nor do factors in them.
        self.factor = solution.factor if here.manifold.smooth_basis else None
        return dense_step(here, solution)

    def _conjugate(self, radius: float) -> Step:
        here, factor, known = self.here, self.factor, self._products.count
        step = conjugate_gradients(
            here,
            radius,
            products=self._products,
            precondition=own_preconditioner(here) if factor is None else _inverse(here, factor),
            target=self._target,
            limit=self._part.budget,
        )
        if step.ended in (Ended.PRODUCT_LIMIT, Ended.NEGATIVE_CURVATURE):
            self.factor = None
        self.spent += self._products.count - known
        self.dense |= self.factor is None and step.norm < _INSIDE * radius
        if self.spent >= here.manifold.dim:
            self.dense, self.factor, self.spent = True, None, 0
        return step


def _is_worth(here: Evaluation, before: Model | None) -> bool:
    """Whether CG was of so little use that the matrix is worth its products."""
    useless = isinstance(before, CGModel) and before.ended is Ended.PRODUCT_LIMIT
    return useless and here.manifold.dim <= _MOST_DIMENSIONS


def _inverse(here: Evaluation, factor: np.ndarray) -> Callable[[Any], Any]:
    basis = here.basis

    def apply(vector: Any) -> Any:
        return basis.vector(dpotrs(factor, basis.coordinates(vector))[0])

    return apply
