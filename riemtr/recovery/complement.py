"""Solving for the rows that are still unknown, on the complement of those that are known.

What is known is set aside: the paper's step 3 solves on the complement of its span. All unknown
rows are solved for there at once, or one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from riemtr.data.blocks import Blocks
from riemtr.problems.surrogates import scaled
from riemtr.recovery.deflation import Deflation
from riemtr.recovery.evidence import RULE
from riemtr.recovery.report import Atom
from riemtr.recovery.solving import (
    Solve,
    default_solver,
    form_of_solve,
    freed,
    solve_deflated,
    solve_jointly,
    solves_of,
)
from riemtr.recovery.task import Task, columns
from riemtr.store import Record

# Samples per dimension of a rough solve, and entries if there are few dimensions.
_ROUGH_SAMPLES = 16
_ROUGH_ENTRIES = 2**16
# Iterations of a rough solve: exactly sparse rows take some 25.
_ROUGH_ITERATIONS = 50
# Iterations of a rough solve without angles, for each of its stages.
_FREE_ITERATIONS = 8
# The least variance that samples are whitened in, over the largest.
_LEAST_VARIANCE = 1e-6


class Part(NamedTuple):
    """A part of the samples to solve on: few or all, of their own lengths or of one.

    With ``ones``, the row of ones, which is known, is a coordinate as well.
    """

    few: bool = False
    even: bool = False
    ones: bool = False


class Complement:
    """The samples on the complement of known rows.

    Parameters
    ----------
    task : Task
    known : sequence of Atom
        Independent rows.

    Attributes
    ----------
    basis : ndarray, shape (n, m)
        Orthonormal columns that span the complement.
    """

    def __init__(self, task: Task, known: Sequence[Atom] = ()):
        self.task, self.known = task, known
        self.basis = np.eye(task.white.rank)
        if known:
            # Beside a row of ones the basis is that of the other coordinates, in their order.
            turn, factor = np.linalg.qr(np.column_stack([columns(known), self.basis]))
            signs = np.where(factor.diagonal() < 0.0, -1.0, 1.0)
            self.basis = (turn * signs)[:, len(known) :]
        self._parts: dict[Part, tuple[Blocks, np.ndarray]] = {}

    def name(self, name: str) -> str:
        """Return the name under which an outcome on this complement is kept."""
        return (f"beside {len(self.known)}/" if self.known else "") + name

    def solved(self, start: int, near: np.ndarray | None = None) -> list[Solve]:
        """Solve for all rows from a random start, or near directions."""
        if self.task.plan.order != "joint":
            return self.solved_in_turn(start)
        return self._solved_at_once(f"joint/{start}", start, Part(), near)

    def solved_roughly(self, even: bool) -> list[Solve]:
        """Solve for all rows on few samples, in their own lengths or in one."""
        return self._solved_at_once(f"rough/{int(even)}", 0, Part(few=True, even=even))

    def solved_in_turn(
        self, start: int, rounded: Callable[[Solve], np.ndarray] | None = None
    ) -> list[Solve]:
        """Solve for one row after the other, each on the complement of those before.

        Where rows are ``rounded``, it is the direction of the rounded row that is set aside, unless
        rounding led back to a row that is set aside already.
        """
        deflation = self._deflation()
        solves: list[Solve] = []
        for number in range(self.basis.shape[1]):
            name = f"{'solve' if rounded is None else 'turn'}/{start}/{number}"
            solve = self._solved_for(deflation, start, name)
            solves.append(solve)
            aside = solve.direction if rounded is None else rounded(solve)
            is_new = deflation.size_outside(aside) >= RULE.independent
            deflation.set_aside(aside if is_new else solve.direction)
            self.task.tick("solve", len(solves), self.basis.shape[1], start)
        return solves

    def solved_for_one(self) -> Solve:
        """Solve for one row alone."""
        return self._solved_for(self._deflation(), 0, "solve/0/0")

    def _deflation(self) -> Deflation:
        deflation = Deflation(self.task.samples)
        if self.known:
            deflation.restart(columns(self.known))
        return deflation

    def _solved_for(self, deflation: Deflation, start: int, name: str) -> Solve:
        task, plan = self.task, self.task.plan
        solver = plan.solver or default_solver(task.scale, plan.mu)
        seed = np.random.SeedSequence(plan.seed, spawn_key=(start, deflation.found))

        def work() -> Record:
            return solve_deflated(deflation.complement, plan.surrogate, solver, seed)

        form = form_of_solve(len(deflation.complement), 1)
        record = task.recall(self.name(name), work, form)
        return solves_of(record, deflation.lift(record["points"]))[0]

    def freed(self, directions: np.ndarray, part: Part) -> np.ndarray:
        """Return directions near given ones without the constraint that they are orthogonal."""
        count = directions.shape[1]
        if count == 1:
            return directions
        if self.task.constant:  # a constant may be added to rows
            ones = self.task.known[0].direction
            directions = np.column_stack([self.task.less_constants(directions), ones])
            part = part._replace(ones=True)
        data, lift = self._prepared(part)
        near = np.linalg.pinv(lift) @ directions
        limit = _FREE_ITERATIONS if part.few else _ROUGH_ITERATIONS
        found = (lift @ freed(data, near / np.linalg.norm(near, axis=0), limit))[:, :count]
        return found / np.linalg.norm(found, axis=0)

    def _solved_at_once(
        self, name: str, start: int, part: Part, near: np.ndarray | None = None
    ) -> list[Solve]:
        task = self.task
        data, lift = self._prepared(part)
        seed = np.random.SeedSequence(task.plan.seed, spawn_key=(start,))
        begin = None if near is None else np.linalg.pinv(lift) @ near
        limit = {"iterations": _ROUGH_ITERATIONS} if part.few else {}

        def work() -> Record:
            surrogate = scaled(task.plan.surrogate, 1.0 / task.scale)
            return solve_jointly(data, surrogate, seed, begin, **limit)

        form = form_of_solve(len(lift.T), len(lift.T))
        record = task.recall(self.name(name), work, form)
        task.tick("solve", len(lift.T), len(lift.T), start)
        directions = lift @ record["points"]
        directions /= np.linalg.norm(directions, axis=0)
        rows = directions.T.astype(task.samples.dtype) @ task.samples
        costs = task.plan.surrogate.derivatives(rows)[0].mean(axis=1, dtype=np.float64)
        return [
            replace(solve, cost=float(cost), gradient_norm=task.scale * solve.gradient_norm)
            for solve, cost in zip(solves_of(record, directions), costs, strict=True)
        ]

    def _prepared(self, part: Part) -> tuple[Blocks, np.ndarray]:
        """Return samples to solve on, white and in single precision, and the map of directions.

        A direction there is the direction ``lift @ point`` of all coordinates.
        """
        if part not in self._parts:
            task, basis = self.task, self.basis
            if part.ones:
                basis = np.column_stack([task.known[0].direction, basis])
            enough = max(_ROUGH_SAMPLES * len(basis.T), _ROUGH_ENTRIES // len(basis.T))
            step = max(task.samples.shape[1] // enough, 1)
            samples = task.samples[:, :: step if part.few else 1]
            if self.known or part.few or part.even:
                samples = basis.T @ samples
                if part.even and task.constant and not part.ones:
                    # Loud samples make the mean, and all others would have its length.
                    samples = samples - np.median(samples, axis=1, keepdims=True)
                lengths = np.linalg.norm(samples, axis=0)
                samples = samples[:, lengths > 0] / (lengths[lengths > 0] if part.even else 1.0)
            values, vectors = np.linalg.eigh(samples @ samples.T / samples.shape[1])
            values = np.maximum(values, _LEAST_VARIANCE * values[-1])
            # Without preconditioning the dictionary is orthogonal as it is.
            powers = np.sqrt(
                values if task.white.scale != 1.0 else np.full_like(values, values.mean())
            )
            turn = (vectors / powers) @ vectors.T
            white = Blocks((turn @ samples).astype(np.float32), task.pool)
            self._parts[part] = white, basis @ turn
        return self._parts[part]
