import numpy as np
import pytest
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.legend import Legend
from matplotlib.text import Text

from riemtr.recovery.figures import (
    atoms_figure,
    concentration,
    escape_saddles,
    escapes_figure,
    sparsity_figure,
)


def pixels(figure):
    figure.canvas.draw()
    return np.asarray(figure.canvas.buffer_rgba())[..., :3]


def agg(figure):
    FigureCanvasAgg(figure)
    return figure


def texts_overlap(figure):
    """Pairs of titles, labels and legends that cover each other."""
    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()
    legends = figure.findobj(Legend)
    skipped = {id(text) for legend in legends for text in legend.findobj(Text)}
    for axis in figure.findobj(Axis):  # those beyond the limits are there, but not drawn
        skipped |= {id(text) for tick in axis.get_major_ticks() for text in tick.findobj(Text)}
        skipped |= {id(text) for tick in axis.get_minor_ticks() for text in tick.findobj(Text)}
    boxes = [legend.get_window_extent(renderer) for legend in legends]
    for text in figure.findobj(Text):
        if text.get_text() and text.get_visible() and id(text) not in skipped:
            boxes.append(text.get_window_extent(renderer))
    boxes = [box for box in boxes if box.width > 0]
    return [
        (a, b)
        for number, a in enumerate(boxes)
        for b in boxes[:number]
        if min(a.x1, b.x1) - max(a.x0, b.x0) > 1 and min(a.y1, b.y1) - max(a.y0, b.y0) > 1
    ]


def test_atoms_are_drawn_in_reading_order_around_zero():
    atoms = np.zeros((9, 5))
    atoms[:, 0] = 0.1
    for number in range(1, 5):
        atoms[number, number] = 1.0
        atoms[8, number] = -0.5
    figure = agg(atoms_figure(atoms, 3, "five atoms"))
    mosaic = figure.axes[0].images[0].get_array()
    assert mosaic.shape == (7, 11)  # 2 x 3 tiles of 3 x 3 with gaps
    for number in range(1, 5):
        down, across = 4 * (number // 3), 4 * (number % 3)
        tile = mosaic[down : down + 3, across : across + 3]
        assert np.argmax(tile) == number
        assert tile.max() == 1.0
        assert tile.min() == -0.5
        assert np.count_nonzero(tile) == 2
    assert np.all(np.ma.getmaskarray(np.ma.masked_invalid(mosaic))[4:, 8:])  # there is no sixth
    assert figure.axes[0].get_title() == "five atoms"
    assert not texts_overlap(figure)


def test_a_constant_atom_is_no_empty_place():
    atoms = np.eye(9)[:, :4]
    atoms[:, 2] = -1.0 + 1e-3 * np.arange(9)
    figure = atoms_figure(atoms, 3)
    (text,) = figure.axes[0].texts
    assert text.get_text() == "constant"
    assert text.get_position() == (1.0, 5.0)  # the middle of the third tile
    assert np.all(figure.axes[0].images[0].get_array()[4:, :3] < -0.9)


def test_frames_of_atoms_tell_their_verdicts():
    verdicts = ["proved", "doubtful", "plausible", "doubtful"]
    figure = agg(atoms_figure(np.eye(9)[:, :4], 3, "four atoms", verdicts))
    frames = figure.axes[0].patches
    colours = [frame.get_edgecolor() for frame in frames]
    assert colours[1] == colours[3]
    assert len(set(colours)) == 3
    (legend,) = figure.legends
    labels = [text.get_text() for text in legend.get_texts()]
    assert labels == ["1 proved", "1 plausible", "2 doubtful"]
    assert not texts_overlap(figure)
    with pytest.raises(ValueError, match="verdicts must be one for each of 4 atoms; got 1"):
        atoms_figure(np.eye(9)[:, :4], 3, verdicts=["proved"])


def test_atoms_that_are_no_patches_are_refused():
    with pytest.raises(ValueError, match="they have 10 entries, and 3 x 3 is 9"):
        atoms_figure(np.eye(10), 3)


def test_concentration_counts_entries():
    matrix = np.zeros((1, 10))
    matrix[0, :2] = 3.0, -4.0
    assert concentration(matrix) == 0.2
    matrix[0, 0] = 0.1
    assert concentration(matrix) == 0.1
    uniform = np.vstack([np.ones(100), 1e6 * np.ones(100), np.zeros(100)])
    assert concentration(uniform) == pytest.approx(0.6, abs=0.01)  # scales do not count


def test_concentration_of_large_data_is_that_of_a_sample():
    rng = np.random.default_rng(0)
    sparse = rng.standard_normal((40, 50_000)) * (rng.random((40, 50_000)) < 0.2)
    assert concentration(sparse) == pytest.approx(0.445 * 0.2, abs=0.003)


def test_sparsity_shows_the_distribution_and_the_share():
    rng = np.random.default_rng(0)
    dense = rng.standard_normal((20, 2000))
    sparse = dense * (rng.random(dense.shape) < 0.1)
    figure = agg(sparsity_figure(dense, sparse, ("data", "coefficients")))
    left, right = figure.axes
    labels = [text.get_text() for text in right.get_legend().get_texts()]
    assert labels == ["data: 45% of them", "coefficients: 4% of them"]
    curve = right.lines[2]
    assert np.interp(4.45, curve.get_xdata(), curve.get_ydata()) == pytest.approx(90.0, abs=1.0)
    shares = left.patches[3].get_data().values
    assert shares.max() == pytest.approx(0.9, abs=0.01)
    assert np.argmax(shares) == len(shares) // 2  # the bin around zero
    assert not texts_overlap(figure)


def test_escapes_are_marked_where_the_slope_vanishes():
    result = escape_saddles()
    figure = agg(escapes_figure(result))
    assert result.history["escaped"].sum() == 2
    upper, lower = figure.axes
    stars = lower.lines[1]
    assert stars.get_marker() == "*"
    assert len(stars.get_xdata()) == 2
    assert max(stars.get_ydata()) < 1e-6
    assert list(stars.get_xdata()) == list(upper.lines[1].get_xdata())
    assert not texts_overlap(figure)
