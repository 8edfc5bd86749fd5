"""Powers of two that bring a subproblem to order one, whatever the scales of its data.

With ``s = 2^b s'`` the model ``g's + s'Hs/2`` has two terms, of the order of ``2^b |g|`` and
``4^b |H|``. Dividing by the larger leaves Hessian, gradient and radius at most of order one,
without rounding, so that squares neither overflow nor underflow.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

# A gradient this far (as a power of two) below |H| * radius no longer moves a step that ends on
# the boundary, and one that ends inside is linear in it: it is held at this level, where its
# square can be represented, and the interior step scaled back.
_SMALLEST_GRADIENT = -400
_LARGEST = float(np.finfo(float).max)


@dataclass(frozen=True)
class Scaling:
    """The exponents of a normalised subproblem, and the maps back to the user's units.

    Attributes
    ----------
    hessian : int
        The normalised Hessian is ``2^-hessian * H``.
    gradient : int
        The normalised gradient is ``2^-gradient * g``.
    radius : int
        The normalised radius is ``2^-radius`` times the given one.
    interior : int
        A normalised step that ends inside is ``2^-interior`` times too large.
    """

    hessian: int
    gradient: int
    radius: int
    interior: int

    def step_exponent(self, on_boundary: bool) -> int:
        """Return ``k`` such that ``2^k`` times the normalised step is the step."""
        return self.radius if on_boundary else self.radius - self.interior


_SMALL, _LARGE = 1e-30, 1e30  # products of four of these are far from the limits
_UNSCALED = Scaling(0, 0, 0, 0)


def scale(hessian_magnitude: float, gradient_magnitude: float, radius: float) -> Scaling:
    """Choose the exponents from the largest magnitudes in the Hessian and in the gradient."""
    radius_exponent = math.frexp(radius)[1]
    if gradient_magnitude == 0.0:
        hessian_exponent = math.frexp(hessian_magnitude)[1]
        return Scaling(hessian_exponent, 0, radius_exponent, 0)
    gradient_exponent = math.frexp(gradient_magnitude)[1]
    if hessian_magnitude == 0.0:
        return Scaling(gradient_exponent - radius_exponent, gradient_exponent, radius_exponent, 0)
    hessian_exponent = math.frexp(hessian_magnitude)[1]
    relative = gradient_exponent - hessian_exponent - radius_exponent
    if relative >= 0:  # the gradient dominates
        return Scaling(hessian_exponent + relative, gradient_exponent, radius_exponent, 0)
    interior = max(0, _SMALLEST_GRADIENT - relative)
    return Scaling(
        hessian_exponent, gradient_exponent - relative - interior, radius_exponent, interior
    )


def scale_if_needed(hessian_magnitude: float, gradient_magnitude: float, radius: float) -> Scaling:
    """Choose the exponents as :func:`scale` does, or none where all is of moderate size."""
    if (
        _SMALL < hessian_magnitude < _LARGE
        and _SMALL < gradient_magnitude < _LARGE
        and _SMALL < radius < _LARGE
    ):
        return _UNSCALED
    return scale(hessian_magnitude, gradient_magnitude, radius)


def ldexp(number: float, exponent: int) -> float:
    """Return ``number * 2^exponent``, infinite where that cannot be represented."""
    try:
        return math.ldexp(number, exponent)
    except OverflowError:
        return math.copysign(math.inf, number)


def ldexp_array(array: np.ndarray, exponent: int) -> np.ndarray:
    """Return ``array * 2^exponent`` without warnings, infinite where out of range."""
    if exponent == 0:
        return array
    if -900 < exponent < 900:
        power = 2.0**exponent  # exact, and several times faster than ldexp on large arrays
        if exponent <= 0:
            return array * power
        if largest_magnitude(array) <= _LARGEST / power:
            return array * power
    with np.errstate(over="ignore"):
        return np.ldexp(array, exponent)


def largest_magnitude(array: np.ndarray) -> float:
    """Return the largest magnitude in an array that is not empty; NaN if it holds one."""
    # The ufunc's own reduction has half the overhead of the method.
    return float(np.maximum.reduce(np.abs(array), axis=None))
