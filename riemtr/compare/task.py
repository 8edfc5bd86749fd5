"""What all solvers of a comparison get."""

from __future__ import annotations

from dataclasses import dataclass

from riemtr.compare.entrants import Demands
from riemtr.compare.starts import Start
from riemtr.problems import Case


@dataclass(frozen=True)
class Task:
    """What all solvers get: a problem and a start.

    Attributes
    ----------
    label : str
        Of the problem.
    case : Case
    number : int
        Of the start.
    start : Start
    seed : tuple of int
        Of whatever the solver draws.
    tolerances : tuple of float
        Gradient norms to reach, loosest first.
    demands : Demands
    """

    label: str
    case: Case
    number: int
    start: Start
    seed: tuple[int, ...]
    tolerances: tuple[float, ...]
    demands: Demands
