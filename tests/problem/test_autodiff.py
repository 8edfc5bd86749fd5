"""autograd's derivatives against closed forms, and how often they call the cost."""

from __future__ import annotations

import math
import threading
import warnings

import autograd.numpy as anp
import numpy as np
import pytest
import scipy.sparse
from autograd.core import make_vjp
from autograd.numpy.numpy_boxes import ArrayBox
from hypothesis import given, settings
from hypothesis import strategies as st

import riemtr
from riemtr.problem.autodiff import AutogradCost
from riemtr.problem.shared_work import NotDifferentiableError


class Counting:
    def __init__(self, function):
        self.function = function
        self.calls = 0

    def __call__(self, *arrays):
        self.calls += 1
        return self.function(*arrays)


@given(st.integers(0, 10**6), st.integers(1, 8))
@settings(max_examples=30)
def test_log_sum_exp(seed, n):
    rng = np.random.default_rng(seed)
    matrix, x, v = rng.standard_normal((n + 2, n)), *rng.standard_normal((2, n))
    here = AutogradCost(lambda x: anp.log(anp.sum(anp.exp(matrix @ x))), 1).at(x)
    share = np.exp(matrix @ x)
    share /= share.sum()
    gradient = matrix.T @ share
    hessian = matrix.T @ (share[:, None] * matrix) - np.outer(gradient, gradient)
    assert here.value == pytest.approx(np.log(np.exp(matrix @ x).sum()))
    np.testing.assert_allclose(here.gradient, gradient, atol=1e-12)
    np.testing.assert_allclose(here.hessian(v), hessian @ v, atol=1e-11)


def test_matrix_argument():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((4, 4)) + 4 * np.eye(4)
    v = rng.standard_normal((4, 4))
    here = AutogradCost(lambda x: anp.linalg.slogdet(x)[1], 1).at(x)
    inverse = np.linalg.inv(x)
    np.testing.assert_allclose(here.gradient, inverse.T, atol=1e-13)
    np.testing.assert_allclose(here.hessian(v), -(inverse @ v @ inverse).T, atol=1e-13)


def test_several_arguments_with_mixed_second_derivatives():
    rng = np.random.default_rng(1)
    matrix = rng.standard_normal((3, 2))
    cost = AutogradCost(lambda u, v, w: u @ matrix @ v * w[0] + anp.sum(u**3), (1, 2))
    u, v, w = rng.standard_normal(3), rng.standard_normal(2), rng.standard_normal(1)
    du, dv, dw = rng.standard_normal(3), rng.standard_normal(2), rng.standard_normal(1)
    here = cost.at([u, [v, w]])
    first, (second, third) = here.gradient
    np.testing.assert_allclose(first, matrix @ v * w + 3 * u**2)
    np.testing.assert_allclose(second, matrix.T @ u * w)
    np.testing.assert_allclose(third, [u @ matrix @ v])
    first, (second, third) = here.hessian([du, [dv, dw]])
    np.testing.assert_allclose(first, matrix @ dv * w + matrix @ v * dw + 6 * u * du)
    np.testing.assert_allclose(second, matrix.T @ du * w + matrix.T @ u * dw)
    np.testing.assert_allclose(third, [du @ matrix @ v + u @ matrix @ dv])


@given(st.integers(0, 10**6), st.integers(1, 6))
@settings(max_examples=30)
def test_complex_quadratic(seed, n):
    rng = np.random.default_rng(seed)
    z, v = rng.standard_normal((2, n)) + 1j * rng.standard_normal((2, n))
    matrix = rng.standard_normal((n, n)) + 1j * rng.standard_normal((n, n))
    matrix = matrix + matrix.conj().T
    here = AutogradCost(lambda z: anp.real(anp.conj(z) @ matrix @ z), 1).at(z)
    np.testing.assert_allclose(here.gradient, 2 * matrix @ z, atol=1e-12)
    np.testing.assert_allclose(here.hessian(v), 2 * matrix @ v, atol=1e-12)


def test_complex_cost_that_is_not_hermitian():
    # f = |z'Bz|^2 with the plain transpose; gradient 4 conj(B z) (z'Bz) for symmetric B.
    rng = np.random.default_rng(2)
    n = 4
    z, v = rng.standard_normal((2, n)) + 1j * rng.standard_normal((2, n))
    matrix = rng.standard_normal((n, n)) + 1j * rng.standard_normal((n, n))
    matrix = matrix + matrix.T
    here = AutogradCost(lambda z: anp.abs(z @ matrix @ z) ** 2, 1).at(z)
    form, image = z @ matrix @ z, np.conj(matrix @ z)
    np.testing.assert_allclose(here.gradient, 4 * image * form, atol=1e-10)
    expected = 4 * np.conj(matrix @ v) * form + 4 * image * 2 * (v @ matrix @ z)
    np.testing.assert_allclose(here.hessian(v), expected, atol=1e-9)


def test_products_after_the_first_do_not_call_the_cost():
    cost = Counting(lambda x: anp.sum(anp.sin(x) * x**2))
    here = AutogradCost(cost, 1).at(np.arange(1.0, 5.0))
    _ = here.value, here.value, here.gradient, here.gradient
    assert cost.calls == 1
    here.hessian(np.ones(4))
    after_one = cost.calls
    assert after_one <= 2
    products = np.array([here.hessian(unit) for unit in np.eye(4)])
    assert cost.calls == after_one
    x = np.arange(1.0, 5.0)
    exact = 2 * np.sin(x) + 4 * x * np.cos(x) - x**2 * np.sin(x)
    np.testing.assert_allclose(products, np.diag(exact), atol=1e-12)


def test_linear_cost_has_no_curvature_and_no_warning():
    x, v = np.ones(3), np.arange(3.0)
    linear = AutogradCost(lambda x: x @ v, 1).at(x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(linear.gradient, v)
        np.testing.assert_array_equal(linear.hessian(v), np.zeros(3))


@pytest.mark.filterwarnings("ignore:Output seems independent")
def test_constant_cost():
    x, v = np.ones(3), np.arange(3.0)
    constant = AutogradCost(lambda x: 2.0, 1).at(x)
    assert constant.value == 2.0
    np.testing.assert_array_equal(constant.gradient, np.zeros(3))
    np.testing.assert_array_equal(constant.hessian(v), np.zeros(3))


def test_plain_numpy_is_traced_right_or_refused():
    # Which of numpy's functions autograd can trace depends on its version.
    x = np.array([1.0, 2.0])
    for cost, gradient in [
        (lambda x: np.exp(x).sum(), np.exp(x)),
        (lambda x: np.linalg.norm(x), x / np.linalg.norm(x)),
        (lambda x: np.sum(np.dot(x, x)), 2 * x),
    ]:
        try:
            found = AutogradCost(cost, 1).at(x).gradient
        except NotDifferentiableError:
            continue
        np.testing.assert_allclose(found, gradient, rtol=1e-14)


def test_derivatives_in_one_argument_only():
    cost = AutogradCost(lambda u, v: anp.sum(u**2), (1, 1))
    here = cost.at([np.ones(2), np.ones(3)])
    for mine, expected in zip(here.gradient, (2 * np.ones(2), np.zeros(3)), strict=True):
        np.testing.assert_array_equal(mine, expected)
    for mine, expected in zip(
        here.hessian([np.ones(2), np.ones(3)]), (2 * np.ones(2), np.zeros(3)), strict=True
    ):
        np.testing.assert_array_equal(mine, expected)


def test_float32_stays_float32():
    x = np.ones(3, dtype=np.float32)
    here = AutogradCost(lambda x: anp.sum(x**3), 1).at(x)
    assert here.gradient.dtype == np.float32
    assert here.hessian(x).dtype == np.float32


@pytest.mark.parametrize(
    "cost",
    [
        lambda x: float(x[0]),
        lambda x: np.linalg.eigvalsh(np.outer(x, x))[0],
        lambda x: np.fft.fft(np.array([float(v) for v in x])).real[0],
        lambda x: math.sin(x[0]),
    ],
)
def test_error_for_what_cannot_be_traced(cost):
    here = AutogradCost(cost, 1).at(np.array([1.0, 2.0]))
    with pytest.raises(
        NotDifferentiableError, match=r"write it with autograd.numpy.*euclidean_gradient"
    ):
        _ = here.gradient


@pytest.mark.parametrize(
    ("cost", "error", "message"),
    [
        (lambda x: x.no_such_method(), AttributeError, "'numpy.ndarray' object has no attribute"),
        (lambda x: anp.eye(3) @ x, ValueError, "matmul"),
        (lambda x, y: x[0] * y[0], TypeError, "missing 1 required positional argument"),
    ],
    ids=["method", "shapes", "arguments"],
)
def test_mistakes_in_the_cost_are_not_blamed_on_autograd(cost, error, message):
    here = AutogradCost(cost, 1).at(np.array([1.0, 2.0]))
    with pytest.raises(error, match=message) as caught:
        _ = here.gradient
    assert not isinstance(caught.value, NotDifferentiableError)


def test_error_for_what_has_only_a_first_derivative():
    from autograd.extend import defvjp, primitive

    square = primitive(lambda x: float(np.sum(np.square(x))))
    defvjp(square, lambda ans, x: lambda g: np.asarray(g * np.multiply(2.0, [float(v) for v in x])))
    here = AutogradCost(square, 1).at(np.array([1.0, 2.0]))
    np.testing.assert_array_equal(here.gradient, [2.0, 4.0])
    with pytest.raises(NotDifferentiableError, match="pass euclidean_hessian"):
        here.hessian(np.ones(2))


# -- costs of plain numpy, of which a gradient is given -------------------------------------------

MATRIX = scipy.sparse.diags(np.arange(1.0, 51.0)).tocsr()
PLAIN_COSTS = {
    "converted": lambda x: float(np.vdot(x, MATRIX @ np.asarray(x))),
    "sparse": lambda x: float(x @ (MATRIX @ x)),
    "norm": lambda x: np.linalg.norm(np.sqrt(np.arange(1.0, 51.0)) * x) ** 2,
    "einsum": lambda x: np.einsum("i,i,i", np.arange(1.0, 51.0), x, x),
}


@pytest.fixture
def entries(monkeypatch):
    """Indices at which a box was unpacked."""
    unpacked = []

    def counted(box, index):
        unpacked.append(index)
        return original(box, index)

    original = ArrayBox.__getitem__
    monkeypatch.setattr(ArrayBox, "__getitem__", counted)
    return unpacked


def on_sphere(cost, autodiff="autograd"):
    return riemtr.Problem(
        riemtr.Sphere(50),
        cost,
        euclidean_gradient=lambda x: 2.0 * (MATRIX @ x),
        autodiff=autodiff,
    )


@pytest.mark.parametrize("name", PLAIN_COSTS)
def test_no_box_is_unpacked_to_try_a_cost_of_plain_numpy(name, entries):
    problem = on_sphere(PLAIN_COSTS[name])
    result = riemtr.PracticalTRM().solve(problem, rng=0)
    assert result.certified
    assert result.cost == pytest.approx(1.0)
    assert result.evaluation.hessian_kind == "differences"
    assert entries == []
    assert not hasattr(ArrayBox, "__array__")


def test_a_cost_that_autograd_traces_has_its_hessian(entries):
    here = on_sphere(lambda x: anp.sum(np.arange(1.0, 51.0) * x**2)).at(
        riemtr.Sphere(50).random_point(0)
    )
    vector = here.space.random(np.random.default_rng(1))
    exact = on_sphere(PLAIN_COSTS["sparse"]).at(here.point).hessian(vector)
    np.testing.assert_allclose(here.hessian(vector), exact, atol=1e-6)
    assert here.hessian_kind == "euclidean"
    assert here.counts.gradients <= 1


@pytest.mark.parametrize(
    "solver",
    [
        riemtr.LBFGS(max_iterations=5),
        riemtr.LBFGS(tolerance=1e-6),
        riemtr.solvers.ScipyLBFGSB(max_iterations=5),
        riemtr.solvers.PerturbedGD(max_iterations=5),
    ],
)
def test_methods_without_a_hessian_do_not_ask_for_its_kind(solver):
    tried = []

    class Traced(AutogradCost):
        def at(self, point):
            tried.append(point)
            return super().at(point)

    result = solver.solve(on_sphere(PLAIN_COSTS["sparse"], autodiff=Traced), rng=0)
    assert result.iterations >= 5
    assert tried == []


def test_numpy_is_refused_in_the_thread_of_a_trial_only():
    first_tries, second_tried = threading.Event(), threading.Event()
    refusals = []

    def unpacked(x):
        return np.sum(np.asarray(x) ** 2)  # to numpy, an array of boxes

    def first(x):
        first_tries.set()
        assert second_tried.wait(60.0)
        try:
            np.asarray(x)
        except TypeError as error:
            refusals.append(error)
        return anp.sum(x**2)

    def trying(cost):
        traced = AutogradCost(cost, 1)
        with traced.trial():
            return traced.at(np.ones(3)).gradient

    thread = threading.Thread(target=trying, args=(first,))
    thread.start()
    try:
        assert first_tries.wait(60.0)
        # This thread is not trying, and numpy unpacks its box as ever.
        np.testing.assert_array_equal(make_vjp(unpacked, np.ones(3))[0](1.0), [2.0, 2.0, 2.0])
        # A trial of its own ends before the other one, which goes on refusing.
        with pytest.raises(NotDifferentiableError, match="plain numpy"):
            trying(unpacked)
        np.testing.assert_array_equal(make_vjp(unpacked, np.ones(3))[0](1.0), [2.0, 2.0, 2.0])
    finally:
        second_tried.set()
        thread.join()
    assert len(refusals) == 1
    assert not hasattr(ArrayBox, "__array__")
