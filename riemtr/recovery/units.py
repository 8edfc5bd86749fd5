"""Data in units in which squares neither over- nor underflow: a power of two rounds nothing."""

from __future__ import annotations

import math
from typing import overload

import numpy as np

from riemtr.data.matrices import largest_entry
from riemtr.data.partitioned import Matrix, Partitioned

_SQUARES = 40  # exponent of two up to which sums of squares are numbers, in single precision too
# The same for coefficients, which differ from the data in size by up to their condition number.
_COEFFICIENTS = {np.dtype(np.float32): 100, np.dtype(np.float64): 1010}


def power_of_two(Y: Matrix) -> float:
    """Return 1, or where squares of the entries would over- or underflow, what prevents it."""
    exponent = math.frexp(_largest(Y))[1]
    if abs(exponent) < _SQUARES:
        return 1.0
    return math.ldexp(1.0, min(-exponent, 1000))


@overload
def in_safe_units(Y: Partitioned) -> tuple[Partitioned, float]: ...
@overload
def in_safe_units(Y: Matrix) -> tuple[Matrix, float]: ...
def in_safe_units(Y: Matrix) -> tuple[Matrix, float]:
    """Return ``unit * Y`` and the unit, a power of two: Y itself, where that is 1."""
    unit = power_of_two(Y)
    if unit == 1.0:
        return Y, unit
    if isinstance(Y, Partitioned):
        return Y.mapped(_scaled, unit, rows=Y.rows), unit
    return _scaled(Y, unit), unit


def check_range(Y: Matrix) -> None:
    """Raise an error where dictionary, maps or coefficients would leave the range of the type."""
    largest = _largest(Y)
    most = _COEFFICIENTS[Y.dtype]
    if largest > 0 and abs(math.frexp(largest)[1]) > most:
        low, high = math.ldexp(1.0, -most), math.ldexp(1.0, most)
        wider = "Y.astype(np.float64), or " if Y.dtype == np.float32 else ""
        raise ValueError(
            f"Y must have its largest entry between {low:.0e} and {high:.0e} in {Y.dtype}; got "
            f"{largest:.1e}: pass {wider}Y in other units"
        )


def _largest(Y: Matrix) -> float:
    return Y.largest if isinstance(Y, Partitioned) else largest_entry(Y)


def _scaled(block: np.ndarray, unit: float) -> np.ndarray:
    return block * block.dtype.type(unit)
