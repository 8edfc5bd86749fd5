"""An independent check of recovered rows: linear programming, whatever method found them."""

from __future__ import annotations

from typing import Any

import numpy as np

from riemtr.compare.recovery_peers import Estimate
from riemtr.data import dictionary_error
from riemtr.recovery import Preconditioned, round_direction

EXACT = 1e-8
"""Dictionary error that counts as recovery: what is left is rounding."""

OPTIMAL = 1e-6
"""Relative excess over the proven l1 optimum that a certified row may have."""


def examine(
    estimate: Estimate, white: Preconditioned, truth: np.ndarray | None = None
) -> dict[str, Any]:
    """Return what riemtr finds of an estimate, as the fields of a :class:`Run`.

    The verdict is "minimizer" where every direction q is proved l1-optimal on the whitened data Z,
    ``|q'Z|_1 <= |x'Z|_1`` for all x with <q, x> = 1, up to 1e-6; otherwise "not-critical". That is
    stationarity of the l1 norm on the sphere, which depends on no other point: a row that
    solves the linear program for a nearby r, as after a single rounding, need not have it where
    the data are not exactly sparse. ``distance`` is the error of the dictionary, aligned with the
    true one; below 1e-8 it is a success.

    The details: ``rows``, ``rows_certified``, ``median_excess`` and ``worst_excess`` (of
    \\|q'Z\\|_1 over its proven minimum, relative), ``dictionary_error``, ``rounded_error`` (of the
    dictionary once every direction is rounded: what a method owes to not rounding) and
    ``l1_objective`` (the mean magnitude of q'Z for unit q, which is also the run's cost).

    Parameters
    ----------
    estimate : Estimate
    white : Preconditioned
        What the method got the data of.
    truth : ndarray, shape (n, r), optional
        The true dictionary.

    Examples
    --------
    >>> from riemtr.data import BernoulliGaussian, Identity
    >>> from riemtr.recovery import precondition
    >>> sample = BernoulliGaussian(n=4, p=500, theta=0.2, dictionary=Identity()).draw(0)
    >>> white = precondition(sample.observations)
    >>> perfect = Estimate(np.linalg.inv(white.matrix @ sample.dictionary), True, "", 0)
    >>> examine(perfect, white, sample.dictionary)["verdict"]
    'minimizer'
    """
    rows = _unit_rows(estimate.rows, white.rank)
    excess, rounded = np.empty(white.rank), np.empty_like(rows)
    for number, row in enumerate(rows):
        best = round_direction(white.data, row)
        proven = best.objective * (1.0 - best.duality_gap)
        excess[number] = 1.0 - proven / float(np.abs(row @ white.data).sum())
        rounded[number] = best.direction
    certified = int(np.count_nonzero(excess <= OPTIMAL))
    objective = float(np.abs(rows @ white.data).mean())
    error = _error(rows, white, truth)
    return {
        "verdict": "minimizer" if certified == white.rank else "not-critical",
        "success": None if truth is None else error is not None and error < EXACT,
        "distance": error,
        "cost": objective,
        "details": {
            "rows": white.rank,
            "rows_certified": certified,
            "median_excess": float(np.median(excess)),
            "worst_excess": float(excess.max()),
            "dictionary_error": error,
            "rounded_error": _error(rounded, white, truth),
            "l1_objective": objective,
        },
    }


def _unit_rows(rows: Any, rank: int) -> np.ndarray:
    rows = np.asarray(rows, dtype=np.float64)
    if rows.shape != (rank, rank) or not np.isfinite(rows).all() or not rows.any(axis=1).all():
        raise ValueError(
            f"rows must be {rank} directions, finite and not zero, of {rank} entries each; got an "
            f"array of shape {rows.shape} with {np.count_nonzero(~np.isfinite(rows))} entries that "
            f"are not finite"
        )
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def _error(rows: np.ndarray, white: Preconditioned, truth: np.ndarray | None) -> float | None:
    """Return the error of the dictionary behind the rows; None if there is none to compare."""
    if truth is None or np.linalg.cond(rows) > 1e12:
        return None  # two rows that are the same direction belong to no dictionary
    return dictionary_error(white.inverse @ np.linalg.inv(rows), truth)
