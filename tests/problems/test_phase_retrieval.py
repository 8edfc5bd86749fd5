"""Phase retrieval: the planted vector from any start, saddle points on the way."""

from __future__ import annotations

import numpy as np
import pytest

import riemtr
from riemtr.problems import build


@pytest.mark.parametrize("seed", range(5))
def test_the_planted_vector_is_found_from_any_start(seed):
    case = build("phase-retrieval", rng=0)
    result = riemtr.PracticalTRM(relative_tolerance=1e-10).solve(case.problem, rng=seed)
    assert result.certified
    assert result.certificate.symmetries == 1
    found = result.point[0] + 1j * result.point[1]
    details = case.truth.details
    np.testing.assert_allclose(
        np.abs(details["vectors"] @ found) ** 2, details["squares"], atol=1e-7
    )
    assert case.truth.error(result.point) < 1e-7


def test_zero_is_a_maximizer_that_is_left():
    case = build("phase-retrieval", rng=1, n=5, m=200)
    zero = np.zeros((2, 5))
    assert riemtr.certify(case.problem, zero).verdict == "maximizer"
    result = riemtr.PracticalTRM().solve(case.problem, zero, rng=0)
    assert case.truth.error(result.point) < 1e-4


def test_a_factor_of_modulus_one_changes_nothing():
    case = build("phase-retrieval", rng=0)
    cosine, sine = np.cos(0.7), np.sin(0.7)
    turned = np.array([[cosine, -sine], [sine, cosine]]) @ case.truth.point
    assert case.problem.at(turned).cost == pytest.approx(0.0, abs=1e-25)
    assert case.truth.error(turned) == pytest.approx(0.0, abs=1e-12)


def test_noise_is_averaged_out():
    case = build("phase-retrieval", rng=0, m=2000, noise=0.05)
    result = riemtr.PracticalTRM().solve(case.problem, case.start)
    assert 1e-4 < case.truth.error(result.point) < 0.02


def test_too_few_measurements_are_refused():
    with pytest.raises(ValueError, match="m must be at least 4 n - 4 = 76; got 50: measure more"):
        build("phase-retrieval", rng=0, m=50)
