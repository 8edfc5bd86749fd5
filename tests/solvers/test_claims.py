"""Claims are never more than what is known: users unlike each other, and the truth about them."""

from __future__ import annotations

import math
import zlib

import autograd.numpy as anp
import numpy as np
import pymanopt
import pytest
import scipy.optimize

import riemtr
from riemtr import Certified, Euclidean, Problem, Status
from riemtr.solvers import StoppingCriterion

SOLVERS = {
    "practical": riemtr.PracticalTRM(),
    "arc": riemtr.ARC(),
    "lbfgs": riemtr.LBFGS(max_seconds=2.0),
    "second-order lbfgs": riemtr.LBFGS(goal="second-order", max_seconds=2.0),
}


def bowl(curvatures, center):
    """A quadratic with curvatures far apart."""
    curvatures, center = np.asarray(curvatures), np.asarray(center)
    return Problem(
        Euclidean(len(center)),
        lambda x: 0.5 * float(curvatures @ (x - center) ** 2),
        euclidean_gradient=lambda x: curvatures * (x - center),
        euclidean_hessian=lambda x, v: curvatures * v,
    )


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("exponent", [6, 9, 12])
def test_no_run_that_ends_far_away_says_that_it_is_solved(name, exponent):
    for seed in range(5):
        rng = np.random.default_rng([exponent, seed])
        curvatures = 10.0 ** (-exponent * rng.random(6))
        curvatures[:2] = 1.0, 10.0**-exponent
        center = rng.standard_normal(6)
        result = SOLVERS[name].solve(bowl(curvatures, center), 10.0 * rng.standard_normal(6))
        far = np.linalg.norm(result.point - center) > 1e-4 * np.linalg.norm(center)
        if result.converged or result.certified:
            assert not far
        if name == "practical":
            assert result.certified is Certified.STRICT


@pytest.mark.parametrize("unit", [1e-9, 1e-3, 1e3, 1e9])
def test_the_unit_of_one_factor_changes_no_verdict(unit):
    """A pose whose shift is written in another unit, with a term that couples both factors."""
    rng = np.random.default_rng(0)
    places = rng.standard_normal((3, 20))
    turned = riemtr.Rotations(3).random_point(1)
    shift = np.array([1.0, -2.0, 0.5])
    seen = turned @ places + shift[:, None]
    manifold = riemtr.Product([riemtr.Rotations(3), Euclidean(3)])

    def cost(rotation, moved):
        return anp.sum((rotation @ places + unit * moved[:, None] - seen) ** 2)

    problem = Problem(manifold, cost)
    for seed in range(3):
        start = [riemtr.Rotations(3).random_point(seed), rng.standard_normal(3) / unit]
        result = riemtr.PracticalTRM().solve(problem, start)
        known = result.certificate.verdict
        assert result.certified is Certified.STRICT or known == "saddle"
        if result.certified and result.cost < 1e-6:
            np.testing.assert_allclose(unit * result.point[1], shift, rtol=1e-4)
    # A saddle in one factor alone, whatever its unit.
    saddle = Problem(
        riemtr.Product([Euclidean(1), Euclidean(1)]),
        lambda x, y: (x[0] - 1.0) ** 2 + (unit * y[0] - 2.0) ** 4 - (unit * y[0] - 2.0) ** 2,
    )
    assert riemtr.certify(saddle, [np.ones(1), np.full(1, 2.0 / unit)]).verdict != "minimizer"


def test_a_tolerance_of_ones_own_decides_the_verdict_but_certifies_nothing_far_away():
    result = riemtr.PracticalTRM(tolerance=1e-2).solve(bowl([1.0, 1e-6], [1.0, 1.0]), np.zeros(2))
    away = np.linalg.norm(result.point - 1.0)
    assert result.converged
    assert result.certificate.verdict == "minimizer"
    assert bool(result.certified) == (away < 1e-4)
    assert result.certificate.nearness.length == pytest.approx(away, rel=1e-3, abs=1e-6)


@pytest.mark.parametrize("length", [1e-12, 1e-9, 1e-6, 1e6])
@pytest.mark.parametrize("factor", [0.5, 0.9, 1.1, 3.0])
def test_wrong_hessians_are_seen_at_any_length(length, factor):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        matrix = rng.standard_normal((4, 4))
        matrix = (matrix @ matrix.T + np.eye(4)) / length**2
        center = length * rng.standard_normal(4)
        problem = Problem(
            Euclidean(4),
            lambda x, a=matrix, c=center: 0.5 * float((x - c) @ a @ (x - c)),
            euclidean_gradient=lambda x, a=matrix, c=center: a @ (x - c),
            euclidean_hessian=lambda x, v, a=matrix: factor * (a @ v),
        )
        assert riemtr.certify(problem, center).verdict == "unresolved"


@pytest.mark.parametrize("name", SOLVERS)
def test_no_run_certifies_a_kink_or_crawls_there_for_long(name):
    def cost(x):
        return max(x[0], -2.0 * x[0]) + x[1] ** 2

    def gradient(x):
        return np.array([1.0 if x[0] > 0.0 else -2.0, 2.0 * x[1]])

    problem = Problem(Euclidean(2), cost, euclidean_gradient=gradient)
    for seed in range(10):
        result = SOLVERS[name].solve(problem, np.random.default_rng(seed).standard_normal(2))
        assert not result.certified
        assert result.status is Status.NOT_SMOOTH
        assert result.iterations < 300
        assert "linear programming" in str(result.status)


def test_a_random_cost_is_told():
    rng = np.random.default_rng(0)
    problem = Problem(
        Euclidean(3),
        lambda x: float(x @ x) + 1e-3 * rng.standard_normal(),
        euclidean_gradient=lambda x: 2.0 * x,
    )
    assert "random" in riemtr.certify(problem, np.zeros(3)).contradiction
    assert "random" in riemtr.check_gradient(problem, rng=0).hint
    wild = Problem(
        Euclidean(3),
        lambda x: float(x @ x) + rng.standard_normal(),
        euclidean_gradient=lambda x: 2.0 * x + rng.standard_normal(3),
    )
    assert riemtr.PracticalTRM().solve(wild, np.ones(3)).status is Status.RANDOM


@pytest.mark.parametrize("softness", [1e-2, 1e-5, 1e-8])
def test_a_false_symmetry_is_told_whatever_the_slope(softness):
    curvatures = np.array([softness, 1.0, 2.0])
    for seed in range(5):
        center = np.random.default_rng(seed).standard_normal(3)
        plain = bowl(curvatures, center)
        named = Problem(
            Euclidean(3),
            lambda x, p=plain: p.at(x).cost,
            euclidean_gradient=lambda x, p=plain: p.at(x).gradient,
            euclidean_hessian=lambda x, v: curvatures * v,
            symmetries=lambda x: [np.array([1.0, 0.0, 0.0])],
        )
        for offset in (0.0, 1e-9, 1e-7):
            certificate = riemtr.certify(named, center + offset)
            assert certificate.verdict == "unresolved"
            assert "symmetries" in certificate.contradiction


def test_true_symmetries_are_taken_out_by_their_complement():
    n = 6
    matrix = np.ones((n, n)) - np.eye(n)

    def gradient(x):
        return -2.0 * (matrix @ x)

    problem = Problem(
        pymanopt.manifolds.ComplexCircle(n),
        lambda x: -float(np.real(np.conj(x) @ matrix @ x)),
        euclidean_gradient=gradient,
        euclidean_hessian=lambda x, v: -2.0 * (matrix @ v),
        symmetries=lambda x: [1j * x],
    )
    certificate = riemtr.certify(problem, np.ones(n, dtype=complex))
    # Of the Laplacian of the complete graph, twice.
    assert certificate.min_eigenvalue == pytest.approx(2.0 * n, rel=1e-9)
    assert certificate.strict


def test_rounding_that_hides_the_rest_of_the_way_is_no_failure_without_words():
    """The slope of large numbers ends in rounding, and the detail says how far that may be."""
    rng = np.random.default_rng(0)
    data = rng.standard_normal((50, 4)) * np.array([1e3, 1.0, 1e-2, 1e-3])
    goal = data @ np.ones(4) + 1e3 * rng.standard_normal(50)
    problem = Problem(
        Euclidean(4),
        lambda x: float(np.sum((data @ x - goal) ** 2)),
        euclidean_gradient=lambda x: 2.0 * data.T @ (data @ x - goal),
        euclidean_hessian=lambda x, v: 2.0 * data.T @ (data @ v),
    )
    truth = np.linalg.lstsq(data, goal, rcond=1e-20)[0]
    result = riemtr.PracticalTRM().solve(problem, np.zeros(4))
    if not result.certified:
        assert "minimizer is" in result.reason.detail or result.certificate.contradiction
    else:
        excess = result.cost - float(np.sum((data @ truth - goal) ** 2))
        near = np.linalg.norm(result.point - truth) <= 1e-4 * np.linalg.norm(truth)
        assert near or excess <= 1e-13 * result.cost


def test_single_precision_inside_a_gradient_proves_no_distance():
    for seed in range(5):
        matrix = np.random.default_rng(seed).standard_normal((5, 5))
        matrix = matrix @ matrix.T + np.eye(5)
        center = np.random.default_rng(seed + 100).standard_normal(5)

        def gradient(x, a=matrix, c=center):
            return (a.astype(np.float32) @ (x - c).astype(np.float32)).astype(float)

        problem = Problem(
            Euclidean(5),
            lambda x, a=matrix, c=center: 0.5 * float((x - c) @ a @ (x - c)),
            euclidean_gradient=gradient,
            euclidean_hessian=lambda x, v, a=matrix: a @ v,
            hessian_lipschitz=1e-6,
        )
        certificate = riemtr.certify(problem, center + 1e-3, tolerance=1.0)
        away = math.sqrt(5.0) * 1e-3
        if certificate.distance_bound is not None and certificate.distance_bound_is == "proved":
            assert certificate.distance_bound >= away * (1.0 - 1e-12)


@pytest.mark.parametrize("unit", [1e-9, 1e-3, 1.0, 1e6])
@pytest.mark.parametrize("place", [0.0, 1.0])
def test_a_gradient_forgotten_in_one_factor_is_told_in_any_unit(unit, place):
    problem = Problem(
        riemtr.Product([Euclidean(2), Euclidean(2)]),
        lambda x, y: float(np.sum((x - 1.0) ** 2) + np.sum((unit * y - 2.0) ** 2)),
        euclidean_gradient=lambda x, y: [2.0 * (x - 1.0), 0.0 * y],
        euclidean_hessian=lambda x, y, v, w: [2.0 * v, 0.0 * w],
    )
    other = np.full(2, place / unit)
    assert riemtr.certify(problem, [np.ones(2), other]).verdict == "unresolved"
    result = riemtr.PracticalTRM().solve(problem, [np.zeros(2), other])
    assert result.status is Status.INCONSISTENT
    assert not result.certified


@pytest.mark.parametrize("dimension", [40, 300])
@pytest.mark.parametrize("exponent", [6, 12])
def test_in_many_dimensions_soft_directions_that_are_off_are_no_minimizer(dimension, exponent):
    for seed in range(3):
        rng = np.random.default_rng([dimension, exponent, seed])
        curvatures = 10.0 ** (-exponent * rng.random(dimension))
        center = rng.standard_normal(dimension)
        soft = curvatures < 10.0 ** rng.uniform(-exponent, -2.0)
        for stiff in (0.0, 1e-12, 1e-9):
            off = np.where(soft, 1.0, stiff) * rng.standard_normal(dimension)
            if np.linalg.norm(off) > 1e-4 * np.linalg.norm(center):
                verdict = riemtr.certify(bowl(curvatures, center), center + off).verdict
                assert verdict != "minimizer"


def test_two_atoms_are_certified_at_their_known_distance():
    """Energies of 1e-21 J and lengths of 3e-10 m, with the Hessian by differences."""
    size, depth = 3e-10, 1e-21

    def gradient(x):
        ratio = np.linalg.norm(x) / size
        slope = 4.0 * depth * (-12.0 * ratio**-13 + 6.0 * ratio**-7) / size
        return slope * x / np.linalg.norm(x)

    problem = Problem(
        Euclidean(3),
        lambda x: (
            4.0
            * depth
            * float((np.linalg.norm(x) / size) ** -12 - (np.linalg.norm(x) / size) ** -6)
        ),
        euclidean_gradient=gradient,
        symmetries=lambda x: [np.cross(x, axis) for axis in np.eye(3)],
    )
    for seed in range(3):
        start = 4e-10 * np.array([1.0, 0.2, 0.3])
        start += 1e-11 * np.random.default_rng(seed).standard_normal(3)
        result = riemtr.PracticalTRM().solve(problem, start)
        assert result.certified is Certified.STRICT
        assert np.linalg.norm(result.point) == pytest.approx(2.0 ** (1 / 6) * size, rel=1e-4)


def test_a_position_far_from_the_origin_is_as_near_as_the_certificate_says():
    """Ranges to satellites: coordinates of millions of metres, known to some millimetres."""
    rng = np.random.default_rng(0)
    place = np.array([4.2e6, 1.7e5, 4.78e6])
    stations = 2.6e7 * place / np.linalg.norm(place) + 8e6 * rng.standard_normal((8, 3))
    ranges = np.linalg.norm(stations - place, axis=1) + 2.0 * rng.standard_normal(8)

    def rest(x):
        return np.linalg.norm(stations - x, axis=1) - ranges

    def slopes(x):
        return -(stations - x) / np.linalg.norm(stations - x, axis=1)[:, None]

    problem = Problem(
        Euclidean(3),
        lambda x: float(rest(x) @ rest(x)),
        euclidean_gradient=lambda x: 2.0 * slopes(x).T @ rest(x),
    )
    start = np.array([0.0, 0.0, 6e6])
    result = riemtr.PracticalTRM().solve(problem, start)
    truth = scipy.optimize.least_squares(rest, start, slopes, xtol=1e-15, ftol=1e-15, gtol=1e-15).x
    nearness = result.certificate.nearness
    assert result.certified
    assert np.linalg.norm(result.point - truth) <= 1.1 * (nearness.length + nearness.error)


def test_a_hessian_that_is_a_little_off_beside_the_edge_of_a_domain_raises_nothing():
    def inside(x):
        if x[0] <= 1.0 - 1e-5:
            raise np.linalg.LinAlgError("outside")
        return x

    problem = Problem(
        Euclidean(2),
        lambda x: float(np.array([1.0, 2.0]) @ (inside(x) - 1.0) ** 2),
        euclidean_gradient=lambda x: np.array([2.0, 4.0]) * (inside(x) - 1.0),
        euclidean_hessian=lambda x, v: np.array([2.2, 4.0]) * v,
    )
    assert not riemtr.certify(problem, np.ones(2)).strict


def test_certified_is_ordered_words():
    assert sorted(Certified, reverse=True) == [
        Certified.STRICT,
        Certified.TO_SECOND_ORDER,
        Certified.NO,
    ]
    assert [str(value) for value in Certified] == ["no", "to second order", "strict"]
    assert [bool(value) for value in Certified] == [False, True, True]
    with pytest.raises(TypeError):
        sum(Certified)
    assert isinstance(riemtr.solvers.MaxIterations(3), StoppingCriterion)


def well(length, shift=0.0, noise=0.0, tilt=0.0):
    """A convex cost of some length with its minimizer at a shift; a tilt is what gradients miss."""
    weights = np.array([1.0, 2.0, 0.5])

    def gradient(x):
        rng = np.random.default_rng(zlib.crc32(x.tobytes()))
        slope = weights * np.sinh((x - shift) / length) / length
        return slope + noise / length * rng.uniform(-1.0, 1.0, 3)

    return {
        "cost": lambda x: float(
            weights @ (2.0 * np.sinh(0.5 * (x - shift) / length) ** 2) + tilt * np.sum(x) / length
        ),
        "euclidean_gradient": gradient,
        "euclidean_hessian": lambda x, v: weights * np.cosh((x - shift) / length) / length**2 * v,
    }


LENGTHS = [1e-13, 1e-7, 1.0, 1e5, 1e11]


@pytest.mark.parametrize("length", LENGTHS)
def test_at_zero_lengths_are_those_of_the_cost(length):
    given = well(length)
    assert riemtr.certify(Problem(Euclidean(3), **given), np.zeros(3)).strict
    by_differences = {**given, "euclidean_hessian": None}
    certificate = riemtr.certify(Problem(Euclidean(3), **by_differences), np.zeros(3))
    assert certificate.strict
    assert certificate.min_eigenvalue == pytest.approx(0.5 / length**2, rel=1e-3)
    pair = Problem(
        riemtr.Product([Euclidean(3), Euclidean(1)]),
        lambda x, y: given["cost"](x) + (y[0] - 1.0) ** 2,
        euclidean_gradient=lambda x, y: [given["euclidean_gradient"](x), 2.0 * (y - 1.0)],
    )
    assert riemtr.certify(pair, [np.zeros(3), np.ones(1)]).strict


@pytest.mark.parametrize("length", LENGTHS)
def test_at_zero_a_wrong_gradient_is_told(length):
    problem = Problem(Euclidean(3), **well(length, tilt=0.03))
    assert riemtr.certify(problem, np.zeros(3)).verdict == "unresolved"


@pytest.mark.parametrize("length", LENGTHS)
def test_at_zero_a_slope_within_its_noise_is_none_only_beside_a_length(length):
    noisy = Problem(Euclidean(3), **well(length, noise=1e-9))
    certificate = riemtr.certify(noisy, np.zeros(3))
    assert certificate.verdict == "minimizer"
    assert 1e-10 * length < certificate.nearness.error < 1e-6 * length
    for shift in (1e-13, 1e-10, 1e-7):  # a slope that is clear of its noise
        shifted = Problem(Euclidean(3), **well(length, shift * length))
        assert riemtr.certify(shifted, np.zeros(3)).verdict != "minimizer"
    for noise in (1e-9, 1e-4):  # a square has no length
        square = bowl(np.ones(3) / length**2, np.zeros(3))
        tilted = Problem(
            Euclidean(3),
            lambda x, p=square: p.at(x).cost,
            euclidean_gradient=lambda x, p=square, s=noise: (
                p.at(x).gradient
                + s / length * np.random.default_rng(zlib.crc32(x.tobytes())).uniform(-1.0, 1.0, 3)
            ),
            euclidean_hessian=lambda x, v: v / length**2,
        )
        assert riemtr.certify(tilted, np.zeros(3)).verdict != "minimizer"


@pytest.mark.parametrize("exponent", [8, 11, 13])
def test_rounding_inside_a_soft_cost_is_no_fall(exponent):
    """exp(t) - 1 - t is off by roundings of 1, though it is 0 at the minimizer."""
    for seed in range(20):
        rng = np.random.default_rng([exponent, seed])
        basis = np.linalg.qr(rng.standard_normal((4, 4)))[0]
        weights = 10.0 ** -np.array([0.0, 4.0, 6.0, exponent])
        center = rng.standard_normal(4)

        def inside(x, q=basis, c=center):
            return (x - c) @ q

        problem = Problem(
            Euclidean(4),
            lambda x, w=weights, z=inside: float(w @ (np.exp(z(x)) - 1.0 - z(x))),
            euclidean_gradient=lambda x, w=weights, z=inside, q=basis: q @ (w * np.expm1(z(x))),
            euclidean_hessian=lambda x, v, w=weights, z=inside, q=basis: (
                q @ (w * np.exp(z(x)) * (v @ q))
            ),
        )
        assert riemtr.certify(problem, center).verdict == "minimizer"


@pytest.mark.parametrize("dimension", [2, 3])
def test_a_hessian_by_differences_that_is_not_linear_is_no_hessian(dimension):
    """A bowl that falls within a cone; in the plane one of the two lines meets each of them."""
    missed = 0
    for seed in range(60):
        rng = np.random.default_rng([dimension, seed])
        axis = rng.standard_normal(dimension)
        axis /= np.linalg.norm(axis)
        place = rng.standard_normal(dimension)

        def part(z, a=axis):
            return max(float(a @ z) - 0.4 * float(np.linalg.norm(z)), 0.0)

        def gradient(x, a=axis, c=place, p=part):
            z = x - c
            return z - 9.0 * p(z) * (a - 0.4 * z / max(float(np.linalg.norm(z)), 1e-300))

        problem = Problem(
            Euclidean(dimension),
            lambda x, c=place, p=part: 0.5 * float((x - c) @ (x - c)) - 4.5 * p(x - c) ** 2,
            euclidean_gradient=gradient,
        )
        missed += riemtr.certify(problem, place).verdict == "minimizer"
    assert missed <= (0 if dimension == 2 else 8)


@pytest.mark.parametrize("noise", [1e-12, 1e-10])
def test_noise_is_no_seam_that_excuses_a_wrong_hessian(noise):
    """The cost is too noisy to tell, and the gradient is not."""
    bends = np.array([0.5, 1.8, 2.0, 1.4, -0.9])
    for seed in range(30):
        rng = np.random.default_rng(seed)
        basis = np.linalg.qr(rng.standard_normal((5, 5)))[0]
        last = basis[:, -1]
        center = rng.standard_normal(5) * (seed % 2)

        def drawn(x, size, number, own=seed):
            return np.random.default_rng([own, number, zlib.crc32(x.tobytes())]).uniform(
                -1.0, 1.0, size
            )

        problem = Problem(
            Euclidean(5),
            lambda x, q=basis, c=center, draw=drawn: (
                float(bends @ (1.0 - np.cos((x - c) @ q))) + 1e-6 * float(draw(x, 1, 0)[0])
            ),
            euclidean_gradient=lambda x, q=basis, c=center, draw=drawn: (
                q @ (bends * np.sin((x - c) @ q)) + noise * draw(x, 5, 1)
            ),
            euclidean_hessian=lambda x, v, q=basis, c=center, a=last: (
                q @ (bends * np.cos((x - c) @ q) * (v @ q)) + 2.0 * (a @ v) * a
            ),
        )
        assert riemtr.certify(problem, center).verdict != "minimizer"


@pytest.mark.parametrize("length", [1e-8, 1e-3, 1.0, 1e4])
def test_a_quadratic_form_at_zero_has_no_size_beside_which_a_slope_is_none(length):
    aside = np.array([3e-3, -1e-2, 5e-3])
    problem = Problem(
        Euclidean(3),
        lambda x: float(np.sum((x / length - aside) ** 2)),
        euclidean_gradient=lambda x: 2.0 * x / length**2,
    )
    assert riemtr.certify(problem, np.zeros(3)).verdict != "minimizer"


@pytest.mark.parametrize("place", [0.0, 3.0])
@pytest.mark.parametrize("length", [1e-7, 1e-2, 1e3, 1e8])
def test_curvature_hidden_in_one_factor_is_seen_in_any_unit(length, place):
    """The Hessian that is handed over lacks what bends the cost down in the factor."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        axis = rng.standard_normal(3)
        axis /= np.linalg.norm(axis)
        other = rng.standard_normal(2)
        at = place * length * rng.standard_normal(3)
        falls = 0.8 * length**-2

        def cost(x, y, a=axis, c=other, p=at):
            z = (x - p) / length
            return float(2.0 * np.sum(np.sinh(0.5 * z) ** 2) - 0.8 * (a @ z) ** 2) + float(
                np.sum((y - c) ** 2)
            )

        problem = Problem(
            riemtr.Product([Euclidean(3), Euclidean(2)]),
            cost,
            euclidean_gradient=lambda x, y, a=axis, c=other, p=at, h=falls: [
                np.sinh((x - p) / length) / length - 2.0 * h * (a @ (x - p)) * a,
                2.0 * (y - c),
            ],
            euclidean_hessian=lambda x, y, v, w, p=at: [
                np.cosh((x - p) / length) / length**2 * v,
                2.0 * w,
            ],
        )
        assert riemtr.certify(problem, [at, other]).verdict != "minimizer"


def test_a_way_too_soft_for_the_gradient_is_walked_by_the_cost():
    """Turns of a cloud of points that is nearly a line, which ends where costs are level."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        scales = np.array([1.0, 2e-3, 1e-6])[:, None]
        clouds = 30.0 * rng.standard_normal((2, 3, 9)) * scales
        clouds[1] *= 1e-2
        turns = riemtr.Rotations(3, 2).random_point(seed)
        targets = turns @ clouds
        problem = Problem(
            riemtr.Rotations(3, 2),
            lambda x, a=clouds, b=targets: 0.5 * float(np.sum((x @ a - b) ** 2)),
            euclidean_gradient=lambda x, a=clouds, b=targets: (x @ a - b) @ np.swapaxes(a, -1, -2),
            euclidean_hessian=lambda x, v, a=clouds: v @ a @ np.swapaxes(a, -1, -2),
        )
        result = riemtr.PracticalTRM().solve(problem, rng=seed)
        away = float(np.max(np.linalg.norm(result.point - turns, axis=(-2, -1))))
        if result.converged or result.certified:
            assert away <= 1e-4 or result.cost <= 1e-26


@pytest.mark.parametrize("constant", [0.0, 1e6, 1e12])
def test_quantised_costs_and_large_constants_certify_nothing_far_away(constant):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        curvatures, center = 10.0 ** rng.uniform(-3.0, 0.0, 4), rng.standard_normal(4)
        plain = bowl(curvatures, center)
        digit = 10.0 ** rng.uniform(-9.0, -3.0)
        problem = Problem(
            Euclidean(4),
            lambda x, p=plain, d=digit: constant + d * round(p.at(x).cost / d),
            euclidean_gradient=lambda x, p=plain: p.at(x).gradient,
            euclidean_hessian=lambda x, v, c=curvatures: c * v,
        )
        away = center + np.linalg.norm(center) * 10.0 ** rng.uniform(-2.0, 0.0)
        if plain.at(away).cost > 1e-12 * constant:
            assert riemtr.certify(problem, away).verdict != "minimizer"


def test_a_bowl_that_turns_down_on_one_side_is_no_minimizer_in_any_unit():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        axis = rng.standard_normal(3)
        axis /= np.linalg.norm(axis)
        center = 10.0 ** rng.uniform(-3.0, 3.0) * rng.standard_normal(3)
        problem = Problem(
            Euclidean(3),
            lambda x, c=center, a=axis: float((x - c) @ (x - c)) - 2.0 * max(a @ (x - c), 0.0) ** 2,
            euclidean_gradient=lambda x, c=center, a=axis: (
                2.0 * (x - c) - 4.0 * max(a @ (x - c), 0.0) * a
            ),
            euclidean_hessian=lambda x, v: 2.0 * v,
        )
        assert riemtr.certify(problem, center).verdict != "minimizer"


@pytest.mark.parametrize("length", [1e-9, 1e-4, 1.0, 1e6])
def test_at_zero_the_shortest_lengths_that_tell_count(length):
    """Far out the cost is a quadratic form that falls, and beside the point it is another one."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        axis = rng.standard_normal(3)
        axis /= np.linalg.norm(axis)

        def cost(x, a=axis):
            z = x / length
            return float(np.sum(np.sqrt(1.0 + z * z) - 1.0) - 0.8 * (a @ z) ** 2)

        problem = Problem(
            Euclidean(3),
            cost,
            euclidean_gradient=lambda x, a=axis: (
                (x / length / np.sqrt(1.0 + (x / length) ** 2) - 1.6 * (a @ x / length) * a)
                / length
            ),
            euclidean_hessian=lambda x, v: v / length**2,
        )
        assert riemtr.certify(problem, np.zeros(3)).verdict == "unresolved"
