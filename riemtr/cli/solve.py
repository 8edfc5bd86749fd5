"""``riemtr solve``: solve a registered problem, watch it, and explain the result."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from riemtr.cli.console import console, given, in_options, refusing, say, shown, tracing
from riemtr.cli.options import (
    Force,
    MethodName,
    Parameters,
    Quiet,
    Rng,
    ShowProgress,
    format_parameters,
    output,
    parse_named,
    parse_parameters,
)
from riemtr.compare.cases import build_case
from riemtr.compare.measuring import nearness
from riemtr.errors import ArgumentError, NonFiniteCostError, require
from riemtr.files import (
    archive_of_arrays,
    numeric,
    read_array,
    reading,
    save_figure,
    save_json,
)
from riemtr.problems import Case, Truth, available
from riemtr.solvers import (
    NAMED,
    PracticalTRM,
    Result,
    load_result,
    multistart,
    relaxed_start,
)
from riemtr.solvers.arguments import start_point
from riemtr.solvers.observers import LiveTable
from riemtr.summary import Summary

_DATA = (".npz", ".json")
_FIGURES = (".png", ".pdf", ".svg")
_STAIRCASE = "staircase"
_method = partial(typer.Option, rich_help_panel="How to solve it")


def solve(
    name: Annotated[
        str,
        typer.Argument(
            metavar="PROBLEM",
            help="One of those that `riemtr problems` lists, or a function or a Problem of your "
            "own: module:name. Parameters may follow after colons, as in brockett:n=20:k=3.",
        ),
    ],
    parameter: Parameters = None,
    rng: Rng = 0,
    start: Annotated[
        Path | None,
        _method(
            metavar="FILE",
            help="Where to begin: a point in .npy, its parts in .npz, or a result that was saved. "
            "A random point if not given.",
        ),
    ] = None,
    solver: Annotated[
        MethodName | None,
        _method(
            metavar="NAME",
            help="`practical` adapts its radius: the one to use. `staircase` does the same from "
            "the solution of a semidefinite relaxation, where the problem has one: it mostly finds "
            "the best point of all, and is the default there. `exact` takes exact steps within "
            "a fixed radius: the one the paper analyses. `lbfgs` needs no Hessian but for the "
            "certificate. `arc` has a cubic term in place of a radius. `printed` is the paper's "
            "practical method as printed: plain truncated CG. The others are there to be compared "
            "with.",
        ),
    ] = None,
    radius: Annotated[
        float | None, _method(help="Fixed radius of the exact solver: 0.1 if not given.")
    ] = None,
    starts: Annotated[
        int | None,
        _method(
            metavar="NUMBER",
            help="Solve it from so many random starts, and list the distinct minimizers: how often "
            "each was reached. What is saved is the best.",
        ),
    ] = None,
    n_jobs: Annotated[
        int,
        _method(
            help="Processes for --starts; -1 for all cores. Same results.",
        ),
    ] = 1,
    tolerance: Annotated[
        float | None,
        _method(
            help="Slope (gradient norm) that counts as zero: 1e-7 of the scale of the cost's "
            "derivatives if not given.",
        ),
    ] = None,
    curvature_tolerance: Annotated[
        float | None,
        _method(
            help="Downward curvature that counts as none: 1e-6 of the largest curvature if not "
            "given.",
        ),
    ] = None,
    max_iterations: Annotated[int | None, _method(help="Stop after so many iterations.")] = None,
    max_seconds: Annotated[float | None, _method(help="Stop after so many seconds.")] = None,
    out: Annotated[
        Path | None,
        output(metavar="FILE", help="Save point, history and certificate: .npz or .json."),
    ] = None,
    plot: Annotated[
        Path | None, output(metavar="FILE", help="Save the convergence plot: .png, .pdf or .svg.")
    ] = None,
    picture: Annotated[
        Path | None,
        output(
            metavar="FILE",
            help="Save a picture of the solution, where the problem draws one, as pose graphs do.",
        ),
    ] = None,
    force: Force = False,
    progress: ShowProgress = True,
    quiet: Quiet = False,
) -> None:
    """Solve a problem, watch it converge, and have the result explained.

    The run ends at a point where the slope is zero and no direction leads down; a saddle point,
    where one still does, is left again. Ctrl-C ends it early with the best point so far.

    Exit code: 0 if it converged to a certified minimizer, 1 if not, 2 if what was asked for cannot
    be done.

    Examples:

    - `riemtr solve rayleigh` finds the smallest eigenvector of a random matrix

    - `riemtr solve rayleigh -p n=200 --tolerance 1e-9` does so for a larger one, more accurately

    - `riemtr solve dictionary-learning -p n=20 -p theta=0.1` finds a sparse row in Y = AX

    - `riemtr solve dictionary-learning -p image=camera` finds one in a photograph

    - `riemtr solve pose-graph -p file=map.g2o --picture map.png` finds the best map of all, with a
      proof, and draws it

    - `riemtr solve my_module:my_problem` solves your own: a `riemtr.Problem`, or a function that
      returns one, `def my_problem(rng, n=10)`, whose `rng` may be left out

    - `riemtr solve brockett --solver exact --radius 0.5` uses the method the paper analyses

    - `riemtr solve dictionary-learning --starts 100` finds out which minimizers there are

    - `riemtr solve rayleigh --out run.npz --plot run.png` keeps what was found

    - `riemtr solve rayleigh --start run.npz --tolerance 1e-12` goes on from there
    """
    with refusing(ValueError, ImportError, OSError):
        limits = ("tolerance", "curvature_tolerance", "max_iterations", "max_seconds")
        asked = None if solver is None else solver.value
        method = _method_of(asked, given(locals(), "radius", *limits))
        for target, suffixes in ((out, _DATA), (plot, _FIGURES), (picture, _FIGURES)):
            if target is not None:
                check_target(target, suffixes, force)
        if plot is not None or picture is not None:
            require("matplotlib", extra="plot")
        if starts is not None and start is not None:
            raise ArgumentError("starts", "be left out where a start is given", starts)
        task = _task(name, parameter or [], rng)
        if picture is not None and task.case.draw is None:
            own = f"be left out: {task.name} draws none"
            raise ArgumentError("picture", own, remedy="add --plot")
        begin = None if start is None else read_start(start)
        chosen = _chosen(asked, task, start is None and starts is None)
        if begin is not None:
            point = begin.point if isinstance(begin, Result) else begin
            start_point(task.case.problem, point, rng)
    title = f"{task.name} {format_parameters(task.about | {'rng': rng})}, {chosen} solver"
    screen = console()
    if starts is not None:
        visible = progress and not quiet
        with tracing(), refusing(ArgumentError, NonFiniteCostError), shown(visible) as watch:
            runs = multistart(task.case.problem, starts, rng, n_jobs, method, progress=watch)
        if quiet:
            say(runs.summary().line)
        else:
            screen.print(f"{title}: {runs.summary().title}", highlight=False)
            screen.print(runs.summary())
        _save(out, plot, runs.best, runs, title, task, force, quiet)
        raise typer.Exit(0 if runs.minimizers and runs.status is None else 1)
    more: list[tuple[str, str]] = []
    if chosen == _STAIRCASE:
        limit = math.inf if max_seconds is None else max_seconds
        with tracing():
            begin, solution = relaxed_start(task.case.problem, rng, max_seconds=limit)
        more.append(("relaxation", solution.summary().line))
    table = LiveTable(console=screen) if progress and not quiet else nullcontext()
    with tracing(), refusing(NonFiniteCostError), table as observer:
        observers = [] if observer is None else [observer]
        point = task.case.start if begin is None else begin
        result = method.solve(task.case.problem, point, rng=rng, observers=observers)
        result.certificate.gap  # noqa: B018  # which the summary does not compute
        result.certificate.distance_bound  # noqa: B018  # which the summary does not compute
    if not (quiet or observer is None or screen.is_terminal):
        screen.line()  # rich leaves its last line open there
    if quiet:
        say(result.summary().line)
    else:
        screen.print(_explained(result, title, task.case, more))
    _save(out, plot, result, result, title, task, force, quiet)
    if picture is not None:
        with refusing(OSError):
            save_picture(picture, task.case, result.point)
        if not quiet:
            say(f"saved {picture}")
    raise typer.Exit(0 if result.certified else 1)


class _Task(NamedTuple):
    """What is solved: the name of a problem, its parameters as they were typed, and the case."""

    name: str
    about: dict[str, Any]
    rng: int
    case: Case


def _task(name: str, typed: Sequence[str], rng: int) -> _Task:
    """Build the problem that was typed."""
    name, named = parse_named(name, known=available())
    settings = parse_parameters(typed)
    for twice in sorted(set(settings) & set(named)):
        raise ArgumentError("parameter", f"be given once; {twice!r} is set twice")
    settings |= named
    return _Task(name, settings, rng, build_case(name, settings, rng))


def _method_of(solver: str | None, options: dict[str, Any]) -> Any:
    """Return the solver of a name, with its options."""
    if "radius" in options and solver != "exact":
        own = "leave it out, or add --solver exact"
        kind = "be that of the exact solver, which is fixed"
        raise ArgumentError("radius", kind, options["radius"], own)
    if solver == "lbfgs":  # which would otherwise stop at any small gradient
        options = {"goal": "second-order", **options}
    return NAMED.get(solver or "", PracticalTRM)(**options)


def _chosen(solver: str | None, task: _Task, is_free: bool) -> str:
    """Return the method, where the staircase is the default if it applies and starts are free."""
    relaxed = getattr(task.case.problem.cost, "relaxation", None) is not None
    if solver is None:
        return _STAIRCASE if relaxed and is_free else "practical"
    if solver == _STAIRCASE and not relaxed:
        raise ArgumentError("solver", f"be another: {task.name} has no semidefinite relaxation")
    if solver == _STAIRCASE and not is_free:
        raise ArgumentError("solver", "be another where starts are given: it finds its own")
    return solver


def _explained(result: Result, title: str, case: Case, more: list[tuple[str, str]]) -> Summary:
    """Return the summary of a result, with the truth beside it where that is known."""
    manifold = case.problem.manifold
    pairs = [("searched", f"{manifold} (dimension {manifold.dim})"), *more]
    if case.truth is not None:
        pairs.append(("truth", _compared(result, case.truth)))
    summary = result.summary().saying(title, *pairs)
    (status, reason), *others = summary.pairs
    return replace(summary, pairs=((status, in_options(reason)), *others))


def _save(
    out: Path | None,
    plot: Path | None,
    result: Result,
    drawn: Any,
    title: str,
    task: _Task,
    force: bool,
    quiet: bool,
) -> None:
    """Save a result and a picture, where they were asked for, and say so."""
    with refusing(OSError):
        if out is not None:
            about = {"problem": task.name, "parameters": task.case.parameters, "rng": task.rng}
            save_result(out, result, {**about, "solver": result.solver}, force)
        if plot is not None:
            save_plot(plot, drawn, title)
    for saved in (out, plot):
        if saved is not None and not quiet:
            say(f"saved {saved}")


def _compared(result: Result, truth: Truth) -> str:
    """Compare the result with what is known about the solution."""
    parts = []
    distance, excess, lowest = nearness(
        truth, result.point, result.cost, lambda _: result.certificate.lower_bound
    )
    if distance is not None:
        parts.append(f"distance {distance:.2e} from the known solution")
    if excess is not None:
        parts.append(
            f"cost within {abs(excess):.1e} of the known minimum"
            if lowest
            else f"cost {excess:.1e} above the known minimum"
        )
        if not lowest and result.converged:
            parts.append("a local minimum, not the lowest: try another --rng")
    if truth.error is not None and truth.distance is None:
        parts.append(f"{truth.error(result.point):.2e} from what the noisy data were made from")
    gap = result.certificate.gap
    if gap is not None:
        parts.append(f"no point anywhere is lower by more than {gap:.1e}")
    return "; ".join(parts)


def check_target(path: Path, suffixes: tuple[str, ...], force: bool) -> None:
    """Raise an error where a file could not be written later; ``force`` allows overwriting."""
    if path.suffix.lower() not in suffixes:
        raise ValueError(f"{path} must end in {' or '.join(suffixes)}")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"the folder {path.parent} does not exist; create it first")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; choose a file name")
    if path.exists() and not force:
        raise FileExistsError(f"{path} exists; choose another name, or add --force to replace it")
    if not os.access(path.parent, os.W_OK):
        raise PermissionError(f"{path} cannot be written: the folder is read-only")


def save_result(path: Path, result: Result, about: dict[str, Any], force: bool = False) -> None:
    """Save a result as ``.npz`` or ``.json``; ``force`` allows overwriting.

    The archive is the one of :meth:`riemtr.Result.save`. JSON is for other programs: it holds
    ``about``, the numbers of the result, its point, history and certificate.
    """
    certificate = result.certificate  # which an archive holds only where it is known
    if path.suffix.lower() != ".json":
        result.save(path, about, overwrite=force)
        return
    content = {
        **about,
        "status": result.status.name.lower(),
        "reason": str(result.reason),
        "converged": result.converged,
        "certified": bool(result.certified),
        "cost": result.cost,
        "gradient_norm": result.gradient_norm,
        "iterations": result.iterations,
        "seconds": result.seconds,
        "counts": result.counts.as_dict(),
        # The direction is as long as the point.
        "certificate": {
            name: value
            for name, value in vars(certificate).items()
            if name not in ("direction", "curvature", "evaluation", "_distance", "nearness")
        }
        | {
            "nearness": None if certificate.nearness is None else asdict(certificate.nearness),
            "distance_bound": certificate.distance_bound,
            "distance_bound_is": certificate.distance_bound_is,
            "cost_bound": certificate.cost_bound,
        },
        "point": result.point,
        "history": result.history,
    }
    save_json(path, content)


def read_start(path: Path) -> Any:
    """Read where to begin: an array, the arrays of a product's point, or a result that was saved.

    The arrays of an ``.npz`` are the parts of the point, in their order.
    """
    if not path.exists():
        raise FileNotFoundError(f"there is no file {str(path)!r}")
    what = "a point: an array in .npy, arrays in .npz, or a result that riemtr saved"
    with reading(path, what):
        if path.suffix.lower() == ".npy":
            return numeric(read_array(path))
        with archive_of_arrays(path) as archive:
            if "result" in archive.files:
                return load_result(path)
            parts = [numeric(archive[name]) for name in archive.files]
        if not parts:
            raise ValueError("no array")
    return parts[0] if len(parts) == 1 else parts


def save_plot(path: Path, result: Any, title: str) -> None:
    """Save the plot that a result draws of itself; needs the extra ``plot``, and no display."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    result.plot(figure.subplots()).set_title(title)
    save_figure(path, figure)


def save_picture(path: Path, case: Case, point: Any) -> None:
    """Save the picture that a case draws of a solution."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 5.5), layout="constrained")
    assert case.draw is not None
    case.draw(figure, point)
    save_figure(path, figure)
