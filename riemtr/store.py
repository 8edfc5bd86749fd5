"""One file that keeps finished work, whatever happens to the process, the disk or the file.

A store is an SQLite database of records, the first of which is the identity of the run: what its
results depend on. A record is written in one transaction with a rollback journal, and is on the
disk when :meth:`Store.keep` returns. Each has a checksum, so that a damaged one is missing and
never wrong. SQLite holds the lock that keeps a second writer out, and the operating system
releases it where the writer is killed.
"""

from __future__ import annotations

import glob
import hashlib
import io
import json
import os
import re
import sqlite3
import threading
import time
import warnings
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from riemtr.errors import OtherRunError
from riemtr.files import check_header, created, parsed, partial_path, partial_stem, reading, typed
from riemtr.identity import difference

Record = dict[str, Any]
"""Arrays by name, and whatever JSON knows."""


class Numbers(NamedTuple):
    """An array of numbers in a record: its shape, and whether all of them are finite."""

    shape: tuple[int, ...]
    finite: bool = True


Form = Mapping[str, type | Numbers]
"""The entries of a record by name: arrays, and the types of the others."""

# The bytes "riem" in the header of the file, by which a store is told from other databases.
_APPLICATION = 0x7269656D
# A reader holds the lock for as long as it reads, which a writer waits for.
_SECONDS_TO_WAIT = 0.2
# How often a store that a run is writing to is read before it is called damaged.
_READS = 5
_SECONDS_BETWEEN_READS = 0.05
# A journal of SQLite's begins with these bytes, or with zeros once it is done with.
_JOURNALS = (bytes.fromhex("d9d505f920a163d7"), bytes(8), b"")
_IDENTITY = "identity"
# The identity is written twice: one flipped bit must not cost the whole store.
_COPIES = 2
# The shortest record has more bytes, so that this many records fill at least a page.
_MOST_RECORDS_PER_PAGE = 128
# Words in SQLite's messages about what has nothing to do with the content of a file.
_TRANSIENT = ("locked", "I/O error", "unable to open", "memory")
_SCHEMA = f"""
PRAGMA application_id = {_APPLICATION};
CREATE TABLE records (number INTEGER PRIMARY KEY, key BLOB, json BLOB, blob BLOB, checksum BLOB);
"""
_ONE_WRITER = (
    "PRAGMA synchronous = FULL",
    "PRAGMA locking_mode = EXCLUSIVE",  # from the first transaction on, until it is closed
    "BEGIN EXCLUSIVE",
    "COMMIT",
)
_INSERT = "INSERT INTO records (key, json, blob, checksum) VALUES (?, ?, ?, ?)"


class StoreError(OSError):
    """A store cannot be written or read; what it holds is safe."""


class InUseError(StoreError):
    """Another run is writing to the same store."""


class Store:
    """Records by key, in a file or, without a path, in memory.

    Parameters
    ----------
    path : path or None
        A file that exists must be a store of the same identity; it is never overwritten otherwise.
    identity : mapping
        All that the results depend on, as JSON knows it.
    resume : bool
        Whether the file may hold records already.
    kind : str
        The name of the parameter in messages.

    Attributes
    ----------
    records : dict
        All that is known, by key.
    damaged : int
        Records that could not be read, and are missing.

    Examples
    --------
    >>> with Store(None, {"seed": 0}) as store:
    ...     store.recall("a", lambda: {"value": 1}), store.recall("a", lambda: {"value": 2})
    ({'value': 1}, {'value': 1})
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None,
        identity: Mapping[str, Any],
        *,
        resume: bool = False,
        kind: str = "store",
    ):
        self.path = None if path is None else Path(path)
        self.records: dict[str, Record] = {}
        self.damaged = 0
        self.kind = kind
        self._lock = threading.Lock()
        self._warned = False
        self._connection: sqlite3.Connection | None = None
        if self.path is not None:
            same = json.loads(json.dumps(dict(identity)))
            self._new = not os.path.lexists(self.path)
            if self._new:
                _create(self.path, same, kind)
            self._connection = _connect(self.path, kind)
            try:
                self._open(self._connection, self.path, same, resume)
            except BaseException:
                self.close()
                raise

    def _open(
        self, connection: sqlite3.Connection, path: Path, identity: Record, resume: bool
    ) -> None:
        there, self.records, self.damaged, broken = _content(connection, path, self.kind)
        if self.records and not resume:
            raise FileExistsError(
                f"{self.kind} {str(path)!r} holds {len(self.records)} records already: continue it "
                f"with resume=True, or choose another {self.kind}"
            )
        different = difference(there, identity)
        if different and self.records:
            raise OtherRunError(
                f"{self.kind} {str(path)!r} belongs to another run ({'; '.join(different)}); "
                f"repeat that one to continue it, or choose another {self.kind}"
            )
        with _explained(path, self.kind, "written to"):
            if broken or different:  # replaced by what could be read, in one transaction
                with closing(sqlite3.connect(":memory:")) as whole:
                    _fill(whole, identity, self.records)
                    whole.backup(connection)
            else:  # an unwritable file is found out now and not after an hour
                connection.execute(f"PRAGMA application_id = {_APPLICATION}")

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *details: Any) -> None:
        self.close()

    def recall(self, key: str, work: Callable[[], Record], form: Form | None = None) -> Record:
        """Return the record of a key; where there is none, do the work and keep it.

        A record that cannot be written is worth more than its copy on the disk: there is a warning,
        once, and the work goes on. A checksum keeps damage out of a record, but anybody can write
        one with the right checksum: a record that does not have the form is an error.
        """
        with self._lock:
            known = self.records.get(key)
        if known is not None:
            wrong = _mistake(known, form or {})
            if wrong:
                path = "in memory" if self.path is None else repr(str(self.path))
                raise StoreError(
                    f"{self.kind} {path} holds a record {key!r} that this version of riemtr did "
                    f"not write ({wrong}): remove the file to start anew, or choose another "
                    f"{self.kind}"
                )
            return known
        record = work()
        try:
            self.keep({key: record})
        except StoreError as error:
            self.records[key] = record
            if not self._warned:
                warnings.warn(
                    f"{error}; the run goes on, but if it is stopped, what it found since then is "
                    f"lost",
                    stacklevel=2,
                )
            self._warned = True
        return record

    def keep(self, records: Mapping[str, Record]) -> None:
        """Keep records, all of them or, after an error, none; the last one of a key counts."""
        with self._lock:
            if self._connection is not None and self.path is not None:
                with _explained(self.path, self.kind, "written to"), self._connection:
                    self._connection.executemany(_INSERT, _rows(records))
            self.records.update(records)

    def close(self) -> None:
        """Release the file; one that was made here and holds no record is removed."""
        with self._lock:
            connection, self._connection = self._connection, None
            if connection is not None and self.path is not None:
                for left in self.path.parent.glob(
                    f"{glob.escape(partial_stem(self.path))}.*.partial"
                ):
                    if re.search(r"\.\d+-\d+\.partial$", left.name):  # by a run that was killed
                        left.unlink(missing_ok=True)
                if self._new and not self.records:
                    with suppress(OSError):  # while locked; Windows keeps what is open
                        self.path.unlink(missing_ok=True)
                connection.close()


def read_store(
    path: str | os.PathLike[str], kind: str = "store"
) -> tuple[Record, dict[str, Record], int]:
    """Return the identity, the records and how many are damaged; also while a run is writing."""
    file = Path(path)
    if not file.exists():
        raise FileNotFoundError(f"{kind} {str(file)!r} does not exist")
    _check_kind(file, kind)
    for attempt in range(_READS):
        with suppress(sqlite3.OperationalError), closing(_opened(file, "mode=rw")) as connection:
            return _content(connection, file, kind)[:3]
        # A run is writing. Without locks, a page may be seen that it has half written.
        with (
            suppress(sqlite3.OperationalError),
            closing(_opened(file, "immutable=1")) as connection,
        ):
            try:
                return _content(connection, file, kind)[:3]
            except StoreError:
                if attempt + 1 == _READS:
                    raise
                time.sleep(_SECONDS_BETWEEN_READS)
    raise StoreError(f"{kind} {str(file)!r} cannot be read: check its permissions")


def _create(path: Path, identity: Record, kind: str) -> None:
    """Make a store that has its identity from the moment it has its name."""
    journal = path.with_name(f"{path.name}-journal")
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"{kind} must be in a folder that exists; {str(path.parent)!r} does not: create it "
            f"first"
        )
    if os.path.lexists(journal):
        # SQLite takes any file of that name for its own, and would roll the new store back to it.
        if journal.is_symlink() or journal.read_bytes()[:8] not in _JOURNALS:
            raise _foreign(journal, kind)
        journal.unlink()  # of a store that was removed after its run was killed
    partial = partial_path(path)
    try:
        with _explained(path, kind, "created"):
            os.close(created(partial))
            with closing(sqlite3.connect(partial)) as connection:
                connection.execute("PRAGMA journal_mode = MEMORY")  # no further file is left behind
                _fill(connection, identity, {})
        try:
            os.link(partial, path)
        except OSError:
            if not path.exists():  # else another run was faster, and holds the lock
                os.rename(partial, path)  # on a file system without links
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)


def _fill(connection: sqlite3.Connection, identity: Record, records: Mapping[str, Record]) -> None:
    connection.executescript(_SCHEMA)
    with connection:
        for content in [{_IDENTITY: identity}] * _COPIES + [records]:
            connection.executemany(_INSERT, _rows(content))


def _connect(path: Path, kind: str) -> sqlite3.Connection:
    """Open a store as its only writer."""
    _check_kind(path, kind)
    before, connection = path.stat(), _opened(path, "mode=rw", _SECONDS_TO_WAIT)
    in_use = InUseError(
        f"{kind} {str(path)!r} is in use by another run: wait for it to end, or choose another "
        f"{kind}"
    )
    try:
        for statement in _ONE_WRITER:
            connection.execute(statement)
        # The run that held it before may have removed it since it was opened here.
        if path.exists() and os.path.samestat(before, path.stat()):
            return connection
    except sqlite3.DatabaseError as error:
        connection.close()
        if "locked" in str(error):
            raise in_use from None
        if isinstance(error, sqlite3.OperationalError):
            raise StoreError(f"{kind} {str(path)!r} cannot be opened: {error}") from error
        raise _foreign(path, kind) from None
    connection.close()
    raise in_use


def _opened(path: Path, options: str, patience: float = 0.0) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?{options}",
        uri=True,
        timeout=patience,
        check_same_thread=False,
    )
    connection.text_factory = bytes
    # A file that was cut short can be read up to there.
    connection.execute("PRAGMA writable_schema = ON")
    return connection


def _content(
    connection: sqlite3.Connection, path: Path, kind: str
) -> tuple[Record, dict[str, Record], int, bool]:
    """Return the identity, the records, how many are damaged, and whether anything is."""
    if _read(connection, "PRAGMA application_id") != [(_APPLICATION,)]:
        raise _foreign(path, kind)
    intact = _read(connection, "PRAGMA integrity_check(1)") == [(b"ok",)]
    rows = _read(connection, "SELECT * FROM records ORDER BY number")
    if rows is None:  # those before and after the damage can be read one by one
        ((pages,),) = _read(connection, "PRAGMA page_count") or [(0,)]
        numbers = range(1, pages * _MOST_RECORDS_PER_PAGE)
        one = "SELECT * FROM records WHERE number = ?"
        rows = [row for number in numbers for row in _read(connection, one, number) or []]
    with reading(path, "a store of riemtr's"):  # a checksum keeps damage out, and no attack
        whole = [row for row in rows if _checksum(row[1:4]) == row[4]]
        known = {name.decode(): _unpacked(content, blob) for _, name, content, blob, _ in whole}
    if _IDENTITY not in known:
        raise StoreError(
            f"{kind} {str(path)!r} is damaged beyond repair: remove it to start anew, or bring it "
            f"back from a copy"
        )
    damaged = max(row[0] for row in rows) - len(whole)  # numbers are 1, 2, ... without gaps
    return known.pop(_IDENTITY), known, damaged, damaged > 0 or not intact


def _mistake(record: Record, form: Form) -> str | None:
    """Return what a record lacks of its form, in words; None if it has all of it."""
    for name, kind in form.items():
        value = record.get(name)
        if isinstance(kind, Numbers):
            if not isinstance(value, np.ndarray) or value.dtype.kind != "f":
                return f"{name!r} must be an array of real numbers"
            if value.shape != kind.shape:
                return f"{name!r} must have shape {kind.shape}; got {value.shape}"
            if kind.finite and not np.isfinite(value).all():
                return f"{name!r} must have finite numbers only"
        else:
            try:
                typed(kind, value, repr(name))
            except ValueError as error:
                return str(error)
    return None


def _read(connection: sqlite3.Connection, query: str, *values: Any) -> list[Any] | None:
    """Return what a query finds, None where the file is damaged; other errors are raised."""
    try:
        return connection.execute(query, values).fetchall()
    except sqlite3.DatabaseError as error:
        if any(word in str(error) for word in _TRANSIENT):
            raise
        return None


def _rows(records: Mapping[str, Record]) -> Iterator[tuple[bytes, bytes, bytes, bytes]]:
    for key, record in records.items():
        row = (key.encode(), *_packed(record))
        yield (*row, _checksum(row))


def _packed(record: Record) -> tuple[bytes, bytes]:
    """Return a record as JSON, with the names of its arrays, and the arrays one after another."""
    arrays = {name: part for name, part in record.items() if isinstance(part, np.ndarray)}
    rest = {name: part for name, part in record.items() if name not in arrays}
    blob = io.BytesIO()
    for array in arrays.values():
        np.save(blob, array, allow_pickle=False)
    return json.dumps([rest, list(arrays)]).encode(), blob.getvalue()


def _unpacked(content: bytes, blob: bytes) -> Record:
    rest, names = parsed(content)
    file, record = io.BytesIO(blob), typed(dict, rest, "a record")
    for name in typed(list[str], names, "the names of arrays"):
        begin = file.tell()
        check_header(file, len(blob) - begin)
        file.seek(begin)
        record[name] = np.load(file, allow_pickle=False)
    return record


def _checksum(row: Iterable[Any]) -> bytes:
    """Return a hash of the parts of a row, of any type: a flipped bit may change the type."""
    digest = hashlib.blake2b(digest_size=16)
    for part in row:
        content = part if isinstance(part, bytes) else repr(part).encode()
        digest.update(f"{type(part).__name__} {len(content)} ".encode() + content)
    return digest.digest()


def _check_kind(path: Path, kind: str) -> None:
    """Refuse what is no file of its own, and a journal that is none of SQLite's."""
    journal = path.with_name(f"{path.name}-journal")
    if path.is_symlink() or not path.is_file() or path.stat().st_size == 0:
        raise _foreign(path, kind)
    if journal.is_symlink():
        raise _foreign(journal, kind)


def _foreign(path: Path, kind: str) -> ValueError:
    what = "is something else, and was left as it is: choose another path"
    if path.is_symlink():
        what = "is a link, and was left as it is: name the file itself"
    elif path.is_file() and _is_of_an_older_version(path):
        what = (
            "was written by an older version of riemtr, and was left as it is: finish that run "
            "with the older version, or choose another path and start anew"
        )
    return ValueError(f"{kind} must be a store of riemtr's, or not exist yet; {str(path)!r} {what}")


def _is_of_an_older_version(path: Path) -> bool:
    """Whether a file is a checkpoint (.npz) or a journal (.jsonl) of version 0.1 before stores."""
    with path.open("rb") as file:
        start = file.read(64)
    if start.startswith((b'{"format":"riemtr sweep', b'{"comparison":')):
        return True
    try:
        with zipfile.ZipFile(path) as archive:
            return b"riemtr recovery checkpoint" in archive.read("json.npy")
    except (OSError, KeyError, ValueError, RuntimeError, zipfile.BadZipFile):
        return False


@contextmanager
def _explained(path: Path, kind: str, what: str) -> Iterator[None]:
    """Turn SQLite's errors, and those of its file, into ones that name the path."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        # A checkpoint continues by itself.
        again = "repeat the same command" if kind == "checkpoint" else "continue with resume=True"
        raise StoreError(
            f"{kind} {str(path)!r} cannot be {what}: {why}; what it held before is safe: check "
            f"the room on the disk and the permissions, and {again}"
        ) from error
