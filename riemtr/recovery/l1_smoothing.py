"""A first guess for l1 regression: a few Newton steps on Huber's smoothing of it.

Huber's function is z^2/(2s) + s/2 for |z| <= s and |z| beyond, so only the columns with small
residuals enter its Hessian; as s falls, its minimizers approach those of the l1 norm (Madsen and
Nielsen, SIAM Journal on Optimization 1993).
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from riemtr.recovery.l1_columns import Columns

_LEVELS = (0.8, 0.5, 0.3, 0.15, 0.08, 0.04)  # s over the mean residual, one Newton step each
_SAMPLE = 64  # columns per unknown that suffice for a guess
_SUFFICIENT = 1e-4  # share of the predicted decrease that accepts a step
_HALVINGS = 6


def smoothed_guess(columns: Columns, offset: np.ndarray) -> np.ndarray:
    """Return an x near the minimizer of \\|b + C'x\\|_1, from x = 0; no worse than it.

    Parameters
    ----------
    columns : Columns
        C, k x m; where m is very large, every so many columns stand for all.
    offset : ndarray, shape (m,)
        b.
    """
    step = max(columns.count // (_SAMPLE * (columns.rows + 1)), 1)
    sample, residual = columns, offset
    if step > 1:
        some = np.ascontiguousarray(columns.matrix[:, ::step])
        sample, residual = Columns(some, columns.scale, columns.basis), offset[::step]
    first, x = residual, np.zeros(columns.rows)
    unit = float(np.abs(residual).mean())
    if unit == 0.0:
        return x
    for level in _LEVELS:
        moved = _newton(sample, residual, level * unit)
        if moved is None:
            break
        x, residual = x + moved[0], moved[1]
    return x if np.abs(residual).sum() < np.abs(first).sum() else np.zeros(columns.rows)


def _newton(
    columns: Columns, residual: np.ndarray, s: float
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return one step of Newton's method with backtracking, and the residual after it."""
    slope = np.clip(residual / s, -1.0, 1.0)
    gradient = columns.combine(slope)
    curvature = columns.gram((np.abs(residual) < s) / s)
    factor, failed = lapack.dpotrf(curvature)
    if failed:  # too few small residuals to determine a step
        return None
    dx = -lapack.dpotrs(factor, gradient)[0]
    change = columns.dot(dx)
    here, decrease = _huber(residual, s), -float(gradient @ dx)
    for halving in range(_HALVINGS):
        share = 0.5**halving
        trial = residual + share * change
        if _huber(trial, s) <= here - _SUFFICIENT * share * decrease:
            return share * dx, trial
    return None


def _huber(residual: np.ndarray, s: float) -> float:
    """The sum of Huber's function, up to a constant: \\|z\\| - s/2 beyond s, z^2/(2s) within."""
    size = np.abs(residual)
    within = np.minimum(size, s)
    return float(size.sum() - within.sum() + (within @ within) / (2.0 * s))
