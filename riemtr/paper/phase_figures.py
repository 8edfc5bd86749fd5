"""Maps of phase transitions: success rates, their 50% boundary, and figures (paper, Figure 3)."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from riemtr.errors import require
from riemtr.sweep.table import Table

_BOUNDARY = "#d7191c"
_LAW = "#2c7fb8"
_NOT_THERE = "#dfe7ef"
_LINES = "#f2a33a"
# Of boundaries side by side: told apart by eyes that do not tell red from green.
_COLOURS = (
    "#222222",
    "#0072b2",
    "#e69f00",
    "#009e73",
    "#cc79a7",
    "#d55e00",
    "#56b4e9",
    "#8c564b",
    "#999933",
)
# Letters of the title that fit above one map.
_TITLE = 50
# Weight of the penalty on the slopes: without one they are infinite where no trials overlap.
_RIDGE = 1e-2
# Values of n from which on a power law says anything: through two points there always is one.
_FEWEST_SIZES = 3
# The log-likelihood that y must explain: chance alone gives more in one of some 200 cases, half of
# which have the wrong sign.
_SIGNIFICANT = 4.0


@dataclass(frozen=True)
class PowerLaw:
    """Where half of the trials succeed: ``y = factor * n**exponent``."""

    factor: float
    exponent: float

    def __call__(self, n: np.ndarray) -> np.ndarray:
        """Return the boundary at n."""
        return self.factor * np.asarray(n, dtype=float) ** self.exponent


@dataclass(frozen=True, eq=False)
class Map:
    """Success rates over n and one other quantity.

    Attributes
    ----------
    name : {"k-n", "p-n"}
    n, y : arrays
        The axes, increasing; y is k or p.
    rate : array, shape (y.size, n.size)
        Share of the trials that succeeded; NaN where there was none.
    repetitions : int
        Trials of each setting, at most.
    boundary : array, shape (n.size,)
        Where the rate crosses one half; NaN where it does not.
    law : PowerLaw or None
        The same as one power law for all n.
    broken : list of (n, y)
        Settings all of whose trials ended with an error.
    """

    name: str
    n: np.ndarray
    y: np.ndarray
    rate: np.ndarray
    repetitions: int
    boundary: np.ndarray
    law: PowerLaw | None
    broken: tuple[tuple[int, int], ...] = ()


def success_map(table: Table | Sequence[Mapping[str, Any]], name: str) -> Map:
    """Return the success rates of a map, "k-n" or "p-n"; cells that failed are left out.

    The trials are a table, or its rows.
    """
    axis = name[0]
    trials_made = table.rows if isinstance(table, Table) else table
    everything = {(row["n"], row[axis]) for row in trials_made}
    n, y = (np.array(sorted(set(values))) for values in zip(*everything, strict=True))
    rows = [row for row in trials_made if "success" in row]
    successes, trials = np.zeros((y.size, n.size)), np.zeros((y.size, n.size))
    for row in rows:
        place = np.searchsorted(y, row[axis]), np.searchsorted(n, row["n"])
        successes[place] += row["success"]
        trials[place] += 1
    rate = np.where(trials > 0, successes / np.maximum(trials, 1), np.nan)
    boundary = []
    for column in rate.T:
        there = ~np.isnan(column)
        boundary.append(half_way(y[there], column[there], rising=axis == "p"))
    columns = [np.array([row[key] for row in rows]) for key in ("n", axis, "success")]
    law = fit_power_law(*columns, rising=axis == "p")
    broken = sorted(everything - {(row["n"], row[axis]) for row in rows})
    return Map(name, n, y, rate, int(trials.max()), np.array(boundary), law, tuple(broken))


def fit_power_law(
    n: np.ndarray, y: np.ndarray, success: np.ndarray, *, rising: bool
) -> PowerLaw | None:
    """Fit the boundary by logistic regression on log n and log y, of trials that succeeded or not.

    The probability of success is ``1 / (1 + exp(-(a + b log n + c log y)))``, and one half where
    ``y = exp(-a / c) n**(-b / c)``. There is no law where all trials succeed, or all fail, or y
    makes no difference beyond chance, or the opposite of the one expected: ``rising`` says whether
    success is expected where y is large. Nor is there one of fewer than three values of n.

    Examples
    --------
    >>> n, y = (axis.ravel() for axis in np.meshgrid(np.arange(10, 100, 5), np.arange(5, 100, 5)))
    >>> law = fit_power_law(n, y, y < 0.8 * n, rising=False)
    >>> abs(law.exponent - 1) < 0.05, bool(abs(law(50) - 40) < 2)
    (True, True)
    """
    success = np.asarray(success, dtype=float)
    if success.min() == success.max() or np.unique(n).size < _FEWEST_SIZES:
        return None
    logs = np.column_stack([np.log(n), np.log(y)])
    centre = logs.mean(axis=0)
    (a, b, c), loss = _logistic(logs - centre, success)
    _, loss_without_y = _logistic((logs - centre)[:, :1], success)
    if loss_without_y - loss < _SIGNIFICANT or (c > 0.0) != rising:
        return None
    exponent = -b / c
    with np.errstate(over="ignore"):
        factor = np.exp(centre[1] - exponent * centre[0] - a / c)
    return PowerLaw(float(factor), float(exponent)) if 0.0 < factor < np.inf else None


def _logistic(features: np.ndarray, success: np.ndarray) -> tuple[np.ndarray, float]:
    """Intercept and slopes of the penalised maximum likelihood, and minus its logarithm."""
    design = np.column_stack([np.ones(len(features)), features])
    penalty = np.diag([0.0, *np.full(features.shape[1], _RIDGE)])

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        score = design @ weights
        value = np.logaddexp(0.0, score).sum() - score @ success + weights @ penalty @ weights / 2
        return value, design.T @ (expit(score) - success) + penalty @ weights

    found = minimize(loss, np.zeros(design.shape[1]), jac=True, method="BFGS")
    return found.x, float(found.fun)


def half_way(y: np.ndarray, rate: np.ndarray, *, rising: bool) -> float:
    """Return where the success rate crosses one half, at one n, of increasing values of y.

    The crossing that misjudges the fewest trials, as if the rate were a step there: it needs no
    model, and isolated outliers do not move it. Between the two values of y around it the rates are
    interpolated in log y; NaN where the step would lie outside the values.

    Examples
    --------
    >>> half_way(np.array([1.0, 2.0, 4.0, 8.0]), np.array([1.0, 1.0, 0.0, 0.2]), rising=False)
    2.8284271247461903
    >>> half_way(np.array([1.0, 4.0]), np.array([0.75, 0.25]), rising=False)
    2.0
    """
    chance = np.asarray(rate) if rising else 1.0 - np.asarray(rate)
    # The step after the first i values: successes before it and failures from it on are wrong.
    wrong = [chance[:i].sum() + (1.0 - chance[i:]).sum() for i in range(len(chance) + 1)]
    best = int(np.argmin(wrong))
    if best in (0, len(chance)):
        return float("nan")
    # The first of the best steps has a chance below one half before it, and not below it after.
    share = (0.5 - chance[best - 1]) / (chance[best] - chance[best - 1])
    return float(y[best - 1] ** (1.0 - share) * y[best] ** share)


def figure(maps: Mapping[str, Map], title: str = "", share: float = 0.2) -> Any:
    """Draw maps side by side: white where all trials succeed, black where all fail.

    The share is that of the nonzeros in the map of p against n. Returns a matplotlib Figure, which
    needs the extra ``plot``.
    """
    figure_class = require("matplotlib.figure", extra="plot").Figure
    drawing = figure_class(figsize=(5.6 * len(maps) + 0.6, 5.0), layout="constrained")
    axes = drawing.subplots(1, len(maps), squeeze=False)[0]
    for panel, one in zip(axes, maps.values(), strict=True):
        mesh = _draw(panel, one, share)
    bar = drawing.colorbar(mesh, ax=list(axes), shrink=0.85, pad=0.02)
    bar.set_label("share of trials that succeed")
    if title:
        # An equation stays on its line: no-break spaces are none that a title is broken at.
        whole = title.replace(" = ", "\u00a0=\u00a0")
        drawing.suptitle(textwrap.fill(whole, _TITLE * len(maps)))
    return drawing


def boundaries_figure(maps: Mapping[str, Map], title: str = "") -> Any:
    """Draw where half of the trials succeed, for several experiments in one picture.

    Parameters
    ----------
    maps : mapping of str to Map
        Maps of p against n, or of k against n, by what to call them.
    title : str

    Returns
    -------
    matplotlib Figure
    """
    kind = require("matplotlib.figure", extra="plot").Figure
    drawing = kind(figsize=(8.6, 5.4), layout="constrained")
    panel = drawing.subplots()
    letter = next(iter(maps.values())).name[0]
    crossed = {name: one for name, one in maps.items() if np.isfinite(one.boundary).any()}
    for number, (name, one) in enumerate(crossed.items()):
        colour = _COLOURS[number % len(_COLOURS)]
        law = one.law
        fit = f": ${law.factor:.2g}\\,n^{{{law.exponent:.2f}}}$" if law else ""
        panel.plot(one.n, one.boundary, "o", color=colour, ms=3.5, label=f"{name}{fit}")
        if law is not None:
            panel.plot(one.n, law(one.n), "-", color=colour, linewidth=1.1)
    n = np.unique(np.concatenate([one.n for one in maps.values()]))
    if letter == "p":
        panel.plot(n, n * np.log(n), "-.", color="0.5", label="$n\\,\\log n$")
        panel.plot(n, n, ":", color="0.5", label="$n$")
        panel.set(yscale="log")
    else:
        panel.plot(n, n, ":", color="0.5", label="$k = n$")
    words = {"p": "number of samples $p$", "k": "sparsity level $k$"}[letter]
    panel.xaxis.get_major_locator().set_params(integer=True)
    panel.set(xlabel="dictionary dimension $n$", ylabel=f"{words} at half of the trials")
    panel.set_title(title)
    drawing.legend(loc="outside right upper", fontsize=8.5, frameon=False)
    return drawing


def _draw(panel: Any, one: Map, share: float) -> Any:
    logarithmic = one.name == "p-n"
    panel.set_facecolor(_NOT_THERE)
    mesh = _tiles(panel, one, logarithmic)
    crossing = {"color": _BOUNDARY, "markersize": 3, "linewidth": 1.2, "label": "50% of trials"}
    panel.plot(one.n, one.boundary, "o-", **crossing)
    if one.broken:
        panel.plot(*zip(*one.broken, strict=True), "x", color="0.35", label="only errors")
    letter = one.name[0]
    if one.law is not None:
        fine = np.linspace(_edges(one.n)[0], _edges(one.n)[-1], 200)
        label = f"fit: ${letter} = {one.law.factor:.2g}\\,n^{{{one.law.exponent:.2f}}}$"
        panel.plot(fine, one.law(fine), "--", color=_LAW, linewidth=1.8, label=label)
    if logarithmic:
        panel.plot(one.n, one.n, ":", color=_LINES, linewidth=1.8, label="$p = n$")
        # The order of samples that any method needs where columns are sparsest: with fewer, some
        # row of X has no nonzero (Spielman, Wang and Wright, COLT 2012).
        least = one.n * np.log(one.n)
        panel.plot(one.n, least, "-.", color=_LINES, linewidth=1.8, label="$p = n\\,\\log n$")
        panel.set(yscale="log", ylabel="number of samples $p$")
        panel.set_title(f"$k = \\lceil {share:g}\\,n \\rceil$")
    else:
        panel.set_title("$p = 5\\,n^2 \\log n$")
        panel.set(ylabel="sparsity level $k$")
        panel.yaxis.get_major_locator().set_params(integer=True)
        panel.text(
            0.04, 0.6, "$k > n$", transform=panel.transAxes, color="0.35", fontsize=11, va="center"
        )
    edges = _edges(one.y, logarithmic)
    panel.xaxis.get_major_locator().set_params(integer=True)
    panel.set(xlabel="dictionary dimension $n$", ylim=(edges[0], edges[-1]))
    panel.legend(
        loc="upper left" if not logarithmic else "lower right", fontsize=9, framealpha=0.92
    )
    return mesh


def _tiles(panel: Any, one: Map, logarithmic: bool) -> Any:
    """Draw the rates, all at once, or n by n where some n skips values of y that others have.

    The tiles of such an n are taller, so that nothing seems to be missing between them.
    """
    look = {"cmap": "gray", "vmin": 0.0, "vmax": 1.0}
    across, there = _edges(one.n), ~np.isnan(one.rate)
    changes = np.count_nonzero(np.diff(np.pad(there, ((1, 1), (0, 0))), axis=0), axis=0)
    if (changes <= 2).all():  # each n has one unbroken range of y
        rates = np.ma.masked_invalid(one.rate)
        return panel.pcolormesh(across, _edges(one.y, logarithmic), rates, **look)
    for i in np.flatnonzero(there.any(axis=0)):
        mine = there[:, i]
        up = _edges(one.y[mine], logarithmic)
        mesh = panel.pcolormesh(across[i : i + 2], up, one.rate[mine, i : i + 1], **look)
    return mesh


def _edges(values: np.ndarray, logarithmic: bool = False) -> np.ndarray:
    """Borders of the tiles around values: half way between neighbours."""
    inner = np.log(values) if logarithmic else values.astype(float)
    alone = np.log([2.0]) if logarithmic else np.ones(1)
    steps = np.pad(np.diff(inner) if inner.size > 1 else alone, 1, mode="edge")[: inner.size + 1]
    edges = np.concatenate([inner[:1] - steps[0] / 2, inner + steps[1:] / 2])
    return np.exp(edges) if logarithmic else edges
