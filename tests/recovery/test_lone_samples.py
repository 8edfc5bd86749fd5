"""Samples that alone hold a row: leverage among its zeros."""

import numpy as np
import pytest

from riemtr.data.blocks import column_lengths
from riemtr.recovery.lone_samples import (
    count_lengths,
    count_lone,
    joined,
    leverages,
    sample_keys,
    usual_lengths,
)

FIRST = np.array([1.0, 0.0, 0.0])


def found_in(Y, factor_of=None):
    """Leverages of the zeros of the first row, by the pseudo-inverse of their Gram matrix."""
    everything = Y if factor_of is None else factor_of
    zeros = everything[:, (everything[0] == 0) & (column_lengths(everything) > 0)]
    units = zeros / np.linalg.norm(zeros, axis=0)
    values, vectors = np.linalg.eigh(np.linalg.pinv(units @ units.T))
    factor = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
    return leverages(Y, column_lengths(Y), FIRST, 1e-11, 100, factor)


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


def test_blocks_know_together_what_all_samples_tell():
    Y = np.hstack([GENERIC, [[0.0], [0.3], [1.0]]])
    twice = np.hstack([Y, Y])
    apart = joined([found_in(block, factor_of=twice) for block in (Y, Y)])
    assert count_lone(apart, Y.dtype, 1) == lone_in(twice) == 1


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


def test_without_zeros_none_is_lone():
    nothing = leverages(np.ones((2, 5)), np.ones(5), np.array([1.0, 0.0]), 1e-11, 10, np.eye(2))
    assert count_lone(nothing, np.dtype(float), 1) == 0
    assert usual_lengths(count_lengths(nothing.keys, np.dtype(float))) == 1
