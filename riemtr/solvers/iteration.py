"""One iteration as stopping criteria and observers see it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from riemtr.problem import Counts, Evaluation
from riemtr.subproblem import Step


class Iteration(NamedTuple):  # made in a third of the time of a frozen dataclass
    """The state after one iteration; number 0 is the start.

    Attributes
    ----------
    number : int
        How many steps were tried so far.
    stage : int
        Which problem of a continuation this is; the last one is the problem that was asked for.
    here : Evaluation
        The current point: ``here.cost``, ``here.gradient`` and so on, already computed. Its arrays
        are the run's own: copy what you want to change.
    radius : float
        Trust-region radius for the next step.
    step : Step or None
        The step just tried.
    ratio : float
        Actual over predicted decrease of that step.
    accepted : bool
        Whether it was taken.
    escaped : bool
        Whether it was taken at a first-order point, along negative curvature.
    seconds : float
        Time so far, observers excluded.
    counts : Counts
        Oracle calls so far.
    run : Run or None
        The run, for criteria that ask for its history; None for optimizers of others.
    """

    number: int
    stage: int
    here: Evaluation
    radius: float
    step: Step | None
    ratio: float
    accepted: bool
    escaped: bool
    seconds: float
    counts: Counts
    run: Any = None

    @property
    def point(self) -> Any:
        """The current point."""
        return self.here.point

    @property
    def cost(self) -> float:
        """Cost at the current point."""
        return self.here.cost

    @property
    def gradient_norm(self) -> float:
        """Gradient norm at the current point."""
        return self.here.gradient_norm

    @property
    def warming(self) -> bool:
        """Whether this is an easier version of the cost, passed on the way."""
        return self.run is not None and self.here.problem is not self.run.problem

    @property
    def curvature(self) -> float:
        """The largest curvature that the last step has met; 0 before the first step."""
        return 0.0 if self.run is None else self.run.size


Observer = Callable[[Iteration], Any]
"""Gets every iteration; a true return value stops the run."""


def stops(observer: Observer, iteration: Iteration) -> bool:
    """Show an iteration to an observer; return whether it asks to stop."""
    answer = observer(iteration)
    try:
        return bool(answer)
    except ValueError as error:  # of arrays
        raise ValueError(
            f"observers must return whether to stop, or nothing; {observer!r} returned a "
            f"{type(answer).__name__}"
        ) from error


HISTORY_COLUMNS = (
    "iteration",
    "stage",
    "cost",
    "gradient_norm",
    "radius",
    "ratio",
    "accepted",
    "escaped",
    "step_norm",
    "on_boundary",
    "ended",
    "costs",
    "gradients",
    "hessian_products",
    "hessian_matrices",
    "seconds",
)


def history_row(it: Iteration) -> tuple[Any, ...]:
    """Return the values of :data:`HISTORY_COLUMNS` for one iteration."""
    step, counts = it.step, it.counts
    return (
        it.number,
        it.stage,
        it.here.cost,
        it.here.gradient_norm,
        it.radius,
        it.ratio,
        it.accepted,
        it.escaped,
        math.nan if step is None else step.norm,
        False if step is None else step.on_boundary,
        "" if step is None else step.ended.value,
        counts.costs,
        counts.gradients,
        counts.hessian_products,
        counts.hessian_matrices,
        it.seconds,
    )


def history_table(rows: list[tuple[Any, ...]]) -> dict[str, np.ndarray]:
    """Return rows as a table: a dict of equal-length arrays."""
    columns = zip(*rows, strict=True)
    return {name: np.array(column) for name, column in zip(HISTORY_COLUMNS, columns, strict=True)}
