"""A phase transition from the grid to its files: stores, tables, the figure, a summary."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from riemtr.environment import environment
from riemtr.errors import MissingExtraError
from riemtr.files import save_figure, save_json
from riemtr.sweep.phase_figures import Map, figure, success_map
from riemtr.sweep.phase_transition import NAME, PhaseTransition, expected_cost, trial
from riemtr.sweep.progress import Progress
from riemtr.sweep.run import sweep
from riemtr.sweep.table import Table

FIGURE, SUMMARY = "phase-transition.png", "summary.json"


def run_maps(
    what: PhaseTransition,
    maps: Sequence[str],
    folder: Path,
    *,
    repetitions: int = 5,
    run: Callable[..., Table] = sweep,
    progress: Callable[[str, Progress], None] | None = None,
) -> dict[str, Table]:
    """Run the trials of maps, each into a store of its own, ``<map>.jsonl`` in a folder.

    Parameters
    ----------
    what : PhaseTransition
    maps : sequence of str
        Of "k-n" and "p-n".
    folder : Path
    repetitions : int
        Trials of each setting; the paper has five.
    run : callable
        :func:`sweep`, perhaps with some of its options set: backend, workers, resume...
    progress : callable, optional
        Gets the map's name and its :class:`Progress`.

    Returns
    -------
    dict
        Tables by map.
    """
    tables = {}
    for name in maps:

        def report(now: Progress, name: str = name) -> None:
            if progress is not None:
                progress(name, now)

        tables[name] = run(
            trial,
            what.settings(name),
            repetitions=repetitions,
            store=folder / f"{name}.jsonl",
            cost=expected_cost,
            progress=report,
            name=NAME,
        )
    return tables


def save_maps(
    folder: Path, what: PhaseTransition, tables: Mapping[str, Table]
) -> tuple[dict[str, Map], list[Path]]:
    """Write the tables as CSV, the figure, and a summary; return the maps and what was written.

    Without matplotlib there is no figure.
    """
    saved = [table.to_csv(folder / f"{name}.csv") for name, table in tables.items()]
    maps = {
        name: success_map(table, name)
        for name, table in tables.items()
        if len(table.failed) < len(table)
    }
    summary = {
        "experiment": NAME,
        "grid": what.grid,
        **what.common,
        "maps": {name: _summary(tables[name], one) for name, one in maps.items()},
        "environment": environment("joblib", "distributed"),
    }
    saved.append(save_json(folder / SUMMARY, summary))
    if maps:
        with suppress(MissingExtraError):
            saved.append(save_figure(folder / FIGURE, figure(maps, title(what))))
    return maps, saved


def title(what: PhaseTransition) -> str:
    """Say what was mapped, in a line.

    Examples
    --------
    >>> title(PhaseTransition(noise=0.05))
    'Recovery of one sparse row: practical method, A = I, 5% noise'
    """
    method = {"no-continuation": "practical method without continuation"}.get(
        what.method, f"{what.method} method"
    )
    conditioned = f"condition number {what.condition_number:g}, preconditioned"
    dictionary = "A = I" if what.dictionary == "identity" else conditioned
    noise = f", {100 * what.noise:g}% noise" if what.noise else ""
    return f"Recovery of one sparse row: {method}, {dictionary}{noise}"


def _summary(table: Table, one: Map) -> dict[str, Any]:
    law = one.law
    return {
        "cells": len(table),
        "failed": len(table.failed),
        "repetitions": one.repetitions,
        "half_of_the_trials": {"n": one.n, one.name[0]: one.boundary},
        "power_law": law and {"factor": law.factor, "exponent": law.exponent},
        "cpu_seconds": sum(outcome.cpu_seconds for outcome in table.outcomes),
    }
