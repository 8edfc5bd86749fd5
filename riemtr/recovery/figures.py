"""Figures of a recovery; each function returns a matplotlib Figure. Needs the extra ``plot``.

No display is needed, nothing is shown and no global state is touched: save a figure with
``figure.savefig(path)``, or let a notebook display it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from riemtr.data import BernoulliGaussian, Identity
from riemtr.errors import require
from riemtr.problems import dictionary_problem
from riemtr.solvers import AdaptiveRadius, Result, TrustRegion
from riemtr.subproblem import TruncatedCG

_THETA = 0.3


def escape_saddles() -> Result:
    """Start at an exact maximizer of data in R^4, land at an exact saddle point, leave both.

    The data are made symmetric under exchanging coordinates 1 and 2, 3 and 4, and the two pairs,
    and under sign changes. Then (1, 1, 1, 1) / 2 is an exact maximizer, and points such as
    (1, 1, 0, 0) / sqrt(2) are exact saddle points; the minimizers are still the axes.

    Examples
    --------
    >>> result = escape_saddles()
    >>> int(result.history["escaped"].sum()), result.certificate.verdict
    (2, 'minimizer')
    >>> np.abs(result.point).round(6).tolist().count(1.0)
    1
    """
    # A draw whose lowest curvature is along (1, 1, -1, -1): that way leads to the saddle point.
    model = BernoulliGaussian(n=4, p=100, theta=_THETA, dictionary=Identity())
    data = model.draw(0).observations
    for symmetry in _symmetries():
        data = np.hstack([data, symmetry @ data])
    # The practical method as the paper has it (section IV.A), without continuation: truncated CG
    # keeps the symmetry to rounding, and so does land at the saddle point.
    solver = TrustRegion(subproblem=TruncatedCG(), radius=AdaptiveRadius())
    return solver.solve(dictionary_problem(data, mu=0.02), np.full(4, 0.5))


def _symmetries() -> Iterator[np.ndarray]:
    """Yield generators of the group: signed permutations of four coordinates."""
    for order in ((1, 0, 2, 3), (0, 1, 3, 2), (2, 3, 0, 1)):
        yield np.eye(4)[list(order)]
    for signs in ((-1, 1, 1, 1), (1, 1, -1, 1), (-1, -1, 1, 1)):
        yield np.diag(np.array(signs, dtype=float))


_BEFORE = "#9a9a9a"
_AFTER = "#c8442e"
_PATH = "#d7191c"
_LINE = "#3b6ea5"
_LABEL = {"boxstyle": "round,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.7}
_ESCAPE = {
    "markersize": 15,
    "color": _PATH,
    "zorder": 3,
    "label": "maximizer or saddle point: left along negative curvature",
}
_MINIMIZER = {"markersize": 9, "color": "#2c7f4f", "zorder": 3, "label": "minimizer: certified"}
# Frames of atoms: green can be relied on, blue is an estimate, orange is in doubt.
_VERDICTS = {"proved": "#2c7f4f", "plausible": _LINE, "doubtful": "#e08214"}
# The range of an atom that looks the same everywhere, over its largest magnitude.
_FLAT = 0.1
# Points of the letters that say so, for each inch of all atoms in a line.
_LETTERS = 13.8
# For curves and histograms, columns are drawn at random: a smooth line, quick on any data.
_ENTRIES = 400_000


def atoms_figure(
    dictionary: np.ndarray, patch_size: int, title: str = "", verdicts: Sequence[str] = ()
) -> Any:
    """Draw atoms as small images, in reading order: gray is zero, white the largest magnitude.

    A tile that is nearly the same everywhere says so: it is an atom, and not an empty place.

    Parameters
    ----------
    dictionary : ndarray, shape (patch_size**2, r)
        A, one atom per column, pixels along the rows of the patch as in
        :func:`riemtr.data.patches`.
    patch_size : int
        Side of a patch.
    title : str
        Above the figure.
    verdicts : sequence of str, optional
        Those of the atoms, as ``[atom.verdict for atom in found.atoms]``: the colours of frames.

    Returns
    -------
    matplotlib Figure
    """
    if dictionary.shape[0] != patch_size**2:
        raise ValueError(
            f"patch_size must be the side of the patches that are the atoms: they have "
            f"{dictionary.shape[0]} entries, and {patch_size} x {patch_size} is "
            f"{patch_size**2}"
        )
    count = dictionary.shape[1]
    if len(verdicts) not in (0, count):
        raise ValueError(f"verdicts must be one for each of {count} atoms; got {len(verdicts)}")
    across = math.ceil(math.sqrt(count))
    figure = _new_figure(6.0, 6.0 * math.ceil(count / across) / across + 0.8)
    axes = figure.subplots()
    draw_atoms(axes, dictionary, patch_size, verdicts)
    if title:
        axes.set_title(title, fontsize=12)
    _caption(figure, "gray: zero; white and black: the largest magnitude of each atom")
    if verdicts:
        _verdict_legend(figure, verdicts)
    return figure


def draw_atoms(
    axes: Any, dictionary: np.ndarray, patch_size: int, verdicts: Sequence[str] = ()
) -> None:
    """Draw atoms as small images into axes of matplotlib; see :func:`atoms_figure`."""
    count = dictionary.shape[1]
    across = math.ceil(math.sqrt(count))
    down = math.ceil(count / across)
    side = patch_size + 1  # a pixel between two atoms
    tiles = np.full((down, across, side, side), np.nan)
    for number, atom in enumerate(dictionary.T):
        limit = max(float(np.abs(atom).max()), np.finfo(float).tiny)
        tile = atom.reshape(patch_size, patch_size) / limit
        tiles[number // across, number % across, :-1, :-1] = tile
        corner = side * (number % across) - 0.5, side * (number // across) - 0.5
        colour = _VERDICTS[verdicts[number]] if verdicts else "0.5"
        axes.add_patch(_frame(corner, patch_size, colour))
        if np.ptp(tile) < _FLAT:
            middle = [place + patch_size / 2 for place in corner]
            size = _LETTERS * axes.get_window_extent().width / axes.figure.dpi / across
            word = {"fontsize": size, "ha": "center", "va": "center", "bbox": _LABEL}
            axes.text(*middle, "constant", **word)
    mosaic = tiles.transpose(0, 2, 1, 3).reshape(down * side, -1)[:-1, :-1]
    axes.imshow(mosaic, cmap=_gray(), vmin=-1.0, vmax=1.0, interpolation="nearest")
    # Room for the frames around the outer atoms.
    axes.set(xlim=(-1.0, mosaic.shape[1]), ylim=(mosaic.shape[0], -1.0))
    axes.set_axis_off()


def _frame(corner: tuple[float, float], side: int, colour: str, label: str = "") -> Any:
    rectangle = require("matplotlib.patches", extra="plot").Rectangle
    return rectangle(
        corner, side, side, fill=False, edgecolor=colour, linewidth=1.2, label=label, zorder=2
    )


def _verdict_legend(figure: Any, verdicts: Sequence[str]) -> None:
    """Say how many atoms have frames of each colour."""
    handles = [
        _frame((0.0, 0.0), 1, colour, f"{list(verdicts).count(verdict)} {verdict}")
        for verdict, colour in _VERDICTS.items()
        if verdict in verdicts
    ]
    figure.legend(handles=handles, loc="outside upper right", ncols=3, frameon=False, fontsize=9)


def sparsity_figure(before: np.ndarray, after: np.ndarray, names: tuple[str, str]) -> Any:
    """Compare how the magnitudes of data and coefficients are spread.

    Every row of both is scaled to root mean square 1 first. On the left the distribution of the
    entries; on the right which share of the sum of squares the largest entries hold.

    Parameters
    ----------
    before, after : ndarray, shapes (n, p) and (r, p)
        For instance the data Y and the coefficients X.
    names : pair of str
        What to call them.

    Returns
    -------
    matplotlib Figure
    """
    figure = _new_figure(9.5, 4.0)
    left, right = figure.subplots(1, 2)
    bins = np.linspace(-4.04, 4.04, 102)  # one of them around zero
    for matrix, name, colour in zip((before, after), names, (_BEFORE, _AFTER), strict=True):
        entries = _sampled(matrix)
        share = np.histogram(entries, bins)[0] / entries.size
        left.stairs(share, bins, fill=True, color=colour, alpha=0.25)
        left.stairs(share, bins, color=colour, linewidth=1.5, label=name)
        energy = _cumulated(entries)
        needed = _needed(energy)
        right.plot(
            np.linspace(0.0, 100.0, energy.size),
            100 * energy,
            color=colour,
            linewidth=2.0,
            label=f"{name}: {100 * needed:.0f}% of them",
        )
        right.plot([100 * needed], [90.0], "o", color=colour, zorder=3)
    left.set(
        yscale="log",
        xlabel="value, each row scaled to root mean square 1",
        ylabel="share of the entries",
        title="How large the entries are",
        xlim=(-4, 4),
    )
    left.yaxis.set_major_formatter(lambda share, _: f"{100 * share:g}%")
    left.legend(frameon=False, loc="upper right")
    right.axhline(90.0, color="0.6", linewidth=1.0, linestyle=":", zorder=0)
    right.set(
        xlabel="the largest entries, % of all",
        ylabel="% of the sum of squares that they hold",
        title="How few entries hold 90% of the whole",
        xlim=(0, 100),
        ylim=(0, 102),
    )
    right.legend(frameon=False, loc="lower right")
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def concentration(matrix: np.ndarray) -> float:
    """Return which share of the entries, the largest, holds 90% of the sum of squares.

    Every row is scaled to root mean square 1 first. The smaller, the sparser; 0.45 for normal
    entries, 0.45 theta for Bernoulli-Gaussian ones.

    Examples
    --------
    >>> concentration(np.array([[3.0, 0.0, 0.0, 0.1], [0.0, -5.0, 0.0, 0.0]]))
    0.25
    """
    return _needed(_cumulated(_sampled(matrix)))


def escapes_figure(result: Result) -> Any:
    """Draw a run's convergence with the saddle points it left marked.

    Parameters
    ----------
    result : Result
        For instance of :func:`riemtr.recovery.figures.escape_saddles`.

    Returns
    -------
    matplotlib Figure
    """
    figure = _new_figure(8.0, 5.4)
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(1, 1.2))
    history = result.history
    number, cost = history["iteration"], history["cost"]
    slope = np.maximum(history["gradient_norm"], 1e-17)
    left = np.flatnonzero(history["escaped"]) - 1  # a step's row shows the point after it
    upper.plot(number, cost, ".-", color=_LINE)
    lower.semilogy(number, slope, ".-", color=_LINE)
    for axes, values in ((upper, cost), (lower, slope)):
        axes.plot(number[left], values[left], "*", **_ESCAPE)
        if result.converged:
            axes.plot(number[-1], values[-1], "o", **_MINIMIZER)
        axes.spines[["top", "right"]].set_visible(False)
        axes.margins(y=0.15)
    upper.set(ylabel="cost", title="A vanishing slope is not the end: saddle points are left")
    lower.set(xlabel="iteration", ylabel="slope (gradient norm)")
    lower.xaxis.get_major_locator().set_params(integer=True)
    handles, labels = lower.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
    return figure


def _sampled(matrix: np.ndarray) -> np.ndarray:
    """Return entries of the matrix, its rows scaled; some columns of it if it is large."""
    rows, columns = matrix.shape
    if matrix.size > _ENTRIES:
        rng = np.random.default_rng(0)
        matrix = matrix[:, rng.integers(columns, size=max(_ENTRIES // rows, 1))]
    matrix = matrix.astype(np.float64)
    largest = np.abs(matrix).max(axis=1, keepdims=True)  # or squares over- or underflow
    np.divide(matrix, largest, out=matrix, where=largest > 0)
    sizes = np.sqrt(np.mean(matrix**2, axis=1, keepdims=True))
    return np.divide(matrix, sizes, out=matrix, where=sizes > 0).reshape(-1)


def _cumulated(entries: np.ndarray) -> np.ndarray:
    """Return the share of the sum of squares that the k largest entries hold, for every k."""
    total = np.cumsum(np.sort(entries**2)[::-1])
    return total / total[-1]


def _needed(energy: np.ndarray) -> float:
    """Return the share of the entries that holds 90%."""
    return float((np.searchsorted(energy, 0.9) + 1) / energy.size)


def _new_figure(width: float, height: float) -> Any:
    figure_class = require("matplotlib.figure", extra="plot").Figure
    return figure_class(figsize=(width, height), layout="constrained")


def _gray() -> Any:
    return require("matplotlib", extra="plot").colormaps["gray"].with_extremes(bad="white")


def _caption(figure: Any, text: str) -> None:
    figure.supxlabel(text, fontsize=9, color="0.35")
