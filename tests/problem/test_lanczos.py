"""What Lanczos knows of the smallest Hessian eigenvalue, against eigvalsh."""

from __future__ import annotations

import math

import numpy as np
import pymanopt.manifolds as pm
import pytest

from riemtr import Problem, Sphere
from riemtr.problem import Curvature, Threshold
from riemtr.problem import lanczos as module
from riemtr.problem.lanczos import Krylov
from tests.problem.quadratics import quadratic

TOLERANCES = {np.float64: 1e-6, np.float32: 1e-3}

SPECTRA = {
    "normal": lambda rng, n: rng.standard_normal(n),
    "one tiny negative": lambda rng, n: np.append(rng.uniform(0.5, 5.0, n - 1), -1e-3),
    "clustered": lambda rng, n: (
        np.repeat(rng.standard_normal(n // 10 + 1), 10)[:n] + 1e-7 * rng.standard_normal(n)
    ),
    "two values": lambda rng, n: np.where(np.arange(n) < n // 2, 1.0, 3.0),
    "multiple smallest": lambda rng, n: np.append(rng.uniform(0.0, 1.0, n - 2), [-0.1, -0.1]),
    "rank one": lambda rng, n: np.append(np.zeros(n - 1), -0.5),
    "definite": lambda rng, n: rng.uniform(1.0, 2.0, n),
    "wide": lambda rng, n: 10.0 ** rng.uniform(-8.0, 3.0, n),
    "zero": lambda rng, n: np.zeros(n),
    "to zero from below": lambda rng, n: -np.geomspace(1e-12, 1.0, n),
    "positive and flat": lambda rng, n: np.append(rng.uniform(0.5, 5.0, n - 1), 0.0),
}


def by_lanczos(here, tolerance):
    """What Lanczos alone finds out, without the matrix that small dimensions fall back on."""
    curvature = here.curvature
    curvature._by_lanczos(Threshold(tolerance))
    return curvature


def decided(curvature, tolerance):
    return curvature.known_side(Threshold(tolerance))


def rounding(here, values, shift=0.0):
    scale = np.abs(values).max(initial=0.0) * 2 + 2 * abs(shift) + 1e-300
    return 30 * here.precision * scale * math.sqrt(len(values))


@pytest.mark.parametrize("name", SPECTRA)
@pytest.mark.parametrize(
    ("kind", "dtype", "shift"),
    [
        ("sphere", np.float64, 0.0),
        ("euclidean", np.float64, 0.0),
        ("sphere", np.float32, 0.0),
        # A constant on the sphere whose Euclidean Hessian swamps the Riemannian one.
        ("sphere", np.float64, 1e6),
    ],
)
@pytest.mark.parametrize("stored", [module.STORED_ENTRIES, 0], ids=["stored", "recurrence"])
def test_the_bound_holds(name, kind, dtype, shift, stored, monkeypatch):
    monkeypatch.setattr(module, "STORED_ENTRIES", stored)
    rng = np.random.default_rng(sum(map(ord, name)))
    tolerance = TOLERANCES[dtype]
    for n in (2, 3, 5, 20, 60, 60, 150):
        here, values = quadratic(kind, SPECTRA[name](rng, n), rng, dtype, shift)
        found = by_lanczos(here, tolerance)
        slack = rounding(here, values, max(shift, 1.0 if kind == "sphere" else 0.0))
        assert found.lower_bound - slack <= values[0] <= found.min_eigenvalue + slack
        assert found.max_eigenvalue <= values[-1] + slack
        direction = found.direction
        assert direction.dtype == dtype
        assert here.norm(direction) == pytest.approx(1.0, abs=1e-5)
        if stored or decided(found, tolerance) < 0:
            # The direction is a unit tangent vector of that curvature.
            bend = here.inner(direction, here.hessian(direction))
            assert bend == pytest.approx(found.min_eigenvalue, abs=slack)
        # A recurrence that repeats itself may not come to its end, with a condition of 1e11.
        hard = name == "wide" and not stored
        if abs(values[0] + tolerance) > 10 * slack + 0.2 * tolerance and not hard:
            assert decided(found, tolerance) == (1 if values[0] >= -tolerance else -1)
        side = here.curvature.side(Threshold(tolerance))
        if side and abs(values[0] + tolerance) > slack:
            assert side == (1 if values[0] >= -tolerance else -1)


@pytest.mark.parametrize("kind", ["sphere", "euclidean"])
@pytest.mark.parametrize("name", ["normal", "one tiny negative", "definite", "clustered"])
@pytest.mark.parametrize("stored", [module.STORED_ENTRIES, 0], ids=["stored", "recurrence"])
def test_in_four_hundred_dimensions(kind, name, stored, monkeypatch):
    monkeypatch.setattr(module, "STORED_ENTRIES", stored)
    rng = np.random.default_rng(400)
    here, values = quadratic(kind, SPECTRA[name](rng, 400), rng)
    side = here.curvature.side(Threshold(1e-6))
    found = here.curvature
    assert found.lower_bound - 1e-12 <= values[0] <= found.min_eigenvalue + 1e-12
    assert side == (1 if values[0] >= -1e-6 else -1)
    assert here.counts.hessian_products < len(values)


@pytest.mark.parametrize("stored", [module.STORED_ENTRIES, 0], ids=["stored", "recurrence"])
def test_as_many_steps_as_dimensions_are_the_end_of_orthogonal_vectors_only(stored, monkeypatch):
    monkeypatch.setattr(module, "STORED_ENTRIES", stored)
    rng = np.random.default_rng(13)
    for n in (10, 60, 200):
        here = diagonal(10.0 ** rng.uniform(-8.0, 3.0, n))
        smallest = float(here.hessian(np.ones(n)).min())
        found = by_lanczos(here, 1e-9)
        assert found.lower_bound <= smallest + 1e-9
        assert (found._krylov.steps > n) == (not stored)


def test_finds_a_single_tiny_negative_eigenvalue_every_time():
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(5, 120))
        spectrum = np.append(rng.uniform(0.5, 5.0, n - 1), -1e-3)
        here, _ = quadratic("euclidean", spectrum, rng)
        found = by_lanczos(here, 1e-6)
        assert -1e-3 - 1e-12 <= found.min_eigenvalue < -1e-6
        assert decided(found, 1e-6) == -1


@pytest.mark.parametrize(("name", "limit"), [("rank one", 4), ("two values", 4), ("normal", 30)])
def test_a_clear_sign_costs_few_products(name, limit):
    rng = np.random.default_rng(0)
    here, values = quadratic("euclidean", SPECTRA[name](rng, 200), rng)
    assert here.curvature.side(Threshold(1e-6)) == (1 if values[0] >= -1e-6 else -1)
    assert here.counts.hessian_products == here.curvature.products <= limit


def test_well_conditioned_and_positive_needs_fewer_products_than_dimensions():
    rng = np.random.default_rng(1)
    here, values = quadratic("euclidean", rng.uniform(1.0, 2.0, 300), rng)
    assert here.curvature.side(Threshold(1e-6)) == 1
    assert here.counts.hessian_products < 60
    assert values[0] >= here.curvature.lower_bound >= -1e-6


def test_needs_fewer_products_than_the_bound_for_the_worst_spectrum():
    # Kuczynski and Wozniakowski (1992), theorem 4.2, which has only the number of steps.
    rng = np.random.default_rng(8)
    spectrum = np.append(rng.uniform(0.2, 1.0, 490), rng.uniform(4.0, 5.0, 10))
    here, values = quadratic("euclidean", spectrum, rng)
    assert Curvature(here, 1e-6).side(Threshold(1e-6)) == 1
    root = math.log(1.648 * math.sqrt(500) / 1e-6)
    worst = 0.5 * (1.0 + root / math.sqrt(values[0] / (values[-1] - values[0])))
    assert here.counts.hessian_products < 0.7 * worst


def test_same_answer_every_time():
    rng = np.random.default_rng(2)
    here, _ = quadratic("sphere", rng.standard_normal(30), rng)
    first = by_lanczos(here, 1e-6)
    again = by_lanczos(here.problem.at(here.point), 1e-6)
    assert first.min_eigenvalue == again.min_eigenvalue
    np.testing.assert_array_equal(first.direction, again.direction)


def test_out_of_steps_is_undecided_and_says_so(monkeypatch):
    monkeypatch.setattr(module, "_MAX_STEPS", 5)
    rng = np.random.default_rng(3)
    here, values = quadratic("euclidean", np.append(rng.uniform(0.5, 5.0, 299), -1e-3), rng)
    assert here.curvature.side(Threshold(1e-6)) == 0
    found = here.curvature
    assert here.counts.hessian_products == 5 + 1  # the last one checks the result
    assert found.limited == "5 Lanczos steps"
    assert found.lower_bound <= values[0] <= found.min_eigenvalue
    assert here.norm(found.direction) == pytest.approx(1.0)


def test_other_manifolds_agree_with_their_hessian_matrix():
    manifold = pm.Stiefel(6, 3)
    matrix = np.diag(np.arange(1.0, 7.0))
    weights = np.array([3.0, 2.0, 1.0])
    for columns in ([0, 1, 2], [5, 1, 3], [5, 4, 3]):
        problem = Problem(
            manifold,
            lambda x: float(np.sum(x * (matrix @ x) * weights)),
            euclidean_gradient=lambda x: 2 * matrix @ x * weights,
            euclidean_hessian=lambda x, v: 2 * matrix @ v * weights,
        )
        here = problem.at(np.eye(6)[:, columns])
        found = by_lanczos(here, 1e-6)
        values = np.linalg.eigvalsh(here.hessian_matrix())
        assert found.lower_bound - 1e-12 <= values[0] <= found.min_eigenvalue + 1e-12
        assert found.is_negative == (columns != [0, 1, 2])


@pytest.mark.parametrize("size", [1, 2, 7, 64, 65, 200])
def test_extremes_are_those_of_the_tridiagonal_matrix(size):
    rng = np.random.default_rng(size)
    here, _ = quadratic("euclidean", np.ones(3), rng)
    krylov = Krylov(here)
    diagonal, offdiagonal = rng.standard_normal(size), rng.uniform(0.1, 1.0, size)
    krylov.diagonal, krylov.offdiagonal = list(diagonal), list(offdiagonal)
    krylov.steps = len(diagonal)
    full = np.diag(diagonal) + np.diag(offdiagonal[:-1], 1) + np.diag(offdiagonal[:-1], -1)
    values, vectors = np.linalg.eigh(full)
    smallest, largest, residual = krylov.extremes()
    assert (smallest, largest) == pytest.approx((values[0], values[-1]), abs=1e-12)
    assert residual == pytest.approx(offdiagonal[-1] * abs(vectors[-1, 0]), abs=1e-9)


def test_the_bound_fails_no_more_often_than_it_says(monkeypatch):
    # One eigenvalue below the threshold, which a start that barely touches it does not show.
    rng = np.random.default_rng(6)
    here, values = quadratic("euclidean", np.append(rng.uniform(0.5, 5.0, 99), -0.01), rng)
    wrong = 0
    for seed in range(300):
        monkeypatch.setattr(module, "_SEED", seed)
        found = Curvature(here.problem.at(here.point), 0.2)
        found.side(Threshold(1e-6))
        wrong += found.lower_bound > values[0] + 1e-12
    expected, deviation = 0.2 * 300, math.sqrt(0.2 * 0.8 * 300)
    assert 0 < wrong <= expected + 3 * deviation


def test_no_measure_with_the_same_moments_has_more_mass():
    # The squared entries of the start are the masses of the eigenvalues of a diagonal matrix.
    rng = np.random.default_rng(7)
    values = np.sort(rng.uniform(-1.0, 1.0, 12))
    start = rng.standard_normal(12)
    start /= np.linalg.norm(start)
    problem = Problem(
        pm.Euclidean(12),
        lambda x: 0.5 * float(values @ x**2),
        euclidean_gradient=lambda x: values * x,
        euclidean_hessian=lambda x, v: values * v,
    )
    krylov = Krylov(problem.at(np.ones(12)))
    krylov._vector = start
    excluded = 0
    for _ in range(11):
        krylov.step(1e-15)
        smallest, largest, _ = krylov.extremes()
        for value, mass in zip(values, start**2, strict=True):
            krylov._enough = (1.0 + 1e-9) / mass
            if value < smallest:
                assert not krylov.excludes(value)
                excluded += krylov.excludes(2.0 * values[0] - value - 1e-3)
            if value > largest:
                assert not krylov.excludes_above(value)
    assert excluded > 0  # where there is nothing, left of all of them


def test_an_early_end_does_not_hide_a_saddle():
    # Beside 1e10, what a start barely touches looks like rounding.
    rng = np.random.default_rng(9)
    for _ in range(400):
        n = int(rng.integers(3, 12))
        spectrum = np.append(10.0 ** rng.uniform(-3.0, 10.0, n - 1), -(10.0 ** rng.uniform(-5, -2)))
        here, values = quadratic("euclidean", spectrum, rng)
        found = by_lanczos(here, 1e-6)
        slack = 10 * rounding(here, values)
        assert found.lower_bound <= values[0] + slack
        if values[0] < -1e-6 - slack:
            assert decided(found, 1e-6) != 1


def test_looks_at_ritz_values_are_few_where_nothing_can_be_decided(monkeypatch):
    looks = []
    original = Krylov.extremes
    monkeypatch.setattr(Krylov, "extremes", lambda self: looks.append(1) or original(self))
    rng = np.random.default_rng(10)
    here, _ = quadratic("euclidean", np.append(rng.uniform(0.0, 1e9, 299), 0.0), rng)
    assert here.curvature.side(Threshold(1e-9)) == 0
    assert len(looks) < 70


def test_float32_on_a_manifold_that_draws_float64():
    matrix = np.diag([1.0, 2.0, 3.0]).astype(np.float32)
    problem = Problem(
        pm.Euclidean(3),
        lambda x: 0.5 * x @ matrix @ x,
        euclidean_gradient=lambda x: matrix @ x,
        euclidean_hessian=lambda x, v: matrix @ v,
    )
    found = by_lanczos(problem.at(np.ones(3, dtype=np.float32)), 1e-3)
    assert found.min_eigenvalue == pytest.approx(1.0, rel=1e-5)


# Memory


def diagonal(spectrum):
    return Problem(
        pm.Euclidean(len(spectrum)),
        lambda x: 0.5 * float(spectrum @ x**2),
        euclidean_gradient=lambda x: spectrum * x,
        euclidean_hessian=lambda x, v: spectrum * v,
    ).at(np.zeros(len(spectrum)))


@pytest.mark.parametrize("room", [0, 3, 10])
@pytest.mark.parametrize("smallest", [-1e-2, 1e-2], ids=["saddle", "minimizer"])
def test_memory_is_bounded_and_changes_no_decision(room, smallest, monkeypatch):
    size = 20_000
    spectrum = np.append(np.random.default_rng(11).uniform(0.5, 5.0, size - 1), smallest)
    plenty = diagonal(spectrum)
    side = plenty.curvature.side(Threshold(1e-6))
    plenty.curvature.estimate(Threshold(1e-6))
    assert side == np.sign(smallest)
    assert len(plenty.curvature._krylov._kept) == plenty.curvature._krylov.steps

    monkeypatch.setattr(module, "STORED_ENTRIES", room * size)
    here = diagonal(spectrum)
    assert here.curvature.side(Threshold(1e-6)) == side
    here.curvature.estimate(Threshold(1e-6))
    krylov = here.curvature._krylov
    assert len(krylov._kept) <= max(room, 3) < krylov.steps
    # The recurrence knows the same of the spectrum, to rounding.
    assert krylov.steps == plenty.curvature._krylov.steps
    for name in ("min_eigenvalue", "max_eigenvalue", "lower_bound"):
        known, expected = (getattr(each.curvature, name) for each in (here, plenty))
        assert known == pytest.approx(expected, abs=1e-8)
    extra = here.counts.hessian_products - plenty.counts.hessian_products
    if side > 0:
        assert extra == 1  # the image of the direction, which all vectors together tell
        return
    # A second pass, of the vectors that were not kept, makes the witness: one to follow, perhaps,
    # and one for the certificate.
    assert 0 < extra <= 2 * krylov.steps
    direction = here.curvature.direction
    assert np.linalg.norm(direction) == pytest.approx(1.0)
    assert direction @ (spectrum * direction) == pytest.approx(
        here.curvature.min_eigenvalue, abs=1e-10
    )


def test_a_witness_of_a_second_pass_is_of_the_points_precision(monkeypatch):
    monkeypatch.setattr(module, "STORED_ENTRIES", 0)
    rng = np.random.default_rng(12)
    spectrum = np.append(rng.uniform(0.5, 5.0, 59), -0.1)
    here, values = quadratic("euclidean", spectrum, rng, np.float32)
    here.curvature.estimate(Threshold(1e-3))
    assert here.curvature.side(Threshold(1e-3)) == -1
    direction = here.curvature.direction
    assert direction.dtype == np.float32
    assert here.inner(direction, here.hessian(direction)) == pytest.approx(values[0], abs=5e-3)


@pytest.mark.parametrize("shift", [0.0, 1e3])
def test_what_rounding_leaves_outside_the_tangent_space_does_not_grow(shift):
    """The recurrence multiplies it in every step, the more so the larger the Euclidean gradient."""
    n = 1500
    values = np.concatenate([[0.0], np.linspace(0.02, 1.0, n - 1)]) + shift
    problem = Problem(
        Sphere(n),
        lambda x: 0.5 * float(x @ (values * x)),
        euclidean_gradient=lambda x: values * x,
        euclidean_hessian=lambda x, v: values * v,
    )
    known = problem.at(np.eye(n)[0]).curvature
    assert known.side(Threshold(1e-9)) > 0
    assert known._krylov.steps > 40
    assert known.asymmetry < 1e-10 * max(shift, 1.0)
    assert known.lower_bound <= 0.02


def test_a_direction_to_follow_needs_no_second_pass(monkeypatch):
    spectrum = np.append(np.random.default_rng(13).uniform(0.5, 9.0, 19_999), -1.0)
    monkeypatch.setattr(module, "STORED_ENTRIES", 0)
    here = diagonal(spectrum)
    assert here.curvature.side(Threshold(1e-6)) == -1
    krylov = here.curvature._krylov
    assert len(krylov._kept) < krylov.steps
    assert here.counts.hessian_products == krylov.steps + 1  # which confirms the direction
    direction = here.curvature.direction
    assert np.linalg.norm(direction) == pytest.approx(1.0)
    bend = direction @ (spectrum * direction)
    assert bend == pytest.approx(here.curvature.min_eigenvalue)
    assert bend < -0.05
