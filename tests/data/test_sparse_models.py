import itertools
import math
import tracemalloc

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from riemtr.data import (
    BernoulliGaussian,
    Conditioned,
    ExactlySparse,
    Identity,
    Orthogonal,
    paper_sample_size,
)

# At these sample sizes a wrong distribution gives p-values that are zero to many digits.
RARE = 1e-4

MODELS = [
    BernoulliGaussian(n=12, p=300, theta=0.3),
    ExactlySparse(n=12, p=300, k=4),
    BernoulliGaussian(n=12, p=300, theta=0.3, dictionary=Conditioned(10.0), noise=0.1),
    ExactlySparse(n=12, p=300, k=4, dictionary=Identity(), noise=0.1),
]


@pytest.mark.parametrize("model", MODELS)
def test_same_seed_same_sample_bit_for_bit(model):
    one, two, other = model.draw(7), model.draw(np.random.default_rng(7)), model.draw(8)
    for field in ("observations", "dictionary", "coefficients"):
        assert getattr(one, field).tobytes() == getattr(two, field).tobytes()
    assert not np.array_equal(one.coefficients, other.coefficients)


@pytest.mark.parametrize("model", MODELS)
def test_a_generator_advances(model):
    rng = np.random.default_rng(7)
    assert not np.array_equal(model.draw(rng).coefficients, model.draw(rng).coefficients)


@pytest.mark.parametrize("dictionary", [Identity(), Orthogonal(), Conditioned(50.0)])
def test_observations_are_dictionary_times_coefficients(dictionary):
    for model in (
        BernoulliGaussian(n=9, p=40, theta=0.4, dictionary=dictionary),
        ExactlySparse(n=9, p=40, k=2, dictionary=dictionary),
    ):
        sample = model.draw(0)
        np.testing.assert_allclose(
            sample.observations, sample.dictionary @ sample.coefficients, rtol=0, atol=1e-12
        )


def test_noise_has_the_standard_deviation_and_leaves_the_truth_alone():
    quiet = BernoulliGaussian(n=20, p=5000, theta=0.2).draw(3)
    loud = BernoulliGaussian(n=20, p=5000, theta=0.2, noise=0.3).draw(3)
    np.testing.assert_array_equal(quiet.dictionary, loud.dictionary)
    np.testing.assert_array_equal(quiet.coefficients, loud.coefficients)
    noise = (loud.observations - quiet.observations).ravel() / 0.3
    assert scipy.stats.kstest(noise, "norm").pvalue > RARE
    assert abs(noise.std() - 1) < 0.01


def test_bernoulli_gaussian_statistics():
    X = BernoulliGaussian(n=10, p=20000, theta=0.3).draw(1).coefficients
    support = X != 0
    standard_error = math.sqrt(0.3 * 0.7 / 20000)
    assert np.abs(support.mean(axis=1) - 0.3).max() < 4 * standard_error
    assert scipy.stats.kstest(X[support], "norm").pvalue > RARE
    # Independent entries: the number of nonzeros per column is binomial.
    counts = np.bincount(support.sum(axis=0), minlength=11)
    expected = scipy.stats.binom(10, 0.3).pmf(np.arange(11)) * 20000
    # The last three are rare: together they have enough for the chi-squared approximation.
    counts, expected = (np.r_[v[:8], v[8:].sum()] for v in (counts, expected))
    assert scipy.stats.chisquare(counts, expected).pvalue > RARE


@pytest.mark.parametrize("theta", [0.0, 1.0])
def test_bernoulli_gaussian_at_the_ends(theta):
    X = BernoulliGaussian(n=4, p=100, theta=theta).draw(0).coefficients
    assert np.mean(X != 0) == theta


@given(n=st.integers(1, 30), data=st.data(), seed=st.integers(0, 2**32))
def test_exactly_sparse_has_exactly_k_per_column(n, data, seed):
    k = data.draw(st.integers(1, n))
    X = ExactlySparse(n=n, p=50, k=k).draw(seed).coefficients
    np.testing.assert_array_equal(np.count_nonzero(X, axis=0), k)


def test_exactly_sparse_supports_are_uniform():
    n, k, p = 6, 3, 40000
    X = ExactlySparse(n=n, p=p, k=k).draw(5).coefficients
    codes = (X != 0).T @ (1 << np.arange(n))
    every = [sum(1 << i for i in chosen) for chosen in itertools.combinations(range(n), k)]
    counts = np.bincount(codes, minlength=64)[every]
    assert counts.sum() == p
    assert scipy.stats.chisquare(counts).pvalue > RARE
    assert scipy.stats.kstest(X[X != 0], "norm").pvalue > RARE


def test_exactly_sparse_memory_is_that_of_its_result():
    model = ExactlySparse(n=50, p=40000, k=10)
    tracemalloc.start()
    try:
        sample = model.draw(0)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1.1 * (sample.observations.nbytes + sample.coefficients.nbytes)


@pytest.mark.parametrize(("n", "p"), [(1, 1), (2, 14), (3, 50), (10, 1152), (50, 48901)])
def test_paper_sample_size(n, p):
    assert paper_sample_size(n) == p
    assert n == 1 or p == math.ceil(5 * n**2 * math.log(n))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: BernoulliGaussian(0, 10, 0.1), "n must be an integer of at least 1; got 0"),
        (lambda: BernoulliGaussian(5, -1, 0.1), "p must be an integer of at least 1; got -1"),
        (lambda: BernoulliGaussian(5, 10, 1.5), "theta must be a number from 0 to 1; got 1.5"),
        (lambda: BernoulliGaussian(5, 10, 0.1, noise=-1), "noise must be a number of at least 0"),
        (lambda: ExactlySparse(5, 10, 6), "k must be an integer from 1 to 5; got 6"),
        (lambda: ExactlySparse(5, 10, 0), "k must be an integer from 1 to 5; got 0"),
        (lambda: paper_sample_size(0), "n must be an integer of at least 1; got 0"),
    ],
)
def test_errors_name_the_parameter(build, message):
    with pytest.raises(ValueError, match=message):
        build()


@pytest.mark.parametrize("dictionary", ["orthogonal", np.eye(5), Orthogonal])
def test_a_dictionary_of_another_kind_names_the_choices(dictionary):
    with pytest.raises(TypeError, match=r"dictionary must be Identity\(\), Orthogonal\(\)"):
        BernoulliGaussian(5, 10, 0.1, dictionary=dictionary)
