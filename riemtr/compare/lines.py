"""A comparison in lines: one solver on one problem, from starts of one kind."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from riemtr.compare.records import ENDINGS, Comparison, Run, end
from riemtr.compare.recovery_check import EXACT

KINDS = {"random": "random starts", "saddle": "starts at saddle points"}


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
