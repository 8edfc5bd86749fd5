"""Problems to compare on, and names with options as they are typed: ``brockett:n=20:k=3``."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pymanopt

from riemtr import problems as registry
from riemtr.errors import ArgumentError, unknown_name
from riemtr.imports import place
from riemtr.problem import Problem, as_problem
from riemtr.problems import Case
from riemtr.problems.registry import is_path
from riemtr.problems.zoo import expanded

_OBJECTS = (Case, Problem, pymanopt.Problem)
_WORDS = {"true": True, "false": False, "none": None}


def labelled(problems: Any) -> dict[str, Any]:
    """Return what was given as problems by label; a dict has labels of its own.

    The name "zoo" stands for all of riemtr's own problems, at two sizes.

    Examples
    --------
    >>> list(labelled(["rayleigh", ("rayleigh", {"n": 5}), "covariance"]))
    ['rayleigh', 'rayleigh:n=5', 'covariance']
    """
    if isinstance(problems, Mapping):
        return distinct("problems", list(problems.items()), "see `riemtr problems`")
    single = isinstance(problems, (str, *_OBJECTS)) or _is_pair(problems)
    listed = [problems] if single or not isinstance(problems, Iterable) else problems
    given = [(_label(one), one) for each in listed for one in expanded(each)]
    return distinct("problems", given, "see `riemtr problems`")


def distinct(parameter: str, named: list[tuple[str, Any]], remedy: str) -> dict[str, Any]:
    """Return things by name; none, or two of one name, is an error."""
    if not named:
        raise ArgumentError(parameter, "name at least one", remedy=remedy)
    names = [name for name, _ in named]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        once = "give it once, or in Python as a dict by name"
        raise ArgumentError(parameter, f"have names of their own; {twice!r} comes twice", ..., once)
    return dict(named)


def as_cases(problems: Any, seed: int) -> dict[str, Case]:
    """Return cases by label, those of registered problems with data from the seed.

    Examples
    --------
    >>> as_cases(("rayleigh", {"n": 5}), seed=0)["rayleigh:n=5"].problem.manifold.dim
    4
    """
    return {label: _as_case(one, seed) for label, one in labelled(problems).items()}


def build_case(name: str, parameters: Mapping[str, Any], seed: int) -> Case:
    """Build a problem by name or path; whatever does not fit is a ValueError that says what."""
    if is_path(name):
        registry.describe(name)  # a module that cannot be imported says so itself
    elif name not in registry.available():
        own = "a function or a Problem of your own is module:name"
        raise unknown_name("the problem", name, registry.available(), own)
    try:
        return registry.build(name, rng=seed, **parameters)
    except Exception as error:  # of the builder, which anyone may have written
        what, where = with_options(name, parameters), place(error)
        said = isinstance(error, (ValueError, TypeError, ImportError, OSError)) and not where
        kind = "" if said else f"{type(error).__name__}: "  # a KeyError says no more than the key
        raise ValueError(f"cannot build the problem {what!r}: {kind}{error}{where}") from error


def spelling(problem: Any) -> str | None:
    """Return what names a problem on the command line, None where nothing does.

    Only a name, or a pair of name and parameters, is built there as it was here: the data of a
    :class:`Case` may come from any seed.

    Examples
    --------
    >>> spelling(("rayleigh", {"n": 5}))
    'rayleigh:n=5'
    """
    if isinstance(problem, str):
        return problem
    return typed(*problem) if _is_pair(problem) else None


def typed(name: str, options: Mapping[str, Any]) -> str | None:
    """Return a name with options as a terminal reads it back, None where it cannot.

    Examples
    --------
    >>> typed("exact", {"radius": 1 / 3})
    'exact:radius=0.3333333333333333'
    """
    plain = [one.item() if isinstance(one, np.generic) else one for one in options.values()]
    for value in plain:
        # Commas and colons would end it, and what reads as another type would become one.
        text = in_text(value)
        read = parse_value(text.strip())
        if type(read) is not type(value) or read != value or not text or set(text) & set(",:"):
            return None
    return with_options(name, dict(zip(options, plain, strict=True)))


def with_options(name: str, options: Mapping[str, Any]) -> str:
    """Return a name with options: ``name:option=value``."""
    return ":".join([name, *(f"{key}={in_text(value)}" for key, value in options.items())])


def in_text(value: Any) -> str:
    """Return a value as it is typed; of an array the shape.

    Examples
    --------
    >>> in_text(True), in_text(1e-2), in_text(np.eye(2))
    ('true', '0.01', 'array(2, 2)')
    """
    if value is None or isinstance(value, bool):
        return str(value).lower()
    return f"array{value.shape}" if isinstance(value, np.ndarray) else str(value)


def parse_value(text: str) -> Any:
    """Read a value: an integer, a number, true, false, none, or else the text itself.

    Examples
    --------
    >>> [parse_value(text) for text in ("50", "1e-2", "True", "none", "camera")]
    [50, 0.01, True, None, 'camera']
    """
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _is_pair(problem: Any) -> bool:
    if not isinstance(problem, tuple) or len(problem) != 2:
        return False
    return isinstance(problem[0], str) and isinstance(problem[1], Mapping)


def _label(problem: Any) -> str:
    if isinstance(problem, str):
        return problem
    if _is_pair(problem):
        return with_options(*problem)
    if isinstance(problem, Case) and problem.name:
        return with_options(problem.name, _changed(problem))
    _check(problem)
    return str((problem.problem if isinstance(problem, Case) else problem).manifold)


def _check(problem: Any) -> None:
    if not isinstance(problem, _OBJECTS):
        raise ArgumentError(
            "problems",
            "be names in riemtr.problems.available(), pairs of name and parameters, or Problem "
            f"objects; got {type(problem).__name__}",
        )


def _changed(case: Case) -> dict[str, Any]:
    """Return the parameters of a registered case that are not the usual ones."""
    if case.name not in registry.available():
        return {}
    usual = registry.describe(case.name)[1]
    plain = (str, bool, numbers.Number, type(None))
    return {
        key: value
        for key, value in case.parameters.items()
        if not (isinstance(value, plain) and value == usual.get(key))
        and value is not usual.get(key)
    }


def _as_case(problem: Any, seed: int) -> Case:
    if isinstance(problem, Case):
        return problem
    if isinstance(problem, str) or _is_pair(problem):
        name, parameters = (problem, {}) if isinstance(problem, str) else problem
        return build_case(name, parameters, seed)
    _check(problem)
    return Case(as_problem(problem), start=None)
