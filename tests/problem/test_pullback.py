"""Bounds of derivatives and of roundings: none is below what is found to be true."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

import riemtr
from benchmarks.distance_bound import FORMULAS, SIZES, exact
from riemtr.manifolds.arrays import flatten, unflatten
from riemtr.problem.pullback import gamma, pullback

MANIFOLDS = [
    riemtr.Sphere(4),
    riemtr.Oblique(3, 4),
    riemtr.Stiefel(5, 2),
    riemtr.Stiefel(4, 4),
    riemtr.Stiefel(4, 2, k=3),
    riemtr.Grassmann(5, 2),
    riemtr.Rotations(3, k=2),
    riemtr.Rotations(5),
]


def small_case(name):
    return riemtr.problems.build(name, rng=3, **SIZES[name])


@pytest.mark.parametrize("manifold", MANIFOLDS, ids=repr)
def test_geodesics_are_those_that_the_bounds_were_derived_for(manifold):
    point = manifold.random_point(0)
    vector = manifold.random_tangent_vector(point, 1)
    step = 1e-3
    behind, here, ahead = (
        manifold.frames(manifold.exp(point, t * vector))[0] for t in (-step, 0.0, step)
    )
    speed, bend = (ahead - behind) / (2.0 * step), (ahead - 2.0 * here + behind) / step**2
    expected = -here @ (speed.swapaxes(1, 2) @ speed)
    assert np.abs(bend - expected).max() < 1e-5


@pytest.mark.parametrize("manifold", MANIFOLDS, ids=repr)
@pytest.mark.parametrize("radius", [0.0, 0.1, 0.25])
def test_derivatives_of_the_exponential_map_are_within_their_bounds(manifold, radius):
    rng = np.random.default_rng(0)
    point = manifold.random_point(rng)
    space = manifold.space(point)
    z1 = math.exp(2.0 * radius + 2.0 * radius**2)
    z = 1.0 + radius * z1
    bounds = (z1, z * z1**2, z1**3 * (1.0 + 2.0 * z**2))
    step = 0.02
    # Central differences of fourth order for the first three derivatives.
    stencils = (
        np.array([0, 1, -8, 0, 8, -1, 0]) / 12,
        np.array([0, -1, 16, -30, 16, -1, 0]) / 12,
        np.array([1, -8, 13, 0, -13, 8, -1]) / 8,
    )
    for _ in range(20):
        middle, unit = radius * space.random(rng), space.random(rng)
        ends = np.array(
            [space.move_along_geodesic(middle + t * step * unit).ravel() for t in range(-3, 4)]
        )
        for order, (stencil, bound) in enumerate(zip(stencils, bounds, strict=True), start=1):
            size = np.linalg.norm(stencil @ ends) / step**order
            assert size <= bound * (1.0 + 1e-4)


@pytest.mark.parametrize("name", SIZES)
def test_hessians_change_no_faster_than_their_lipschitz_constant(name):
    case = small_case(name)
    rng = np.random.default_rng(1)
    for point in (case.start, riemtr.PracticalTRM().solve(case.problem, case.start, rng=0).point):
        here = case.problem.at(point)
        known = pullback(here)
        for radius in (1e-3, 0.05):
            constant = known.lipschitz(radius)
            for _ in range(5):
                middle, unit = here.space.random(rng), here.space.random(rng)
                middle, step = 0.5 * radius * middle, 0.1 * radius
                costs = [
                    case.problem.at(here.space.move_along_geodesic(middle + t * step * unit)).cost
                    for t in (-2, -1, 1, 2)
                ]
                third = (costs[3] - 2.0 * costs[2] + 2.0 * costs[1] - costs[0]) / (2.0 * step**3)
                noise = 1e-14 * (1.0 + abs(costs[0])) / step**3
                assert abs(third) <= constant + noise


@pytest.mark.parametrize("name", SIZES)
def test_gradients_are_within_their_rounding_error(name):
    mpmath.mp.dps = 50
    case = small_case(name)
    formula = FORMULAS[name](case)
    for point in (case.start, riemtr.PracticalTRM().solve(case.problem, case.start, rng=0).point):
        here = case.problem.at(point)
        arrays = [exact(array) for array in flatten(point, case.problem.layout)]
        true = flatten(formula(unflatten(arrays, case.problem.layout))[1], case.problem.layout)
        found = flatten(here.euclidean_gradient, case.problem.layout)
        gaps = [exact(a) - b for a, b in zip(found, true, strict=True)]
        gap = float(mpmath.sqrt(sum(np.sum(each**2) for each in gaps)))
        error = here.derivative_bounds(0.0).gradient_error
        assert gap <= error
        assert error <= 1e-10 * max(here.conversion_size, 1.0)  # of some use


@pytest.mark.parametrize("name", SIZES)
def test_second_derivatives_are_within_their_bound(name):
    case = small_case(name)
    here = case.problem.at(case.start)
    bounds = here.derivative_bounds(0.0)
    rng = np.random.default_rng(2)
    for _ in range(10):
        unit = here.space.embed(here.space.random(rng))
        image = flatten(here._local.hessian(unit), case.problem.layout)
        size = math.hypot(*(float(np.linalg.norm(each)) for each in image))
        assert size <= bounds.hessian + bounds.hessian_error


def test_other_geometries_have_no_frames():
    assert riemtr.PositiveDefinite(3).frames(np.eye(3)) is None
    product = riemtr.Product([riemtr.Sphere(3), riemtr.PositiveDefinite(2)])
    assert product.frames([np.ones(3), np.eye(2)]) is None
    flat = riemtr.Product([riemtr.Sphere(3), riemtr.Euclidean(2)])
    assert len(flat.frames([np.ones(3), np.ones(2)])) == 1


def test_gamma_is_infinite_where_roundings_leave_nothing():
    assert gamma(1e17) == math.inf
    assert gamma(10) == pytest.approx(10 * 2.0**-53)
