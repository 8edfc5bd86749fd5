r"""The limited-memory BFGS model, and its exact minimiser over a ball.

Of the last m steps :math:`s_i`, the changes :math:`y_i` of the gradient along them are known. With
both as rows of :math:`W = [S; Y]`, BFGS updates of :math:`\delta I` with all of them make

.. math:: B = \delta I - W' Z K^{-1} Z W, \quad
    K = \begin{pmatrix} \delta S S' & L \\ L' & -D \end{pmatrix}, \quad
    Z = \operatorname{diag}(\delta I, I),

where L is the strictly lower triangle of SY' and D its diagonal (Byrd, Nocedal and Schnabel, Math.
Programming 63, 1994, theorem 2.3). B is :math:`\delta` times the identity across the rows of W, so
that its minimiser over a ball is a combination of these rows and of the gradient: it is found
exactly, from inner products alone, by a problem of 2m + 1 dimensions.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dtrtrs

from riemtr.subproblem.exact import eigendecomposition, solve_in_eigenbasis

# Eigenvalues of the rows' inner products, over the largest, below which rows are dependent.
_DEPENDENT = 1e-14


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
        Inner products of the rows of W, steps first, with positive <s_i, y_i>.
    scale : float
        The curvature across all rows, positive.

    Examples
    --------
    >>> rows = np.array([[1.0, 0.0, 0.0], [3.0, 0.0, 0.0]])  # a step, and the change along it
    >>> model = SecantModel(rows @ rows.T, scale=2.0)
    >>> gradient = np.array([3.0, 2.0, 0.0])
    >>> found = model.minimiser(rows @ gradient, gradient @ gradient, radius=10.0)
    >>> (found.rows @ rows + found.gradient * gradient).round(12)
    array([-1., -1.,  0.])
    """

    def __init__(self, gram: np.ndarray, scale: float):
        self.gram, self.scale = gram, scale
        self._decomposition: tuple[np.ndarray, np.ndarray] | None = None

    @property
    def size(self) -> float:
        """The largest change over its step: a curvature that was met."""
        half = len(self.gram) // 2
        squares = self.gram.diagonal()
        return math.sqrt(float((squares[half:] / squares[:half]).max()))

    def minimiser(self, products: np.ndarray, squared: float, radius: float) -> Combination:
        """Minimise over a ball, for a gradient with given inner products.

        Parameters
        ----------
        products : ndarray, shape (2m,)
            Inner products of the rows and the gradient.
        squared : float
            The squared norm of the gradient.
        radius : float
        """
        newton = self._newton(products)
        length = squared * newton.gradient**2 + newton.rows @ (
            2.0 * newton.gradient * products + self.gram @ newton.rows
        )
        if 0.0 <= length <= radius * radius:
            return newton
        return self._within(products, squared, radius)

    def _newton(self, products: np.ndarray) -> Combination:
        """Return -g/B, by the formula of the inverse (theorem 2.2 there)."""
        half, scale = len(products) // 2, self.scale
        if not half:
            return Combination(products, -1.0 / scale, 0.0)
        across = self.gram[:half, half:]
        by_changes = dtrtrs(across, products[:half])[0]
        middle = (products[half:] - self.gram[half:, half:] @ by_changes) / scale
        middle -= across.diagonal() * by_changes
        by_steps = dtrtrs(across, middle, trans=1)[0]
        rows = np.concatenate((by_steps, by_changes / scale))
        return Combination(rows, -1.0 / scale, 0.0)

    def _within(self, products: np.ndarray, squared: float, radius: float) -> Combination:
        """Return the minimiser over the ball, in the coordinates of B's own eigenvectors."""
        curvatures, directions = self._eigen()
        along = products @ directions
        across = max(squared - float(along @ along), 0.0) ** 0.5
        # B over the scale has curvatures about 1, and 1 across all rows.
        values, linear = np.append(curvatures, 1.0), np.append(along, across)
        order = values.argsort()
        found, multiplier, _, _ = solve_in_eigenbasis(
            values[order], linear[order], radius * self.scale
        )
        step = np.empty(len(order))
        step[order] = found / self.scale
        share = step[-1] / across if across > 0.0 else 0.0
        rows = directions @ (step[:-1] - share * along)
        return Combination(rows, float(share), self.scale * multiplier)

    def _eigen(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the curvatures of B / scale in the span of the rows, and eigenvectors as factors.

        Changes over the scale are of the size of steps: B / scale is then the model of both.
        """
        if self._decomposition is None:
            half = len(self.gram) // 2
            units = np.ones(2 * half)
            units[half:] = 1.0 / self.scale
            gram = self.gram * units * units[:, None]
            across = gram[:half, half:]
            kernel = gram.copy()
            kernel[:half, half:] = lower = across * _below_diagonal(half)
            kernel[half:, :half] = lower.T
            kernel[half:, half:] = 0.0
            kernel.flat[half * (2 * half + 1) :: 2 * half + 1] = -across.diagonal()
            sizes, axes = eigendecomposition(gram)
            kept = sizes > _DEPENDENT * sizes[-1]
            roots, axes = np.sqrt(sizes[kept]), axes[:, kept]
            spread = axes * roots
            within = -spread.T @ np.linalg.solve(kernel, spread)
            within = 0.5 * (within + within.T)
            within.flat[:: len(within) + 1] += 1.0
            curvatures, turn = eigendecomposition(within)
            self._decomposition = curvatures, units[:, None] * ((axes / roots) @ turn)
        return self._decomposition


@lru_cache(maxsize=32)
def _below_diagonal(size: int) -> np.ndarray:
    """Return ones below the diagonal."""
    return np.tril(np.ones((size, size)), -1)
