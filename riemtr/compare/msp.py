"""Matching, stretching, projection: the l4 fixed point for complete dictionaries.

Zhai, Yang, Liao, Wright and Ma, *Complete Dictionary Learning via l4-Norm Maximization over the
Orthogonal Group* (2020). For whitened data Z = Q X, with X sparse and Q orthogonal, the rows of
the orthogonal A that maximizes |A Z|_4^4 are near the columns of Q: the entries of A Z are
spikiest where A Z is sparse. Only near, since the l4 norm of finitely many samples peaks elsewhere
than its expectation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from riemtr.compare.estimates import Estimate
from riemtr.data import Orthogonal


@dataclass(frozen=True, eq=False)
class FixedPoint:
    """Where the iteration ended.

    Attributes
    ----------
    rotation : ndarray, shape (n, n)
        A, orthogonal.
    objectives : list of float
        \\|A Z\\|_4^4 / (n p) at every iterate; never decreases beyond rounding.
    residual : float
        Relative Riemannian gradient norm at `rotation`.
    converged : bool
        Whether that is within the tolerance.
    """

    rotation: np.ndarray
    objectives: list[float]
    residual: float
    converged: bool

    @property
    def iterations(self) -> int:
        """Steps taken."""
        return len(self.objectives) - 1


def maximize_l4(
    data: np.ndarray,
    start: np.ndarray,
    *,
    tolerance: float = 1e-10,
    max_iterations: int = 5000,
) -> FixedPoint:
    """Maximize \\|A Z\\|_4^4 over orthogonal A by ``A <- polar((A Z)^3 Z')``, from a start.

    The objective is convex in A, so the linear model that a step maximizes lies below it: no step
    decreases it. A is a fixed point where ``G A'`` is symmetric and positive semidefinite, with
    ``G = (A Z)^3 Z'``; the first is that the Riemannian gradient vanishes.

    Parameters
    ----------
    data : ndarray, shape (n, p)
        Z, whitened: ``Z Z' / p = I``.
    start : ndarray, shape (n, n)
        Orthogonal.
    tolerance : float
        Stop where ``|skew(G A')|_F <= tolerance |G|_F``.
    max_iterations : int

    Examples
    --------
    >>> from riemtr.data import BernoulliGaussian, Identity
    >>> data = BernoulliGaussian(n=4, p=5000, theta=0.2, dictionary=Identity()).draw(0).observations
    >>> found = maximize_l4(data, Orthogonal().matrix(4, np.random.default_rng(0)))
    >>> found.converged, np.sort(np.abs(found.rotation), axis=1)[:, -1].round(2)
    (True, array([1., 1., 1., 1.]))
    """
    rotation = np.asarray(start, dtype=np.float64)
    objectives: list[float] = []
    residual = math.inf
    for _ in range(max_iterations + 1):
        matched = rotation @ data
        stretched = matched**3
        objectives.append(float(np.vdot(stretched, matched)) / data.size)
        gradient = stretched @ data.T
        turn = gradient @ rotation.T
        size = float(np.linalg.norm(gradient))
        residual = float(np.linalg.norm(turn - turn.T)) / (2 * size) if size else 0.0
        if residual <= tolerance or len(objectives) > max_iterations:
            break
        left, _, right = np.linalg.svd(gradient)
        rotation = left @ right
    return FixedPoint(rotation, objectives, residual, residual <= tolerance)


def msp(data: np.ndarray, seed: int) -> Estimate:
    """Run the fixed point from a random rotation, as a method to compare."""
    start = Orthogonal().matrix(data.shape[0], np.random.default_rng(seed))
    found = maximize_l4(data, start)
    end = "converged" if found.converged else "out of iterations"
    status = f"{end}: relative gradient norm {found.residual:.1e}"
    return Estimate(found.rotation, found.converged, status, found.iterations)
