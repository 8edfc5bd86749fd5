"""``riemtr compare``: solvers side by side, each endpoint certified."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from riemtr.cli import INTERRUPTED, USAGE_ERROR
from riemtr.cli.console import console, given, refusing, say, shown
from riemtr.cli.options import (
    Force,
    Parameters,
    Quiet,
    Resume,
    Rng,
    ShowProgress,
    output,
    parse_named,
    parse_parameters,
)
from riemtr.compare import (
    Comparison,
    Entrant,
    compare_recovery,
    entrant,
    solver_names,
    write_folder,
)
from riemtr.compare import compare as compare_solvers
from riemtr.compare.entrants import ALL, DEFAULT
from riemtr.compare.folder import JOURNAL, journal_path
from riemtr.compare.records import RECOVERY
from riemtr.compare.recovery_methods import METHODS, PARAMETERS
from riemtr.errors import ArgumentError, unknown_name
from riemtr.problems import available

# Problems whose tables fill a terminal.
_MANY = 4
_starts = partial(typer.Option, min=0, rich_help_panel="Where to start")
_fairness = partial(typer.Option, rich_help_panel="What to ask of each solver")


def compare(
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="PROBLEM",
            help="Those that `riemtr problems` lists, or functions of your own as "
            "module:function; with parameters after colons if need be: brockett:n=20:k=3. Or "
            f"{RECOVERY}, alone: whole recovery methods.",
        ),
    ],
    solvers: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help=f"Separated by commas, with options after colons if need be: exact:radius=0.05. "
            f"{', '.join(solver_names())}, {ALL} of these that use gradients, or your own: "
            f"package.module:attribute. If not given: {', '.join(DEFAULT)}.",
        ),
    ] = None,
    parameter: Parameters = None,
    rng: Rng = 0,
    starts: Annotated[
        int | None,
        _starts(help=f"Random starts of each problem: 20 if not given, 5 for {RECOVERY}."),
    ] = None,
    saddles: Annotated[
        int | None,
        _starts(
            help="Starts at exact saddle points, where the slope is zero but one way leads down: "
            "5 if not given.",
        ),
    ] = None,
    tolerances: Annotated[
        str | None,
        _fairness(
            metavar="NUMBERS",
            help="Slopes (gradient norms) to reach, separated by commas: 1e-2,1e-4,1e-6 if not "
            "given.",
        ),
    ] = None,
    curvature_tolerance: Annotated[
        float | None, _fairness(help="Downward curvature that counts as none: 1e-6 if not given.")
    ] = None,
    max_seconds: Annotated[
        float | None, _fairness(help=f"Time for each run: 10 if not given, 60 for {RECOVERY}.")
    ] = None,
    repeats: Annotated[
        int | None,
        _fairness(
            min=1,
            help="Run each so often, all solvers in turn, and keep the median time: 1 if not "
            "given.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        output(metavar="FOLDER", help="Where to put tables, figures and a page with everything."),
    ] = None,
    resume: Resume = False,
    force: Force = False,
    progress: ShowProgress = True,
    quiet: Quiet = False,
) -> None:
    """Compare solvers: the same problems, starts, tolerances and clock for all.

    Every endpoint is certified, whoever found it, so that a solver that calls a saddle point
    "converged" shows. A solver that fails, takes too long or does not apply to a problem is
    recorded as such, and the others go on. Ctrl-C ends early with the runs that are finished.

    The folder gets `comparison.json`, `runs.csv`, `environment.json`, performance profiles,
    convergence plots, and `page.html`; until all are made, finished runs are kept in its
    `runs.sqlite` (`riemtr.compare.load` reads it). A comparison that was stopped or killed
    continues with the same command and `--resume`. Of more than four problems the terminal then
    shows all of them together, and the page each by itself.

    Exit code: 0 if all ran, 2 if what was asked for cannot be done, 130 if interrupted.

    Examples:

    - `riemtr compare rayleigh` compares the usual six solvers

    - `riemtr compare dictionary-learning --solvers practical,printed,adm --out found`

    - `riemtr compare rayleigh:n=200 brockett --starts 50 --saddles 20 --repeats 5`

    - `riemtr compare rayleigh --solvers practical,exact:radius=0.05,mypackage.mymodule:MySolver`

    - `riemtr compare zoo --starts 2 --saddles 1 --out found` runs all problems that come with
    riemtr, at two sizes; `zoo:size=small` only the small ones; `--solvers all` has every solver

    - `riemtr compare dictionary-recovery --solvers riemtr,picard-o,fastica -p n=30`
    """
    limits = ("tolerances", "curvature_tolerance", "max_seconds", "repeats")
    chosen = given(locals(), "starts", "saddles", *limits)
    with refusing(ValueError, TypeError, ImportError, OSError):
        kept: dict[str, Any] = {"store": None, "resume": resume}
        if out is not None:
            kept["store"] = journal_path(out, force=force, resume=resume)
        elif resume:
            raise ArgumentError("resume", "continue what is in a folder; name it with --out")
        settings = parse_parameters(parameter or [])
        wanted = None if solvers is None else solvers.split(",")
        if any(name.split(":")[0] == RECOVERY for name in names):
            run = _recovery(names, wanted, settings, chosen)
        else:
            read = [parse_named(name, known=available()) for name in names]
            problems = [(name, {**settings, **own}) for name, own in read]
            entrants = [name if name == ALL else _entrant(name) for name in wanted or DEFAULT]
            if tolerances is not None:
                chosen["tolerances"] = _numbers(tolerances)
            run = partial(compare_solvers, problems, entrants, **chosen)
        with shown(progress and not quiet) as watch:
            found = run(rng=rng, progress=watch, **kept)
    if quiet:
        say(found.summary().line)
    else:
        _show(found, saved=out is not None)
    if out is not None:
        _save(found, out, force or resume, quiet)
    if found.settings.get("interrupted"):
        raise typer.Exit(INTERRUPTED)
    if not found.runs:
        say("error: nothing that was asked for could be run", stderr=True)
    raise typer.Exit(0 if found.runs else USAGE_ERROR)


def _entrant(text: str) -> Entrant:
    if "=" in text.split(":")[0]:
        form = "be names separated by commas, with options after colons, as in exact:radius=0.05"
        raise ArgumentError("solvers", form, text)
    name, options = parse_named(text, known=solver_names())
    return entrant(name, **options)


def _numbers(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        form = "be numbers separated by commas, such as 1e-2,1e-6"
        raise ArgumentError("tolerances", form, text) from None


def _recovery(
    names: list[str], methods: list[str] | None, shared: dict[str, Any], chosen: dict[str, Any]
) -> Callable[..., Comparison]:
    """Return what compares recovery methods."""
    if len(names) > 1:
        raise ArgumentError(RECOVERY, "be given alone: it compares methods, not solvers")
    unused = sorted(set(chosen) - {"starts", "max_seconds"})
    if unused:
        raise ArgumentError(unused[0], f"be left out for {RECOVERY}")
    parameters = {**shared, **parse_named(names[0], known=[RECOVERY])[1]}
    for name in parameters:
        if name not in PARAMETERS:
            raise unknown_name(f"a parameter of {RECOVERY}", name, PARAMETERS)
    methods = list(METHODS) if methods is None else [method.strip() for method in methods]
    for name in methods:
        if name not in METHODS:
            raise unknown_name("solvers", name, METHODS)
    return partial(compare_recovery, methods, **chosen, **parameters)


def _show(found: Comparison, saved: bool) -> None:
    """Print the tables: each problem's own where they are few, or kept nowhere else."""
    many = len(found.problems) > _MANY
    if not (many and saved):
        console().print(found.summary())
    if many:
        console().print(found.overall())


def _save(found: Comparison, out: Path, force: bool, quiet: bool) -> None:
    try:
        with refusing(OSError):
            written = write_folder(found, out, force=force)
    except KeyboardInterrupt:
        say(f"interrupted while saving; all runs are in {out / JOURNAL}: repeat with --resume")
        raise
    if quiet:
        return
    for sentence in written.left_out:
        say(sentence)
    say(f"saved in {out}: {', '.join(path.name for path in written.files)}")
    if found.settings.get("interrupted"):
        say("repeat with --resume to run the others")
