"""The interactive figures of the page, as plotly has them: a menu chooses what each one shows."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from riemtr.compare.colours import ENDING_COLOURS, PALETTE, colour, places
from riemtr.compare.profiles import SOLVED, performance_profile
from riemtr.compare.records import ENDINGS, Comparison, Run
from riemtr.compare.summary import KINDS

STARTS_DRAWN = 20
"""Convergence is drawn for so many starts per problem and kind: more lines hide each other."""

POINTS_DRAWN = 60_000
"""Points of all these lines together: some 2 MB."""

_DASHES = ("solid", "dash", "dot", "dashdot")
_SYMBOLS = {"certified": "circle", "deceived": "x"}
_AXES = {"seconds": "seconds", "oracles": "oracle calls"}
_SUCCESS = {"certified": "a certified minimizer", "reached": "a small gradient, saddle or not"}
_MEASURES: dict[str, Callable[[Run], Any]] = {
    "seconds": lambda run: run.seconds,
    "oracle calls": lambda run: run.oracles,
    "iterations": lambda run: run.iterations,
    "distance from the known solution": lambda run: run.distance,
    "gradient norm at the end": lambda run: run.gradient_norm,
    "smallest eigenvalue at the end": lambda run: run.min_eigenvalue,
    "cost at the end": lambda run: run.cost,
}
# Details of runs to choose from besides.
_DETAILS = 12
# Pixels around a plot: room for the menu and the legend above it.
_MARGINS = {"l": 70, "r": 20, "t": 110, "b": 60}
# Digits of a number: more than an eye can tell apart.
_DIGITS = 4

Figure = dict[str, Any]
View = tuple[str, list[dict[str, Any]], dict[str, Any]]
"""An entry of a menu: its name, its traces, and what it changes of the layout."""


def endings_figure(comparison: Comparison) -> Figure:
    """Draw how the runs of each solver ended, as shares."""
    return _figure(_endings(comparison), barmode="stack", height=190 + 40 * len(_names(comparison)))


def _endings(comparison: Comparison) -> Iterator[View]:
    for name, runs in _selections(comparison):
        solvers = [solver for solver in _names(comparison) if any(r.solver == solver for r in runs)]
        totals = [sum(run.solver == solver for run in runs) for solver in solvers]
        traces = []
        for ending, label in ENDINGS.items():
            counts = [sum(r.solver == s and r.ending == ending for r in runs) for s in solvers]
            if not any(counts):
                continue
            shares = [100 * count / total for count, total in zip(counts, totals, strict=True)]
            of_all = zip(counts, totals, strict=True)
            traces.append(
                {
                    "type": "bar",
                    "orientation": "h",
                    "name": label,
                    "y": [_literal(solver) for solver in solvers],
                    "x": shares,
                    "text": [str(count or "") for count in counts],
                    "hovertext": [f"{count} of {total} {label}" for count, total in of_all],
                    "hoverinfo": "text+y",
                    "marker": {"color": ENDING_COLOURS[ending]},
                }
            )
        yield (
            name,
            traces,
            {
                "xaxis": {"title": {"text": "share of the runs"}, "ticksuffix": " %"},
                "yaxis": {"autorange": "reversed", "automargin": True},
            },
        )


def profiles_figure(comparison: Comparison) -> Figure | None:
    """Draw the performance profiles; None where there is nothing to reach."""
    return _figure(_profiles(comparison)) if comparison.settings.get("tolerances") else None


def _profiles(comparison: Comparison) -> Iterator[View]:
    counted = any(run.oracles for run in comparison.runs)
    for solved in SOLVED:
        for measure in _AXES if counted else ("seconds",):
            profile = performance_profile(comparison, measure, solved=solved)
            finite = [r for ratios in profile.ratios.values() for r in ratios[np.isfinite(ratios)]]
            right = 1.3 * max([2.0, *finite])
            traces = []
            for name, line in _looks(comparison).items():
                ratios = profile.ratios[name]
                x = [float(ratio) for ratio in ratios[np.isfinite(ratios)]]
                y = [100 * (number + 1) / len(ratios) for number in range(len(x))]
                traces.append(
                    {
                        "type": "scatter",
                        "mode": "lines",
                        "name": _literal(name),
                        # From the left edge at height 0 to the right edge at the last height.
                        "x": _rounded([1.0, *x, right]),
                        "y": _rounded([0.0, *y, y[-1] if y else 0.0]),
                        "line": {**line, "shape": "hv", "width": 2.5},
                        "hovertemplate": "%{y:.0f} % within %{x:.3g} times the best",
                    }
                )
            multiple = f"{_AXES[measure]}, as a multiple of the best solver's"
            yield (
                f"{_AXES[measure]} to {_SUCCESS[solved]}",
                traces,
                {
                    "xaxis": {"title": {"text": multiple}, "type": "log"},
                    "yaxis": {"title": {"text": "share of the starts"}, "ticksuffix": " %"},
                },
            )


def curves_figure(comparison: Comparison) -> Figure | None:
    """Draw the gradient norm of the runs as they went; None where no run was recorded."""
    runs = [run for run in comparison.runs if run.trajectory.get("seconds")]
    starts: dict[tuple[str, str], list[int]] = {}
    for run in runs:
        starts.setdefault((run.problem, run.kind), []).append(run.start)
    kept = {key: set(sorted(set(numbers))[:STARTS_DRAWN]) for key, numbers in starts.items()}
    runs = [run for run in runs if run.start in kept[run.problem, run.kind]]
    return _figure(_curves(comparison, runs), height=520) if runs else None


def _curves(comparison: Comparison, runs: Sequence[Run]) -> Iterator[View]:
    points = max(POINTS_DRAWN // (2 * len(runs)), 8)
    for problem in dict.fromkeys(run.problem for run in runs):
        for measure, axis in _AXES.items():
            traces = []
            for name, line in _looks(comparison).items():
                mine = [run for run in runs if (run.problem, run.solver) == (problem, name)]
                x, y, ends = [], [], []
                for run in mine:
                    length = len(run.trajectory["seconds"])
                    rows = np.unique(np.linspace(0, length - 1, min(points, length)).astype(int))
                    x += [*(run.trajectory[measure][row] for row in rows), None]
                    y += [*(run.trajectory["gradient_norm"][row] for row in rows), None]
                    ends.append(len(x) - 2)
                if not mine:
                    continue
                x, y = _above_zero(x), _above_zero(y)
                shared: dict[str, Any] = {
                    "type": "scatter",
                    "name": _literal(name),
                    "legendgroup": _literal(name),
                }
                traces.append({**shared, "mode": "lines", "x": x, "y": y, "line": line})
                traces.append(
                    {
                        **shared,
                        "mode": "markers",
                        "showlegend": False,
                        "x": [x[end] for end in ends],
                        "y": [y[end] for end in ends],
                        "text": list(map(_described, mine)),
                        "marker": _marker(mine, line["color"]),
                    }
                )
            where = f"{problem}: " if len(comparison.problems) > 1 else ""
            yield (
                f"{where}against {axis}",
                traces,
                {
                    "xaxis": {"title": {"text": axis}, "type": "log", "exponentformat": "power"},
                    "yaxis": {
                        "title": {"text": "gradient norm"},
                        "type": "log",
                        "exponentformat": "power",
                    },
                },
            )


def marks_figure(comparison: Comparison) -> Figure | None:
    """Draw every run as a mark, by solver and by whatever was measured."""
    return _figure(_marks(comparison))


def _marks(comparison: Comparison) -> Iterator[View]:
    runs = comparison.runs
    keys = dict.fromkeys(key for run in runs for key, value in run.details.items() if _real(value))
    details = {
        str(key).replace("_", " "): lambda run, key=key: run.details.get(key)
        for key in list(keys)[:_DETAILS]
    }
    looks = _looks(comparison)
    for label, get in (_MEASURES | details).items():
        known = [run for run in runs if _real(get(run)) and math.isfinite(get(run))]
        if not known:
            continue
        logarithmic = all(get(run) >= 0 for run in known) and any(get(run) > 0 for run in known)
        traces = []
        for number, name in enumerate(_names(comparison)):
            mine = [run for run in known if run.solver == name]
            heights = [get(run) for run in mine]
            traces.append(
                {
                    "type": "scatter",
                    "mode": "markers",
                    "name": _literal(name),
                    "showlegend": False,
                    # Spread by the golden ratio: even, and the same every time.
                    "x": [number + 0.5 * ((i + 1) * 0.618034 % 1) - 0.25 for i in range(len(mine))],
                    "y": _above_zero(heights) if logarithmic else _rounded(heights),
                    "text": list(map(_described, mine)),
                    "hoverinfo": "text+y",
                    "marker": _marker(mine, looks[name]["color"]),
                }
            )
        ticks = [_literal(name) for name in _names(comparison)]
        kind = {"type": "log" if logarithmic else "linear", "exponentformat": "power"}
        yield (
            label,
            traces,
            {
                "xaxis": {
                    "tickvals": list(range(len(ticks))),
                    "ticktext": ticks,
                    "range": [-0.6, len(ticks) - 0.4],
                    "automargin": True,
                    "zeroline": False,
                },
                "yaxis": {"title": {"text": _literal(label)}, **kind},
            },
        )


def _figure(views: Iterator[View], height: int = 460, **layout: Any) -> Figure:
    """Return a figure that shows the first view; a menu chooses among several."""
    found = list(views)
    sizes = [len(traces) for _, traces, _ in found]
    buttons = []
    for number, (label, _, changes) in enumerate(found):
        visible = [number == owner for owner, size in enumerate(sizes) for _ in range(size)]
        args = [{"visible": visible}, changes]
        buttons.append({"label": _literal(label), "method": "update", "args": args})
    traces = [
        {**trace, "visible": number == 0}
        for number, (_, some, _) in enumerate(found)
        for trace in some
    ]
    # The menu stands above the legend, and the legend above the plot.
    above = 1 + 45 / (height - _MARGINS["t"] - _MARGINS["b"])
    place = {"x": 0, "xanchor": "left", "y": above, "yanchor": "bottom"}
    menu = {"buttons": buttons, "type": "dropdown", "showactive": True, **place}
    legend = {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "traceorder": "normal"}
    return {
        "data": traces,
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


def _selections(comparison: Comparison) -> Iterator[tuple[str, list[Run]]]:
    """Yield the runs to choose from: all, then those of each problem and kind of start."""
    runs = list(comparison.runs)
    yield "all runs", runs
    groups = list(dict.fromkeys((run.problem, run.kind) for run in runs))
    for problem, kind in groups if len(groups) > 1 else []:
        some = [run for run in runs if (run.problem, run.kind) == (problem, kind)]
        yield f"{problem}, {KINDS.get(kind, kind)}", some


def _names(comparison: Comparison) -> list[str]:
    """Return the solvers that ran, in the order they were asked for."""
    asked = [*comparison.settings.get("solvers", {}), *comparison.solvers]
    return [name for name in dict.fromkeys(asked) if name in comparison.solvers]


def _looks(comparison: Comparison) -> dict[str, dict[str, Any]]:
    """Return a colour and a dash for each solver, the same in every figure."""
    names = [*comparison.settings.get("solvers", {}), *comparison.solvers]
    found = places(dict.fromkeys(names))
    return {
        name: {
            "color": colour(found[name]),
            "dash": _DASHES[found[name] // len(PALETTE) % len(_DASHES)],
        }
        for name in _names(comparison)
    }


def _marker(runs: Sequence[Run], hue: str) -> dict[str, Any]:
    symbols = [_SYMBOLS.get(run.ending, "circle-open") for run in runs]
    return {"color": hue, "symbol": symbols, "size": 8, "line": {"color": hue, "width": 1.5}}


def _described(run: Run) -> str:
    where = f"{run.problem}, {run.kind} start {run.start}"
    return f"{_literal(run.solver)}<br>{_literal(where)}<br>{ENDINGS[run.ending]}"


def _literal(text: str) -> str:
    """Return a name as it is: plotly reads a little HTML in texts."""
    return html.escape(text, quote=False)


def _real(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _rounded(values: Sequence[Any]) -> list[Any]:
    return [
        None if value is None or not math.isfinite(value) else float(f"{value:.{_DIGITS}g}")
        for value in values
    ]


def _above_zero(values: Sequence[Any]) -> list[Any]:
    """Return values for a logarithmic axis: zero is drawn a little below the smallest one."""
    known = _rounded(values)
    least = min((value for value in known if value is not None and value > 0), default=1.0)
    return [None if value is None else max(value, least / 2) for value in known]
