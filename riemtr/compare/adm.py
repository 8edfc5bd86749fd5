r"""The alternating direction method, for the paper's cost and for whole dictionaries.

For whitened data Y, one sample a column, it alternates between coefficients and direction in

.. math:: \min_{|q| = 1,\, x} \tfrac12 |q'Y - x|^2 + \psi(x),

x by shrinking q'Y, q by normalising Yx (Qu, Sun and Wright, *Finding a sparse vector in a
subspace*, 2014, of which the paper's conclusion speaks). With psi = lambda \|x\|_1 the shrinkage
is soft thresholding, and the cost that q minimises a Huber function; shrinkage to z - mu tanh(z /
mu) makes it the paper's log-cosh. Over orthogonal matrices in place of q it is the method of the
companion paper's experiment on images.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from riemtr.compare.estimates import Estimate
from riemtr.data import Orthogonal
from riemtr.errors import DoesNotApply
from riemtr.problem import Evaluation, Problem
from riemtr.problems.dictionary_learning import DictionaryCost
from riemtr.solvers import (
    AcceptanceRule,
    AlwaysAccept,
    TrustRegion,
)
from riemtr.subproblem import Ended, Step, SubproblemSolver

# Threshold of a whole dictionary's coefficients, where the data have variance 1: Qu, Sun and
# Wright's 1 / sqrt(p) for rows of length 1.
_THRESHOLD = 1.0
# Change of all directions at which the alternation has come to rest.
_AT_REST = 1e-10
_MOST_ITERATIONS = 5000


@dataclass(frozen=True)
class Alternation:
    r"""One round of the method on the paper's cost, as a step.

    With z = q'Y and p samples, :math:`Yx = YY'q - p \mu \nabla f(q)`. For whitened data, YY' = p c,
    the direction of Yx is that of :math:`q - t \nabla f(q)`, where :math:`t = \mu / c`; elsewhere,
    with the largest eigenvalue in c's place, that is the minimiser after a linearisation, which
    has the same fixed points. On the sphere it is a step against the Riemannian gradient g:

    .. math:: s = -\frac{t}{1 - t \langle q, \nabla f(q) \rangle} g.

    Parameters
    ----------
    size : float
        t.
    """

    size: float = 1.0

    def solve(self, here: Evaluation, radius: float, previous: Step | None = None) -> Step:
        """Return the step; the radius is of no concern to it."""
        slope = here.gradient_norm
        # <q, grad f> is the rest of the Euclidean gradient, and never negative: z tanh(z/mu) >= 0.
        radial = math.sqrt(max(here.conversion_size**2 - slope**2, 0.0))
        size = self.size / (1.0 - self.size * radial)
        vector = -size * here.gradient
        decrease = 0.5 * size * slope * slope
        return Step(vector, -here.gradient, size * slope, decrease, False, Ended.INTERIOR)


@dataclass(frozen=True, repr=False)
class ADM(TrustRegion):
    """The alternating direction method on the paper's log-cosh cost.

    It applies to the costs of :func:`riemtr.dictionary_problem` on data in memory. One round takes
    one gradient. It stops at a small gradient, and looks at no curvature.

    Examples
    --------
    >>> import riemtr
    >>> case = riemtr.problems.build("dictionary-learning", rng=0, n=10)
    >>> result = ADM().solve(case.problem, rng=0)
    >>> result.certificate.verdict, result.counts.hessian_products
    ('minimizer', 0)
    """

    subproblem: SubproblemSolver = field(default_factory=Alternation)
    acceptance: AcceptanceRule = field(default_factory=AlwaysAccept)
    goal: str = field(default="first-order", init=False)
    max_iterations: int = 100_000

    def _fitted(self, problem: Problem, rng: Any) -> TrustRegion:
        cost = problem.cost
        if not isinstance(cost, DictionaryCost):
            raise DoesNotApply("ADM alternates for the log-cosh cost of dictionary learning alone")
        covariance = cost.data @ cost.data.T / cost.data.shape[1]
        size = cost.mu / float(np.linalg.eigvalsh(covariance)[-1])
        return replace(self, subproblem=Alternation(size))


def adm(data: np.ndarray, seed: int) -> Estimate:
    """Alternate between all coefficients and an orthogonal matrix, as a method to compare.

    ``X <- soft(A Z)``, ``A <- polar(X Z')`` for whitened data Z, from a random A.
    """
    rotation = Orthogonal().matrix(data.shape[0], np.random.default_rng(seed))
    change, rounds = math.inf, 0
    while change > _AT_REST and rounds < _MOST_ITERATIONS:
        matched = rotation @ data
        sparse = matched - np.clip(matched, -_THRESHOLD, _THRESHOLD)
        left, _, right = np.linalg.svd(sparse @ data.T)
        before, rotation = rotation, left @ right
        change, rounds = float(np.abs(rotation - before).max()), rounds + 1
    rested = change <= _AT_REST
    end = "at rest" if rested else "out of iterations"
    return Estimate(rotation, rested, f"{end}: last change {change:.1e}", rounds)
