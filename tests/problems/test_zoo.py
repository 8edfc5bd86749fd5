"""The zoo has every problem at two sizes, and comparisons know it by name."""

from __future__ import annotations

import numpy as np
import pytest

import riemtr
import riemtr.compare
from riemtr.compare.cases import labelled
from riemtr.problems import available, build
from riemtr.problems.zoo import SIZES, zoo


def test_no_problem_is_missing():
    # A doctest of the registry may have added one of its own.
    assert set(SIZES) == set(available()) - {"distance-to-pole"}
    assert len(labelled("zoo")) == 2 * len(SIZES)
    assert list(labelled(["zoo", ("rayleigh", {"n": 5})]))[-1] == "rayleigh:n=5"


@pytest.mark.parametrize("name", SIZES)
def test_large_problems_are_larger(name):
    sizes = [build(name, rng=0, **SIZES[name][size]).problem for size in ("small", "large")]
    assert sizes[1].manifold.dim >= 4 * sizes[0].manifold.dim
    assert np.isfinite(sizes[1].at(sizes[1].random_point(0)).cost)


@pytest.mark.parametrize("name", SIZES)
def test_large_problems_are_solved(name):
    case = build(name, rng=0, **SIZES[name]["large"])
    # The certificate is the small problems' affair: that of the large takes much of the time.
    result = riemtr.PracticalTRM(goal="first-order", max_seconds=30).solve(case.problem, case.start)
    assert result.converged, result.status
    truth, size = case.truth, max(1.0, abs(result.cost))
    if truth.cost is not None:
        assert result.cost == pytest.approx(truth.cost, abs=1e-6 * size)
    if result.certificate.lower_bound is not None:
        assert result.certificate.lower_bound <= result.cost + 1e-9 * size


def test_a_comparison_on_the_zoo():
    found = riemtr.compare.compare(
        [("zoo", {"size": "small"})], ["practical"], starts=1, saddles=0, max_seconds=20
    )
    assert len(found.runs) == len(SIZES)
    assert all(run.verdict == "minimizer" for run in found.runs)


def test_sizes_are_small_and_large():
    assert zoo() == zoo("small") + zoo("large")
    with pytest.raises(ValueError, match="size must be one of 'large', 'small'; got 'huge'"):
        labelled(("zoo", {"size": "huge"}))
    with pytest.raises(ValueError, match="n must be left out with the zoo"):
        labelled(("zoo", {"n": 3}))
