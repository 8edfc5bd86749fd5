"""The sweep itself: what is missing is run, what has ended is kept."""

from __future__ import annotations

import inspect
import math
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from riemtr.arguments import check_positive, integer
from riemtr.environment import environment
from riemtr.errors import ArgumentError
from riemtr.executors import check_backend, hired, packed, run_all
from riemtr.files import made_folder, reading
from riemtr.identity import difference, digest, is_other_source, source_of
from riemtr.progress import Progress, Watcher, watching
from riemtr.store import Record, Store
from riemtr.sweep.cells import (
    SEED,
    Cell,
    Outcome,
    Task,
    describe,
    make_cells,
    run_cell,
    run_packed,
)
from riemtr.sweep.table import Table, as_record, from_records

Cost = Callable[[Mapping[str, Any]], float]
"""``cost(settings)``: time a cell takes, in any unit."""

# Packages that a result depends on beside those that any does.
_PACKAGES = ("joblib", "distributed")
# Values listed in an error.
_LISTED = 6


def sweep(
    task: Task,
    grid: Mapping[str, Iterable[Any]] | Iterable[Mapping[str, Any]],
    *,
    repetitions: int = 1,
    seeds: Iterable[int] | None = None,
    store: str | os.PathLike[str] | None = None,
    resume: bool = False,
    retry_failed: bool = False,
    accept_changes: bool = False,
    backend: str = "serial",
    n_jobs: int | None = None,
    scheduler: str | None = None,
    cost: Cost | None = None,
    progress: bool | Watcher = False,
    tries: int = 3,
    max_seconds: float = math.inf,
    name: str | None = None,
) -> Table:
    """Run a task for every setting of a grid, several times each.

    Each cell (a setting with a seed) draws its random numbers from a generator that depends on
    the task's name, the settings and the seed alone, and runs with one BLAS thread: the results
    are the same on any backend, in any order and with any number of workers. A cell that fails is
    recorded with its error, and does not stop the others.

    Parameters
    ----------
    task : callable
        A function of a module, ``task(rng, **settings)``, that returns a dict of numbers, strings
        or truth values; ``rng`` is a `numpy.random.Generator`.
    grid : mapping or list of mappings
        The values of each setting, all combinations of which are run; or the settings one by one.
    repetitions : int
        How often each setting is run: with the seeds 0, 1, ...
    seeds : iterable of int, optional
        The seeds themselves, instead.
    store : path, optional
        A file to keep every outcome in as soon as it is there; :func:`read` reads it. It
        survives a killed run and a full disk, and takes one run at a time. See
        :mod:`riemtr.store`.
    resume : bool
        Continue a store that exists: only what is missing is run. The grid may have grown.
    retry_failed : bool
        Resume, and run the cells again that failed.
    accept_changes : bool
        Resume though the code of the task was changed since, which is otherwise refused: what is
        in the store stays as it is. Code is the task's own and that of the functions it uses of
        its module; a change elsewhere goes unnoticed.
    backend : {"serial", "processes", "dask"}
        This process, several on this machine (extra ``parallel``), or a Dask cluster (``dask``).
    n_jobs : int, optional
        How many processes; as many as there are cores if not given, or -1.
    scheduler : str, optional
        Address of a Dask scheduler, such as ``tcp://10.0.0.1:8786``; if not given, a cluster is
        started on this machine.
    cost : callable, optional
        ``cost(settings)``: how long a cell takes, in any unit. The largest are run first.
    progress : bool or callable
        Show progress, or call it with a :class:`riemtr.progress.Progress` at the start and whenever
        cells have ended, with the :class:`Outcome` of the last one as its detail.
    tries : int
        How often a cell may kill the worker that runs it.
    max_seconds : float
        Time for one cell; one that takes longer has failed. Code that cannot be interrupted is
        ended with its process, where it has one.
    name : str, optional
        Of the task, part of what makes a cell; its module and name if not given.

    Returns
    -------
    Table
        The cells of the grid in its order.

    Examples
    --------
    >>> import riemtr
    >>> from riemtr.sweep import sweep
    >>> def smallest(rng, n, solver):
    ...     case = riemtr.problems.build("rayleigh", rng=rng, n=n)
    ...     method = {"exact": riemtr.ExactTRM, "practical": riemtr.PracticalTRM}[solver]()
    ...     result = method.solve(case.problem, case.start)
    ...     return {"gap": result.cost - case.truth.cost, "converged": result.converged}
    >>> table = sweep(smallest, {"n": [5, 10], "solver": ["exact", "practical"]}, repetitions=3)
    >>> len(table), list(table.columns)[:4]
    (12, ['n', 'solver', 'seed', 'gap'])
    >>> bool(table.columns["converged"].all()), table.rows[0]["n"]
    (True, 5)
    """
    _check_task(task)
    integer("tries", tries, low=1)
    chosen = range(integer("repetitions", repetitions, low=1)) if seeds is None else seeds
    task_name = name or f"{task.__module__}:{task.__qualname__}"
    cells = make_cells(task_name, grid, chosen)
    _check_arguments(task, cells[0])
    path = None if store is None else Path(store)
    check_backend(backend, n_jobs, scheduler)
    if max_seconds != math.inf:
        check_positive("max_seconds", max_seconds, " or inf")
    ordered = _largest_first(cells, cost)
    made: Record = {"code": source_of(task), "environment": environment(*_PACKAGES)}
    resume = resume or retry_failed or accept_changes
    with (
        nullcontext() if path is None else made_folder(path.parent),
        Store(path, {"task": task_name}, resume=resume) as records,
        watching(progress) as watch,
    ):
        with reading(path or "the store", "the store of a sweep"):
            known, origins = from_records(task_name, records.records)
        _check_cells(path, known, cells)
        missing = [cell for cell in ordered if _is_missing(cell, known, retry_failed)]
        if not accept_changes:
            again = {cell.key for cell in missing}
            _check_code(path, origins, again, made["code"])
        begin, done, total = time.perf_counter(), len(cells) - len(missing), len(cells)
        made_with = f"made with {digest(made)}"

        def keep(ended: list[tuple[Cell, Outcome | BaseException]]) -> None:
            nonlocal done
            outcomes = [
                one if isinstance(one, Outcome) else Outcome(cell, {}, describe(one))
                for cell, one in ended
            ]
            new = {one.cell.key: as_record(one, made_with) for one in outcomes}
            records.keep(new if made_with in records.records else {made_with: made, **new})
            for outcome in outcomes:
                known[outcome.cell.key] = outcome
                done += 1
                watch(Progress("cells", done, total, time.perf_counter() - begin, outcome))

        watch(Progress("cells", done, total, 0.0))
        how = (backend, n_jobs, scheduler) if missing else ("serial", None, None)
        work = partial(run_cell, task)
        if how[0] != "serial":
            work = partial(run_packed, packed(task, by_value=scheduler is not None))
        try:
            with hired(*how) as workers:
                run_all(work, missing, workers, keep, tries=tries, max_seconds=max_seconds)
        except KeyboardInterrupt:
            where = "nowhere, for want of a store" if path is None else f"in {str(path)!r}"
            ended = f": {done} of {total} cells are kept {where}"
            if not done:
                ended = f" before the first cell had ended{'' if path is None else f' {where}'}"
            raise KeyboardInterrupt(
                f"interrupted{ended}; repeat with resume=True to run the others"
            ) from None
        return Table(tuple(known[cell.key] for cell in cells), records.damaged)


def _largest_first(cells: Sequence[Cell], cost: Cost | None) -> list[Cell]:
    """Return the cells by falling cost, so that no large one is left for the end."""
    if cost is None:
        return list(cells)
    if not callable(cost):
        raise ArgumentError("cost", "be a function of the settings", cost)
    costs = {cell.key: cost(cell.settings) for cell in cells}
    for cell in cells:
        if not (costs[cell.key] > 0 and math.isfinite(costs[cell.key])):
            needs = f"be positive and finite for every cell, {cell} as well"
            raise ArgumentError("cost", needs, costs[cell.key])
    return sorted(cells, key=lambda cell: -costs[cell.key])


def _check_cells(path: Path | None, known: dict[str, Outcome], cells: Sequence[Cell]) -> None:
    """Raise an error where a store has cells that the grid has not: it is of another experiment."""
    wanted = {cell.key for cell in cells}
    strangers = [one.cell for key, one in known.items() if key not in wanted]
    if not strangers:
        return
    theirs, ours = _values(strangers), _values(cells)
    there, here = {}, {}
    for name in dict.fromkeys([*theirs, *ours]):
        mine = ours.get(name, ["not set"])
        other = [value for value in theirs.get(name, ["not set"]) if value not in mine]
        if other:
            there[name], here[name] = _listed(other), _listed(mine)
    different = "; ".join(difference(there, here)) or f"{strangers[0]} is there and not here"
    raise ValueError(
        f"store {str(path)!r} belongs to another experiment: {different}; repeat that grid, extend "
        f"it by further values, or choose another store"
    )


def _values(cells: Sequence[Cell]) -> dict[str, list[str]]:
    """Return the values of each setting, and the seeds, each once."""
    found: dict[str, dict[str, None]] = {}
    for cell in cells:
        for name, value in {**cell.settings, SEED: cell.seed}.items():
            found.setdefault(name, {})[repr(value)] = None
    return {name: list(values) for name, values in found.items()}


def _listed(values: Sequence[str]) -> str:
    more = [f"... ({len(values)} values)"] if len(values) > _LISTED else []
    return ", ".join([*values[:_LISTED], *more])


def _check_code(path: Path | None, origins: dict[str, Record], again: set[str], code: str) -> None:
    """Raise an error where outcomes that stay are of other code than what is to be run."""
    codes = [made["code"] for key, made in origins.items() if key not in again]
    others = sum(is_other_source(code, one) for one in codes)
    if others:
        raise ValueError(
            f"store {str(path)!r} has results of other code: the task was changed since {others} "
            f"of its {len(codes)} cells were run, or is another function of the same name; choose "
            f"another store to run them all with this code, or keep them with accept_changes=True"
        )


def _is_missing(cell: Cell, known: dict[str, Outcome], retry_failed: bool) -> bool:
    outcome = known.get(cell.key)
    return outcome is None or (retry_failed and outcome.failure is not None)


def _check_task(task: Any) -> None:
    if not inspect.isfunction(task) or "<" in task.__qualname__:
        needs = "be a function of a module, so that every worker finds it and resuming knows it"
        raise ArgumentError("task", needs, task, "define it with def, outside of other functions")


def _check_arguments(task: Task, cell: Cell) -> None:
    """Find out before the first cell that the settings are not those the task takes."""
    signature = inspect.signature(task)
    try:
        signature.bind(None, **cell.settings)
    except TypeError as error:
        needs = f"set what the task takes beside rng, {task.__name__}{signature}"
        got = ", ".join(cell.settings) or "nothing"
        raise ArgumentError("grid", f"{needs}; got {got}: {error}") from None
