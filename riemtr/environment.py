"""The environment of a computation or a measurement: versions, processors, BLAS."""

from __future__ import annotations

import os
import platform
from importlib import metadata
from typing import Any

from riemtr.errors import MissingExtraError, require

_PACKAGES = ("riemtr", "numpy", "scipy", "pymanopt", "autograd")


def environment(*packages: str) -> dict[str, Any]:
    """Return what a measurement depends on, as JSON knows it.

    Parameters
    ----------
    *packages : str
        Further packages whose versions matter.

    Examples
    --------
    >>> sorted(environment())
    ['blas', 'cores', 'machine', 'packages', 'python', 'system']
    """
    return {
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in (*_PACKAGES, *packages)},
        "system": platform.system(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "blas": _blas(),
    }


def usable_cores() -> int:
    """Return how many processors this process may use.

    Examples
    --------
    >>> 1 <= usable_cores() <= os.cpu_count()
    True
    """
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _blas() -> list[dict[str, Any]]:
    """The BLAS libraries in use; none where ``threadpoolctl`` is not there to ask."""
    try:
        pools = require("threadpoolctl", extra="parallel").threadpool_info()
    except MissingExtraError:
        return []
    found = {
        (pool["internal_api"], pool.get("version"), pool["num_threads"])
        for pool in pools
        if pool["user_api"] == "blas"
    }
    return [
        {"name": name, "version": version, "threads": threads}
        for name, version, threads in sorted(found, key=str)
    ]
