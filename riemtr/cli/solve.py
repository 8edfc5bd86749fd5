"""``riemtr solve``: solve a registered problem, watch it, and explain the result."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from riemtr.cli.console import console, refusing, tracing
from riemtr.cli.files import check_target, save_plot, save_result
from riemtr.cli.options import OUTPUT, Force, Quiet, SolverName
from riemtr.cli.parameters import (
    build_problem,
    format_parameters,
    parse_named,
    parse_parameters,
)
from riemtr.cli.summary import summary_line, summary_panel
from riemtr.errors import NonFiniteCostError, require
from riemtr.problems import available
from riemtr.solvers import ExactTRM, PracticalTRM, TrustRegion
from riemtr.solvers.observers import LiveTable

_DATA = (".npz", ".json")
_FIGURES = (".png", ".pdf", ".svg")
_METHOD = "How to solve it"


def solve(
    name: Annotated[
        str,
        typer.Argument(
            metavar="PROBLEM",
            help="One of those that `riemtr problems` lists, or a function of your own: "
            "module:function. Parameters may follow after colons, as in brockett:n=20:k=3.",
        ),
    ],
    parameter: Annotated[
        list[str] | None,
        typer.Option(
            "--parameter",
            "-p",
            metavar="NAME=VALUE",
            help="Set a parameter of the problem; may be given several times.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Source of the random data and the start.")] = 0,
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

    - `riemtr solve my_module:my_problem` solves your own: `def my_problem(rng, n=10)` returns a
      `riemtr.Problem`

    - `riemtr solve brockett --solver exact --radius 0.5` uses the method the paper analyses

    - `riemtr solve rayleigh --out run.npz --plot run.png` keeps what was found
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
        case = build_problem(name, given, seed)
    screen = console()
    table = nullcontext() if quiet else LiveTable(console=screen)
    with tracing(), refusing(NonFiniteCostError), table as observer:
        observers = [] if observer is None else [observer]
        result = method.solve(case.problem, case.start, rng=seed, observers=observers)

    if not (quiet or screen.is_terminal):
        screen.line()  # rich leaves its last line open there
    title = f"{name} {format_parameters({**given, 'seed': seed})}, {solver.value} solver"
    if quiet:
        print(summary_line(result))
    else:
        screen.print(summary_panel(result, case.truth, title))
    with refusing(OSError):
        if out is not None:
            about = {"problem": name, "parameters": case.parameters, "seed": seed}
            save_result(out, result, {**about, "solver": result.solver}, force)
        if plot is not None:
            save_plot(plot, result, title)
    for saved in (out, plot):
        if saved is not None and not quiet:
            screen.print(f"saved {saved}", soft_wrap=True, markup=False)
    raise typer.Exit(0 if result.certified else 1)


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
        raise ValueError(
            "--radius is the fixed radius of --solver exact; the practical solver adapts its own: "
            "leave out --radius, or add --solver exact"
        )
    return PracticalTRM(**options)
