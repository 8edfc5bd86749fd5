"""Linear subspaces of one dimension, each given by one of its orthonormal bases."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from riemtr.arguments import integer
from riemtr.manifolds.basis import TangentBasis
from riemtr.manifolds.manifold import Manifold, TangentSpace, drawing, safe_norm
from riemtr.manifolds.stiefel import (
    ComplementBasis,
    StiefelSpace,
    orthonormalized,
    power,
    random_frames,
    repeated,
)


class GrassmannSpace(StiefelSpace):
    """The horizontal vectors: the matrices V with X'V = 0.

    The retraction is that of the Stiefel manifold: as a subspace the span of X + V agrees with the
    end of the geodesic to second order, whichever basis is taken.
    """

    def along(self, vector: np.ndarray) -> np.ndarray:
        """Return the matrix X'V for which X X'V is the part of V outside the space."""
        return self._transposed @ vector

    def basis(self) -> TangentBasis:
        """Return a basis of the complement of X, for each column."""
        return ComplementBasis(self.point)

    def move_along_geodesic(self, vector: np.ndarray) -> np.ndarray:
        """Return X W cos(S) W' + U sin(S) W' for V = U S W', made orthonormal again."""
        left, angles, right = np.linalg.svd(vector, full_matrices=False)
        cosines, sines = np.cos(angles)[..., None, :], np.sin(angles)[..., None, :]
        moved = (self.point @ right.swapaxes(-1, -2)) * cosines + left * sines
        return orthonormalized(moved @ right)


class Grassmann(Manifold[np.ndarray]):
    r"""Grassmann manifold of p-dimensional subspaces of n-space, or of k of them.

    A subspace is given by a matrix X with orthonormal columns that span it: X and XQ are the same
    point for every orthogonal Q. The metric is that of the quotient of the Stiefel manifold, on
    tangent vectors with :math:`X'V = 0`. The gradient is :math:`G - XX'G` and the Hessian along V
    is the projection of :math:`H - V X'G`.

    Parameters
    ----------
    n, p : int
        Dimensions of the space and of the subspaces, with p at most n.
    k : int
        Number of subspaces. Points have the shape ``(n, p)`` if it is 1, else ``(k, n, p)``.

    Examples
    --------
    >>> import numpy as np, riemtr
    >>> lines = riemtr.Grassmann(2, 1)
    >>> lines.dim
    1
    >>> lines.dist(np.array([[1.0], [0.0]]), np.array([[-1.0], [0.0]]))
    0.0
    """

    space_type = GrassmannSpace

    def __init__(self, n: int, p: int, k: int = 1):
        self.n = integer("n", n)
        self.p = integer("p", p, 1, self.n)
        self.k = integer("k", k)
        name = f"Grassmann manifold Gr({n},{p})" + power(self.k)
        super().__init__(name, self.k * self.p * (self.n - self.p))
        pairs = math.comb(self.n // 2, self.p // 2)
        self.euler_characteristic = 0 if self.p * (self.n - self.p) % 2 else pairs**self.k

    def __repr__(self) -> str:
        return f"Grassmann({self.n}, {self.p}{repeated(self.k)})"

    @property
    def typical_dist(self) -> float:
        """Norm of a point, a scale of the manifold."""
        return math.sqrt(self.p * self.k)

    def frames(self, point: np.ndarray) -> list[np.ndarray]:
        """Return the matrices themselves, stacked."""
        return [point.reshape(self.k, self.n, self.p)]

    def another_representative(self, point: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return XQ for an orthogonal Q drawn at random."""
        turn = random_frames(rng, self.p, self.p, self.k)
        return point @ turn.astype(point.dtype, copy=False)

    def dist(self, point_a: np.ndarray, point_b: np.ndarray) -> float:
        """Root of the sum of the squared principal angles, accurate for small and right ones."""
        inside = point_a.swapaxes(-1, -2) @ point_b
        cosines = np.linalg.svd(inside, compute_uv=False)
        sines = np.linalg.svd(point_b - point_a @ inside, compute_uv=False)
        return safe_norm(np.arctan2(sines[..., ::-1], cosines))

    def log(self, point_a: np.ndarray, point_b: np.ndarray) -> np.ndarray:
        """Shortest tangent vector at ``point_a`` whose exponential is the span of ``point_b``."""
        inside = point_a.swapaxes(-1, -2) @ point_b
        turn, cosines, other_turn = np.linalg.svd(inside)
        # Bases of principal vectors: each column leaves the first subspace at its own angle.
        away = (point_b - point_a @ inside) @ other_turn.swapaxes(-1, -2)
        away -= point_a @ (point_a.swapaxes(-1, -2) @ away)
        sines = np.sqrt((away * away).sum(axis=-2))
        stretch = np.arctan2(sines, cosines) / np.where(sines > 0.0, sines, 1.0)
        stretch[sines == 0.0] = 1.0
        return (away * stretch[..., None, :]) @ turn.swapaxes(-1, -2)

    def stacked_space(self, points: np.ndarray) -> TangentSpace:
        """Return the tangent spaces at many points as one."""
        return self.space_type(self, points)

    def random_points(self, rng: Any, count: int) -> np.ndarray:
        """Draw points, stacked."""
        drawn = Grassmann(self.n, self.p, k=self.k * count).random_point(rng)
        return drawn.reshape(count, *((self.k,) if self.k > 1 else ()), self.n, self.p)

    def random_point(self, rng: Any = None) -> np.ndarray:
        """Draw a point uniformly."""
        return random_frames(drawing(rng), self.n, self.p, self.k)
