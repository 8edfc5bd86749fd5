"""A run through the regions as a figure, and as one HTML page that needs nothing else."""

from __future__ import annotations

import io
import math
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from riemtr.errors import require
from riemtr.files import write_atomically
from riemtr.page import page, section
from riemtr.summary import Cell, Summary, Table, plural
from riemtr.theory.chart import NUMERALS, OUTER_RADIUS, REGION_COLOURS, REGIONS
from riemtr.theory.errata import slips

if TYPE_CHECKING:
    from riemtr.theory.run_regions import RunRegions

_READING = (
    "The length of w says how far an iterate is from the nearest signed atom, and which of the "
    "paper's regions it is in. In region III the analysis counts on negative curvature, in II on "
    "the gradient, in I on strong convexity: there steps that end inside the trust region are "
    "Newton's, and the distance from the minimizer is squared, up to a factor, in each."
)


def draw(run: RunRegions) -> Any:
    """Draw a run: regions, decreases and distances; return a matplotlib Figure."""
    figure = require("matplotlib.figure", extra="plot").Figure(
        figsize=(10, 7.2), layout="constrained"
    )
    top, middle, bottom = figure.subplots(3, 1, sharex=True, height_ratios=(1.25, 1, 1))
    _draw_lengths(run, top)
    _draw_decreases(run, middle)
    _draw_distances(run, bottom)
    bottom.set_xlabel("iterate")
    bottom.xaxis.get_major_locator().set_params(integer=True)
    for axes in (top, middle, bottom):
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def _draw_lengths(run: RunRegions, axes: Any) -> None:
    table, constants = run.iterates, run.constants
    length, number = np.maximum(table["length"], 1e-16), np.arange(run.steps + 1)
    edges = (constants.inner_radius, OUTER_RADIUS, 1.0)
    low = min(0.3 * constants.inner_radius, 0.5 * float(length.min()))
    bottoms = (low, *edges[:2])
    for bottom, edge, numeral, name, colour in zip(
        bottoms, edges, NUMERALS, REGIONS, REGION_COLOURS, strict=True
    ):
        axes.axhspan(bottom, edge, color=colour, alpha=0.13, linewidth=0)
        axes.annotate(
            f"{numeral}  {name}",
            (0.01, math.sqrt(bottom * edge)),
            xycoords=("axes fraction", "data"),
            ha="left",
            va="center",
            fontsize=9,
            color=colour,
        )
    axes.semilogy(number, length, color="0.6", linewidth=1, zorder=2)
    for kind, inside in (("constrained", table["constrained"]), ("other", ~table["constrained"])):
        colours = [REGION_COLOURS[region] for region in table["region"][inside]]
        filled = colours if kind == "constrained" else "white"
        axes.scatter(number[inside], length[inside], s=22, c=filled, edgecolors=colours, zorder=3)
    axes.set_ylim(low, 1.0)
    axes.set_title(
        "length of w; filled: the step from there ends on the boundary of the trust region",
        fontsize=10,
        loc="left",
    )


def _draw_decreases(run: RunRegions, axes: Any) -> None:
    table, number = run.iterates, np.arange(run.steps + 1)
    positive = table["decrease"] > 0
    axes.semilogy(
        number[positive], table["decrease"][positive], ".-", color="0.35", label="decrease"
    )
    for region in range(3):
        here = (table["region"] == region) & np.isfinite(table["guaranteed"])
        if here.any():
            axes.semilogy(
                number[here],
                table["guaranteed"][here],
                "_",
                color=REGION_COLOURS[region],
                label=f"theorem's d, region {NUMERALS[region]}",
            )
    axes.legend(frameon=False, fontsize=8, ncols=4, loc="best")
    axes.set_title("decrease of the cost in the step from there", fontsize=10, loc="left")


def _draw_distances(run: RunRegions, axes: Any) -> None:
    number = np.arange(run.steps + 1)
    for name, said, colour in (
        ("gradient_norm", "gradient norm", "#8a5a9e"),
        ("distance", "distance from the minimizer", "0.35"),
    ):
        values = run.iterates[name]
        shown = values > 0
        axes.semilogy(number[shown], values[shown], ".-", color=colour, label=said)
    if run.settled is not None:
        axes.axvline(run.settled, color="0.4", linewidth=1, linestyle=":")
        axes.annotate(
            "first unconstrained\nstep in region I",
            (run.settled, 0.5),
            xycoords=("data", "axes fraction"),
            xytext=(-4, 0),
            textcoords="offset points",
            ha="right",
            fontsize=8,
            color="0.4",
        )
    axes.legend(frameon=False, fontsize=8, loc="lower left")
    axes.set_title("convergence", fontsize=10, loc="left")


def write_page(run: RunRegions, path: Any, overwrite: bool = False) -> Path:
    """Write the page of a run; a file that exists stays unless it is to be overwritten."""
    path = Path(path)
    if path.exists() and not overwrite:
        raise FileExistsError(f"{path} exists; choose a new path, or pass overwrite=True")
    return write_atomically(path, page_html(run).encode())


def page_html(run: RunRegions) -> str:
    """Return the page of a run: what happened, the figure, every iterate, the constants."""
    summary = run.summary()
    drawing = io.StringIO()
    draw(run).savefig(drawing, format="svg", metadata={"Date": None})
    picture = drawing.getvalue()
    picture = picture[picture.index("<svg") :]
    title = f"{plural(run.steps, 'iteration')}; the theorem's bound is {run.bound:.1e}"
    pairs = Summary("", summary.pairs).html()
    phases = Summary("", table=summary.table, notes=summary.notes).html()
    constants = _folded("every constant with its equation", run.constants.summary().html())
    body = (
        f"<header><p class='soft'>riemtr · one run through the paper's regions</p>"
        f"<h1>{escape(title)}</h1><p>{_READING}</p></header><main>",
        f"<section>{picture}</section>",
        section("Theory beside practice", pairs),
        section("Phases", phases),
        section("Quadratic convergence", _rates(run)),
        section("All iterates", _folded("every iterate", _iterates(run).html())),
        section("Constants", constants + _folded("slips of the paper", slips().summary().html())),
        "</main>",
    )
    return page(title, "".join(body))


def _folded(title: str, content: str) -> str:
    return f"<details><summary>{title}</summary>{content}</details>"


def _rates(run: RunRegions) -> str:
    """Return the steps of the last phase, with the ratios that quadratic convergence bounds."""
    table = run.iterates
    inside = np.flatnonzero(np.isfinite(table["step"]) & ~table["constrained"])
    if not inside.size:
        return "<p>No unconstrained step.</p>"
    rows = [
        (
            str(table["iteration"][k]),
            f"{table['distance'][k]:.3g}",
            _shown(table["rate"][k]),
            f"{table['gradient_norm'][k]:.3g}",
            _shown(table["gradient_rate"][k]),
        )
        for k in [*inside, run.steps]
    ]
    headings = ("iterate", "distance e", "next e / e^2", "gradient norm g", "next g / g^2")
    note = (
        f"The theorem bounds the last column by L_H / (2 m_H^2) = {run.constants.rate:.3g} "
        "(lem:TR-step). Ratios to what is only rounding are left out."
    )
    return Summary("", table=Table(headings, tuple(rows), "lrrrr"), notes=(note,)).html()


def _iterates(run: RunRegions) -> Summary:
    table = run.iterates
    rows: list[tuple[Cell, ...]] = []
    for k in range(run.steps + 1):
        kind = "constrained" if table["constrained"][k] else "unconstrained"
        rows.append(
            (
                str(table["iteration"][k]),
                str(table["section"][k]),
                NUMERALS[int(table["region"][k])],
                f"{table['length'][k]:.3g}",
                f"{table['cost'][k]:.8g}",
                f"{table['gradient_norm'][k]:.3g}",
                "" if k == run.steps else kind,
                _shown(table["decrease"][k]),
                _shown(table["guaranteed"][k]),
                f"{table['distance'][k]:.3g}",
            )
        )
    headings = (
        *("iterate", "atom", "region", "|w|", "cost", "gradient norm"),
        *("step", "decrease", "theorem's d", "distance"),
    )
    return Summary("", table=Table(headings, tuple(rows), "rllrrrlrrr"))


def _shown(value: float) -> str:
    return f"{value:.3g}" if math.isfinite(value) else ""
