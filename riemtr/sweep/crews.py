"""Who runs the cells: this process, other processes, or a Dask cluster.

A crew takes cells and hands back what came of them, in any order. A worker that dies is an outcome
too (:class:`Died`), and leaves the crew fit for further cells.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from riemtr.arguments import integer
from riemtr.blas_threads import one_blas_thread
from riemtr.environment import usable_cores
from riemtr.errors import unknown_name
from riemtr.interrupts import interrupts_noticed
from riemtr.sweep.cells import Cell, Task
from riemtr.sweep.outcomes import Outcome, run_cell
from riemtr.sweep.workers import pack

BACKENDS = ("dask", "processes", "serial")


@dataclass(frozen=True)
class Died:
    """The worker that a cell was given to died."""

    cell: Cell
    reason: str


class Crew(Protocol):
    """Takes cells, hands back outcomes."""

    @property
    def workers(self) -> int:
        """How many cells it runs at once."""

    @property
    def room(self) -> int:
        """How many cells it should be given beforehand, so that no worker has to wait."""

    def submit(self, cell: Cell) -> None:
        """Give it a cell."""

    def collect(self, wait: bool) -> list[Outcome | Died]:
        """Return what has ended; wait until something has, if asked to."""

    def close(self) -> None:
        """Send everybody home; what is still running is given up."""


def check_backend(backend: str, workers: int | None, scheduler: str | None) -> None:
    """Raise an error where the options of a backend do not fit together."""
    if backend not in BACKENDS:
        raise unknown_name("backend", backend, BACKENDS)
    if workers is not None:
        integer("workers", workers, low=1)
    if scheduler is not None and backend != "dask":
        raise ValueError(
            f"scheduler is the address of a Dask cluster, and backend is {backend!r}; use "
            f"backend='dask' with it"
        )
    if scheduler is not None and workers is not None:
        raise ValueError(
            "workers is for a cluster that is started here, and a scheduler has its own; leave "
            "out one of them"
        )
    if backend == "serial" and workers not in (None, 1):
        raise ValueError(
            f"workers must be 1 or None where backend is 'serial'; got {workers}; for more, use "
            f"backend='processes'"
        )


def hire(task: Task, backend: str, workers: int | None, scheduler: str | None) -> Crew:
    """Return the crew of a backend by name; see :func:`riemtr.sweep.sweep`."""
    if backend == "serial":
        return SerialCrew(task)
    if backend == "processes":
        from riemtr.sweep.processes import ProcessCrew

        return ProcessCrew(pack(task), workers or usable_cores())
    from riemtr.sweep.dask_cluster import DaskCrew

    if scheduler is None:
        return DaskCrew.on_this_machine(pack(task), workers or usable_cores())
    return DaskCrew.at(pack(task, by_value=True), scheduler)


class SerialCrew:
    """This process: one cell after the other."""

    workers = 1
    room = 1

    def __init__(self, task: Task):
        self._task = task
        self._cells: list[Cell] = []

    def submit(self, cell: Cell) -> None:
        """Keep the cell until somebody waits for it."""
        self._cells.append(cell)

    def collect(self, wait: bool) -> list[Outcome | Died]:
        """Run one cell."""
        if not (wait and self._cells):
            return []
        cell = self._cells.pop(0)
        # The number of threads can change bits, and workers have one.
        with one_blas_thread(), interrupts_noticed() as interrupted:
            outcome = run_cell(self._task, cell)
        if interrupted():  # a solver ends gracefully there, with a point that is no outcome
            raise KeyboardInterrupt
        return [outcome]

    def close(self) -> None:
        """Nothing is left running."""
