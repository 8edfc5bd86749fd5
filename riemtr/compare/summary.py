"""A comparison in words and figures: a line for each solver, problem and kind of start."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from riemtr.compare.records import ENDINGS, RECOVERY, Comparison, Run, end
from riemtr.compare.recovery_check import EXACT
from riemtr.summary import BAD, DOUBTFUL, GOOD, Cell, Summary, Table

KINDS = {"random": "random starts", "saddle": "starts at saddle points"}
"""Kinds of starts, in words."""

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
# Endings that the solver gives a reason for.
_EXPLAINED = ("failed", "unfinished", "stuck")


def comparison_summary(comparison: Comparison) -> Summary:
    """Return the table of a comparison, what its columns mean, and what is missing in it."""
    tolerances, found = comparison.settings.get("tolerances"), lines(comparison)
    headings = ["solver", "certified", "solved", "time", "otherwise"]
    if tolerances:
        headings[2:4] = ["deceived", "solved", "time", "calls", f"to {tolerances[-1]:g}"]
    elif is_recovery(comparison):  # there is no gradient to reach, and no saddle point
        headings[3:3] = ["rounded"]
    rows: list[tuple[Cell, ...]] = []
    most = Counter[tuple[str, str]]()
    for line in found:
        most[line.problem, line.kind] = max(most[line.problem, line.kind], line.runs)
    for key, runs in most.items():
        rows.append((_heading(*key, runs),))
        block = [line for line in found if (line.problem, line.kind) == key]
        rows += [
            tuple(_cells(line)[heading.split(" ")[0]] for heading in headings) for line in block
        ]
    return Summary(
        "",
        table=Table(tuple(headings), tuple(rows), f"l{'r' * (len(headings) - 2)}l"),
        notes=tuple(legend(comparison)),
        line=f"certified: {', '.join(_scores(comparison))}",
    )


def _cells(line: Line) -> dict[str, Cell]:
    """Return what to say of a line, by the first word of a heading."""
    if not line.runs:
        nothing = ("certified", "deceived", "solved", "rounded", "time", "calls", "to")
        return {"solver": line.solver, "otherwise": "does not apply", **dict.fromkeys(nothing, "")}
    others = {how: n for how, n in line.endings.items() if how not in ("certified", "deceived")}
    return {
        "solver": line.solver,
        "certified": (
            f"{line.certified}/{line.runs}",
            GOOD if line.certified == line.runs else DOUBTFUL,
        ),
        "deceived": (str(line.deceived or ""), BAD),
        "solved": _share(line, line.solved),
        "rounded": _share(line, line.rounded),
        "time": _time(line.seconds),
        "calls": "" if line.oracles is None else f"{line.oracles:.0f}",
        "to": _time(line.to_gradient),
        "otherwise": (in_words(others), DOUBTFUL),
    }


def _heading(problem: str, kind: str, runs: int) -> str:
    one = {"random": "1 random start", "saddle": "1 start at a saddle point"}
    return f"{problem}, {one[kind] if runs == 1 else f'{runs} {KINDS[kind]}'}"


def _share(line: Line, number: int | None) -> str:
    return "" if number is None else f"{number}/{line.runs}"


def _time(seconds: float | None) -> str:
    return "" if seconds is None else in_seconds(seconds)


def in_seconds(value: float) -> str:
    """Write a time with its unit.

    Examples
    --------
    >>> [in_seconds(value) for value in (0.00002, 0.0123, 4.56, 78.9)]
    ['0.02 ms', '12.3 ms', '4.56 s', '78.9 s']
    """
    if value < 1e-3:
        return f"{1e3 * value:.2g} ms"
    return f"{1e3 * value:.3g} ms" if value < 0.9995 else f"{value:.3g} s"


def _scores(comparison: Comparison) -> Iterator[str]:
    """Say of each solver how many of its runs are certified, and how the others ended."""
    for name in comparison.settings.get("solvers", comparison.solvers):
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


@dataclass(frozen=True)
class Line:
    """One solver on one problem, from starts of one kind.

    Attributes
    ----------
    problem, kind, solver : str
    runs : int
        How many there are.
    certified : int
        Those that ended at a certified minimizer.
    deceived : int
        Those that called themselves converged at a saddle point or a maximizer.
    solved : int or None
        Those that ended at the known solution; None where it is not known.
    endings : dict
        How many ended how, by the keys of :data:`~riemtr.compare.records.ENDINGS`.
    seconds, oracles : float or None
        Medians of whole runs, over the certified ones; None where there are none. Where a
        comparison has no tolerances: over all that ended.
    to_gradient : float or None
        Median of the seconds until the gradient was within the tightest tolerance, over the same.
    rounded : int or None
        Those of dictionary recovery whose dictionary is exact once riemtr rounds their rows.
    remark : str
        Why the solver does not apply, or the error of its first failure.
    """

    problem: str
    kind: str
    solver: str
    runs: int
    certified: int
    deceived: int
    solved: int | None
    endings: dict[str, int]
    seconds: float | None
    oracles: float | None
    to_gradient: float | None = None
    rounded: int | None = None
    remark: str = ""


def lines(comparison: Comparison) -> list[Line]:
    """Return the lines of the table, in the order of problems, kinds and solvers."""
    found = []
    names = list(comparison.settings.get("solvers", comparison.solvers))
    reasons = {
        (absent["problem"], absent["solver"]): absent["reason"]
        for absent in comparison.settings.get("not_applicable", [])
    }
    for problem in comparison.problems:
        for kind in KINDS:
            group = [run for run in comparison.runs if run.problem == problem and run.kind == kind]
            for name in names if group else []:
                mine = [run for run in group if run.solver == name]
                reason = reasons.get((problem, name), "")
                if mine or reason:
                    found.append(_line(comparison, problem, kind, name, mine, reason))
    return found


def _line(
    comparison: Comparison, problem: str, kind: str, name: str, runs: list[Run], reason: str
) -> Line:
    tolerances = comparison.settings.get("tolerances")
    timed = [run for run in runs if (run.certified if tolerances else run.outcome == "ended")]
    reaches = [end(run, tolerances[-1]) for run in timed] if tolerances else []
    known = [run.success for run in runs if run.success is not None]
    failures = [run for run in runs if run.outcome == "failed"]
    return Line(
        problem=problem,
        kind=kind,
        solver=name,
        runs=len(runs),
        certified=sum(run.certified for run in runs),
        deceived=sum(run.deceived for run in runs),
        solved=sum(known) if known else None,
        endings=count_endings(runs),
        seconds=_median([run.seconds for run in timed]),
        oracles=_median([run.oracles for run in timed]),
        to_gradient=_median([one.seconds for one in reaches if one is not None]),
        rounded=_rounded(runs),
        remark=reason or (failures[0].status if failures else ""),
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


def _rounded(runs: list[Run]) -> int | None:
    known = [run for run in runs if run.success is not None and "rounded_error" in run.details]
    return sum(exact_once_rounded(run) for run in known) if known else None


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


def legend(comparison: Comparison) -> list[str]:
    """Explain the columns, and what is missing."""
    settings = comparison.settings
    tolerances = settings.get("tolerances")
    explained = list(_RECOVERY)
    if tolerances:
        explained = [
            "certified: ended at a point that riemtr certifies as a minimizer",
            "deceived: called itself converged at a saddle point or a maximizer",
            "solved: ended at the known solution, not at another local minimum",
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
    remarks = {
        (one["solver"], one["problem"]): one["reason"] for one in settings.get("not_applicable", [])
    }
    for run in comparison.runs:
        if run.ending in _EXPLAINED:
            remarks.setdefault((run.solver, run.problem), run.status)
    explained += [f"{solver} on {problem}: {why}" for (solver, problem), why in remarks.items()]
    explained += _missing_saddles(settings)
    if settings.get("interrupted"):
        explained.append("interrupted: these are the runs that were finished")
    return explained


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
