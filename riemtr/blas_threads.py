"""BLAS and OpenMP held to one thread."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from riemtr.errors import MissingExtraError, require

# Entries of the data from which products with them are worth more than one thread.
_WORTH_THREADS = 10**7


def one_blas_thread() -> AbstractContextManager[Any]:
    """Hold BLAS and OpenMP to one thread, from the call on; leaving the context sets them free.

    Whoever never enters it keeps them held. OpenMP has a limit for each thread that calls this,
    BLAS one for all of them. Libraries that are loaded afterwards are held by the next call.

    Needs ``threadpoolctl`` from the extra ``parallel``; without it nothing is held: set
    ``OPENBLAS_NUM_THREADS=1`` before starting Python.

    Examples
    --------
    >>> with one_blas_thread():
    ...     pass
    """
    try:
        return _libraries().limit(limits=1)
    except MissingExtraError:
        return nullcontext()


def blas_threads_for(entries: int) -> AbstractContextManager[Any]:
    """Hold BLAS to one thread for small data, whose products end before its threads have woken.

    They wait by spinning, which slows a recovery several times over.
    """
    return one_blas_thread() if entries < _WORTH_THREADS else nullcontext()


_known: tuple[int, Any] = (0, None)


def _libraries() -> Any:
    """Return the libraries to hold, those included that were loaded since the last time."""
    global _known
    # Looking for them takes a millisecond: only where modules were imported since.
    modules, found = _known
    if modules != len(sys.modules):
        found = require("threadpoolctl", extra="parallel").ThreadpoolController()
        _known = len(sys.modules), found  # in one piece: other threads look at it, too
    return found
