r"""Least absolute residuals by a primal-dual interior point, finished at an exact vertex.

The linear program behind rounding, once its constraint is eliminated, is l1 regression

    min_x |b + C'x|_1    with dual    max_t <b, t>  s.t.  C t = 0, |t|_inf <= 1,

for C of shape k x m and b of length m. The method is Frisch-Newton (Portnoy and Koenker,
Statistical Science 1997) with Mehrotra's predictor-corrector: one k x k Cholesky factorization per
iteration. It is started on the central path of the given x, never at a vertex, so an x that is
already optimal does no harm. What it approaches is then made exact: the residuals that vanish are
identified, and x and t are solved for on them (:mod:`riemtr.recovery.l1_vertex`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import lapack

from riemtr.recovery.l1_columns import Columns
from riemtr.recovery.l1_vertex import judge, vertex_near

_MAX_ITERATIONS = 80
_STEP_FRACTION = 0.9995  # Portnoy & Koenker's share of the way to the boundary
_CENTRALITY = 0.5  # first complementarity over the mean residual: near the path of a good start
_TRY_VERTEX, _LAST_VERTEX = 1e-5, 1e-13  # relative gaps between which exact vertices are tried


@dataclass(frozen=True)
class Regression:
    """A solution of min_x \\|b + C'x\\|_1: ``x``, dual ``t``, whether exact, and the work done."""

    x: np.ndarray
    dual: np.ndarray
    exact: bool
    iterations: int


def minimize_l1(columns: Columns, offset: np.ndarray, start: np.ndarray) -> Regression:
    """Minimize \\|b + C'x\\|_1 from ``start``.

    Parameters
    ----------
    columns : Columns
        C, k x m.
    offset : ndarray, shape (m,)
        b.
    start : ndarray, shape (k,)
        Any x; the closer to the optimum, the fewer iterations.

    Examples
    --------
    The median of three numbers, as min_x |1 - x| + |2 - x| + |9 - x|:

    >>> solution = minimize_l1(Columns(-np.ones((1, 3))), np.array([1.0, 2.0, 9.0]), np.zeros(1))
    >>> print(solution.x, solution.exact)
    [2.] True
    """
    size = float(np.max(np.abs(offset), initial=0.0))
    if size == 0.0:  # b = 0: x = 0 leaves nothing to improve
        return Regression(np.zeros(columns.rows), np.zeros(columns.count), True, 0)
    columns, change = columns.well_conditioned()
    if columns.rows == 0:  # C = 0: no x changes anything
        return Regression(np.zeros(len(start)), np.sign(offset), True, 0)
    # <= start's coordinates in the new basis: least squares, exact where change is square
    x = np.linalg.lstsq(change, start, rcond=None)[0] if change is not None else start
    solution = _best_vertex(columns, offset, x)
    return solution if change is None else replace(solution, x=change @ solution.x)


def _best_vertex(columns: Columns, offset: np.ndarray, start: np.ndarray) -> Regression:
    """Follow the interior point until a vertex proves exact; else return the best pair seen."""
    iteration, x, t = 0, start, np.zeros(len(offset))
    if not np.any(offset + columns.dot(start)):  # nothing left to minimize, nor a scale to do it by
        return Regression(x, t, True, 0)
    for iteration, x, t, gap in _iterates(columns, offset, start):
        if gap > _TRY_VERTEX:
            continue
        vertex = vertex_near(columns, offset, x, t, thorough=gap <= _LAST_VERTEX)
        if vertex is not None and vertex.exact:
            return Regression(vertex.x, vertex.dual, True, iteration)
        if gap <= _LAST_VERTEX:
            break
    best = judge(columns, offset, x, t)
    vertex = vertex_near(columns, offset, x, t, thorough=True)
    if vertex is not None and vertex.gap < best.gap:
        best = vertex
    return Regression(best.x, best.dual, best.exact, iteration)


def _iterates(
    columns: Columns, offset: np.ndarray, x: np.ndarray
) -> Iterator[tuple[int, np.ndarray, np.ndarray, float]]:
    """Yield (iteration, x, t, relative complementarity gap) until the arithmetic is exhausted.

    With residual z = u - v, u, v > 0, the pair (u, v) is complementary to the slacks (1 - t,
    1 + t): both are the rows of 2 x m arrays here.
    """
    positive, slack = _start(columns, offset + columns.dot(x))
    t = (slack[1] - slack[0]) / 2
    least = 1e-12 * float(positive.sum())  # where the optimum is zero, gaps have no other measure
    for iteration in range(1, _MAX_ITERATIONS + 1):
        here = _linearize(columns, positive, slack, t)
        if here is None:
            return
        products = positive * slack
        dx, dt, d_positive, d_slack = _newton(columns, here, -products)
        primal, dual = _reach(positive, d_positive), _reach(slack, d_slack)
        predicted = float(np.vdot(positive + primal * d_positive, slack + dual * d_slack))
        mean = float(products.sum())
        center = (predicted / mean) ** 3 * mean / products.size  # Mehrotra's centering
        dx, dt, d_positive, d_slack = _newton(
            columns, here, center - products - d_positive * d_slack
        )
        primal = _reach(positive, d_positive, _STEP_FRACTION)
        dual = _reach(slack, d_slack, _STEP_FRACTION)
        x, t = x + primal * dx, t + dual * dt
        positive = positive + primal * d_positive
        slack = slack + dual * d_slack
        if not (positive.min() > 0 and slack.min() > 0):  # rounding reached the boundary
            return
        size = max(float(positive.sum()), least)
        yield iteration, x, t, float(np.vdot(positive, slack)) / size


@dataclass(frozen=True)
class _Linearization:
    """What both Newton systems of one iteration share: the factor of C W C' above all."""

    slack: np.ndarray
    ratio: np.ndarray
    weight: np.ndarray
    factor: np.ndarray
    imbalance: np.ndarray


def _linearize(
    columns: Columns, positive: np.ndarray, slack: np.ndarray, t: np.ndarray
) -> _Linearization | None:
    ratio = positive / slack
    weight = 1.0 / (ratio[0] + ratio[1])
    factor = _factor(columns.gram(weight))
    if factor is None:
        return None
    return _Linearization(slack, ratio, weight, factor, columns.combine(t))


def _newton(
    columns: Columns, here: _Linearization, target: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return dx, dt, d(positive), d(slack) with slack d(positive) + positive d(slack) = target."""
    pull = target / here.slack
    shift = pull[0] - pull[1]
    right_side = columns.combine(here.weight * shift) - here.imbalance
    dx, _ = lapack.dpotrs(here.factor, right_side)
    d_slack = np.empty_like(here.slack)
    dt = np.multiply(here.weight, columns.dot(dx) - shift, out=d_slack[1])
    np.negative(dt, out=d_slack[0])
    return dx, dt, pull - here.ratio * d_slack, d_slack


def _start(columns: Columns, residual: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return u, v with u - v the given residual and slacks of a t with C t = 0, all positive.

    On the central path, u(1 - t) = v(1 + t) = kappa: 2u = kappa + root + z, 2v = kappa + root - z
    with root = sqrt(kappa^2 + z^2), whatever the residual z. That t is moved to C t = 0, each entry
    in proportion to its slack; where this leads outside the box, z is far from optimal and t = 0
    serves better.
    """
    size = np.abs(residual)
    total = float(size.sum())
    # one residual (a folded sum of columns) may dwarf all others: it must not set their scale
    typical = max((total - float(size.max())) / max(len(size) - 1, 1), 1e-3 * total / len(size))
    kappa = _CENTRALITY * typical
    large = (kappa + np.hypot(kappa, residual) + size) / 2
    small = kappa * (large - size / 2) / large  # their product over large: no cancellation
    positive = np.where(residual > 0, [large, small], [small, large])
    slack = kappa / positive
    t = (slack[1] - slack[0]) / 2
    weight = 1.0 / (positive / slack).sum(axis=0)
    factor = _factor(columns.gram(weight))
    if factor is not None:
        t = t - weight * columns.dot(lapack.dpotrs(factor, columns.combine(t))[0])
        if np.max(np.abs(t)) < 1.0:
            return positive, np.array([1.0 - t, 1.0 + t])
    level = total / len(size)
    return level + np.maximum([residual, -residual], 0.0), np.ones_like(positive)


def _factor(gram: np.ndarray) -> np.ndarray | None:
    """Cholesky factor of a Gram matrix, the diagonal lifted where rounding left it indefinite."""
    factor, failed = lapack.dpotrf(gram, clean=0)
    if not failed:
        return factor
    if not np.all(np.isfinite(gram)):
        return None
    lift = 1e-15 * np.trace(gram) / len(gram)
    for _ in range(3):
        gram = gram + lift * np.eye(len(gram))
        factor, failed = lapack.dpotrf(gram, clean=0)
        if not failed:
            return factor
        lift *= 100
    return None


def _reach(value: np.ndarray, step: np.ndarray, fraction: float = 1.0) -> float:
    """Return the largest length in (0, 1] that keeps value + length*step >= 0, times fraction."""
    steepest = -float((step / value).min())
    return 1.0 if steepest <= fraction else fraction / steepest
