import math

import numpy as np
import pytest

from riemtr.compare import performance_profile
from tests.compare.made_up import comparison, example, run


def test_ratios_by_hand():
    profile = performance_profile(example(), "oracles")
    np.testing.assert_allclose(profile.ratios["fast"], [1, 1, math.inf])
    np.testing.assert_allclose(profile.ratios["slow"], [1, 2, 4])
    assert profile.share("fast", 1.0) == pytest.approx(2 / 3)
    assert profile.share("fast", 100.0) == pytest.approx(2 / 3)
    assert profile.share("slow", 1.9) == pytest.approx(1 / 3)
    assert profile.share("slow", 4.0) == 1.0


def test_the_gradient_alone_counts_saddle_points_as_success():
    profile = performance_profile(example(), "oracles", solved="reached")
    np.testing.assert_allclose(profile.ratios["fast"], [1, 1, 1])
    np.testing.assert_allclose(profile.ratios["slow"], [2, 4, 30])


def test_seconds_are_to_the_tolerance_and_not_of_the_whole_run():
    profile = performance_profile(example(), "seconds")
    np.testing.assert_allclose(profile.ratios["slow"], [1, 2, 4])


def test_what_nobody_solves_and_what_does_not_apply():
    found = comparison(run("a", 0), run("b", 0), run("a", 1, 5))
    profile = performance_profile(found, "oracles")
    np.testing.assert_allclose(profile.ratios["a"], [1, math.inf])
    np.testing.assert_allclose(profile.ratios["b"], [math.inf, math.inf])
    looser = performance_profile(found, "oracles", tolerance=1e-2)
    assert looser.share("a", math.inf) == 0.0


def test_no_time_at_all_is_a_microsecond():
    found = comparison(run("a", 0, 0), run("b", 0, 1))
    profile = performance_profile(found, "seconds", solved="reached")
    assert profile.ratios["b"][0] == pytest.approx(0.01 / 1e-6)
    assert performance_profile(found, "oracles").ratios["b"][0] == 1.0


def test_without_tolerances_whole_runs_are_compared():
    found = comparison(
        run("a", 0, 5, seconds=1.0),
        run("b", 0, 5, seconds=3.0),
        run("c", 0, 5, seconds=0.1, outcome="timed out"),
        tolerances=[],
    )
    profile = performance_profile(found)
    assert profile.tolerance is None
    assert [profile.ratios[name][0] for name in "abc"] == [1.0, 3.0, math.inf]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"measure": "joules"}, "measure must be one of 'oracles', 'seconds'"),
        ({"solved": "hopefully"}, "solved must be one of 'certified', 'reached'"),
        ({"tolerance": 1e-3}, r"one of the comparison's, \[0.01, 1e-06\]; got 0.001"),
    ],
)
def test_unknown_choices_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        performance_profile(example(), **arguments)
