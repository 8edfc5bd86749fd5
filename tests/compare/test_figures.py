import numpy as np
import pytest

from riemtr.compare.figures import convergence_figure, profiles_figure
from tests.compare.made_up import comparison, example, run


def lines_of(axes):
    return {line.get_label(): line for line in axes.get_lines()}


def test_profiles_show_the_shares():
    figure = profiles_figure(example())
    seconds, oracles = figure.axes
    fast, slow = (lines_of(oracles)[name] for name in ("fast", "slow"))
    assert max(fast.get_ydata()) == pytest.approx(2 / 3)
    np.testing.assert_allclose(slow.get_xdata()[1:-1], [1, 1.5, 2.5])
    np.testing.assert_allclose(slow.get_ydata()[1:-1], [1 / 3, 2 / 3, 1])
    assert seconds.get_ylabel() == "share of instances solved"
    assert figure.get_suptitle() == (
        "Performance profiles, 3 instances; solved: a certified minimizer, measured to the end of "
        "the run"
    )
    assert (
        profiles_figure(example(), solved="reached")
        .get_suptitle()
        .endswith("solved: measured to gradient norm 1e-06, saddle points included")
    )


def test_without_counts_there_is_no_panel_for_them():
    found = comparison(run("a", 0, 5, oracles=None), tolerances=[])
    assert len(profiles_figure(found).axes) == 1


def test_convergence_shows_every_run_and_where_it_ended():
    figure = convergence_figure(example(), "easy")
    random, _, saddle, _ = figure.axes
    assert random.get_title(loc="left") == "2 random starts"
    curves = [line for line in random.get_lines() if len(line.get_xdata()) == 3]
    assert len(curves) == 4
    assert all(min(line.get_ydata()) == 1e-17 for line in curves)  # zero on a logarithmic axis
    marks = [line.get_marker() for line in saddle.get_lines() if len(line.get_xdata()) == 1]
    assert marks == ["X", "o"]


def test_only_so_many_starts_are_drawn():
    figure = convergence_figure(comparison(*(run("a", number, 3) for number in range(12))))
    assert figure.axes[0].get_title(loc="left") == "first 8 random starts"


def test_an_unknown_problem_is_refused():
    with pytest.raises(ValueError, match="problem must be one of easy; got 'hard'"):
        convergence_figure(example(), "hard")
