"""Steps against the gradient, and perturbations where there is none: no Hessian product."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from riemtr.arguments import check_positive, generator
from riemtr.problem import Evaluation
from riemtr.subproblem.step import Ended, Model, Step, no_step

# Factor by which the step size may grow from one step to the next.
_GROWTH = 1.1


@dataclass(frozen=True)
class PerturbedGradient:
    r"""The step :math:`-t g`, whose size adapts to the cost.

    The model is :math:`\langle g, s \rangle + |s|^2 / 2t`. A size t that is too long for the
    curvature has a poor ratio of actual to predicted decrease, after which the radius halves the
    step; each step that follows may be a tenth longer. It takes no Hessian product.

    Parameters
    ----------
    perturbation : float
        Length of a perturbation, over the manifold's typical distance.
    rng : numpy.random.Generator or int
        Source of the perturbations; a run of :class:`riemtr.solvers.PerturbedGD` brings its own.

    Examples
    --------
    >>> import numpy as np, riemtr
    >>> here = riemtr.problems.build("rayleigh", rng=0, n=20).problem.at(np.eye(20)[0])
    >>> step = PerturbedGradient().at(here).step(radius=0.1)
    >>> round(step.norm, 12), here.counts.hessian_products
    (0.1, 0)
    """

    perturbation: float = 0.01
    rng: Any = field(default=0, compare=False, repr=False)

    def __post_init__(self) -> None:
        check_positive("perturbation", self.perturbation)
        object.__setattr__(self, "rng", generator(self.rng))

    def perturbed(self, here: Evaluation) -> tuple[Any, float]:
        """Return a random tangent vector, and its length."""
        length = self.perturbation * here.manifold.typical_dist
        return length * here.space.random(self.rng), length

    def at(self, here: Evaluation, before: Model | None = None) -> Model:
        """Return the model, whose steps go against the gradient."""
        return _GradientModel(here, before if isinstance(before, _GradientModel) else None)


class _GradientModel:
    """The model at one point: how long steps over the gradient may be, and the last curvature."""

    def __init__(self, here: Evaluation, before: _GradientModel | None):
        self.here, self._longest, self._curvature = here, math.inf, 0.0
        if before is not None:
            self._longest = before._longest
            known = _curvature(here, before.here, before._length)
            self._curvature = known or before._curvature

    def step(self, radius: float) -> Step:
        """Return a step against the gradient of at most the radius."""
        gradient, slope = self.here.gradient, self.here.gradient_norm
        if slope == 0.0:
            return no_step(self.here)
        size = min(radius / slope, self._longest)
        self._longest, self._length = _GROWTH * size, size * slope
        return Step(
            vector=-size * gradient,
            hessian_vector=-gradient,  # by the model, whose Hessian is the identity over t
            norm=size * slope,
            predicted_decrease=0.5 * size * slope * slope,
            on_boundary=True,
            ended=Ended.BOUNDARY,
            curvature=self._curvature,
        )


def _curvature(here: Evaluation, before: Evaluation, length: float) -> float:
    """Return the change of the gradient along a step over its length; 0 where it is not known."""
    try:
        carried = here.space.transported(before.gradient, before.space)
    except NotImplementedError:  # of manifolds of others
        return 0.0
    return here.norm(here.gradient - carried) / length if length > 0.0 else 0.0
