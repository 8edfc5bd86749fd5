"""A scene of the demo: an escape from two saddles."""

import numpy as np
import pytest

from riemtr.recovery.figures import escape_saddles


def test_it_starts_at_a_maximizer_lands_at_a_saddle_point_and_leaves_both():
    result = escape_saddles()
    assert result.history["escaped"].sum() == 2
    assert result.certificate.verdict == "minimizer"
    assert np.sort(np.abs(result.point)) == pytest.approx([0.0, 0.0, 0.0, 1.0], abs=1e-3)
