"""Grids of settings: the same cells whatever runs them, in a store that survives."""

import sys

from riemtr.imports import make_callable
from riemtr.progress import Progress
from riemtr.sweep.cells import Cell, Failure, Outcome
from riemtr.sweep.run import sweep
from riemtr.sweep.table import Table, read

__all__ = ["Cell", "Failure", "Outcome", "Progress", "Table", "read", "sweep"]

make_callable(sys.modules[__name__], sweep)
