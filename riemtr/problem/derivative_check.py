"""What a numerical check of a derivative finds, and how it is judged.

The error of a local model, against the length of the step, is on a log-log plot a line whose slope
is the order of the error. Rounding bends the line at short steps and higher orders bend it at long
ones, so the slope is that of a straight piece in between, of the shortest steps if there are more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from riemtr.errors import require

# In single precision only long steps stand out of the rounding, where higher orders bend the line.
_SLOPE_TOLERANCE = {"double": 0.15, "single": 0.4}
_STEP_COUNT = 51
_WINDOW = 10
_STRAIGHT = 1e-2  # sum of squares, in decades, up to which a piece is straight
# Multiples of the rounding of one value within which an error is nothing but rounding, and from
# which on it is mostly something else (in single precision there is no room for more).
_ROUNDING = 1e3
_CLEAR = {"double": 30.0, "single": 4.0}
# Where differences of the cost confirm a derivative to this accuracy, its slope may lack more.
_CONFIRMED = 1e-3
_BENT = 0.5
_PROPORTIONAL = 0.02  # relative difference of ratios that are the same


@dataclass(frozen=True, eq=False)
class DerivativeCheck:
    """Outcome of a check.

    Attributes
    ----------
    name : str
        What was checked.
    ok : bool
        Whether everything is as it should be.
    slope, expected_slope : float
        Order of the model's error, and what it must be at least.
    steps, errors : ndarray
        Step lengths and the model's error at each.
    linear_piece : slice
        The straightest piece of the error curve, where the slope was fitted.
    symmetry_error, tangency_error : float or None
        Relative asymmetry of the Hessian, and how far out of the tangent space the gradient or
        Hessian product reaches, relatively; None where it does not apply.
    exact : bool
        Whether the model's error is nothing but rounding, whose slope means nothing.
    hint : str
        What is likely to be wrong, if something is.
    """

    name: str
    ok: bool
    slope: float
    expected_slope: float
    steps: np.ndarray
    errors: np.ndarray
    linear_piece: slice
    symmetry_error: float | None = None
    tangency_error: float | None = None
    exact: bool = False
    hint: str = ""

    def __bool__(self) -> bool:
        return self.ok

    def __repr__(self) -> str:
        order = f"slope {self.slope:.2f} (expected {self.expected_slope:.0f})"
        found = ["exact to rounding" if self.exact else order]
        for name, error in (("symmetry", self.symmetry_error), ("tangency", self.tangency_error)):
            if error is not None:
                found.append(f"{name} error {error:.1e}")
        return (
            f"<{self.name}: {'ok' if self.ok else 'WRONG'}; {', '.join(found)}"
            f"{'; ' + self.hint if self.hint else ''}>"
        )

    def plot(self, axes: Any = None) -> Any:
        """Draw the error against the step length; needs the extra ``plot``. Returns the axes."""
        if axes is None:
            _, axes = require("matplotlib.pyplot", extra="plot").subplots()
        shown = np.where(self.errors > 0.0, self.errors, np.nan)  # no logarithm of zero
        axes.loglog(self.steps, shown, ".", color="0.6", label="error")
        if not self.exact and np.isfinite(self.slope):
            piece = self.linear_piece
            fitted = f"slope {self.slope:.2f}"
            axes.loglog(self.steps[piece], shown[piece], color="C0", linewidth=3, label=fitted)
            self._plot_expected(axes, shown)
        axes.set(
            xlabel="step length",
            ylabel="error of the local model",
            title=f"{self.name}: {'ok' if self.ok else 'WRONG'}"
            f"{', exact to rounding' if self.exact else ''}",
        )
        axes.legend()
        return axes

    def _plot_expected(self, axes: Any, shown: np.ndarray) -> None:
        """Draw a line of the expected slope through the fitted piece's middle."""
        middle = (self.linear_piece.start + self.linear_piece.stop) // 2
        line = shown[middle] * (self.steps / self.steps[middle]) ** self.expected_slope
        visible = (line >= np.nanmin(shown)) & (line <= 10.0 * np.nanmax(shown))
        axes.loglog(
            self.steps[visible],
            line[visible],
            "--",
            color="C1",
            linewidth=1,
            label=f"expected: {self.expected_slope:.0f}",
        )


def step_lengths(precision: float) -> np.ndarray:
    """Return the lengths of the steps at which models are tried."""
    # Below the root of the precision a step changes a value by less than its rounding.
    return np.logspace(0.5 * np.log10(precision), 0.0, _STEP_COUNT)


def _fit(steps: np.ndarray, errors: np.ndarray, rounding: np.ndarray) -> tuple[float, slice]:
    """Slope of the first straight piece of the log-log curve that stands out of the rounding."""
    logs = np.log10(np.maximum(errors, np.finfo(float).tiny))
    pieces = [slice(first, first + _WINDOW) for first in range(len(steps) - _WINDOW + 1)]
    clear = [piece for piece in pieces if (errors[piece] > rounding[piece]).all()]
    fits = []
    for piece in clear or pieces:
        coefficients, residual, *_ = np.polyfit(np.log10(steps[piece]), logs[piece], 1, full=True)
        badness = float(residual[0]) if len(residual) else 0.0
        fits.append((badness, float(coefficients[0]), piece))
    # Where the line has two straight pieces, a small error of low order is that of short steps.
    straight = max(_STRAIGHT, min(badness for badness, *_ in fits))
    _, slope, piece = next(fit for fit in fits if fit[0] <= straight)
    return slope, piece


@dataclass(frozen=True)
class Comparison:
    """The derivative along the direction that is tried, by the cost and by what is checked.

    Attributes
    ----------
    measured : float
        By differences of the cost.
    stated : float
        By what is checked.
    proportional : bool
        Whether their ratio is the same along other directions, too.
    refuted : bool
        Whether they differ, clearly and over steps of any length.
    """

    measured: float = math.nan
    stated: float = math.nan
    proportional: bool = True
    refuted: bool = False

    @property
    def agrees(self) -> bool:
        """Whether the two are the same, to the accuracy of differences."""
        return abs(self.measured - self.stated) <= _CONFIRMED * abs(self.stated)

    def is_proportional_to(self, other: Comparison) -> bool:
        """Whether the two have the same ratio along another direction."""
        crosswise = self.measured * other.stated, self.stated * other.measured
        return math.isclose(*crosswise, rel_tol=_PROPORTIONAL)


NO_COMPARISON = Comparison()


class _Order(NamedTuple):
    """What the errors of a model tell of its order."""

    slope: float = math.nan
    piece: slice = slice(0, 0)
    finite: bool = False  # whether there are enough errors to tell
    exact: bool = False  # whether they are nothing but rounding
    drowned: bool = False  # whether the derivative is, too


def _order(
    errors: np.ndarray, scale: float, precision: float, stated: float, allowed: np.ndarray
) -> _Order:
    # Long steps may leave the cost's domain.
    beyond = np.flatnonzero(~np.isfinite(errors))
    usable = int(beyond[0]) if len(beyond) else len(errors)
    if usable < 2 * _WINDOW:
        return _Order()
    steps, errors, allowed = step_lengths(precision)[:usable], errors[:usable], allowed[:usable]
    slope, piece = _fit(steps, errors, _CLEAR[_width(precision)] * precision * scale + allowed)
    rounding = _ROUNDING * precision * scale
    only_rounding = bool(np.all(errors <= rounding + allowed))
    drowned = only_rounding and 0.0 < abs(stated) <= 10.0 * rounding
    return _Order(slope, piece, True, only_rounding and not drowned, drowned)


def _width(precision: float) -> str:
    return "double" if precision < 1e-12 else "single"


def judge(
    name: str,
    expected: float,
    errors: np.ndarray,
    scale: float,
    precision: float,
    *,
    along: Comparison = NO_COMPARISON,
    inexact: float = 0.0,
    symmetry: float | None = None,
    tangency: float | None = None,
    mistake: str = "",
) -> DerivativeCheck:
    """Judge errors of a model, one for each of the steps.

    ``inexact`` is what the derivative may be off by the way it is computed, ``mistake`` what else
    was found wrong.
    """
    allowed = inexact * step_lengths(precision) ** (expected - 1.0)
    order = _order(errors, scale, precision, along.stated, allowed)
    # Higher orders may bend the line all the way down to the rounding.
    lacking = _BENT if along.agrees else _SLOPE_TOLERANCE[_width(precision)]
    steep = order.slope >= expected - lacking and not order.drowned
    right = (order.exact or steep) and not along.refuted
    hints = [] if right else [_why_not(order, expected, along)]
    if not (tangency or 0.0) <= precision**0.5:
        hints.append("it is not tangent: if it is Euclidean, pass it as euclidean_...")
    if not (symmetry or 0.0) <= precision**0.5:
        hints.append(
            "it is not symmetric; on a quotient manifold, as Grassmann's, ask if the cost is the "
            "same for all arrays that stand for one point"
        )
    hints.append(mistake)
    hint = "; ".join(filter(None, hints))
    return DerivativeCheck(
        name=name,
        ok=right and not hint,
        slope=order.slope,
        expected_slope=expected,
        steps=step_lengths(precision),
        errors=errors,
        linear_piece=order.piece,
        symmetry_error=symmetry,
        tangency_error=tangency,
        exact=order.exact,
        hint=hint,
    )


def _why_not(order: _Order, expected: float, along: Comparison) -> str:
    """Say why the errors may have a wrong order."""
    if not order.finite:
        return "the cost or a derivative is not finite nearby"
    if order.drowned:
        return "rounding hides all changes of so large a cost: subtract a constant from it"
    if expected == 3.0 and order.slope < 1.5:
        return "an error of first order is the gradient's: see check_gradient"
    ratio = along.measured / along.stated if along.stated != 0.0 else math.nan
    if along.proportional and abs(ratio - 1.0) > _CONFIRMED:  # False for NaN
        return f"the cost's own is {ratio:.4g} times what this says"
    if along.refuted:
        return f"differences of the cost give {along.measured:.6g}, this says {along.stated:.6g}"
    return ""
