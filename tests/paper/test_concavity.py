"""Region III at the paper's smoothing: where its inequality fails, and why it does not matter."""

from __future__ import annotations

import numpy as np
import pytest

from riemtr.paper.chart import OUTER_RADIUS, frame_of, in_region, local
from riemtr.theory import third_region


@pytest.fixture(scope="module")
def found(make):
    return third_region(make("orthogonal", p=20_000, mu=0.01), points=1000, starts=10)


def test_the_inequality_fails_at_a_twentieth_to_a_tenth_of_the_points(found):
    assert 0.90 <= found.share <= 0.95
    # The failing points are where the smoothing bends the cost upwards: at the inner end.
    assert found.fails[found.lengths > found.constants.concave_from].mean() <= 0.02
    assert found.lengths.min() >= OUTER_RADIUS
    np.testing.assert_array_equal(
        found.fails, found.curvature > -found.constants.c_star * found.constants.theta
    )


def test_descent_does_not_care(found):
    assert found.covered == 1.0, "the inequality of region II holds wherever that of III fails"
    assert found.slope[found.fails].min() >= 5.0 * found.constants.beta_g
    assert found.solved["fails"].all()
    assert found.solved["holds"].all()
    assert np.median(found.runs["fails"]) <= np.median(found.runs["holds"])


def test_a_step_from_a_failing_point_decreases_the_cost_as_region_two_promises(make, found):
    frame = frame_of(make("orthogonal", p=20_000, mu=0.01))
    rng, steps = np.random.default_rng(0), 0
    bounds = found.constants
    while steps < 30:
        here = local(frame, in_region(frame, 2, rng))
        if here.radial_curvature > -bounds.beta_concave:
            radius = 1e-3
            step = -radius * here.gradient / here.gradient_norm
            there = frame.cost.at((here.q + step) / np.linalg.norm(here.q + step))
            assert here.value - there.value >= bounds.beta_g * radius / (4.0 * np.pi)
            steps += 1


def test_table_and_figure(found):
    text = repr(found)
    assert "region II's inequality holds at 100 %" in text
    assert "10 of 10 end at a certified minimizer" in text
    assert "<table>" in found._repr_html_()
    pytest.importorskip("matplotlib")
    assert len(found.plot().axes) == 3
