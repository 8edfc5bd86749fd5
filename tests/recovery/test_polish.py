"""Which rows are good: dependence, exactness, and the descent of repeated rounding."""

import numpy as np
import pytest

from riemtr.data import BernoulliGaussian, Conditioned, Orthogonal
from riemtr.recovery.deflation import Deflation
from riemtr.recovery.polish import doubts, replace_dependent, round_again, sort_rows
from riemtr.recovery.report import Atom
from riemtr.recovery.rounding import Rounding, round_direction
from riemtr.recovery.rows import Inspector, Solve


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


def test_rounding_again_descends_past_mixtures_to_an_exact_row():
    sample = BernoulliGaussian(n=12, p=2000, theta=0.2).draw(0)
    Y, inspector = sample.observations, Inspector(Deflation(sample.observations))
    far = np.random.default_rng(3).standard_normal(12)
    objectives = []

    def again(number, direction):
        objectives.append(np.abs(direction @ Y).sum())
        return round_direction(Y, direction)

    found = round_again(round_direction(Y, far), again, lambda q: inspector.inspect(q)[1])
    assert np.all(np.diff(objectives) < 0)
    assert np.abs(found.direction @ sample.dictionary).max() > 1 - 1e-12


@pytest.mark.parametrize("dictionary", [Orthogonal(), Conditioned(100.0)])
def test_mixtures_are_not_exact_however_many_zeros_they_have(dictionary):
    sample = BernoulliGaussian(n=8, p=1500, theta=0.2, dictionary=dictionary).draw(0)
    inspector = Inspector(Deflation(sample.observations))
    rows, X = np.linalg.inv(sample.dictionary), sample.coefficients
    both = np.flatnonzero(X[0] * X[1])[0]
    mixture = X[1, both] * rows[0] - X[0, both] * rows[1]  # vanishes on that sample as well
    for direction, expected in ((rows[0], True), (rows[5], True), (mixture, False)):
        zeros, exact = inspector.inspect(direction / np.linalg.norm(direction))
        assert zeros > 600
        assert exact is expected
