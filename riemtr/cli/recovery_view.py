"""A recovery in the terminal: progress while it runs, then its rows and a summary in words."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.panel import Panel
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars
from rich.table import Table

from riemtr.recovery import Progress, Recovery
from riemtr.recovery.figures import concentration
from riemtr.recovery.report import ranges

_SPARSER = 0.9  # share of the data's concentration below which X is called sparser
_AMPLIFIED = 30.0  # condition number from which noise of a percent or so may mix rows
_SHOWN = 12  # rows of the table; beyond that only those not to be trusted
_STAGES = {
    "solve": "finding sparse directions",
    "round": "making each one exact",
    "polish": "making doubtful ones exact",
}


class ProgressBars:
    """One bar per stage of a recovery; an observer for ``recover_dictionary(progress=...)``.

    Ctrl-C ends the run at the next row, not in the middle of one, so that a checkpoint holds only
    rows that are complete.
    """

    def __init__(self, console: Console):
        self._bars = Bars(
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
        )
        self._tasks: dict[tuple[str, int], int] = {}
        self._interrupted = False

    def __call__(self, progress: Progress) -> None:
        """Move the bar of this stage."""
        if self._interrupted:
            raise KeyboardInterrupt
        stage = (progress.stage, progress.attempt)
        if stage not in self._tasks:
            again = f" (again, attempt {progress.attempt})" if progress.attempt else ""
            name = f"{_STAGES.get(progress.stage, progress.stage)}{again}"
            self._tasks[stage] = self._bars.add_task(name, total=progress.total)
        self._bars.update(self._tasks[stage], completed=progress.done)  # type: ignore[arg-type]

    @contextmanager
    def shown(self) -> Iterator[ProgressBars]:
        """Show the bars, and catch Ctrl-C; the second one is not caught."""

        def interrupt(number: int, frame: FrameType | None) -> None:
            self._interrupted = True
            signal.signal(signal.SIGINT, previous)
            self._bars.console.print("stopping after this row; Ctrl-C again to stop at once")

        previous = signal.signal(signal.SIGINT, interrupt)
        try:
            with self._bars:
                yield self
        finally:
            signal.signal(signal.SIGINT, previous)


def rows_table(found: Recovery) -> Table:
    """Return the verdicts, row by row: the first ones and all that have remarks of their own."""
    samples = found.coefficients.shape[1]
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("row", "zeros", "duality gap"):
        table.add_column(heading, justify="right", no_wrap=True)
    for heading in ("certified", "trusted"):
        table.add_column(heading, justify="center", no_wrap=True)
    table.add_column("remarks")
    hidden, shared = [], found.doubts
    for number, atom in enumerate(found.atoms):
        own = [doubt for doubt in atom.doubts if len(shared[doubt]) == 1]
        if number >= _SHOWN and not own:
            hidden.append(atom)
            continue
        gap = "" if atom.rounding is None else f"{atom.rounding.duality_gap:.1e}"
        sparse = "exactly sparse" if atom.exact else ""
        remarks = "; ".join(own or (["see below"] if atom.doubts else [sparse]))
        table.add_row(
            str(number),
            f"{found.count_zeros(number) / samples:.1%}",
            gap,
            "yes" if atom.certified else "[yellow]no[/]",
            "[green]yes[/]" if atom.trusted else "[bold red]no[/]",
            escape(remarks),
        )
    if hidden:
        trusted = all(atom.trusted for atom in hidden)
        which = "all trusted" if trusted else "all trusted but those below"
        table.add_row("…", "", "", "", "", f"{len(hidden)} more, {which}")
    return table


def shared_remarks(found: Recovery) -> list[str]:
    """Return the remarks that several rows share, each once.

    The table has those of single rows.
    """
    shared = {doubt: rows for doubt, rows in found.doubts.items() if len(rows) > 1}
    return [f"rows {ranges(rows)}: {doubt}" for doubt, rows in shared.items()]


def summary_panel(found: Recovery, data: np.ndarray, residual: float, title: str) -> Panel:
    """Return what was found in words, in a frame whose colour says how far to trust it."""
    n, p = data.shape
    rows = [
        ("data", f"{p} samples of {_count(n, 'number')} each"),
        ("found", explain_fit(found, residual)),
        ("sparsity", explain_sparsity(found, data)),
        ("proof", explain_proof(found)),
        ("trust", explain_trust(found)),
        ("effort", explain_effort(found)),
    ]
    if found.off_centre:
        rows.insert(-1, ("hint", explain_offset(found)))
    amplified = found.condition_number > _AMPLIFIED and not _some_exact(found)
    if amplified and any(atom.trusted for atom in found.atoms):
        rows.insert(-1, ("caution", explain_amplification(found)))
    colour = "green" if found.trusted and not amplified else "yellow"
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    for name, text in rows:
        table.add_row(name, escape(text))
    return Panel(table, title=escape(title), title_align="left", border_style=colour)


def summary_line(found: Recovery) -> str:
    """Return what was found in one line, for ``--quiet``."""
    n, rank = found.dictionary.shape
    trusted = sum(atom.trusted for atom in found.atoms)
    certified = sum(atom.certified for atom in found.atoms)
    return (
        f"{_count(rank, 'atom')} of {_count(n, 'number')}: {_count(certified, 'row')} certified, "
        f"{trusted} trusted, "
        f"{found.seconds:.3g} s"
    )


def explain_fit(found: Recovery, residual: float) -> str:
    """Say what A and X are and how well A X gives the data."""
    atoms = found.dictionary.shape[1]
    return (
        f"{_count(atoms, 'atom')} (the column{'s' if atoms > 1 else ''} of A) and their "
        f"coefficients X; A X gives the data with relative error {residual:.0e}"
    )


def explain_sparsity(found: Recovery, data: np.ndarray) -> str:
    """Say how sparse X is, and the data were."""
    X, exact = found.coefficients, sum(atom.exact for atom in found.atoms)
    before, after = concentration(data), concentration(X)
    if exact == len(found.atoms):
        return f"every row of X is exactly sparse: {np.mean(X == 0):.0%} of its entries are zero"
    verb = "is" if exact == 1 else "are"
    some = f"{exact} of {len(found.atoms)} rows {verb} exactly sparse, the others not"
    none = "no row is exactly sparse, as usual for real data, but X is sparser than they are"
    if after > _SPARSER * before:
        none = "no row is exactly sparse, nor is X sparser than the data"
    return (
        f"{some if exact else none}: {after:.0%} of the entries of X hold 90% of its sum of "
        f"squares, of the data {before:.0%}"
    )


def explain_proof(found: Recovery) -> str:
    """Say how many rows are certified, and what that means."""
    atoms, certified = len(found.atoms), sum(atom.certified for atom in found.atoms)
    verb = "is" if certified == 1 else "are"
    which = "every row is" if certified == atoms else f"{certified} of {atoms} rows {verb}"
    return (
        f"{which} certified: a duality gap proves that the linear program that made it sparse is "
        f"solved to optimality, not that the row is right"
    )


def explain_trust(found: Recovery) -> str:
    """Say which rows to trust, and what to do about the others."""
    doubtful = [number for number, atom in enumerate(found.atoms) if atom.doubts]
    if doubtful:
        which = f"row {doubtful[0]}" if len(doubtful) == 1 else f"rows {ranges(doubtful)}"
        which = "any row" if len(doubtful) == len(found.atoms) else which
        return (
            f"do not rely on {which} of X, nor on digits of A, which a wrong row disturbs; the "
            f"remarks say why. More samples help most; else try another --seed, --mu or --rank"
        )
    if not _some_exact(found):
        return (
            "no row is exactly sparse, so nothing can prove any: they are sparser than noise can "
            "be made, and no more is known. See if another --seed gives the same"
        )
    return "nothing speaks against any row"


def explain_amplification(found: Recovery) -> str:
    """Say what the condition number of the data does to noise."""
    return (
        f"the data have condition number {found.condition_number:.0f}, by which noise may be "
        f"amplified: it may have mixed the rows, though every seed gives the same"
    )


def _some_exact(found: Recovery) -> bool:
    return any(atom.exact for atom in found.atoms)


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def explain_offset(found: Recovery) -> str:
    """Say what an offset does, and how to take it away."""
    return (
        f"the average sample makes up {found.mean_share:.0%} of the data's sum of squares: either "
        f"an offset, which hides sparsity (try --center), or the average of the coefficients "
        f"themselves (then leave it, and take more samples)"
    )


def explain_effort(found: Recovery) -> str:
    """Say what it took."""
    again = sum(atom.attempt > 0 for atom in found.atoms)
    rows = "row" if again == 1 else "rows"
    more = f"; {again} {rows} had to be solved for again" if again else ""
    return f"{found.seconds:.3g} s, {len(found.atoms)} solves on the sphere{more}"
