"""``riemtr sweep``: a task over a grid of settings, on one machine or many."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from riemtr.cli.console import given, refuse_stores, run_into, sweeping
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
    parse_axes,
)
from riemtr.errors import ArgumentError
from riemtr.files import parsed
from riemtr.imports import imported, look_here
from riemtr.paper.phases import (
    FIGURE,
    MAPS,
    NAME,
    SUMMARY,
    PhaseTransition,
    maps_summary,
    run_maps,
    save_maps,
)
from riemtr.progress import Watcher
from riemtr.sweep import Table
from riemtr.sweep.cells import FAILURE, SECONDS
from riemtr.sweep.table import Made

Map = Enum("Map", {"k_n": "k-n", "p_n": "p-n", "both": "both"}, type=str)
Grid = Enum(
    "Grid",
    {"quick": "quick", "default": "default", "coarse": "coarse", "paper": "paper"},
    type=str,
)
Method = Enum(
    "Method",
    {"practical": "practical", "printed": "printed", "exact": "exact", "pipeline": "pipeline"},
    type=str,
)
Kind = Enum("Kind", {"identity": "identity", "conditioned": "conditioned"}, type=str)
Surrogate = Enum("Surrogate", {"log_cosh": "log-cosh", "huber": "huber", "l4": "l4"}, type=str)

_phase = partial(typer.Option, rich_help_panel=f"For {NAME}")

_MAP = """`k-n`: nonzeros k against dimension n, with p = 5 n² log n samples. `p-n`: samples p
against n, with k = 0.2 n. Both if not given."""
_GRID = """`quick`: seconds. `default`: 5 to 7 minutes on 2 cores. `coarse`: n to 150, with fewer
values from 100 on. `paper`: n to 150, hours. The last two take 1.4 GB for each worker."""
_METHOD = """`practical` if not given; `printed`: the same as the paper prints it; `exact`: exact
steps within a fixed radius, on a smaller grid; `pipeline`: all rows, by `riemtr recover`."""
_PRECONDITION = """Whiten the data: as in the paper if not given, for conditioned dictionaries."""
_KIND = """`identity`, as in the paper, if not given; `conditioned`: complete dictionaries, with
preconditioning."""


def sweep(
    name: Annotated[
        str,
        typer.Argument(help=f"`{NAME}`, or a function of your own: `module:function`."),
    ],
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Where to put the results.")],
    repetitions: Annotated[
        int, typer.Option(min=1, help="How often each setting is run, with fresh random numbers.")
    ] = 5,
    resume: Resume = False,
    retry_failed: RetryFailed = False,
    accept_changes: AcceptChanges = False,
    progress: ShowProgress = True,
    quiet: Quiet = False,
    map_name: Annotated[Map | None, _phase("--map", help=_MAP)] = None,
    grid: Annotated[Grid | None, _phase(help=_GRID)] = None,
    method: Annotated[Method | None, _phase(help=_METHOD)] = None,
    dictionary: Annotated[Kind | None, _phase(help=_KIND)] = None,
    condition_number: Annotated[
        float | None, _phase(help="Of the conditioned dictionaries: 10 if not given.")
    ] = None,
    noise: Annotated[
        float | None, _phase(help="Noise relative to the size of the data: 0 if not given.")
    ] = None,
    mu: Annotated[
        float | None,
        _phase(help="Smoothing, and the error that counts as success: 0.01 if not given."),
    ] = None,
    surrogate: Annotated[
        Surrogate | None, _phase(help="In place of the l1 norm: `log-cosh` if not given.")
    ] = None,
    precondition: Annotated[
        bool | None, _phase("--precondition/--no-precondition", help=_PRECONDITION)
    ] = None,
    share: Annotated[
        float | None, _phase(help="Share of nonzeros k/n in the map `p-n`: 0.2 if not given.")
    ] = None,
    values: Annotated[
        list[str] | None,
        typer.Option(
            "--values",
            "-g",
            metavar="NAME=A,B,C",
            help="Values of an argument of your function; all combinations are run.",
            rich_help_panel="For a task of your own",
        ),
    ] = None,
    backend: RunsOn = Backend.processes,
    n_jobs: Processes = None,
    max_seconds: Annotated[
        float, how(help="Time for each cell; one that takes longer has failed.")
    ] = math.inf,
    scheduler: Scheduler = None,
) -> None:
    """Run a task over a grid of settings; the result is the same whatever runs it.

    Every outcome is kept in the folder as soon as it is there. A run that was stopped or killed
    continues with `--resume`, which can also extend the grid. A setting that fails is recorded and
    does not stop the others; a worker that dies is replaced.

    Exit code: 0 if all went well, 1 if something failed, 2 if what was asked for cannot be done,
    130 if it was interrupted.

    Examples:

    - `riemtr sweep phase-transition --out maps` maps where recovery succeeds, as in the paper

    - `riemtr sweep phase-transition --method exact --map k-n --out exact` for the exact method

    - `riemtr sweep phase-transition --method pipeline --share 0.5 --map p-n --out whole`

    - `riemtr sweep phase-transition --dictionary conditioned --noise 0.05 --out hard`

    - `riemtr sweep my_module:task -g n=10,20,30 -g theta=0.1,0.2 --out mine` for
      `def task(rng, n, theta)`, which returns a dict of numbers

    - `riemtr sweep phase-transition --backend dask --scheduler tcp://10.0.0.1:8786 --out maps`
    """
    about = ("map", "grid", "method", "dictionary", "condition_number", "noise", "mu")
    more = ("surrogate", "precondition", "share")
    phase = given({**locals(), "map": map_name}, *about, *more)
    how = sweeping(
        backend,
        n_jobs,
        max_seconds,
        scheduler,
        resume,
        retry_failed,
        accept_changes,
        repetitions=repetitions,
    )
    task = phase_transition if name == NAME else partial(own_task, name)
    run_into(
        out, lambda watch: task(phase, values, out, how, watch), progress=progress, quiet=quiet
    )


def phase_transition(
    chosen: dict[str, Any],
    values: list[str] | None,
    out: Path,
    how: partial[Table],
    watch: Watcher,
) -> Made:
    """Map where recovery succeeds, with what was given of its options."""
    if values:
        own = "it is for a task of your own"
        raise ArgumentError("values", f"be left out for {NAME}, which has --grid", ..., own)
    which = chosen.pop("map", "both")
    maps = MAPS if which == "both" else (which,)
    what = PhaseTransition(**chosen)
    if "condition_number" in chosen and what.dictionary != "conditioned":
        raise ArgumentError("condition_number", "go with --dictionary conditioned; add it")
    stores = {name: out / f"{name}.sqlite" for name in MAPS}
    if not how.keywords["resume"]:
        refuse_stores(stores[name] for name in maps)
    written = [f"{name}.csv" for name in MAPS if name in maps or stores[name].exists()]
    check_files(out / name for name in (*written, SUMMARY, FIGURE))
    times = how.keywords["repetitions"]
    tables = run_maps(what, maps, out, repetitions=times, run=how, progress=watch)
    drawn, saved = save_maps(out, what, tables)
    failed = sum(len(table.failed) for table in tables.values())
    kept = [stores[name] for name in drawn]
    return Made([*kept, *saved], maps_summary(drawn, tables.values()), failed)


def own_task(
    name: str,
    chosen: dict[str, Any],
    values: list[str] | None,
    out: Path,
    how: partial[Table],
    watch: Watcher,
) -> Made:
    """Run a function over a grid of its arguments."""
    task = _find(name)
    if chosen:
        remedy = "set the arguments of your function with -g"
        raise ArgumentError(next(iter(chosen)), f"go with {NAME}", ..., remedy)
    axes = parse_axes(values or [])
    store, csv = out / "cells.sqlite", out / "cells.csv"
    check_files([csv])

    def renamed(now: Any) -> None:
        watch(replace(now, stage=name))

    table = how(task, axes if axes else [{}], store=store, progress=renamed)
    return Made([store, table.to_csv(csv)], table.summary(), len(table.failed))


def _find(name: str) -> Callable[..., Any]:
    """Import a function by the name of its module and its own; modules of this folder included."""
    if not all(name.partition(":")):
        form = f"be {NAME!r}, or a function of your own as module:function"
        raise ArgumentError("the task", form, name)
    look_here()
    found = imported(name, "the task")
    if not callable(found):
        kind = type(found).__name__
        raise ArgumentError("the task", f"be a function; {name!r} is of type {kind}")
    return found


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
            content = parsed(path.read_bytes())
            return isinstance(content, dict) and content.get("experiment") == NAME
        with path.open() as file:
            return file.readline().rstrip("\n").endswith(f",{SECONDS},{FAILURE}")
    except (OSError, ValueError, RecursionError):  # a folder, or what is no text
        return False
