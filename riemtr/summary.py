"""One summary of what was found: made once by every result, rendered as text, HTML or rich."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

GOOD, DOUBTFUL, BAD = "good", "doubtful", "bad"
"""Tones of a summary and of a cell: what is confirmed, what is not, and what is wrong."""

Cell = str | tuple[str, str]
"""A text, or a text with its tone."""

_COLOURS = {GOOD: "green", DOUBTFUL: "yellow", BAD: "bold red", "heading": "bold", "": "none"}
# Codes that terminals obey, and those that turn the direction of a text around.
_CODES = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
# Spaces between the columns of a table.
_GAP = 2
# Letters of a column of words that a table in a terminal has room for; with fewer it is a list.
_LEAST = 11


def clean(text: Any) -> str:
    r"""Return a text without the codes that terminals obey, as names of files may have them.

    Examples
    --------
    >>> clean("\x1b[31mred")
    '\ufffd[31mred'
    """
    return _CODES.sub("\ufffd", str(text))


def plural(count: int, noun: str) -> str:
    """Return a number of things.

    Examples
    --------
    >>> plural(1, "row"), plural(3, "row")
    ('1 row', '3 rows')
    """
    return f"{count} {noun}{'' if count == 1 else 's'}"


@dataclass(frozen=True)
class Table:
    """Rows of cells under headings.

    Attributes
    ----------
    headings : tuple of str
    rows : tuple of tuple of Cell
        A row of a single cell is a heading of the rows below it.
    sides : str
        A letter for each column: "l" for words, "r" for figures.
    """

    headings: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    sides: str

    def texts(self) -> list[tuple[str, ...]]:
        """Return the rows without tones."""
        return [tuple(_text(cell) for cell in row) for row in self.rows]

    def widths(self) -> list[int]:
        """Return the number of letters of each column."""
        shown = [self.headings, *(row for row in self.texts() if len(row) > 1)]
        return [max(map(len, column)) for column in zip(*shown, strict=True)]


@dataclass(frozen=True)
class Summary:
    """A result in words and figures.

    Attributes
    ----------
    title : str
    pairs : tuple of (str, str)
        Names and what to say of them.
    table : Table or None
    notes : tuple of str
        Sentences below the table.
    tone : str
        :data:`GOOD` or :data:`DOUBTFUL`, or nothing.
    line : str
        All of it in one line.
    """

    title: str
    pairs: tuple[tuple[str, str], ...] = ()
    table: Table | None = None
    notes: tuple[str, ...] = ()
    tone: str = ""
    line: str = ""

    def saying(self, title: str, *pairs: tuple[str, str]) -> Summary:
        """Return the summary under another title, with further pairs at its end."""
        return replace(self, title=title, pairs=(*self.pairs, *pairs))

    def text(self) -> str:
        """Return the summary as plain text."""
        width = max((len(name) for name, _ in self.pairs), default=0) + 3
        said = (
            f"  {name + ':':<{width}}{value}".replace("\n", "\n" + " " * (width + 2))
            for name, value in self.pairs
        )
        table = [] if self.table is None else list(_aligned(self.table))
        gap = [""] if table and self.notes else []
        lines = [*([self.title] if self.title else []), *said, *table, *gap, *self.notes]
        return clean("\n".join(lines))

    def html(self) -> str:
        """Return the summary as HTML, for notebooks and pages."""
        title = f"<b>{html.escape(self.title)}</b>" if self.title else ""
        rows = "".join(
            f"<tr>{_html_row([name], 'l', 'th')}{_html_row([value], 'l')}</tr>"
            for name, value in self.pairs
        )
        pairs = f"<table>{rows}</table>" if rows else ""
        table = "" if self.table is None else table_html(self.table)
        notes = "<br>".join(map(html.escape, self.notes))
        return clean(f"{title}{pairs}{table}" + (f"<small>{notes}</small>" if notes else ""))

    def __rich_console__(self, console: Any, options: Any) -> Iterator[Any]:
        """Yield the table, the notes, and the pairs in a frame whose colour is the tone's."""
        from rich.panel import Panel
        from rich.text import Text

        if self.table is not None:
            yield from _rich_table(self.table, options.max_width)
            yield ""
        for note in self.notes:
            yield Text(clean(note), style="dim")
        if self.pairs:
            width = max(len(name) for name, _ in self.pairs)
            rows = [((name, "heading"), value) for name, value in self.pairs]
            yield Panel(
                _grid(rows, "ll", [width]),
                title=Text(clean(self.title)),
                title_align="left",
                border_style=_COLOURS[self.tone],
            )


class Summarised:
    """An object that prints as its summary, in a terminal and in a notebook."""

    def summary(self) -> Summary:
        """Return what there is to say, without computing anything."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return self.summary().text()

    def _repr_html_(self) -> str:
        return self.summary().html()


def table_html(table: Table) -> str:
    """Return a table as HTML; tones are the classes of cells."""
    head = _html_row(table.headings, table.sides, "th")
    span = f"<tr><th colspan={len(table.headings)} style='text-align:left'>"
    body = "".join(
        f"{span}{html.escape(_text(row[0]))}</th></tr>"
        if len(row) == 1
        else f"<tr>{_html_row(row, table.sides)}</tr>"
        for row in table.rows
    )
    return f"<table><tr>{head}</tr>{body}</table>"


def _html_row(cells: Sequence[Cell], sides: str, kind: str = "td") -> str:
    sides_in_words = {"l": "left", "r": "right"}
    return "".join(
        f"<{kind}{f' class={_tone(cell)!r}' if _tone(cell) else ''} "
        f"style='text-align:{sides_in_words[side]}'>"
        f"{html.escape(_text(cell)).replace(chr(10), '<br>')}</{kind}>"
        for cell, side in zip(cells, sides, strict=True)
    )


def _text(cell: Cell) -> str:
    return cell if isinstance(cell, str) else cell[0]


def _tone(cell: Cell) -> str:
    return "" if isinstance(cell, str) else cell[1]


def _aligned(table: Table) -> Iterator[str]:
    """Yield a table line by line; rows below a heading of their own are set off by a blank line."""
    widths = table.widths()
    for row in (table.headings, *table.texts()):
        if len(row) == 1:
            yield f"\n{row[0]}"
            continue
        sides = zip(row, widths, table.sides, strict=True)
        cells = (cell.rjust(n) if side == "r" else cell.ljust(n) for cell, n, side in sides)
        yield f"  {(' ' * _GAP).join(cells)}".rstrip()


def _rich_table(table: Table, window: int) -> Iterator[Any]:
    """Yield a table for a window: names and remarks folded to fit, or a list where that is no use.

    All blocks have columns of the same widths.
    """
    from rich.text import Text

    first, *figures, last = table.widths()
    room = window - sum(figures) - _GAP * (len(figures) + 1)
    fits = min(first, _LEAST) + min(last, _LEAST) <= room
    widths = [min(first, max(room - min(last, _LEAST), _LEAST)), *figures]
    if fits:
        yield _grid(
            [tuple((heading, "heading") for heading in table.headings)], table.sides, widths
        )
    for row in table.rows:
        if len(row) == 1:
            yield Text(f"\n{clean(_text(row[0]))}", style="bold cyan")
        elif fits:
            yield _grid([row], table.sides, widths)
        else:
            name, *others = map(_text, row)
            told = zip(table.headings[1:], others, strict=True)
            yield Text(clean(name), style="bold")
            yield Text(clean(", ".join(f"{word} {text}" for word, text in told if text)))


def _grid(rows: Iterable[Sequence[Cell]], sides: str, widths: Sequence[int] = ()) -> Any:
    """Return rows in columns of some widths; the last column, and any without a width, is free."""
    from rich.table import Table as Grid
    from rich.text import Text

    grid = Grid.grid(padding=(0, _GAP, 0, 0))
    for number, side in enumerate(sides):
        width = widths[number] if number < len(widths) else None
        grid.add_column(justify="left" if side == "l" else "right", width=width, overflow="fold")
    for row in rows:
        grid.add_row(*(Text(clean(_text(cell)), style=_COLOURS[_tone(cell)]) for cell in row))
    return grid
