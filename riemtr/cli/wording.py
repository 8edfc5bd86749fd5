"""What the library calls an argument in Python is an option here: its messages, reworded.

Each table belongs to a command: what a message says, as a regular expression, and what to say
instead, in the order in which they are applied.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

SOLVE = {
    r"max_iterations": "--max-iterations",
    r"max_seconds": "--max-seconds",
    r"curvature_tolerance": "--curvature-tolerance",
    r"loosen tolerance": "loosen --tolerance",
    r"a smaller radius": "a smaller --radius",
    r"an adaptive one, (.*) \(PracticalTRM\)": r"--solver practical, \1",
}
"""How a run ended."""

COMPARE = {
    r"pass force=True to replace it": "add --force to replace it",
    r"\bwith resume\b": "with --resume",
    r"^resume continues what force=True": "--resume continues what --force",
    r"choose another store": "choose another --out",
    r"curvature_tolerance must": "--curvature-tolerance must",
    r"max_seconds must": "--max-seconds must",
    r"tolerances must": "--tolerances must",
    r"methods must": "--solvers must",
    r"starts and saddles must": "--starts and --saddles must",
    r": pass a dict by name": ": give it once",
    r": pass a dict by label": ": give it once",
    r"\[1e-2, 1e-6\]": "1e-2,1e-6",
}

RECOVER = {
    r"pass rank='auto'": "add --rank auto",
    r"rank='auto'": "--rank auto",
    r"transpose Y if its samples are rows": "add --transpose if its samples are rows",
    r"pass a rank well below": "add a --rank well below",
    r"patch_size": "--patch-size",
    r"variable must": "--variable must",
    r"variable, of": "--variable, of",
    r"variable is": "--variable is",
    r"transpose is": "--transpose is",
    r"rank must": "--rank must",
    r"n_jobs": "--jobs",
    r"rng must": "--seed must",
    r"a numpy\.random\.Generator or None; ": "or be left out; ",
    r"pass the same data and settings to continue it, or another path to start anew": "repeat that "
    "command to finish it, choose another --out, or add --force to start over",
}

SWEEP = {
    r"\bwith resume\b": "with --resume",
    r"choose another store to run": "choose another --out to run",
    r"accept_changes=True": "--accept-changes",
    r"^(scheduler|workers|noise|mu) (?=is|must)": r"--\1 ",
    r"^condition_number (?=must)": "--condition-number ",
    r"must be 1 or None where backend": "must be 1 where --backend",
    r"\bbackend='": "--backend '",
    r"^grid (?=must)": "-g ",
}


def in_options(message: str, table: Mapping[str, str]) -> str:
    """Return a message in terms of the command line.

    Examples
    --------
    >>> in_options("out of time: raise max_seconds, or loosen tolerance", SOLVE)
    'out of time: raise --max-seconds, or loosen --tolerance'
    """
    for python, option in table.items():
        message = re.sub(python, option, message)
    return message


@contextmanager
def reworded(table: Mapping[str, str], *kinds: type[Exception]) -> Iterator[None]:
    """Turn errors of these kinds into ones that say it in terms of the command line."""
    try:
        yield
    except kinds as error:
        raise ValueError(in_options(str(error), table)) from error
