import numpy as np
import pytest

from riemtr.compare.figures import convergence_figure, profiles_figure
from riemtr.compare.page_figures import marks_figure as page_marks
from tests.compare.made_up import comparison, example, run
from tests.compare.page_examples import recovery_comparison


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


def test_a_title_fits_its_figure_and_names_what_is_certified():
    figure = profiles_figure(recovery_comparison())
    first, second = figure.get_suptitle().split("\n")
    assert first == "Performance profiles, 3 instances; solved: every row certified,"
    assert second == "measured to the end of the run"
    figure.canvas.draw()
    box = figure._suptitle.get_window_extent()
    assert 0 < box.x0 < box.x1 < figure.bbox.width


def test_who_solves_nothing_is_seen_and_named():
    (axes, _) = profiles_figure(comparison(run("a", 0, 3), run("b", 0))).axes
    assert axes.get_ylim()[0] < 0
    assert set(lines_of(axes)) == {"a", "b (none)"}


def test_a_solver_has_its_colour_in_any_order():
    names = ["practical", "mine", "exact"]
    seen = []
    for order in (names, names[::-1]):
        found = comparison(*(run(name, 0, 3) for name in order))
        drawn = {
            k: line.get_color() for k, line in lines_of(profiles_figure(found).axes[0]).items()
        }
        marks = {trace["name"]: trace["marker"]["color"] for trace in page_marks(found)["data"]}
        assert marks == drawn
        seen.append(drawn)
    assert seen[0] == seen[1]
    assert len(set(seen[0].values())) == 3


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
