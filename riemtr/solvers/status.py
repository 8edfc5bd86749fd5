"""How a run ended; each value says what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Status(Enum):
    """How a run ended; ``str(status)`` says it in a sentence, with the remedy."""

    CONVERGED = "converged: gradient and negative curvature are within the tolerances"
    FIRST_ORDER = (
        "stopped at a vanishing gradient, as asked: see result.certificate for the curvature"
    )
    UNRESOLVED = (
        "the gradient is within tolerance, but the sign of the curvature is not decided to "
        "curvature_tolerance: loosen it, or give the cost an exact Hessian (check_hessian tells if "
        'it is), or ask for goal="first-order" only'
    )
    MAX_ITERATIONS = "out of iterations: raise max_iterations, or loosen tolerance"
    MAX_SECONDS = "out of time: raise max_seconds, or loosen tolerance"
    CYCLING = (
        "the fixed radius is too large for this cost, whose values no longer fall: use a smaller "
        "radius, or an adaptive one, which costs with flat directions need (PracticalTRM)"
    )
    STALLED = (
        "no further progress within rounding: loosen tolerance, or rescale the cost or check its "
        "derivatives with check_gradient and check_hessian"
    )
    INCONSISTENT = (
        "the cost does not change as its gradient says: find the mistake with check_gradient"
    )
    NOT_SMOOTH = (
        "the cost is not smooth here, and steps only crawl along its kink: smooth it (abs(x) as "
        "sqrt(x^2 + mu^2)), split it (x = a - b), or round the solution by linear programming"
    )
    RANDOM = (
        "the cost is random: fix the random numbers that it draws, or minimise an average over them"
    )
    UNBOUNDED = (
        "the cost falls without end as points go to infinity: it has no minimum there to find, "
        "mind its sign or add a term that bounds it"
    )
    NOT_FINITE = (
        "the cost or its gradient is not finite at the start: choose another start, or correct the "
        "cost"
    )
    INTERRUPTED = "interrupted from the keyboard: the result holds the best point so far"
    STOPPED = "stopped by an observer or a stopping criterion, as asked"

    def __str__(self) -> str:
        return self.value

    def __repr__(self) -> str:
        return f"Status.{self.name}"


@dataclass(frozen=True)
class Reason:
    """Why a run stopped: the status, with details where there are any."""

    status: Status
    detail: str = ""
    first_order_goal: bool = False

    @property
    def converged(self) -> bool:
        """Whether the run has reached its goal: a second-order point, unless it said otherwise."""
        reached = self.first_order_goal and self.status is Status.FIRST_ORDER
        return reached or self.status is Status.CONVERGED

    def __str__(self) -> str:
        return f"{self.status}{f' ({self.detail})' if self.detail else ''}"
