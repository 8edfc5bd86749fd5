"""Stopping criteria: what they say, how they compose, and that those on the cost wait for it."""

import numpy as np
import pytest

import riemtr
from riemtr.problem import Threshold
from riemtr.solvers import (
    CostBelow,
    GradientNorm,
    MaxIterations,
    MaxProducts,
    MaxSeconds,
    SecondOrder,
    Status,
)
from riemtr.solvers.stopping import Tolerances, default_tolerances

SMALL, CHEAP = GradientNorm(1e-3), CostBelow(1.0)
STEPS, TIME, WORK = MaxIterations(3), MaxSeconds(100.0), MaxProducts(7)


@pytest.fixture(scope="module")
def sharp():
    """A problem solved by continuation, whose first stage alone takes more than three steps."""
    return riemtr.problems.build("dictionary-learning", rng=0, n=12, p=2000, theta=0.2)


@pytest.mark.parametrize("stop", [STEPS, STEPS | TIME, TIME | STEPS, SMALL | STEPS], ids=repr)
def test_limits_hold_on_the_way_to_the_cost(sharp, stop):
    result = riemtr.PracticalTRM().solve(sharp.problem, sharp.start, stop=stop)
    assert result.iterations == 3
    assert result.status is Status.MAX_ITERATIONS


def test_both_of_two_limits_end_a_run(sharp):
    solver = riemtr.PracticalTRM()
    whole = solver.solve(sharp.problem, sharp.start)
    assert whole.counts.hessian_products > 7
    assert whole.iterations > 3
    result = solver.solve(sharp.problem, sharp.start, stop=STEPS & WORK)
    both = (whole.history["iteration"] >= 3) & (whole.history["hessian_products"] >= 7)
    assert result.iterations == whole.history["iteration"][both][0]


def test_conditions_on_the_cost_wait_for_it(sharp):
    """A low value of an easier version is not what was asked for."""
    solver = riemtr.PracticalTRM(tolerance=1e-9)
    whole = solver.solve(sharp.problem, sharp.start)
    result = solver.solve(sharp.problem, sharp.start, stop=CostBelow(10.0))
    assert result.status is Status.STOPPED
    last = whole.history["stage"] == whole.history["stage"][-1]
    assert result.iterations == whole.history["iteration"][last][0] < whole.iterations


@pytest.mark.parametrize("kind", [MaxIterations, MaxSeconds, MaxProducts])
def test_limits_are_checked(kind):
    with pytest.raises(ValueError, match="limit must be a number of at least 0; got -3"):
        kind(-3)
    assert repr(kind(2)) == f"{kind.__name__}(limit=2)"


@pytest.mark.parametrize("value", [-1.0, np.nan, "x", None])
def test_bounds_are_checked_where_they_are_given(value):
    for make in (
        GradientNorm,
        MaxIterations,
        MaxSeconds,
        lambda bound: SecondOrder(bound, 1e-6),
        lambda bound: SecondOrder(1e-6, bound),
    ):
        with pytest.raises(ValueError, match="must be a number of at least 0; got"):
            make(value)
    if value != -1.0:
        with pytest.raises(ValueError, match="value must be a number; got"):
            CostBelow(value)


def test_a_criterion_as_strict_as_the_solver_means_convergence():
    case = riemtr.problems.build("rayleigh", rng=0, n=8)
    strict = riemtr.PracticalTRM().solve(case.problem, case.start, stop=SecondOrder(1e-6, 1e-6))
    assert strict.converged
    loose = riemtr.PracticalTRM().solve(case.problem, case.start, stop=SecondOrder(1e-1, 1e-1))
    assert not loose.converged
    assert loose.status.name == "STOPPED"


def test_default_tolerances():
    double, single = (float(np.finfo(kind).eps) for kind in (np.float64, np.float32))
    assert default_tolerances(double) == Tolerances(0.0, 1e-7, Threshold(relative=1e-6), 1e-5)
    assert default_tolerances(single) == Tolerances(0.0, 1e-4, Threshold(relative=1e-3), 1e-2)
    # A gradient norm of one's own is absolute, unless a relative one is given as well.
    own = default_tolerances(double, gradient=1e-3, curvature=1e-2)
    assert own == Tolerances(1e-3, 0.0, Threshold(absolute=1e-2), 1e-5)
    assert default_tolerances(double, gradient=1e-3, relative=1e-5).relative == 1e-5
