"""Two workers against one, on the trials of a phase transition, kept in a store.

The same cells are run with one process and with two in turn, so that both see the same machine.
Starting processes is not counted: the clock begins when each of them has ended its first cell. Two
sweeps of one worker each, side by side, show how much of two cores the machine gives.

    python -m benchmarks.sweep_throughput [--quick]
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.timing import one_blas_thread, settings

one_blas_thread()

from riemtr.paper.phases import PhaseTransition, expected_cost, trial  # noqa: E402
from riemtr.sweep import Table, sweep  # noqa: E402


def task(rng: Any, **settings: Any) -> dict[str, Any]:
    return {**trial(rng, **settings), "worker": os.getpid(), "ended": time.time()}


def rate(table: Table, workers: int) -> float:
    """Cells per second, once all workers are at work."""
    order = sorted(table.outcomes, key=lambda outcome: outcome.values["ended"])
    first = {outcome.values["worker"]: i for i, outcome in reversed([*enumerate(order)])}
    ended = [outcome.values["ended"] for outcome in order][max(first.values()) :]
    if len(first) < workers or len(ended) < 2:
        return float("nan")  # all was done before the last worker had started
    return (len(ended) - 1) / (ended[-1] - ended[0])


def cells(n: int, count: int) -> list[dict]:
    """Settings of like size: up to half of the entries nonzero, where recovery succeeds."""
    sparsity = [1 + i * n // (2 * count) for i in range(count)]
    return [{"n": n, "k": k, "p": 5 * n * n, **PhaseTransition().common} for k in sparsity]


def run(grid: list[dict], repetitions: int, workers: int) -> tuple[float, Table]:
    with tempfile.TemporaryDirectory() as folder:
        table = sweep(
            task,
            grid,
            repetitions=repetitions,
            backend="processes",
            n_jobs=workers,
            store=Path(folder) / "cells.sqlite",
            cost=expected_cost,
        )
    return rate(table, workers), table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="one round of small cells")
    chosen = parser.parse_args()
    n, count, repetitions, rounds = (30, 5, 20, 1) if chosen.quick else (60, 10, 12, 5)
    grid = cells(n, count)
    print(settings())
    print(f"\n{len(grid) * repetitions} trials, n = {n}, p = {5 * n * n}, {rounds} rounds")
    ratios, limits, values = [], [], []
    for _ in range(rounds):
        (one, first), (two, second) = (run(grid, repetitions, workers) for workers in (1, 2))
        with ThreadPoolExecutor(2) as both:
            apart = sum(rate for rate, _ in both.map(run, [grid] * 2, [repetitions] * 2, [1] * 2))
        ratios.append(two / one)
        limits.append(apart / one)
        values += [[o.values["error"] for o in table.outcomes] for table in (first, second)]
        print(
            f"one worker {one:6.1f} cells/s, two {two:6.1f} cells/s, ratio {two / one:.2f}; two "
            f"sweeps side by side {apart:6.1f} cells/s, ratio {apart / one:.2f}"
        )
    load = f"load of the machine {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    same = all(value == values[0] for value in values)
    found, limit = statistics.median(ratios), statistics.median(limits)
    print(f"median ratio {found:.2f}, of two sweeps {limit:.2f}; same results: {same}; {load}")


if __name__ == "__main__":
    main()
