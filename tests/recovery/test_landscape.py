"""The scenes of the demo: the landscape in three dimensions, and an escape from two saddles."""

import numpy as np
import pytest

from riemtr.recovery.figures import draw_landscape, escape_saddles


@pytest.fixture(scope="module")
def scene():
    return draw_landscape(0)


def test_the_landscape_has_its_minimizers_on_the_axes(scene):
    rng = np.random.default_rng(0)
    points = rng.standard_normal((200, 3))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    assert scene.costs(np.eye(3)).max() < scene.costs(points).min() + 0.02
    assert scene.costs(np.full((1, 3), 3**-0.5))[0] > np.quantile(scene.costs(points), 0.85)


def test_the_path_leads_from_near_a_maximizer_to_a_minimizer(scene):
    assert scene.result.certificate.verdict == "minimizer"
    assert np.abs(scene.path[0] - 3**-0.5).max() < 0.1
    assert np.abs(scene.path[-1]).max() == pytest.approx(1.0, abs=1e-4)
    assert np.all(np.diff(scene.path_costs) < 1e-9)
    assert scene.path_costs == pytest.approx(scene.costs(scene.path))


def test_it_starts_at_a_maximizer_lands_at_a_saddle_point_and_leaves_both():
    result = escape_saddles()
    assert result.history["escaped"].sum() == 2
    assert result.certificate.verdict == "minimizer"
    assert np.sort(np.abs(result.point)) == pytest.approx([0.0, 0.0, 0.0, 1.0], abs=1e-3)
