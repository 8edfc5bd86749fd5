"""Bases of tangent spaces; that they are orthonormal and complete is in the manifolds' contract."""

from __future__ import annotations

import numpy as np
import pymanopt.manifolds as pm
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riemtr import Oblique, PositiveDefinite, Rotations, Sphere, Stiefel
from riemtr.manifolds import HouseholderBasis, TangentSpace, adapt
from riemtr.manifolds.basis import ArrayBasis, MetricBasis
from tests.manifolds.zoo import NATIVE


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


@pytest.mark.parametrize("name", NATIVE)
def test_closed_forms_span_what_random_vectors_span(name):
    manifold, dimension = NATIVE[name]
    space = manifold.space(manifold.random_point(2))
    own, drawn = space.basis(), TangentSpace.basis(space)
    assert own.dim == drawn.dim == dimension
    # The same span, orthonormal in the same metric: the bases differ by an orthogonal matrix.
    turn = np.array([drawn.coordinates(own.vector(unit)) for unit in np.eye(dimension)])
    np.testing.assert_allclose(turn @ turn.T, np.eye(dimension), atol=1e-12)
    vector = own.vector(np.random.default_rng(0).standard_normal(dimension))
    assert vector.shape == space.zero().shape
    np.testing.assert_allclose(own.coordinates(vector) @ turn, drawn.coordinates(vector))


def test_any_metric_gives_what_dot_products_give():
    rng = np.random.default_rng(2)
    spanning = list(rng.standard_normal((3, 5)))
    flat = ArrayBasis(spanning, spanning[0])
    slow = MetricBasis(spanning, spanning[0], lambda a, b: float(a @ b))
    turn = np.array([slow.coordinates(flat.vector(unit)) for unit in np.eye(3)])
    np.testing.assert_allclose(turn @ turn.T, np.eye(3), atol=1e-12)


def test_same_basis_every_time_and_no_global_randomness():
    manifold = adapt(pm.UnitaryGroup(2))
    point = manifold.random_point(0)
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    first, again = (manifold.space(point).basis().vector(np.arange(4.0)) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002


@pytest.mark.parametrize(
    ("manifold", "point"),
    [
        (Sphere(1), np.array([-1.0])),
        (pm.Sphere(1), np.array([1.0])),
        (Oblique(1, 2), np.array([[1.0, -1.0]])),
        (Stiefel(1, 1), np.array([[1.0]])),
        (Rotations(1), np.array([[1.0]])),
        (pm.SkewSymmetric(1), np.array([[0.0]])),
    ],
    ids=str,
)
def test_basis_of_dimension_zero(manifold, point):
    space = adapt(manifold).space(point)
    basis = space.basis()
    assert basis.dim == 0
    np.testing.assert_array_equal(basis.vector(np.zeros(0)), 0.0 * point)
    assert len(basis.coordinates(np.zeros(point.shape))) == 0
    np.testing.assert_array_equal(space.random(np.random.default_rng(0)), 0.0 * point)


def test_array_basis_of_dimension_zero():
    assert ArrayBasis([], np.zeros(3)).vector(np.zeros(0)).shape == (3,)


@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
def test_array_basis_keeps_single_precision(dtype):
    spanning = list(np.eye(3, dtype=dtype)[:2])
    v = ArrayBasis(spanning, spanning[0]).vector(np.array([1.0, 2.0]))
    assert v.dtype == dtype
    np.testing.assert_allclose(np.linalg.norm(v), np.sqrt(5), rtol=1e-6)


def test_dependent_vectors_are_dropped():
    spanning = [np.array([1.0, 0.0, 0.0]), np.array([2.0, 1e-12, 0.0]), np.array([1.0, 1.0, 0.0])]
    assert ArrayBasis(spanning, spanning[0]).dim == 2
    assert MetricBasis(spanning, spanning[0], lambda a, b: float(a @ b)).dim == 2


@pytest.mark.parametrize("manifold", [pm.Euclidean(3), pm.Euclidean(2, 3), pm.ComplexEuclidean(2)])
def test_a_space_of_arrays_has_its_unit_vectors(manifold):
    adapted = adapt(manifold)
    space = adapted.space(adapted.random_point(0))
    vector, basis = space.random(np.random.default_rng(1)), space.basis()
    assert basis.dim == adapted.dim
    coordinates = basis.coordinates(vector)
    assert coordinates @ coordinates == pytest.approx(space.norm(vector) ** 2)
    np.testing.assert_array_equal(basis.vector(coordinates), vector)


def test_symmetric_unit_matrices():
    basis = PositiveDefinite(2).space(np.eye(2)).basis()
    unit = basis.vector(np.array([0.0, 1.0, 0.0]))
    np.testing.assert_allclose(unit, np.array([[0.0, 1.0], [1.0, 0.0]]) / np.sqrt(2.0))
