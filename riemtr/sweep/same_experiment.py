"""Whether a store is that of an experiment: the same task, the same code, no other cells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from riemtr.sweep.cells import SEED, Cell
from riemtr.sweep.fingerprint import is_other
from riemtr.sweep.outcomes import Outcome

_SHOWN = 6  # values listed in an error


def check_same(
    path: Path,
    known_task: str | None,
    outcomes: Sequence[Outcome],
    task: str,
    cells: Sequence[Cell],
) -> None:
    """Raise an error where the store is not that of the same experiment, perhaps a smaller one."""
    wanted = {cell.key for cell in cells}
    strangers = [one.cell for one in outcomes if one.cell.key not in wanted]
    if known_task in (task, None) and not strangers:
        return
    if known_task not in (task, None):
        differences = [f"the task is {known_task!r} there, {task!r} here"]
    else:
        differences = list(_differences(strangers, cells))
        differences = differences or [f"{strangers[0]} is there and not here"]
    raise ValueError(
        f"store {str(path)!r} belongs to another experiment: {'; '.join(differences)}; repeat that "
        f"grid, extend it by further values, or choose another store"
    )


def check_code(path: Path, known: Sequence[str | None], code: str | None) -> None:
    """Raise an error where outcomes that are kept are of other code than what is to be run.

    Parameters
    ----------
    path : Path
    known : sequence of str or None
        Fingerprints of the code that they are from; None where it was not kept.
    code : str or None
        That of the task.
    """
    others = sum(is_other(code, one) for one in known)
    if others:
        raise ValueError(
            f"store {str(path)!r} has results of other code: the task was changed since {others} "
            f"of its {len(known)} cells were run, or is another function of the same name; choose "
            f"another store to run them all with this code, or keep them with accept_changes=True"
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
