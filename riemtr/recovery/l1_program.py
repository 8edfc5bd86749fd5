"""The linear program of a rounding as l1 regression, and what a dual proves of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from riemtr.manifolds.basis import HouseholderBasis
from riemtr.recovery.l1_columns import Columns

_BALANCED = 128.0  # ratio of row lengths up to which Y is used as it is


@dataclass(frozen=True, eq=False)
class Program:
    """min_x \\|(origin + basis x)'Y\\|_1: the linear program, its constraint eliminated.

    Attributes
    ----------
    origin, basis : ndarray, shapes (n,) and (n, n - 1)
        In coordinates that balance the rows of Y: origin is r there, basis its complement.
    rounding : float
        What rounding leaves of singular values of the balanced Y, and of basis' Y, that are zero.
    stretch : float
        What balancing multiplied r by.
    """

    origin: np.ndarray
    basis: np.ndarray
    rounding: float
    stretch: float

    def negligible(self, x: np.ndarray, count: int) -> float:
        """What rounding leaves of an objective that is zero, at x, with so many samples."""
        return self.rounding * float(np.sqrt(count)) * balanced_length(x)


def balanced_program(row_lengths: np.ndarray, unit: np.ndarray) -> Program:
    """Return the program for a unit vector r, on data with rows of those lengths."""
    levels = _row_levels(row_lengths)
    # q = levels * (r + N x), with r and N in the balanced coordinates
    unit, stretch = unit_vector(levels * unit)
    basis = levels[:, None] * HouseholderBasis(unit).matrix()
    return Program(levels * unit, basis, _rounding(row_lengths, levels), stretch)


def balanced_length(x: np.ndarray) -> float:
    """The length of q in balanced coordinates, where r has length 1."""
    return float(np.hypot(1.0, np.linalg.norm(x)))


def _row_levels(lengths: np.ndarray) -> np.ndarray:
    """Return powers of two that balance the rows of Y; ones where they are balanced already."""
    largest = float(lengths.max())
    if largest == 0.0 or float(lengths.min()) > largest / _BALANCED:
        return np.ones(len(lengths))
    exponents = np.frexp(np.where(lengths > 0, lengths / largest, 1.0))[1]
    return np.ldexp(1.0, -exponents)


def _rounding(lengths: np.ndarray, levels: np.ndarray) -> float:
    """What rounding leaves of singular values of the balanced Y that are zero."""
    size = float(np.linalg.norm(levels * lengths))
    return 10.0 * np.finfo(float).eps * np.sqrt(len(levels)) * size


def unit_vector(vector: np.ndarray) -> tuple[np.ndarray, float]:
    """Return vector/|vector| and |vector|, without overflow or underflow in between."""
    largest = float(np.max(np.abs(vector)))
    length = float(np.linalg.norm(vector / largest))
    return vector / largest / length, length * largest


def relative_gap(
    objective: float,
    value: float,
    error: np.ndarray,
    length: float,
    rounding: float,
    *spread_over: Columns,
) -> float:
    """Return (objective - proven bound) / objective, at most 1.

    For every x', \\|b + C'x'\\|_1 >= <t, b + C'x'> = <t, z> + <e, x' - x>, with z = b + C'x and
    e = C t the rounding error of a dual t in [-1, 1]. Where x' is no worse than x and e = C_K d + o
    on some columns, <e, x' - x> >= -2 \\|d\\|_inf objective - \\|o\\| \\|x' - x\\|. What no columns
    span is taken to matter as little for x' as for x: where they vanish, x' may as well be zero.

    Parameters
    ----------
    objective : float
        \\|z\\|_1 at some x, above zero.
    value, error : float and ndarray, shape (k,)
        <t, z> and C t.
    length : float
        The size of x, its origin's included.
    rounding : float
        By how much rounding may have changed objective - value.
    spread_over : Columns
        C_K: of all the error is spread over, what costs least is taken; the first over which all
        but a hundredth can be spread saves trying the others.

    Examples
    --------
    The median of three numbers, z = (1 - x, 2 - x, 9 - x) = (-1, 0, 7), and its dual (-1, 0, 1):

    >>> columns = Columns(-np.ones((1, 3)))
    >>> relative_gap(8.0, 8.0, np.zeros(1), 2.0, 0.0, columns)
    0.0
    >>> relative_gap(9.0, 8.0, np.zeros(1), 2.0, 0.0, columns) == 1 / 9
    True
    """
    size, cost = float(np.linalg.norm(error)), np.inf
    for columns in spread_over:
        spread, outside = _spread(columns, error)
        cost = min(cost, 2.0 * (spread * objective + outside * length))
        if outside <= 0.01 * size:
            break
    return min((max(objective - value, 0.0) + cost + rounding) / objective, 1.0)


def _spread(columns: Columns, error: np.ndarray) -> tuple[float, float]:
    """Return |d|_inf and |C d - error| for the shortest d that makes the last least."""
    if not np.any(error):  # as where there are no rows
        return 0.0, 0.0
    better, change = columns.well_conditioned()
    if change is None:
        weights = np.linalg.solve(better.total, error)
    else:
        weights = change.T @ error
    d = better.dot(weights)
    outside = float(np.linalg.norm(columns.combine(d) - error))
    return float(np.max(np.abs(d))), outside
