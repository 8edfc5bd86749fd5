"""Which rows are good: dependence, exactness, and doubts that say what failed."""

import numpy as np

from riemtr.recovery.judging import doubts, replace_dependent, sort_rows
from riemtr.recovery.report import Atom
from riemtr.recovery.rounding import Rounding
from riemtr.recovery.rows import Solve


def row(direction, zeros=0, gap=0.0, converged=True):
    q = np.asarray(direction, dtype=float)
    q = q / np.linalg.norm(q)
    solve = Solve(q, len(q), 0.0, 0.0, 1, 0.0, converged, "as told")
    return Atom(solve, Rounding(q, q, 1.0, gap, np.empty(0), 1, "test"), q, zeros, zeros > 0, 0)


def test_independent_rows_are_good_without_exactness():
    rows = [row(q) for q in np.eye(4) + 0.1]
    sorting = sort_rows(rows)
    assert sorting.good == (0, 1, 2, 3)
    assert not sorting.model_holds
    assert all(doubts(r, rows, i, sorting) == () for i, r in enumerate(rows))


def test_of_two_equal_rows_the_better_stays():
    rows = [row([1, 0, 0]), row([1, 0.01, 0], zeros=6), row([0, 0, 1])]
    sorting = sort_rows(rows)
    assert (sorting.good, sorting.dependent) == ((1, 2), (0,))
    directions = replace_dependent(rows, sorting)
    assert np.linalg.cond(np.column_stack(directions)) < 1.1
    assert "depends on better rows" in doubts(rows[0], rows, 0, sorting)[0]


def test_a_row_in_the_span_of_several_is_dependent_though_no_duplicate():
    rows = [row([1, 0, 0], 6), row([0, 1, 0], 6), row([1, 1, 0.01], 6)]
    assert sort_rows(rows).dependent == (2,)


def test_rows_that_are_not_exact_are_bad_only_where_most_are():
    rows = [row([1, 0, 0], 6), row([0, 1, 0], 6), row([0, 0, 1], 0)]
    sorting = sort_rows(rows)
    assert (sorting.bad, sorting.model_holds) == ((2,), True)
    assert "may mix several" in doubts(rows[2], rows, 2, sorting)[0]


def test_doubts_name_what_failed():
    rows = [row([1, 0], gap=1e-3), row([0, 1], converged=False)]
    sorting = sort_rows(rows)
    assert "1.0e-03" in doubts(rows[0], rows, 0, sorting)[0]
    assert "did not converge (as told)" in doubts(rows[1], rows, 1, sorting)[0]
