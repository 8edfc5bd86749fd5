import math

import numpy as np
import pytest

from riemtr.compare import performance_profile
from tests.compare.made_up import comparison, example, run


def test_ratios_by_hand():
    profile = performance_profile(example(), "oracles")
    np.testing.assert_allclose(profile.ratios["fast"], [1, 1, math.inf])
    # Whole runs: 20 and 30 calls, 20 and 50; from the saddle only slow gets anywhere.
    np.testing.assert_allclose(profile.ratios["slow"], [1, 1.5, 2.5])
    assert profile.share("fast", 1.0) == pytest.approx(2 / 3)
    assert profile.share("fast", 100.0) == pytest.approx(2 / 3)
    assert profile.share("slow", 1.4) == pytest.approx(1 / 3)
    assert profile.share("slow", 2.5) == 1.0
    assert profile.tolerance is None


def test_the_gradient_alone_counts_saddle_points_as_success():
    profile = performance_profile(example(), "oracles", solved="reached")
    np.testing.assert_allclose(profile.ratios["fast"], [1, 1, 1])
    np.testing.assert_allclose(profile.ratios["slow"], [2, 4, 30])


def test_certified_runs_are_measured_to_their_end_and_reached_ones_to_the_gradient():
    whole = performance_profile(example(), "seconds")
    np.testing.assert_allclose(whole.ratios["slow"], [1, 1.5, 2.5])
    gradient = performance_profile(example(), "seconds", solved="reached")
    np.testing.assert_allclose(gradient.ratios["slow"], [2, 4, 30])
    assert gradient.tolerance == 1e-6


def test_a_run_that_came_too_late_solves_nothing():
    late = run("a", 0, 5, outcome="timed out")
    profile = performance_profile(comparison(late, run("b", 0, 50)), "oracles")
    assert [profile.ratios[name][0] for name in "ab"] == [math.inf, 1.0]


def test_of_an_interrupted_comparison_only_complete_instances_count():
    runs = (run("a", 0, 5), run("b", 0, 5), run("a", 1, 5), run("a", 0, 5, problem="other"))
    absent = [{"solver": "b", "problem": "other", "reason": "not for it"}]
    whole = performance_profile(comparison(*runs, not_applicable=absent))
    assert whole.share("b", math.inf) == pytest.approx(1 / 3)
    cut = comparison(*runs, not_applicable=absent, interrupted=True)
    profile = performance_profile(cut)
    # Start 1 is left out, what does not apply is still not solved.
    assert len(profile.ratios["a"]) == 2
    assert profile.share("b", math.inf) == 0.5


def test_what_nobody_solves_and_what_does_not_apply():
    found = comparison(run("a", 0), run("b", 0), run("a", 1, 5))
    profile = performance_profile(found, "oracles")
    np.testing.assert_allclose(profile.ratios["a"], [1, math.inf])
    np.testing.assert_allclose(profile.ratios["b"], [math.inf, math.inf])
    looser = performance_profile(found, "oracles", solved="reached", tolerance=1e-2)
    assert looser.share("a", math.inf) == 0.0


def test_no_time_at_all_is_a_microsecond():
    found = comparison(run("a", 0, 0), run("b", 0, 1))
    profile = performance_profile(found, "seconds", solved="reached")
    assert profile.ratios["b"][0] == pytest.approx(0.01 / 1e-6)
    assert performance_profile(found, "oracles", solved="reached").ratios["b"][0] == 1.0


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
        ({"tolerance": 1e-2}, "must be 1e-06, to which runs are certified"),
    ],
)
def test_unknown_choices_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        performance_profile(example(), **arguments)
