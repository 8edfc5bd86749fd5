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
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from riemtr.data.partitioned import Matrix, Partitioned
from riemtr.errors import OtherRunError
from riemtr.files import durable_file, remove_partial_files

Record = dict[str, Any]
"""Arrays, numbers, strings and booleans by name."""

_FORMAT = "riemtr recovery checkpoint 1"
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
        if self.path.exists():
            stored, self._records = _read(self.path)
            _compare(self.path, stored, self.settings)
        elif not self.path.parent.is_dir():
            raise FileNotFoundError(
                f"checkpoint must be in a folder that exists; {str(self.path.parent)!r} does not: "
                f"create it first"
            )
        else:
            self._write()  # an unwritable path is found out now, not after an hour

    def close(self) -> None:
        """Write what is not written yet, and tidy up after runs that were killed while writing."""
        with self._lock:
            if self._unsaved:
                self._write()
            remove_partial_files(self.path)

    def _changed(self) -> None:
        self._unsaved = True
        if time.monotonic() - self._written >= _SECONDS_BETWEEN_WRITES:
            self._write()

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
    except (ValueError, KeyError, OSError, EOFError, AttributeError, zipfile.BadZipFile) as error:
        if isinstance(error, PermissionError):
            raise
        raise foreign from error
    return scalars["settings"], records


def _compare(path: Path, stored: dict[str, Any], settings: dict[str, Any]) -> None:
    different = [
        "Y: other data"  # two fingerprints would tell nobody anything
        if name == "Y"
        else f"{name}: {stored.get(name)!r} there, {settings.get(name)!r} here"
        for name in sorted(stored.keys() | settings.keys())
        if stored.get(name) != settings.get(name)
    ]
    if different:
        raise OtherRunError(
            f"checkpoint {str(path)!r} belongs to a different run ({'; '.join(different)}); pass "
            f"the same data and settings to continue it, or another path to start anew"
        )
