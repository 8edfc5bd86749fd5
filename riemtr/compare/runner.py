"""Solvers side by side: every solver from every start of every problem."""

from __future__ import annotations

import math
import os
import shlex
import time
from collections.abc import Iterator, Sequence
from typing import Any

from riemtr.arguments import check_positive, integer
from riemtr.blas_threads import blas_threads_for
from riemtr.compare.cases import as_cases, labelled, spelling
from riemtr.compare.entrants import (
    DEFAULT,
    Demands,
    Entrant,
    as_entrants,
    check_entrants,
    described,
)
from riemtr.compare.journal import identity, keep, open_runs, recall
from riemtr.compare.measuring import Task, measure, warm_up
from riemtr.compare.records import Comparison, Run
from riemtr.compare.starts import Start, random_starts, search_saddles
from riemtr.environment import environment
from riemtr.errors import ArgumentError, DoesNotApply
from riemtr.problems import Case
from riemtr.progress import Progress, Watcher, watching
from riemtr.solvers import FixedRadius, TrustRegion
from riemtr.store import Store

TOLERANCES = (1e-2, 1e-4, 1e-6)
# The search for saddle points is given at least this, however short the runs may be.
_SEARCH_SECONDS = 10.0


def compare(
    problems: Any,
    solvers: Any = DEFAULT,
    *,
    starts: int = 20,
    saddles: int = 5,
    rng: int = 0,
    tolerances: Sequence[float] = TOLERANCES,
    curvature_tolerance: float = 1e-6,
    max_seconds: float = 10.0,
    repeats: int = 1,
    store: str | os.PathLike[str] | None = None,
    resume: bool = False,
    progress: bool | Watcher = False,
) -> Comparison:
    """Compare solvers: the same problems, starts, tolerances, counters and clock for all.

    Each solver runs once to the tightest tolerance from each start; when it passed the looser
    ones is read off its history. Where it ended is then certified by riemtr, off the clock. A
    run's ``seconds`` are those of the whole run, with all that the solver does about the curvature;
    the time to a tolerance ends when the gradient is that small. Named solvers first solve a tiny
    problem, unmeasured, so that no first run pays for imports; a solver of your own does not. BLAS
    is held to one thread where ``threadpoolctl`` (extra ``parallel``) is there to do it.

    Parameters
    ----------
    problems : str, Case, Problem, pymanopt.Problem, or a list or dict of them
        Registered problems by name, ``("rayleigh", {"n": 200})`` to set parameters; a dict gives
        labels.
    solvers : str, solver, or a list or dict of them
        Names of :func:`~riemtr.compare.solver_names`, import paths ``"package.module:attribute"``,
        solver objects, or what :func:`~riemtr.compare.entrant` returns; a dict gives names, and
        ``"all"`` stands for all solvers that use gradients. An object is used with its own
        tolerances, something to call is given the comparison's.
    starts : int
        Random starts per problem.
    saddles : int
        Starts at exact saddle points per problem, at most: see
        :func:`~riemtr.compare.saddle_starts`. The search may take as long as a run, or ten seconds
        if that is more. Not both numbers may be 0.
    rng : int
        Seed: source of the data, the starts and all that solvers draw.
    tolerances : sequence of float
        Gradient norms to reach, absolute as everywhere in riemtr.
    curvature_tolerance : float
        Negative curvature that a minimizer may have.
    max_seconds : float
        Time for one run. A solver that does not stop by itself is stopped at twice that and one
        second more, where the system has alarms: in the main thread, not on Windows.
    repeats : int
        How often to run each, all solvers in turn; the run of median time is kept.
    store : path, optional
        A file (:mod:`riemtr.store`) to keep every run in as soon as it is finished, which survives
        a kill; :func:`~riemtr.compare.load` reads it.
    resume : bool
        Continue a store that exists: only what is missing is run. A store of another comparison
        is refused: other problems, starts, settings, solvers or versions.
    progress : bool or callable
        Show progress, or call it with each :class:`riemtr.progress.Progress`, whose detail is the
        :class:`Run` that ended.

    Returns
    -------
    Comparison
        Prints as a table. After Ctrl-C it holds the runs that were finished.

    Examples
    --------
    >>> import riemtr.compare
    >>> found = riemtr.compare.compare(
    ...     ("rayleigh", {"n": 10}), ["practical", "pymanopt-cg"], starts=2, saddles=2
    ... )
    >>> [run.verdict for run in found.runs if run.kind == "saddle"]
    ['minimizer', 'saddle', 'minimizer', 'saddle']
    """
    integer("starts", starts, low=0)
    integer("saddles", saddles, low=0)
    integer("repeats", repeats, low=1)
    seed = integer("rng", rng, low=0)
    if starts == saddles == 0:
        raise ArgumentError("starts and saddles", "not both be 0: there would be nothing to run")
    goals = _checked_tolerances(tolerances)
    check_positive("curvature_tolerance", curvature_tolerance)
    if max_seconds != math.inf:
        check_positive("max_seconds", max_seconds, " or inf")
    entrants = as_entrants(solvers)
    demands = Demands(goals[-1], float(curvature_tolerance), float(max_seconds))
    given = labelled(problems)
    cases = as_cases(given, seed)
    check_entrants(entrants, next(iter(cases.values())).problem, demands)
    asked = {
        "starts": starts,
        "saddles": saddles,
        "seed": seed,
        "tolerances": list(goals),
        "curvature_tolerance": demands.curvature_tolerance,
        "max_seconds": demands.max_seconds,
        "repeats": repeats,
    }
    with (
        open_runs(store, lambda: identity(cases, entrants, demands, asked), resume) as kept,
        watching(progress) as watch,
        blas_threads_for(0),
    ):
        run = _Comparing(cases, entrants, demands, asked, kept, watch)
        warm_up(entrants)
        run.everything()
        measured_with = environment()
    settings = {
        "problems": run.about,
        "solvers": {one.name: run.description(one.name) for one in entrants},
        "fixed_radii": run.fixed_radii,
        **asked,
        "not_applicable": run.not_applicable,
        "interrupted": run.interrupted,
    }
    settings["command"] = _command(asked, [spelling(one) for one in given.values()], entrants)
    return Comparison(settings, measured_with, tuple(run.runs))


class _Comparing:
    """The mutable state of one comparison."""

    def __init__(
        self,
        cases: dict[str, Case],
        entrants: list[Entrant],
        demands: Demands,
        asked: dict[str, Any],
        store: Store,
        watch: Watcher,
    ):
        self.cases, self.entrants, self.demands = cases, entrants, demands
        self.asked, self.store, self.watch = asked, store, watch
        self.total = (asked["starts"] + asked["saddles"]) * len(cases) * len(entrants)
        self.begin = time.perf_counter()
        self.runs: list[Run] = []
        self.about: dict[str, dict[str, Any]] = {}
        self.descriptions: dict[str, dict[str, list[str]]] = {}
        self.fixed_radii: dict[str, dict[str, float]] = {}
        self.not_applicable: list[dict[str, str]] = []
        self.interrupted = False

    def everything(self) -> None:
        """Run all there is to run; after Ctrl-C what is finished stays."""
        try:
            for label, case in self.cases.items():
                starts = self._starts(label, case)
                self._describe(label, case)
                self._run(label, case, starts)
        except KeyboardInterrupt:
            if not self.runs:
                raise
            self.interrupted = True

    def _starts(self, label: str, case: Case) -> list[Start]:
        """Find the starts of a problem."""
        problem, seed, saddles = case.problem, self.asked["seed"], self.asked["saddles"]
        self._report(f"looking for the saddle points of {label}")
        limit = max(self.demands.max_seconds, _SEARCH_SECONDS)
        found, trouble = search_saddles(problem, saddles, seed, limit)
        self.total -= (saddles - len(found)) * len(self.entrants)
        norms = [start.gradient_norm or 0.0 for start in found]
        self.about[label] = {
            "name": case.name or None,
            "parameters": case.parameters,
            "manifold": str(problem.manifold),
            "dimension": int(problem.manifold.dim),
            "saddles": len(found),
            "largest_gradient_norm_at_saddles": max(norms, default=None),
            "saddle_search": trouble or None,
        }
        return random_starts(problem, self.asked["starts"], seed) + found

    def _run(self, label: str, case: Case, starts: list[Start]) -> None:
        """Run every solver from every start of a problem."""
        remaining, goals = list(self.entrants), tuple(self.asked["tolerances"])
        for number, start in enumerate(starts):
            seed = (self.asked["seed"], 2, number)
            task = Task(label, case, number, start, seed, goals, self.demands)
            for one, run in self._in_turn(task, list(remaining)):
                if run is None:
                    remaining.remove(one)
                    self.total -= len(starts) - number
                    continue
                self.runs.append(run)
                keep(self.store, run)
                self._report(run)

    def _report(self, latest: object) -> None:
        seconds = time.perf_counter() - self.begin
        self.watch(Progress("runs", len(self.runs), self.total, seconds, latest))

    def _in_turn(self, task: Task, entrants: list[Entrant]) -> Iterator[tuple[Entrant, Run | None]]:
        """Run the solvers one after the other, again and again; yield each one's median run.

        A run that failed or took all the time is not worth repeating.
        """
        known = {one: recall(self.store, task.label, one.name, task.number) for one in entrants}
        tried: dict[Entrant, list[Run]] = {one: [] for one in entrants if known[one] is None}
        for turn in range(self.asked["repeats"]):
            for one in entrants:
                runs = tried.get(one)
                if runs is not None and (not runs or runs[-1].outcome == "ended"):
                    try:
                        runs.append(measure(task, one))
                    except DoesNotApply as error:
                        del tried[one]
                        which = {"solver": one.name, "problem": task.label, "reason": str(error)}
                        self.not_applicable.append(which)
                if turn == self.asked["repeats"] - 1:
                    yield one, known[one] or _median(tried.get(one, []))

    def _describe(self, label: str, case: Case) -> None:
        """Keep what the solvers are on this problem: some settings depend on it."""
        for one in self.entrants:
            try:
                solver = one.make(case.problem, self.demands)
                said = described(solver)
            except Exception as error:
                solver, said = None, f"cannot be made: {error}"
            if isinstance(solver, TrustRegion) and isinstance(solver.radius, FixedRadius):
                self.fixed_radii.setdefault(one.name, {})[label] = solver.radius.radius
            self.descriptions.setdefault(one.name, {}).setdefault(said, []).append(label)

    def description(self, name: str) -> str:
        """Say what a solver was, on every problem or on each."""
        found = self.descriptions.get(name, {name: []})
        if len(found) == 1:
            return next(iter(found))
        return "; ".join(f"{', '.join(labels)}: {said}" for said, labels in found.items())


def _median(runs: list[Run]) -> Run | None:
    ordered = sorted(runs, key=lambda run: run.seconds)
    return ordered[(len(ordered) - 1) // 2] if ordered else None


def _checked_tolerances(tolerances: Sequence[float]) -> tuple[float, ...]:
    try:
        goals = tuple(sorted({float(value) for value in tolerances}, reverse=True))
    except (TypeError, ValueError):
        goals = ()
    if not goals or not all(0.0 < value < math.inf for value in goals):
        raise ArgumentError(
            "tolerances",
            "be a list of positive, finite gradient norms, such as [1e-2, 1e-6]",
            tolerances,
        )
    return goals


def _command(
    settings: dict[str, Any], problems: list[str | None], entrants: list[Entrant]
) -> str | None:
    """Return the command that gives the same comparison, where its parts have names."""
    solvers = [one.spelling for one in entrants]
    for named in (problems, solvers):
        if None in named or len(set(named)) < len(named):
            return None
    listed = ",".join(map(repr, settings["tolerances"]))
    changed = {"seed": ("rng", settings["seed"]), "tolerances": ("tolerances", listed)}
    options = [("solvers", ",".join(map(str, solvers)))]
    options += [changed.get(name, (name, value)) for name, value in settings.items()]
    typed = [
        part for name, value in options for part in (f"--{name.replace('_', '-')}", str(value))
    ]
    return shlex.join(["riemtr", "compare", *map(str, problems), *typed])
