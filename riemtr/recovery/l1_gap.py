"""What a dual proves of l1 regression, its rounding errors counted in."""

from __future__ import annotations

import numpy as np

from riemtr.recovery.l1_columns import Columns


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
