"""Numbers and seeds as users pass them."""

import numpy as np
import pytest

from riemtr.arguments import generator, integer, is_real, real


def test_numbers():
    assert all(map(is_real, (0, 1.5, np.float32(2), np.int64(3), np.array(4.0), np.inf)))
    assert not any(map(is_real, ("1", None, [1.0], np.ones(1), 1j, True)))


def test_integers():
    assert integer("rows", np.int64(3)) == 3
    assert integer("k", 5, low=1, high=5) == 5
    for wrong in (0, -1, 2.5, "3", True, None):
        with pytest.raises(ValueError, match="rows must be an integer of at least 1; got"):
            integer("rows", wrong)
    for wrong in (0, 6):
        with pytest.raises(ValueError, match=f"k must be an integer from 1 to 5; got {wrong}"):
            integer("k", wrong, low=1, high=5)


def test_reals():
    assert real("theta", np.float32(0.5), low=0.0, high=1.0) == 0.5
    for wrong in (-0.1, 1.1, np.nan, np.inf, "0.2", None):
        with pytest.raises(ValueError, match="theta must be a number from 0 to 1; got"):
            real("theta", wrong, low=0.0, high=1.0)
    with pytest.raises(ValueError, match="noise must be a number of at least 0; got 'loud'"):
        real("noise", "loud", low=0.0)


def test_seeds():
    source = np.random.default_rng(0)
    assert generator(source) is source
    assert generator(3).random() == np.random.default_rng(3).random()
    for wrong in (-1, "a", 1.5):
        with pytest.raises(ValueError, match="rng must be a nonnegative integer"):
            generator(wrong)
