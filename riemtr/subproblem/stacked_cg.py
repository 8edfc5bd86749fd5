"""Truncated CG for many models at once, each in a ball of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from riemtr.problem.stacks import dots, scaled


class StackedSteps(NamedTuple):
    """Steps of many models.

    Attributes
    ----------
    vectors : ndarray
        One step for each.
    norms, predicted_decrease : ndarray
        Their lengths, and the decrease of each quadratic model.
    on_boundary : ndarray of bool
        Whether a step was cut at the boundary of its ball.
    curvatures : ndarray
        The largest curvature met by each.
    """

    vectors: np.ndarray
    norms: np.ndarray
    predicted_decrease: np.ndarray
    on_boundary: np.ndarray
    curvatures: np.ndarray


def stacked_cg(
    product: Callable[[np.ndarray], np.ndarray],
    gradients: np.ndarray,
    radii: np.ndarray,
    targets: np.ndarray,
    limit: int,
) -> StackedSteps:
    """Run CG (Steihaug, Toint) on all models until each has converged or left its ball.

    Parameters
    ----------
    product : callable
        Hessian products with one vector for each model.
    gradients : ndarray
        Stacked.
    radii, targets : ndarray
        The ball of each, and the norm of the residual at which it may stop.
    limit : int
        Products at most.
    """
    vectors, images = np.zeros_like(gradients), np.zeros_like(gradients)
    residuals, directions = gradients, -gradients
    squares = dots(residuals, residuals)
    lengths = np.zeros(len(gradients))  # of the steps so far, squared
    running = squares > 0.0
    bounded = np.zeros(len(gradients), dtype=bool)
    largest = np.zeros(len(gradients))
    rooms = radii * radii
    for _ in range(limit):
        products = product(directions)
        bends, sizes = dots(directions, products), dots(directions, directions)
        overlaps = dots(vectors, directions)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            largest = np.where(running, np.fmax(largest, np.abs(bends) / sizes), largest)
            steps = np.where(bends > 0.0, squares / bends, np.inf)
            ahead = lengths + steps * (2.0 * overlaps + steps * sizes)
            leaving = running & ~(ahead < rooms)
            roots = np.sqrt(overlaps * overlaps + sizes * np.maximum(rooms - lengths, 0.0))
            # Without cancellation, whatever the sign of the overlap.
            to_boundary = np.where(
                overlaps > 0.0,
                np.maximum(rooms - lengths, 0.0) / (overlaps + roots),
                (roots - overlaps) / sizes,
            )
        steps = np.where(leaving, to_boundary, steps)
        steps[~running] = 0.0
        vectors = vectors + scaled(steps, directions)
        images = images + scaled(steps, products)
        bounded |= leaving
        lengths = np.where(running, ahead, lengths)
        residuals = gradients + images
        remaining = dots(residuals, residuals)
        running &= ~leaving & (remaining > targets * targets)
        if not running.any():
            break
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = np.where(running, remaining / squares, 0.0)
        directions = scaled(shares, directions) - residuals
        squares = remaining
    decrease = -dots(gradients, vectors) - 0.5 * dots(vectors, images)
    return StackedSteps(vectors, np.sqrt(dots(vectors, vectors)), decrease, bounded, largest)
