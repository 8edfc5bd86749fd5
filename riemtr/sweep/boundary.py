"""The 50% boundary of a phase transition, from trials that succeeded or failed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

# Weight of the penalty on the slopes: without one they are infinite where no trials overlap.
_RIDGE = 1e-2
_MOST_STEPS = 100
# What y must explain, in log-likelihood: chance alone gives more in one of some 400 cases.
_SIGNIFICANT = 4.0


@dataclass(frozen=True)
class PowerLaw:
    """Where half of the trials succeed: ``y = factor * n**exponent``.

    Attributes
    ----------
    factor, exponent : float
    """

    factor: float
    exponent: float

    def __call__(self, n: np.ndarray) -> np.ndarray:
        """Return the boundary at n."""
        return self.factor * np.asarray(n, dtype=float) ** self.exponent


def fit_power_law(
    n: np.ndarray, y: np.ndarray, success: np.ndarray, *, rising: bool
) -> PowerLaw | None:
    """Fit the boundary by logistic regression on log n and log y.

    The probability of success is ``1 / (1 + exp(-(a + b log n + c log y)))``, and one half where
    ``y = exp(-a / c) n**(-b / c)``.

    Parameters
    ----------
    n, y : arrays
        Dimension, and k or p, of each trial.
    success : array of bool
    rising : bool
        Whether success is expected where y is large.

    Returns
    -------
    PowerLaw or None
        None where all trials succeed, or all fail, or y makes no difference beyond chance, or the
        opposite of the one expected.

    Examples
    --------
    >>> n, y = (axis.ravel() for axis in np.meshgrid(np.arange(10, 100, 5), np.arange(5, 100, 5)))
    >>> law = fit_power_law(n, y, y < 0.8 * n, rising=False)
    >>> abs(law.exponent - 1) < 0.05, bool(abs(law(50) - 40) < 2)
    (True, True)
    """
    success = np.asarray(success, dtype=float)
    if success.min() == success.max():
        return None
    logs = np.column_stack([np.log(n), np.log(y)])
    centre = logs.mean(axis=0)
    (a, b, c), loss = _logistic(logs - centre, success)
    _, loss_without_y = _logistic((logs - centre)[:, :1], success)
    if loss_without_y - loss < _SIGNIFICANT or (c > 0.0) != rising:
        return None
    exponent = -b / c
    with np.errstate(over="ignore"):
        factor = np.exp(centre[1] - exponent * centre[0] - a / c)
    return PowerLaw(float(factor), float(exponent)) if 0.0 < factor < np.inf else None


def _logistic(features: np.ndarray, success: np.ndarray) -> tuple[np.ndarray, float]:
    """Intercept and slopes of the penalised maximum likelihood, and minus its logarithm."""
    design = np.column_stack([np.ones(len(features)), features])
    penalty = np.diag([0.0, *np.full(features.shape[1], _RIDGE)])

    def loss(weights: np.ndarray) -> float:
        score = design @ weights
        return float(
            np.logaddexp(0.0, score).sum() - score @ success + weights @ penalty @ weights / 2
        )

    weights = np.zeros(design.shape[1])  # and from there damped Newton steps
    for _ in range(_MOST_STEPS):
        probability = expit(design @ weights)
        gradient = design.T @ (probability - success) + penalty @ weights
        curvature = (design.T * (probability * (1.0 - probability))) @ design + penalty
        step = np.linalg.lstsq(curvature, -gradient, rcond=None)[0]
        size = 1.0
        while loss(weights + size * step) > loss(weights) and size > 1e-10:
            size /= 2.0
        weights = weights + size * step
        if np.abs(size * step).max() < 1e-10 * (1.0 + np.abs(weights).max()):
            break
    return weights, loss(weights)


def half_way(y: np.ndarray, rate: np.ndarray, *, rising: bool) -> float:
    """Return where the success rate crosses one half, at one n.

    The crossing that misjudges the fewest trials, as if the rate were a step there: it needs no
    model, and isolated outliers do not move it. Between the two values of y around it the rates are
    interpolated in log y; NaN where the step would lie outside the values.

    Parameters
    ----------
    y : array
        Increasing.
    rate : array
        Success rates.
    rising : bool
        Whether success is expected where y is large.

    Examples
    --------
    >>> half_way(np.array([1.0, 2.0, 4.0, 8.0]), np.array([1.0, 1.0, 0.0, 0.2]), rising=False)
    2.8284271247461903
    >>> half_way(np.array([1.0, 4.0]), np.array([0.75, 0.25]), rising=False)
    2.0
    """
    chance = np.asarray(rate) if rising else 1.0 - np.asarray(rate)
    # The step after the first i values: successes before it and failures from it on are wrong.
    wrong = [chance[:i].sum() + (1.0 - chance[i:]).sum() for i in range(len(chance) + 1)]
    best = int(np.argmin(wrong))
    if best in (0, len(chance)):
        return float("nan")
    # The first of the best steps has a chance below one half before it, and not below it after.
    share = (0.5 - chance[best - 1]) / (chance[best] - chance[best - 1])
    return float(y[best - 1] ** (1.0 - share) * y[best] ** share)
