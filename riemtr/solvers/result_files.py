"""Results as files: numbers and arrays in one ``.npz``, without pickles."""

from __future__ import annotations

import io
import json
import math
import zlib
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile, ZipFile, is_zipfile

import numpy as np

from riemtr.files import check_expansion, json_text, write_atomically
from riemtr.problem import Counts, Threshold
from riemtr.problem.books import is_known, provide
from riemtr.problem.newton import Nearness
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
        nearness = certificate.pop("nearness")
        known["nearness"] = None if nearness is None else asdict(nearness)
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
    from riemtr.solvers.result import Result

    try:
        if is_zipfile(path):
            check_expansion(Path(path))
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        known = json.loads(str(arrays["result"]))
    except FileNotFoundError:
        raise
    except (KeyError, ValueError, OSError, EOFError, BadZipFile, zlib.error) as error:
        raise ValueError(f"{path} is no result saved by result.save(path): {error}") from None
    if known["format"] != _FORMAT:
        raise ValueError(
            f"{path} has format {known['format']}, and this version of riemtr reads {_FORMAT}: "
            "load it with the version that saved it"
        )
    tolerances = known["tolerances"]
    found = Result(
        point=_put_together(known["point"], arrays),
        cost=known["cost"],
        gradient_norm=known["gradient_norm"],
        iterations=known["iterations"],
        seconds=known["seconds"],
        reason=Reason(Status[known["status"]], known["detail"], known["first_order_goal"]),
        counts=Counts(**known["counts"]),
        solver=known["solver"],
        rows=[],
        evaluation=None,  # type: ignore[arg-type]
        tolerances=Tolerances(
            tolerances["gradient"],
            tolerances["relative"],
            Threshold(**tolerances["curvature"]),
            tolerances.get("distance", math.inf),  # not in files of older versions
        ),
        size=known["size"],
    )
    prefix = "history/"
    history = {name[len(prefix) :]: arrays[name] for name in arrays if name.startswith(prefix)}
    provide(found, history=history)
    if "certificate" in known:
        direction = known.get("direction")
        vector = None if direction is None else _put_together(direction, arrays)
        nearness = known.get("nearness")  # not in files of older versions
        nearness = None if nearness is None else Nearness.from_saved(nearness)
        certificate = Certificate(**known["certificate"], direction=vector, nearness=nearness)
        if known["flat_directions"] is not None:
            provide(certificate, flat_directions=known["flat_directions"])
        if known.get("distance") is not None:  # not in files of older versions
            provide(certificate, _distance=Distance(**known["distance"]))
        bounds = known.get("bounds", {})
        provide(certificate, **{name: each for name, each in bounds.items() if each is not None})
        provide(found, certificate=certificate)
    return found


def _taken_apart(value: Any, name: str, arrays: dict[str, np.ndarray]) -> Any:
    """Put the arrays of a point into ``arrays``; return how they are nested, by their names."""
    if isinstance(value, np.ndarray):
        arrays[name] = value
        return name
    names = getattr(value, "names", None)
    parts = [_taken_apart(part, f"{name}/{index}", arrays) for index, part in enumerate(value)]
    return {"names": list(names), "parts": parts} if names else parts


def _put_together(nested: Any, arrays: dict[str, np.ndarray]) -> Any:
    """Undo :func:`_taken_apart`; points of named factors become dicts."""
    if isinstance(nested, str):
        return arrays[nested]
    if isinstance(nested, dict):
        parts = [_put_together(part, arrays) for part in nested["parts"]]
        return dict(zip(nested["names"], parts, strict=True))
    return [_put_together(part, arrays) for part in nested]
