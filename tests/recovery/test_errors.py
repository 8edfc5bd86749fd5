"""The errors of rows refined together, against what is seen over many draws."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import lfilter

from riemtr.data.blocks import Blocks
from riemtr.problems.surrogates import LogCosh
from riemtr.recovery.errors import Moments, dependence, errors_of_zeros, subspaces
from riemtr.recovery.refining import Refined, refine

DRAWS = 20
N, P = 4, 3000


def sparse(rng, shape):
    return rng.standard_normal(shape) * (rng.random(shape) < 0.2)


def series(rng, shape):
    """Peaked series, each with a memory of some fifty samples."""
    slow = lfilter([1.0], [1.0, -0.98], rng.standard_normal(shape), axis=1)
    return slow * np.exp(lfilter([0.2], [1.0, -0.98], rng.standard_normal(shape), axis=1))


SOURCES = {
    "sparse": sparse,
    "Laplace": lambda rng, shape: rng.laplace(size=shape),
    "uniform": lambda rng, shape: rng.uniform(-1.0, 1.0, shape),
    "exponential": lambda rng, shape: rng.exponential(size=shape),
    "series": series,
    "mixed": lambda rng, shape: np.vstack(
        [sparse(rng, (2, shape[1])), rng.laplace(size=(1, shape[1])), rng.uniform(size=shape)[:1]]
    ),
}


def refined(X):
    """Sources refined from near the truth, with the error of T that they have."""
    X = X - X.mean(axis=1, keepdims=True)
    X = X / X.std(axis=1, keepdims=True)
    record = refine(Blocks(X), X, np.eye(len(X)), "auto", LogCosh(1e-2))
    found = Refined(**record)
    rows = found.directions.T
    order = np.abs(rows).argmax(axis=1)
    rows = rows[np.argsort(order)]
    T = rows / np.diagonal(rows)[:, None] - np.eye(len(rows))
    ranks = np.argsort(order)
    return T, found, found.variances[np.ix_(ranks, ranks)]


@pytest.mark.parametrize("noise", [0.0, 1e-5, 1e-2])
@pytest.mark.parametrize("kind", SOURCES)
def test_stated_variances_are_those_seen_over_many_draws(kind, noise):
    """Of all entries together, within a factor of 1.4 of their root mean square."""
    seen, stated = [], []
    for seed in range(DRAWS):
        rng = np.random.default_rng(seed)
        X = SOURCES[kind](rng, (N, P))
        T, _, variances = refined(X + noise * rng.standard_normal(X.shape))
        known = np.isfinite(variances) & ~np.eye(N, dtype=bool)
        seen.append(T[known] ** 2)
        stated.append(variances[known])
    seen, stated = np.concatenate(seen), np.concatenate(stated)
    assert len(seen) > 0.9 * DRAWS * N * (N - 1)
    ratio = np.sqrt(stated.mean() / seen.mean())
    # Exact zeros have an error of the smoothing alone, stated too large.
    assert 1 / 1.4 < ratio < (1.4 if noise > 1e-6 or kind not in ("sparse", "mixed") else 4.0)


def test_gaussian_rows_are_not_told_apart_and_the_others_are():
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X = np.vstack([sparse(rng, (3, P)), rng.standard_normal((2, P))])
        _, found, variances = refined(X)
        groups = np.bincount(found.subspaces)
        assert sorted(groups) == [1, 1, 1, 2]
        assert np.isinf(variances).sum() == 2
        errors = found.standard_errors(np.eye(5))
        assert np.isnan(errors).sum() == 2


def test_one_gaussian_row_is_told_from_the_others():
    rng = np.random.default_rng(0)
    _, found, _ = refined(np.vstack([sparse(rng, (3, P)), rng.standard_normal((1, P))]))
    assert len(set(found.subspaces)) == 4


def test_noise_that_rows_have_in_common_is_in_the_errors():
    """Its bias is far more than the variance where there are many samples."""
    ratios = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        A = np.eye(3) + 0.6 * (np.ones((3, 3)) - np.eye(3))
        X = sparse(rng, (3, 60_000)) / np.sqrt(0.2)
        Y = A @ X + 0.05 * rng.standard_normal(X.shape)
        T, found, _ = refined(np.linalg.solve(A, Y))
        atoms = A @ np.linalg.inv(np.eye(3) + T)
        atoms, truth = (each / np.linalg.norm(each, axis=0) for each in (atoms, A))
        seen = np.linalg.norm(atoms - truth, axis=0)
        size = np.linalg.solve(A, Y).std(axis=1)
        ratios.append(seen.max() / found.standard_errors(A * size).max())
    assert max(ratios) < 4.0


def test_a_constant_added_to_rows_changes_nothing():
    rng = np.random.default_rng(0)
    X = np.abs(sparse(rng, (N, P))) + 1e-3 * rng.standard_normal((N, P))
    one, other = (
        refine(Blocks(each), each, np.eye(N), "auto", LogCosh(1e-2))["directions"]
        for each in (X, X + np.arange(N)[:, None])
    )
    np.testing.assert_allclose(one, other, atol=1e-5)


def test_independent_series_seldom_exceed_their_limit_and_dependent_ones_do():
    limit = 1.0 + 4.0 / np.sqrt(2.0 * (N - 1))
    for seed in range(40):
        rng = np.random.default_rng(seed)
        rows = np.abs(series(rng, (N, P)))
        assert dependence(np.log1p(rows)).max() < limit
        gain = np.exp(rng.standard_normal(P))
        assert dependence(np.log1p(gain * rng.exponential(size=(N, P)))).min() > limit


def test_groups_join_what_is_joined_by_others():
    pairs = np.zeros((4, 4), dtype=bool)
    pairs[0, 2] = pairs[2, 0] = pairs[2, 3] = pairs[3, 2] = True
    np.testing.assert_array_equal(subspaces(pairs), [0, 1, 0, 0])


def test_moments_do_not_depend_on_blocks_where_samples_are_drawn_one_by_one():
    rng = np.random.default_rng(0)
    X = sparse(rng, (N, P)) + 0.1 * rng.standard_normal((N, P))
    moments = Moments.of(Blocks(X), np.eye(N), LogCosh(0.5))
    rows = LogCosh(0.5).derivatives(X)[1]
    expected = np.mean(rows[:, None] ** 2 * X[None] ** 2, axis=2)
    np.testing.assert_allclose(moments.crossed, expected, rtol=1e-10)
    off = ~np.eye(N, dtype=bool)
    assert moments.crossed_series[off].mean() == pytest.approx(expected[off].mean(), rel=0.05)


def test_errors_of_zeros_of_few_digits_are_those_seen():
    """Rows that least squares on their zeros determine, beside others without an error."""
    seen, stated = [], []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = sparse(rng, (N, P)) + 1e-6 * rng.standard_normal((N, P))
        zeros = np.abs(X) < 1e-4
        T = np.zeros((N, N))
        for i in range(N):
            others = np.arange(N) != i
            T[i, others] = -np.linalg.lstsq(X[others][:, zeros[i]].T, X[i, zeros[i]])[0]
        seen.append(T**2)
        stated.append(errors_of_zeros(X, zeros, P).variances)
    ratio = np.sqrt(np.sum(stated) / np.sum(seen))
    assert 1 / 1.3 < ratio < 1.3
