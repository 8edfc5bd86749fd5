"""The linear program of rounding as l1 regression: its constraint eliminated, its rows balanced.

With <r, q> = 1 for a unit vector r, q = r + N x, N being a basis of the complement of r. Rows of Y
in units far apart are balanced first, by powers of two.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from riemtr.manifolds.basis import HouseholderBasis

_BALANCED = 128.0  # ratio of row lengths up to which Y is used as it is


@dataclass(frozen=True, eq=False)
class Program:
    """min_x \\|(origin + basis x)'Y\\|_1: the linear program, its constraint eliminated.

    Attributes
    ----------
    origin, basis : ndarray, shapes (n,) and (n, n - 1)
        In coordinates that balance the rows of Y: origin is r there, basis its complement.
    rounding : float
        What rounding leaves of singular values of the balanced Y, and of basis' Y, that are zero.
    stretch : float
        What balancing multiplied r by.
    """

    origin: np.ndarray
    basis: np.ndarray
    rounding: float
    stretch: float

    def negligible(self, x: np.ndarray, count: int) -> float:
        """What rounding leaves of an objective that is zero, at x, with so many samples."""
        return self.rounding * float(np.sqrt(count)) * balanced_length(x)


def balanced_program(row_lengths: np.ndarray, unit: np.ndarray) -> Program:
    """Return the program for a unit vector r, on data with rows of those lengths."""
    levels = _row_levels(row_lengths)
    # q = levels * (r + N x), with r and N in the balanced coordinates
    unit, stretch = unit_vector(levels * unit)
    basis = levels[:, None] * HouseholderBasis(unit).matrix()
    return Program(levels * unit, basis, _rounding(row_lengths, levels), stretch)


def balanced_length(x: np.ndarray) -> float:
    """The length of q in balanced coordinates, where r has length 1."""
    return float(np.hypot(1.0, np.linalg.norm(x)))


def uncertainty(q: np.ndarray, row_lengths: np.ndarray) -> float:
    """What rounding may change \\|q'Y\\|_1 by: n roundings per residual, all independent."""
    terms = np.linalg.norm(q * row_lengths)
    return 0.5 * float(np.finfo(float).eps * np.sqrt(len(q)) * terms)


def _row_levels(lengths: np.ndarray) -> np.ndarray:
    """Return powers of two that balance the rows of Y; ones where they are balanced already."""
    largest = float(lengths.max())
    if largest == 0.0 or float(lengths.min()) > largest / _BALANCED:
        return np.ones(len(lengths))
    exponents = np.frexp(np.where(lengths > 0, lengths / largest, 1.0))[1]
    return np.ldexp(1.0, -exponents)


def _rounding(lengths: np.ndarray, levels: np.ndarray) -> float:
    """What rounding leaves of singular values of the balanced Y that are zero."""
    size = float(np.linalg.norm(levels * lengths))
    return 10.0 * np.finfo(float).eps * np.sqrt(len(levels)) * size


def unit_vector(vector: np.ndarray) -> tuple[np.ndarray, float]:
    """Return vector/|vector| and |vector|, without overflow or underflow in between."""
    largest = float(np.max(np.abs(vector)))
    length = float(np.linalg.norm(vector / largest))
    return vector / largest / length, length * largest
