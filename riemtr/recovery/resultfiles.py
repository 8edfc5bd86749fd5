"""Recoveries as files: plain formats without pickles, each file whole or not there at all."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from riemtr.data.blocks import column_blocks
from riemtr.files import atomic_file, csv_text, save_json, write_atomically
from riemtr.recovery.report import Atom, Recovery

DICTIONARY, COEFFICIENTS, OFFSET, REPORT = "A.npy", "X.npy", "offset.npy", "report.json"
TABLE = "dictionary.csv"
OURS = (DICTIONARY, COEFFICIENTS, OFFSET, TABLE, REPORT, "sparsity.png", "atoms.png")
"""Names of all the files that a recovery's folder may hold."""


def save_recovery(
    folder: Path, found: Recovery, about: Mapping[str, Any], names: Sequence[str] = ()
) -> list[Path]:
    """Write A, X, the offset and the report, each whole or not at all, the report last.

    Parameters
    ----------
    folder : path
        Where; made if it does not exist. Files of these names are replaced.
    found : Recovery
    about : mapping
        What else the report says: the source, the settings and so on.
    names : sequence of str, optional
        What the n features are called. A is then written as a table with these names, too.

    Returns
    -------
    list of path
        The files written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    arrays = {DICTIONARY: found.dictionary, COEFFICIENTS: found.coefficients}
    if found.offset is not None:
        arrays[OFFSET] = found.offset
    for name in {OFFSET, TABLE} - set(arrays):
        (folder / name).unlink(missing_ok=True)  # of results that are replaced
    saved = [folder / name for name in arrays]
    for name, array in arrays.items():
        with atomic_file(folder / name) as file:
            np.save(file, array, allow_pickle=False)
    if names:
        saved.append(write_atomically(folder / TABLE, table(found, names).encode()))
    saved.append(save_json(folder / REPORT, report(found, about, names)))
    return saved


def table(found: Recovery, names: Sequence[str]) -> str:
    """Return A as comma-separated text, a line for every feature and a column for every atom."""
    columns = [f"atom{number}" for number in range(found.dictionary.shape[1])]
    values = found.dictionary
    if found.offset is not None:
        columns.append("offset")
        values = np.column_stack([values, found.offset])
    rows = ([name, *row] for name, row in zip(names, values.tolist(), strict=True))
    return csv_text([["feature", *columns], *rows])


def relative_residual(Y: np.ndarray, found: Recovery) -> float:
    """Return \\|Y - A X - b\\|_F / \\|Y\\|_F with the offset b, by blocks of columns."""
    size = max(float(np.abs(Y[:, columns]).max()) for columns in column_blocks(Y.shape))
    if size == 0.0:
        return 0.0
    offset = 0.0 if found.offset is None else found.offset[:, None] / size
    missing, total = 0.0, 0.0
    for columns in column_blocks(Y.shape):
        block = Y[:, columns].astype(np.float64) / size  # or squares over- or underflow
        rest = block - offset - found.dictionary @ (found.coefficients[:, columns] / size)
        missing += float(np.vdot(rest, rest))
        total += float(np.vdot(block, block))
    return math.sqrt(missing / total)


def report(found: Recovery, about: Mapping[str, Any], names: Sequence[str] = ()) -> dict[str, Any]:
    """Return what is known of a recovery, without its arrays, as JSON knows it."""
    atoms = found.atoms
    return {
        **about,
        "names": list(names),
        "shape": [found.dictionary.shape[0], found.coefficients.shape[1]],
        "rank": found.dictionary.shape[1],
        "mu": found.mu,
        "seed": found.seed,
        "seconds": found.seconds,
        "condition_number": found.condition_number,
        "mean_share": found.mean_share,
        "offset": found.offset,
        "refined": found.refined,
        "objective": found.objective,
        "trusted": found.trusted,
        "certified": found.certified,
        "rows_trusted": sum(atom.trusted for atom in atoms),
        "rows_proved": found.count("proved"),
        "rows_plausible": found.count("plausible"),
        "rows_doubtful": found.count("doubtful"),
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
        "remark": atom.remark,
        "trusted": atom.trusted,
        "certified": atom.certified,
        "exactly_sparse": atom.exact,
        "zeros": zeros,
        "duality_gap": None if atom.rounding is None else atom.rounding.duality_gap,
        "standard_error": atom.standard_error,
        "starts": atom.starts,
        "came_back": atom.came_back,
        "dependence": atom.dependence,
        "flatness": atom.flatness,
        "forced": atom.forced,
        "unproved": atom.unproved,
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
