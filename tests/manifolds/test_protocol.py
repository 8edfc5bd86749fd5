"""What smooths over the differences, and the faults, of pymanopt's manifolds."""

from __future__ import annotations

import itertools
import math
import warnings

import autograd.numpy as anp
import numpy as np
import pymanopt.manifolds as pm
import pytest
from pymanopt.manifolds.manifold import Manifold as PymanoptManifold

import riemtr
from riemtr import Problem, Sphere
from riemtr.manifolds import (
    Manifold,
    converts_hessians,
    exponential,
    has_exponential,
    inner,
    is_bounded,
    random_point,
    random_tangent,
    retraction,
    to_tangent,
    transport,
    typical_distance,
)
from riemtr.manifolds.protocol import lacking
from riemtr.problem.layout import flatten, unflatten
from riemtr.problem.points import check_point
from tests.manifolds.zoo import ZOO, cost_on

NO_EXPONENTIAL = {"product-quotient", "fixed-rank", "elliptope", "product-mixed"}
NO_HESSIAN = {"product-hpd", "fixed-rank", "special-hpd", "special-hpd-2", "product-mixed"}


def difference(a, b, layout):
    pairs = zip(flatten(a, layout), flatten(b, layout), strict=True)
    return max(float(np.abs(x - y).max()) for x, y in pairs)


@pytest.mark.parametrize("name", ZOO)
def test_every_manifold_satisfies_the_protocol(name):
    assert isinstance(ZOO[name][0], Manifold)


@pytest.mark.parametrize("name", ZOO)
def test_randomness_comes_from_the_generator(name):
    manifold, _ = ZOO[name]
    layout = manifold.point_layout
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    first = random_point(manifold, np.random.default_rng(4))
    again = random_point(manifold, np.random.default_rng(4))
    other = random_point(manifold, np.random.default_rng(5))
    assert difference(first, again, layout) == 0.0
    assert difference(first, other, layout) > 0.0
    v, w = (random_tangent(manifold, first, np.random.default_rng(6)) for _ in range(2))
    assert inner(manifold, first, v - w, v - w) == 0.0
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002


@pytest.mark.parametrize("name", ZOO)
def test_moves_agree_to_first_order_and_stay_on_the_manifold(name):
    manifold, _ = ZOO[name]
    layout = manifold.point_layout
    rng = np.random.default_rng(2)
    point = random_point(manifold, rng)
    v = random_tangent(manifold, point, rng)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gaps = [
            difference(
                exponential(manifold, point, t * v), retraction(manifold, point, t * v), layout
            )
            for t in (1e-2, 1e-3)
        ]
    assert gaps[1] <= 1e-2 * gaps[0] * 1.1 + 1e-14
    there = exponential(manifold, point, 0.3 * v)
    again = retraction(manifold, there, manifold.zero_vector(there))
    if name not in {"fixed-rank", "product-mixed"}:  # whose factors are not unique
        assert difference(there, again, layout) < 1e-13


@pytest.mark.parametrize("name", ZOO)
def test_has_exponential(name):
    assert has_exponential(ZOO[name][0]) == (name not in NO_EXPONENTIAL)


@pytest.mark.parametrize("name", ZOO)
def test_converts_hessians(name):
    manifold, _ = ZOO[name]
    assert converts_hessians(manifold) == (name not in NO_HESSIAN)
    derivatives = Problem(manifold, cost_on(manifold)).derivatives
    assert derivatives.hessian == ("differences" if name in NO_HESSIAN else "euclidean")


@pytest.mark.parametrize("name", sorted(set(ZOO) - NO_HESSIAN))
def test_differences_of_a_gradient_are_the_hessian(name):
    # Right only with a transport that is parallel to first order.
    manifold, _ = ZOO[name]
    layout = manifold.point_layout
    rng = np.random.default_rng(7)
    point = random_point(manifold, rng)
    exact = Problem(manifold, cost_on(manifold))

    def gradient(*arrays):
        found = exact.at(unflatten(list(arrays), layout)).gradient
        return found if layout == 1 else list(flatten(found, layout))

    approximate = Problem(manifold, cost_on(manifold), riemannian_gradient=gradient)
    here, there = exact.at(point), approximate.at(point)
    v = random_tangent(manifold, point, rng)
    product = here.hessian(v)
    error = here.norm(there.hessian(v) - product)
    assert error <= 1e-7 * (here.norm(product) + here.gradient_norm)
    matrix = here.hessian_matrix()
    np.testing.assert_allclose(there.hessian_matrix(), matrix, atol=1e-7 * np.abs(matrix).max())


@pytest.mark.parametrize("name", ["spd", "hpd", "special-hpd", "rotations", "unitary", "poincare"])
def test_pole_ladder_is_an_isometry_and_carries_the_velocity(name):
    manifold, _ = ZOO[name]
    rng = np.random.default_rng(8)
    a = random_point(manifold, rng)
    v, w = (random_tangent(manifold, a, rng) for _ in range(2))
    step = 0.2 * random_tangent(manifold, a, rng)
    b = exponential(manifold, a, step)
    moved = [transport(manifold, a, b, u) for u in (v, 3.0 * w)]
    assert inner(manifold, b, *moved) == pytest.approx(3.0 * inner(manifold, a, v, w), abs=1e-10)
    assert inner(manifold, b, moved[0], moved[0]) == pytest.approx(1.0, rel=1e-10)
    velocity = -manifold.log(b, a)
    gap = transport(manifold, a, b, step) - velocity
    assert math.sqrt(abs(inner(manifold, b, gap, gap))) < 1e-10
    nothing = transport(manifold, a, b, manifold.zero_vector(a))
    assert np.abs(nothing).max() == 0.0


def test_gradient_on_the_unitary_group_finds_the_nearest_unitary_matrix():
    # pymanopt projects onto the skew-symmetric matrices there, and its optimizers fail.
    rng = np.random.default_rng(9)
    target = rng.standard_normal((3, 3)) + 1j * rng.standard_normal((3, 3))
    left, values, right = np.linalg.svd(target)
    problem = Problem(
        pm.UnitaryGroup(3),
        lambda x: float(-np.real(np.vdot(target, x))),
        euclidean_gradient=lambda x: -target,
        euclidean_hessian=lambda x, v: np.zeros_like(v),
    )
    assert riemtr.check_gradient(problem, rng=0).ok
    assert riemtr.check_hessian(problem, rng=0).ok
    result = riemtr.PracticalTRM(tolerance=1e-9).solve(problem, rng=1)
    assert result.cost == pytest.approx(-values.sum(), rel=1e-12)
    np.testing.assert_allclose(result.point, left @ right, atol=1e-7)


def test_exponential_of_the_complex_circle_turns_each_phase():
    manifold = pm.ComplexCircle(3)
    phases = np.array([0.1, 2.0, -3.0])
    turn = np.array([0.5, 0.0, -7.0])
    point = np.exp(1j * phases)
    moved = exponential(manifold, point, 1j * turn * point)
    np.testing.assert_allclose(moved, np.exp(1j * (phases + turn)), atol=1e-14)


def test_random_tangents_of_the_elliptope_are_horizontal():
    manifold = pm.Elliptope(5, 3)
    rng = np.random.default_rng(0)
    y = random_point(manifold, rng)
    v = random_tangent(manifold, y, rng)
    np.testing.assert_allclose(np.sum(y * v, axis=1), 0.0, atol=1e-14)
    # Orthogonal to every gauge direction y S with S skew.
    np.testing.assert_allclose(y.T @ v, v.T @ y, atol=1e-13)


def test_typical_distance():
    assert typical_distance(Sphere(3)) == math.pi
    assert typical_distance(pm.Stiefel(4, 2)) == pytest.approx(math.sqrt(2))

    class Bare(PymanoptManifold):
        pass

    Bare.__abstractmethods__ = frozenset()
    assert typical_distance(Bare("bare", 9)) == 3.0
    assert typical_distance(Bare("point", 0)) == 1.0


def test_hermitian_inner_products_are_taken_real():
    manifold = pm.UnitaryGroup(2)
    point = np.eye(2, dtype=complex)
    v = np.array([[1j, 1.0], [-1.0, 0]])
    assert isinstance(inner(manifold, point, v, v), float)
    assert inner(manifold, point, v, v) == 3.0


@pytest.mark.parametrize("size", [0.0, 1e-300, 1e-16, 1e-8, 1.0])
def test_factors_of_fixed_rank_stay_orthonormal(size):
    """pymanopt's retraction takes an orthonormal basis of a step that may have none."""
    manifold = pm.FixedRankEmbedded(8, 6, 2)
    rng = np.random.default_rng(0)
    point = random_point(manifold, rng)
    for _ in range(50):
        vector = random_tangent(manifold, point, rng)
        flat = type(vector)(size * vector.Up, 0.1 * vector.M, size * vector.Vp)
        step = 0.1 * flat
        plain = manifold.retraction(point, step)
        moved = retraction(manifold, point, step)
        np.testing.assert_allclose(
            (moved[0] * moved[1]) @ moved[2], (plain[0] * plain[1]) @ plain[2], atol=1e-12
        )
        point = moved
    np.testing.assert_allclose(point[0].T @ point[0], np.eye(2), atol=1e-14)
    np.testing.assert_allclose(point[2] @ point[2].T, np.eye(2), atol=1e-14)
    assert check_point(manifold, point) is not None


def test_a_product_is_bounded_if_its_factors_are():
    policy = riemtr.AdaptiveRadius()
    for factors, bounded in (
        ([riemtr.Sphere(3), riemtr.Sphere(4)], True),
        ([riemtr.Sphere(3), pm.Euclidean(4)], False),
    ):
        manifold = pm.Product(factors)
        assert is_bounded(manifold) == bounded
        problem = riemtr.Problem(manifold, lambda x, y: x[0] + y[0])
        assert np.isfinite(policy.limit(problem)) == bounded


@pytest.mark.parametrize("manifold", [pm.Symmetric(3), pm.SkewSymmetric(3)])
def test_tangent_vectors_keep_the_symmetry(manifold):
    point, vector = manifold.random_point(), np.random.default_rng(0).standard_normal((3, 3))
    tangent = to_tangent(manifold, point, vector)
    sign = 1.0 if isinstance(manifold, pm.Symmetric) else -1.0
    np.testing.assert_allclose(tangent, sign * tangent.T)


def test_without_a_transport_a_submanifold_projects():
    """By which differences of a gradient are the Hessian, as by its own transport."""

    class Bare(pm.Stiefel):
        transport = PymanoptManifold.transport

    rng = np.random.default_rng(0)
    matrix = rng.standard_normal((4, 4))
    matrix = matrix + matrix.T

    def hessian(manifold, **gradient):
        problem = Problem(manifold, lambda x: anp.sum(x * (matrix @ x)) + x[0, 0], **gradient)
        return problem.at(point).hessian(vector)

    point = random_point(pm.Stiefel(4, 2), rng)
    vector = random_tangent(pm.Stiefel(4, 2), point, rng)
    exact = Problem(Bare(4, 2), lambda x: anp.sum(x * (matrix @ x)) + x[0, 0])
    by_differences = hessian(Bare(4, 2), riemannian_gradient=lambda x: exact.at(x).gradient)
    np.testing.assert_allclose(by_differences, hessian(pm.Stiefel(4, 2)), atol=1e-8)


@pytest.mark.parametrize("name", ZOO)
def test_no_manifold_of_pymanopt_lacks_anything(name):
    for gradient, kind in itertools.product(
        ("euclidean", "riemannian"), ("euclidean", "differences")
    ):
        assert lacking(ZOO[name][0], gradient, kind) == {}


def test_where_projection_is_no_transport_none_is_made_up():
    class Other:
        """Not said to be embedded in anything."""

        def projection(self, point, vector):
            return vector

    assert "transport" in lacking(Other(), "riemannian", "differences")
    assert "transport" not in lacking(Other(), "riemannian", "riemannian")
    with pytest.raises(NotImplementedError, match="Other lacks transport"):
        transport(Other(), np.zeros(2), np.ones(2), np.ones(2))
