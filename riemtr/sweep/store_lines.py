"""The lines of a store: JSON that ends with a checksum of the rest, and outcomes as such."""

from __future__ import annotations

import json
import math
import zlib
from dataclasses import asdict
from typing import Any

from riemtr.sweep.cells import Cell, Value
from riemtr.sweep.outcomes import Failure, Outcome

_CHECKSUM = ',"crc":"{:08x}"}}'
_CHECKSUM_LENGTH = len(_CHECKSUM.format(0))


def to_line(record: dict[str, Any]) -> bytes:
    """Return a record as a line with its checksum."""
    text = json.dumps(record, separators=(",", ":"), allow_nan=False)
    return f"{text[:-1]}{_CHECKSUM.format(zlib.crc32(text.encode()))}\n".encode()


def from_line(line: bytes) -> dict[str, Any] | None:
    """Return the record of a line, None where its checksum shows that it is damaged."""
    text = line[:-_CHECKSUM_LENGTH] + b"}"
    if line[-_CHECKSUM_LENGTH:] != _CHECKSUM.format(zlib.crc32(text)).encode():
        return None
    return json.loads(text)


def encode(outcome: Outcome) -> dict[str, Any]:
    """Return an outcome as a record."""
    failure = None if outcome.failure is None else asdict(outcome.failure)
    return {
        "settings": outcome.cell.settings,
        "seed": outcome.cell.seed,
        "values": {name: _strict(value) for name, value in outcome.values.items()},
        "failure": failure,
        "seconds": outcome.seconds,
        "cpu_seconds": outcome.cpu_seconds,
    }


def decode(task: str, record: dict[str, Any]) -> Outcome:
    """Return the outcome that a record of a task is about."""
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
