"""A journal of expensive outcomes that survives a killed run.

The pipeline is deterministic given its seed, so a run is resumed by running it again and recalling
what it had already worked out: solves and roundings, by name. The file is an ``.npz`` of plain
arrays and JSON, no pickles. It is written by :func:`riemtr.files.durable_file`: at any moment it is
either the old one or the new one.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from riemtr.data.partitioned import Matrix, Partitioned
from riemtr.errors import OtherRunError
from riemtr.file_lock import only_writer
from riemtr.files import durable_file, remove_partial_files

Record = dict[str, Any]
"""Arrays, numbers, strings and booleans by name."""

# What numpy and zipfile raise on files that are damaged, encrypted or none of theirs.
_DAMAGED = (
    AttributeError,
    EOFError,
    KeyError,
    OSError,
    RuntimeError,
    ValueError,
    zipfile.BadZipFile,
    zlib.error,
)
_FORMAT = "riemtr recovery checkpoint 1"
_SHOWN = 3  # attributes of a solver that are named where they differ
_SECONDS_BETWEEN_WRITES = 0.5  # what a killed run can lose


class Journal:
    """Outcomes by name, in memory; the base of what keeps them in a file."""

    def __init__(self) -> None:
        self._records: dict[str, Record] = {}
        self._lock = threading.Lock()

    def recall(self, name: str, work: Callable[[], Record]) -> Record:
        """Return the outcome of that name; if there is none, do the work and keep it."""
        with self._lock:
            known = self._records.get(name)
        if known is not None:
            return known
        record = work()
        with self._lock:
            self._records[name] = record
            self._changed()
        return record

    def close(self) -> None:
        """Make what is known permanent."""

    def _changed(self) -> None:
        pass


class FileJournal(Journal):
    """A journal that lives in a file.

    Parameters
    ----------
    path : path
        Where; read if it exists, never overwritten unless it is the checkpoint of the same run.
        It is locked until the journal is closed: two runs that write to it are an error.
    settings : mapping
        What the run's outcome depends on. A file with other settings is an error that lists the
        differences.
    """

    def __init__(self, path: str | os.PathLike[str], settings: Mapping[str, Any]):
        super().__init__()
        self.path = Path(path)
        self.settings = json.loads(json.dumps(dict(settings)))
        self._written = 0.0
        self._unsaved = False
        self._warned = False
        if not self.path.parent.is_dir():
            raise FileNotFoundError(
                f"checkpoint must be in a folder that exists; {str(self.path.parent)!r} does not: "
                f"create it first"
            )
        with ExitStack() as held:
            held.enter_context(only_writer(self.path, "checkpoint"))
            if self.path.exists():
                stored, self._records = _read(self.path)
                _compare(self.path, stored, self.settings)
            else:
                self._write()  # an unwritable path is found out now, not after an hour
            self._held = held.pop_all()

    def close(self) -> None:
        """Write what is not written yet, and tidy up after runs that were killed while writing."""
        with self._lock, self._held:
            if self._unsaved:
                self._try_to_write()
            remove_partial_files(self.path)

    def _changed(self) -> None:
        self._unsaved = True
        if time.monotonic() - self._written >= _SECONDS_BETWEEN_WRITES:
            self._try_to_write()

    def _try_to_write(self) -> None:
        """Write, or say that it failed: what was found is worth more than its copy on the disk."""
        try:
            self._write()
        except OSError as error:
            self._written = time.monotonic()
            if not self._warned:
                warnings.warn(
                    f"checkpoint {str(self.path)!r} could not be written ({error}); the recovery "
                    f"goes on, but if it is stopped, what it found since then is lost",
                    stacklevel=2,
                )
            self._warned = True

    def _write(self) -> None:
        scalars: dict[str, Any] = {"format": _FORMAT, "settings": self.settings, "records": {}}
        arrays: dict[str, np.ndarray] = {}
        for name, record in self._records.items():
            plain = {k: v for k, v in record.items() if not isinstance(v, np.ndarray)}
            scalars["records"][name] = plain
            for key, value in record.items():
                if isinstance(value, np.ndarray):
                    arrays[f"{name}|{key}"] = value
        arrays["json"] = np.frombuffer(json.dumps(scalars).encode(), dtype=np.uint8)
        with durable_file(self.path) as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]
        self._written = time.monotonic()
        self._unsaved = False


def stored_settings(path: str | os.PathLike[str]) -> dict[str, Any] | None:
    """Return the settings of the checkpoint at a path, None if there is no file."""
    return _read(Path(path))[0] if Path(path).exists() else None


def fingerprint(data: Matrix) -> str:
    """Return a hash of the data's type, shape and every bit, without a copy of the whole.

    That of partitioned data depends on the partition, too, on which the last bits of sums depend.
    """
    digest = hashlib.sha256(f"{data.dtype.str} {data.shape}".encode())
    if isinstance(data, Partitioned):
        digest.update(repr(data.total(_block_fingerprint)).encode())
    else:
        for row in data:
            digest.update(np.ascontiguousarray(row).tobytes())
    return digest.hexdigest()


def _block_fingerprint(block: np.ndarray, first: int) -> tuple[list[str]]:
    return ([f"{first} {fingerprint(block)}"],)


def _read(path: Path) -> tuple[dict[str, Any], dict[str, Record]]:
    foreign = ValueError(
        f"checkpoint must be a file of riemtr's, or not exist yet; {str(path)!r} is something "
        f"else, and was left as it is: choose another path"
    )
    try:
        loaded = np.load(path, allow_pickle=False)
        if not hasattr(loaded, "files"):
            raise foreign
        with loaded as file:
            scalars = json.loads(bytes(file["json"]))
            if scalars.get("format") != _FORMAT:
                raise foreign
            records: dict[str, Record] = scalars["records"]
            for full_name in file.files:
                if full_name != "json":
                    name, _, key = full_name.partition("|")
                    records[name][key] = file[full_name]
    except IsADirectoryError:
        raise foreign from None
    except _DAMAGED as error:
        if isinstance(error, PermissionError):
            raise
        raise foreign from error
    return scalars["settings"], records


def _compare(path: Path, stored: dict[str, Any], settings: dict[str, Any]) -> None:
    different = list(_differences(stored, settings))
    if different:
        raise OtherRunError(
            f"checkpoint {str(path)!r} belongs to a different run ({'; '.join(different)}); pass "
            f"the same data and settings to continue it, or another path to start anew"
        )


def _differences(stored: dict[str, Any], settings: dict[str, Any]) -> Iterator[str]:
    for name in sorted(stored.keys() | settings.keys()):
        there, here = stored.get(name), settings.get(name)
        if there == here:
            continue
        if name == "Y":
            yield "Y: other data"  # two fingerprints would tell nobody anything
        elif isinstance(there, dict) and isinstance(here, dict):
            changed = [key for key in {**there, **here} if there.get(key) != here.get(key)]
            more = f" and {len(changed) - _SHOWN} more" if len(changed) > _SHOWN else ""
            yield (
                "; ".join(
                    f"{name}{key and '.'}{key}: {there.get(key)} there, {here.get(key)} here"
                    for key in changed[:_SHOWN]
                )
                + more
            )
        else:
            # That of a solver is its type.
            kinds = [value.get("") if isinstance(value, dict) else value for value in (there, here)]
            yield f"{name}: {kinds[0]!r} there, {kinds[1]!r} here"
