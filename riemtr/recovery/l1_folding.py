"""L1 regression over very many columns: fold those whose sign is settled into one.

For any signs s, sum_i |z_i| >= |sum_i s_i z_i|, with equality where every s_i is the sign of z_i.
So the columns outside a band of uncertain signs can be replaced by the one column sum_i s_i c_i
(Portnoy and Koenker, Statistical Science 1997, section 5): the small problem bounds the large one
from below whatever the signs are, its dual solution is feasible for the large one, and both
optima agree as soon as the signs hold at its solution. Signs that do not are put into the band.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import lapack

from riemtr.recovery.l1_columns import Columns
from riemtr.recovery.l1_interior_point import Regression, minimize_l1
from riemtr.recovery.l1_vertex import vertex_where

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


_BAND = 6  # first band, in columns per unknown: on image patches it held every uncertain sign
GROWTH = 4
_GATHERED = 2**22  # entries (32 MB) up to which a band is copied; beyond, all is solved in place
REPAIRS = 3  # bands mended this often are chosen anew, and wider
_NOTHING = 0.01  # residual over their mean that looks like vanishing
_MANY = 0.2  # share of such residuals that shows a sparse row
ZERO = 1e-11  # residual over |column| |x| that counts as vanishing


@dataclass(frozen=True)
class Folded:
    """The solution over all columns, and the few columns that the last small problem kept."""

    solution: Regression
    kept: Columns


def minimize_folded(columns: Columns, offset: np.ndarray) -> Folded:
    """Minimize \\|b + C'x\\|_1 for a C with far more columns than rows, x = 0 being a fair guess.

    Parameters
    ----------
    columns : Columns
        C, k x m.
    offset : ndarray, shape (m,)
        b.
    """
    lengths = columns.lengths
    x = smoothed_guess(columns, offset)
    residual = offset + columns.dot(x)
    objective = float(np.abs(residual).sum())
    width, repairs, iterations = _BAND * (columns.rows + 1), 0, 0
    tried = 0  # the width of the band on which all was to vanish together
    if 2 * width < columns.count and _vanishing_share(residual) > _MANY:
        together = _vanishing_together(columns, offset, x, _smallest(residual, lengths, width))
        if together.solution.exact:
            return together
        iterations, tried = together.solution.iterations, width
    band = None
    while 2 * width < columns.count and width * columns.rows <= _GATHERED:
        if band is None:
            band = _smallest(residual, lengths, width)
        signs = np.sign(residual)
        signs[band] = 0.0
        matrix = np.column_stack([columns.take(band), columns.combine(signs)])
        # the folded column sums the rounding of all
        kept = Columns(matrix, noise=columns.noise * np.sqrt(columns.count))
        kept_offset = np.append(offset[band], offset @ signs)
        found = minimize_l1(kept, kept_offset, x)
        iterations += found.iterations
        trial = offset + columns.dot(found.x)
        negligible = ZERO * lengths * (1.0 + np.linalg.norm(found.x))
        unaccounted = np.abs(trial) - signs * trial  # a sign of 0 accounts for nothing
        unaccounted[band] = 0.0
        wrong = np.flatnonzero(unaccounted > negligible)
        if len(wrong) == 0 and found.exact:
            dual = signs * found.dual[-1]
            dual[band] = found.dual[:-1]
            return Folded(Regression(found.x, dual, True, iterations), kept)
        if (trial_objective := float(np.abs(trial).sum())) < objective:
            x, residual, objective = found.x, trial, trial_objective
        if 0 < len(wrong) <= width // 2 and repairs < REPAIRS:
            band, repairs = np.union1d(band, wrong), repairs + 1
            continue
        if width > tried:
            # so many wrong signs: residuals by the thousand may be about to vanish together
            together = _vanishing_together(columns, offset, x, _smallest(residual, lengths, width))
            iterations += together.solution.iterations
            if together.solution.exact:
                return replace(together, solution=replace(together.solution, iterations=iterations))
        band, repairs, width = None, 0, GROWTH * width
    found = minimize_l1(columns, offset, x)
    found = replace(found, iterations=iterations + found.iterations)
    return Folded(found, columns)


def _vanishing_together(
    columns: Columns, offset: np.ndarray, x: np.ndarray, band: np.ndarray
) -> Folded:
    """Solve on the band alone; where all that is sparse vanishes there, it vanishes everywhere.

    This is exact recovery: at the truth, the residuals are a sparse row of coefficients.
    """
    kept = Columns(columns.take(band), noise=columns.noise)
    found = minimize_l1(kept, offset[band], x)
    residual = np.abs(offset + columns.dot(found.x))
    vanishing = residual <= ZERO * columns.lengths * (1.0 + np.linalg.norm(found.x))
    solution = replace(found, dual=np.zeros_like(offset), exact=False)
    if vanishing.sum() >= 2 * columns.rows:
        vertex = vertex_where(columns, offset, found.x, vanishing)
        solution = Regression(vertex.x, vertex.dual, vertex.exact, found.iterations)
    return Folded(solution, kept)


def _vanishing_share(residual: np.ndarray) -> float:
    """The share of residuals that are next to nothing beside their mean.

    Of those of a row that is exactly sparse, near the optimum, it is most; elsewhere residuals
    have a density around zero, and it is a few hundredths.
    """
    size = np.abs(residual)
    return float(np.mean(size < _NOTHING * size.mean()))


def _smallest(residual: np.ndarray, lengths: np.ndarray, width: int) -> np.ndarray:
    """The columns nearest to changing sign: smallest residual per length, zero columns last."""
    ratio = np.full(len(residual), np.inf)
    np.divide(np.abs(residual), lengths, out=ratio, where=lengths > 0)
    return np.argpartition(ratio, width)[:width]
