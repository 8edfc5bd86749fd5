"""Recoveries as files: plain formats without pickles, each file whole or not there at all."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from riemtr.data.blocks import column_blocks
from riemtr.files import atomic_file, save_json
from riemtr.recovery.report import Atom, Recovery

DICTIONARY, COEFFICIENTS, MEAN, REPORT = "A.npy", "X.npy", "mean.npy", "report.json"
OURS = (DICTIONARY, COEFFICIENTS, MEAN, REPORT, "sparsity.png", "atoms.png")
"""Names of all the files that a recovery's folder may hold."""


def save_recovery(
    folder: Path, found: Recovery, about: Mapping[str, Any], mean: np.ndarray | None = None
) -> list[Path]:
    """Write A, X and the report, each whole or not at all, the report last.

    Parameters
    ----------
    folder : path
        Where; made if it does not exist. Files of these names are replaced.
    found : Recovery
    about : mapping
        What else the report says: the source, the settings and so on.
    mean : ndarray, shape (n,), optional
        What was subtracted from every sample.

    Returns
    -------
    list of path
        The files written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    arrays = {DICTIONARY: found.dictionary, COEFFICIENTS: found.coefficients}
    if mean is not None:
        arrays[MEAN] = mean
    else:
        (folder / MEAN).unlink(missing_ok=True)  # of results that are replaced
    for name, array in arrays.items():
        with atomic_file(folder / name) as file:
            np.save(file, array, allow_pickle=False)
    save_json(folder / REPORT, report(found, about))
    return [folder / name for name in (*arrays, REPORT)]


def relative_residual(Y: np.ndarray, found: Recovery) -> float:
    """Return \\|Y - A X\\|_F / \\|Y\\|_F, by blocks of columns."""
    size = max(float(np.abs(Y[:, columns]).max()) for columns in column_blocks(Y.shape))
    if size == 0.0:
        return 0.0
    missing, total = 0.0, 0.0
    for columns in column_blocks(Y.shape):
        block = Y[:, columns].astype(np.float64) / size  # or squares over- or underflow
        rest = block - found.dictionary @ (found.coefficients[:, columns] / size)
        missing += float(np.vdot(rest, rest))
        total += float(np.vdot(block, block))
    return math.sqrt(missing / total)


def report(found: Recovery, about: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is known of a recovery, without its arrays, as JSON knows it."""
    atoms = found.atoms
    return {
        **about,
        "shape": [found.dictionary.shape[0], found.coefficients.shape[1]],
        "rank": found.dictionary.shape[1],
        "mu": found.mu,
        "seed": found.seed,
        "seconds": found.seconds,
        "condition_number": found.condition_number,
        "mean_share": found.mean_share,
        "objective": found.objective,
        "trusted": found.trusted,
        "certified": found.certified,
        "rows_trusted": sum(atom.trusted for atom in atoms),
        "rows_certified": sum(atom.certified for atom in atoms),
        "rows_exactly_sparse": sum(atom.exact for atom in atoms),
        "rows": [
            _row(number, atom, found.count_zeros(number)) for number, atom in enumerate(atoms)
        ],
    }


def _row(number: int, atom: Atom, zeros: int) -> dict[str, Any]:
    return {
        "row": number,
        "verdict": atom.verdict,
        "trusted": atom.trusted,
        "certified": atom.certified,
        "exactly_sparse": atom.exact,
        "zeros": zeros,
        "duality_gap": None if atom.rounding is None else atom.rounding.duality_gap,
        "doubts": list(atom.doubts),
        "attempt": atom.attempt,
        "solver": {
            "dimension": atom.result.dimension,
            "iterations": atom.result.iterations,
            "cost": atom.result.cost,
            "gradient_norm": atom.result.gradient_norm,
            "converged": atom.result.converged,
            "status": atom.result.status,
        },
    }
