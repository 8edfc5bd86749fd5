"""The preconditioner from earlier products: definite, exact where it can be, and worth having."""

from __future__ import annotations

import autograd.numpy as anp
import numpy as np
import pymanopt.manifolds as pm
import pytest

import riemtr
from riemtr.problem import Problem
from riemtr.subproblem.truncated_cg import inverse_hessian


def quadratic(n, **options):
    return Problem(
        pm.Euclidean(n),
        lambda x: 0.5 * float(x @ x),
        euclidean_gradient=lambda x: x,
        euclidean_hessian=lambda x, v: v,
        **options,
    )


def positive(rng, n, condition=1e3):
    frame = np.linalg.qr(rng.standard_normal((n, n)))[0]
    return (frame * np.geomspace(1.0, condition, n)) @ frame.T


def conjugate(hessian, rng, count):
    """Directions conjugate with respect to the Hessian, of any length, and their images."""
    root = np.linalg.cholesky(hessian)
    frame = np.linalg.qr(rng.standard_normal(hessian.shape))[0][:, :count]
    directions = np.linalg.solve(root.T, frame).T * rng.uniform(0.1, 10, (count, 1))
    return [(d, hessian @ d) for d in directions]


def as_matrix(apply, n):
    return np.array([apply(unit) for unit in np.eye(n)]).T


@pytest.mark.parametrize("count", [4, 6, 9])
def test_known_directions_are_inverted_exactly(count):
    rng = np.random.default_rng(count)
    hessian = positive(rng, 9)
    pairs = conjugate(hessian, rng, count)
    here = quadratic(9).at(np.zeros(9))
    apply = inverse_hessian(here, pairs).at(here)
    for direction, image in pairs:
        np.testing.assert_allclose(apply(image), direction, rtol=1e-8, atol=1e-10)
    if count == 9:
        np.testing.assert_allclose(as_matrix(apply, 9), np.linalg.inv(hessian), atol=1e-9)


def test_any_pairs_give_a_symmetric_positive_definite_matrix():
    rng = np.random.default_rng(1)
    for count in (4, 7, 30):
        pairs = [(d, d + 0.5 * rng.standard_normal(6)) for d in rng.standard_normal((count, 6))]
        here = quadratic(6).at(np.zeros(6))
        matrix = as_matrix(inverse_hessian(here, pairs).at(here), 6)
        np.testing.assert_allclose(matrix, matrix.T, atol=1e-12 * np.abs(matrix).max())
        assert np.linalg.eigvalsh(matrix)[0] > 0.0


def test_it_refines_the_problems_own_preconditioner():
    rng = np.random.default_rng(2)
    hessian = positive(rng, 9)
    own = np.diag(1.0 / np.diag(hessian))
    pairs = conjugate(hessian, rng, 5)
    here = quadratic(9, preconditioner=lambda x, v: own @ v).at(np.zeros(9))
    matrix = as_matrix(inverse_hessian(here, pairs).at(here), 9)
    for direction, image in pairs:
        np.testing.assert_allclose(matrix @ image, direction, rtol=1e-8, atol=1e-10)
    # BFGS with all pairs at once, by its textbook formula.
    directions = np.array([d / np.sqrt(d @ e) for d, e in pairs]).T
    left = np.eye(9) - directions @ (hessian @ directions).T
    np.testing.assert_allclose(matrix, left @ own @ left.T + directions @ directions.T, atol=1e-9)


@pytest.mark.parametrize(
    "manifold",
    [
        riemtr.Sphere(12),
        pm.Stiefel(6, 2),
        pm.Grassmann(7, 2),
        pm.SphereSubspaceComplementIntersection(np.eye(8)[:, :2]),
        pm.ComplexGrassmann(5, 2),
        pm.SymmetricPositiveDefinite(4),
        pm.Product([pm.SymmetricPositiveDefinite(3), pm.Stiefel(4, 2)]),
    ],
    ids=lambda manifold: type(manifold).__name__,
)
def test_on_manifolds_it_stays_in_the_tangent_space_of_the_next_point(manifold):
    rng = np.random.default_rng(3)
    problem = Problem(manifold, lambda *arrays: sum(float(np.sum(np.abs(x) ** 4)) for x in arrays))
    first, second = problem.random_point(rng), problem.random_point(rng)
    here, there = problem.at(first), problem.at(second)
    here_basis, there_basis = here.basis, there.basis
    hessian = positive(rng, here_basis.dim, 50.0)
    pairs = [(here_basis.vector(d), here_basis.vector(e)) for d, e in conjugate(hessian, rng, 5)]
    apply = inverse_hessian(here, pairs).at(there)
    columns = []
    for unit in np.eye(there_basis.dim):
        result = apply(there_basis.vector(unit))
        np.testing.assert_allclose(there.tangent(result), result, atol=1e-9)
        columns.append(there_basis.coordinates(result))
    matrix = np.array(columns)
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-9)
    assert np.linalg.eigvalsh(matrix)[0] > 0.0


def test_what_tells_nothing_is_not_used():
    rng = np.random.default_rng(4)
    here = quadratic(6).at(np.zeros(6))
    good = conjugate(positive(rng, 6), rng, 6)
    assert inverse_hessian(here, good[:3]) is None
    assert inverse_hessian(here, [(d, -e) for d, e in good]) is None
    assert inverse_hessian(here, [(d, np.full(6, np.nan)) for d, _ in good]) is None
    assert inverse_hessian(here, [(1e-200 * d, 1e200 * e) for d, e in good]) is None
    mixed = [(d, e if k < 4 else -e) for k, (d, e) in enumerate(good)]
    assert len(inverse_hessian(here, mixed).directions) == 4


def test_tangent_vectors_of_an_unknown_metric_are_left_alone():
    class Weighted(pm.Euclidean):
        def inner_product(self, point, tangent_vector_a, tangent_vector_b):
            return np.arange(1.0, 7.0) @ (tangent_vector_a * tangent_vector_b)

    here = Problem(Weighted(6), lambda x: 0.5 * x @ x).at(np.zeros(6))
    rng = np.random.default_rng(4)
    pairs = conjugate(positive(rng, 6), rng, 6)
    assert not here.manifold.dot_metric
    assert inverse_hessian(here, pairs) is None
    assert inverse_hessian(quadratic(6).at(np.zeros(6)), pairs) is not None


def test_products_are_saved():
    remembered = forgotten = 0
    for seed in range(10):
        case = riemtr.problems.build("rayleigh", rng=seed, n=100)
        for memory in (20, 0):
            cg = riemtr.TruncatedCG(remembered=memory)
            solver = riemtr.TrustRegion(subproblem=riemtr.HybridSubproblem(cg=cg), tolerance=1e-8)
            result = solver.solve(case.problem, rng=seed)
            assert result.certificate.verdict == "minimizer"
            assert result.cost == pytest.approx(case.truth.cost, abs=1e-12)
            if memory:
                remembered += result.counts.hessian_products
            else:
                forgotten += result.counts.hessian_products
    assert remembered < 0.9 * forgotten


def test_a_rejected_step_is_not_preconditioned_anew():
    case = riemtr.problems.build("rayleigh", rng=0, n=40)
    cg, problem = riemtr.TruncatedCG(), case.problem
    here = problem.at(problem.random_point(1))
    model = cg.at(here)
    there = problem.at(problem.manifold.retraction(here.point, model.step(1.0).vector))
    model = cg.at(there, model)
    second = model.step(1.0)
    known = there.counts.hessian_products
    again = model.step(0.25 * second.norm)
    assert there.counts.hessian_products == known
    assert again.norm == pytest.approx(0.25 * second.norm)


@pytest.mark.parametrize("remembered", [-1, 1, 3, 2.5, 20.0])
def test_bad_numbers_to_remember(remembered):
    with pytest.raises(ValueError, match="remembered must be an integer of at least 4, or 0"):
        riemtr.TruncatedCG(remembered=remembered)


def factorization(seed):
    """Many more parameters than the product of the factors knows: flat in their gauge."""
    rng = np.random.default_rng(seed)
    target = rng.normal(size=(20, 4)) @ rng.normal(size=(4, 15)) + 0.1 * rng.normal(size=(20, 15))
    return Problem(
        pm.Euclidean(35, 6),
        lambda x: 0.5 * anp.sum((anp.dot(x[:20], x[20:].T) - target) ** 2),
    )


def test_flat_directions_do_not_take_over():
    products = {20: 0, 0: 0}
    for seed in range(8):
        for memory in products:
            solver = riemtr.TrustRegion(
                subproblem=riemtr.TruncatedCG(remembered=memory),
                tolerance=1e-7,
                goal="first-order",  # the curvature test is the same for both
            )
            result = solver.solve(factorization(seed), rng=seed)
            assert result.converged
            assert result.iterations < 100
            products[memory] += result.counts.hessian_products
    assert products[20] <= products[0]


def test_single_precision_with_a_preconditioner_in_double():
    n = 60
    weights = np.geomspace(1, 1e3, n).astype(np.float32)

    class SinglePrecision(pm.Euclidean):
        def retraction(self, point, tangent_vector):
            return (point + tangent_vector).astype(point.dtype)

    problem = Problem(
        SinglePrecision(n),
        lambda x: float(0.5 * np.sum(weights * x**2) + 0.25 * np.sum(x**4)),
        euclidean_gradient=lambda x: weights * x + x**3,
        euclidean_hessian=lambda x, v: weights * v + 3 * x**2 * v,
        preconditioner=lambda x, v: v / np.linspace(0.5, 2.0, n),
    )
    result = riemtr.PracticalTRM().solve(problem, np.ones(n, np.float32))
    assert result.converged
    assert result.point.dtype == np.float32


class Bare:
    """The unit sphere with nothing but what the protocol asks for, and random draws."""

    dim, point_layout = 39, 1

    def inner_product(self, point, vector_a, vector_b):
        return vector_a @ vector_b

    def norm(self, point, vector):
        return np.sqrt(vector @ vector)

    def projection(self, point, vector):
        return vector - (point @ vector) * point

    def retraction(self, point, vector):
        return (point + vector) / np.linalg.norm(point + vector)

    def zero_vector(self, point):
        return np.zeros_like(point)

    def random_tangent_vector(self, point):
        vector = self.projection(point, np.random.normal(size=40))  # noqa: NPY002
        return vector / np.linalg.norm(vector)

    def euclidean_to_riemannian_gradient(self, point, gradient):
        return self.projection(point, gradient)

    def euclidean_to_riemannian_hessian(self, point, gradient, hessian, vector):
        return self.projection(point, hessian) - (point @ gradient) * vector

    def embedding(self, point, vector):
        return vector

    def random_point(self):
        point = np.random.normal(size=40)  # noqa: NPY002
        return point / np.linalg.norm(point)


def test_manifolds_with_the_bare_protocol():
    matrix = np.diag(np.geomspace(1, 1e3, 40))
    problem = Problem(
        Bare(),
        lambda x: float(x @ matrix @ x),
        euclidean_gradient=lambda x: 2 * matrix @ x,
        euclidean_hessian=lambda x, v: 2 * matrix @ v,
    )
    assert problem.geometry.dot_metric
    start = riemtr.Sphere(40).random_point(1)
    result = riemtr.TrustRegion(subproblem=riemtr.TruncatedCG()).solve(problem, start)
    assert result.converged
    assert result.cost == pytest.approx(1.0)
    assert result.iterations < 40
