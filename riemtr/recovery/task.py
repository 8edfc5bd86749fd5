"""What a recovery works on, what it is to do, and who helps: nothing in it ever changes."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from riemtr.data.blocks import Samples, gram_of, samples_of
from riemtr.problems.surrogates import Surrogate
from riemtr.progress import Progress, Watcher
from riemtr.recovery.evidence import Inspector, Sparsity
from riemtr.recovery.exact_rows import Units
from riemtr.recovery.report import Atom, NormalForm, normal_form
from riemtr.recovery.rounding import Rounder, Rounding
from riemtr.recovery.solving import RowSolver, Solve
from riemtr.recovery.whitening import Preconditioned
from riemtr.recovery.zeros import clear_rounding, densest_values
from riemtr.store import Form, Record, Store

ORDERS = ("joint", "rows", "rounded")
"""In which order rows are solved for, deflated and rounded."""

# Samples that suffice to solve: the paper's experiments need 1.2 n^1.34 for half of all successes.
_SAMPLES_PER_POWER = 2.0
# Entries of the samples below which there is nothing to gain from fewer.
_FEWEST_ENTRIES = 2**20


@dataclass(frozen=True)
class Plan:
    """What a recovery is to do.

    Attributes
    ----------
    mu : float
        The smoothing parameter, in the units of the whitened data.
    surrogate : Surrogate
    seed : int
        What all random starts are drawn from.
    solver : RowSolver or None
        Of single rows; None for the default.
    order : {"joint", "rows", "rounded"}
    rounding : bool
    refine : str or None
        The form in which rows that are not exactly sparse are refined together.
    seeds : int or None
        From how many starts; None for as many as rows need to be plausible.
    """

    mu: float
    surrogate: Surrogate
    seed: int
    solver: RowSolver | None = None
    order: str = "joint"
    rounding: bool = True
    refine: str | None = None
    seeds: int | None = None


@dataclass(frozen=True, eq=False)
class Task:
    """The data of one recovery, its plan, and the services that it uses.

    Attributes
    ----------
    white : Preconditioned
        The whitened data, in memory or partitioned, and the maps to them.
    plan : Plan
    data : Samples
        All whitened samples.
    samples : ndarray, shape (n, p)
        As many samples as suffice to solve, or all if they are not many more.
    inspector : Inspector
        Of these samples.
    unit : float
        What the data were multiplied by where they are not whitened.
    owned : bool
        Whether the whitened data may be overwritten.
    constant : bool
        Whether the last row of Y are ones, which stand for an offset.
    store : Store
        Where outcomes are kept; in memory by default.
    watch : callable
        Called with every :class:`Progress`.
    pool : Executor, optional
        Threads that visit blocks of data, and round; this thread by default.
    begin : float
        When the recovery began, by ``time.perf_counter``.
    """

    white: Preconditioned
    plan: Plan
    data: Samples
    samples: np.ndarray
    inspector: Inspector
    unit: float = 1.0
    owned: bool = False
    constant: bool = False
    store: Store = field(default_factory=lambda: Store(None, {}))
    watch: Watcher = lambda _: None
    pool: Executor | None = None
    begin: float = field(default_factory=time.perf_counter)

    @staticmethod
    def of(
        white: Preconditioned,
        plan: Plan,
        pool: Executor | None = None,
        constant: bool = False,
        **rest: object,
    ) -> Task:
        """Return the task of a plan on whitened data."""
        data = samples_of(white.data).with_pool(pool).kept()
        samples = _enough(data)
        n = white.matrix.shape[1] - int(constant)  # ones have no rounding errors to be multiplied
        inspector = Inspector(samples, white.matrix[:, :n], white.inverse[:n])
        services: Any = {"pool": pool, "constant": constant, **rest}
        return Task(white, plan, data, samples, inspector, **services)

    def with_precision(self, precision: float) -> Task:
        """Return the task with zeros that have so much left, over the length of their sample."""
        return replace(self, inspector=self.inspector.with_precision(precision))

    # -- what follows from the data -------------------------------------------------------------

    @cached_property
    def share(self) -> float:
        """The share of the samples in all data."""
        return self.samples.shape[1] / self.data.shape[1]

    @cached_property
    def scale(self) -> float:
        """The root mean square of the samples."""
        return math.sqrt(float(np.trace(self.inspector.gram)) / self.samples.size)

    @cached_property
    def units(self) -> Units:
        """The directions of the samples, which rows are snapped onto."""
        return Units.of(self.samples, self.inspector.lengths)

    @cached_property
    def mean(self) -> np.ndarray:
        """The mean of the samples; of all data if the ones are among the rows."""
        if self.constant:
            return self.known[0].direction
        return self.samples.mean(axis=1, dtype=np.float64)

    @cached_property
    def gram(self) -> np.ndarray:
        """The Gram matrix of all data."""
        if self.white.scale != 1.0:
            return self.white.scale**2 * np.eye(self.white.rank)
        return gram_of(self.data)

    @cached_property
    def known(self) -> tuple[Atom, ...]:
        """The row of ones, where it is one: its direction is known."""
        if not self.constant:
            return ()
        direction = self.white.inverse[-1].astype(np.float64)
        direction = direction / np.linalg.norm(direction)
        solve = Solve(direction, len(direction), 0.0, 0.0, 0, 0.0, True, "known")
        return (Atom(solve, None, direction, zeros=0, exact=True, attempt=0, standard_error=0.0),)

    # -- rows -----------------------------------------------------------------------------------

    @cached_property
    def rounder(self) -> Rounder:
        """Who rounds against the samples."""
        return Rounder(self.samples)

    def rounded(self, name: str, direction: np.ndarray, rounder: Rounder | None = None) -> Rounding:
        """Round a direction against the samples, or those of a rounder; without the dual."""

        def work() -> Record:
            return asdict(replace((rounder or self.rounder).round(direction), dual=np.empty(0)))

        record = self.recall(name, work, Rounding.form_of_record(self.white.rank))
        return Rounding(**{field.name: record[field.name] for field in fields(Rounding)})

    def all_rounded(
        self,
        names: Sequence[str],
        directions: np.ndarray,
        stage: str,
        rounder: Rounder | None = None,
    ) -> list[Rounding]:
        """Round columns, beside each other if there is a pool."""
        against = rounder or self.rounder
        visit = map if self.pool is None else self.pool.map
        roundings: list[Rounding] = []
        for rounding in visit(
            lambda name, direction: self.rounded(name, direction, against), names, directions.T
        ):
            roundings.append(rounding)
            self.tick(stage, len(roundings), len(names))
        return roundings

    def row(
        self,
        solve: Solve,
        direction: np.ndarray,
        rounding: Rounding | None = None,
        attempt: int = 0,
        seen: Sparsity | None = None,
    ) -> Atom:
        """Return the row of a direction, with what its coefficients show."""
        seen = seen or self.inspector.inspect(direction)
        return Atom(
            solve,
            rounding,
            direction,
            zeros=seen.zeros,
            exact=seen.exact,
            attempt=attempt,
            forced=seen.forced,
            flatness=seen.flatness,
            standard_error=0.0 if seen.exact else math.nan,
        )

    def less_constants(self, directions: np.ndarray) -> np.ndarray:
        """Return directions whose rows have the value at zero that most of their entries are near.

        With an offset, rows are solved for less their means, and a constant may be added to each.
        """
        if not self.constant:
            return directions
        rows = directions.T.astype(self.samples.dtype) @ self.samples
        moved = directions - np.outer(self.known[0].direction, densest_values(rows))
        return moved / np.linalg.norm(moved, axis=0)

    def less_ones(self, direction: np.ndarray) -> np.ndarray:
        """Return the unit direction of a row less its mean, where the ones are known."""
        for row in self.known:
            direction = direction - row.direction * (row.direction @ direction)
        return direction / np.linalg.norm(direction)

    def normal_form(self, rows: Sequence[Atom]) -> NormalForm:
        """Return the dictionary of independent rows in normal form."""
        return normal_form(columns(rows), self.white.matrix, self.white.inverse, self.gram)

    def vanishing(self, form: NormalForm) -> np.ndarray:
        """Return what coefficients of each row are zero to rounding, relative to their sample."""
        return np.array([self.inspector.vanishing(q) for q in form.directions.T])

    def coefficients(self, form: NormalForm) -> np.ndarray:
        """Return the coefficients of the samples."""
        matrix = form.scales[:, None] * form.directions.T
        X = matrix.astype(self.samples.dtype) @ self.samples
        clear_rounding(X, self.inspector.lengths, form.scales, self.vanishing(form))
        return X

    # -- services -------------------------------------------------------------------------------

    def recall(self, name: str, work: Callable[[], Record], form: Form) -> Record:
        """Return the outcome of that name, from the store if it is there."""
        return self.store.recall(f"offset/{name}" if self.constant else name, work, form)

    def tick(self, stage: str, done: int, total: int | None, attempt: int = 0) -> None:
        """Say how far a stage is."""
        again = f"again, attempt {attempt}" if attempt else ""
        self.watch(Progress(stage, done, total, time.perf_counter() - self.begin, again))


def columns(rows: Sequence[Solve] | Sequence[Atom]) -> np.ndarray:
    """Return the directions of solves or rows, one in each column."""
    return np.column_stack([row.direction for row in rows])


def _enough(data: Samples) -> np.ndarray:
    """Return as many samples as suffice to solve, or all if they are not many more."""
    n, p = data.shape
    enough = max(int(_SAMPLES_PER_POWER * n**1.5), _FEWEST_ENTRIES // n, 1)
    step = max(p // enough, 1)
    if step == 1 and data.array is not None:
        return data.array
    return data.take(np.arange(0, p, step))
