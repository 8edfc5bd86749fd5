"""A comparison as one HTML page that needs nothing else: tables, interactive figures, settings."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path
from typing import Any

from riemtr.compare.entrants import described
from riemtr.compare.page_figures import curves_figure, endings_figure, marks_figure, profiles_figure
from riemtr.compare.records import ENDINGS, Comparison, Run, is_recovery
from riemtr.errors import ArgumentError, require
from riemtr.files import write_atomically
from riemtr.page import page, section
from riemtr.summary import Summary, Table, clean, plural

# Rows of what went wrong.
_TROUBLES = 40
_COUNT = re.compile(r" after \d+ iterations?\b(, [\d.]+ seconds)?")
# Only these buttons: another of plotly's would upload the plot to its makers' server.
_CONFIG = {
    "responsive": True,
    "displaylogo": False,
    "showSendToCloud": False,
    "modeBarButtons": [["toImage", "zoom2d", "pan2d", "resetScale2d"]],
}
_SOLVERS = (
    "A vanishing gradient is not yet a minimum: at a saddle point there is still a way down. "
    "Whatever a solver says of itself, riemtr examined the point where it stopped, off the clock: "
    "it is certified if the gradient is small and no direction leads down to second order."
)
_METHODS = (
    "The data are mixtures, Y = A X, of which only Y is known: every method looks for the "
    "dictionary A that makes X sparse. All got the same whitened data. Whatever a method says of "
    "itself, riemtr checked every row it found by linear programming, off the clock: a row is "
    "certified if it is proved that no direction near it gives a sparser one (in the l1 norm)."
)
_FIGURES = {
    "Where the runs ended": "",
    "Fast and reliable: performance profiles": "A curve's height at 2 is the share of starts from "
    "which the solver succeeded within twice what the best solver needed there. High on the left "
    "is fast, high on the right is reliable (Dolan and Moré, 2002). Where a solver does not apply "
    "it does not succeed. Double-click a solver to see it alone.",
    "How the runs went": "One line per run. It ends in a dot where the endpoint is a certified "
    "minimizer, in a cross where the solver stopped at a saddle point and called it converged. At "
    "most twenty starts of each kind are drawn.",
    "Every run, one mark each": "A dot is a certified run, a cross one that “converged” at a "
    "saddle point, an open mark any other. Point at a mark to see what run it is.",
}


def write_page(comparison: Comparison, path: Path) -> Path:
    """Write a comparison as an HTML page; see :func:`page_html`."""
    return write_atomically(Path(path), page_html(comparison).encode())


def page_html(comparison: Comparison) -> str:
    """Return a comparison as a self-contained HTML page of some 5 MB, most of it plotly.js.

    Parameters
    ----------
    comparison : Comparison
        Of at least one run.

    Examples
    --------
    >>> from riemtr.compare.records import Run
    >>> run = Run("rayleigh", "<mine>", 0, "random", "ended", "", True, verdict="minimizer")
    >>> page = page_html(Comparison({}, {}, (run,)))
    >>> "Certified in every run: &lt;mine&gt;." in page, "<mine>" in page
    (True, False)
    """
    if not comparison.runs:
        remedy = "run it with at least one solver, problem and start"
        raise ArgumentError("comparison", "have at least one run; got none", remedy=remedy)
    plotly = require("plotly.offline", extra="page").get_plotlyjs()
    figures = [
        figure(comparison)
        for figure in (endings_figure, profiles_figure, curves_figure, marks_figure)
    ]
    scripts = [_script(figure, number) for number, figure in enumerate(figures) if figure]
    body = "".join(_body(comparison, figures))
    return page(f"riemtr: {', '.join(comparison.problems[:3])}", body, [plotly, *scripts])


def _body(comparison: Comparison, figures: list[dict[str, Any] | None]) -> Iterator[str]:
    settings, recovery = comparison.settings, is_recovery(comparison)
    first, *others = _headline(comparison)
    sizes = {"run": len(comparison.runs), "problem": len(comparison.problems)}
    sizes["method" if recovery else "solver"] = len(comparison.solvers)
    told = " · ".join(plural(size, word) for word, size in sizes.items())
    yield f"<header><p class='soft'>riemtr · {told}</p><h1>{escape(first)}</h1>"
    yield "".join(f"<p>{escape(sentence)}</p>" for sentence in others)
    yield f"<p>{_METHODS if recovery else _SOLVERS}</p>"
    if settings.get("interrupted"):
        yield "<p class='bad'>Interrupted: only the runs that were finished are here.</p>"
    yield "</header><main>"
    sections = [
        section(title, f"<p>{said}</p>{_place(figure, number)}")
        for number, ((title, said), figure) in enumerate(
            zip(_FIGURES.items(), figures, strict=True)
        )
        if figure is not None
    ]
    yield sections[0]
    if len(comparison.problems) > 1:
        yield section("All problems together", comparison.overall().html())
    yield section("Side by side", comparison.summary().html())
    yield from sections[1:]
    troubles = _troubles(comparison)
    if troubles is not None:
        yield section("What did not end well", troubles.html())
    elsewhere = ("command", "not_applicable", "interrupted")
    rest = {key: value for key, value in settings.items() if key not in elsewhere}
    command = settings.get("command")
    shown = f"<pre>{escape(clean(command))}</pre>" if command else ""
    yield section("Run it again", shown + Summary("", tuple(_pairs(rest))).html())
    yield section("Measured with", Summary("", tuple(_pairs(comparison.environment))).html())
    yield "</main>"


def _headline(comparison: Comparison) -> list[str]:
    """Say whose runs were all certified, then of everybody else how often and how they were not."""
    line = comparison.summary().line.removeprefix("certified: ")
    runs = {name: [r for r in comparison.runs if r.solver == name] for name in comparison.solvers}
    complete = [name for name, mine in runs.items() if all(run.certified for run in mine)]
    first = f"Certified in every run: {', '.join(complete)}." if complete else ""
    return [clean(part) for part in (first or "No solver has all its runs certified.", f"{line}.")]


def _place(figure: dict[str, Any], number: int) -> str:
    """Return the place of a figure, which its script fills."""
    height = figure["layout"]["height"]
    return f'<div id="figure-{number}" style="height:{height}px; width:100%"></div>'


def _script(figure: dict[str, Any], number: int) -> str:
    """Return the script that draws a figure; plotly itself is elsewhere on the page."""
    drawn = require("plotly.io", extra="page").to_json(figure, validate=False)
    # No name ends the script, whatever it holds: strings may have these characters by number.
    drawn = drawn.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    call = f'Plotly.newPlot("figure-{number}", figure.data, figure.layout, {json.dumps(_CONFIG)})'
    return f"{{ const figure = {drawn}; {call}; }}"


def _troubles(comparison: Comparison) -> Summary | None:
    """Return all runs that were not certified, those alike in one row; None if there are none."""
    # Runs that ended the same way differ in how far they came: that is no reason of its own.
    found: dict[tuple[str, ...], list[Run]] = {}
    for run in comparison.runs:
        if not run.certified:
            key = (run.solver, run.problem, ENDINGS[run.ending], _COUNT.sub("", run.status))
            found.setdefault(key, []).append(run)
    rows = []
    for (*which, said), runs in found.items():
        norms = [run.gradient_norm for run in runs if run.gradient_norm is not None]
        rows.append((*which, str(len(runs)), f"{max(norms):.2g}" if norms else "", said))
    rows += [
        (one["solver"], one["problem"], "does not apply", "", "", one["reason"])
        for one in comparison.settings.get("not_applicable", [])
    ]
    if not rows:
        return None
    more = len(rows) - _TROUBLES
    notes = (f"{more} more in the data beside this page.",) if more > 0 else ()
    headings = ("solver", "problem", "how", "runs", "gradient norm at most", "what it said")
    return Summary("", table=Table(headings, tuple(rows[:_TROUBLES]), "lllrrl"), notes=notes)


def _pairs(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the entries of a mapping in words, those of mappings in it a line each."""
    for key, value in values.items():
        lines = [_line(value)]
        if isinstance(value, Mapping):
            lines = [f"{name}: {_line(part)}" for name, part in value.items()]
        yield str(key).replace("_", " "), "\n".join(lines)


def _line(value: Any) -> str:
    if isinstance(value, Mapping):
        known = (f"{key} = {_line(part)}" for key, part in value.items() if part is not None)
        return ", ".join(known) or "–"
    if isinstance(value, (list, tuple)):
        return "; ".join(map(_line, value)) or "–"
    return f"{value:.6g}" if isinstance(value, float) else described(value)
