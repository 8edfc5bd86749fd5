"""What counts as zero: rounding, relative to the sample, and nothing else."""

import dask.array as da
import numpy as np
import pytest

from riemtr.data import BernoulliGaussian, Conditioned, align
from riemtr.data.blocks import column_lengths
from riemtr.recovery import recover_dictionary
from riemtr.recovery.zeros import clear_rounding, magnitudes, threshold, zero_samples


def zeros_of(Y, direction, vanishing, most):
    """The number of zeros, and the Gram matrix of some of their samples, of unit length."""
    size = magnitudes(Y, direction)
    count, samples, sizes = zero_samples(Y, column_lengths(Y), size, vanishing, most)
    units = samples / sizes
    return count, units @ units.T


@pytest.mark.parametrize(("dtype", "rounding"), [(np.float64, 1e-14), (np.float32, 1e-7)])
def test_zeros_are_found_in_samples_of_any_length_but_zero(dtype, rounding):
    rng = np.random.default_rng(0)
    Y = rng.standard_normal((3, 90))
    Y[0, :30] *= rounding  # what rounding leaves
    Y[:, 80:] = 0.0
    Y *= 10.0 ** rng.uniform(-6, 6, 90)
    Y = Y.astype(dtype)
    count, unit_gram = zeros_of(Y, np.eye(3)[0], threshold(Y.dtype, 1.0), most=1000)
    assert count == 30
    assert unit_gram.dtype == np.float64
    units = Y[:, :30].astype(float) / np.linalg.norm(Y[:, :30].astype(float), axis=0)
    np.testing.assert_allclose(unit_gram, units @ units.T, atol=1e-5)


@pytest.mark.parametrize("most", [1, 7, 50, 99, 100, 1000])
def test_the_gram_matrix_is_of_about_as_many_samples_as_asked_for(most):
    Y = np.vstack([np.zeros(100), np.ones(100)])
    count, unit_gram = zeros_of(Y, np.array([1.0, 0.0]), 1e-11, most)
    assert count == 100
    taken = unit_gram[1, 1]
    assert min(most, 100) <= taken <= max(2 * most, 2)


def test_what_counts_as_zero_is_cleared():
    X = np.array([[1e-15, 2.0, 1e-15], [1e-10, 1e-3, 5.0]])
    lengths, scales = np.array([1.0, 1.0, 1e-6]), np.array([1.0, 2.0])
    expected = X.copy()
    expected[0, 0] = 0.0  # the last is as small, but so is its sample
    clear_rounding(X, lengths, scales, np.array([1e-11, 4e-11]))
    np.testing.assert_array_equal(X, expected)
    expected[1, 0] = 0.0
    clear_rounding(X, lengths, scales, np.array([1e-11, 6e-11]))
    np.testing.assert_array_equal(X, expected)


def test_the_threshold_follows_the_condition_number_up_to_a_limit():
    double, single = np.dtype(np.float64), np.dtype(np.float32)
    assert threshold(double, 1.0) == threshold(double, 1e4) == 1e-11
    assert threshold(double, 1e9) == pytest.approx(10 * threshold(double, 1e8))
    assert threshold(double, 1e15) == threshold(single, 1e7) == 1e-4


# --- in what a recovery gives --------------------------------------------------------------------


def assert_counted(found):
    """What is counted as zero is zero in X."""
    X = np.asarray(found.coefficients)
    counts = np.count_nonzero((X == 0) & np.any(X != 0, axis=0), axis=1)
    assert [atom.zeros for atom in found.atoms] == counts.tolist()


@pytest.mark.parametrize("condition", [1e2, 1e6, 1e7, 1e8, 1e10])
@pytest.mark.parametrize("partitioned", [False, True])
def test_zeros_are_those_of_the_truth_at_any_condition_number(condition, partitioned):
    model = BernoulliGaussian(n=8, p=1500, theta=0.2, dictionary=Conditioned(condition))
    sample = model.draw(1)
    Y = da.from_array(sample.observations, chunks=(8, 700)) if partitioned else sample.observations
    found = recover_dictionary(Y, rng=0)
    order = align(found.dictionary, sample.dictionary).permutation
    X = np.asarray(found.coefficients)
    np.testing.assert_array_equal(X[order] == 0, sample.coefficients == 0)
    assert all(atom.exact for atom in found.atoms)
    assert_counted(found)


@pytest.mark.parametrize("condition", [1.0, 1e8, 1e12])
def test_ill_conditioned_dense_data_do_not_pass_for_sparse(condition):
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(rng.standard_normal((6, 6)))[0]
    Y = turn @ (np.geomspace(1.0, 1.0 / condition, 6)[:, None] * rng.standard_normal((6, 4000)))
    for refine in ("auto", None):
        found = recover_dictionary(Y, rng=0, refine=refine)
        assert not any(atom.exact for atom in found.atoms)
        assert_counted(found)


@pytest.mark.parametrize("partitioned", [False, True])
def test_zeros_of_rows_that_are_not_exactly_sparse_are_zeros_too(partitioned):
    rng = np.random.default_rng(0)
    sparse = BernoulliGaussian(n=6, p=1000, theta=0.2).draw(0).observations
    for Y in (rng.standard_normal((12, 20)), rng.laplace(size=(5, 300)), sparse + 10.0):
        data = da.from_array(Y, chunks=(len(Y), 200)) if partitioned else Y
        found = recover_dictionary(data, rng=0, refine=None, offset=False)
        assert any(not atom.exact for atom in found.atoms) or not found.trusted
        assert min(atom.zeros for atom in found.atoms) >= len(Y) - 1  # as any vertex has
        assert_counted(found)


@pytest.mark.parametrize("digits", [6, 9])
def test_zeros_of_data_with_few_digits_are_those_of_the_truth(digits):
    sample = BernoulliGaussian(n=8, p=3000, theta=0.2).draw(0)
    found = recover_dictionary(sample.observations.round(digits), rng=0)
    assert found.count("proved") == 8
    order = align(found.dictionary, sample.dictionary).permutation
    wrong = (found.coefficients[order] == 0) != (np.abs(sample.coefficients) < 10.0**-digits)
    assert np.count_nonzero(wrong) <= 5e-3 * wrong.size
