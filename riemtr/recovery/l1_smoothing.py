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
    part = offset[:: columns.sample_step]
    unit = float(np.abs(part).mean())
    if unit == 0.0:
        return np.zeros(columns.rows)
    basis = np.eye(columns.rows) if columns.basis is None else columns.basis
    # Single precision is enough for a guess, and twice as fast, unless C is badly conditioned.
    for dtype in (np.float32, np.float64):
        sample = columns.narrow_sample if dtype is np.float32 else columns.sample(dtype)
        x = _descend(sample, basis.astype(dtype), (part / unit).astype(dtype))
        if x is not None:
            return unit * x.astype(np.float64)
    return np.zeros(columns.rows)


def _descend(sample: np.ndarray, basis: np.ndarray, residual: np.ndarray) -> np.ndarray | None:
    """Return the x that the levels lead to with C' = sample basis, None where they lead nowhere."""
    first, x = residual, np.zeros(basis.shape[1], dtype=sample.dtype)
    for level in _LEVELS:
        moved = _newton(sample, basis, residual, level)
        if moved is None:
            break
        x, residual = x + moved[0], moved[1]
    return x if np.abs(residual).sum() < np.abs(first).sum() else None


def _newton(
    sample: np.ndarray, basis: np.ndarray, residual: np.ndarray, s: float
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return one step of Newton's method with backtracking, and the residual after it."""
    gradient = (np.clip(residual / s, -1.0, 1.0) @ sample) @ basis
    small = sample[np.flatnonzero(np.abs(residual) < s)]
    factorize, solve = lapack.get_lapack_funcs(("potrf", "potrs"), (sample,))
    factor, failed = factorize(basis.T @ (small.T @ small) @ basis)
    if failed:  # too few small residuals to determine a step
        return None
    dx = -s * solve(factor, gradient)[0]
    if not np.isfinite(dx).all():  # in single precision, next to a vertex
        return None
    change = sample @ (basis @ dx)
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
