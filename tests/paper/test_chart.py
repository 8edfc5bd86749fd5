"""The chart against differences, its sections against symmetries, changes of the cost."""

from __future__ import annotations

import math

import numpy as np
import pytest

import riemtr
from riemtr.errors import ArgumentError
from riemtr.paper.chart import (
    OUTER_RADIUS,
    Frame,
    cost_change,
    displacement,
    frame_of,
    in_region,
    inner_radius,
    local,
    moved,
    region_of,
    rotation,
)


def value(frame, chart, w):
    return frame.cost.at(chart.q(w)).value


def test_derivatives_in_the_chart_agree_with_differences(make, kind):
    frame, rng = frame_of(make(kind, mu=0.3)), np.random.default_rng(0)
    for region in (1, 2):
        here = local(frame, in_region(frame, region, rng))
        d = rng.standard_normal(frame.n - 1)
        t = 1e-4
        ends = [value(frame, here.chart, here.w + s * t * d) for s in (1.0, 0.0, -1.0)]
        slope = (ends[0] - ends[2]) / (2.0 * t)
        bend = (ends[0] - 2.0 * ends[1] + ends[2]) / t**2
        assert here.chart.gradient(here.w, here.nabla) @ d == pytest.approx(slope, abs=1e-6)
        assert d @ here.chart_hessian @ d == pytest.approx(bend, rel=1e-4, abs=1e-5)


def test_radial_gradient_is_an_inner_product_on_the_sphere(make, kind):
    # The identity after thm:geometry_comp: <grad f, q - a / q_n> = <w, grad g>.
    frame, rng = frame_of(make(kind)), np.random.default_rng(1)
    for number in range(1000):
        here = local(frame, in_region(frame, number % 3, rng))
        along = here.q - here.chart.atom / float(here.q @ here.chart.atom)
        assert here.gradient @ along == pytest.approx(here.radial_gradient * here.length, abs=1e-13)


def test_points_and_coordinates_are_inverse_and_every_section_is_drawn(make, kind):
    frame, rng = frame_of(make(kind, p=200)), np.random.default_rng(2)
    seen = set()
    for number in range(3000):
        q = in_region(frame, number % 3, rng)
        chart = frame.nearest(q)
        assert region_of(np.linalg.norm(chart.w(q)), frame.cost.mu) == number % 3
        np.testing.assert_allclose(chart.q(chart.w(q)), q, atol=1e-14)
        assert chart.atom @ q == pytest.approx(np.abs(frame.atoms.T @ q).max())
        seen.add(chart.name)
    assert seen == {f"{sign}{atom}" for sign in "+-" for atom in range(1, 6)}


def test_regions_of_lengths():
    mu = 0.01
    edges = [0.0, inner_radius(mu), inner_radius(mu) * 1.001, OUTER_RADIUS, 0.5]
    assert region_of(np.array(edges), mu).tolist() == [0, 0, 1, 1, 2]
    assert region_of(np.array([0.01, 0.02, 0.05]), mu=0.5).tolist() == [0, 0, 2], "II is empty"


def test_sections_follow_rotations_and_signed_permutations(make):
    plain = make("identity", p=300)
    frame, rng = frame_of(plain), np.random.default_rng(3)
    turn = np.linalg.qr(rng.standard_normal((5, 5)))[0]
    swap = np.eye(5)[rng.permutation(5)] * rng.choice([-1.0, 1.0], 5)
    for matrix in (turn, swap):
        data = matrix @ frame.cost.data
        problem = riemtr.dictionary_problem(data, frame.cost.mu)
        case = riemtr.problems.Case(problem, plain.start, plain.truth)
        turned = frame_of(case)
        np.testing.assert_allclose(turned.atoms, matrix, atol=1e-12)
        for number in range(30):
            q = in_region(frame, number % 3, rng)
            ours, theirs = local(frame, q), local(turned, matrix @ q)
            assert ours.chart.name == theirs.chart.name
            assert ours.length == pytest.approx(theirs.length, abs=1e-12)
            assert ours.radial_curvature == pytest.approx(theirs.radial_curvature, abs=1e-9)


def test_frames_of_dictionaries(make):
    assert np.allclose(frame_of(make("identity", p=300)).atoms, np.eye(5))
    case = make("orthogonal", p=300)
    frame = frame_of(case)
    assert np.allclose(frame.atoms, case.truth.details["dictionary"])
    assert frame.perturbation < 1e-12
    assert frame.largest_entry == pytest.approx(np.abs(case.truth.details["coefficients"]).max())
    white = frame_of(make("preconditioned", p=20_000))
    left, _, right = np.linalg.svd(make("preconditioned", p=20_000).truth.details["dictionary"])
    assert np.linalg.norm(white.atoms - left @ right, 2) < 0.05  # lem:pert_key_mag
    assert 1e-3 < white.perturbation < 0.1


def test_cases_that_have_no_frame(make):
    case = make("identity", p=300)
    for wrong in (
        riemtr.problems.build("rayleigh", rng=0, n=4),
        riemtr.problems.Case(case.problem, case.start),
        case.problem,
    ):
        with pytest.raises(ArgumentError, match="case of dictionary learning"):
            frame_of(wrong)


def test_changes_of_the_cost_keep_all_digits(make):
    # A single sample y and q of dimension 2: the change is that of h at two numbers.
    mu, sample = 0.02, np.array([[0.3], [0.7]])
    frame = Frame(
        np.eye(2), riemtr.problems.dictionary_learning.DictionaryCost(sample, mu), sample, 0
    )
    q = np.array([0.6, 0.8])
    for size in (1e-20, 1e-12, 1e-6, 1e-2, 1.0):
        change = size * np.array([0.5, -0.25])
        z, d = float(q @ sample[:, 0]) / mu, float(change @ sample[:, 0]) / mu
        found = cost_change(frame.cost, q, change)
        if size < 1e-5:  # the slope decides, and the bend of the cost corrects it
            exact = mu * (math.tanh(z) * d + 0.5 * d * d / math.cosh(z) ** 2)
            assert found == pytest.approx(exact, rel=1e-9)
        else:
            exact = mu * (np.logaddexp(z + d, -z - d) - np.logaddexp(z, -z))
            assert found == pytest.approx(exact, rel=1e-9)
    assert cost_change(frame.cost, q, np.array([-2.0, -2.0])) == pytest.approx(
        frame.cost.at(q - 2.0).value - frame.cost.at(q).value
    )


def test_steps_and_transport():
    rng = np.random.default_rng(4)
    for size in (1e-18, 1e-3, 0.5):
        q = rng.standard_normal(6)
        q /= np.linalg.norm(q)
        step = rng.standard_normal(6)
        step -= (step @ q) * q
        step *= size / np.linalg.norm(step)
        sphere = riemtr.Sphere(6)
        np.testing.assert_allclose(moved(q, step), sphere.exp(q, step), atol=1e-15)
        assert np.linalg.norm(displacement(q, step)) == pytest.approx(
            2.0 * math.sin(size / 2.0), rel=1e-12
        )
        turn = rotation(q, step)
        np.testing.assert_allclose(turn @ turn.T, np.eye(6), atol=1e-14)
        np.testing.assert_allclose(turn @ q, moved(q, step), atol=1e-15)
