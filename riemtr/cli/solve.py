"""``riemtr solve``: solve a registered problem, watch it, and explain the result."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from riemtr.cli.console import console, in_options, refusing, say, tracing
from riemtr.cli.files import check_target, read_start, save_plot, save_result
from riemtr.cli.options import OUTPUT, Force, Parameters, Quiet, Rng, ShowProgress, SolverName
from riemtr.cli.parameters import (
    build_problem,
    format_parameters,
    parse_named,
    parse_parameters,
)
from riemtr.compare.truth import nearness
from riemtr.errors import ArgumentError, NonFiniteCostError, require
from riemtr.problems import Truth, available
from riemtr.solvers import ExactTRM, PracticalTRM, Result, TrustRegion
from riemtr.solvers.arguments import start_point
from riemtr.solvers.observers import LiveTable

_DATA = (".npz", ".json")
_FIGURES = (".png", ".pdf", ".svg")
_METHOD = "How to solve it"


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
        typer.Option(
            metavar="FILE",
            help="Where to begin: a point in .npy, its parts in .npz, or a result that was saved. "
            "A random point if not given.",
            rich_help_panel=_METHOD,
        ),
    ] = None,
    solver: Annotated[
        SolverName,
        typer.Option(
            metavar="NAME",
            help="`practical` adapts its radius: the one to use. `exact` takes exact steps within "
            "a fixed radius: the one the paper analyses.",
            rich_help_panel=_METHOD,
        ),
    ] = SolverName.practical,
    radius: Annotated[
        float | None,
        typer.Option(
            help="Fixed radius of the exact solver: 0.1 if not given.", rich_help_panel=_METHOD
        ),
    ] = None,
    tolerance: Annotated[
        float | None,
        typer.Option(
            help="Slope (gradient norm) that counts as zero: 1e-7 of the scale of the cost's "
            "derivatives if not given.",
            rich_help_panel=_METHOD,
        ),
    ] = None,
    curvature_tolerance: Annotated[
        float | None,
        typer.Option(
            help="Downward curvature that counts as none: 1e-6 of the largest curvature if not "
            "given.",
            rich_help_panel=_METHOD,
        ),
    ] = None,
    max_iterations: Annotated[
        int | None,
        typer.Option(help="Stop after so many iterations.", rich_help_panel=_METHOD),
    ] = None,
    max_seconds: Annotated[
        float | None,
        typer.Option(help="Stop after so many seconds.", rich_help_panel=_METHOD),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Save point, history and certificate: .npz or .json.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Save the convergence plot: .png, .pdf or .svg.",
            rich_help_panel=OUTPUT,
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

    - `riemtr solve my_module:my_problem` solves your own: a `riemtr.Problem`, or a function that
      returns one, `def my_problem(rng, n=10)`, whose `rng` may be left out

    - `riemtr solve brockett --solver exact --radius 0.5` uses the method the paper analyses

    - `riemtr solve rayleigh --out run.npz --plot run.png` keeps what was found

    - `riemtr solve rayleigh --start run.npz --tolerance 1e-12` goes on from there
    """
    with refusing(ValueError, ImportError, OSError):
        method = _make_solver(
            solver, radius, tolerance, curvature_tolerance, max_iterations, max_seconds
        )
        for target, suffixes in ((out, _DATA), (plot, _FIGURES)):
            if target is not None:
                check_target(target, suffixes, force)
        if plot is not None:
            require("matplotlib", extra="plot")
        name, named = parse_named(name, known=available())
        given = parse_parameters(parameter or [])
        for twice in sorted(set(given) & set(named)):
            raise ValueError(f"parameter {twice!r} is set twice; give it once")
        given |= named
        begin = None if start is None else read_start(start)
        case = build_problem(name, given, rng)
        if begin is not None:
            start_point(case.problem, begin.point if isinstance(begin, Result) else begin, rng)
    screen = console()
    table = LiveTable(console=screen) if progress and not quiet else nullcontext()
    with tracing(), refusing(NonFiniteCostError), table as observer:
        observers = [] if observer is None else [observer]
        point = case.start if begin is None else begin
        result = method.solve(case.problem, point, rng=rng, observers=observers)
        result.certificate  # noqa: B018  # which the summary does not compute

    if not (quiet or observer is None or screen.is_terminal):
        screen.line()  # rich leaves its last line open there
    title = f"{name} {format_parameters({**given, 'rng': rng})}, {solver.value} solver"
    if quiet:
        say(result.summary().line)
    else:
        manifold = case.problem.manifold
        more = [("searched", f"{manifold} (dimension {manifold.dim})")]
        if case.truth is not None:
            more.append(("truth", _compared(result, case.truth)))
        shown = result.summary().saying(title, *more)
        (status, reason), *others = shown.pairs
        screen.print(replace(shown, pairs=((status, in_options(reason)), *others)))
    with refusing(OSError):
        if out is not None:
            about = {"problem": name, "parameters": case.parameters, "rng": rng}
            save_result(out, result, {**about, "solver": result.solver}, force)
        if plot is not None:
            save_plot(plot, result, title)
    for saved in (out, plot):
        if saved is not None and not quiet:
            say(f"saved {saved}")
    raise typer.Exit(0 if result.certified else 1)


def _compared(result: Result, truth: Truth) -> str:
    """Compare the result with what is known about the solution."""
    parts = []
    found = nearness(truth, result.point, result.cost)
    if found.distance is not None:
        parts.append(f"distance {found.distance:.2e} from the known solution")
    if found.excess is not None:
        parts.append(
            f"cost within {abs(found.excess):.1e} of the known minimum"
            if found.lowest
            else f"cost {found.excess:.1e} above the known minimum"
        )
        if not found.lowest and result.converged:
            parts.append("a local minimum, not the lowest: try another --rng")
    if truth.error is not None and truth.distance is None:
        parts.append(f"{truth.error(result.point):.2e} from what the noisy data were made from")
    if truth.bound is not None:
        gap = result.cost - truth.bound(result.point)
        parts.append(f"no point anywhere is lower by more than {max(gap, 0.0):.1e}")
    return "; ".join(parts)


def _make_solver(
    solver: SolverName,
    radius: float | None,
    tolerance: float | None,
    curvature_tolerance: float | None,
    max_iterations: int | None,
    max_seconds: float | None,
) -> TrustRegion:
    given = {
        "radius": radius,
        "tolerance": tolerance,
        "curvature_tolerance": curvature_tolerance,
        "max_iterations": max_iterations,
        "max_seconds": max_seconds,
    }
    options: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
    if solver is SolverName.exact:
        return ExactTRM(**options)
    if radius is not None:
        own = "leave it out, or add --solver exact"
        raise ArgumentError("radius", "be that of the exact solver, which is fixed", radius, own)
    return PracticalTRM(**options)
