"""``riemtr demo``: in some ten seconds, what riemtr does, on made-up data and on a photograph."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from riemtr import data as models
from riemtr.blas_threads import blas_threads_for
from riemtr.cli import INTERRUPTED
from riemtr.cli.console import console, refusing, say, shown, stopping_at_the_next
from riemtr.errors import require
from riemtr.files import check_folder, save_figure
from riemtr.paper.expectation import landscape
from riemtr.paper.landscape_figures import landscape_figure
from riemtr.recovery import Recovery, recover_dictionary
from riemtr.recovery import figures as draw
from riemtr.recovery.figures import escape_saddles

FOLDER = Path("riemtr-demo")
_PHOTOGRAPH = "camera"
_MODEL = models.BernoulliGaussian(
    n=20, p=models.paper_sample_size(20), theta=0.2, dictionary=models.Conditioned(10.0)
)
_CAPTIONS = {
    "atoms.png": "the 64 atoms: edges and bars first, fine texture last",
    "sparsity.png": "pixels against coefficients: few of the latter do the work",
    "convergence.png": "a run from a maximizer past a saddle point, and how it leaves them",
    "landscape.png": "the expected cost on a sphere: every way down ends at a solution",
}


def demo(
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help=f"Where to put the figures. If not given: {FOLDER}, or where that exists "
            f"{FOLDER}-2 and so on.",
            show_default=False,
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace figures that exist.")] = False,
) -> None:
    """Recover a hidden dictionary exactly, then learn one from a photograph.

    Takes some ten seconds, downloads nothing, and leaves four figures.

    Examples:

    - `riemtr demo` puts the figures into a folder of their own

    - `riemtr demo --out figures` puts them where you say
    """
    begin = time.perf_counter()
    with refusing(ImportError, OSError):
        for module in ("matplotlib", "skimage"):
            require(module, extra="demo")
        folder = _folder(out, force)
    screen = console()
    try:
        with blas_threads_for(entries=0):
            _hidden_dictionary(screen)
            data, learned = _photograph(screen)
            _figures(screen, folder, data, learned)
    except KeyboardInterrupt:
        say("interrupted", stderr=True)
        raise typer.Exit(INTERRUPTED) from None
    screen.line()
    screen.print(
        f"That took {time.perf_counter() - begin:.0f} seconds. Now your own data: "
        "[cyan]riemtr recover FILE --out FOLDER[/]"
    )


def _folder(out: Path | None, force: bool) -> Path:
    """Make the folder: the one asked for, or a new one that nothing is lost in."""
    if out is None:
        number, out = 2, FOLDER
        while out.exists() and not force:
            out, number = Path(f"{FOLDER}-{number}"), number + 1
    check_folder(out, _CAPTIONS, force)
    out.mkdir(parents=True, exist_ok=True)
    return out


def _hidden_dictionary(screen: Console) -> None:
    sample = _MODEL.draw(0)
    n, p = sample.observations.shape
    screen.rule("[bold]1. A hidden dictionary, recovered exactly", align="left")
    screen.print(
        f"Someone mixed {n} secret patterns (atoms) into {p} samples. Each sample uses only about "
        f"{_MODEL.theta:.0%} of them, in random amounts. Given nothing but the mixtures, riemtr "
        f"finds the patterns and the amounts:"
    )
    found = _recover(screen, sample.observations)
    match = models.align(found.dictionary, sample.dictionary)
    atoms = models.dictionary_error(found.dictionary, sample.dictionary)
    amounts = models.coefficient_error(found.coefficients, sample.coefficients, match)
    zeros = np.mean((found.coefficients[match.permutation] == 0) == (sample.coefficients == 0))
    proved = found.count("proved")
    screen.print(
        f"[bold green]All {n} patterns found[/]: compared with the truth, the patterns are off by "
        f"{atoms:.0e} and the amounts by {amounts:.0e}, which is rounding error; the zeros are "
        f"{zeros:.0%} in the right places. The mixtures themselves speak for it: {proved} of {n} "
        f"rows of amounts are proved: exactly sparse, with far more zeros than can be forced on a "
        f"wrong one."
    )


def _photograph(screen: Console) -> tuple[np.ndarray, Recovery]:
    data = models.patches(models.load_image(_PHOTOGRAPH), 8)
    data = data - data.mean(axis=1, keepdims=True)
    n, p = data.shape
    screen.line()
    screen.rule("[bold]2. Building blocks of a photograph", align="left")
    screen.print(
        f"A photograph (512 x 512 pixels, a man with a camera) is cut into {p} patches of 8 x 8 "
        f"pixels. Is there a set of {n} atoms with which each patch needs only a few?"
    )
    found = _recover(screen, data)
    before, after = draw.concentration(data), draw.concentration(found.coefficients)
    screen.print(
        f"[bold green]Yes[/]: with these atoms, {after:.0%} of the coefficients hold 90% of the "
        f"content; of the pixels it takes {before:.0%}. All patches are still described exactly. "
        f"Photographs have no exact zeros, so nothing proves these atoms to be the right ones, and "
        f"other random starts lead to others that are as sparse: riemtr calls "
        f"{found.count('doubtful')} of {n} rows doubtful. "
        f"(The paper reports about 20 minutes for such a run; this one took {found.seconds:.1f} s.)"
    )
    return data, found


def _recover(screen: Console, data: np.ndarray) -> Recovery:
    screen.line()
    with shown(True) as bars, stopping_at_the_next("step") as watch:
        return recover_dictionary(data, rng=0, n_jobs=-1, progress=watch(bars))


def _figures(screen: Console, folder: Path, data: np.ndarray, learned: Recovery) -> None:
    screen.line()
    screen.rule("[bold]3. Figures to look at", align="left")
    title = f"64 atoms learned from the photograph “{_PHOTOGRAPH}”"
    names = ("pixels", "coefficients")
    figures: dict[str, Callable[[], Any]] = {
        "atoms.png": lambda: draw.atoms_figure(
            learned.dictionary, 8, title, [atom.verdict for atom in learned.atoms]
        ),
        "sparsity.png": lambda: draw.sparsity_figure(data, learned.coefficients, names),
        "convergence.png": lambda: draw.escapes_figure(escape_saddles()),
        "landscape.png": lambda: landscape_figure(landscape()),
    }
    for name, figure in figures.items():
        with refusing(OSError):
            path = save_figure(folder / name, figure())
        screen.print(f"[cyan]{path}[/]\n  {_CAPTIONS[name]}", soft_wrap=True)
