"""Phases and rotations from ratios: planted solutions, and proofs of global minima."""

from __future__ import annotations

import numpy as np
import pytest

import riemtr
from riemtr.problems import build

ACCURATE = riemtr.PracticalTRM(relative_tolerance=1e-10)


@pytest.mark.parametrize("name", ["phase-synchronisation", "rotation-averaging"])
@pytest.mark.parametrize("seed", range(3))
def test_without_noise_what_was_planted_is_found(name, seed):
    case = build(name, rng=seed, noise=0.0)
    result = ACCURATE.solve(case.problem, case.start)
    assert result.cost == pytest.approx(case.truth.cost, abs=1e-10)
    assert case.truth.error(result.point) < 1e-7
    assert result.certificate.lower_bound == pytest.approx(case.truth.cost, abs=1e-9)


def test_phases_from_the_leading_eigenvector():
    # Without noise the matrix has rank one, and its eigenvector has the phases.
    case = build("phase-synchronisation", rng=1, n=20, noise=0.0)
    vector = np.linalg.eigh(case.truth.details["matrix"])[1][:, -1]
    vector /= np.abs(vector)
    assert case.truth.error(np.stack([vector.real, vector.imag])) < 1e-12


def test_the_spectral_norm_bounds_phases():
    case = build("phase-synchronisation", rng=2)
    largest = np.linalg.eigvalsh(case.truth.details["matrix"])[-1]
    result = ACCURATE.solve(case.problem, case.start)
    assert -0.5 * 60 * largest <= result.certificate.lower_bound <= result.cost + 1e-9


def test_two_rotations_agree_with_the_one_between_them():
    case = build("rotation-averaging", rng=0, k=2, noise=0.3)
    result = ACCURATE.solve(case.problem, case.start)
    first, second = result.point
    np.testing.assert_allclose(first.T @ second, case.truth.details["measured"][0], atol=1e-6)


@pytest.mark.parametrize("d", [2, 3, 4])
def test_a_loop_shares_its_error(d):
    # Around a triangle every edge takes a third of the angle that does not close.
    case = build("rotation-averaging", rng=3, k=3, d=d, degree=10, noise=0.05)
    details = case.truth.details
    edges = {(0, 1), (0, 2), (1, 2)}
    assert set(zip(details["tails"], details["heads"], strict=True)) == edges
    result = ACCURATE.solve(case.problem, case.start)
    short, long, last = details["measured"]
    around = short @ last @ long.T
    if d == 2:
        angle = np.arctan2(around[1, 0], around[0, 0])
        # Three edges, each |R_j - R_i M|^2 / 2 = 2 - 2 cos(angle / 3).
        assert result.cost == pytest.approx(3.0 * (2.0 - 2.0 * np.cos(angle / 3.0)), rel=1e-8)
    assert result.certificate.lower_bound == pytest.approx(result.cost, abs=1e-9)


def test_frames_of_one_size_and_a_turn_of_all_are_the_same():
    case = build("rotation-averaging", rng=0)
    turn = riemtr.Rotations(3).random_point(5)
    turned = turn @ case.start
    assert case.problem.at(turned).cost == pytest.approx(case.problem.at(case.start).cost)
    assert case.truth.error(turned) == pytest.approx(case.truth.error(case.start))


def test_less_noise_less_error():
    errors = []
    for noise in (0.2, 0.02):
        case = build("rotation-averaging", rng=0, noise=noise)
        errors.append(case.truth.error(ACCURATE.solve(case.problem, case.start).point))
    assert errors[1] < 0.2 * errors[0]
