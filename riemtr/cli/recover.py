"""``riemtr recover``: from a file of data to a certified dictionary in a folder."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

import riemtr
from riemtr.cli import INTERRUPTED
from riemtr.cli.console import console, refusing
from riemtr.cli.options import OUTPUT, Force, Quiet, SolverName
from riemtr.cli.recovery_view import (
    ProgressBars,
    rows_table,
    shared_remarks,
    summary_line,
    summary_panel,
)
from riemtr.cli.wording import RECOVER, reworded
from riemtr.errors import MissingExtraError, OtherRunError, require
from riemtr.files import save_figure
from riemtr.recovery import Recovery, recover_dictionary
from riemtr.recovery.checkpoint import stored_settings
from riemtr.recovery.datafiles import DataFile, read_data
from riemtr.recovery.resultfiles import OURS, relative_residual, save_recovery

CHECKPOINT = "checkpoint.npz"
_DATA = "How to read the data"
_METHOD = "How to recover"


def _as_folder(text: str) -> Path:
    """Return the path; an empty one would be the working directory."""
    if not text:
        raise typer.BadParameter("must name a folder; got an empty name (for this one: --out .)")
    return Path(text)


def recover(
    source: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="A matrix: .npy, .npz, .csv, .tsv, .txt or .mat, one sample per column. Or an "
            "image file, or the name of an image that comes with scikit-image, such as camera.",
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            metavar="FOLDER",
            help="Where to put the results.",
            parser=_as_folder,
            rich_help_panel=OUTPUT,
        ),
    ],
    transpose: Annotated[
        bool,
        typer.Option("--transpose", help="The file has one sample per row.", rich_help_panel=_DATA),
    ] = False,
    variable: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The array to take from an .npz or .mat file with several.",
            rich_help_panel=_DATA,
        ),
    ] = None,
    patch_size: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="PIXELS",
            help="Side of the patches an image is cut into: 8 if not given. For a matrix: its "
            "samples are such patches, to be drawn as such.",
            rich_help_panel=_DATA,
        ),
    ] = None,
    center: Annotated[
        bool | None,
        typer.Option(
            "--center/--no-center",
            help="Subtract the average sample first: yes for images, no for matrices, if not "
            "given.",
            show_default=False,
            rich_help_panel=_DATA,
        ),
    ] = None,
    mu: Annotated[
        float,
        typer.Option(
            help="Smoothing of the cost, relative to the size of the data.",
            rich_help_panel=_METHOD,
        ),
    ] = 1e-2,
    rank: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER|auto",
            help="How many atoms: as many as a sample has numbers, if not given; auto where the "
            "data have a lower rank.",
            rich_help_panel=_METHOD,
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option(help="Source of the random starts.", rich_help_panel=_METHOD)
    ] = 0,
    solver: Annotated[
        SolverName,
        typer.Option(
            metavar="NAME",
            help="`practical` is the one to use, `exact` the one the paper analyses.",
            rich_help_panel=_METHOD,
        ),
    ] = SolverName.practical,
    jobs: Annotated[
        int,
        typer.Option(
            help="Threads to use, on data of a million entries and more; -1 for all cores. Same "
            "result.",
            rich_help_panel=_METHOD,
        ),
    ] = -1,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help=f"Where to record progress; if not given, {CHECKPOINT} in the folder, removed "
            "at the end.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Recover a dictionary A and sparse coefficients X from data Y = A X.

    Each row of X comes with a verdict, and with a duality gap, which proves that its linear program
    was solved. The folder gets `A.npy`, `X.npy`, `report.json` and figures; the average sample,
    where it was subtracted, as `mean.npy`.
    A run that was stopped or killed continues where it was with the same command.

    Exit code: 0 if nothing speaks against any row, 1 if something does, 2 if what was asked for
    cannot be done. Exactly sparse rows are right, if there are no more sources than rows; without
    any, as on images, trusted ones are certified and sparser than noise can be made, no more.

    Examples:

    - `riemtr recover Y.npy --out found` for a matrix with one sample per column

    - `riemtr recover table.csv --transpose --out found` for a table with one sample per row

    - `riemtr recover camera --out found` learns 64 atoms from a photograph

    - `riemtr recover photo.jpg --patch-size 6 --rank 20 --out found` learns 20 from your own
    """
    with refusing(ValueError, TypeError, ImportError, OSError), reworded(RECOVER, ValueError):
        _check_folder(out, force, checkpoint)
        data = read_data(source, variable=variable, transpose=transpose, patch_size=patch_size)
        if rank is None:
            _check_patches(data)
        Y, mean = _centred(data, center)
        method = _make_solver(solver, mu)
    screen = console()
    path = out / CHECKPOINT if checkpoint is None else checkpoint
    options = {
        "solver": method,
        "rank": None if rank is None else _number_or_word(rank),
        "n_jobs": jobs,
        "checkpoint": path,
    }
    start_over = force and checkpoint is None
    with _explained(out, force, checkpoint):
        with refusing(ValueError, OSError), reworded(RECOVER, ValueError), _tidy(out, path):
            found = _run(Y, mu, seed, options, screen, quiet, start_over)
        residual = relative_residual(Y, found)
        about = {
            "riemtr": riemtr.__version__,
            "source": data.source,
            "patch_size": data.patch_size,
            "centred": mean is not None,
            "solver": "default" if method is None else str(method),
            "relative_residual": residual,
        }
        with refusing(OSError):
            saved = save_recovery(out, found, about, mean)  # before what may not be printed
            saved += _draw(out, Y, found, data, screen)
            if checkpoint is None:
                path.unlink(missing_ok=True)  # last: as long as it is there, the run is not over
    with refusing(OSError):
        if quiet:
            print(summary_line(found))
        else:
            screen.line(1 if screen.is_terminal else 2)  # rich leaves its last line open elsewhere
            screen.print(rows_table(found))
            for remark in shared_remarks(found):
                screen.print(remark, markup=False)
            screen.print(summary_panel(found, Y, residual, f"dictionary of {source}"))
            names = ", ".join(file.name for file in saved)
            screen.print(f"saved in {out}: {names}", soft_wrap=True, markup=False)
    raise typer.Exit(0 if found.trusted else 1)


def _check_folder(out: Path, force: bool, checkpoint: Path | None) -> None:
    """Refuse to replace results, but those of a run whose own checkpoint says it is not over."""
    if out.exists() and not out.is_dir():
        raise NotADirectoryError(f"{out} is a file; choose a folder for --out")
    present = [name for name in OURS if (out / name).exists()]
    unfinished = checkpoint is None and (out / CHECKPOINT).exists()
    if present and not (force or unfinished):
        raise FileExistsError(
            f"{out} holds results already ({', '.join(present)}); choose another folder, or add "
            f"--force to replace them"
        )


def _number_or_word(text: str) -> int | str:
    try:
        return int(text)
    except ValueError:
        return text


def _check_patches(data: DataFile) -> None:
    """Refuse an image that has too few patches in terms of patches, not of features and samples."""
    size, count = data.patch_size, data.matrix.shape[1]
    if data.is_image and size is not None and count <= size**2:
        largest = max(math.ceil((count * size**2) ** 0.25) - 1, 1)
        raise ValueError(
            f"{data.source} has {count} patches of {size} x {size} pixels, and must have more than "
            f"the {size**2} pixels of each; choose a smaller patch_size, at most {largest} here, a "
            f"larger image, or add --rank auto to find fewer atoms"
        )


def _centred(data: DataFile, center: bool | None) -> tuple[np.ndarray, np.ndarray | None]:
    if not (data.is_image if center is None else center):
        return data.matrix, None
    mean = data.matrix.mean(axis=1)
    return data.matrix - mean[:, None], mean


def _make_solver(solver: SolverName, mu: float) -> Any:
    """Return None for the pipeline's own choice, which is the practical solver."""
    if solver is SolverName.practical:
        return None
    # The radius within which the cost is smooth; a larger fixed one would cycle at the minimizer.
    return riemtr.ExactTRM(radius=mu, tolerance=1e-2, curvature_tolerance=1e-2)


def _run(
    Y: np.ndarray,
    mu: float,
    seed: int,
    options: dict[str, Any],
    screen: Console,
    quiet: bool,
    start_over: bool,
) -> Recovery:
    Path(options["checkpoint"]).parent.mkdir(parents=True, exist_ok=True)
    resumed = stored_settings(options["checkpoint"]) is not None
    bars = ProgressBars(Console(quiet=True) if quiet else screen)
    if resumed and not quiet:
        screen.print("continuing where the last run stopped")
    found = None
    try:
        with bars.shown():
            found = recover_dictionary(Y, mu, seed, progress=bars, **options)
        return found
    except OSError:
        if found is None:
            raise
        return found  # only the bars could not be printed
    except OtherRunError:
        if not (start_over and resumed):
            raise
        Path(options["checkpoint"]).unlink()
        return _run(Y, mu, seed, options, screen, quiet, start_over=False)


def _draw(out: Path, Y: np.ndarray, found: Recovery, data: DataFile, screen: Console) -> list[Path]:
    try:
        require("matplotlib", extra="plot")
    except MissingExtraError as error:
        screen.print(f"no figures: {error}", soft_wrap=True, markup=False)
        return []
    from riemtr.recovery.figures import atoms_figure, sparsity_figure

    names = ("pixels" if data.patch_size else "data", "coefficients")
    drawn = [save_figure(out / "sparsity.png", sparsity_figure(Y, found.coefficients, names))]
    if data.patch_size is not None:
        title = f"{found.dictionary.shape[1]} atoms of {Path(data.source).name}"
        figure = atoms_figure(found.dictionary, data.patch_size, title)
        drawn.append(save_figure(out / "atoms.png", figure))
    else:
        (out / "atoms.png").unlink(missing_ok=True)  # of results that were replaced
    return drawn


@contextmanager
def _explained(out: Path, force: bool, checkpoint: Path | None) -> Iterator[None]:
    """Say after Ctrl-C how to go on: with what the folder would not refuse by then."""
    try:
        yield
    except KeyboardInterrupt:
        again = "repeat the command"
        try:
            _check_folder(out, force, checkpoint)
        except FileExistsError:  # a checkpoint elsewhere, which stays, does not tell
            again += " with --force"
        Console(stderr=True, highlight=False).print(
            f"interrupted; {again} to continue where it stopped", soft_wrap=True
        )
        raise typer.Exit(INTERRUPTED) from None


@contextmanager
def _tidy(out: Path, checkpoint: Path) -> Iterator[None]:
    """Leave nothing behind where the recovery is refused."""
    before = [path for path in (checkpoint, out) if path.exists()]
    try:
        yield
    except ValueError:
        if checkpoint not in before:
            checkpoint.unlink(missing_ok=True)
        if out not in before and out.is_dir() and not any(out.iterdir()):
            out.rmdir()
        raise
