"""Solvers side by side: the same problems, starts, tolerances, counters and clock for all.

>>> import riemtr
>>> found = riemtr.compare(
...     ("rayleigh", {"n": 10}), ["practical", "pymanopt-cg"], starts=3, saddles=2
... )
>>> sum(run.deceived for run in found.runs if run.solver == "pymanopt-cg")
2
"""

import sys

from riemtr.compare.entrants import Entrant, entrant, solver_names
from riemtr.compare.folder import write_folder
from riemtr.compare.profiles import Profile, performance_profile
from riemtr.compare.records import Comparison, Reach, Run, load
from riemtr.compare.recovery_methods import compare_recovery
from riemtr.compare.runner import compare
from riemtr.compare.starts import saddle_starts
from riemtr.errors import DoesNotApply
from riemtr.imports import make_callable
from riemtr.solvers import LBFGS, ScipyLBFGSB

__all__ = [
    "LBFGS",
    "Comparison",
    "DoesNotApply",
    "Entrant",
    "Profile",
    "Reach",
    "Run",
    "ScipyLBFGSB",
    "compare",
    "compare_recovery",
    "entrant",
    "load",
    "performance_profile",
    "saddle_starts",
    "solver_names",
    "write_folder",
]

make_callable(sys.modules[__name__], compare)
