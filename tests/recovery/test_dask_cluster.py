"""Recovery on a cluster of two processes: who holds what, and a worker killed in the middle."""

import os
import signal

import dask
import dask.array as da
import numpy as np
import pytest
from distributed import Client, LocalCluster

from riemtr.data import Conditioned
from riemtr.recovery import recover_dictionary

N, P, WIDTH = 3, 1200, 240

pytestmark = pytest.mark.skipif(os.name != "posix", reason="kill -9")


@pytest.fixture(scope="module")
def client():
    options = {"n_workers": 2, "processes": True, "threads_per_worker": 1}
    with (
        LocalCluster(**options, dashboard_address=":0", silence_logs=50) as cluster,
        Client(cluster) as client,
    ):
        yield client


def data():
    """A X, drawn chunk by chunk, wherever its chunks are needed."""
    rng = da.random.default_rng(0)
    shape = {"size": (N, P), "chunks": (N, WIDTH)}
    X = rng.standard_normal(**shape) * (rng.random(**shape) < 0.2)
    return da.from_array(Conditioned(10.0).matrix(N, np.random.default_rng(0))) @ X


@pytest.fixture(scope="module")
def expected():
    """From the same data in memory."""
    with dask.config.set(scheduler="synchronous"):
        Y = data().compute()
    return recover_dictionary(Y, rng=0)


def same(found, expected):
    for name in ("dictionary", "directions", "unmixing", "coefficients"):
        np.testing.assert_allclose(
            np.asarray(getattr(found, name)), getattr(expected, name), atol=1e-10
        )
    assert found.certified
    assert found.trusted


def held(dask_worker):
    """Bytes of every value in the memory of a worker."""
    return [getattr(value, "nbytes", 0) for value in dask_worker.data.values()]


def test_no_worker_holds_all_of_the_data(client, expected):
    """Looked at after every row: the whitened blocks are spread, and there is one copy of each."""
    seen = []
    found = recover_dictionary(
        data(), rng=0, n_jobs=2, progress=lambda _: seen.append(client.run(held))
    )
    same(found, expected)
    assert len(seen) == 2 * N
    block = 8 * N * WIDTH
    for workers in seen:
        assert len(workers) == 2
        assert all(sum(sizes) < 8 * N * P for sizes in workers.values())
        sizes = sorted(size for sizes in workers.values() for size in sizes)
        assert sizes[-P // WIDTH :] == [block] * (P // WIDTH)
        assert sum(sizes) < 8 * N * P + block  # besides, only what visits left for a moment
    assert found.coefficients.chunks == ((N,), (WIDTH,) * (P // WIDTH))


def test_workers_killed_in_the_middle_change_nothing(client, expected):
    """With kill -9, first one, then the one that had taken over: all is computed again."""
    first, second = client.run(os.getpid).items()
    lost = []

    def kill(progress):
        for stage, (address, process) in (("solve", first), ("round", second)):
            if (progress.stage, progress.done) == (stage, 2):
                lost.append(sum(client.run(held, workers=[address])[address]))
                os.kill(process, signal.SIGKILL)

    found = recover_dictionary(data(), rng=0, progress=kill)
    assert len(lost) == 2
    assert min(lost) > 0
    same(found, expected)
    client.wait_for_workers(2)
    assert not {first[1], second[1]} & set(client.run(os.getpid).values())
