"""Rows that another makes sparser."""

import numpy as np

from riemtr.recovery import mixed_rows
from riemtr.recovery.mixed_rows import doubts_of_mixing, doubts_of_values, sparser_combinations


def signs(n, p, theta, seed=0):
    rng = np.random.default_rng(seed)
    return rng.choice([-1.0, 1.0], (n, p)) * (rng.random((n, p)) < theta)


def test_a_sum_of_two_rows_is_told_from_rows():
    X = signs(4, 2000, 0.3)
    assert sparser_combinations(X, [0, 1, 2, 3]) == {}
    mixed = X.copy()
    mixed[2] = 0.5 * X[2] + 2.0 * X[0]
    found = sparser_combinations(mixed, [0, 1, 2, 3])
    assert set(found) == {2}
    assert (found[2].other, round(found[2].factor, 9)) == (0, 2.0)
    restored = mixed[2] - found[2].factor * mixed[0]
    gained = np.count_nonzero(restored == 0) - np.count_nonzero(mixed[2] == 0)
    assert gained == found[2].gain > 0


def test_only_rows_asked_for_and_none_of_continuous_values():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((3, 500)) * (rng.random((3, 500)) < 0.3)
    X[2] += X[0]
    assert sparser_combinations(X, [0, 1]) == {}
    assert set(sparser_combinations(X, [2])) == {2}  # X[0] itself cancels wherever it stands alone
    assert sparser_combinations(np.zeros((2, 5)), [0, 1]) == {}
    assert sparser_combinations(np.ones((1, 5)), [0]) == {}


def test_rows_are_in_doubt_where_mixtures_looked_like_them():
    X = signs(3, 300, 0.2)
    assert doubts_of_mixing(sparser_combinations(X, [0, 1, 2]), [0, 1, 2], unmixed=0) == {}
    found = doubts_of_mixing({}, [0, 2], unmixed=2)
    assert set(found) == {0, 2}
    assert "2 mixtures were" in found[0]
    assert "1 mixture was" in doubts_of_mixing({}, [0], unmixed=1)[0]


def test_many_samples_are_screened_and_no_mixture_is_overlooked(monkeypatch):
    X = np.random.default_rng(0).standard_normal((5, 20_000)) * signs(5, 20_000, 0.6) ** 2
    X[4] = X[1] - 0.5 * X[0]
    looked_at = []
    full = mixed_rows._most_frequent_ratio
    monkeypatch.setattr(
        mixed_rows,
        "_most_frequent_ratio",
        lambda row, other: looked_at.append(len(row)) or full(row, other),
    )
    found = sparser_combinations(X, list(range(5)))
    assert 4 in found
    assert not {2, 3} & set(found)
    assert looked_at.count(20_000) <= 6  # of 20 pairs: those of the three that depend


def test_rows_of_few_values_are_told_from_continuous_ones():
    rng = np.random.default_rng(2)
    there = rng.random((5, 9000)) < 0.3
    X = np.stack(
        [
            np.ones(9000),
            rng.choice([-1.0, 1.0], 9000),
            rng.poisson(3, 9000) + 1.0,
            rng.standard_normal(9000),
            rng.laplace(size=9000),
        ]
    )
    assert set(doubts_of_values(X * there, list(range(5)))) == {0, 1, 2}
    assert set(doubts_of_values(X * there * (1.0 + 1e-12 * X[3]), [1, 4])) == {1}  # to rounding
    assert doubts_of_values(np.zeros((1, 9)), [0]) == {}
    assert doubts_of_values(np.eye(3), [0, 1, 2]) == {}  # one entry repeats nothing


def test_copies_of_samples_are_no_few_values():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((4, 600)) * (rng.random((4, 600)) < 0.2)
    X[:, 0] = 1.5
    copies = np.hstack([X, np.repeat(X[:, :1], 40, axis=1), -2.0 * X[:, :30]])
    assert doubts_of_values(copies, [0, 1, 2, 3]) == {}
