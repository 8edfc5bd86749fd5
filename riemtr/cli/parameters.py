"""Settings as they are typed: ``-p n=50`` or ``name:n=50`` of a problem, ``-g n=1,2`` of a grid."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any

from riemtr.compare.cases import in_text, parse_value
from riemtr.errors import ArgumentError
from riemtr.imports import look_here


def parse_parameters(settings: Sequence[str]) -> dict[str, Any]:
    """Read settings of the form ``name=value``.

    Examples
    --------
    >>> parse_parameters(["n=50", "image=camera"])
    {'n': 50, 'image': 'camera'}
    >>> parse_parameters(["n"])
    Traceback (most recent call last):
    ...
    riemtr.errors.ArgumentError: a parameter must look like name=value, for instance -p n=50; got
    'n'
    """
    parameters: dict[str, Any] = {}
    for setting in settings:
        name, equals, value = (part.strip() for part in setting.partition("="))
        if not (name and equals):
            form = "look like name=value, for instance -p n=50"
            raise ArgumentError("a parameter", form, setting)
        if name in parameters:
            raise ArgumentError("parameter", f"be given once; {name!r} is set twice")
        parameters[name] = parse_value(value)
    return parameters


def parse_named(text: str, known: Collection[str]) -> tuple[str, dict[str, Any]]:
    """Read a name with parameters after colons; the name may be an import path with one itself.

    A path, whose first part is none of the ``known`` names, lets modules in the working folder be
    found.

    Examples
    --------
    >>> parse_named("brockett:n=20:k=3", known=["brockett"])
    ('brockett', {'n': 20, 'k': 3})
    >>> parse_named("package.module:function:n=5", known=["brockett"])
    ('package.module:function', {'n': 5})
    """
    name, *rest = (part.strip() for part in text.split(":"))
    if rest and "=" not in rest[0] and name not in known:
        name = f"{name}:{rest.pop(0)}"
        look_here()
    for setting in rest:
        if re.search(r",\s*\w+\s*=", setting):
            corrected = ":".join([name, *re.split(r",\s*(?=\w+\s*=)", ":".join(rest))])
            raise ArgumentError("parameters", f"be separated by colons: {corrected}", text)
    return name, parse_parameters(rest)


def parse_axes(settings: Sequence[str]) -> dict[str, list[Any]]:
    """Read the values of a grid, such as ``n=10,20,30``.

    Examples
    --------
    >>> parse_axes(["n=10,20", "kind=a"])
    {'n': [10, 20], 'kind': ['a']}
    """
    axes: dict[str, list[Any]] = {}
    for setting in settings:
        name, equals, text = (part.strip() for part in setting.partition("="))
        if not (name and equals and text):
            raise ArgumentError("values", "look like name=a,b,c, for instance n=10,20", setting)
        if name in axes:
            raise ArgumentError("values", f"name {name} once: list all its values in one", setting)
        values = [value.strip() for value in text.split(",")]
        if not all(values):
            raise ArgumentError("values", "have a value between any two commas", setting)
        axes[name] = [parse_value(value) for value in values]
    return axes


def format_parameters(parameters: dict[str, Any]) -> str:
    """Write parameters the way they are typed.

    Examples
    --------
    >>> format_parameters({"n": 50, "image": None})
    'n=50 image=none'
    """
    return " ".join(f"{name}={in_text(value)}" for name, value in parameters.items())
