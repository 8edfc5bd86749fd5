"""The report of a recovery: dictionary and coefficients in normal form, a judgement of each row.

Rows that the passes have found on a sample of the samples are proved on all of them here.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from riemtr.data.blocks import Blocks
from riemtr.data.partitioned import Partitioned
from riemtr.recovery.evidence import (
    Sorting,
    came_back,
    dependence,
    doubts,
    doubts_of_mixing,
    doubts_of_sharing,
    doubts_of_values,
    replace_dependent,
    sparser_combinations,
)
from riemtr.recovery.exact_rows import on_many_zeros, prove, snap
from riemtr.recovery.passes import Part, Run, columns
from riemtr.recovery.report import Atom, Encoder, NormalForm, Recovery, mean_share, normal_form
from riemtr.recovery.rounding import Rounder
from riemtr.recovery.zeros import clear_rounding


def report(run: Run, rows: list[Atom]) -> Recovery:
    """Reconstruct dictionary and coefficients, and judge every row."""
    run.tick("report", 0, 3)
    sorting = run.sort(rows)
    rows = _proved(run, rows, sorting)
    run.tick("report", 1, 3)
    directions = np.column_stack(replace_dependent(rows, sorting))
    form = normal_form(directions, run.white.matrix, run.white.inverse, run.gram)
    some = run.some_coefficients(form)
    if not all(row.exact for row in rows):
        depends = dependence(some)
        for place, number in enumerate(form.order):
            rows[number] = replace(rows[number], dependence=float(depends[place]))
    rows = _few_values(run, rows, form, some)
    lost = run.white.residual
    atoms = [
        replace(row, doubts=(*row.doubts, *doubts(row, rows, i, sorting, lost)))
        for i, row in enumerate(rows)
    ]
    for i in sorting.dependent:  # their directions were replaced, and evidence with them
        seen = run.inspector.inspect(directions[:, i])
        atoms[i] = replace(
            atoms[i],
            rounding=None,
            direction=directions[:, i],
            zeros=seen.zeros,
            exact=False,
            forced=seen.forced,
            standard_error=math.nan,
        )
    atoms = [atoms[i] for i in form.order]
    share = mean_share(run.mean, run.white.inverse, run.gram, run.data.shape[1])
    X, zeros = _coefficients(run, form)
    run.tick("report", 2, 3)
    if zeros is not None:  # as counted before, but for what rounding decides
        atoms = [replace(atom, zeros=int(n)) for atom, n in zip(atoms, zeros, strict=True)]
    kind = X.dtype
    conditions = np.array([run.inspector.condition(q) for q in form.directions.T])
    found = Recovery(
        dictionary=form.dictionary.astype(kind, copy=False),
        coefficients=X,
        directions=form.directions.astype(kind, copy=False),
        encoder=Encoder(
            form.unmixing.astype(kind, copy=False),
            run.white.matrix,
            form.scales,
            conditions,
            run.inspector.precision,
        ),
        atoms=tuple(atoms),
        condition_number=run.white.condition_number,
        mu=run.plan.mu,
        seed=run.plan.seed,
        mean_share=share,
        refined="" if run.refined is None else run.refined.form,
    )
    run.tick("report", 3, 3)
    return found.without_constant(_place_of_constant(form)) if run.constant else found


def _place_of_constant(form: NormalForm) -> int:
    return int(np.flatnonzero(np.asarray(form.order) == 0)[0])


def _proved(run: Run, rows: list[Atom], sorting: Sorting) -> list[Atom]:
    """Prove exact rows on all the data, and round the others against all of them."""
    if not run.plan.rounding:
        return rows
    rows = list(rows)
    exact = [i for i, row in enumerate(rows) if row.exact and row.zeros]
    for i in exact:
        if rows[i].rounding is not None:  # a linear program holds it by few of its zeros
            rows[i] = replace(rows[i], direction=_on_zeros(run, rows[i].direction))
    if exact:
        directions = np.column_stack([rows[i].direction for i in exact])
        vanishing = np.array([run.inspector.vanishing(q) for q in directions.T])
        samples = Blocks(run.samples, run.pool)
        proof = prove(run.data, samples, run.share, directions, vanishing)
        for place, i in enumerate(exact):
            proved = proof.rounding(place, directions[:, place])
            rows[i] = replace(rows[i], rounding=proved, zeros=int(proof.zeros[place]))
    # Where the dual of all zeros leaves [-1, 1], another one may not; and rows that are not
    # exactly sparse were rounded against the samples alone.
    rounder: Rounder | None = None
    for i, row in enumerate(rows):
        if row.rounding is None or i in sorting.dependent or (row.certified and i in exact):
            continue
        if i in exact or run.share < 1.0:
            rounder = rounder or (run.rounder if run.share == 1.0 else Rounder(run.white.data))
            rounding = replace(rounder.round(row.direction), dual=np.empty(0))
            direction = row.direction if row.exact else rounding.direction
            rows[i] = replace(row, rounding=rounding, direction=direction)
    return rows


def _on_zeros(run: Run, direction: np.ndarray) -> np.ndarray:
    """Return the direction of an exactly sparse row from many of its zeros."""
    there = run.inspector.lengths > 0
    units = (run.samples[:, there] / run.inspector.lengths[there]).T.astype(np.float64)
    better, _ = on_many_zeros(units, direction, run.inspector.vanishing(direction))
    return better


def _few_values(run: Run, rows: list[Atom], form: NormalForm, some: np.ndarray) -> list[Atom]:
    """Tell rows of few values, which zeros alone do not prove, and see if others find them."""
    exact = [k for k, i in enumerate(form.order) if rows[i].exact and rows[i].zeros]
    better = sparser_combinations(some, exact) if run.sparser is None else run.sparser
    rows = list(rows)
    if run.constant:  # whose row nobody sees: the others are numbered without it
        gone = _place_of_constant(form)
        better = {
            row: each._replace(other=each.other - (each.other > gone))
            for row, each in better.items()
            if each.other != gone
        }
    for place, doubt in doubts_of_mixing(better, exact, 0).items():
        number = form.order[place]
        rows[number] = replace(rows[number], doubts=(*rows[number].doubts, doubt))
    unproved = doubts_of_values(some, exact) | (
        doubts_of_mixing({}, exact, run.unmixed) if run.unmixed else {}
    )
    for place, doubt in doubts_of_sharing(
        some, [each for each in exact if each not in unproved]
    ).items():
        number = form.order[place]
        rows[number] = replace(rows[number], doubts=(*rows[number].doubts, doubt))
    if not unproved or not run.plan.rounding:
        return rows
    lengths = run.inspector.lengths
    others = [
        snap(run.samples, lengths, run.freed(columns(each), Part(even=run.even))).directions
        for each in run.other_starts(np.eye(len(rows)))
    ]
    for place, why in unproved.items():
        number = form.order[place]
        again = came_back(rows[number].direction[:, None], others)
        rows[number] = replace(
            rows[number], unproved=why, starts=len(others) + 1, came_back=int(again[0])
        )
    return rows


def _coefficients(run: Run, form: NormalForm) -> tuple[Any, np.ndarray | None]:
    """Return X = scales * Q'Y and its zeros, over the array of the whitened data if it may be.

    Where Dask keeps the data, nothing is computed yet, and zeros are not counted.
    """
    matrix = form.scales[:, None] * form.directions.T
    vanishing = run.vanishing(form)
    if isinstance(run.data, Partitioned):
        blocks = run.data.mapped(
            _block_coefficients, matrix, form.scales, vanishing, rows=len(matrix)
        )
        return blocks.to_dask(), None
    array = run.data.array
    if not (run.owned and array.flags.writeable):
        array = np.array(array, order="C")
    overwritten = Blocks(array, run.pool).visit(_overwrite, matrix, form.scales, vanishing)
    return array, np.sum(overwritten, axis=0)


def only_row(run: Run) -> Atom:
    """Return one row alone, rounded against all the data."""
    row = run.first_row()
    return _proved(run, [row], run.sort([row]))[0]


def _overwrite(
    block: np.ndarray, first: int, matrix: np.ndarray, scales: np.ndarray, vanishing: np.ndarray
) -> np.ndarray:
    """Replace whitened samples by their coefficients; count zeros where the sample is not zero."""
    lengths = np.sqrt(np.einsum("ij,ij->j", block, block))
    block[...] = matrix.astype(block.dtype) @ block
    clear_rounding(block, lengths, scales, vanishing)
    zeros = block == 0
    return np.count_nonzero(zeros, axis=1) - np.count_nonzero(zeros.all(axis=0))


def _block_coefficients(
    block: np.ndarray, matrix: np.ndarray, scales: np.ndarray, vanishing: np.ndarray
) -> np.ndarray:
    block = np.array(block)
    _overwrite(block, 0, matrix, scales, vanishing)
    return block
