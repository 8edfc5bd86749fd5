"""What ``riemtr sweep`` can run: the paper's phase transition, or a function of the user's own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from riemtr.cli.parameters import parse_axes
from riemtr.cli.sweep_files import check_files
from riemtr.cli.sweep_view import SweepBars, boundary_lines, means_table
from riemtr.imports import imported, look_here
from riemtr.sweep import Table, read
from riemtr.sweep.phase_report import FIGURE, SUMMARY, run_maps, save_maps
from riemtr.sweep.phase_transition import MAPS, NAME, PhaseTransition

_STORE = "cells"


@dataclass(frozen=True)
class Report:
    """What came of a sweep.

    Attributes
    ----------
    tables : list of Table
    lines : list
        What to print of them.
    saved : list of Path
    """

    tables: list[Table]
    lines: list[Any]
    saved: list[Path]


def phase_transition(
    given: dict[str, Any],
    values: list[str] | None,
    out: Path,
    repetitions: int,
    how: partial[Table],
    bars: SweepBars,
) -> Report:
    """Map where recovery succeeds, with what was given of its options."""
    if values:
        raise ValueError(f"-g is for a task of your own; {NAME} has --grid")
    chosen = given.pop("map", "both")
    maps = MAPS if chosen == "both" else (chosen,)
    what = PhaseTransition(**given)
    if "condition_number" in given and what.dictionary != "conditioned":
        raise ValueError("--condition-number goes with --dictionary conditioned; add it")
    for name in maps:
        _check_new(out / f"{name}.jsonl", how)
    written = [name for name in MAPS if name in maps or (out / f"{name}.jsonl").exists()]
    check_files(out / name for name in (*(f"{name}.csv" for name in written), SUMMARY, FIGURE))
    with bars:
        tables = run_maps(what, maps, out, repetitions=repetitions, run=how, progress=bars.show)
    drawn, saved = save_maps(out, what, tables)
    stores = [out / f"{name}.jsonl" for name in drawn]
    return Report(list(tables.values()), boundary_lines(drawn), [*stores, *saved])


def own_task(
    name: str,
    given: dict[str, Any],
    values: list[str] | None,
    out: Path,
    repetitions: int,
    how: partial[Table],
    bars: SweepBars,
) -> Report:
    """Run a function over a grid of its arguments."""
    task = _find(name)
    if given:
        option = next(iter(given)).replace("_", "-")
        raise ValueError(f"--{option} is for {NAME}; set the arguments of your function with -g")
    axes = parse_axes(values or [])
    store, csv = out / f"{_STORE}.jsonl", out / f"{_STORE}.csv"
    check_files([csv])
    with bars:
        table = how(
            task,
            axes if axes else [{}],
            repetitions=repetitions,
            store=store,
            progress=partial(bars.show, name),
        )
    said = f"[dim]means over the runs of each setting; {csv.name} has every run[/]"
    return Report([table], [means_table(table), said], [store, table.to_csv(csv)])


def _find(name: str) -> Callable[..., Any]:
    """Import a function by the name of its module and its own; modules of this folder included."""
    module_name, colon, function = name.partition(":")
    if not (module_name and colon and function):
        raise ValueError(
            f"the task must be {NAME!r}, or a function of your own as module:function; got {name!r}"
        )
    look_here()
    found = imported(name, "the task")
    if not callable(found):
        raise ValueError(f"the task must be a function; {name!r} is of type {type(found).__name__}")
    return found


def _check_new(store: Path, how: partial[Table]) -> None:
    """Refuse before the first map what would be refused after it."""
    if not how.keywords["resume"] and store.exists() and len(read(store)):
        raise FileExistsError(
            f"{store} exists: continue it with --resume, or choose another folder"
        )
