"""Data matrices from files: numpy, MATLAB and text formats, and images as patches."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.io
import scipy.sparse

from riemtr.data import bundled_images, check_data, load_image, patches
from riemtr.errors import ArgumentError, FileContentError, MissingExtraError, unknown_name
from riemtr.files import archive_of_arrays, check_sparse, read_array, reading

_TEXT = (".csv", ".tsv", ".txt")
_PATCH_SIZE = 8  # the paper's, section IV.C
# Files of recordings, which other packages read.
_RECORDINGS = (".fif", ".edf", ".bdf", ".gdf", ".vhdr", ".fdt")
# Names of columns that number or time the rows, in small letters.
_INDEX_NAMES = ("", "index", "id", "time", "times", "timestamp", "t", "date", "datetime")
_HDF5 = (".h5", ".hdf5", ".he5", ".hdf")
# How the names begin that pandas gives to columns without one.
_UNNAMED = "unnamed:"
# Numbers that rise or fall one and all, by chance in one of two million rows.
_MONOTONE = 10
# Numbers of a first line that are 0, 1, 2 ... or 1, 2, 3 ..., and nothing else.
_COUNTED = 3
# Values and names that a message shows.
_SHOWN_VALUES, _SHOWN_NAMES = 3, 12


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
    names : tuple of str
        What the features are called, as the columns of a table are; empty where they are not.
    """

    matrix: np.ndarray
    source: str
    patch_size: int | None
    is_image: bool
    names: tuple[str, ...] = ()


class _Wanted(NamedTuple):
    """What of a file to take."""

    variable: str | None
    transpose: bool
    drop: tuple[str, ...]
    keep: tuple[str, ...]
    decimal: str  # the comma; empty for the point


class _Content(NamedTuple):
    """A matrix as it is in the file, and the names of its rows and columns, if it has such."""

    matrix: Any
    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()


def read_data(
    source: str,
    *,
    variable: str | None = None,
    transpose: bool = False,
    drop: str | Sequence[str] = (),
    keep: str | Sequence[str] = (),
    decimal: str = ".",
    patch_size: int | None = None,
) -> DataFile:
    """Read a data matrix from a file, or cut an image into patches.

    No column of a table is left out unless you say so. A column that looks like an index or a time,
    by its name or because its numbers only rise, is refused until ``drop`` or ``keep`` names it.

    Parameters
    ----------
    source : str
        A file: ``.npy``, ``.npz`` (scipy's sparse ones included), ``.mat``, EEGLAB's ``.set``,
        numbers as text (``.csv``, ``.tsv``, ``.txt``), else an image; or the name of a bundled
        image. A first line without a number is a heading (or with an empty place and the numbers
        0, 1, 2 ..., as pandas writes it).
    variable : str, optional
        Which array to take from an ``.npz`` or ``.mat`` file, ``struct.field`` for a field of a
        struct; without it, the only one, Y or EEG.data, whose epochs are joined.
    transpose : bool
        Whether the file has one sample per row.
    drop, keep : str or sequence of str
        Columns of a table to leave out, and columns to take though they look like an index or a
        time. One without a name is called by its place, ``column1``; so are rows, ``row1``.
    decimal : {".", ","}
        The mark in front of decimals in a table. With commas there, columns are separated by
        semicolons, tabs or spaces.
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
    if decimal not in (".", ","):
        raise ArgumentError("decimal", "be '.' or ','", decimal)
    comma = decimal.strip(".")
    wanted = _Wanted(variable, transpose, _as_names(drop), _as_names(keep), comma)
    if suffix in _RECORDINGS or path.name.lower().endswith(".fif.gz"):
        raise ValueError(
            f"{path.name} is a recording in a format that riemtr does not read; in Python, "
            f"numpy.save('Y.npy', mne.io.read_raw({path.name!r}).get_data()) writes one that it "
            f"does"
        )
    if suffix in _HDF5:
        raise ValueError(
            f"{path.name} is an HDF5 file, which riemtr does not read; in Python, "
            f"numpy.save('Y.npy', h5py.File({path.name!r})[NAME][:]) writes a file that it reads, "
            f"with the NAME of the array"
        )
    if suffix in _READERS:
        if not path.is_file():
            raise FileNotFoundError(f"there is no file {str(path)!r}")
        content = _READERS[suffix](path, wanted)
        with reading(path, "a matrix of finite numbers"):
            matrix = check_data(content.matrix)
        matrix = matrix.T if transpose else matrix
        if patch_size is not None and matrix.shape[0] != patch_size**2:
            raise ArgumentError(
                "patch_size",
                f"be the side of the patches, whose square is the {matrix.shape[0]} features of "
                f"{path.name}",
                patch_size,
                "leave it out if the samples are not patches",
            )
        names = content.columns if transpose else content.rows
        return DataFile(matrix, source, patch_size, is_image=False, names=names)
    for name, given in wanted._asdict().items():
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


def _as_names(names: str | Sequence[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def _read_npy(path: Path, wanted: _Wanted) -> _Content:
    _no_variable(path, wanted)
    _no_columns(path, wanted)
    with path.open("rb") as file:
        if file.read(6) != b"\x93NUMPY":
            raise ValueError(
                f"{path} must be an array of numbers as numpy.save writes it, and is another kind "
                f"of file; text files end in .csv or .txt"
            )
    with reading(path, "an array of numbers as numpy.save writes it"):
        return _Content(read_array(path, mmap_mode="r"))


def _read_npz(path: Path, wanted: _Wanted) -> _Content:
    _no_columns(path, wanted)
    what = "an archive of arrays of numbers as numpy.savez writes it"
    with reading(path, what), archive_of_arrays(path) as archive:
        if {"format", "shape", "data"} <= set(archive.files):  # as scipy.sparse writes it
            return _Content(check_sparse(path, scipy.sparse.load_npz(path)))
        return _Content(archive[_choose(path, archive.files, wanted.variable)])


def _read_mat(path: Path, wanted: _Wanted) -> _Content:
    _no_columns(path, wanted)
    with reading(path, "a MATLAB file"):
        try:
            content = scipy.io.loadmat(path)
        except NotImplementedError as error:
            raise FileContentError(
                f"{path} is a MATLAB 7.3 file; save it from MATLAB with save(..., '-v7')"
            ) from error
    variables = {name: value for name, value in content.items() if not name.startswith("__")}
    if {"data", "nbchan", "srate"} <= set(variables):  # as recent versions of EEGLAB save
        variables = {f"EEG.{name}": value for name, value in variables.items()}
    fields = dict(_fields(variables))
    if wanted.variable in (None, "EEG.data") and _is_text(fields.get("EEG.data")):
        elsewhere = str(fields["EEG.data"].item())
        raise ValueError(
            f"the data of {path.name} are in another file, {elsewhere!r}, which riemtr "
            f"does not read; in MATLAB, EEG = pop_loadset('{path.name}'); Y = double(EEG.data); "
            f"save('Y.mat', 'Y', '-v7') writes one file with all of them"
        )
    matrices = {
        name: value
        for name, value in fields.items()
        if value.dtype.kind in "fiubc" and min(value.shape) > 1
    }
    name = _choose(path, list(matrices), wanted.variable)
    matrix = matrices[name]
    if scipy.sparse.issparse(matrix):
        with reading(path, "a MATLAB file"):
            check_sparse(path, matrix)
    if name != "EEG.data":
        return _Content(matrix)
    # Epochs are the third dimension, one after the other in time.
    return _Content(matrix.reshape(len(matrix), -1, order="F"), rows=_channels(fields, len(matrix)))


def _fields(variables: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield variables of MATLAB by name, those of a single struct as ``struct.field``."""
    for name, value in variables.items():
        if value.dtype.names is None or value.size != 1:
            yield name, value
        else:
            for field in value.dtype.names:
                yield f"{name}.{field}", np.asarray(value[field].item())


def _is_text(value: Any) -> bool:
    return value is not None and value.dtype.kind == "U" and value.size == 1


def _channels(fields: dict[str, Any], count: int) -> tuple[str, ...]:
    """Return the names of EEGLAB's channels, or none where not all have one."""
    places = fields.get("EEG.chanlocs")
    if places is None or "labels" not in (places.dtype.names or ()) or places.size != count:
        return ()
    labels = [np.asarray(label) for label in places["labels"].ravel()]
    return tuple(str(label.item()) for label in labels) if all(map(_is_text, labels)) else ()


class _Table(NamedTuple):
    """The lines of a table by their numbers in the file, and what its rows and columns are called.

    ``heading`` is empty where the file has none; ``columns`` then are called by their places.
    """

    lines: list[tuple[int, str]]
    separator: str | None
    heading: list[str]
    columns: list[str]
    rows: list[str]

    def fields(self, line: str) -> list[str]:
        """Return the fields of a line, without quotes."""
        fields = line.partition("#")[0].split(self.separator)
        return [field.strip().strip("\"'") for field in fields]


def _read_text(path: Path, wanted: _Wanted) -> _Content:
    _no_variable(path, wanted)
    table = _table(path, wanted.decimal)
    _check_named(path, wanted, table)
    taken = [place for place, name in enumerate(table.columns) if name not in wanted.drop]
    left = [place for place, name in enumerate(table.rows) if name not in wanted.drop]
    if not (taken and left):
        raise ArgumentError("drop", f"leave something of {path.name}", ", ".join(wanted.drop))
    columns, rows = [table.columns[i] for i in taken], [table.rows[i] for i in left]
    lines = [table.lines[i] for i in left]
    for place in taken if table.heading else []:
        if _is_index_name(table.heading[place]) and table.columns[place] not in wanted.keep:
            some = [table.fields(line)[place : place + 1] for _, line in lines[: _SHOWN_VALUES + 1]]
            raise _asked(
                path, "column", table.columns[place], [text for each in some for text in each]
            )
    try:
        whole = len(taken) == len(table.columns)
        if not whole and any(len(table.fields(line)) != len(table.columns) for _, line in lines):
            raise ValueError  # which numpy does not notice where it takes some columns only
        matrix = np.loadtxt(
            [line for _, line in lines],
            delimiter=table.separator,
            ndmin=2,
            usecols=None if whole else taken,
        )
    except ValueError as error:
        mistake = _first_mistake(lines, table.separator, taken)
        wrong, remedy = (mistake, _remedy(mistake)) if mistake else (str(error), "")
        raise ValueError(
            f"{path} must hold rows of numbers, separated by commas, semicolons, tabs or spaces, "
            f"with a point for decimals and no gaps; got: {wrong}{remedy}"
        ) from error
    _ask_about_numbers(path, wanted, matrix, rows, columns, bool(table.heading))
    return _Content(matrix, columns=tuple(columns) if table.heading else ())


def _table(path: Path, decimal: str) -> _Table:
    """Read the lines of a table, and tell a heading from numbers; decimals come after a point."""
    with reading(path, "text in UTF-8"):
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    table = [
        (number, line)
        for number, line in enumerate(lines, start=1)
        if line.strip() and not line.startswith("#")
    ]
    if not table:
        raise ValueError(f"{path} must hold numbers; it is empty")
    first = table[0][1]
    separator = next((mark for mark in "\t;,".rstrip(decimal) if mark in first), None)
    if decimal:
        marked = re.compile(rf"(?<=\d){decimal}(?=\d)|(?<![^\s;+-]){decimal}(?=\d)")
        table = [(number, marked.sub(".", line)) for number, line in table]
        first = table[0][1]
    heading = [field.strip().strip("\"'") for field in first.split(separator)]
    # One number makes a line of numbers: what else is in it is a gap, to be named and not skipped.
    # But pandas numbers columns without names, and leaves the place above its index empty.
    numbered = heading == ["", *map(str, range(len(heading) - 1))]
    if not numbered and any(_is_number(field) for field in heading):
        heading = []
    table = table[1:] if heading else table
    if not table:
        raise ValueError(f"{path} must hold numbers; it has only a heading")
    width = len(table[0][1].partition("#")[0].split(separator))
    # R leaves out the place above its row names, and the heading has one field less.
    heading = ["", *heading] if len(heading) == width - 1 and heading else heading
    if heading and len(heading) != width:
        raise ValueError(
            f"{path} must have as many fields in every line; got {len(heading)} in its heading, "
            f"{width} in line {table[0][0]}"
        )
    columns = [(heading[i] if heading else "") or f"column{i + 1}" for i in range(width)]
    rows = [f"row{number}" for number in range(1, len(table) + 1)]
    return _Table(table, separator, heading, columns, rows)


def _ask_about_numbers(
    path: Path,
    wanted: _Wanted,
    matrix: np.ndarray,
    rows: list[str],
    columns: list[str],
    has_heading: bool,
) -> None:
    """Ask about features whose numbers only rise or fall, and a first sample that only counts.

    Below a heading, a row of 0, 1, 2 ... is no other one.
    """
    by_row, by_column = ("row", rows, matrix), ("column", columns, matrix.T)
    features, samples = (by_column, by_row) if wanted.transpose else (by_row, by_column)
    kind, names, vectors = features
    for name, vector in zip(names, vectors, strict=True):
        if _is_monotone(vector) and name not in wanted.keep:
            raise _asked(path, kind, name, [f"{value:g}" for value in vector[: _SHOWN_VALUES + 1]])
    kind, names, vectors = samples
    is_named = has_heading and kind == "row"
    if _is_counted(vectors[0]) and not is_named and names[0] not in wanted.keep:
        some = [f"{value:g}" for value in vectors[0, : _SHOWN_VALUES + 1]]
        raise _asked(path, kind, names[0], some)


def _check_named(path: Path, wanted: _Wanted, table: _Table) -> None:
    """Refuse to drop or keep what a table does not have, or to do both."""
    for option, names in (("drop", wanted.drop), ("keep", wanted.keep)):
        for name in names:
            if name not in table.columns and name not in table.rows:
                some = ", ".join(map(repr, table.columns[:_SHOWN_NAMES]))
                more = ", ..." if len(table.columns) > _SHOWN_NAMES else ""
                raise ArgumentError(option, f"name columns of {path.name}: {some}{more}", name)
    for name in set(wanted.drop) & set(wanted.keep):
        raise ArgumentError("drop", "name other columns than keep", name)


def _is_index_name(name: str) -> bool:
    return name.lower() in _INDEX_NAMES or name.lower().startswith(_UNNAMED)


def _is_monotone(vector: np.ndarray) -> bool:
    """Whether numbers only rise, or only fall, as those of a time or an index do."""
    steps = np.diff(vector)
    return len(vector) >= _MONOTONE and bool((steps > 0).all() or (steps < 0).all())


def _is_counted(vector: np.ndarray) -> bool:
    """Whether numbers are 0, 1, 2 ... or 1, 2, 3 ..."""
    counted = vector[0] + np.arange(len(vector))
    return len(vector) >= _COUNTED and vector[0] in (0, 1) and np.array_equal(vector, counted)


def _asked(path: Path, kind: str, name: str, values: list[str]) -> ValueError:
    """Return the question whether something is data or not."""
    shown = ", ".join(values[:_SHOWN_VALUES]) + (", ..." if len(values) > _SHOWN_VALUES else "")
    return ValueError(
        f"{kind} {name!r} of {path.name} ({shown}) looks like a time or an index: say "
        f"drop={name!r} to leave it out, or keep={name!r} if it is data"
    )


def _first_mistake(
    numbered: list[tuple[int, str]], separator: str | None, taken: list[int]
) -> str | None:
    """Say where the first thing is that is no row of numbers, by lines of the file from 1."""
    width = len(numbered[0][1].partition("#")[0].split(separator))
    for number, line in numbered:
        fields = line.partition("#")[0].split(separator)
        if len(fields) != width:
            return f"{len(fields)} fields in line {number}, {width} in line {numbered[0][0]}"
        for place in taken:
            if not _is_number(fields[place]):
                return f"{fields[place].strip()!r} in line {number}, field {place + 1}"
    return None


def _remedy(mistake: str) -> str:
    """Return the way out of a mistake in a table, in front of which there is a semicolon."""
    if re.match(r"'[+-]?\d*,\d+(e[+-]?\d+)?'", mistake, re.IGNORECASE):
        return "; say decimal=',' if the comma stands for the decimal point"
    if re.match(r"'(|nan|na|n/a|null|none|-|\?)' in", mistake, re.IGNORECASE):
        return (
            "; fill the gaps, or leave out the samples that have some: in Python, "
            "pandas.read_csv(...).dropna().to_csv(..., index=False) does"
        )
    return ""


_READERS: dict[str, Callable[[Path, _Wanted], _Content]] = {
    ".npy": _read_npy,
    ".npz": _read_npz,
    ".mat": _read_mat,
    ".set": _read_mat,
    **dict.fromkeys(_TEXT, _read_text),
}


def _choose(path: Path, names: list[str], variable: str | None) -> str:
    if variable is not None:
        if variable not in names:
            raise unknown_name("variable", variable, names)
        return variable
    for usual in ("Y", "EEG.data"):
        if usual in names:
            return usual
    if len(names) == 1:
        return names[0]
    listed = ", ".join(repr(name) for name in sorted(names)) or "none"
    asked = f"say which array of {path.name} to take, unless it has one only or one called Y"
    raise ArgumentError("variable", f"{asked}; it has: {listed}")


def _no_variable(path: Path, wanted: _Wanted) -> None:
    if wanted.variable is not None:
        raise ArgumentError(
            "variable", f"be left out: {path.name} holds one array", wanted.variable
        )


def _no_columns(path: Path, wanted: _Wanted) -> None:
    if wanted.decimal:
        needs = f"be left out: {path.name} is no table in text"
        raise ArgumentError("decimal", needs, wanted.decimal)
    for option, names in (("drop", wanted.drop), ("keep", wanted.keep)):
        if names:
            raise ArgumentError(
                option, f"be left out: columns of {path.name} have no names", ", ".join(names)
            )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
