"""Steps against the gradient, and perturbations where there is none: no Hessian product."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from riemtr.arguments import check_positive, generator
from riemtr.problem import Evaluation
from riemtr.subproblem.step import Ended, Step

# Factor by which the step size may grow from one step to the next.
_GROWTH = 1.1


class _Memory(NamedTuple):
    """What one call leaves to the next."""

    here: Evaluation
    size: float  # of the step over the gradient
    curvature: float  # along the last step taken


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
    >>> step = PerturbedGradient().solve(here, radius=0.1)
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

    def solve(self, here: Evaluation, radius: float, previous: Step | None = None) -> Step:
        """Return a step against the gradient of at most the radius."""
        gradient, slope = here.gradient, here.gradient_norm
        if slope == 0.0:
            nothing = 0.0 * gradient
            return Step(nothing, nothing, 0.0, 0.0, False, Ended.INTERIOR)
        size, curvature = radius / slope, 0.0
        known = None if previous is None else previous.memory
        if previous is not None and isinstance(known, _Memory):
            size, curvature = min(size, _GROWTH * known.size), known.curvature
            if known.here is not here:
                curvature = _curvature(here, known.here, previous.norm) or curvature
        return Step(
            vector=-size * gradient,
            hessian_vector=-gradient,  # by the model, whose Hessian is the identity over t
            norm=size * slope,
            predicted_decrease=0.5 * size * slope * slope,
            on_boundary=True,
            ended=Ended.BOUNDARY,
            memory=_Memory(here, size, curvature),
            curvature=curvature,
        )


def _curvature(here: Evaluation, before: Evaluation, length: float) -> float:
    """Return the change of the gradient along a step over its length; 0 where it is not known."""
    try:
        carried = here.space.transported(before.gradient, before.space)
    except NotImplementedError:  # of manifolds of others
        return 0.0
    return here.norm(here.gradient - carried) / length if length > 0.0 else 0.0
