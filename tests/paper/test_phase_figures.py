import numpy as np
import pytest

from riemtr.paper.phase_figures import boundaries_figure, figure, success_map
from riemtr.paper.phases import PhaseTransition
from riemtr.paper.phases import title as phase_title
from riemtr.sweep.cells import Failure, Outcome, make_cells
from riemtr.sweep.table import Table


def table(settings, success, repetitions=4):
    """A made-up sweep: ``success(settings, seed)``, None for a cell that failed."""
    outcomes = []
    for cell in make_cells("t", settings, range(repetitions)):
        value = success(cell.settings, cell.seed)
        failure = Failure("KeyError", "") if value is None else None
        outcomes.append(Outcome(cell, {} if value is None else {"success": value}, failure))
    return Table(tuple(outcomes))


SPARSITY = [{"n": n, "k": k, "p": 1} for n in (10, 20, 30) for k in range(5, n + 1, 5)]
SAMPLES = [{"n": n, "k": 1, "p": p} for n in (10, 20, 30) for p in (20, 40, 80, 160)]


def test_rates_are_shares_of_the_trials():
    made = table(SPARSITY, lambda s, seed: seed < {5: 4, 10: 1}.get(s["k"], 0))
    found = success_map(made, "k-n")
    np.testing.assert_array_equal(found.n, [10, 20, 30])
    np.testing.assert_array_equal(found.y, [5, 10, 15, 20, 25, 30])
    nan = np.nan
    np.testing.assert_array_equal(
        found.rate,
        [[1, 1, 1], [0.25] * 3, [nan, 0, 0], [nan, 0, 0], [nan, nan, 0], [nan, nan, 0]],
    )
    assert found.repetitions == 4
    # Two thirds of the way from all to a quarter of the trials, in log k.
    np.testing.assert_allclose(found.boundary, 5 * 2 ** (2 / 3))
    assert found.law.exponent == pytest.approx(0.0, abs=0.1)


def test_failed_cells_are_left_out():
    made = table(SPARSITY, lambda s, seed: None if seed == 0 else s["k"] == 5)
    found = success_map(made, "k-n")
    assert found.repetitions == 3
    np.testing.assert_array_equal(found.rate[0], 1.0)


def test_settings_with_nothing_but_errors_are_marked():
    made = table(SPARSITY, lambda s, seed: None if s["n"] == s["k"] == 30 else s["k"] < 12)
    found = success_map(made, "k-n")
    assert found.broken == ((30, 30),)
    assert found.y[-1] == 30
    assert np.isnan(found.rate[-1]).all()
    (crosses,) = (
        line for line in figure({"k-n": found}).axes[0].lines if line.get_label() == "only errors"
    )
    assert (list(crosses.get_xdata()), list(crosses.get_ydata())) == ([30], [30])


def test_more_samples_are_better():
    found = success_map(table(SAMPLES, lambda s, seed: s["p"] > 2 * s["n"]), "p-n")
    np.testing.assert_allclose(
        found.boundary, [np.sqrt(20 * 40), np.sqrt(40 * 80), np.sqrt(40 * 80)]
    )


def test_the_figure_shows_the_rates_and_the_boundary():
    maps = {
        "k-n": success_map(table(SPARSITY, lambda s, seed: s["k"] < 0.7 * s["n"]), "k-n"),
        "p-n": success_map(table(SAMPLES, lambda s, seed: s["p"] > 2 * s["n"]), "p-n"),
    }
    drawing = figure(maps, "a title")
    left, right = drawing.axes[:2]
    for panel, one in ((left, maps["k-n"]), (right, maps["p-n"])):
        shown = panel.collections[0].get_array()
        np.testing.assert_array_equal(np.ma.filled(shown, -1.0), np.nan_to_num(one.rate, nan=-1.0))
        np.testing.assert_array_equal(panel.lines[0].get_ydata(), one.boundary)
        assert panel.collections[0].get_cmap().name == "gray"
    assert right.get_yscale() == "log"
    assert drawing.get_suptitle() == "a title"
    # The tiles are centred on their values.
    corners = left.collections[0].get_coordinates()
    np.testing.assert_allclose(corners[0, :, 0], [5, 15, 25, 35])
    np.testing.assert_allclose(corners[:, 0, 1], [2.5, 7.5, 12.5, 17.5, 22.5, 27.5, 32.5])


def test_a_map_of_one_setting_can_be_drawn():
    single = success_map(table([{"n": 10, "k": 5, "p": 1}], lambda s, seed: True), "k-n")
    assert single.law is None
    assert np.isnan(single.boundary).all()
    assert len(figure({"k-n": single}).axes) == 2


def test_a_title_is_not_broken_within_an_equation():
    made = success_map(table(SAMPLES, lambda s, seed: s["p"] > 2 * s["n"]), "p-n")
    title = figure({"p-n": made}, phase_title(PhaseTransition())).get_suptitle()
    assert title.replace("\u00a0", " ").split("\n")[-1] == "A = I"


def test_a_long_title_stays_inside_the_figure():
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    made = table(SAMPLES, lambda s, seed: s["p"] > 2 * s["n"])
    drawing = figure({"p-n": success_map(made, "p-n")}, "the title of a map " * 5)
    canvas = FigureCanvasAgg(drawing)
    canvas.draw()
    extent = drawing._suptitle.get_window_extent(canvas.get_renderer())
    assert extent.x0 >= 0
    assert extent.x1 <= drawing.bbox.x1


def test_a_coarse_column_has_taller_tiles():
    coarse = [one for one in SPARSITY if one["n"] < 30 or one["k"] in (10, 30)]
    one = success_map(table(coarse, lambda s, seed: s["k"] < 0.7 * s["n"]), "k-n")
    meshes = figure({"k-n": one}).axes[0].collections
    assert len(meshes) == 3
    last = meshes[-1]
    np.testing.assert_array_equal(np.ravel(last.get_array()), [1.0, 0.0])
    np.testing.assert_allclose(last.get_coordinates()[:, 0, 1], [0, 20, 40])
    np.testing.assert_allclose(last.get_coordinates()[0, :, 0], [25, 35])


def test_samples_are_compared_with_n_log_n_and_the_share_is_named():
    one = success_map(table(SAMPLES, lambda s, seed: s["p"] > 2 * s["n"]), "p-n")
    panel = figure({"p-n": one}, share=0.5).axes[0]
    lines = {line.get_label(): line.get_ydata() for line in panel.lines}
    np.testing.assert_allclose(lines["$p = n\\,\\log n$"], one.n * np.log(one.n))
    assert "0.5" in panel.get_title()


def test_boundaries_of_several_experiments_are_drawn_together():
    easy = success_map(table(SAMPLES, lambda s, seed: s["p"] > 2 * s["n"]), "p-n")
    never = success_map(table(SAMPLES, lambda s, seed: False), "p-n")
    drawing = boundaries_figure({"easy": easy, "never": never}, "a title")
    (panel,) = drawing.axes
    labels = [line.get_label() for line in panel.lines]
    assert labels[0].startswith("easy")
    assert not any(label.startswith("never") for label in labels)
    np.testing.assert_array_equal(panel.lines[0].get_ydata(), easy.boundary)
