"""The sphere's maps against closed forms, at short, long and antipodal distances."""

from __future__ import annotations

import math

import numpy as np
import pymanopt
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pymanopt.manifolds.manifold import Manifold as PymanoptManifold
from scipy.stats import kstest

import riemtr
from riemtr import Sphere

EPS = np.finfo(float).eps


def pair(seed, n):
    """A point and a unit tangent vector there."""
    rng = np.random.default_rng(seed)
    sphere = Sphere(n)
    q = sphere.random_point(rng)
    return sphere, q, sphere.random_tangent_vector(q, rng)


def transport_matrix(q, delta, time):
    """Eq. (alg_tsp_op), first line, as the paper prints it."""
    size = np.linalg.norm(delta)
    unit = delta / size
    return (
        np.eye(len(q))
        - np.outer(unit, unit)
        - np.outer(q, unit) * np.sin(time * size)
        + np.outer(unit, unit) * np.cos(time * size)
    )


@given(st.integers(0, 10**6), st.integers(2, 30))
@settings(max_examples=50, deadline=None)
def test_projection_is_orthogonal(seed, n):
    rng = np.random.default_rng(seed)
    sphere, q, _ = pair(seed, n)
    v, w = rng.standard_normal((2, n))
    projected = sphere.projection(q, v)
    np.testing.assert_allclose(projected, (np.eye(n) - np.outer(q, q)) @ v, atol=1e-14)
    np.testing.assert_allclose(sphere.projection(q, projected), projected, atol=1e-14)
    assert w @ projected == pytest.approx(v @ sphere.projection(q, w), abs=1e-13)


@given(
    st.integers(0, 10**6),
    st.integers(2, 30),
    st.floats(-15, math.log10(3.1)).map(lambda exponent: 10.0**exponent),
)
@settings(max_examples=200, deadline=None)
def test_log_inverts_exp_with_relative_accuracy(seed, n, length):
    sphere, q, unit = pair(seed, n)
    v = length * unit
    there = sphere.exp(q, v)
    assert np.linalg.norm(there) == pytest.approx(1.0, abs=4 * EPS)
    # The point itself is rounded to EPS, which near the antipode turns the direction.
    turn = EPS * n * max(1.0, length / abs(math.sin(length)))
    back = sphere.log(q, there)
    np.testing.assert_allclose(back, v, atol=10 * turn)
    # Tangent relative to its own length, however short.
    assert abs(q @ back) <= 10 * EPS * np.linalg.norm(back)
    assert np.linalg.norm(back) == pytest.approx(sphere.dist(q, there), rel=1e-12)


@given(st.integers(0, 10**6), st.integers(2, 30), st.floats(1e-14, 1e-2))
@settings(max_examples=100, deadline=None)
def test_exp_inverts_log_near_the_antipode(seed, n, gap):
    sphere, q, unit = pair(seed, n)
    there = sphere.exp(q, (math.pi - gap) * unit)
    v = sphere.log(q, there)
    assert abs(q @ v) <= 1e-15 * n
    np.testing.assert_allclose(sphere.exp(q, v), there, atol=1e-14)


def test_log_at_the_antipode_picks_one_of_the_shortest():
    for n in (2, 3, 10):
        sphere, q, _ = pair(n, n)
        v = sphere.log(q, -q)
        assert np.linalg.norm(v) == pytest.approx(math.pi, rel=1e-15)
        assert abs(q @ v) < 1e-14
        np.testing.assert_allclose(sphere.exp(q, v), -q, atol=1e-14)
        # A last bit of difference must not make a direction out of rounding along q.
        v = sphere.log(q, np.nextafter(-q, 1.0))
        assert abs(q @ v) < 1e-14


def test_log_of_the_point_itself_is_zero():
    sphere, q, _ = pair(0, 7)
    np.testing.assert_array_equal(sphere.log(q, q), np.zeros(7))


@pytest.mark.parametrize("angle", [1e-300, 1e-20, 1e-12, 1e-8, 0.3, math.pi / 2, 2.0, 3.0])
def test_dist_is_the_angle(angle):
    a = np.array([1.0, 0.0, 0.0])
    b = np.array([math.cos(angle), math.sin(angle), 0.0])
    assert Sphere(3).dist(a, b) == pytest.approx(angle, rel=4 * EPS)
    assert Sphere(3).dist(b, a) == pytest.approx(angle, rel=4 * EPS)


@pytest.mark.parametrize("gap", [1e-12, 1e-9, 1e-6, 1e-3])
def test_dist_near_pi(gap):
    a = np.array([1.0, 0.0])
    b = np.array([-math.cos(gap), math.sin(gap)])
    assert math.pi - Sphere(2).dist(a, b) == pytest.approx(gap, abs=8 * EPS)


def test_retraction_normalises_and_is_of_second_order():
    sphere, q, unit = pair(3, 8)
    v = 0.7 * unit
    np.testing.assert_allclose(
        sphere.retraction(q, v), (q + v) / math.sqrt(1 + 0.49), rtol=0, atol=1e-15
    )
    errors = [
        np.linalg.norm(sphere.retraction(q, t * unit) - sphere.exp(q, t * unit))
        for t in (1e-2, 1e-3)
    ]
    assert errors[0] / errors[1] == pytest.approx(1e3, rel=1e-2)
    # The leading term is t^3/3.
    assert errors[1] == pytest.approx(1e-9 / 3, rel=1e-3)


@given(st.integers(0, 10**6), st.integers(2, 12), st.floats(1e-8, 7.0), st.floats(-2.0, 2.0))
@settings(max_examples=100, deadline=None)
def test_parallel_transport_is_the_papers(seed, n, length, time):
    rng = np.random.default_rng(seed)
    sphere, q, unit = pair(seed, n)
    delta = length * unit
    v, w = (sphere.projection(q, z) for z in rng.standard_normal((2, n)))
    moved = sphere.parallel_transport(q, delta, v, time)
    np.testing.assert_allclose(moved, transport_matrix(q, delta, time) @ v, atol=1e-13)
    end = sphere.exp(q, time * delta)
    assert abs(end @ moved) < 1e-13
    assert moved @ sphere.parallel_transport(q, delta, w, time) == pytest.approx(v @ w, abs=1e-12)
    # The geodesic's velocity at the end, cos unit - sin q, is the transported initial one.
    velocity = length * (math.cos(time * length) * unit - math.sin(time * length) * q)
    np.testing.assert_allclose(
        sphere.parallel_transport(q, delta, delta, time), velocity, atol=1e-12
    )
    back = sphere.parallel_transport(end, -velocity, moved, time)
    np.testing.assert_allclose(back, v, atol=1e-12)


def test_transport_between_points_and_its_inverse():
    sphere, q, unit = pair(5, 6)
    there = sphere.exp(q, 1.3 * unit)
    v = sphere.random_tangent_vector(q, 9)
    moved = sphere.transport(q, there, v)
    np.testing.assert_allclose(moved, sphere.parallel_transport(q, 1.3 * unit, v), atol=1e-14)
    np.testing.assert_allclose(sphere.transport(there, q, moved), v, atol=1e-14)
    np.testing.assert_array_equal(sphere.transport(q, q, v), v)


def test_pair_mean_is_half_way():
    sphere, q, unit = pair(6, 5)
    there = sphere.exp(q, 1.8 * unit)
    middle = sphere.pair_mean(q, there)
    assert sphere.dist(q, middle) == pytest.approx(0.9)
    assert sphere.dist(middle, there) == pytest.approx(0.9)


def test_random_points_are_uniform():
    rng = np.random.default_rng(0)
    points = np.array([Sphere(3).random_point(rng) for _ in range(4000)])
    # Archimedes: each coordinate of a uniform point of S^2 is uniform on [-1, 1].
    for direction in (*np.eye(3), np.ones(3) / math.sqrt(3)):
        assert kstest(points @ direction, "uniform", args=(-1, 2)).pvalue > 1e-3


def test_random_tangents_are_uniform_unit_vectors():
    rng = np.random.default_rng(1)
    sphere, q, _ = pair(2, 4)
    vectors = np.array([sphere.random_tangent_vector(q, rng) for _ in range(4000)])
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, rtol=1e-14)
    assert np.abs(vectors @ q).max() < 1e-15
    coordinates = vectors @ sphere.space(q).basis().matrix()
    for column in coordinates.T:
        assert kstest(column, "uniform", args=(-1, 2)).pvalue > 1e-3


def test_randomness_is_the_generators_and_nothing_elses():
    sphere = Sphere(9)
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    first = sphere.random_point(np.random.default_rng(7))
    np.testing.assert_array_equal(first, sphere.random_point(7))
    np.testing.assert_array_equal(
        sphere.random_tangent_vector(first, 3), sphere.random_tangent_vector(first, 3)
    )
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002
    assert not np.array_equal(first, sphere.random_point(8))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_tangent_at_a_point_drawn_from_the_same_seed(dtype):
    # The draw is then parallel to the point, and its projection nothing but rounding.
    sphere = Sphere(6)
    q = sphere.random_point(5).astype(dtype)
    v = sphere.random_tangent_vector(q, 5)
    assert np.linalg.norm(v) == pytest.approx(1.0, rel=1e-6)
    assert abs(float(q @ v)) < 4 * np.finfo(dtype).eps


def test_sphere_of_dimension_zero():
    sphere = Sphere(1)
    one = np.array([1.0])
    assert sphere.dim == 0
    assert abs(sphere.random_point(0)[0]) == 1.0
    np.testing.assert_array_equal(sphere.random_tangent_vector(one, 0), [0.0])
    np.testing.assert_array_equal(sphere.exp(one, np.zeros(1)), one)
    np.testing.assert_array_equal(sphere.log(one, -one), [0.0])
    assert sphere.dist(one, -one) == pytest.approx(math.pi)
    assert sphere.space(one).basis().matrix().shape == (1, 0)


def test_circle_is_the_group_of_rotations():
    sphere = Sphere(2)
    for start in np.linspace(0, 6, 13):
        q = np.array([math.cos(start), math.sin(start)])
        tangent = np.array([-q[1], q[0]])
        for angle in (-3.0, -1e-9, 0.5, 3.1):
            expected = [math.cos(start + angle), math.sin(start + angle)]
            np.testing.assert_allclose(sphere.exp(q, angle * tangent), expected, atol=2e-15)
            np.testing.assert_allclose(
                sphere.log(q, np.array(expected)), angle * tangent, atol=3e-15
            )


@pytest.mark.parametrize("size", [1e-320, 1e-200, 1e-160, 1e-30, 1e30, 1e150, 1e200, 1e300])
def test_vectors_of_any_size(size):
    sphere, q, unit = pair(4, 5)
    v = size * unit
    assert sphere.norm(q, v) == pytest.approx(size, rel=1e-3 if size < 1e-310 else 1e-14)
    with np.errstate(all="raise", under="ignore"):
        moved = sphere.exp(q, v)
        retracted = sphere.retraction(q, v)
        carried = sphere.parallel_transport(q, v, unit)
    for point in (moved, retracted):
        assert np.linalg.norm(point) == pytest.approx(1.0, abs=1e-14)
    assert np.linalg.norm(carried) == pytest.approx(1.0, abs=1e-3 if size < 1e-310 else 1e-14)
    if size > 1.0:
        np.testing.assert_allclose(retracted, unit, atol=2 / size)
        angle = sphere.norm(q, v)
        expected = q * math.cos(angle) + unit * math.sin(angle)
        np.testing.assert_allclose(moved, expected, atol=1e-13)
    else:
        np.testing.assert_allclose(moved, q, atol=2 * size + 1e-15)


@pytest.mark.parametrize("size", [1e-30, 1e-22, 1e-12, 1.0, 1e12, 1e30])
def test_norm_in_float32_at_any_size(size):
    v = (np.arange(1.0, 6.0) * size).astype(np.float32)
    exact = np.linalg.norm(v.astype(float))
    assert Sphere(5).norm(v, v) == pytest.approx(exact, rel=1e-6)


def test_norm_of_zero_and_of_what_is_not_finite():
    sphere = Sphere(3)
    assert sphere.norm(None, np.zeros(3)) == 0.0
    assert sphere.norm(None, np.array([1.0, math.inf, 0.0])) == math.inf
    assert math.isnan(sphere.norm(None, np.array([1.0, math.nan, 0.0])))


def test_float32_stays_float32():
    sphere = Sphere(6)
    q = sphere.random_point(0).astype(np.float32)
    p = sphere.random_point(1).astype(np.float32)
    v = sphere.random_tangent_vector(q, 2)
    basis = sphere.space(q).basis()
    matrix = np.eye(6, dtype=np.float32)
    results = {
        "projection": sphere.projection(q, p),
        "exp": sphere.exp(q, v),
        "log": sphere.log(q, p),
        "log antipode": sphere.log(q, -q),
        "retraction": sphere.retraction(q, v),
        "parallel_transport": sphere.parallel_transport(q, v, v, 0.3),
        "transport": sphere.transport(q, p, v),
        "pair_mean": sphere.pair_mean(q, p),
        "zero_vector": sphere.zero_vector(q),
        "random_tangent_vector": v,
        "weingarten": sphere.weingarten(q, v, q),
        "gradient": sphere.euclidean_to_riemannian_gradient(q, p),
        "hessian": sphere.euclidean_to_riemannian_hessian(q, p, v, v),
        "coordinates": basis.coordinates(v),
        "vector": basis.vector(np.ones(5)),
        "matrix": basis.matrix(),
        "compress": basis.compress(matrix),
        "hessian_matrix": sphere.space(q).hessian_matrix(basis, p, matrix),
    }
    assert {name: array.dtype for name, array in results.items()} == dict.fromkeys(
        results, np.dtype(np.float32)
    )
    for name in ("exp", "retraction", "pair_mean"):
        assert np.linalg.norm(results[name]) == pytest.approx(1.0, abs=1e-6)


@given(st.integers(0, 10**6), st.integers(2, 9))
@settings(max_examples=30, deadline=None)
def test_hessian_conversion_is_the_papers(seed, n):
    rng = np.random.default_rng(seed)
    sphere, q, v = pair(seed, n)
    hessian = rng.standard_normal((n, n))
    hessian += hessian.T
    gradient = rng.standard_normal(n)
    projector = np.eye(n) - np.outer(q, q)
    expected = projector @ (hessian - (q @ gradient) * np.eye(n)) @ projector
    product = sphere.euclidean_to_riemannian_hessian(q, gradient, hessian @ v, v)
    np.testing.assert_allclose(product, expected @ v, atol=1e-12)
    basis = sphere.space(q).basis()
    frame = basis.matrix()
    np.testing.assert_allclose(
        sphere.space(q).hessian_matrix(basis, gradient, hessian),
        frame.T @ expected @ frame,
        atol=1e-12,
    )
    # pymanopt's own route to the same product: that of any submanifold with this shape operator.
    normal = gradient - projector @ gradient
    other = projector @ (hessian @ v) + sphere.weingarten(q, v, normal)
    np.testing.assert_allclose(product, other, atol=1e-12)


@pytest.mark.parametrize("n", [0, -1, 2.0, "3", None, True])
def test_bad_n_is_refused(n):
    with pytest.raises(ValueError, match="n must be an integer of at least 1; got"):
        Sphere(n)


def test_numpy_integers_are_fine():
    assert Sphere(np.int64(4)).n == 4
    assert repr(Sphere(np.int32(4))) == "Sphere(4)"


@pytest.mark.parametrize("optimizer", ["SteepestDescent", "ConjugateGradient", "TrustRegions"])
def test_pymanopts_optimizers_run_on_it(optimizer):
    n = 8
    sphere = Sphere(n)
    assert isinstance(sphere, PymanoptManifold)
    matrix = np.random.default_rng(0).standard_normal((n, n))
    matrix += matrix.T

    @pymanopt.function.numpy(sphere)
    def cost(x):
        return x @ matrix @ x

    @pymanopt.function.numpy(sphere)
    def gradient(x):
        return 2 * matrix @ x

    @pymanopt.function.numpy(sphere)
    def hessian(x, v):
        return 2 * matrix @ v

    problem = pymanopt.Problem(sphere, cost, euclidean_gradient=gradient, euclidean_hessian=hessian)
    solver = getattr(pymanopt.optimizers, optimizer)(
        verbosity=0, min_gradient_norm=1e-7, max_iterations=2000
    )
    result = solver.run(problem, initial_point=sphere.random_point(1))
    assert result.cost == pytest.approx(np.linalg.eigvalsh(matrix)[0], abs=1e-9)


def test_pymanopts_sphere_agrees():
    theirs = pymanopt.manifolds.Sphere(7)
    ours, q, unit = pair(11, 7)
    there = ours.exp(q, 1.1 * unit)
    np.testing.assert_allclose(theirs.exp(q, 1.1 * unit), there, atol=1e-14)
    np.testing.assert_allclose(theirs.log(q, there), ours.log(q, there), atol=1e-14)
    assert theirs.dist(q, there) == pytest.approx(ours.dist(q, there))
    assert theirs.dim == ours.dim
    assert riemtr.check_retraction(ours, rng=0).slope == pytest.approx(3.0, abs=0.1)


@given(st.integers(0, 10**6), st.integers(2, 6))
@settings(max_examples=50, deadline=None)
def test_triangle_inequality_with_equality_on_geodesics(seed, n):
    rng = np.random.default_rng(seed)
    sphere = Sphere(n)
    a, b, c = (sphere.random_point(rng) for _ in range(3))
    assert sphere.dist(a, c) <= sphere.dist(a, b) + sphere.dist(b, c) + 1e-14
    assume(sphere.dist(a, b) < 3.0)
    t = rng.random()
    between = sphere.exp(a, t * sphere.log(a, b))
    assert sphere.dist(a, between) == pytest.approx(t * sphere.dist(a, b), abs=1e-13)
