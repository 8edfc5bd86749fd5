"""The interactive figures of the page, as plotly has them: a menu chooses what each one shows."""

from __future__ import annotations

import html
import math
from collections.abc import Iterator, Sequence
from itertools import product
from operator import attrgetter
from typing import Any

import numpy as np

from riemtr.compare.figures import AXES, looks
from riemtr.compare.profiles import SOLVED, performance_profile
from riemtr.compare.records import ENDINGS, KINDS, Comparison, Run

STARTS_DRAWN = 20
"""Convergence is drawn for so many starts per problem and kind: more lines hide each other."""

POINTS_DRAWN = 60_000
"""Points of all these lines together: some 2 MB."""

ENDING_COLOURS = {
    "certified": "#22314F",
    "narrow": "#C3CCE6",
    "deceived": "#B00020",
    "unconfirmed": "#F2B8B5",
    "stuck": "#6B0F1A",
    "unfinished": "#D0D0D0",
    "timed out": "#B9A8D6",
    "failed": "#000000",
}
"""One colour for each way a run can end, none of them like a solver's."""

_DASHES = ("solid", "dash", "dot", "dashdot")
_SYMBOLS = {"certified": "circle", "deceived": "x"}
_SUCCESS = {"certified": "a certified minimizer", "reached": "a small gradient, saddle or not"}
_MEASURES = {
    "seconds": "seconds",
    "oracle calls": "oracles",
    "iterations": "iterations",
    "distance from the known solution": "distance",
    "gradient norm at the end": "gradient_norm",
    "smallest eigenvalue at the end": "min_eigenvalue",
    "cost at the end": "cost",
}
# Details of runs to choose from besides.
_DETAILS = 12
# Names of solvers that fit below a plot side by side.
_LEVEL_NAMES = 8
# Pixels around a plot: room for the menu above it; a legend below makes room for itself.
_MARGINS = {"l": 70, "r": 20, "t": 70, "b": 60}
# Digits of a number: more than an eye can tell apart.
_DIGITS = 4

Figure = dict[str, Any]
View = tuple[str, list[dict[str, Any]], dict[str, Any]]
"""An entry of a menu: its name, its traces, and what it changes of the layout."""


def endings_figure(comparison: Comparison) -> Figure:
    """Draw how the runs of each solver ended, as shares."""
    return _figure(_endings(comparison), barmode="stack", height=190 + 40 * len(_looks(comparison)))


def _endings(comparison: Comparison) -> Iterator[View]:
    everything = list(comparison.runs)
    groups = list(dict.fromkeys((run.problem, run.kind) for run in everything))
    views = {"all runs": everything}
    for problem, kind in groups if len(groups) > 1 else []:
        some = [run for run in everything if (run.problem, run.kind) == (problem, kind)]
        views[f"{problem}, {KINDS.get(kind, kind)}"] = some
    layout = {"xaxis": _below("share of the runs", ticksuffix=" %")}
    layout["yaxis"] = {"autorange": "reversed", "automargin": True}
    for name, runs in views.items():
        solvers = [solver for solver in _looks(comparison) if any(r.solver == solver for r in runs)]
        totals = [sum(run.solver == solver for run in runs) for solver in solvers]
        traces = []
        for ending, label in ENDINGS.items():
            counts = [sum(r.solver == s and r.ending == ending for r in runs) for s in solvers]
            of_all = list(zip(counts, totals, strict=True))
            if any(counts):
                trace = {
                    "type": "bar",
                    "orientation": "h",
                    "name": label,
                    "y": list(map(_literal, solvers)),
                    "x": [100 * count / total for count, total in of_all],
                    "text": [str(count or "") for count in counts],
                    "hovertext": [f"{count} of {total} {label}" for count, total in of_all],
                    "hoverinfo": "text+y",
                    "marker": {"color": ENDING_COLOURS[ending]},
                }
                traces.append(trace)
        yield name, traces, layout


def profiles_figure(comparison: Comparison) -> Figure | None:
    """Draw the performance profiles; None where there is nothing to reach."""
    return _figure(_profiles(comparison)) if comparison.settings.get("tolerances") else None


def _profiles(comparison: Comparison) -> Iterator[View]:
    counted = any(run.oracles for run in comparison.runs)
    for solved, measure in product(SOLVED, AXES if counted else ("seconds",)):
        steps = performance_profile(comparison, measure, solved=solved).steps()
        traces = [
            {
                **_scatter(name, "lines", _rounded(steps[name][0]), _rounded(100 * steps[name][1])),
                "line": {"color": hue, "dash": dash, "shape": "hv", "width": 2.5},
                "hovertemplate": "%{y:.0f} % within %{x:.3g} times the best",
            }
            for name, (hue, dash) in _looks(comparison).items()
        ]
        layout = {
            "xaxis": _below(f"{AXES[measure]}, as a multiple of the best solver's", type="log"),
            "yaxis": _axis("share of the starts", ticksuffix=" %"),
        }
        yield f"{AXES[measure]} to {_SUCCESS[solved]}", traces, layout


def curves_figure(comparison: Comparison) -> Figure | None:
    """Draw the gradient norm of the runs as they went; None where no run was recorded."""
    runs = [run for run in comparison.runs if run.trajectory.get("seconds")]
    starts: dict[tuple[str, str], set[int]] = {}
    for run in runs:
        starts.setdefault((run.problem, run.kind), set()).add(run.start)
    kept = {key: sorted(numbers)[:STARTS_DRAWN] for key, numbers in starts.items()}
    runs = [run for run in runs if run.start in kept[run.problem, run.kind]]
    return _figure(_curves(comparison, runs), height=520) if runs else None


def _curves(comparison: Comparison, runs: Sequence[Run]) -> Iterator[View]:
    points = max(POINTS_DRAWN // (2 * len(runs)), 8)
    logarithmic = {"type": "log", "exponentformat": "power"}
    for problem, measure in product(dict.fromkeys(run.problem for run in runs), AXES):
        traces = []
        for name, (hue, dash) in _looks(comparison).items():
            mine = [run for run in runs if (run.problem, run.solver) == (problem, name)]
            x, y, ends = [], [], []
            for run in mine:
                length = len(run.trajectory["seconds"])
                rows = np.unique(np.linspace(0, length - 1, min(points, length)).astype(int))
                x += [*(run.trajectory[measure][row] for row in rows), None]
                y += [*(run.trajectory["gradient_norm"][row] for row in rows), None]
                ends.append(len(x) - 2)
            x, y = _above_zero(x), _above_zero(y)
            lines = {**_scatter(name, "lines", x, y), "line": {"color": hue, "dash": dash}}
            ending = [[values[end] for end in ends] for values in (x, y)]
            marks = {**_scatter(name, "markers", *ending), **_marks_of(mine, hue)}
            traces += [{**lines, "legendgroup": lines["name"]}] if mine else []
            traces += [{**marks, "legendgroup": lines["name"]}] if mine else []
        where = f"{problem}: " if len(comparison.problems) > 1 else ""
        layout = {"xaxis": _below(AXES[measure], **logarithmic)}
        layout["yaxis"] = _axis("gradient norm", **logarithmic)
        yield f"{where}against {AXES[measure]}", traces, layout


def marks_figure(comparison: Comparison) -> Figure | None:
    """Draw every run as a mark, by solver and by whatever was measured."""
    return _figure(_marks(comparison))


def _marks(comparison: Comparison) -> Iterator[View]:
    runs = comparison.runs
    keys = dict.fromkeys(key for run in runs for key, value in run.details.items() if _real(value))
    measures: dict[str, Any] = {label: attrgetter(name) for label, name in _MEASURES.items()}
    for key in list(keys)[:_DETAILS]:
        measures[str(key).replace("_", " ")] = lambda run, key=key: run.details.get(key)
    solvers = _looks(comparison)
    across = {
        "tickvals": list(range(len(solvers))),
        "ticktext": list(map(_literal, solvers)),
        "range": [-0.6, len(solvers) - 0.4],
        "automargin": True,
        "zeroline": False,
        # Slanted names end at their marks: from left to right the last would leave the page.
        "tickangle": -30 if len(solvers) > _LEVEL_NAMES else 0,
    }
    for label, get in measures.items():
        known = [run for run in runs if _real(get(run)) and math.isfinite(get(run))]
        logarithmic = all(get(run) >= 0 for run in known) and any(get(run) > 0 for run in known)
        traces = []
        for number, (name, (hue, _)) in enumerate(solvers.items()):
            mine = [run for run in known if run.solver == name]
            heights = list(map(get, mine))
            # Spread by the golden ratio: even, and the same every time.
            x = [number + 0.5 * ((i + 1) * 0.618034 % 1) - 0.25 for i in range(len(mine))]
            y = _above_zero(heights) if logarithmic else _rounded(heights)
            shown = {**_scatter(name, "markers", x, y), **_marks_of(mine, hue)}
            traces.append({**shown, "hoverinfo": "text+y"})
        kind = {"type": "log" if logarithmic else "linear", "exponentformat": "power"}
        if known:
            yield label, traces, {"xaxis": across, "yaxis": _axis(_literal(label), **kind)}


def _figure(views: Iterator[View], height: int = 500, **layout: Any) -> Figure:
    """Return a figure that shows the first view; a menu chooses among several."""
    found = list(views)
    owners = [number for number, (_, traces, _) in enumerate(found) for _ in traces]
    buttons = [
        {
            "label": _literal(label),
            "method": "update",
            "args": [{"visible": [number == owner for owner in owners]}, changes],
        }
        for number, (label, _, changes) in enumerate(found)
    ]
    traces = [trace for _, some, _ in found for trace in some]
    # The menu stands above the plot, and the legend below its axis, where it may take many lines.
    pixel = 1 / (height - _MARGINS["t"] - _MARGINS["b"])
    place = {"x": 0, "xanchor": "left", "y": 1 + 12 * pixel, "yanchor": "bottom"}
    menu = {"buttons": buttons, "type": "dropdown", "showactive": True, **place}
    below = {"x": 0, "y": -75 * pixel, "yanchor": "top"}
    legend = {"orientation": "h", "traceorder": "normal", **below}
    return {
        "data": [{**t, "visible": owner == 0} for t, owner in zip(traces, owners, strict=True)],
        "layout": {
            **layout,
            **found[0][2],
            "height": height,
            "updatemenus": [menu] if len(found) > 1 else [],
            "legend": legend,
            "margin": _MARGINS,
            "font": {"family": "system-ui, sans-serif", "size": 14, "color": "#1b1f24"},
            "plot_bgcolor": "#fafbfc",
        },
    }


def _looks(comparison: Comparison) -> dict[str, tuple[str, str]]:
    """Return a colour and a dash for each solver that ran, in the order they were asked for."""
    ran = comparison.solvers
    return {name: look for name, look in looks(comparison, _DASHES).items() if name in ran}


def _below(title: str, **options: Any) -> dict[str, Any]:
    """Return a horizontal axis, whose title stands close to it: the legend is below."""
    return {"title": {"text": title, "standoff": 8}, **options}


def _axis(title: str, **options: Any) -> dict[str, Any]:
    return {"title": {"text": title}, "automargin": True, **options}


def _scatter(name: str, mode: str, x: list[Any], y: list[Any]) -> dict[str, Any]:
    return {"type": "scatter", "mode": mode, "name": _literal(name), "x": x, "y": y}


def _marks_of(runs: Sequence[Run], hue: str) -> dict[str, Any]:
    """Return how the marks of runs look, and what they say when they are pointed at."""
    where = (_literal(f"{run.problem}, {run.kind} start {run.start}") for run in runs)
    pairs = zip(runs, where, strict=True)
    symbols = [_SYMBOLS.get(run.ending, "circle-open") for run in runs]
    return {
        "showlegend": False,
        "text": [f"{_literal(run.solver)}<br>{at}<br>{ENDINGS[run.ending]}" for run, at in pairs],
        "marker": {
            "color": hue,
            "symbol": symbols,
            "size": 8,
            "line": {"color": hue, "width": 1.5},
        },
    }


def _literal(text: str) -> str:
    """Return a name as it is: plotly reads a little HTML in texts."""
    return html.escape(text, quote=False)


def _real(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _rounded(values: Sequence[Any] | np.ndarray) -> list[Any]:
    return [
        None if value is None or not math.isfinite(value) else float(f"{value:.{_DIGITS}g}")
        for value in values
    ]


def _above_zero(values: Sequence[Any]) -> list[Any]:
    """Return values for a logarithmic axis: zero is drawn a little below the smallest one."""
    known = _rounded(values)
    least = min((value for value in known if value is not None and value > 0), default=1.0)
    return [None if value is None else max(value, least / 2) for value in known]
