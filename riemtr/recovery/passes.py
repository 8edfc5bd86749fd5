"""The passes over the rows: solve and deflate, round, judge, polish, solve again.

Solves come one after the other, each on the complement of the directions found before; roundings
are independent of each other, each against all of the data. Then rows are judged, and those found
wanting are polished and, if that fails, solved for again on the complement of the good ones.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import TypeVar

import numpy as np

from riemtr.data.partitioned import Partitioned
from riemtr.executors import Helpers
from riemtr.progress import Progress, Watcher
from riemtr.recovery.deflation import Deflation
from riemtr.recovery.encoding import Encoder
from riemtr.recovery.judging import Sorting, doubts, replace_dependent, sort_rows
from riemtr.recovery.mixed_rows import (
    Sparser,
    doubts_of_mixing,
    doubts_of_values,
    sparser_combinations,
)
from riemtr.recovery.partitioned_deflation import PartitionedDeflation
from riemtr.recovery.polishing import round_again
from riemtr.recovery.preconditioning import Preconditioned
from riemtr.recovery.reconstruction import NormalForm, mean_share, normal_form
from riemtr.recovery.report import Atom, Recovery
from riemtr.recovery.rounding import Rounding
from riemtr.recovery.rows import (
    DeflatedData,
    Inspector,
    RowSolver,
    Solve,
    as_rounding,
    default_solver,
    lifted,
    round_against,
    solve_deflated,
)
from riemtr.recovery.zeros import count_zeros
from riemtr.store import Store

T = TypeVar("T")

_ATTEMPTS = 3  # passes over rows found wanting, each from new starts


class Run:
    """The state of one recovery: the turned data, and what is known so far.

    Parameters
    ----------
    white : Preconditioned
        The data, in memory or partitioned, and the maps to them; overwritten if ``owned``.
    mu : float
    seed : int
        What all random starts are drawn from.
    solver : RowSolver, optional
        None for the default.
    owned : bool
        Whether the data may be overwritten.
    store : Store, optional
        Where outcomes are kept; in memory if None.
    watch : callable
        Called with every :class:`Progress`.
    helpers : Helpers, optional
        Who rounds beside the thread that solves; nobody if None.
    begin : float, optional
        When the recovery began, by ``time.perf_counter``; now if None.
    """

    def __init__(
        self,
        white: Preconditioned,
        *,
        mu: float,
        seed: int,
        solver: RowSolver | None = None,
        owned: bool = False,
        store: Store | None = None,
        watch: Watcher = lambda _: None,
        helpers: Helpers | None = None,
        begin: float | None = None,
    ):
        self.white = white
        self.mu = mu
        self.seed = seed
        self.store = Store(None, {}) if store is None else store
        self.watch = watch
        self.helpers = Helpers(1) if helpers is None else helpers
        self.begin = time.perf_counter() if begin is None else begin
        self.deflation: DeflatedData = (
            PartitionedDeflation(white.data)
            if isinstance(white.data, Partitioned)
            else Deflation(white.data, owned)
        )
        self.unmixed = 0  # rows that were exactly sparse, and mixtures
        self.sparser: dict[int, Sparser] | None = None  # combinations left, by rows of the report
        self.inspector = Inspector(self.deflation, white.matrix, white.inverse)
        size = math.sqrt(float(np.trace(self.inspector.gram)) / math.prod(white.data.shape))
        self.solver = default_solver(size, mu) if solver is None else solver

    def recover(self, rounding: bool) -> list[Atom]:
        """Return r rows: a first pass, then the bad ones again until none is or attempts end.

        Where most rows are not exact, as of data that follow the model in part only, they end with
        the first attempt that makes no further row exact.
        """
        rows = self._fill([], 0, rounding)
        exact = 0
        for attempt in range(1, _ATTEMPTS + 1):
            if rounding:
                rows = self._polish(rows, attempt)
            good, before = self._sort(rows).good, exact
            exact = sum(row.exact for row in rows)
            if len(good) == len(rows) or (before == exact and 0 < 2 * exact < len(rows)):
                break
            rows = self._fill([rows[i] for i in good], attempt, rounding)
        return self._unmix(rows) if rounding else rows

    def _fill(self, kept: list[Atom], attempt: int, rounding: bool) -> list[Atom]:
        """Complete the rows kept: solve on the complement of their span, and round."""
        deflation, total = self.deflation, self.white.rank - len(kept)
        solves: list[Solve] = []
        roundings: list[Future[Rounding]] = []
        if kept:
            deflation.restart(np.column_stack([row.direction for row in kept]))

        def begin_roundings() -> None:
            for number in range(len(roundings), len(solves)):
                name, direction = f"round/{attempt}/{number}", solves[number].direction
                roundings.append(self.helpers.submit(self._round, name, direction))

        for number in range(total):
            self.helpers.check()  # or the error of a helper would wait for the last row
            solves.append(self.solve_row(attempt))
            if rounding and deflation.rounds_meanwhile:
                begin_roundings()
            deflation.set_aside(deflation.rotation[:, deflation.found :].T @ solves[-1].direction)
            self._tick("solve", number + 1, total, attempt)
        found: Sequence[Rounding | None] = [None] * total
        if rounding:
            begin_roundings()
            found = [*self._finish(roundings, "round", attempt)]
        rows = list(kept)
        for solve, each in zip(solves, found, strict=True):
            rows.append(self._row(solve, each, attempt))
            self._tick("inspect", len(rows) - len(kept), total, attempt)
        return rows

    def solve_row(self, attempt: int) -> Solve:
        """Solve on the complement of what was set aside."""
        number = self.deflation.found
        seed = np.random.SeedSequence(self.seed, spawn_key=(attempt, number))
        record = self.store.recall(
            f"solve/{attempt}/{number}",
            lambda: solve_deflated(self.deflation.complement, self.mu, self.solver, seed),
        )
        return lifted(record, self.deflation)

    def round_row(self, solve: Solve, attempt: int, number: int) -> Atom:
        """Round one solve against all of the data."""
        return self._row(solve, self._round(f"round/{attempt}/{number}", solve.direction), attempt)

    def _round(self, name: str, direction: np.ndarray) -> Rounding:
        record = self.store.recall(name, lambda: round_against(self.deflation, direction))
        return as_rounding(record)

    def _row(self, solve: Solve, rounding: Rounding | None, attempt: int) -> Atom:
        direction = solve.direction if rounding is None else rounding.direction
        seen = self.inspector.inspect(direction)
        flatness = self.inspector.flatness(solve, rounding, seen)
        return Atom(
            solve,
            rounding,
            direction,
            zeros=seen.zeros,
            exact=seen.exact,
            attempt=attempt,
            forced=seen.forced,
            flatness=flatness,
        )

    def _polish(self, rows: list[Atom], attempt: int) -> list[Atom]:
        """Round again the rows that are not exact where others are."""
        sorting = self._sort(rows)
        chosen = [i for i in sorting.bad if sorting.some_exact and not rows[i].exact]

        def polished(index: int) -> Atom:
            row = rows[index]
            assert row.rounding is not None
            rounding = round_again(
                row.rounding,
                lambda number, r: self._round(f"polish/{attempt}/{index}/{number}", r),
                lambda q: self.inspector.inspect(q).exact,
            )
            return self._row(row.result, rounding, row.attempt)

        tasks = [self.helpers.submit(polished, index) for index in chosen]
        better = self._finish(tasks, "polish", attempt)
        for index, row in zip(chosen, better, strict=True):
            rows[index] = row
        return rows

    def _unmix(self, rows: list[Atom]) -> list[Atom]:
        """Replace exactly sparse rows by combinations with others that are sparser yet."""
        tried: set[tuple[int, int]] = set()  # of rows as they are now
        attempts = 0
        while any(row.exact for row in rows):
            self._tick("unmix", attempts, None)
            form = self._normal_form(rows)
            X = self.deflation.preview(form, self._vanishing(form))
            if X is None:
                break
            exact = [k for k, i in enumerate(form.order) if rows[i].exact]
            self.sparser = sparser_combinations(X, exact)
            better = self.sparser.values()
            pairs = {(int(form.order[b.row]), int(form.order[b.other])): b for b in better}
            new = [pair for pair in pairs if pair not in tried]
            if not new:
                break
            pair = max(new, key=lambda pair: pairs[pair].gain)
            best, index = pairs[pair], pair[0]
            weights = np.zeros(len(rows))
            weights[[best.row, best.other]] = 1.0, -best.factor
            direction = form.directions @ (weights * form.scales)
            rounding = self._round(f"unmix/{attempts}", direction / np.linalg.norm(direction))
            attempts += 1
            row = self._row(rows[index].result, rounding, rows[index].attempt)
            tried.add(pair)
            if row.exact and row.zeros > rows[index].zeros:
                rows[index] = row
                self.unmixed += 1
                tried = {other for other in tried if index not in other}
        return rows

    def _normal_form(self, rows: list[Atom]) -> NormalForm:
        directions = np.column_stack(replace_dependent(rows, self._sort(rows)))
        return normal_form(directions, self.white.matrix, self.white.inverse, self.inspector.gram)

    def _vanishing(self, form: NormalForm) -> np.ndarray:
        return np.array([self.inspector.vanishing(q) for q in form.directions.T])

    def _sort(self, rows: list[Atom]) -> Sorting:
        seen = self.inspector
        return sort_rows(rows, seen.counts, seen.noise_flatness)

    def _finish(self, tasks: Sequence[Future[T]], stage: str, attempt: int) -> list[T]:
        return self.helpers.finish(tasks, lambda done: self._tick(stage, done, len(tasks), attempt))

    def _tick(self, stage: str, done: int, total: int | None, attempt: int = 0) -> None:
        again = f"again, attempt {attempt}" if attempt else ""
        self.watch(Progress(stage, done, total, time.perf_counter() - self.begin, again))

    def report(self, rows: list[Atom]) -> Recovery:
        """Reconstruct dictionary and coefficients, and judge every row."""
        self._tick("report", 0, 1)
        sorting = self._sort(rows)
        directions = np.column_stack(replace_dependent(rows, sorting))
        gram = self.inspector.gram
        form = normal_form(directions, self.white.matrix, self.white.inverse, gram)
        lost = self.white.residual
        atoms = [
            replace(row, doubts=doubts(row, rows, i, sorting, lost)) for i, row in enumerate(rows)
        ]
        for i in sorting.dependent:  # their directions were replaced, and evidence with them
            seen = self.inspector.inspect(directions[:, i])
            atoms[i] = replace(
                atoms[i],
                rounding=None,
                direction=directions[:, i],
                zeros=seen.zeros,
                exact=False,
                forced=seen.forced,
            )
        atoms = [atoms[i] for i in form.order]
        share = mean_share(
            self.deflation.mean(), self.white.inverse, gram, self.white.data.shape[1]
        )
        X = self.deflation.coefficients(form, self._vanishing(form))
        if isinstance(self.deflation, PartitionedDeflation):
            some = self.deflation.some_coefficients(form, self._vanishing(form))
        else:  # as counted before, but for what rounding decides
            zeros = count_zeros(X)
            atoms = [replace(atom, zeros=each) for atom, each in zip(atoms, zeros, strict=True)]
            some = X
        exact = [i for i, atom in enumerate(atoms) if atom.exact]
        better = sparser_combinations(some, exact) if self.sparser is None else self.sparser
        mixed = doubts_of_values(some, exact) | doubts_of_mixing(better, exact, self.unmixed)
        for i, doubt in mixed.items():
            atoms[i] = replace(atoms[i], doubts=(*atoms[i].doubts, doubt))
        kind = X.dtype
        unmixing = form.unmixing.astype(kind, copy=False)
        conditions = np.array([self.inspector.condition(q) for q in form.directions.T])
        self._tick("report", 1, 1)
        return Recovery(
            dictionary=form.dictionary.astype(kind, copy=False),
            coefficients=X,
            directions=form.directions.astype(kind, copy=False),
            encoder=Encoder(unmixing, self.white.matrix, form.scales, conditions),
            atoms=tuple(atoms),
            condition_number=self.white.condition_number,
            mu=self.mu,
            seed=self.seed,
            mean_share=share,
        )
