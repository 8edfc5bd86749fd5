"""A recovery, as in the paper's section III: solve, round, deflate, and refine what is not exact.

All rows are solved for at once. Where they come out exactly sparse, the data follow the model: each
is snapped onto its zeros or rounded by a linear program, the exact ones are set aside, and the rest
is solved for on their complement, until no more rows come out exact. Rows that are not exact where
most are not are refined together. The evidence for every row is gathered on as many samples as
suffice to solve; :mod:`riemtr.recovery.reporting` proves on all samples what is claimed of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import fields, replace

import numpy as np

from riemtr.data.blocks import turned
from riemtr.problems.surrogates import scaled
from riemtr.recovery.candidates import (
    Look,
    candidates,
    choose,
    first_look,
    in_digits_of,
    unmixed,
    with_values,
)
from riemtr.recovery.complement import Complement, Part
from riemtr.recovery.evidence import came_back, dependence, dependence_limit
from riemtr.recovery.refining import Refined, beside, refine
from riemtr.recovery.report import Atom, Recovery
from riemtr.recovery.reporting import proved, report
from riemtr.recovery.solving import Solve
from riemtr.recovery.task import Task, columns
from riemtr.store import Record

# Starts where rows are not proved, so that other starts can confirm them.
_STARTS = 3


def recover(task: Task, look: Look | None = None) -> Recovery:
    """Recover the dictionary; a first look may have been taken."""
    plan = task.plan
    if look is None and plan.order != "rounded":
        look = first_look(task)
    rows, form = list(task.known), ""
    is_rounded = look is None or look.follows_model or plan.refine is None or task.white.rank == 1
    if plan.rounding and is_rounded:
        task = task if look is None else in_digits_of(task, look)
        rows = _confirmed(task, *_exact_rows(task, look), look)
    if plan.refine is not None and task.white.rank > 1 and _are_estimates(task, rows):
        rows, form = _refined(task, rows, look)
    elif len(rows) < task.white.rank:
        solves = Complement(task, rows).solved(0, _near(look))
        rows += [task.row(solve, solve.direction) for solve in solves]
    return report(task, rows, form)


def only_row(task: Task) -> Atom:
    """Return one row alone, solved for and rounded."""
    solve = Complement(task).solved_for_one()
    return proved(task, [_rounded(task, solve, "round/0")])[0]


def _are_estimates(task: Task, rows: Sequence[Atom]) -> bool:
    """Whether rows are unknown, or not exact."""
    return len(rows) < task.white.rank or not all(row.exact for row in rows)


# --- solve, round, deflate -----------------------------------------------------------------------


def _exact_rows(task: Task, look: Look | None, start: int = 0) -> tuple[list[Atom], int]:
    """Set aside rows that come out exact, solve for the others on their complement, and unmix.

    Returns
    -------
    list of Atom
        The rows.
    int
        How many rows were mixtures, in place of which others were chosen.
    """
    pool = exact = list(task.known)
    for attempt in itertools.count():
        around = Complement(task, exact)
        if look is None:
            pool = [*pool, *_rounded_in_turn(around, attempt)]
        else:
            solves = around.solved(start) if attempt or start else look.solves
            directions = _freed(around, solves, look)
            pool = [*pool, *candidates(around, solves, directions, start, attempt)]
        rows = choose(task, pool)
        before, exact = len(exact), [row for row in rows if row.exact]
        if len(exact) in (before, len(rows)):
            break
    return unmixed(task, rows, f"unmix/{start}")


def _confirmed(task: Task, rows: list[Atom], mixtures: int, look: Look | None) -> list[Atom]:
    """Let rows that zeros do not prove compete with the rows that further starts lead to.

    Rows of few values are confirmed by starts that lead to all of them. Where mixtures looked like
    rows, no start confirms a row.
    """
    rows = with_values(task, rows)
    if not mixtures and not any(row.unproved for row in rows):
        return rows
    others = [_exact_rows(task, look, start)[0] for start in range(1, _starts(task, columns(rows)))]
    rows = choose(task, [row for each in (rows, *others) for row in each])
    rows, more = unmixed(task, rows, "unmix/all")
    again = sum(bool(came_back(columns(rows), [columns(each)]).all()) for each in others)
    return [
        replace(row, starts=len(others) + 1, came_back=again, mixtures=mixtures + more)
        if row.exact and row.zeros
        else row
        for row in with_values(task, rows)
    ]


def _freed(around: Complement, solves: Sequence[Solve], look: Look | None) -> np.ndarray:
    """Return directions without angles where these make the zeros of exact rows stand apart."""
    directions = columns(solves)
    if look is None or not look.follows_model or around.task.plan.order != "joint":
        return directions
    return around.freed(directions, Part(even=look.even))


def _rounded_in_turn(around: Complement, attempt: int) -> list[Atom]:
    """Solve for one row after the other, each on the complement of the rounded ones before."""
    rows: list[Atom] = []

    def rounded(solve: Solve) -> np.ndarray:
        rows.append(_rounded(around.task, solve, around.name(f"round/{len(rows)}"), attempt))
        return rows[-1].direction

    around.solved_in_turn(0, rounded)
    return rows


def _rounded(task: Task, solve: Solve, name: str, attempt: int = 0) -> Atom:
    rounding = task.rounded(name, solve.direction)
    return task.row(solve, rounding.direction, rounding, attempt)


# --- further starts ------------------------------------------------------------------------------


def _starts(task: Task, directions: np.ndarray) -> int:
    """Return from how many starts to solve, as many as asked for or as rows may need.

    Rows whose magnitudes depend on each other are not plausible, whoever finds them again.
    """
    if task.plan.seeds is not None:
        return task.plan.seeds
    return _STARTS if task.plan.order == "joint" and are_independent(task, directions) else 1


def _further(around: Complement, starts: int) -> list[list[Solve]]:
    """Solve for all rows from further starts than the first."""
    solves = []
    for start in range(1, starts):
        solves.append(around.solved(start))
        around.task.tick("starts", start, starts - 1)
    return solves


# --- refining ------------------------------------------------------------------------------------


def _refined(task: Task, rows: Sequence[Atom], look: Look | None) -> tuple[list[Atom], str]:
    """Refine all rows that are not exact, from the best of several starts; and in which form."""
    exact = [row for row in rows if row.exact]
    around = Complement(task, exact)
    first = around.solved(0, _near(look) if len(exact) == len(task.known) else None)
    refined = [_refined_from(around, "refine", columns(first))]
    starts = [first, *_further(around, _starts(task, around.basis @ refined[0].directions))]
    for number, solves in enumerate(starts[1:], 1):
        # A start that has the directions of an earlier one leads to where that one led.
        same = [
            before
            for before in range(number)
            if came_back(
                columns(starts[before])[:, refined[before].are_told_apart], [columns(solves)]
            ).all()
        ]
        name = f"refine/{number}"
        refined.append(refined[same[0]] if same else _refined_from(around, name, columns(solves)))
    best = min(range(len(starts)), key=lambda start: refined[start].cost)
    every = [around.basis @ each.directions for each in refined]
    again = came_back(every[best], [each for start, each in enumerate(every) if start != best])
    # Rows that are not told apart were not refined again: what counts is where solves led.
    solved = [columns(solves) for start, solves in enumerate(starts) if start != best]
    led = came_back(columns(starts[best]), solved)
    again = np.where(refined[best].are_told_apart, again, np.minimum(again, led))
    known = [row for row in exact if not row.zeros]  # the row of ones, which has no atom
    directions, errors = beside(
        refined[best],
        around.basis,
        [task.less_ones(row.direction) for row in exact if row.zeros],
        task.white.inverse,
        task.data,
        task.samples,
    )
    depends = dependence(directions.T @ task.samples)
    others = [
        replace(
            task.row(solve, directions[:, i]),
            dependence=float(depends[i]),
            starts=len(starts),
            came_back=int(again[i]),
        )
        for i, solve in enumerate(starts[best])
    ]
    atoms = [*(row for row in exact if row.zeros), *others]
    return [
        *known,
        *(
            replace(atom, standard_error=float(error))
            for atom, error in zip(atoms, errors, strict=True)
        ),
    ], refined[best].form


def _refined_from(around: Complement, name: str, begin: np.ndarray) -> Refined:
    record = around.task.recall(
        around.name(name),
        lambda: _record(around, begin),
        Refined.form_of_record(around.basis.shape[1]),
    )
    around.task.tick("refine", 1, 1)
    return Refined(**{each.name: record[each.name] for each in fields(Refined)})


def _record(around: Complement, begin: np.ndarray) -> Record:
    """Refine the directions on all data of the complement, of root mean square 1."""
    task = around.task
    data, samples, turn = task.data, task.samples, around.basis.T / task.scale
    if around.known or task.scale != 1.0:
        samples = turn @ samples
        data = turned(data, turn)
    task.tick("refine", 0, 1)
    assert task.plan.refine is not None
    return refine(
        data,
        samples,
        around.basis.T @ begin,
        task.plan.refine,
        scaled(task.plan.surrogate, 1.0 / task.scale),
    )


def _near(look: Look | None) -> np.ndarray | None:
    return None if look is None else columns(look.solves)


def are_independent(task: Task, directions: np.ndarray) -> bool:
    """Whether the magnitudes of rows are independent of each other."""
    rows = directions.T @ task.samples
    return float(np.median(dependence(rows))) <= dependence_limit(len(rows))
