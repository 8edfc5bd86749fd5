"""From a data matrix to a certified dictionary: the pipeline of the paper's section III."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from typing import Any

import numpy as np

from riemtr.arguments import as_integer, check_positive, not_a_seed
from riemtr.blas_threads import blas_threads_for
from riemtr.data.dask_arrays import as_data
from riemtr.data.partitioned import Matrix, Partitioned
from riemtr.executors import Helpers
from riemtr.executors import jobs as number_of_jobs
from riemtr.identity import describe, digest
from riemtr.progress import Progress, Watcher, watching
from riemtr.recovery.passes import Run
from riemtr.recovery.preconditioning import Preconditioned
from riemtr.recovery.preconditioning import precondition as whiten
from riemtr.recovery.report import Atom, Recovery, in_units_of
from riemtr.recovery.rows import RowSolver
from riemtr.recovery.units import check_range, in_safe_units
from riemtr.store import Store, read_store

_LEAST_MU = 1e-30  # over the size of scaled data: less smooths nothing, and its inverse overflows
_WORTH_HELPERS = 10**6  # entries of the data: below, threads wait for each other


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
    Y : array_like or Dask array, shape (n, p)
        Data, one sample per column, anything :func:`riemtr.data.check_data` accepts; not modified.
        A Dask array stays where it is: functions go to its blocks of samples, sums come back, and
        the few samples that decide a rounding (up to 128 MB of them; less than 256 MB of data may
        come whole). No worker holds all of Y, unless it is small: neighbouring chunks are joined to
        blocks of up to 4 MB. The coefficients are a Dask array with these blocks, computed from
        Y when asked for, with or without the cluster. The whitened blocks stay in
        the memory of a cluster's workers, and are computed again from their source if a worker is
        lost; without a cluster they stay up to 32 MB, and beyond are computed whenever they are
        visited. Blocks of some 100 MB are a good size. Dask's scheduler "processes" starts new
        processes for each of some hundred visits, seconds each: take a ``LocalCluster`` instead,
        or give it a pool, ``dask.config.set(scheduler="processes", pool=ProcessPoolExecutor())``.
        The result is that of the same data in memory, to rounding errors, or if ``rounding`` is
        off, to the tolerance of the solver, whose path differs: it begins in single precision in
        memory only. Where data do not follow the model, as images do not, rounding errors are
        enough to end at other rows, certified as well, in memory or not.
    mu : float
        Smoothing parameter of the cost; the paper's 1e-2. Preconditioned data have mean square 1
        in every direction, so it is relative to their size, whatever the units of Y. Without
        preconditioning it is in the units of Y.
    rng : int, numpy.random.Generator or None
        Source of the random starts. The same seed gives the same recovery, bit for bit, also on
        a cluster, whatever the number of its workers.
    solver : optional
        Any object with ``solve(problem, start, rng=...)``, of riemtr or through
        :mod:`riemtr.interop`; by default :class:`riemtr.PracticalTRM` to a tolerance of 1e-2 of
        the data's size, since rounding supplies the digits.
    precondition : bool
        Whiten the data first; turn it off for orthogonal dictionaries or whitened data only. Costs
        and objectives are then in the units of Y, too.
    rounding : bool
        Make rows exact by linear programming, with a proof of optimality.
    rank : None, int or "auto"
        As for :func:`riemtr.precondition`: "auto" recovers in the row space of a rank-deficient
        Y, and A is then n x r.
    n_jobs : int
        How many threads to use, -1 for all cores: one solves, the others round what it has found,
        and then all round. It does not change the result. Data of less than a million entries,
        whose recovery takes seconds, have one thread: Python would not let more run at once.
    progress : bool or callable
        Show progress, or call it with each :class:`riemtr.progress.Progress`. Stages are
        "precondition", "solve", "round", "inspect", "polish", "unmix" and "report".
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
    _check(mu, solver)
    jobs = number_of_jobs(n_jobs)
    if checkpoint is not None and not os.fspath(checkpoint):
        raise ValueError("checkpoint must be the path of a file, or None; got an empty one")
    seed = _seed(rng, checkpoint)
    settings = _settings(data, mu, solver, precondition, rounding, rank, seed) if checkpoint else {}
    with (
        Store(checkpoint, settings, resume=True, kind="checkpoint") as store,
        watching(progress) as watch,
        blas_threads_for(_entries_here(data)),
        Helpers(jobs if _is_worth_helpers(data) else 1) as helpers,
    ):
        try:
            watch(Progress("precondition", 0, 1, time.perf_counter() - begin))
            white, unit = _prepare(data, precondition, rank)
            watch(Progress("precondition", 1, 1, time.perf_counter() - begin))
            run = Run(
                white,
                mu=_scaled(mu, unit),
                seed=seed,
                solver=solver,
                owned=white.data is not data,
                store=store,
                watch=watch,
                helpers=helpers,
                begin=begin,
            )
            rows = run.recover(rounding)
        except KeyboardInterrupt:
            if checkpoint is None or not store.records:
                raise
            raise KeyboardInterrupt(
                f"what was found is in {os.fspath(checkpoint)!r}: the same call continues there"
            ) from None
        found = run.report(rows)
    atoms = tuple(in_units_of(atom, unit) for atom in found.atoms)
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
    'exactly sparse, certified'
    """
    data = as_data(Y)
    _check(mu, solver)
    with blas_threads_for(_entries_here(data)):
        white, unit = _prepare(data, precondition, rank)
        owned = white.data is not data
        run = Run(white, mu=_scaled(mu, unit), seed=_seed(rng, None), solver=solver, owned=owned)
        return in_units_of(run.round_row(run.solve_row(0), 0, 0), unit)


def _check(mu: float, solver: RowSolver | None) -> None:
    check_positive("mu", mu)
    if solver is not None and not callable(getattr(solver, "solve", None)):
        raise ValueError(
            f"solver must have a method solve(problem, start, rng=...), as riemtr.PracticalTRM() "
            f"has; got {solver!r}"
        )


def _prepare(
    data: Matrix, precondition: bool, rank: int | str | None
) -> tuple[Preconditioned, float]:
    """Return the data to recover from, and their unit where they are not whitened."""
    n, p = data.shape
    if precondition:
        white = whiten(data, rank=rank)
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


def _scaled(mu: float, unit: float) -> float:
    """Return mu for data scaled by that unit."""
    return float(mu) if unit == 1.0 else max(float(mu) * unit, _LEAST_MU)


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


def _is_worth_helpers(data: Matrix) -> bool:
    """Whether products with the data take long enough for Python to run other threads meanwhile."""
    return isinstance(data, Partitioned) or data.size >= _WORTH_HELPERS


def _entries_here(data: Matrix) -> int:
    """How much data this process multiplies at once: with Dask, a block per thread or none."""
    return 0 if isinstance(data, Partitioned) else data.size


def _settings(
    data: Matrix,
    mu: float,
    solver: RowSolver | None,
    precondition: bool,
    rounding: bool,
    rank: int | str | None,
    seed: int,
) -> dict[str, Any]:
    """What the outcome depends on, as a checkpoint stores it."""
    return {
        "Y": _hash(data),
        "mu": float(mu),
        "solver": describe(solver),
        "precondition": bool(precondition),
        "rounding": bool(rounding),
        "rank": rank if rank is None or isinstance(rank, str) else int(rank),
        "seed": seed,
    }


def _hash(data: Matrix) -> str:
    """Return a hash of every bit; of partitioned data also of the cuts, as sums depend on them."""
    if isinstance(data, Partitioned):
        return digest(repr(data.total(_hash_of_block)).encode())
    return digest(data)


def _hash_of_block(block: np.ndarray, first: int) -> tuple[list[str]]:
    return ([f"{first} {digest(block)}"],)
