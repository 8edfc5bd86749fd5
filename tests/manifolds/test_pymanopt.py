"""The adapter, and the repairs of what is wrong with pymanopt's manifolds."""

from __future__ import annotations

import itertools
import math

import autograd.numpy as anp
import numpy as np
import pymanopt.manifolds as pm
import pytest
from pymanopt.manifolds.manifold import Manifold as PymanoptManifold

import riemtr
from riemtr import Problem
from riemtr.manifolds import Product, adapt, lacking
from riemtr.manifolds.basis import ArrayBasis, HouseholderBasis, MetricBasis
from riemtr.manifolds.product import ProductBasis
from riemtr.manifolds.pymanopt import FromPymanopt, PackedBasis
from tests.manifolds.zoo import PYMANOPT, ZOO

# -- which manifold of riemtr stands for one of pymanopt ------------------------------------------

COUNTERPARTS = [
    (pm.Sphere(5), "Sphere(5)"),
    (pm.Oblique(3, 4), "Oblique(3, 4)"),
    (pm.Stiefel(5, 2), "Stiefel(5, 2)"),
    (pm.Stiefel(4, 2, k=3), "Stiefel(4, 2, k=3)"),
    (pm.Grassmann(4, 2, k=3), "Grassmann(4, 2, k=3)"),
    (pm.SpecialOrthogonalGroup(3, k=2), "Rotations(3, k=2)"),
    (pm.SymmetricPositiveDefinite(2, k=2), "PositiveDefinite(2, k=2)"),
    (pm.FixedRankEmbedded(5, 4, 2), "FixedRank(5, 4, 2)"),
    (pm.Euclidean(2, 3), "Euclidean(2, 3)"),
    (pm.Product([pm.Sphere(3), pm.Euclidean(2)]), "Product([Sphere(3), Euclidean(2)])"),
]


@pytest.mark.parametrize(("theirs", "ours"), COUNTERPARTS, ids=lambda each: str(each))
def test_riemtrs_own_manifold_stands_for_pymanopts(theirs, ours):
    assert repr(adapt(theirs)) == ours
    assert not isinstance(adapt(theirs), FromPymanopt)

    class Derived(type(theirs)):
        """It alters nothing, and has a method that is nobody's business."""

        def to_table(self):
            return []

    derived = object.__new__(Derived)
    derived.__dict__.update(theirs.__dict__)
    assert repr(adapt(derived)) == ours


def test_a_choice_that_only_pymanopt_knows_is_kept():
    for manifold in (pm.Stiefel(4, 2, retraction="polar"), pm.Sphere(3, 2)):
        assert adapt(manifold).original is manifold


def test_a_subclass_with_a_method_of_its_own_keeps_it():
    class Slow(pm.Stiefel):
        def retraction(self, point, tangent_vector):
            moved.append(point)
            return super().retraction(point, tangent_vector)

    moved = []
    manifold = adapt(Slow(4, 2))
    space = manifold.space(manifold.random_point(0))
    space.move(space.random(np.random.default_rng(1)))
    assert len(moved) == 1
    assert manifold.dim == 5


@pytest.mark.parametrize(
    ("kind", "size"),
    [
        (pm.Grassmann, (4, 2)),
        (pm.SpecialOrthogonalGroup, (4,)),
        (pm.SymmetricPositiveDefinite, (3,)),
        (pm.FixedRankEmbedded, (5, 4, 2)),
        (pm.HermitianPositiveDefinite, (2,)),
    ],
)
def test_a_subclass_that_alters_something_else_keeps_the_repair(kind, size):
    class Derived(kind):
        @property
        def typical_dist(self):
            return 17.0

    manifold = adapt(Derived(*size))
    assert isinstance(manifold, FromPymanopt)
    assert manifold.typical_dist == 17.0
    report = riemtr.testing.check_manifold(manifold)
    assert report.ok, str(report)
    point = manifold.random_point(0)
    assert manifold.check_point(point) is not point


def test_a_subclass_of_a_product_with_a_method_of_its_own_keeps_it():
    class Weighted(pm.Product):
        def inner_product(self, point, tangent_vector_a, tangent_vector_b):
            a, b = tangent_vector_a, tangent_vector_b
            return float(a[0] @ b[0] + 4.0 * (a[1] @ b[1]))

        def norm(self, point, tangent_vector):
            return math.sqrt(self.inner_product(point, tangent_vector, tangent_vector))

    manifold = adapt(Weighted([pm.Sphere(3), pm.Euclidean(2)]))
    assert manifold.original.__class__ is Weighted
    assert not manifold.bounded
    assert not manifold.dot_metric
    space = manifold.space(manifold.random_point(0))
    basis = space.basis()
    assert isinstance(basis, MetricBasis)
    vectors = [basis.vector(unit) for unit in np.eye(4)]
    gram = [[space.inner(a, b) for a in vectors] for b in vectors]
    np.testing.assert_allclose(gram, np.eye(4), atol=1e-12)


def test_kinds_of_bases_are_chosen_by_the_metric():
    kinds = {
        "riemtr-sphere": HouseholderBasis,
        "sphere": HouseholderBasis,
        "unitary": ArrayBasis,
        "product-mixed": ProductBasis,
        "poincare": None,
    }
    for name, kind in kinds.items():
        manifold = adapt(ZOO[name][0])
        basis = manifold.space(manifold.random_point(0)).basis()
        assert kind is None or isinstance(basis, kind)


# -- other people's classes -----------------------------------------------------------------------


class Weighted(pm.Euclidean):
    """A metric that is no dot product."""

    def inner_product(self, point, a, b):
        return 4.0 * float(np.vdot(a, b))

    def norm(self, point, vector):
        return 2.0 * float(np.linalg.norm(vector))


def test_another_metric_on_a_space_of_arrays_gets_a_basis_of_its_own():
    manifold = Weighted(3)
    space = adapt(manifold).space(np.zeros(3))
    basis = space.basis()
    assert isinstance(basis, MetricBasis)
    for unit in np.eye(3):
        assert manifold.norm(np.zeros(3), basis.vector(unit)) == pytest.approx(1.0)
        np.testing.assert_allclose(basis.coordinates(basis.vector(unit)), unit, atol=1e-12)
    assert space.norm(np.ones(3)) == pytest.approx(2.0 * math.sqrt(3.0))


def test_a_tangent_basis_of_the_manifolds_own_is_used():
    class Axes:
        dim = 2

        def coordinates(self, vector):
            return vector[::-1]

        def vector(self, coordinates):
            return coordinates[::-1]

    class Plane(pm.Euclidean):
        def tangent_basis(self, point):
            return Axes()

    basis = adapt(Plane(2)).space(np.zeros(2)).basis()
    assert isinstance(basis, PackedBasis)
    np.testing.assert_array_equal(basis.coordinates(np.array([1.0, 2.0])), [2.0, 1.0])


def test_typical_distance():
    assert adapt(riemtr.Sphere(3)).typical_dist == math.pi
    assert adapt(pm.Stiefel(4, 2)).typical_dist == pytest.approx(math.sqrt(2))

    class Bare(PymanoptManifold):
        pass

    Bare.__abstractmethods__ = frozenset()
    assert adapt(Bare("bare", 9)).typical_dist == 3.0
    assert adapt(Bare("point", 0)).typical_dist == 1.0


def test_without_a_transport_a_submanifold_projects():
    """By which differences of a gradient are the Hessian, as by its own transport."""

    class Bare(pm.Stiefel):
        transport = PymanoptManifold.transport

    rng = np.random.default_rng(0)
    matrix = rng.standard_normal((4, 4))
    matrix = matrix + matrix.T

    def cost(x):
        return anp.sum(x * (matrix @ x)) + x[0, 0]

    point = riemtr.Stiefel(4, 2).random_point(rng)
    vector = riemtr.Stiefel(4, 2).random_tangent_vector(point, rng)
    exact = Problem(Bare(4, 2), cost)
    other = Problem(Bare(4, 2), cost, riemannian_gradient=lambda x: exact.at(x).gradient)
    expected = Problem(pm.Stiefel(4, 2), cost).at(point).hessian(vector)
    np.testing.assert_allclose(other.at(point).hessian(vector), expected, atol=1e-8)


@pytest.mark.parametrize("name", ZOO)
def test_no_manifold_of_the_zoo_lacks_anything(name):
    for gradient, kind in itertools.product(
        ("euclidean", "riemannian"), ("euclidean", "differences")
    ):
        assert lacking(ZOO[name][0], gradient, kind) == {}


class Other:
    """Not said to be embedded in anything."""

    dim = 2

    def projection(self, point, vector):
        return vector


def test_where_projection_is_no_transport_none_is_made_up():
    assert "transport" in lacking(Other(), "riemannian", "differences")
    assert "transport" not in lacking(Other(), "riemannian", "riemannian")
    manifold = adapt(Other())
    with pytest.raises(NotImplementedError, match="Other lacks transport"):
        manifold.space(np.ones(2)).transported(np.ones(2), manifold.space(np.zeros(2)))


def test_drawing_without_a_generator_is_numpys_global_state():
    for manifold in (riemtr.Stiefel(4, 2), adapt(pm.UnitaryGroup(2)), adapt(pm.Positive(2, 2))):
        points = []
        for _ in range(2):
            np.random.seed(3)  # noqa: NPY002
            points.append(manifold.random_point())
        np.testing.assert_array_equal(*points)


@pytest.mark.parametrize("name", PYMANOPT)
def test_pymanopts_names_of_methods_work_on_what_was_adapted(name):
    manifold = adapt(PYMANOPT[name][0])
    point = manifold.random_point(0)
    vector = manifold.random_tangent_vector(point, 1)
    there = manifold.retraction(point, vector)
    moved = manifold.transport(point, there, vector)
    assert manifold.inner_product(there, moved, moved) > 0.0
    kept = manifold.to_tangent_space(there, moved)
    assert manifold.norm(there, kept) == pytest.approx(manifold.norm(there, moved), rel=1e-10)
    if not isinstance(manifold, Product):
        assert manifold.num_values == manifold.point_layout


# -- repairs --------------------------------------------------------------------------------------


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
    phases = np.array([0.1, 2.0, -3.0])
    turn = np.array([0.5, 0.0, -7.0])
    point = np.exp(1j * phases)
    moved = adapt(pm.ComplexCircle(3)).exp(point, 1j * turn * point)
    np.testing.assert_allclose(moved, np.exp(1j * (phases + turn)), atol=1e-14)


def test_random_tangents_of_the_elliptope_are_horizontal():
    manifold = adapt(pm.Elliptope(5, 3))
    y = manifold.random_point(0)
    v = manifold.random_tangent_vector(y, 1)
    np.testing.assert_allclose(np.sum(y * v, axis=1), 0.0, atol=1e-14)
    # Orthogonal to every gauge direction y S with S skew.
    np.testing.assert_allclose(y.T @ v, v.T @ y, atol=1e-13)


def test_where_a_point_of_the_elliptope_lacks_rank_there_are_more_directions():
    manifold = adapt(pm.Elliptope(4, 2))
    flat = np.array([[1.0, 0.0], [-1.0, 0.0], [1.0, 0.0], [1.0, 0.0]])
    space = manifold.space(flat)
    assert np.isfinite(space.tangent(np.ones((4, 2)))).all()
    # The turn of all rows is the one direction along which no cost changes.
    assert space.basis().dim == 3


def test_hermitian_inner_products_are_taken_real():
    manifold = adapt(pm.UnitaryGroup(2))
    point = np.eye(2, dtype=complex)
    v = np.array([[1j, 1.0], [-1.0, 0]])
    assert isinstance(manifold.inner_product(point, v, v), float)
    assert manifold.inner_product(point, v, v) == 3.0


@pytest.mark.parametrize("size", [0.0, 1e-300, 1e-16, 1e-8, 1.0])
def test_factors_of_fixed_rank_stay_orthonormal(size):
    """pymanopt's retraction takes an orthonormal basis of a step that may have none."""
    theirs = pm.FixedRankEmbedded(8, 6, 2)
    manifold, rng = adapt(theirs), np.random.default_rng(0)
    point = manifold.random_point(rng)
    for _ in range(50):
        vector = manifold.random_tangent_vector(point, rng)
        flat = type(vector)(size * vector.Up, 0.1 * vector.M, size * vector.Vp)
        step = 0.1 * flat
        plain = theirs.retraction(point, step)
        moved = manifold.retraction(point, step)
        np.testing.assert_allclose(
            (moved[0] * moved[1]) @ moved[2], (plain[0] * plain[1]) @ plain[2], atol=1e-12
        )
        point = moved
    np.testing.assert_allclose(point[0].T @ point[0], np.eye(2), atol=1e-14)
    np.testing.assert_allclose(point[2] @ point[2].T, np.eye(2), atol=1e-14)
    assert manifold.check_point(point) is not None


@pytest.mark.parametrize("manifold", [pm.Symmetric(3), pm.SkewSymmetric(3)])
def test_tangent_vectors_keep_the_symmetry(manifold):
    vector = np.random.default_rng(0).standard_normal((3, 3))
    tangent = adapt(manifold).space(manifold.random_point()).tangent(vector)
    sign = 1.0 if isinstance(manifold, pm.Symmetric) else -1.0
    np.testing.assert_allclose(tangent, sign * tangent.T)


def test_a_point_on_the_boundary_of_the_ball_is_no_warning_but_nan():
    manifold = adapt(pm.PoincareBall(2))
    inside, edge = manifold.space(np.array([0.5, 0.0])), manifold.space(np.array([1.0, 0.0]))
    with np.errstate(all="raise"):
        assert np.isnan(edge.gradient(np.ones(2))).all()
        assert np.isnan(inside.transported(edge.gradient(np.ones(2)), edge)).all()
    assert manifold.has_left(edge.point)


@pytest.mark.parametrize(
    ("manifold", "point", "words"),
    [
        (pm.Symmetric(2), [[0.0, 1.0], [2.0, 0.0]], "equal its transpose"),
        (pm.SkewSymmetric(2), [[0.0, 1.0], [2.0, 0.0]], "minus its transpose"),
        (pm.Sphere(2, 2), [[1.0, 1.0], [0.0, 0.0]], "must have norm 1; its norm is 1.41"),
        (pm.SphereSubspaceIntersection(np.eye(3)[:, :2]), [0.0, 0.0, 1.0], "in the subspace"),
        (pm.SymmetricPositiveDefinite(2), -np.eye(2), "eigenvalues must be positive"),
        (pm.SymmetricPositiveDefinite(2), [[1.0, 0.5], [0.0, 1.0]], "conjugate transpose"),
        (pm.HermitianPositiveDefinite(2), -np.eye(2), "eigenvalues must be positive"),
        (pm.SpecialHermitianPositiveDefinite(2), 2.0 * np.eye(2), "take that one"),
        (pm.PoincareBall(2), [1.0, 1.0], "norm must be less than 1"),
        (pm.Positive(2, 1), [[1.0], [-1.0]], "entries must be positive"),
        (pm.SpecialOrthogonalGroup(2), np.diag([1.0, -1.0]), "determinant must be 1"),
        (pm.Stiefel(3, 1), np.ones((3, 1)), "take that one"),
        (pm.ComplexCircle(1), [2.0 + 0.0j], "take that one"),
        (pm.FixedRankEmbedded(2, 2, 1), [[[1], [1]], [1], [[1, 0]]], "orthonormal columns"),
        (pm.FixedRankEmbedded(2, 2, 1), [[[1], [0]], [-1], [[1, 0]]], "values must be positive"),
    ],
    ids=lambda each: str(each)[:40],
)
def test_points_off_a_manifold_are_told_what_is_wrong(manifold, point, words):
    with pytest.raises(ValueError, match=words):
        adapt(manifold).check_point(point)
