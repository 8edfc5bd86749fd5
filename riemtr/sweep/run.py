"""The sweep itself: what is missing is run, what has ended is kept."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from riemtr.arguments import integer
from riemtr.interrupts import interrupts_ignored
from riemtr.sweep.cells import Cell, Task, make_cells
from riemtr.sweep.crews import Crew, check_backend, hire
from riemtr.sweep.fingerprint import fingerprint
from riemtr.sweep.outcomes import Outcome
from riemtr.sweep.progress import Cost, Estimate, Progress, largest_first
from riemtr.sweep.schedule import run_all
from riemtr.sweep.store import Store, open_store
from riemtr.sweep.table import Table

Observer = Callable[[Progress], None]


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
    workers: int | None = None,
    scheduler: str | None = None,
    cost: Cost | None = None,
    progress: Observer | None = None,
    tries: int = 3,
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
        survives a killed run and a full disk, and takes one run at a time.
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
    workers : int, optional
        How many; as many as there are cores if not given.
    scheduler : str, optional
        Address of a Dask scheduler, such as ``tcp://10.0.0.1:8786``; if not given, a cluster is
        started on this machine.
    cost : callable, optional
        ``cost(settings)``: how long a cell takes, in any unit. The largest are run first, and the
        estimate of the time left begins with it.
    progress : callable, optional
        Gets a :class:`Progress` at the start and whenever cells have ended.
    tries : int
        How often a cell may kill the worker that runs it.
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
    >>> table
    <Table: 12 cells; columns n, solver, seed, gap, converged, cell_seconds, failure>
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
    check_backend(backend, workers, scheduler)
    if cost is not None and not callable(cost):
        raise ValueError(f"cost must be a function of the settings; got {cost!r}")
    resume = resume or retry_failed or accept_changes
    code = fingerprint(task)
    with open_store(
        path,
        task_name,
        cells,
        resume=resume,
        retry_failed=retry_failed,
        code=code,
        accept_changes=accept_changes,
    ) as kept:
        missing = [cell for cell in cells if _is_missing(cell, kept, retry_failed)]
        if missing:
            with _sent_home(hire(task, backend, workers, scheduler)) as crew:
                _run(cells, missing, crew, kept, cost, progress or _ignore, tries)
        elif progress is not None:
            progress(Estimate(cells, cost, kept.outcomes, workers=1).progress())
        return Table(tuple(kept.outcomes[cell.key] for cell in cells), kept.damaged)


def _run(
    cells: Sequence[Cell],
    missing: Sequence[Cell],
    crew: Crew,
    kept: Store,
    cost: Cost | None,
    progress: Observer,
    tries: int,
) -> None:
    """Run what is missing, keep it, and report."""
    again = {cell.key for cell in missing}
    past = {key: outcome for key, outcome in kept.outcomes.items() if key not in again}
    estimate = Estimate(cells, cost, past, crew.workers)
    progress(estimate.progress())

    def keep(outcomes: Sequence[Outcome]) -> None:
        if outcomes:
            kept.append(outcomes)
        for outcome in outcomes:
            progress(estimate.note(outcome))

    try:
        run_all(largest_first(missing, cost), crew, keep, tries)
    except KeyboardInterrupt:
        now = estimate.progress()
        if now.done == 0:
            raise KeyboardInterrupt("interrupted before the first cell had ended") from None
        where = "nowhere, for want of a store" if kept.path is None else f"in {str(kept.path)!r}"
        raise KeyboardInterrupt(
            f"interrupted: {now.done} of {now.total} cells are kept {where}; repeat with resume to "
            f"run the others"
        ) from None


@contextmanager
def _sent_home(crew: Crew) -> Iterator[Crew]:
    """Close a crew at the end; who presses Ctrl-C once more leaves no process behind."""
    try:
        yield crew
    finally:
        with interrupts_ignored():
            crew.close()


def _is_missing(cell: Cell, kept: Store, retry_failed: bool) -> bool:
    known = kept.outcomes.get(cell.key)
    return known is None or (retry_failed and known.failure is not None)


def _ignore(progress: Progress) -> None:
    """Report to nobody."""


def _check_task(task: Any) -> None:
    if not inspect.isfunction(task) or "<" in task.__qualname__:
        raise ValueError(
            f"task must be a function of a module, so that every worker finds it and resuming "
            f"recognises it; got {task!r}; define it with def, outside of other functions"
        )


def _check_arguments(task: Task, cell: Cell) -> None:
    """Find out before the first cell that the settings are not those the task takes."""
    signature = inspect.signature(task)
    try:
        signature.bind(None, **cell.settings)
    except TypeError as error:
        raise ValueError(
            f"grid must set what the task takes beside rng, {task.__name__}{signature}; got "
            f"{', '.join(cell.settings) or 'nothing'}: {error}"
        ) from None
