"""The functions of a ``pymanopt.Problem``: the same derivatives, and no more calls than needed."""

from __future__ import annotations

import autograd.numpy as anp
import numpy as np
import pymanopt
import pymanopt.manifolds as pm
import pytest

import riemtr
from riemtr import PracticalTRM, Sphere
from riemtr.manifolds import adapt
from riemtr.problem import as_problem
from tests.problem.test_problem import (
    GRADIENTS,
    HESSIANS,
    N,
    cost,
    riemannian_gradient,
    riemannian_hessian,
    untraceable,
)


class Tally:
    def __init__(self, function):
        self.function = function
        self.calls = 0

    def __call__(self, *arrays):
        self.calls += 1
        return self.function(*arrays)


def pymanopt_problem(backend, given, manifold=None):
    manifold = Sphere(N) if manifold is None else manifold
    decorate = getattr(pymanopt.function, backend)(manifold)
    tallies = {name: Tally(function) for name, function in given.items()}
    plain = Tally(cost if backend == "autograd" else untraceable)
    wrapped = {
        name: decorate(
            (lambda x, v, t=tally: t(x, v)) if "hessian" in name else (lambda x, t=tally: t(x))
        )
        for name, tally in tallies.items()
    }
    problem = pymanopt.Problem(manifold, decorate(lambda x: plain(x)), **wrapped)
    return problem, tallies | {"cost": plain}


PYMANOPT_WAYS = [
    ("autograd", {}),
    ("autograd", GRADIENTS["euclidean"]),
    ("autograd", GRADIENTS["euclidean"] | HESSIANS["euclidean"]),
    ("autograd", GRADIENTS["riemannian"]),
    ("autograd", GRADIENTS["riemannian"] | HESSIANS["riemannian"]),
    ("autograd", HESSIANS["euclidean"]),
    ("numpy", GRADIENTS["euclidean"]),
    ("numpy", GRADIENTS["riemannian"]),
    ("numpy", GRADIENTS["euclidean"] | HESSIANS["euclidean"]),
    ("numpy", GRADIENTS["euclidean"] | HESSIANS["riemannian"]),
    ("numpy", GRADIENTS["riemannian"] | HESSIANS["riemannian"]),
]


@pytest.mark.parametrize(("backend", "given"), PYMANOPT_WAYS)
@pytest.mark.parametrize("manifold", [Sphere(N), pm.Sphere(N)], ids=["riemtr", "pymanopt"])
def test_pymanopts_problems_have_the_same_derivatives(backend, given, manifold):
    problem, _ = pymanopt_problem(backend, given, manifold)
    here = as_problem(problem).at(adapt(manifold).random_point(0))
    x, v = here.point, here.space.random(np.random.default_rng(1))
    assert here.cost == pytest.approx(untraceable(x))
    np.testing.assert_allclose(here.gradient, riemannian_gradient(x), atol=1e-12)
    np.testing.assert_allclose(here.hessian(v), riemannian_hessian(x, v), atol=1e-6)
    result = PracticalTRM().solve(problem, x)
    assert result.certificate.verdict == "minimizer"


@pytest.mark.parametrize(
    ("backend", "given"),
    [way for way in PYMANOPT_WAYS if "euclidean_gradient" in way[1] and len(way[1]) == 2],
)
def test_pymanopts_gradient_is_not_called_again_in_each_product(backend, given):
    problem, tallies = pymanopt_problem(backend, given)
    x = Sphere(N).random_point(0)
    here = as_problem(problem).at(x)
    for seed in range(5):
        here.hessian(Sphere(N).random_tangent_vector(x, seed))
    hessian = next(name for name in given if "hessian" in name)
    assert tallies[hessian].calls == 5
    assert tallies["euclidean_gradient"].calls <= 1
    assert here.counts.hessian_products == 5


def test_pymanopts_autograd_cost_is_traced_once_for_all_products():
    problem, tallies = pymanopt_problem("autograd", {})
    x = Sphere(N).random_point(0)
    here = as_problem(problem).at(x)
    here.hessian(Sphere(N).random_tangent_vector(x, 0))
    calls = tallies["cost"].calls
    for seed in range(1, 6):
        here.hessian(Sphere(N).random_tangent_vector(x, seed))
    assert tallies["cost"].calls == calls


def test_pymanopts_problem_converts_the_same_after_pymanopt_has_used_it():
    # pymanopt keeps the derivatives it generates where those of the user would be.
    problem, _ = pymanopt_problem("autograd", {})
    pymanopt.optimizers.TrustRegions(verbosity=0, max_iterations=2).run(problem)
    assert type(as_problem(problem).cost).__name__ == "AutogradCost"


def test_pymanopts_preconditioner_is_kept_and_its_default_dropped():
    sphere = Sphere(N)
    decorated = pymanopt.function.autograd(sphere)(cost)
    assert as_problem(pymanopt.Problem(sphere, decorated)).preconditioner is None

    def halve(point, vector):
        return vector / 2

    problem = as_problem(pymanopt.Problem(sphere, decorated, preconditioner=halve))
    assert problem.preconditioner is halve


def test_pymanopts_product_problem():
    manifold = pm.Product([pm.Sphere(4), pm.Stiefel(3, 2)])

    @pymanopt.function.autograd(manifold)
    def coupled(u, x):
        return u[:3] @ x @ anp.array([1.0, 2.0]) + anp.sum(u**3)

    problem = pymanopt.Problem(manifold, coupled)
    assert riemtr.check_hessian(problem, rng=0).ok
    assert PracticalTRM().solve(problem, rng=0).certificate.verdict == "minimizer"


def test_pymanopt_backend_on_a_manifold_without_hessians():
    manifold = pm.FixedRankEmbedded(4, 3, 1)
    target = np.random.default_rng(0).standard_normal((4, 3))

    @pymanopt.function.autograd(manifold)
    def distance(u, s, vt):
        return 0.5 * anp.sum((anp.dot(u * s, vt) - target) ** 2)

    values = np.linalg.svd(target, compute_uv=False)
    result = PracticalTRM().solve(pymanopt.Problem(manifold, distance), rng=0)
    assert result.cost == pytest.approx(0.5 * np.sum(values[1:] ** 2), rel=1e-9)
