"""Weighted Gram matrices against their definition."""

from __future__ import annotations

import numpy as np
import pytest

from riemtr.data import blocks
from riemtr.problems.weighted_gram import weighted_gram


def example(seed, n, p, share=1.0):
    """Data, and weights of which a share is not negligible."""
    rng = np.random.default_rng(seed)
    weights = rng.random(p)
    active = rng.random(p) < share
    return rng.standard_normal((n, p)), np.where(active, weights, 1e-20), active


def naive(data, weights):
    return (data * weights.astype(np.longdouble)) @ data.T.astype(np.longdouble)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.6, 0.7, 1.0])
@pytest.mark.parametrize(("dtype", "accuracy"), [(np.float64, 1e-13), (np.float32, 1e-5)])
def test_gram_is_its_definition(dtype, accuracy, share, order):
    data, weights, active = example(0, 7, 900, share)
    gram = weighted_gram(np.array(data, order=order), weights, active, np.dtype(dtype))
    expected = naive(data, weights).astype(float)
    assert gram.dtype == dtype
    np.testing.assert_allclose(gram, expected, atol=accuracy * np.abs(expected).max() + 1e-15)
    np.testing.assert_array_equal(gram, gram.T)


@pytest.mark.parametrize("share", [0.3, 1.0])
@pytest.mark.parametrize("entries", [1, 70, 1000])
def test_blocks_add_up(share, entries, monkeypatch):
    data, weights, active = example(1, 7, 333, share)
    monkeypatch.setattr(blocks, "_IN_CACHE", entries)
    matrix = weighted_gram(data, weights, active, data.dtype)
    np.testing.assert_allclose(matrix, naive(data, weights).astype(float), rtol=1e-12, atol=1e-11)


def test_more_columns_than_one_block_holds():
    data, weights, active = example(2, 4, blocks._IN_CACHE // 4 + 1000, 0.5)
    matrix = weighted_gram(data, weights, active, data.dtype)
    np.testing.assert_allclose(matrix, naive(data, weights).astype(float), rtol=1e-10, atol=1e-8)
