"""The checks pass what is right and fail what is wrong, and say so in numbers."""

from __future__ import annotations

import math
import warnings

import autograd.numpy as anp
import matplotlib
import numpy as np
import pymanopt
import pymanopt.manifolds as pm
import pytest

import riemtr
from riemtr import Problem, Sphere, check_gradient, check_hessian, check_retraction
from riemtr.manifolds import adapt
from tests.manifolds.zoo import ZOO, cost_on

matplotlib.use("Agg")
N = 6


def problem(seed, *, gradient=None, hessian=None, dtype=np.float64, offset=0.0):
    """A quartic on the sphere; ``gradient`` and ``hessian`` spoil what they are given."""
    rng = np.random.default_rng(seed)
    matrix = rng.standard_normal((N, N))
    matrix = (matrix + matrix.T).astype(dtype)
    linear = rng.standard_normal(N).astype(dtype)

    def euclidean_gradient(x):
        return 2 * matrix @ x + linear + 4 * x**3

    def euclidean_hessian(x, v):
        return 2 * matrix @ v + 12 * x**2 * v

    def riemannian_gradient(x):
        exact = euclidean_gradient(x)
        exact = exact - (x @ exact) * x
        return exact if gradient is None else gradient(x, exact)

    def riemannian_hessian(x, v):
        exact = euclidean_hessian(x, v) - (x @ euclidean_gradient(x)) * v
        exact = exact - (x @ exact) * x
        return exact if hessian is None else hessian(x, v, exact)

    return Problem(
        Sphere(N),
        lambda x: float(x @ matrix @ x + linear @ x + np.sum(x**4) + dtype(offset)),
        riemannian_gradient=riemannian_gradient,
        riemannian_hessian=riemannian_hessian,
    )


@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_right_derivatives_pass(offset):
    for seed in range(15):
        gradient = check_gradient(problem(seed, offset=offset), rng=seed)
        hessian = check_hessian(problem(seed, offset=offset), rng=seed)
        assert gradient.ok
        assert hessian.ok
        assert gradient.slope == pytest.approx(2.0, abs=0.1)
        assert hessian.slope == pytest.approx(3.0, abs=0.1)
        assert max(gradient.tangency_error, hessian.tangency_error) < 1e-14
        assert hessian.symmetry_error < 1e-13


@pytest.mark.parametrize("factor", [-1.0, 0.0, 0.9, 1.01, 2.0])
def test_a_wrong_factor_fails(factor):
    for seed in range(8):
        wrong = problem(seed, gradient=lambda x, exact: factor * exact)
        check = check_gradient(wrong, rng=seed)
        assert not check.ok
        assert check.slope == pytest.approx(1.0, abs=0.1)
    if factor != 1.01:  # which third-order terms can hide
        for seed in range(8):
            wrong = problem(seed, hessian=lambda x, v, exact: factor * exact)
            check = check_hessian(wrong, rng=seed)
            assert not check.ok
            assert check.slope == pytest.approx(2.0, abs=0.1)


def test_a_missing_term_fails():
    # The Euclidean Hessian projected, without the curvature of the sphere.
    rng = np.random.default_rng(0)
    matrix = rng.standard_normal((N, N))
    matrix += matrix.T
    wrong = Problem(
        Sphere(N),
        lambda x: float(x @ matrix @ x),
        euclidean_gradient=lambda x: 2 * matrix @ x,
        riemannian_hessian=lambda x, v: 2 * (matrix @ v - (x @ matrix @ v) * x),
    )
    assert check_gradient(wrong, rng=0).ok
    assert not check_hessian(wrong, rng=0).ok


def test_a_vector_that_is_not_tangent_fails():
    wrong = problem(0, gradient=lambda x, exact: exact + 1e-3 * x)
    check = check_gradient(wrong, rng=0)
    assert not check.ok
    assert check.slope > 1.9
    assert check.tangency_error == pytest.approx(
        1e-3 / wrong.at(Sphere(N).random_point(np.random.default_rng(0))).gradient_norm, rel=1e-3
    )
    wrong = problem(0, hessian=lambda x, v, exact: exact + 0.1 * x)
    check = check_hessian(wrong, rng=0)
    assert not check.ok
    assert check.tangency_error > 1e-3


def test_an_unsymmetric_hessian_fails():
    rng = np.random.default_rng(1)
    skew = rng.standard_normal((N, N))
    skew = skew - skew.T

    def twist(x, v, exact):
        turned = skew @ v  # invisible along the curve: v'(skew)v = 0
        return exact + turned - (x @ turned) * x

    check = check_hessian(problem(0, hessian=twist), rng=0)
    assert not check.ok
    assert check.slope > 2.9
    assert check.symmetry_error > 1e-2
    assert check.hint == "it is not symmetric"  # what is said of quotients is not for the sphere


def test_an_exact_model_passes():
    # On a flat space the model of a quadratic is exact: only rounding is left.
    matrix = np.diag(np.arange(1.0, 5.0))
    quadratic = Problem(pm.Euclidean(4), lambda x: x @ matrix @ x)
    assert check_hessian(quadratic, rng=0).ok
    linear = Problem(pm.Euclidean(4), lambda x: x @ np.ones(4))
    assert check_gradient(linear, rng=0).ok
    assert check_hessian(linear, rng=0).ok
    half = Problem(
        pm.Euclidean(4),
        lambda x: x @ matrix @ x,
        euclidean_gradient=lambda x: 2 * matrix @ x,
        euclidean_hessian=lambda x, v: matrix @ v,
    )
    assert not check_hessian(half, rng=0).ok


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_the_scale_of_the_cost_does_not_matter(scale):
    matrix = np.diag(np.arange(1.0, N + 1.0)) * scale
    for factor, ok in ((1.0, True), (1.1, False)):
        scaled = Problem(
            Sphere(N),
            lambda x: float(x @ matrix @ x + scale * np.sum(x**3)),
            euclidean_gradient=lambda x, f=factor: f * (2 * matrix @ x + 3 * scale * x**2),
            euclidean_hessian=lambda x, v, f=factor: f * (2 * matrix @ v + 6 * scale * x * v),
        )
        assert check_gradient(scaled, rng=2).ok == ok
        assert check_hessian(scaled, rng=2).ok == ok


def test_float32():
    for seed in range(15):
        point = Sphere(N).random_point(seed).astype(np.float32)
        right = problem(seed, dtype=np.float32)
        assert check_gradient(right, point, rng=seed).ok
        assert check_hessian(right, point, rng=seed).ok
        wrong = problem(seed, dtype=np.float32, gradient=lambda x, exact: 2 * exact)
        assert not check_gradient(wrong, point, rng=seed).ok
        wrong = problem(seed, dtype=np.float32, hessian=lambda x, v, exact: 3 * exact)
        assert not check_hessian(wrong, point, rng=seed).ok


@pytest.mark.parametrize("name", ZOO)
def test_every_manifold(name):
    manifold, _ = ZOO[name]
    point = adapt(manifold).random_point(5)
    right = Problem(manifold, cost_on(manifold))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert check_gradient(right, point, rng=0).ok
        assert check_hessian(right, point, rng=0).ok


@pytest.mark.parametrize("name", ZOO)
def test_every_retraction(name):
    manifold, _ = ZOO[name]
    if not adapt(manifold).has_exponential:
        with pytest.raises(ValueError, match="must have an exponential map"):
            check_retraction(manifold, rng=0)
        return
    check = check_retraction(manifold, rng=0)
    assert check.ok
    assert check.errors[0] < 1e-13


def test_a_retraction_that_is_none_fails():
    class Overshooting(pm.Sphere):
        def retraction(self, point, tangent_vector):
            return super().retraction(point, 1.5 * tangent_vector)

    class OvershootingSpace(Sphere.space_type):
        def move(self, vector):
            return super().move(1.5 * vector)

    class Native(Sphere):
        space_type = OvershootingSpace

    for manifold in (Overshooting(4), Native(4)):
        check = check_retraction(manifold, rng=0)
        assert not check.ok
        assert check.slope == pytest.approx(1.0, abs=0.1)


def test_retraction_in_float32():
    check = check_retraction(Sphere(5), Sphere(5).random_point(0).astype(np.float32), rng=1)
    assert check.ok


def test_retraction_without_an_exponential_to_compare():
    with pytest.raises(ValueError, match="manifold must have an exponential map"):
        check_retraction(pm.FixedRankEmbedded(4, 3, 1), rng=0)


def test_dimension_zero_has_nothing_to_be_wrong():
    trivial = Problem(Sphere(1), lambda x: 2.0 * x[0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert check_gradient(trivial, rng=0).ok
        assert check_hessian(trivial, rng=0).ok
        assert check_retraction(Sphere(1), rng=0).ok


def test_what_is_not_finite_fails():
    wrong = Problem(
        Sphere(3), lambda x: float("nan"), euclidean_gradient=lambda x: np.zeros_like(x)
    )
    assert not check_gradient(wrong, rng=0).ok


def test_pymanopts_problem_is_taken():
    sphere = pm.Sphere(4)

    @pymanopt.function.autograd(sphere)
    def cost(x):
        return x[0] ** 3 - x[1]

    assert check_gradient(pymanopt.Problem(sphere, cost), rng=0).ok
    assert check_hessian(pymanopt.Problem(sphere, cost), rng=0).ok


def test_same_seed_same_numbers_and_a_given_point():
    first, again = (check_hessian(problem(0), rng=3) for _ in range(2))
    np.testing.assert_array_equal(first.errors, again.errors)
    seen = []

    def record(x):
        seen.append(x)
        return float(x[0])

    point = Sphere(N).random_point(9)
    spied = Problem(Sphere(N), record, euclidean_gradient=lambda x: np.eye(N)[0])
    check_gradient(spied, point, rng=9)
    assert any(np.array_equal(x, point) for x in seen)


def test_numbers_text_and_picture():
    good, bad = (
        check_gradient(problem(0, gradient=spoil), rng=0)
        for spoil in (None, lambda x, exact: 2 * exact)
    )
    assert bool(good)
    assert not bool(bad)
    assert repr(good).startswith("<gradient: ok; slope 2.00 (expected 2)")
    assert "WRONG; slope 1.0" in repr(bad)
    assert len(good.steps) == len(good.errors)
    piece = good.linear_piece
    fitted = np.polyfit(np.log(good.steps[piece]), np.log(good.errors[piece]), 1)[0]
    assert fitted == pytest.approx(good.slope, abs=1e-9)
    axes = good.plot()
    assert axes.get_title() == "gradient: ok"
    assert axes.get_xscale() == axes.get_yscale() == "log"
    line = axes.get_lines()[1]
    np.testing.assert_array_equal(line.get_xdata(), good.steps[piece])
    assert line.get_label() == "slope 2.00"
    assert axes.get_lines()[2].get_label() == "expected: 2"
    assert bad.plot(axes) is axes
    exact = riemtr.check_retraction(pm.Euclidean(3), rng=0)
    assert exact.plot() is not None  # errors of exactly zero do not break the logarithm


@pytest.mark.parametrize("check", [riemtr.check_gradient, riemtr.check_hessian])
def test_points_off_the_manifold_are_no_wrong_derivatives(check):
    problem = riemtr.problems.build("rayleigh", rng=0, n=4).problem
    with pytest.raises(ValueError, match="point must have norm 1"):
        check(problem, np.ones(4))
    with pytest.raises(ValueError, match=r"point must have shape \(4,\)"):
        check(problem, np.ones(3) / np.sqrt(3))
    with pytest.raises(ValueError, match="point must have norm 1"):
        riemtr.check_retraction(riemtr.Sphere(4), np.ones(4))
    assert check(problem, [0, 1, 0, 0], rng=0).ok


def quadratic(**derivatives):
    matrix = np.diag([1.0, 2.0, 3.0, 4.0])
    return Problem(Sphere(4), lambda x: x @ matrix @ x, **derivatives), matrix


@pytest.mark.parametrize("factor", [0.5, -1.0, 3.0])
def test_hints_name_the_factor(factor):
    _, matrix = quadratic()
    problem, _ = quadratic(euclidean_gradient=lambda x: 2.0 * matrix @ x / factor)
    check = check_gradient(problem, rng=0)
    assert not check.ok
    assert f"the cost's own is {factor:.3g} times what this says" in repr(check)
    here = quadratic()[0]
    problem, _ = quadratic(
        riemannian_gradient=lambda x: here.at(x).gradient,
        riemannian_hessian=lambda x, v: here.at(x).hessian(v) / factor,
    )
    check = check_hessian(problem, rng=0)
    assert not check.ok
    assert f"the cost's own is {factor:.3g} times what this says" in repr(check)


def test_hints_for_what_is_not_tangent_or_not_invariant():
    _, matrix = quadratic()
    problem, _ = quadratic(riemannian_gradient=lambda x: 2.0 * matrix @ x)
    assert "it is not tangent: if it is Euclidean" in check_gradient(problem, rng=0).hint
    grassmann, weights = pm.Grassmann(4, 2), np.diag([1.0, 2.0])
    trace = anp.trace
    wrong = Problem(grassmann, lambda x: trace(x.T @ matrix @ x @ weights))
    assert "it is not symmetric; on a quotient manifold" in check_hessian(wrong, rng=0).hint
    right = Problem(grassmann, lambda x: trace(x.T @ matrix @ x))
    assert check_hessian(right, rng=0).hint == ""


def test_an_exact_model_has_no_slope():
    problem = Problem(pm.Euclidean(2), lambda x: anp.sum(x**2))
    assert "ok; exact to rounding" in repr(check_hessian(problem, rng=0))
    assert "ok; slope 2.00 (expected 2)" in repr(check_gradient(problem, rng=0))


def test_steps_out_of_the_domain_do_not_count():
    problem = Problem(Sphere(5), lambda x: -anp.sum(anp.log(x)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        point = np.full(5, 5**-0.5)
        for seed in range(5):
            assert check_hessian(problem, point, rng=seed).ok
            assert check_gradient(problem, np.array([1.0, 1.0, 2.0, 2.0, 2.0]) / 14**0.5, rng=seed)


@pytest.mark.parametrize("seed", range(4))
def test_large_constants(seed):
    matrix = np.diag([1.0, 2.0, 3.0, 4.0])

    def shifted(constant, factor=1.0):
        return Problem(
            Sphere(4),
            lambda x: constant + x @ matrix @ x,
            euclidean_gradient=lambda x: 2.0 * factor * matrix @ x,
            euclidean_hessian=lambda x, v: 2.0 * factor * matrix @ v,
        )

    assert check_gradient(shifted(1e8), rng=seed).ok
    assert check_hessian(shifted(1e8), rng=seed).ok
    hidden = check_gradient(shifted(1e13, 1.5), rng=seed)
    assert not hidden.ok
    # A tenth of the digits is left, which may be enough to see the factor.
    assert hidden.undecided == ("subtract a constant" in repr(hidden))
    assert hidden.undecided or "the cost's own is 0.67" in repr(hidden)


def with_matrix(**forms):
    """The quadratic cost of MATRIX whose Hessian comes in other forms too."""

    class Point:
        def __init__(self, x):
            self.value, self.gradient = x @ MATRIX @ x, 2.0 * MATRIX @ x

        def hessian(self, v):
            return 2.0 * MATRIX @ v

    for name, form in forms.items():
        setattr(Point, name, form)

    class Cost:
        at = staticmethod(Point)

    return riemtr.Problem(riemtr.Sphere(4), Cost())


MATRIX = np.diag([1.0, 2.0, 3.0, 4.0])


@pytest.mark.parametrize(
    ("rounds", "form"), [(False, "hessian_matrix"), (True, r"hessian_matrix(accuracy=1e-5)")]
)
def test_every_form_of_the_hessian_is_checked(rounds, form):
    def problem(factor):
        def hessian_matrix(self, accuracy=None):
            return (factor if (accuracy is not None) == rounds else 2.0) * MATRIX

        return with_matrix(hessian_matrix=hessian_matrix, rounds_matrix=rounds)

    assert riemtr.check_hessian(problem(2.0), rng=0).ok
    check = riemtr.check_hessian(problem(2.1), rng=0)
    assert not check.ok
    assert f"; {form} does not agree with hessian" in repr(check)


def test_a_wrong_gradient_is_not_the_hessians_fault():
    problem = riemtr.Problem(
        riemtr.Sphere(4),
        lambda x: x @ MATRIX @ x,
        euclidean_gradient=lambda x: MATRIX @ x,
        euclidean_hessian=lambda x, v: 2.0 * MATRIX @ v,
    )
    assert "see check_gradient" in riemtr.check_hessian(problem, rng=0).hint


def test_a_sharp_cost_with_right_derivatives_passes():
    data = np.random.default_rng(0).standard_normal((20, 2000))
    problem = riemtr.dictionary_problem(data, mu=1e-2)
    checks = [riemtr.check_hessian(problem, rng=seed) for seed in range(20)]
    assert all(checks)


def test_a_problem_stands_for_its_manifold():
    problem = riemtr.Problem(riemtr.Sphere(4), lambda x: x @ MATRIX @ x)
    check = riemtr.check_retraction(problem, rng=0)
    assert check.ok
    assert check.symmetry_error is None
    assert "symmetry" not in repr(check)


def test_costs_that_raise_off_their_domain_are_checked_inside():
    def cost(x):
        return math.log(x[0]) + float(x @ x)  # raises ValueError at x[0] <= 0

    problem = riemtr.Problem(
        pm.Euclidean(2),
        cost,
        euclidean_gradient=lambda x: np.array([1.0 / x[0], 0.0]) + 2.0 * x,
        euclidean_hessian=lambda x, v: np.array([-v[0] / x[0] ** 2, 0.0]) + 2.0 * v,
    )
    point = np.array([0.5, 1.0])  # half the steps of length 1 leave the domain
    for seed in range(8):
        assert riemtr.check_gradient(problem, point, rng=seed).ok
        assert riemtr.check_hessian(problem, point, rng=seed).ok


def cubic(factor=1.0, gradient_factor=1.0):
    matrix = np.random.default_rng(0).standard_normal((20, 20))
    matrix += matrix.T
    return Problem(
        Sphere(20),
        lambda x: float(x @ matrix @ x + np.sum(x**3)),
        euclidean_gradient=lambda x: gradient_factor * (2 * matrix @ x + 3 * x**2),
        euclidean_hessian=lambda x, v: factor * (2 * matrix @ v + 6 * x * v),
    )


def test_hessians_that_are_a_percent_wrong_are_hardly_ever_missed():
    seeds = range(60)
    assert sum(check_hessian(cubic(1.01), rng=seed).ok for seed in seeds) <= 2
    assert sum(check_hessian(cubic(1.001), rng=seed).ok for seed in seeds) <= 12
    assert all(check_hessian(cubic(), rng=seed).ok for seed in seeds)
    assert not any(check_gradient(cubic(1.0, 1.001), rng=seed).ok for seed in seeds)
    # A factor of the Euclidean Hessian is none of the Riemannian one.
    assert check_hessian(cubic(1.01), rng=0).hint.startswith("differences of the cost give 3.2")


def test_right_hessians_by_differences_are_not_blamed_for_their_rounding():
    matrix = np.random.default_rng(0).standard_normal((5, 5))
    matrix = matrix @ matrix.T
    problem = Problem(
        pm.Euclidean(5), lambda x: x @ matrix @ x, riemannian_gradient=lambda x: 2 * matrix @ x
    )
    assert all(check_hessian(problem, rng=seed).ok for seed in range(10))
    target = np.random.default_rng(1).standard_normal((4, 4))
    weights = np.random.default_rng(2).random((4, 4))
    full_rank = Problem(
        pm.FixedRankEmbedded(4, 4, 4),
        lambda u, s, vt: anp.sum(weights * ((u * s) @ vt - target) ** 2),
    )
    assert all(check_hessian(full_rank, rng=seed).ok for seed in range(5))


def one_coordinate_wrong():
    matrix = np.random.default_rng(0).standard_normal((N, N))
    matrix = matrix + matrix.T
    return Problem(
        Sphere(N),
        lambda x: x @ matrix @ x,
        euclidean_gradient=lambda x: 2 * matrix @ x * np.r_[np.ones(N - 1), 0.0],
    )


def conjugated():
    rng = np.random.default_rng(0)
    matrix = rng.standard_normal((4, 4)) + 1j * rng.standard_normal((4, 4))
    matrix = matrix + matrix.conj().T
    return Problem(
        pm.ComplexCircle(4),
        lambda x: float(np.real(np.conj(x) @ matrix @ x)),
        euclidean_gradient=lambda x: np.conj(2 * matrix @ x),
    )


def gauss_newton():
    n = 10
    frame, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((n, 2)))
    target = frame @ np.diag([2.0, 1.0]) @ frame.T
    return Problem(
        pm.Euclidean(n),
        lambda x: 0.25 * np.sum((np.outer(x, x) - target) ** 2),
        euclidean_gradient=lambda x: (x @ x) * x - target @ x,
        euclidean_hessian=lambda x, v: (x @ x) * v + (x @ v) * x,
    )


@pytest.mark.parametrize(
    ("check", "wrong"),
    [
        (check_gradient, one_coordinate_wrong()),
        (check_gradient, conjugated()),
        (check_hessian, gauss_newton()),
    ],
)
def test_no_factor_is_named_that_differs_from_direction_to_direction(check, wrong):
    found = [check(wrong, rng=seed) for seed in range(25)]
    assert sum(each.ok for each in found) <= 1
    assert not any("times what this says" in each.hint for each in found)
    assert "differences of the cost give" in found[0].hint


def test_along_a_single_direction_no_factor_can_be_told():
    matrix = np.diag([1.0, 3.0])
    circle = Problem(Sphere(2), lambda x: x @ matrix @ x, euclidean_gradient=lambda x: matrix @ x)
    assert check_gradient(circle, rng=0).hint.startswith("differences of the cost give")


def shifted(constant, seed, *, gradient=1.0, hessian=1.0, cancelled=False):
    """A quadratic on a large constant, with derivatives that are so many times what they are."""
    matrix = np.random.default_rng(seed).standard_normal((8, 8))
    matrix = matrix + matrix.T

    def riemannian_hessian(x, v):
        product = 2 * matrix @ v - 2 * (x @ matrix @ x) * v
        return hessian * (product - (x @ product) * x)

    return Problem(
        Sphere(8),
        lambda x: (constant + x @ matrix @ x) - (constant if cancelled else 0.0),
        euclidean_gradient=lambda x: 2 * gradient * matrix @ x,
        riemannian_hessian=riemannian_hessian,
    )


@pytest.mark.parametrize("cancelled", [False, True])
@pytest.mark.parametrize("constant", [1e6, 1e8, 1e10])
def test_rounding_of_the_cost_is_no_mistake(constant, cancelled):
    for seed in range(20):
        right = shifted(constant, seed, cancelled=cancelled)
        assert check_gradient(right, rng=seed).ok
        assert check_hessian(right, rng=seed).ok
    diagonal = Problem(Sphere(3), lambda x: constant + x @ np.diag([3.0, 2.0, 1.0]) @ x)
    assert check_hessian(diagonal, rng=0).ok


def test_mistakes_are_seen_through_rounding():
    seeds = range(40)
    for constant, factor, misses in ((1e6, 1.001, 12), (1e6, 1.01, 2), (1e8, 1.1, 2), (1e10, 2, 1)):
        wrong = [check_hessian(shifted(constant, s, hessian=factor), rng=s) for s in seeds]
        assert sum(check.ok for check in wrong) <= misses
    # The gradient is right, and no wrong Hessian of a large cost is blamed on it.
    assert not any("see check_gradient" in check.hint for check in wrong)
    assert "the cost's own is 0.5 times" in check_hessian(shifted(1e8, 0, hessian=2.0), rng=0).hint
    for constant, factor in ((1e6, 1.01), (1e8, 1.1), (1e10, 2.0)):
        wrong = [check_gradient(shifted(constant, s, gradient=factor), rng=s) for s in seeds]
        assert not any(check.ok for check in wrong)


@pytest.mark.parametrize("factor", [1.0, 1.5])
def test_what_rounding_hides_is_left_open(factor):
    for seed in range(10):
        problem = shifted(1e15, seed, gradient=factor, hessian=factor)
        for check in (check_gradient(problem, rng=seed), check_hessian(problem, rng=seed)):
            assert check.undecided
            assert not check.ok
            assert ": undecided; " in repr(check)
            assert "subtract a constant" in repr(check)
            assert "slope" not in repr(check)
    assert check.plot().get_title() == "Hessian: undecided"


def test_what_differences_confirm_has_no_slope_to_show():
    check = check_hessian(shifted(1e10, 14), rng=14)
    assert check.ok
    assert check.confirmed < 2e-2
    assert f"ok; right to {check.confirmed:.0e} by differences of the cost" in repr(check)
    assert check_hessian(shifted(0.0, 14), rng=14).confirmed is None


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_differences_over_too_long_steps_are_not_called_unsymmetric(seed):
    # Next to a matrix of lower rank, where the manifold turns within a step.
    manifold = riemtr.FixedRank(6, 5, 2)
    problem = Problem(manifold, lambda u, s, vt: anp.sum(((u * s) @ vt - 1) ** 2))
    u, _, vt = manifold.random_point(seed)
    check = check_hessian(problem, (u, np.array([1.0, 1e-3]), vt), rng=seed)
    assert check.symmetry_error > 1e-8
    assert check.ok
