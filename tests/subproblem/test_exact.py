"""The exact solver against independent references: optimality conditions and Adachi's pencil."""

from __future__ import annotations

import itertools
import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riemtr.subproblem.exact import eigendecomposition, solve_exact, solve_exact_dense

SPECTRA = {
    "positive definite": lambda rng, n: rng.uniform(0.1, 1.0, n),
    "ill-conditioned": lambda rng, n: 10.0 ** rng.uniform(-12, 0, n),
    "indefinite": lambda rng, n: rng.standard_normal(n),
    "negative definite": lambda rng, n: -rng.uniform(0.1, 1.0, n),
    "spread": lambda rng, n: rng.standard_normal(n) * 10.0 ** rng.uniform(-8, 8, n),
    "semidefinite": lambda rng, n: np.where(np.arange(n) < (n + 1) // 2, 0, rng.uniform(0, 1, n)),
    "repeated leftmost": lambda rng, n: np.where(np.arange(n) < 3, -1.0, rng.uniform(-1, 1, n)),
    "clustered leftmost": lambda rng, n: np.where(
        np.arange(n) < 3, -1.0 + 1e-12 * rng.standard_normal(n), rng.uniform(-0.9, 1, n)
    ),
    "multiple of the identity": lambda rng, n: np.full(n, rng.standard_normal()),
}
GRADIENTS = {
    "generic": lambda rng, c, left: c,
    "hard": lambda rng, c, left: np.where(left, 0.0, c),
    "nearly hard": lambda rng, c, left: np.where(left, 10.0 ** -rng.integers(2, 40) * c, c),
    "only leftmost": lambda rng, c, left: np.where(left, c, 0.0),
    "tiny": lambda rng, c, left: 1e-12 * c,
    "zero": lambda rng, c, left: 0.0 * c,
}


def draw(rng, spectrum, kind, n):
    """A random matrix of that spectrum and a gradient of that kind in its eigenbasis."""
    eigenvalues = SPECTRA[spectrum](rng, n)
    basis = np.linalg.qr(rng.standard_normal((n, n)))[0]
    hessian = (basis * eigenvalues) @ basis.T
    left = np.isclose(eigenvalues, eigenvalues.min(), rtol=1e-10, atol=0.0)
    coefficients = GRADIENTS[kind](rng, rng.standard_normal(n), left)
    return 0.5 * (hessian + hessian.T), basis @ coefficients


def check_optimal(hessian, gradient, radius, solution, tolerance=1e-12):
    """The conditions that are necessary and sufficient for a global minimiser, from scratch."""
    s, multiplier = solution.vector, solution.multiplier
    size = np.linalg.norm(hessian, 2) + multiplier
    length = np.linalg.norm(s)
    residual = hessian @ s + multiplier * s + gradient
    assert np.linalg.norm(residual) <= tolerance * (size * length + np.linalg.norm(gradient))
    assert length <= radius * (1 + 4e-16)
    assert multiplier >= 0.0
    if multiplier > 0.0:
        assert abs(length / radius - 1) <= 1e-15
        assert solution.on_boundary
    assert np.linalg.eigvalsh(hessian + multiplier * np.eye(s.size))[0] >= -tolerance * size
    assert solution.shifted_min_eigenvalue >= -tolerance * size
    assert solution.kkt_residual <= tolerance
    decrease = -(gradient @ s + 0.5 * s @ hessian @ s)
    scale = size * length**2 + np.linalg.norm(gradient) * length
    assert abs(decrease - solution.model_decrease) <= tolerance * scale
    np.testing.assert_allclose(solution.hessian_vector, hessian @ s, atol=1e-13 * size * length)


def pencil_multiplier(hessian, gradient, radius):
    """The rightmost eigenvalue of Adachi, Iwata, Nakatsukasa and Takeda (2017), theorem 3.3."""
    outer = np.outer(gradient, gradient) / radius**2
    matrix = np.block([[-hessian, outer], [np.eye(gradient.size), -hessian]])
    return np.linalg.eigvals(matrix).real.max()


@pytest.mark.parametrize("spectrum", SPECTRA)
@pytest.mark.parametrize("kind", GRADIENTS)
def test_is_a_global_minimiser(spectrum, kind):
    # 9 spectra x 6 gradients x 30 = 1,620 instances
    rng = np.random.default_rng([list(SPECTRA).index(spectrum), list(GRADIENTS).index(kind)])
    for _ in range(30):
        hessian, gradient = draw(rng, spectrum, kind, int(rng.integers(1, 25)))
        radius = 10.0 ** rng.uniform(-6, 6)
        check_optimal(hessian, gradient, radius, solve_exact_dense(hessian, gradient, radius))


@pytest.mark.parametrize("spectrum", ["positive definite", "indefinite", "negative definite"])
def test_agrees_with_the_eigenvalue_formulation(spectrum):
    rng = np.random.default_rng(5)
    boundary = 0
    for _ in range(100):
        hessian, gradient = draw(rng, spectrum, "generic", int(rng.integers(1, 15)))
        radius = 10.0 ** rng.uniform(-2, 1)
        solution = solve_exact_dense(hessian, gradient, radius)
        reference = pencil_multiplier(hessian, gradient, radius)
        if solution.on_boundary:
            boundary += 1
            size = np.linalg.norm(hessian, 2) + reference
            # At the optimum the dual is flat: an error in the multiplier enters squared.
            inverse = np.linalg.solve(hessian + reference * np.eye(gradient.size), gradient)
            dual = 0.5 * (gradient @ inverse + reference * radius**2)
            assert solution.multiplier == pytest.approx(reference, abs=1e-6 * size)
            assert solution.model_decrease == pytest.approx(dual, rel=1e-6)
        else:
            assert reference <= 1e-6
    assert boundary >= 30


def test_easy_case_by_hand():
    # (1 + lambda) s = -4 with |s| = 1
    solution = solve_exact_dense(np.eye(2), np.array([0.0, 4.0]), 1.0)
    np.testing.assert_allclose(solution.vector, [0.0, -1.0], atol=1e-15)
    assert solution.multiplier == pytest.approx(3.0, rel=1e-15)
    assert solution.model_decrease == pytest.approx(3.5, rel=1e-15)
    assert solution.on_boundary
    assert not solution.hard_case


def test_interior_is_the_newton_step():
    hessian, gradient = np.diag([1.0, 10.0]), np.array([1.0, 1.0])
    solution = solve_exact_dense(hessian, gradient, 5.0)
    np.testing.assert_allclose(solution.vector, [-1.0, -0.1], rtol=1e-15)
    assert (solution.multiplier, solution.on_boundary) == (0.0, False)
    assert solution.min_eigenvalue == solution.shifted_min_eigenvalue == 1.0


def test_newton_step_exactly_on_the_boundary():
    solution = solve_exact_dense(np.eye(3), np.array([3.0, 0.0, 4.0]), 5.0)
    np.testing.assert_allclose(solution.vector, [-3.0, 0.0, -4.0], rtol=1e-15)
    assert solution.multiplier <= 1e-15


@pytest.mark.parametrize("multiplicity", [1, 2, 4])
def test_hard_case(multiplicity):
    rng = np.random.default_rng(multiplicity)
    eigenvalues = np.r_[np.full(multiplicity, -2.0), 1.0, 3.0, 8.0]
    basis = np.linalg.qr(rng.standard_normal((eigenvalues.size,) * 2))[0]
    hessian = (basis * eigenvalues) @ basis.T
    hessian = 0.5 * (hessian + hessian.T)
    gradient = basis @ np.r_[np.zeros(multiplicity), 1.0, 1.0, 1.0]
    solution = solve_exact_dense(hessian, gradient, 2.0)
    check_optimal(hessian, gradient, 2.0, solution)
    assert solution.hard_case
    assert solution.multiplier == pytest.approx(2.0, rel=1e-13)
    np.testing.assert_allclose(
        (basis.T @ solution.vector)[multiplicity:], [-1 / 3, -1 / 5, -1 / 10], rtol=1e-12
    )


def test_leftmost_gradient_missing_but_boundary_reached_without_it_is_not_hard():
    solution = solve_exact_dense(np.diag([-1.0, 1.0]), np.array([0.0, 100.0]), 1.0)
    np.testing.assert_allclose(solution.vector, [0.0, -1.0])
    assert solution.multiplier == pytest.approx(99.0)
    assert not solution.hard_case


def test_nearly_hard_case_is_as_accurate_as_the_easy_one():
    hessian = np.diag([-1.0, 0.0, 1.0])
    for exponent in range(-14, 0):
        gradient = np.array([10.0**exponent, 0.3, 0.2])
        solution = solve_exact_dense(hessian, gradient, 1.0)
        check_optimal(hessian, gradient, 1.0, solution, tolerance=1e-14)
        assert solution.vector[0] < 0.0
        shift = -gradient[0] / solution.vector[0]  # lambda - 1 without its cancellation
        assert solution.shifted_min_eigenvalue == pytest.approx(shift, rel=1e-10)


def test_zero_gradient():
    indefinite = solve_exact_dense(np.diag([3.0, -2.0, 1.0]), np.zeros(3), 0.5)
    np.testing.assert_allclose(np.abs(indefinite.vector), [0.0, 0.5, 0.0], atol=1e-15)
    assert indefinite.multiplier == pytest.approx(2.0)
    assert indefinite.model_decrease == pytest.approx(0.25)
    assert indefinite.on_boundary
    assert indefinite.hard_case
    for hessian in (np.diag([3.0, 2.0]), np.diag([3.0, 0.0]), np.zeros((2, 2))):
        definite = solve_exact_dense(hessian, np.zeros(2), 0.5)
        assert not definite.vector.any()
        assert (definite.multiplier, definite.on_boundary, definite.hard_case) == (0, False, False)


def test_semidefinite_and_consistent_gives_the_step_of_least_norm():
    rng = np.random.default_rng(3)
    for _ in range(50):
        factor = rng.standard_normal((8, 3))
        hessian = factor @ factor.T  # rank 3, the zero eigenvalues come out as +-1e-16
        gradient = factor @ rng.standard_normal(3)
        solution = solve_exact_dense(hessian, gradient, 100.0)
        check_optimal(hessian, gradient, 100.0, solution)
        expected = -np.linalg.pinv(hessian, rcond=1e-10) @ gradient
        np.testing.assert_allclose(solution.vector, expected, rtol=1e-8, atol=1e-10)
        assert not solution.on_boundary


def test_semidefinite_and_inconsistent_reaches_the_boundary():
    solution = solve_exact_dense(np.diag([0.0, 1.0]), np.array([1.0, 0.0]), 3.0)
    np.testing.assert_allclose(solution.vector, [-3.0, 0.0])
    assert solution.multiplier == pytest.approx(1 / 3)


def test_zero_hessian_steps_along_the_negative_gradient():
    gradient = np.array([3.0, 0.0, 4.0])
    solution = solve_exact_dense(np.zeros((3, 3)), gradient, 10.0)
    np.testing.assert_allclose(solution.vector, -2.0 * gradient, rtol=1e-15)
    assert solution.multiplier == pytest.approx(0.5)


@pytest.mark.parametrize("curvature", [-2.0, 0.0, 2.0])
@pytest.mark.parametrize("slope", [-1.0, 0.0, 1e-300, 1.0])
@pytest.mark.parametrize("radius", [0.1, 10.0])
def test_one_dimension_against_all_candidates(curvature, slope, radius):
    solution = solve_exact_dense(np.array([[curvature]]), np.array([slope]), radius)
    candidates = [0.0, -radius, radius]
    if curvature > 0 and abs(slope / curvature) <= radius:
        candidates.append(-slope / curvature)
    best = min(slope * s + 0.5 * curvature * s * s for s in candidates)
    assert solution.model_decrease == pytest.approx(-best, rel=1e-14)
    assert solution.kkt_residual <= 1e-15


def test_no_dimension():
    solution = solve_exact_dense(np.zeros((0, 0)), np.zeros(0), 1.0)
    assert solution.vector.shape == (0,)
    assert solution.model_decrease == 0.0
    assert solution.min_eigenvalue == math.inf


def exact_norm(vector):
    """The norm of a vector of fractions, to 15 digits and at any magnitude."""
    largest = max(abs(entry) for entry in vector)
    if largest == 0:
        return Fraction(0)
    return largest * Fraction(math.sqrt(sum(float(entry / largest) ** 2 for entry in vector)))


def check_optimal_exactly(hessian, gradient, radius, solution, tolerance=1e-12):
    """The first-order conditions in rational arithmetic, which has no range to leave."""
    matrix = [[Fraction(entry) for entry in row] for row in hessian.tolist()]
    linear = [Fraction(entry) for entry in gradient.tolist()]
    s = [Fraction(entry) for entry in solution.vector.tolist()]
    multiplier, bound = Fraction(solution.multiplier), Fraction(radius)
    size = max((abs(entry) for row in matrix for entry in row), default=0) + abs(multiplier)
    residual = [
        sum((h * x for h, x in zip(row, s, strict=True)), multiplier * x_i + g_i)
        for row, x_i, g_i in zip(matrix, s, linear, strict=True)
    ]
    length = exact_norm(s)
    limit = Fraction(tolerance) * (size * length + exact_norm(linear))
    assert exact_norm(residual) <= limit
    assert length <= bound * (1 + Fraction(1e-15))
    assert multiplier == 0 or length >= bound * (1 - Fraction(1e-15))
    assert solution.kkt_residual <= tolerance
    assert solution.shifted_min_eigenvalue >= -tolerance * float(size)


EXPONENTS = (-150, -75, 0, 75, 150)


@pytest.mark.parametrize("spectrum", ["positive definite", "indefinite", "semidefinite"])
@pytest.mark.parametrize("kind", ["generic", "hard"])
def test_every_combination_of_scales(spectrum, kind):
    rng = np.random.default_rng(11)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for exponents in itertools.product(EXPONENTS, repeat=3):
            hessian, gradient = draw(rng, spectrum, kind, 3)
            hessian = hessian * 10.0 ** exponents[0]
            gradient = gradient * 10.0 ** exponents[1]
            radius = 10.0 ** exponents[2]
            solution = solve_exact_dense(hessian, gradient, radius)
            check_optimal_exactly(hessian, gradient, radius, solution)


# With the exponents below, magnitudes stay within the promised 1e-150 to 1e150, or are zero.
entries = st.one_of(
    st.integers(-3, 3).map(float), st.floats(1e-3, 1e3), st.floats(1e-3, 1e3).map(lambda x: -x)
)


@st.composite
def subproblems(draw_from):
    n = draw_from(st.integers(1, 5))
    flat = draw_from(st.lists(entries, min_size=n * n, max_size=n * n))
    gradient = draw_from(st.lists(entries, min_size=n, max_size=n))
    matrix = np.array(flat).reshape(n, n)
    exponents = [draw_from(st.integers(-400, 400)) for _ in range(3)]
    hessian = np.ldexp(np.triu(matrix) + np.triu(matrix, 1).T, exponents[0])
    return hessian, np.ldexp(np.array(gradient), exponents[1]), math.ldexp(1.3, exponents[2])


@settings(max_examples=300, deadline=None)
@given(subproblems())
def test_whatever_the_data(subproblem):
    hessian, gradient, radius = subproblem
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solution = solve_exact_dense(hessian, gradient, radius)
    check_optimal_exactly(hessian, gradient, radius, solution)


def test_a_decomposition_serves_every_radius_and_gradient():
    rng = np.random.default_rng(2)
    hessian, gradient = draw(rng, "indefinite", "generic", 30)
    eigenvalues, eigenvectors = eigendecomposition(hessian)
    for radius in (1.0, 0.25, 0.01):
        fresh = solve_exact_dense(hessian, gradient, radius)
        reused = solve_exact(eigenvalues, eigenvectors, gradient, radius)
        np.testing.assert_array_equal(reused.vector, fresh.vector)
        np.testing.assert_allclose(reused.hessian_vector, fresh.hessian_vector, atol=1e-12)
        assert reused.multiplier == fresh.multiplier
        assert reused.kkt_residual <= 1e-13


def test_the_hard_case_where_the_gradient_is_small_within_a_cluster_only():
    # Two eigenvalues differ by less than rounding; the gradient along the second one is too large
    # to count as none, and yet too small for that difference to matter at this radius.
    eigenvalues = np.array([-1.0, -1.0 + 2.0**-52, 1.0])
    gradient = np.array([0.0, 1e-14, 1.0])
    solution = solve_exact(eigenvalues, np.eye(3), gradient, 100.0)
    assert solution.hard_case
    assert solution.multiplier == 1.0
    check_optimal(np.diag(eigenvalues), gradient, 100.0, solution)


def test_the_same_input_gives_the_same_bits():
    hessian, gradient = draw(np.random.default_rng(1), "indefinite", "hard", 20)
    first = solve_exact_dense(hessian, gradient, 1.0)
    second = solve_exact_dense(hessian.copy(), gradient.copy(), 1.0)
    assert first.vector.tobytes() == second.vector.tobytes()


def test_large():
    hessian, gradient = draw(np.random.default_rng(9), "indefinite", "nearly hard", 200)
    check_optimal(hessian, gradient, 3.0, solve_exact_dense(hessian, gradient, 3.0))
