"""At one point each quantity is computed once, whoever asks, and counted."""

from __future__ import annotations

import math
from types import SimpleNamespace

import autograd.numpy as anp
import numpy as np
import pymanopt.manifolds as pm
import pytest

import riemtr
from riemtr import Problem, Sphere
from riemtr.problem import Counts, Threshold

N = 7
MATRIX = np.random.default_rng(0).standard_normal((N, N))
MATRIX += MATRIX.T


class Oracle:
    """x'Ax with a tally of who was called how often."""

    def __init__(self, matrix=MATRIX):
        self.matrix = matrix
        self.costs = self.gradients = self.hessians = 0

    def cost(self, x):
        self.costs += 1
        return float(x @ self.matrix @ x)

    def gradient(self, x):
        self.gradients += 1
        return 2 * self.matrix @ x

    def hessian(self, x, v):
        self.hessians += 1
        return 2 * self.matrix @ v

    def problem(self, manifold=None, **overrides):
        options = {"euclidean_gradient": self.gradient, "euclidean_hessian": self.hessian}
        return Problem(Sphere(N) if manifold is None else manifold, self.cost, **options)

    @property
    def tally(self):
        return (self.costs, self.gradients, self.hessians)


def test_nothing_is_computed_before_it_is_asked_for():
    oracle = Oracle()
    here = oracle.problem().at(Sphere(N).random_point(0))
    assert oracle.tally == (0, 0, 0)
    assert here.counts == Counts()


def test_each_quantity_once_whoever_asks():
    oracle = Oracle()
    x = Sphere(N).random_point(0)
    here = oracle.problem().at(x)
    for _ in range(3):
        _ = here.cost, here.gradient, here.gradient_norm
        here.hessian_matrix()
        _ = here.eigh
        here.curvature.estimate(Threshold(1e-6))
        _ = here.curvature.direction
    # N - 1 for the matrix, one that confirms its sign and one that confirms the eigenvector.
    assert oracle.tally == (1, 1, N + 1)
    assert here.counts == Counts(1, 1, N + 1, 0)


def test_products_are_counted_one_by_one():
    oracle = Oracle()
    x = Sphere(N).random_point(0)
    counts = Counts()
    here = oracle.problem().at(x, counts)
    for seed in range(4):
        here.hessian(Sphere(N).random_tangent_vector(x, seed))
    assert counts == Counts(costs=0, gradients=1, hessian_products=4)
    assert oracle.tally == (0, 1, 4)
    kept = counts.snapshot()
    _ = here.cost
    assert (kept.costs, counts.costs) == (0, 1)


def test_values_agree_with_the_closed_form():
    x = Sphere(N).random_point(2)
    here = Oracle().problem().at(x)
    projector = np.eye(N) - np.outer(x, x)
    value = x @ MATRIX @ x
    assert here.cost == pytest.approx(value)
    np.testing.assert_allclose(here.gradient, 2 * projector @ MATRIX @ x, atol=1e-13)
    assert here.gradient_norm == pytest.approx(np.linalg.norm(2 * projector @ MATRIX @ x))
    hessian = 2 * projector @ (MATRIX - value * np.eye(N)) @ projector
    v, w = (Sphere(N).random_tangent_vector(x, seed) for seed in (3, 4))
    np.testing.assert_allclose(here.hessian(v), hessian @ v, atol=1e-13)
    frame = here.basis.matrix()
    np.testing.assert_allclose(here.hessian_matrix(), frame.T @ hessian @ frame, atol=1e-13)
    values, vectors = here.eigh
    np.testing.assert_allclose((vectors * values) @ vectors.T, here.hessian_matrix(), atol=1e-12)
    assert here.inner(v, w) == pytest.approx(v @ w)
    assert here.norm(3 * v) == pytest.approx(3.0)


def test_counts_of_a_run_are_the_calls():
    oracle = Oracle()
    visited = []
    result = riemtr.PracticalTRM().solve(
        oracle.problem(), rng=1, observers=[lambda iteration: visited.append(1) and None]
    )
    counts = result.counts
    assert (counts.costs, counts.gradients, counts.hessian_products) == oracle.tally
    assert max(counts.costs, counts.gradients) <= result.iterations + 1


def test_differences_count_the_gradients_they_take():
    oracle = Oracle()
    problem = Problem(Sphere(N), oracle.cost, riemannian_gradient=lambda x: _riemannian(oracle, x))
    x = Sphere(N).random_point(0)
    here = problem.at(x)
    v = Sphere(N).random_tangent_vector(x, 1)
    product = here.hessian(v)
    assert here.counts == Counts(gradients=2, hessian_products=1)
    assert oracle.gradients == 2
    exact = Oracle().problem().at(x).hessian(v)
    np.testing.assert_allclose(product, exact, atol=1e-8)
    # Homogeneous, whatever the length of the vector.
    for size in (1e-100, 1e-8, 1e8, 1e100):
        np.testing.assert_allclose(here.hessian(size * v) / size, exact, atol=1e-7)
    before = oracle.gradients
    np.testing.assert_array_equal(here.hessian(0.0 * v), np.zeros(N))
    assert oracle.gradients == before


def _riemannian(oracle, x):
    gradient = oracle.gradient(x)
    return gradient - (x @ gradient) * x


@pytest.mark.parametrize("kind", ["autograd", "euclidean", "riemannian", "differences", "matrix"])
def test_float32_is_kept(kind):
    single = MATRIX.astype(np.float32)

    def riemannian(x):  # in double precision, as a user's function may be
        gradient = 2 * MATRIX @ x
        return gradient - (x @ gradient) * x

    class Shared:
        def at(self, x):
            point = type("Point", (), {})()
            point.value, point.gradient = x @ single @ x, 2 * single @ x
            point.hessian = lambda v: 2 * single @ v
            point.hessian_matrix = lambda: 2 * single
            return point

    problem = {
        "autograd": lambda: Problem(Sphere(N), lambda x: anp.dot(x, anp.dot(single, x))),
        "euclidean": lambda: Oracle().problem(),
        "riemannian": lambda: Problem(
            Sphere(N),
            lambda x: x @ MATRIX @ x,
            riemannian_gradient=riemannian,
            riemannian_hessian=lambda x, v: Oracle().problem().at(x.astype(float)).hessian(v),
        ),
        "differences": lambda: Problem(
            Sphere(N), lambda x: float(x @ MATRIX @ x), riemannian_gradient=riemannian
        ),
        "matrix": lambda: Problem(Sphere(N), Shared()),
    }[kind]()
    x = Sphere(N).random_point(0).astype(np.float32)
    here = problem.at(x)
    v = Sphere(N).random_tangent_vector(x, 1)
    assert here.precision == 2.0**-23
    assert here.gradient.dtype == here.hessian(v).dtype == np.float32
    here.curvature.side(Threshold(1e-3))
    assert here.curvature.direction.dtype == np.float32
    result = riemtr.PracticalTRM().solve(problem, x)
    assert result.point.dtype == np.float32
    assert result.cost == pytest.approx(np.linalg.eigvalsh(MATRIX)[0], rel=1e-5)
    assert result.converged


@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1.0, 1e200, 1e300])
def test_norm_of_vectors_whose_square_is_out_of_range(scale):
    here = Problem(pm.Euclidean(2), lambda x: x @ x).at(np.ones(2))
    assert here.norm(scale * np.array([3.0, 4.0])) == pytest.approx(5.0 * scale, rel=1e-15)
    assert here.norm(np.zeros(2)) == 0.0
    product = pm.Product([pm.Euclidean(1), pm.Sphere(2)])
    there = Problem(product, lambda x, y: x[0]).at([np.ones(1), np.array([1.0, 0.0])])
    vector = scale * there.space.pack([3.0 * np.ones(1), np.array([0.0, 4.0])])
    assert there.norm(vector) == pytest.approx(5.0 * scale, rel=1e-15)


def test_differences_at_large_points():
    problem = Problem(
        pm.Euclidean(1),
        lambda x: -((x[0] - 1e12) ** 2),
        riemannian_gradient=lambda x: -2.0 * (x - 1e12),
    )
    certificate = riemtr.certify(problem, np.array([1e12]))
    assert certificate.verdict == "maximizer"
    assert certificate.min_eigenvalue == pytest.approx(-2.0, rel=1e-6)


def test_differences_that_are_too_coarse_decide_nothing():
    unit = 1e-6  # of a double well, beside which a step of differences is long
    problem = Problem(
        pm.Euclidean(1),
        lambda x: unit**2 * (((x[0] - 1.0) / unit) ** 2 - 1.0) ** 2 / 4.0,
        riemannian_gradient=lambda x: (((x - 1.0) / unit) ** 2 - 1.0) * (x - 1.0),
    )
    assert riemtr.certify(problem, np.ones(1)).verdict == "unresolved"


def test_differences_at_zero_are_as_short_as_the_cost_asks_for():
    unit = 1e-6
    problem = Problem(
        pm.Euclidean(1),
        lambda x: unit**2 * ((x[0] / unit) ** 2 - 1.0) ** 2 / 4.0,
        riemannian_gradient=lambda x: ((x / unit) ** 2 - 1.0) * x,
    )
    certificate = riemtr.certify(problem, np.zeros(1))
    assert certificate.verdict == "maximizer"
    assert certificate.min_eigenvalue == pytest.approx(-1.0, rel=1e-4)


def test_functions_may_reuse_their_arrays():
    gradient, product = np.zeros(2), np.zeros(2)

    def gradient_of(x):
        gradient[:] = 2.0 * x[0], -2.0 * x[1]
        return gradient

    def product_of(x, v):
        product[:] = 2.0 * v[0], -2.0 * v[1]
        return product

    def cost(x):
        return x[0] ** 2 - x[1] ** 2

    plane = pm.Euclidean(2)
    by_differences = Problem(plane, cost, riemannian_gradient=gradient_of)
    assert riemtr.certify(by_differences, np.zeros(2)).verdict == "saddle"
    given = Problem(plane, cost, euclidean_gradient=gradient_of, euclidean_hessian=product_of)
    here = given.at(np.array([1.0, 2.0]))
    first = here.hessian(np.array([1.0, 0.0]))
    here.hessian(np.array([0.0, 1.0]))
    given.at(np.array([3.0, 3.0])).gradient  # noqa: B018
    np.testing.assert_array_equal(first, [2.0, 0.0])
    np.testing.assert_array_equal(here.gradient, [2.0, -4.0])


def test_tangent_removes_what_rounding_left():
    x = Sphere(N).random_point(0)
    here = Oracle().problem().at(x)
    v = Sphere(N).random_tangent_vector(x, 1)
    np.testing.assert_allclose(here.tangent(v + 1e-3 * x), v, atol=1e-15)


def test_dimension_zero():
    here = Problem(Sphere(1), lambda x: 3.0 * x[0]).at(np.array([-1.0]))
    assert here.cost == -3.0
    assert here.gradient_norm == 0.0
    assert here.hessian_matrix().shape == (0, 0)
    assert here.curvature.side(Threshold(1e-6)) == 1
    assert here.curvature.min_eigenvalue == math.inf


def test_products_on_a_product_manifold_share_the_gradient():
    calls = []

    def gradient(u, v):
        calls.append(1)
        return [v[:2], np.concatenate([u, [0.0]])]

    manifold = pm.Product([Sphere(2), Sphere(3)])
    problem = Problem(
        manifold,
        lambda u, v: u @ v[:2],
        euclidean_gradient=gradient,
        euclidean_hessian=lambda u, v, du, dv: [dv[:2], np.concatenate([du, [0.0]])],
    )
    rng = np.random.default_rng(0)
    here = problem.at(problem.random_point(rng))
    for _ in range(3):
        here.hessian(here.space.random(rng))
    assert len(calls) == 1
    assert here.counts == Counts(gradients=1, hessian_products=3)


def test_precision_is_that_of_the_coarser_of_point_and_cost():
    data = np.random.default_rng(4).standard_normal((3, 20))
    double, single = (np.finfo(kind).eps for kind in (np.float64, np.float32))
    for kind, precision in ((np.float64, double), (np.float32, single)):
        problem = riemtr.dictionary_problem(data.astype(kind), 0.1)
        assert problem.at(np.eye(3)[0]).precision == precision
        assert problem.at(np.eye(3, dtype=np.float32)[0]).precision == single


@pytest.mark.parametrize("dtype", [np.dtype(np.int64), np.dtype(object), "torch.float32", 3])
def test_a_dtype_of_the_cost_that_is_no_floating_point_type_is_none_of_ours(dtype):
    oracle = Oracle()
    oracle.at = lambda x: type(
        "Point",
        (),
        {
            "value": oracle.cost(x),
            "gradient": oracle.gradient(x),
            "hessian": lambda self, v: oracle.hessian(x, v),
        },
    )()
    oracle.dtype = dtype
    problem = Problem(Sphere(N), oracle)
    assert problem.at(np.eye(N)[0]).precision == np.finfo(float).eps
    assert riemtr.PracticalTRM().solve(problem, rng=0).converged


@pytest.mark.parametrize(
    ("gradient", "message"),
    [
        (lambda x, y: [x], "derivatives must have 2 arrays, one for each of the point's; got 1"),
        (lambda x, y: [x, y.T], r"the gradient\[1\] must have the shape of the point, \(3, 2\)"),
        (lambda x, y: [x[:1], y], r"the gradient\[0\] must have the shape of the point, \(2,\)"),
    ],
    ids=["missing", "transposed", "short"],
)
def test_gradients_of_products_are_checked_part_by_part(gradient, message):
    product = pm.Product([pm.Euclidean(2), pm.Euclidean(3, 2)])
    problem = Problem(product, lambda x, y: np.sum(x) + np.sum(y), euclidean_gradient=gradient)
    with pytest.raises(ValueError, match=message):
        riemtr.PracticalTRM().solve(problem, rng=0)


class ReusesItsArrays:
    """A quadratic cost in one array of results for all points, as a frugal user may write it."""

    def __init__(self, matrix):
        self.matrix = matrix
        self.result = np.empty(len(matrix))

    def at(self, point):
        def product(vector):
            return np.dot(self.matrix, vector, out=self.result)

        return SimpleNamespace(
            value=0.5 * point @ self.matrix @ point - point.sum(),
            gradient=np.subtract(product(point), 1.0, out=self.result),
            hessian=product,
        )


def test_a_cost_may_use_its_arrays_again():
    matrix = np.diag(np.linspace(1.0, 100.0, 30))
    shared = Problem(pm.Euclidean(30), ReusesItsArrays(matrix))
    fresh = Problem(
        pm.Euclidean(30),
        lambda x: 0.5 * x @ matrix @ x - x.sum(),
        euclidean_gradient=lambda x: matrix @ x - 1.0,
        euclidean_hessian=lambda x, v: matrix @ v,
    )
    found, expected = (riemtr.PracticalTRM().solve(p, np.zeros(30)) for p in (shared, fresh))
    np.testing.assert_allclose(found.point, 1.0 / np.diag(matrix), rtol=1e-6)
    assert found.counts == expected.counts


def test_riemannian_products_in_one_array_are_kept_apart():
    result = np.empty(N)
    oracle = Oracle()

    def product(x, v):
        result[:] = oracle.hessian(x, v) - 2 * (x @ oracle.matrix @ x) * v
        result[:] -= (x @ result) * x
        return result

    problem = Problem(
        Sphere(N),
        oracle.cost,
        riemannian_gradient=lambda x: 2 * (MATRIX @ x - (x @ MATRIX @ x) * x),
        riemannian_hessian=product,
    )
    here = problem.at(np.eye(N)[0])
    first = here.hessian(np.eye(N)[1])
    before = first.copy()
    here.hessian(np.eye(N)[2])
    np.testing.assert_array_equal(first, before)


def test_where_nothing_verifies_autograd_differences_are_certified_as_what_they_are():
    calls = [0]

    def off_the_probe(x):
        if abs(x[0] - 5.0) > 1.0:
            raise ValueError("off the domain")

    def cost(x):
        off_the_probe(x)
        return float((x[0] - 5.0) ** 2 + 1e8 * (x[0] - 5.0) ** 4)

    def gradient(x):
        off_the_probe(x)
        calls[0] += 1
        return 2 * (x - 5.0) + 4e8 * (x - 5.0) ** 3

    problem = Problem(pm.Euclidean(1), cost, euclidean_gradient=gradient)
    point = np.array([5.0])
    here = problem.at(point)
    assert here.hessian_kind == "differences"
    calls[0] = 0
    for _ in range(5):
        here.hessian(np.ones(1))
    assert calls[0] == here.counts.gradients == 10
    certificate = riemtr.certify(problem, point)
    assert certificate.min_eigenvalue - certificate.error_bound <= 2.0  # the truth
