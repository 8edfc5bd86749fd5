"""Results as files: checked before the run, written after it, never over another file."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from zipfile import ZipFile

from riemtr.files import json_text, save_figure, save_json
from riemtr.solvers import Result


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


def save_result(path: Path, result: Result, about: dict[str, Any], force: bool = False) -> None:
    """Save a result as ``.npz`` or ``.json``; ``force`` allows overwriting.

    The archive is the one of :meth:`riemtr.Result.save`, with ``about`` beside it as the member
    ``about.json``. JSON is for other programs: it holds ``about``, the numbers of the result, its
    point, history and certificate.
    """
    certificate = result.certificate  # which an archive holds only where it is known
    if path.suffix.lower() != ".json":
        if force:
            path.unlink(missing_ok=True)
        result.save(path)
        with ZipFile(path, "a") as archive:
            archive.writestr("about.json", json_text(about))
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
            if name not in ("direction", "curvature")
        },
        "point": result.point,
        "history": result.history,
    }
    save_json(path, content)


def save_plot(path: Path, result: Result, title: str) -> None:
    """Save the convergence plot; needs the extra ``plot``, and no display."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    result.plot(figure.subplots()).set_title(title)
    save_figure(path, figure)
