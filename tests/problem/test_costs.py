"""Plain callables with derivatives of their own, whatever arrays these return."""

from __future__ import annotations

import numpy as np
import pymanopt.manifolds as pm
import pytest

import riemtr
from riemtr import Problem, Sphere
from riemtr.problem import Threshold


@pytest.fixture
def jax():
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    return jax


MANIFOLDS = [
    Sphere(5),
    riemtr.Stiefel(5, 2),
    riemtr.Oblique(3, 2),
    riemtr.Rotations(3),
    riemtr.PositiveDefinite(3),
    riemtr.Euclidean(2, 2),
    pm.ComplexCircle(3),
]


def quartic(jnp):
    return lambda x: jnp.sum(jnp.abs(x - 0.3) ** 4) + jnp.sum(jnp.abs(x) ** 2)


@pytest.mark.parametrize("manifold", MANIFOLDS, ids=lambda m: f"{type(m).__module__}-{m}")
def test_derivatives_may_be_arrays_of_jax(jax, manifold):
    cost = quartic(jax.numpy)
    is_complex = np.iscomplexobj(riemtr.manifolds.adapt(manifold).random_point(0))

    @jax.jit
    def gradient(x):  # JAX's derivative by a complex number is the conjugate
        return jax.numpy.conj(jax.grad(cost)(x))

    @jax.jit
    def hessian(x, v):
        return jax.jvp(gradient, (x,), (v,))[1]

    plain = Problem(manifold, cost, autodiff="jax")
    options = {"euclidean_gradient": gradient}
    for further in ({}, {"euclidean_hessian": hessian}):
        # The cost returns one of JAX's arrays in the first, a number in the second.
        given = Problem(
            manifold, (lambda x: float(cost(x))) if further else cost, **options, **further
        )
        point = plain.random_point(0)
        here, there = plain.at(point), given.at(point)
        vector = here.space.random(np.random.default_rng(1))
        assert there.cost == pytest.approx(here.cost)
        assert isinstance(there.cost, float)
        for mine, expected in (
            (there.gradient, here.gradient),
            (there.hessian(vector), here.hessian(vector)),
        ):
            assert type(mine) is np.ndarray
            assert mine.dtype == (complex if is_complex else float)
            np.testing.assert_allclose(mine, expected, atol=1e-6)
        result = riemtr.PracticalTRM().solve(given, point)
        assert result.certified
        assert type(result.point) is np.ndarray
        assert result.cost == pytest.approx(riemtr.PracticalTRM().solve(plain, point).cost)


def test_riemannian_derivatives_may_be_arrays_of_jax(jax):
    jnp, matrix = jax.numpy, np.diag([1.0, 2.0, 3.0, 4.0])

    def gradient(x):
        return 2.0 * (matrix @ x - (x @ matrix @ x) * x)

    def hessian(x, v):
        image = 2.0 * jnp.asarray(matrix @ v - (x @ matrix @ x) * v)
        return image - (x @ image) * x

    problem = Problem(
        Sphere(4),
        lambda x: jnp.asarray(x @ matrix @ x),
        riemannian_gradient=lambda x: jnp.asarray(gradient(x)),
        riemannian_hessian=hessian,
        preconditioner=lambda x, v: jnp.asarray(v),
    )
    assert riemtr.check_hessian(problem, rng=0).ok
    assert riemtr.PracticalTRM().solve(problem, rng=0).cost == pytest.approx(1.0)


def test_derivatives_on_products_may_be_arrays_of_jax(jax):
    matrix = np.random.default_rng(0).standard_normal((4, 3))

    def cost(u, v):
        return -(u @ matrix @ v)

    def hessian(u, v, du, dv):
        return jax.jvp(jax.grad(cost, argnums=(0, 1)), (u, v), (du, dv))[1]

    for manifold in (pm.Product([Sphere(4), Sphere(3)]), riemtr.Product([Sphere(4), Sphere(3)])):
        problem = Problem(
            manifold,
            cost,
            euclidean_gradient=jax.grad(cost, argnums=(0, 1)),
            euclidean_hessian=hessian,
        )
        assert riemtr.check_hessian(problem, rng=0).ok
        result = riemtr.PracticalTRM().solve(problem, rng=0)
        assert result.cost == pytest.approx(-np.linalg.svd(matrix, compute_uv=False)[0])


def test_derivatives_in_single_precision_serve_points_in_double(jax):
    cost = quartic(jax.numpy)
    problem = Problem(
        Sphere(5),
        lambda x: float(cost(x)),
        euclidean_gradient=lambda x: jax.grad(cost)(x.astype(np.float32)),
    )
    here = problem.at(Sphere(5).random_point(0))
    assert here.gradient.dtype == np.float64


def test_derivatives_may_be_tensors_of_torch():
    torch = pytest.importorskip("torch")
    cost = quartic(torch)

    def gradient(x):
        x = torch.tensor(x, requires_grad=True)
        return torch.autograd.grad(cost(x), x, create_graph=True)[0]  # which requires a gradient

    def hessian(x, v):
        return torch.autograd.functional.hvp(cost, torch.tensor(x), torch.tensor(v))[1]

    for manifold in (Sphere(5), riemtr.Stiefel(5, 2)):
        problem = Problem(
            manifold,
            lambda x: cost(torch.tensor(x)),
            euclidean_gradient=gradient,
            euclidean_hessian=hessian,
            autodiff="torch",
        )
        assert riemtr.check_hessian(problem, rng=0).ok
        assert riemtr.PracticalTRM().solve(problem, rng=0).certified


def test_lists_serve_as_derivatives():
    problem = Problem(
        Sphere(3),
        lambda x: x[0] + 2.0 * x[1] ** 2,
        euclidean_gradient=lambda x: [1, 4.0 * x[1], 0],
        euclidean_hessian=lambda x, v: [0, 4.0 * v[1], 0],
    )
    assert riemtr.check_hessian(problem, rng=0).ok
    assert problem.at(np.eye(3)[0]).curvature.side(Threshold(1e-6)) == -1


def test_functions_cannot_change_the_point():
    def careless(x):
        x *= 2.0
        return 0.5 * x

    problem = Problem(
        Sphere(3),
        lambda x: 0.5 * float(careless(x)[0]) ** 2,
        euclidean_gradient=lambda x: careless(x),
    )
    point = Sphere(3).random_point(0)
    kept = point.copy()
    here = problem.at(point)
    _ = here.cost, here.gradient, here.hessian(here.space.random(np.random.default_rng(0)))
    np.testing.assert_array_equal(point, kept)
