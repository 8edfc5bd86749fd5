"""What ``riemtr sweep`` can run: the paper's phase transition, or a function of the user's own."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from riemtr.cli.parameters import parse_axes
from riemtr.errors import ArgumentError
from riemtr.imports import imported, look_here
from riemtr.progress import Watcher
from riemtr.summary import Summary
from riemtr.sweep import Table, read
from riemtr.sweep.cells import FAILURE, SECONDS
from riemtr.sweep.phase_report import FIGURE, SUMMARY, run_maps, save_maps
from riemtr.sweep.phase_transition import MAPS, NAME, PhaseTransition
from riemtr.sweep.summary import maps_summary, table_summary

_STORE = "cells"


@dataclass(frozen=True)
class Report:
    """What came of a sweep.

    Attributes
    ----------
    tables : list of Table
    summary : Summary
    saved : list of Path
    """

    tables: list[Table]
    summary: Summary
    saved: list[Path]


def phase_transition(
    given: dict[str, Any],
    values: list[str] | None,
    out: Path,
    repetitions: int,
    how: partial[Table],
    watch: Watcher,
) -> Report:
    """Map where recovery succeeds, with what was given of its options."""
    if values:
        own = "it is for a task of your own"
        raise ArgumentError("values", f"be left out for {NAME}, which has --grid", ..., own)
    chosen = given.pop("map", "both")
    maps = MAPS if chosen == "both" else (chosen,)
    what = PhaseTransition(**given)
    if "condition_number" in given and what.dictionary != "conditioned":
        raise ArgumentError("condition_number", "go with --dictionary conditioned; add it")
    for name in maps:
        _check_new(out / f"{name}.sqlite", how)
    written = [name for name in MAPS if name in maps or (out / f"{name}.sqlite").exists()]
    check_files(out / name for name in (*(f"{name}.csv" for name in written), SUMMARY, FIGURE))
    tables = run_maps(what, maps, out, repetitions=repetitions, run=how, progress=watch)
    drawn, saved = save_maps(out, what, tables)
    stores = [out / f"{name}.sqlite" for name in drawn]
    return Report(list(tables.values()), maps_summary(drawn, tables.values()), [*stores, *saved])


def own_task(
    name: str,
    given: dict[str, Any],
    values: list[str] | None,
    out: Path,
    repetitions: int,
    how: partial[Table],
    watch: Watcher,
) -> Report:
    """Run a function over a grid of its arguments."""
    task = _find(name)
    if given:
        remedy = "set the arguments of your function with -g"
        raise ArgumentError(next(iter(given)), f"go with {NAME}", ..., remedy)
    axes = parse_axes(values or [])
    store, csv = out / f"{_STORE}.sqlite", out / f"{_STORE}.csv"
    check_files([csv])
    table = how(
        task,
        axes if axes else [{}],
        repetitions=repetitions,
        store=store,
        progress=lambda now: watch(replace(now, stage=name)),
    )
    return Report([table], table_summary(table), [store, table.to_csv(csv)])


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


def check_files(paths: Iterable[Path]) -> None:
    """Raise an error where a file to be written exists and is not one that a sweep wrote."""
    for path in paths:
        if path.exists() and not _is_ours(path):
            raise FileExistsError(
                f"{path} exists, and no sweep wrote it: move it elsewhere, or choose another "
                f"folder for --out"
            )


def _is_ours(path: Path) -> bool:
    # By what they hold, so that results of any earlier version are known too.
    if path.name == FIGURE:
        # A picture does not say whose it is; it is drawn together with the summary.
        return _is_ours(path.with_name(SUMMARY))
    try:
        if path.name == SUMMARY:
            content = json.loads(path.read_text())
            return isinstance(content, dict) and content.get("experiment") == NAME
        with path.open() as file:
            return file.readline().rstrip("\n").endswith(f",{SECONDS},{FAILURE}")
    except (OSError, ValueError):  # a folder, or what is no text
        return False
