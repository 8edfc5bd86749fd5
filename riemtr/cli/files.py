"""Results as files: checked before the run, written after it, never over another file."""

from __future__ import annotations

import io
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from riemtr.files import json_text, save_figure, save_json, write_atomically
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


def save_result(path: Path, result: Result, about: dict[str, Any]) -> None:
    """Save a result as ``.json`` or ``.npz``, without pickles.

    JSON holds ``about``, ``summary``, ``point`` and ``history``. An ``.npz`` archive holds the
    point as ``point`` (``point_0``, ``point_1``... where it has parts), each column of the history
    as ``history_<column>``, and the rest as JSON text in ``summary``.
    """
    summary = {**about, **_summary(result)}
    if path.suffix.lower() == ".json":
        content = {
            **summary,
            "point": result.point,
            "history": result.history,
        }
        save_json(path, content)
        return
    arrays = dict(_named_arrays("point", result.point))
    arrays.update({f"history_{name}": column for name, column in result.history.items()})
    archive = io.BytesIO()
    np.savez_compressed(archive, summary=np.array(json_text(summary)), **arrays)  # type: ignore[arg-type]
    write_atomically(path, archive.getvalue())


def save_plot(path: Path, result: Result, title: str) -> None:
    """Save the convergence plot; needs the extra ``plot``, and no display."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    result.plot(figure.subplots()).set_title(title)
    save_figure(path, figure)


def _summary(result: Result) -> dict[str, Any]:
    certificate = result.certificate
    return {
        "status": result.status.name.lower(),
        "reason": str(result.reason),
        "converged": result.converged,
        "certified": result.certified,
        "cost": result.cost,
        "gradient_norm": result.gradient_norm,
        "iterations": result.iterations,
        "seconds": result.seconds,
        "counts": result.counts.as_dict(),
        "certificate": {
            name: getattr(certificate, name)
            for name in (field.name for field in fields(certificate))
            if name != "direction"  # as long as the point
        },
    }


def _named_arrays(name: str, point: Any) -> list[tuple[str, np.ndarray]]:
    if isinstance(point, (list, tuple)):
        return [
            named
            for number, part in enumerate(point)
            for named in _named_arrays(f"{name}_{number}", part)
        ]
    return [(name, np.asarray(point))]
