"""The outcome of a numerical check of a derivative, and how it is judged.

The error of a local model, against the length of the step, is on a log-log plot a line whose slope
is the order of the error. Rounding bends the line at short steps and higher orders bend it at long
ones, so the slope is that of a straight piece in between, of the shortest steps if there are more.
Where rounding leaves no such piece, differences of the cost decide, or nothing does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from riemtr.errors import require


@dataclass(frozen=True)
class CheckRule:
    """When errors of a model and differences of the cost show that a derivative is right."""

    step_count: int = 51  # steps at which a model is tried
    window: int = 10  # steps that a straight piece of the error curve has
    straight: float = 1e-2  # sum of squares, in decades, up to which a piece is straight
    lack: float = 0.15  # by how much a slope may be below the expected one
    lack_in_single: float = 0.4  # the same in single precision, where only long steps are clear
    lack_if_confirmed: float = 0.5  # the same where differences of the cost confirm the derivative
    rounding: float = 1e3  # roundings of one value within which an error is nothing but rounding
    clear: float = 30.0  # roundings of one value from which on an error is something else
    clear_in_single: float = 4.0  # the same in single precision, which has no room for more
    confirmed: float = 1e-3  # relative difference up to which derivative and differences agree
    resolved: float = 1e-2  # accuracy of differences that outweigh a slope of long steps only
    last_resort: float = 0.1  # accuracy of differences that decide where there is no slope
    proportional: float = 1e-3  # relative difference of ratios that are the same
    known: float = 0.02  # accuracy of differences whose ratio to a derivative means something
    telling: float = 3.0  # times its error that a ratio must be from 1 to be worth a word
    shortest: int = 8  # number of the shortest steps, which show the rounding in the cost
    noise: float = 3.0  # times the rounding that these show that other costs may be off by
    least_noise: float = 4.0  # roundings of one number that a cost is off by at least
    longest: float = 0.05  # longest step of a difference of the cost
    curved: float = 2.0  # times its estimated error that a difference may have, by its length
    halved: float = 10.0  # times the change by halved steps that a product by differences is off by


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
        The straightest piece of the error curve, where the slope was fitted.
    symmetry_error, tangency_error : float or None
        Relative asymmetry of the Hessian, and how far out of the tangent space the gradient or
        Hessian product reaches, relatively; None where it does not apply.
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


@dataclass(frozen=True, eq=False)
class Comparison:
    """The derivative along one direction, by differences of the cost and as it is stated.

    Attributes
    ----------
    measured, error : float
        By differences of the cost, and what rounding and their length may have done to that.
    stated, typical : float
        By what is checked: along that direction, and along directions in general.
    refuted : bool
        Whether they differ, clearly and over steps of any length.
    factor : float or None
        What is stated has to be multiplied by it along other directions, too.
    right_below : bool
        Whether the derivative of lower order is what is measured of that.
    """

    measured: float = math.nan
    error: float = math.nan
    stated: float = math.nan
    typical: float = math.nan
    refuted: bool = False
    factor: float | None = None
    right_below: bool = True

    @property
    def agrees(self) -> bool:
        """Whether the two are the same, to the accuracy of differences."""
        return abs(self.measured - self.stated) <= RULE.confirmed * abs(self.stated)

    @property
    def consistent(self) -> bool:
        """Whether the two are the same, to what differences may be off by."""
        return self.right_below and abs(self.measured - self.stated) <= self.error

    @property
    def accuracy(self) -> float:
        """Relative accuracy to which differences confirm what is stated, if they do."""
        gap = abs(self.measured - self.stated) + self.error
        return gap / max(abs(self.stated), self.typical, np.finfo(float).tiny)


NO_COMPARISON = Comparison()


def common_factor(comparisons: Sequence[Comparison]) -> float | None:
    """Return what the stated derivatives must be multiplied by, along all directions alike.

    None where they disagree on it, or it cannot be told from 1.
    """
    stated, measured, error = np.array([(c.stated, c.measured, c.error) for c in comparisons]).T
    if not np.all(error <= RULE.known * np.abs(measured)) or not np.any(stated):  # NaN included
        return None
    unit = stated / np.abs(stated).max()  # whose squares do not overflow
    factor = float((unit @ (measured / np.abs(stated).max())) / (unit @ unit))
    allowed = error + RULE.proportional * np.abs(measured)
    same = np.all(np.abs(measured - factor * stated) <= allowed)
    matters = np.all(abs(factor - 1.0) * np.abs(stated) > RULE.telling * allowed)
    return factor if same and matters else None


def step_lengths(precision: float) -> np.ndarray:
    """Return the lengths of the steps at which models are tried."""
    # Below the root of the precision a step changes a value by less than its rounding.
    return np.logspace(0.5 * np.log10(precision), 0.0, RULE.step_count)


def _is_single(precision: float) -> bool:
    return precision > 1e-12


class _Order(NamedTuple):
    """The order of a model, as far as its errors tell."""

    slope: float = math.nan
    piece: slice = slice(0, 0)
    finite: bool = False  # whether there are enough errors to tell
    exact: bool = False  # whether they are nothing but rounding
    hidden: bool = False  # whether rounding hides the order, or the derivative as well


def _order(
    errors: np.ndarray, scale: float, precision: float, stated: float, allowed: np.ndarray
) -> _Order:
    # Long steps may leave the cost's domain.
    usable = int(np.argmin(np.append(np.isfinite(errors), False)))
    if usable < 2 * RULE.window:
        return _Order()
    steps, errors, allowed = step_lengths(precision)[:usable], errors[:usable], allowed[:usable]
    clearly = RULE.clear_in_single if _is_single(precision) else RULE.clear
    visible = errors > clearly * precision * scale + allowed
    pieces = [slice(first, first + RULE.window) for first in range(usable - RULE.window + 1)]
    clear = [piece for piece in pieces if visible[piece].all()]
    slope, piece = _fit(np.log10(steps), errors, clear or pieces)
    rounding = RULE.rounding * precision * scale
    only_rounding = bool(np.all(errors <= rounding + allowed))
    drowned = only_rounding and 0.0 < abs(stated) <= 10.0 * rounding
    exact = only_rounding and not drowned
    return _Order(slope, piece, True, exact, drowned or not (clear or exact))


def _fit(lengths: np.ndarray, errors: np.ndarray, pieces: list[slice]) -> tuple[float, slice]:
    """Return the slope of the first of some pieces of the log-log curve that is straight."""
    logs = np.log10(np.maximum(errors, np.finfo(float).tiny))
    fits = []
    for piece in pieces:
        coefficients, residual, *_ = np.polyfit(lengths[piece], logs[piece], 1, full=True)
        badness = float(residual[0]) if len(residual) else 0.0
        fits.append((badness, float(coefficients[0]), piece))
    # Where the line has two straight pieces, a small error of low order is that of short steps.
    straight = max(RULE.straight, min(badness for badness, *_ in fits))
    return next((slope, piece) for badness, slope, piece in fits if badness <= straight)


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
    mistakes: Sequence[str] = (),
) -> DerivativeCheck:
    """Judge errors of a model, one for each of the steps.

    ``inexact`` is what the derivative may be off by the way it is computed, ``mistakes`` what else
    was found wrong.
    """
    steps = step_lengths(precision)
    order = _order(errors, scale, precision, along.stated, inexact * steps ** (expected - 1.0))
    lack = RULE.lack_in_single if _is_single(precision) else RULE.lack
    if along.agrees:  # higher orders may bend the line all the way down to the rounding
        lack = RULE.lack_if_confirmed
    by_order = order.exact or (not order.hidden and order.slope >= expected - lack)
    needed = RULE.last_resort if order.hidden else RULE.resolved
    by_differences = order.finite and along.consistent and along.accuracy <= needed
    right = (by_order or by_differences) and not along.refuted
    # Long steps alone bend a line, and prove no mistake that differences do not see.
    hidden = order.hidden or (along.consistent and not by_differences)
    undecided = order.finite and hidden and not (right or along.refuted)
    if not (tangency or 0.0) <= precision**0.5:
        mistakes = ["it is not tangent: if it is Euclidean, pass it by that name", *mistakes]
    mistake = "; ".join(filter(None, mistakes))
    why = "" if right else _why_not(order, along, undecided)
    return DerivativeCheck(
        name=name,
        ok=right and not mistake,
        slope=order.slope,
        expected_slope=expected,
        steps=steps,
        errors=errors,
        linear_piece=order.piece,
        symmetry_error=symmetry,
        tangency_error=tangency,
        exact=order.exact,
        confirmed=along.accuracy if right and not by_order else None,
        undecided=undecided and not mistake,
        hint="; ".join(filter(None, (why, mistake))),
    )


def _why_not(order: _Order, along: Comparison, undecided: bool) -> str:
    """Say why the errors may have a wrong order."""
    if not order.finite:
        return "the cost or a derivative is not finite nearby"
    if undecided:
        return "rounding or kinks hide how the cost changes: subtract a constant from a large one"
    if not (along.right_below or order.hidden) and order.slope < 1.5:
        return "an error of first order is the gradient's: see check_gradient"
    if along.factor is not None:
        return f"the cost's own is {along.factor:.4g} times what this says"
    if along.refuted:
        return f"differences of the cost give {along.measured:.6g}, this says {along.stated:.6g}"
    return ""
