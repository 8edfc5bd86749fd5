"""Matrix completion: the whole matrix from a few entries."""

from __future__ import annotations

import numpy as np
import pytest

import riemtr
from riemtr.problems import build


@pytest.mark.parametrize(("m", "n", "rank"), [(60, 50, 3), (40, 90, 2), (30, 30, 1)])
def test_unknown_entries_are_recovered(m, n, rank):
    case = build("matrix-completion", rng=1, m=m, n=n, rank=rank)
    result = riemtr.PracticalTRM(relative_tolerance=1e-10).solve(case.problem, case.start)
    u, s, vt = result.point
    details = case.truth.details
    whole = details["left"] @ details["right"].T
    np.testing.assert_allclose((u * s) @ vt, whole, atol=1e-6)
    assert case.truth.error(result.point) == pytest.approx(
        np.linalg.norm((u * s) @ vt - whole) / np.linalg.norm(whole), abs=1e-12
    )


def test_all_entries_with_noise_are_the_truncated_singular_value_decomposition():
    case = build("matrix-completion", rng=0, m=12, n=9, rank=2, oversampling=100.0, noise=0.3)
    known = case.truth.details["known"].toarray()
    assert np.count_nonzero(known) == 12 * 9
    values = np.linalg.svd(known, compute_uv=False)
    result = riemtr.PracticalTRM(relative_tolerance=1e-10).solve(case.problem, case.start)
    assert result.cost == pytest.approx(0.5 * np.sum(values[2:] ** 2), rel=1e-9)
    assert case.truth.cost is None


def test_noise_is_averaged_out():
    case = build("matrix-completion", rng=0, noise=1e-3)
    result = riemtr.PracticalTRM().solve(case.problem, case.start)
    assert result.certified
    # The error of a matrix of unit entries is below the noise: entries outnumber unknowns.
    assert case.truth.error(result.point) < 1e-3


def test_the_hessian_is_that_of_differences_of_the_riemannian_gradient():
    case = build("matrix-completion", rng=2, m=12, n=10, rank=2)
    here = case.problem.at(case.start)
    assert here.hessian_kind == "riemannian"
    vector = here.space.random(np.random.default_rng(0))
    np.testing.assert_allclose(here.hessian(vector), here._difference(vector), atol=1e-6)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"rank": 50}, "rank must be an integer from 1 to 49; got 50"),
        ({"oversampling": 0.5}, "oversampling must be a number of at least 1; got 0.5"),
        ({"noise": -1.0}, "noise must be a number of at least 0; got -1.0"),
    ],
)
def test_wrong_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        build("matrix-completion", rng=0, **parameters)
