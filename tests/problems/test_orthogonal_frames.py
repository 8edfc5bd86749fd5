"""Joint diagonalisation, ICA and tensors: planted frames, and what they are to satisfy."""

from __future__ import annotations

import numpy as np
import pytest

import riemtr
from riemtr.problems import build
from riemtr.problems.orthogonal_frames import DiagonalisationCost

ACCURATE = riemtr.PracticalTRM(relative_tolerance=1e-11)


def test_one_matrix_is_diagonalised_by_its_eigenvectors():
    case = build("joint-diagonalisation", rng=0, n=5, count=1)
    result = ACCURATE.solve(case.problem, case.start)
    matrix = case.truth.details["matrices"][0]
    found = np.sort(np.diag(result.point.T @ matrix @ result.point))
    np.testing.assert_allclose(found, np.linalg.eigvalsh(matrix), atol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_matrices_with_one_basis_are_diagonal_in_it(seed):
    case = build("joint-diagonalisation", rng=seed, n=8, count=5)
    result = ACCURATE.solve(case.problem, case.start)
    turned = result.point.T @ case.truth.details["matrices"] @ result.point
    np.testing.assert_allclose(turned * (1.0 - np.eye(8)), 0.0, atol=1e-7)


def test_with_noise_the_best_basis_beats_the_planted_one():
    case = build("joint-diagonalisation", rng=1, noise=0.05)
    result = ACCURATE.solve(case.problem, case.start)
    assert result.certified
    assert result.cost < case.problem.at(case.truth.point).cost
    assert case.truth.error(result.point) < 0.2


def test_two_by_two_matrices_have_a_closed_form():
    # A Jacobi angle: the leading eigenvector of the sum of g g', g = (a11 - a22, 2 a12).
    rng = np.random.default_rng(4)
    matrices = rng.standard_normal((7, 2, 2))
    matrices = matrices + matrices.swapaxes(1, 2)
    g = np.stack([matrices[:, 0, 0] - matrices[:, 1, 1], 2.0 * matrices[:, 0, 1]])
    problem = riemtr.Problem(riemtr.Rotations(2), DiagonalisationCost(matrices))
    result = ACCURATE.solve(problem, rng=0)
    # The entries off the diagonal are what is left: half of the smaller eigenvalue.
    assert result.cost == pytest.approx(0.25 * np.linalg.eigvalsh(g @ g.T)[0], rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_sources_are_separated(seed):
    case = build("ica", rng=seed)
    data, sources = case.truth.details["data"], case.truth.details["sources"]
    np.testing.assert_allclose(data @ data.T / data.shape[1], np.eye(6), atol=1e-12)
    np.testing.assert_allclose(data.mean(axis=1), 0.0, atol=1e-12)
    result = ACCURATE.solve(case.problem, case.start)
    correlations = np.abs(result.point.T @ data @ sources.T) / data.shape[1]
    np.testing.assert_allclose(np.sort(correlations.ravel())[-6:], 1.0, atol=1e-8)
    # The condition of first order, which FastICA's fixed points satisfy.
    found = result.point.T @ data
    moments = np.tanh(found) @ found.T
    np.testing.assert_allclose(moments, moments.T, atol=1e-5 * np.abs(moments).max())


def test_no_rotation_is_less_gaussian_than_the_sources():
    case = build("ica", rng=0)
    least = case.problem.at(case.truth.point).cost
    for seed in range(10):
        result = riemtr.PracticalTRM().solve(case.problem, rng=seed)
        assert result.cost >= least - 1e-9


@pytest.mark.parametrize(("n", "rank"), [(6, 6), (8, 5), (7, 1)])
def test_components_of_a_tensor(n, rank):
    case = build("tensor-decomposition", rng=2, n=n, rank=rank)
    result = ACCURATE.solve(case.problem, case.start)
    details = case.truth.details
    found = -np.einsum("abcd,aj,bj,cj,dj->j", details["tensor"], *[result.point] * 4)
    np.testing.assert_allclose(np.sort(-found), np.sort(details["weights"]), atol=1e-8)
    rebuilt = np.einsum("j,aj,bj,cj,dj->abcd", -found, *[result.point] * 4)
    np.testing.assert_allclose(rebuilt, details["tensor"], atol=1e-7)


def test_noise_moves_components_a_little():
    case = build("tensor-decomposition", rng=0, noise=0.1)
    tensor = case.truth.details["tensor"]
    np.testing.assert_allclose(tensor, tensor.transpose(2, 0, 3, 1), atol=1e-14)
    result = ACCURATE.solve(case.problem, case.start)
    assert 1e-4 < case.truth.error(result.point) < 0.2


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("tensor-decomposition", {"rank": 9}, "rank must be an integer from 1 to 8; got 9"),
        ("ica", {"n": 1}, "n must be an integer of at least 2; got 1"),
        ("joint-diagonalisation", {"noise": -1}, "noise must be a number of at least 0"),
    ],
)
def test_wrong_parameters(name, parameters, message):
    with pytest.raises(ValueError, match=message):
        build(name, rng=0, **parameters)
