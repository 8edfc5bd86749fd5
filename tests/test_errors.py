import pytest

from riemtr.errors import MissingExtraError, misspelt_name, require, unknown_name


def test_a_missing_package_names_its_extra():
    with pytest.raises(MissingExtraError, match=r"needs 'no_such'; .*pip install 'riemtr\[plot\]'"):
        require("no_such.part", extra="plot")


def test_an_unknown_name_lists_the_valid_ones():
    error = unknown_name("backend", "dusk", {"serial", "dask"})
    assert str(error) == "backend must be one of 'dask', 'serial'; got 'dusk'"


@pytest.mark.parametrize(
    ("name", "end"), [("dusk", "got 'dusk' (did you mean 'dask'?)"), ("xyz", "got 'xyz'")]
)
def test_a_misspelt_name_comes_with_the_nearest_if_one_is_near(name, end):
    assert str(misspelt_name("backend", name, ["serial", "dask"])).endswith(f"; {end}")
