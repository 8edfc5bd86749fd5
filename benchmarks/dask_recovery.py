"""Recovery from a Dask array on a cluster of two processes, against the same array in memory.

The data are drawn by the workers, block by block, and a worker is killed (kill -9) half-way. Says
how far the two dictionaries are apart, what each took, how much of Y a worker held at most before
it was killed, and the most that came back to the client at once. A cluster on one machine is there
to show this, not to be fast: its round trips cost more than the arithmetic.

    python -m benchmarks.dask_recovery [--quick]
"""

from __future__ import annotations

import argparse
import logging
import os
import pickle
import signal
from typing import Any

from benchmarks.timing import one_blas_thread, settings

one_blas_thread()

import dask.array as da  # noqa: E402
import numpy as np  # noqa: E402
from distributed import Client, LocalCluster  # noqa: E402

from riemtr.data import Conditioned  # noqa: E402
from riemtr.data.dask_arrays import Partitioned  # noqa: E402
from riemtr.recovery import Progress, recover_dictionary  # noqa: E402


def draw(n: int, p: int, blocks: int) -> Any:
    """Return A X as a Dask array: X Bernoulli-Gaussian, A of condition number 10."""
    rng = da.random.default_rng(0)
    size, chunks = (n, p), (n, -(-p // blocks))
    X = rng.standard_normal(size, chunks=chunks) * (rng.random(size, chunks=chunks) < 0.2)
    return da.from_array(Conditioned(10.0).matrix(n, np.random.default_rng(0))) @ X


def held(dask_worker: Any) -> int:
    """Bytes of arrays in the memory of a worker."""
    return sum(getattr(value, "nbytes", 0) for value in dask_worker.data.values())


class Witness:
    """Watches a recovery: bytes per worker and per answer; kills a worker half-way."""

    def __init__(self, client: Client):
        self.client = client
        self.most, self.visits, self.largest = 0, 0, 0
        self.killed = False

    def progress(self, progress: Progress) -> None:
        if not self.killed:
            self.most = max(self.most, *self.client.run(held).values())
        if progress.stage == "solve" and 2 * progress.done >= progress.total and not self.killed:
            self.killed = True
            os.kill(next(iter(self.client.run(os.getpid).values())), signal.SIGKILL)

    def recover(self, Y: Any) -> Any:
        original = Partitioned.total

        def counted(data: Partitioned, *arguments: Any, **options: Any) -> Any:
            answer = original(data, *arguments, **options)
            self.visits += 1
            self.largest = max(self.largest, len(pickle.dumps(answer)))
            return answer

        Partitioned.total = counted  # type: ignore[method-assign]
        try:
            return recover_dictionary(Y, rng=0, n_jobs=2, progress=self.progress)
        finally:
            Partitioned.total = original  # type: ignore[method-assign]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="n = 5, p = 400,000")
    quick = parser.parse_args().quick
    n, p, blocks = (5, 400_000, 5) if quick else (20, 200_000, 8)
    Y = draw(n, p, blocks)
    with (
        LocalCluster(
            n_workers=2,
            processes=True,
            threads_per_worker=1,
            dashboard_address=":0",
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster) as client,
    ):
        witness = Witness(client)
        found = witness.recover(Y)
        values = found.coefficients.compute(), Y.compute()  # for the comparison only
    expected = recover_dictionary(values[1], rng=0)
    apart = float(np.abs(found.dictionary - expected.dictionary).max())
    X_apart = float(np.abs(values[0] - expected.coefficients).max())
    print(settings())
    print(f"n = {n}, p = {p}, {blocks} blocks: Y takes {Y.nbytes / 1e6:.1f} MB")
    print(f"largest difference: dictionary {apart:.1e}, coefficients {X_apart:.1e}")
    print(
        f"certified rows: {sum(atom.certified for atom in found.atoms)} of {n}, one worker killed"
    )
    print(f"seconds: {found.seconds:.1f} on the cluster, {expected.seconds:.1f} in memory")
    print(f"most that a worker held: {witness.most / Y.nbytes:.0%} of Y")
    print(
        f"visits to the blocks: {witness.visits}; largest answer to the client: "
        f"{witness.largest / 1e3:.0f} kB, {witness.largest / Y.nbytes:.1%} of Y"
    )
    if not apart <= 1e-10:
        raise SystemExit("the dictionaries differ by more than 1e-10")


if __name__ == "__main__":
    main()
