"""From an interior point of l1 regression to the exact vertex, or face, next to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from riemtr.recovery.l1_columns import Columns

EXACT_GAP = 1e-11  # relative gap of a vertex that is optimal to rounding
_BALANCED = 1e-12  # and its dual residual, per length of the rows and root of the columns
_APART = 4.0  # ratio between vanishing and other residuals, per slack, that tells them apart
_SAMPLE = 128  # vanishing residuals per unknown that are tried first
_INSIDE, _MARGIN = 0.9, 1.1  # dual entries of a sample, and how much larger the next one is made
_GATHERED = 2**22  # entries (32 MB) of a sample at most
_OUTSIDE = 1e-10  # how far rounding may carry a dual entry beyond [-1, 1]; it is clipped back


@dataclass(frozen=True)
class Vertex:
    """x, dual t in [-1, 1], their relative gap, and whether they are optimal to rounding."""

    x: np.ndarray
    dual: np.ndarray
    gap: float
    exact: bool


def vertex_near(
    columns: Columns, offset: np.ndarray, x: np.ndarray, t: np.ndarray, thorough: bool
) -> Vertex | None:
    """Make a nearly optimal pair of min_x \\|b + C'x\\|_1 exact.

    The residuals smaller than the slack of their dual entry vanish at the optimum: x moves as
    little as possible to make them vanish, and their dual entries as little as possible, relative
    to their slack, to satisfy C t = 0 when all others sit at the sign of their residual.

    Parameters
    ----------
    columns, offset : C (k x m) and b (m).
    x, t : ndarray
        Nearly optimal, as an interior point leaves them.
    thorough : bool
        Try even where the vanishing residuals do not yet stand apart; otherwise None then.
    """
    residual = offset + columns.dot(x)
    size = np.abs(residual)
    slack = np.maximum(1.0 - np.abs(t), 0.0)
    # one residual (a folded sum of columns) may dwarf all others: it must not set their unit
    unit = (size.sum() - size.max()) / max(len(size) - 1, 1)
    ratio = size / np.maximum(slack, 1e-300)
    count, rank = int((ratio < unit).sum()), columns.rows
    simple = count <= rank + rank // 4 and rank <= len(size)
    cut = rank if simple else count
    order = np.argsort(ratio)
    if not thorough and 0 < cut < len(size) and ratio[order[cut]] < _APART * ratio[order[cut - 1]]:
        return None
    if simple:
        vertex = _square(columns, offset, x, np.sign(residual), order[:rank])
        if vertex is not None and (vertex.exact or not thorough):
            return vertex
    vanishing = ratio < unit
    signs = np.where(vanishing, 0.0, np.sign(residual))
    if count > 8 * rank or not thorough:
        return _many(columns, offset, x, t, signs, np.where(vanishing, slack, 0.0))
    return _few(columns, offset, x, t, signs, np.flatnonzero(vanishing), slack)


def vertex_where(
    columns: Columns, offset: np.ndarray, x: np.ndarray, vanishing: np.ndarray
) -> Vertex:
    """Solve for the pair whose residuals vanish where told, with the dual of least length there.

    Where thousands of residuals vanish, that dual has room to spare, and no interior point has to
    see them all.

    Parameters
    ----------
    columns, offset : C (k x m) and b (m).
    x : ndarray, shape (k,)
        Nearly optimal.
    vanishing : ndarray of bool, shape (m,)
        Which residuals vanish at the optimum.
    """
    signs = np.where(vanishing, 0.0, np.sign(offset + columns.dot(x)))
    vertex = _sampled(columns, offset, x, signs, np.flatnonzero(vanishing))
    if vertex is not None and vertex.exact:
        return vertex
    return _many(columns, offset, x, np.zeros_like(offset), signs, vanishing.astype(float))


def judge(columns: Columns, offset: np.ndarray, x: np.ndarray, t: np.ndarray) -> Vertex:
    """Clip t into [-1, 1] and measure the pair: relative gap, dual residual."""
    farthest = float(np.max(np.abs(t), initial=0.0))
    t = np.clip(t, -1.0, 1.0)
    change = columns.dot(x)
    objective = float(np.abs(offset + change).sum())
    terms = float(np.abs(offset).sum() + np.abs(change).sum())
    gap = (objective - float(offset @ t)) / max(objective, 1e-3 * terms)  # terms carry rounding
    feasible = is_feasible(farthest, columns.combine(t), columns.longest_row, columns.count)
    return Vertex(x, t, abs(gap) if feasible else np.inf, feasible and abs(gap) <= EXACT_GAP)


def is_feasible(farthest: float, image: np.ndarray, longest_row: float, count: int) -> bool:
    """Whether a dual t meets \\|t\\|_inf <= 1 and C t = 0 to rounding.

    Parameters
    ----------
    farthest : float
        \\|t\\|_inf, before t is clipped.
    image : ndarray, shape (k,)
        C t, after that.
    longest_row, count : float and int
        The length of the longest row of C, and the number of its columns.
    """
    allowed = _BALANCED * longest_row * np.sqrt(count)
    return bool(farthest - 1.0 <= _OUTSIDE and np.max(np.abs(image), initial=0.0) <= allowed)


def _square(
    columns: Columns, offset: np.ndarray, x: np.ndarray, signs: np.ndarray, zero: np.ndarray
) -> Vertex | None:
    """As many vanishing residuals as unknowns: one LU factorization serves x and t."""
    part = columns.take(zero)
    factor, pivots, failed = lapack.dgetrf(part)
    if failed:
        return None
    t = signs.copy()
    t[zero] = 0.0
    for _ in range(2):  # the second pass refines
        x = x - lapack.dgetrs(factor, pivots, offset[zero] + x @ part, trans=1)[0]
        t[zero] -= lapack.dgetrs(factor, pivots, columns.combine(t))[0]
    return judge(columns, offset, x, t)


def _few(
    columns: Columns,
    offset: np.ndarray,
    x: np.ndarray,
    t: np.ndarray,
    signs: np.ndarray,
    zero: np.ndarray,
    slack: np.ndarray,
) -> Vertex:
    """Few vanishing residuals, of any rank: least squares on their columns."""
    part = columns.take(zero)
    t = signs + np.where(signs == 0.0, t, 0.0)
    for _ in range(2):  # the second pass refines
        x = x - np.linalg.lstsq(part.T, offset[zero] + x @ part, rcond=None)[0]
        step = np.linalg.lstsq(part * slack[zero], columns.combine(t), rcond=None)[0]
        t[zero] -= slack[zero] * step
    return judge(columns, offset, x, t)


def _many(
    columns: Columns,
    offset: np.ndarray,
    x: np.ndarray,
    t: np.ndarray,
    signs: np.ndarray,
    slack: np.ndarray,
) -> Vertex:
    """Thousands of vanishing residuals: least squares by k x k Gram matrices, none gathered."""
    vanishing = signs == 0.0
    dual = gram_solver(columns.gram(slack**2))
    uniform = np.array_equal(slack, vanishing)
    primal = dual if uniform else gram_solver(columns.gram(vanishing.astype(float)))
    t = signs + np.where(vanishing, t, 0.0)
    for _ in range(3):  # the later passes refine: the Gram matrix squares the condition number
        x = x - primal(columns.combine(np.where(vanishing, offset + columns.dot(x), 0.0)))
        t = t - slack**2 * columns.dot(dual(columns.combine(t)))
    return judge(columns, offset, x, t)


def _sampled(
    columns: Columns, offset: np.ndarray, x: np.ndarray, signs: np.ndarray, vanishing: np.ndarray
) -> Vertex | None:
    """The same from every so many of them, the dual entries of the others being zero.

    Those of fewer are larger in proportion: as few are taken as leave them inside [-1, 1].
    Returns None where that is most of them, or more than may be copied.
    """
    image = columns.combine(signs)
    distance = len(vanishing) // (_SAMPLE * max(columns.rows, 1))
    while distance > 1 and columns.rows * (len(vanishing) // distance) <= _GATHERED:
        chosen = vanishing[::distance]
        part = columns.take(chosen)
        solve = gram_solver(part @ part.T)
        inside = -solve(image) @ part
        largest = float(np.max(np.abs(inside), initial=0.0))
        if largest < _INSIDE:
            return _refined(columns, offset, x, signs, chosen, part, inside, solve)
        distance = min(int(distance * _INSIDE / (_MARGIN * largest)), distance - 1)
    return None


def _refined(
    columns: Columns,
    offset: np.ndarray,
    x: np.ndarray,
    signs: np.ndarray,
    chosen: np.ndarray,
    part: np.ndarray,
    inside: np.ndarray,
    solve: Callable[[np.ndarray], np.ndarray],
) -> Vertex:
    """Solve for x on the chosen columns, and refine their dual entries against all columns."""
    t = signs.copy()
    for _ in range(2):
        t[chosen] = inside
        x = x - solve(part @ (offset[chosen] + x @ part))
        inside = inside - solve(columns.combine(t)) @ part
    t[chosen] = inside
    return judge(columns, offset, x, t)


def gram_solver(gram: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Return the inverse of a Gram matrix on its range, as a function."""
    factor, failed = lapack.dpotrf(gram)
    if not failed and lapack.dpocon(factor, np.abs(gram).sum(axis=0).max())[0] > 1e-10:
        return lambda vector: lapack.dpotrs(factor, vector)[0]
    values, vectors = np.linalg.eigh(gram)
    kept = values > 1e-13 * values.max(initial=0.0)
    inverse = (vectors[:, kept] / values[kept]) @ vectors[:, kept].T
    return lambda vector: inverse @ vector
