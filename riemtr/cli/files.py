"""Results and starts as files: checked before the run, never over another file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from riemtr.files import check_expansion, save_figure, save_json
from riemtr.solvers import Result, load_result


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
            if name not in ("direction", "curvature")
        },
        "point": result.point,
        "history": result.history,
    }
    save_json(path, content)


def read_start(path: Path) -> Any:
    """Read where to begin: an array, the arrays of a product's point, or a result that was saved.

    The arrays of an ``.npz`` are the parts of the point, in their order.
    """
    try:
        if path.suffix.lower() == ".npy":
            return np.load(path, allow_pickle=False)
        check_expansion(path)
        with np.load(path, allow_pickle=False) as archive:
            if "result" in archive.files:
                return load_result(path)
            parts = [archive[name] for name in archive.files]
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no file {str(path)!r}") from None
    except (ValueError, EOFError, BadZipFile) as error:
        raise ValueError(
            f"{path} must be a point: an array in .npy, arrays in .npz, or a result that riemtr "
            f"saved; got: {error}"
        ) from error
    return parts[0] if len(parts) == 1 else parts


def save_plot(path: Path, result: Any, title: str) -> None:
    """Save the plot that a result draws of itself; needs the extra ``plot``, and no display."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    result.plot(figure.subplots()).set_title(title)
    save_figure(path, figure)
