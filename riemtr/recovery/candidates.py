"""Candidates for rows, and the choice among them.

Directions that solving led to are snapped onto their zeros, or rounded by a linear program. Rows of
few values are unmixed. Each of these makes candidates, rows that never change, and :func:`choose`
alone decides which of them are the rows of the dictionary.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from riemtr.recovery.complement import Complement, Part
from riemtr.recovery.evidence import RULE, equal_share, sparser_combinations
from riemtr.recovery.exact_rows import FEWEST_DIGITS, Snapped, snap
from riemtr.recovery.report import Atom
from riemtr.recovery.rounding import Rounder
from riemtr.recovery.solving import Solve
from riemtr.recovery.task import Task, columns

# Rows up to which all of them are looked at to see whether the data follow the model.
_FEW_ROWS = 16
# Rows that are looked at where there are more: a quarter of them, up to this many.
_MOST_PROBES = 8
# Samples per dimension of the linear programs of a first look.
_PROBE_SAMPLES = 64
# Share of the rows looked at that come out exactly sparse where data follow the model: a pixel that
# is nearly always zero is one row of many.
_EXACT_PROBES = 0.25
# What zeros of data with few digits have left, over what the zeros have that determine the row.
_PRECISION_MARGIN = 4.0
# How many times as much as in a typical row it may be in others.
_ALIKE = 4.0


# --- a first look --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Look:
    """A first look at data: whether rows come out exactly sparse.

    Attributes
    ----------
    solves : list of Solve
        Of all rows, on few samples where they were solved for at once.
    probes : ndarray, shape (n, k)
        Directions of a few rows, as zeros or rounding make them.
    follows_model : bool
        Whether a good part of the probes are exactly sparse, to the digits that the data have.
    even : bool
        Whether the samples were brought to one length to see that.
    """

    solves: list[Solve]
    probes: np.ndarray
    follows_model: bool
    even: bool = False

    def zeros(self, task: Task) -> float:
        """Return the mean number of zeros of the probes."""
        return float(np.mean([task.inspector.inspect(each).zeros for each in self.probes.T]))


def first_look(task: Task) -> Look:
    """Solve for all rows on few samples, and look at a few of the rows.

    Loud samples outweigh the others in a solve: with samples of one length, which have the same
    zeros, exactly sparse rows are found all the same.
    """
    plan, around = task.plan, Complement(task, task.known)
    if not plan.rounding:
        return Look(around.solved(0), np.zeros((task.white.rank, 0)), False)
    if plan.order != "joint":
        return _looked(around, around.solved(0), Part(), "first")
    counts = task.inspector.counts
    uneven = counts.effective < RULE.loud * counts.different
    for even in (True, False) if uneven else (False,):
        part = Part(few=True, even=even)
        look = _looked(around, around.solved_roughly(even), part, "even" if even else "first")
        if look.follows_model:
            break
    return look


def _looked(around: Complement, solves: list[Solve], part: Part, name: str) -> Look:
    """Look at a few of the rows.

    Near an exactly sparse row its smallest coefficients lead there. From further away, solving
    without angles comes near; from anywhere, a linear program on a part of the samples.
    """
    task = around.task
    count = len(solves)
    if count > _FEW_ROWS:
        count = min(max(count // 4, 1), _MOST_PROBES)
    chosen = np.linspace(0, len(solves) - 1, count).astype(int)
    directions = columns(solves)
    probes = onto_zeros(task, directions[:, chosen]).directions
    if are_exact(task, probes):
        return Look(solves, probes, True, part.even)
    if part.few:
        free = around.freed(directions, part)
        probes = onto_zeros(task, free[:, chosen]).directions
        if are_exact(task, probes):
            return Look(solves, probes, True, part.even)
    step = max(task.samples.shape[1] // (_PROBE_SAMPLES * task.white.rank), 1)
    rounder = Rounder(np.ascontiguousarray(task.samples[:, ::step]))
    names = [around.name(f"{name}/{i}") for i in chosen]
    roundings = task.all_rounded(names, directions[:, chosen], "probe", rounder)
    rounded = np.column_stack([rounding.direction for rounding in roundings])
    snapped = onto_zeros(task, rounded).directions
    # In few dimensions samples of one source are one direction, too few to snap onto.
    own = [task.inspector.inspect(direction).exact for direction in rounded.T]
    probes = np.where(own, rounded, snapped)
    return Look(solves, probes, are_exact(task, probes), part.even)


def are_exact(task: Task, probes: np.ndarray, share: float = 0.0) -> bool:
    """Whether a good part of some directions are exactly sparse, to the digits the data have.

    It is more than a share of them, if that is larger.
    """
    largest = onto_zeros(task, probes).largest
    exact = sum(
        left <= FEWEST_DIGITS or task.inspector.inspect(direction).exact
        for left, direction in zip(largest, probes.T, strict=True)
    )
    return exact > max(_EXACT_PROBES, share) * len(largest)


# --- what makes candidates -----------------------------------------------------------------------


def candidates(
    around: Complement, solves: Sequence[Solve], directions: np.ndarray, start: int, attempt: int
) -> list[Atom]:
    """Return a row for every direction: on its zeros if these make it exact, else rounded."""
    task = around.task
    snapped = onto_zeros(task, directions)
    rows: list[Atom | None] = [
        _on_zeros(task, snapped, number, solve, attempt) for number, solve in enumerate(solves)
    ]
    rest = [number for number, row in enumerate(rows) if row is None]
    names = [around.name(f"round/{start}/{number}") for number in rest]
    roundings = task.all_rounded(names, directions[:, rest], "round")
    for number, rounding in zip(rest, roundings, strict=True):
        rows[number] = task.row(solves[number], rounding.direction, rounding, attempt)
    task.tick("inspect", len(rows), len(rows), attempt)
    return [row for row in rows if row is not None]


def onto_zeros(task: Task, directions: np.ndarray) -> Snapped:
    """Move directions to where their smallest coefficients vanish, less a constant if need be."""
    return snap(task.units, task.less_constants(directions))


def _on_zeros(task: Task, snapped: Snapped, number: int, solve: Solve, attempt: int) -> Atom | None:
    """Return the row of a snapped direction, if it is exactly sparse."""
    if not snapped.largest[number] <= FEWEST_DIGITS:
        return None
    direction = snapped.directions[:, number]
    leverage = float(snapped.leverages[number].max(initial=0.0))
    seen = task.inspector.inspect(direction, leverage)
    return task.row(solve, direction, None, attempt, seen) if seen.exact else None


def in_digits_of(task: Task, look: Look) -> Task:
    """Return the task with the precision of its data, where they have few digits.

    The zeros of most rows are then not zero to rounding.
    """
    snapped = onto_zeros(task, look.probes)
    rounding = np.array([task.inspector.vanishing(q) for q in snapped.directions.T])
    few = (snapped.largest <= FEWEST_DIGITS) & (snapped.largest > rounding)
    if 2 * np.count_nonzero(few) <= len(few):
        return task
    left = snapped.largest[few]
    typical = left[left <= _ALIKE * np.median(left)]
    return task.with_precision(_PRECISION_MARGIN * float(typical.max()))


def unmixed(task: Task, rows: list[Atom], name: str) -> tuple[list[Atom], int]:
    """Let exactly sparse rows compete with combinations of two of them that have more zeros.

    Parameters
    ----------
    task : Task
    rows : list of Atom
        Independent rows.
    name : str
        Under which outcomes are kept.

    Returns
    -------
    list of Atom
        The rows chosen.
    int
        How many rows were mixtures, in place of which others were chosen.
    """
    mixtures = 0
    tried: set[tuple[Atom, Atom]] = set()
    while any(row.exact and row.zeros for row in rows):
        task.tick("unmix", len(tried), None)
        form = task.normal_form(rows)
        ordered = [rows[i] for i in form.order]
        numbers = [k for k, row in enumerate(ordered) if row.exact and row.zeros]
        better = sparser_combinations(task.coefficients(form), numbers).values()
        new = [each for each in better if (ordered[each.row], ordered[each.other]) not in tried]
        if not new:
            break
        best = max(new, key=lambda each: each.gain)
        weights = np.zeros(len(rows))
        weights[[best.row, best.other]] = 1.0, -best.factor
        # In any unit: squares of scales could over- or underflow.
        direction = form.directions @ (weights * (form.scales / form.scales.max()))
        rounding = task.rounded(f"{name}/{len(tried)}", direction / np.linalg.norm(direction))
        mixture = ordered[best.row]
        tried.add((mixture, ordered[best.other]))
        row = task.row(mixture.result, rounding.direction, rounding, mixture.attempt)
        chosen = choose(task, [*rows, row]) if row.exact else rows
        mixtures += any(each is row for each in chosen)
        rows = chosen
    return rows, mixtures


def with_values(task: Task, rows: Sequence[Atom]) -> list[Atom]:
    """Return the rows, those of few values with the reason why their zeros do not prove them."""
    form = task.normal_form(rows)
    exact = [place for place, i in enumerate(form.order) if rows[i].exact and rows[i].zeros]
    shares = equal_share(task.coefficients(form), exact)
    marked = list(rows)
    for place, share in shares.items():
        if share >= RULE.few_values:
            i = form.order[place]
            marked[i] = replace(
                rows[i],
                unproved=f"{share:.0%} of its coefficients have the same size: exact zeros do not "
                f"prove rows of few values, which mixtures of them have as well",
            )
    return marked


# --- the choice ----------------------------------------------------------------------------------


def choose(task: Task, pool: Sequence[Atom]) -> list[Atom]:
    """Return independent rows that make a dictionary, of a pool, in its order.

    Exactly sparse rows come before others, the sparsest first, which makes the sparsest choice of
    independent rows. Where the pool has too few of these, rows that are not independent of the
    chosen ones stand aside for directions that complete the dictionary, and are no evidence.
    """
    ranking = sorted(
        range(len(pool)),
        key=lambda i: (
            pool[i] not in task.known,
            not pool[i].exact,
            -pool[i].zeros if pool[i].exact else 0,
            not pool[i].certified,
            not pool[i].result.converged,
            pool[i].attempt,
            i,
        ),
    )
    n = task.white.rank
    span = np.zeros((n, 0))
    kept: list[int] = []
    left: list[int] = []
    for index in ranking:
        outside = pool[index].direction
        for _ in range(2):  # twice is enough (Kahan and Parlett)
            outside = outside - span @ (span.T @ outside)
        size = float(np.linalg.norm(outside))
        if size < RULE.independent:
            left.append(index)
        elif len(kept) < n:
            span = np.column_stack([span, outside / size])
            kept.append(index)
    rows = [pool[index] for index in sorted(kept)]
    if len(kept) == n:
        return rows
    basis, _ = np.linalg.qr(columns(rows), mode="complete")
    better = columns(rows)
    for index, direction in zip(left, basis[:, len(kept) :].T, strict=False):
        cosine = float(np.abs(better.T @ pool[index].direction).max())
        row = task.row(pool[index].result, direction, None, pool[index].attempt)
        rows.append(replace(row, exact=False, standard_error=math.nan, repeats=cosine))
    return rows
