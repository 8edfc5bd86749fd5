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

from riemtr.compare.cases import distinct, typed, with_options
from riemtr.compare.recovery_peers import ADM
from riemtr.errors import DoesNotApply, unknown_name
from riemtr.imports import imported, place
from riemtr.interop.pymanopt import PymanoptSolver, pymanopt_solvers
from riemtr.problem import Problem
from riemtr.problems.dictionary_learning import DictionaryCost, PartitionedCost
from riemtr.solvers import NAMED, ExactTRM, TrustRegion

# Three of riemtr's and their nearest rivals: more make no table that is read, and no zoo that ends.
DEFAULT = ("practical", "lbfgs", "arc", "pymanopt-tr", "pymanopt-cg", "l-bfgs-b")
# The name that stands for all solvers that use gradients.
ALL = "all"

_UNLIMITED = 10**6
# The text that Python prints of an object that says nothing of itself.
_ADDRESS = re.compile(
    r"<(?:function |bound method )?([\w.]+(?:<\w+>[\w.]*)*)[^<>]* at 0x[0-9a-f]+>"
)
_NAMED: dict[str, Any] = {**NAMED, "adm": ADM}
# Solvers that have no end but their budget, and hardly ever reach a small gradient.
_WITHOUT_GRADIENTS = (NelderMead, ParticleSwarm)
# Solvers whose own history and clock are believed.
OWN_HISTORY = (TrustRegion, PymanoptSolver, *_NAMED.values())
_NAMED |= {name: type(solver.optimizer) for name, solver in pymanopt_solvers().items()}
# The fixed radius of the exact method where nobody chose another: its own default.
_RADIUS = inspect.signature(ExactTRM).parameters["radius"].default
# At most this for the log-cosh cost, which bends on the scale of mu: in units of mu over the size
# of the data.
_LOG_COSH_RADIUS = 0.5


@dataclass(frozen=True)
class Demands:
    """The demands of a comparison on every solver.

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
        The solver's name there.
    make : callable
        ``make(problem, demands)`` returns the solver for a problem.
    spelling : str or None
        Its name on the command line; None for a solver that was passed as an object.
    """

    name: str
    make: Callable[[Problem, Demands], Any] = field(repr=False)
    spelling: str | None = None


def solver_names() -> list[str]:
    """Return the names of the solvers that come with riemtr, its own first.

    Examples
    --------
    >>> solver_names()[:3]
    ['practical', 'exact', 'lbfgs']
    """
    return list(_NAMED)


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
    if name not in _NAMED:
        own = "your own is 'package.module:attribute'"
        raise unknown_name("solvers", name, _NAMED, own)
    if name == "lbfgs":  # which would otherwise stop at any small gradient
        options = {"goal": "second-order", **options}
    return Entrant(shown, _maker(_NAMED[name], name, options), spelled)


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
    >>> [one.name for one in as_entrants([ExactTRM(0.1), ExactTRM(0.2), "lbfgs"])]
    ['ExactTRM-1', 'ExactTRM-2', 'lbfgs']
    """
    if isinstance(solvers, str) or not isinstance(solvers, Iterable):
        solvers = [solvers]
    if isinstance(solvers, Iterable) and not isinstance(solvers, Mapping):
        every = [name for name, kind in _NAMED.items() if kind not in _WITHOUT_GRADIENTS]
        solvers = [each for one in solvers for each in (every if one == ALL else [one])]
    by_name = solvers if isinstance(solvers, Mapping) else dict(enumerate(solvers))
    found = [_as_entrant(solver) for solver in by_name.values()]
    names = [one.name for one in found]
    for index, (given, solver) in enumerate(by_name.items()):
        if isinstance(solvers, Mapping):
            found[index] = replace(found[index], name=given)
        elif names.count(names[index]) > 1 and not isinstance(solver, (str, Entrant)):
            number = 1 + names[:index].count(names[index])
            found[index] = replace(found[index], name=f"{names[index]}-{number}")
    known = f"one of {', '.join(solver_names())}, or one of your own"
    return list(distinct("solvers", [(one.name, one) for one in found], known).values())


def _as_entrant(solver: Any) -> Entrant:
    if isinstance(solver, Entrant):
        return solver
    if isinstance(solver, str):
        return entrant(solver)
    name = getattr(solver, "__name__", type(solver).__name__)
    return Entrant(name, _maker(solver, name, {}))


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
    known = inspect.signature(kind).parameters
    if not any(one.kind is inspect.Parameter.VAR_KEYWORD for one in known.values()):
        for option in sorted(set(options) - set(known)):
            takes = ", ".join(known)
            raise ValueError(f"solver {name!r} has no option {option!r}; it takes {takes}")

    def make(problem: Problem, demands: Demands) -> Any:
        wishes: dict[str, Any] = {k: value for k, value in vars(demands).items() if k in known}
        if isinstance(kind, type) and issubclass(kind, Optimizer):
            wishes = {"min_gradient_norm": demands.tolerance, "max_time": demands.max_seconds}
            wishes |= {"verbosity": 0}
            if not issubclass(kind, _WITHOUT_GRADIENTS):
                wishes |= {"max_iterations": _UNLIMITED, "max_cost_evaluations": _UNLIMITED}
        elif kind in OWN_HISTORY:
            wishes["max_iterations"] = _UNLIMITED
            if kind is ExactTRM:
                wishes["radius"] = _radius(problem)
        solver = kind(**{**wishes, **options})
        if isinstance(solver, Optimizer):
            asked = {"curvature_tolerance": demands.curvature_tolerance}
            solver = PymanoptSolver(solver, **(asked if isinstance(kind, type) else {}))
        if not hasattr(solver, "solve"):
            raise ValueError(
                f"solver {name!r} must return an object with a method solve(problem, start); it "
                f"returned {type(solver).__name__}"
            )
        return solver

    return make


def _radius(problem: Problem) -> float:
    """Return the fixed radius of the exact method on a problem where nobody chose another."""
    cost = problem.cost
    if isinstance(cost, DictionaryCost | PartitionedCost):
        return min(_RADIUS, _LOG_COSH_RADIUS * cost.mu / max(cost.scale, 1e-300))
    return _RADIUS
