"""Where outcomes are kept: a file of lines that no kill, full disk or dying worker can corrupt.

Each line is JSON and ends with a checksum of the rest of it. The first names the format and the
task; of the others, some say with what software a run was made and the rest are outcomes. Lines
are only ever appended, by one process, in one piece, and flushed to the disk: whatever happens, all
lines before the last are whole. A torn last line is removed by the next run; a line damaged
otherwise is skipped, and its cell counts as missing.
"""

from __future__ import annotations

import json
import math
import os
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from riemtr.environment import environment
from riemtr.files import durable_file
from riemtr.sweep.cells import SEED, Cell, Value
from riemtr.sweep.lock import only_writer
from riemtr.sweep.outcomes import Failure, Outcome

FORMAT = "riemtr sweep 1"
_SHOWN = 6  # values listed in an error
_PACKAGES = ("joblib", "distributed")  # beside those that any result depends on
_CHECKSUM = ',"crc":"{:08x}"}}'
_CHECKSUM_LENGTH = len(_CHECKSUM.format(0))


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
        self.write([_encode(outcome) for outcome in outcomes])
        super().append(outcomes)

    def write(self, records: Iterable[dict[str, Any]]) -> None:
        """Append lines and flush them to the disk, all of them or none."""
        content = b"".join(map(_line, records))
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
    path: Path | None, task: str, cells: Sequence[Cell], *, resume: bool
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
    """
    if path is None:
        yield Store()
        return
    with made_folder(path.parent), only_writer(path):
        new = not path.exists()
        if new:
            _create(path, task)
        content = read_store(path)
        if content.outcomes and not resume:
            raise FileExistsError(
                f"store {str(path)!r} holds {len(content.outcomes)} cells already: continue it "
                f"with resume, or choose another"
            )
        _check_same(path, content, task, cells)
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | getattr(os, "O_BINARY", 0))
        try:
            os.ftruncate(descriptor, content.size)
            store = FileStore(content.outcomes, path, content.damaged, descriptor, content.size)
            now = datetime.now(timezone.utc).isoformat(timespec="seconds")
            store.write([{"opened": now, "environment": environment(*_PACKAGES)}])
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
    task : str
    outcomes : dict
        By key of the cell.
    damaged : int
        Lines that were skipped.
    size : int
        Bytes up to the end of the last whole line.
    environments : tuple of dict
        The software of the runs that the outcomes are from, each once.
    """

    task: str
    outcomes: dict[str, Outcome]
    damaged: int
    size: int
    environments: tuple[dict[str, Any], ...]


def read_store(path: Path) -> Content:
    """Read a store, also while a run is writing to it."""
    content = path.read_bytes()
    size = content.rfind(b"\n") + 1
    records = [_checked(line) for line in content[:size].split(b"\n")[:-1]]
    head = records[0] if records else None
    if head is None or head.get("format") != FORMAT:
        raise ValueError(
            f"store must be a file that a sweep of riemtr wrote, or not exist yet; {str(path)!r} "
            f"is something else, and was left as it is: choose another path"
        )
    outcomes: dict[str, Outcome] = {}
    run: dict[str, Any] = {}
    runs: dict[str, dict[str, Any]] = {}  # by key of the cell
    for record in records[1:]:
        if record is not None and "settings" in record:
            outcome = _decode(head["task"], record)
            outcomes[outcome.cell.key] = outcome
            runs[outcome.cell.key] = run
        elif record is not None:
            run = record.get("environment", {})
    distinct = {json.dumps(one, sort_keys=True): one for one in runs.values() if one}
    return Content(head["task"], outcomes, records.count(None), size, tuple(distinct.values()))


def _create(path: Path, task: str) -> None:
    """Write the first line: a store exists with it or not at all."""
    try:
        with durable_file(path) as file:
            file.write(_line({"format": FORMAT, "task": task}))
    except OSError as error:
        raise StoreError(f"cannot create store {str(path)!r}: {error.strerror}") from error


def _line(record: dict[str, Any]) -> bytes:
    text = json.dumps(record, separators=(",", ":"), allow_nan=False)
    return f"{text[:-1]}{_CHECKSUM.format(zlib.crc32(text.encode()))}\n".encode()


def _checked(line: bytes) -> dict[str, Any] | None:
    """Return the record of a line, None where its checksum shows that it is damaged."""
    text = line[:-_CHECKSUM_LENGTH] + b"}"
    if line[-_CHECKSUM_LENGTH:] != _CHECKSUM.format(zlib.crc32(text)).encode():
        return None
    return json.loads(text)


def _write_all(descriptor: int, content: bytes) -> None:
    while content:
        content = content[os.write(descriptor, content) :]


def _encode(outcome: Outcome) -> dict[str, Any]:
    failure = None if outcome.failure is None else asdict(outcome.failure)
    return {
        "settings": outcome.cell.settings,
        "seed": outcome.cell.seed,
        "values": {name: _strict(value) for name, value in outcome.values.items()},
        "failure": failure,
        "seconds": outcome.seconds,
        "cpu_seconds": outcome.cpu_seconds,
    }


def _decode(task: str, record: dict[str, Any]) -> Outcome:
    failure = None if record["failure"] is None else Failure(**record["failure"])
    return Outcome(
        Cell(task, record["settings"], record["seed"]),
        {
            name: float(value["float"]) if isinstance(value, dict) else value
            for name, value in record["values"].items()
        },
        failure,
        record["seconds"],
        record["cpu_seconds"],
    )


def _strict(value: Value) -> Any:
    """Return a value as strict JSON has it, which knows no infinity and no NaN."""
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    return value


def _check_same(path: Path, content: Content, task: str, cells: Sequence[Cell]) -> None:
    """Raise an error where the store is not that of the same experiment, perhaps a smaller one."""
    wanted = {cell.key for cell in cells}
    strangers = [one.cell for one in content.outcomes.values() if one.cell.key not in wanted]
    if content.task == task and not strangers:
        return
    if content.task != task:
        differences = [f"the task is {content.task!r} there, {task!r} here"]
    else:
        differences = list(_differences(strangers, cells))
        differences = differences or [f"{strangers[0]} is there and not here"]
    raise ValueError(
        f"store {str(path)!r} belongs to another experiment: {'; '.join(differences)}; repeat that "
        f"grid, extend it by further values, or choose another store"
    )


def _differences(strangers: Sequence[Cell], cells: Sequence[Cell]) -> Iterator[str]:
    """Say which values of which setting the store has and the grid has not."""
    names = list(dict.fromkeys([*strangers[0].settings, *cells[0].settings, SEED]))
    for name in names:
        there, here = (
            list(dict.fromkeys(_value(cell, name) for cell in some)) for some in (strangers, cells)
        )
        missing = [value for value in there if value not in here]
        if missing:
            yield f"{name} = {_listed(missing)} there, {_listed(here)} here"


def _value(cell: Cell, name: str) -> str:
    if name == SEED:
        return str(cell.seed)
    return repr(cell.settings[name]) if name in cell.settings else "not set"


def _listed(values: Sequence[str]) -> str:
    more = [f"... ({len(values)} values)"] if len(values) > _SHOWN else []
    return ", ".join([*values[:_SHOWN], *more])
