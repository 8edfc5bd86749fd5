"""A comparison in words and figures: a line for each solver, problem and kind of start."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
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
    settings = comparison.settings
    tolerances = settings.get("tolerances")
    headings = ["solver", "certified", "solved", "time", "otherwise"]
    if tolerances:
        headings[2:4] = ["deceived", "solved", "time", "calls", f"to {tolerances[-1]:g}"]
    elif is_recovery(comparison):  # there is no gradient to reach, and no saddle point
        headings[3:3] = ["rounded"]
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
        table=Table(tuple(headings), tuple(rows), f"l{'r' * (len(headings) - 2)}l"),
        notes=tuple(legend(comparison)),
        line=f"certified: {', '.join(_scores(comparison))}",
    )


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
        "solved": f"{sum(bool(run.success) for run in known)}/{len(runs)}" if known else "",
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
