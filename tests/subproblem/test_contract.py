"""The contract every subproblem solver passes, on every kind of model."""

from __future__ import annotations

import math

import numpy as np
import pytest
from pymanopt.manifolds import Euclidean, Stiefel, SymmetricPositiveDefinite

import riemtr
from riemtr.manifolds import adapt
from riemtr.problem import Threshold
from riemtr.subproblem import Ended, solve_subproblem

SOLVERS = {
    "exact": riemtr.ExactSubproblem(),
    "near-exact": riemtr.NearExactSubproblem(),
    "tcg": riemtr.TruncatedCG(),
    "hybrid": riemtr.HybridSubproblem(),
    "sdp": riemtr.SDPSubproblem(),
}
EXACT = ("exact", "sdp")


def quadratic(hessian: np.ndarray, gradient: np.ndarray) -> riemtr.Problem:
    """A quadratic cost on a Euclidean space, whose model at the origin is itself."""
    return riemtr.Problem(
        Euclidean(len(gradient)),
        lambda x: float(gradient @ x + 0.5 * x @ hessian @ x),
        euclidean_gradient=lambda x: gradient + hessian @ x,
        euclidean_hessian=lambda x, v: hessian @ v,
    )


def models() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(0)
    basis, _ = np.linalg.qr(rng.standard_normal((8, 8)))
    positive = (basis * np.linspace(1, 10, 8)) @ basis.T
    indefinite = (basis * np.linspace(-3, 5, 8)) @ basis.T
    semidefinite = (basis * np.array([0, 0, 1, 2, 3, 4, 5, 6.0])) @ basis.T
    gradient = rng.standard_normal(8)
    hard = gradient - (basis[:, 0] @ gradient) * basis[:, 0]
    return {
        "positive": (positive, gradient),
        "indefinite": (indefinite, gradient),
        "semidefinite": (semidefinite, semidefinite @ gradient),
        "hard": (indefinite, hard),
        "linear": (np.zeros((8, 8)), gradient),
        "one-dimensional": (np.array([[-2.0]]), np.array([0.5])),
    }


@pytest.mark.parametrize("radius", [1e-3, 0.5, 100.0])
@pytest.mark.parametrize("model", sorted(models()))
@pytest.mark.parametrize("name", sorted(SOLVERS))
def test_contract(name, model, radius):
    hessian, gradient = models()[model]
    here = quadratic(hessian, gradient).at(np.zeros(len(gradient)))
    step = SOLVERS[name].at(here).step(radius)
    vector = step.vector
    assert np.linalg.norm(vector) <= radius * (1 + 1e-9)
    assert step.norm == pytest.approx(np.linalg.norm(vector))
    scale = np.abs(hessian).max() * np.linalg.norm(vector) + 1e-300
    np.testing.assert_allclose(step.hessian_vector, hessian @ vector, atol=1e-9 * scale)
    decrease = -(gradient @ vector + 0.5 * vector @ hessian @ vector)
    assert step.predicted_decrease == pytest.approx(decrease, rel=1e-6, abs=1e-12)
    # Never worse than the Cauchy point.
    length = np.linalg.norm(gradient)
    bend = gradient @ hessian @ gradient
    tau = min(radius / length, length**2 / bend) if bend > 0 else radius / length
    cauchy = tau * length**2 - 0.5 * tau**2 * bend
    assert decrease >= cauchy * (1 - 1e-5)
    assert step.on_boundary == (abs(step.norm - radius) <= 1e-2 * radius)
    assert isinstance(step.ended, Ended)
    best = solve_subproblem(hessian, gradient, radius).model_decrease
    if name in EXACT:
        assert decrease == pytest.approx(best, rel=1e-5)
    elif name == "near-exact":
        assert decrease >= 0.9 * best * (1 - 1e-12)
    if name == "exact":
        certificate = step.certificate
        assert certificate.kkt_residual <= 1e-10
        assert certificate.shifted_min_eigenvalue >= -1e-12 * np.abs(hessian).max()


@pytest.mark.parametrize("name", sorted(SOLVERS))
def test_agrees_with_the_exact_solver_where_the_step_is_interior(name):
    hessian, gradient = models()["positive"]
    here = quadratic(hessian, gradient).at(np.zeros(8))
    step = SOLVERS[name].at(here).step(100.0)
    tolerance = 0.2 if name in ("tcg", "hybrid") else 1e-5
    newton = -np.linalg.solve(hessian, gradient)
    assert np.linalg.norm(step.vector - newton) <= tolerance * np.linalg.norm(newton)


@pytest.mark.parametrize("name", ["exact", "near-exact", "sdp"])
@pytest.mark.parametrize(
    "manifold", [Stiefel(5, 2), SymmetricPositiveDefinite(3), riemtr.Sphere(6)], ids=str
)
def test_dense_solvers_work_on_any_manifold(name, manifold):
    rng = np.random.default_rng(1)
    point = adapt(manifold).random_point(rng)
    weights = rng.standard_normal(point.shape)
    problem = riemtr.Problem(
        manifold,
        lambda x: float(np.sum(weights * x**3)),
        euclidean_gradient=lambda x: 3 * weights * x**2,
        euclidean_hessian=lambda x, v: 6 * weights * x * v,
    )
    here = problem.at(point)
    step = SOLVERS[name].at(here).step(0.3)
    matrix = here.hessian_matrix()
    gradient = here.basis.coordinates(here.gradient)
    best = solve_subproblem(matrix, gradient, 0.3).model_decrease
    assert here.norm(step.vector) <= 0.3 * (1 + 1e-9)
    assert step.predicted_decrease >= 0.9 * best * (1 - 1e-6)
    difference = step.hessian_vector - here.hessian(step.vector)
    assert here.norm(difference) <= 1e-8 * (1 + here.norm(step.hessian_vector))


@pytest.mark.parametrize("name", ["tcg", "hybrid", "exact", "near-exact"])
def test_steps_along_negative_curvature_where_the_gradient_vanishes(name):
    hessian = np.diag([-2.0, 1.0, 3.0])
    here = quadratic(hessian, np.zeros(3)).at(np.zeros(3))
    assert here.curvature.side(Threshold(1e-6)) == -1
    step = SOLVERS[name].at(here).step(0.7)
    np.testing.assert_allclose(np.abs(step.vector), [0.7, 0.0, 0.0], atol=1e-6)
    assert step.predicted_decrease == pytest.approx(0.49)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_sign_of_the_curvature_step_follows_the_gradient(sign):
    hessian = np.diag([-2.0, 1.0, 3.0])
    here = quadratic(hessian, np.array([sign * 1e-9, 0.0, 0.0])).at(np.zeros(3))
    assert here.curvature.side(Threshold(1e-6)) == -1
    step = riemtr.TruncatedCG().at(here).step(0.5)
    assert step.ended is Ended.CURVATURE_START
    assert step.vector[0] == pytest.approx(-sign * 0.5)


def test_no_curvature_is_asked_for_where_the_gradient_is_large():
    hessian, gradient = models()["indefinite"]
    here = quadratic(hessian, gradient).at(np.zeros(8))
    riemtr.TruncatedCG().at(here).step(0.1)
    assert here.known_curvature is None
    assert here.counts.hessian_products <= 2


def test_truncated_cg_reuses_products_for_a_smaller_radius():
    hessian, gradient = models()["positive"]
    here = quadratic(hessian, gradient).at(np.zeros(8))
    solver = riemtr.TruncatedCG(kappa=1e-8)
    model = solver.at(here)
    model.step(10.0)
    used = here.counts.hessian_products
    for radius in (1.0, 0.5, 0.01):
        second = model.step(radius)
        fresh = solver.at(quadratic(hessian, gradient).at(np.zeros(8))).step(radius)
        np.testing.assert_array_equal(second.vector, fresh.vector)
    assert here.counts.hessian_products == used


def test_truncated_cg_is_exact_in_as_many_steps_as_dimensions():
    hessian, gradient = models()["positive"]
    here = quadratic(hessian, gradient).at(np.zeros(8))
    step = riemtr.TruncatedCG(kappa=1e-12).at(here).step(100.0)
    np.testing.assert_allclose(step.vector, -np.linalg.solve(hessian, gradient), rtol=1e-8)
    assert here.counts.hessian_products <= 8


def test_perfect_preconditioner_needs_one_product():
    hessian, gradient = models()["positive"]
    plain = quadratic(hessian, gradient)
    problem = riemtr.Problem(
        plain.manifold,
        plain.cost.cost,
        euclidean_gradient=plain.cost.gradient,
        euclidean_hessian=plain.cost.hessian,
        preconditioner=lambda point, vector: np.linalg.solve(hessian, vector),
    )
    here = problem.at(np.zeros(8))
    step = riemtr.TruncatedCG().at(here).step(100.0)
    np.testing.assert_allclose(step.vector, -np.linalg.solve(hessian, gradient), rtol=1e-10)
    assert here.counts.hessian_products == 1


def test_hybrid_switches_to_the_matrix_and_recycles_its_factor():
    case = riemtr.problems.build("dictionary-learning", rng=0, n=12, p=3000, mu=0.1)
    solver = riemtr.TrustRegion(subproblem=riemtr.HybridSubproblem(), tolerance=1e-10)
    hybrid = solver.solve(case.problem, case.start)
    dense = riemtr.TrustRegion(subproblem=riemtr.NearExactSubproblem(), tolerance=1e-10).solve(
        case.problem, case.start
    )
    assert hybrid.converged
    assert dense.converged
    assert 0 < hybrid.counts.hessian_matrices < dense.counts.hessian_matrices


@pytest.mark.parametrize(("room", "matrices"), [(1.5, 0), (2.5, 1)])
def test_the_matrix_is_formed_after_a_step_of_cg_well_inside_the_ball(room, matrices):
    data = np.random.default_rng(5).standard_normal((6, 400))
    problem = riemtr.dictionary_problem(data, 1.0)
    point = riemtr.PracticalTRM().solve(problem, rng=0).point
    here, there = (problem.at(problem.manifold.retraction(point, d)) for d in 1e-2 * np.eye(6)[:2])
    part = riemtr.HybridSubproblem()
    newton = part.at(here).step(100.0).norm
    model = part.at(here)
    assert not model.step(room * newton).on_boundary
    assert here.counts.hessian_matrices == 0
    part.at(there, model).step(room * newton)
    assert there.counts.hessian_matrices == matrices


def test_zero_gradient_without_known_curvature_gives_a_zero_step():
    here = quadratic(np.eye(3), np.zeros(3)).at(np.zeros(3))
    for solver in SOLVERS.values():
        step = solver.at(here).step(1.0)
        assert step.norm <= 1e-6
        assert math.isclose(step.predicted_decrease, 0.0, abs_tol=1e-12)


def test_the_factor_of_one_stage_serves_the_next():
    data = np.random.default_rng(5).standard_normal((6, 400))
    point = riemtr.PracticalTRM().solve(riemtr.dictionary_problem(data, 1.0), rng=0).point
    nearby = riemtr.Sphere(6).retraction(point, 1e-3 * np.ones(6))
    first, second = (riemtr.dictionary_problem(data, mu).at(nearby) for mu in (1.0, 0.95))
    part = riemtr.HybridSubproblem()
    first.step_matrix()
    model = part.at(first)
    model.step(1.0)
    assert first.counts.hessian_matrices == 1
    step = part.at(second, model).step(1.0)
    assert second.counts.hessian_matrices == 0
    assert 0 < second.counts.hessian_products <= part.budget
    assert np.linalg.norm(second.gradient + step.hessian_vector) < 0.1 * second.gradient_norm


@pytest.mark.parametrize("radius", [1e-3, 0.5, 100.0])
@pytest.mark.parametrize("name", ["tcg", "hybrid"])
@pytest.mark.parametrize("kind", [float, np.float32])
def test_contract_at_the_points_that_follow(name, radius, kind):
    # What one call leaves to the next must not spoil the steps from there.
    rng = np.random.default_rng(7)
    weights = rng.uniform(1.0, 50.0, 30).astype(kind)
    problem = riemtr.Problem(
        riemtr.Sphere(30),
        lambda x: float(weights @ x**2 + 0.5 * np.sum(x**4)),
        euclidean_gradient=lambda x: 2 * weights * x + 2 * x**3,
        euclidean_hessian=lambda x, v: 2 * weights * v + 6 * x**2 * v,
    )
    accuracy = 1e-4 if kind is np.float32 else 1e-9
    here, model = problem.at(riemtr.Sphere(30).random_point(rng).astype(kind)), None
    for _ in range(6):
        model = SOLVERS[name].at(here, model)
        step = model.step(radius)
        image = here.hessian(step.vector)
        assert step.vector.dtype == kind
        assert step.norm <= radius * (1 + accuracy)
        assert step.norm == pytest.approx(np.linalg.norm(step.vector), rel=accuracy)
        assert abs(here.point @ step.vector) <= accuracy * step.norm
        size = 200.0 * step.norm
        np.testing.assert_allclose(step.hessian_vector, image, atol=accuracy * size)
        decrease = -float(here.gradient @ step.vector + 0.5 * step.vector @ image)
        assert step.predicted_decrease == pytest.approx(
            decrease, rel=10 * accuracy, abs=accuracy * size * step.norm
        )
        here = problem.at(problem.manifold.retraction(here.point, step.vector))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budget": 0}, "budget must be an integer of at least 1; got 0"),
        ({"tolerance": 1.0}, "tolerance must lie strictly between 0 and 1; got 1.0"),
    ],
)
def test_bad_options_of_the_hybrid(options, message):
    with pytest.raises(ValueError, match=message):
        riemtr.HybridSubproblem(**options)


def test_a_factor_from_before_does_not_hide_curvature_that_is_known():
    # No matrix is offered: it was made of products once CG had taken as many, its factor kept.
    matrix = np.diag([1.0, 2.0, 3.0])
    problem = riemtr.Problem(riemtr.Sphere(3), lambda x: x @ matrix @ x)
    part = riemtr.HybridSubproblem(cg=riemtr.TruncatedCG(max_products=1))
    before = problem.at(problem.manifold.retraction(np.eye(3)[0], np.array([0.0, 1e-2, 1e-2])))
    model = part.at(problem.at(before.point))
    assert model.step(10.0).ended is Ended.PRODUCT_LIMIT
    model = part.at(before, model)
    model.step(10.0)
    assert before.has_matrix
    saddle = problem.at(np.eye(3)[1])
    assert saddle.curvature.side(Threshold(1e-6)) == -1
    step = part.at(saddle, model).step(0.5)
    assert step.norm == pytest.approx(0.5)
    assert step.predicted_decrease > 0.0
