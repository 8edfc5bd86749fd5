"""Files that are whole or not there at all, and values as strict JSON has them."""

from __future__ import annotations

import io
import json
import math
import os
import threading
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import numpy as np

# Bytes of an unpacked archive that nobody is surprised by.
_LARGE = 2**30
# How many times more than packed; measurements compress by less, and archives made to do harm more.
_EXPANSION = 100


@contextmanager
def atomic_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for writing that takes its name only once it is complete."""
    partial = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}.partial")
    try:
        with _named(path):
            with partial.open("wb") as file:
                yield file
            os.replace(partial, path)
    finally:
        with suppress(OSError):  # a folder that cannot be written has no such file
            partial.unlink(missing_ok=True)


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Have errors name the file that was asked for: that of a full disk names none."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error


def write_atomically(path: Path, content: bytes) -> Path:
    """Write a file whole or not at all; return its path."""
    with atomic_file(path) as file:
        file.write(content)
    return path


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


def check_folder(folder: Path, present: Iterable[str] = (), force: bool = False) -> None:
    """Refuse a folder that cannot be written, or holds what would be replaced without force."""
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not there.is_dir():
        raise NotADirectoryError(f"{there} is a file; choose a folder")
    if not os.access(there, os.W_OK):
        raise PermissionError(f"{there} cannot be written to; choose another folder")
    names = ", ".join(name for name in present if (folder / name).exists())
    if names and not force:
        raise FileExistsError(
            f"{folder} holds results already ({names}); choose another folder, or pass force=True "
            f"to replace them"
        )


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


def check_expansion(path: Path) -> None:
    """Refuse an archive of some megabytes that would fill the memory once it is unpacked."""
    with zipfile.ZipFile(path) as archive:
        size = sum(member.file_size for member in archive.infolist())
    packed = path.stat().st_size
    if size > max(_LARGE, _EXPANSION * packed):
        raise ValueError(
            f"{path} must not expand from {packed / 1e6:.3g} MB to {size / 1e9:.3g} GB: if it is "
            "meant to, save its array with numpy.save"
        )
