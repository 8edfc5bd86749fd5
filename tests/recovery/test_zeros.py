"""What counts as zero: rounding, relative to the sample, and nothing else."""

import numpy as np
import pytest

from riemtr.data.blocks import column_lengths
from riemtr.recovery.zeros import clear_rounding, threshold, zeros_of


@pytest.mark.parametrize(("dtype", "rounding"), [(np.float64, 1e-14), (np.float32, 1e-7)])
def test_zeros_are_found_in_samples_of_any_length_but_zero(dtype, rounding):
    rng = np.random.default_rng(0)
    Y = rng.standard_normal((3, 90))
    Y[0, :30] *= rounding  # what rounding leaves
    Y[:, 80:] = 0.0
    Y *= 10.0 ** rng.uniform(-6, 6, 90)
    Y = Y.astype(dtype)
    found = zeros_of(Y, column_lengths(Y), np.eye(3)[0], threshold(Y.dtype, 1.0), most=1000)
    assert found.count == 30
    assert found.unit_gram.dtype == np.float64
    units = Y[:, :30].astype(float) / np.linalg.norm(Y[:, :30].astype(float), axis=0)
    np.testing.assert_allclose(found.unit_gram, units @ units.T, atol=1e-5)


@pytest.mark.parametrize("most", [1, 7, 50, 99, 100, 1000])
def test_the_gram_matrix_is_of_about_as_many_samples_as_asked_for(most):
    Y = np.vstack([np.zeros(100), np.ones(100)])
    found = zeros_of(Y, column_lengths(Y), np.array([1.0, 0.0]), 1e-11, most)
    assert found.count == 100
    taken = found.unit_gram[1, 1]
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
