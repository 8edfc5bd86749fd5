"""What the rows of a run say: when it reached each tolerance, and how it went."""

from __future__ import annotations

import numpy as np

from riemtr.compare.records import Reach
from riemtr.compare.task import Task
from riemtr.compare.watching import Row
from riemtr.problem import Counts

SLACK = 1.0 + 1e-6
"""The solver's own evaluation and riemtr's may differ in the last digits."""

_MOST_ROWS = 300


def oracle_calls(counts: Counts, task: Task) -> int:
    """Return all oracle calls together, a Hessian matrix as one product per dimension."""
    products = counts.hessian_products + task.case.problem.manifold.dim * counts.hessian_matrices
    return int(counts.costs + counts.gradients + products)


def reached(task: Task, rows: list[Row]) -> tuple[Reach, ...]:
    """Return when the gradient norm fell below each tolerance for good, within the time."""
    found = []
    for tolerance in task.tolerances:
        above = [n for n, row in enumerate(rows) if not row[2] <= tolerance * SLACK]
        first = above[-1] + 1 if above else 0
        if first == len(rows):
            continue
        seconds, _, _, counts = rows[first]
        if seconds <= task.demands.max_seconds:
            found.append(Reach(tolerance, seconds, counts.as_dict(), oracle_calls(counts, task)))
    return tuple(found)


def trajectory(task: Task, rows: list[Row], *, from_start: bool) -> dict[str, list[float]]:
    """Return the run as it went, from the start to the end, on the problem that was asked for."""
    shown = [(s, oracle_calls(counts, task), cost, norm) for s, cost, norm, counts in rows]
    if not from_start:
        start = task.case.problem.at(task.start.point)
        # What happened to this cost on the way through easier ones is not known: a step, no slope.
        until = shown[0][:2] if shown else (0.0, 0)
        shown[:0] = [(*when, start.cost, start.gradient_norm) for when in ((0.0, 0), until)]
    kept = np.unique(np.linspace(0, len(shown) - 1, min(len(shown), _MOST_ROWS)).astype(int))
    names = ("seconds", "oracles", "cost", "gradient_norm")
    return {name: [shown[row][column] for row in kept] for column, name in enumerate(names)}
