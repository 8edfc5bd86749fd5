"""Doubts: what speaks against a row, and against no other."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from riemtr.recovery.doubts import OF_ESTIMATES, OF_EXACT, OF_ONE, Rows, doubts
from riemtr.recovery.evidence import SampleCounts, Sparser
from riemtr.recovery.report import Atom
from riemtr.recovery.rounding import Rounding
from riemtr.recovery.solving import Solve


def samples(total, different=None):
    return SampleCounts(total, total, different or total, float(total))


def row(direction, zeros=0, gap=0.0, converged=True, flatness=0.5, forced=None, **evidence):
    """A row that nothing speaks against, but for what is told."""
    q = np.asarray(direction, dtype=float)
    q = q / np.linalg.norm(q)
    solve = Solve(q, len(q), 0.0, 0.0, 1, 0.0, converged, "as told")
    rounding = Rounding(q, q, 1.0, gap, np.empty(0), 1, "test")
    if forced is None:
        forced = 0 if zeros else len(q) - 1
    evidence = {"standard_error": 1e-3, "starts": 3, "came_back": 2, "dependence": 1.0, **evidence}
    return Atom(solve, rounding, q, zeros, forced == 0, 0, (), forced, flatness, **evidence)


def test_independent_rows_are_good_without_exactness():
    rows = Rows([row(q) for q in np.eye(4) + 0.1], samples(20))
    assert not rows.model_holds
    assert all(doubts(each, rows) == () for each in rows.atoms)


def test_a_row_that_only_completes_the_dictionary_is_in_doubt_for_that_alone():
    atoms = [row([1, 0], zeros=6), replace(row([0, 1]), repeats=0.999, standard_error=math.nan)]
    [doubt] = doubts(atoms[1], Rows(atoms, samples(20)))
    assert "depends on better rows (cosine 0.999" in doubt


def test_a_row_that_is_not_exact_is_bad_where_half_of_them_are():
    rows = [row([1, 0, 0, 0], 6), row([0, 1, 0, 0], 6), row([0, 0, 1, 0]), row([0, 0, 0, 1])]
    rows[2] = replace(rows[2], standard_error=math.nan)
    together = Rows(rows, samples(20))
    assert (together.some_exact, together.model_holds) == (True, True)
    assert "though others are" in doubts(rows[2], together)[0]
    assert doubts(rows[3], together) == ()  # an estimate with a small error


def test_an_estimate_that_spoils_the_atoms_of_exact_rows_is_in_doubt():
    rows = [row([1, 0], zeros=6, standard_error=0.01), row([0, 1], standard_error=0.0)]
    together = Rows(rows, samples(20))
    assert "in the atoms of exact rows" in doubts(rows[1], together)[0]
    assert doubts(rows[0], together) == ()


def test_a_row_that_is_not_exact_beside_a_single_one_that_is_is_in_doubt_and_not_solved_for_again():
    rows = [row(q, zeros=6 if i == 0 else 0) for i, q in enumerate(np.eye(4))]
    rows[2] = replace(rows[2], standard_error=math.nan)
    together = Rows(rows, samples(20))
    assert (together.some_exact, together.model_holds) == (False, True)
    assert "may mix several" in doubts(rows[2], together)[0]
    assert doubts(rows[3], together) == ()


def test_where_no_row_is_exact_zeros_that_single_samples_force_are_a_doubt():
    rows = [row(q, 6, forced=forced) for q, forced in zip(np.eye(4), (1, 2, 3, 3), strict=True)]
    together = Rows(rows, samples(20))
    assert (together.some_exact, together.model_holds) == (False, True)
    assert "in 1 of 3 directions" in doubts(rows[0], together)[0]
    assert not Rows(rows, samples(100)).model_holds  # 6% of zeros are in the pixels of images, too


def test_an_exact_row_with_few_zeros_says_nothing_about_the_others():
    rows = [row([1, 0, 0], 6), row([0, 1, 0]), row([0, 0, 1])]
    together = Rows(rows, samples(100))
    assert (together.some_exact, together.model_holds) == (False, False)
    assert doubts(rows[1], together) == ()


def test_of_rows_no_sparser_than_noise_one_is_what_the_others_leave_and_two_are_doubtful():
    rows = [row(q) for q in np.eye(4)]
    rows[3] = row([0, 0, 0, 1], flatness=0.99)
    assert doubts(rows[3], Rows(rows, samples(1000))) == ()
    rows[2] = row([0, 0, 1, 0], flatness=0.99)
    together = Rows(rows, samples(1000))
    assert "no sparser than noise" in doubts(rows[3], together)[0]
    assert doubts(rows[0], together) == ()


def test_few_samples_and_a_rank_that_loses_much_are_doubts_of_rows_that_are_not_exact():
    rows = [row([1, 0]), row([0, 1])]
    together = Rows(rows, samples(20))
    assert "9 samples are too few" in doubts(rows[0], Rows(rows, samples(9)))[0]
    assert doubts(rows[0], replace(together, residual=0.05)) == ()
    assert "residual of 40.0%" in doubts(rows[0], replace(together, residual=0.4))[0]
    exact = [row([1, 0], 6), row([0, 1], 6)]
    assert doubts(exact[0], Rows(exact, samples(9))) == ()


def test_rows_that_are_not_exact_are_bad_where_most_are():
    rows = [row([1, 0, 0], 6), row([0, 1, 0], 6), row([0, 0, 1], 0, standard_error=math.nan)]
    together = Rows(rows, samples(20))
    assert (together.some_exact, together.model_holds) == (True, True)
    assert "may mix several" in doubts(rows[2], together)[0]


def test_doubts_name_what_failed():
    rows = [row([1, 0], 6, gap=1e-3), row([0, 1], converged=False)]
    together = Rows(rows, samples(100))
    assert "1.0e-03" in doubts(rows[0], together)[0]
    assert "did not converge (as told)" in doubts(rows[1], together)[0]


def test_a_residual_speaks_against_exactly_sparse_rows_too():
    rows = [row(q, zeros=6) for q in np.eye(3)]
    together = Rows(rows, samples(20))
    assert doubts(rows[0], replace(together, residual=1e-6)) == ()
    assert "residual of 3.0%" in doubts(rows[0], replace(together, residual=0.03))[0]


def test_copies_are_no_further_samples():
    rows = [row(q, flatness=0.9) for q in np.eye(4)]
    many, few = Rows(rows, samples(4000)), Rows(rows, samples(4000, different=12))
    assert doubts(rows[0], many) == ()
    assert (
        "4000 samples (3988 copies of others up to a factor) are too few" in doubts(rows[0], few)[0]
    )


@pytest.mark.parametrize(
    ("weak", "words"),
    [
        ({"standard_error": 0.02}, "may be above 1%"),
        ({"standard_error": math.nan}, "standard error is not known"),
        ({"came_back": 1}, "found again from 1 of 2 other starts"),
        ({"came_back": 0, "starts": 1}, "one start only"),
        ({"converged": False}, "did not converge"),
    ],
)
def test_a_plausible_row_has_nothing_against_it(weak, words):
    """Each piece of evidence that is missing is a doubt by itself, and of no other row."""
    rows = [row(q) for q in np.eye(3)]
    together = Rows(rows, samples(1000))
    assert doubts(rows[0], together) == ()
    rows[0] = row(np.eye(3)[0], **weak)
    together = Rows(rows, samples(1000))
    [doubt] = doubts(rows[0], together)
    assert words in doubt
    assert doubts(rows[1], together) == ()


def test_one_row_that_depends_on_others_speaks_against_all_that_are_not_exactly_sparse():
    rows = [row(q, dependence=9.0 if i == 0 else 1.0) for i, q in enumerate(np.eye(3))]
    together = Rows(rows, samples(1000))
    for each in rows:
        [doubt] = doubts(each, together)
        assert "more sources than rows" in doubt


def test_what_is_exactly_sparse_needs_no_starts_unless_it_has_few_values():
    rows = [
        row(q, zeros=6, starts=1, came_back=0, standard_error=0.0, converged=False)
        for q in np.eye(3)
    ]
    together = Rows(rows, samples(20))
    assert doubts(rows[0], together) == ()
    unproved = replace(rows[0], unproved="few values", starts=3, came_back=1)
    [doubt] = doubts(unproved, together)
    assert "few values" in doubt
    assert "1 of 2" in doubt
    assert doubts(replace(unproved, came_back=2), together) == ()


def test_where_mixtures_looked_like_rows_no_exactly_sparse_row_is_trusted():
    rows = [row(q, zeros=6, mixtures=2, starts=3, came_back=2) for q in np.eye(3)]
    [doubt] = doubts(rows[0], Rows(rows, samples(20)))
    assert "as mixtures were that had to be replaced (2 of them)" in doubt


def test_rows_that_combine_with_others_or_are_in_proportion_to_them_are_in_doubt():
    rows = [row(q, zeros=6) for q in np.eye(3)]
    rows[0] = replace(rows[0], sparser=Sparser(row=0, other=2, factor=-1.5, gain=7))
    rows[1] = replace(rows[1], shares=True)
    together = Rows(rows, samples(20))
    assert "less -1.5 times row 2 it has 7 more zeros" in doubts(rows[0], together)[0]
    assert "in proportion to another row" in doubts(rows[1], together)[0]
    assert doubts(rows[2], together) == ()


def test_rows_of_few_values_that_depend_on_each_other_are_in_doubt():
    rows = [row(q, zeros=6, unproved="few values", dependence=9.0) for q in np.eye(3)]
    [doubt] = doubts(rows[0], Rows(rows, samples(20)))
    assert "more sources than rows" in doubt


def test_in_each_table_every_doubt_has_a_name_of_its_own():
    for table in (OF_ESTIMATES, OF_EXACT, OF_ONE):
        names = [doubt.name for group in table for doubt in group]
        assert len(set(names)) == len(names)
