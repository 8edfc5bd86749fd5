"""riemtr's manifolds against pymanopt's of the same name, wherever pymanopt is right."""

from __future__ import annotations

import numpy as np
import pymanopt
import pymanopt.manifolds as pm
import pytest

import riemtr
from riemtr.manifolds.arrays import as_real
from riemtr.manifolds.stiefel import orthonormalized

PAIRS = {
    "sphere": (riemtr.Sphere(5), pm.Sphere(5)),
    "oblique": (riemtr.Oblique(3, 4), pm.Oblique(3, 4)),
    "stiefel": (riemtr.Stiefel(5, 2), pm.Stiefel(5, 2)),
    "stiefel-3": (riemtr.Stiefel(4, 2, k=3), pm.Stiefel(4, 2, k=3)),
    "grassmann": (riemtr.Grassmann(5, 2), pm.Grassmann(5, 2)),
    "grassmann-3": (riemtr.Grassmann(4, 2, k=3), pm.Grassmann(4, 2, k=3)),
    "rotations": (riemtr.Rotations(3), pm.SpecialOrthogonalGroup(3)),
    "rotations-2": (riemtr.Rotations(4, k=2), pm.SpecialOrthogonalGroup(4, k=2)),
    "definite": (riemtr.PositiveDefinite(3), pm.SymmetricPositiveDefinite(3)),
    "definite-2": (riemtr.PositiveDefinite(2, k=2), pm.SymmetricPositiveDefinite(2, k=2)),
    "fixed-rank": (riemtr.FixedRank(5, 4, 2), pm.FixedRankEmbedded(5, 4, 2)),
    "euclidean": (riemtr.Euclidean(2, 3), pm.Euclidean(2, 3)),
    "product": (
        riemtr.Product([riemtr.Sphere(3), riemtr.Stiefel(3, 2)]),
        pm.Product([pm.Sphere(3), pm.Stiefel(3, 2)]),
    ),
    "product-of-theirs": (
        riemtr.Product([pm.PoincareBall(2), pm.Positive(2, 2)]),
        pm.Product([pm.PoincareBall(2), pm.Positive(2, 2)]),
    ),
}
# pymanopt has no logarithm there.
WITHOUT_LOGARITHM = {"stiefel", "stiefel-3", "fixed-rank", "product"}


@pytest.fixture(params=PAIRS)
def pair(request):
    """Manifolds, a point, two tangent vectors of it, a generator, and the name of the pair."""
    ours, theirs = PAIRS[request.param]
    rng = np.random.default_rng(3)
    point = ours.random_point(rng)
    vectors = [ours.random_tangent_vector(point, rng) for _ in range(2)]
    return ours, theirs, point, vectors, rng, request.param


def close(a, b, atol=1e-11):
    np.testing.assert_allclose(as_real(list(a)), as_real(list(b)), atol=atol)


def ambient(point, rng):
    """An array, or a list of them, of the form of a point."""
    if isinstance(point, np.ndarray):
        return rng.standard_normal(point.shape)
    return [ambient(part, rng) for part in point]


def test_dimension_and_inner_products(pair):
    ours, theirs, point, (v, w), _, _ = pair
    assert ours.dim == theirs.dim
    assert ours.num_values == theirs.num_values
    assert ours.point_layout == theirs.point_layout
    assert ours.inner_product(point, v, w) == pytest.approx(theirs.inner_product(point, v, w))
    assert ours.norm(point, v) == pytest.approx(theirs.norm(point, v)) == pytest.approx(1.0)
    close(ours.zero_vector(point), theirs.zero_vector(point))
    assert type(ours.zero_vector(point)) is type(theirs.zero_vector(point))


def test_projections(pair):
    ours, theirs, point, (v, _), rng, name = pair
    if name == "fixed-rank":
        matrix = rng.standard_normal((5, 4))
        close(ours.projection(point, matrix), theirs.projection(point, matrix))
        noisy = type(v)(*(part + rng.standard_normal(part.shape) for part in v))
        close(ours.to_tangent_space(point, noisy), theirs.to_tangent_space(point, noisy))
        return
    vector = ambient(point, rng)
    close(ours.projection(point, vector), theirs.projection(point, vector))
    close(ours.to_tangent_space(point, v), theirs.to_tangent_space(point, v))


def test_derivatives(pair):
    ours, theirs, point, (v, _), rng, name = pair
    gradient, product = ambient(point, rng), ambient(point, rng)
    if name == "fixed-rank":  # derivatives of a cost of the matrix, which pymanopt takes for given
        matrix = rng.standard_normal((5, 4))
        u, s, vt = point
        gradient = [matrix @ vt.T * s, np.diag(u.T @ matrix @ vt.T), (u * s).T @ matrix]
    close(
        ours.euclidean_to_riemannian_gradient(point, gradient),
        theirs.euclidean_to_riemannian_gradient(point, gradient),
    )
    if name == "fixed-rank":
        return
    close(
        ours.euclidean_to_riemannian_hessian(point, gradient, product, v),
        theirs.euclidean_to_riemannian_hessian(point, gradient, product, v),
    )
    if name != "product":
        theirs_embedded = theirs.embedding(point, v) if hasattr(theirs, "embedding") else v
        close(ours.embedding(point, v), theirs_embedded)


def test_moves_lead_to_the_same_points(pair):
    ours, theirs, point, (v, _), _, name = pair
    for length in (1e-3, 0.4):
        if name != "fixed-rank":
            same_point(ours, ours.exp(point, length * v), theirs.exp(point, length * v), 1e-10)
        ahead, other = (m.retraction(point, length * v) for m in (ours, theirs))
        # pymanopt retracts rotations by a QR factorisation, which is of first order only.
        same_point(ours, ahead, other, length**2 if name.startswith("rotations") else 1e-10)


def same_point(manifold, a, b, tolerance):
    if isinstance(manifold, riemtr.Grassmann):
        a, b = a @ a.swapaxes(-1, -2), b @ b.swapaxes(-1, -2)
    if isinstance(manifold, riemtr.FixedRank):
        a, b = (a[0] * a[1]) @ a[2], (b[0] * b[1]) @ b[2]
    close(a, b, tolerance)


@pytest.mark.parametrize("name", ["stiefel", "stiefel-3", "rotations", "rotations-2"])
@pytest.mark.parametrize("length", [0.1, 1.0, 30.0, 1e6])
def test_long_steps_are_retracted_by_a_triangular_factor_with_a_positive_diagonal(name, length):
    manifold = PAIRS[name][0]
    for seed in range(10):
        rng = np.random.default_rng(seed)
        point = manifold.random_point(rng)
        vector = manifold.random_tangent_vector(point, rng)
        if name.startswith("rotations"):  # whose vectors are skew, in the frame of the point
            vector = point @ vector
        moved = point + length * vector / np.linalg.norm(vector)
        there = orthonormalized(moved)
        np.testing.assert_allclose(
            there.swapaxes(-1, -2) @ there,
            np.zeros_like(there[..., : there.shape[-1], :]) + np.eye(there.shape[-1]),
            atol=1e-12,
        )
        triangle = there.swapaxes(-1, -2) @ moved
        np.testing.assert_allclose(np.tril(triangle, -1), 0.0, atol=1e-11 * length + 1e-12)
        assert (np.diagonal(triangle, axis1=-2, axis2=-1) > 0.0).all()


def test_singular_values_of_random_matrices_of_fixed_rank_are_uniform():
    drawn = np.array([riemtr.FixedRank(6, 5, 3).random_point(seed)[1] for seed in range(400)])
    assert (np.diff(drawn, axis=1) < 0.0).all()
    assert drawn.min() > 0.0
    assert drawn.max() <= 1.0
    # Order statistics of three uniform numbers have the means 3/4, 1/2 and 1/4.
    np.testing.assert_allclose(drawn.mean(axis=0), [0.75, 0.5, 0.25], atol=0.04)


def test_logarithm_distance_and_mean(pair):
    ours, theirs, point, (v, _), _, name = pair
    if name in WITHOUT_LOGARITHM:
        pytest.skip("pymanopt has no logarithm")
    other = ours.exp(point, 0.3 * v)
    close(ours.log(point, other), theirs.log(point, other), 1e-7)
    assert ours.dist(point, other) == pytest.approx(theirs.dist(point, other), abs=1e-7)
    assert ours.dist(point, other) == pytest.approx(0.3, rel=1e-8)
    if name in {"sphere", "rotations", "euclidean"}:  # pymanopt has no right one elsewhere
        middle, theirs_middle = ours.pair_mean(point, other), theirs.pair_mean(point, other)
        same_point(ours, middle, theirs_middle, 1e-6)


@pytest.mark.parametrize("name", sorted(set(PAIRS) - {"fixed-rank"}))
def test_pymanopts_optimizers_run_on_riemtrs_manifolds(name):
    ours, _ = PAIRS[name]
    rng = np.random.default_rng(0)
    target = ours.random_point(rng)

    @pymanopt.function.autograd(ours)
    def cost(*arrays):
        parts = target if isinstance(target, list) else [target]
        return sum(((a - b) ** 2).sum() for a, b in zip(arrays, parts, strict=True))

    if isinstance(ours, riemtr.Grassmann):
        return  # the cost is none of subspaces
    problem = pymanopt.Problem(ours, cost)
    start = ours.retraction(target, 0.3 * ours.random_tangent_vector(target, rng))
    for optimizer in ("ConjugateGradient", "TrustRegions"):
        solver = getattr(pymanopt.optimizers, optimizer)(verbosity=0, max_iterations=300)
        assert solver.run(problem, initial_point=start).cost < 1e-8


@pytest.mark.parametrize("angle", [1e-9, 1e-3, 1.0, np.pi - 1e-6, np.pi])
@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_logarithms_of_rotations_at_every_angle(n, angle):
    manifold, rng = riemtr.Rotations(n), np.random.default_rng(n)
    start = manifold.random_point(rng)
    plane = np.zeros((n, n))
    plane[1, 0], plane[0, 1] = angle, -angle
    frame = manifold.random_point(rng)
    other = manifold.exp(start, frame @ plane @ frame.T)
    assert manifold.dist(start, other) == pytest.approx(np.sqrt(2.0) * angle, rel=1e-6)
    np.testing.assert_allclose(manifold.exp(start, manifold.log(start, other)), other, atol=1e-7)


def test_distances_of_subspaces_are_accurate_at_small_and_right_angles():
    lines = riemtr.Grassmann(2, 1)
    for angle in (1e-12, 1e-6, 0.3, np.pi / 2):
        other = np.array([[np.cos(angle)], [np.sin(angle)]])
        assert lines.dist(np.array([[1.0], [0.0]]), other) == pytest.approx(angle, rel=1e-9)


def test_a_matrix_at_the_edge_of_rounding_has_a_root():
    manifold = riemtr.PositiveDefinite(2)
    edge = np.array([[1.0, 1.0], [1.0, 1.0]])
    assert np.isfinite(manifold.space(edge).root).all()
    assert not manifold.has_left(np.eye(2))
    assert manifold.has_left(-np.eye(2))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: riemtr.Stiefel(2, 3), "p must be"),
        (lambda: riemtr.Grassmann(2, 0), "p must be"),
        (lambda: riemtr.FixedRank(3, 2, 3), "r must be"),
        (lambda: riemtr.Oblique(0, 2), "m must be"),
        (lambda: riemtr.Rotations(3, k=0), "k must be"),
        (lambda: riemtr.PositiveDefinite(1.5), "n must be"),
        (lambda: riemtr.Euclidean(), "at least one integer"),
        (lambda: riemtr.Product([]), "list of manifolds"),
    ],
)
def test_impossible_sizes_are_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()
