"""Tangent bases: orthonormal in the manifold's metric, complete, on every manifold there is."""

from __future__ import annotations

import numpy as np
import pymanopt.manifolds as pm
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riemtr import Problem, Sphere
from riemtr.manifolds import (
    ArrayBasis,
    GramSchmidtBasis,
    HouseholderBasis,
    exponential,
    inner,
    random_point,
    random_tangent,
    tangent_basis,
)
from tests.manifolds.zoo import ZOO, cost_on


@pytest.mark.parametrize("name", ZOO)
def test_orthonormal_and_complete_on_every_manifold(name):
    manifold, dimension = ZOO[name]
    rng = np.random.default_rng(1)
    point = random_point(manifold, rng)
    basis = tangent_basis(manifold, point)
    assert basis.dim == dimension
    vectors = [basis.vector(unit) for unit in np.eye(dimension)]
    gram = [[inner(manifold, point, a, b) for a in vectors] for b in vectors]
    np.testing.assert_allclose(gram, np.eye(dimension), atol=1e-12)
    for _ in range(3):
        c = rng.standard_normal(dimension)
        v = basis.vector(c)
        np.testing.assert_allclose(basis.coordinates(v), c, atol=1e-12)
        assert inner(manifold, point, v, v) == pytest.approx(c @ c, rel=1e-12)
        # Complete: no tangent vector has a part outside the span.
        w = random_tangent(manifold, point, rng)
        rest = w - basis.vector(basis.coordinates(w))
        assert inner(manifold, point, rest, rest) < 1e-20


@pytest.mark.parametrize("name", ZOO)
def test_hessian_matrix_is_the_costs_curvature_along_geodesics(name):
    manifold, dimension = ZOO[name]
    rng = np.random.default_rng(3)
    point = random_point(manifold, rng)
    problem = Problem(manifold, cost_on(manifold))
    here = problem.at(point)
    matrix = here.hessian_matrix()
    np.testing.assert_array_equal(matrix, matrix.T)
    size = np.abs(matrix).max()
    exact = problem.derivatives.hessian == "euclidean"
    for column, unit in enumerate(np.eye(dimension)):
        product = here.basis.coordinates(here.hessian(here.basis.vector(unit)))
        np.testing.assert_allclose(
            product, matrix[:, column], atol=(1e-12 if exact else 1e-7) * size
        )
    for _ in range(2):
        c = rng.standard_normal(dimension)
        c /= np.linalg.norm(c)
        v = here.basis.vector(c)

        def along(t, v=v):
            return problem.at(exponential(manifold, point, t * v)).cost

        t = 2e-3
        slope = (8 * (along(t) - along(-t)) - (along(2 * t) - along(-2 * t))) / (12 * t)
        bend = 16 * (along(t) + along(-t)) - (along(2 * t) + along(-2 * t)) - 30 * here.cost
        bend /= 12 * t * t
        assert inner(manifold, point, here.gradient, v) == pytest.approx(
            slope, abs=1e-7 * (1 + here.gradient_norm)
        )
        assert c @ matrix @ c == pytest.approx(bend, abs=1e-6 * (1 + size))


@given(st.integers(0, 10**6), st.integers(1, 40))
@settings(max_examples=60, deadline=None)
def test_householder_applied_is_householder_formed(seed, n):
    rng = np.random.default_rng(seed)
    q = Sphere(n).random_point(rng)
    basis = HouseholderBasis(q)
    frame = basis.matrix()
    assert frame.shape == (n, n - 1)
    np.testing.assert_allclose(frame.T @ frame, np.eye(n - 1), atol=1e-14)
    np.testing.assert_allclose(q @ frame, 0.0, atol=1e-15)
    c, v = rng.standard_normal(n - 1), rng.standard_normal(n)
    np.testing.assert_allclose(basis.vector(c), frame @ c, atol=1e-14)
    np.testing.assert_allclose(basis.coordinates(v), frame.T @ v, atol=1e-14)
    matrix = rng.standard_normal((n, n))
    matrix += matrix.T
    np.testing.assert_allclose(basis.compress(matrix), frame.T @ matrix @ frame, atol=1e-13)


@pytest.mark.parametrize("sign", [1.0, -1.0, 0.0, -0.0])
def test_householder_at_the_poles_and_on_the_equator(sign):
    # The sign of the axis is chosen so that nothing cancels, whatever the first coordinate.
    for tiny in (0.0, 1e-17, 1e-8):
        q = np.array([sign, tiny, 0.0 if sign else 1.0])
        q /= np.linalg.norm(q)
        frame = HouseholderBasis(q).matrix()
        np.testing.assert_allclose(frame.T @ frame, np.eye(2), atol=1e-15)
        np.testing.assert_allclose(q @ frame, 0.0, atol=2e-16)


def test_householder_leaves_the_point_alone():
    q = Sphere(5).random_point(0)
    q.flags.writeable = False
    basis = HouseholderBasis(q)
    c = np.ones(4)
    basis.vector(c)
    basis.matrix()
    np.testing.assert_array_equal(c, np.ones(4))


def test_kinds_are_chosen_by_the_metric():
    kinds = {
        "riemtr-sphere": HouseholderBasis,
        "stiefel": ArrayBasis,
        "unitary": ArrayBasis,
        "spd": GramSchmidtBasis,
        "poincare": GramSchmidtBasis,
        "fixed-rank": ArrayBasis,
        "product": ArrayBasis,
        "product-mixed": ArrayBasis,
        "product-spd": GramSchmidtBasis,
    }
    for name, kind in kinds.items():
        manifold, _ = ZOO[name]
        point = random_point(manifold, np.random.default_rng(0))
        assert isinstance(tangent_basis(manifold, point), kind)


@pytest.mark.parametrize("name", ["fixed-rank", "product", "product-mixed", "product-rigid"])
def test_flattened_arrays_give_what_gram_schmidt_gives(name):
    manifold, dimension = ZOO[name]
    rng = np.random.default_rng(2)
    point = random_point(manifold, rng)
    spanning = [random_tangent(manifold, point, rng) for _ in range(dimension)]
    flat, slow = ArrayBasis(spanning), GramSchmidtBasis(manifold, point, spanning)
    assert flat.dim == slow.dim == dimension
    # The same span, orthonormal in the same metric: the bases differ by an orthogonal matrix.
    turn = np.array([slow.coordinates(flat.vector(unit)) for unit in np.eye(dimension)])
    np.testing.assert_allclose(turn @ turn.T, np.eye(dimension), atol=1e-12)
    vector = flat.vector(rng.standard_normal(dimension))
    assert type(vector) is type(manifold.zero_vector(point))
    np.testing.assert_allclose(flat.coordinates(vector) @ turn, slow.coordinates(vector))


def test_vectors_that_are_no_sequences_are_left_to_gram_schmidt():
    class Vector:
        def __init__(self, array):
            self.array = array

        def __add__(self, other):
            return Vector(self.array + other.array)

        def __sub__(self, other):
            return Vector(self.array - other.array)

        def __mul__(self, factor):
            return Vector(factor * self.array)

        __rmul__ = __mul__

        def __truediv__(self, factor):
            return Vector(self.array / factor)

    class Plane(pm.Euclidean):
        def inner_product(self, point, a, b):
            return a.array @ b.array

        def norm(self, point, vector):
            return np.linalg.norm(vector.array)

        def zero_vector(self, point):
            return Vector(np.zeros(2))

        def random_tangent_vector(self, point, rng):
            return Vector(rng.standard_normal(2))

    basis = tangent_basis(Plane(2), np.zeros(2))
    assert isinstance(basis, GramSchmidtBasis)
    assert np.linalg.norm(basis.vector(np.array([3.0, 4.0])).array) == pytest.approx(5.0)


def test_same_basis_every_time_and_no_global_randomness():
    manifold = pm.Stiefel(4, 2)
    point = random_point(manifold, np.random.default_rng(0))
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    c = np.arange(5.0)
    np.testing.assert_array_equal(
        tangent_basis(manifold, point).vector(c), tangent_basis(manifold, point).vector(c)
    )
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002


def test_basis_of_dimension_zero():
    for manifold, point in [(Sphere(1), np.array([-1.0])), (pm.Sphere(1), np.array([1.0]))]:
        basis = tangent_basis(manifold, point)
        assert basis.dim == 0
        np.testing.assert_array_equal(basis.vector(np.zeros(0)), [0.0])
        assert len(basis.coordinates(np.zeros(1))) == 0


@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
def test_array_basis_keeps_single_precision(dtype):
    spanning = list(np.eye(3, dtype=dtype)[:2])
    basis = ArrayBasis(spanning)
    v = basis.vector(np.array([1.0, 2.0]))
    assert v.dtype == dtype
    np.testing.assert_allclose(np.linalg.norm(v), np.sqrt(5), rtol=1e-6)


def test_dependent_vectors_are_dropped():
    spanning = [np.array([1.0, 0.0, 0.0]), np.array([2.0, 1e-12, 0.0]), np.array([1.0, 1.0, 0.0])]
    assert ArrayBasis(spanning).dim == 2
    assert GramSchmidtBasis(pm.Euclidean(3), np.zeros(3), spanning).dim == 2


@pytest.mark.parametrize("manifold", [pm.Euclidean(3), pm.Euclidean(2, 3), pm.ComplexEuclidean(2)])
def test_a_space_of_arrays_has_its_unit_vectors(manifold):
    point = random_point(manifold, np.random.default_rng(0))
    vector = random_tangent(manifold, point, np.random.default_rng(1))
    basis = tangent_basis(manifold, point)
    assert basis.dim == manifold.dim
    coordinates = basis.coordinates(vector)
    assert coordinates @ coordinates == pytest.approx(manifold.norm(point, vector) ** 2)
    np.testing.assert_array_equal(basis.vector(coordinates), vector)


def test_another_metric_on_a_space_of_arrays_gets_a_basis_of_its_own():
    class Weighted(pm.Euclidean):
        def inner_product(self, point, a, b):
            return 4.0 * float(np.vdot(a, b))

        def norm(self, point, vector):
            return 2.0 * float(np.linalg.norm(vector))

    manifold = Weighted(3)
    basis = tangent_basis(manifold, np.zeros(3))
    for unit in np.eye(3):
        assert manifold.norm(np.zeros(3), basis.vector(unit)) == pytest.approx(1.0)
