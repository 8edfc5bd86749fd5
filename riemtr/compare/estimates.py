"""What a recovery method is, and what it returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Estimate:
    """The rows that a method found in whitened data.

    Attributes
    ----------
    rows : ndarray, shape (r, r)
        One direction q per row, of any length but zero: ``rows @ data`` is X up to order and scale.
    claimed : bool
        Whether the method calls itself converged.
    status : str
        How it says it ended.
    iterations : int
    """

    rows: np.ndarray
    claimed: bool
    status: str
    iterations: int


RecoveryMethod = Callable[[np.ndarray, int], Estimate]
"""Called with whitened data (r x p) and a seed for its own start."""
