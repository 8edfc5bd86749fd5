"""A comparison as a folder of files: data, figures and the page."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from riemtr.compare import figures
from riemtr.compare.page import write_page
from riemtr.compare.records import COUNTS, Comparison
from riemtr.errors import ArgumentError, MissingExtraError
from riemtr.files import check_folder, csv_text, save_figure, save_json, write_atomically

JOURNAL = "runs.sqlite"
"""Runs as they are finished, until all of them are written: neither a kill nor Ctrl-C costs any."""

OURS = ("comparison.json", "runs.csv", "environment.json", "profiles.png", "page.html")
_FIGURES = "convergence-*.png"
# Characters of a label: file systems allow 255 bytes for the whole name.
_LONGEST = 50
_COLUMNS = (
    *("problem", "kind", "start", "solver", "outcome", "ending", "claimed", "verdict", "certified"),
    *("deceived", "success", "distance", "cost", "gradient_norm", "min_eigenvalue", "error_bound"),
    *("seconds", "iterations", "oracles"),
)


class Written(NamedTuple):
    """The files that were written, and in sentences what could not be, for lack of a package."""

    files: list[Path]
    left_out: list[str]


def journal_path(folder: Path, *, force: bool = False, resume: bool = False) -> Path:
    """Check a folder, and return where it keeps a run as soon as it is finished."""
    if force and resume:
        raise ArgumentError("resume", "not go with force=True, which replaces what it continues")
    path = folder / JOURNAL
    unfinished = path.exists()
    if unfinished and not (force or resume):
        raise FileExistsError(
            f"{path} holds the runs of a comparison that was not finished; riemtr.compare.load "
            "reads it: continue it with resume=True, choose another folder, or pass force=True to "
            "replace it"
        )
    check_folder(folder, _ours(folder), force or unfinished)
    if force:
        path.unlink(missing_ok=True)
    return path


def write_folder(comparison: Comparison, folder: Any, *, force: bool = False) -> Written:
    """Write everything there is into a folder, which is made if need be.

    ``comparison.json`` (what :func:`~riemtr.compare.load` reads), ``runs.csv`` (a line per run),
    ``environment.json``, ``profiles.png``, one ``convergence-*.png`` per problem, and
    ``page.html``, a page with everything. Figures need the extra ``plot``, the page ``page``; what
    is missing is left out.

    Parameters
    ----------
    comparison : Comparison
    folder : path-like
    force : bool
        Replace a comparison that is there.

    Examples
    --------
    >>> import riemtr.compare, tempfile
    >>> found = riemtr.compare.compare("rayleigh", "practical", starts=1, saddles=0)
    >>> written = write_folder(found, tempfile.mkdtemp())
    >>> [path.name for path in written.files][:3]
    ['comparison.json', 'runs.csv', 'environment.json']
    """
    folder = Path(folder)
    before = _ours(folder)
    check_folder(folder, before, force)
    folder.mkdir(parents=True, exist_ok=True)
    files = [
        comparison.save(folder / "comparison.json"),
        write_atomically(folder / "runs.csv", runs_csv(comparison).encode()),
        save_json(folder / "environment.json", comparison.environment),
    ]
    left_out = []
    for what, write in (("figures", _write_figures), ("page", _write_page)):
        if not comparison.runs:
            left_out.append(f"no {what}: there are no runs to show")
            continue
        try:
            files += write(comparison, folder)
        except MissingExtraError as error:
            left_out.append(f"no {what}: {error}")
    for stale in {folder / name for name in before} - set(files):
        stale.unlink()  # only now: the new comparison is there
    if not comparison.settings.get("interrupted"):
        (folder / JOURNAL).unlink(missing_ok=True)
    return Written(files, left_out)


def _ours(folder: Path) -> list[str]:
    """Return the names of files that belong to a comparison."""
    figures = sorted(path.name for path in folder.glob(_FIGURES))
    return [name for name in OURS if (folder / name).exists()] + figures


def _write_page(comparison: Comparison, folder: Path) -> list[Path]:
    return [write_page(comparison, folder / "page.html")]


def _write_figures(comparison: Comparison, folder: Path) -> list[Path]:
    files = [save_figure(folder / "profiles.png", figures.profiles_figure(comparison))]
    for problem, name in file_names(comparison.problems).items():
        if any(run.trajectory for run in comparison.runs if run.problem == problem):
            figure = figures.convergence_figure(comparison, problem)
            files.append(save_figure(folder / f"convergence-{name}.png", figure))
    return files


def file_names(labels: Iterable[str]) -> dict[str, str]:
    """Return part of a file's name for each label, no two alike on any file system.

    Examples
    --------
    >>> list(file_names(["rayleigh:n=5", "a/b", "a b", "A/B", "?", "é"]).values())
    ['rayleigh-n=5', 'a-b', 'a-b-2', 'A-B-3', 'problem', 'é']
    """
    names: dict[str, str] = {}
    taken = {""}
    for label in labels:
        readable = re.sub(r"[^\w=.-]+", "-", label).strip("-")[:_LONGEST] or "problem"
        name, number = readable, 1
        # Some file systems know no capitals, and two ways to write an accent.
        while (folded := unicodedata.normalize("NFKC", name).casefold()) in taken:
            number += 1
            name = f"{readable}-{number}"
        names[label] = name
        taken.add(folded)
    return names


def runs_csv(comparison: Comparison) -> str:
    """Return a table with a line per run, for spreadsheets."""
    tolerances, measures = comparison.settings.get("tolerances", []), ("seconds", "oracles")
    goals = [f"{what}_to_{goal:g}" for goal in tolerances for what in measures]
    rows: list[list[Any]] = [[*_COLUMNS, *COUNTS, *goals, "status"]]
    for run in comparison.runs:
        reached = {reach.tolerance: reach for reach in run.reached}
        known = [getattr(run, column) for column in _COLUMNS]
        counts = [run.counts.get(name) for name in COUNTS]
        needs = [getattr(reached.get(goal), what, None) for goal in tolerances for what in measures]
        rows.append([*known, *counts, *needs, run.status])
    return csv_text(rows)
