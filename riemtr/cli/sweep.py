"""``riemtr sweep``: a task over a grid of settings, on one machine or many."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from riemtr.cli import INTERRUPTED
from riemtr.cli.console import console, refusing
from riemtr.cli.options import Quiet
from riemtr.cli.parameters import parse_value
from riemtr.cli.sweep_view import SweepBars, boundary_lines, failures_lines, means_table
from riemtr.cli.wording import SWEEP, in_options
from riemtr.imports import imported, look_here
from riemtr.sweep import Table, read
from riemtr.sweep import sweep as run_sweep
from riemtr.sweep.phase_report import run_maps, save_maps
from riemtr.sweep.phase_transition import MAPS, NAME, PhaseTransition
from riemtr.sweep.store import made_folder

_PHASE = "For phase-transition"
_OWN = "For a task of your own"
_HOW = "How to run it"
_STORE = "cells"


class MapName(str, Enum):
    """The maps by name."""

    k_n = "k-n"
    p_n = "p-n"
    both = "both"


class GridName(str, Enum):
    """The grids by name."""

    quick = "quick"
    default = "default"
    paper = "paper"


class MethodName(str, Enum):
    """The methods by name."""

    practical = "practical"
    no_continuation = "no-continuation"
    exact = "exact"


class DictionaryName(str, Enum):
    """The dictionaries by name."""

    identity = "identity"
    conditioned = "conditioned"


class BackendName(str, Enum):
    """The backends by name."""

    serial = "serial"
    processes = "processes"
    dask = "dask"


def sweep(
    name: Annotated[
        str,
        typer.Argument(help="`phase-transition`, or a function of your own: `module:function`."),
    ],
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Where to put the results.")],
    repetitions: Annotated[
        int, typer.Option(min=1, help="How often each setting is run, with fresh random numbers.")
    ] = 5,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Continue what is in the folder: run only what is missing."),
    ] = False,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Resume, and run again what failed.")
    ] = False,
    quiet: Quiet = False,
    map_name: Annotated[
        MapName | None,
        typer.Option(
            "--map",
            help="`k-n`: nonzeros k against dimension n, with p = 5 n² log n samples. `p-n`: "
            "samples p against n, with k = 0.2 n. Both if not given.",
            rich_help_panel=_PHASE,
        ),
    ] = None,
    grid: Annotated[
        GridName | None,
        typer.Option(
            help="`quick`: seconds. `default`: about 10 minutes on 2 cores. `paper`: n to 150, "
            "hours, and 1.4 GB for each worker.",
            rich_help_panel=_PHASE,
        ),
    ] = None,
    method: Annotated[
        MethodName | None,
        typer.Option(
            help="`practical` if not given; `no-continuation`: the same without its continuation "
            "in mu; `exact`: exact steps within a fixed radius, on a smaller grid.",
            rich_help_panel=_PHASE,
        ),
    ] = None,
    dictionary: Annotated[
        DictionaryName | None,
        typer.Option(
            help="`identity`, as in the paper, if not given; `conditioned`: complete "
            "dictionaries, with preconditioning.",
            rich_help_panel=_PHASE,
        ),
    ] = None,
    condition_number: Annotated[
        float | None,
        typer.Option(
            help="Of the conditioned dictionaries: 10 if not given.", rich_help_panel=_PHASE
        ),
    ] = None,
    noise: Annotated[
        float | None,
        typer.Option(
            help="Noise relative to the size of the data: 0 if not given.", rich_help_panel=_PHASE
        ),
    ] = None,
    mu: Annotated[
        float | None,
        typer.Option(
            help="Smoothing, and the error that counts as success: 0.01 if not given.",
            rich_help_panel=_PHASE,
        ),
    ] = None,
    values: Annotated[
        list[str] | None,
        typer.Option(
            "--values",
            "-g",
            metavar="NAME=A,B,C",
            help="Values of an argument of your function; all combinations are run.",
            rich_help_panel=_OWN,
        ),
    ] = None,
    backend: Annotated[
        BackendName,
        typer.Option(
            help="This process, several on this machine, or a Dask cluster; same results.",
            rich_help_panel=_HOW,
        ),
    ] = BackendName.processes,
    workers: Annotated[
        int | None,
        typer.Option(
            help="How many processes: as many as cores, if not given.", rich_help_panel=_HOW
        ),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Of a Dask cluster; if not given, one is started here.",
            rich_help_panel=_HOW,
        ),
    ] = None,
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

    - `riemtr sweep phase-transition --dictionary conditioned --noise 0.05 --out hard`

    - `riemtr sweep my_module:task -g n=10,20,30 -g theta=0.1,0.2 --out mine` for
      `def task(rng, n, theta)`, which returns a dict of numbers

    - `riemtr sweep phase-transition --backend dask --scheduler tcp://10.0.0.1:8786 --out maps`
    """
    phase = {
        "map": map_name,
        "grid": grid,
        "method": method,
        "dictionary": dictionary,
        "condition_number": condition_number,
        "noise": noise,
        "mu": mu,
    }
    given = {
        key: getattr(value, "value", value) for key, value in phase.items() if value is not None
    }
    how = partial(
        run_sweep,
        backend=backend.value,
        workers=workers,
        scheduler=scheduler,
        resume=resume or retry_failed,
        retry_failed=retry_failed,
    )
    screen = console()
    bars = SweepBars(Console(quiet=True) if quiet else screen)
    with refusing(ValueError, TypeError, ImportError, OSError), _explained(), _tidy(out):
        if name == NAME:
            tables, lines, saved = _phase_transition(given, values, out, repetitions, how, bars)
        else:
            tables, lines, saved = _own(name, given, values, out, repetitions, how, bars)
    failed = sum(len(table.failed) for table in tables)
    if quiet:
        print(f"{sum(map(len, tables))} cells, {failed} failed: {out}")
    else:
        if not screen.is_terminal:
            screen.line()  # rich leaves its last line open there
        for line in [*lines, *(line for table in tables for line in failures_lines(table))]:
            screen.print(line, soft_wrap=isinstance(line, str))
        names = ", ".join(path.name for path in saved)
        screen.print(f"saved in {out}: {names}", soft_wrap=True, markup=False)
    raise typer.Exit(1 if failed else 0)


Report = tuple[list[Table], list[Any], list[Path]]


def _phase_transition(
    given: dict[str, Any],
    values: list[str] | None,
    out: Path,
    repetitions: int,
    how: Callable[..., Table],
    bars: SweepBars,
) -> Report:
    if values:
        raise ValueError(f"-g is for a task of your own; {NAME} has --grid")
    chosen = given.pop("map", "both")
    maps = MAPS if chosen == "both" else (chosen,)
    what = PhaseTransition(**given)
    if "condition_number" in given and what.dictionary != "conditioned":
        raise ValueError("--condition-number goes with --dictionary conditioned; add it")
    for name in maps:
        _check_new(out / f"{name}.jsonl", how)
    with bars:
        tables = run_maps(what, maps, out, repetitions=repetitions, run=how, progress=bars.show)
    drawn, saved = save_maps(out, what, tables)
    stores = [out / f"{name}.jsonl" for name in drawn]
    return list(tables.values()), boundary_lines(drawn), [*stores, *saved]


def _own(
    name: str,
    given: dict[str, Any],
    values: list[str] | None,
    out: Path,
    repetitions: int,
    how: Callable[..., Table],
    bars: SweepBars,
) -> Report:
    task = _find(name)
    if given:
        option = next(iter(given)).replace("_", "-")
        raise ValueError(f"--{option} is for {NAME}; set the arguments of your function with -g")
    axes = _axes(values or [])
    store = out / f"{_STORE}.jsonl"
    with bars:
        table = how(
            task,
            axes if axes else [{}],
            repetitions=repetitions,
            store=store,
            progress=partial(bars.show, name),
        )
    return [table], [means_table(table)], [store, table.to_csv(out / f"{_STORE}.csv")]


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


def _axes(settings: list[str]) -> dict[str, list[Any]]:
    """Read the values of a grid, such as ``n=10,20,30``.

    Examples
    --------
    >>> _axes(["n=10,20", "kind=a"])
    {'n': [10, 20], 'kind': ['a']}
    """
    axes: dict[str, list[Any]] = {}
    for setting in settings:
        name, equals, text = (part.strip() for part in setting.partition("="))
        if not (name and equals and text):
            raise ValueError(f"-g must look like name=a,b,c, for instance n=10,20; got {setting!r}")
        if name in axes:
            raise ValueError(f"-g {name} is given twice; list all values in one")
        values = [value.strip() for value in text.split(",")]
        if not all(values):
            raise ValueError(f"-g must have a value between any two commas; got {setting!r}")
        axes[name] = [parse_value(value) for value in values]
    return axes


def _check_new(store: Path, how: Any) -> None:
    """Refuse before the first map what would be refused after it."""
    if not how.keywords["resume"] and store.exists() and len(read(store)):
        raise FileExistsError(f"{store} exists: continue it with resume, or choose another folder")


@contextmanager
def _explained() -> Iterator[None]:
    """Say what an error says in terms of the command line; explain how to go on after Ctrl-C."""
    try:
        yield
    except KeyboardInterrupt as error:
        text = in_options(str(error), SWEEP) or (
            "interrupted; cells that had ended by then, if any, are kept: repeat with --resume to "
            "run the others"
        )
        Console(stderr=True, highlight=False).print(text, soft_wrap=True, markup=False)
        raise typer.Exit(INTERRUPTED) from None
    except (ValueError, OSError) as error:
        text = in_options(str(error), SWEEP)
        if isinstance(error, OSError) and error.strerror:
            text = error.strerror
        if isinstance(error, OSError) and error.filename:
            text = f"{text}: {error.filename}"
        raise ValueError(text) from error


@contextmanager
def _tidy(out: Path) -> Iterator[None]:
    """Make the folder; leave none behind where the sweep is refused."""
    if out.exists() and not out.is_dir():
        raise NotADirectoryError(f"{out} is a file; choose a folder for --out")
    with made_folder(out):
        yield
