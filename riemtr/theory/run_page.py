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
from riemtr.summary import Cell, Summary, Table, clean, plural
from riemtr.theory.chart import OUTER_RADIUS, REGIONS
from riemtr.theory.errata import slips

if TYPE_CHECKING:
    from riemtr.theory.run_regions import RunRegions

# Regions I, II and III: the ground colour of their bands, and the colour of their marks.
_BANDS = ("#e3f1e8", "#fdf3dc", "#e8eef6")
_MARKS = ("#2c7f4f", "#b7791f", "#3b6ea5")
_NUMERALS = ("I", "II", "III")
_STYLE = """
* { box-sizing: border-box; } html { color-scheme: light; }
body { margin: 0 auto; max-width: 70rem; padding: 0 1rem 3rem; background: #fff; color: #1b1f24;
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
h1 { font-size: 1.4rem; line-height: 1.3; } h2 { margin: 2.2rem 0 .4rem; font-size: 1.2rem; }
p { max-width: 60rem; } .soft, small { color: #57606a; }
small { display: block; margin-top: .6rem; font-size: .9rem; }
.scroll { overflow-x: auto; } svg { max-width: 100%; height: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .8rem .2rem 0; border-bottom: 1px solid #d5dae0; vertical-align: top; }
th { font-weight: 600; } th[colspan] { padding-top: 1rem; }
td[style*="right"], th[style*="right"] { white-space: nowrap; }
.good { color: #00613f; } .bad { color: #b00020; font-weight: 600; }
summary { cursor: pointer; font-weight: 600; }
"""
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
    for edge, ground, name, numeral in zip(edges, _BANDS, REGIONS, _NUMERALS, strict=True):
        bottom = low if numeral == "I" else edges[_NUMERALS.index(numeral) - 1]
        axes.axhspan(bottom, edge, color=ground, linewidth=0)
        axes.annotate(
            f"{numeral}  {name}",
            (0.01, math.sqrt(bottom * edge)),
            xycoords=("axes fraction", "data"),
            ha="left",
            va="center",
            fontsize=9,
            color=_MARKS[_NUMERALS.index(numeral)],
        )
    axes.semilogy(number, length, color="0.6", linewidth=1, zorder=2)
    for kind, inside in (("constrained", table["constrained"]), ("other", ~table["constrained"])):
        colours = [_MARKS[region] for region in table["region"][inside]]
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
                color=_MARKS[region],
                label=f"theorem's d, region {_NUMERALS[region]}",
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
    body = (
        f"<header><p class='soft'>riemtr · one run through the paper's regions</p>"
        f"<h1>{escape(title)}</h1><p>{_READING}</p></header><main>"
        f"<section>{picture}</section>"
        f"<section><h2>Theory beside practice</h2><div class='scroll'>{pairs}</div></section>"
        f"<section><h2>Phases</h2><div class='scroll'>{phases}</div></section>"
        f"<section><h2>Quadratic convergence</h2><div class='scroll'>{_rates(run)}</div></section>"
        f"<section><h2>All iterates</h2>{_folded('every iterate', _iterates(run).html())}</section>"
        f"<section><h2>Constants</h2>"
        f"{_folded('every constant with its equation', run.constants.summary().html())}"
        f"{_folded('slips of the paper', slips().summary().html())}</section></main>"
        "<footer class='soft'><p>Written by riemtr. This page is one file and loads nothing from "
        "elsewhere.</p></footer>"
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        "style-src 'unsafe-inline'; img-src data:\">"
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<link rel="icon" href="data:,"><title>{escape(clean(title))}</title>'
        f"<style>{_STYLE}</style></head><body>{body}</body></html>\n"
    )


def _folded(title: str, content: str) -> str:
    return f"<details><summary>{title}</summary><div class='scroll'>{content}</div></details>"


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
                _NUMERALS[int(table["region"][k])],
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
