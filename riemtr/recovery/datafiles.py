"""Data matrices from files: numpy, MATLAB and text formats, and images as patches."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse

from riemtr.data import bundled_images, check_data, load_image, patches
from riemtr.errors import ArgumentError, MissingExtraError, unknown_name
from riemtr.files import check_expansion

_TEXT = (".csv", ".tsv", ".txt")
_PATCH_SIZE = 8  # the paper's, section IV.C


@dataclass(frozen=True, eq=False)
class DataFile:
    """A data matrix and where it comes from.

    Attributes
    ----------
    matrix : ndarray, shape (n, p)
        Y, one sample per column.
    source : str
        The file, or the name of a bundled image.
    patch_size : int or None
        Side of the patches that the samples are, if they are patches.
    is_image : bool
        Whether the patches were cut from an image here.
    """

    matrix: np.ndarray
    source: str
    patch_size: int | None
    is_image: bool


def read_data(
    source: str, *, variable: str | None = None, transpose: bool = False, patch_size: int | None
) -> DataFile:
    """Read a data matrix from a file, or cut an image into patches.

    Parameters
    ----------
    source : str
        A file: ``.npy``, ``.npz`` (scipy's sparse ones included), ``.mat``, numbers as text
        (``.csv``, ``.tsv``, ``.txt``), else an image; or the name of a bundled image. A first
        line without a number is a heading (or with an empty place and the numbers 0, 1, 2 ..., as
        pandas writes it); a first column without a name there, its index, is dropped.
    variable : str, optional
        Which array to take from an ``.npz`` or ``.mat`` file; without it, the only one or Y.
    transpose : bool
        Whether the file has one sample per row.
    patch_size : int or None
        Side of the patches to cut from an image, 8 if None; for a matrix, that its samples are
        patches of that side.

    Examples
    --------
    >>> read_data("camera", patch_size=8).matrix.shape
    (64, 4096)
    """
    path = Path(source).expanduser()
    suffix = path.suffix.lower()
    if suffix in _READERS:
        if not path.is_file():
            raise FileNotFoundError(f"there is no file {str(path)!r}")
        matrix = check_data(_READERS[suffix](path, variable))
        matrix = matrix.T if transpose else matrix
        if patch_size is not None and matrix.shape[0] != patch_size**2:
            raise ArgumentError(
                "patch_size",
                f"be the side of the patches, whose square is the {matrix.shape[0]} features of "
                f"{path.name}",
                patch_size,
                "leave it out if the samples are not patches",
            )
        return DataFile(matrix, source, patch_size, is_image=False)
    for name, given in (("variable", variable is not None), ("transpose", transpose)):
        if given:
            raise ArgumentError(name, f"be left out for an image, such as {source!r}")
    size = _PATCH_SIZE if patch_size is None else patch_size
    image = _load_image(source, path)
    return DataFile(patches(image, size), source, size, is_image=True)


def _load_image(source: str, path: Path) -> np.ndarray:
    if not path.exists() and not path.suffix and path.name == source:
        try:
            names = bundled_images()
        except MissingExtraError:  # the source is a typing error, or a reason to install it
            names = ()
        if names and source not in names:
            close = unknown_name("the bundled image", source, names)
            raise ValueError(f"there is no file {source!r}, and {close}")
        return load_image(source)
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {str(path)!r}")
    try:
        return load_image(path)
    except ValueError as error:
        known = ", ".join(sorted(_READERS))
        raise ValueError(f"{error}; files of matrices end in {known}") from error


def _read_npy(path: Path, variable: str | None) -> Any:
    _no_variable(path, variable)
    with path.open("rb") as file:
        if file.read(6) != b"\x93NUMPY":
            raise ValueError(
                f"{path} must be an array of numbers as numpy.save writes it, and is another kind "
                f"of file; text files end in .csv or .txt"
            )
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise ValueError(
            f"{path} must be an array of numbers as numpy.save writes it; got: {error}"
        ) from error


def _read_npz(path: Path, variable: str | None) -> Any:
    if not zipfile.is_zipfile(path):
        raise ValueError(f"{path} must be an archive of arrays as numpy.savez writes it")
    check_expansion(path)
    with np.load(path, allow_pickle=False) as archive:
        if {"format", "shape", "data"} <= set(archive.files):  # as scipy.sparse writes it
            return scipy.sparse.load_npz(path)
        name = _choose(path, archive.files, variable)
        try:
            return archive[name]
        except (ValueError, zipfile.BadZipFile) as error:
            raise ValueError(f"{name!r} of {path} must be numbers; got: {error}") from error


def _read_mat(path: Path, variable: str | None) -> Any:
    try:
        content = scipy.io.loadmat(path)
    except NotImplementedError as error:
        raise ValueError(
            f"{path} is a MATLAB 7.3 file; save it from MATLAB with save(..., '-v7')"
        ) from error
    except (ValueError, TypeError, scipy.io.matlab.MatReadError) as error:
        raise ValueError(f"{path} must be a MATLAB file; got: {error}") from error
    matrices = {
        name: value
        for name, value in content.items()
        if not name.startswith("__") and value.dtype.kind in "fiubc" and min(value.shape) > 1
    }
    return matrices[_choose(path, list(matrices), variable)]


def _read_text(path: Path, variable: str | None) -> Any:
    _no_variable(path, variable)
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} must be text in UTF-8; got: {error}") from error
    kept = {
        number: line
        for number, line in enumerate(lines, start=1)
        if line.strip() and not line.startswith("#")
    }
    lines = list(kept.values())
    if not lines:
        raise ValueError(f"{path} must hold numbers; it is empty")
    separator = next((mark for mark in "\t;," if mark in lines[0]), None)
    heading = [field.strip().strip("\"'") for field in lines[0].split(separator)]
    # One number makes a line of numbers: what else is in it is a gap, to be named and not skipped.
    # But pandas numbers columns without names, and leaves the place above its index empty.
    numbered = heading == ["", *map(str, range(len(heading) - 1))]
    has_heading = numbered or not any(_is_number(field) for field in heading)
    if len(lines) == has_heading:
        raise ValueError(f"{path} must hold numbers; it has only a heading")
    width = len(lines[has_heading].split(separator))
    # R leaves out the place above its row names, and the heading has one field less.
    index = has_heading and (heading[0] == "" or len(heading) == width - 1)
    try:
        return np.loadtxt(
            lines[has_heading:],
            delimiter=separator,
            ndmin=2,
            usecols=range(1, width) if index else None,
        )
    except ValueError as error:
        table = list(kept.items())[has_heading:]
        wrong = _first_mistake(table, separator, 1 if index else 0) or str(error)
        raise ValueError(
            f"{path} must hold rows of numbers, separated by commas, semicolons, tabs or spaces, "
            f"with a point for decimals and no gaps; got: {wrong}"
        ) from error


def _first_mistake(
    numbered: list[tuple[int, str]], separator: str | None, first_field: int
) -> str | None:
    """Say where the first thing is that is no row of numbers, by lines of the file from 1."""
    width = len(numbered[0][1].partition("#")[0].split(separator))
    for number, line in numbered:
        fields = line.partition("#")[0].split(separator)
        if len(fields) != width:
            return f"{len(fields)} fields in line {number}, {width} in line {numbered[0][0]}"
        for place, field in enumerate(fields[first_field:], start=first_field + 1):
            if not _is_number(field):
                return f"{field.strip()!r} in line {number}, field {place}"
    return None


_READERS: dict[str, Callable[[Path, str | None], Any]] = {
    ".npy": _read_npy,
    ".npz": _read_npz,
    ".mat": _read_mat,
    **dict.fromkeys(_TEXT, _read_text),
}


def _choose(path: Path, names: list[str], variable: str | None) -> str:
    if variable is not None:
        if variable not in names:
            raise unknown_name("variable", variable, names)
        return variable
    if "Y" in names:
        return "Y"
    if len(names) == 1:
        return names[0]
    listed = ", ".join(repr(name) for name in sorted(names)) or "none"
    asked = f"say which array of {path.name} to take, unless it has one only or one called Y"
    raise ArgumentError("variable", f"{asked}; it has: {listed}")


def _no_variable(path: Path, variable: str | None) -> None:
    if variable is not None:
        raise ArgumentError("variable", f"be left out: {path.name} holds one array", variable)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
