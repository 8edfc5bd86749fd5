"""The judge of certificates is right itself: derivatives, minima, and how claims are read."""

from enum import Enum
from types import SimpleNamespace

import numpy as np
import pytest

import riemtr

smooth = pytest.importorskip("benchmarks.torture_smooth")
scales = pytest.importorskip("benchmarks.torture_scales")
symmetries = pytest.importorskip("benchmarks.torture_symmetries")
kinks = pytest.importorskip("benchmarks.torture_kinks")
trials = pytest.importorskip("benchmarks.torture_trials")


@pytest.mark.parametrize("case", range(len(smooth.KINDS)))
def test_smooth_costs(case):
    """Derivatives are right, and the minimizer is one, far from the start."""
    trial = smooth.smooth(case)
    point = trial.start
    assert riemtr.check_gradient(trial.problem, point, rng=0).ok
    assert riemtr.check_hessian(trial.problem, point, rng=0).ok
    (spot,) = trial.spots
    assert trial.truth.near(spot.point)
    assert not trial.truth.near(point)
    allowance = trial.truth.rounding(spot.point)
    for _ in range(20):
        space = trial.problem.geometry.space(spot.point)
        beside = space.move(1e-3 * space.random(np.random.default_rng(case)))
        assert trial.truth.higher(beside) > -allowance


@pytest.mark.parametrize("build", kinks.COURSES)
def test_courses(build):
    """Derivatives away from kinks are right, and no point is below the minimizer."""
    rng = np.random.default_rng(3)
    course = build(rng)
    n = len(course.minimizer)
    cost, least = course.cost, float(course.least)
    assert float(cost(course.minimizer)) == pytest.approx(least, abs=1e-12)
    for _ in range(50):
        x = course.minimizer + rng.standard_normal(n) * 10.0 ** rng.uniform(-3, 0)
        assert float(cost(x)) >= least
        v = rng.standard_normal(n)
        slope = (cost(x + 1e-7 * v) - cost(x - 1e-7 * v)) / 2e-7
        assert slope == pytest.approx(course.gradient(x) @ v, rel=1e-3, abs=1e-3)


@pytest.mark.parametrize("name", symmetries.SLIDES)
def test_slides(name):
    """Slopes and bends are right, and every function falls below any start."""
    slide, t, step = symmetries.SLIDES[name], np.array([0.3, 1.7, -0.8]), 1e-5
    slope = (slide.value(t + step) - slide.value(t - step)) / (2 * step)
    np.testing.assert_allclose(slope, slide.slope(t), rtol=1e-7, atol=1e-8)
    bend = (slide.slope(t + step) - slide.slope(t - step)) / (2 * step)
    np.testing.assert_allclose(bend, slide.bend(t), rtol=1e-7, atol=1e-8)
    ends = slide.value(np.array([-500.0, 500.0]))
    assert min(ends) < min(slide.value(t))
    assert min(ends) >= slide.infimum


@pytest.mark.parametrize("case", range(0, 24, 8))
def test_lengths_with_right_derivatives(case):
    trial = scales.lengths(case)
    (spot,) = trial.spots
    values = np.linalg.eigvalsh(trial.problem.at(spot.point).hessian_matrix())
    assert values[0] == pytest.approx(spot.curvature, rel=1e-9)


@pytest.mark.parametrize("case", range(0, 48, 4))
def test_right_symmetries(case):
    """The smallest eigenvalue across the symmetries is the first above zero."""
    trial = symmetries.symmetries(case)
    (spot,) = trial.spots
    values = np.linalg.eigvalsh(trial.problem.at(spot.point).hessian_matrix())
    assert values[np.abs(values) > 1e-9 * values[-1]][0] == pytest.approx(spot.curvature, rel=1e-6)


def test_false_symmetries_fall():
    for case in range(1, 40):
        trial = symmetries.symmetries(case)
        if case % 4 and "slope" not in trial.kind:
            (spot,) = trial.spots
            values = np.linalg.eigvalsh(trial.problem.at(spot.point).hessian_matrix())
            assert values[0] < -1e-6 * values[-1]


class Plain(Enum):
    NO = "no"
    TO_SECOND_ORDER = "to second order"
    STRICT = "strict"


@pytest.mark.parametrize("certified", [*riemtr.Certified, *Plain])
def test_claims_are_read_by_name(certified):
    certificate = SimpleNamespace(
        verdict="saddle", strict=False, verdict_in_words="saddle", curvature_in_words=""
    )
    result = SimpleNamespace(
        certificate=certificate,
        certified=certified,
        converged=False,
        status=riemtr.Status.STALLED,
        cost=0.0,
        iterations=3,
        point=np.zeros(2),
    )
    end = trials.ending_of(result)
    assert end.certified == end.claim.minimizer == (certified.name != "NO")
    assert end.claim.strict == (certified.name == "STRICT")


def test_a_claim_far_from_the_minimizer_is_false():
    """A liar's certificate is counted, and an honest refusal is not."""
    trial = smooth.smooth(0)
    far = trials.Spot(trial.start, None)
    honest, lies = trials.Tally(), trials.Tally()
    trials.certify(trial, far, honest)
    assert honest.counts["false"] == 0
    tolerant = SimpleNamespace(
        verdict="minimizer", strict=True, verdict_in_words="", curvature_in_words=""
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(riemtr, "certify", lambda *_, **__: tolerant)
        trials.certify(trial, far, lies)
    assert lies.counts["false"] == 1
