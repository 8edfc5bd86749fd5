"""L-BFGS on any manifold: optima that are known, exact counters, saddles."""

import numpy as np
import pymanopt.manifolds as pm
import pytest
from scipy.optimize import minimize, rosen, rosen_der

import riemtr
from riemtr.solvers import Status
from tests.manifolds.zoo import NATIVE, ZOO, cost_on

CASES = {
    "rayleigh": {"n": 20},
    "invariant-subspace": {"n": 10, "k": 2},
    "brockett": {"n": 8, "k": 3},
    "covariance": {"n": 3},
    "singular-vectors": {},
    "low-rank": {},
}


def without_hessian(n, seed=0):
    """A Rayleigh quotient with its gradient alone, in plain numpy that autodiff cannot trace."""
    rng = np.random.default_rng(seed)
    matrix = rng.standard_normal((n, n))
    matrix += matrix.T
    problem = riemtr.Problem(
        riemtr.Sphere(n),
        lambda x: float(np.vdot(x, np.asarray(matrix @ np.asarray(x)))),
        riemannian_gradient=lambda x: 2.0 * (matrix @ x - (x @ matrix @ x) * x),
    )
    return problem, *np.linalg.eigh(matrix)


@pytest.mark.parametrize("name", sorted(CASES))
def test_known_optima(name):
    case = riemtr.problems.build(name, rng=0, **CASES[name])
    result = riemtr.LBFGS(goal="second-order").solve(case.problem, case.start)
    assert result.converged
    assert result.certified
    assert result.cost == pytest.approx(case.truth.cost, abs=1e-9)
    assert case.truth.distance(result.point) < 1e-4


@pytest.mark.parametrize("name", sorted(CASES))
def test_one_gradient_for_each_point_and_one_cost_for_each_trial(name):
    case = riemtr.problems.build(name, rng=0, **CASES[name])
    # Closer to a solution rounding hides the fall of the cost, and the slope beyond a step judges
    # it: a gradient more for each of those that are rejected.
    result = riemtr.LBFGS(tolerance=1e-5).solve(case.problem, case.start)
    assert result.status is Status.FIRST_ORDER
    assert result.converged
    counts, accepted = result.counts, int(np.count_nonzero(result.history["accepted"]))
    assert counts.gradients == accepted
    assert counts.costs == result.iterations + 1
    assert counts.hessian_products == counts.hessian_matrices == 0


@pytest.mark.parametrize("name", sorted(ZOO))
def test_every_manifold(name):
    manifold = ZOO[name][0]
    problem = riemtr.Problem(manifold, cost_on(manifold))
    if not problem.geometry.bounded and name not in NATIVE:
        pytest.skip("the cost may fall without end there")
    # Near a minimum that the second-order method knows: where costs fall without end, a first step
    # may be long.
    known = riemtr.PracticalTRM(max_iterations=200).solve(problem, rng=0)
    if not known.converged:
        pytest.skip("the cost has no minimum there")
    space = problem.geometry.space(known.point)
    beside = space.move(1e-2 * space.random(np.random.default_rng(1)))
    result = riemtr.LBFGS(tolerance=1e-6).solve(problem, beside)
    assert result.converged
    assert result.counts.hessian_products == 0
    assert result.cost == pytest.approx(known.cost, rel=1e-8, abs=1e-8)


def test_rosenbrock_as_scipy_finds_it():
    start = np.array([-1.2, 1.0, -0.5, 0.7])
    problem = riemtr.Problem(riemtr.Euclidean(4), rosen, euclidean_gradient=rosen_der)
    result = riemtr.LBFGS(tolerance=1e-8).solve(problem, start)
    peer = minimize(rosen, start, jac=rosen_der, method="L-BFGS-B", options={"gtol": 1e-8})
    np.testing.assert_allclose(result.point, peer.x, atol=1e-5)
    assert result.certificate.verdict == "minimizer"


def test_a_saddle_without_a_hessian_is_left_on_request_only():
    problem, values, vectors = without_hessian(12)
    saddle = vectors[:, 4]
    first = riemtr.LBFGS(tolerance=1e-7).solve(problem, saddle)
    assert first.status is Status.FIRST_ORDER
    assert first.iterations == 0
    assert first.certificate.verdict == "saddle"
    second = riemtr.LBFGS(tolerance=1e-7, goal="second-order").solve(problem, saddle)
    assert second.status is Status.CONVERGED
    assert second.certified
    assert second.cost == pytest.approx(values[0], abs=1e-9)
    assert np.count_nonzero(second.history["escaped"]) >= 1


def test_far_from_a_solution_nothing_but_gradients_is_asked_for():
    problem, values, _ = without_hessian(30)
    result = riemtr.LBFGS(goal="second-order").solve(problem, rng=0)
    assert result.certified
    assert result.cost == pytest.approx(values[0], abs=1e-9)
    # Products come with the test of the curvature, at the end and not before.
    products = result.history["hessian_products"]
    assert products[-2] == 0
    assert products[-1] > 0


def test_single_precision_stays_single():
    data = np.random.default_rng(0).laplace(size=(6, 400)).astype(np.float32)
    problem = riemtr.dictionary_problem(data, mu=0.5)
    result = riemtr.LBFGS().solve(problem, problem.random_point(0))
    assert result.point.dtype == np.float32
    assert result.converged


def test_complex_points():
    rng = np.random.default_rng(0)
    truth = np.exp(1j * rng.uniform(0, 2 * np.pi, 8))
    problem = riemtr.Problem(
        pm.ComplexCircle(8),
        lambda z: -0.5 * float(abs(np.vdot(truth, z)) ** 2),
        euclidean_gradient=lambda z: -truth * np.vdot(truth, z),
    )
    result = riemtr.LBFGS().solve(problem, rng=1)
    assert result.cost == pytest.approx(-32.0)  # all phases agree, up to one that they share


def test_easier_versions_are_followed():
    case = riemtr.problems.build("dictionary-learning", rng=0, n=10, p=1000)
    result = riemtr.LBFGS(goal="second-order").solve(case.problem, case.start)
    assert result.certified
    assert case.truth.distance(result.point) < 0.1
    assert result.history["stage"][-1] > 0


def test_scale_of_the_cost_does_not_matter():
    problem, _, _ = without_hessian(10)
    runs = []
    for scale in (1.0, 2.0**-40, 2.0**300):
        scaled = riemtr.Problem(
            problem.manifold,
            lambda x, scale=scale: scale * problem.cost.cost(x),
            riemannian_gradient=lambda x, scale=scale: scale * problem.cost.gradient(x),
        )
        runs.append(riemtr.LBFGS().solve(scaled, rng=0))
    for run in runs[1:]:
        assert run.iterations == runs[0].iterations
        np.testing.assert_allclose(run.point, runs[0].point, atol=1e-12)


def test_options():
    assert repr(riemtr.LBFGS()) == "LBFGS()"
    assert repr(riemtr.LBFGS(memory=3, tolerance=1e-4)) == "LBFGS(memory=3, tolerance=0.0001)"
    assert riemtr.LBFGS(goal="second-order").options == {"goal": "second-order"}
    with pytest.raises(TypeError, match="LBFGS\\(\\) has no argument 'maxiter'; use max_iterat"):
        riemtr.LBFGS(maxiter=3)
    with pytest.raises(ValueError, match="goal must be one of"):
        riemtr.LBFGS(goal="best")


def test_runs_go_on_from_results():
    problem, values, _ = without_hessian(20)
    begun = riemtr.LBFGS(max_iterations=5).solve(problem, rng=0)
    assert begun.status is Status.MAX_ITERATIONS
    assert riemtr.LBFGS().solve(problem, begun).cost == pytest.approx(values[0])


def test_results_by_differences_say_what_lbfgs_would_have_saved():
    problem, _, _ = without_hessian(15)
    for goal in ("first-order", "second-order"):
        result = riemtr.PracticalTRM(goal=goal, tolerance=1e-6).solve(problem, rng=0)
        # All gradients but those of points that were judged are differences, two for a product.
        accepted = int(np.count_nonzero(result.history["accepted"]))
        tests = 0 if goal == "first-order" else result.evaluation.known_curvature.products
        spent = 2 * (result.counts.hessian_products - tests)
        assert result.counts.gradients == accepted + 2 * result.counts.hessian_products
        assert f"{spent} of the {result.counts.gradients} gradients" in result.remark
        assert result.remark in repr(result)
        assert riemtr.LBFGS(goal=goal, tolerance=1e-6).solve(problem, rng=0).remark == ""


def test_results_with_a_hessian_have_no_remark():
    case = riemtr.problems.build("rayleigh", rng=0, n=15)
    assert riemtr.PracticalTRM().solve(case.problem, rng=0).remark == ""
