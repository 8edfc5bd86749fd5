"""How a point compares with what is known of the solution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from riemtr.problems import Truth

# Relative to the cost: above what a converged run leaves, below what tells two minima apart.
_SAME_COST = 1e-6


@dataclass(frozen=True)
class Nearness:
    """How near a point comes to the known solution; None for what is not known.

    Attributes
    ----------
    distance : float or None
        From the known solution.
    excess : float or None
        Of the cost over the known minimum; rounding can make it negative.
    lowest : bool or None
        Whether the cost is the known minimum, as far as converged runs can tell.
    """

    distance: float | None = None
    excess: float | None = None
    lowest: bool | None = None


def nearness(truth: Truth, point: Any, cost: float) -> Nearness:
    """Compare a point and its cost with the known solution.

    Examples
    --------
    >>> truth = Truth(cost=1.0)
    >>> nearness(truth, None, cost=1.0 + 1e-9).lowest, nearness(truth, None, cost=1.1).lowest
    (True, False)
    """
    distance = None if truth.distance is None else float(truth.distance(point))
    if truth.cost is None:
        return Nearness(distance)
    excess = cost - truth.cost
    return Nearness(distance, excess, bool(excess <= _SAME_COST * max(1.0, abs(truth.cost))))
