"""How many threads BLAS may use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from riemtr.blas_threads import one_blas_thread

# Entries of the data from which products with them are worth more than one thread.
_WORTH_THREADS = 10**7


@contextmanager
def blas_threads_for(entries: int) -> Iterator[None]:
    """Hold BLAS to one thread for small data, whose products end before its threads have woken.

    They wait by spinning, which slows a recovery several times over. See
    :func:`riemtr.blas_threads.one_blas_thread` for what that needs.
    """
    with one_blas_thread() if entries < _WORTH_THREADS else nullcontext():
        yield
