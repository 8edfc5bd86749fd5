"""The image experiment: starts, their values, and how many dictionaries there are among them."""

import numpy as np
import pytest

from riemtr.data import load_image
from riemtr.data.images import patches
from riemtr.paper import image_starts as module
from riemtr.paper.image_starts import (
    NAME,
    WAYS,
    best_dictionaries,
    count_distinct,
    figure,
    recover,
    settings,
    starts,
    summary,
    trial,
)
from riemtr.sweep import sweep


@pytest.fixture
def small(monkeypatch):
    """A part of the photograph: 576 patches of 4 x 4 pixels."""
    picture = load_image("camera")[100:196, 150:246]
    monkeypatch.setattr(module, "load_image", lambda name: picture)
    return picture


def test_values_are_those_of_the_papers_whitening(small):
    Y = patches(small, 4)
    for way in WAYS:
        values = trial(np.random.default_rng(0), "camera", way, 4)
        found, _ = recover(np.random.default_rng(0), "camera", way, 4)
        # Rows of the inverse of A, scaled to unit rows on (YY')^{-1/2} Y.
        left, sizes, right = np.linalg.svd(Y, full_matrices=False)
        bar = left @ right
        rows = np.linalg.inv(found.dictionary) @ (left * sizes) @ left.T
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        assert values["l1"] == pytest.approx(np.abs(rows @ bar).sum(), rel=1e-8)
        assert values["l4"] == pytest.approx(((rows @ bar) ** 4).sum(), rel=1e-8)
        assert values["atoms"] == 16


def test_the_paper_smooths_in_units_of_its_own_whitening(small, monkeypatch):
    seen = {}

    def look(Y, mu, rng, **options):
        seen[len(seen)] = mu
        raise KeyError

    monkeypatch.setattr(module, "recover_dictionary", look)
    for way in WAYS:
        with pytest.raises(KeyError):
            recover(None, "camera", way, 4)
    assert list(seen.values()) == pytest.approx([1e-2 * np.sqrt(576), 1e-2, 1e-2])


def test_starts_are_sorted_counted_and_drawn(small):
    table = sweep(trial, settings(["camera"], 4), repetitions=2, name=NAME)
    found = starts(table.rows)
    assert [one.way for one in found] == list(WAYS)
    for one in found:
        assert one.values.size == 2
        assert one.values[0] <= one.values[1]
        assert one.distinct in (1, 2)
        assert one.spread == pytest.approx(np.ptp(one.values) / one.values.mean())
    assert "camera" in summary(found).text()
    best = best_dictionaries(table, found, ["printed"])
    assert best["printed", "camera"].shape == (16, 16)
    drawing = figure(found, best)
    titles = [axes.get_title() for axes in drawing.axes]
    assert titles[:2] == ["camera", "atoms: printed method, the paper's mu"]
    assert len(drawing.axes[-1].lines) == len(WAYS)


def test_equal_dictionaries_are_one():
    values, fourth = np.array([1.0, 1.0 + 1e-9, 2.0]), np.array([3.0, 3.0, 3.0])
    assert count_distinct(values, fourth) == 2
    assert count_distinct(values, np.array([3.0, 3.1, 3.0])) == 3
    chain = 1.0 + 0.9e-6 * np.arange(4)
    assert count_distinct(chain) == 1
