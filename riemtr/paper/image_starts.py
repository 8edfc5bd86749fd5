r"""The paper's image experiment (section IV.C): does every start lead to the same dictionary?

8 x 8 patches of a photograph make the columns of Y, which is whitened, and the whole pipeline is
run from many random starts. The figure compares the values of :math:`|\hat A^{-1} Y|_1`.

The paper whitens by :math:`\bar Y = (Y Y')^{-1/2} Y`, whose entries have a root mean square of
:math:`1/\sqrt p`, and smooths with mu = 1e-2: in units of the entries that is
:math:`10^{-2}\sqrt p`, 0.64 with 4096 patches. riemtr whitens to entries of mean square 1. So the
printed method is run with both: the mu that the paper has, and the mu that its other experiments
would have here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from riemtr.data.images import load_image, patches
from riemtr.errors import require
from riemtr.recovery import Recovery, precondition, recover_dictionary
from riemtr.recovery.figures import draw_atoms
from riemtr.solvers import PaperTRM
from riemtr.summary import Summary, plural
from riemtr.summary import Table as Rows
from riemtr.sweep.table import Table

NAME = "image-starts"
IMAGES = ("camera", "astronaut", "brick")
"""Three pictures of 512 x 512 pixels, as the paper has: 4096 patches each."""

SIDE = 8
"""Of a patch (section IV.C)."""

# The smoothing parameter of the paper, of what it whitens to.
_MU = 1e-2
# The printed solver's gradient norm and negative curvature at a solution.
_TOLERANCE = 1e-3
# Two starts with values this near, relative to their size, led to the same dictionary.
_SAME = 1e-6


@dataclass(frozen=True)
class Way:
    """A way from patches to a dictionary.

    Attributes
    ----------
    words : str
        For people.
    printed : bool
        Whether rows are solved for by `PaperTRM`, rounded and deflated one after the other, as in
        the paper; else `recover_dictionary` as it is, from one start.
    literal : bool
        Whether mu is that of the paper's whitening.
    colour : str
    """

    words: str
    printed: bool
    literal: bool
    colour: str


WAYS = {
    "printed": Way("printed method, the paper's mu", True, True, "#22314F"),
    "printed-sharp": Way("printed method, mu = 0.01 of unit entries", True, False, "#f2a33a"),
    "pipeline": Way("riemtr's pipeline", False, False, "#d7191c"),
}


def settings(images: Sequence[str] = IMAGES, side: int = SIDE) -> list[dict[str, Any]]:
    """Return the grid of the experiment: pictures in all ways, with patches of a side."""
    return [{"image": image, "way": way, "side": side} for way in WAYS for image in images]


def recover(
    rng: np.random.Generator, image: str, way: str, side: int
) -> tuple[Recovery, np.ndarray]:
    """Return a dictionary of a picture's patches from a random start, and the whitened patches."""
    Y = patches(load_image(image), side)
    chosen = WAYS[way]
    mu = _MU * math.sqrt(Y.shape[1]) if chosen.literal else _MU
    if chosen.printed:
        solver = PaperTRM(tolerance=_TOLERANCE, curvature_tolerance=_TOLERANCE)
        found = recover_dictionary(
            Y, mu, rng, solver=solver, order="rounded", refine=None, offset=False, rank="auto"
        )
    else:
        found = recover_dictionary(Y, mu, rng, seeds=1, offset=False, rank="auto")
    return found, precondition(Y, rank="auto").data


def trial(rng: np.random.Generator, image: str, way: str, side: int) -> dict[str, Any]:
    r"""Recover a dictionary from a random start, and measure how sparse the patches are in it.

    Returns
    -------
    dict
        ``l1``, the paper's :math:`|\hat A^{-1} Y|_1` for rows of unit length on what it whitens to;
        ``l4``, the sum of fourth powers of the same rows: a second quantity that neither order nor
        signs change, so that equal dictionaries are known by both; ``atoms``, their number.
    """
    found, white = recover(rng, image, way, side)
    rows = (found.directions / np.linalg.norm(found.directions, axis=0)).T @ white
    rows /= math.sqrt(white.shape[1])  # to the paper's whitening
    return {
        "l1": float(np.abs(rows).sum()),
        "l4": float(np.square(np.square(rows)).sum()),
        "atoms": len(found.atoms),
    }


@dataclass(frozen=True, eq=False)
class Starts:
    """The values of one picture and one way, over all starts.

    Attributes
    ----------
    image, way : str
    values : ndarray
        Of the l1 norm, increasing.
    seeds : ndarray
        The starts in that order.
    distinct : int
        How many dictionaries there are among them.
    seconds : float
        Median time of a start.
    """

    image: str
    way: str
    values: np.ndarray
    seeds: np.ndarray
    distinct: int
    seconds: float

    @property
    def spread(self) -> float:
        """Largest value less the smallest, over the mean: the paper reports less than 1e-3."""
        return float(np.ptp(self.values) / self.values.mean())


def starts(rows: Iterable[Mapping[str, Any]]) -> list[Starts]:
    """Return the values by way and picture, from the rows of a table; failed ones are left out."""
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        if "l1" in row:
            groups.setdefault((row["way"], row["image"]), []).append(row)
    found = []
    for (way, image), some in groups.items():
        some.sort(key=lambda row: row["l1"])
        values, fourth = (np.array([row[name] for row in some]) for name in ("l1", "l4"))
        seconds = float(np.median([row["cell_seconds"] for row in some]))
        seeds = np.array([row["seed"] for row in some])
        found.append(Starts(image, way, values, seeds, count_distinct(values, fourth), seconds))
    return found


def count_distinct(*invariants: np.ndarray, tolerance: float = _SAME) -> int:
    """Count starts that differ in some invariant, by chains of relative differences.

    Examples
    --------
    >>> count_distinct(np.array([1.0, 1.0, 2.0, 2.0]), np.array([1.0, 1.0, 3.0, 4.0]))
    3
    """
    logs = np.log(np.column_stack(invariants))
    groups: list[list[np.ndarray]] = []
    for point in logs:
        near = [g for g in groups if min(np.abs(other - point).max() for other in g) <= tolerance]
        groups = [g for g in groups if not any(g is one for one in near)]
        groups.append([*(other for g in near for other in g), point])
    return len(groups)


def summary(found: Sequence[Starts]) -> Summary:
    """Say how far the starts of every picture and way agree."""
    rows = tuple(
        (
            one.image,
            WAYS[one.way].words,
            str(one.values.size),
            f"{one.values[0]:.2f}",
            f"{one.spread:.1e}",
            str(one.distinct),
            f"{one.seconds:.1f}",
        )
        for one in found
    )
    headings = ("image", "way", "starts", "least |A^-1 Y|_1", "spread", "distinct", "s a start")
    return Summary("image starts", table=Rows(headings, rows, "llrrrrr"))


def figure(found: Sequence[Starts], dictionaries: Mapping[tuple[str, str], np.ndarray]) -> Any:
    """Draw pictures, atoms, and the sorted values of all starts (paper, Figure 4).

    Parameters
    ----------
    found : sequence of Starts
    dictionaries : mapping
        A dictionary to show, by way and picture.

    Returns
    -------
    matplotlib Figure
    """
    images = list(dict.fromkeys(one.image for one in found))
    ways = [way for way in WAYS if any(key[0] == way for key in dictionaries)]
    kind = require("matplotlib.figure", extra="plot").Figure
    rows = 2 + len(ways)
    drawing = kind((4.0 * len(images), 3.6 * rows + 0.9), layout="constrained")
    panels = drawing.subplots(rows, len(images), squeeze=False)
    for column, image in enumerate(images):
        panels[0, column].imshow(load_image(image), cmap="gray")
        panels[0, column].set(xticks=(), yticks=(), title=image)
        for row, way in enumerate(ways, start=1):
            panels[row, column].set_title(f"atoms: {WAYS[way].words}", fontsize=10)
            if (way, image) in dictionaries:  # or every start has failed
                atoms = dictionaries[way, image]
                draw_atoms(panels[row, column], atoms, math.isqrt(len(atoms)))
            else:
                panels[row, column].set_axis_off()
        mine = [one for one in found if one.image == image]
        _draw_values(panels[-1, column], mine)
    handles = panels[-1, 0].get_legend_handles_labels()[0]
    labels = [WAYS[one.way].words for one in found if one.image == images[0]]
    drawing.legend(handles, labels, loc="outside lower center", frameon=False, ncols=len(images))
    return drawing


def _draw_values(axes: Any, found: Sequence[Starts]) -> None:
    for one in found:
        share = np.linspace(0.0, 100.0, one.values.size)
        count = plural(one.values.size, "start")
        said = f"spread {one.spread:.0e}; {one.distinct} distinct of {count}"
        axes.plot(share, one.values, ".-", color=WAYS[one.way].colour, ms=3, lw=1.0, label=said)
    low, high = axes.get_ylim()
    # Room for the legend above the lines.
    axes.set(ylim=(low, high + 0.35 * (high - low)), xlabel="starts, sorted, in percent")
    axes.set_ylabel("$\\|\\hat A^{-1} Y\\|_1$")
    axes.legend(loc="upper left", fontsize=8, frameon=False)


def best_dictionaries(
    table: Table, found: Sequence[Starts], ways: Iterable[str]
) -> dict[tuple[str, str], np.ndarray]:
    """Return the sparsest dictionary of every picture by some ways, recovered once more."""
    chosen = {}
    for one in (one for one in found if one.way in ways):
        for outcome in table.outcomes:
            cell = outcome.cell
            same = (cell.settings["image"], cell.settings["way"]) == (one.image, one.way)
            if same and cell.seed == one.seeds[0]:
                found_again, _ = recover(cell.rng(), **cell.settings)  # type: ignore[arg-type]
                chosen[one.way, one.image] = found_again.dictionary
    return chosen


def expected_cost(settings: Mapping[str, Any]) -> float:
    """Return what a start takes, up to a factor: a sharp cost is the slowest to minimise."""
    return {"printed-sharp": 4.0}.get(settings["way"], 1.0)
