"""What rounding asks of partitioned data: three visits to every block of samples.

Each is a function for one block, ``first`` being the number of its first sample, and a function
that merges the results of several. The residual of a sample y of M = scale * block is q'y.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from riemtr.data.partitioned import add_up, mine
from riemtr.recovery.l1_columns import Columns


@dataclass(frozen=True, eq=False)
class Signs:
    """Every sample's sign at q, but for a band of them, by increasing numbers, which have none."""

    q: np.ndarray
    band: np.ndarray

    def of(self, columns: Columns, first: int) -> np.ndarray:
        """Return the signs of the samples in a block."""
        signs = np.sign(columns.dot(self.q))
        signs[mine(self.band, first, columns.count)] = 0.0
        return signs


@dataclass(frozen=True, eq=False)
class Look:
    """The residuals at a point.

    Attributes
    ----------
    width : int
        How many were asked for at most.
    objective : float
        The sum of their magnitudes.
    nearest, ratios : ndarray
        Numbers of the samples nearest to changing sign, and their residuals over their lengths.
    changes : int
        How many signs are not the ones that were folded.
    changed : ndarray
        Numbers of such samples, half as many as asked for at most.
    """

    width: int
    objective: float
    nearest: np.ndarray
    ratios: np.ndarray
    changes: int
    changed: np.ndarray


def look(
    block: np.ndarray,
    first: int,
    scale: float,
    q: np.ndarray,
    width: int,
    folded: Signs | None,
    tolerance: float,
) -> Look:
    """Look at the residuals at q; a sign counts as changed where the residual is not rounding."""
    columns = Columns(block, scale)
    residual, lengths = columns.dot(q), columns.lengths
    size = np.abs(residual)
    ratios = np.full(len(size), np.inf)  # zero columns last
    np.divide(size, lengths, out=ratios, where=lengths > 0)
    nearest = _smallest(ratios, width)
    changed = np.empty(0, dtype=np.intp)
    if folded is not None:
        unaccounted = size - folded.of(columns, first) * residual
        unaccounted[mine(folded.band, first, len(size))] = 0.0
        changed = np.flatnonzero(unaccounted > tolerance * lengths)
    some = first + changed[: width // 2]
    objective = float(size.sum())
    return Look(width, objective, first + nearest, ratios[nearest], len(changed), some)


def merge_looks(looks: Sequence[Look]) -> Look:
    """Return the look at all their samples."""
    width = looks[0].width
    nearest = np.concatenate([each.nearest for each in looks])
    ratios = np.concatenate([each.ratios for each in looks])
    changed = np.concatenate([each.changed for each in looks])
    chosen = _smallest(ratios, width)
    return Look(
        width,
        sum(each.objective for each in looks),
        nearest[chosen],
        ratios[chosen],
        sum(each.changes for each in looks),
        changed[: width // 2],
    )


def _smallest(ratios: np.ndarray, width: int) -> np.ndarray:
    if len(ratios) <= width:
        return np.arange(len(ratios))
    return np.argpartition(ratios, width)[:width]


def fold(
    block: np.ndarray, first: int, scale: float, signs: Signs
) -> tuple[np.ndarray, np.ndarray]:
    """Return the samples in the band, in order, and the signed sum of the others."""
    columns = Columns(block, scale)
    inside = columns.take(mine(signs.band, first, columns.count))
    return inside, columns.combine(signs.of(columns, first))


def merge_folds(
    parts: Sequence[tuple[np.ndarray, np.ndarray]],
) -> tuple[np.ndarray, np.ndarray]:
    """Join the samples of the band, and add up the sums."""
    return np.hstack([inside for inside, _ in parts]), add_up([(rest,) for _, rest in parts])[0]


@dataclass(frozen=True, eq=False)
class Face:
    """Sums over the samples, those whose residual vanishes at a start set apart.

    The dual t is <d, y> for these, d being given, and the sign of the residual for the others.

    Attributes
    ----------
    farthest : float
        The largest \\|t\\|, which is then clipped to 1.
    count : int
        How many vanish.
    gram : ndarray, shape (n, n), or float
        M M' over these; 0 if not asked for.
    pull : ndarray, shape (n,)
        M z over these, z being their residuals at q.
    image : ndarray, shape (n,)
        M t.
    objective, value : float
        \\|z\\|_1 and <t, z> over all.
    """

    farthest: float
    count: int
    gram: np.ndarray | float
    pull: np.ndarray
    image: np.ndarray
    objective: float
    value: float


def face(
    block: np.ndarray,
    first: int,
    scale: float,
    start: np.ndarray,
    tolerance: float,
    q: np.ndarray,
    dual: np.ndarray,
    matrix_too: bool,
) -> Face:
    """Sum up at q, with the dual d, where the residuals at the start vanish and where not."""
    columns = Columns(block, scale)
    before, residual = columns.dot(start), columns.dot(q)
    vanishing = np.abs(before) <= tolerance * columns.lengths
    t = np.where(vanishing, columns.dot(dual), np.sign(before))
    clipped = np.clip(t, -1.0, 1.0)
    return Face(
        float(np.max(np.abs(t))),
        int(np.count_nonzero(vanishing)),
        columns.gram(vanishing.astype(float)) if matrix_too else 0.0,
        columns.combine(np.where(vanishing, residual, 0.0)),
        columns.combine(clipped),
        float(np.abs(residual).sum()),
        float(clipped @ residual),
    )


def merge_faces(faces: Sequence[Face]) -> Face:
    """Return the face of all their samples."""
    sums = [(f.count, f.gram, f.pull, f.image, f.objective, f.value) for f in faces]
    return Face(max(f.farthest for f in faces), *add_up(sums))
