"""What a dual proves of l1 regression, its rounding errors counted in."""

from __future__ import annotations

import numpy as np

from riemtr.recovery.l1_columns import Columns


def relative_gap(
    objective: float,
    value: float,
    error: np.ndarray,
    noise: float,
    *spread_over: tuple[Columns, np.ndarray],
) -> float:
    """Return (objective - proven bound) / objective, at most 1.

    For every x', \\|b + C'x'\\|_1 >= <t, b + C'x'> = <b, t> + <e, x'>, with e = C t the rounding
    error of a dual t in [-1, 1]. With e = C_K d on some columns, at an optimal x'
    <e, x'> = <d, (b_K + C_K'x') - b_K> >= -\\|d\\|_inf objective - <d, b_K>.

    Parameters
    ----------
    objective : float
        \\|b + C'x\\|_1 at some x, above zero.
    value, error : float and ndarray, shape (k,)
        <b, t> and C t.
    noise : float
        What of the error, left over by columns of lower rank, is rounding.
    spread_over : pairs of Columns and ndarray
        C_K and b_K: the first over which all the error but a hundredth can be spread is taken.

    Examples
    --------
    The median of three numbers, b + C'x = (1 - x, 2 - x, 9 - x), and its dual (-1, 0, 1):

    >>> columns, offset = Columns(-np.ones((1, 3))), np.array([1.0, 2.0, 9.0])
    >>> relative_gap(8.0, 8.0, np.zeros(1), 0.0, (columns, offset))
    0.0
    >>> relative_gap(9.0, 8.0, np.zeros(1), 0.0, (columns, offset)) == 1 / 9
    True
    """
    size = float(np.linalg.norm(error))
    spread, shift, outside = 0.0, 0.0, 0.0
    for columns, offset in spread_over:
        spread, shift, outside = _spread(columns, offset, error)
        if outside <= 0.01 * size:
            break
    if outside > max(0.01 * size, noise):
        return 1.0  # this dual proves nothing but that no objective is below zero
    bound = value - shift - spread * objective
    return min(max(objective - bound, 0.0) / objective, 1.0)


def _spread(columns: Columns, offset: np.ndarray, error: np.ndarray) -> tuple[float, float, float]:
    """Return |d|_inf, <d, b> and |C d - error| for the shortest d that makes the last least."""
    if not np.any(error):  # as where there are no rows
        return 0.0, 0.0, 0.0
    better, change = columns.well_conditioned()
    if change is None:
        weights = np.linalg.solve(better.total, error)
    else:
        weights = change.T @ error
    d = better.dot(weights)
    outside = float(np.linalg.norm(columns.combine(d) - error))
    return float(np.max(np.abs(d))), float(offset @ d), outside
