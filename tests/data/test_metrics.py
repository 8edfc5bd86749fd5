import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from riemtr.data import (
    Conditioned,
    ExactlySparse,
    Orthogonal,
    align,
    coefficient_error,
    dictionary_error,
    reconstruction_error,
)


def scrambled(A, X, seed):
    """Return A and X with their atoms permuted, signed and scaled: as good as the originals."""
    rng = np.random.default_rng(seed)
    n = A.shape[1]
    order = rng.permutation(n)
    factors = rng.choice([-1.0, 1.0], n) * 10.0 ** rng.uniform(-3, 3, n)
    return A[:, order] * factors, X[order] / factors[:, None], order, factors


@given(n=st.integers(1, 12), seed=st.integers(0, 2**32))
def test_reconstruction_error_is_the_papers_formula(n, seed):
    q = np.random.default_rng(seed).standard_normal(n)
    q /= np.linalg.norm(q)
    basis = np.eye(n)
    brute = min(min(np.linalg.norm(q - e), np.linalg.norm(q + e)) for e in basis)
    assert reconstruction_error(q) == pytest.approx(brute, rel=1e-14)


def test_reconstruction_error_resolves_tiny_errors():
    q = np.array([1.0, 1e-13, 0.0])
    assert reconstruction_error(-q) == pytest.approx(1e-13, rel=1e-6)


@pytest.mark.parametrize("dictionary", [Orthogonal(), Conditioned(20.0)])
def test_reconstruction_error_targets_give_rows_of_the_coefficients(dictionary):
    sample = ExactlySparse(n=8, p=50, k=2, dictionary=dictionary).draw(0)
    A, X = sample.dictionary, sample.coefficients
    for i, row in enumerate(np.linalg.inv(A)):
        q = -row / np.linalg.norm(row)
        assert reconstruction_error(q, A) < 1e-13
        found = q @ sample.observations
        np.testing.assert_allclose(found, X[i] * (found @ X[i]) / (X[i] @ X[i]), atol=1e-12)
    if isinstance(dictionary, Orthogonal):
        assert reconstruction_error(A[:, 3], A) < 1e-13
    assert reconstruction_error(A.sum(axis=1) / np.linalg.norm(A.sum(axis=1)), A) > 0.1


@pytest.mark.parametrize("n", [1, 5, 60, 400])
def test_scrambling_is_undone_exactly(n):
    sample = ExactlySparse(n=n, p=30, k=1, dictionary=Conditioned(10.0 if n > 1 else 1.0)).draw(n)
    A, X = sample.dictionary, sample.coefficients
    found, coefficients, order, factors = scrambled(A, X, seed=n)
    match = align(found, A)
    np.testing.assert_array_equal(order[match.permutation], np.arange(n))
    factor = match.signs * match.scales
    np.testing.assert_allclose(found[:, match.permutation] * factor, A, atol=1e-13)
    np.testing.assert_allclose(factor, 1 / factors[match.permutation], rtol=1e-13)
    np.testing.assert_allclose(match.correlations, 1, rtol=1e-13)
    assert dictionary_error(found, A) < 1e-14
    assert coefficient_error(coefficients, X, match) < 1e-14


@pytest.mark.parametrize("size", [1e-12, 1e-6, 1e-2])
def test_errors_measure_a_known_perturbation(size):
    rng = np.random.default_rng(0)
    A = Orthogonal().matrix(50, rng)
    X = rng.standard_normal((50, 200))
    # A perturbation orthogonal to each column changes its direction by arctan(size).
    turned = A + size * A[:, np.r_[1:50, 0]]
    found, coefficients, *_ = scrambled(turned, X * (1 + size), seed=1)
    angle = np.arctan(size)
    assert dictionary_error(found, A) == pytest.approx(2 * np.sin(angle / 2), rel=1e-3)
    match = align(found, turned)
    assert coefficient_error(coefficients, X, match) == pytest.approx(size, rel=1e-3)


@given(seed=st.integers(0, 2**32), n=st.integers(1, 5))
def test_assignment_is_optimal(seed, n):
    rng = np.random.default_rng(seed)
    found, truth = rng.standard_normal((2, 6, n))
    cosines = np.abs(
        (found / np.linalg.norm(found, axis=0)).T @ (truth / np.linalg.norm(truth, axis=0))
    )
    best = max(cosines[list(order), range(n)].sum() for order in itertools.permutations(range(n)))
    match = align(found, truth)
    assert sorted(match.permutation) == list(range(n))
    assert match.correlations.sum() == pytest.approx(best, rel=1e-12)


def test_a_repeated_atom_is_not_matched_twice():
    truth = np.eye(4)
    found = truth[:, [0, 0, 2, 3]]
    assert dictionary_error(found, truth) == pytest.approx(np.sqrt(2 / 4))


ZERO_COLUMN = np.array([[1.0, 0.0], [1.0, 0.0]])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: align(np.eye(3), np.eye(2)), r"dictionary must have the shape of truth \(2, 2\)"),
        (lambda: align(ZERO_COLUMN, np.eye(2)), "dictionary must have no zero .*column 1 is zero"),
        (lambda: dictionary_error(np.eye(2), ZERO_COLUMN), "truth must have no zero columns"),
        (lambda: align([[np.nan]], [[1.0]]), "dictionary must be finite"),
        (lambda: align(np.eye(2) * 1j, np.eye(2)), "dictionary must be a real, nonempty 2-D"),
        (lambda: align(np.ones(3), np.eye(3)), "dictionary must be a real, nonempty 2-D"),
        (
            lambda: coefficient_error(np.eye(2), np.eye(3), align(np.eye(2), np.eye(2))),
            "coefficients must have the shape of truth",
        ),
        (
            lambda: coefficient_error(np.eye(3), np.eye(3), align(np.eye(2), np.eye(2))),
            "alignment must match as many atoms as coefficients has rows",
        ),
        (
            lambda: coefficient_error(np.eye(2), np.zeros((2, 2)), align(np.eye(2), np.eye(2))),
            "truth must have a nonzero entry",
        ),
        (lambda: reconstruction_error(np.eye(2)), "direction must be a real, nonempty 1-D"),
        (lambda: reconstruction_error([1.0, 0.0], np.eye(3)), "dictionary must be square"),
        (
            lambda: reconstruction_error([1.0, 0.0], np.ones((2, 2))),
            "dictionary must be invertible",
        ),
    ],
)
def test_errors_name_the_parameter(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_units_do_not_matter_however_far_out(unit):
    A = np.random.default_rng(0).standard_normal((4, 4))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert dictionary_error(A, unit * A) < 1e-15
        assert dictionary_error(unit * A, A) < 1e-15
