"""Files that are whole or not there at all, and values as strict JSON has them."""

from __future__ import annotations

import glob
import io
import json
import math
import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np


@contextmanager
def atomic_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for writing that takes its name only once it is complete."""
    writer = f"{os.getpid()}-{threading.get_ident()}"
    partial = path.with_name(_partial_name(path.name, writer))
    try:
        try:
            file = partial.open("wb")
        except OSError as error:  # which would name a file that nobody asked for
            raise type(error)(error.errno, error.strerror, os.fspath(path)) from None
        with file:
            yield file
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def durable_file(path: Path) -> Iterator[IO[bytes]]:
    """Open such a file whose content, once it has its name, survives a loss of power.

    It is flushed to the disk before it takes its name, and the name after that: at any moment the
    file on the disk is the old one or the new one, whole.
    """
    with atomic_file(path) as file:
        yield file
        file.flush()
        os.fsync(file.fileno())
    sync_folder(path.parent)


def remove_partial_files(path: Path) -> None:
    """Remove what was left of a file by those who were killed while they wrote it."""
    ours = re.compile(_partial_name(re.escape(path.name), r"\d+-\d+"))
    for partial in path.parent.glob(_partial_name(glob.escape(path.name), "[0-9]*")):
        if ours.fullmatch(partial.name):
            partial.unlink(missing_ok=True)


def _partial_name(name: str, writer: str) -> str:
    return f".{name}.{writer}.partial"


def write_atomically(path: Path, content: bytes) -> Path:
    """Write a file whole or not at all; return its path."""
    with atomic_file(path) as file:
        file.write(content)
    return path


def sync_folder(folder: Path) -> None:
    """Flush a folder to the disk, so that a new name in it survives a loss of power."""
    if os.name != "posix":  # elsewhere a folder cannot be opened
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def save_figure(path: Path, figure: Any) -> Path:
    """Write a matplotlib Figure whole or not at all, in the format of its suffix."""
    content = io.BytesIO()
    figure.savefig(content, format=path.suffix[1:].lower(), dpi=150)
    return write_atomically(path, content.getvalue())


def save_json(path: Path, content: Any) -> Path:
    """Write a value as strict JSON, whole or not at all."""
    return write_atomically(path, f"{json_text(content)}\n".encode())


def json_text(content: Any) -> str:
    """Return a value as strict JSON, its first level indented; text for what JSON cannot know."""
    return json.dumps(plain(content), indent=1, allow_nan=False, default=str)


def plain(value: Any) -> Any:
    """Return a value as JSON has it: lists for arrays, null for what is not finite.

    Examples
    --------
    >>> plain({"a": np.arange(2), "b": (1.5, math.nan), "c": 1j})
    {'a': [0, 1], 'b': [1.5, None], 'c': {'real': 0.0, 'imag': 1.0}}
    """
    if isinstance(value, (np.ndarray, np.generic)):
        return plain(value.tolist())
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    if isinstance(value, complex):
        return {"real": plain(value.real), "imag": plain(value.imag)}
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
