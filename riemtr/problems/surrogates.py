"""Smooth surrogates of the l1 norm: functions h of a coefficient, small where rows are sparse.

The paper takes log cosh and says that any smooth even surrogate would do. A surrogate is an object
with ``derivatives(rows)``, which returns h, h' and h'' of every entry of an array of coefficients,
one row of it per direction. It may have two more methods:

* ``easier(scale)`` yields surrogates to pass on the way from a random start, smoothest first, for
  rows of that root mean square.
* ``scaled(factor)`` returns the surrogate for rows that are ``factor`` times as large. All rows are
  solved for together at root mean square 1. Without preconditioning they are divided by their size
  for that, and a surrogate without this method meets the divided rows as it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from riemtr.arguments import check_positive
from riemtr.errors import ArgumentError, unknown_name
from riemtr.problem.shared_work import SMOOTHING_FACTOR, smoothings

# The first smoothing parameter of a continuation, as a share of the rows' root mean square: there
# the cost is smooth, and nearly every start leads to one row per source.
FIRST_SMOOTHING = 1.0
# The smoothing parameter, as such a share, at which rows have settled in their basins.
ROUGH_SMOOTHING = 0.1
# Less smooths nothing, and its inverse overflows: the least parameter for rows in other units.
LEAST_SMOOTHING = 1e-30

LOG_COSH_THIRD = 4.0 / math.sqrt(27.0)
"""Bound of the third derivative of log cosh, 2 |t| (1 - t^2) for t = tanh, at t^2 = 1/3."""

Derivatives = tuple[np.ndarray, np.ndarray, np.ndarray]
"""The arrays of h, h' and h''."""


class Surrogate(Protocol):
    """A smooth, even function of one coefficient in place of its magnitude."""

    def derivatives(self, rows: np.ndarray) -> Derivatives:
        """Return h, h' and h'' of every entry of an array of shape (rows, samples)."""


@dataclass(frozen=True)
class LogCosh:
    r"""The paper's surrogate, :math:`h(z) = \mu \log\cosh(z/\mu)` (eq. main_obj).

    With :math:`e = \exp(-2|z|/\mu)` there is no overflow at any scale.

    Examples
    --------
    >>> value, slope, bend = LogCosh(0.5).derivatives(np.array([[0.0, 2.0]]))
    >>> slope.round(4), bend.round(4)
    (array([[0.    , 0.9993]]), array([[2.    , 0.0027]]))
    """

    mu: float = 1e-2

    def __post_init__(self) -> None:
        check_positive("mu", self.mu)

    def derivatives(self, rows: np.ndarray) -> Derivatives:
        """Return h, h' and h'' of every entry."""
        size = np.abs(rows)
        decay = size * (-2.0 / self.mu)
        np.exp(decay, out=decay)
        value = np.log1p(decay)
        value -= math.log(2.0)
        value *= self.mu
        value += size
        inverse = np.reciprocal(1.0 + decay, out=size)
        slope = np.copysign((1.0 - decay) * inverse, rows)
        inverse *= inverse
        inverse *= decay
        inverse *= 4.0 / self.mu
        return value, slope, inverse

    def scaled(self, factor: float) -> LogCosh:
        """Return the one for rows that are ``factor`` times as large."""
        return LogCosh(max(self.mu * factor, LEAST_SMOOTHING))

    def rough(self) -> LogCosh:
        """Return one as sharp as random starts need, for rows of root mean square 1."""
        return LogCosh(max(self.mu, ROUGH_SMOOTHING))

    def sharper(self) -> Iterator[LogCosh]:
        """Yield those between the rough one and this one, this one last."""
        for mu in smoothings(ROUGH_SMOOTHING * SMOOTHING_FACTOR, self.mu):
            yield LogCosh(mu)
        yield self

    def easier(self, scale: float) -> Iterator[LogCosh]:
        """Yield smoother ones, from one as wide as the rows."""
        for mu in smoothings(FIRST_SMOOTHING * scale, self.mu):
            yield LogCosh(mu)


@dataclass(frozen=True)
class Huber:
    r"""Huber's function: :math:`z^2/(2\mu)` up to mu, :math:`|z| - \mu/2` beyond."""

    mu: float = 1e-2

    def __post_init__(self) -> None:
        check_positive("mu", self.mu)

    def derivatives(self, rows: np.ndarray) -> Derivatives:
        """Return h, h' and h'' of every entry."""
        size = np.abs(rows)
        within = size < self.mu
        value = np.where(within, size * size / (2.0 * self.mu), size - 0.5 * self.mu)
        slope = np.clip(rows / rows.dtype.type(self.mu), -1.0, 1.0)
        return value, slope, within.astype(rows.dtype) / rows.dtype.type(self.mu)

    def scaled(self, factor: float) -> Huber:
        """Return the one for rows that are ``factor`` times as large."""
        return Huber(max(self.mu * factor, LEAST_SMOOTHING))

    def rough(self) -> Huber:
        """Return one as sharp as random starts need, for rows of root mean square 1."""
        return Huber(max(self.mu, ROUGH_SMOOTHING))

    def sharper(self) -> Iterator[Huber]:
        """Yield those between the rough one and this one, this one last."""
        for each in LogCosh(self.mu).sharper():
            yield Huber(each.mu)

    def easier(self, scale: float) -> Iterator[Huber]:
        """Yield wider ones, from one as wide as the rows."""
        for each in LogCosh(self.mu).easier(scale):
            yield Huber(each.mu)


@dataclass(frozen=True)
class Quartic:
    r"""The l4 norm, to be maximized: :math:`h(z) = -z^4/4` (Zhai et al., 2020).

    It needs rows of a fixed mean square, as on the sphere of whitened data.
    """

    def derivatives(self, rows: np.ndarray) -> Derivatives:
        """Return h, h' and h'' of every entry."""
        square = rows * rows
        return -0.25 * square * square, -square * rows, -3.0 * square


@dataclass(frozen=True)
class Negative:
    """Minus a surrogate: small where rows are flat."""

    surrogate: Surrogate

    def derivatives(self, rows: np.ndarray) -> Derivatives:
        """Return minus h, h' and h'' of every entry."""
        value, slope, bend = self.surrogate.derivatives(rows)
        return -value, -slope, -bend


def scaled(surrogate: Any, factor: float) -> Any:
    """Return the surrogate for rows that are ``factor`` times as large, or itself if it has none.

    Examples
    --------
    >>> scaled(LogCosh(0.5), 4.0), scaled(Quartic(), 4.0)
    (LogCosh(mu=2.0), Quartic())
    """
    own = getattr(surrogate, "scaled", None)
    return surrogate if own is None or factor == 1.0 else own(factor)


SURROGATES: dict[str, Any] = {"log-cosh": LogCosh, "huber": Huber, "l4": Quartic}
"""Surrogates by name."""


def as_surrogate(surrogate: Any, mu: float) -> Any:
    """Return the surrogate of a name, with that smoothing parameter, or an object as it is.

    Examples
    --------
    >>> as_surrogate("huber", 0.1)
    Huber(mu=0.1)
    """
    if isinstance(surrogate, str):
        if surrogate not in SURROGATES:
            raise unknown_name("surrogate", surrogate, SURROGATES)
        return Quartic() if surrogate == "l4" else SURROGATES[surrogate](float(mu))
    if not callable(getattr(surrogate, "derivatives", None)):
        names = ", ".join(map(repr, SURROGATES))
        raise ArgumentError(
            "surrogate",
            f"be one of {names}, or an object whose derivatives(rows) returns h, h' and h''",
            surrogate,
        )
    return surrogate
