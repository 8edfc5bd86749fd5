"""How far the minimizer is: bounds that hold, against 50 digits and closed forms, or none."""

from __future__ import annotations

import math
import pickle

import mpmath
import numpy as np
import pytest

import riemtr
from benchmarks.distance_bound import SIZES, exact_minimizer
from riemtr.errors import ArgumentError
from riemtr.problem.quadratic import QuadraticCost, Rows
from riemtr.solvers.distance import Newton, estimated, kantorovich, proved


@pytest.fixture(autouse=True)
def digits():
    mpmath.mp.dps = 50


def quadratic(values, **options) -> riemtr.Problem:
    """Return x'Dx on the sphere, whose minimizer is the axis of the smallest value."""
    diagonal = np.asarray(values)
    return riemtr.Problem(
        riemtr.Sphere(len(diagonal)),
        QuadraticCost(2.0 * np.diag(diagonal), Rows()),
        **options,
    )


def angle(point: np.ndarray) -> float:
    return math.atan2(float(np.linalg.norm(point[1:])), abs(float(point[0])))


def near(axis: int, size: int, direction: np.ndarray, distance: float) -> np.ndarray:
    unit = np.eye(size)[axis]
    aside = direction - (direction @ unit) * unit
    return math.cos(distance) * unit + math.sin(distance) * aside / np.linalg.norm(aside)


# -- the theorem ----------------------------------------------------------------------------------


def test_kantorovichs_radius_is_attained_by_a_parabola():
    # F' = -g + k v - L v^2 / 2 vanishes first at the radius itself.
    slope, bend, constant = 0.2, 2.0, 3.0
    root = (bend - math.sqrt(bend**2 - 2.0 * constant * slope)) / constant
    newton = Newton(bend, slope / bend, slope**2 / bend)
    found = kantorovich(newton, lambda radius: constant, 0.0, "proved")
    assert found.bound == pytest.approx(root, rel=1e-9)
    fall = slope * root - bend * root**2 / 2.0 + constant * root**3 / 6.0
    assert fall <= found.cost_bound <= 1.5 * fall


@pytest.mark.parametrize(
    ("least", "length", "constant"),
    [
        (1.0, 0.5, 1.0),
        (1.0, 0.6, 1.0),
        (0.0, 0.1, 1.0),
        (-1.0, 0.1, 1.0),
        (1.0, 0.1, math.inf),
        (math.nan, 0.1, 1.0),
        (1.0, math.nan, 1.0),
        (1.0, 0.1, math.nan),
        (1.0, math.inf, 0.0),
    ],
)
def test_nothing_is_said_where_the_theorems_conditions_fail(least, length, constant):
    newton = Newton(least, length, length**2)
    assert kantorovich(newton, lambda radius: constant, 0.0, "proved") is None


def test_a_convex_cubic_has_its_exact_distance():
    # x^3 / 3 - x has its minimizer at 1; its Hessian 2x changes as fast as its constant says.
    problem = riemtr.Problem(
        riemtr.Euclidean(1),
        lambda x: float(x[0] ** 3 / 3.0 - x[0]),
        euclidean_gradient=lambda x: x**2 - 1.0,
        euclidean_hessian=lambda x, v: 2.0 * x * v,
        hessian_lipschitz=2.0,
    )
    found = riemtr.certify(problem, np.array([1.1]), tolerance=1.0)
    assert found.distance_bound_is == "proved"
    # To the other side of the minimizer the curvature falls, as the theorem has to assume.
    assert 0.1 <= found.distance_bound <= 0.12
    other = riemtr.certify(problem, np.array([0.9]), tolerance=1.0)
    assert other.distance_bound >= 0.1


# -- proofs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SIZES)
def test_proved_bounds_hold_against_fifty_digits(name):
    given = 0
    for seed, tolerance in enumerate([1e-2, 1e-4, 1e-7, 1e-12]):
        case = riemtr.problems.build(name, rng=seed, **SIZES[name])
        result = riemtr.PracticalTRM(relative_tolerance=tolerance).solve(
            case.problem, case.start, rng=seed
        )
        found = proved(case.problem.at(result.point))
        if found is None:
            assert tolerance > 1e-7  # the usual tolerance leaves no doubt
            continue
        given += 1
        truth = exact_minimizer(case, result.point)
        assert truth.distance <= found.bound
        assert truth.excess <= found.cost_bound
        if tolerance == 1e-7:
            assert found.bound <= 1.1 * truth.distance + 1e-12
    assert given >= 2


@pytest.mark.parametrize("name", SIZES)
def test_no_point_on_the_way_has_a_false_bound(name):
    # From far off to a rounding error away, along a direction that nobody chose.
    case = riemtr.problems.build(name, rng=5, **SIZES[name])
    end = riemtr.PracticalTRM(relative_tolerance=1e-12).solve(case.problem, case.start, rng=0)
    space = case.problem.geometry.space(end.point)
    direction = space.random(np.random.default_rng(0))
    for length in (1.0, 0.3, 0.1, 1e-2, 1e-3, 1e-5):
        point = space.move(length * direction)
        found = proved(case.problem.at(point))
        if found is not None:
            truth = exact_minimizer(case, point)
            assert truth is not None
            assert truth.distance <= found.bound


def test_saddles_and_their_neighbours_have_none():
    problem = quadratic([0.0, 1.0, 2.0, 3.0])
    direction = np.random.default_rng(0).standard_normal(4)
    for axis in (1, 2, 3):
        for distance in (0.0, 1e-12, 1e-6, 1e-2):
            point = near(axis, 4, direction, distance)
            assert proved(problem.at(point)) is None
            assert estimated(problem.at(point)) is None
            assert riemtr.certify(problem, point, tolerance=1.0).distance_bound is None


@pytest.mark.parametrize("gap", [1e-2, 1e-5, 1e-8, 1e-11, 1e-14, 0.0])
def test_nearly_degenerate_hessians(gap):
    problem = quadratic([0.0, gap, 1.0, 2.0])
    rng = np.random.default_rng(0)
    for distance in (0.0, 1e-14, 1e-10, 1e-6, 1e-3, 0.1):
        for direction in (np.eye(4)[1], rng.standard_normal(4)):
            point = near(0, 4, direction, distance)
            found = proved(problem.at(point))
            if found is not None:
                assert gap > 0.0
                assert angle(point) <= found.bound
    close = proved(problem.at(near(0, 4, np.eye(4)[2], 1e-12)))
    # With less of a gap the rounding of the gradient hides how far the minimizer is.
    assert (close is not None) == (gap >= 1e-5)


@pytest.mark.parametrize("scale", [1e-120, 1e-8, 1.0, 1e8, 1e120])
def test_a_factor_before_the_cost_changes_nothing(scale):
    point = near(0, 4, np.ones(4), 1e-5)
    found = proved(quadratic(scale * np.array([0.0, 1.0, 2.0, 3.0])).at(point))
    assert angle(point) <= found.bound <= 1.001e-5
    assert found.cost_bound == pytest.approx(scale * found.cost_bound / scale)
    excess = scale * float(np.array([0.0, 1.0, 2.0, 3.0]) @ point**2)
    assert excess <= found.cost_bound <= 1.01 * excess


def test_a_constant_beside_the_cost_costs_digits_only():
    # With all eigenvalues near 1e6 the gradient is a difference of large numbers.
    point = near(0, 4, np.ones(4), 1e-5)
    found = proved(quadratic(1e6 + np.array([0.0, 1.0, 2.0, 3.0])).at(point))
    assert found is None or angle(point) <= found.bound
    closer = near(0, 4, np.ones(4), 1e-9)
    found = proved(quadratic(1e6 + np.array([0.0, 1.0, 2.0, 3.0])).at(closer))
    assert angle(closer) <= found.bound <= 1e-6


def test_single_precision_is_accounted_for():
    case = riemtr.problems.build("dictionary-learning", rng=0, n=6, p=300, mu=0.3)
    data = case.problem.cost.data.astype(np.float32)
    narrow = riemtr.dictionary_problem(data, mu=0.3)
    wide = riemtr.dictionary_problem(data.astype(float), mu=0.3)
    result = riemtr.PracticalTRM().solve(narrow, rng=0)
    truth = riemtr.PracticalTRM(relative_tolerance=1e-13).solve(wide, result.point.astype(float))
    found = proved(narrow.at(result.point))
    assert found is not None
    assert wide.manifold.dist(result.point.astype(float), truth.point) <= found.bound


def test_symmetries_are_looked_across():
    case = riemtr.problems.build("phase-synchronisation", rng=0, n=12)
    result = riemtr.PracticalTRM().solve(case.problem, case.start, rng=0)
    assert result.certificate.symmetries == 1
    assert result.certificate.distance_bound_is == "proved"
    # Without its name the symmetry is a flat direction, beside which no point is isolated.
    unnamed = riemtr.Problem(case.problem.manifold, case.problem.cost)
    assert riemtr.certify(unnamed, result.point).distance_bound is None


def test_up_to_five_hundred_dimensions_it_is_a_proof():
    case = riemtr.problems.build("rayleigh", rng=0, n=450)
    result = riemtr.PracticalTRM().solve(case.problem, case.start, rng=0)
    assert result.certificate.distance_bound_is == "proved"
    assert case.truth.distance(result.point) <= result.certificate.distance_bound


# -- what the user states -------------------------------------------------------------------------


def double_well(**options) -> riemtr.Problem:
    """Return (x^2 - 1)^2 / 4 summed over two coordinates; minimizers are (+-1, +-1)."""
    return riemtr.Problem(
        riemtr.Euclidean(2),
        lambda x: float(np.sum((x**2 - 1.0) ** 2)) / 4.0,
        euclidean_gradient=lambda x: x**3 - x,
        euclidean_hessian=lambda x, v: (3.0 * x**2 - 1.0) * v,
        **options,
    )


def test_a_users_constant_proves():
    problem = double_well(hessian_lipschitz=lambda x, radius: 6.0 * (np.abs(x).max() + radius))
    point = np.array([1.01, 0.995])
    found = riemtr.certify(problem, point, tolerance=1.0)
    assert found.distance_bound_is == "proved"
    assert np.linalg.norm(point - 1.0) <= found.distance_bound <= 1.2 * np.linalg.norm(point - 1.0)


def test_too_small_a_constant_is_taken_at_its_word():
    # The bound is then that of a quadratic, which the cost is not: the user's responsibility.
    point = np.array([1.05, 1.0])
    found = riemtr.certify(double_well(hessian_lipschitz=0.0), point, tolerance=1.0)
    assert found.distance_bound_is == "proved"
    assert found.distance_bound < 0.05


@pytest.mark.parametrize("value", [-1.0, "much", math.nan])
def test_constants_that_are_none_are_named(value):
    with pytest.raises(ArgumentError, match="hessian_lipschitz"):
        double_well(hessian_lipschitz=value)
    problem = double_well(hessian_lipschitz=lambda x, radius: value)
    found = riemtr.certify(problem, np.ones(2))
    with pytest.raises(ArgumentError, match="hessian_lipschitz"):
        found.distance_bound  # noqa: B018


# -- estimates ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["karcher-mean", "covariance", "generalised-eigenvalues"])
def test_estimates_where_nothing_is_bounded(name):
    for seed in range(3):
        case = riemtr.problems.build(name, rng=seed)
        found = riemtr.PracticalTRM().solve(case.problem, case.start, rng=seed)
        known = found.certificate
        assert known.distance_bound_is == "estimated"
        true = case.problem.geometry.dist(found.point, case.truth.point)
        assert true <= 1.001 * known.distance_bound + 1e-14
        assert known.distance_bound <= 3.0 * true + 1e-9


def test_estimates_by_products_alone():
    values = np.arange(1.0, 1201.0)
    problem = riemtr.Problem(
        riemtr.Sphere(1200),
        lambda x: float(values @ x**2),
        euclidean_gradient=lambda x: 2.0 * values * x,
        euclidean_hessian=lambda x, v: 2.0 * values * v,
    )
    result = riemtr.PracticalTRM().solve(problem, rng=0)
    known = result.certificate
    assert known.distance_bound_is == "estimated"
    assert 0.999 * angle(result.point) <= known.distance_bound <= 3.0 * angle(result.point)


def test_the_cost_need_not_be_defined_beside_the_point():
    problem = riemtr.Problem(
        riemtr.Euclidean(1),
        lambda x: float(np.cosh(x[0])),
        euclidean_gradient=lambda x: np.sinh(x) if abs(x[0]) < 1e-14 else _refuse(),
        euclidean_hessian=lambda x, v: np.cosh(x) * v,
    )
    assert estimated(problem.at(np.zeros(1))) is None


def _refuse():
    raise ValueError("no gradient here")


# -- the certificate ------------------------------------------------------------------------------


def test_points_that_are_no_minimizers_have_no_bound():
    problem = quadratic([0.0, 1.0, 2.0])
    found = riemtr.certify(problem, near(0, 3, np.ones(3), 0.1))
    assert found.verdict == "not-critical"
    assert (found.distance_bound, found.distance_bound_is, found.cost_bound) == (None, None, None)


def test_flat_minimizers_have_no_bound():
    flat = quadratic([0.0, 0.0, 1.0])
    assert riemtr.certify(flat, np.eye(3)[0]).distance_bound is None


def test_printing_shows_it_and_computes_nothing():
    case = riemtr.problems.build("rayleigh", rng=0, n=10)
    result = riemtr.PracticalTRM().solve(case.problem, case.start, rng=0)
    assert "proved" in repr(result.certificate)
    assert "proved" in repr(result)
    later = riemtr.problems.build("covariance", rng=0)
    found = riemtr.PracticalTRM().solve(later.problem, later.start, rng=0).certificate
    assert "estimated" not in repr(found)
    assert found.distance_bound is not None
    assert "estimated" in repr(found)


def test_saved_and_pickled_results_keep_it(tmp_path):
    case = riemtr.problems.build("rayleigh", rng=0, n=10)
    result = riemtr.PracticalTRM().solve(case.problem, case.start, rng=0)
    known = result.certificate
    path = tmp_path / "result.npz"
    result.save(path)
    for other in (riemtr.load_result(path), pickle.loads(pickle.dumps(result))):
        assert other.certificate.distance_bound == known.distance_bound
        assert other.certificate.cost_bound == known.cost_bound
        assert other.certificate.distance_bound_is == "proved"


def test_results_that_nobody_asked_are_loaded_without_one(tmp_path):
    case = riemtr.problems.build("covariance", rng=0)
    result = riemtr.PracticalTRM().solve(case.problem, case.start, rng=0)
    assert result.certificate.verdict == "minimizer"
    result.save(tmp_path / "result.npz")
    assert riemtr.load_result(tmp_path / "result.npz").certificate.distance_bound is None
