"""The zoo's derivatives are right, and both libraries get the same problem."""

import numpy as np
import pytest

import riemtr

zoo_problems = pytest.importorskip("benchmarks.zoo_problems")
ZOO = zoo_problems.ZOO


@pytest.mark.parametrize("name", ZOO)
def test_derivatives(name):
    ours, _, start = ZOO[name].pair("quick")
    assert riemtr.check_gradient(ours, start, rng=0).ok
    assert riemtr.check_hessian(ours, start, rng=0).ok


@pytest.mark.parametrize("name", ZOO)
def test_both_libraries_get_the_same_problem(name):
    ours, theirs, start = ZOO[name].pair("quick")
    assert ours.manifold.dim == theirs.manifold.dim
    here = ours.at(start)
    assert here.cost == pytest.approx(float(theirs.cost(start)), rel=1e-12)
    gradient = theirs.riemannian_gradient(start)
    assert here.gradient_norm == pytest.approx(theirs.manifold.norm(start, gradient), rel=1e-9)


def test_every_size_is_given():
    for name, entry in ZOO.items():
        assert entry.standard.keys() == entry.large.keys() == entry.quick.keys(), name


def test_completion_hessian_along_the_metric_projection():
    """A second-order retraction shows the Hessian of a fixed-rank matrix: third-order error."""
    _, theirs, start = ZOO["completion"].pair("quick")
    manifold = theirs.manifold
    rng = np.random.default_rng(0)
    # pymanopt draws from numpy's global generator: this vector is projected from our own draws.
    vector = manifold.projection(start, rng.standard_normal((20, 25)))
    vector = vector / manifold.norm(start, vector)
    slope = manifold.inner_product(start, theirs.riemannian_gradient(start), vector)
    bend = manifold.inner_product(start, vector, theirs.riemannian_hessian(start, vector))
    cost, errors = theirs.cost(start), []
    for step in (1e-1, 1e-2):
        model = cost + step * slope + 0.5 * step**2 * bend
        errors.append(abs(theirs.cost(manifold.retraction(start, step * vector)) - model))
    assert errors[1] < 2e-3 * errors[0]
