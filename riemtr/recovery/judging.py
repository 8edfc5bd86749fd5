"""Which rows are good, and the reasons not to trust the others.

Rounding sees all of the data, so it repairs what deflation loses as long as the direction it gets
is near a target. These things betray a row where it was not: it depends on rows already found; its
linear program was not solved; or it is not exactly sparse though others are, which happens by
chance to no vertex, and so shows that the data do follow the model.

Where no row is exactly sparse, as of images, nothing speaks against rows that are sparser than
noise of the same shape can be made. One that is not, such as the brightness of images, is what the
others leave; two or more could be mixed at will, as Gaussian sources can, and are not to be
trusted. Nor are rows of data that lost a good part by a reduction of the rank, or, where they are
exactly sparse, any part: there are more sources than rows then.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from riemtr.recovery.census import SampleCounts
from riemtr.recovery.report import Atom

_INDEPENDENT = 0.1  # least part of a direction outside the span of better rows
# The least flatness over the sphere falls like sqrt(n / p) for Gaussian noise, by Gordon's theorem;
# the factor is 0.61 at most over 90 recoveries from noise, n = 2 to 64 and p = 5 n to 400 n.
_NOISE = 0.62
_FEW = 5  # samples per dimension below which noise has rows as sparse as the model's
_LOST = 0.2  # residual from which a reduction of the rank counts as one: 4% of the energy
_LOST_EXACT = 1e-4  # and of data without noise, as those with exactly sparse rows are
# Share of zeros from which a row shows that data follow the model. Integers, such as pixels, cancel
# in some combinations on a few percent of the samples.
_SPARSE = 0.25


@dataclass(frozen=True)
class Sorting:
    """Indices of the rows to keep and of the others, and whether the data follow the model.

    ``dependent`` are those rows, among the others, that lie in the span of better ones.
    ``some_exact`` if there is an exact row with a good share of zeros; ``model_holds`` also if
    there is a row with as many that hold it redundantly in half of the directions at least.
    ``counts`` says how many samples there are, and ``noise_flatness`` is the flatness of noise
    whose samples are as long as theirs.
    """

    good: tuple[int, ...]
    bad: tuple[int, ...]
    dependent: tuple[int, ...]
    some_exact: bool
    model_holds: bool
    counts: SampleCounts
    noise_flatness: float = 1.0


def sort_rows(rows: Sequence[Atom], counts: SampleCounts, noise_flatness: float = 1.0) -> Sorting:
    """Tell good rows from bad ones, the better first where two exclude each other."""
    sparse = [row for row in rows if row.zeros >= _SPARSE * counts.nonzero]
    some_exact = any(row.exact for row in sparse)
    holds = some_exact or any(2 * row.forced < len(rows) - 1 for row in sparse)
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
    bad = [i for i, row in enumerate(rows) if i in dependent or (some_exact and not row.exact)]
    good = [i for i in range(len(rows)) if i not in bad]
    return Sorting(
        tuple(good), tuple(bad), tuple(dependent), some_exact, holds, counts, noise_flatness
    )


def replace_dependent(rows: Sequence[Atom], sorting: Sorting) -> list[np.ndarray]:
    """Return the directions, dependent ones replaced by a basis of the others' complement."""
    directions = [row.direction for row in rows]
    if sorting.dependent:
        rest = [row.direction for i, row in enumerate(rows) if i not in sorting.dependent]
        basis, _ = np.linalg.qr(np.column_stack(rest), mode="complete")
        for index, column in zip(sorting.dependent, range(len(rest), len(rows)), strict=True):
            directions[index] = basis[:, column]
    return directions


def doubts(
    row: Atom,
    rows: Sequence[Atom],
    index: int,
    sorting: Sorting,
    residual: float = 0.0,
) -> tuple[str, ...]:
    """Return the reasons not to trust a row, most serious first.

    Parameters
    ----------
    row, index
        The row and its number among the rows.
    rows, sorting
        All of them, and how they were sorted.
    residual : float
        What a reduction of the rank left of the data, relative to them.
    """
    found = []
    if index in sorting.dependent:
        cosines = [abs(float(row.direction @ other.direction)) for other in rows]
        cosines[index] = -1.0
        nearest = int(np.argmax(cosines))
        found.append(
            f"depends on better rows (cosine {cosines[nearest]:.3f} with the nearest) however "
            f"often it is solved for: what is given instead only completes the dictionary"
        )
    else:
        if not row.exact and len(rows) > 1:  # else there is nothing to choose
            found += _doubts_of_sparsity(row, rows, sorting)
        if residual >= (_LOST_EXACT if row.exact else _LOST):
            found.append(
                f"the rank kept leaves a residual of {residual:.1%}: rows of what was dropped are "
                f"mixed into it"
            )
    if row.rounding is None and not row.exact:
        found.append("not rounded: right to the tolerance of the solver at best")
    if row.rounding is not None and not row.rounding.certified:
        found.append(f"rounding not certified (duality gap {row.rounding.duality_gap:.1e})")
    # What is exactly sparse is a row of X wherever the solver stopped.
    if not row.result.converged and not row.exact:
        found.append(f"the solver did not converge ({row.result.status})")
    return tuple(found)


def _doubts_of_sparsity(row: Atom, rows: Sequence[Atom], sorting: Sorting) -> list[str]:
    """Return what speaks against a row that is not exactly sparse."""
    n, counts = len(rows), sorting.counts
    if sorting.some_exact:
        return ["not exactly sparse, though others are: it may mix several"]
    if sorting.model_holds or row.forced < n - 1:  # more zeros than a vertex forces
        return [
            f"a single zero, or none, holds it in {row.forced} of {n - 1} directions: it may mix "
            f"several rows, or {counts} are too few to tell"
        ]
    if counts.worth < _FEW * n:
        return [
            f"not exactly sparse, and {counts} are too few for "
            f"{n} dimensions: any vertex of the linear program would look as sparse"
        ]
    limit = sorting.noise_flatness * (1.0 - _NOISE * math.sqrt(n / counts.worth))
    if row.flatness >= limit and sum(each.flatness >= limit for each in rows) > 1:
        return [
            "no more zeros than any vertex of the linear program has, and otherwise no sparser "
            "than noise can be made whose samples are as long"
        ]
    return []
