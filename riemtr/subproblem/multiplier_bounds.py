"""Where the multiplier of a trust-region step can be, and where to look for it next.

The root of ``|s(lambda)| = radius``, with ``(H + lambda I) s = -g``, lies right of the pole at
``-lambda_1(H)``. Each factorization, successful or not, narrows the interval that holds it.
"""

from __future__ import annotations

import math

import numpy as np

from riemtr.subproblem.leftmost import Leftmost

_EPS = float(np.finfo(float).eps)


class MultiplierBounds:
    """The interval that holds the optimal multiplier, and where in it to look next."""

    def __init__(
        self,
        hessian: np.ndarray,
        gradient: np.ndarray,
        frobenius: float,
        gradient_norm: float,
        radius: float,
        tolerance: float,
    ) -> None:
        self.hessian = hessian
        self.frobenius = frobenius
        self.slope = gradient_norm / radius
        self.tolerance = tolerance
        self.rounding = gradient.shape[0] * _EPS * frobenius
        self.failed = False  # whether a factorization was
        self.upper = math.inf
        self.lower = 0.0
        if gradient_norm > 0.0:
            # Jensen's inequality, for |s|^2 as a weighted mean of 1/(lambda_i + lambda)^2.
            unit = gradient / gradient_norm
            self.lower = max(0.0, self.slope - float(unit.dot(hessian.dot(unit))))

    def after_failure(self, multiplier: float, leftmost: Leftmost) -> float:
        """``H + multiplier I`` is not positive definite: the root lies to the right.

        Look just to the right of the estimated pole; bisect where the estimate has proved poor.
        """
        self.lower = max(self.lower, multiplier, -leftmost.curvature)
        self.upper = min(self.upper, max(self.lower, self._upper_bound()))
        if self.failed and leftmost.error > 0.5 * self.lower:
            return max(math.sqrt(self.lower * self.upper), 0.99 * self.lower + 0.01 * self.upper)
        self.failed = True
        return self._right_of_pole(leftmost.error - leftmost.curvature)

    def rise(self, multiplier: float, newton: float) -> float:
        """``|s| > radius``: Newton's method does not overshoot from this side."""
        self.lower = max(self.lower, multiplier)
        return newton

    def fall(self, multiplier: float, newton: float, leftmost: Leftmost) -> float:
        """``|s| < radius``: Newton's multiplier is a lower bound, and so is the pole's estimate."""
        self.upper = min(self.upper, multiplier)
        pole = -leftmost.curvature
        if newton > max(pole, self.lower):
            self.lower = newton
            return newton
        self.lower = max(self.lower, newton, pole)
        if self.lower == 0.0 and not self.failed:
            return 0.0
        return self._right_of_pole(self.lower)

    def _upper_bound(self) -> float:
        """Bound the root from the entries of the Hessian.

        With ``m`` the mean of the eigenvalues and ``d`` their standard deviation, the smallest is
        at least ``m - d sqrt(n-1)`` (Wolkowicz and Styan, 1980). Where that is tight the slack
        leaves room for a factorization.
        """
        n = self.hessian.shape[0]
        mean = float(self.hessian.diagonal().sum()) / n
        deviation = math.sqrt(max(0.0, self.frobenius * self.frobenius / n - mean * mean))
        pole = max(0.0, deviation * math.sqrt(n - 1) - mean)
        return (1.0 + self.tolerance) * pole + self.slope + 10.0 * self.rounding

    def _right_of_pole(self, farthest: float) -> float:
        """Return a multiplier where the hard case ends and the easy one is left of its root."""
        near = max(self.lower * (1.0 + 0.5 * self.tolerance), 0.5 * (self.lower + farthest))
        return max(min(near, 0.5 * (self.lower + self.upper)), self.rounding)
