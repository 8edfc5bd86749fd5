"""Figures of a comparison; each function returns a matplotlib Figure. Needs the extra ``plot``.

No display is needed and no global state is touched: save a figure with ``figure.savefig(path)``,
or let a notebook display it.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from riemtr.compare.profiles import Profile, performance_profile
from riemtr.compare.records import KINDS, Comparison, Run, is_recovery
from riemtr.errors import ArgumentError, require

_BAD = "#b00020"
_STYLES = ("-", "--", "-.", ":")
AXES = {"seconds": "seconds", "oracles": "oracle calls"}
"""Measures of a run, in words."""

# Marks at the end of a run: their shape, their two colours, and what they mean.
_ENDS = (
    ("o", "0.35", "0.35", "certified minimizer"),
    ("X", "0.35", _BAD, "saddle point or maximizer"),
    ("o", "white", "0.35", "neither, or undecided"),
)
# Below this a gradient is rounding; zero has no place on a logarithmic axis.
_FLOOR = 1e-17
# Starts drawn of each kind: beyond that lines only hide each other.
_MOST_STARTS = 8
# Letters that fit above one panel.
_TITLE = 64


PALETTE = (
    *("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9"),
    *("#E69F00", "#8C8C8C", "#8C6D31", "#332288", "#882255"),
)
"""Okabe and Ito's, distinct also to the colour-blind; their yellow and black do not suit every
background. The last two are Tol's."""

_PLACES = {
    "exact": 0,
    "riemtr-exact": 0,
    "practical": 1,
    "riemtr": 1,
    "pymanopt-tr": 2,
    "pymanopt-cg": 3,
    "picard-o": 3,
    "pymanopt-sd": 4,
    "fastica": 4,
    "l-bfgs-b": 5,
    "msp": 5,
    "lbfgs": 8,
    "arc": 9,
    "pymanopt-nelder-mead": 6,
    "pymanopt-pso": 7,
    # Dashed, in the colours of their nearest relatives.
    "curvilinear": 10,
    "printed": 11,
    "randomized": 12,
    "perturbed-gd": 14,
    "adm": 17,
}


def places(solvers: Iterable[str]) -> dict[str, int]:
    """Return a number for each solver: that of its colour in the palette, beyond it the next round.

    Solvers of riemtr's have a place of their own; others get what is free, in the order of the
    alphabet, so that a solver has one colour in every figure and on every page.

    Examples
    --------
    >>> places(["practical", "mine", "exact"])
    {'practical': 1, 'mine': 2, 'exact': 0}
    """
    names = list(solvers)
    found = {name: _PLACES[name] for name in names if name in _PLACES}
    free = iter(sorted(set(range(len(names) + len(_PLACES))) - set(found.values())))
    found.update({name: next(free) for name in sorted(set(names) - set(found))})
    return {name: found[name] for name in names}


def looks(comparison: Comparison, styles: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return a colour and a style of line for each solver, the same in every figure."""
    names = [*comparison.settings.get("solvers", {}), *comparison.solvers]
    return {
        name: (PALETTE[place % len(PALETTE)], styles[place // len(PALETTE) % len(styles)])
        for name, place in places(dict.fromkeys(names)).items()
    }


def profiles_figure(
    comparison: Comparison, *, solved: str = "certified", tolerance: float | None = None
) -> Any:
    """Draw the performance profiles in time and in oracle calls.

    Parameters
    ----------
    comparison : Comparison
    solved : {"certified", "reached"}
        The runs that count as solved: see :func:`~riemtr.compare.performance_profile`.
    tolerance : float, optional
        For "reached": one of the comparison's, the tightest by default.

    Returns
    -------
    matplotlib Figure
    """
    counted = any(run.oracles for run in comparison.runs)
    measures = [name for name in AXES if name == "seconds" or counted]
    figure = _new_figure(5.6 * len(measures) + 1.6, 4.4)
    panels = figure.subplots(1, len(measures), sharey=True, squeeze=False)[0]
    profiles = [
        performance_profile(comparison, name, solved=solved, tolerance=tolerance)
        for name in measures
    ]
    plain_numbers = require("matplotlib.ticker", extra="plot").LogFormatter
    absent = {one["solver"] for one in comparison.settings.get("not_applicable", [])}
    ran = Counter(run.solver for run in comparison.runs)
    for axes, profile in zip(panels, profiles, strict=True):
        steps = profile.steps()
        for name, (hue, style) in looks(comparison, _STYLES).items():
            label = f"{name} (applies to {ran[name]})" if name in absent else name
            label = label if steps[name][1][-1] else f"{name} (none)"
            line = {"color": hue, "linestyle": style, "linewidth": 2.0, "label": label}
            axes.step(*steps[name], where="post", **line)
        axes.set_xscale("log")
        for ticks in (axes.xaxis.set_major_formatter, axes.xaxis.set_minor_formatter):
            ticks(plain_numbers(labelOnlyBase=False, minor_thresholds=(2.0, 0.5)))
        # From a little below zero, where the curves of those lie that solve none.
        axes.set(xlim=(1.0, max(x[-1] for x, _ in steps.values())), ylim=(-0.03, 1.03))
        axes.set_xlabel(f"within this factor of the best solver, in {AXES[profile.measure]}")
        _plain_axes(axes)
    panels[0].set_ylabel("share of instances solved")
    title = _what_is_solved(profiles[0], is_recovery(comparison))
    figure.suptitle(textwrap.fill(title, _TITLE * len(measures)), fontsize=12)
    _legend_outside(figure, panels[-1])
    return figure


def _what_is_solved(profile: Profile, recovery: bool) -> str:
    number = len(next(iter(profile.ratios.values()), ()))
    goal = "the end" if profile.tolerance is None else f"gradient norm {profile.tolerance:g}"
    success = "every row certified" if recovery else "a certified minimizer"
    what = {
        "certified": f"{success}, measured to the end of the run",
        "reached": f"measured to {goal}, saddle points included",
    }[profile.solved]
    return f"Performance profiles, {number} instances; solved: {what}"


def convergence_figure(comparison: Comparison, problem: str | None = None) -> Any:
    """Draw the gradient norm against time and oracle calls, from random starts and from saddles.

    Parameters
    ----------
    comparison : Comparison
    problem : str, optional
        Label of the problem; the first by default.

    Returns
    -------
    matplotlib Figure
    """
    label = comparison.problems[0] if problem is None else problem
    if label not in comparison.problems:
        raise ArgumentError("problem", f"be one of {', '.join(comparison.problems)}", label)
    runs = [run for run in comparison.runs if run.problem == label and run.trajectory]
    kinds = [kind for kind in KINDS if any(run.kind == kind for run in runs)]
    figure = _new_figure(11.6, 0.8 + 3.3 * max(len(kinds), 1))
    panels = figure.subplots(max(len(kinds), 1), 2, sharey="row", squeeze=False)
    for row, kind in zip(panels, kinds, strict=False):
        numbers = sorted({run.start for run in runs if run.kind == kind})[:_MOST_STARTS]
        shown = [run for run in runs if run.kind == kind and run.start in numbers]
        for axes, measure in zip(row, AXES, strict=True):
            _draw_runs(axes, comparison, shown, measure)
        more = "" if len(numbers) == len({r.start for r in runs if r.kind == kind}) else "first "
        starts = KINDS[kind] if len(numbers) != 1 else KINDS[kind].replace("starts", "start")
        row[0].set_title(f"{more}{len(numbers)} {starts}", loc="left", fontsize=10.5)
        row[0].set_ylabel("gradient norm")
    for axes, measure in zip(panels[-1], AXES, strict=True):
        axes.set_xlabel(AXES[measure])
    figure.suptitle(f"{label}: convergence", fontsize=12)
    for mark, face, edge, meaning in _ENDS:
        look = {"color": face, "markeredgecolor": edge, "label": meaning}
        panels[0][-1].plot([], [], mark, **look)
    _legend_outside(figure, panels[0][-1])
    return figure


def _draw_runs(axes: Any, comparison: Comparison, runs: list[Run], measure: str) -> None:
    least = 1.0 if measure == "oracles" else 1e-4
    for name, (hue, style) in looks(comparison, _STYLES).items():
        label: str | None = name
        for run in (run for run in runs if run.solver == name):
            across = np.maximum(np.array(run.trajectory[measure], dtype=float), least)
            norms = np.array(run.trajectory["gradient_norm"], dtype=float)
            height = np.maximum(norms, _FLOOR)
            line = {"color": hue, "linestyle": style, "linewidth": 1.2, "alpha": 0.75}
            axes.plot(across, height, label=label, **line)
            bad = run.verdict in ("saddle", "maximizer")
            axes.plot(
                across[-1],
                height[-1],
                "X" if bad else "o",
                color=hue,
                markersize=9 if bad else 5,
                markeredgecolor=_BAD if bad else hue,
                markerfacecolor=hue if bad or run.certified else "white",
                zorder=4,
            )
            label = None
    axes.set_xscale("log")
    axes.set_yscale("log")
    for tolerance in comparison.settings.get("tolerances", []):
        axes.axhline(tolerance, color="0.85", linewidth=0.8, zorder=0)
    _plain_axes(axes)


def _legend_outside(figure: Any, axes: Any) -> None:
    handles, _ = axes.get_legend_handles_labels()
    figure.legend(handles=handles, loc="outside right center", frameon=False, fontsize=9.5)


def _plain_axes(axes: Any) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(visible=True, color="0.93", linewidth=0.6)
    axes.set_axisbelow(True)


def _new_figure(width: float, height: float) -> Any:
    return require("matplotlib.figure", extra="plot").Figure(
        figsize=(width, height), layout="constrained"
    )
