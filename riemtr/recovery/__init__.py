"""L4: from a data matrix to a certified dictionary: precondition, solve, round, deflate."""

from riemtr.progress import Progress
from riemtr.recovery.pipeline import recover_dictionary, recover_row
from riemtr.recovery.report import Atom, Recovery
from riemtr.recovery.rounding import Rounding, round_direction
from riemtr.recovery.solving import Solve
from riemtr.recovery.whitening import Preconditioned, numerical_rank, precondition

__all__ = [
    "Atom",
    "Preconditioned",
    "Progress",
    "Recovery",
    "Rounding",
    "Solve",
    "numerical_rank",
    "precondition",
    "recover_dictionary",
    "recover_row",
    "round_direction",
]
