"""What is to be compared on: registered problems, cases and problems of one's own."""

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


def labelled(problems: Any) -> dict[str, Any]:
    """Return what was given as problems by label; a dict has labels of its own.

    The name "zoo" stands for all of riemtr's own problems, at two sizes.

    Examples
    --------
    >>> list(labelled(["rayleigh", ("rayleigh", {"n": 5}), "covariance"]))
    ['rayleigh', 'rayleigh:n=5', 'covariance']
    """
    if isinstance(problems, Mapping):
        given = list(problems.items())
    else:
        single = isinstance(problems, (str, *_OBJECTS)) or _is_pair(problems)
        listed = [problems] if single or not isinstance(problems, Iterable) else list(problems)
        given = [(_label(one), one) for each in listed for one in expanded(each)]
    if not given:
        raise ArgumentError("problems", "name at least one", remedy="see `riemtr problems`")
    labels = [label for label, _ in given]
    twice = next((label for label in labels if labels.count(label) > 1), None)
    if twice is not None:
        raise ArgumentError(
            "problems", f"have labels of their own; {twice!r} comes twice", remedy="give it once"
        )
    return dict(given)


def as_cases(problems: Any, seed: int) -> dict[str, Case]:
    """Return cases by label.

    Parameters
    ----------
    problems : str, tuple, Case, Problem, pymanopt.Problem, or a list or dict of them
        A name in the registry or an import path ``"package.module:function"``, or a pair of it and
        parameters; a dict gives labels of its own.
    seed : int
        Source of the data of registered problems.

    Examples
    --------
    >>> as_cases(("rayleigh", {"n": 5}), seed=0)["rayleigh:n=5"].problem.manifold.dim
    4
    """
    return {label: _as_case(one, seed) for label, one in labelled(problems).items()}


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
    texts = {key: _typed_value(value) for key, value in options.items()}
    if None in texts.values():
        return None
    return ":".join([name, *(f"{key}={text}" for key, text in texts.items())])


def with_options(name: str, options: Mapping[str, Any]) -> str:
    """Return a name with options for people: ``name:option=value``."""
    shown = (f"{key}={_short(value)}" for key, value in options.items())
    return ":".join([name, *shown])


def _typed_value(value: Any) -> str | None:
    if value is None or isinstance(value, (bool, np.bool_)):
        return str(value).lower()
    if isinstance(value, numbers.Integral):
        return repr(int(value))
    if isinstance(value, numbers.Real):
        return repr(float(value))
    if not isinstance(value, str) or value != value.strip() or not value:
        return None
    # Commas and colons would end it, and what reads as another type would become one.
    return None if set(value) & set(",:") or _reads_otherwise(value) else value


def _reads_otherwise(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return text.lower() in ("true", "false", "none")
    return True


def _short(value: Any) -> str:
    return f"array{value.shape}" if isinstance(value, np.ndarray) else str(value)


def _is_pair(problem: Any) -> bool:
    return (
        isinstance(problem, tuple)
        and len(problem) == 2
        and isinstance(problem[0], str)
        and isinstance(problem[1], Mapping)
    )


def _label(problem: Any) -> str:
    if isinstance(problem, str):
        return problem
    if _is_pair(problem):
        return with_options(*problem)
    if isinstance(problem, Case) and problem.name:
        return with_options(problem.name, _changed(problem))
    if not isinstance(problem, _OBJECTS):
        raise ValueError(
            "problems must be names in riemtr.problems.available(), pairs of name and parameters, "
            f"or Problem objects; got {type(problem).__name__}"
        )
    return str((problem.problem if isinstance(problem, Case) else problem).manifold)


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
    if isinstance(problem, str):
        return _built(problem, {}, seed)
    if _is_pair(problem):
        name, parameters = problem
        return _built(name, parameters, seed)
    if not isinstance(problem, _OBJECTS):
        _label(problem)  # which says what it must be
    return Case(as_problem(problem), start=None)


def _built(name: str, parameters: Mapping[str, Any], seed: int) -> Case:
    if not is_path(name) and name not in registry.available():
        raise unknown_name("the problem", name, registry.available())
    if is_path(name):
        registry.describe(name)  # what cannot be imported says so itself
    try:
        return registry.build(name, rng=seed, **parameters)
    except Exception as error:  # of the builder, which anyone may have written
        what, where = with_options(name, parameters), place(error)
        said = isinstance(error, (ValueError, TypeError, ImportError, OSError)) and not where
        kind = "" if said else f"{type(error).__name__}: "  # a KeyError says no more than the key
        raise ValueError(f"cannot build the problem {what!r}: {kind}{error}{where}") from error
