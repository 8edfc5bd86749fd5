"""Tasks for the tests of sweeps: functions of a module, as workers need them."""

import os
import signal
import time
import uuid
from pathlib import Path

import numpy as np


def draw(rng, n):
    return {"x": rng.random(), "twice": 2 * n}


def counted(rng, folder, n):
    """Leave a file behind for every call."""
    Path(folder, f"{n}-{uuid.uuid4()}").touch()
    return {"x": rng.random()}


def products(rng, n):
    """Numbers whose last bits depend on how BLAS sums."""
    matrix = rng.standard_normal((n, 3 * n))
    gram = matrix @ matrix.T
    return {
        "norm": np.linalg.norm(gram @ gram),
        "smallest": np.linalg.eigvalsh(gram)[0],
        "sum": (matrix.T @ rng.standard_normal(n)).sum(),
    }


def picky(rng, n, folder):
    """Fail where n is 3, until somebody mends it."""
    if n == 3 and not Path(folder, "mended").exists():
        raise RuntimeError(f"cannot do {n}")
    return {"x": rng.random()}


def deadly(rng, n):
    """Kill the worker where n is 3."""
    if n == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.02)
    return {"x": rng.random()}


def slow(rng, n, pause):
    time.sleep(pause)
    return {"x": rng.random(), "pid": os.getpid()}


def threads(rng):
    """The most threads that a library would use."""
    import threadpoolctl

    return {"threads": max(pool["num_threads"] for pool in threadpoolctl.threadpool_info())}


def surroundings(rng):
    """What a worker's libraries will find, and what Ctrl-C does to it."""
    names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
    return {
        "variables": " ".join(os.environ.get(name, "none") for name in names),
        "ignores": signal.getsignal(signal.SIGINT) is signal.SIG_IGN,
    }


def summary(table):
    """What must not depend on how a sweep was run."""
    return [(str(o.cell), o.values, o.failure and o.failure.kind) for o in table.outcomes]
