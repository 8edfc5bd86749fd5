"""The whole pipeline of the paper's section III: precondition, solve, deflate, round, reconstruct.

Solves come one after the other, each on the complement of the directions found before; roundings
are independent of each other, each against all of the data. Then rows are judged, and those found
wanting are polished and, if that fails, solved for again on the complement of the good ones.
"""

from __future__ import annotations

import math
import operator
import os
import re
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np

from riemtr.data.matrices import check_data
from riemtr.recovery.checkpoint import FileJournal, Journal, fingerprint, stored_settings
from riemtr.recovery.deflation import Deflation
from riemtr.recovery.polish import doubts, replace_dependent, round_again, sort_rows
from riemtr.recovery.preconditioning import Preconditioned
from riemtr.recovery.preconditioning import precondition as whiten
from riemtr.recovery.reconstruction import coefficients, normal_form
from riemtr.recovery.report import Atom, Progress, Recovery, Watcher, watcher
from riemtr.recovery.rounding import Rounding
from riemtr.recovery.rows import (
    Inspector,
    Row,
    RowSolver,
    Solve,
    as_rounding,
    default_solver,
    lifted,
    round_against,
    solve_deflated,
    threshold,
)

_ATTEMPTS = 3  # passes over rows found wanting, each from new starts


def recover_dictionary(
    Y: Any,
    mu: float = 1e-2,
    rng: Any = None,
    *,
    solver: RowSolver | None = None,
    precondition: bool = True,
    rounding: bool = True,
    rank: int | str | None = None,
    n_jobs: int = 1,
    progress: bool | Watcher = False,
    checkpoint: str | os.PathLike[str] | None = None,
) -> Recovery:
    """Recover A and sparse X from Y = A X, with a certificate for every row of X.

    Parameters
    ----------
    Y : array_like, shape (n, p)
        Data, one sample per column, anything :func:`riemtr.data.check_data` accepts; not modified.
    mu : float
        Smoothing parameter of the cost; the paper's 1e-2. Preconditioned data have mean square 1
        in every direction, so it is relative to their size, whatever the units of Y. Without
        preconditioning it is in the units of Y.
    rng : int, numpy.random.Generator or None
        Source of the random starts. The same seed gives the same recovery, bit for bit.
    solver : optional
        Any object with ``solve(problem, start, rng=...)``, of riemtr or through
        :mod:`riemtr.interop`; by default :func:`riemtr.PracticalTRM` to a tolerance of 1e-2 of
        the data's size, since rounding supplies the digits.
    precondition : bool
        Whiten the data first; turn it off for orthogonal dictionaries or whitened data only.
    rounding : bool
        Make rows exact by linear programming, with a proof of optimality.
    rank : None, int or "auto"
        As for :func:`riemtr.precondition`: "auto" recovers in the row space of a rank-deficient
        Y, and A is then n x r.
    n_jobs : int
        How many roundings to do at once; -1 for all cores. It does not change the result.
    progress : bool or callable
        Show progress on the standard error stream, or call it with each :class:`Progress`.
    checkpoint : path, optional
        A file to continue from, if it exists, and to record progress in. A run that was killed at
        any moment continues with the same call and ends where it would have ended, bit for bit.

    Returns
    -------
    Recovery

    Examples
    --------
    >>> from riemtr.data import BernoulliGaussian, Conditioned, dictionary_error
    >>> sample = BernoulliGaussian(n=6, p=800, theta=0.2, dictionary=Conditioned(10.0)).draw(0)
    >>> found = recover_dictionary(sample.observations, rng=0)
    >>> found.certified, dictionary_error(found.dictionary, sample.dictionary) < 1e-12
    (True, True)
    """
    begin = time.perf_counter()
    data = check_data(Y)
    if not (mu > 0.0 and math.isfinite(mu)):
        raise ValueError(f"mu must be a positive finite number; got {mu!r}")
    if solver is not None and not callable(getattr(solver, "solve", None)):
        raise ValueError(
            f"solver must have a method solve(problem, start, rng=...), as riemtr.PracticalTRM() "
            f"has; got {solver!r}"
        )
    jobs = _jobs(n_jobs)
    seed = _seed(rng, checkpoint)
    settings = _settings(data, mu, solver, precondition, rounding, rank, seed) if checkpoint else {}
    journal = FileJournal(checkpoint, settings) if checkpoint else Journal()
    white = _prepare(data, precondition, rank)
    run = _Run(white, float(mu), solver, seed, journal, watcher(progress), begin)
    try:
        with ThreadPoolExecutor(jobs) as pool:
            rows = run.recover(rounding, pool)
    finally:
        journal.close()
    found = run.report(rows)
    return replace(found, seconds=time.perf_counter() - begin)


def recover_row(
    Y: Any,
    mu: float = 1e-2,
    rng: Any = None,
    *,
    solver: RowSolver | None = None,
    precondition: bool = True,
    rank: int | str | None = None,
) -> Atom:
    """Recover one row of X: precondition, solve, round. Memory beyond Y: one copy of it.

    The row is ``atom.direction @ riemtr.precondition(Y).data``, up to scale; parameters are those
    of :func:`recover_dictionary`.

    Examples
    --------
    >>> from riemtr.data import BernoulliGaussian
    >>> atom = recover_row(BernoulliGaussian(n=6, p=800, theta=0.2).draw(0).observations, rng=0)
    >>> atom.verdict
    'exactly sparse, certified'
    """
    begin = time.perf_counter()
    white = _prepare(check_data(Y), precondition, rank)
    run = _Run(white, float(mu), solver, _seed(rng, None), Journal(), watcher(False), begin)
    row = run.round_row(run.solve_row(0), 0, 0)
    return _atom(row, ())


class _Run:
    """The state of one recovery: the turned data, and what is known so far."""

    def __init__(
        self,
        white: Preconditioned,
        mu: float,
        solver: RowSolver | None,
        seed: int,
        journal: Journal,
        watch: Watcher,
        begin: float,
    ):
        self.white = white
        self.mu = mu
        self.seed = seed
        self.journal = journal
        self.watch = watch
        self.begin = begin
        self.deflation = Deflation(white.data, owned=white.scale != 0.0)
        self.inspector = Inspector(self.deflation)
        size = math.sqrt(float(np.mean(self.inspector.lengths**2)) / white.rank)
        self.solver = default_solver(size) if solver is None else solver

    def recover(self, rounding: bool, pool: ThreadPoolExecutor) -> list[Row]:
        """Return r rows: a first pass, then the bad ones again until none is or attempts end."""
        rows = self._fill([], 0, rounding, pool)
        for attempt in range(1, _ATTEMPTS + 1):
            if rounding:
                rows = self._polish(rows, attempt, pool)
            good = sort_rows(rows).good
            if len(good) == len(rows):
                break
            rows = self._fill([rows[i] for i in good], attempt, rounding, pool)
        return rows

    def _fill(
        self, kept: list[Row], attempt: int, rounding: bool, pool: ThreadPoolExecutor
    ) -> list[Row]:
        """Complete the rows kept: solve on the complement of their span, then round."""
        deflation, solves, total = self.deflation, [], self.white.rank - len(kept)
        if kept:
            deflation.restart(np.column_stack([row.direction for row in kept]))
        for number in range(total):
            solves.append(self.solve_row(attempt))
            deflation.set_aside(deflation.rotation[:, deflation.found :].T @ solves[-1].direction)
            self._tick("solve", number + 1, total, attempt)
        if not rounding:
            return kept + [self._row(solve, None, attempt) for solve in solves]
        work = [
            lambda i=i, solve=solve: self.round_row(solve, attempt, i)
            for i, solve in enumerate(solves)
        ]
        return kept + self._each(pool, work, "round", attempt)

    def solve_row(self, attempt: int) -> Solve:
        """Solve on the complement of what was set aside."""
        number = self.deflation.found
        seed = np.random.SeedSequence(self.seed, spawn_key=(attempt, number))
        record = self.journal.recall(
            f"solve/{attempt}/{number}",
            lambda: solve_deflated(self.deflation.complement, self.mu, self.solver, seed),
        )
        return lifted(record, self.deflation)

    def round_row(self, solve: Solve, attempt: int, number: int) -> Row:
        """Round one solve against all of the data."""
        rounding = self._round(f"round/{attempt}/{number}", solve.direction)
        return self._row(solve, rounding, attempt)

    def _round(self, name: str, direction: np.ndarray) -> Rounding:
        record = self.journal.recall(name, lambda: round_against(self.deflation, direction))
        return as_rounding(record)

    def _row(self, solve: Solve, rounding: Rounding | None, attempt: int) -> Row:
        direction = solve.direction if rounding is None else rounding.direction
        return Row(solve, rounding, direction, *self.inspector.inspect(direction), attempt)

    def _polish(self, rows: list[Row], attempt: int, pool: ThreadPoolExecutor) -> list[Row]:
        """Round again the rows that are not exact where most are."""
        sorting = sort_rows(rows)
        chosen = [i for i in sorting.bad if sorting.model_holds and not rows[i].exact]

        def polished(index: int) -> Row:
            row = rows[index]
            assert row.rounding is not None
            rounding = round_again(
                row.rounding,
                lambda number, r: self._round(f"polish/{attempt}/{index}/{number}", r),
                lambda q: self.inspector.inspect(q)[1],
            )
            return self._row(row.solve, rounding, row.attempt)

        work = [lambda index=index: polished(index) for index in chosen]
        better = self._each(pool, work, "polish", attempt)
        for index, row in zip(chosen, better, strict=True):
            rows[index] = row
        return rows

    def _each(
        self,
        pool: ThreadPoolExecutor,
        work: Sequence[Callable[[], Row]],
        stage: str,
        attempt: int,
    ) -> list[Row]:
        done = []
        for future in [pool.submit(each) for each in work]:
            done.append(future.result())
            self._tick(stage, len(done), len(work), attempt)
        return done

    def _tick(self, stage: str, done: int, total: int, attempt: int) -> None:
        seconds = time.perf_counter() - self.begin
        self.watch(Progress(stage, done, total, attempt, seconds))

    def report(self, rows: list[Row]) -> Recovery:
        """Reconstruct dictionary and coefficients, and judge every row."""
        sorting = sort_rows(rows)
        directions = np.column_stack(replace_dependent(rows, sorting))
        gram = self.inspector.gram
        form = normal_form(directions, self.white.matrix, self.white.inverse, gram)
        atoms = [_atom(row, doubts(row, rows, i, sorting)) for i, row in enumerate(rows)]
        atoms = [atoms[i] for i in form.order]
        X = coefficients(form, self.deflation)
        for row, atom, scale in zip(X, atoms, form.scales, strict=True):
            if atom.exact:  # what rounding left of zeros
                row[np.abs(row) <= threshold(X) * scale * self.inspector.lengths] = 0.0
        kind = X.dtype
        return Recovery(
            dictionary=form.dictionary.astype(kind, copy=False),
            coefficients=X,
            directions=form.directions.astype(kind, copy=False),
            unmixing=form.unmixing.astype(kind, copy=False),
            atoms=tuple(atoms),
            condition_number=self.white.condition_number,
            mu=self.mu,
            seed=self.seed,
        )


def _atom(row: Row, reasons: tuple[str, ...]) -> Atom:
    return Atom(row.solve, row.rounding, row.direction, row.zeros, row.exact, row.attempt, reasons)


def _prepare(data: np.ndarray, precondition: bool, rank: int | str | None) -> Preconditioned:
    if precondition:
        return whiten(data, rank=rank)
    n, p = data.shape
    if rank is not None:
        raise ValueError(
            f"rank must be None where precondition is False, since it is the preconditioning that "
            f"reduces it; got {rank!r}"
        )
    if p < n:
        raise ValueError(
            f"Y must have at least as many samples (columns) as features (rows); got {n} features "
            f"and {p} samples; transpose Y if its samples are rows, or precondition with "
            f"rank='auto'"
        )
    same = np.eye(n, dtype=data.dtype)
    return Preconditioned(data, same, same, same, np.empty(0), n, 1.0, 0.0)


def _jobs(n_jobs: int) -> int:
    try:
        jobs = operator.index(n_jobs)
    except TypeError:
        jobs = 0
    if jobs == -1:
        return os.cpu_count() or 1
    if isinstance(n_jobs, bool) or jobs < 1:
        raise ValueError(f"n_jobs must be a positive integer, or -1 for all cores; got {n_jobs!r}")
    return jobs


def _seed(rng: Any, checkpoint: str | os.PathLike[str] | None) -> int:
    """Return the integer all starts are drawn from; without rng, that of the checkpoint."""
    if isinstance(rng, np.random.Generator):
        return int(rng.integers(2**63))
    if rng is None:
        stored = stored_settings(checkpoint) if checkpoint is not None else None
        fresh = np.random.SeedSequence().entropy
        return int(stored["seed"] if stored is not None else fresh)  # type: ignore[arg-type]
    try:
        seed = operator.index(rng)
    except TypeError:
        seed = -1
    if isinstance(rng, bool) or seed < 0:
        raise ValueError(
            f"rng must be a nonnegative integer, a numpy.random.Generator or None; got {rng!r}"
        )
    return seed


def _settings(
    data: np.ndarray,
    mu: float,
    solver: RowSolver | None,
    precondition: bool,
    rounding: bool,
    rank: int | str | None,
    seed: int,
) -> dict[str, Any]:
    """What the outcome depends on, as a checkpoint stores it."""
    return {
        "Y": fingerprint(data),
        "mu": float(mu),
        "solver": re.sub(r" at 0x[0-9a-fA-F]+", "", repr(solver)),  # addresses differ every time
        "precondition": bool(precondition),
        "rounding": bool(rounding),
        "rank": rank if rank is None or isinstance(rank, str) else int(rank),
        "seed": seed,
    }
