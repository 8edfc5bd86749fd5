"""From a data matrix to a certified dictionary: the pipeline of the paper's section III."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np

from riemtr.arguments import as_integer, check_positive, integer, not_a_seed
from riemtr.blas_threads import blas_threads_for, one_blas_thread
from riemtr.data.blocks import Samples, as_data
from riemtr.errors import ArgumentError, unknown_name
from riemtr.executors import jobs as number_of_jobs
from riemtr.identity import describe, digest
from riemtr.problems.surrogates import LEAST_SMOOTHING, LogCosh, Surrogate, as_surrogate, scaled
from riemtr.progress import Progress, Watcher, watching
from riemtr.recovery.offsets import (
    beside_ones,
    is_better,
    is_next_to,
    is_zero_by_chance,
    may_have_one,
    mean,
)
from riemtr.recovery.passes import only_row, recover
from riemtr.recovery.refining import FORMS
from riemtr.recovery.report import Atom, Recovery, in_units_of
from riemtr.recovery.solving import RowSolver
from riemtr.recovery.task import ORDERS, Plan, Task
from riemtr.recovery.whitening import Preconditioned, check_range, in_safe_units, whitened
from riemtr.store import Store, read_store

_WORTH_THREADS = 10**6  # entries of the data: below, threads wait for each other


def recover_dictionary(
    Y: Any,
    mu: float = 1e-2,
    rng: Any = None,
    *,
    solver: RowSolver | None = None,
    surrogate: str | Surrogate = "log-cosh",
    precondition: bool = True,
    offset: bool | str = "auto",
    order: str | None = None,
    rounding: bool = True,
    refine: str | None = "auto",
    seeds: int | None = None,
    rank: int | str | None = None,
    n_jobs: int = 1,
    progress: bool | Watcher = False,
    checkpoint: str | os.PathLike[str] | None = None,
) -> Recovery:
    """Recover A and sparse X from Y = A X, with a certificate for every row of X.

    Parameters
    ----------
    Y : array_like or Dask array, shape (n, p)
        Data, one sample per column, anything :func:`riemtr.data.check_data` accepts; not modified.
        A Dask array stays where it is: functions go to its blocks of samples, sums come back, and
        as many samples as suffice to solve (up to 2 n^1.5, or a million entries). The coefficients
        are a Dask array with these blocks, computed from Y when asked for, with or without the
        cluster. The whitened blocks stay in the memory of a cluster's workers, and are computed
        again from their source if a worker is lost; without a cluster they stay up to 32 MB, and
        beyond are computed whenever they are visited. Blocks of some 100 MB are a good size.
        The result is that of the same data in memory, to rounding errors, as long as the data
        follow the model.
    mu : float
        Smoothing parameter of the cost; the paper's 1e-2. Preconditioned data have mean square 1
        in every direction, so it is relative to their size, whatever the units of Y. Without
        preconditioning it is in the units of Y.
    rng : int, numpy.random.Generator or None
        Source of the random starts. The same seed gives the same recovery, bit for bit, also on
        a cluster, whatever the number of its workers.
    solver : optional
        Any object with ``solve(problem, start, rng=...)``, of riemtr or through
        :mod:`riemtr.interop`, to solve for one row after the other. By default all rows are solved
        for at once by the trust-region method, since rounding supplies the digits.
    surrogate : {"log-cosh", "huber", "l4"} or object
        The smooth function in place of the l1 norm. An object of your own has ``derivatives(rows)``
        and, if its shape depends on the size of the rows, ``scaled(factor)``, as in
        :mod:`riemtr.problems.surrogates`; its other attributes are left alone.
    precondition : bool
        Whiten the data first; turn it off for orthogonal dictionaries or whitened data only. Costs
        and objectives are then in the units of Y, too.
    offset : {"auto", True, False}
        Recover Y = A X + b with an offset b. "auto" does so if the mean of the samples is not zero
        by chance, and the result then does not depend on any constant that was added to the rows of
        Y. Where all rows come out exactly sparse and the offset is zero to rounding, the result has
        no offset. Where rows are not exactly sparse, the offset is the mean, and A and X are those
        of the data less their mean. Data whose rows combine to a constant, as parts of a whole that
        add up to 1, have one atom less than rows with an offset; pass False for as many as rows.
    order : {None, "joint", "rows", "rounded"}
        "joint" solves for all rows at once; "rows" for one after the other, each on the complement
        of those before, and rounds them afterwards; "rounded", the paper's order, rounds each row
        before the next. None is "joint", or "rows" where a solver is given.
    rounding : bool
        Make rows that are exactly sparse exact, with a proof of optimality; without ``refine``,
        round all rows by linear programming.
    refine : {"auto", "orthogonal", "full", None}
        How rows are refined together where none is exactly sparse:
        :mod:`riemtr.recovery.refining` has the forms. None leaves them to the linear program.
    seeds : int, optional
        From how many random starts to solve for all rows: the best one is kept, and every row is
        counted in the others. By default 3 if that can make rows plausible, else 1: rows that are
        proved need no further start, and rows whose magnitudes depend on each other are doubtful
        from any number of starts.
    rank : None, int or "auto"
        As for :func:`riemtr.precondition`: "auto" recovers in the row space of a rank-deficient
        Y, and A is then n x r.
    n_jobs : int
        How many threads to use, -1 for all cores. It does not change the result. Data of less
        than a million entries, whose recovery takes a second, have one thread.
    progress : bool or callable
        Show progress, or call it with each :class:`riemtr.progress.Progress`. Stages are
        "precondition", "solve", "probe", "round", "inspect", "unmix", "starts", "refine" and
        "report".
    checkpoint : path, optional
        A store (:mod:`riemtr.store`) to continue from, if it exists, and to keep rows in. A run
        that was killed at any moment continues with the same call and ends where it would have
        ended, bit for bit.
        Other data or settings are refused, the solver's included: all its attributes count. So is
        a file that another process is writing to. Where it cannot be written any more, there is a
        warning, and the recovery goes on.

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
    data = as_data(Y)
    plan = _plan(mu, surrogate, solver, order, rounding, refine, seeds)
    if not (isinstance(offset, bool) or offset == "auto"):
        raise ArgumentError("offset", "be 'auto', True or False", offset)
    if offset is True and not precondition:
        raise ArgumentError("offset", "be False or 'auto' where precondition is False", offset)
    jobs = number_of_jobs(n_jobs)
    if checkpoint is not None and not os.fspath(checkpoint):
        raise ArgumentError("checkpoint", "be the path of a file, or None", checkpoint)
    plan = replace(plan, seed=_seed(rng, checkpoint))
    settings = _settings(data, plan, precondition, offset, rank) if checkpoint else {}
    maybe = offset == "auto" and precondition and (rank is None or isinstance(rank, str))
    centre = mean(data) if maybe or offset is True else np.zeros(data.shape[0])
    with_ones = offset is True or (maybe and not is_zero_by_chance(data, centre))
    threads = jobs if _is_worth_threads(data) else 1
    with (
        Store(checkpoint, settings, resume=True, kind="checkpoint") as store,
        watching(progress) as watch,
        one_blas_thread() if threads > 1 else blas_threads_for(_entries_here(data)),
        ThreadPoolExecutor(threads) if threads > 1 else nullcontext() as pool,
    ):

        def begun(constant: bool) -> Task | None:
            watch(Progress("precondition", 0, 1, time.perf_counter() - begin))
            source, unit = data.with_pool(pool), 1.0
            white: Preconditioned | None
            if constant:
                white = beside_ones(source, centre, rank)
            else:
                white, unit = _prepare(source, precondition, rank)
            watch(Progress("precondition", 1, 1, time.perf_counter() - begin))
            return white and Task.of(  # type: ignore[return-value]
                white,
                replace(plan, mu=_scaled(mu, unit), surrogate=scaled(plan.surrogate, unit)),
                unit=unit,
                owned=white.data is not source,
                constant=constant,
                store=store,
                watch=watch,
                pool=pool,
                begin=begin,
            )

        try:
            task = begun(with_ones)
            if task is None and offset is True:
                raise _no_room_for_an_offset(data, rank)
            task = task or begun(False)
            assert task is not None
            found = recover(task)
            if maybe and may_have_one(task, found):
                other = begun(True)
                if other is not None and is_next_to(other, task, found):
                    again = recover(other)
                    if is_better(again, found):
                        task, found = other, again
        except KeyboardInterrupt:
            if checkpoint is None or not store.records:
                raise
            raise KeyboardInterrupt(
                f"what was found is in {os.fspath(checkpoint)!r}: the same call continues there"
            ) from None
    atoms = tuple(in_units_of(atom, task.unit) for atom in found.atoms)
    if maybe and found.offset_is_rounding:
        found = replace(found, offset=None)
    return replace(found, atoms=atoms, mu=float(mu), seconds=time.perf_counter() - begin)


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
    'proved'
    """
    data = as_data(Y)
    plan = _plan(mu, "log-cosh", solver, "rows", True, None, None)
    with blas_threads_for(_entries_here(data)):
        white, unit = _prepare(data, precondition, rank)
        plan = replace(plan, mu=_scaled(mu, unit), seed=_seed(rng, None))
        plan = replace(plan, surrogate=LogCosh(plan.mu))
        task = Task.of(white, plan, owned=white.data is not data)
        return in_units_of(only_row(task), unit)


def _plan(
    mu: float,
    surrogate: str | Surrogate,
    solver: RowSolver | None,
    order: str | None,
    rounding: bool,
    refine: str | None,
    seeds: int | None,
) -> Plan:
    """Check the options of a recovery, and return what it is to do."""
    check_positive("mu", mu)
    if solver is not None and not callable(getattr(solver, "solve", None)):
        raise ArgumentError(
            "solver",
            "have a method solve(problem, start, rng=...), as riemtr.PracticalTRM() has",
            solver,
        )
    if order is None:
        order = "joint" if solver is None else "rows"
    if order not in ORDERS:
        raise unknown_name("order", order, ORDERS)
    if order == "joint" and solver is not None:
        remedy = "leave out one of them"
        raise ArgumentError("order", "be 'rows' or 'rounded' where solver is given", order, remedy)
    if refine is not None and refine not in FORMS:
        raise unknown_name("refine", refine, FORMS, "or None for no refinement")
    if seeds is not None:
        integer("seeds", seeds, low=1)
    return Plan(
        mu=float(mu),
        surrogate=as_surrogate(surrogate, mu),
        seed=0,
        solver=solver,
        order=order,
        rounding=bool(rounding),
        refine=refine,
        seeds=seeds,
    )


def _prepare(
    data: Samples, precondition: bool, rank: int | str | None
) -> tuple[Preconditioned, float]:
    """Return the data to recover from, and their unit where they are not whitened."""
    n, p = data.shape
    if precondition:
        white = whitened(data, rank)
        if white.rank >= p:
            raise ValueError(
                f"Y must have more samples (columns) than the rank kept, or the samples themselves "
                f"would do as atoms; got {n} features and {p} samples, and rank {white.rank}; "
                f"transpose Y if its samples are rows, or pass a rank well below their number"
            )
        return white, 1.0
    if rank is not None:
        raise ValueError(
            f"rank must be None where precondition is False, since it is the preconditioning that "
            f"reduces it; got {rank!r}"
        )
    if p <= n:
        raise ValueError(
            f"Y must have more samples (columns) than features (rows), or the samples themselves "
            f"would do as atoms; got {n} features and {p} samples; transpose Y if its samples are "
            f"rows, or precondition with a rank well below their number"
        )
    check_range(data)
    data, unit = in_safe_units(data)
    same = np.eye(n)
    return Preconditioned(data, unit * same, same / unit, same, np.empty(0), n, 1.0, 1.0), unit


def _no_room_for_an_offset(data: Samples, rank: int | str | None) -> ValueError:
    """Return the error of data that have no direction or no sample left for an offset."""
    n, p = data.shape
    whitened(data, rank)  # which raises the error if the data themselves have no such rank
    return ArgumentError(
        "offset",
        f"be False or 'auto' here: less their mean, the {n} features and {p} samples of Y do not "
        f"have {'full rank' if rank is None else f'rank {rank}'}, or no sample more than that",
        True,
    )


def _scaled(mu: float, unit: float) -> float:
    """Return mu for data scaled by that unit."""
    return float(mu) if unit == 1.0 else max(float(mu) * unit, LEAST_SMOOTHING)


def _seed(rng: Any, checkpoint: str | os.PathLike[str] | None) -> int:
    """Return the integer all starts are drawn from; without rng, that of the checkpoint."""
    if isinstance(rng, np.random.Generator):
        return int(rng.integers(2**63))
    if rng is None:
        if checkpoint is not None and os.path.exists(checkpoint):
            return int(read_store(checkpoint, "checkpoint")[0].get("seed", 0))
        return int(np.random.SeedSequence().entropy)  # type: ignore[arg-type]
    seed = as_integer(rng)
    if seed is None or seed < 0:
        raise not_a_seed(rng)
    return seed


def _is_worth_threads(data: Samples) -> bool:
    """Whether products with the data take long enough for Python to run other threads meanwhile."""
    return data.array is None or data.array.size >= _WORTH_THREADS


def _entries_here(data: Samples) -> int:
    """How much data this process multiplies at once: with Dask, a block per thread or none."""
    return 0 if data.array is None else data.array.size


def _settings(
    data: Samples, plan: Plan, precondition: bool, offset: bool | str, rank: int | str | None
) -> dict[str, Any]:
    """What the outcome depends on, as a checkpoint stores it."""
    return {
        "Y": _hash(data),
        "mu": plan.mu,
        "surrogate": describe(plan.surrogate),
        "solver": describe(plan.solver),
        "order": plan.order,
        "precondition": bool(precondition),
        "offset": offset,
        "rounding": plan.rounding,
        "refine": plan.refine,
        "seeds": plan.seeds,
        "rank": rank if rank is None or isinstance(rank, str) else int(rank),
        "seed": plan.seed,
    }


def _hash(data: Samples) -> str:
    """Return a hash of every bit, and of the cuts of the data, as sums depend on them."""
    return digest(repr(data.total(_hash_of_block)).encode())


def _hash_of_block(block: np.ndarray, first: int) -> tuple[list[str]]:
    return ([f"{first} {digest(block)}"],)
