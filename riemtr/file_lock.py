"""One writer at a time: a lock beside a file, released even where its holder is killed."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

# Where a file system knows no such locks.
_UNSUPPORTED = {errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL}


class StoreInUseError(OSError):
    """Another run is writing to the same store."""


@contextmanager
def only_writer(path: Path) -> Iterator[None]:
    """Hold the lock of a file; an error that names the holder if there is another.

    The operating system releases the lock of a process that was killed. Where it has no such
    locks, the lock is a file that exists, and one left behind must be removed by hand.
    """
    lock = path.with_name(f".{path.name}.lock")
    descriptor = _acquire(lock, path)
    try:
        yield
    finally:
        # Removed while still held; _acquire sees to those that had opened it already. Windows
        # removes no file that is open, and has no lock on it to keep.
        if fcntl is None:
            os.close(descriptor)
        lock.unlink(missing_ok=True)
        if fcntl is not None:
            os.close(descriptor)


def _acquire(lock: Path, path: Path) -> int:
    while fcntl is not None:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(descriptor)
            if error.errno in _UNSUPPORTED:
                lock.unlink(missing_ok=True)
                break
            if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                raise
            raise _in_use(lock, path, "") from None
        if _is_current(descriptor, lock):
            _sign(descriptor)
            return descriptor
        os.close(descriptor)  # the holder before removed it between our opening and our locking
    return _acquire_by_existence(lock, path)


def _acquire_by_existence(lock: Path, path: Path) -> int:
    try:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
    except FileExistsError:
        hint = f"; if that run is gone, remove {str(lock)!r}"
        raise _in_use(lock, path, hint) from None
    _sign(descriptor)
    return descriptor


def _is_current(descriptor: int, lock: Path) -> bool:
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(descriptor), os.stat(lock))
    return False


def _sign(descriptor: int) -> None:
    """Say who holds the lock; on a full disk it is held without a name."""
    with suppress(OSError):
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"process {os.getpid()} on {socket.gethostname()}".encode())


def _in_use(lock: Path, path: Path, hint: str) -> StoreInUseError:
    holder = ""
    with suppress(OSError):
        holder = lock.read_text(errors="replace").strip()
    return StoreInUseError(
        f"store {str(path)!r} is in use by another run ({holder or 'unknown process'}): wait for "
        f"it to end, or choose another store{hint}"
    )
