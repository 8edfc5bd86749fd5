"""A comparison as one HTML page that needs nothing else: table, interactive plots, settings.

The page is ``page.html`` with ``page.css`` and the scripts beside it filled in; plotly.js (extra
``page``) draws from one block of JSON. A content security policy with the scripts' hashes makes the
browser refuse everything that is not in the file, be it from the network or smuggled into a name.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

from riemtr.compare.page_data import is_recovery, page_data
from riemtr.compare.page_words import figures, headline, lead
from riemtr.compare.records import ENDINGS, Comparison, Run
from riemtr.errors import require
from riemtr.files import plain, write_atomically

_SCRIPTS = ("page_profile.js", "page_plots.js", "page_table.js", "page.js")
_TROUBLES = 40  # rows of what went wrong
_COUNT = re.compile(r" after \d+ iterations?\b(, [\d.]+ seconds)?")


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
    >>> "&lt;mine&gt; ended at a certified minimizer" in page, "<mine>" in page
    (True, False)
    """
    if not comparison.runs:
        raise ValueError(
            "comparison must have at least one run; got none: run it with at least one solver, "
            "problem and start"
        )
    plotly = require("plotly.offline", extra="page").get_plotlyjs()
    script = "\n".join(_part(name) for name in _SCRIPTS)
    recovery = is_recovery(comparison.runs)
    parts = {
        "policy": _policy(plotly, script),
        "title": escape(f"riemtr: {', '.join(comparison.problems[:3])}"),
        "kind": "recovery methods side by side" if recovery else "solvers side by side",
        "style": _part("page.css"),
        "headline": _headline(*headline(comparison)),
        "lead": "".join(f"<p>{escape(sentence)}</p>" for sentence in lead(comparison)),
        "figures": escape(figures(comparison)),
        "verdicts": _verdicts(recovery),
        "marks": _marks(recovery),
        "interrupted": _interrupted(comparison.settings),
        "troubles": _troubles(comparison),
        "settings": _settings(comparison.settings),
        "environment": _definitions(comparison.environment),
        "data": script_json(page_data(comparison)),
        "plotly": plotly,
        "script": script,
    }
    # In one pass: what is filled in is not searched again.
    return re.sub(r"\{\{(\w+)\}\}", lambda place: parts[place[1]], _part("page.html"))


def script_json(value: Any) -> str:
    """Return JSON that can stand in a script element, whatever its strings hold.

    Examples
    --------
    >>> print(script_json({"name": "</script><!--"}))
    {"name":"\\u003c/script\\u003e\\u003c!--"}
    """
    text = json.dumps(plain(value), separators=(",", ":"), allow_nan=False, default=str)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _headline(first: str, misses: str) -> str:
    """The first sentence large, the misses as large as the rest: they may be many."""
    below = f"<p>{escape(misses)}</p>" if misses else ""
    return f"<h1>{escape(first)}</h1>{below}"


def _part(name: str) -> str:
    return resources.files("riemtr.compare").joinpath(name).read_text(encoding="utf-8")


def _policy(*scripts: str) -> str:
    """Return the content security policy: these scripts, styles and data from within, no more."""
    hashes = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
        for script in scripts
    )
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


def _marks(recovery: bool) -> str:
    if recovery:
        return "A dot is a run whose every row is certified, an open mark any other."
    return (
        "A dot is a certified run, a cross one that “converged” at a saddle point, an open mark "
        "any other."
    )


def _verdicts(recovery: bool) -> str:
    if recovery:
        return "What the check of every row says of each method's runs."
    return (
        "What the certificate says of the endpoint of every run. “Converged” is what a solver says "
        "of itself; at a saddle point it is mistaken."
    )


def _troubles(comparison: Comparison) -> str:
    """Return the section on all runs that were not certified; empty if there is nothing."""
    # Runs that ended the same way differ in how far they came: that is no reason of its own.
    found: dict[tuple[str, ...], list[Run]] = {}
    for run in comparison.runs:
        if not run.certified:
            key = (run.solver, run.problem, ENDINGS[run.ending], _COUNT.sub("", run.status))
            found.setdefault(key, []).append(run)
    listed = [(key, str(len(runs)), _steepest(runs)) for key, runs in found.items()]
    listed += [
        ((one["solver"], one["problem"], "does not apply", one["reason"]), "", "")
        for one in comparison.settings.get("not_applicable", [])
    ]
    if not listed:
        return ""
    rows = "".join(
        f"<tr><th scope='row'>{escape(solver)}</th><td>{escape(problem)}</td><td>{escape(outcome)}"
        f"</td><td class='number'>{count}</td><td class='number'>{norm}</td>"
        f"<td>{escape(status)}</td></tr>"
        for (solver, problem, outcome, status), count, norm in listed[:_TROUBLES]
    )
    more = len(listed) - _TROUBLES
    rest = f"<p>{more} more in the data beside this page.</p>" if more > 0 else ""
    names = ("solver", "problem", "how", "runs", "gradient norm at most", "what it said")
    head = "".join(f"<th scope='col'>{name}</th>" for name in names)
    return (
        "<section id='troubles' aria-labelledby='troubles-title'>"
        "<h2 id='troubles-title'>What did not end well</h2>"
        "<div class='scroll' tabindex='0' role='region' aria-labelledby='troubles-title'>"
        f"<table class='plain'><tr>{head}</tr>{rows}</table></div>"
        f"{rest}</section>"
    )


def _steepest(runs: Sequence[Run]) -> str:
    norms = [run.gradient_norm for run in runs if run.gradient_norm is not None]
    return f"{max(norms):.2g}" if norms else ""


def _interrupted(settings: Mapping[str, Any]) -> str:
    if not settings.get("interrupted"):
        return ""
    return "<p class='notice'>Interrupted: only the runs that were finished are here.</p>"


def _settings(settings: Mapping[str, Any]) -> str:
    elsewhere = ("command", "not_applicable", "interrupted")
    rest = {key: value for key, value in settings.items() if key not in elsewhere}
    command = settings.get("command")
    shown = f"<pre><code>{escape(str(command))}</code></pre>" if command else ""
    return shown + _definitions(rest)


def _definitions(values: Mapping[str, Any]) -> str:
    """Return a mapping as a definition list; mappings in it likewise, those in these as a line."""
    items = []
    for key, value in values.items():
        if isinstance(value, Mapping) and any(
            isinstance(part, Mapping) or len(str(part)) > 24 for part in value.values()
        ):
            inner = {name: _line(part) for name, part in value.items()}
            shown = _definitions(inner)
        else:
            shown = escape(_line(value))
        items.append(f"<dt>{escape(_words(key))}</dt><dd>{shown}</dd>")
    return f"<dl>{''.join(items)}</dl>"


def _line(value: Any) -> str:
    if isinstance(value, Mapping):
        parts = [
            _line(part) if isinstance(part, Mapping) else f"{_words(key)} = {_line(part)}"
            for key, part in value.items()
            if part is not None
        ]
        return ", ".join(parts) or "–"
    if isinstance(value, (list, tuple)):
        return "; ".join(map(_line, value)) or "–"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _words(key: Any) -> str:
    return str(key).replace("_", " ")
