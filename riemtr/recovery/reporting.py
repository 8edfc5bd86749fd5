"""The report of a recovery: dictionary and coefficients in normal form, a judgement of each row.

Rows that were found on a sample of the samples are proved on all of them here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from riemtr.data.blocks import Blocks
from riemtr.recovery.doubts import Rows, doubts
from riemtr.recovery.errors import errors_of_zeros
from riemtr.recovery.evidence import dependence, sharing, sparser_combinations
from riemtr.recovery.exact_rows import on_many_zeros, prove, zeros_that_determine
from riemtr.recovery.report import Atom, Encoder, NormalForm, Recovery, mean_share
from riemtr.recovery.rounding import Rounder
from riemtr.recovery.task import Task
from riemtr.recovery.zeros import clear_rounding


def report(task: Task, rows: Sequence[Atom], refined: str) -> Recovery:
    """Reconstruct dictionary and coefficients, and judge every row.

    Parameters
    ----------
    task : Task
    rows : sequence of Atom
        Independent rows, as many as the rank.
    refined : str
        The form in which rows were refined together; empty where they were not.
    """
    task.tick("report", 0, 3)
    rows = proved(task, rows)
    task.tick("report", 1, 3)
    form = task.normal_form(rows)
    rows = _with_evidence(task, [rows[i] for i in form.order], form)
    seen = task.inspector
    together = Rows(rows, seen.counts, seen.noise_flatness, task.white.residual)
    atoms = [replace(row, doubts=doubts(row, together)) for row in rows]
    back = task.white.inverse[:-1] if task.constant else task.white.inverse
    share = mean_share(task.mean, back, task.gram, task.data.shape[1])
    X, zeros = _coefficients(task, form)  # perhaps over the samples
    task.tick("report", 2, 3)
    if zeros is not None:  # as counted before, but for what rounding decides
        atoms = [replace(atom, zeros=int(n)) for atom, n in zip(atoms, zeros, strict=True)]
    kind = X.dtype
    found = Recovery(
        dictionary=form.dictionary.astype(kind, copy=False),
        coefficients=X,
        directions=form.directions.astype(kind, copy=False),
        encoder=Encoder(
            form.unmixing.astype(kind, copy=False),
            task.white.matrix,
            form.scales,
            np.array([seen.condition(q) for q in form.directions.T]),
            seen.precision,
        ),
        atoms=tuple(atoms),
        condition_number=task.white.condition_number,
        mu=task.plan.mu,
        seed=task.plan.seed,
        mean_share=share,
        refined=refined,
    )
    task.tick("report", 3, 3)
    return found.without_constant(_place_of_constant(form)) if task.constant else found


def _place_of_constant(form: NormalForm) -> int:
    return int(np.flatnonzero(np.asarray(form.order) == 0)[0])


def proved(task: Task, rows: Sequence[Atom]) -> list[Atom]:
    """Prove exact rows on all the data, and round the others against all of them."""
    rows = list(rows)
    if not task.plan.rounding:
        return rows
    exact = [i for i, row in enumerate(rows) if row.exact and row.zeros]
    for i in exact:
        if rows[i].rounding is not None:  # a linear program holds it by few of its zeros
            rows[i] = replace(rows[i], direction=_on_zeros(task, rows[i].direction))
    if exact:
        directions = np.column_stack([rows[i].direction for i in exact])
        vanishing = np.array([task.inspector.vanishing(q) for q in directions.T])
        samples = Blocks(task.samples, task.pool)
        proof = prove(task.data, samples, task.share, directions, vanishing)
        for place, i in enumerate(exact):
            rounding = proof.rounding(place, directions[:, place])
            rows[i] = replace(rows[i], rounding=rounding, zeros=int(proof.zeros[place]))
    # Where the dual of all zeros leaves [-1, 1], another one may not; and rows that are not
    # exactly sparse were rounded against the samples alone.
    rounder: Rounder | None = None
    for i, row in enumerate(rows):
        if row.rounding is None or (row.certified and i in exact):
            continue
        if i in exact or task.share < 1.0:
            rounder = rounder or (task.rounder if task.share == 1.0 else Rounder(task.data))
            rounding = replace(rounder.round(row.direction), dual=np.empty(0))
            direction = row.direction if row.exact else rounding.direction
            rows[i] = replace(row, rounding=rounding, direction=direction)
    return rows


def _on_zeros(task: Task, direction: np.ndarray) -> np.ndarray:
    """Return the direction of an exactly sparse row from many of its zeros."""
    there = task.inspector.lengths > 0
    units = (task.samples[:, there] / task.inspector.lengths[there]).T.astype(np.float64)
    better, _ = on_many_zeros(units, direction, task.inspector.vanishing(direction))
    return better


def _with_evidence(task: Task, rows: list[Atom], form: NormalForm) -> list[Atom]:
    """Add to rows, in their order in the report, what their coefficients on the samples show."""
    X = task.coefficients(form)
    if any(row.unproved or not row.exact for row in rows):
        # Ones are constant but for rounding, on which nothing depends.
        varying = [place for place, i in enumerate(form.order) if not (task.constant and i == 0)]
        for place, depends in zip(varying, dependence(X[varying]), strict=True):
            rows[place] = replace(rows[place], dependence=float(depends))
    exact = [place for place, row in enumerate(rows) if row.exact and row.zeros]
    if exact and task.inspector.precision > 0.0:
        errors = _errors_of_few_digits(task, form, X, exact)
        rows = [
            replace(row, standard_error=math.hypot(row.standard_error, error))
            for row, error in zip(rows, errors, strict=True)
        ]
    shared = sharing(X, [place for place in exact if not rows[place].unproved])
    better = sparser_combinations(X, exact)
    if task.constant:  # nobody sees its row: the others are numbered without it
        gone = _place_of_constant(form)
        better = {
            place: each._replace(other=each.other - (each.other > gone))
            for place, each in better.items()
            if each.other != gone
        }
    return [
        replace(row, sparser=better.get(place), shares=place in shared)
        for place, row in enumerate(rows)
    ]


def _errors_of_few_digits(
    task: Task, form: NormalForm, X: np.ndarray, exact: list[int]
) -> np.ndarray:
    """Return the standard errors of all atoms that exact rows of data of few digits make."""
    rows = form.directions.T @ task.samples
    zeros = np.zeros(X.shape, dtype=bool)
    zeros[exact] = X[exact] == 0.0
    used = zeros_that_determine(len(rows))
    return errors_of_zeros(rows, zeros, used).of_atoms(
        task.white.inverse.astype(np.float64), form.directions
    )


def _coefficients(task: Task, form: NormalForm) -> tuple[Any, np.ndarray | None]:
    """Return X = scales * Q'Y and its zeros, over the array of the whitened data if it may be.

    Where Dask keeps the data, nothing is computed yet, and zeros are not counted.
    """
    matrix = form.scales[:, None] * form.directions.T
    array = task.data.array
    over = task.owned and array is not None and array.flags.writeable
    vanishing = task.vanishing(form)
    X = task.data.mapped(_rows, matrix, form.scales, vanishing, rows=len(matrix), over=over)
    return X.as_array(), None if X.array is None else X.total(_zeros)[0]


def _rows(
    block: np.ndarray, matrix: np.ndarray, scales: np.ndarray, vanishing: np.ndarray
) -> np.ndarray:
    """Return the coefficients of whitened samples."""
    lengths = np.sqrt(np.einsum("ij,ij->j", block, block))
    X = matrix.astype(block.dtype) @ block
    clear_rounding(X, lengths, scales, vanishing)
    return X


def _zeros(block: np.ndarray, first: int) -> tuple[np.ndarray]:
    """Count the zeros of rows where the sample is not zero."""
    zeros = block == 0
    return (np.count_nonzero(zeros, axis=1) - np.count_nonzero(zeros.all(axis=0)),)
