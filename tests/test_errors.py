import pickle

import numpy as np
import pytest

from riemtr.arguments import check_nonnegative, check_positive, generator, integer, real
from riemtr.errors import ArgumentError, MissingExtraError, require, unknown_name


def test_a_missing_package_names_its_extra():
    with pytest.raises(MissingExtraError, match=r"needs 'no_such'; .*pip install 'riemtr\[plot\]'"):
        require("no_such.part", extra="plot")


def test_an_unknown_name_lists_the_valid_ones():
    error = unknown_name("backend", "dusk", {"serial", "dask"})
    assert str(error) == "backend must be one of 'dask', 'serial'; got 'dusk': did you mean 'dask'?"


@pytest.mark.parametrize(
    ("name", "end"), [("dusk", "got 'dusk': did you mean 'dask'?"), ("xyz", "got 'xyz'")]
)
def test_a_misspelt_name_comes_with_the_nearest_if_one_is_near(name, end):
    assert str(unknown_name("backend", name, ["serial", "dask"])).endswith(f"; {end}")


@pytest.mark.parametrize(
    ("check", "value"),
    [
        (lambda value: integer("it", value, low=2), 1),
        (lambda value: real("it", value, low=0, high=1), 1.5),
        (lambda value: check_positive("it", value), -1),
        (lambda value: check_nonnegative("it", value), "a"),
    ],
)
def test_checks_say_which_argument_must_be_what(check, value):
    with pytest.raises(ArgumentError) as caught:
        check(value)
    error = caught.value
    assert error.parameter == "it"
    assert error.value == value
    assert str(error) == f"it must {error.requirement}; got {value!r}"
    assert error.told("--it") == f"--it must {error.requirement}; got {value!r}"


def test_seeds_are_checked_alike():
    with pytest.raises(ArgumentError, match="rng must be a nonnegative integer"):
        generator(-1)


def test_argument_errors_travel_between_processes():
    error = ArgumentError("rank", "be at most 3", 4, "leave it out")
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error) == "rank must be at most 3; got 4: leave it out"
    assert again.remedy == "leave it out"


def test_a_message_does_not_show_a_whole_array():
    assert len(str(ArgumentError("Y", "be a word", list(range(10**5))))) < 250
    assert str(ArgumentError("Y", "be a word", np.float64)).endswith("got <class 'numpy.float64'>")
