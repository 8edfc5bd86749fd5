"""Large recoveries: many rows, many samples, two threads, two Dask workers; against ICA.

Exactly sparse data, theta = 0.2, a Gaussian dictionary. FastICA (scikit-learn, its default
tolerance) and Picard-O (to 1e-6) get the same data and find nothing exactly.

    python -m benchmarks.scale [--quick] [--rows 256 50000] [--samples 100 500000] [--repeats 1]
"""

from __future__ import annotations

import argparse
import logging
import time
import warnings
from collections.abc import Callable
from typing import Any

from benchmarks.timing import one_blas_thread, settings

one_blas_thread()

import numpy as np  # noqa: E402
from picard import picard  # noqa: E402
from sklearn.decomposition import FastICA  # noqa: E402

from riemtr.data import dictionary_error  # noqa: E402
from riemtr.recovery import recover_dictionary  # noqa: E402


def draw(n: int, p: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a dictionary and data, block by block."""
    rng = np.random.default_rng(0)
    A, Y = rng.standard_normal((n, n)), np.empty((n, p))
    for first in range(0, p, 20_000):
        count = min(20_000, p - first)
        X = rng.standard_normal((n, count)) * (rng.random((n, count)) < 0.2)
        Y[:, first : first + count] = A @ X
    return A, Y


def timed(task: Callable[[], Any]) -> tuple[Any, float]:
    """Return what a task returns, and its seconds."""
    begin = time.perf_counter()
    return task(), time.perf_counter() - begin


def against_ica(n: int, p: int, with_picard: bool) -> None:
    """Print one line for each method."""
    A, Y = draw(n, p)
    found, seconds = timed(lambda: recover_dictionary(Y, rng=0))
    error = dictionary_error(found.dictionary, A)
    print(
        f"n = {n}, p = {p}: riemtr {seconds:.1f} s, {found.count('proved')} rows proved, error "
        f"{error:.0e}",
        flush=True,
    )
    _, two = timed(lambda: recover_dictionary(Y, rng=0, n_jobs=2))
    print(f"    n_jobs=2: {two:.1f} s, {seconds / two:.2f}x", flush=True)
    ica, took = timed(lambda: FastICA(whiten="unit-variance", random_state=0).fit(Y.T))
    ica_error = dictionary_error(ica.mixing_, A)
    print(
        f"    FastICA: {took:.1f} s, error {ica_error:.0e}; riemtr {seconds / took:.2f}x its time"
    )
    if with_picard:
        (_, _, _), took = timed(
            lambda: picard(Y, ortho=True, tol=1e-6, max_iter=500, random_state=0, centering=False)
        )
        print(f"    Picard-O: {took:.1f} s; riemtr {seconds / took:.2f}x its time", flush=True)


def on_a_cluster(n: int, p: int) -> None:
    """Print the time on two Dask workers beside that in memory."""
    import dask.array as da
    from distributed import Client, LocalCluster, wait

    _, Y = draw(n, p)
    options: dict[str, Any] = {"dashboard_address": ":0", "silence_logs": logging.CRITICAL}
    with (
        LocalCluster(n_workers=2, processes=True, threads_per_worker=1, **options) as cluster,
        Client(cluster) as client,
    ):
        spread = client.persist(da.from_array(Y, chunks=(n, -(-p // 8))))
        wait(spread)
        for _ in range(3):
            far, there = timed(lambda: recover_dictionary(spread, rng=0))
            near, here = timed(lambda: recover_dictionary(Y, rng=0))
            apart = float(np.abs(far.dictionary - near.dictionary).max())
            print(
                f"n = {n}, p = {p}: two Dask workers {there:.1f} s, in memory {here:.1f} s, "
                f"{there / here:.2f}x; dictionaries {apart:.0e} apart",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small data, no Picard-O")
    parser.add_argument("--rows", type=int, nargs=2, default=[256, 50_000])
    parser.add_argument("--samples", type=int, nargs=2, default=[100, 500_000])
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    print(settings())
    if arguments.quick:
        against_ica(20, 20_000, with_picard=False)
        return
    against_ica(*arguments.rows, with_picard=True)
    against_ica(*arguments.samples, with_picard=False)
    on_a_cluster(40, 400_000)


if __name__ == "__main__":
    main()
