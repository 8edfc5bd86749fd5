"""An HTML page that is one file: its style, sortable tables, and no leave to load anything.

A content security policy with the hashes of riemtr's own scripts makes the browser refuse all
others, be they from the network or smuggled into a name: a script in the body has no hash.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from html import escape
from importlib import resources

from riemtr.summary import clean

_FOOTER = (
    "<footer class='soft'>Written by riemtr. This page is one file and loads nothing from "
    "elsewhere.</footer>"
)


def page(title: str, body: str, scripts: Sequence[str] = ()) -> str:
    """Return a page of a title and a body, whose tables are sorted by a click on a heading.

    Parameters
    ----------
    title : str
        Of the window, plain text.
    body : str
        HTML with everything escaped that is not ours; scripts in it do not run.
    scripts : sequence of str
        JavaScript that runs, in this order, once the body is there.

    Examples
    --------
    >>> "<title>a &lt; b</title>" in page("a < b", "<p>It is.</p>")
    True
    """
    scripts = [*scripts, _part("page.js")]
    body = f"{body}{_FOOTER}{''.join(f'<script>{script}</script>' for script in scripts)}"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_policy(scripts)}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<link rel="icon" href="data:,"><title>{escape(clean(title))}</title>'
        f"<style>{_part('page.css')}</style></head><body>{body}</body></html>\n"
    )


def section(title: str, content: str) -> str:
    """Return a section of a page, which scrolls where it is wider than the window."""
    return f"<section><h2>{title}</h2><div class='scroll'>{content}</div></section>"


def _part(name: str) -> str:
    return resources.files("riemtr").joinpath(name).read_text(encoding="utf-8")


def _policy(scripts: Sequence[str]) -> str:
    """Return the content security policy: these scripts, styles and data from within, no more."""
    hashes = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
        for script in scripts
    )
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
