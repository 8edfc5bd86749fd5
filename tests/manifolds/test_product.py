"""Products: by number and by name, nested, as starts and as arguments of costs."""

from __future__ import annotations

import copy
import pickle

import autograd.numpy as anp
import numpy as np
import pymanopt.manifolds as pm
import pytest

import riemtr
from riemtr.manifolds import adapt
from riemtr.manifolds.arrays import as_type
from riemtr.manifolds.product import NamedPoint

POSES = riemtr.Product({"turn": riemtr.Rotations(3), "shift": riemtr.Euclidean(3)})
PLAIN = riemtr.Product([riemtr.Sphere(3), riemtr.Euclidean(2)])


def test_a_named_point_is_a_list_and_a_dict():
    pose = POSES.random_point(0)
    assert isinstance(pose, list)
    assert pose["shift"] is pose[1]
    assert list(pose.keys()) == ["turn", "shift"]
    assert dict(pose).keys() == {"turn", "shift"}
    turn, shift = pose
    assert turn is pose["turn"]
    assert shift is pose["shift"]
    with pytest.raises(KeyError, match="scale"):
        pose["scale"]
    pose["shift"] = np.ones(3)
    np.testing.assert_array_equal(pose[1], np.ones(3))
    assert "'shift'" in repr(pose)
    assert repr(NamedPoint([1.0])) == "[1.0]"


def rigid_problem():
    rng = np.random.default_rng(0)
    points = rng.standard_normal((3, 10))
    truth = POSES.random_point(1)
    images = truth["turn"] @ points + truth["shift"][:, None]

    def cost(turn, shift):
        return anp.sum((anp.dot(turn, points) + shift[:, None] - images) ** 2)

    return riemtr.Problem(POSES, cost), truth


@pytest.mark.parametrize("kind", [dict, list, tuple, NamedPoint, "reversed"])
def test_a_cost_on_a_named_product_from_any_kind_of_start(kind):
    problem, truth = rigid_problem()
    start = POSES.random_point(2)
    if kind == "reversed":
        given = dict(reversed(list(zip(POSES.names, start, strict=True))))
    elif kind is dict:
        given = dict(zip(POSES.names, start, strict=True))
    elif kind is NamedPoint:
        given = start
    else:
        given = kind(start)
    result = riemtr.PracticalTRM().solve(problem, given, rng=0)
    assert result.cost < 1e-12
    assert result.certificate.verdict == "minimizer"
    np.testing.assert_allclose(result.point["turn"], truth["turn"], atol=1e-6)
    np.testing.assert_allclose(result.point["shift"], truth["shift"], atol=1e-6)
    assert riemtr.certify(problem, given).verdict in {"not-critical", "saddle", "minimizer"}


def test_names_survive_conversions_copies_and_pickles():
    pose = POSES.random_point(0)
    single = as_type(pose, np.dtype(np.float32))
    others = [single, copy.deepcopy(pose), pickle.loads(pickle.dumps(pose))]
    for other in others:
        assert list(other.keys()) == ["turn", "shift"]
        np.testing.assert_allclose(other["shift"], pose["shift"], rtol=1e-6)
    assert single["turn"].dtype == np.float32


def test_derivatives_of_a_named_product():
    problem, _ = rigid_problem()
    assert riemtr.check_gradient(problem, rng=0).ok
    assert riemtr.check_hessian(problem, rng=0).ok


@pytest.mark.parametrize(
    ("manifold", "point", "words"),
    [
        (PLAIN, {"a": np.eye(3)[0], "b": np.zeros(2)}, "must be a list of 2 parts .* got a dict"),
        (PLAIN, [np.eye(3)[0]], "must be a list of 2 parts .* got 1"),
        (PLAIN, np.zeros((2, 3)), "must be a list of 2 parts .* array of shape"),
        (PLAIN, 3.0, "must be a list of 2 parts .* got 3.0"),
        (PLAIN, [np.ones(3), np.zeros(2)], r"start\[0\] must have norm 1"),
        (PLAIN, [np.eye(3)[0], np.zeros(3)], r"start\[1\] must have shape \(2,\)"),
        (POSES, {"turn": np.eye(3)}, "'shift' missing"),
        (POSES, {"turn": np.eye(3), "shift": np.ones(3), "x": 1}, "'x' unknown"),
        (POSES, {"turn": np.eye(3), "move": np.ones(3)}, "'shift' missing and 'move' unknown"),
        (POSES, [np.eye(3)], "list of 2 parts, or a dict of 'turn', 'shift'"),
        (POSES, {"turn": np.eye(3), "shift": np.ones(2)}, r"start\['shift'\] must have shape"),
        (POSES, {"turn": -np.eye(3), "shift": np.ones(3)}, r"start\['turn'\] does not lie on"),
    ],
)
def test_what_is_wrong_with_a_start_is_said_by_the_parts_name(manifold, point, words):
    with pytest.raises(ValueError, match=words):
        manifold.check_point(point)


def test_a_dict_for_a_product_of_pymanopts_is_told_apart_from_a_list():
    manifold = adapt(pm.Product([pm.Sphere(3), pm.Euclidean(2)]))
    with pytest.raises(ValueError, match=r"must be a list of 2 parts .* got a dict"):
        manifold.check_point({"a": np.eye(3)[0], "b": np.zeros(2)})


def test_bad_names_and_factors_are_refused():
    with pytest.raises(ValueError, match="names of factors must be strings"):
        riemtr.Product({1: riemtr.Sphere(3)})
    with pytest.raises(ValueError, match="factors must be a list of manifolds"):
        riemtr.Product(riemtr.Sphere(3))
    with pytest.raises(ValueError, match="must be manifolds; got 3"):
        riemtr.Product([riemtr.Sphere(3), 3])


def test_products_in_products():
    inner = riemtr.Product({"x": riemtr.Sphere(3), "y": riemtr.Sphere(3)})
    manifold = riemtr.Product([inner, riemtr.Euclidean(3)])
    rng = np.random.default_rng(0)
    matrix = rng.standard_normal((3, 3))

    def cost(x, y, z):
        return anp.dot(x, anp.dot(matrix, y)) + anp.sum((z - x) ** 2)

    problem = riemtr.Problem(manifold, cost)
    assert riemtr.check_gradient(problem, rng=0).ok
    assert riemtr.check_hessian(problem, rng=0).ok
    result = riemtr.PracticalTRM().solve(problem, rng=0)
    assert result.cost == pytest.approx(-np.linalg.norm(matrix, 2))
    np.testing.assert_allclose(result.point[1], result.point[0]["x"], atol=1e-6)
    again = manifold.check_point([dict(result.point[0]), result.point[1]])
    assert manifold.dist(again, result.point) < 1e-7


def test_both_kinds_of_arguments_serve_in_pymanopts_methods():
    pose = POSES.random_point(0)
    vector = POSES.random_tangent_vector(pose, 1)
    by_name = dict(zip(POSES.names, pose, strict=True))
    there = POSES.exp(by_name, 0.5 * vector)
    assert POSES.dist(by_name, there) == pytest.approx(0.5)
    back = POSES.log(by_name, there)
    assert POSES.norm(by_name, back - 0.5 * vector) < 1e-12
    middle = POSES.pair_mean(pose, there)
    assert POSES.dist(middle, there) == pytest.approx(0.25)


def test_gradients_given_by_name():
    problem = riemtr.Problem(
        POSES,
        lambda turn, shift: float(-np.trace(turn) + shift @ shift),
        euclidean_gradient=lambda turn, shift: [-np.eye(3), 2.0 * shift],
    )
    result = riemtr.PracticalTRM().solve(problem, rng=0)
    assert result.cost == pytest.approx(-3.0)


def test_what_holds_of_one_factor_holds_of_the_product():
    manifold = riemtr.Product([riemtr.Sphere(2), riemtr.PositiveDefinite(2)])
    assert not manifold.bounded
    assert manifold.has_left([np.array([1.0, 0.0]), -np.eye(2)])
    assert not riemtr.Product([riemtr.FixedRank(3, 2, 1), riemtr.Sphere(2)]).converts_hessians
    assert manifold.complaint([np.array([1.0, 0.0]), -np.eye(2)], 1e-6).startswith("in part 1, ")
    assert "Product([Sphere(2), PositiveDefinite(2)])" in repr(manifold)
    assert repr(POSES) == "Product({'turn': Rotations(3), 'shift': Euclidean(3)})"
