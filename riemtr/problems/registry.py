"""A registry of problems by name: riemtr's own, and those of third parties.

A builder is a function ``builder(rng, **parameters) -> Case`` whose parameters all have defaults;
``rng`` may be left out, and a :class:`riemtr.Problem` serves in place of a function.
It joins the registry by the decorator :func:`register`, or from another package by the entry-point
group ``riemtr.problems`` (entry point name: the problem's; object: the builder). Where a problem is
asked for by name, the import path of a builder, ``package.module:function``, is a name too.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from importlib.metadata import entry_points
from typing import Any

import numpy as np
import pymanopt

from riemtr.arguments import generator
from riemtr.errors import unknown_name
from riemtr.imports import imported
from riemtr.problem import Problem, as_problem

ENTRY_POINT_GROUP = "riemtr.problems"

Builder = Callable[..., "Case"]
_BUILDERS: dict[str, Builder] = {}


@dataclass(frozen=True)
class Truth:
    """What is known about the solution.

    Attributes
    ----------
    cost : float or None
        The global minimum.
    distance : callable or None
        ``distance(point)``: how far a point is from the nearest true solution.
    details : dict
        Whatever else the problem was made from.
    point : point of the manifold, or None
        A true solution, or where data are noisy what they were made from.
    error : callable or None
        ``error(point)``: how far a point is from what the data were made from, in the problem's own
        measure. No solution attains zero where data are noisy, and there is no ``distance`` then.
    """

    cost: float | None = None
    distance: Callable[[Any], float] | None = None
    details: dict[str, Any] = field(default_factory=dict)
    point: Any = None
    error: Callable[[Any], float] | None = None


@dataclass(frozen=True)
class Case:
    """An instance of a registered problem.

    Attributes
    ----------
    problem : Problem
    start : point of the manifold
        A random start.
    truth : Truth or None
        What is known about the solution; None where nothing is.
    name : str
        The problem's name.
    parameters : dict
        What it was built with.
    draw : callable or None
        ``draw(figure, point)`` draws a solution into a figure of matplotlib.
    """

    problem: Problem
    start: Any
    truth: Truth | None = None
    name: str = ""
    parameters: dict[str, Any] = field(default_factory=dict)
    draw: Callable[[Any, Any], None] | None = None

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Pickle what :func:`build` was called with: costs are functions, which need not pickle."""
        source = self.__dict__.get("_source")
        if source is None:
            return super().__reduce_ex__(protocol)
        return _build, (self.name, self.parameters, source)


def register(name: str) -> Callable[[Builder], Builder]:
    """Add a builder to the registry under a name.

    Examples
    --------
    >>> import numpy as np, riemtr
    >>> @riemtr.problems.register("distance-to-pole")
    ... def distance_to_pole(rng, n=3):
    ...     sphere = riemtr.Sphere(n)
    ...     problem = riemtr.Problem(sphere, lambda x: -x[0])
    ...     return riemtr.problems.Case(problem, sphere.random_point(rng))
    >>> "distance-to-pole" in riemtr.problems.available()
    True
    """

    def add(builder: Builder) -> Builder:
        if name in _BUILDERS and _BUILDERS[name] is not builder:
            raise ValueError(f"name {name!r} is already registered; choose another")
        _parameters(name, builder)
        _BUILDERS[name] = builder
        return builder

    return add


def available() -> list[str]:
    """Return the names of all registered problems, sorted."""
    return sorted(_all_builders())


def is_path(name: str) -> bool:
    """Whether a name is the import path of a builder.

    Examples
    --------
    >>> is_path("package.module:function"), is_path("rayleigh")
    (True, False)
    """
    return ":" in name


def build(name: str, *, rng: Any = None, **parameters: Any) -> Case:
    """Build an instance of a registered problem.

    Parameters
    ----------
    name : str
        One of :func:`available`, or the import path ``"package.module:name"`` of a builder of
        your own, which may also return a :class:`riemtr.Problem` alone, or of a Problem itself.
    rng : numpy.random.Generator, int or None
        Source of the data and the start.
    **parameters
        The problem's own, see :func:`describe`.

    Examples
    --------
    >>> import riemtr
    >>> case = riemtr.problems.build("rayleigh", rng=0, n=10)
    >>> case.problem.manifold, case.start.shape
    (Sphere(10), (10,))
    """
    builder = _builder(name)
    known = _parameters(name, builder)
    for parameter in parameters:
        if parameter not in known:
            raise ValueError(
                f"problem {name!r} has no parameter {parameter!r}; it takes "
                f"{', '.join(f'{key}={value!r}' for key, value in known.items())}"
            )
    return _build(name, {**known, **parameters}, generator(rng))


def _build(name: str, settings: dict[str, Any], source: np.random.Generator) -> Case:
    """Build a case that pickles: as long as nothing of it is replaced, it can be built again."""
    builder, before = _builder(name), copy.deepcopy(source)
    built = builder(source, **settings) if _takes_rng(builder) else builder(**settings)
    case = _as_case(name, built, source)
    case = replace(case, name=name, parameters=settings)
    object.__setattr__(case, "_source", before)
    return case


def _as_case(name: str, built: Any, rng: np.random.Generator) -> Case:
    if isinstance(built, Case):
        return built
    if not isinstance(built, (Problem, pymanopt.Problem)):
        raise ValueError(
            f"the builder of {name!r} must return a riemtr.problems.Case or a riemtr.Problem; it "
            f"returned {type(built).__name__}"
        )
    problem = as_problem(built)
    return Case(problem, problem.random_point(rng))


def describe(name: str) -> tuple[str, dict[str, Any]]:
    """Return a problem's description in a sentence, and its parameters with their defaults."""
    builder = _builder(name)
    summary = (inspect.getdoc(builder) or "").split("\n\n")[0].replace("\n", " ")
    return summary, _parameters(name, builder)


def _builder(name: str) -> Builder:
    builders = _all_builders()
    if is_path(name) and name not in builders:
        return _callable(name, imported(name, "the problem"))
    if name not in builders:
        raise unknown_name("name", name, builders)
    found = builders[name]
    if not callable(found):  # an entry point: loaded when it is needed
        _BUILDERS[name] = found = _callable(name, _loaded(found))
    return found


def _loaded(entry: Any) -> Any:  # of importlib.metadata, or of its backport where that is in use
    try:
        return entry.load()
    except (Exception, SystemExit) as error:  # of another's package, which may be broken
        raise ValueError(
            f"cannot load the problem {entry.name!r} from {entry.value!r}: {type(error).__name__}: "
            f"{error}; mend the package that offers it, or uninstall it"
        ) from error


def _callable(name: str, found: Any) -> Builder:
    if isinstance(found, (Case, Problem, pymanopt.Problem)):
        return lambda: found  # type: ignore[return-value]
    if not callable(found):
        raise ValueError(
            f"the problem {name!r} must be a riemtr.Problem, or a function of rng and parameters "
            f"that returns one or a riemtr.problems.Case; it is of type {type(found).__name__}"
        )
    return found


def _all_builders() -> dict[str, Any]:
    builders: dict[str, Any] = {
        entry.name: entry for entry in entry_points(group=ENTRY_POINT_GROUP)
    }
    builders.update(_BUILDERS)
    return builders


def _takes_rng(builder: Builder) -> bool:
    return next(iter(inspect.signature(builder).parameters), "") == "rng"


def _parameters(name: str, builder: Builder) -> dict[str, Any]:
    others = list(inspect.signature(builder).parameters.values())[_takes_rng(builder) :]
    if any(other.default is inspect.Parameter.empty or other.name == "rng" for other in others):
        raise ValueError(
            f"the builder of {name!r} must take rng first, if at all, and give every other "
            f"parameter a default; it takes {inspect.signature(builder)}"
        )
    return {other.name: other.default for other in others}
