"""Points given by the user: taken, repaired to rounding, or refused with the remedy."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pymanopt.manifolds as pm
import pytest

from riemtr import Sphere
from riemtr.manifolds import adapt
from tests.manifolds.zoo import ZOO

PRODUCT = pm.Product([Sphere(3), pm.Euclidean(2)])


def check_point(manifold, point, **name):
    return adapt(manifold).check_point(point, **name)


def test_integers_and_lists_become_floats():
    for point in ([0, 1, 0], np.array([0, 1, 0]), (0.0, 1.0, 0.0), np.array([0, 1, 0], "f2")):
        checked = check_point(Sphere(3), point)
        assert checked.dtype == np.float64
        np.testing.assert_array_equal(checked, [0.0, 1.0, 0.0])


def test_float32_stays_float32():
    assert check_point(Sphere(2), np.array([0, 1], dtype=np.float32)).dtype == np.float32


def test_nearly_unit_vectors_are_normalised():
    rounded = np.round(Sphere(6).random_point(0), 5)
    assert np.linalg.norm(rounded) != 1.0
    assert np.linalg.norm(check_point(Sphere(6), rounded)) == pytest.approx(1.0, abs=4e-16)


@pytest.mark.parametrize(
    ("point", "message"),
    [
        ([1.0, 1.0, 0.0], "start must have norm 1 .* its norm is 1.41421: divide by it"),
        ([0.0, 0.0, 0.0], "norm is 0"),
        ([1.0, 0.0], r"start must have shape \(3,\) to lie on Sphere\(3\); got \(2,\)"),
        ([[1.0, 0.0, 0.0]], r"got \(1, 3\)"),
        ([np.nan, 0.0, 1.0], "start must be finite"),
        ([np.inf, 0.0, 1.0], "start must be finite"),
        ([1j, 0.0, 0.0], "start must be real"),
        (["a", "b", "c"], "start must be an array of numbers; got dtype"),
        (SimpleNamespace(point=1.0), "got a SimpleNamespace: pass its point"),
        (None, "start must be an array of numbers"),
    ],
)
def test_what_is_refused_and_why(point, message):
    with pytest.raises(ValueError, match=message):
        check_point(Sphere(3), point)


def test_the_error_names_the_parameter():
    with pytest.raises(ValueError, match="initial_point must be finite"):
        check_point(pm.Euclidean(2), [np.nan, 0.0], name="initial_point")


def test_products_are_checked_factor_by_factor():
    sphere_part, other = check_point(PRODUCT, [[0, 0, 1], [3, 4]])
    np.testing.assert_array_equal(sphere_part, [0.0, 0.0, 1.0])
    assert sphere_part.dtype == other.dtype == np.float64
    with pytest.raises(ValueError, match=r"start\[0\] must have norm 1"):
        check_point(PRODUCT, [[0, 0, 2], [3, 4]])
    with pytest.raises(ValueError, match=r"start\[1\] must be finite"):
        check_point(PRODUCT, [[0, 0, 1], [np.nan, 4]])
    for wrong in ([[0, 0, 1]], np.ones(5), 3.0):
        with pytest.raises(ValueError, match="start must be a list of 2 parts"):
            check_point(PRODUCT, wrong)


def test_points_of_several_arrays_keep_their_kind():
    manifold = pm.FixedRankEmbedded(4, 3, 2)
    point = adapt(manifold).random_point(0)
    u, s, vt = point
    assert type(check_point(manifold, point)) is type(point)
    assert type(check_point(manifold, [u.tolist(), s, vt])) is type(point)
    with pytest.raises(ValueError, match=r"start\[1\] must be finite"):
        check_point(manifold, (u, s * np.nan, vt))
    with pytest.raises(ValueError, match="start must be a list of 3 parts"):
        check_point(manifold, (u, s))


OFF = {
    "reflection": (pm.SpecialOrthogonalGroup(3), -np.eye(3), "determinant must be 1"),
    "indefinite": (pm.SymmetricPositiveDefinite(2), np.diag([1.0, -1.0]), "eigenvalues must"),
    "unsymmetric": (
        pm.SymmetricPositiveDefinite(2),
        np.array([[2.0, 1.0], [0.0, 2.0]]),
        "must equal its conjugate transpose",
    ),
    "determinant": (
        pm.SpecialHermitianPositiveDefinite(2),
        2.0 * np.eye(2),
        r"manifold\.retraction\(point, .*\) does, and is at a distance of 1\.4 from it",
    ),
    "norm": (pm.Sphere(4), np.ones(4), "must have norm 1 .*its norm is 2: divide by it$"),
    "norms": (pm.Oblique(2, 1), np.zeros((2, 1)), r": take a point of manifold\.random_point"),
    "matrix": (
        pm.FixedRankEmbedded(3, 4, 1),
        np.ones((3, 4)),
        r"3 parts \(u, s, vt\), the SVD of a matrix .* got an array of shape \(3, 4\)",
    ),
    "skew": (pm.SkewSymmetric(2), np.eye(2), "minus its transpose"),
    "skew-2": (pm.SkewSymmetric(2, 2), np.ones((2, 2, 2)), "minus its transpose"),
    "symmetric": (pm.Symmetric(2), np.array([[0.0, 1.0], [0.0, 0.0]]), "must equal its transpose"),
    "negative": (pm.Positive(1, 2), np.array([[1.0, -1.0]]), "entries must be positive"),
    "outside": (pm.PoincareBall(2), np.array([2.0, 0.0]), "norm must be less than 1"),
    "subspace": (
        pm.SphereSubspaceIntersection(np.eye(3)[:, :2]),
        np.array([0.0, 0.0, 1.0]),
        "must lie in the subspace",
    ),
    "factors": (
        pm.FixedRankEmbedded(3, 3, 1),
        [np.ones((3, 1)), np.ones(1), np.eye(3)[:1]],
        "orthonormal columns",
    ),
    "values": (
        pm.FixedRankEmbedded(3, 3, 1),
        [np.eye(3)[:, :1], -np.ones(1), np.eye(3)[:1]],
        "singular values must be positive",
    ),
    "shapes": (
        pm.FixedRankEmbedded(3, 3, 1),
        [np.eye(3)[:, :2], np.ones(1), np.eye(3)[:1]],
        r"start\[0\] must have shape \(3, 1\)",
    ),
    "stiefel": (
        pm.Stiefel(3, 2),
        2.0 * np.eye(3, 2),
        r"at a distance of 1\.4 from it: take that one$",
    ),
    "dependent": (pm.Stiefel(3, 2), np.ones((3, 2)), r": take a point of manifold\.random_point"),
}


@pytest.mark.parametrize("name", OFF)
def test_points_off_a_manifold_are_refused(name):
    manifold, point, message = OFF[name]
    with pytest.raises(ValueError, match=message):
        check_point(manifold, point)


@pytest.mark.parametrize("name", ZOO)
def test_the_point_that_is_offered_instead_lies_on_the_manifold(name):
    manifold, _ = ZOO[name]
    rng = np.random.default_rng(0)
    point = adapt(manifold).random_point(rng)
    if not isinstance(point, np.ndarray):
        return
    off = point + 0.3 * rng.standard_normal(point.shape)
    try:
        check_point(manifold, off)
    except ValueError as error:
        if "take that one" in str(error):
            check_point(manifold, manifold.retraction(off, manifold.zero_vector(off)))


@pytest.mark.parametrize("name", ZOO)
def test_points_of_every_manifold_are_taken(name):
    manifold, _ = ZOO[name]
    for seed in range(5):
        point = adapt(manifold).random_point(seed)
        checked = check_point(manifold, point)
        for given, taken in zip(arrays_of(point), arrays_of(checked), strict=True):
            np.testing.assert_allclose(given, taken, atol=1e-15)
            assert given is not taken  # the caller's array stays the caller's


def arrays_of(point):
    if isinstance(point, np.ndarray):
        return [point]
    return [array for part in point for array in arrays_of(part)]


def test_real_points_of_complex_manifolds_become_complex():
    checked = check_point(pm.UnitaryGroup(2), np.eye(2, dtype=np.float32))
    assert checked.dtype == np.complex64
    assert check_point(pm.ComplexGrassmann(3, 1), np.eye(3)[:, :1]).dtype == np.complex128
    assert check_point(pm.Stiefel(3, 1), np.eye(3)[:, :1] + 0j).dtype == np.float64
    with pytest.raises(ValueError, match="start must be real"):
        check_point(pm.Euclidean(2), np.array([1j, 0.0]))
    assert check_point(Sphere(2), np.array([0.0, 1.0], dtype=np.longdouble)).dtype == np.float64
