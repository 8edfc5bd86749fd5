"""Solvers by name: riemtr's, pymanopt's, SciPy's, and a user's own by import path.

None of the named ones is limited by a number of iterations, only by the time that all have (and
pymanopt's population methods by their own budgets: they have no other end).
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pymanopt.optimizers import NelderMead, ParticleSwarm
from pymanopt.optimizers.optimizer import Optimizer

from riemtr.compare.cases import typed, with_options
from riemtr.errors import ArgumentError, DoesNotApply, unknown_name
from riemtr.imports import imported, place
from riemtr.interop.pymanopt import PymanoptSolver, pymanopt_solvers
from riemtr.problem import Problem
from riemtr.problems.dictionary_learning import DictionaryCost
from riemtr.problems.partitioned_cost import PartitionedCost
from riemtr.solvers import ARC, LBFGS, ExactTRM, PracticalTRM, ScipyLBFGSB

DEFAULT = ("exact", "practical", "pymanopt-tr", "pymanopt-cg", "pymanopt-sd", "l-bfgs-b")

_UNLIMITED = 10**6
# What Python prints of an object that says nothing of itself.
_ADDRESS = re.compile(
    r"<(?:function |bound method )?([\w.]+(?:<\w+>[\w.]*)*)[^<>]* at 0x[0-9a-f]+>"
)
_PYMANOPT = {name: type(solver.optimizer) for name, solver in pymanopt_solvers().items()}
# The fixed radius of the exact method where nobody chose another: its own default.
_RADIUS = inspect.signature(ExactTRM).parameters["radius"].default
# At most this for the log-cosh cost, which bends on the scale of mu: in units of mu over the size
# of the data.
_LOG_COSH_RADIUS = 0.5


@dataclass(frozen=True)
class Demands:
    """What a comparison asks of every solver.

    Attributes
    ----------
    tolerance : float
        Gradient norm to reach.
    curvature_tolerance : float
        Negative curvature that a minimizer may have.
    max_seconds : float
        Time for one run.
    """

    tolerance: float
    curvature_tolerance: float
    max_seconds: float


@dataclass(frozen=True)
class Entrant:
    """A solver that takes part in a comparison.

    Attributes
    ----------
    name : str
        What it is called there.
    make : callable
        ``make(problem, demands)`` returns the solver for a problem.
    spelling : str or None
        What names it on the command line; None for a solver that was passed as an object.
    """

    name: str
    make: Callable[[Problem, Demands], Any] = field(repr=False)
    spelling: str | None = None


def solver_names() -> list[str]:
    """Return the names of the solvers that come with riemtr, its own first.

    Examples
    --------
    >>> solver_names()[:3]
    ['exact', 'practical', 'lbfgs']
    """
    return ["exact", "practical", "lbfgs", "arc", "l-bfgs-b", *_PYMANOPT]


def entrant(name: str, **options: Any) -> Entrant:
    """Return a solver by its name or import path, with options of its own.

    Parameters
    ----------
    name : str
        One of :func:`solver_names`, or ``"package.module:attribute"``: an object with
        ``solve(problem, start, ...)``, a pymanopt optimizer, or something to call for one. What is
        called gets the comparison's ``tolerance``, ``curvature_tolerance`` and ``max_seconds``
        where it has parameters of these names. ``solve`` gets ``rng`` and ``stop`` likewise, and
        returns a :class:`riemtr.Result`, an object with ``point``, or the point itself, which
        claims nothing: it is certified, and its calls of the problem are counted, all the same.
    **options
        Passed to the solver's constructor: ``entrant("exact", radius=0.05)``. Without a radius,
        ``exact`` takes the 0.1 of :class:`riemtr.ExactTRM`, or half of mu over the size of the data
        for the log-cosh cost, where that is less.

    Examples
    --------
    >>> entrant("exact", radius=0.05).name
    'exact:radius=0.05'
    >>> entrant("pymanopt.optimizers:ConjugateGradient").name
    'pymanopt.optimizers:ConjugateGradient'
    """
    shown, spelled = with_options(name, options), typed(name, options)
    if ":" in name:
        return Entrant(shown, _maker(imported(name, "the solver"), name, options), spelled)
    if name not in solver_names():
        own = "your own is 'package.module:attribute'"
        raise unknown_name("solvers", name, solver_names(), own)
    if name == "exact":
        _check_options(name, ExactTRM, options)
        return Entrant(shown, lambda problem, demands: _exact(problem, demands, options), spelled)
    kinds: dict[str, Any] = {
        "practical": PracticalTRM,
        "lbfgs": LBFGS,
        "arc": ARC,
        "l-bfgs-b": ScipyLBFGSB,
        **_PYMANOPT,
    }
    if name == "lbfgs":  # which would otherwise stop at any small gradient
        options = {"goal": "second-order", **options}
    return Entrant(shown, _maker(kinds[name], name, options), spelled)


def described(solver: Any) -> str:
    """Return what a solver is, in words that are the same in every run: names, not addresses.

    Examples
    --------
    >>> class MySolver: ...
    >>> described([MySolver(), "lbfgs"])
    "[riemtr.compare.entrants.MySolver, 'lbfgs']"
    """
    return _ADDRESS.sub(r"\1", str(solver))


def check_entrants(entrants: Iterable[Entrant], problem: Problem, demands: Demands) -> None:
    """Make every solver once, so that options it refuses end a comparison before its first run.

    Errors other than of values and types are no matter of options; they are left to the runs.
    """
    for one in entrants:
        try:
            one.make(problem, demands)
        except DoesNotApply:
            continue
        except (ValueError, TypeError) as error:
            said = f"solver {one.name!r} cannot be made: {error}{place(error)}"
            raise ValueError(said) from error
        except Exception:
            continue


def as_entrants(solvers: Any) -> list[Entrant]:
    """Return solvers given as names, objects, or a dict of either by name.

    Objects are named after their presets or types, and numbered where these are the same.

    Examples
    --------
    >>> [one.name for one in as_entrants([PracticalTRM(), ExactTRM(0.1), ExactTRM(0.2), "lbfgs"])]
    ['PracticalTRM', 'ExactTRM-1', 'ExactTRM-2', 'lbfgs']
    """
    if isinstance(solvers, str) or not isinstance(solvers, Iterable):
        solvers = [solvers]
    if isinstance(solvers, Mapping):
        pairs = [(name, _as_entrant(solver)) for name, solver in solvers.items()]
        found = [Entrant(name, made.make, made.spelling) for name, made in pairs]
    else:
        found = _numbered(list(solvers))
    if not found:
        raise ArgumentError("solvers", f"name at least one of {', '.join(solver_names())}")
    names = [one.name for one in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ArgumentError(
            "solvers",
            f"have names of their own; {twice!r} comes twice",
            remedy="give it once, or in Python as a dict by name",
        )
    return found


def _as_entrant(solver: Any) -> Entrant:
    if isinstance(solver, Entrant):
        return solver
    if isinstance(solver, str):
        return entrant(solver)
    return Entrant(_short_name(solver), _maker(solver, _short_name(solver), {}))


def _numbered(solvers: list[Any]) -> list[Entrant]:
    """Return entrants; objects of the same name are numbered, names that were given are not."""
    found = [_as_entrant(solver) for solver in solvers]
    names = [one.name for one in found]
    for index, solver in enumerate(solvers):
        if names.count(names[index]) > 1 and not isinstance(solver, (str, Entrant)):
            number = 1 + names[:index].count(names[index])
            found[index] = replace(found[index], name=f"{names[index]}-{number}")
    return found


def _short_name(solver: Any) -> str:
    return getattr(solver, "__name__", type(solver).__name__)


def _maker(kind: Any, name: str, options: dict[str, Any]) -> Callable[[Problem, Demands], Any]:
    """Return what makes a solver of an object or of something to call for one."""
    if isinstance(kind, Optimizer):
        kind = PymanoptSolver(kind)
    if not isinstance(kind, type) and hasattr(kind, "solve"):
        if options:
            raise ValueError(f"solver {name!r} is made already; it takes no options")
        return lambda problem, demands: kind
    if not callable(kind):
        raise ValueError(
            f"solver {name!r} must have a method solve(problem, start), or be something to call "
            f"that returns such an object; got {type(kind).__name__}"
        )
    _check_options(name, kind, options)
    return lambda problem, demands: _made(kind, name, demands, options)


def _made(kind: Any, name: str, demands: Demands, options: dict[str, Any]) -> Any:
    known = inspect.signature(kind).parameters
    if isinstance(kind, type) and issubclass(kind, Optimizer):
        budget = {"max_iterations": _UNLIMITED, "max_cost_evaluations": _UNLIMITED}
        limits = {
            "min_gradient_norm": demands.tolerance,
            "max_time": demands.max_seconds,
            "verbosity": 0,
            **({} if issubclass(kind, (NelderMead, ParticleSwarm)) else budget),
        }
        return PymanoptSolver(
            kind(**{**limits, **options}), curvature_tolerance=demands.curvature_tolerance
        )
    wishes = {**vars(demands), "max_iterations": _UNLIMITED} if _is_ours(kind) else vars(demands)
    asked = {key: value for key, value in wishes.items() if key in known}
    solver = kind(**{**asked, **options})
    if isinstance(solver, Optimizer):
        solver = PymanoptSolver(solver)
    if not hasattr(solver, "solve"):
        raise ValueError(
            f"solver {name!r} must return an object with a method solve(problem, start); it "
            f"returned {type(solver).__name__}"
        )
    return solver


def _is_ours(kind: Any) -> bool:
    return kind in (ExactTRM, PracticalTRM, LBFGS, ARC, ScipyLBFGSB)


def _exact(problem: Problem, demands: Demands, options: dict[str, Any]) -> Any:
    cost, radius = problem.cost, _RADIUS
    if isinstance(cost, DictionaryCost | PartitionedCost):
        radius = min(radius, _LOG_COSH_RADIUS * cost.mu / max(cost.scale, 1e-300))
    return _made(ExactTRM, "exact", demands, {"radius": radius, **options})


def _check_options(name: str, kind: Any, options: dict[str, Any]) -> None:
    """Refuse options that a solver does not have, before anything runs."""
    parameters = inspect.signature(kind).parameters
    if any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters.values()):
        return
    for option in options:
        if option not in parameters:
            raise ValueError(
                f"solver {name!r} has no option {option!r}; it takes {', '.join(parameters)}"
            )
