import math

import numpy as np
import pytest

from riemtr.data.checks import integer, real


def test_integer_accepts_what_counts_as_one():
    assert integer("n", np.int64(3), low=1) == 3
    assert integer("n", 5, low=1, high=5) == 5


@pytest.mark.parametrize("value", [0, 6, True])
def test_integer_out_of_range_names_the_parameter_and_the_range(value):
    with pytest.raises(ValueError, match=rf"k must be an integer from 1 to 5; got {value}"):
        integer("k", value, low=1, high=5)


@pytest.mark.parametrize("value", [2.0, "2", None])
def test_integer_of_another_type(value):
    with pytest.raises(TypeError, match="k must be an integer of at least 1; got"):
        integer("k", value, low=1)


@pytest.mark.parametrize("value", [-0.1, 1.1, math.nan, math.inf])
def test_real_out_of_range(value):
    with pytest.raises(ValueError, match="theta must be a number from 0 to 1; got"):
        real("theta", value, low=0.0, high=1.0)


def test_real_of_another_type():
    with pytest.raises(TypeError, match="noise must be a number of at least 0; got 'loud'"):
        real("noise", "loud", low=0.0)
