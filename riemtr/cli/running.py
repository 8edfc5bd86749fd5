"""Commands that run trials into a folder: what they refuse, how they end, and what they say."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import typer

from riemtr.cli import INTERRUPTED
from riemtr.cli.console import console, in_options, refusing, say
from riemtr.cli.options import Backend
from riemtr.cli.progress import shown
from riemtr.files import check_folder, made_folder
from riemtr.progress import Watcher
from riemtr.sweep import Table, read, sweep
from riemtr.sweep.table import Made

_KEPT = (
    "interrupted; cells that had ended by then, if any, are kept: repeat with --resume to run the "
    "others"
)


def sweeping(
    backend: Backend,
    n_jobs: int | None,
    max_seconds: float,
    scheduler: str | None,
    resume: bool,
    retry_failed: bool,
    accept_changes: bool,
    **more: Any,
) -> partial[Table]:
    """Return the sweep with what was chosen of its options, which are those of two commands."""
    return partial(
        sweep,
        backend=backend.value,
        n_jobs=n_jobs,
        max_seconds=max_seconds,
        scheduler=scheduler,
        resume=resume or retry_failed or accept_changes,
        retry_failed=retry_failed,
        accept_changes=accept_changes,
        **more,
    )


def run_into(out: Path, work: Callable[[Watcher], Made], *, progress: bool, quiet: bool) -> None:
    """Do the work of a command, say what it made, and exit."""
    try:
        with refusing(ValueError, TypeError, ImportError, OSError):
            check_folder(out)
            # None is left behind where the work is refused.
            with made_folder(out), shown(progress and not quiet) as watch:
                made = work(watch)
    except KeyboardInterrupt as error:
        say(in_options(str(error)) or _KEPT, stderr=True)
        raise typer.Exit(INTERRUPTED) from None
    if quiet:
        say(f"{made.summary.line}: {out}")
    else:
        console().print(made.summary)
        names = (path.relative_to(out) if path.is_relative_to(out) else path for path in made.saved)
        say(f"saved in {out}: {', '.join(map(str, names))}")
    raise typer.Exit(1 if made.failed else 0)


def refuse_stores(stores: Iterable[Path]) -> None:
    """Refuse trials of an earlier run, before the first new one is run and not after hours."""
    for store in stores:
        if store.exists() and len(read(store)):
            raise FileExistsError(
                f"{store} exists: continue it with --resume, or choose another folder"
            )
