"""The log-cosh cost against its definition, at every scale and in every memory layout."""

from __future__ import annotations

import itertools
import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp

import riemtr
from riemtr import Sphere, dictionary_problem
from riemtr.problems import dictionary_learning as module
from riemtr.problems import weighted_gram
from riemtr.problems.dictionary_learning import DictionaryCost

EPS = 2.0**-52


def naive(data, mu, q):
    """Value, gradient and Hessian by their textbook formulas, in extended precision."""
    extended = np.longdouble
    data, q, mu = data.astype(extended), q.astype(extended), extended(mu)
    z = q @ data / mu
    value = mu * np.mean(np.log(np.cosh(z)))
    gradient = data @ np.tanh(z) / data.shape[1]
    hessian = (data / np.cosh(z) ** 2) @ data.T / (mu * data.shape[1])
    return float(value), gradient.astype(float), hessian.astype(float)


def sparse_data(seed, n, p, share=0.3):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, p)) * (rng.random((n, p)) < share)


@given(
    st.integers(0, 10**6),
    st.integers(1, 6),
    st.integers(1, 40),
    st.floats(-2.0, 2.0).map(lambda exponent: 10.0**exponent),
)
@settings(max_examples=60)
def test_value_gradient_and_hessian(seed, n, p, mu):
    data = sparse_data(seed, n, p, share=0.8)
    q = Sphere(n).random_point(seed + 1)
    here = DictionaryCost(data, mu).at(q)
    value, gradient, hessian = naive(data, mu, q)
    size = np.abs(data).max() + mu
    assert here.value == pytest.approx(value, abs=20 * EPS * size)
    np.testing.assert_allclose(here.gradient, gradient, atol=20 * EPS * n * size)
    np.testing.assert_allclose(here.hessian_matrix(), hessian, atol=40 * EPS * n * size**2 / mu)
    v = np.random.default_rng(seed).standard_normal(n)
    np.testing.assert_allclose(here.hessian(v), hessian @ v, atol=100 * EPS * n**2 * size**2 / mu)


@pytest.mark.parametrize("exponent", [-300, -160, -20, -8, 0, 1, 2, 8, 20, 160, 300])
@pytest.mark.parametrize("by", ["data", "mu"])
def test_no_overflow_at_any_ratio(exponent, by):
    ratio = 10.0**exponent
    base = np.array([[1.0, -0.7, 0.0, 0.2]])
    data, mu = (base * ratio, 1.0) if by == "data" else (base, 1.0 / ratio)
    problem = dictionary_problem(data, mu)
    q = np.array([1.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        here = problem.cost.at(q)
        value, gradient, matrix = here.value, here.gradient, here.hessian_matrix()
        product = here.hessian(q)
    z = data[0]
    # log cosh z = logsumexp(z, -z) - log 2, in units of mu.
    scaled = np.abs(base[0]) * ratio
    exact = np.array([logsumexp([s, -s]) - math.log(2.0) for s in scaled]) * mu
    assert value == pytest.approx(exact.mean(), rel=1e-14, abs=4 * EPS * mu)
    tanh = np.tanh(np.sign(z) * scaled)
    assert gradient[0] == pytest.approx(np.mean(tanh * z), rel=1e-13, abs=4 * EPS * abs(z).max())
    sech = np.array([0.0 if s > 350 else 1 / math.cosh(s) for s in scaled])
    curvature = np.mean((sech * (z / math.sqrt(mu))) ** 2)
    for found in (matrix[0, 0], product[0]):
        assert found == pytest.approx(curvature, rel=1e-6, abs=1e-12 / mu if exponent < 8 else 0)


def test_float32_overflows_quietly_too():
    data = np.array([[1e30, -1e-30, 1.0]], dtype=np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        here = dictionary_problem(data, 1e-12).cost.at(np.ones(1, dtype=np.float32))
        assert here.value == pytest.approx(1e30 / 3, rel=1e-6)
        assert here.gradient[0] == pytest.approx(1e30 / 3, rel=1e-6)


def test_limits_are_the_quadratic_and_the_absolute_value():
    data = sparse_data(0, 5, 50, share=1.0)
    q = Sphere(5).random_point(0)
    z = q @ data
    assert dictionary_problem(data, 1e-9).at(q).cost == pytest.approx(np.abs(z).mean(), rel=1e-7)
    assert dictionary_problem(data, 1e4).at(q).cost == pytest.approx(np.mean(z**2) / 2e4, rel=1e-6)


@pytest.mark.parametrize("mu", [1e-2, 0.5])
def test_riemannian_matrix_is_made_of_the_products(mu):
    problem = dictionary_problem(sparse_data(4, 9, 800), mu)
    here = problem.at(Sphere(9).random_point(0))
    matrix = here.hessian_matrix()
    products = np.array(
        [here.basis.coordinates(here.hessian(here.basis.vector(e))) for e in np.eye(8)]
    )
    np.testing.assert_allclose(matrix, products, atol=1e-11 * np.abs(matrix).max())
    assert here.counts.hessian_matrices == 1


def test_derivatives_pass_the_checks():
    problem = dictionary_problem(sparse_data(5, 6, 500), 0.3)
    assert riemtr.check_gradient(problem, rng=0).ok
    assert riemtr.check_hessian(problem, rng=0).ok


def layouts(data):
    read_only = data.copy()
    read_only.flags.writeable = False
    strided = np.zeros((2 * data.shape[0], 3 * data.shape[1]))
    strided[::2, ::3] = data
    return {
        "c": data,
        "fortran": np.asfortranarray(data),
        "read-only": read_only,
        "strided": strided[::2, ::3],
        "reversed": data[:, ::-1][:, ::-1],
        "list": data.tolist(),
        "big-endian": data.astype(">f8"),
    }


@pytest.mark.parametrize("layout", layouts(np.zeros((1, 1))))
def test_memory_layouts(layout):
    data = sparse_data(6, 5, 700)
    q = Sphere(5).random_point(1)
    given_data = layouts(data)[layout]
    kept = np.array(given_data)
    problem = dictionary_problem(given_data, 1e-2)
    value, gradient, hessian = naive(data, 1e-2, q)
    here = problem.cost.at(q)
    assert here.value == pytest.approx(value, rel=1e-13)
    np.testing.assert_allclose(here.gradient, gradient, atol=1e-13)
    np.testing.assert_allclose(here.hessian_matrix(), hessian, atol=1e-11)
    result = riemtr.PracticalTRM().solve(problem, q)
    assert result.certificate.verdict == "minimizer"
    np.testing.assert_array_equal(kept, given_data)  # and it is left as it was


@pytest.mark.parametrize("mu", [1e-4, 1e-2, 1.0])
def test_active_columns_suffice(mu, monkeypatch):
    data = sparse_data(1, 8, 4000, share=0.5)
    q = Sphere(8).random_point(3)
    gathered = DictionaryCost(data, mu).at(q).hessian_matrix()
    monkeypatch.setattr(weighted_gram, "_WORTH_GATHERING", 0.0)
    full = DictionaryCost(data, mu).at(q).hessian_matrix()
    share = np.mean(np.abs(q @ data) < 18 * mu)
    assert (share < 0.65) == (mu < 0.1)  # both branches are met
    np.testing.assert_allclose(gathered, full, atol=1e-14 * np.abs(full).max())
    np.testing.assert_array_equal(gathered, gathered.T)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(("mu", "is_gathered"), [(1e-3, True), (1.0, False)])
def test_samples_that_bend_the_cost_are_gathered_once_where_they_are_few(mu, is_gathered, order):
    data = np.array(sparse_data(1, 8, 4000, share=0.9), order=order)
    q, v = Sphere(8).random_point(3), Sphere(8).random_point(4)
    here = DictionaryCost(data, mu).at(q)
    product, matrix = here.hessian(v), here.hessian_matrix()
    kept, weights = here._bending
    assert (kept is data) is not is_gathered
    assert kept.shape == (8, weights.size)
    assert np.count_nonzero(np.abs(q @ data) < 18 * mu) <= weights.size <= data.shape[1]
    assert not is_gathered or weights.size <= 0.05 * data.shape[1]
    exact = naive(data, mu, q)[2]
    np.testing.assert_allclose(product, exact @ v, atol=1e-13 * np.abs(exact).max())
    np.testing.assert_allclose(matrix, exact, atol=1e-13 * np.abs(exact).max())


def test_the_data_is_not_copied(monkeypatch):
    monkeypatch.setattr(module, "_NARROW_ENTRIES", 0)
    data = sparse_data(7, 5, 300)
    for original in (data, np.asfortranarray(data), data.astype(np.float32)):
        problem = dictionary_problem(original, 1e-2)
        assert problem.cost.data is original
        for easier, _ in problem.easier():
            assert np.shares_memory(easier.cost.data, original)
    # A strided view is copied once, so that no product copies it again.
    strided = dictionary_problem(data[:, ::2], 1e-2).cost.data
    assert strided.flags.c_contiguous
    np.testing.assert_array_equal(strided, data[:, ::2])


def test_float32_stays_float32_and_finds_the_same():
    data = sparse_data(8, 6, 1500, share=0.2)
    single = data.astype(np.float32)
    q = Sphere(6).random_point(2)
    here = dictionary_problem(single, 1e-1).cost.at(q.astype(np.float32))
    value, gradient, hessian = naive(data, 1e-1, q)
    assert here.value == pytest.approx(value, rel=1e-5)
    assert here.gradient.dtype == here.hessian_matrix().dtype == np.float32
    assert here.hessian(here.gradient).dtype == np.float32
    np.testing.assert_allclose(here.gradient, gradient, atol=1e-5)
    np.testing.assert_allclose(here.hessian_matrix(), hessian, atol=1e-4)
    result = riemtr.PracticalTRM().solve(dictionary_problem(single, 1e-1), q.astype(np.float32))
    assert result.point.dtype == np.float32
    assert result.converged
    assert np.abs(result.point).max() > 0.99


def test_easier_versions_are_ordered_and_smoother():
    data = sparse_data(9, 5, 400)
    problem = dictionary_problem(data, 1e-3)
    stages = list(problem.easier())
    smoothing = [stage.cost.mu for stage, _ in stages]
    scale = math.sqrt(np.mean(data**2))
    assert smoothing == sorted(smoothing, reverse=True)
    assert smoothing[0] == pytest.approx(0.3 * scale)
    assert 1e-3 == smoothing[-1] < smoothing[-2] < 4e-3
    assert all(tolerance == pytest.approx(1e-2 * scale) for _, tolerance in stages[:-1])
    assert [stage.cost.mu for stage, _ in dictionary_problem(data, 10.0).easier()] == [10.0]


def test_small_data_are_passed_in_single_precision_and_end_in_double():
    data = sparse_data(11, 6, 900, share=0.2)
    problem = dictionary_problem(data, 1e-2)
    for easier, _ in problem.easier():
        assert easier.cost.data.dtype == np.float32
        np.testing.assert_allclose(easier.cost.data, data, rtol=1e-7)
    assert list(dictionary_problem(data.astype(np.float32), 10.0).easier()) == []
    assert list(dictionary_problem(1e100 * data, 1e101).easier()) == []  # float32 ends at 1e38
    result = riemtr.PracticalTRM(tolerance=1e-12).solve(problem, rng=0)
    assert result.converged
    assert result.point.dtype == np.float64


@pytest.mark.parametrize("mu", [1e-3, 1e-2, 0.1, 1.0])
def test_the_rough_matrix_is_the_matrix_in_single_precision(mu):
    data = sparse_data(12, 9, 3000, share=0.5)
    for original in (data, np.asfortranarray(data)):
        cost = DictionaryCost(original, mu)
        for seed in range(3):
            q = Sphere(9).random_point(seed)
            expected = naive(data, mu, q)[2]
            rough = cost.at(q).hessian_matrix(accuracy=1e-5)
            assert np.linalg.norm(rough - expected) <= 3e-6 * np.linalg.norm(expected)
            np.testing.assert_array_equal(rough, rough.T)


def test_samples_far_off_that_carry_all_the_curvature_count():
    # At 8.1 mu each has a weight below single precision beside the one at zero, but there are many.
    n, p, mu = 5, 10_000, 1e-3
    rest = 5.0 * np.random.default_rng(15).standard_normal((n - 1, p))
    ahead = np.vstack([np.full(p, 8.1 * mu), rest])
    behind = np.vstack([-ahead[:1], rest])
    data = np.hstack([ahead, behind, 5.0 * np.eye(n)[:, 1:2]])
    problem, pole = dictionary_problem(data, mu), np.eye(n)[0]
    assert np.linalg.eigvalsh(problem.at(pole).hessian_matrix())[0] > 5e-4
    assert problem.at(pole).curvature.side(riemtr.problem.Threshold(1e-6)) > 0
    for solver in (riemtr.PracticalTRM(), riemtr.ExactTRM()):
        assert solver.solve(problem, pole).converged


def test_data_changed_in_place_are_seen():
    data = sparse_data(16, 6, 2000, share=0.2)
    problem = dictionary_problem(data, 5e-2)
    first = riemtr.PracticalTRM().solve(problem, rng=0)
    turn = np.linalg.qr(np.random.default_rng(1).standard_normal((6, 6)))[0]
    data[:] = turn @ data
    for solver in (riemtr.PracticalTRM(), riemtr.ExactTRM(0.05)):
        again = solver.solve(problem, first.point)
        assert again.certificate.verdict == "minimizer"
        assert np.abs(turn.T @ again.point).max() > 0.99


def test_single_precision_data_from_double_precision_starts():
    data = sparse_data(14, 12, 3000, share=0.3).astype(np.float32)
    problem = dictionary_problem(data, 1e-2)
    for seed in range(8):
        result = riemtr.PracticalTRM().solve(problem, Sphere(12).random_point(seed))
        assert result.converged
        assert result.certificate.verdict == "minimizer"


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_continuation_ends_at_every_scale(dtype):
    data = sparse_data(10, 3, 50)
    largest = 290 if dtype == np.float64 else 30
    for exponent in (-largest, -largest // 2, 0, largest // 2, largest):
        scaled = (data * 10.0**exponent).astype(dtype)
        cost = DictionaryCost(scaled, 1e-3 * 10.0**exponent)
        exact = math.sqrt(np.mean(data**2)) * 10.0**exponent
        assert cost.scale == pytest.approx(exact, rel=1e-5)
        stages = [stage.mu for stage, _ in itertools.islice(cost.easier(), 100)]
        assert 1 < len(stages) < 20
    nothing = DictionaryCost(np.zeros((2, 3), dtype=dtype), 1e-2)
    assert nothing.scale == 0.0
    assert list(nothing.easier()) == []


def test_zero_data_is_flat():
    problem = dictionary_problem(np.zeros((4, 10)))
    here = problem.at(Sphere(4).random_point(0))
    assert here.cost == pytest.approx(0.0, abs=1e-17)
    assert here.gradient_norm == 0.0
    assert riemtr.PracticalTRM().solve(problem, rng=0).certificate.verdict == "minimizer"


def test_saddles_of_the_identity_are_left():
    # With A = I every normalised sign pattern on several coordinates is near a saddle.
    data = sparse_data(11, 6, 6000, share=0.2)
    problem = dictionary_problem(data, 5e-2)
    for count in (2, 3, 6):
        start = np.zeros(6)
        start[:count] = 1 / math.sqrt(count)
        result = riemtr.PracticalTRM().solve(problem, start)
        assert result.certificate.verdict == "minimizer"
        assert np.abs(result.point).max() > 0.99


@pytest.mark.parametrize("mu", [0.0, -1.0, math.nan, math.inf])
def test_bad_mu(mu):
    with pytest.raises(ValueError, match="mu must be a positive finite number; got"):
        dictionary_problem(np.ones((2, 3)), mu)


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        (np.ones(3), ValueError, "Y must be a 2-D array"),
        (np.ones((2, 0)), ValueError, "at least one row and one column"),
        (np.array([[1.0, np.nan]]), ValueError, "Y must be finite; got nan at row 0, column 1"),
        (np.ones((2, 2), dtype=complex), TypeError, "Y must be real"),
        ([["a", "b"]], TypeError, "Y must hold real numbers"),
    ],
)
def test_bad_data(data, error, message):
    with pytest.raises(error, match=message):
        dictionary_problem(data)


def test_repr():
    assert repr(dictionary_problem(np.ones((2, 3)), 0.1).cost) == (
        "DictionaryCost(n=2, p=3, mu=0.1)"
    )


def test_easier_versions_are_in_single_precision():
    data = sparse_data(12, 8, 2000, share=0.2)
    problem = dictionary_problem(data, 1e-2)
    result = riemtr.PracticalTRM(tolerance=1e-12).solve(problem, rng=0)
    assert result.certificate.verdict == "minimizer"
    assert result.gradient_norm <= 1e-12  # no digit of the result is lost on the way
    copies = [stage.cost.data for stage, _ in problem.easier()]
    assert copies
    assert all(copy is copies[0] for copy in copies)  # one serves all stages
    assert copies[0].dtype == np.float32
    np.testing.assert_array_equal(copies[0], data.astype(np.float32))


def test_earlier_solves_of_the_same_problem_change_no_bit():
    problem = dictionary_problem(sparse_data(12, 8, 2000, share=0.2), 1e-2)
    start = Sphere(8).random_point(3)
    first = riemtr.TrustRegion().solve(problem, start)
    riemtr.PracticalTRM().solve(problem, rng=0)
    again = riemtr.TrustRegion().solve(problem, start)
    np.testing.assert_array_equal(first.point, again.point)
    assert first.counts == again.counts


@pytest.mark.parametrize(
    "solver",
    [riemtr.PracticalTRM(), riemtr.TrustRegion(subproblem=riemtr.HybridSubproblem())],
    ids=["continuation", "no warm-up"],
)
def test_a_copy_of_data_that_were_changed_proves_nothing(solver):
    rng = np.random.default_rng(0)
    half = rng.standard_normal((6, 1500)) * np.array([1.0, *[0.3] * 5])[:, None]
    data = np.column_stack([half, np.vstack([half[:1], -half[1:]])])  # symmetric about e1
    other = data * np.array([0.1, *[10.0] * 5])[:, None]
    problem = dictionary_problem(other, 1.0)
    solver.solve(problem, rng=0)
    other[...] = data
    result = solver.solve(problem, np.eye(6)[0])  # a maximizer now
    assert result.certified
    assert result.iterations > 0
