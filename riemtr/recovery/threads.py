"""How many threads BLAS may use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import Any

from riemtr.errors import MissingExtraError, require

# Entries of the data from which products with them are worth more than one thread.
_WORTH_THREADS = 10**7


@contextmanager
def blas_threads_for(entries: int) -> Iterator[None]:
    """Hold BLAS to one thread for small data, whose products end before its threads have woken.

    They wait by spinning, which slows a recovery several times over. Needs ``threadpoolctl`` from
    the extra ``parallel``; without it, set ``OPENBLAS_NUM_THREADS=1`` before starting Python.
    """
    limits: Any = nullcontext()
    if entries < _WORTH_THREADS:
        with suppress(MissingExtraError):
            limits = require("threadpoolctl", extra="parallel").threadpool_limits(1)
    with limits:
        yield
