"""Truncated CG from a small random vector, as the option ``useRand`` of Manopt has it.

At a saddle the gradient tells no direction, and near one hardly any. A start that is a little
random has a part along every direction of negative curvature, which CG then meets. Convergence
proofs ask for the decrease of the Cauchy step, which a random start may miss, so the better of the
two is taken (Absil, Baker and Gallivan, Found. Comput. Math. 7, 2007; Manopt's trustregions.m).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from riemtr.arguments import check_positive, generator
from riemtr.problem import Evaluation
from riemtr.subproblem.step import Ended, FreshModel, Model, Step, make_step
from riemtr.subproblem.truncated_cg import Pairs, conjugate_gradients

# Share of the radius that a random start has at most.
_WELL_INSIDE = 1e-4


@dataclass(frozen=True)
class RandomizedCG:
    """Truncated CG that starts at a random vector, with the Cauchy step to fall back on.

    It uses no preconditioner, no negative curvature that others have found, and nothing of the
    steps before: each call costs two products more than those of CG. The defaults are Manopt's.

    Parameters
    ----------
    kappa, theta : float
        Stop when the residual is below ``|r| * min(kappa, |r|**theta)``, with r that of the start.
    length : float
        Length of the random start.
    rng : numpy.random.Generator or int
        Source of the starts; a run of :class:`riemtr.solvers.RandomizedTRM` brings its own.

    Examples
    --------
    >>> import numpy as np, riemtr
    >>> case = riemtr.problems.build("rayleigh", rng=0, n=20)
    >>> saddle = case.problem.at(case.truth.details["eigenvectors"][:, 5])
    >>> step = RandomizedCG(rng=0).at(saddle).step(radius=0.1)
    >>> step.predicted_decrease > 0.0, round(step.norm, 9)
    (True, 0.1)
    """

    kappa: float = 0.1
    theta: float = 1.0
    length: float = 1e-6
    rng: Any = field(default=0, compare=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("kappa", "theta", "length"):
            check_positive(name, getattr(self, name))
        object.__setattr__(self, "rng", generator(self.rng))

    def at(self, here: Evaluation, before: Model | None = None) -> Model:
        """Return the model, whose steps are the better of truncated CG's and the Cauchy step."""
        return FreshModel(here, self._step)

    def _step(self, here: Evaluation, radius: float) -> Step:
        vector = min(self.length, _WELL_INSIDE * radius) * here.space.random(self.rng)
        image = here.hessian(vector)
        residual = here.norm(here.gradient + image)
        step = conjugate_gradients(
            here,
            radius,
            products=Pairs(here.gradient.size),
            precondition=None,
            target=residual * min(self.kappa, residual**self.theta),
            limit=max(here.manifold.dim, 1),
            start=(vector, image),
        )
        if here.gradient_norm == 0.0:
            return step
        cauchy = cauchy_step(here, radius)
        return step if step.predicted_decrease >= cauchy.predicted_decrease else cauchy


def cauchy_step(here: Evaluation, radius: float) -> Step:
    """Return the minimiser of the model along the gradient, within the ball."""
    unit = here.gradient / -here.gradient_norm
    image = here.hessian(unit)
    curvature = here.inner(unit, image)
    bounded = not curvature * radius > here.gradient_norm
    length = radius if bounded else here.gradient_norm / curvature
    ended = Ended.BOUNDARY if bounded else Ended.INTERIOR
    return make_step(here, length * unit, length * image, bounded, ended, curvature=abs(curvature))
