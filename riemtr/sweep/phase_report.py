"""A phase transition from the grid to its files: stores, tables, the figure, a summary."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from riemtr.errors import MissingExtraError
from riemtr.files import save_figure, save_json
from riemtr.progress import Watcher, watching
from riemtr.sweep.outcomes import read_outcomes
from riemtr.sweep.phase_figures import Map, figure, success_map
from riemtr.sweep.phase_transition import (
    GRIDS,
    MAPS,
    NAME,
    PhaseTransition,
    expected_cost,
    trial,
)
from riemtr.sweep.run import sweep
from riemtr.sweep.table import Table, read

FIGURE, SUMMARY = "phase-transition.png", "summary.json"


def run_maps(
    what: PhaseTransition,
    maps: Sequence[str],
    folder: Path,
    *,
    repetitions: int = 5,
    run: Callable[..., Table] = sweep,
    progress: bool | Watcher = False,
) -> dict[str, Table]:
    """Run the trials of maps, each into a store of its own, ``<map>.sqlite`` in a folder.

    A folder is for one experiment: it is refused if it has a map of another.

    Parameters
    ----------
    what : PhaseTransition
    maps : sequence of str
        Of "k-n" and "p-n".
    folder : Path
    repetitions : int
        Trials of each setting; the paper has five.
    run : callable
        :func:`sweep`, perhaps with some of its options set: backend, n_jobs, resume...
    progress : bool or callable
        As that of :func:`sweep`, with the map's name as the stage.

    Returns
    -------
    dict
        Tables by map.
    """
    _check_folder(folder, what)
    tables = {}
    with watching(progress) as watch:
        for name in maps:
            tables[name] = run(
                trial,
                what.settings(name),
                repetitions=repetitions,
                store=folder / f"{name}.sqlite",
                cost=expected_cost,
                progress=lambda now, name=name: watch(replace(now, stage=name)),
                name=NAME,
            )
    return tables


def save_maps(
    folder: Path, what: PhaseTransition, tables: Mapping[str, Table]
) -> tuple[dict[str, Map], list[Path]]:
    """Write the tables as CSV, the figure, and a summary; return the maps and what was written.

    Maps that the folder has from earlier runs are part of the figure and the summary. Without
    matplotlib there is no figure.
    """
    stores = _stores(folder)
    tables = {name: tables[name] if name in tables else read(stores[name]) for name in stores}
    saved = [table.to_csv(folder / f"{name}.csv") for name, table in tables.items()]
    maps = {
        name: success_map(table, name)
        for name, table in tables.items()
        if len(table.failed) < len(table)
    }
    made_with = [one for path in stores.values() for one in read_outcomes(path).environments]
    summary = {
        "experiment": NAME,
        **what.common,
        "maps": {name: _summary(what, tables[name], one) for name, one in maps.items()},
        "environments": [one for i, one in enumerate(made_with) if one not in made_with[:i]],
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


def _stores(folder: Path) -> dict[str, Path]:
    """The stores that a folder has, by map."""
    paths = {name: folder / f"{name}.sqlite" for name in MAPS}
    return {name: path for name, path in paths.items() if path.exists()}


def _check_folder(folder: Path, what: PhaseTransition) -> None:
    """Raise an error where a map of another experiment would be drawn beside this one."""
    for path in _stores(folder).values():
        for outcome in read_outcomes(path).outcomes.values():
            there = outcome.cell.settings
            different = [
                f"{name} = {there.get(name)!r} there, {value!r} here"
                for name, value in what.common.items()
                if there.get(name) != value
            ]
            if different:
                raise ValueError(
                    f"folder {str(folder)!r} holds a map of another experiment, {path.name}: "
                    f"{'; '.join(different)}; choose another folder"
                )


def _grid_of(what: PhaseTransition, table: Table, map_name: str) -> str | None:
    """Name the grid that a table covers; none by name where it is not there yet as a whole."""
    found = {tuple(sorted(outcome.cell.settings.items())) for outcome in table.outcomes}
    for grid in GRIDS:
        wanted = replace(what, grid=grid).settings(map_name)
        if found == {tuple(sorted(settings.items())) for settings in wanted}:
            return grid
    return None


def _summary(what: PhaseTransition, table: Table, one: Map) -> dict[str, Any]:
    law = one.law
    return {
        "grid": _grid_of(what, table, one.name),
        "cells": len(table),
        "failed": len(table.failed),
        "repetitions": one.repetitions,
        "half_of_the_trials": {"n": one.n, one.name[0]: one.boundary},
        "power_law": law and {"factor": law.factor, "exponent": law.exponent},
        "cpu_seconds": sum(outcome.cpu_seconds for outcome in table.outcomes),
    }
