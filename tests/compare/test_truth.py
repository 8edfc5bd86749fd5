import pytest

import riemtr
from riemtr.compare.measuring import nearness
from riemtr.problems import Truth


def test_nothing_is_said_of_what_is_not_known():
    assert nearness(Truth(), 3.0, cost=1.0) == (None, None, None)
    assert nearness(Truth(distance=lambda x: x / 4), 3.0, cost=1.0) == (0.75, None, None)


@pytest.mark.parametrize(
    ("minimum", "cost", "lowest"),
    [
        (0.0, 1e-7, True),
        (0.0, 1e-5, False),
        (0.0, -1e-5, True),  # below what is known: rounding, or a mistake in the truth
        (-1e4, -1e4 + 1e-3, True),  # relative to the cost
        (-1e4, -1e4 + 1.0, False),
        (0.0, float("nan"), False),
    ],
)
def test_the_lowest_is_told_from_other_minima(minimum, cost, lowest):
    _, excess, found = nearness(Truth(cost=minimum), None, cost)
    assert found is lowest
    assert excess == pytest.approx(cost - minimum, nan_ok=True)


def test_a_bound_proves_the_lowest_where_no_minimum_is_known():
    case = riemtr.problems.build("phase-synchronisation", rng=0, n=12)
    assert case.truth.cost is None
    bound = case.problem.cost.dual_bound
    result = riemtr.PracticalTRM().solve(case.problem, case.start)
    assert nearness(case.truth, result.point, result.cost, bound) == (None, None, True)
    start = case.problem.at(case.start)
    assert nearness(case.truth, case.start, start.cost, bound) == (None, None, None)
