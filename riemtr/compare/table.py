"""A comparison as a table: for each problem and kind of start, one line per solver."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable

from riemtr.compare.legend import legend
from riemtr.compare.lines import KINDS, Line, in_words, lines
from riemtr.compare.records import Comparison


def columns(comparison: Comparison) -> dict[str, Callable[[Line], str]]:
    """Return the columns of a comparison's table: what to say of a line, by heading."""
    tolerances = comparison.settings.get("tolerances")
    if tolerances:
        return {
            "solver": lambda line: line.solver,
            "certified": _certified,
            "deceived": lambda line: str(line.deceived or ""),
            "solved": lambda line: _share(line, line.solved),
            "time": lambda line: _time(line.seconds),
            "calls": lambda line: "" if line.oracles is None else f"{line.oracles:.0f}",
            f"to {tolerances[-1]:g}": lambda line: _time(line.to_gradient),
            "otherwise": otherwise,
        }
    return {  # whole methods: there is no gradient to reach, and no saddle point
        "solver": lambda line: line.solver,
        "certified": _certified,
        "solved": lambda line: _share(line, line.solved),
        "rounded": lambda line: _share(line, line.rounded),
        "time": lambda line: _time(line.seconds),
        "otherwise": otherwise,
    }


def rows(comparison: Comparison, block: Iterable[Line]) -> list[tuple[str, ...]]:
    """Return the cells of lines as text, under :func:`columns`."""
    said = columns(comparison).values()
    return [tuple(say(line) for say in said) for line in block]


def _certified(line: Line) -> str:
    return f"{line.certified}/{line.runs}" if line.runs else ""


def _share(line: Line, number: int | None) -> str:
    return "" if number is None else f"{number}/{line.runs}"


def _time(seconds: float | None) -> str:
    return "" if seconds is None else in_seconds(seconds)


def otherwise(line: Line) -> str:
    """Say what became of the other runs."""
    if not line.runs:
        return "does not apply"
    in_columns = ("certified", "deceived")
    return in_words({how: n for how, n in line.endings.items() if how not in in_columns})


def in_seconds(value: float) -> str:
    """Write a time with its unit.

    Examples
    --------
    >>> [in_seconds(value) for value in (0.00002, 0.0123, 4.56, 78.9)]
    ['0.02 ms', '12.3 ms', '4.56 s', '78.9 s']
    """
    if value < 1e-3:
        return f"{1e3 * value:.2g} ms"
    return f"{1e3 * value:.3g} ms" if value < 0.9995 else f"{value:.3g} s"


def title(problem: str, kind: str, runs: int) -> str:
    """Return the heading of one block of the table."""
    one = {"random": "random start", "saddle": "start at a saddle point"}
    return f"{problem}, {runs} {KINDS[kind]}" if runs != 1 else f"{problem}, 1 {one[kind]}"


def blocks(comparison: Comparison) -> list[tuple[str, list[Line]]]:
    """Return the lines grouped under their headings."""
    grouped: dict[tuple[str, str], list[Line]] = {}
    for line in lines(comparison):
        grouped.setdefault((line.problem, line.kind), []).append(line)
    return [
        (title(problem, kind, max(line.runs for line in block)), block)
        for (problem, kind), block in grouped.items()
    ]


def as_text(comparison: Comparison) -> str:
    """Return the table as plain text."""
    headings, widths = tuple(columns(comparison)), column_widths(comparison)

    def row(values: tuple[str, ...]) -> str:
        first, last = values[0].ljust(widths[0]), values[-1]
        middle = (
            value.rjust(width) for value, width in zip(values[1:-1], widths[1:-1], strict=True)
        )
        return "  ".join([first, *middle, last]).rstrip()

    text = [row(headings)]
    for heading, block in blocks(comparison):
        text += ["", heading, *map(row, rows(comparison, block))]
    return "\n".join([*text, "", *legend(comparison)])


def column_widths(comparison: Comparison) -> list[int]:
    """Return the number of characters of each column, the same in all blocks."""
    shown = [tuple(columns(comparison)), *rows(comparison, lines(comparison))]
    return [max(map(len, column)) for column in zip(*shown, strict=True)]


def as_html(comparison: Comparison) -> str:
    """Return the table as HTML, for notebooks."""
    headings = tuple(columns(comparison))

    def row(kind: str, values: tuple[str, ...]) -> str:
        sides = ["left", *["right"] * (len(values) - 2), "left"]
        return "".join(
            f"<{kind} style='text-align:{side}'>{html.escape(value)}</{kind}>"
            for side, value in zip(sides, values, strict=True)
        )

    body = ""
    for heading, block in blocks(comparison):
        span = f"<th colspan={len(headings)} style='text-align:left'>{html.escape(heading)}</th>"
        body += f"<tr>{span}</tr>"
        body += "".join(f"<tr>{row('td', cells)}</tr>" for cells in rows(comparison, block))
    notes = "<br>".join(map(html.escape, legend(comparison)))
    return f"<table><tr>{row('th', headings)}</tr>{body}</table><small>{notes}</small>"
