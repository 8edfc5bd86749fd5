"""The smallest Hessian eigenvalue, its direction and its error bound, against eigvalsh."""

from __future__ import annotations

import math

import numpy as np
import pymanopt.manifolds as pm
import pytest

from riemtr import Problem, Sphere
from riemtr.problem import lanczos as module
from riemtr.problem.lanczos import lanczos_curvature
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
def test_the_bound_holds(name, kind, dtype, shift):
    rng = np.random.default_rng(sum(map(ord, name)))
    tolerance = TOLERANCES[dtype]
    for n in (2, 3, 5, 20, 60, 60, 150):
        here, values = quadratic(kind, SPECTRA[name](rng, n), rng, dtype, shift)
        found = lanczos_curvature(here, tolerance)
        slack = rounding(here, values, max(shift, 1.0 if kind == "sphere" else 0.0))
        assert found.lower_bound - slack <= values[0] <= found.min_eigenvalue + slack
        assert found.max_eigenvalue <= values[-1] + slack
        # The direction is a unit tangent vector of that curvature.
        direction = found.direction
        assert here.norm(direction) == pytest.approx(1.0, abs=1e-5)
        bend = here.inner(direction, here.hessian(direction))
        assert bend == pytest.approx(found.min_eigenvalue, abs=slack)
        if abs(values[0] + tolerance) > 10 * slack + 0.2 * tolerance:
            assert found.decides(tolerance)
            assert (found.lower_bound >= -tolerance) == (values[0] >= -tolerance)


@pytest.mark.parametrize("kind", ["sphere", "euclidean"])
@pytest.mark.parametrize("name", ["normal", "one tiny negative", "definite", "clustered"])
def test_in_four_hundred_dimensions(kind, name):
    rng = np.random.default_rng(400)
    here, values = quadratic(kind, SPECTRA[name](rng, 400), rng)
    found = lanczos_curvature(here, 1e-6)
    assert found.lower_bound - 1e-12 <= values[0] <= found.min_eigenvalue + 1e-12
    assert found.decides(1e-6)
    assert here.counts.hessian_products < len(values)


def test_finds_a_single_tiny_negative_eigenvalue_every_time():
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(5, 120))
        spectrum = np.append(rng.uniform(0.5, 5.0, n - 1), -1e-3)
        here, _ = quadratic("euclidean", spectrum, rng)
        found = lanczos_curvature(here, 1e-6)
        assert -1e-3 - 1e-12 <= found.min_eigenvalue < -1e-6


@pytest.mark.parametrize(("name", "limit"), [("rank one", 4), ("two values", 4), ("normal", 30)])
def test_a_clear_sign_costs_few_products(name, limit):
    rng = np.random.default_rng(0)
    here, values = quadratic("euclidean", SPECTRA[name](rng, 200), rng)
    found = lanczos_curvature(here, 1e-6)
    assert here.counts.hessian_products <= limit
    assert found.decides(1e-6)
    assert (found.min_eigenvalue < -1e-6) == (values[0] < -1e-6)


def test_well_conditioned_and_positive_needs_fewer_products_than_dimensions():
    rng = np.random.default_rng(1)
    here, values = quadratic("euclidean", rng.uniform(1.0, 2.0, 300), rng)
    found = lanczos_curvature(here, 1e-6)
    assert found.lower_bound >= -1e-6
    assert here.counts.hessian_products < 60
    assert values[0] >= found.lower_bound


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_sphere_with_one_curvature_only(sign):
    # -x1 at the pole: the Hessian is the identity; at the other pole minus that.
    n = 50
    here = Problem(Sphere(n), lambda x: -x[0]).at(sign * np.eye(n)[0])
    found = here.curvature(1e-6)
    assert found.min_eigenvalue == pytest.approx(sign, rel=1e-12)
    assert found.max_eigenvalue == pytest.approx(sign, rel=1e-12)
    assert here.counts.hessian_products <= 3


def test_dimension_zero_and_one():
    nothing = lanczos_curvature(Problem(Sphere(1), lambda x: x[0]).at(np.ones(1)), 1e-6)
    assert (nothing.min_eigenvalue, nothing.error_bound) == (math.inf, 0.0)
    assert nothing.direction is None
    assert nothing.decides(1e-6)
    one = lanczos_curvature(Problem(Sphere(2), lambda x: 2.0 * x[0]).at(np.eye(2)[0]), 1e-6)
    assert one.min_eigenvalue == pytest.approx(-2.0)
    np.testing.assert_allclose(np.abs(one.direction), [0.0, 1.0], atol=1e-15)


def test_same_answer_every_time():
    rng = np.random.default_rng(2)
    here, _ = quadratic("sphere", rng.standard_normal(30), rng)
    first = lanczos_curvature(here, 1e-6)
    again = lanczos_curvature(here.problem.at(here.point), 1e-6)
    assert first.min_eigenvalue == again.min_eigenvalue
    np.testing.assert_array_equal(first.direction, again.direction)


def test_out_of_steps_is_undecided_and_says_so(monkeypatch):
    monkeypatch.setattr(module, "_MAX_STEPS", 5)
    rng = np.random.default_rng(3)
    here, values = quadratic("euclidean", np.append(rng.uniform(0.5, 5.0, 199), -1e-3), rng)
    found = lanczos_curvature(here, 1e-6)
    assert here.counts.hessian_products == 5 + 1  # the last one checks the result
    assert not found.decides(1e-6)
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
        found = lanczos_curvature(here, 1e-6)
        values = np.linalg.eigvalsh(here.hessian_matrix())
        assert found.lower_bound - 1e-12 <= values[0] <= found.min_eigenvalue + 1e-12
        assert (found.min_eigenvalue < 0) == (columns != [0, 1, 2])


def test_differences_widen_the_bound():
    rng = np.random.default_rng(5)
    exact, values = quadratic("sphere", rng.standard_normal(20), rng)
    problem = Problem(
        Sphere(20),
        lambda x: 0.0,
        riemannian_gradient=lambda x: exact.problem.at(x).gradient,
    )
    here = problem.at(exact.point)
    here.hessian_matrix()
    found = here.curvature(1e-6)
    assert found.error_bound > 1e-12
    assert abs(found.min_eigenvalue - values[0]) <= found.error_bound


@pytest.mark.parametrize("size", [1, 2, 7, 64, 65, 200])
def test_tridiagonal_eigenpairs_are_those_of_the_full_matrix(size):
    rng = np.random.default_rng(size)
    diagonal, offdiagonal = rng.standard_normal(size), rng.standard_normal(size - 1)
    full = np.diag(diagonal) + np.diag(offdiagonal, 1) + np.diag(offdiagonal, -1)
    values, vectors = module._eigenpairs(diagonal.copy(), offdiagonal.copy())
    np.testing.assert_allclose(values, np.linalg.eigvalsh(full), atol=1e-12)
    np.testing.assert_allclose(full @ vectors, vectors * values, atol=1e-12)


def test_the_bound_fails_no_more_often_than_it_says(monkeypatch):
    # One eigenvalue below the threshold, which a start that barely touches it does not show.
    rng = np.random.default_rng(6)
    here, values = quadratic("euclidean", np.append(rng.uniform(0.5, 5.0, 99), -0.01), rng)
    monkeypatch.setattr(module, "FAILURE_PROBABILITY", 0.2)
    wrong = 0
    for seed in range(300):
        monkeypatch.setattr(module, "_SEED", seed)
        found = lanczos_curvature(here.problem.at(here.point), 1e-6)
        wrong += found.lower_bound > values[0] + 1e-12
    expected, deviation = 0.2 * 300, math.sqrt(0.2 * 0.8 * 300)
    assert 0 < wrong <= expected + 3 * deviation


def test_no_measure_with_the_same_moments_has_more_mass():
    # Lanczos on a diagonal matrix, its start's squared entries the masses of the eigenvalues.
    rng = np.random.default_rng(7)
    values = np.sort(rng.uniform(-1.0, 1.0, 12))
    start = rng.standard_normal(12)
    basis = [start / np.linalg.norm(start)]
    watched = [module._Exclusion(value, 12) for value in values]
    for step in range(1, 11):
        image = values * basis[-1]
        diagonal = float(image @ basis[-1])
        for _ in range(2):
            image = image - np.array(basis).T @ (np.array(basis) @ image)
        offdiagonal = float(np.linalg.norm(image))
        basis.append(image / offdiagonal)
        rows = np.array(basis)[:step]
        ritz = np.linalg.eigvalsh(rows @ (values * rows).T)
        for value, mass, exclusion in zip(values, basis[0] ** 2, watched, strict=True):
            exclusion.extend(diagonal, offdiagonal)
            assert mass <= (1.0 + 1e-9) / exclusion._total
            assert exclusion.crossed == (ritz[0] <= value)


def test_needs_fewer_products_than_the_bound_for_the_worst_spectrum():
    # Kuczynski and Wozniakowski (1992), theorem 4.2, which has only the number of steps.
    rng = np.random.default_rng(8)
    spectrum = np.append(rng.uniform(0.2, 1.0, 490), rng.uniform(4.0, 5.0, 10))
    here, values = quadratic("euclidean", spectrum, rng)
    found = lanczos_curvature(here, 1e-6)
    root = math.log(1.648 * math.sqrt(500) / module.FAILURE_PROBABILITY)
    worst = 0.5 * (1.0 + root / math.sqrt(values[0] / (values[-1] - values[0])))
    assert found.lower_bound >= -1e-6
    assert here.counts.hessian_products < 0.7 * worst


def test_an_early_end_does_not_hide_a_saddle():
    # Beside 1e10, what a start barely touches looks like rounding.
    rng = np.random.default_rng(9)
    for _ in range(400):
        n = int(rng.integers(3, 12))
        spectrum = np.append(10.0 ** rng.uniform(-3.0, 10.0, n - 1), -(10.0 ** rng.uniform(-5, -2)))
        here, values = quadratic("euclidean", spectrum, rng)
        found = lanczos_curvature(here, 1e-6)
        slack = 10 * rounding(here, values)
        assert found.lower_bound <= values[0] + slack
        if values[0] < -1e-6 - slack:
            assert not found.lower_bound >= -1e-6


def test_looks_at_ritz_vectors_are_few_where_nothing_can_be_decided(monkeypatch):
    looks = []
    original = module._ritz
    monkeypatch.setattr(module, "_ritz", lambda *a: looks.append(1) or original(*a))
    rng = np.random.default_rng(10)
    here, _ = quadratic("euclidean", np.append(rng.uniform(0.0, 1e9, 299), 0.0), rng)
    found = lanczos_curvature(here, 1e-9)
    assert not found.decides(1e-9)
    assert len(looks) < 60


def test_float32_on_a_manifold_that_draws_float64():
    matrix = np.diag([1.0, 2.0, 3.0]).astype(np.float32)
    problem = Problem(
        pm.Euclidean(3),
        lambda x: 0.5 * x @ matrix @ x,
        euclidean_gradient=lambda x: matrix @ x,
        euclidean_hessian=lambda x, v: matrix @ v,
    )
    found = lanczos_curvature(problem.at(np.ones(3, dtype=np.float32)), 1e-3)
    assert found.min_eigenvalue == pytest.approx(1.0, rel=1e-5)
