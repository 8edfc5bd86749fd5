"""``riemtr paper``: the paper's figures at its settings, one command each."""

from __future__ import annotations

import math
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from riemtr.cli.console import console, refusing
from riemtr.cli.options import (
    AcceptChanges,
    Backend,
    Processes,
    Quiet,
    Resume,
    RunsOn,
    Scheduler,
    ShowProgress,
    how,
)
from riemtr.cli.running import refuse_stores, run_into
from riemtr.errors import ArgumentError, unknown_name
from riemtr.progress import Watcher
from riemtr.summary import Summary, Table
from riemtr.sweep import sweep as run_sweep
from riemtr.sweep.paper import FIGURES, Work, make
from riemtr.sweep.table import Made

Grid = Enum("Grid", {"default": "default", "coarse": "coarse", "paper": "paper"}, type=str)

_size = partial(typer.Option, rich_help_panel="How much of it")
# Of a quick run.
_QUICK = {"repetitions": 2, "starts": 2}

_GRID = """Of the maps. `paper`: all n to 150 in steps of 5, hours. `coarse`: fewer values of n from
100 on. `default`: n to 95 in the map of k. A folder with a smaller grid can be resumed with a
larger one."""


def paper(
    name: Annotated[
        str | None, typer.Argument(metavar="FIGURE", help="One of those that `--list` shows.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Where to put the results.")
    ] = None,
    show: Annotated[bool, typer.Option("--list", help="List the figures, and exit.")] = False,
    resume: Resume = False,
    accept_changes: AcceptChanges = False,
    progress: ShowProgress = True,
    quiet: Quiet = False,
    quick: Annotated[bool, _size("--quick", help="Small sizes: seconds.")] = False,
    grid: Annotated[Grid, _size(help=_GRID)] = Grid.paper,
    largest: Annotated[
        int | None, _size(min=1, help="The largest n of the maps, to end earlier than the grid.")
    ] = None,
    repetitions: Annotated[
        int | None, _size(min=1, help="Trials of each setting of a map: the paper's 5.")
    ] = None,
    starts: Annotated[
        int | None, _size(min=1, help="Starts of each photograph: the paper's 100.")
    ] = None,
    backend: RunsOn = Backend.processes,
    n_jobs: Processes = None,
    max_seconds: Annotated[
        float, how(help="Time for each trial; one that takes longer has failed.")
    ] = math.inf,
    scheduler: Scheduler = None,
) -> None:
    """Make a figure of the paper, at its settings, from nothing.

    Every trial is kept in the folder as soon as it has ended: a run that was stopped or killed
    continues with `--resume`, on any backend, and ends with the same figures. Past the paper go
    the same maps with other data, surrogates and the whole pipeline.

    Exit code: 0 if all went well, 1 if a trial failed, 2 if what was asked for cannot be done, 130
    if it was interrupted.

    Examples:

    - `riemtr paper --list` says which figures there are

    - `riemtr paper figure-2 --out landscape` draws the landscape, also as a page to turn around

    - `riemtr paper figure-3 --out maps --n-jobs 8` maps both phase transitions, in hours

    - `riemtr paper figure-3 --out maps --resume` continues what was stopped

    - `riemtr paper figure-4 --quick --out images` shows what will come, in seconds
    """
    if show:
        rows = tuple((name, one.title, one.effort) for name, one in FIGURES.items())
        table = Table(("figure", "what it shows", "takes"), rows, "lll")
        console().print(Summary("Figures of the paper, and past it", table=table))
        raise typer.Exit
    how = partial(
        run_sweep,
        backend=backend.value,
        n_jobs=n_jobs,
        max_seconds=max_seconds,
        scheduler=scheduler,
        resume=resume or accept_changes,
        accept_changes=accept_changes,
    )
    given = {"repetitions": repetitions, "starts": starts}
    sizes = (_QUICK if quick else {}) | {key: one for key, one in given.items() if one is not None}
    with refusing(ValueError):
        if name is None or out is None:
            missing = "FIGURE" if name is None else "out"
            raise ArgumentError(missing, "be given", ..., "riemtr paper --list shows the figures")
        if name not in FIGURES:
            raise unknown_name("figure", name, FIGURES)

    def work(watch: Watcher) -> Made:
        if FIGURES[name].has_trials and not (resume or accept_changes):
            refuse_stores(sorted(out.rglob("*.sqlite")))
        return make(name, Work(out, how, watch, quick, grid.value, largest, **sizes))

    run_into(out, work, progress=progress, quiet=quiet)
