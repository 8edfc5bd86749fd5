"""``riemtr sweep``: a task over a grid of settings, on one machine or many."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from riemtr.cli import INTERRUPTED
from riemtr.cli.console import console, in_options, refusing, say
from riemtr.cli.options import Quiet, Resume, ShowProgress
from riemtr.cli.progress import shown
from riemtr.cli.sweep_tasks import own_task, phase_transition
from riemtr.files import made_folder
from riemtr.sweep import sweep as run_sweep
from riemtr.sweep.phase_transition import NAME

_PHASE = "For phase-transition"
_OWN = "For a task of your own"
_HOW = "How to run it"


Map = Enum("Map", {"k_n": "k-n", "p_n": "p-n", "both": "both"}, type=str)
Grid = Enum("Grid", {"quick": "quick", "default": "default", "paper": "paper"}, type=str)
Method = Enum(
    "Method",
    {"practical": "practical", "no_continuation": "no-continuation", "exact": "exact"},
    type=str,
)
Kind = Enum("Kind", {"identity": "identity", "conditioned": "conditioned"}, type=str)
Backend = Enum("Backend", {"serial": "serial", "processes": "processes", "dask": "dask"}, type=str)


def sweep(
    name: Annotated[
        str,
        typer.Argument(help="`phase-transition`, or a function of your own: `module:function`."),
    ],
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Where to put the results.")],
    repetitions: Annotated[
        int, typer.Option(min=1, help="How often each setting is run, with fresh random numbers.")
    ] = 5,
    resume: Resume = False,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Resume, and run again what failed.")
    ] = False,
    accept_changes: Annotated[
        bool,
        typer.Option(
            "--accept-changes",
            help="Resume, and keep what is there though the task's code was changed since.",
        ),
    ] = False,
    progress: ShowProgress = True,
    quiet: Quiet = False,
    map_name: Annotated[
        Map | None,
        typer.Option(
            "--map",
            help="`k-n`: nonzeros k against dimension n, with p = 5 n² log n samples. `p-n`: "
            "samples p against n, with k = 0.2 n. Both if not given.",
            rich_help_panel=_PHASE,
        ),
    ] = None,
    grid: Annotated[
        Grid | None,
        typer.Option(
            help="`quick`: seconds. `default`: 5 to 7 minutes on 2 cores. `paper`: n to 150, "
            "hours, and 1.4 GB for each worker.",
            rich_help_panel=_PHASE,
        ),
    ] = None,
    method: Annotated[
        Method | None,
        typer.Option(
            help="`practical` if not given; `no-continuation`: the same without its continuation "
            "in mu; `exact`: exact steps within a fixed radius, on a smaller grid.",
            rich_help_panel=_PHASE,
        ),
    ] = None,
    dictionary: Annotated[
        Kind | None,
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
        Backend,
        typer.Option(
            help="This process, several on this machine, or a Dask cluster; same results.",
            rich_help_panel=_HOW,
        ),
    ] = Backend.processes,
    n_jobs: Annotated[
        int | None,
        typer.Option(
            help="How many processes: as many as cores, if not given.", rich_help_panel=_HOW
        ),
    ] = None,
    max_seconds: Annotated[
        float,
        typer.Option(
            help="Time for each cell; one that takes longer has failed.", rich_help_panel=_HOW
        ),
    ] = math.inf,
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
        n_jobs=n_jobs,
        max_seconds=max_seconds,
        scheduler=scheduler,
        resume=resume or retry_failed or accept_changes,
        retry_failed=retry_failed,
        accept_changes=accept_changes,
    )
    with (
        refusing(ValueError, TypeError, ImportError, OSError),
        _explained(),
        _tidy(out),
        shown(progress and not quiet) as watch,
    ):
        if name == NAME:
            report = phase_transition(given, values, out, repetitions, how, watch)
        else:
            report = own_task(name, given, values, out, repetitions, how, watch)
    if quiet:
        say(f"{report.summary.line}: {out}")
    else:
        console().print(report.summary)
        say(f"saved in {out}: {', '.join(path.name for path in report.saved)}")
    raise typer.Exit(1 if any(table.failed for table in report.tables) else 0)


@contextmanager
def _explained() -> Iterator[None]:
    """Explain how to go on after Ctrl-C."""
    try:
        yield
    except KeyboardInterrupt as error:
        kept = (
            "interrupted; cells that had ended by then, if any, are kept: repeat with --resume to "
            "run the others"
        )
        say(in_options(str(error)) or kept, stderr=True)
        raise typer.Exit(INTERRUPTED) from None


@contextmanager
def _tidy(out: Path) -> Iterator[None]:
    """Make the folder; leave none behind where the sweep is refused."""
    if out.exists() and not out.is_dir():
        raise NotADirectoryError(f"{out} is a file; choose a folder for --out")
    with made_folder(out):
        yield
