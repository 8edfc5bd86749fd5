"""Rounding again what was rounded, where it is not exact though most rows are."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from riemtr.recovery.rounding import Rounding

_ROUNDS = 5  # of rounding a rounded direction again
_UNMOVED = 1e-9  # distance between two roundings that are the same


def round_again(
    rounding: Rounding,
    again: Callable[[int, np.ndarray], Rounding],
    exact: Callable[[np.ndarray], bool],
) -> Rounding:
    """Round a rounded direction until it is exact or no longer moves.

    With \\|r\\| = 1 and <r, q> = 1, \\|q\\| is at least 1, so \\|q'Y\\|_1 / \\|q\\| falls in every
    round: this is descent for the l1 norm itself over the sphere.

    Parameters
    ----------
    rounding : Rounding
        The first one.
    again : callable
        ``again(number, direction)`` rounds a direction.
    exact : callable
        Whether a direction gives an exactly sparse row.
    """
    for number in range(_ROUNDS):
        new = again(number, rounding.direction)
        moved = float(np.linalg.norm(new.direction - rounding.direction))
        rounding = new
        if moved <= _UNMOVED or exact(rounding.direction):
            break
    return rounding
