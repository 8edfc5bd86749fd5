r"""The limited-memory BFGS model, and its exact minimiser over a ball.

Of the last m steps :math:`s_i`, the changes :math:`y_i` of the gradient along them are known. With
both as rows of :math:`W = [S; Y]`, BFGS updates of :math:`\delta I` with all of them make

.. math:: B = \delta I + W' Q W, \qquad
    Q^{-1} = -\begin{pmatrix} S S' / \delta & L / \delta \\ L' / \delta & -D \end{pmatrix},

where L is the strictly lower triangle of SY' and D its diagonal (Byrd, Nocedal and Schnabel, Math.
Programming 63, 1994, theorem 2.3). With a multiplier :math:`\lambda` of the ball and
:math:`\sigma = \delta + \lambda`, the formula of Sherman, Morrison and Woodbury gives

.. math:: -(B + \lambda I)^{-1} g = -\tfrac1\sigma (g - W' u), \qquad
    (\sigma Q^{-1} + W W') u = W g,

so that the minimiser is a combination of these rows and of the gradient, and is found from inner
products alone. The matrix of these equations is negative semidefinite in its block of the steps and
positive definite in that of the changes (it is quasidefinite), and needs no care in solving.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dgesv, dgetrs

# Share of the radius by which a step on the boundary may miss it.
_ON_BOUNDARY = 1e-10
# Newton's method for the multiplier doubles its digits each time; rounding may keep it from ending.
_MOST_MULTIPLIERS = 30


class Combination(NamedTuple):
    """A vector made of the model's rows and of the gradient.

    Attributes
    ----------
    rows : ndarray, shape (2m,)
        Factors of the rows of W.
    gradient : float
        Factor of the gradient.
    multiplier : float
        The Lagrange multiplier of the ball: Bp = -g - multiplier p.
    """

    rows: np.ndarray
    gradient: float
    multiplier: float


class SecantModel:
    """The model of m pairs, by the inner products of its rows.

    Parameters
    ----------
    gram : ndarray, shape (2m, 2m)
        Inner products of the rows: steps first, then changes over their units, with positive
        <s_i, y_i>.
    units : ndarray, shape (m,)
        The units of the changes: y_i is units[i] times its row. With steps and rows of length 1
        all numbers here are of size 1, whatever the cost is measured in.
    scale : float
        The curvature across all rows, positive.

    Examples
    --------
    >>> rows = np.array([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])  # a step, and the change along it
    >>> model = SecantModel(rows @ rows.T, units=np.array([3.0]), scale=2.0)
    >>> gradient = np.array([3.0, 2.0, 0.0])
    >>> found = model.minimiser(rows @ gradient, gradient @ gradient, radius=10.0)
    >>> (found.rows @ rows + found.gradient * gradient).round(12)
    array([-1., -1.,  0.])
    """

    def __init__(self, gram: np.ndarray, units: np.ndarray, scale: float):
        self.gram, self.scale = gram, scale
        half = len(units)
        self._shares = gram * _mask(half)
        self._diagonal = gram.diagonal(half) * (scale / units)

    def minimiser(self, products: np.ndarray, squared: float, radius: float) -> Combination:
        """Minimise over a ball, for a gradient with given inner products.

        Newton's method finds the multiplier as the root of 1/|p| - 1/radius, from below and
        without overshooting: the model is positive definite (Conn, Gould and Toint, Trust-Region
        Methods, section 7.3.3).

        Parameters
        ----------
        products : ndarray, shape (2m,)
            Inner products of the rows and the gradient.
        squared : float
            The squared norm of the gradient.
        radius : float

        Raises
        ------
        numpy.linalg.LinAlgError
            If the equations have no finite solution.
        """
        excess = 0.0  # the multiplier, over the scale
        for _ in range(_MOST_MULTIPLIERS):
            sigma = self.scale * (1.0 + excess)
            factors, pivots, solution, failed = dgesv(self._equations(1.0 + excess), products)
            rows, share = solution / sigma, -1.0 / sigma
            along = self.gram @ rows + share * products
            length2 = float(share * share * squared + rows @ (along + share * products))
            if failed or not math.isfinite(length2):
                raise np.linalg.LinAlgError("the pairs of the secant model are no use")
            length = math.sqrt(max(length2, 0.0))
            if length <= radius * (1.0 + _ON_BOUNDARY):
                break
            # <p, (B + multiplier)^-1 p> is the slope of |p|^2 / 2, but for the sign.
            slope = (length2 - float(along @ dgetrs(factors, pivots, along)[0])) / sigma
            if not slope > 0.0:
                break
            excess += (length2 / slope) * ((length - radius) / radius) / self.scale
        return Combination(rows, share, self.scale * excess)

    def _equations(self, share: float) -> np.ndarray:
        """Return the matrix of the equations, for sigma as a share of the scale."""
        half = len(self._diagonal)
        matrix = self.gram - share * self._shares
        matrix.flat[half * (2 * half + 1) :: 2 * half + 1] += share * self._diagonal
        return matrix


@lru_cache(maxsize=32)
def _mask(half: int) -> np.ndarray:
    """Return ones where the inverse of Q has entries of W W': at SS', L and L'."""
    mask = np.zeros((2 * half, 2 * half))
    mask[:half, :half] = 1.0
    mask[:half, half:] = np.tril(np.ones((half, half)), -1)
    mask[half:, :half] = mask[:half, half:].T
    return mask
