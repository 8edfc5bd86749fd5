"""``riemtr recover``: from a file of data to a certified dictionary in a folder."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import riemtr
from riemtr.cli import INTERRUPTED
from riemtr.cli.console import console, in_options, refusing, say, shown, stopping_at_the_next
from riemtr.cli.options import OUTPUT, Force, Quiet, Rng, ShowProgress, SolverName
from riemtr.errors import ArgumentError, MissingExtraError, OtherRunError, require
from riemtr.files import made_folder, save_figure
from riemtr.problems.surrogates import SURROGATES
from riemtr.recovery import Recovery, recover_dictionary
from riemtr.recovery.datafiles import DataFile, read_data
from riemtr.recovery.figures import concentration
from riemtr.recovery.resultfiles import OURS, REPORT, relative_residual, save_recovery
from riemtr.summary import Cell, Summary

CHECKPOINT = "checkpoint.sqlite"
_DATA = "How to read the data"
_METHOD = "How to recover"
# Share of the data's concentration below which X is called sparser.
_SPARSER = 0.9


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
            help="A matrix: .npy, .npz, .csv, .tsv, .txt, .mat or .set, one sample per column. Or "
            "an image file, or the name of an image that comes with scikit-image, such as camera.",
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
            help="The array to take from an .npz or .mat file with several; STRUCT.FIELD for one "
            "in a struct.",
            rich_help_panel=_DATA,
        ),
    ] = None,
    drop: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="A column of a table to leave out, such as a time; may be given several times.",
            rich_help_panel=_DATA,
        ),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="A column of a table that is data, though it looks like a time or an index.",
            rich_help_panel=_DATA,
        ),
    ] = None,
    decimal: Annotated[
        str,
        typer.Option(
            metavar="MARK",
            help="The mark in front of decimals in a table: a point or a comma.",
            rich_help_panel=_DATA,
        ),
    ] = ".",
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
    offset: Annotated[
        bool | None,
        typer.Option(
            "--offset/--no-offset",
            help="Recover an offset b along: Y = A X + b. If not given: yes for images, and for "
            "matrices whose mean is not zero by chance.",
            show_default=False,
            rich_help_panel=_METHOD,
        ),
    ] = None,
    refine: Annotated[
        str,
        typer.Option(
            metavar="FORM",
            help="How to refine all rows together where none is exactly sparse: orthogonal, full, "
            "auto for what suits the data, or none.",
            rich_help_panel=_METHOD,
        ),
    ] = "auto",
    seeds: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="K",
            help="From how many random starts: the best is kept, and every row is looked for in "
            "the others. If not given: 3 where that can make rows plausible, else 1.",
            show_default=False,
            rich_help_panel=_METHOD,
        ),
    ] = None,
    surrogate: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help=f"The smooth function in place of the l1 norm: {', '.join(SURROGATES)}.",
            rich_help_panel=_METHOD,
        ),
    ] = "log-cosh",
    order: Annotated[
        str | None,
        typer.Option(
            metavar="ORDER",
            help="joint: all rows at once; rows: one after the other; rounded: each one rounded "
            "before the next, as in the paper. If not given: joint, or rows with --solver exact.",
            show_default=False,
            rich_help_panel=_METHOD,
        ),
    ] = None,
    rng: Rng = 0,
    solver: Annotated[
        SolverName,
        typer.Option(
            metavar="NAME",
            help="`practical` is the one to use, `exact` the one the paper analyses.",
            rich_help_panel=_METHOD,
        ),
    ] = SolverName.practical,
    n_jobs: Annotated[
        int,
        typer.Option(
            help="Threads to use, on data of a million entries and more; -1 for all cores. Same "
            "result.",
            rich_help_panel=_METHOD,
        ),
    ] = -1,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            help="Exit code 1 whenever a row is doubtful, also if none is proved.",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
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
    progress: ShowProgress = True,
    quiet: Quiet = False,
) -> None:
    """Recover a dictionary A and sparse coefficients X from data Y = A X.

    Each row of X comes with a verdict: proved (exactly sparse, and held in place by its zeros),
    plausible (nothing speaks against it: other starts lead there, and its standard error is small)
    or doubtful, with the reasons. The folder gets `A.npy`, `X.npy`, `report.json` and figures; the
    offset, where there is one, as `offset.npy`; and `dictionary.csv` where columns have names.
    A run that was stopped or killed continues where it was with the same command.

    Exit code: 0 if every row is trusted (proved or plausible), or if no row is proved, as on
    photographs and noise, which do not follow the model anyway; 1 if some rows are proved and
    others doubtful, and with `--strict` whenever a row is doubtful; 2 if what was asked for cannot
    be done.

    Examples:

    - `riemtr recover Y.npy --out found` for a matrix with one sample per column

    - `riemtr recover table.csv --transpose --drop time --out found` for a table with one sample per
    row, and their times

    - `riemtr recover camera --out found` learns 64 atoms from a photograph

    - `riemtr recover photo.jpg --patch-size 6 --rank 20 --out found` learns 20 from your own
    """
    with refusing(ValueError, TypeError, ImportError, OSError):
        _check_folder(out, force, checkpoint)
        data = read_data(
            source,
            variable=variable,
            transpose=transpose,
            drop=drop or (),
            keep=keep or (),
            decimal=decimal,
            patch_size=patch_size,
        )
        shift = _offset(data, offset)
        if rank is None:
            _check_patches(data, more=shift is True)
        method = _make_solver(solver, mu)
    screen = console()
    path = out / CHECKPOINT if checkpoint is None else checkpoint
    options = {
        "solver": method,
        "surrogate": surrogate,
        "offset": shift,
        "order": order,
        "refine": None if refine == "none" else refine,
        "seeds": seeds,
        "rank": None if rank is None else _number_or_word(rank),
        "n_jobs": n_jobs,
        "checkpoint": path,
    }
    start_over = force and checkpoint is None
    with _explained(out, force, checkpoint):
        with refusing(ValueError, OSError), made_folder(out), made_folder(path.parent):
            found = _run(data.matrix, mu, rng, options, progress and not quiet, start_over)
        residual = relative_residual(data.matrix, found)
        about = {
            "riemtr": riemtr.__version__,
            "source": data.source,
            "patch_size": data.patch_size,
            "solver": "default" if method is None else str(method),
            "surrogate": surrogate,
            "refine": options["refine"],
            "order": order,
            "seeds": seeds,
            "relative_residual": residual,
        }
        with refusing(OSError):
            saved = save_recovery(out, found, about, data.names)  # before what cannot be printed
            Y = data.matrix if found.offset is None else data.matrix - found.offset[:, None]
            saved += _draw(out, Y, found, data)
            if checkpoint is None:
                path.unlink(missing_ok=True)  # last: as long as it is there, the run is not over
    if quiet:
        say(found.summary().line)
    else:
        product = "A X" if found.offset is None else "A X + b"
        fit = ("fit", f"{product} gives the data with relative error {residual:.0e}")
        sparsity = ("sparsity", _sparsity(found, Y))
        summary = _in_terminal(found.summary())
        screen.print(summary.saying(f"dictionary of {source}", fit, sparsity))
        say(f"saved in {out}: {', '.join(file.name for file in saved)}")
    raise typer.Exit(_exit_code(found, strict))


def _in_terminal(summary: Summary) -> Summary:
    """Return a summary that speaks of options and files instead of arguments and attributes."""

    def told(text: str) -> str:
        return in_options(text).replace(" .atoms", f" {REPORT}")

    def cell(content: Cell) -> Cell:
        return told(content) if isinstance(content, str) else (told(content[0]), content[1])

    table = summary.table
    if table is not None:
        table = replace(table, rows=tuple(tuple(map(cell, row)) for row in table.rows))
    return replace(
        summary,
        pairs=tuple((name, told(text)) for name, text in summary.pairs),
        table=table,
        notes=tuple(map(told, summary.notes)),
    )


def _exit_code(found: Recovery, strict: bool) -> int:
    """Return 1 for doubtful rows where others are proved, or wherever it is strict."""
    return 1 if not found.trusted and (strict or found.count("proved")) else 0


def _offset(data: DataFile, offset: bool | None) -> bool | str:
    """Return what was asked for; images have an average that is no pattern of theirs."""
    if offset is not None:
        return offset
    return True if data.is_image else "auto"


def _sparsity(found: Recovery, data: np.ndarray) -> str:
    """Say how sparse X is, and the data were."""
    X, exact = found.coefficients, sum(atom.exact for atom in found.atoms)
    before, after = concentration(data), concentration(X)
    if exact == len(found.atoms):
        return f"every row of X is exactly sparse: {np.mean(X == 0):.0%} of its entries are zero"
    sparser = "X is sparser than the data"
    if after > _SPARSER * before:
        sparser = "X is no sparser than the data"
    return (
        f"{sparser}: {after:.0%} of the entries of X hold 90% of its sum of squares, of the data "
        f"{before:.0%}"
    )


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


def _check_patches(data: DataFile, more: bool) -> None:
    """Refuse an image that has too few patches in terms of patches, not of features and samples.

    An offset needs one ``more``.
    """
    size, count = data.patch_size, data.matrix.shape[1]
    if data.is_image and size is not None and count <= size**2 + more:
        largest = max(math.ceil((count * size**2) ** 0.25) - 1, 1)
        raise ArgumentError(
            "patch_size",
            f"be at most {largest} here: {data.source} has {count} patches of {size} x {size} "
            f"pixels, and must have more than the {size**2} pixels of each",
            size,
            "choose a smaller one, a larger image, or add --rank auto to find fewer atoms",
        )


def _make_solver(solver: SolverName, mu: float) -> Any:
    """Return None for the pipeline's own choice, which is the practical solver."""
    if solver is SolverName.practical:
        return None
    # The radius within which the cost is smooth; a larger fixed one would cycle at the minimizer.
    return riemtr.ExactTRM(radius=mu, tolerance=1e-2, curvature_tolerance=1e-2)


def _run(
    Y: np.ndarray, mu: float, rng: int, options: dict[str, Any], visible: bool, start_over: bool
) -> Recovery:
    resumed = Path(options["checkpoint"]).exists()
    if resumed and visible:
        say("continuing where the last run stopped")
    try:
        with shown(visible) as bars, stopping_at_the_next("step") as watch:
            return recover_dictionary(Y, mu, rng, progress=watch(bars), **options)
    except OtherRunError as error:
        if not (start_over and resumed):
            raise OtherRunError(f"{error}; or add --force to start over") from error
        Path(options["checkpoint"]).unlink()
        return _run(Y, mu, rng, options, visible, start_over=False)


def _draw(out: Path, Y: np.ndarray, found: Recovery, data: DataFile) -> list[Path]:
    try:
        require("matplotlib", extra="plot")
    except MissingExtraError as error:
        say(f"no figures: {error}")
        return []
    from riemtr.recovery.figures import atoms_figure, sparsity_figure

    names = ("pixels" if data.patch_size else "data", "coefficients")
    drawn = [save_figure(out / "sparsity.png", sparsity_figure(Y, found.coefficients, names))]
    if data.patch_size is not None:
        title = f"{found.dictionary.shape[1]} atoms of {Path(data.source).name}"
        verdicts = [atom.verdict for atom in found.atoms]
        figure = atoms_figure(found.dictionary, data.patch_size, title, verdicts)
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
        say(f"interrupted; {again} to continue where it stopped", stderr=True)
        raise typer.Exit(INTERRUPTED) from None
