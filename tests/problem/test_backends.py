"""The backends that differentiate plain costs: the same derivatives, solves and counters."""

from __future__ import annotations

import pickle
import sys
from types import SimpleNamespace

import autograd.numpy as anp
import numpy as np
import pymanopt
import pytest
from pymanopt.manifolds import (
    ComplexGrassmann,
    Product,
    Stiefel,
    SymmetricPositiveDefinite,
)

import riemtr
from riemtr.errors import MissingExtraError
from riemtr.problem import as_problem
from riemtr.problem.autodiff import backend
from riemtr.problem.shared_work import NotDifferentiableError


def library(name):
    """What a cost is written with: functions, and how it takes its data."""
    if name == "autograd":
        return SimpleNamespace(name=name, math=anp, data=np.asarray)
    if name == "jax":
        pytest.importorskip("jax")
        import jax.numpy

        return SimpleNamespace(name=name, math=jax.numpy, data=np.asarray)
    torch = pytest.importorskip("torch")
    return SimpleNamespace(name=name, math=torch, data=torch.tensor)


@pytest.fixture(params=["autograd", "jax", "torch"])
def lib(request):
    return library(request.param)


@pytest.fixture(params=["jax", "torch"])
def further(request):
    return library(request.param)


def test_log_sum_exp(lib):
    rng = np.random.default_rng(0)
    matrix, x, v = rng.standard_normal((7, 5)), *rng.standard_normal((2, 5))
    data = lib.data(matrix)
    cost = backend(lib.name)(lambda x: lib.math.log(lib.math.sum(lib.math.exp(data @ x))), 1)
    here = cost.at(x)
    share = np.exp(matrix @ x)
    total = share.sum()
    share /= total
    gradient = matrix.T @ share
    hessian = matrix.T @ (share[:, None] * matrix) - np.outer(gradient, gradient)
    assert type(here.value) is float or here.value.shape == ()
    assert here.value == pytest.approx(np.log(total), rel=1e-14)
    np.testing.assert_allclose(here.gradient, gradient, atol=1e-13)
    np.testing.assert_allclose(here.hessian(v), hessian @ v, atol=1e-12)
    np.testing.assert_allclose(here.hessian(x), hessian @ x, atol=1e-12)


def test_several_arrays_one_of_them_unused_one_linear(lib):
    rng = np.random.default_rng(1)
    slope = rng.standard_normal(2)
    data = lib.data(slope)
    cost = backend(lib.name)(lambda u, v, w: lib.math.sum(u**3) + v @ data, (1, 2))
    u, v, w, du, dv, dw = (rng.standard_normal(size) for size in (3, 2, 4) * 2)
    here = cost.at([u, [v, w]])
    first, (second, third) = here.gradient
    np.testing.assert_allclose(first, 3 * u**2)
    np.testing.assert_allclose(second, slope)
    np.testing.assert_array_equal(third, np.zeros(4))
    first, (second, third) = here.hessian([du, [dv, dw]])
    np.testing.assert_allclose(first, 6 * u * du)
    np.testing.assert_array_equal(second, np.zeros(2))
    np.testing.assert_array_equal(third, np.zeros(4))


def test_linear_cost(lib):
    slope = np.arange(3.0)
    data = lib.data(slope)
    here = backend(lib.name)(lambda x: x @ data, 1).at(np.ones(3))
    np.testing.assert_array_equal(here.gradient, slope)
    np.testing.assert_array_equal(here.hessian(slope), np.zeros(3))


def test_complex_cost_that_is_not_hermitian(lib):
    # f = |z'Bz|^2 with the plain transpose; gradient 4 conj(B z) (z'Bz) for symmetric B.
    rng = np.random.default_rng(2)
    z, v = rng.standard_normal((2, 4)) + 1j * rng.standard_normal((2, 4))
    matrix = rng.standard_normal((4, 4)) + 1j * rng.standard_normal((4, 4))
    matrix = matrix + matrix.T
    data = lib.data(matrix)
    here = backend(lib.name)(lambda z: lib.math.abs(z @ data @ z) ** 2, 1).at(z)
    form, image = z @ matrix @ z, np.conj(matrix @ z)
    np.testing.assert_allclose(here.gradient, 4 * image * form, atol=1e-10)
    expected = 4 * np.conj(matrix @ v) * form + 4 * image * 2 * (v @ matrix @ z)
    np.testing.assert_allclose(here.hessian(v), expected, atol=1e-9)


def test_float32_stays_float32(lib):
    matrix = np.diag(np.arange(1.0, 6.0)).astype(np.float32)
    data = lib.data(matrix)
    problem = riemtr.Problem(riemtr.Sphere(5), lambda x: x @ data @ x, autodiff=lib.name)
    start = np.full(5, 5**-0.5, dtype=np.float32)
    here = problem.at(start)
    assert here.gradient.dtype == here.hessian(here.gradient).dtype == np.float32
    result = riemtr.PracticalTRM().solve(problem, start=start)
    assert result.point.dtype == np.float32
    assert result.converged
    assert result.cost == pytest.approx(1.0, abs=1e-5)


def brockett(lib, rng):
    matrix = rng.standard_normal((8, 8))
    matrix = matrix + matrix.T
    data, weights = lib.data(matrix), lib.data(np.array([3.0, 2.0, 1.0]))
    truth = float(np.linalg.eigvalsh(matrix)[:3] @ [3.0, 2.0, 1.0])
    return Stiefel(8, 3), lambda x: lib.math.sum((data @ x) * x * weights), truth


def gaussian(lib, rng):
    scatter = rng.standard_normal((20, 4))
    scatter = scatter.T @ scatter / 20
    data, eye = lib.data(scatter), lib.data(np.eye(4))
    inverse, log = lib.math.linalg.inv, lambda x: lib.math.linalg.slogdet(x)[1]
    truth = float(np.linalg.slogdet(scatter)[1]) + 4.0
    return (
        SymmetricPositiveDefinite(4),
        lambda x: log(x) + lib.math.trace(inverse(x) @ data @ eye),
        truth,
    )


def singular_pair(lib, rng):
    matrix = rng.standard_normal((5, 4))
    data = lib.data(matrix)
    truth = -float(np.linalg.norm(matrix, 2))
    return Product([riemtr.Sphere(5), riemtr.Sphere(4)]), lambda x, y: -(x @ data @ y), truth


def complex_subspace(lib, rng):
    matrix = rng.standard_normal((5, 5)) + 1j * rng.standard_normal((5, 5))
    matrix = matrix + matrix.conj().T
    data = lib.data(matrix)
    truth = float(np.linalg.eigvalsh(matrix)[:2].sum())
    math = lib.math
    return (
        ComplexGrassmann(5, 2),
        lambda z: math.real(math.sum(math.conj(z) * (data @ z))),
        truth,
    )


@pytest.mark.parametrize("build", [brockett, gaussian, singular_pair, complex_subspace])
def test_every_backend_finds_the_optimum_with_autograds_counters(further, build):
    solver = riemtr.PracticalTRM(tolerance=1e-8)
    counts = []
    for lib in (library("autograd"), further):
        manifold, cost, truth = build(lib, np.random.default_rng(5))
        problem = riemtr.Problem(manifold, cost, autodiff=lib.name)
        result = solver.solve(problem, rng=0)
        assert result.certificate.verdict == "minimizer"
        assert result.cost == pytest.approx(truth, rel=1e-12)
        assert result.counts.costs <= result.iterations + 1
        assert result.counts.gradients <= result.counts.costs
        assert problem.derivatives.hessian == "euclidean"
        counts.append(result.counts)
    assert counts[0] == counts[1]


@pytest.mark.parametrize("check", [riemtr.check_gradient, riemtr.check_hessian])
def test_checks(lib, check):
    manifold, cost, _ = brockett(lib, np.random.default_rng(0))
    assert check(riemtr.Problem(manifold, cost, autodiff=lib.name), rng=0).ok


def test_a_given_gradient_with_a_hessian_of_the_backend(lib):
    matrix = np.diag([1.0, 2.0, 3.0])
    data = lib.data(matrix)
    problem = riemtr.Problem(
        riemtr.Sphere(3),
        lambda x: x @ data @ x,
        euclidean_gradient=lambda x: 2.0 * matrix @ x,
        autodiff=lib.name,
    )
    here = problem.at(riemtr.Sphere(3).random_point(0))
    v = here.tangent(np.ones(3))
    assert here.cost == pytest.approx(here.point @ matrix @ here.point)
    exact = here.tangent(2.0 * matrix @ v - 2.0 * here.cost * v)
    np.testing.assert_allclose(here.hessian(v), exact, atol=1e-12)
    assert problem.derivatives.hessian == "euclidean"


def test_problems_can_be_pickled_and_go_on(lib):
    problem = riemtr.Problem(riemtr.Sphere(3), _first_entry, autodiff=lib.name)
    first = riemtr.PracticalTRM().solve(problem, rng=0)
    again = riemtr.PracticalTRM().solve(pickle.loads(pickle.dumps(problem)), rng=0)
    assert first.cost == again.cost == pytest.approx(-1.0)


def _first_entry(x):
    return x[0]


def test_one_forward_pass_per_point_in_torch():
    lib = library("torch")
    calls = []

    def cost(x):
        calls.append(1)
        return lib.math.sum(lib.math.sin(x) * x**2)

    here = backend("torch")(cost, 1).at(np.arange(1.0, 5.0))
    _ = here.value, here.value, here.gradient
    products = np.array([here.hessian(unit) for unit in np.eye(4)])
    assert len(calls) == 1
    x = np.arange(1.0, 5.0)
    exact = 2 * np.sin(x) + 4 * x * np.cos(x) - x**2 * np.sin(x)
    np.testing.assert_allclose(products, np.diag(exact), atol=1e-12)


def test_torch_says_what_it_cannot_see():
    lib = library("torch")
    sphere = riemtr.Sphere(3)
    for cost in (lambda x: float(lib.math.sum(x).item()), lambda x: lib.math.sum(x.detach())):
        problem = riemtr.Problem(sphere, cost, autodiff="torch")
        with pytest.raises(NotDifferentiableError, match=r"without detach\(\), item\(\)"):
            riemtr.PracticalTRM().solve(problem, rng=0)


def test_a_cost_that_torch_differentiates_only_once_gets_differences():
    torch = library("torch").math

    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(context, x):
            context.save_for_backward(x)
            return x**3

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(context, along):
            (x,) = context.saved_tensors
            return 3 * x**2 * along

    problem = riemtr.Problem(riemtr.Sphere(3), lambda x: torch.sum(Cube.apply(x)), autodiff="torch")
    result = riemtr.PracticalTRM().solve(problem, rng=0)
    assert problem.derivatives.hessian == "differences"
    assert result.cost == pytest.approx(-1.0)


def test_jax_compiles_where_it_can_and_goes_on_where_it_cannot():
    math = library("jax").math
    calls = []

    def compiled(x):
        calls.append(1)
        return x[0] + math.sum(x**4)

    def decides(x):
        return x[0] if x[0] < 0.0 else 2.0 * x[0]

    solver = riemtr.PracticalTRM()
    result = solver.solve(riemtr.Problem(riemtr.Sphere(3), compiled, autodiff="jax"), rng=0)
    assert result.converged
    assert len(calls) <= 4 < result.counts.costs + result.counts.hessian_products
    problem = riemtr.Problem(riemtr.Sphere(3), decides, autodiff="jax")
    assert solver.solve(problem, rng=0).cost == pytest.approx(-1.0)
    assert solver.solve(problem, rng=1).cost == pytest.approx(-1.0)


def test_jax_says_what_it_cannot_trace():
    library("jax")

    def numpys(x):
        return float(np.sum(np.asarray(x) ** 2))

    problem = riemtr.Problem(riemtr.Sphere(3), numpys, autodiff="jax")
    with pytest.raises(NotDifferentiableError, match=r"write it with jax\.numpy"):
        riemtr.PracticalTRM().solve(problem, rng=0)

    def broken(x):
        return missing + x[0]  # noqa: F821

    problem = riemtr.Problem(riemtr.Sphere(3), broken, autodiff="jax")
    with pytest.raises(NameError, match="missing"):
        riemtr.PracticalTRM().solve(problem, rng=0)


def test_jax_without_double_precision_is_refused():
    library("jax")
    import jax

    jax.config.update("jax_enable_x64", False)
    try:
        problem = riemtr.Problem(riemtr.Sphere(3), lambda x: x[0], autodiff="jax")
        with pytest.raises(RuntimeError, match="jax_enable_x64"):
            riemtr.PracticalTRM().solve(problem, rng=0)
    finally:
        jax.config.update("jax_enable_x64", True)


@pytest.mark.parametrize("name", ["jax", "torch"])
def test_a_problem_of_pymanopt_keeps_its_backend(name):
    lib = library(name)
    manifold, cost, truth = brockett(lib, np.random.default_rng(5))
    decorate = {"jax": "jax", "torch": "pytorch"}[name]
    decorated = getattr(pymanopt.function, decorate)(manifold)(cost)
    problem = as_problem(pymanopt.Problem(manifold, decorated))
    assert type(problem.cost) is backend(name)
    result = riemtr.PracticalTRM(tolerance=1e-8).solve(problem, rng=0)
    assert result.certificate.verdict == "minimizer"
    assert result.cost == pytest.approx(truth, rel=1e-12)


def test_autograd_names_the_backend_that_a_cost_is_written_for(further):
    problem = riemtr.Problem(riemtr.Sphere(3), lambda x: further.math.sum(x**4))
    with pytest.raises(NotDifferentiableError, match=rf'pass autodiff=.*"{further.name}"'):
        riemtr.PracticalTRM().solve(problem, rng=0)


def test_the_name_of_a_backend_is_checked():
    with pytest.raises(ValueError, match=r"autodiff must be one of 'autograd', 'jax', 'torch'"):
        riemtr.Problem(riemtr.Sphere(3), lambda x: x[0], autodiff="tensorflow")
    with pytest.raises(ValueError, match=r"got 3; or pass a function, autodiff\(cost, layout\)"):
        riemtr.Problem(riemtr.Sphere(3), lambda x: x[0], autodiff=3)


@pytest.mark.parametrize("name", ["jax", "torch"])
def test_a_missing_package_names_its_extra(monkeypatch, name):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtraError, match=rf"riemtr\[{name}\]"):
        riemtr.Problem(riemtr.Sphere(3), lambda x: x[0], autodiff=name)
