"""The contract of subproblem solvers: what goes in, and the step that comes out."""

from __future__ import annotations

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
    memory : object
        What the same solver can reuse in its next call; opaque to everyone else.
    """

    vector: Any
    hessian_vector: Any
    norm: float
    predicted_decrease: float
    on_boundary: bool
    ended: Ended
    certificate: Any = None
    memory: Any = None
    curvature: float = 0.0


class SubproblemSolver(Protocol):
    """Minimise the quadratic model of the cost over a ball in the tangent space."""

    def solve(self, here: Evaluation, radius: float, previous: Step | None = None) -> Step:
        """Return a step of length at most ``radius``.

        Parameters
        ----------
        here : Evaluation
            The current point.
        radius : float
            Trust-region radius.
        previous : Step, optional
            The step this solver returned last; it was rejected if it was taken from ``here``.
        """


def make_step(
    here: Evaluation, vector: Any, image: Any, on_boundary: bool, ended: Ended, **extra: Any
) -> Step:
    """Return a step with its norm and predicted decrease filled in."""
    decrease = -here.inner(here.gradient, vector) - 0.5 * here.inner(vector, image)
    return Step(vector, image, here.norm(vector), decrease, on_boundary, ended, **extra)
