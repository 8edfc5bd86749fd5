"""Visits merged over blocks are those of the whole: however the samples are split."""

from itertools import pairwise

import numpy as np
import pytest

from riemtr.recovery.partitioned_visits import (
    Signs,
    face,
    fold,
    look,
    merge_faces,
    merge_folds,
    merge_looks,
)

RNG = np.random.default_rng(0)
Y = RNG.standard_normal((4, 100)) * (RNG.random((4, 100)) < 0.5)
Q, OTHER = np.array([1.0, 0.2, 0.0, 0.0]), np.array([1.0, -0.3, 0.1, 0.0])
BAND = np.array([3, 17, 18, 60])
LENGTHS = np.linalg.norm(Y, axis=0)


def visit(function, merge, splits, *arguments):
    edges = [0, *splits, 100]
    parts = [function(Y[:, a:b], a, 0.5, *arguments) for a, b in pairwise(edges)]
    return merge(parts) if len(parts) > 1 else parts[0]


@pytest.fixture(params=[(), (50,), (1, 2, 17, 18, 99)], ids=str)
def splits(request):
    return request.param


def test_looks(splits):
    found = visit(look, merge_looks, splits, OTHER, 12, Signs(Q, BAND), 1e-11)
    before, residual = 0.5 * Q @ Y, 0.5 * OTHER @ Y
    assert found.objective == pytest.approx(np.abs(residual).sum(), rel=1e-13)
    ratio = np.full(100, np.inf)
    np.divide(np.abs(residual), 0.5 * LENGTHS, out=ratio, where=LENGTHS > 0)
    np.testing.assert_allclose(np.sort(found.ratios), np.sort(ratio)[:12], atol=1e-15)
    np.testing.assert_allclose(found.ratios, ratio[found.nearest], atol=1e-15)
    wrong = (np.sign(before) != np.sign(residual)) & (np.abs(residual) > 1e-11 * LENGTHS)
    wrong[BAND] = False
    assert found.changes == wrong.sum() > 6
    assert len(found.changed) == 6
    assert wrong[found.changed].all()


def test_folds(splits):
    inside, rest = visit(fold, merge_folds, splits, Signs(Q, BAND))
    np.testing.assert_array_equal(inside, 0.5 * Y[:, BAND])
    signs = np.sign(Q @ Y)
    signs[BAND] = 0.0
    np.testing.assert_allclose(rest, 0.5 * Y @ signs, atol=1e-13)


@pytest.mark.parametrize("matrix_too", [True, False])
def test_faces(splits, matrix_too):
    start, dual = np.eye(4)[0], np.array([0.3, 0.5, -2.0, 0.1])
    found = visit(face, merge_faces, splits, start, 1e-11, OTHER, dual, matrix_too)
    vanishing = Y[0] == 0
    M = 0.5 * Y
    t = np.where(vanishing, dual @ M, np.sign(Y[0]))
    assert found.count == vanishing.sum()
    assert found.farthest == pytest.approx(np.abs(t).max())
    expected = M[:, vanishing] @ M[:, vanishing].T if matrix_too else 0.0
    np.testing.assert_allclose(found.gram, expected, atol=1e-13)
    np.testing.assert_allclose(found.pull, M[:, vanishing] @ (OTHER @ M[:, vanishing]), atol=1e-13)
    np.testing.assert_allclose(found.image, M @ np.clip(t, -1, 1), atol=1e-13)
    assert found.objective == pytest.approx(np.abs(OTHER @ M).sum(), rel=1e-13)
