"""The distance lemma: never below the true distance, and silent where its hypothesis fails."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import riemtr
from riemtr.errors import ArgumentError
from riemtr.paper.chart import frame_of, moved
from riemtr.paper.checks import minimizer_near
from riemtr.paper.lemmas import hessian_lipschitz
from riemtr.theory import distance_lemma


def test_a_thousand_points_around_minimizers(make, kind):
    case = make(kind, p=1000, mu=0.05)
    frame, rng = frame_of(case), np.random.default_rng(0)
    minimizers = [minimizer_near(frame, frame.chart(number).atom) for number in range(10)]
    held = []
    for number in range(1000):
        target = minimizers[number % 10]
        step = rng.standard_normal(5)
        step -= (step @ target) * target
        length = 10.0 ** rng.uniform(-10.0, -1.0)
        q = moved(target, length * step / np.linalg.norm(step))
        found = distance_lemma(case.problem, q)
        nearest = min(np.linalg.norm(q - each) for each in minimizers)
        assert nearest <= found.distance + 1e-15
        if found.holds:
            assert found.distance <= 3.0 * nearest + 1e-13, "and not by much, near a minimizer"
            assert found.distance == pytest.approx(found.gradient_norm / found.m_H)
        held.append((length, found.holds))
    assert all(holds for length, holds in held if length < 1e-5)
    assert not any(holds for length, holds in held if length > 0.05)


def test_it_is_sharp_for_a_quadratic_form():
    # f = x'Ax / 2 on the sphere: the Hessian changes along geodesics by at most twice the spread
    # of the eigenvalues, and the minimizer is the first eigenvector.
    values = np.array([0.0, 1.0, 2.0])
    problem = riemtr.Problem(
        riemtr.Sphere(3),
        lambda x: 0.5 * float(x @ (values * x)),
        euclidean_gradient=lambda x: values * x,
        euclidean_hessian=lambda x, v: values * v,
    )
    for angle in (1e-6, 1e-3, 0.05):
        q = np.array([math.cos(angle), math.sin(angle), 0.0])
        found = distance_lemma(problem, q, L_H=8.0)
        assert found.holds
        assert 2.0 * math.sin(angle / 2.0) <= found.distance <= 1.5 * angle
    assert not distance_lemma(problem, np.array([0.0, 1.0, 0.0]), L_H=8.0).holds, "a saddle point"


def test_lipschitz_constant_is_between_what_is_seen_and_the_printed_one(make, kind):
    case = make(kind, p=1000)
    checks = riemtr.theory.check(case, points=50)
    found = hessian_lipschitz(case.problem.cost)
    assert checks["lem:rie_hess_lip"][0].worst <= found <= checks.constants.L_H


@pytest.mark.parametrize("L_H", [0.1, 8.0])
def test_the_gradient_that_it_asks_for_is_what_it_takes(L_H):
    # With a small L_H it is the range of lem:rie_hess_lip that limits it, not the curvature.
    found = distance_lemma(riemtr.Problem(riemtr.Sphere(3), lambda x: -x[0]), np.eye(3)[0], L_H)
    limit = found.allowed
    below, above = (replace(found, gradient_norm=limit * s) for s in (1 - 1e-9, 1 + 1e-9))
    assert below.holds
    assert below.distance <= min(0.5, found.curvature / L_H) + 1e-4
    assert not above.holds
    assert f"must be below {limit:.3g}" in repr(above)


def test_where_it_says_nothing(make):
    case = make("identity", p=500)
    found = distance_lemma(case.problem, case.start)
    assert not found.holds
    assert found.distance == math.inf
    assert "nothing is known" in repr(found)
    with pytest.raises(ArgumentError, match="be on a sphere"):
        distance_lemma(riemtr.Problem(riemtr.Stiefel(3, 2), lambda x: 0.0), np.eye(3, 2))
    rayleigh = riemtr.problems.build("rayleigh", rng=0, n=4)
    with pytest.raises(ArgumentError, match="L_H must be given"):
        distance_lemma(rayleigh.problem, rayleigh.start)
