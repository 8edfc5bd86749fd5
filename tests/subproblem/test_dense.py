"""The public front: input checks, the choice of method, and the contract all methods share."""

from __future__ import annotations

import numpy as np
import pytest

from riemtr.subproblem.dense import SubproblemSolution, solve_subproblem

METHODS = ["exact", "sdp", "tcg"]


def random_instance(rng, n, definite=False):
    matrix = rng.standard_normal((n, n))
    hessian = matrix @ matrix.T + 0.1 * np.eye(n) if definite else matrix + matrix.T
    return hessian, rng.standard_normal(n)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("definite", [True, False])
def test_contract_of_every_method(method, definite):
    if method == "sdp":
        pytest.importorskip("clarabel")
    rng = np.random.default_rng(4)
    for _ in range(10):
        n = int(rng.integers(1, 9))
        hessian, gradient = random_instance(rng, n, definite)
        radius = 10.0 ** rng.uniform(-2, 1)
        solution = solve_subproblem(hessian, gradient, radius, method=method)
        s = solution.vector
        assert isinstance(solution, SubproblemSolution)
        assert np.linalg.norm(s) <= radius * (1 + 1e-15)
        decrease = -(gradient @ s + 0.5 * s @ hessian @ s)
        assert solution.model_decrease == pytest.approx(decrease, rel=1e-9, abs=1e-14)
        np.testing.assert_allclose(solution.hessian_vector, hessian @ s, atol=1e-12)
        lowest = np.linalg.eigvalsh(hessian)[0]
        assert solution.min_eigenvalue == pytest.approx(lowest, abs=1e-12)
        assert solution.shifted_min_eigenvalue == pytest.approx(
            lowest + solution.multiplier, abs=1e-10
        )
        residual = np.linalg.norm(hessian @ s + solution.multiplier * s + gradient)
        scale = (np.linalg.norm(hessian, 2) + solution.multiplier) * np.linalg.norm(s)
        stationarity = residual / (scale + np.linalg.norm(gradient))
        assert solution.kkt_residual >= stationarity - 1e-14
        # No method falls behind the best step along the gradient, nor beats the exact one.
        best = solve_subproblem(hessian, gradient, radius).model_decrease
        assert cauchy_decrease(hessian, gradient, radius) <= decrease * (1 + 1e-6)
        assert decrease <= best * (1 + 1e-9)


def cauchy_decrease(hessian, gradient, radius):
    norm = np.linalg.norm(gradient)
    curvature = gradient @ hessian @ gradient / norm**2
    length = min(radius, norm / curvature) if curvature > 0 else radius
    return norm * length - 0.5 * curvature * length**2


def test_exact_is_the_default():
    hessian, gradient = random_instance(np.random.default_rng(0), 6)
    default = solve_subproblem(hessian, gradient, 1.0)
    named = solve_subproblem(hessian, gradient, 1.0, method="exact")
    np.testing.assert_array_equal(default.vector, named.vector)
    assert default.kkt_residual <= 1e-10


def test_truncated_cg_is_exact_inside():
    hessian, gradient = random_instance(np.random.default_rng(1), 12, definite=True)
    solution = solve_subproblem(hessian, gradient, 1e3, method="tcg")
    np.testing.assert_allclose(solution.vector, -np.linalg.solve(hessian, gradient), rtol=1e-7)
    assert not solution.on_boundary


def test_truncated_cg_follows_negative_curvature_to_the_boundary():
    solution = solve_subproblem(np.diag([-1.0, -2.0]), np.array([1.0, 1.0]), 3.0, method="tcg")
    np.testing.assert_allclose(solution.vector, [-3 / 2**0.5, -3 / 2**0.5], rtol=1e-14)
    assert solution.on_boundary


def test_truncated_cg_leaves_a_saddle_but_not_a_minimizer():
    saddle = solve_subproblem(np.diag([-1.0, 1.0]), np.zeros(2), 2.0, method="tcg")
    np.testing.assert_allclose(np.abs(saddle.vector), [2.0, 0.0], atol=1e-9)
    assert not solve_subproblem(np.diag([0.5, 1.0]), np.zeros(2), 1.0, method="tcg").vector.any()


@pytest.mark.parametrize("exponents", [(150, -150, 150), (-150, 150, -150), (150, 150, 150)])
def test_truncated_cg_at_extreme_scales(exponents):
    hessian, gradient = random_instance(np.random.default_rng(8), 4, definite=True)
    h, g, r = (10.0**exponent for exponent in exponents)
    exact = solve_subproblem(hessian * h, gradient * g, r)
    approximate = solve_subproblem(hessian * h, gradient * g, r, method="tcg")
    np.testing.assert_allclose(approximate.vector / exact.vector, 1.0, rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int64, np.int8, bool])
def test_other_real_types_are_computed_in_double_precision(dtype):
    hessian = np.array([[2, 1], [1, 0]]).astype(dtype)
    gradient = np.array([1, 1]).astype(dtype)
    solution = solve_subproblem(hessian, gradient, np.float32(0.5))
    assert solution.vector.dtype == np.float64
    assert solution.kkt_residual <= 1e-14


def test_float32_with_rounding_asymmetry():
    rng = np.random.default_rng(6)
    factor = rng.standard_normal((20, 50)).astype(np.float32)
    hessian = (factor * rng.uniform(-1, 1, 50).astype(np.float32)) @ factor.T
    hessian[0, 1] *= np.float32(1 + 1e-6)
    gradient = rng.standard_normal(20).astype(np.float32)
    solution = solve_subproblem(hessian, gradient, 1.0)
    symmetric = 0.5 * (hessian.astype(float) + hessian.T.astype(float))
    np.testing.assert_allclose(solution.hessian_vector, symmetric @ solution.vector, rtol=1e-11)
    assert solution.kkt_residual <= 1e-13


def test_lists_views_and_read_only_arrays_are_accepted_and_left_alone():
    hessian, gradient = random_instance(np.random.default_rng(3), 5)
    expected = solve_subproblem(hessian, gradient, 1.0).vector
    wide = np.zeros((10, 15))
    wide[::2, ::3] = hessian
    frozen = hessian.copy()
    frozen.flags.writeable = False
    for variant in (hessian.tolist(), wide[::2, ::3], np.asfortranarray(hessian), frozen):
        before = np.array(variant)
        np.testing.assert_allclose(
            solve_subproblem(variant, gradient.tolist(), 1).vector, expected, rtol=1e-12
        )
        np.testing.assert_array_equal(np.array(variant), before)


@pytest.mark.parametrize("method", ["exact", "tcg"])
def test_no_dimension(method):
    solution = solve_subproblem(np.zeros((0, 0)), np.zeros(0), 1.0, method=method)
    assert solution.vector.shape == (0,)
    assert solution.model_decrease == 0.0


@pytest.mark.parametrize("method", ["newton", None, ["exact"]])
def test_unknown_method_lists_the_valid_ones(method):
    with pytest.raises(ValueError, match=r"method must be one of 'exact', 'sdp', 'tcg'"):
        solve_subproblem(np.eye(2), np.ones(2), 1.0, method=method)


@pytest.mark.parametrize(
    ("hessian", "message"),
    [
        (np.ones((2, 3)), r"hessian must be a square matrix; got shape \(2, 3\); pass"),
        (np.ones(4), r"hessian must be a square matrix; got shape \(4,\)"),
        (np.array([[1.0, np.nan], [np.nan, 1.0]]), r"hessian must have finite .* got a NaN; check"),
        (np.diag([1.0, -np.inf]), r"hessian must have finite entries .* magnitude inf"),
        (1e301 * np.eye(2), r"hessian .* at most 1e\+300; got .* rescale the cost"),
        (np.array([[1.0, 2.0], [0.0, 1.0]]), r"hessian must be symmetric; .* pass \(H \+ H.T\)"),
        (1j * np.eye(2), r"hessian must be an array of real numbers; got dtype complex128"),
        (np.array([["a", "b"], ["c", "d"]]), r"hessian must be an array of real numbers"),
    ],
)
def test_bad_hessian(hessian, message):
    with pytest.raises(ValueError, match=message):
        solve_subproblem(hessian, np.ones(2), 1.0)


@pytest.mark.parametrize(
    ("gradient", "message"),
    [
        (np.ones(3), r"gradient must have shape \(2,\) to match hessian; got \(3,\); pass"),
        (np.ones((2, 1)), r"gradient must have shape \(2,\) .* got \(2, 1\)"),
        (np.array([np.nan, 1.0]), r"gradient must have finite entries .* got a NaN"),
        (np.array([np.inf, 1.0]), r"gradient must have finite entries"),
        (np.array([1j, 1.0]), r"gradient must be an array of real numbers"),
    ],
)
def test_bad_gradient(gradient, message):
    with pytest.raises(ValueError, match=message):
        solve_subproblem(np.eye(2), gradient, 1.0)


@pytest.mark.parametrize("radius", [0.0, -1.0, np.nan, np.inf, "wide", None, np.ones(2)])
def test_bad_radius(radius):
    with pytest.raises(
        ValueError, match=r"radius must be a positive finite number, the length .*; got"
    ):
        solve_subproblem(np.eye(2), np.ones(2), radius)


def test_prints_well():
    solution = solve_subproblem(np.diag([-2.0, 1.0]), np.array([0.0, 3.0]), 2.0)
    assert repr(solution).startswith("SubproblemSolution(n=2, multiplier=2, on_boundary=True, hard")
    text = str(solution)
    assert text.startswith("step on the boundary, hard case\n")
    assert all(len(line) <= 80 for line in text.splitlines())
    long = str(solve_subproblem(np.eye(500), np.ones(500), 1.0))
    assert len(long.splitlines()) == len(text.splitlines())


def test_the_solution_cannot_be_reassigned():
    solution = solve_subproblem(np.eye(2), np.ones(2), 1.0)
    with pytest.raises(AttributeError):
        solution.multiplier = 3.0
