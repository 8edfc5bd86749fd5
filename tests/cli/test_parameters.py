import math
import re

import pytest

from riemtr.cli.options import (
    format_parameters,
    parse_axes,
    parse_named,
    parse_parameters,
)
from riemtr.compare.cases import build_case, parse_value
from riemtr.problems import registry


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("50", 50),
        ("-3", -3),
        ("1e-2", 0.01),
        ("0.5", 0.5),
        ("true", True),
        ("False", False),
        ("None", None),
        ("camera", "camera"),
        ("a=b", "a=b"),
        ("", ""),
    ],
)
def test_values_get_the_type_they_look_like(text, value):
    parsed = parse_value(text)
    assert parsed == value
    assert type(parsed) is type(value)


def test_infinity_is_a_number():
    assert parse_value("inf") == math.inf


def test_a_value_may_contain_an_equals_sign():
    assert parse_parameters(["image=a=b.png", " n = 3 "]) == {"image": "a=b.png", "n": 3}


@pytest.mark.parametrize("setting", ["n", "=3", ""])
def test_settings_without_name_or_value_are_refused(setting):
    with pytest.raises(ValueError, match=r"must look like name=value.*got"):
        parse_parameters([setting])


def test_a_parameter_set_twice_is_refused():
    with pytest.raises(ValueError, match="'n' is set twice"):
        parse_parameters(["n=3", "n=4"])


def test_formatted_parameters_are_read_back_the_same():
    parameters = {"n": 30, "p": None, "theta": 0.2, "image": "camera", "flag": True}
    assert parse_parameters(format_parameters(parameters).split()) == parameters


def test_a_value_of_the_wrong_type_names_the_setting():
    with pytest.raises(ValueError, match="n must be an integer of at least 1; got 'abc'"):
        build_case("rayleigh", {"n": "abc"}, seed=0)


def test_axes_keep_their_order_and_types():
    axes = parse_axes(["n=10, 20", "kind=a", "x=1e-2,true"])
    assert list(axes.items()) == [("n", [10, 20]), ("kind", ["a"]), ("x", [0.01, True])]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["n"], "values must look like name=a,b,c, for instance n=10,20; got 'n'"),
        (["=1"], "values must look like name=a,b,c"),
        (["n=1,,2"], "a value between any two commas; got 'n=1,,2'"),
        (["n=1", "n=2"], "name n once: list all its values in one; got 'n=2'"),
    ],
)
def test_what_is_no_axis_is_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        parse_axes(settings)


def test_several_parameters_after_a_name_need_colons():
    assert parse_named("rayleigh", known=[]) == ("rayleigh", {})
    assert parse_named("a-b : n=1 : kind=x,y", known=[]) == ("a-b", {"n": 1, "kind": "x,y"})
    said = "must be separated by colons: brockett:n=8:k=2; got 'brockett:n=8,k=2'"
    with pytest.raises(ValueError, match=said):
        parse_named("brockett:n=8,k=2", known=[])


def test_an_error_of_a_builder_names_its_kind(monkeypatch):
    monkeypatch.setitem(registry._BUILDERS, "broken", lambda rng, n=1: 1 / 0)
    with pytest.raises(
        ValueError, match="cannot build the problem 'broken:n=2': ZeroDivisionError: "
    ):
        build_case("broken", {"n": 2}, seed=0)


def test_an_error_of_ones_own_builder_says_where(tmp_path, monkeypatch):
    (tmp_path / "broken_builders.py").write_text(
        "def raising(rng):\n"
        "    raise RuntimeError('my data file is missing')\n"
        "def reading(rng):\n"
        "    open('no-such-file')\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    file = re.escape(str(tmp_path / "broken_builders.py"))
    with pytest.raises(ValueError, match=rf"my data file is missing \({file}, line 2\)$"):
        build_case("broken_builders:raising", {}, seed=0)
    with pytest.raises(ValueError, match=rf"FileNotFoundError: .* \({file}, line 4\)$"):
        build_case("broken_builders:reading", {}, seed=0)


def test_a_name_that_is_known_is_no_module():
    assert parse_named("math:pi:n=1", known=[]) == ("math:pi", {"n": 1})
    with pytest.raises(ValueError, match="must look like name=value"):
        parse_named("rayleigh:n", known=["rayleigh"])
