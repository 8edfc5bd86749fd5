from contextlib import nullcontext

import numpy as np
import pytest

import riemtr
from riemtr.compare import starts
from riemtr.compare.starts import random_starts, saddle_starts, search_saddles
from riemtr.interrupts import OutOfTime

SMALL = {
    "rayleigh": {"n": 12},
    "dictionary-learning": {"n": 6, "p": 1500},
    "invariant-subspace": {"n": 6, "k": 2},
    "brockett": {"n": 4, "k": 2},
    "singular-vectors": {"m": 4, "n": 3},
    "low-rank": {"m": 4, "n": 3, "rank": 1},
}


@pytest.mark.parametrize("name", SMALL)
def test_saddles_of_registered_problems_are_exact(name):
    problem = riemtr.problems.build(name, rng=0, **SMALL[name]).problem
    count = 1 if name == "low-rank" else 2  # slow: differences of pymanopt's vectors in parts
    found = saddle_starts(problem, count, rng=0)
    assert len(found) == count
    costs = [problem.at(saddle.point).cost for saddle in found]
    assert abs(costs[0] - costs[-1]) > 1e-6 or count == 1
    for saddle in found:
        certificate = riemtr.certify(problem, saddle.point, tolerance=1e-12)
        assert certificate.verdict in ("saddle", "maximizer")
        assert certificate.verdict == saddle.verdict
        assert saddle.gradient_norm == pytest.approx(0.0, abs=1e-13)


def test_saddles_of_the_rayleigh_quotient_are_eigenvectors():
    case = riemtr.problems.build("rayleigh", rng=1, n=6)
    values = case.truth.details["eigenvalues"]
    for saddle in saddle_starts(case.problem, 5, rng=0):
        cost = case.problem.at(saddle.point).cost
        nearest = np.abs(values - cost).argmin()
        assert cost == pytest.approx(values[nearest], abs=1e-14)
        assert nearest > 0
        assert (saddle.verdict == "maximizer") == (nearest == 5)


def test_no_more_than_there_are():
    problem = riemtr.problems.build("rayleigh", rng=0, n=3).problem  # one saddle, one maximizer
    found = saddle_starts(problem, 10, rng=0)
    assert sorted(start.verdict for start in found) == ["maximizer", "saddle"]


def test_a_cost_without_saddles_has_none():
    problem = riemtr.problems.build("covariance", rng=0, n=2, samples=20).problem
    assert saddle_starts(problem, 3, rng=0) == []


def test_it_goes_on_searching_where_others_ended(monkeypatch):
    case = riemtr.problems.build("rayleigh", rng=0, n=6)
    first, second, third = saddle_starts(case.problem, 3, rng=0)
    ends = iter([first] * 17 + [second, third])
    monkeypatch.setattr(
        starts, "_critical_point", lambda problem, point: problem.at(next(ends).point)
    )
    assert len(saddle_starts(case.problem, 3, rng=0)) == 3


def test_the_search_ends_in_time_and_keeps_what_it_found(monkeypatch):
    case = riemtr.problems.build("rayleigh", rng=0, n=6)
    one = saddle_starts(case.problem, 1, rng=0)[0]
    searches = []

    def hanging(problem, point):
        searches.append(point)
        if len(searches) == 1:
            return problem.at(one.point)
        raise OutOfTime  # as the alarm does

    monkeypatch.setattr(starts, "_critical_point", hanging)
    found, why = search_saddles(case.problem, 3, seed=0, max_seconds=10.0)
    assert [start.verdict for start in found] == [one.verdict]
    assert why == "the search was ended after 10 s"


def test_it_ends_in_time_without_alarms_too(monkeypatch):
    now = iter(range(0, 1000, 6))
    monkeypatch.setattr("time.perf_counter", lambda: next(now))
    monkeypatch.setattr(starts, "deadline", lambda seconds: nullcontext())
    monkeypatch.setattr(starts, "_critical_point", lambda problem, point: problem.at(point))
    problem = riemtr.problems.build("rayleigh", rng=0, n=3).problem
    why = "the search was ended after 10 s"
    assert search_saddles(problem, 3, seed=0, max_seconds=10.0) == ([], why)


def test_whatever_the_cost_raises_there_is_none(monkeypatch):
    def broken(x):
        raise KeyError("of mine")

    problem = riemtr.Problem(riemtr.Sphere(3), broken)
    assert search_saddles(problem, 1, 0, max_seconds=10.0) == ([], "KeyError: 'of mine'")


def test_where_the_cost_is_not_finite_there_is_none():
    problem = riemtr.Problem(riemtr.Sphere(3), lambda x: x[0] * np.nan)
    assert saddle_starts(problem, 1, rng=0) == []


def test_random_starts_depend_on_the_seed_alone():
    problem = riemtr.problems.build("brockett", rng=0).problem
    few, many, other = (random_starts(problem, n, seed=s) for n, s in ((2, 0), (4, 0), (2, 1)))
    for a, b in zip(few, many, strict=False):
        np.testing.assert_array_equal(a.point, b.point)
    assert not np.allclose(few[0].point, few[1].point)
    assert not np.allclose(few[0].point, other[0].point)


def test_a_single_precision_cost_gets_single_precision_points():
    data = np.random.default_rng(0).laplace(size=(6, 100)).astype(np.float32)
    problem = riemtr.dictionary_problem(data, mu=0.5)
    assert random_starts(problem, 1, seed=0)[0].point.dtype == np.float32
