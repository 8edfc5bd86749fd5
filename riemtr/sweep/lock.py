"""One writer of a store at a time."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

from riemtr import file_lock


class StoreInUseError(file_lock.InUseError):
    """Another run is writing to the same store."""


def only_writer(path: Path) -> AbstractContextManager[None]:
    """Hold the lock of a store; an error that names the holder if there is another."""
    return file_lock.only_writer(path, "store", StoreInUseError)
