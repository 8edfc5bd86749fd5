"""The contract of a manifold and of its tangent spaces, on every manifold there is."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pymanopt.manifolds as pm
import pytest

import riemtr
from riemtr import Problem
from riemtr.manifolds import Manifold, adapt, safe_norm
from riemtr.manifolds.arrays import as_real, flatten, unflatten
from tests.manifolds.zoo import ZOO, cost_on

NO_EXPONENTIAL = {
    "product-quotient",
    "fixed-rank",
    "elliptope",
    "product-mixed",
    "riemtr-fixed-rank",
    "riemtr-fixed-rank-full",
    "riemtr-product-low-rank",
}
NO_HESSIAN = {
    "fixed-rank",
    "product-mixed",
    "riemtr-fixed-rank",
    "riemtr-fixed-rank-full",
    "riemtr-product-low-rank",
}
# Manifolds of which the factors of a point, an SVD, may change sign where the point does not.
AMBIGUOUS = NO_HESSIAN
# Manifolds whose transport is parallel along geodesics, so that it changes no length.
ISOMETRIC = [
    "riemtr-sphere",
    "riemtr-circle",
    "riemtr-rotations",
    "riemtr-rotations-2",
    "riemtr-rotations-4",
    "riemtr-spd",
    "riemtr-spd-2",
    "spd",
    "hpd",
    "special-hpd",
    "rotations",
    "unitary",
    "poincare",
    "poincare-3",
    "positive",
    "complex-circle",
]


def drawn(name, seed):
    """A manifold of riemtr for one of the zoo, a point of it, its tangent space, a generator."""
    manifold, rng = adapt(ZOO[name][0]), np.random.default_rng(seed)
    point = manifold.random_point(rng)
    return manifold, point, manifold.space(point), rng


def gap(a, b):
    return float(np.abs(as_real(a) - as_real(b)).max())


@pytest.mark.parametrize("name", ZOO)
def test_randomness_comes_from_the_generator(name):
    manifold = adapt(ZOO[name][0])
    assert isinstance(manifold, Manifold)
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    first, again, other = (manifold.random_point(np.random.default_rng(s)) for s in (4, 4, 5))
    assert gap(first, again) == 0.0
    assert gap(first, other) > 0.0
    assert gap(first, manifold.random_point(4)) == 0.0
    space = manifold.space(first)
    v, w = (space.random(np.random.default_rng(6)) for _ in range(2))
    np.testing.assert_array_equal(v, w)
    space.basis()
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002


@pytest.mark.parametrize("name", ZOO)
def test_a_point_drawn_at_random_passes_the_check_of_points(name):
    manifold, point, _, _ = drawn(name, 0)
    checked = manifold.check_point(point)
    assert gap(checked, point) < 1e-14
    assert type(checked) is type(point) or isinstance(checked, np.ndarray)
    assert not manifold.has_left(point)


@pytest.mark.parametrize("name", ZOO)
def test_bases_are_orthonormal_and_complete(name):
    _, _, space, rng = drawn(name, 1)
    dimension, basis = ZOO[name][1], space.basis()
    assert basis.dim == dimension
    vectors = [basis.vector(unit) for unit in np.eye(dimension)]
    gram = [[space.inner(a, b) for a in vectors] for b in vectors]
    np.testing.assert_allclose(gram, np.eye(dimension), atol=1e-12)
    for _ in range(3):
        c = rng.standard_normal(dimension)
        v = basis.vector(c)
        np.testing.assert_allclose(basis.coordinates(v), c, atol=1e-12)
        assert space.norm(v) == pytest.approx(np.linalg.norm(c), rel=1e-12)
        assert space.norm(v - space.tangent(v)) < 1e-12 * space.norm(v)
        # Complete: no tangent vector has a part outside the span.
        w = space.random(rng)
        assert space.norm(w - basis.vector(basis.coordinates(w))) < 1e-12


@pytest.mark.parametrize("name", ZOO)
def test_vectors_of_a_space_are_arrays_whose_dot_product_is_the_metric(name):
    manifold, point, space, rng = drawn(name, 2)
    v, w = space.random(rng), space.random(rng)
    assert manifold.dot_metric
    assert space.inner(v, w) == pytest.approx(float(np.vdot(v, w).real), abs=1e-14)
    own = space.unpack(v), space.unpack(w)
    theirs = manifold.inner_product(point, *own)
    assert isinstance(theirs, float)
    assert theirs == pytest.approx(space.inner(v, w), abs=1e-12)
    original = ZOO[name][0].inner_product(point, *own)
    assert np.real(original) == pytest.approx(space.inner(v, w), abs=1e-12)
    np.testing.assert_allclose(space.pack(own[0]), v, atol=1e-12)
    assert manifold.norm(point, own[0]) == pytest.approx(1.0, rel=1e-12)
    assert space.norm(space.zero()) == 0.0
    np.testing.assert_array_equal(space.pack(manifold.zero_vector(point)), space.zero())


@pytest.mark.parametrize("name", ZOO)
def test_random_tangents_are_of_unit_length_tangent_and_uniform(name):
    _, _, space, rng = drawn(name, 0)
    vectors = [space.random(rng) for _ in range(600)]
    assert space.norm(vectors[0]) == pytest.approx(1.0, abs=1e-12)
    assert space.norm(vectors[0] - space.tangent(vectors[0])) < 1e-12
    smallest, largest = isotropy(space, vectors)
    assert 0.5 < smallest <= largest < 1.7


def isotropy(space, vectors):
    """Extreme eigenvalues of the mean of d v v', which is the identity for uniform directions."""
    basis = space.basis()
    rows = np.array([basis.coordinates(vector) for vector in vectors])
    return np.linalg.eigvalsh(basis.dim * rows.T @ rows / len(rows))[[0, -1]]


FAR = {
    "spd": (pm.SymmetricPositiveDefinite(3), np.diag([1e-8, 1.0, 1e3]), 6),
    "hpd": (pm.HermitianPositiveDefinite(2), np.array([[1e-6, 1e-5j], [-1e-5j, 1.0]]), 4),
    "special-hpd": (pm.SpecialHermitianPositiveDefinite(2), np.diag([1e-4, 1e4]) + 0j, 3),
    "balls": (pm.PoincareBall(2, k=2), np.array([[0.9999, 0.0], [0.0, 0.1]]), 4),
    "positive": (pm.Positive(2, 2), np.array([[1e-9, 1.0], [1e9, 3.0]]), 4),
    "product": (
        pm.Product([pm.Euclidean(12), pm.Sphere(2), pm.SymmetricPositiveDefinite(2)]),
        [np.zeros(12), np.array([0.6, 0.8]), np.diag([1e-4, 1e4])],
        16,
    ),
}


@pytest.mark.parametrize("name", FAR)
def test_random_tangents_are_uniform_far_from_the_middle_of_a_manifold(name):
    manifold, point, dimension = FAR[name]
    space, rng = adapt(manifold).space(point), np.random.default_rng(1)
    assert space.basis().dim == dimension
    smallest, largest = isotropy(space, [space.random(rng) for _ in range(4000)])
    assert 0.8 < smallest <= largest < 1.2


@pytest.mark.parametrize("name", ZOO)
def test_projections_are_orthogonal(name):
    _, _, space, rng = drawn(name, 3)
    zero = as_real(space.zero())
    v, w = (
        rng.standard_normal(zero.size).view(space.zero().dtype).reshape(space.zero().shape)
        for _ in range(2)
    )
    projected = space.tangent(v)
    np.testing.assert_allclose(space.tangent(projected), projected, atol=1e-12)
    assert space.inner(w, projected) == pytest.approx(space.inner(v, space.tangent(w)), abs=1e-11)


@pytest.mark.parametrize("name", ZOO)
def test_moves_agree_to_first_order_and_stay_on_the_manifold(name):
    manifold, point, space, rng = drawn(name, 2)
    v = space.random(rng)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gaps = [gap(space.move_along_geodesic(t * v), space.move(t * v)) for t in (1e-2, 1e-3)]
    assert gaps[1] <= 1e-2 * gaps[0] * 1.1 + 1e-14
    for move in (space.move, space.move_along_geodesic):
        there = move(0.3 * v)
        assert not manifold.has_left(there)
        assert manifold.complaint(there, 1e-13) is None
        again = manifold.retraction(there, manifold.zero_vector(there))
        if name not in AMBIGUOUS:
            assert gap(there, again) < 1e-13
            np.testing.assert_allclose(as_real(move(0.0 * v)), as_real(point), atol=1e-14)


@pytest.mark.parametrize("name", ZOO)
def test_what_a_manifold_says_of_itself(name):
    manifold = adapt(ZOO[name][0])
    assert manifold.has_exponential == (name not in NO_EXPONENTIAL)
    assert manifold.converts_hessians == (name not in NO_HESSIAN)
    assert manifold.dim >= ZOO[name][1]
    derivatives = Problem(ZOO[name][0], cost_on(ZOO[name][0])).derivatives
    assert derivatives.hessian == ("differences" if name in NO_HESSIAN else "euclidean")
    assert manifold.typical_dist > 0.0


@pytest.mark.parametrize("name", ZOO)
def test_hessian_matrix_is_the_costs_curvature_along_geodesics(name):
    manifold, dimension = ZOO[name]
    _, point, space, rng = drawn(name, 3)
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
            return problem.at(space.move_along_geodesic(t * v)).cost

        t = 2e-3
        slope = (8 * (along(t) - along(-t)) - (along(2 * t) - along(-2 * t))) / (12 * t)
        bend = 16 * (along(t) + along(-t)) - (along(2 * t) + along(-2 * t)) - 30 * here.cost
        bend /= 12 * t * t
        assert space.inner(here.gradient, v) == pytest.approx(
            slope, abs=1e-7 * (1 + here.gradient_norm)
        )
        assert c @ matrix @ c == pytest.approx(bend, abs=1e-6 * (1 + size))


@pytest.mark.parametrize("name", sorted(set(ZOO) - NO_HESSIAN))
def test_differences_of_a_gradient_are_the_hessian(name):
    # Right only with a transport that is parallel to first order.
    manifold, _ = ZOO[name]
    _, point, space, rng = drawn(name, 7)
    exact = Problem(manifold, cost_on(manifold))
    layout = exact.layout

    def gradient(*arrays):
        there = exact.at(unflatten(list(arrays), layout))
        found = there.space.unpack(there.gradient)
        return found if layout == 1 else list(flatten(found, layout))

    approximate = Problem(manifold, cost_on(manifold), riemannian_gradient=gradient)
    here, there = exact.at(point), approximate.at(point)
    v = space.random(rng)
    product = here.hessian(v)
    error = here.norm(there.hessian(v) - product)
    assert error <= 1e-7 * (here.norm(product) + here.gradient_norm)
    matrix = here.hessian_matrix()
    np.testing.assert_allclose(there.hessian_matrix(), matrix, atol=1e-7 * np.abs(matrix).max())


@pytest.mark.parametrize("name", ISOMETRIC)
def test_transport_is_an_isometry_and_carries_the_velocity(name):
    manifold, point, here, rng = drawn(name, 8)
    v, w, step = here.random(rng), here.random(rng), 0.2 * here.random(rng)
    other = here.move_along_geodesic(step)
    there = manifold.space(other)
    moved = [there.transported(u, here) for u in (v, 3.0 * w)]
    assert there.inner(*moved) == pytest.approx(3.0 * here.inner(v, w), abs=1e-10)
    assert there.norm(moved[0]) == pytest.approx(1.0, rel=1e-10)
    assert there.norm(moved[0] - there.tangent(moved[0])) < 1e-12
    velocity = -there.pack(manifold.log(other, point))
    assert there.norm(there.transported(step, here) - velocity) < 1e-10
    assert there.norm(there.transported(here.zero(), here)) == 0.0


@pytest.mark.parametrize("name", ZOO)
def test_logarithm_distance_and_midpoint_belong_to_the_exponential_map(name):
    manifold, point, space, rng = drawn(name, 11)
    step = 0.2 * space.random(rng)
    other = space.move_along_geodesic(step)
    try:
        back = space.pack(manifold.log(point, other))
        distance = manifold.dist(point, other)
    except NotImplementedError:
        pytest.skip("no logarithm")
    if not manifold.has_exponential:
        pytest.skip("no exponential map to compare with")
    # A quotient's logarithm leads to the same point, perhaps by other arrays.
    assert space.norm(back - step) < 1e-7
    assert distance == pytest.approx(0.2, abs=1e-7)
    assert manifold.dist(other, point) == pytest.approx(0.2, abs=1e-7)
    assert manifold.dist(point, point) == pytest.approx(0.0, abs=1e-7)
    try:
        middle = manifold.pair_mean(point, other)
    except NotImplementedError:
        return
    assert manifold.dist(point, middle) == pytest.approx(0.1, abs=1e-6)
    assert manifold.dist(other, middle) == pytest.approx(0.1, abs=1e-6)


QUOTIENTS = [
    riemtr.Grassmann(5, 2),
    riemtr.Grassmann(5, 2, k=3),
    pm.Grassmann(5, 2),
    pm.Grassmann(5, 2, k=3),
    pm.ComplexGrassmann(4, 2),
    pm.PSDFixedRank(4, 2),
    pm.PSDFixedRankComplex(4, 2),
    pm.Elliptope(4, 2),
]


@pytest.mark.parametrize("manifold", QUOTIENTS, ids=str)
def test_another_representative_is_another_array_for_the_same_point(manifold):
    manifold = adapt(manifold)
    point = manifold.random_point(0)
    other = manifold.another_representative(point, np.random.default_rng(1))
    assert other.dtype == point.dtype
    assert np.abs(other - point).max() > 0.1
    np.testing.assert_allclose(
        other @ np.swapaxes(other.conj(), -1, -2), point @ np.swapaxes(point.conj(), -1, -2)
    )
    if "Grassmann" in str(manifold):
        assert manifold.dist(point, other) < 1e-6


def test_products_change_the_factors_that_have_other_representatives():
    for kind in (pm.Product, riemtr.Product):
        product = adapt(kind([pm.Euclidean(2), pm.Grassmann(3, 2)]))
        point = product.random_point(0)
        first, second = product.another_representative(point, np.random.default_rng(1))
        np.testing.assert_array_equal(first, point[0])
        assert np.abs(second - point[1]).max() > 0.1


@pytest.mark.parametrize("manifold", [riemtr.Sphere(3), pm.Stiefel(4, 2), pm.Euclidean(3)], ids=str)
def test_elsewhere_there_is_no_other_representative(manifold):
    manifold = adapt(manifold)
    assert manifold.another_representative(manifold.random_point(0), None) is None


def test_a_product_is_bounded_if_its_factors_are():
    policy = riemtr.AdaptiveRadius()
    for kind in (pm.Product, riemtr.Product):
        for factors, bounded in (
            ([riemtr.Sphere(3), riemtr.Sphere(4)], True),
            ([riemtr.Sphere(3), pm.Euclidean(4)], False),
        ):
            manifold = kind(factors)
            assert adapt(manifold).bounded == bounded
            problem = riemtr.Problem(manifold, lambda x, y: x[0] + y[0])
            assert np.isfinite(policy.limit(problem.at(adapt(manifold).random_point(0)))) == bounded


def test_open_manifolds_and_flat_ones_are_unbounded():
    unbounded = {
        pm.Euclidean(2),
        pm.ComplexEuclidean(2),
        pm.Symmetric(2),
        pm.SkewSymmetric(2),
        pm.Positive(2, 2),
        pm.PoincareBall(2),
        pm.SymmetricPositiveDefinite(2),
        pm.HermitianPositiveDefinite(2),
        pm.SpecialHermitianPositiveDefinite(2),
        pm.PSDFixedRank(3, 2),
        pm.PSDFixedRankComplex(3, 2),
        pm.FixedRankEmbedded(3, 3, 2),
    }
    for manifold in unbounded:
        assert not adapt(manifold).bounded
    for name in ("sphere", "stiefel", "grassmann", "oblique", "unitary", "elliptope", "rotations"):
        assert adapt(ZOO[name][0]).bounded


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ZOO)
def test_single_precision_stays_single_precision(name, dtype):
    manifold, point, _, rng = drawn(name, 5)
    single = _as_precision(point, dtype)
    space = manifold.space(single)
    tolerance = 1e3 * float(np.finfo(dtype).eps)
    v = space.random(rng)
    assert v.real.dtype == dtype
    assert space.zero().real.dtype == dtype
    assert space.tangent(v).real.dtype == dtype
    assert space.norm(v) == pytest.approx(1.0, abs=tolerance)
    for moved in (space.move(v), space.move_along_geodesic(v)):
        assert as_real(moved).dtype == dtype
    assert space.basis().vector(np.ones(space.basis().dim, dtype)).real.dtype == dtype


def _as_precision(point, dtype):
    if isinstance(point, np.ndarray):
        return point.astype(dtype if point.dtype.kind == "f" else np.result_type(dtype, 1j))
    parts = [_as_precision(part, dtype) for part in point]
    if hasattr(point, "_fields"):
        return type(point)(*parts)
    return parts


@pytest.mark.parametrize("size", [0.0, 1e-300, 1e-160, 1e-30, 1.0, 1e30, 1e160, 1e300])
def test_norms_of_any_size(size):
    v = size * np.array([3.0, 4.0])
    assert safe_norm(v) == pytest.approx(5.0 * size, rel=1e-14)
    assert math.isinf(safe_norm(np.array([1.0, math.inf])))


@pytest.mark.parametrize("name", sorted(ZOO))
def test_stacked_vectors_are_transported_one_by_one(name):
    manifold = adapt(ZOO[name][0])
    rng = np.random.default_rng(5)
    origin = manifold.space(manifold.random_point(rng))
    space = manifold.space(origin.move(0.1 * origin.random(rng)))
    vectors = np.array([origin.random(rng) for _ in range(3)])
    expected = np.array([space.transported(vector, origin) for vector in vectors])
    found = space.all_transported(vectors, origin)
    assert found.dtype == vectors.dtype
    np.testing.assert_allclose(found, expected, atol=1e-13)
    if space.keeps_vectors:
        # Kept as they are, they differ by no more than the length of the step.
        kept = np.array([space.tangent(vector) for vector in vectors])
        assert np.abs(kept - expected).max() < 0.2


def test_separation_of_low_rank_matrices_is_that_of_the_matrices():
    manifold, rng = riemtr.FixedRank(5, 4, 2), np.random.default_rng(0)
    a, b = (manifold.random_point(rng) for _ in range(2))
    expected = np.linalg.norm((a[0] * a[1]) @ a[2] - (b[0] * b[1]) @ b[2])
    assert manifold.separation(a, b) == pytest.approx(expected)
    flipped = type(a)(-a[0], a[1], -a[2])
    assert manifold.separation(a, flipped) == pytest.approx(0.0, abs=1e-14)
    product = riemtr.Product([manifold, riemtr.Stiefel(3, 2)])
    x, y = product.random_point(1), product.random_point(2)
    parts = [manifold.separation(x[0], y[0]), np.linalg.norm(x[1] - y[1])]
    assert product.separation(x, y) == pytest.approx(np.hypot(*parts))


def test_a_manifold_that_does_not_say_how_it_is_made_prints_its_name():
    class Mine(Manifold):
        def __init__(self):
            super().__init__("mine, of dimension 2", 2)

    assert repr(Mine()) == str(Mine()) == "mine, of dimension 2"
