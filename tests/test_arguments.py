"""Numbers and seeds as users pass them."""

import numpy as np
import pytest

from riemtr.arguments import generator, is_real, positive


def test_numbers():
    assert all(map(is_real, (0, 1.5, np.float32(2), np.int64(3), np.array(4.0), np.inf)))
    assert not any(map(is_real, ("1", None, [1.0], np.ones(1), 1j, True)))


def test_positive_integers():
    assert positive("rows", np.int64(3)) == 3
    for wrong in (0, -1, 2.5, "3", True, None):
        with pytest.raises(ValueError, match="rows must be an integer of at least 1; got"):
            positive("rows", wrong)


def test_seeds():
    source = np.random.default_rng(0)
    assert generator(source) is source
    assert generator(3).random() == np.random.default_rng(3).random()
    for wrong in (-1, "a", 1.5):
        with pytest.raises(ValueError, match="rng must be a nonnegative integer"):
            generator(wrong)
