"""Samples that alone hold a row: leverage among its zeros."""

import numpy as np

from riemtr.data.blocks import column_lengths
from riemtr.recovery.lone_samples import count_lone


def test_a_sample_without_which_the_zeros_span_less_is_lone():
    Y = np.array([[1.0, 0.0, 0.0, 0.0, 0.0], [0.0, 1.0, 2.0, 3.0, 0.0], [0.0, 0.0, 0.0, 0.0, 1e-3]])
    first = np.array([1.0, 0.0, 0.0])
    factor = np.diag([0.0, 14.0**-0.5, 1e3])
    assert count_lone(Y, column_lengths(Y), first, 1e-11, 100, factor) == 1
    Y[2, 1] = 1e-3  # now two samples hold the last direction
    values, vectors = np.linalg.eigh(Y[1:, 1:] @ Y[1:, 1:].T)
    factor = np.zeros((2, 3))
    factor[:, 1:] = (vectors / np.sqrt(values)).T
    assert count_lone(Y, column_lengths(Y), first, 1e-11, 100, factor) == 0


def test_without_zeros_none_is_lone():
    assert count_lone(np.ones((2, 5)), np.ones(5), np.array([1.0, 0.0]), 1e-11, 10, np.eye(2)) == 0
