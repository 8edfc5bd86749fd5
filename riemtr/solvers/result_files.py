"""Results as files: numbers and arrays in one ``.npz``, without pickles."""

from __future__ import annotations

import io
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import ZipFile

import numpy as np

from riemtr.errors import FileContentError
from riemtr.files import (
    archive_of_arrays,
    json_text,
    numeric,
    parsed,
    reading,
    typed,
    write_atomically,
)
from riemtr.problem import Counts
from riemtr.problem.books import is_known, provide
from riemtr.solvers.certificate import Certificate
from riemtr.solvers.distance import Distance
from riemtr.solvers.status import Reason, Status
from riemtr.solvers.stopping import Tolerances

if TYPE_CHECKING:
    from riemtr.solvers.result import Result

# Version of the format, for files that a later release might not read.
_FORMAT = 1
# Bounds of a certificate that are computed when first asked for.
_BOUNDS = ("lower_bound", "gap")


def save_result(result: Result, path: Any, about: Any = None, overwrite: bool = False) -> None:
    """Save a result to a ``.npz`` file, with ``about`` beside it as the member ``about.json``."""
    path = Path(path)
    if path.exists() and not overwrite:
        raise FileExistsError(f"{path} exists; choose a new path, or pass overwrite=True")
    arrays: dict[str, np.ndarray] = {}
    known = {
        "format": _FORMAT,
        "point": _taken_apart(result.point, "point", arrays),
        "cost": result.cost,
        "gradient_norm": result.gradient_norm,
        "iterations": result.iterations,
        "seconds": result.seconds,
        "status": result.status.name,
        "detail": result.reason.detail,
        "first_order_goal": result.reason.first_order_goal,
        "counts": result.counts.as_dict(),
        "solver": str(result.solver),
        "tolerances": asdict(result.tolerances),
        "size": result.size,
    }
    for name, column in result.history.items():
        arrays[f"history/{name}"] = column
    if is_known(result, "certificate"):
        certificate = result.certificate.__getstate__()
        direction = certificate.pop("direction")
        flat = certificate.pop("flat_directions", None)
        away = certificate.pop("_distance", None)
        if certificate["nearness"] is not None:
            certificate["nearness"] = asdict(certificate["nearness"])
        known["certificate"], known["flat_directions"] = certificate, flat
        known["distance"] = None if away is None else asdict(away)
        known["bounds"] = {name: certificate.pop(name, None) for name in _BOUNDS}
        if direction is not None:
            known["direction"] = _taken_apart(direction, "direction", arrays)
    arrays["result"] = np.array(json.dumps(known))
    archive = io.BytesIO()
    np.savez_compressed(archive, **arrays)  # type: ignore[arg-type]
    if about is not None:
        with ZipFile(archive, "a") as members:
            members.writestr("about.json", json_text(about))
    write_atomically(path, archive.getvalue())


def load_result(path: Any) -> Result:
    """Load a result that ``result.save(path)`` has written.

    It has no problem, so that a certificate which was not asked for before it was saved has to be
    asked for by ``riemtr.certify(problem, result.point)``.

    Examples
    --------
    >>> import riemtr, tempfile, pathlib
    >>> case = riemtr.problems.build("rayleigh", rng=0, n=5)
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "result.npz"
    >>> riemtr.PracticalTRM(max_iterations=2).solve(case.problem, rng=0).save(path)
    >>> loaded = riemtr.load_result(path)
    >>> riemtr.PracticalTRM().solve(case.problem, start=loaded).converged
    True
    """
    with reading(path, "a result saved by result.save(path)"):
        with archive_of_arrays(path) as file:
            arrays = {name: file[name] for name in file.files}
        known = parsed(str(arrays["result"]))
        if typed(dict, known, "the result").get("format") != _FORMAT:
            raise FileContentError(
                f"{path} has format {known.get('format')!r}, and this version of riemtr reads "
                f"{_FORMAT}: load it with the version that saved it"
            )
        return _restored(typed(_Saved, known, "the result"), arrays)


@dataclass(frozen=True)
class _Saved:
    """The numbers of a result as its file has them, and the names of its arrays."""

    format: int
    point: Any
    cost: float
    gradient_norm: float
    iterations: int
    seconds: float
    status: str
    detail: str
    first_order_goal: bool
    counts: Counts
    solver: str
    tolerances: Tolerances
    size: float
    certificate: dict[str, Any] | None = None
    flat_directions: int | None = None
    direction: Any = None
    distance: Distance | None = None  # not in files of older versions
    bounds: dict[str, float | None] | None = None


def _restored(known: _Saved, arrays: dict[str, Any]) -> Result:
    """Return the result of a file."""
    from riemtr.solvers.result import Result

    result = Result(
        point=_put_together(known.point, arrays),
        cost=known.cost,
        gradient_norm=known.gradient_norm,
        iterations=known.iterations,
        seconds=known.seconds,
        reason=Reason(Status[known.status], known.detail, known.first_order_goal),
        counts=known.counts,
        solver=known.solver,
        rows=[],
        evaluation=None,  # type: ignore[arg-type]
        tolerances=known.tolerances,
        size=known.size,
    )
    prefix = "history/"
    history = {name[len(prefix) :]: arrays[name] for name in arrays if name.startswith(prefix)}
    if len({np.shape(column) for column in history.values()}) > 1 or any(
        np.ndim(column) != 1 for column in history.values()
    ):
        raise ValueError("a history with columns of several lengths")
    provide(result, history=history)
    if known.certificate is not None:
        vector = None if known.direction is None else _put_together(known.direction, arrays)
        fields = {**known.certificate, "direction": vector}
        certificate = typed(Certificate, fields, "the certificate")
        if known.flat_directions is not None:
            provide(certificate, flat_directions=known.flat_directions)
        if known.distance is not None:
            provide(certificate, _distance=known.distance)
        bounds = known.bounds or {}
        provide(
            certificate, **{name: bounds[name] for name in _BOUNDS if bounds.get(name) is not None}
        )
        provide(result, certificate=certificate)
    return result


def _taken_apart(value: Any, name: str, arrays: dict[str, np.ndarray]) -> Any:
    """Put the arrays of a point into ``arrays``; return how they are nested, by their names."""
    if isinstance(value, np.ndarray):
        arrays[name] = value
        return name
    names = getattr(value, "names", None)
    parts = [_taken_apart(part, f"{name}/{index}", arrays) for index, part in enumerate(value)]
    return {"names": list(names), "parts": parts} if names else parts


def _put_together(nested: Any, arrays: dict[str, Any]) -> Any:
    """Undo :func:`_taken_apart`; points of named factors become dicts."""
    if isinstance(nested, str):
        return numeric(arrays[nested])
    if isinstance(nested, dict):
        names = typed(list[str], nested["names"], "the names of a point's parts")
        return dict(zip(names, _put_together(nested["parts"], arrays), strict=True))
    parts = [_put_together(part, arrays) for part in typed(list, nested, "the point")]
    if not parts:
        raise ValueError("a point without an array")
    return parts
