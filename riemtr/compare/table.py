"""A comparison as a table: for each problem and kind of start, one line per solver."""

from __future__ import annotations

import html
import statistics
from dataclasses import dataclass
from typing import Any

from riemtr.compare.records import Comparison, Reach, Run

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
        Medians to the tightest tolerance, over the certified runs that reached it; None where
        there are none. Where a comparison has no tolerances: of the whole runs.
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
    tolerances = comparison.settings.get("tolerances") or [None]
    ends = [end(run, tolerances[-1]) for run in runs if run.certified]
    known = [run.success for run in runs if run.success is not None]
    failures = [run for run in runs if run.outcome == "failed"]
    return Line(
        problem=problem,
        kind=kind,
        solver=name,
        runs=len(runs),
        certified=sum(run.certified for run in runs),
        deceived=sum(run.deceived for run in runs),
        stuck=sum(_stuck(run) for run in runs),
        solved=sum(known) if known else None,
        timed_out=sum(_out_of_time(run) for run in runs),
        failed=len(failures),
        seconds=_median([one.seconds for one in ends if one is not None]),
        oracles=_median([one.oracles for one in ends if one is not None]),
        remark=reason or (failures[0].status if failures else ""),
    )


def _stuck(run: Run) -> bool:
    return run.verdict in ("saddle", "maximizer") and not run.claimed


def _out_of_time(run: Run) -> bool:
    return run.outcome == "timed out" and not (run.certified or run.deceived or _stuck(run))


def end(run: Run, tolerance: float | None) -> Reach | None:
    """Return when a run reached a tolerance; its end where there is none to reach."""
    if tolerance is None:
        return Reach(0.0, run.seconds, run.counts, run.oracles)
    return next((reach for reach in run.reached if reach.tolerance == tolerance), None)


def _median(values: list[Any]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


HEADINGS = ("solver", "certified", "deceived", "solution", "time", "calls", "otherwise")


def cells(line: Line) -> tuple[str, ...]:
    """Return a line's cells as text, under :data:`HEADINGS`."""
    if not line.runs:
        return (line.solver, "", "", "", "", "", "does not apply")
    return (
        line.solver,
        f"{line.certified}/{line.runs}",
        str(line.deceived or ""),
        "" if line.solved is None else f"{line.solved}/{line.runs}",
        "" if line.seconds is None else in_seconds(line.seconds),
        "" if line.oracles is None else f"{line.oracles:.0f}",
        otherwise(line),
    )


def otherwise(line: Line) -> str:
    """Say what became of the other runs."""
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
    "solution: ended at the true dictionary",
    "time: median of the whole run, over the certified runs",
    "fell short: ended by itself, with rows that are not optimal",
)


def legend(comparison: Comparison) -> list[str]:
    """Explain the columns."""
    tolerances = comparison.settings.get("tolerances")
    explained = list(_RECOVERY)  # whole methods: there is no gradient to reach
    if tolerances:
        explained = [
            "certified: ended at a point that riemtr certifies as a minimizer",
            "deceived: called itself converged at a saddle point or a maximizer",
            "solution: ended at the known solution, not at another local minimum",
            f"time, calls: medians to a gradient norm of {tolerances[-1]:g}, over certified runs; "
            "calls of cost, gradient and Hessian together, a Hessian matrix as one per dimension",
            "fell short: ended by itself, the gradient not small, or the curvature undecided",
        ]
    remarks = dict.fromkeys((line.solver, line.problem, line.remark) for line in lines(comparison))
    for solver, problem, remark in remarks:
        if remark:
            explained.append(f"{solver} on {problem}: {remark}")
    for label, about in comparison.settings.get("problems", {}).items():
        if comparison.settings.get("saddles") and about.get("saddles") == 0:
            explained.append(f"{label}: no saddle point was found to start from")
    if comparison.settings.get("interrupted"):
        explained.append("interrupted: these are the runs that were finished")
    return explained


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
    shown = [HEADINGS, *(cells(line) for line in lines(comparison))]
    widths = [max(len(row[column]) for row in shown) for column in range(len(HEADINGS))]

    def row(values: tuple[str, ...]) -> str:
        first, last = values[0].ljust(widths[0]), values[-1]
        middle = (
            value.rjust(width) for value, width in zip(values[1:-1], widths[1:-1], strict=True)
        )
        return "  ".join([first, *middle, last]).rstrip()

    text = [row(HEADINGS)]
    for heading, block in blocks(comparison):
        text += ["", heading, *(row(cells(line)) for line in block)]
    return "\n".join([*text, "", *legend(comparison)])


def as_html(comparison: Comparison) -> str:
    """Return the table as HTML, for notebooks."""

    def row(kind: str, values: tuple[str, ...]) -> str:
        sides = ["left", *["right"] * (len(values) - 2), "left"]
        return "".join(
            f"<{kind} style='text-align:{side}'>{html.escape(value)}</{kind}>"
            for side, value in zip(sides, values, strict=True)
        )

    body = ""
    for heading, block in blocks(comparison):
        span = f"<th colspan={len(HEADINGS)} style='text-align:left'>{html.escape(heading)}</th>"
        body += f"<tr>{span}</tr>"
        body += "".join(f"<tr>{row('td', cells(line))}</tr>" for line in block)
    notes = "<br>".join(map(html.escape, legend(comparison)))
    return f"<table><tr>{row('th', HEADINGS)}</tr>{body}</table><small>{notes}</small>"
