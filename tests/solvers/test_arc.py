"""Adaptive regularisation with cubics: known optima, saddles, the weight in place of a radius."""

import numpy as np
import pytest
from scipy.optimize import rosen, rosen_der, rosen_hess_prod

import riemtr
from riemtr.compare.starts import saddle_starts
from riemtr.solvers import Status

CASES = {
    "rayleigh": {"n": 20},
    "invariant-subspace": {"n": 10, "k": 2},
    "brockett": {"n": 8, "k": 3},
    "covariance": {"n": 3},
    "singular-vectors": {},
    "low-rank": {},
}


@pytest.mark.parametrize("name", sorted(CASES))
def test_known_optima(name):
    case = riemtr.problems.build(name, rng=0, **CASES[name])
    result = riemtr.ARC().solve(case.problem, case.start)
    assert result.certified
    assert result.cost == pytest.approx(case.truth.cost, abs=1e-9)
    assert case.truth.distance(result.point) < 1e-4
    assert np.all(np.diff(result.history["cost"]) <= 1e-12)


def test_dictionary_learning():
    case = riemtr.problems.build("dictionary-learning", rng=0, n=10, p=1000)
    result = riemtr.ARC().solve(case.problem, case.start)
    assert result.certified
    assert case.truth.distance(result.point) < 0.1


@pytest.mark.parametrize("which", [1, 5, 19])
def test_saddles_and_maximizers_are_left(which):
    case = riemtr.problems.build("rayleigh", rng=0, n=20)
    critical = case.truth.details["eigenvectors"][:, which]
    result = riemtr.ARC().solve(case.problem, critical)
    assert result.certified
    assert result.cost == pytest.approx(case.truth.cost)
    assert result.history["escaped"].any()


def test_a_saddle_of_an_unbounded_manifold():
    # From the origin of x^2 - y^2 + y^4, where the gradient says nothing of the scale.
    problem = riemtr.Problem(riemtr.Euclidean(2), lambda x: x[0] ** 2 - x[1] ** 2 + x[1] ** 4)
    result = riemtr.ARC().solve(problem, np.zeros(2))
    assert result.certified
    assert result.cost == pytest.approx(-0.25)


def test_rosenbrock():
    problem = riemtr.Problem(
        riemtr.Euclidean(6),
        rosen,
        euclidean_gradient=rosen_der,
        euclidean_hessian=rosen_hess_prod,
    )
    result = riemtr.ARC(tolerance=1e-8).solve(problem, np.array([-1.2, 1.0, -0.5, 0.7, 2.0, -1.0]))
    assert result.certified
    # It has another minimum, near (-1, 1, ..., 1).
    assert min(np.abs(result.point - 1).max(), abs(result.point[0] + 0.98)) < 0.02


def test_first_order_goal_takes_no_look_at_the_curvature():
    case = riemtr.problems.build("rayleigh", rng=0, n=20)
    saddle = case.truth.details["eigenvectors"][:, 5]
    result = riemtr.ARC(goal="first-order").solve(case.problem, saddle)
    assert result.status is Status.FIRST_ORDER
    assert result.counts.hessian_products <= 19  # what the slope means


def test_scale_of_the_cost_does_not_matter():
    case = riemtr.problems.build("brockett", rng=0, n=8, k=3)
    matrix, weights = case.truth.details["matrix"], case.truth.details["weights"]
    runs = []
    for scale in (1.0, 2.0**-60, 2.0**200):
        problem = riemtr.Problem(
            case.problem.manifold,
            lambda x, scale=scale: scale * float(np.sum(x * (matrix @ x) * weights)),
            euclidean_gradient=lambda x, scale=scale: scale * 2.0 * (matrix @ x) * weights,
            euclidean_hessian=lambda x, v, scale=scale: scale * 2.0 * (matrix @ v) * weights,
        )
        runs.append(riemtr.ARC().solve(problem, case.start))
    for run in runs[1:]:
        assert run.iterations == runs[0].iterations
        assert run.certified
        np.testing.assert_allclose(run.point, runs[0].point, atol=1e-10)


def test_the_radius_of_the_history_is_a_length_to_go_on_with():
    case = riemtr.problems.build("rayleigh", rng=0, n=30)
    begun = riemtr.ARC(max_iterations=2).solve(case.problem, case.start)
    assert 0.0 < begun.radius < 2.0 * case.problem.manifold.typical_dist
    for solver in (riemtr.ARC(), riemtr.PracticalTRM()):
        assert solver.solve(case.problem, begun).cost == pytest.approx(case.truth.cost)
    other = riemtr.PracticalTRM(max_iterations=2).solve(case.problem, case.start)
    assert riemtr.ARC().solve(case.problem, other).certified


def test_a_weight_and_a_radius_do_not_mix():
    with pytest.raises(ValueError, match="radius must be a policy for a weight, which CubicKrylov"):
        riemtr.TrustRegion(subproblem=riemtr.CubicKrylov())
    with pytest.raises(ValueError, match="radius must be a policy for a radius, which TruncatedCG"):
        riemtr.TrustRegion(radius=riemtr.AdaptiveWeight())
    crossing = riemtr.TrustRegion(
        subproblem=riemtr.CubicKrylov(max_products=5), radius=riemtr.AdaptiveWeight(grow=2.0)
    )
    assert crossing.solve(riemtr.problems.build("rayleigh", rng=0, n=10).problem, rng=0).certified


@pytest.mark.parametrize("options", [{"grow": 0.5}, {"shrink": 1.5}, {"poor": 0.9, "good": 0.1}])
def test_bad_weights(options):
    with pytest.raises(ValueError, match="need 0"):
        riemtr.AdaptiveWeight(**options)


def test_a_cost_that_is_not_finite_has_its_steps_rejected():
    problem = riemtr.Problem(
        riemtr.Euclidean(1),
        lambda x: float(x[0] - np.log(x[0])) if x[0] > 0 else np.nan,
        euclidean_gradient=lambda x: 1 - 1 / x,
        euclidean_hessian=lambda x, v: v / x**2,
    )
    result = riemtr.ARC().solve(problem, np.array([10.0]))
    assert result.point == pytest.approx(1.0)


def test_a_saddle_so_flat_that_rounding_hides_short_steps_is_left():
    # On the way from this saddle there is another, whose one negative eigenvalue is -5e-6.
    case = riemtr.problems.build("tensor-decomposition", rng=0)
    (saddle,) = saddle_starts(case.problem, 1, rng=0)
    result = riemtr.ARC(tolerance=1e-6, curvature_tolerance=1e-6).solve(case.problem, saddle.point)
    assert result.converged
    assert result.cost == pytest.approx(case.truth.cost, abs=1e-9)
