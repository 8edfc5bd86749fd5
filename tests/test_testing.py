"""Checks for third parties: right manifolds pass, each known fault is found, nothing raises."""

from __future__ import annotations

import math

import autograd.numpy as anp
import numpy as np
import pymanopt
import pymanopt.manifolds as pm
import pytest

import riemtr
from riemtr.manifolds import adapt
from riemtr.testing import Check, Report, check_manifold, check_problem
from tests.manifolds.zoo import NATIVE, PYMANOPT

DIMENSION = "dimension is that of random tangent vectors"
PARALLEL = "transport is parallel to first order"
CLEANED = "to_tangent_space leads to the tangent space"
KEPT = "projection keeps tangent vectors"
ONTO = "projection is onto the tangent space"
IDEMPOTENT = "projection is idempotent"
SLOPE = "gradient is the slope of the cost"
TANGENT = "gradient is tangent"
BEND = "Hessian is the curvature along geodesics"
NO_LOG = "log of the point itself is zero"

_UNITARY = {KEPT, ONTO, TANGENT, SLOPE, PARALLEL, CLEANED}
_ELLIPTOPE = {
    "random_tangent_vector is tangent",
    DIMENSION,
    "to_tangent_space keeps tangent vectors",
    CLEANED,
    KEPT,
    ONTO,
    IDEMPOTENT,
    "transport leads to the tangent space",
    "transport to the same point is none",
}
# The faults of pymanopt 2.2, which riemtr.manifolds.repairs repairs.
FAULTS = {
    "sphere-subspace": {CLEANED},
    "sphere-complement": {CLEANED},
    "spd": {PARALLEL},
    "spd-2": {PARALLEL},
    "hpd": {DIMENSION, PARALLEL},
    "hpd-2": {DIMENSION, PARALLEL},
    "special-hpd": {DIMENSION, CLEANED, PARALLEL},
    # Hyperbolic space of dimension 3, where the projection happens to be parallel.
    "special-hpd-2": {DIMENSION, CLEANED},
    "complex-circle": {
        "exp of the zero vector is the point",
        "exp stays on the manifold",
        "exp is of first order",
        BEND,
        PARALLEL,
        "log inverts exp",
        "exp inverts log",
        NO_LOG,
        "dist is the length of the geodesic",
        "dist of a point to itself is zero",
        "pair_mean is the midpoint of the geodesic",
    },
    "unitary": _UNITARY,
    "unitary-2": _UNITARY,
    "rotations": {PARALLEL},
    "rotations-2": {PARALLEL},
    "elliptope": _ELLIPTOPE,
    "poincare": {NO_LOG},
    "poincare-3": {NO_LOG},
    "positive": {PARALLEL},
    "positive-2": {PARALLEL},
    "symmetric": {CLEANED},
    "skew": {CLEANED},
    "skew-2": {CLEANED},
    "product-spd": {PARALLEL},
    # A product of pymanopt does not embed the vectors of its factors.
    "product-rigid": {
        KEPT,
        IDEMPOTENT,
        CLEANED,
        "retraction is of first order",
        "exp is of first order",
        "Hessian is symmetric",
        BEND,
        PARALLEL,
    },
    "product-quotient": _ELLIPTOPE,
    "product-hpd": {
        DIMENSION,
        KEPT,
        ONTO,
        IDEMPOTENT,
        CLEANED,
        "projection is orthogonal",
        "retraction is of first order",
        "exp is of first order",
        TANGENT,
        SLOPE,
        NO_LOG,
    },
    "product-mixed": {KEPT, CLEANED, TANGENT, SLOPE},
}


def failed(report):
    return {check.name for check in report.failures}


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("name", NATIVE)
def test_riemtrs_manifolds_are_right(name, seed):
    report = check_manifold(NATIVE[name][0], seed)
    assert report.ok, str(report)


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("name", PYMANOPT)
def test_pymanopts_manifolds_are_right_once_adapted(name, seed):
    report = check_manifold(adapt(PYMANOPT[name][0]), seed)
    assert report.ok, str(report)


@pytest.mark.parametrize("name", PYMANOPT)
def test_the_faults_of_pymanopts_manifolds_are_found(name):
    assert failed(check_manifold(PYMANOPT[name][0], 0)) == FAULTS.get(name, set())


def test_pymanopts_projection_onto_the_unitary_group_is_found():
    """pymanopt's pull request 298: the projection takes the skew-symmetric part."""
    assert {KEPT, ONTO} <= failed(check_manifold(pm.UnitaryGroup(3)))

    class Repaired(pm.UnitaryGroup):
        def projection(self, point, vector):
            return self.to_tangent_space(point, point.conj().T @ vector)

    assert failed(check_manifold(Repaired(3))) == {PARALLEL}


SECOND_ORDER = ["sphere", "stiefel", "grassmann", "spd", "rotations", "poincare", "psd", "oblique"]


@pytest.mark.parametrize("name", SECOND_ORDER)
def test_verdicts_on_second_order_do_not_hang_on_the_seed(name):
    """pymanopt's issue 219: its own tests of second-order approximations fail now and then."""
    reports = [check_manifold(PYMANOPT[name][0], seed) for seed in range(8)]
    assert {report[BEND].verdict for report in reports} == {"ok"}
    assert {report[SLOPE].verdict for report in reports} == {"ok"}


# -- one fault at a time --------------------------------------------------------------------------


class WrongMetric(pm.SymmetricPositiveDefinite):
    """pymanopt's issue 128, of version 0.2: a transpose is missing."""

    def inner_product(self, point, tangent_vector_a, tangent_vector_b):
        a, b = (np.linalg.solve(point, each) for each in (tangent_vector_a, tangent_vector_b))
        return np.tensordot(a, b, axes=point.ndim)


class Faulty(pm.Stiefel):
    """The Stiefel manifold, to be spoilt."""


def spoilt(**methods):
    return type("Faulty", (Faulty,), methods)(4, 2)


# A generator that nobody seeds anew.
FRESH = np.random.default_rng(0)
ONE_FAULT = {
    "retraction of order zero": (
        spoilt(retraction=lambda self, x, v: pm.Stiefel.retraction(self, x, 2.0 * v)),
        "retraction is of first order",
    ),
    "retraction leaves the manifold": (
        spoilt(retraction=lambda self, x, v: x + v),
        "retraction stays on the manifold",
    ),
    "retraction moves on": (
        spoilt(retraction=lambda self, x, v: pm.Stiefel.retraction(self, x[::-1], v)),
        "retraction of the zero vector is the point",
    ),
    "gradient too long": (
        spoilt(euclidean_to_riemannian_gradient=lambda self, x, g: 2.0 * self.projection(x, g)),
        SLOPE,
    ),
    "Hessian without curvature": (
        spoilt(euclidean_to_riemannian_hessian=lambda self, x, g, h, v: self.projection(x, h)),
        BEND,
    ),
    "Hessian not projected": (
        spoilt(euclidean_to_riemannian_hessian=lambda self, x, g, h, v: h),
        "Hessian product is tangent",
    ),
    "projection halves": (
        spoilt(projection=lambda self, x, v: 0.5 * pm.Stiefel.projection(self, x, v)),
        IDEMPOTENT,
    ),
    "oblique projection": (
        spoilt(
            projection=lambda self, x, v: (
                pm.Stiefel.projection(self, x, v + x * np.sum(x * v) * 3)
                + pm.Stiefel.projection(self, x, np.eye(4, 2)) * np.trace(x.T @ v)
            )
        ),
        "projection is orthogonal",
    ),
    "complex metric": (
        spoilt(inner_product=lambda self, x, a, b: np.vdot(a, b) * (1.0 + 1e-3j)),
        "inner products are real",
    ),
    "indefinite metric": (
        spoilt(inner_product=lambda self, x, a, b: -np.vdot(a, b)),
        "inner product is positive",
    ),
    "asymmetric metric": (
        spoilt(inner_product=lambda self, x, a, b: np.vdot(a, b) + 0.1 * a[0, 0] * b[1, 1]),
        "inner product is symmetric",
    ),
    "norm of another metric": (
        spoilt(norm=lambda self, x, v: 2.0 * np.linalg.norm(v)),
        "norm is that of the inner product",
    ),
    "long random vectors": (
        spoilt(random_tangent_vector=lambda self, x: 2 * pm.Stiefel.random_tangent_vector(self, x)),
        "random_tangent_vector has norm 1",
    ),
    "random vectors off the tangent space": (
        spoilt(random_tangent_vector=lambda self, x: pm.Euclidean(4, 2).random_point()),
        "random_tangent_vector is tangent",
    ),
    "randomness of its own": (
        spoilt(
            random_point=lambda self: np.linalg.qr(np.random.default_rng().normal(size=(4, 2)))[0]
        ),
        "random_point is the same for the same seed",
    ),
    "always the same point": (
        spoilt(random_point=lambda self: np.eye(4, 2)),
        "random_point differs for other seeds",
    ),
    "dimension": (spoilt(dim=property(lambda self: 4)), DIMENSION),
    "transport that does nothing": (
        spoilt(transport=lambda self, a, b, v: v),
        "transport leads to the tangent space",
    ),
    "nonlinear transport": (
        spoilt(transport=lambda self, a, b, v: self.projection(b, v * np.linalg.norm(v))),
        "transport is linear",
    ),
    "shortened transport": (
        spoilt(transport=lambda self, a, b, v: self.projection(b, v) * (1.0 - a[0, 0] + b[0, 0])),
        PARALLEL,
    ),
    "exp too far": (
        spoilt(exp=lambda self, x, v: pm.Stiefel.exp(self, x, 1.1 * v)),
        "exp is of first order",
    ),
    "zero that is none": (
        spoilt(zero_vector=lambda self, x: np.full((4, 2), 1e-3)),
        "zero_vector is zero",
    ),
    "metric of pymanopt 0.2": (WrongMetric(3), SLOPE),
}


@pytest.mark.parametrize("fault", ONE_FAULT)
def test_each_fault_is_found(fault):
    manifold, name = ONE_FAULT[fault]
    assert name in failed(check_manifold(manifold))


def test_uneven_random_vectors_are_found():
    class Uneven(pm.Euclidean):
        def random_tangent_vector(self, point):
            vector = np.random.randn(4) * np.array([1.0, 1.0, 1.0, 0.1])  # noqa: NPY002
            return vector / np.linalg.norm(vector)

    assert failed(check_manifold(Uneven(4))) == {"random_tangent_vector is uniform"}


def test_wrong_distances_are_found():
    class Chordal(pm.Sphere):
        def dist(self, point_a, point_b):
            return np.linalg.norm(point_a - point_b)

        def log(self, point_a, point_b):
            return 2.0 * super().log(point_a, point_b)

        def pair_mean(self, point_a, point_b):
            return point_a

    assert failed(check_manifold(Chordal(4))) == {
        "log inverts exp",
        "exp inverts log",
        "dist is the length of the geodesic",
        "pair_mean is the midpoint of the geodesic",
    }


class TestQuotients:
    class Lines:
        """Lines through the origin, by unit vectors up to their sign; nobody's class."""

        def __init__(self, size):
            self.size, self.dim = size, size - 1

        def __str__(self):
            return f"lines in dimension {self.size}"

        def __getattr__(self, name):
            return getattr(pm.Sphere(self.size), name)

        def retraction(self, point, tangent_vector):
            return -(point + tangent_vector) / np.linalg.norm(point + tangent_vector)

    def test_arrays_are_taken_for_points_unless_told(self):
        lines = self.Lines(4)
        wrong = failed(check_manifold(lines))
        assert "retraction of the zero vector is the point" in wrong

    def test_invariants_tell_points_from_their_arrays(self):
        report = check_manifold(self.Lines(4), invariants=lambda x: anp.outer(x, x))
        assert "retraction of the zero vector is the point" not in failed(report)
        assert "gradient is the slope of the cost" not in failed(report)


# -- reports --------------------------------------------------------------------------------------


def test_a_manifold_that_raises_is_reported():
    class Broken:
        dim = 3

        def random_point(self):
            raise RuntimeError("no points today")

    report = check_manifold(Broken())
    assert not report.ok
    assert "no points today" in str(report)
    assert "RuntimeError" in report.failures[0].remark


@pytest.mark.parametrize("nothing", [None, 3, "sphere", pm.Sphere])
def test_what_is_no_manifold_is_reported(nothing):
    assert not check_manifold(nothing).ok


def test_a_manifold_may_do_without_what_is_optional():
    class Plain:
        """The unit sphere with the methods that riemtr requires, and no more."""

        dim = 3

        def inner_product(self, point, a, b):
            return float(a @ b)

        def norm(self, point, vector):
            return float(np.linalg.norm(vector))

        def projection(self, point, vector):
            return vector - point * (point @ vector)

        def retraction(self, point, vector):
            return (point + vector) / np.linalg.norm(point + vector)

        def zero_vector(self, point):
            return np.zeros(4)

        def random_point(self, rng):
            return riemtr.Sphere(4).random_point(rng)

        def random_tangent_vector(self, point, rng):
            return riemtr.Sphere(4).random_tangent_vector(point, rng)

    report = check_manifold(Plain())
    assert report.ok, str(report)
    assert report["gradient"].remark == "not offered"
    assert report["transport"].remark == "not offered"


def test_dimension_zero():
    for manifold in (riemtr.Sphere(1), riemtr.Rotations(1)):
        report = check_manifold(manifold)
        assert report.ok, str(report)


def test_large_manifolds_are_checked_but_for_their_dimension():
    report = check_manifold(riemtr.Stiefel(40, 3))
    assert report.ok, str(report)
    assert report[DIMENSION].verdict == "info"


def test_orders_of_retractions_are_told():
    row = "retraction is of second order"
    assert check_manifold(pm.SpecialOrthogonalGroup(3))[row].remark == "no, only of first"
    polar = check_manifold(pm.SpecialOrthogonalGroup(3, retraction="polar"))[row]
    assert polar.remark == "yes"
    assert polar.measured == pytest.approx(2.0, abs=0.1)
    assert math.isinf(check_manifold(riemtr.Euclidean(3))[row].measured)


def test_a_report_prints_as_a_table():
    report = check_manifold(pm.HermitianPositiveDefinite(2))
    lines = str(report).splitlines()
    assert repr(report) == str(report)  # as a notebook shows it
    assert lines[0].endswith(f"2 of {len(report.checks)} WRONG")
    assert len(lines) == len(report.checks) + 2
    assert sum("WRONG" in line for line in lines[1:]) == 2
    assert "rank 4, dim 6" in str(report)
    assert not report
    with pytest.raises(KeyError):
        report["no such row"]
    assert str(Report("x", (Check("a", 1.0, 2.0, "ok"),))).startswith("x: all right")


def test_the_same_seed_gives_the_same_report_and_no_global_randomness():
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    reports = [str(check_manifold(pm.PoincareBall(2), 3)) for _ in range(2)]
    assert reports[0] == reports[1]
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002


# -- problems -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", riemtr.problems.available())
def test_problems_of_the_catalogue_are_right(name):
    report = check_problem(riemtr.problems.build(name, rng=0).problem)
    assert report.ok, str(report)


def test_wrong_derivatives_are_found():
    matrix = np.diag([1.0, 2.0, 3.0])
    sphere = riemtr.Sphere(3)

    def problem(gradient, hessian):
        return riemtr.Problem(
            sphere,
            lambda x: x @ matrix @ x,
            euclidean_gradient=gradient,
            euclidean_hessian=hessian,
        )

    right = problem(lambda x: 2 * matrix @ x, lambda x, v: 2 * matrix @ v)
    assert check_problem(right).ok
    assert check_problem(right, point=np.array([0.6, 0.8, 0.0])).ok
    wrong = check_problem(problem(lambda x: matrix @ x, lambda x, v: 2 * matrix @ v))
    assert "gradient is that of the cost (order)" in failed(wrong)
    tilted = matrix + np.triu(np.ones((3, 3)), 1)
    wrong = check_problem(problem(lambda x: 2 * matrix @ x, lambda x, v: 2 * tilted @ v))
    assert "Hessian is symmetric" in failed(wrong)


def test_a_cost_that_is_none_of_the_point_is_found():
    manifold = riemtr.Grassmann(4, 2)
    report = check_problem(riemtr.Problem(manifold, lambda x: anp.sum(x[:, 0] ** 4)))
    assert "cost is the same for other representatives" in failed(report)
    weights = np.arange(4.0)
    well = riemtr.Problem(manifold, lambda x: anp.sum(weights[:, None] * x**2))
    assert check_problem(well).ok


def test_pymanopts_problems_are_checked_too():
    sphere = pm.Sphere(4)

    @pymanopt.function.autograd(sphere)
    def cost(x):
        return anp.sum(anp.arange(4.0) * x**2)

    report = check_problem(pymanopt.Problem(sphere, cost))
    assert report.ok, str(report)


def test_a_cost_that_raises_is_reported():
    def cost(x):
        raise ZeroDivisionError("not today")

    report = check_problem(riemtr.Problem(riemtr.Sphere(3), cost))
    assert not report.ok
    assert "not today" in str(report)
