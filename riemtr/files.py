"""Files that are whole or not there at all, and files of others, read with suspicion.

A file that is read may be damaged, or made to do harm. Every reader of riemtr opens it by the
functions below: nothing is unpickled, no size that a file announces is believed before it was
compared with the bytes in the file, all values have the types that they must have, and everything
else ends in one sentence, a :class:`~riemtr.errors.FileContentError`.
"""

from __future__ import annotations

import csv
import errno
import io
import json
import math
import os
import threading
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import IO, Any, Union, get_args, get_origin, get_type_hints

import numpy as np

from riemtr.errors import ArgumentError, FileContentError, require

# Characters of a name, of at most four bytes each, that are repeated in that of a partial file.
_LONG_NAME = 40
# How formulas of spreadsheets begin.
_FORMULA = ("=", "+", "-", "@")
# Bytes of an unpacked archive that nobody is surprised by.
_LARGE = 2**30
# How many times more than packed; measurements compress by less, and archives made to do harm more.
_EXPANSION = 100
# Lists and objects of JSON within each other: riemtr writes fewer than ten.
_DEEPEST = 50
# Letters of another library's message that are repeated.
_LONGEST = 300
# How files of one array begin.
_MAGIC = b"\x93NUMPY"


@contextmanager
def atomic_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for writing that takes its name only once it is complete."""
    partial = partial_path(path)
    try:
        with _named(path):
            with os.fdopen(created(partial), "wb") as file:
                yield file
            os.replace(partial, path)
    finally:
        with suppress(OSError):  # a folder that cannot be written has no such file
            partial.unlink(missing_ok=True)


def partial_stem(path: Path) -> str:
    """Return how the names begin of what is written beside a file until it is complete.

    File systems allow 255 bytes for a name, so that a long one is cut, with a checksum of itself.
    """
    name = path.name
    if len(name) > _LONG_NAME:
        name = f"{name[:_LONG_NAME]}~{zlib.crc32(os.fsencode(name)):08x}"
    return f".{name}"


def partial_path(path: Path) -> Path:
    """Return where this process and thread write a file until it is complete."""
    stem = partial_stem(path)
    return path.with_name(f"{stem}.{os.getpid()}-{threading.get_ident()}.partial")


def created(path: Path) -> int:
    """Create a file, follow no link, and return its descriptor.

    What has its name already was left by a process that was killed, or is a link that somebody laid
    there to have its target overwritten: the name is removed, and the target is left alone.
    """
    path.unlink(missing_ok=True)
    binary = getattr(os, "O_BINARY", 0)  # on Windows
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | binary, 0o666)


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Have errors name the file that was asked for: that of a full disk names none."""
    try:
        yield
    except OSError as error:
        if error.errno is None:  # as numpy raises it
            raise OSError(errno.EIO, str(error), os.fspath(path)) from error
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


def drawing_axes(axes: Any = None) -> Any:
    """Return the axes to draw on, or new ones, which need the extra ``plot``."""
    if axes is None:
        _, axes = require("matplotlib.pyplot", extra="plot").subplots(figsize=(7, 4))
    return axes


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


def csv_text(rows: Iterable[Iterable[Any]]) -> str:
    """Return rows as comma-separated text in which no cell is a formula.

    A spreadsheet computes a text that begins as a formula does, whoever wrote it, and a formula may
    start programs. Such a text gets an apostrophe in front, by which spreadsheets know texts.

    Examples
    --------
    >>> csv_text([["name", "cost"], ["=1+1", -1.5]])
    "name,cost\\n'=1+1,-1.5\\n"
    """
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(map(_cell, row) for row in rows)
    return text.getvalue()


def _cell(value: Any) -> Any:
    """Return a value as a cell that no spreadsheet computes."""
    if value is None or isinstance(value, (bool, int, float)):
        return value
    # Python does not quote a carriage return, which begins a new row.
    text = str(value).replace("\r\n", "\n").replace("\r", "\n")
    if not text.lstrip().startswith(_FORMULA):
        return text
    try:
        float(text)
    except ValueError:
        return f"'{text}"
    return text


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


# --- files of others -----------------------------------------------------------------------------


@contextmanager
def reading(path: str | os.PathLike[str], what: str) -> Iterator[None]:
    """Turn every error of a library on the content of a file into one that names the file.

    Errors that name the file already pass: of a file that cannot be opened, and riemtr's own.

    Parameters
    ----------
    path : path
        The file.
    what : str
        The content that the file must have.

    Examples
    --------
    >>> with reading("a.json", "a text in JSON"):
    ...     json.loads("[")
    Traceback (most recent call last):
    ...
    riemtr.errors.FileContentError: a.json must be a text in JSON; got: Expecting value: line 1 ...
    """
    try:
        yield
    except (ArgumentError, FileContentError):
        raise
    except Exception as error:  # whatever a library makes of hostile bytes
        if isinstance(error, OSError) and error.filename is not None:
            raise
        said = f"it has no {error}" if isinstance(error, KeyError) else str(error)
        said = " ".join(said.split())[:_LONGEST] or type(error).__name__
        raise FileContentError(f"{os.fspath(path)} must be {what}; got: {said}") from error


def check_size(path: str | os.PathLike[str], size: int) -> None:
    """Refuse a file of some megabytes whose content would fill the memory."""
    packed = os.stat(path).st_size
    if size > max(_LARGE, _EXPANSION * packed):
        raise FileContentError(
            f"{os.fspath(path)} must not expand from {packed / 1e6:.3g} MB to {size / 1e9:.3g} GB: "
            "if it is meant to, save its array with numpy.save"
        )


def check_header(file: IO[bytes], size: int) -> None:
    """Refuse an array of Python objects, or one that is larger than the bytes that follow.

    Parameters
    ----------
    file : binary file
        At the beginning of the array; it is left at the end of the header.
    size : int
        The number of bytes from the beginning of the array to the end of the file.
    """
    begin = file.tell()
    version = np.lib.format.read_magic(file)
    if version not in ((1, 0), (2, 0)):  # the third version is for names that numbers do not have
        raise ValueError(f"an array in version {version} of numpy's format, in place of 1 or 2")
    known = version == (1, 0)
    header = np.lib.format
    shape, _, kind = (header.read_array_header_1_0 if known else header.read_array_header_2_0)(file)
    if kind.hasobject or not kind.itemsize:
        raise ValueError("an array of Python objects, which are not read")
    needed, there = math.prod(shape) * kind.itemsize, size - (file.tell() - begin)
    if min(shape, default=0) < 0 or needed > there:
        raise ValueError(f"an array of shape {shape}, with {there} bytes in place of {needed}")


def read_array(path: str | os.PathLike[str], **options: Any) -> np.ndarray:
    """Read a ``.npy`` file with the options of numpy.load; to be called within :func:`reading`."""
    with open(path, "rb") as file:
        check_header(file, os.fstat(file.fileno()).st_size)
    return np.load(path, allow_pickle=False, **options)


@contextmanager
def archive_of_arrays(path: str | os.PathLike[str]) -> Iterator[Any]:
    """Open an ``.npz`` file after all headers in it are checked; within :func:`reading`."""
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        check_size(path, sum(member.file_size for member in members))
        if len({member.filename.removesuffix(".npy") for member in members}) < len(members):
            raise ValueError("two arrays of the same name")
        for member in members:
            with archive.open(member) as file:
                if file.read(len(_MAGIC)) == _MAGIC:
                    file.seek(0)
                    check_header(file, member.file_size)
    with np.load(path, allow_pickle=False) as arrays:
        yield arrays


def check_sparse(path: str | os.PathLike[str], matrix: Any) -> Any:
    """Return a sparse matrix whose indices are all inside of it, and which fits the memory.

    SciPy writes to the place that an index names, be it outside of the array.
    """
    for name, sides in {"indptr": (), "indices": (), "row": (0,), "col": (1,)}.items():
        indices = getattr(matrix, name, np.zeros(0, int))
        if any(np.any((indices < 0) | (indices >= matrix.shape[side])) for side in sides):
            raise ValueError("a sparse matrix with an index outside of it")
        if np.any(indices < 0):
            raise ValueError("a sparse matrix with a negative index")
    if hasattr(matrix, "check_format"):
        matrix.check_format(full_check=True)
    check_size(path, math.prod(matrix.shape) * matrix.dtype.itemsize)
    return matrix


def numeric(array: Any) -> np.ndarray:
    """Return an array of numbers, of finite ones."""
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "biufc":
        raise ValueError("text or other things in place of numbers")
    if not np.isfinite(array).all():
        raise ValueError("numbers that are not finite")
    return array


def parsed(text: str | bytes) -> Any:
    """Return the value of a text in JSON, unless it is nested deeper than any of riemtr's."""
    value = json.loads(text)
    level = [value]
    for _ in range(_DEEPEST):
        level = [part for whole in level for part in _nested(whole)]
    if level:
        raise ValueError(f"JSON that is nested more than {_DEEPEST} deep")
    return value


def _nested(value: Any) -> list[Any]:
    """Return the lists and objects right inside of a value of JSON."""
    if not isinstance(value, (dict, list)):
        return []
    parts = value.values() if isinstance(value, dict) else value
    return [part for part in parts if isinstance(part, (dict, list))]


def read_json(path: str | os.PathLike[str]) -> Any:
    """Read a file of JSON; to be called within :func:`reading`."""
    return parsed(Path(path).read_bytes())


def typed(kind: Any, value: Any, name: str = "the value") -> Any:
    """Return what JSON has of a value of some type, or raise an error that names the wrong part.

    Parameters
    ----------
    kind : type
        A dataclass, whose fields JSON has by name, ``str``, ``bool``, ``int`` or ``float``,
        ``list``, ``tuple`` and ``dict`` of such, or one of them or None. Others are not looked at.
    value : object
        What JSON has.
    name : str
        What it is called in messages.

    Examples
    --------
    >>> typed(dict[str, tuple[int, ...]], {"a": [1, 2]})
    {'a': (1, 2)}
    >>> typed(float | None, "1.5", "cost")
    Traceback (most recent call last):
    ...
    ValueError: cost must be a number; got '1.5'
    """
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        kinds = [part for part in parts if part is not NoneType]
        if value is None and NoneType in parts:
            return None
        return typed(kinds[0], value, name) if len(kinds) == 1 else _instance(kinds, value, name)
    if isinstance(kind, type) and is_dataclass(kind):
        content = _instance([dict], value, name)
        known = {field.name: field for field in fields(kind)}
        for wrong in [key for key in content if key not in known]:
            raise ValueError(f"{name} with an entry {wrong!r}, which it must not have")
        for key, field in known.items():
            if key not in content and field.default is field.default_factory is MISSING:
                raise ValueError(f"{name} without an entry {key!r}")
        kinds_of = get_type_hints(kind)
        return kind(**{key: typed(kinds_of[key], part, key) for key, part in content.items()})
    if origin is dict:
        content = _instance([dict], value, name)
        return {key: typed(parts[1], part, f"{name}[{key!r}]") for key, part in content.items()}
    if origin in (list, tuple):
        return origin(typed(parts[0], part, name) for part in _instance([list], value, name))
    return _instance([kind], value, name) if kind in _WORDS else value


_WORDS = {
    str: "a text",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    list: "a list",
    dict: "an object with names",
}


def _instance(kinds: list[type], value: Any, name: str) -> Any:
    """Return a value of exactly one of some types; JSON may write a number without its point."""
    if type(value) in kinds or (type(value) is int and float in kinds):
        return value
    shown = repr(value)
    shown = shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}..."
    wanted = " or ".join(_WORDS[kind] for kind in kinds)
    raise ValueError(f"{name} must be {wanted}; got {shown}")
