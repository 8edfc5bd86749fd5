import numpy as np
import pymanopt
import pytest

import riemtr
from riemtr.errors import DoesNotApply, NonFiniteCostError
from riemtr.solvers import MaxIterations, ScipyLBFGSB, Status


@pytest.fixture(scope="module")
def case():
    return riemtr.problems.build("rayleigh", rng=0, n=15)


def test_it_finds_the_smallest_eigenvector(case):
    result = ScipyLBFGSB(tolerance=1e-7).solve(case.problem, rng=0)
    assert result.converged
    assert result.cost == pytest.approx(case.truth.cost, abs=1e-13)
    assert case.truth.distance(result.point) < 1e-6
    assert np.linalg.norm(result.point) == pytest.approx(1.0, abs=1e-15)


def test_each_point_is_evaluated_once(case):
    visited = []

    def cost(x):
        visited.append(x)
        return float(x @ matrix @ x)

    matrix = case.truth.details["matrix"]
    problem = riemtr.Problem(
        riemtr.Sphere(15),
        cost,
        euclidean_gradient=lambda x: 2.0 * matrix @ x,
        euclidean_hessian=lambda x, v: 2.0 * matrix @ v,
    )
    result = ScipyLBFGSB().solve(problem, rng=0)
    assert result.counts.costs == result.counts.gradients
    assert len(visited) == result.counts.costs + 4  # at the end, to confirm the derivatives
    assert result.counts.hessian_products <= 30  # what the last slope means
    assert result.history["costs"][-1] == result.counts.costs
    assert len(result.history["cost"]) == result.iterations + 1
    assert (np.diff(result.history["cost"]) <= 0).all()


def test_a_saddle_point_holds_it_and_is_not_called_converged(case):
    saddle = case.truth.details["eigenvectors"][:, 4]
    result = ScipyLBFGSB().solve(case.problem, saddle)
    assert result.status is Status.FIRST_ORDER
    assert not result.converged
    assert result.certificate.verdict == "saddle"
    assert result.counts.costs == 1


def test_matrices_on_pymanopts_sphere():
    target = np.arange(6.0).reshape(2, 3)
    sphere = pymanopt.manifolds.Sphere(2, 3)
    problem = riemtr.Problem(sphere, lambda x: -(x * target).sum())
    result = ScipyLBFGSB().solve(problem, rng=0)
    assert result.converged
    np.testing.assert_allclose(result.point, target / np.linalg.norm(target), atol=1e-6)


def test_single_precision_stays_single():
    data = np.random.default_rng(0).laplace(size=(6, 400)).astype(np.float32)
    problem = riemtr.dictionary_problem(data, mu=0.5)
    start = problem.manifold.random_point(0).astype(np.float32)
    result = ScipyLBFGSB().solve(problem, start)
    assert result.point.dtype == np.float32
    assert result.gradient_norm <= 1e-3
    # A start of its own as well.
    assert ScipyLBFGSB().solve(problem, rng=0).point.dtype == np.float32


def test_other_manifolds_are_refused():
    problem = riemtr.problems.build("brockett", rng=0).problem
    with pytest.raises(DoesNotApply, match="needs a sphere; this problem is on Stiefel"):
        ScipyLBFGSB().solve(problem)


def test_limits_and_criteria_end_it(case):
    assert ScipyLBFGSB(max_iterations=2).solve(case.problem, rng=0).status is Status.MAX_ITERATIONS
    assert ScipyLBFGSB(max_seconds=0.0).solve(case.problem, rng=0).status is Status.MAX_SECONDS
    stopped = ScipyLBFGSB().solve(case.problem, rng=0, stop=MaxIterations(3))
    assert (stopped.iterations, stopped.status) == (3, Status.MAX_ITERATIONS)
    watched = []
    by_observer = ScipyLBFGSB().solve(
        case.problem, rng=0, observers=[lambda it: watched.append(it.number) or it.number == 2]
    )
    assert by_observer.status is Status.STOPPED
    assert watched == [0, 1, 2]


def test_what_rounding_leaves_is_stalled(case):
    result = ScipyLBFGSB(tolerance=0.0).solve(case.problem, rng=0)
    assert result.status is Status.STALLED
    assert result.gradient_norm < 1e-6


def test_ctrl_c_leaves_the_best_point_so_far(case):
    def interrupt(iteration):
        if iteration.number == 2:
            raise KeyboardInterrupt

    result = ScipyLBFGSB().solve(case.problem, rng=0, observers=[interrupt])
    assert result.status is Status.INTERRUPTED
    assert result.iterations == 2


def test_a_cost_that_is_not_finite_is_refused():
    problem = riemtr.Problem(riemtr.Sphere(3), lambda x: x[0] * np.nan)
    with pytest.raises(NonFiniteCostError, match="both must be finite"):
        ScipyLBFGSB().solve(problem, rng=0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tolerance": -1.0}, "tolerance must be a nonnegative number"),
        ({"memory": 0}, "memory must be an integer of at least 1"),
        ({"max_iterations": -1}, "max_iterations must be an integer of at least 0"),
        ({"max_seconds": -1.0}, "max_seconds must be a number of at least 0"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        ScipyLBFGSB(**options)


def test_no_iterations_are_none(case):
    result = ScipyLBFGSB(max_iterations=0).solve(case.problem, case.start)
    assert result.iterations == 0
    assert result.status.name == "MAX_ITERATIONS"
    np.testing.assert_allclose(result.point, case.start, rtol=1e-15)
