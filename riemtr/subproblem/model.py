"""The contract of subproblem solvers: a model for each point, and its steps of any length."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple, Protocol

from riemtr.problem import Evaluation


class Ended(str, Enum):
    """Why a subproblem solver returned its step."""

    INTERIOR = "interior"
    BOUNDARY = "boundary"
    NEGATIVE_CURVATURE = "negative curvature"
    CURVATURE_START = "negative curvature start"
    PRODUCT_LIMIT = "product limit"

    def __str__(self) -> str:
        return self.value


class Step(NamedTuple):  # made in a third of the time of a frozen dataclass
    """A tangent step and all the loop needs to know about it.

    Attributes
    ----------
    vector, hessian_vector : tangent vectors
        The step and its image under the Hessian.
    norm : float
        Length of the step, at most the radius (to rounding).
    predicted_decrease : float
        Decrease of the quadratic model, -(<g, s> + <s, Hs>/2).
    on_boundary : bool
        Whether the step was cut at the trust-region boundary.
    ended : Ended
        Why the solver returned.
    certificate : SubproblemSolution or None
        Proof of optimality, from solvers that give one.
    curvature : float
        The largest curvature that the solver has met; 0 if it does not say.
    """

    vector: Any
    hessian_vector: Any
    norm: float
    predicted_decrease: float
    on_boundary: bool
    ended: Ended
    certificate: Any = None
    curvature: float = 0.0


class Model(Protocol):
    """A model of the cost at one point, with all that was computed for it.

    It is asked for a step again, with a smaller radius, where the last one was rejected.
    """

    @property
    def here(self) -> Evaluation:
        """The point."""

    def step(self, radius: float) -> Step:
        """Return a step of length at most ``radius``."""


class SubproblemSolver(Protocol):
    """Minimise a model of the cost over a ball in the tangent space."""

    def at(self, here: Evaluation, before: Model | None = None) -> Model:
        """Return the model at a point.

        Parameters
        ----------
        here : Evaluation
            The current point.
        before : Model, optional
            The model at the point before, whose last step led here.
        """


@dataclass(frozen=True, eq=False)
class FreshModel:
    """A model that keeps nothing: each step is computed anew.

    Attributes
    ----------
    here : Evaluation
    minimise : callable
        ``minimise(here, radius)`` returns a step.
    """

    here: Evaluation
    minimise: Callable[[Evaluation, float], Step]

    def step(self, radius: float) -> Step:
        """Return a step of length at most ``radius``."""
        return self.minimise(self.here, radius)


def no_step(here: Evaluation) -> Step:
    """Return the step of length zero, where a model has no descent."""
    nothing = 0.0 * here.gradient
    return Step(nothing, nothing, 0.0, 0.0, False, Ended.INTERIOR)


def make_step(
    here: Evaluation, vector: Any, image: Any, on_boundary: bool, ended: Ended, **extra: Any
) -> Step:
    """Return a step with its norm and predicted decrease filled in."""
    decrease = -here.inner(here.gradient, vector) - 0.5 * here.inner(vector, image)
    return Step(vector, image, here.norm(vector), decrease, on_boundary, ended, **extra)
