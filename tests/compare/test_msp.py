"""The l4 fixed point, against brute force and the model it is for."""

from __future__ import annotations

import math

import numpy as np
import pytest

from riemtr.compare.recovery_peers import maximize_l4, msp
from riemtr.data import BernoulliGaussian, Orthogonal, dictionary_error
from riemtr.recovery import precondition


def whitened(n, p, seed=0):
    sample = BernoulliGaussian(n=n, p=p, theta=0.2).draw(seed)
    return precondition(sample.observations), sample.dictionary


def random_rotation(n, seed=0):
    return Orthogonal().matrix(n, np.random.default_rng(seed))


@pytest.mark.parametrize("seed", range(3))
def test_finds_the_best_angle_of_all_in_the_plane(seed):
    data = whitened(2, 400, seed)[0].data
    found = maximize_l4(data, random_rotation(2, seed))
    angles = np.linspace(0, math.pi / 2, 20001)  # a quarter turn only exchanges the rows
    rows = np.cos(angles)[:, None] * data[0] + np.sin(angles)[:, None] * data[1]
    other = np.cos(angles)[:, None] * data[1] - np.sin(angles)[:, None] * data[0]
    brute = np.max(np.mean(rows**4 + other**4, axis=1)) / 2
    assert found.converged
    assert found.objectives[-1] == pytest.approx(brute, rel=1e-6)
    assert found.objectives[-1] >= brute * (1 - 1e-12)


def test_recovers_an_orthogonal_dictionary_nearly():
    white, truth = whitened(10, 5000)
    found = maximize_l4(white.data, random_rotation(10))
    assert found.converged
    np.testing.assert_allclose(found.rotation @ found.rotation.T, np.eye(10), atol=1e-12)
    assert dictionary_error(white.inverse @ found.rotation.T, truth) < 0.08
    # the l4 norm of finitely many samples peaks beside the truth, and higher
    true_rows = np.linalg.inv(white.matrix @ truth)
    true_rows /= np.linalg.norm(true_rows, axis=1, keepdims=True)
    assert found.objectives[-1] > np.mean((true_rows @ white.data) ** 4)


def test_objective_never_decreases_and_is_that_of_the_iterates():
    data = whitened(10, 2000)[0].data
    start = random_rotation(10)
    found = maximize_l4(data, start)
    assert np.all(np.diff(found.objectives) >= -1e-14 * found.objectives[-1])
    assert found.objectives[0] == pytest.approx(np.mean((start @ data) ** 4), rel=1e-12)
    assert found.objectives[-1] == pytest.approx(np.mean((found.rotation @ data) ** 4), rel=1e-12)


def test_end_is_stationary_by_differences():
    data = whitened(5, 1000)[0].data
    rotation = maximize_l4(data, random_rotation(5)).rotation
    for i, j in zip(*np.triu_indices(5, 1), strict=True):
        values = []
        for angle in (-1e-4, 0.0, 1e-4):
            turned = rotation.copy()
            turned[i] = math.cos(angle) * rotation[i] + math.sin(angle) * rotation[j]
            turned[j] = math.cos(angle) * rotation[j] - math.sin(angle) * rotation[i]
            values.append(np.mean((turned @ data) ** 4))
        assert abs(values[2] - values[0]) / 2e-4 < 1e-6
        assert values[1] > max(values[0], values[2])


def test_out_of_iterations_is_said():
    data = whitened(6, 500)[0].data
    found = maximize_l4(data, random_rotation(6), max_iterations=2)
    assert (found.iterations, found.converged) == (2, False)
    assert found.residual > 1e-10


def test_adapter_has_its_own_start():
    data = whitened(5, 500)[0].data
    one, same, other = (msp(data, seed) for seed in (1, 1, 2))
    assert one.claimed
    assert np.array_equal(one.rows, same.rows)
    assert not np.array_equal(one.rows, other.rows)
