"""Recovery on a cluster of two processes: who holds what, and a worker killed in the middle."""

import os
import signal
import time
from contextlib import contextmanager

import dask
import dask.array as da
import numpy as np
import pytest
from distributed import Client, LocalCluster

from riemtr.data import Conditioned
from riemtr.data.blocks import as_data
from riemtr.data.dask_arrays import add_up
from riemtr.recovery import recover_dictionary

N, P, WIDTH = 3, 1200, 240

pytestmark = pytest.mark.skipif(os.name != "posix", reason="kill -9")


@contextmanager
def cluster_of(workers):
    options = {"n_workers": workers, "processes": True, "threads_per_worker": 1}
    with (
        LocalCluster(**options, dashboard_address=":0", silence_logs=50) as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def client():
    with cluster_of(2) as client:
        yield client


@pytest.fixture(autouse=True)
def _in_chunks_as_they_come(monkeypatch):
    monkeypatch.setattr("riemtr.data.dask_arrays._JOINED", 0)


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


def offsets(block, first, point, pair):
    """How far from the cache line before them the arrays of a visit begin."""
    return ([each.ctypes.data % 64 for each in (block, point, *pair)],)


def grammian(block, first):
    return (block @ block.T,)


def test_visits_see_aligned_arrays_though_messages_put_them_anywhere(client):
    rng = np.random.default_rng(1)
    Y = da.from_array(rng.standard_normal((6, 6000)), chunks=(6, 1500))
    point = rng.standard_normal(6)
    pair = (point[:3], np.arange(3))
    grams = []
    for _ in range(3):
        kept = as_data(Y).kept()
        assert kept.total(offsets, point, pair, merge=add_up)[0] == [0] * 16
        grams.append(kept.total(grammian)[0].tobytes())
    assert grams == grams[:1] * 3


def bits(found):
    arrays = (found.dictionary, found.directions, found.coefficients.compute())
    return [array.tobytes() for array in arrays]


def test_any_cluster_gives_the_same_bits_and_is_not_needed_for_the_coefficients(client, caplog):
    """Two workers, one, or none; noise leaves rounding errors to see."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((2, 400)) * (rng.random((2, 400)) < 0.2)
    Y = da.from_array(X + 1e-3 * rng.standard_normal(X.shape), chunks=(2, 100))
    expected = bits(recover_dictionary(Y, rng=0))
    with cluster_of(1):
        found = recover_dictionary(Y, rng=0)
    with dask.config.set(scheduler="synchronous"):
        assert bits(found) == expected
        assert bits(recover_dictionary(Y, rng=0)) == expected
    assert "run_spec" not in caplog.text  # Dask's warning of two tasks of one name


def test_no_worker_holds_all_of_the_data(client, expected):
    """Looked at after every row: the whitened blocks are spread, and there is one copy of each.

    Where they go is Dask's decision, which on a busy machine may be one worker for all of these
    five: of three recoveries one has to be spread.
    """
    for _ in range(3):
        if _one_copy_each(client, expected):
            return
    pytest.fail("one worker held all of the data, three times")


def _one_copy_each(client, expected):
    """Recover, check that there is one copy of each block, and return whether they are spread."""
    seen = []

    block = 8 * N * WIDTH
    most = 8 * N * P + 2 * block

    def look(progress):
        if progress.stage not in ("solve", "inspect", "report"):
            return
        for _ in range(40):  # what a visit returned goes when the scheduler gets to it
            workers = client.run(held)
            if sum(size for sizes in workers.values() for size in sizes) < most:
                break
            time.sleep(0.05)
        seen.append(workers)

    found = recover_dictionary(data(), rng=0, n_jobs=2, progress=look)
    same(found, expected)
    assert len(seen) >= 3
    for workers in seen:
        assert len(workers) == 2
        sizes = sorted(size for sizes in workers.values() for size in sizes)
        assert sizes[-P // WIDTH :] == [block] * (P // WIDTH)
        # Besides, only what visits left for a moment.
        assert sum(sizes) < most
    assert found.coefficients.chunks == ((N,), (WIDTH,) * (P // WIDTH))
    return all(sum(sizes) < 8 * N * P for workers in seen for sizes in workers.values())


def test_workers_killed_in_the_middle_change_nothing(client, expected):
    """With kill -9, first one, then the one that had taken over: all is computed again."""
    first, second = client.run(os.getpid).items()
    lost, killed = [], []

    def kill(progress):
        for stage, (address, process) in (("inspect", first), ("report", second)):
            if progress.stage == stage and process not in killed:
                killed.append(process)
                lost.append(sum(client.run(held, workers=[address])[address]))
                os.kill(process, signal.SIGKILL)

    found = recover_dictionary(data(), rng=0, progress=kill)
    assert len(lost) == 2
    assert min(lost) > 0
    same(found, expected)
    client.wait_for_workers(2)
    assert not {first[1], second[1]} & set(client.run(os.getpid).values())
