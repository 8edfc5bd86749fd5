"""Side-by-side timing: interleaved repeats, medians, one BLAS thread, printed settings."""

from __future__ import annotations

import math
import os
import statistics
import time
from collections.abc import Callable, Iterable
from typing import Any


def one_blas_thread() -> None:
    """Limit BLAS to one thread; call before numpy is imported."""
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"


def interleaved(
    tasks: dict[str, Callable[[], Any]], repeats: int
) -> tuple[dict[str, float], dict[str, Any]]:
    """Run every task in turn, ``repeats`` times over.

    Returns
    -------
    seconds, values
        Median seconds and the last return value of each task.
    """
    seconds: dict[str, list[float]] = {name: [] for name in tasks}
    values: dict[str, Any] = {}
    for _ in range(repeats):
        for name, task in tasks.items():
            begin = time.perf_counter()
            values[name] = task()
            seconds[name].append(time.perf_counter() - begin)
    return {name: statistics.median(times) for name, times in seconds.items()}, values


def geometric_mean(values: Iterable[float]) -> float:
    """The geometric mean of ratios; nan if there are none."""
    logs = [math.log(value) for value in values]
    return math.exp(statistics.fmean(logs)) if logs else math.nan


def settings() -> str:
    """One line that says what the figures were measured with."""
    from riemtr.environment import environment

    found = environment()
    versions = [f"{name} {version}" for name, version in found["packages"].items() if version]
    blas = [f"{b['name']} {b['version']} ({b['threads']} threads)" for b in found["blas"]]
    parts = [f"Python {found['python']}", *versions, f"{found['cores']} cores"]
    return ", ".join([*parts, *([f"BLAS {', '.join(blas)}"] if blas else [])])
