"""Rotations: orthogonal matrices of determinant 1, with tangent vectors in the Lie algebra."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.linalg import expm, schur

from riemtr.arguments import integer
from riemtr.manifolds.arrays import adjoint
from riemtr.manifolds.basis import TangentBasis
from riemtr.manifolds.manifold import OTHER_POINTS, Manifold, TangentSpace, drawing, safe_norm
from riemtr.manifolds.stiefel import SkewBasis, power, random_frames, repeated, skew, symmetric

# Up to this size exponentials of skew-symmetric matrices have a closed form with one angle.
_ONE_ANGLE = 3
# Y'Y - I up to here: Newton's iteration for the polar factor converges quadratically.
_NEWTON_RANGE = 0.1
# Rounds that take it from there to rounding error.
_NEWTON_ROUNDS = 5


class RotationsSpace(TangentSpace):
    """The skew-symmetric matrices W, which stand for the directions X W.

    For complex points X, which are unitary, they are the skew-Hermitian ones.
    """

    transports_stacks = True
    keeps_vectors = True
    _bend: np.ndarray | None = None

    def __init__(self, manifold: Any, point: np.ndarray):
        super().__init__(manifold, point)
        self._adjoint = adjoint(point)
        # Exponentials of one angle have a closed form, which is as cheap as any retraction.
        self._one_angle = point.shape[-1] <= _ONE_ANGLE and point.dtype.kind == "f"

    def tangent(self, vector: np.ndarray) -> np.ndarray:
        """Return the skew-symmetric part."""
        return skew(vector)

    def transported(self, vector: np.ndarray, origin: TangentSpace) -> np.ndarray:
        """Return the vector after parallel transport along the shortest geodesic.

        That is E' W E, where E is the square root of A'B for the step from A to B: the orthogonal
        matrix nearest to I + A'B, since 1 + exp(it) is a positive multiple of exp(it / 2).
        """
        step = adjoint(origin.point) @ self.point
        root = nearest_orthogonal(0.5 * (step + np.eye(step.shape[-1], dtype=step.dtype)))
        return skew(adjoint(root) @ vector @ root)

    def units(self) -> np.ndarray:
        """Return the skew-symmetric unit matrices."""
        rows, columns = np.tril_indices(self.point.shape[-1], -1)
        return _unit_matrices(rows, columns, self.point.shape[-1], -1.0)

    def embed(self, vector: np.ndarray) -> np.ndarray:
        """Return X W."""
        return self.point @ vector

    def gradient(self, euclidean_gradient: np.ndarray) -> np.ndarray:
        """Return skew(X'G)."""
        return skew(self._adjoint @ euclidean_gradient)

    def hessian(
        self, euclidean_gradient: np.ndarray, euclidean_product: np.ndarray, vector: np.ndarray
    ) -> np.ndarray:
        """Return skew(X'H - W sym(X'G))."""
        if self._bend is None:
            self._bend = symmetric(self._adjoint @ euclidean_gradient)
        return skew(self._adjoint @ euclidean_product - vector @ self._bend)

    def basis(self) -> TangentBasis:
        """Return the skew-symmetric unit matrices; for complex points, random vectors."""
        return SkewBasis(self.zero()) if self.point.dtype.kind == "f" else super().basis()

    def move(self, vector: np.ndarray) -> np.ndarray:
        """Return X exp(W) up to size 3, else X (I - W/2)^-1 (I + W/2), of second order."""
        if self._one_angle:
            return self.move_along_geodesic(vector)
        half = 0.5 * vector
        identity = np.eye(vector.shape[-1], dtype=vector.dtype)
        return nearest_orthogonal(self.point @ np.linalg.solve(identity - half, identity + half))

    def move_along_geodesic(self, vector: np.ndarray) -> np.ndarray:
        """Return X exp(W)."""
        if self._one_angle:
            turned = self.point + self.point @ _small_expm1(vector)
        else:
            turned = self.point @ expm(vector).astype(self.point.dtype, copy=False)
        return nearest_orthogonal(turned)


class Rotations(Manifold[np.ndarray]):
    r"""Special orthogonal group of n x n rotation matrices, or of k of them.

    .. math:: SO(n) = \{X \in R^{n \times n} : X'X = I, \det X = 1\}

    A tangent vector is a skew-symmetric matrix W, which stands for the direction :math:`XW`; the
    metric is that of the space of matrices, so that the inner product of two vectors is the sum
    of the products of their entries. The gradient is :math:`\operatorname{skew}(X'G)` and the
    Hessian along W is :math:`\operatorname{skew}(X'H - W \operatorname{sym}(X'G))`.

    Parameters
    ----------
    n : int
        Number of rows and of columns.
    k : int
        Number of rotations. Points have the shape ``(n, n)`` if it is 1, else ``(k, n, n)``.

    Examples
    --------
    >>> import numpy as np, riemtr
    >>> manifold = riemtr.Rotations(2)
    >>> quarter = np.array([[0.0, -1.0], [1.0, 0.0]]) * (np.pi / 2)
    >>> manifold.exp(np.eye(2), quarter).round(12) + 0.0
    array([[ 0., -1.],
           [ 1.,  0.]])
    """

    space_type = RotationsSpace

    def __init__(self, n: int, k: int = 1):
        self.n, self.k = integer("n", n), integer("k", k)
        name = f"Special orthogonal group SO({n})" + power(self.k)
        super().__init__(name, self.k * (self.n * (self.n - 1) // 2))
        self.euler_characteristic = 1 if self.n == 1 else 0

    def __repr__(self) -> str:
        return f"Rotations({self.n}{repeated(self.k)})"

    @property
    def typical_dist(self) -> float:
        """Bound on the distance between two points."""
        return math.pi * math.sqrt(self.n * self.k)

    def frames(self, point: np.ndarray) -> list[np.ndarray]:
        """Return the matrices themselves, stacked."""
        return [point.reshape(self.k, self.n, self.n)]

    def complaint(self, point: np.ndarray, tolerance: float) -> str | None:
        """Return what keeps a point off the manifold, and the remedy; None if nothing does."""
        if not np.all(np.linalg.det(point) > 0.0):
            return f"its determinant must be 1, not -1; {OTHER_POINTS}"
        return super().complaint(point, tolerance)

    def log(self, point_a: np.ndarray, point_b: np.ndarray) -> np.ndarray:
        """Shortest skew-symmetric W with ``point_a`` exp(W) = ``point_b``.

        At an angle of pi, where several are as short, one of them is returned.
        """
        turn = point_a.swapaxes(-1, -2) @ point_b
        if self.n == 1:
            return np.zeros_like(turn)
        if self.n == 2:
            return _log_in_plane(turn)
        if self.n == 3:
            return _log_in_space(turn)
        if self.k == 1:
            return _log_by_planes(turn)
        return np.array([_log_by_planes(each) for each in turn])

    def dist(self, point_a: np.ndarray, point_b: np.ndarray) -> float:
        """Norm of the shortest W with ``point_a`` exp(W) = ``point_b``."""
        return safe_norm(self.log(point_a, point_b))

    def stacked_space(self, points: np.ndarray) -> TangentSpace:
        """Return the tangent spaces at many points as one."""
        return self.space_type(self, points)

    def random_points(self, rng: Any, count: int) -> np.ndarray:
        """Draw points, stacked."""
        drawn = Rotations(self.n, k=self.k * count).random_point(rng)
        return drawn.reshape(count, *((self.k,) if self.k > 1 else ()), self.n, self.n)

    def random_point(self, rng: Any = None) -> np.ndarray:
        """Draw a point uniformly, from the Haar measure."""
        point = random_frames(drawing(rng), self.n, self.n, self.k)
        point[..., 0] *= np.sign(np.linalg.det(point))[..., None]
        return point


def _unit_matrices(rows: np.ndarray, columns: np.ndarray, n: int, sign: float) -> np.ndarray:
    """Return matrices of norm 1 with two entries each, mirrored with a sign."""
    units = np.zeros((len(rows), n, n))
    units[np.arange(len(rows)), rows, columns] = math.sqrt(0.5)
    units[np.arange(len(rows)), columns, rows] = sign * math.sqrt(0.5)
    return units


def _small_expm1(vector: np.ndarray) -> np.ndarray:
    """Return exp(W) - I for skew-symmetric matrices up to size 3: Rodrigues' formula."""
    angles = np.sqrt(0.5 * (vector * vector).sum(axis=(-1, -2), keepdims=True))
    sines = np.sinc(angles / math.pi)
    halves = np.sinc(angles / (2.0 * math.pi))
    return sines * vector + (0.5 * halves * halves) * (vector @ vector)


def nearest_orthogonal(matrix: np.ndarray) -> np.ndarray:
    """Return the polar factor of a square matrix, or of each; fast for nearly orthogonal ones."""
    identity = np.eye(matrix.shape[-1], dtype=matrix.dtype)
    accurate = math.sqrt(np.finfo(matrix.dtype).eps)
    for _ in range(_NEWTON_ROUNDS):
        excess = adjoint(matrix) @ matrix - identity
        size = np.abs(excess).max()
        if not np.isfinite(size):
            return np.full_like(matrix, np.nan)
        if size >= _NEWTON_RANGE:
            break
        matrix = matrix - 0.5 * (matrix @ excess)
        if size < accurate:
            return matrix
    left, _, right = np.linalg.svd(matrix)
    return left @ right


def _log_in_plane(turn: np.ndarray) -> np.ndarray:
    sines, cosines = turn[..., 1, 0] - turn[..., 0, 1], turn[..., 0, 0] + turn[..., 1, 1]
    log = np.zeros_like(turn)
    log[..., 1, 0] = np.arctan2(sines, cosines)
    log[..., 0, 1] = -log[..., 1, 0]
    return log


def _log_in_space(turn: np.ndarray) -> np.ndarray:
    # By quaternions, which are accurate at every angle; the import takes as long as all of numpy.
    from scipy.spatial.transform import Rotation

    axes = Rotation.from_matrix(turn).as_rotvec()
    log = np.zeros_like(turn)
    log[..., 2, 1], log[..., 0, 2], log[..., 1, 0] = axes[..., 0], axes[..., 1], axes[..., 2]
    return log - log.swapaxes(-1, -2)


def _log_by_planes(turn: np.ndarray) -> np.ndarray:
    """Return the logarithm of one rotation, from the planes that it turns by an angle each."""
    blocks, basis = schur(turn, output="real")
    firsts = np.flatnonzero(np.diagonal(blocks, -1))
    sines = 0.5 * (blocks[firsts + 1, firsts] - blocks[firsts, firsts + 1])
    cosines = 0.5 * (blocks[firsts, firsts] + blocks[firsts + 1, firsts + 1])
    alone = np.ones(len(turn), dtype=bool)
    alone[firsts] = alone[firsts + 1] = False
    # Vectors that are mapped to their negatives come in pairs, as the determinant is 1.
    flipped = np.flatnonzero(alone & (np.diagonal(blocks) < 0.0))
    halves = len(flipped) // 2
    angles = np.concatenate((np.arctan2(sines, cosines), np.full(halves, math.pi)))
    starts = basis[:, np.concatenate((firsts, flipped[0 : 2 * halves : 2]))]
    ends = basis[:, np.concatenate((firsts + 1, flipped[1 : 2 * halves : 2]))]
    half = (ends * angles) @ starts.T
    return (half - half.T).astype(turn.dtype, copy=False)
