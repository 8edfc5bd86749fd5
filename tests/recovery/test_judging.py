"""Which rows are good: dependence, exactness, and doubts that say what failed."""

import numpy as np

from riemtr.recovery.census import SampleCounts
from riemtr.recovery.judging import doubts, replace_dependent, sort_rows
from riemtr.recovery.report import Atom
from riemtr.recovery.rounding import Rounding
from riemtr.recovery.rows import Solve


def samples(total, different=None):
    return SampleCounts(total, total, different or total, float(total))


def row(direction, zeros=0, gap=0.0, converged=True, flatness=0.5, forced=None):
    q = np.asarray(direction, dtype=float)
    q = q / np.linalg.norm(q)
    solve = Solve(q, len(q), 0.0, 0.0, 1, 0.0, converged, "as told")
    rounding = Rounding(q, q, 1.0, gap, np.empty(0), 1, "test")
    if forced is None:
        forced = 0 if zeros else len(q) - 1
    return Atom(solve, rounding, q, zeros, forced == 0, 0, (), forced, flatness)


def test_independent_rows_are_good_without_exactness():
    rows = [row(q) for q in np.eye(4) + 0.1]
    sorting = sort_rows(rows, samples(20))
    assert sorting.good == (0, 1, 2, 3)
    assert not sorting.model_holds
    assert all(doubts(r, rows, i, sorting) == () for i, r in enumerate(rows))


def test_of_two_equal_rows_the_better_stays():
    rows = [row([1, 0, 0]), row([1, 0.01, 0], zeros=6), row([0, 0, 1], zeros=6)]
    sorting = sort_rows(rows, samples(20))
    assert (sorting.good, sorting.dependent) == ((1, 2), (0,))
    directions = replace_dependent(rows, sorting)
    assert np.linalg.cond(np.column_stack(directions)) < 1.1
    assert "depends on better rows" in doubts(rows[0], rows, 0, sorting)[0]


def test_a_row_in_the_span_of_several_is_dependent_though_no_duplicate():
    rows = [row([1, 0, 0], 6), row([0, 1, 0], 6), row([1, 1, 0.01], 6)]
    assert sort_rows(rows, samples(20)).dependent == (2,)


def test_a_row_that_is_not_exact_is_bad_where_any_other_is():
    rows = [row([1, 0, 0], 6), row([0, 1, 0]), row([0, 0, 1])]
    sorting = sort_rows(rows, samples(20))
    assert (sorting.bad, sorting.model_holds) == ((1, 2), True)
    assert "though others are" in doubts(rows[2], rows, 2, sorting)[0]


def test_where_no_row_is_exact_zeros_that_single_samples_force_are_a_doubt():
    rows = [row(q, 6, forced=forced) for q, forced in zip(np.eye(4), (1, 2, 3, 3), strict=True)]
    sorting = sort_rows(rows, samples(20))
    assert (sorting.bad, sorting.model_holds) == ((), True)
    assert "in 1 of 3 directions" in doubts(rows[0], rows, 0, sorting)[0]
    assert not sort_rows(
        rows, samples(100)
    ).model_holds  # 6% of zeros are in the pixels of images, too


def test_an_exact_row_with_few_zeros_says_nothing_about_the_others():
    rows = [row([1, 0, 0], 6), row([0, 1, 0]), row([0, 0, 1])]
    sorting = sort_rows(rows, samples(100))
    assert (sorting.bad, sorting.model_holds) == ((), False)
    assert doubts(rows[1], rows, 1, sorting) == ()


def test_of_rows_no_sparser_than_noise_one_is_what_the_others_leave_and_two_are_doubtful():
    rows = [row(q) for q in np.eye(4)]
    rows[3] = row([0, 0, 0, 1], flatness=0.99)
    assert doubts(rows[3], rows, 3, sort_rows(rows, samples(1000))) == ()
    rows[2] = row([0, 0, 1, 0], flatness=0.99)
    sorting = sort_rows(rows, samples(1000))
    assert "no sparser than noise" in doubts(rows[3], rows, 3, sorting)[0]
    assert doubts(rows[0], rows, 0, sorting) == ()


def test_few_samples_and_a_rank_that_loses_much_are_doubts_of_rows_that_are_not_exact():
    rows = [row([1, 0]), row([0, 1])]
    sorting = sort_rows(rows, samples(20))
    assert "9 samples are too few" in doubts(rows[0], rows, 0, sort_rows(rows, samples(9)))[0]
    assert doubts(rows[0], rows, 0, sorting, 0.05) == ()
    assert "residual of 40.0%" in doubts(rows[0], rows, 0, sorting, 0.4)[0]
    exact = [row([1, 0], 6), row([0, 1], 6)]
    assert doubts(exact[0], exact, 0, sort_rows(exact, samples(9))) == ()


def test_rows_that_are_not_exact_are_bad_where_most_are():
    rows = [row([1, 0, 0], 6), row([0, 1, 0], 6), row([0, 0, 1], 0)]
    sorting = sort_rows(rows, samples(20))
    assert (sorting.bad, sorting.model_holds) == ((2,), True)
    assert "may mix several" in doubts(rows[2], rows, 2, sorting)[0]


def test_doubts_name_what_failed():
    rows = [row([1, 0], gap=1e-3), row([0, 1], converged=False)]
    sorting = sort_rows(rows, samples(20))
    assert "1.0e-03" in doubts(rows[0], rows, 0, sorting)[0]
    assert "did not converge (as told)" in doubts(rows[1], rows, 1, sorting)[0]


def test_a_residual_speaks_against_exactly_sparse_rows_too():
    rows = [row(q, zeros=6) for q in np.eye(3)]
    sorting = sort_rows(rows, samples(20))
    assert doubts(rows[0], rows, 0, sorting, residual=1e-6) == ()
    assert "residual of 3.0%" in doubts(rows[0], rows, 0, sorting, residual=0.03)[0]


def test_copies_are_no_further_samples():
    rows = [row(q, flatness=0.9) for q in np.eye(4)]
    many, few = sort_rows(rows, samples(4000)), sort_rows(rows, samples(4000, different=12))
    assert doubts(rows[0], rows, 0, many) == ()
    assert (
        "4000 samples (3988 copies of others up to a factor) are too few"
        in doubts(rows[0], rows, 0, few)[0]
    )
