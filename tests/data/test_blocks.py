"""Blocks of columns: every column once, in widths that fit, and the plain formulas in sum."""

import numpy as np
import pytest

from riemtr.data import blocks
from riemtr.data.blocks import column_blocks, column_lengths, gram, product_blocks


def numbers(n=6, p=1000, seed=0):
    return np.random.default_rng(seed).standard_normal((n, p))


LAYOUTS = {
    "C": lambda Y: Y,
    "Fortran order": np.asfortranarray,
    "every other column": lambda Y: np.repeat(Y, 2, axis=1)[:, ::2],
    "every other row": lambda Y: np.repeat(Y, 2, axis=0)[::2],
    "reversed": lambda Y: Y[::-1, ::-1].copy()[::-1, ::-1],
    "big-endian": lambda Y: Y.astype(">f8"),
}


@pytest.mark.parametrize("entries", [1, 7, 100, 2**18])
@pytest.mark.parametrize("shape", [(1, 1), (6, 1000), (300, 5), (3, 0), (0, 4)])
def test_every_column_is_in_one_block_and_blocks_have_so_many_entries(shape, entries, monkeypatch):
    monkeypatch.setattr(blocks, "_IN_CACHE", entries)
    found = column_blocks(shape)
    columns = [i for part in found for i in range(shape[1])[part]]
    assert columns == list(range(shape[1]))
    assert all(shape[0] * (part.stop - part.start) <= max(entries, shape[0]) for part in found)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("unit", [1.0, 0.5])
def test_blocks_for_products_are_the_columns_in_double_precision(layout, unit, monkeypatch):
    monkeypatch.setattr(blocks, "_FULL_SPEED", 600)
    monkeypatch.setattr(blocks, "_NARROWEST", 1)
    Y = numbers()
    for data in (LAYOUTS[layout](Y), LAYOUTS[layout](Y).astype(np.float32)):
        pieces = list(product_blocks(data, unit))
        assert [part for part, _ in pieces] == [slice(i, i + 100) for i in range(0, 1000, 100)]
        whole = np.hstack([block for _, block in pieces])
        assert whole.dtype == np.float64
        np.testing.assert_array_equal(whole, unit * data.astype(np.float64))


@pytest.mark.parametrize("order", ["C", "F"])
def test_what_blas_reads_is_not_copied(order):
    Y = np.asarray(numbers(), order=order)
    assert all(np.shares_memory(block, Y) for _, block in product_blocks(Y))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("entries", [1, 600, 2**20])
def test_gram_is_its_definition(layout, entries, monkeypatch):
    monkeypatch.setattr(blocks, "_FULL_SPEED", entries)
    Y = numbers()
    np.testing.assert_allclose(gram(LAYOUTS[layout](Y)), Y @ Y.T, atol=1e-11)
    np.testing.assert_allclose(gram(LAYOUTS[layout](Y), 0.5), Y @ Y.T / 4, atol=1e-11)


def test_gram_of_single_precision_is_summed_in_double():
    Y = numbers(p=50_000).astype(np.float32)
    found = gram(Y)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, Y.astype(float) @ Y.T.astype(float), rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("entries", [1, 100, 2**18])
def test_lengths_are_those_of_the_columns(layout, entries, monkeypatch):
    monkeypatch.setattr(blocks, "_IN_CACHE", entries)
    Y = numbers()
    Y[:, 5] = 0.0
    expected = np.linalg.norm(Y, axis=0)
    np.testing.assert_allclose(column_lengths(LAYOUTS[layout](Y)), expected, rtol=1e-14)
    np.testing.assert_allclose(column_lengths(Y.astype(np.float32)), expected, rtol=1e-6)
