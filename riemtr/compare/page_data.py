"""What the page draws, as JSON: every number once, thinned where no eye sees the difference."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

from riemtr.compare.colours import colour, places
from riemtr.compare.legend import explained_endings
from riemtr.compare.lines import lines
from riemtr.compare.profiles import LEAST, complete_instances
from riemtr.compare.records import ENDINGS, RECOVERY, Comparison, Run
from riemtr.compare.table import otherwise

STARTS_DRAWN = 20
"""Convergence is drawn for so many starts per problem and kind: more lines hide each other."""

POINTS_DRAWN = 60_000
"""Points of all these lines together: some 2 MB."""

_FEWEST, _MOST = 8, 150  # points of one line
_DIGITS = 4
_DETAILS = 12  # further measures to choose from

_ROWS_CERTIFIED = {
    "certified": "every row certified",
    "unconfirmed": "“converged”, not every row optimal",
}
_MEASURES: dict[str, Callable[[Run], Any]] = {
    "seconds": lambda run: run.seconds,
    "oracle calls": lambda run: run.oracles,
    "iterations": lambda run: run.iterations,
    "distance from the known solution": lambda run: run.distance,
    "gradient norm at the end": lambda run: run.gradient_norm,
    "smallest eigenvalue at the end": lambda run: run.min_eigenvalue,
    "cost at the end": lambda run: run.cost,
}


def page_data(comparison: Comparison) -> dict[str, Any]:
    """Return what the page's script needs, as JSON has it.

    Runs are columns of equal length; solvers, problems, kinds and categories are numbered.
    """
    runs = comparison.runs
    solvers, problems = solvers_of(comparison), comparison.problems
    hues = places([*comparison.settings.get("solvers", {}), *comparison.solvers])
    kinds = list(dict.fromkeys(run.kind for run in runs))
    tolerances = _tolerances(comparison)
    measures = _measures(runs)
    curves, note = _curves(runs)
    complete = set(complete_instances(comparison))
    return {
        "solvers": solvers,
        "colours": [colour(hues[name]) for name in solvers],
        "problems": problems,
        "kinds": kinds,
        "categories": [{"key": key, "label": label} for key, label in _labels(runs).items()],
        "tolerances": tolerances,
        "least": LEAST,
        "runs": {
            "solver": _numbers(solvers, (run.solver for run in runs)),
            "problem": _numbers(problems, (run.problem for run in runs)),
            "kind": _numbers(kinds, (run.kind for run in runs)),
            "start": [run.start for run in runs],
            "category": _numbers(list(ENDINGS), (run.ending for run in runs)),
            # Whether every solver came to this problem and start.
            "compared": [(run.problem, run.start) in complete for run in runs],
        },
        "whole": {
            "seconds": [rounded(run.seconds) for run in runs],
            "oracles": [run.oracles for run in runs],
        },
        "reached": {
            "seconds": [_reached(runs, tol, lambda r: rounded(r.seconds)) for tol in tolerances],
            "oracles": [_reached(runs, tol, lambda r: r.oracles) for tol in tolerances],
        },
        "measures": measures,
        "second": _second(measures),
        "curves": curves,
        "curves_note": note,
        "table": _table(comparison, solvers, kinds),
        "hidden": _hidden(runs, problems, kinds),
        "table_note": " ".join(_table_notes(comparison, tolerances)),
    }


def solvers_of(comparison: Comparison) -> list[str]:
    """Return the solvers that ran, in the order they were asked for."""
    asked = [*comparison.settings.get("solvers", {}), *comparison.solvers]
    return [name for name in dict.fromkeys(asked) if name in comparison.solvers]


def is_recovery(runs: Iterable[Run]) -> bool:
    """Whether these are runs of dictionary recovery, whose certificate is one of rows."""
    return any(
        "rows_certified" in run.details or run.problem.partition(":")[0] == RECOVERY for run in runs
    )


def rounded(value: Any) -> float | int | None:
    """Return a number with the digits a page shows; None for what is not finite."""
    if value is None or not math.isfinite(value):
        return None
    return value if isinstance(value, int) else float(f"{value:.{_DIGITS}g}")


def _table(comparison: Comparison, solvers: list[str], kinds: list[str]) -> list[dict[str, Any]]:
    """Return the lines of the table, those of solvers that do not apply included."""
    return [
        asdict(line)
        | {
            "problem": comparison.problems.index(line.problem),
            "kind": kinds.index(line.kind),
            "solver": solvers.index(line.solver),
            "seconds": rounded(line.seconds),
            "oracles": rounded(line.oracles),
            "to_gradient": rounded(line.to_gradient),
            "otherwise": otherwise(line),
        }
        for line in lines(comparison)
        if line.solver in solvers
    ]


def _labels(runs: Sequence[Run]) -> dict[str, str]:
    return ENDINGS | (_ROWS_CERTIFIED if is_recovery(runs) else {})


def _tolerances(comparison: Comparison) -> list[float]:
    """Those some run reached, loosest first: a profile needs one."""
    found = {reach.tolerance for run in comparison.runs for reach in run.reached}
    return sorted(found, reverse=True)


def _hidden(runs: Sequence[Run], problems: Sequence[str], kinds: Sequence[str]) -> list[str]:
    """Columns of the table that would say the same in every line."""
    useless = {"problem": len(problems) == 1, "kind": len(kinds) == 1}
    useless["deceived"] = is_recovery(runs)  # rows have no saddle points
    return [name for name, hidden in useless.items() if hidden]


def _table_notes(comparison: Comparison, tolerances: Sequence[float]) -> Iterator[str]:
    if is_recovery(comparison.runs):
        yield (
            "Certified: linear programming proves that no direction near gives a sparser row (in "
            "the l1 norm), for every row. Solved: the dictionary is exact. Exact after rounding: "
            "it is once riemtr rounds the rows. Medians are over the runs that ended."
        )
    elif tolerances:
        yield (
            "Solved: at the known solution, where there is one. Seconds and calls are medians over "
            "the certified runs; those of whole runs include what a solver spends on the curvature "
            "once the gradient is small."
        )
    for sentence in explained_endings(comparison):
        yield f"{sentence[0].upper()}{sentence[1:]}."


def _numbers(names: Sequence[str], values: Iterable[str]) -> list[int]:
    place = {name: i for i, name in enumerate(names)}
    return [place[value] for value in values]


def _reached(runs: Sequence[Run], tolerance: float, value: Callable[[Any], Any]) -> list[Any]:
    return [
        next((value(reach) for reach in run.reached if reach.tolerance == tolerance), None)
        for run in runs
    ]


def _measures(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """What can be shown of every run; a detail that repeats one of ours gives it its name."""
    columns = {label: [rounded(get(run)) for run in runs] for label, get in _MEASURES.items()}
    keys = dict.fromkeys(key for run in runs for key, value in run.details.items() if _real(value))
    for key in list(keys)[:_DETAILS]:
        values = [run.details.get(key) for run in runs]
        column = [rounded(value) if _real(value) else None for value in values]
        same = next((label for label, other in columns.items() if other == column), None)
        columns = {str(key).replace("_", " ") if k == same else k: v for k, v in columns.items()}
        columns.setdefault(str(key).replace("_", " "), column)
    return [
        {"label": label, "values": values}
        for label, values in columns.items()
        if any(value is not None for value in values)
    ]


def _real(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _second(measures: Sequence[dict[str, Any]]) -> int:
    """Which measure to show beside the seconds: how near the solution, where that is known."""
    wanted = ("dictionary error", "distance from the known solution", "median excess")
    labels = [measure["label"] for measure in measures]
    return next((labels.index(label) for label in wanted if label in labels), 1)


def _curves(runs: Sequence[Run]) -> tuple[list[dict[str, Any]], str]:
    """Return the lines of the convergence plots, and in words what was left out."""
    drawn = [i for i, run in enumerate(runs) if len(run.trajectory.get("seconds", [])) > 0]
    starts: dict[tuple[str, str], set[int]] = {}
    for i in drawn:
        starts.setdefault((runs[i].problem, runs[i].kind), set()).add(runs[i].start)
    kept = {key: set(sorted(numbers)[:STARTS_DRAWN]) for key, numbers in starts.items()}
    chosen = [i for i in drawn if runs[i].start in kept[runs[i].problem, runs[i].kind]]
    points = min(max(POINTS_DRAWN // max(len(chosen), 1), _FEWEST), _MOST)
    lowest = _lowest_costs(runs)
    lines = [_line(i, runs[i], points, lowest.get(runs[i].problem)) for i in chosen]
    without = {run.solver for run in runs} - {runs[i].solver for i in drawn}
    notes = []
    if len(chosen) < len(drawn):
        notes.append(f"The first {STARTS_DRAWN} starts of each kind are drawn.")
    if drawn and without:
        notes.append(f"Without a record of its runs: {', '.join(sorted(without))}.")
    return lines, " ".join(notes)


def _lowest_costs(runs: Sequence[Run]) -> dict[str, float]:
    """The lowest cost any run showed, by problem."""
    lowest: dict[str, float] = {}
    for run in runs:
        costs = [run.cost, *run.trajectory.get("cost", [])]
        for cost in costs:
            if cost is not None and math.isfinite(cost):
                lowest[run.problem] = min(cost, lowest.get(run.problem, math.inf))
    return lowest


def _line(number: int, run: Run, points: int, lowest: float | None) -> dict[str, Any]:
    """Return a run's trajectory with at most so many points, the first and the last among them."""
    length = len(run.trajectory["seconds"])
    count = min(points, length)
    rows = [round(i * (length - 1) / max(count - 1, 1)) for i in range(count)]
    empty = [None] * length

    def column(name: str) -> list[Any]:
        values = run.trajectory.get(name) or empty
        return [values[row] for row in rows]

    # Below this a difference of costs is rounding.
    floor = 1e-16 * max(abs(lowest or 0.0), 1e-300)
    gaps = [
        None if cost is None or lowest is None else max(cost - lowest, floor)
        for cost in column("cost")
    ]
    return {
        "run": number,
        **{key: [rounded(v) for v in column(key)] for key in ("seconds", "oracles")},
        "gradient_norm": [rounded(value) for value in column("gradient_norm")],
        "gap": [rounded(gap) for gap in gaps],
    }
