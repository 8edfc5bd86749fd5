r"""LP rounding against data that no machine holds.

The folding of :mod:`riemtr.recovery.l1_folding`, with nothing here that is as long as a row: what
is asked of the samples are sums over them, and the few whose sign is uncertain, which are gathered
and decide. A sign is what a sample has at a direction q, so one q stands for all signs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from riemtr.data.partitioned import Partitioned
from riemtr.recovery.l1_columns import Columns
from riemtr.recovery.l1_folding import GROWTH, REPAIRS, ZERO
from riemtr.recovery.l1_gap import relative_gap
from riemtr.recovery.l1_interior_point import Regression, minimize_l1
from riemtr.recovery.l1_program import (
    Program,
    balanced_length,
    balanced_program,
    uncertainty,
    unit_vector,
)
from riemtr.recovery.l1_smoothing import smoothed_guess
from riemtr.recovery.l1_vertex import EXACT_GAP, gram_solver, is_feasible
from riemtr.recovery.partitioned_visits import (
    Face,
    Look,
    Signs,
    face,
    fold,
    look,
    merge_faces,
    merge_folds,
    merge_looks,
)
from riemtr.recovery.rounding import Rounding

_SAMPLE = 64  # columns per unknown that suffice for a first guess
_BAND = 24  # first band, in columns per unknown: here a visit costs more than columns do
_GATHERED = 2**24  # entries (128 MB) that a band may have; all data of twice as many are gathered
_PASSES = 3  # over a face: the later ones refine


def sample_step(n: int, p: int) -> int:
    """Return k such that every k-th of p columns suffices for a first guess."""
    return max(p // (_SAMPLE * n), 1)


def round_partitioned(data: Partitioned, sample: np.ndarray, direction: np.ndarray) -> Rounding:
    """Solve min_q \\|q'Y\\|_1 s.t. <r, q> = 1, as :func:`riemtr.round_direction`, without the dual.

    Parameters
    ----------
    data : Partitioned
        Y, n x p.
    sample : ndarray, shape (n, about 64 n)
        Some columns of Y.
    direction : ndarray, shape (n,)
        r, not zero.
    """
    unit, length = unit_vector(direction)
    lengths = np.sqrt(data.gram.diagonal())
    # a power of two rounds nothing
    scale = float(np.ldexp(1.0, -np.frexp(lengths.max() / np.sqrt(data.shape[1]))[1]))
    task = _Task(data, scale, balanced_program(scale * lengths, unit), scale * lengths)
    program = task.program
    if task.unknowns:
        few = task.small(scale * sample.astype(np.float64))
        guess = smoothed_guess(few.columns, few.offset)
        solved = _vanishing_in_sample(task, few, guess) or _minimize(task, guess)
    else:  # n = 1: the constraint alone determines q
        objective = task.look(np.zeros(0), 1).objective
        image = objective / program.origin
        solved = _Solved(np.zeros(0), objective, objective, image, task.small(image[:, None]), 0)
    q = task.at(solved.x)
    return Rounding(
        direction=unit_vector(q)[0],
        solution=q / program.stretch / length,
        objective=solved.objective / scale / program.stretch / length,
        duality_gap=task.gap(solved),
        dual=np.empty(0),
        iterations=solved.iterations,
        method="interior-point",
    )


@dataclass(frozen=True, eq=False)
class _Small:
    """The problem with a few columns of M alone: these, and C and b made of them."""

    gathered: np.ndarray
    columns: Columns
    offset: np.ndarray

    def minimize(self, start: np.ndarray) -> Regression:
        return minimize_l1(self.columns, self.offset, start)

    def residual(self, x: np.ndarray) -> np.ndarray:
        return self.offset + self.columns.dot(x)

    def solved(self, x: np.ndarray, dual: np.ndarray, objective: float, iterations: int) -> _Solved:
        """Return the solution that has this problem's dual, its folded column standing for all."""
        value, image = float(self.residual(x) @ dual), self.gathered @ dual
        return _Solved(x, objective, value, image, self, iterations)

    def sizes(self, x: np.ndarray) -> np.ndarray:
        """Return the residuals over the lengths of the samples, infinite for those of length 0."""
        lengths = np.linalg.norm(self.gathered, axis=0)
        sizes = np.full(len(lengths), np.inf)
        np.divide(np.abs(self.residual(x)), lengths, sizes, where=lengths > 0)
        return sizes


@dataclass(frozen=True, eq=False)
class _Solved:
    """x with its objective; <t, z> and M t for its dual t; the small problem that decided."""

    x: np.ndarray
    objective: float
    value: float
    image: np.ndarray
    small: _Small
    iterations: int


@dataclass(frozen=True, eq=False)
class _Task:
    """min_x |(origin + basis x)'M|_1 with M = scale * data, whose rows have those lengths."""

    data: Partitioned
    scale: float
    program: Program
    row_lengths: np.ndarray

    @property
    def unknowns(self) -> int:
        return self.program.basis.shape[1]

    @property
    def count(self) -> int:
        return self.data.shape[1]

    def at(self, x: np.ndarray) -> np.ndarray:
        """Return q."""
        return self.program.origin + self.program.basis @ x

    def tolerance(self, x: np.ndarray) -> float:
        """Return the residual over the length of a sample that counts as vanishing."""
        return ZERO * (1.0 + float(np.linalg.norm(x)))

    def small(self, gathered: np.ndarray, noise: float = 1.0) -> _Small:
        columns = Columns(self.program.basis.T @ gathered, noise=noise * self.program.rounding)
        return _Small(gathered, columns, self.program.origin @ gathered)

    def look(self, x: np.ndarray, width: int, folded: Signs | None = None) -> Look:
        """Look at the residuals at x, and at which signs changed since they were folded."""
        arguments = (self.scale, self.at(x), width, folded, self.tolerance(x))
        return self.data.total(look, *arguments, merge=merge_looks)

    def fold(self, signs: Signs) -> tuple[np.ndarray, np.ndarray]:
        """Return the columns of the band, in order, and the signed sum of the others."""
        return self.data.total(fold, self.scale, signs, merge=merge_folds)

    def face(
        self, start: np.ndarray, x: np.ndarray, w: np.ndarray, matrix_too: bool = False
    ) -> Face:
        """Sum up at x where residuals vanish at the start, with the dual -C'w there."""
        tolerance = self.tolerance(start)
        dual = -self.program.basis @ w
        arguments = (self.scale, self.at(start), tolerance, self.at(x), dual, matrix_too)
        return self.data.total(face, *arguments, merge=merge_faces)

    def is_exact(self, there: Face) -> bool:
        """Whether the pair is optimal to rounding, as :func:`riemtr.recovery.l1_vertex.judge`."""
        program = self.program
        longest = float(np.max(self.row_lengths @ np.abs(program.basis)))
        gap = abs(there.objective - float(program.origin @ there.image))
        optimal = gap <= EXACT_GAP * there.objective
        image = program.basis.T @ there.image
        return optimal and is_feasible(there.farthest, image, longest, self.count)

    def gap(self, solved: _Solved) -> float:
        """Return the relative duality gap."""
        program, small = self.program, solved.small
        if solved.objective <= program.negligible(solved.x, self.count):
            return 0.0  # zero to rounding, and nothing is below zero
        error, size = program.basis.T @ solved.image, balanced_length(solved.x)
        unsure = uncertainty(self.at(solved.x), self.row_lengths)
        return relative_gap(solved.objective, solved.value, error, size, unsure, small.columns)


def _minimize(task: _Task, x: np.ndarray) -> _Solved:
    """Fold the signs that are settled, as :func:`riemtr.recovery.l1_folding.minimize_folded`."""
    width, repairs, iterations = _BAND * (task.unknowns + 1), 0, 0
    widest = max(_GATHERED // task.unknowns, width)
    here, band = task.look(x, width), None
    while 2 * width < task.count:
        if band is None:
            here = here if here.width == width else task.look(x, width)
            band = np.sort(here.nearest)
        signs = Signs(task.at(x), band)
        # the folded column sums the rounding of all
        small = task.small(np.column_stack(task.fold(signs)), noise=float(np.sqrt(task.count)))
        found = small.minimize(x)
        iterations += found.iterations
        there = task.look(found.x, width, signs)
        if there.changes == 0 and found.exact:
            return small.solved(found.x, found.dual, there.objective, iterations)
        if there.objective < here.objective:
            x, here = found.x, there
        if 0 < there.changes <= width // 2 and repairs < REPAIRS:
            band, repairs = np.union1d(band, there.changed), repairs + 1
            continue
        # so many wrong signs: residuals by the thousand may be about to vanish together
        together = _vanishing_together(task, x, np.sort(here.nearest))
        if together is not None:
            return replace(together, iterations=iterations + together.iterations)
        if width == widest:  # any signs give a bound, and the gap to it tells what is left
            return small.solved(x, found.dual, here.objective, iterations)
        band, repairs, width = None, 0, min(GROWTH * width, widest)
    return _minimize_gathered(task, x, iterations)


def _minimize_gathered(task: _Task, x: np.ndarray, iterations: int) -> _Solved:
    """Solve with all columns here: they are hardly more than a band."""
    small = task.small(task.fold(Signs(task.at(x), np.arange(task.count)))[0])
    found = small.minimize(x)
    objective = float(np.abs(small.residual(found.x)).sum())
    return small.solved(found.x, found.dual, objective, iterations + found.iterations)


def _vanishing_in_sample(task: _Task, sample: _Small, x: np.ndarray) -> _Solved | None:
    """Solve without a visit where so much vanishes that a sample shows it: exact recovery."""
    order = np.argsort(sample.sizes(x))[: _BAND * (task.unknowns + 1)]
    small = task.small(sample.gathered[:, order])
    found = small.minimize(x)
    vanishing = sample.sizes(found.x) <= task.tolerance(found.x)
    if np.count_nonzero(vanishing) < 2 * task.unknowns:
        return None
    return _on_face(task, small, found)


def _vanishing_together(task: _Task, x: np.ndarray, band: np.ndarray) -> _Solved | None:
    """Solve on the band alone; where all that is sparse vanishes there, it vanishes everywhere."""
    small = task.small(task.fold(Signs(task.at(x), band))[0])
    return _on_face(task, small, small.minimize(x))


def _on_face(task: _Task, small: _Small, found: Regression) -> _Solved | None:
    """Make exact, and prove, that the residuals which vanish at a solution of the small problem do.

    As in :mod:`riemtr.recovery.l1_folding`: x is moved to make them vanish, and the dual is the
    shortest there, t = -C'w for some w, and the signs elsewhere.
    """
    x, w, basis = found.x, np.zeros(task.unknowns), task.program.basis
    there = task.face(found.x, x, w, matrix_too=True)
    if there.count < 2 * task.unknowns:
        return None
    solve = gram_solver(basis.T @ there.gram @ basis)
    for _ in range(_PASSES):
        x = x - solve(basis.T @ there.pull)
        w = w + solve(basis.T @ there.image)
        there = task.face(found.x, x, w)
        if task.is_exact(there):
            return _Solved(x, there.objective, there.value, there.image, small, found.iterations)
    return None
