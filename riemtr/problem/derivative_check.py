"""The outcome of a numerical check of a derivative.

Differences of the cost decide (:mod:`riemtr.problem.differences`). For the eye there is the order
of the model as well: its error, against the length of the step, is on a log-log plot a line whose
slope is the order. Rounding bends the line at short steps and higher orders bend it at long ones,
so that the slope is that of the shortest steps whose errors stand clearly above the rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from riemtr.errors import require


@dataclass(frozen=True)
class CheckRule:
    """How the order of a model is read off its errors."""

    step_count: int = 51  # steps at which a model is tried
    window: int = 10  # steps that a slope is fitted to
    lack: float = 0.15  # by how much a slope may be below the expected one
    rounding: float = 100.0  # roundings of one value within which an error is nothing else
    needed: float = 0.1  # relative error of differences that confirm a derivative at all
    same: float = 1e-3  # relative difference up to which factors along several directions are one


RULE = CheckRule()


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
        The steps that the slope was fitted to.
    symmetry_error, symmetry_bound : float or None
        Relative asymmetry of the Hessian, and the largest that is right; None for gradients.
    tangency_error : float or None
        How far out of the tangent space the gradient or Hessian product reaches, relatively; None
        for retractions.
    exact : bool
        Whether the model's error is nothing but rounding, whose slope means nothing.
    confirmed : float or None
        Where the slope means nothing else, the relative accuracy to which differences of the cost
        confirm the derivative.
    undecided : bool
        Whether rounding leaves it open; ``ok`` is then False.
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
    symmetry_bound: float | None = None
    tangency_error: float | None = None
    exact: bool = False
    confirmed: float | None = None
    undecided: bool = False
    hint: str = ""

    def __bool__(self) -> bool:
        return self.ok

    def __repr__(self) -> str:
        found = [f"slope {self.slope:.2f} (expected {self.expected_slope:.0f})"]
        if self.exact:
            found = ["exact to rounding"]
        elif self.confirmed is not None:
            found = [f"right to {self.confirmed:.0e} by differences of the cost"]
        elif self.undecided:
            found = []
        for name, error in (("symmetry", self.symmetry_error), ("tangency", self.tangency_error)):
            if error is not None:
                found.append(f"{name} error {error:.1e}")
        words = [f"{self.name}: {self.verdict}", ", ".join(found), self.hint]
        return f"<{'; '.join(filter(None, words))}>"

    @property
    def verdict(self) -> str:
        """The outcome in a word: ok, undecided or WRONG."""
        return "ok" if self.ok else "undecided" if self.undecided else "WRONG"

    def plot(self, axes: Any = None) -> Any:
        """Draw the error against the step length; needs the extra ``plot``. Returns the axes."""
        if axes is None:
            _, axes = require("matplotlib.pyplot", extra="plot").subplots()
        steps, shown = self.steps, np.where(self.errors > 0.0, self.errors, np.nan)
        axes.loglog(steps, shown, ".", color="0.6", label="error")
        if not self.exact and np.isfinite(self.slope):
            piece = self.linear_piece
            fitted = f"slope {self.slope:.2f}"
            axes.loglog(steps[piece], shown[piece], color="C0", linewidth=3, label=fitted)
            # A line of the expected slope goes through the middle of the fitted piece.
            middle = (piece.start + piece.stop) // 2
            line = shown[middle] * (steps / steps[middle]) ** self.expected_slope
            visible = (line >= np.nanmin(shown)) & (line <= 10.0 * np.nanmax(shown))
            expected = f"expected: {self.expected_slope:.0f}"
            axes.loglog(steps[visible], line[visible], "--", color="C1", lw=1, label=expected)
        title = f"{self.name}: {self.verdict}{', exact to rounding' if self.exact else ''}"
        axes.set(xlabel="step length", ylabel="error of the local model", title=title)
        axes.legend()
        return axes


class Order(NamedTuple):
    """The order of a model, as far as its errors tell.

    Attributes
    ----------
    slope : float
        Slope of the error on a log-log plot; NaN where there are too few errors.
    piece : slice
        The steps where it was fitted.
    exact : bool
        Whether the errors are nothing but rounding.
    clear : bool
        Whether they are more than rounding at as many steps as a slope needs.
    """

    slope: float = np.nan
    piece: slice = slice(0, 0)
    exact: bool = False
    clear: bool = False


def step_lengths(precision: float, reach: float = 1.0) -> np.ndarray:
    """Return the lengths of the steps at which models are tried."""
    # Below the root of the precision a step changes a value by less than its rounding.
    return reach * np.logspace(0.5 * np.log10(precision), 0.0, RULE.step_count)


def order_of(steps: np.ndarray, errors: np.ndarray, rounding: float) -> Order:
    """Read the order of a model off its errors, beside the rounding of one value."""
    # Long steps may leave the cost's domain.
    usable = int(np.argmin(np.append(np.isfinite(errors), False)))
    if usable < 2 * RULE.window:
        return Order()
    steps, errors = steps[:usable], errors[:usable]
    visible = errors > RULE.rounding * rounding
    pieces = [slice(first, first + RULE.window) for first in range(usable - RULE.window + 1)]
    clear = [piece for piece in pieces if visible[piece].all()]
    piece = clear[0] if clear else pieces[-1]
    logs = np.log10(np.maximum(errors[piece], np.finfo(float).tiny))
    slope = float(np.polyfit(np.log10(steps[piece]), logs, 1)[0])
    return Order(slope, piece, not visible.any(), bool(clear))
