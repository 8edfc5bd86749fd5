"""The evidence for a row: samples, zeros that hold it, mixtures, and dependence."""

from __future__ import annotations

import math
from dataclasses import fields, replace

import numpy as np
import pytest

from riemtr.data import BernoulliGaussian, Conditioned, Orthogonal
from riemtr.data.blocks import column_lengths
from riemtr.recovery import evidence
from riemtr.recovery.evidence import (
    RULE,
    Inspector,
    Leverages,
    SampleCounts,
    came_back,
    census_of,
    count_lengths,
    count_lone,
    dependence,
    dependence_limit,
    different_directions,
    effective_samples,
    equal_share,
    sample_keys,
    sparser_combinations,
    usual_lengths,
)
from riemtr.recovery.rounding import round_direction

# --- samples -------------------------------------------------------------------------------------


def test_no_loud_sample_dominates_where_samples_point():
    rng = np.random.default_rng(0)
    Y = rng.standard_normal((3, 500))
    Y[:, 400:] = 0.0
    plain = census_of(Y, column_lengths(Y))
    Y[:, :3] *= 1e8
    loud = census_of(Y, column_lengths(Y))
    assert plain.samples == loud.samples == 400
    np.testing.assert_allclose(loud.unit_gram, plain.unit_gram, rtol=1e-12)
    assert np.trace(loud.unit_gram) == pytest.approx(400)


@pytest.mark.parametrize("n", [1, 2, 10, 64])
def test_gaussian_samples_are_worth_their_number_and_loud_ones_outweigh_them(n):
    rng = np.random.default_rng(0)
    Y = rng.standard_normal((n, 20_000))

    def worth(Y):
        return effective_samples(census_of(Y, column_lengths(Y)), float(np.sum(Y**2)))

    assert worth(Y) == pytest.approx(20_000, rel=0.05)
    Y[:, :100] *= 1e4
    assert worth(Y) == pytest.approx(100, rel=0.5)
    assert worth(1e3 * Y) == pytest.approx(worth(Y))


def test_counts_say_what_is_no_sample_of_its_own():
    assert str(SampleCounts(20, 20, 20, 20.0)) == "20 samples"
    copies = SampleCounts(total=20, nonzero=18, different=13, effective=18.0)
    assert copies.worth == 13
    loud = SampleCounts(60, 60, 60, 5.4)
    assert loud.worth == 5
    assert str(loud) == "60 samples (the loudest outweigh the others, as if there were 5)"


# --- lone samples --------------------------------------------------------------------------------


def found_in(Y):
    """Leverages of the zeros of the first row, by the pseudo-inverse of their Gram matrix."""
    zeros = Y[:, (Y[0] == 0) & (column_lengths(Y) > 0)]
    units = zeros / np.linalg.norm(zeros, axis=0)
    values = np.einsum("ij,ij->j", units, np.linalg.pinv(units @ units.T) @ units)
    return Leverages(sample_keys(zeros, column_lengths(zeros)), values)


def lone_in(Y):
    usual = usual_lengths(count_lengths(sample_keys(Y, column_lengths(Y)), Y.dtype))
    return count_lone(found_in(Y), Y.dtype, usual)


GENERIC = np.array([[0.0, 0.0, 0.0, 1.0], [1.0, 2.0, 3.0, 1.0], [0.0, 0.0, 0.0, 1.0]])


def test_a_sample_without_which_the_zeros_span_less_is_lone():
    last = np.array([[0.0], [0.0], [1e-3]])
    assert lone_in(np.hstack([GENERIC, last])) == 1
    two = np.array([[0.0, 0.0], [0.5, -0.2], [0.4, 0.3]])
    assert lone_in(np.hstack([GENERIC, two])) == 0


@pytest.mark.parametrize("factor", [1.0, -1.0, 2.0])
def test_copies_are_lone_together(factor):
    """Equal, negated or of another length: the copies of one sample are no more than it."""
    Y = np.hstack([GENERIC, [[0.0], [0.3], [1.0]]])
    twice = np.hstack([Y, factor * Y])
    assert lone_in(Y) == 1
    assert lone_in(twice) == 1


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_copies_are_one_sample_however_many_there_are(sign):
    last = np.array([[0.0], [0.3], [1.0]])
    Y = np.hstack([GENERIC, last, np.repeat(sign * last, 9, axis=1)])
    assert lone_in(Y) == 1
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))[0]
    keys = sample_keys(turn @ Y, column_lengths(turn @ Y))
    assert sorted(count_lengths(keys, Y.dtype)) == [1, 1, 3]


def test_many_samples_of_one_atom_are_no_copies():
    atom = np.outer([0.0, 0.0, 1.0], [1.0, -0.3, 0.7, 2.1])
    assert lone_in(np.hstack([GENERIC, atom])) == 0


def test_a_large_sample_is_no_lone_one():
    rng = np.random.default_rng(0)
    Y = np.vstack([np.zeros(50), rng.standard_normal((2, 50))])
    Y[:, 7] *= 1e6
    assert lone_in(Y) == 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_directions_are_told_apart_in_many_dimensions(dtype):
    """Rounding must not make two of thousands the same, nor copies different."""
    rng = np.random.default_rng(0)
    Y = rng.standard_normal((256, 10_000)).astype(dtype)
    turn = np.linalg.qr(rng.standard_normal((256, 256)))[0].astype(dtype)
    twice = turn @ np.hstack([Y, -3 * Y])
    counts = count_lengths(sample_keys(twice, column_lengths(twice)), twice.dtype)
    assert usual_lengths(counts) == 2
    assert len(counts) > 9_990


def test_one_sample_stands_for_every_direction_and_none_for_zero():
    Y = np.hstack([GENERIC, np.zeros((3, 1)), -2.0 * GENERIC, [[0.0], [0.3], [1.0]]])
    chosen = different_directions(Y, column_lengths(Y))
    assert len(chosen) == 3
    units = Y[:, chosen] / column_lengths(Y)[chosen]
    cosines = np.abs(units.T @ units) - np.eye(3)
    assert cosines.max() < 0.99
    assert len(different_directions(np.zeros((2, 4)), np.zeros(4))) == 0


def test_without_zeros_none_is_lone():
    nothing = Leverages(np.zeros((3, 0)), np.zeros(0))
    assert count_lone(nothing, np.dtype(float), 1) == 0
    assert usual_lengths(count_lengths(nothing.keys, np.dtype(float))) == 1


# --- exactly sparse rows -------------------------------------------------------------------------


def inspector_of(Y):
    return Inspector(Y, np.eye(len(Y)), np.eye(len(Y)))


@pytest.mark.parametrize("dictionary", [Orthogonal(), Conditioned(100.0)])
def test_mixtures_are_not_exact_however_many_zeros_they_have(dictionary):
    sample = BernoulliGaussian(n=8, p=1500, theta=0.2, dictionary=dictionary).draw(0)
    inspector = inspector_of(sample.observations)
    rows, X = np.linalg.inv(sample.dictionary), sample.coefficients
    both = np.flatnonzero(X[0] * X[1])[0]
    mixture = X[1, both] * rows[0] - X[0, both] * rows[1]  # vanishes on that sample as well
    for direction, expected in ((rows[0], True), (rows[5], True), (mixture, False)):
        seen = inspector.inspect(direction / np.linalg.norm(direction))
        assert seen.zeros > 600
        assert seen.exact is expected
        assert seen.forced == (0 if expected else 1)


def test_a_mixture_of_all_rows_but_one_is_forced_in_all_directions_but_one():
    sample = BernoulliGaussian(n=6, p=800, theta=0.2).draw(0)
    inspector = inspector_of(sample.observations)
    rows, X = np.linalg.inv(sample.dictionary), sample.coefficients
    chosen = np.flatnonzero(X[:5].all(axis=0) | (np.count_nonzero(X[:5], axis=0) == 4))[:4]
    weights = np.linalg.svd(X[:5, chosen].T)[2][-1]  # the mixture vanishes on these four
    direction = weights @ rows[:5]
    seen = inspector.inspect(direction / np.linalg.norm(direction))
    assert seen.zeros > 50
    assert (seen.exact, seen.forced) == (False, 4)


def test_one_sample_of_few_does_not_make_a_mixture_exact():
    sample = BernoulliGaussian(n=12, p=144, theta=0.1).draw(3)
    inspector = inspector_of(sample.observations)
    rows, X = np.linalg.inv(sample.dictionary), sample.coefficients
    both = np.flatnonzero(X[0] * X[1])[0]
    for direction, expected in (
        (rows[0], True),
        (X[1, both] * rows[0] - X[0, both] * rows[1], False),
    ):
        assert inspector.inspect(direction / np.linalg.norm(direction)).exact is expected


@pytest.mark.parametrize("times", [2, 5])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_samples_that_come_several_times_make_no_vertex_exact(times, dtype):
    Y = np.random.default_rng(0).standard_normal((5, 200))
    vertex = round_direction(Y, np.ones(5)).direction
    seen = inspector_of(np.hstack([Y] * times).astype(dtype)).inspect(vertex)
    assert (seen.zeros, seen.forced, seen.exact) == (4 * times, 4, False)


def test_rows_of_signs_are_exact_though_samples_repeat():
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (5, 500)) * (rng.random((5, 500)) < 0.3)
    inspector = inspector_of(X)
    assert all(inspector.inspect(q).exact for q in np.eye(5))


def test_a_row_with_nearly_all_zeros_is_exact():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((6, 4000)) * (rng.random((6, 4000)) < 0.03)
    inspector = inspector_of(X)
    assert all(inspector.inspect(q).exact for q in np.eye(6))


def test_flatness_is_1_for_noise_and_the_root_of_theta_for_the_model():
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((4, 20_000))
    assert inspector_of(noise).inspect(np.eye(4)[0]).flatness == pytest.approx(1.0, rel=0.02)
    assert inspector_of(noise).noise_flatness == pytest.approx(1.0, rel=0.02)
    sparse = noise * (rng.random(noise.shape) < 0.49)
    share = np.count_nonzero(sparse.any(axis=0)) / 20_000  # samples of zero do not count
    flatness = inspector_of(sparse).inspect(np.eye(4)[0]).flatness
    assert flatness == pytest.approx(0.7 / math.sqrt(share), rel=0.02)


def test_rows_that_combine_others_are_refused():
    Y = np.random.default_rng(0).standard_normal((3, 50))
    with pytest.raises(ValueError, match="full rank"):
        inspector_of(np.vstack([Y, Y[0] + Y[1]]))


# --- dependence ----------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 5, 30])
def test_independent_rows_hardly_ever_exceed_the_limit(n):
    exceeded = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        rows = rng.standard_normal((n, 1000)) * (rng.random((n, 1000)) < 0.3)
        rows += 1e-2 * rng.standard_normal(rows.shape)
        exceeded += int(np.count_nonzero(dependence(rows) > dependence_limit(n)))
    assert exceeded <= 0.02 * 40 * n


def test_the_limit_is_four_standard_deviations_above_independence():
    rng = np.random.default_rng(0)
    drawn = np.concatenate([dependence(rng.standard_normal((10, 400))) for _ in range(300)])
    assert dependence_limit(10) - drawn.mean() > RULE.dependence * drawn.std()
    assert dependence_limit(1) == dependence_limit(2) == 1.0 + RULE.dependence / np.sqrt(2.0)
    assert dependence_limit(201) == 1.0 + RULE.dependence / 20.0


def test_rows_that_are_loud_together_exceed_it():
    rng = np.random.default_rng(0)
    gain = np.exp(0.5 * rng.standard_normal(1000))
    found = dependence(gain * rng.standard_normal((10, 1000)))
    assert found.min() > dependence_limit(10)


def test_one_row_or_one_sample_depends_on_nothing():
    np.testing.assert_array_equal(dependence(np.ones((1, 9))), [0.0])
    np.testing.assert_array_equal(dependence(np.ones((3, 1))), np.zeros(3))
    np.testing.assert_array_equal(dependence(np.zeros((3, 9))), np.zeros(3))
    assert np.isfinite(dependence(np.ones((3, 9)))).all()


# --- mixtures of rows of few values --------------------------------------------------------------


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


def test_many_samples_are_screened_and_no_mixture_is_overlooked(monkeypatch):
    X = np.random.default_rng(0).standard_normal((5, 20_000)) * signs(5, 20_000, 0.6) ** 2
    X[4] = X[1] - 0.5 * X[0]
    looked_at = []
    full = evidence._most_frequent_ratio
    monkeypatch.setattr(
        evidence,
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

    def few_valued(X, rows):
        shares = equal_share(X, rows)
        assert list(shares) == rows
        return {row for row, share in shares.items() if share >= RULE.few_values}

    assert few_valued(X * there, list(range(5))) == {0, 1, 2}
    assert few_valued(X * there * (1.0 + 1e-12 * X[3]), [1, 4]) == {1}  # to rounding
    assert few_valued(np.zeros((1, 9)), [0]) == set()
    assert few_valued(np.eye(3), [0, 1, 2]) == set()  # one entry repeats nothing


def test_copies_of_samples_are_no_few_values():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((4, 600)) * (rng.random((4, 600)) < 0.2)
    X[:, 0] = 1.5
    copies = np.hstack([X, np.repeat(X[:, :1], 40, axis=1), -2.0 * X[:, :30]])
    assert max(equal_share(copies, [0, 1, 2, 3]).values()) < RULE.few_values


# --- other starts and thresholds -----------------------------------------------------------------


def test_a_row_comes_back_whatever_its_sign_and_not_beside_itself():
    beside = np.array([[1.0, -0.1], [0.1, 1.0]]) / np.hypot(1.0, 0.1)
    nearly = np.array([[1.0, -0.01], [0.01, 1.0]]) / np.hypot(1.0, 0.01)
    np.testing.assert_array_equal(came_back(np.eye(2), [-np.eye(2), beside, nearly]), [2, 2])
    np.testing.assert_array_equal(came_back(np.eye(2), []), [0, 0])


def test_every_threshold_is_one_number_that_sweeps_can_vary():
    assert all(isinstance(getattr(RULE, each.name), (int, float)) for each in fields(RULE))
    assert replace(RULE, error=0.5).error == 0.5
