"""A comparison as a table: for each problem and kind of start, one line per solver."""

from __future__ import annotations

import html
import statistics
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from riemtr.compare.records import Comparison, Reach, Run
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
    stuck : int
        Those that ended there without a claim.
    solved : int or None
        Those that ended at the known solution; None where it is not known.
    timed_out, failed : int
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
    stuck: int
    solved: int | None
    timed_out: int
    failed: int
    seconds: float | None
    oracles: float | None
    to_gradient: float | None = None
    rounded: int | None = None
    remark: str = ""

    @property
    def unreached(self) -> int:
        """Runs that ended by themselves, but not at a critical point."""
        at_critical_points = self.certified + self.deceived + self.stuck
        return self.runs - at_critical_points - self.timed_out - self.failed


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
        stuck=sum(run.stuck for run in runs),
        solved=sum(known) if known else None,
        timed_out=sum(run.outcome == "timed out" for run in runs),
        failed=len(failures),
        seconds=_median([run.seconds for run in timed]),
        oracles=_median([run.oracles for run in timed]),
        to_gradient=_median([one.seconds for one in reaches if one is not None]),
        rounded=_rounded(runs),
        remark=reason or (failures[0].status if failures else ""),
    )


def _rounded(runs: list[Run]) -> int | None:
    known = [run for run in runs if run.success is not None and "rounded_error" in run.details]
    return sum(exact_once_rounded(run) for run in known) if known else None


def exact_once_rounded(run: Run) -> bool:
    """Whether the dictionary of a recovery run is exact once riemtr rounds its rows."""
    error = run.details.get("rounded_error")
    return run.outcome == "ended" and error is not None and error <= EXACT


def end(run: Run, tolerance: float | None) -> Reach | None:
    """Return when a run reached a tolerance; its end where there is none to reach."""
    if tolerance is None:
        return Reach(0.0, run.seconds, run.counts, run.oracles)
    return next((reach for reach in run.reached if reach.tolerance == tolerance), None)


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


def columns(comparison: Comparison) -> dict[str, Callable[[Line], str]]:
    """Return the columns of a comparison's table: what to say of a line, by heading."""
    tolerances = comparison.settings.get("tolerances")
    if tolerances:
        return {
            "solver": lambda line: line.solver,
            "certified": _certified,
            "deceived": lambda line: str(line.deceived or ""),
            "solved": lambda line: _share(line, line.solved),
            "time": lambda line: _time(line.seconds),
            "calls": lambda line: "" if line.oracles is None else f"{line.oracles:.0f}",
            f"to {tolerances[-1]:g}": lambda line: _time(line.to_gradient),
            "otherwise": otherwise,
        }
    return {  # whole methods: there is no gradient to reach, and no saddle point
        "solver": lambda line: line.solver,
        "certified": _certified,
        "solved": lambda line: _share(line, line.solved),
        "rounded": lambda line: _share(line, line.rounded),
        "time": lambda line: _time(line.seconds),
        "otherwise": otherwise,
    }


def rows(comparison: Comparison, block: Iterable[Line]) -> list[tuple[str, ...]]:
    """Return the cells of lines as text, under :func:`columns`."""
    said = columns(comparison).values()
    return [tuple(say(line) for say in said) for line in block]


def _certified(line: Line) -> str:
    return f"{line.certified}/{line.runs}" if line.runs else ""


def _share(line: Line, number: int | None) -> str:
    return "" if number is None else f"{number}/{line.runs}"


def _time(seconds: float | None) -> str:
    return "" if seconds is None else in_seconds(seconds)


def otherwise(line: Line) -> str:
    """Say what became of the other runs."""
    if not line.runs:
        return "does not apply"
    parts = (
        (line.stuck, "at a saddle point"),
        (line.timed_out, "timed out"),
        (line.failed, "failed"),
        (line.unreached, "fell short"),
    )
    return ", ".join(f"{count} {what}" for count, what in parts if count)


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


_RECOVERY = (
    "certified: every row is proved optimal by a duality gap",
    "solved: ended at the true dictionary",
    "rounded: at the true dictionary once riemtr rounds the rows",
    "time: median of the whole run, over the runs that ended",
    "fell short: ended by itself, with rows that are not optimal",
)


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
            "fell short: ended by itself, the gradient not small, or the curvature undecided",
        ]
    lacking = lack_rounding(comparison)
    if lacking:
        explained.append(f"rounding is all that is missing here: {', '.join(lacking)}")
    if not comparison.runs:
        explained.append("no runs: nothing that was asked for could be run")
    remarks = {
        (one["solver"], one["problem"]): one["reason"] for one in settings.get("not_applicable", [])
    }
    for run in comparison.runs:
        if run.outcome == "failed":
            remarks.setdefault((run.solver, run.problem), run.status)
    explained += [f"{solver} on {problem}: {why}" for (solver, problem), why in remarks.items()]
    explained += _missing_saddles(settings)
    if settings.get("interrupted"):
        explained.append("interrupted: these are the runs that were finished")
    return explained


def _missing_saddles(settings: dict[str, Any]) -> Iterator[str]:
    for label, about in settings.get("problems", {}).items():
        found, why = about.get("saddles"), about.get("saddle_search")
        because = f" ({why})" if why else ""
        if settings.get("saddles") and found == 0:
            yield f"{label}: no saddle point was found to start from{because}"
        elif why:
            yield f"{label}: {found} of {settings['saddles']} saddle points were found{because}"


def title(problem: str, kind: str, runs: int) -> str:
    """Return the heading of one block of the table."""
    one = {"random": "random start", "saddle": "start at a saddle point"}
    return f"{problem}, {runs} {KINDS[kind]}" if runs != 1 else f"{problem}, 1 {one[kind]}"


def blocks(comparison: Comparison) -> list[tuple[str, list[Line]]]:
    """Return the lines grouped under their headings."""
    grouped: dict[tuple[str, str], list[Line]] = {}
    for line in lines(comparison):
        grouped.setdefault((line.problem, line.kind), []).append(line)
    return [
        (title(problem, kind, max(line.runs for line in block)), block)
        for (problem, kind), block in grouped.items()
    ]


def as_text(comparison: Comparison) -> str:
    """Return the table as plain text."""
    headings, widths = tuple(columns(comparison)), column_widths(comparison)

    def row(values: tuple[str, ...]) -> str:
        first, last = values[0].ljust(widths[0]), values[-1]
        middle = (
            value.rjust(width) for value, width in zip(values[1:-1], widths[1:-1], strict=True)
        )
        return "  ".join([first, *middle, last]).rstrip()

    text = [row(headings)]
    for heading, block in blocks(comparison):
        text += ["", heading, *map(row, rows(comparison, block))]
    return "\n".join([*text, "", *legend(comparison)])


def column_widths(comparison: Comparison) -> list[int]:
    """Return the number of characters of each column, the same in all blocks."""
    shown = [tuple(columns(comparison)), *rows(comparison, lines(comparison))]
    return [max(map(len, column)) for column in zip(*shown, strict=True)]


def as_html(comparison: Comparison) -> str:
    """Return the table as HTML, for notebooks."""
    headings = tuple(columns(comparison))

    def row(kind: str, values: tuple[str, ...]) -> str:
        sides = ["left", *["right"] * (len(values) - 2), "left"]
        return "".join(
            f"<{kind} style='text-align:{side}'>{html.escape(value)}</{kind}>"
            for side, value in zip(sides, values, strict=True)
        )

    body = ""
    for heading, block in blocks(comparison):
        span = f"<th colspan={len(headings)} style='text-align:left'>{html.escape(heading)}</th>"
        body += f"<tr>{span}</tr>"
        body += "".join(f"<tr>{row('td', cells)}</tr>" for cells in rows(comparison, block))
    notes = "<br>".join(map(html.escape, legend(comparison)))
    return f"<table><tr>{row('th', headings)}</tr>{body}</table><small>{notes}</small>"
