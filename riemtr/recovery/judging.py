"""Which rows are good, and the reasons not to trust the others.

Rounding sees all of the data, so it repairs what deflation loses as long as the direction it gets
is near a target. Three things betray a row where it was not: it depends on rows already found, its
linear program was not solved, or it has no more zeros than any vertex while most rows, having
thousands, show that the data do follow the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from riemtr.recovery.report import Atom

_INDEPENDENT = 0.1  # least part of a direction outside the span of better rows
_MODEL_HOLDS = 0.5  # share of exact rows from which the others are taken to be mistakes


@dataclass(frozen=True)
class Sorting:
    """Indices of the rows to keep and of the others, and whether the data follow the model.

    ``dependent`` are those rows, among the others, that lie in the span of better ones.
    """

    good: tuple[int, ...]
    bad: tuple[int, ...]
    dependent: tuple[int, ...]
    model_holds: bool


def sort_rows(rows: Sequence[Atom]) -> Sorting:
    """Tell good rows from bad ones, the better first where two exclude each other."""
    holds = sum(row.exact for row in rows) >= _MODEL_HOLDS * len(rows)
    ranking = sorted(
        range(len(rows)),
        key=lambda i: (
            not rows[i].exact,
            not rows[i].certified,
            not rows[i].result.converged,
            rows[i].attempt,
            i,
        ),
    )
    span = np.zeros((len(rows[0].direction), 0))
    dependent = []
    for index in ranking:
        outside = rows[index].direction
        for _ in range(2):  # twice is enough (Kahan and Parlett)
            outside = outside - span @ (span.T @ outside)
        size = float(np.linalg.norm(outside))
        if size < _INDEPENDENT:
            dependent.append(index)
        else:
            span = np.column_stack([span, outside / size])
    bad = [i for i, row in enumerate(rows) if i in dependent or (holds and not row.exact)]
    good = [i for i in range(len(rows)) if i not in bad]
    return Sorting(tuple(good), tuple(bad), tuple(dependent), holds)


def replace_dependent(rows: Sequence[Atom], sorting: Sorting) -> list[np.ndarray]:
    """Return the directions, dependent ones replaced by a basis of the others' complement."""
    directions = [row.direction for row in rows]
    if sorting.dependent:
        rest = [row.direction for i, row in enumerate(rows) if i not in sorting.dependent]
        basis, _ = np.linalg.qr(np.column_stack(rest), mode="complete")
        for index, column in zip(sorting.dependent, range(len(rest), len(rows)), strict=True):
            directions[index] = basis[:, column]
    return directions


def doubts(row: Atom, rows: Sequence[Atom], index: int, sorting: Sorting) -> tuple[str, ...]:
    """Return the reasons not to trust a row, most serious first."""
    found = []
    if index in sorting.dependent:
        cosines = [abs(float(row.direction @ other.direction)) for other in rows]
        cosines[index] = -1.0
        nearest = int(np.argmax(cosines))
        found.append(
            f"depends on better rows (cosine {cosines[nearest]:.3f} with the nearest) however "
            f"often it is solved for: what is given instead only completes the dictionary"
        )
    elif sorting.model_holds and not row.exact:
        found.append("not exactly sparse, though most rows are: it may mix several")
    if row.rounding is not None and not row.rounding.certified:
        found.append(f"rounding not certified (duality gap {row.rounding.duality_gap:.1e})")
    if not row.result.converged and not row.exact:
        found.append(f"the solver did not converge ({row.result.status})")
    return tuple(found)
