"""Two workers against one, on the trials of a phase transition, kept in a store.

The same cells are run with one process and with two in turn, so that both see the same machine.
Starting processes is not counted: the clock begins when each of them has ended its first cell.

    python -m benchmarks.sweep_throughput [--quick]
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.timing import one_blas_thread, settings

one_blas_thread()

from riemtr.sweep import Progress, Table, sweep  # noqa: E402
from riemtr.sweep.phase_transition import PhaseTransition, expected_cost, trial  # noqa: E402


def task(rng: Any, **settings: Any) -> dict[str, Any]:
    return {**trial(rng, **settings), "worker": os.getpid()}


class Stopwatch:
    """Cells per second, once all workers are at work: a progress callback."""

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self.at_work: set[int] = set()
        self.ended: list[float] = []

    def __call__(self, progress: Progress) -> None:
        if progress.latest is not None:
            self.at_work.add(progress.latest.values["worker"])
            if len(self.at_work) == self.workers:
                self.ended.append(time.perf_counter())

    @property
    def rate(self) -> float:
        if len(self.ended) < 2:
            return float("nan")  # all was done before the last worker had started
        return (len(self.ended) - 1) / (self.ended[-1] - self.ended[0])


def cells(n: int, count: int) -> list[dict]:
    """Settings of like size: up to half of the entries nonzero, where recovery succeeds."""
    sparsity = [1 + i * n // (2 * count) for i in range(count)]
    return [{"n": n, "k": k, "p": 5 * n * n, **PhaseTransition().common} for k in sparsity]


def run(grid: list[dict], repetitions: int, workers: int) -> tuple[float, Table]:
    watch = Stopwatch(workers)
    with tempfile.TemporaryDirectory() as folder:
        table = sweep(
            task,
            grid,
            repetitions=repetitions,
            backend="processes",
            workers=workers,
            store=Path(folder) / "cells.jsonl",
            cost=expected_cost,
            progress=watch,
        )
    return watch.rate, table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="one round of small cells")
    chosen = parser.parse_args()
    n, count, repetitions, rounds = (30, 5, 20, 1) if chosen.quick else (60, 10, 12, 5)
    grid = cells(n, count)
    print(settings())
    print(f"\n{len(grid) * repetitions} trials, n = {n}, p = {5 * n * n}, {rounds} rounds")
    ratios, values = [], []
    for _ in range(rounds):
        (one, first), (two, second) = (run(grid, repetitions, workers) for workers in (1, 2))
        ratios.append(two / one)
        values += [[o.values["error"] for o in table.outcomes] for table in (first, second)]
        print(f"one worker {one:6.1f} cells/s, two {two:6.1f} cells/s, ratio {two / one:.2f}")
    load = f"load of the machine {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    same = all(value == values[0] for value in values)
    print(f"median ratio {statistics.median(ratios):.2f}; same results: {same}; {load}")


if __name__ == "__main__":
    main()
