"""Where outcomes are kept: a file of lines that no kill, full disk or dying worker can corrupt.

Each line is JSON and ends with a checksum of the rest of it. The first names the format and the
task; of the others, some say of what task, with what code of it and with what software a run was
made, and the rest are outcomes. Lines are only ever appended, by one process, in one piece, and
flushed to the disk: whatever happens, all lines before the last are whole. A torn last line is
removed by the next run; a line damaged otherwise is skipped, be it the first, and its cell counts
as missing.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from riemtr.environment import environment
from riemtr.file_lock import only_writer
from riemtr.files import durable_file
from riemtr.sweep.cells import Cell
from riemtr.sweep.outcomes import Outcome
from riemtr.sweep.same_experiment import check_code, check_same
from riemtr.sweep.store_lines import decode, encode, from_line, to_line

FORMAT = "riemtr sweep 1"
_PACKAGES = ("joblib", "distributed")  # beside those that any result depends on


class StoreError(OSError):
    """A store could not be written; what it held is kept."""


@dataclass
class Store:
    """Outcomes by key, in memory; :func:`open_store` has one that lives in a file."""

    outcomes: dict[str, Outcome] = field(default_factory=dict)
    path: Path | None = None
    damaged: int = 0

    def append(self, outcomes: Sequence[Outcome]) -> None:
        """Keep outcomes; the last one of a cell counts."""
        self.outcomes.update({outcome.cell.key: outcome for outcome in outcomes})


@dataclass
class FileStore(Store):
    """A store in a file, open for appending by this process alone."""

    descriptor: int = -1
    size: int = 0

    def append(self, outcomes: Sequence[Outcome]) -> None:
        """Write outcomes to the disk; where that fails, the file is what it was before."""
        self.write([encode(outcome) for outcome in outcomes])
        super().append(outcomes)

    def write(self, records: Iterable[dict[str, Any]]) -> None:
        """Append lines and flush them to the disk, all of them or none."""
        content = b"".join(map(to_line, records))
        try:
            _write_all(self.descriptor, content)
            os.fsync(self.descriptor)
        except BaseException as error:
            # Cutting a file needs no space. Should it fail too, the next run cuts the torn line.
            os.ftruncate(self.descriptor, self.size)
            if not isinstance(error, OSError):
                raise
            raise StoreError(
                f"cannot write to store {str(self.path)!r}: {error.strerror}; the "
                f"{len(self.outcomes)} cells that were kept before are safe: make room, and "
                f"continue with resume"
            ) from error
        self.size += len(content)


@contextmanager
def open_store(
    path: Path | None,
    task: str,
    cells: Sequence[Cell],
    *,
    resume: bool,
    retry_failed: bool = False,
    code: str | None = None,
    accept_changes: bool = False,
) -> Iterator[Store]:
    """Open a store for the cells of a grid; without a path it is in memory.

    Parameters
    ----------
    path : Path or None
    task : str
        The task's name.
    cells : sequence of Cell
        Those to be run. A store that holds others belongs to another experiment.
    resume : bool
        Whether the store may exist.
    retry_failed : bool
        Whether the cells that failed are to be run again.
    code : str, optional
        Fingerprint of the task's code. A store of other code is refused.
    accept_changes : bool
        Take it nevertheless.
    """
    if path is None:
        yield Store()
        return
    with made_folder(path.parent), only_writer(path, "store"):
        new = not path.exists()
        if new:
            _create(path, task)
        content = read_store(path, task)
        if content.outcomes and not resume:
            raise FileExistsError(
                f"store {str(path)!r} holds {len(content.outcomes)} cells already: continue it "
                f"with resume, or choose another"
            )
        found = list(content.outcomes.values())
        check_same(path, content.task, found, task, cells)
        if not accept_changes:
            kept = [one.cell for one in found if not (retry_failed and one.failure is not None)]
            check_code(path, [content.codes[cell.key] for cell in kept], code)
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | getattr(os, "O_BINARY", 0))
        try:
            os.ftruncate(descriptor, content.size)
            store = FileStore(content.outcomes, path, content.damaged, descriptor, content.size)
            now = datetime.now(timezone.utc).isoformat(timespec="seconds")
            made_with = {"code": code, "environment": environment(*_PACKAGES)}
            store.write([{"opened": now, "task": task, **made_with}])
            yield store
        except BaseException:
            if new and not content.outcomes:  # nothing that is worth a file
                path.unlink()
            raise
        finally:
            os.close(descriptor)


@contextmanager
def made_folder(path: Path) -> Iterator[None]:
    """Make a folder, and after an error remove what was made, if nothing is in it."""
    new = [folder for folder in (path, *path.parents) if not folder.exists()]
    path.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        with suppress(OSError):  # not empty
            for folder in new:
                folder.rmdir()
        raise


@dataclass(frozen=True)
class Content:
    """What a file holds.

    Attributes
    ----------
    task : str or None
        None where the lines that name it are damaged.
    outcomes : dict
        By key of the cell.
    codes : dict
        Fingerprints of the code that they are from, None where it was not kept; likewise.
    damaged : int
        Lines that were skipped.
    size : int
        Bytes up to the end of the last whole line.
    environments : tuple of dict
        The software of the runs that the outcomes are from, each once.
    """

    task: str | None
    outcomes: dict[str, Outcome]
    codes: dict[str, str | None]
    damaged: int
    size: int
    environments: tuple[dict[str, Any], ...]


def read_store(path: Path, task: str = "") -> Content:
    """Read a store, also while a run is writing to it.

    Parameters
    ----------
    path : Path
    task : str
        What to call the task where the lines that name it are damaged.
    """
    content = path.read_bytes()
    size = content.rfind(b"\n") + 1
    records = [from_line(line) for line in content[:size].split(b"\n")[:-1]]
    whole = [record for record in records if record is not None]
    if not _is_ours(whole):
        raise ValueError(
            f"store must be a file that a sweep of riemtr wrote, or not exist yet; {str(path)!r} "
            f"is something else, and was left as it is: choose another path"
        )
    named = next((record["task"] for record in whole if "task" in record), None)
    outcomes: dict[str, Outcome] = {}
    run: dict[str, Any] = {}
    runs: dict[str, dict[str, Any]] = {}  # by key of the cell
    for record in whole:
        if "settings" in record:
            outcome = decode(task if named is None else named, record)
            outcomes[outcome.cell.key] = outcome
            runs[outcome.cell.key] = run
        elif "opened" in record:
            run = record
    codes = {key: run.get("code") for key, run in runs.items()}
    environments = [run.get("environment") for run in runs.values()]
    distinct = {json.dumps(one, sort_keys=True): one for one in environments if one}
    return Content(named, outcomes, codes, records.count(None), size, tuple(distinct.values()))


def _is_ours(whole: Sequence[dict[str, Any]]) -> bool:
    """Whether whole lines are a store's: by the first or, where that is damaged, by others."""
    formats = [record["format"] for record in whole if "format" in record]
    if formats:
        return formats == [FORMAT]
    return any("opened" in record or "settings" in record for record in whole)


def _create(path: Path, task: str) -> None:
    """Write the first line: a store exists with it or not at all."""
    try:
        with durable_file(path) as file:
            file.write(to_line({"format": FORMAT, "task": task}))
    except OSError as error:
        raise StoreError(f"cannot create store {str(path)!r}: {error.strerror}") from error


def _write_all(descriptor: int, content: bytes) -> None:
    while content:
        content = content[os.write(descriptor, content) :]
