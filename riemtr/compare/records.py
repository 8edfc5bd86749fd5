"""The records of a comparison: plain, as Python objects, as JSON and as a table."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from riemtr.compare.recovery_check import EXACT
from riemtr.errors import FileContentError
from riemtr.files import read_json, reading, save_json, typed
from riemtr.store import read_store
from riemtr.summary import BAD, DOUBTFUL, GOOD, Cell, Summarised, Summary, Table, plural

FORMAT = "riemtr comparison 1"
COUNTS = ("costs", "gradients", "hessian_products", "hessian_matrices")

RECOVERY = "dictionary-recovery"
"""The label of comparisons of whole recovery methods."""

ENDINGS = {
    "certified": "certified minimizer",
    "narrow": "narrowly missed",
    "deceived": "“converged” at a saddle point",
    "unconfirmed": "“converged”, not confirmed",
    "stuck": "at a saddle point",
    "unfinished": "fell short",
    "timed out": "timed out",
    "failed": "failed",
}
"""The ways a run can end, :attr:`Run.ending`, in the words of tables, page and headline."""


KINDS = {"random": "random starts", "saddle": "starts at saddle points"}
"""Kinds of starts, in words."""

# The columns of a trajectory, and how a run may have ended for those who watched it.
_TRAJECTORY = ("seconds", "oracles", "cost", "gradient_norm")
_OUTCOMES = ("ended", "failed", "timed out")
# What a file must be that is read, in messages.
_OURS = "a comparison that riemtr saved, whole"

_RECOVERY = (
    "certified: every row is proved optimal by a duality gap",
    "solved: ended at the true dictionary",
    "rounded: at the true dictionary once riemtr rounds the rows",
    "time: median of the whole run, over the runs that ended",
)
_RECOVERY_ENDINGS = {
    "unconfirmed": "by its own criterion, with rows that are not optimal",
    "unfinished": "ended with rows that are not optimal, and does not call that converged",
}
# Columns of what a run takes, by the first words of their headings.
_MEASURED = ("time", "calls", "to")
# The least that a run is taken to take, so that ratios are finite.
_LEAST = 1e-9
# Problems of which a solver's reasons not to apply are told one by one.
_FEW = 2
# Endings that the solver gives a reason for.
_EXPLAINED = ("failed", "unfinished", "stuck")


@dataclass(frozen=True)
class Reach:
    """When a run reached a tolerance for good, and what it had asked the cost for by then.

    For good: the gradient norm stayed below from there to the end. A run that starts at a saddle
    point and leaves it has not reached anything there.

    Attributes
    ----------
    tolerance : float
        The gradient norm to reach.
    seconds : float
    counts : dict
        Oracle calls by name, those of :data:`COUNTS`.
    oracles : int or None
        The same in one number: cost, gradient and Hessian calls together, a Hessian matrix
        as one call per dimension of the manifold. None where nothing was counted.
    """

    tolerance: float
    seconds: float
    counts: dict[str, int]
    oracles: int | None = None


@dataclass(frozen=True)
class Run:
    """One solver on one problem from one start.

    Attributes
    ----------
    problem : str
        Label of the problem: its name, with parameters where two instances share it.
    solver : str
        The solver's name in the comparison.
    start : int
        Number of the start; the same number is the same point for every solver.
    kind : str
        "random" or "saddle".
    outcome : str
        "ended", "failed" (it raised an error) or "timed out": an endpoint that came too late is
        on record, but counts for nothing.
    status : str
        How the solver itself says it ended, in a word or a sentence; the error if it failed.
    claimed : bool
        Whether the solver calls itself converged.
    verdict : str or None
        Of the certificate of its endpoint; None where there is no endpoint.
    success : bool or None
        Whether the endpoint is the known solution, None where it is not known.
    distance : float or None
        From the known solution, likewise.
    cost, gradient_norm, min_eigenvalue, error_bound : float or None
        At the endpoint, evaluated by riemtr and not by the solver.
    seconds : float
        Of the solver alone.
    iterations : int or None
    counts : dict
        Oracle calls of the whole run by name.
    reached : tuple of Reach
        The tolerances of the comparison that were reached, loosest first.
    trajectory : dict
        Equal-length lists "seconds", "oracles" (cost, gradient and Hessian calls together),
        "cost", "gradient_norm": the run as it went, thinned to at most a few hundred rows.
    details : dict
        Whatever else is worth keeping, as JSON knows it.
    oracles : int or None
        Oracle calls of the whole run in one number, see :class:`Reach`.
    narrow : bool
        Whether the endpoint would be certified if the gradient norm were allowed to be twice the
        tightest tolerance.
    """

    problem: str
    solver: str
    start: int
    kind: str
    outcome: str
    status: str
    claimed: bool
    verdict: str | None = None
    success: bool | None = None
    distance: float | None = None
    cost: float | None = None
    gradient_norm: float | None = None
    min_eigenvalue: float | None = None
    error_bound: float | None = None
    seconds: float = 0.0
    iterations: int | None = None
    counts: dict[str, int] = field(default_factory=dict)
    reached: tuple[Reach, ...] = ()
    trajectory: dict[str, list[Any]] = field(default_factory=dict, repr=False)
    details: dict[str, Any] = field(default_factory=dict, repr=False)
    oracles: int | None = None
    narrow: bool = False

    def __str__(self) -> str:
        return f"{self.problem}, {self.solver}"

    @property
    def ending(self) -> str:
        """How it ended, one of :data:`ENDINGS`; the first that applies.

        Examples
        --------
        >>> Run("rayleigh", "sd", 0, "saddle", "ended", "", claimed=True, verdict="saddle").ending
        'deceived'
        """
        if self.outcome in ("timed out", "failed"):
            return self.outcome
        if self.certified:
            return "certified"
        if self._at_a_saddle:
            return "deceived" if self.claimed else "stuck"
        if self.narrow:
            return "narrow"
        return "unconfirmed" if self.claimed else "unfinished"

    @property
    def certified(self) -> bool:
        """Whether it ended at a certified minimizer, and in time."""
        return self.outcome == "ended" and self.verdict == "minimizer"

    @property
    def deceived(self) -> bool:
        """Whether the solver calls itself converged where the certificate shows a way down."""
        return self.claimed and self._at_a_saddle

    @property
    def _at_a_saddle(self) -> bool:
        return self.outcome == "ended" and self.verdict in ("saddle", "maximizer")


@dataclass(frozen=True)
class _Absent:
    """A solver that does not apply to a problem, as settings name it under "not_applicable"."""

    problem: str
    solver: str
    reason: str


# Types of those settings that tables, figures and pages look into.
_SETTINGS: dict[str, Any] = {
    "problems": dict[str, Any],
    "solvers": dict[str, Any],
    "tolerances": list[float],
    "not_applicable": list[dict[str, str]],
    "command": str | None,
}


@dataclass(frozen=True, repr=False)
class Comparison(Summarised):
    """All runs of a comparison, with what reproduces them.

    Attributes
    ----------
    settings : dict
        As asked for: "problems" (name and parameters by label), "solvers" (descriptions by
        name), "starts", "seed", "tolerances", "max_seconds" and so on; "command" reproduces it,
        None where no command can.
    environment : dict
        See :func:`riemtr.environment.environment`.
    runs : tuple of Run
    """

    settings: dict[str, Any]
    environment: dict[str, Any]
    runs: tuple[Run, ...] = field(repr=False)

    @property
    def problems(self) -> list[str]:
        """Labels of the problems, in order, those that nothing ran on included."""
        labels = [*self.settings.get("problems", {}), *(run.problem for run in self.runs)]
        return list(dict.fromkeys(labels))

    @property
    def solvers(self) -> list[str]:
        """Names of the solvers, in order."""
        return list(dict.fromkeys(run.solver for run in self.runs))

    def summary(self) -> Summary:
        """Return a table with a line per solver, problem and kind of start, and what it means."""
        return _summary(self)

    def overall(self) -> Summary:
        """Return the same of all problems together, with times over the best ones."""
        return _overall(self)

    def save(self, path: str | Path) -> Path:
        """Write everything as JSON; :func:`load` reads it."""
        return save_json(Path(path), {"format": FORMAT, **asdict(self)})


def end(run: Run, tolerance: float | None) -> Reach | None:
    """Return when a run reached a tolerance; its end where there is none to reach."""
    if tolerance is None:
        return Reach(0.0, run.seconds, run.counts, run.oracles)
    return next((reach for reach in run.reached if reach.tolerance == tolerance), None)


def load(path: str | Path) -> Comparison:
    """Read a comparison that was saved, or what a store has of one that was stopped or killed."""
    if Path(path).suffix in (".sqlite", ".jsonl"):  # jsonl: what older versions kept runs in
        return _of_store(Path(path))
    with reading(path, _OURS):
        content = typed(dict, read_json(path), "a comparison")
        if content.get("format") != FORMAT:
            raise ValueError(f"JSON that does not say that its format is {FORMAT!r}")
        settings = typed(dict, content["settings"], "settings")
        for name, kind in _SETTINGS.items():
            if name in settings:
                typed(kind, settings[name], name)
        for absent in settings.get("not_applicable", []):
            typed(_Absent, absent, "not_applicable")
        runs = tuple(map(as_run, typed(list, content["runs"], "runs")))
        return Comparison(settings, typed(dict, content["environment"], "environment"), runs)


def as_run(record: Any) -> Run:
    """Return the run that a record holds, or raise an error for what it must not have."""
    run: Run = typed(Run, record, "a run")
    if run.kind not in KINDS or run.outcome not in _OUTCOMES:
        raise ValueError(f"a run of an unknown kind, {run.kind!r} and {run.outcome!r}")
    columns = typed(dict[str, list[float | None]], run.trajectory, "the trajectory")
    if columns and not {*_TRAJECTORY} <= set(columns):
        raise ValueError(f"a trajectory without one of its columns, {', '.join(_TRAJECTORY)}")
    if len({len(column) for column in columns.values()}) > 1:
        raise ValueError("a trajectory with columns of several lengths")
    typed(float | None, run.details.get("rounded_error"), "rounded_error")
    return run


def _of_store(path: Path) -> Comparison:
    identity, records, _ = read_store(path)
    if identity.get("of") != "comparison":
        raise FileContentError(f"{path} must be {_OURS}; got: the store of another kind of run")
    with reading(path, _OURS):
        runs = tuple(map(as_run, records.values()))
    tolerances = sorted({reach.tolerance for run in runs for reach in run.reached}, reverse=True)
    return Comparison({"tolerances": tolerances, "interrupted": True}, {}, runs)


# --- in words and figures ------------------------------------------------------------------------


def _headings(comparison: Comparison) -> list[str]:
    tolerances = comparison.settings.get("tolerances")
    headings = ["solver", "certified", "solved", "time", "otherwise"]
    if tolerances:
        headings[2:4] = ["deceived", "solved", "time", "calls", f"to {tolerances[-1]:g}"]
    elif is_recovery(comparison):  # there is no gradient to reach, and no saddle point
        headings[3:3] = ["rounded"]
    return headings


def _table(headings: list[str], rows: list[tuple[Cell, ...]]) -> Table:
    return Table(tuple(headings), tuple(rows), f"l{'r' * (len(headings) - 2)}l")


def _summary(comparison: Comparison) -> Summary:
    """Return the table of a comparison, what its columns mean, and what is missing in it."""
    settings, headings = comparison.settings, _headings(comparison)
    tolerances = settings.get("tolerances")
    absent = {(one["problem"], one["solver"]) for one in settings.get("not_applicable", [])}
    rows: list[tuple[Cell, ...]] = []
    for problem, kind in product(comparison.problems, KINDS):
        group = [run for run in comparison.runs if (run.problem, run.kind) == (problem, kind)]
        runs = {name: [run for run in group if run.solver == name] for name in _names(comparison)}
        if group:
            rows.append((_heading(problem, kind, max(map(len, runs.values()))),))
        for name, mine in runs.items() if group else ():
            if mine or (problem, name) in absent:
                cells = {"solver": name, **_cells(mine, tolerances and tolerances[-1])}
                rows.append(tuple(cells.get(heading.split(" ")[0], "") for heading in headings))
    return Summary(
        "",
        table=_table(headings, rows),
        notes=tuple(legend(comparison)),
        line=_line(comparison),
    )


def _overall(comparison: Comparison) -> Summary:
    """Return the table of all problems together."""
    headings, absent = _headings(comparison), Counter[str]()
    absent.update(one["solver"] for one in comparison.settings.get("not_applicable", []))
    tolerance = (comparison.settings.get("tolerances") or [None])[-1]
    rows: list[tuple[Cell, ...]] = []
    for kind in KINDS:
        group = [run for run in comparison.runs if run.kind == kind]
        if not group:
            continue
        instances = {(run.problem, run.start) for run in group}
        problems = plural(len({problem for problem, _ in instances}), "problem")
        rows.append((_heading(problems, kind, len(instances)),))
        best = _best(group, tolerance)
        judged = {run.problem for run in group if run.success is not None}
        for name in _names(comparison):
            mine = [run for run in group if run.solver == name]
            cells = {"solver": name, **_cells(mine, tolerance)} | _ratios(mine, tolerance, best)
            known = [run for run in mine if run.problem in judged]
            cells["solved"] = f"{sum(map(_solved, known))}/{len(known)}" if known else ""
            if absent[name]:
                left_out = f"does not apply to {plural(absent[name], 'problem')}"
                others = cells["otherwise"][0] if mine else ""
                cells["otherwise"] = ", ".join(filter(None, [others, left_out]))
            rows.append(tuple(cells.get(heading.split(" ")[0], "") for heading in headings))
    over = "over the least that a certified run from the same start took, geometric means"
    measured = ", ".join(heading for heading in headings if heading.split(" ")[0] in _MEASURED)
    notes = [f"{measured}: {over}", *_explained(comparison), *explained_endings(comparison)]
    return Summary("", table=_table(headings, rows), notes=tuple(notes), line=_line(comparison))


def _solved(run: Run) -> bool:
    return bool(run.success)


def _best(runs: list[Run], tolerance: float | None) -> dict[tuple[str, int], dict[str, float]]:
    """Return the least that certified runs of each instance took, by first words of headings."""
    best: dict[tuple[str, int], dict[str, float]] = {}
    for run in runs:
        least = best.setdefault((run.problem, run.start), {})
        for word, value in _taken(run, tolerance).items():
            least[word] = min(value, least.get(word, math.inf))
    return best


def _taken(run: Run, tolerance: float | None) -> dict[str, float]:
    """Return what a certified run took, by first words of headings; nothing for another."""
    if not run.certified:
        return {}
    reach = end(run, tolerance)
    known = {
        "time": run.seconds,
        "calls": run.oracles,
        "to": None if reach is None else reach.seconds,
    }
    return {word: max(value, _LEAST) for word, value in known.items() if value is not None}


def _ratios(
    runs: list[Run], tolerance: float | None, best: dict[tuple[str, int], dict[str, float]]
) -> dict[str, Cell]:
    """Return what runs took over the best, geometric means, by first words of headings."""
    found: dict[str, list[float]] = {word: [] for word in _MEASURED}
    for run in runs:
        for word, value in _taken(run, tolerance).items():
            found[word].append(value / best[run.problem, run.start][word])
    means = {word: statistics.geometric_mean(ratios) for word, ratios in found.items() if ratios}
    return {word: f"{means[word]:.2f}x" if word in means else "" for word in found}


def _line(comparison: Comparison) -> str:
    return f"certified: {', '.join(_scores(comparison))}"


def _cells(runs: list[Run], tolerance: float | None) -> dict[str, Cell]:
    """Return what to say of runs of one solver, by the first word of a heading.

    Times and calls are medians over the certified runs; where there is no tolerance to reach, over
    all that ended.
    """
    if not runs:
        return {"otherwise": "does not apply"}
    certified = sum(run.certified for run in runs)
    timed = [run for run in runs if (run.certified if tolerance else run.outcome == "ended")]
    reaches = [end(run, tolerance) for run in timed]
    known = [run for run in runs if run.success is not None]
    rounded = [run for run in known if "rounded_error" in run.details]
    calls = _median([run.oracles for run in timed])
    others = count_endings(run for run in runs if run.ending not in ("certified", "deceived"))
    return {
        "certified": (f"{certified}/{len(runs)}", GOOD if certified == len(runs) else DOUBTFUL),
        "deceived": (str(sum(run.deceived for run in runs) or ""), BAD),
        "solved": f"{sum(map(_solved, known))}/{len(runs)}" if known else "",
        "rounded": f"{sum(map(exact_once_rounded, rounded))}/{len(runs)}" if rounded else "",
        "time": in_seconds(_median([run.seconds for run in timed])),
        "calls": "" if calls is None else f"{calls:.0f}",
        "to": in_seconds(_median([one.seconds for one in reaches if one is not None])),
        "otherwise": (in_words(others), DOUBTFUL),
    }


def _names(comparison: Comparison) -> list[str]:
    return list(comparison.settings.get("solvers", comparison.solvers))


def _heading(problem: str, kind: str, runs: int) -> str:
    one = {"random": "1 random start", "saddle": "1 start at a saddle point"}
    return f"{problem}, {one[kind] if runs == 1 else f'{runs} {KINDS[kind]}'}"


def in_seconds(value: float | None) -> str:
    """Write a time with its unit, and nothing for none.

    Examples
    --------
    >>> [in_seconds(value) for value in (0.00002, 0.0123, 4.56, 78.9)]
    ['0.02 ms', '12.3 ms', '4.56 s', '78.9 s']
    """
    if value is None:
        return ""
    if value < 1e-3:
        return f"{1e3 * value:.2g} ms"
    return f"{1e3 * value:.3g} ms" if value < 0.9995 else f"{value:.3g} s"


def _scores(comparison: Comparison) -> Iterator[str]:
    """Say of each solver how many of its runs are certified, and how the others ended."""
    for name in _names(comparison):
        runs = [run for run in comparison.runs if run.solver == name]
        misses = count_endings(runs)
        certified = misses.pop("certified", 0)
        yield f"{name} {certified}/{len(runs)}" + (f" ({in_words(misses)})" if misses else "")


def is_recovery(comparison: Comparison) -> bool:
    """Whether this is one of whole recovery methods, whose certificate is one of rows."""
    return any(
        "rows_certified" in run.details or run.problem.partition(":")[0] == RECOVERY
        for run in comparison.runs
    )


def count_endings(runs: Iterable[Run]) -> dict[str, int]:
    """Return how many runs ended how, only the ways that occur, the best first."""
    counts = Counter(run.ending for run in runs)
    return {ending: counts[ending] for ending in ENDINGS if counts[ending]}


def in_words(endings: Mapping[str, int]) -> str:
    """Say how runs ended.

    Examples
    --------
    >>> in_words({"stuck": 1, "unfinished": 2})
    '1 at a saddle point, 2 fell short'
    """
    return ", ".join(f"{count} {ENDINGS[ending]}" for ending, count in endings.items())


def exact_once_rounded(run: Run) -> bool:
    """Whether the dictionary of a recovery run is exact once riemtr rounds its rows."""
    error = run.details.get("rounded_error")
    return run.outcome == "ended" and error is not None and error <= EXACT


def lack_rounding(comparison: Comparison) -> list[str]:
    """Return the recovery methods that are not exact, but would be if riemtr rounded their rows."""
    return [
        name
        for name in comparison.solvers
        for runs in [[run for run in comparison.runs if run.solver == name]]
        if all(map(exact_once_rounded, runs)) and not all(run.success for run in runs)
    ]


def _median(values: list[Any]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def _explained(comparison: Comparison) -> list[str]:
    """Explain the columns of how runs ended."""
    if not comparison.settings.get("tolerances"):
        return list(_RECOVERY)
    return [
        "certified: ended at a point that riemtr certifies as a minimizer",
        "deceived: called itself converged at a saddle point or a maximizer",
        "solved: ended at the known solution, or at one that a bound proves the lowest",
    ]


def legend(comparison: Comparison) -> list[str]:
    """Explain the columns, and what is missing."""
    settings = comparison.settings
    tolerances = settings.get("tolerances")
    explained = _explained(comparison)
    if tolerances:
        explained += [
            "time, calls: medians of whole runs, over certified runs, with all that a solver does "
            "about the curvature; calls of cost, gradient and Hessian together, a Hessian matrix "
            "as one per dimension",
            f"to {tolerances[-1]:g}: median time until the gradient norm was that small for good",
        ]
    explained += explained_endings(comparison)
    explained += _radii(settings)
    lacking = lack_rounding(comparison)
    if lacking:
        explained.append(f"rounding is all that is missing here: {', '.join(lacking)}")
    if not comparison.runs:
        explained.append("no runs: nothing that was asked for could be run")
    explained += _absences(settings)
    remarks: dict[tuple[str, str], str] = {}
    for run in comparison.runs:
        if run.ending in _EXPLAINED:
            remarks.setdefault((run.solver, run.problem), run.status)
    explained += [f"{solver} on {problem}: {why}" for (solver, problem), why in remarks.items()]
    explained += _missing_saddles(settings)
    if settings.get("interrupted"):
        explained.append("interrupted: these are the runs that were finished")
    return explained


def _absences(settings: dict[str, Any]) -> Iterator[str]:
    """Say where solvers do not apply, and why; of many problems for the first."""
    by_solver: dict[str, list[tuple[str, str]]] = {}
    for one in settings.get("not_applicable", []):
        by_solver.setdefault(one["solver"], []).append((one["problem"], one["reason"]))
    for solver, found in by_solver.items():
        if len(found) <= _FEW:
            yield from (f"{solver} on {problem}: {why}" for problem, why in found)
        else:
            problem, why = found[0]
            yield f"{solver} does not apply to {len(found)} problems; on {problem}: {why}"


def explained_endings(comparison: Comparison) -> list[str]:
    """Explain the words for how runs ended, those that occur."""
    tolerances, endings = comparison.settings.get("tolerances"), _RECOVERY_ENDINGS
    if tolerances:
        endings = {
            "narrow": f"a minimizer, but for a gradient norm of up to twice {tolerances[-1]:g}",
            "unconfirmed": "says so, but the gradient is not small, or the curvature undecided",
            "unfinished": "the gradient is not small, or the curvature undecided, and no claim",
        }
    occurring = {run.ending for run in comparison.runs}
    return [f"{ENDINGS[how]}: {why}" for how, why in endings.items() if how in occurring]


def _radii(settings: dict[str, Any]) -> Iterator[str]:
    """With what radius the methods ran that do not choose one themselves."""
    for solver, radii in settings.get("fixed_radii", {}).items():
        same = len(set(radii.values())) == 1
        each = (f"{radius:g}" if same else f"{radius:g} on {on}" for on, radius in radii.items())
        yield f"{solver}: fixed radius {', '.join(dict.fromkeys(each))}"


def _missing_saddles(settings: dict[str, Any]) -> Iterator[str]:
    for label, about in settings.get("problems", {}).items():
        found, why = about.get("saddles"), about.get("saddle_search")
        because = f" ({why})" if why else ""
        if settings.get("saddles") and found == 0:
            yield f"{label}: no saddle point was found to start from{because}"
        elif why:
            yield f"{label}: {found} of {settings['saddles']} saddle points were found{because}"
