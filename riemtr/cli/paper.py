"""``riemtr paper``: the paper's figures at its settings, one command each."""

from __future__ import annotations

import math
from collections.abc import Iterable
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from riemtr.cli.console import console, given, refuse_stores, refusing, run_into, sweeping
from riemtr.cli.options import (
    AcceptChanges,
    Backend,
    Processes,
    Quiet,
    Resume,
    RetryFailed,
    RunsOn,
    Scheduler,
    ShowProgress,
    how,
)
from riemtr.errors import ArgumentError
from riemtr.paper.figures import FIGURES, Figure, Work, figure_of, make
from riemtr.summary import Summary, Table

Grid = Enum("Grid", {"default": "default", "coarse": "coarse", "paper": "paper"}, type=str)

_size = partial(typer.Option, rich_help_panel="How much of it")

_GRID = """Of the maps. `paper`, if not given: all n to 150 in steps of 5, hours. `coarse`: fewer
values of n from 100 on. `default`: n to 95 in the map of k. A folder with a smaller grid can be
resumed with a larger one."""


def paper(
    name: Annotated[
        str | None, typer.Argument(metavar="FIGURE", help="One of those that `--list` shows.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Where to put the results.")
    ] = None,
    show: Annotated[bool, typer.Option("--list", help="List the figures, and exit.")] = False,
    resume: Resume = False,
    retry_failed: RetryFailed = False,
    accept_changes: AcceptChanges = False,
    progress: ShowProgress = True,
    quiet: Quiet = False,
    quick: Annotated[bool, _size("--quick", help="Small sizes: seconds.")] = False,
    grid: Annotated[Grid | None, _size(help=_GRID)] = None,
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
    sizes = given(locals(), "grid", "largest", "repetitions", "starts")
    how = sweeping(backend, n_jobs, max_seconds, scheduler, resume, retry_failed, accept_changes)
    with refusing(ValueError, OSError):
        if name is None or out is None:
            missing = "FIGURE" if name is None else "out"
            raise ArgumentError(missing, "be given", ..., "riemtr paper --list shows the figures")
        figure = figure_of(name)
        _check_sizes(name, sizes, quick)
        if not how.keywords["resume"]:
            _check_new(figure, out)
    if quick:
        sizes = {"repetitions": 2, "starts": 2, **sizes}
    run_into(
        out,
        lambda watch: make(name, Work(out, how, watch, quick, **sizes)),
        progress=progress,
        quiet=quiet,
    )


def _check_sizes(name: str, sizes: Iterable[str], quick: bool) -> None:
    """Refuse what would be of no effect."""
    for size in sizes:
        others = [other for other, one in FIGURES.items() if size in one.sizes]
        if name not in others:
            raise ArgumentError(size, f"go with {' or '.join(others)}; leave it out for {name}")
        if quick and size == "grid":
            raise ArgumentError(size, "be left out with --quick, which has a grid of its own")


def _check_new(figure: Figure, folder: Path) -> None:
    """Refuse to begin anew where there are results, before the first trial is run."""
    refuse_stores(folder / store for store in figure.stores)
    for file in figure.files:
        if (folder / file).exists():
            raise FileExistsError(
                f"{folder / file} exists: choose another folder, or replace it with --resume"
            )
