"""Blocks of columns: every column once, in widths that fit, and the plain formulas in sum."""

from concurrent.futures import ThreadPoolExecutor

import dask.array as da
import numpy as np
import pytest

from riemtr.data import blocks
from riemtr.data.blocks import (
    Blocks,
    add_up,
    column_blocks,
    column_lengths,
    gram,
    product_blocks,
)
from riemtr.data.dask_arrays import partition


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


# --- functions sent to blocks --------------------------------------------------------------------


def moments(block, first, weights):
    """Sums over samples that know where they are."""
    places = np.arange(first, first + block.shape[1])
    return weights @ (block**2).sum(axis=1), (block * places).sum(axis=1), block.shape[1]


def twice(block, factor):
    return factor * np.vstack([block, block])


def negated(block):
    return -block


def upper(block):
    return -block[:3]


def places(block, first):
    return np.arange(first, first + block.shape[1])


def scaled(block, first, factor, each):
    return factor * each * block.sum(), first


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(blocks, "_IN_CACHE", 600)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("pooled", [False, True])
def test_totals_are_those_of_all_columns_with_and_without_threads(pooled):
    Y, weights = numbers(), np.arange(6.0)
    with ThreadPoolExecutor(3) as pool:
        data = Blocks(Y, pool if pooled else None)
        assert len(data.slices) == 10
        square, ramp, count = data.total(moments, weights)
        joined = data.total(places, merge=np.concatenate)
    assert square == pytest.approx(weights @ (Y**2).sum(axis=1), rel=1e-13)
    np.testing.assert_allclose(ramp, Y @ np.arange(1000), rtol=1e-10)
    assert count == 1000
    np.testing.assert_array_equal(joined, np.arange(1000))


@pytest.mark.usefixtures("small_blocks")
def test_threads_give_the_same_bits_in_the_same_order():
    Y, weights = numbers(), np.arange(6.0)
    alone = Blocks(Y)
    with ThreadPoolExecutor(4) as pool:
        together = Blocks(Y, pool)
        for one, other in zip(
            alone.total(moments, weights), together.total(moments, weights), strict=True
        ):
            np.testing.assert_array_equal(one, other)
        found = together.visit(scaled, 2.0, each=list(range(10)))
    assert found == alone.visit(scaled, 2.0, each=list(range(10)))
    assert [first for _, first in found] == list(range(0, 1000, 100))


@pytest.mark.usefixtures("small_blocks", "chunks_as_they_come")
def test_matrices_in_memory_and_with_dask_answer_the_same_questions():
    Y, weights = numbers(), np.arange(6.0)
    here, there = Blocks(Y), partition(da.from_array(Y, chunks=(6, 170)))
    assert here.shape == there.shape == (6, 1000)
    assert here.dtype == there.dtype == np.float64
    for one, other in zip(here.total(moments, weights), there.total(moments, weights), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10)
    chosen = np.array([3, 3, 999, 0, 500])
    for each in (here, there):
        np.testing.assert_array_equal(each.take(chosen), Y[:, chosen])
        np.testing.assert_array_equal(each.total(places, merge=np.concatenate), np.arange(1000))
        np.testing.assert_array_equal(np.concatenate(each.visit(places)), np.arange(1000))
        assert each.with_pool(None).kept().largest == np.abs(Y).max()
        doubled = each.mapped(twice, 3.0, rows=12)
        assert doubled.shape == (12, 1000)
        np.testing.assert_array_equal(doubled.as_array(), np.vstack([3.0 * Y, 3.0 * Y]))
        assert (each.array is None) == (each.narrowed(10**6) is each)


@pytest.mark.usefixtures("small_blocks")
def test_a_matrix_in_memory_is_overwritten_only_if_that_is_allowed():
    Y = numbers()
    fresh = Blocks(Y).mapped(negated, rows=6)
    assert not np.shares_memory(fresh.array, Y)
    over = Blocks(Y).mapped(upper, rows=3, over=True)
    assert np.shares_memory(over.array, Y)
    np.testing.assert_array_equal(over.array, fresh.array[:3])
    assert not np.shares_memory(over.alone().array, Y)


def test_adding_up_keeps_the_kinds_of_the_entries():
    parts = [(1, np.ones(2), [0]), (2, np.ones(2), [1])]
    count, array, joined = add_up(parts)
    assert count == 3
    np.testing.assert_array_equal(array, [2.0, 2.0])
    assert joined == [0, 1]


def test_what_is_visited_is_a_view():
    Y = numbers()
    Blocks(Y).visit(lambda block, first: block.fill(first))
    np.testing.assert_array_equal(Y, 0.0)
