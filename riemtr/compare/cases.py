"""What is to be compared on: registered problems, cases and problems of one's own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pymanopt

from riemtr import problems as registry
from riemtr.problem import Problem, as_problem
from riemtr.problems import Case


def as_cases(problems: Any, seed: int) -> dict[str, Case]:
    """Return cases by label.

    Parameters
    ----------
    problems : str, tuple, Case, Problem, pymanopt.Problem, or a list or dict of them
        A name in the registry, or a pair of name and parameters; a dict gives labels of its own.
    seed : int
        Source of the data of registered problems.

    Examples
    --------
    >>> list(as_cases(["rayleigh", ("rayleigh", {"n": 5}), "covariance"], seed=0))
    ['rayleigh', 'rayleigh:n=5', 'covariance']
    """
    if isinstance(problems, Mapping):
        given = list(problems.items())
    else:
        single = isinstance(problems, (str, Case, Problem, pymanopt.Problem)) or _is_pair(problems)
        listed = [problems] if single or not isinstance(problems, Iterable) else list(problems)
        given = [(_label(one), one) for one in listed]
    if not given:
        raise ValueError("problems must name at least one; see riemtr.problems.available()")
    labels = [label for label, _ in given]
    twice = next((label for label in labels if labels.count(label) > 1), None)
    if twice is not None:
        raise ValueError(
            f"problems must have labels of their own; {twice!r} comes twice: pass a dict by label"
        )
    return {label: _as_case(one, seed) for label, one in given}


def spelling(case: Case) -> str | None:
    """Return what names a registered case on the command line, None for others.

    Examples
    --------
    >>> spelling(as_cases([("rayleigh", {"n": 5})], seed=0)["rayleigh:n=5"])
    'rayleigh:n=5'
    """
    if case.name not in registry.available():
        return None
    defaults = registry.describe(case.name)[1]
    changed = {k: v for k, v in case.parameters.items() if v != defaults.get(k)}
    return with_options(case.name, changed)


def with_options(name: str, options: Mapping[str, Any]) -> str:
    """Return a name with options as it is typed: ``name:option=value``."""
    return ":".join([name, *(f"{key}={value}" for key, value in options.items())])


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
        return spelling(problem) or problem.name
    return str(getattr(problem, "problem", problem).manifold)


def _as_case(problem: Any, seed: int) -> Case:
    if isinstance(problem, Case):
        return problem
    if isinstance(problem, str):
        return registry.build(problem, rng=seed)
    if _is_pair(problem):
        name, parameters = problem
        return registry.build(name, rng=seed, **parameters)
    return Case(as_problem(problem), start=None)
