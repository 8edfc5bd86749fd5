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
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrs

from riemtr.arguments import integer
from riemtr.problem import Evaluation
from riemtr.subproblem.step import Ended, Step
from riemtr.subproblem.tangent import check_loss, dense_step, near_exact
from riemtr.subproblem.truncated_cg import (
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


class _Memory(NamedTuple):
    """What one call leaves to the next."""

    here: Evaluation
    products: Pairs  # of CG there
    target: float = 0.0  # residual at which CG may stop there
    dense: bool = False  # whether CG is no longer worth trying without a factor
    factor: np.ndarray | None = None  # Cholesky factor of an earlier Hessian matrix
    spent: int = 0  # products since that matrix
    multiplier: float = 0.0  # of the dense step there


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

    def solve(self, here: Evaluation, radius: float, previous: Step | None = None) -> Step:
        """Return a step by the method that is the cheaper at this point."""
        memory = previous.memory if previous is not None else None
        offers_matrix = here.offers_matrix
        if not (offers_matrix or isinstance(memory, _Memory) or _is_worth(here, previous)):
            return self.cg.solve(here, radius, previous)
        if not offers_matrix and prefers_curvature(here, radius):  # as CG alone does
            return along_curvature(here, radius)
        if not isinstance(memory, _Memory):
            memory = _Memory(
                here, Pairs(here.gradient.size), self.cg.target(here), dense=not offers_matrix
            )
        elif memory.here is not here:
            target = self.cg.target(here, memory.here)
            memory = _Memory(
                here, Pairs(here.gradient.size), target, memory.dense, memory.factor, memory.spent
            )
        if here.has_step_matrix or (memory.dense and memory.factor is None):
            return self._dense(here, radius, memory)
        return self._conjugate(here, radius, memory)

    def _dense(self, here: Evaluation, radius: float, memory: _Memory) -> Step:
        # After a rejected step the multiplier can only be larger than it was.
        solution = near_exact(here, radius, self.tolerance, memory.multiplier)
        # Bases made of random vectors do not turn smoothly with the point, nor do factors in them.
        factor = solution.factor if here.manifold.smooth_basis else None
        kept = _Memory(
            here,
            Pairs(here.gradient.size),
            dense=True,
            factor=factor,
            multiplier=solution.multiplier,
        )
        return dense_step(here, solution, memory=kept)

    def _conjugate(self, here: Evaluation, radius: float, memory: _Memory) -> Step:
        factor, known = memory.factor, memory.products.count
        step = conjugate_gradients(
            here,
            radius,
            products=memory.products,
            precondition=own_preconditioner(here) if factor is None else _inverse(here, factor),
            target=memory.target,
            limit=self.budget,
        )
        if step.ended in (Ended.PRODUCT_LIMIT, Ended.NEGATIVE_CURVATURE):
            factor = None
        spent = memory.spent + memory.products.count - known
        dense = memory.dense or (factor is None and step.norm < _INSIDE * radius)
        if spent >= here.manifold.dim:
            dense, factor, spent = True, None, 0
        kept = _Memory(here, memory.products, memory.target, dense, factor, spent)
        return step._replace(memory=kept)


def _is_worth(here: Evaluation, previous: Step | None) -> bool:
    """Whether CG was of so little use that the matrix is worth its products."""
    if previous is None or previous.ended is not Ended.PRODUCT_LIMIT:
        return False
    return here.manifold.dim <= _MOST_DIMENSIONS


def _inverse(here: Evaluation, factor: np.ndarray) -> Callable[[Any], Any]:
    basis = here.basis

    def apply(vector: Any) -> Any:
        return basis.vector(dpotrs(factor, basis.coordinates(vector))[0])

    return apply
