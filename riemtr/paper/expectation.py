r"""The large-sample landscape: the expectation of the paper's cost over the sphere (its Figure 2).

Of a Bernoulli-Gaussian column x only the coordinates in a random support S are there, and given S
the product q'x is normal with variance :math:`\sigma_S^2 = |q_S|^2`. So

.. math:: E f(q) = \sum_S \theta^{|S|} (1-\theta)^{n-|S|}\, F(\sigma_S),
          \qquad F(\sigma) = E\, h_\mu(\sigma Z),\ Z \sim N(0, 1),

an exact sum over supports of integrals in one dimension. By Stein's identity
:math:`F'(\sigma) = \sigma G(\sigma)` and :math:`G'(\sigma) = \sigma K(\sigma)` with
:math:`G = E\,h_\mu''(\sigma Z)` and :math:`K = E\,h_\mu''''(\sigma Z)`, which gives gradient and
Hessian in the same way. No sample is drawn.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from riemtr.arguments import check_positive, integer, real
from riemtr.manifolds import Sphere
from riemtr.problem import Problem
from riemtr.problem.books import lazy
from riemtr.solvers import ExactTRM, Result

# Supports are 2^n: more than these take longer than samples would.
_LARGEST_DIMENSION = 12
# Nodes of the quadrature, which leave an error of some 1e-15.
_NODES = 64
# Standard deviations beyond which a normal variable is not looked for.
_FARTHEST = 9.0
# Multiples of mu beyond which h is |z| - mu log 2, to rounding.
_SHARP = 20.0
# Digits of a deviation, in costs of many points: the cost has as many.
_DIGITS = 15
# Where the trajectory of the figure begins: beside the maximizer (1, 1, 1) / sqrt(3).
_START = (0.58, 0.53, 0.62)


class ExpectedCost:
    """The expectation of the log-cosh cost f(q; X) over Bernoulli-Gaussian X, and A = I.

    Parameters
    ----------
    n : int
        Dimension, up to 12: the sum has 2^n terms.
    theta : float
        Probability of a nonzero.
    mu : float
        Smoothing parameter.

    Examples
    --------
    >>> cost = ExpectedCost(3, theta=0.3, mu=1e-9)
    >>> bool(abs(cost.at(np.eye(3)[0]).value - 0.3 * math.sqrt(2 / math.pi)) < 1e-8)
    True
    """

    def __init__(self, n: int, theta: float, mu: float):
        self.n = integer("n", n, low=1, high=_LARGEST_DIMENSION)
        self.theta = real("theta", theta, low=0.0, high=1.0)
        check_positive("mu", mu)
        self.mu = float(mu)
        supports = np.array(list(product((0.0, 1.0), repeat=n)))[1:]  # the empty one adds nothing
        sizes = supports.sum(axis=1)
        self._supports = supports
        self._shares = theta**sizes * (1.0 - theta) ** (n - sizes)

    def __repr__(self) -> str:
        return f"ExpectedCost(n={self.n}, theta={self.theta:g}, mu={self.mu:g})"

    def at(self, point: np.ndarray) -> ExpectedPoint:
        """Return the shared work at one point."""
        return ExpectedPoint(self, point)

    def values(self, points: np.ndarray) -> np.ndarray:
        """Return the cost at many points, an array of shape (..., n)."""
        deviations = np.sqrt(np.square(points) @ self._supports.T)
        # Many points share few deviations, as whole circles of a picture do, up to rounding.
        some, places = np.unique(deviations.round(_DIGITS), return_inverse=True)
        return smoothed(some, self.mu)[0][places].reshape(deviations.shape) @ self._shares

    def along_rays(self, lengths: np.ndarray, directions: np.ndarray) -> tuple[np.ndarray, ...]:
        r"""Return g, its slope and its curvature along rays from the last basis vector.

        In the chart :math:`q(w) = (w, \sqrt{1-|w|^2})`, at w of every length in every direction:
        g, :math:`w'\nabla g/|w|` (eq. grad-uni-orth) and :math:`w'\nabla^2 g\,w/|w|^2`
        (eq. curvature-uni-orth). Their signs tell the regions of the theorem apart.

        Parameters
        ----------
        lengths : ndarray, shape (m,)
            Between 0 and 1, both excluded.
        directions : ndarray, shape (d, n - 1)
            Unit vectors.

        Returns
        -------
        g, slope, curvature : ndarray, shape (m, d)
        """
        found = np.empty((3, len(lengths), len(directions)))
        for (i, t), (j, u) in product(enumerate(lengths), enumerate(directions)):
            height = math.sqrt(1.0 - t * t)
            here = self.at(np.append(t * u, height))
            velocity = np.append(u, -t / height)
            bend = here.gradient[-1] / height**3
            slope = here.gradient @ velocity
            found[:, i, j] = here.value, slope, velocity @ here.hessian(velocity) - bend
        return tuple(found)


class ExpectedPoint:
    """The expected cost at one point."""

    def __init__(self, owner: ExpectedCost, point: np.ndarray):
        self._parts = owner._supports * point  # q_S, a row for each S
        deviations = np.linalg.norm(self._parts, axis=1)
        self._moments = smoothed(deviations, owner.mu)
        self._shares, self._supports = owner._shares, owner._supports

    @lazy
    def value(self) -> float:
        """The cost."""
        return float(self._shares @ self._moments[0])

    @lazy
    def gradient(self) -> np.ndarray:
        """Euclidean gradient, the sum of G q_S."""
        return (self._shares * self._moments[1]) @ self._parts

    def hessian(self, vector: np.ndarray) -> np.ndarray:
        """Euclidean Hessian product, the sum of G v_S + K <q_S, v> q_S."""
        second = (self._shares * self._moments[1]) @ (self._supports * vector)
        fourth = self._shares * self._moments[2] * (self._parts @ vector)
        return second + fourth @ self._parts


def smoothed(deviations: np.ndarray, mu: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    r"""Return the expectations of h, h'' and h'''' of a normal variable of each deviation.

    :math:`h_\mu(z) = |z| + \mu\log(1 + e^{-2|z|/\mu}) - \mu\log 2`, of which the first term has the
    mean :math:`\sigma\sqrt{2/\pi}`. All else is smooth on one side of zero and lives within some
    multiples of mu: there Gauss-Legendre quadrature is exact to rounding, while the kink at zero
    leaves a Gauss-Hermite rule few digits.

    Examples
    --------
    >>> [round(float(each), 6) for each in smoothed(np.array(1e-4), mu=1.0)]
    [0.0, 1.0, -2.0]
    """
    deviations = np.asarray(deviations, dtype=float)
    nodes, weights = _rule()
    with np.errstate(divide="ignore"):
        end = np.minimum(_FARTHEST, _SHARP * mu / deviations)[..., None]
    t = 0.5 * end * (nodes + 1.0)
    # Both sides of zero are alike: twice the half line.
    density = end * weights * np.exp(-0.5 * t * t) / math.sqrt(2.0 * math.pi)
    decay = np.exp(-2.0 * deviations[..., None] * t / mu)
    square = 4.0 * decay / np.square(1.0 + decay)  # sech^2
    value = math.sqrt(2.0 / math.pi) * deviations - mu * math.log(2.0)
    value = value + mu * (density * np.log1p(decay)).sum(axis=-1)
    second = (density * square).sum(axis=-1) / mu
    fourth = (density * square * (4.0 - 6.0 * square)).sum(axis=-1) / mu**3
    return value, second, fourth


@cache
def _rule() -> tuple[np.ndarray, np.ndarray]:
    return np.polynomial.legendre.leggauss(_NODES)


@dataclass(frozen=True, eq=False)
class Landscape:
    """The expected cost over the sphere in R^3, and a solver's way down.

    Attributes
    ----------
    cost : ExpectedCost
    path : ndarray, shape (steps + 1, 3)
        The points visited.
    result : Result
        How the run ended.
    """

    cost: ExpectedCost
    path: np.ndarray
    result: Result

    @property
    def path_costs(self) -> np.ndarray:
        """The cost at the points visited."""
        return self.cost.values(self.path)


def landscape(theta: float = 0.3, mu: float = 0.05, radius: float = 0.05) -> Landscape:
    """Follow :class:`riemtr.ExactTRM` on the expected cost in R^3 from beside a maximizer.

    The paper does not say at which theta and mu its figure was drawn. At a mu of 0.05 the region of
    strong convexity is large enough to be seen.

    Parameters
    ----------
    theta, mu : float
        Probability of a nonzero, and smoothing parameter.
    radius : float
        Of the steps: small enough to see the way, large enough to see steps.

    Examples
    --------
    >>> scene = landscape()
    >>> scene.result.certificate.verdict, bool(abs(scene.path[-1, 2]) > 1 - 1e-12)
    ('minimizer', True)
    """
    cost = ExpectedCost(3, theta, mu)
    visited: list[Any] = []
    start = np.array(_START) / np.linalg.norm(_START)
    result = ExactTRM(radius=radius).solve(
        Problem(Sphere(3), cost), start, observers=[lambda now: visited.append(now.point)]
    )
    return Landscape(cost, np.array(visited), result)
