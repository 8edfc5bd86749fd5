"""The optimum of rounding in rational arithmetic: no rounding error, for any condition number."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

Vector = list[Fraction]


def exact_optimum(Y: np.ndarray, r: np.ndarray) -> Fraction:
    """Return min |q'Y|_1 s.t. <r, q> = 1, from vertex to vertex, for data without ties.

    A vertex is where n - 1 residuals vanish. Its dual solves Y t = lambda r with the signs of the
    others; an entry beyond [-1, 1] shows the edge that leads downhill.
    """
    n, p = Y.shape
    columns = [_rational(column) for column in Y.T]
    rational_r = _rational(r)
    zero = list(range(n - 1))
    while True:
        vanishing = [*(columns[j] for j in zero), rational_r]
        q = _solve(vanishing, [Fraction(0)] * (n - 1) + [Fraction(1)])
        residual = [_dot(q, column) for column in columns]
        signs = [0 if j in zero else (z > 0) - (z < 0) for j, z in enumerate(residual)]
        signed = [-sum(s * c[i] for s, c in zip(signs, columns, strict=True)) for i in range(n)]
        dual = _solve([list(row) for row in zip(*vanishing, strict=True)], signed)[: n - 1]
        leaving = max(range(n - 1), key=lambda k: abs(dual[k]))
        if abs(dual[leaving]) <= 1:
            return sum(map(abs, residual), Fraction(0))
        downhill = Fraction(1 if dual[leaving] > 0 else -1)
        edge = _solve(vanishing, [downhill * (k == leaving) for k in range(n)])
        change = [_dot(edge, column) for column in columns]
        slope = 1 - abs(dual[leaving])
        crossings = sorted(
            (-residual[j] / change[j], j)
            for j in range(p)
            if j not in zero and residual[j] * change[j] < 0
        )
        for _, entering in crossings:
            slope += 2 * abs(change[entering])
            if slope >= 0:
                break
        zero[leaving] = entering


def exact_objective(Y: np.ndarray, r: np.ndarray, q: np.ndarray) -> Fraction:
    """Return |q'Y|_1 / <r, q>."""
    rational_q = _rational(q)
    total = sum((abs(_dot(rational_q, _rational(y))) for y in Y.T), Fraction(0))
    return total / _dot(rational_q, _rational(r))


def _rational(vector: np.ndarray) -> Vector:
    return [Fraction(float(entry)) for entry in vector]


def _dot(left: Vector, right: Vector) -> Fraction:
    return sum((a * b for a, b in zip(left, right, strict=True)), Fraction(0))


def _solve(matrix: Sequence[Vector], right_side: Sequence[Fraction]) -> Vector:
    """Gauss and Jordan's elimination."""
    rows = [[*row, value] for row, value in zip(matrix, right_side, strict=True)]
    for i in range(len(rows)):
        pivot = max(range(i, len(rows)), key=lambda k: abs(rows[k][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [entry / rows[i][i] for entry in rows[i]]
        for k in range(len(rows)):
            if k != i:
                factor = rows[k][i]
                rows[k] = [a - factor * b for a, b in zip(rows[k], rows[i], strict=True)]
    return [row[-1] for row in rows]
