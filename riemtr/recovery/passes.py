"""The passes of a recovery, in the order of the paper's section III: solve, deflate, round, refine.

All rows are solved for at once on a sample of the samples, or one after the other, each on the
complement of those before. A few of them are rounded by linear programming. If these come out
exactly sparse, the data follow the model: all rows are snapped onto their zeros or rounded, and
those found wanting are polished and, if that fails, solved for again on the complement of the good
ones. If not, all rows are refined together, or rounded if that is not wanted. The evidence for
every row is gathered on the sample; :mod:`riemtr.recovery.reporting` proves on all samples what is
claimed of them.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np

from riemtr.data.blocks import Blocks, gram
from riemtr.data.partitioned import Partitioned
from riemtr.executors import Helpers
from riemtr.problems.surrogates import Surrogate, scaled
from riemtr.progress import Progress, Watcher
from riemtr.recovery.deflation import Deflation
from riemtr.recovery.evidence import (
    RULE,
    Inspector,
    Sorting,
    Sparser,
    Sparsity,
    came_back,
    dependence,
    dependence_limit,
    replace_dependent,
    sort_rows,
    sparser_combinations,
)
from riemtr.recovery.exact_rows import FEWEST_DIGITS, Snapped, snap
from riemtr.recovery.refining import Refined, refine
from riemtr.recovery.report import Atom, NormalForm, normal_form
from riemtr.recovery.rounding import Rounder, Rounding
from riemtr.recovery.solving import (
    RowSolver,
    Solve,
    default_solver,
    form_of_solve,
    freed,
    solve_deflated,
    solve_jointly,
    solves_of,
)
from riemtr.recovery.whitening import Preconditioned
from riemtr.recovery.zeros import clear_rounding
from riemtr.store import Form, Record, Store

T = TypeVar("T")

ORDERS = ("joint", "rows", "rounded")
"""In which order rows are solved for, deflated and rounded."""

# Passes over rows found wanting, each from new starts.
_ATTEMPTS = 3
# Samples that suffice to solve: the paper's experiments need 1.2 n^1.34 for half of all successes.
_SAMPLES_PER_POWER = 2.0
# Entries of the samples below which there is nothing to gain from fewer.
_FEWEST_ENTRIES = 2**20
# Rows up to which all of them are looked at to see whether the data follow the model.
_FEW_ROWS = 16
# Rows that are looked at where there are more: a quarter of them, up to this many.
_MOST_PROBES = 8
# Samples per dimension of the linear programs of these.
_PROBE_SAMPLES = 64
# Samples per dimension of the solve before these, and entries if there are few dimensions.
_ROUGH_SAMPLES = 16
_ROUGH_ENTRIES = 2**16
# Iterations of that solve: exactly sparse rows take some 25.
_ROUGH_ITERATIONS = 50
# Iterations of the solve without angles that follows it, for each of its stages.
_FREE_ITERATIONS = 8
# The least variance that those are whitened in, over the largest.
_LEAST_VARIANCE = 1e-6
# Share of the rows looked at that come out exactly sparse where data follow the model: a pixel that
# is nearly always zero is one row of many.
_EXACT_PROBES = 0.25
# Starts where rows are not proved, so that other starts can confirm them.
_STARTS = 3
# Rounds of rounding a rounded direction again, and the distance between two that are the same.
_ROUNDS = 5
_UNMOVED = 1e-9
# What zeros of data with few digits have left, over what the ones have that determine the row.
_PRECISION_MARGIN = 4.0
# How many times as much as in a typical row it may be in others.
_ALIKE = 4.0
# Standard deviations from which a mean of the samples is not zero by chance.
_OFFSET_DEVIATIONS = 6.0
# How many times as sparse rows must be with an offset as without one, by zeros or by cost.
_SPARSER = 1.05
# Entries of the coefficients that are looked at whole for mixtures of rows of few values.
_SMALL_ENTRIES = 10**7


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


class Part(NamedTuple):
    """A part of the samples to solve on: few or all, of their own lengths or of one."""

    few: bool = False
    even: bool = False


class Run:
    """The state of one recovery.

    Parameters
    ----------
    white : Preconditioned
        The data, in memory or partitioned, and the maps to them; overwritten if ``owned``.
    plan : Plan
    unit : float
        What the data were multiplied by where they are not whitened.
    owned : bool
        Whether the data may be overwritten.
    constant : bool
        Whether the last row of Y are ones, which stand for an offset.
    store : Store, optional
        Where outcomes are kept; in memory if None.
    watch : callable
        Called with every :class:`Progress`.
    helpers, pool : optional
        Who rounds beside this thread, and who visits blocks of data; nobody if None.
    begin : float, optional
        When the recovery began, by ``time.perf_counter``; now if None.
    """

    def __init__(
        self,
        white: Preconditioned,
        plan: Plan,
        *,
        unit: float = 1.0,
        owned: bool = False,
        constant: bool = False,
        store: Store | None = None,
        watch: Watcher = lambda _: None,
        helpers: Helpers | None = None,
        pool: Executor | None = None,
        begin: float | None = None,
    ):
        self.white, self.plan, self.unit, self.owned = white, plan, unit, owned
        self.store = Store(None, {}) if store is None else store
        self.watch, self.pool = watch, pool
        self.helpers = Helpers(1) if helpers is None else helpers
        self.begin = time.perf_counter() if begin is None else begin
        data = white.data
        self.data: Blocks | Partitioned = (
            data.kept() if isinstance(data, Partitioned) else Blocks(data, pool)
        )
        self.samples = _samples(self.data)
        self.share = self.samples.shape[1] / data.shape[1]
        self.inspector = Inspector(self.samples, white.matrix, white.inverse)
        self.deflation = Deflation(self.samples)
        whitened = white.scale != 1.0
        self.gram = white.scale**2 * np.eye(white.rank) if whitened else self.data.total(_gram)[0]
        self.scale = math.sqrt(float(np.trace(self.inspector.gram)) / self.samples.size)
        self.solver = plan.solver or default_solver(self.scale, plan.mu)
        self.unmixed = 0  # rows that were exactly sparse, and mixtures
        self.sparser: dict[int, Sparser] | None = None  # combinations left, by rows of the report
        self.refined: Refined | None = None
        self.constant = constant
        self.known: list[Atom] = [_constant_row(white)] if constant else []  # always first
        self.even = False  # whether samples are brought to one length
        self._parts: dict[Part, tuple[Blocks, np.ndarray]] = {}
        self._rough: list[Solve] = []  # what a rough solve for all rows led to

    # -- the walk -------------------------------------------------------------------------------

    @cached_property
    def follows_model(self) -> bool:
        """Whether rows come out exactly sparse: those that were rounded to see that."""
        return self._holds(self._first[1])

    @cached_property
    def may_have_offset(self) -> bool:
        """Whether the mean of the samples is not zero by chance.

        For a mean that is zero, p |mean|^2 of whitened samples has a chi-squared distribution.
        """
        n, p = self.samples.shape
        share = float(self.mean @ self.mean) / self.scale**2
        excess = p * share / max(1.0 - share, 1.0 / p) - n
        return excess > _OFFSET_DEVIATIONS * math.sqrt(2.0 * n)

    def is_better_than(self, other: Run) -> bool:
        """Whether rows with an offset, these ones, are sparser or more independent than without.

        The difference of two rows, less multiples of the same offset, is exactly sparse as well,
        and has fewer zeros.
        """
        if self.follows_model:
            return self._zeros_probed > _SPARSER * other._zeros_probed
        if other.follows_model or not self.is_independent:
            return False
        own, others = (np.mean([each.cost for each in run._first[0]]) for run in (self, other))
        return bool(_SPARSER * own < others)

    @property
    def _zeros_probed(self) -> float:
        """The mean number of zeros of the rows that were rounded to see the model; 0 without it."""
        if not self.follows_model:
            return 0.0
        return float(np.mean([self.inspector.inspect(each).zeros for each in self._first[1]]))

    @cached_property
    def mean(self) -> np.ndarray:
        """The mean of the whitened samples that were taken."""
        return self.samples.mean(axis=1, dtype=np.float64)

    @cached_property
    def is_independent(self) -> bool:
        """Whether the magnitudes of the rows solved for are independent of each other."""
        return self._is_independent(columns(self._first[0]))

    def _is_independent(self, directions: np.ndarray) -> bool:
        rows = directions.T @ self.samples
        return float(np.median(dependence(rows))) <= dependence_limit(len(rows))

    @cached_property
    def _first(self) -> tuple[list[Solve], list[np.ndarray]]:
        """A first solve for all rows, and a few of them as zeros or rounding make them.

        A few samples suffice to see whether the data follow the model. Loud samples outweigh the
        others in a solve: with samples of one length, which have the same zeros, exactly sparse
        rows are found all the same.
        """
        plan = self.plan
        if not (plan.rounding and plan.order == "joint" and self.white.rank > 1):
            solves = self._solve(0)
            return solves, self._probe(solves, "first") if plan.rounding else []
        probed: list[np.ndarray] = []
        for even in (True, False) if self._is_uneven() else (False,):
            self.even = even
            solves = self._solve_at_once(f"rough/{int(even)}", 0, Part(few=True, even=even))
            probed = self._probe(solves, "even" if even else "first")
            if self._holds(probed):
                break
        self._rough = solves
        return solves, probed

    def recover(self) -> list[Atom]:
        """Return all rows, with the evidence for each but no doubts yet."""
        plan = self.plan
        if plan.order == "rounded":
            rows = self._again(self.known, 0)
        elif plan.rounding and (self.follows_model or plan.refine is None or self.white.rank == 1):
            rows = [*self.known, *self._rounded(self._first[0])]
        else:
            rows = [*self.known, *(self._row(each, None, 0) for each in self._solve(0))]
        if plan.rounding:
            rows = self._unmix(self._repeat(rows))
        if plan.refine is None or self.sort(rows).some_exact or len(rows) == 1:
            return rows
        exact = [row for row in rows if row.exact]
        if len(exact) == len(rows):
            return rows
        if len(exact) > len(self.known):  # they stay, and the others are refined beside them
            self.known, self._parts = exact, {}
            rows = [*exact, *(self._row(each, None, 0) for each in self._solve(0))]
        return self._refine(rows)

    def _repeat(self, rows: list[Atom]) -> list[Atom]:
        """Solve again for rows that are not exact where others are, until none is left.

        Data most of whose rows are not exact follow the model in part only, as where a few pixels
        are nearly always zero: no row is solved for again on their account.
        """
        for attempt in range(1, _ATTEMPTS + 1):
            rows = self._polish(rows, attempt)
            good = self.sort(rows).good
            exact = sum(row.exact for row in rows)
            if len(good) == len(rows) or 0 < 2 * exact < len(rows):
                break
            rows = self._again([rows[i] for i in good], attempt)
        return rows

    # -- solving --------------------------------------------------------------------------------

    def _solve(self, start: int) -> list[Solve]:
        """Solve for all rows from a start: at once, or one after the other.

        The first start, at once, goes on from the rough solve that looked for the model.
        """
        deflation = self._restarted(self.known)
        missing = self.white.rank - deflation.found
        if self.plan.order == "joint" and missing > 1:
            near = columns(self._rough) if start == 0 and len(self._rough) == missing else None
            return self._solve_at_once(f"joint/{start}", start, Part(), near)
        solves = []
        for number in range(missing):
            solves.append(self.solve_row(start))
            deflation.set_aside(solves[-1].direction)
            self.tick("solve", number + 1, missing)
        return solves

    def _solve_at_once(
        self, name: str, start: int, part: Part, near: np.ndarray | None = None
    ) -> list[Solve]:
        """Solve for all rows on a part of the samples, from a random start or near directions."""
        data, lift = self._prepared(part)
        seed = np.random.SeedSequence(self.plan.seed, spawn_key=(start,))
        begin = None if near is None else np.linalg.pinv(lift) @ near
        limit = {"iterations": _ROUGH_ITERATIONS} if part.few else {}
        record = self._recall(
            name,
            lambda: solve_jointly(data, self._relative, seed, begin, **limit),
            form_of_solve(len(lift.T), len(lift.T)),
        )
        self.tick("solve", len(lift.T), len(lift.T))
        directions = lift @ record["points"]
        directions /= np.linalg.norm(directions, axis=0)
        rows = directions.T.astype(self.samples.dtype) @ self.samples
        costs = self.plan.surrogate.derivatives(rows)[0].mean(axis=1, dtype=np.float64)
        return [
            replace(solve, cost=float(cost), gradient_norm=self.scale * solve.gradient_norm)
            for solve, cost in zip(solves_of(record, directions), costs, strict=True)
        ]

    def _prepared(self, part: Part) -> tuple[Blocks, np.ndarray]:
        """Return samples to solve on, white and in single precision, and the map of directions.

        They are those of the complement of the known rows; a direction there is the direction
        ``lift @ point`` of all coordinates.
        """
        if part not in self._parts:
            deflation = self._restarted(self.known)
            basis = deflation.rotation[:, deflation.found :]
            enough = max(_ROUGH_SAMPLES * len(basis), _ROUGH_ENTRIES // len(basis))
            step = max(self.samples.shape[1] // enough, 1)
            samples = self.samples[:, :: step if part.few else 1]
            if self.known or part.few or part.even:
                samples = basis.T @ samples
                lengths = np.linalg.norm(samples, axis=0)
                samples = samples[:, lengths > 0] / (lengths[lengths > 0] if part.even else 1.0)
            values, vectors = np.linalg.eigh(samples @ samples.T / samples.shape[1])
            values = np.maximum(values, _LEAST_VARIANCE * values[-1])
            # Without preconditioning the dictionary is orthogonal as it is.
            powers = np.sqrt(
                values if self.white.scale != 1.0 else np.full_like(values, values.mean())
            )
            turn = (vectors / powers) @ vectors.T
            white = Blocks((turn @ samples).astype(np.float32), self.pool)
            self._parts[part] = white, basis @ turn
        return self._parts[part]

    def solve_row(self, attempt: int) -> Solve:
        """Solve on the complement of what was set aside."""
        deflation, number = self.deflation, self.deflation.found
        seed = np.random.SeedSequence(self.plan.seed, spawn_key=(attempt, number))
        record = self._recall(
            f"solve/{attempt}/{number}",
            lambda: solve_deflated(deflation.complement, self.plan.surrogate, self.solver, seed),
            form_of_solve(self.white.rank - number, 1),
        )
        return solves_of(record, deflation.lift(record["points"]))[0]

    def _again(self, kept: list[Atom], attempt: int) -> list[Atom]:
        """Complete the rows kept: solve on the complement of their span, and round.

        In the paper's order, each row is rounded before the next one is solved for.
        """
        deflation = self._restarted(kept)
        missing = self.white.rank - len(kept)
        solves: list[Solve] = []
        roundings: list[Future[Rounding]] = []
        for number in range(missing):
            self.helpers.check()  # or the error of a helper would wait for the last row
            solves.append(self.solve_row(attempt))
            name = f"round/{attempt}/{number}"
            direction = solves[-1].direction
            if self.plan.rounding:
                roundings.append(self.helpers.submit(self._round, name, direction))
            in_turn = self.plan.rounding and self.plan.order == "rounded"
            deflation.set_aside(self._round(name, direction).direction if in_turn else direction)
            self.tick("solve", number + 1, missing, attempt)
        found = self._finish(roundings, "round", attempt) if roundings else [None] * missing
        rows = list(kept)
        for solve, each in zip(solves, found, strict=True):
            rows.append(self._row(solve, each, attempt))
            self.tick("inspect", len(rows) - len(kept), missing, attempt)
        return rows

    def _restarted(self, kept: Sequence[Atom]) -> Deflation:
        self.deflation = Deflation(self.samples)
        if kept:
            self.deflation.restart(np.column_stack([row.direction for row in kept]))
        return self.deflation

    @property
    def _relative(self) -> Any:
        """The surrogate for samples of root mean square 1."""
        return scaled(self.plan.surrogate, 1.0 / self.scale)

    def _is_uneven(self) -> bool:
        """Whether a few loud samples outweigh the others."""
        counts = self.inspector.counts
        return counts.effective < RULE.loud * counts.different and not self.known

    # -- rounding -------------------------------------------------------------------------------

    @cached_property
    def rounder(self) -> Rounder:
        """Who rounds against the samples."""
        return Rounder(self.samples)

    def _round(self, name: str, direction: np.ndarray, rounder: Rounder | None = None) -> Rounding:
        """Round a direction against the samples, or those of a rounder; without the dual."""

        def work() -> Record:
            return asdict(replace((rounder or self.rounder).round(direction), dual=np.empty(0)))

        record = self._recall(name, work, Rounding.form_of_record(self.white.rank))
        return Rounding(**{field.name: record[field.name] for field in fields(Rounding)})

    def first_row(self) -> Atom:
        """Return one row alone, rounded."""
        solve = self.solve_row(0)
        return self._row(solve, self._round("round/0/0", solve.direction), 0)

    def _probe(self, solves: Sequence[Solve], name: str) -> list[np.ndarray]:
        """Return a few directions on their zeros, to see whether the data follow the model.

        Near an exactly sparse row its smallest coefficients lead there. From further away, solving
        without angles comes near; from anywhere, a linear program on a part of the samples.
        """
        few = len(solves) <= _FEW_ROWS
        count = len(solves) if few else min(max(len(solves) // 4, 1), _MOST_PROBES)
        chosen = np.linspace(0, len(solves) - 1, count).astype(int)
        directions = columns(solves)
        found = self._snapped(directions[:, chosen])
        if self._holds(found):
            return found
        if self.plan.order == "joint" and len(solves) > 1:
            free = self.freed(directions, Part(few=True, even=self.even))
            found = self._snapped(free[:, chosen])
            if self._holds(found):
                return found
        step = max(self.samples.shape[1] // (_PROBE_SAMPLES * self.white.rank), 1)
        rounder = Rounder(np.ascontiguousarray(self.samples[:, ::step]))
        tasks = [
            self.helpers.submit(self._round, f"{name}/{i}", directions[:, i], rounder)
            for i in chosen
        ]
        rounded = [each.direction for each in self._finish(tasks, "probe", 0)]
        snapped = self._snapped(np.column_stack(rounded))
        # In few dimensions samples of one source are one direction, too few to snap onto.
        return [
            own if self.inspector.inspect(own).exact else other
            for own, other in zip(rounded, snapped, strict=True)
        ]

    def _snapped(self, directions: np.ndarray) -> list[np.ndarray]:
        return list(snap(self.samples, self.inspector.lengths, directions).directions.T)

    def _holds(self, probed: Sequence[np.ndarray]) -> bool:
        """Whether a good part of the probes are exactly sparse, to the digits that data have."""
        if not probed:
            return False
        found = snap(self.samples, self.inspector.lengths, np.column_stack(probed))
        exact = sum(
            largest <= FEWEST_DIGITS or self.inspector.inspect(direction).exact
            for largest, direction in zip(found.largest, probed, strict=True)
        )
        return exact > _EXACT_PROBES * len(probed)

    def _rounded(self, solves: Sequence[Solve]) -> list[Atom]:
        """Return rows on their zeros where these determine them, and rounded rows elsewhere."""
        directions = np.column_stack([solve.direction for solve in solves])
        if self.follows_model and self.plan.order == "joint" and len(solves) > 1:
            directions = self.freed(directions, Part(even=self.even))
        snapped = snap(self.samples, self.inspector.lengths, directions)
        self._learn_precision(snapped)
        rows = {}
        for number, solve in enumerate(solves):
            seen = self._accept(snapped, number)
            if seen is not None:
                rows[number] = self._row(solve, None, 0, snapped.directions[:, number], seen)
        tasks = {
            number: self.helpers.submit(self._round, f"round/0/{number}", directions[:, number])
            for number in range(len(solves))
            if number not in rows
        }
        found_by = dict(zip(tasks, self._finish(list(tasks.values()), "round", 0), strict=True))
        for number, rounding in found_by.items():
            rows[number] = self._row(solves[number], rounding, 0)
        self.tick("inspect", len(rows), len(rows))
        return [rows[number] for number in range(len(solves))]

    def _learn_precision(self, snapped: Snapped) -> None:
        """Notice data of few digits: zeros of most rows that are not zero to rounding."""
        rounding = np.array([self.inspector.vanishing(q) for q in snapped.directions.T])
        few = (snapped.largest <= FEWEST_DIGITS) & (snapped.largest > rounding)
        if 2 * np.count_nonzero(few) > len(few):
            left = snapped.largest[few]
            typical = left[left <= _ALIKE * np.median(left)]
            self.inspector.precision = _PRECISION_MARGIN * float(typical.max())

    def freed(self, directions: np.ndarray, part: Part) -> np.ndarray:
        """Return the directions without the constraint that they are orthogonal."""
        data, lift = self._prepared(part)
        near = np.linalg.pinv(lift) @ directions
        limit = _FREE_ITERATIONS if part.few else _ROUGH_ITERATIONS
        found = lift @ freed(data, near / np.linalg.norm(near, axis=0), limit)
        return found / np.linalg.norm(found, axis=0)

    def _accept(self, snapped: Snapped, number: int) -> Sparsity | None:
        """Return what a snapped direction shows if it is an exactly sparse row."""
        if not snapped.largest[number] <= FEWEST_DIGITS:
            return None
        leverage = float(snapped.leverages[number].max(initial=0.0))
        seen = self.inspector.inspect(snapped.directions[:, number], leverage)
        return seen if seen.exact else None

    def _polish(self, rows: list[Atom], attempt: int) -> list[Atom]:
        """Round again the rows that are not exact where others are.

        With \\|r\\| = 1 and <r, q> = 1, \\|q\\| is at least 1, so \\|q'Y\\|_1 / \\|q\\| falls in
        every round: this is descent for the l1 norm itself over the sphere.
        """
        sorting = self.sort(rows)
        chosen = [i for i in sorting.bad if sorting.some_exact and not rows[i].exact]

        def polished(index: int) -> Atom:
            row = rows[index]
            direction, rounding = row.direction, row.rounding
            for number in range(_ROUNDS):
                rounding = self._round(f"polish/{attempt}/{index}/{number}", direction)
                moved = float(np.linalg.norm(rounding.direction - direction))
                direction = rounding.direction
                if moved <= _UNMOVED or self.inspector.inspect(direction).exact:
                    break
            return self._row(row.result, rounding, row.attempt)

        tasks = [self.helpers.submit(polished, index) for index in chosen]
        better = self._finish(tasks, "polish", attempt)
        for index, row in zip(chosen, better, strict=True):
            rows[index] = row
        return rows

    def _unmix(self, rows: list[Atom]) -> list[Atom]:
        """Replace exactly sparse rows by combinations with others that are sparser yet."""
        if self.samples.size > _SMALL_ENTRIES:
            return rows
        tried: set[tuple[int, int]] = set()  # of rows as they are now
        attempts = 0
        while any(row.exact and row.zeros for row in rows):
            self.tick("unmix", attempts, None)
            form = self._normal_form(rows)
            X = self.some_coefficients(form)
            exact = [k for k, i in enumerate(form.order) if rows[i].exact and rows[i].zeros]
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

    # -- refining -------------------------------------------------------------------------------

    def _refine(self, rows: list[Atom]) -> list[Atom]:
        """Refine all rows together, from the best of several starts."""
        assert self.plan.refine is not None
        own = rows[len(self.known) :]
        first = [row.result for row in own]
        starts = [first, *self.other_starts(columns(first))]
        chosen = min(starts, key=lambda solves: sum(solve.cost for solve in solves))
        begin = columns(chosen)
        others = [columns(each) for each in starts if each is not chosen]
        basis = self._restarted(self.known).rotation[:, len(self.known) :]
        form = Refined.form_of_record(basis.shape[1])
        record = self._recall("refine", lambda: self._refined_record(basis, begin), form)
        self.tick("refine", 1, 1)
        self.refined = Refined(**{each.name: record[each.name] for each in fields(Refined)})
        directions = basis @ self.refined.directions
        depends = dependence(directions.T @ self.samples)
        errors = self._standard_errors(basis)
        again = came_back(begin, others)
        refined = [
            replace(
                self._row(solve, None, 0, directions[:, i]),
                standard_error=float(errors[i]),
                dependence=float(depends[i]),
                starts=len(others) + 1,
                came_back=int(again[i]),
            )
            for i, solve in enumerate(chosen)
        ]
        return [*self.known, *refined]

    def _refined_record(self, basis: np.ndarray, begin: np.ndarray) -> Record:
        data: Blocks | Partitioned = self.data
        samples, turn = self.samples, basis.T / self.scale
        if self.known or self.scale != 1.0 or isinstance(data, Partitioned):
            samples = turn @ samples
        if isinstance(data, Partitioned):
            data = data.mapped(_turned, turn, rows=len(turn)).kept()
        elif self.share == 1.0:
            data = Blocks(samples, self.pool)
        elif samples is not self.samples:
            data = Blocks(turn.astype(data.dtype) @ data.array, self.pool)
        self.tick("refine", 0, 1)
        assert self.plan.refine is not None
        return refine(data, samples, basis.T @ begin, self.plan.refine, self._relative)

    def _standard_errors(self, basis: np.ndarray) -> np.ndarray:
        assert self.refined is not None
        return self.refined.standard_errors(self.white.inverse.astype(np.float64) @ basis)

    def other_starts(self, directions: np.ndarray) -> list[list[Solve]]:
        """Solve for all rows from further starts, as many as asked for or as rows may need.

        Rows whose magnitudes depend on each other are not plausible, whoever finds them again.
        """
        plan = self.plan
        wanted = plan.seeds
        if wanted is None:
            hopeless = plan.order != "joint" or not self._is_independent(directions)
            wanted = 1 if hopeless else _STARTS
        found = []
        for start in range(1, wanted):
            found.append(self._solve(start if plan.order == "joint" else _ATTEMPTS + start))
            self.tick("starts", start, wanted - 1)
        return found

    def _recall(self, name: str, work: Callable[[], Record], form: Form) -> Record:
        """Return the outcome of that name, from the store if it is there."""
        kept = f"beside {len(self.known)}/" if self.known else ""
        return self.store.recall(kept + name, work, form)

    # -- rows -----------------------------------------------------------------------------------

    def _row(
        self,
        solve: Solve,
        rounding: Rounding | None,
        attempt: int,
        direction: np.ndarray | None = None,
        seen: Sparsity | None = None,
    ) -> Atom:
        if direction is None:
            direction = solve.direction if rounding is None else rounding.direction
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

    def _normal_form(self, rows: list[Atom]) -> NormalForm:
        directions = np.column_stack(replace_dependent(rows, self.sort(rows)))
        return normal_form(directions, self.white.matrix, self.white.inverse, self.gram)

    def vanishing(self, form: NormalForm) -> np.ndarray:
        """Return what coefficients of each row are zero to rounding, relative to their sample."""
        return np.array([self.inspector.vanishing(q) for q in form.directions.T])

    def some_coefficients(self, form: NormalForm) -> np.ndarray:
        """Return the coefficients of the samples."""
        matrix = form.scales[:, None] * form.directions.T
        X = matrix.astype(self.samples.dtype) @ self.samples
        clear_rounding(X, self.inspector.lengths, form.scales, self.vanishing(form))
        return X

    def sort(self, rows: list[Atom]) -> Sorting:
        """Tell good rows from those found wanting."""
        seen = self.inspector
        return sort_rows(rows, seen.counts, seen.noise_flatness)

    def _finish(self, tasks: Sequence[Future[T]], stage: str, attempt: int) -> list[T]:
        return self.helpers.finish(tasks, lambda done: self.tick(stage, done, len(tasks), attempt))

    def tick(self, stage: str, done: int, total: int | None, attempt: int = 0) -> None:
        """Say how far a stage is."""
        again = f"again, attempt {attempt}" if attempt else ""
        self.watch(Progress(stage, done, total, time.perf_counter() - self.begin, again))


def columns(solves: Sequence[Solve]) -> np.ndarray:
    """Return the directions of solves, one in each column."""
    return np.column_stack([solve.direction for solve in solves])


def _samples(data: Blocks | Partitioned) -> np.ndarray:
    """Return as many samples as suffice to solve, or all if they are not many more."""
    n, p = data.shape
    enough = max(int(_SAMPLES_PER_POWER * n**1.5), _FEWEST_ENTRIES // n, 1)
    if isinstance(data, Partitioned):
        return data.take(np.arange(0, p, max(p // enough, 1)))
    step = max(p // enough, 1)
    return data.array if step == 1 else np.ascontiguousarray(data.array[:, ::step])


def _constant_row(white: Preconditioned) -> Atom:
    """Return the row of ones, whose direction is known."""
    direction = white.inverse[-1].astype(np.float64)
    direction = direction / np.linalg.norm(direction)
    solve = Solve(direction, len(direction), 0.0, 0.0, 0, 0.0, True, "known")
    return Atom(solve, None, direction, zeros=0, exact=True, attempt=0, standard_error=0.0)


def _gram(block: np.ndarray, first: int) -> tuple[np.ndarray]:
    return (gram(block),)


def _turned(block: np.ndarray, turn: np.ndarray) -> np.ndarray:
    return turn.astype(block.dtype) @ block
