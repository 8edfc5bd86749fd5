"""Symmetric positive definite matrices with the metric that no change of basis alters."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np

from riemtr.arguments import integer
from riemtr.manifolds.arrays import adjoint
from riemtr.manifolds.basis import TangentBasis
from riemtr.manifolds.manifold import OTHER_POINTS, Manifold, TangentSpace, drawing, safe_norm
from riemtr.manifolds.stiefel import random_frames, repeated, symmetric


class PositiveDefiniteSpace(TangentSpace):
    """The symmetric matrices S = L^-1 V L^-T, for a point X = L L' and its tangent vectors V.

    For complex points they are the Hermitian ones, and the prime is the conjugate transpose.
    """

    transports_stacks = True
    keeps_vectors = True
    relative_metric = True
    _bend: np.ndarray | None = None

    @cached_property
    def root(self) -> np.ndarray:
        """The factor L: Cholesky's, or where that fails by rounding, one from eigenvalues."""
        try:
            return np.linalg.cholesky(self.point)
        except np.linalg.LinAlgError:
            values, vectors = np.linalg.eigh(self.point)
            least = np.finfo(values.dtype).eps * np.abs(values).max(axis=-1, keepdims=True)
            return vectors * np.sqrt(np.maximum(values, least))[..., None, :]

    @cached_property
    def _adjoint(self) -> np.ndarray:
        return adjoint(self.root)

    @cached_property
    def _inverse(self) -> np.ndarray:
        return np.linalg.inv(self.root)

    def tangent(self, vector: np.ndarray) -> np.ndarray:
        """Return the symmetric part."""
        return symmetric(vector)

    def pack(self, vector: np.ndarray) -> np.ndarray:
        """Return S = L^-1 V L^-T."""
        return symmetric(self._inverse @ vector @ adjoint(self._inverse))

    def unpack(self, vector: np.ndarray) -> np.ndarray:
        """Return V = L S L'."""
        return symmetric(self.root @ vector @ self._adjoint)

    def basis(self) -> TangentBasis:
        """Return the symmetric unit matrices; for complex points, random vectors."""
        return SymmetricBasis(self.zero()) if self.point.dtype.kind == "f" else super().basis()

    def units(self) -> np.ndarray | None:
        """Return the symmetric unit matrices; None for complex points."""
        if self.point.dtype.kind == "c":
            return None
        basis = SymmetricBasis(np.zeros(self.point.shape[-2:]))
        return np.array([basis.vector(unit) for unit in np.eye(basis.dim)])

    def transported(
        self,
        vector: np.ndarray,
        origin: PositiveDefiniteSpace,  # type: ignore[override]
    ) -> np.ndarray:
        """Return a vector after parallel transport along the geodesic.

        That is E V E' with E = (Y X^-1)^(1/2). For X = L L' and Y = M M' it turns S by the
        orthogonal polar factor of M' L^-T, so that no length changes.
        """
        left, _, right = np.linalg.svd(self.seen_from(origin))
        turn = left @ right
        return symmetric(adjoint(turn) @ vector @ turn)

    def seen_from(self, origin: PositiveDefiniteSpace) -> np.ndarray:
        """Return C = L^-1 M, where X = L L' is the origin and M M' the point of this space."""
        return origin._inverse @ self.root

    def gradient(self, euclidean_gradient: np.ndarray) -> np.ndarray:
        """Return L' sym(G) L."""
        return self.tangent(self._adjoint @ euclidean_gradient @ self.root)

    def measured(self, euclidean_gradient: np.ndarray) -> np.ndarray:
        """Return L' sym(G) L; G itself grows towards singular matrices without any slope."""
        return self.gradient(euclidean_gradient)

    def hessian(
        self, euclidean_gradient: np.ndarray, euclidean_product: np.ndarray, vector: np.ndarray
    ) -> np.ndarray:
        """Return L' sym(H) L + sym(S L' sym(G) L)."""
        if self._bend is None:
            self._bend = symmetric(self._adjoint @ euclidean_gradient @ self.root)
        product = self._adjoint @ euclidean_product @ self.root
        product += vector @ self._bend
        return self.tangent(product)

    def move(self, vector: np.ndarray) -> np.ndarray:
        """Return L (I + S + S^2/2) L', the geodesic to second order, as (X + N N') / 2."""
        ahead = self.root + self.root @ vector
        return symmetric(0.5 * (self.point + ahead @ adjoint(ahead)))

    def move_along_geodesic(self, vector: np.ndarray) -> np.ndarray:
        """Return L exp(S) L'."""
        values, vectors = np.linalg.eigh(vector)
        with np.errstate(over="ignore", invalid="ignore"):  # has_left says so of what overflows
            ahead = (self.root @ vectors) * np.exp(0.5 * values)[..., None, :]
            return symmetric(ahead @ adjoint(ahead))


class PositiveDefinite(Manifold[np.ndarray]):
    r"""Manifold of symmetric positive definite n x n matrices, or of k of them.

    The metric is the affine-invariant one,
    :math:`\langle U, V \rangle = \operatorname{tr}(X^{-1} U X^{-1} V)`, in which every geodesic

    .. math:: X^{1/2} \exp(t X^{-1/2} V X^{-1/2}) X^{1/2}

    stays on the manifold. The gradient is :math:`X \operatorname{sym}(G) X` and the Hessian along
    V is :math:`X \operatorname{sym}(H) X + \operatorname{sym}(V \operatorname{sym}(G) X)`.

    Parameters
    ----------
    n : int
        Number of rows and of columns.
    k : int
        Number of matrices. Points have the shape ``(n, n)`` if it is 1, else ``(k, n, n)``.

    Examples
    --------
    >>> import numpy as np, riemtr
    >>> manifold = riemtr.PositiveDefinite(2)
    >>> manifold.dim
    3
    >>> round(manifold.dist(np.eye(2), np.diag([np.e, 1.0])), 12)
    1.0
    """

    space_type = PositiveDefiniteSpace
    bounded = False

    def __init__(self, n: int, k: int = 1):
        self.n, self.k = integer("n", n), integer("k", k)
        name = f"Manifold of {f'{k} ' if self.k > 1 else ''}positive definite {n} x {n} matrices"
        super().__init__(name, self.k * (self.n * (self.n + 1) // 2))

    def __repr__(self) -> str:
        return f"PositiveDefinite({self.n}{repeated(self.k)})"

    @property
    def typical_dist(self) -> float:
        """Root of the dimension, as there is no largest distance."""
        return math.sqrt(self.dim)

    def space(self, point: np.ndarray) -> PositiveDefiniteSpace:
        """Return the tangent space at a point."""
        return PositiveDefiniteSpace(self, point)

    def complaint(self, point: np.ndarray, tolerance: float) -> str | None:
        """Return what keeps a point off the manifold, and the remedy; None if nothing does."""
        return indefinite(point, tolerance)

    def has_left(self, point: np.ndarray) -> bool:
        """Return whether a matrix is not positive definite, or not finite."""
        return not is_definite(point)

    def projection(self, point: np.ndarray, vector: np.ndarray) -> np.ndarray:
        """Return the symmetric part of a matrix."""
        return symmetric(vector)

    to_tangent_space = projection

    def dist(self, point_a: np.ndarray, point_b: np.ndarray) -> float:
        """Norm of the logarithm of X^(-1/2) Y X^(-1/2)."""
        relative = self.space(point_b).seen_from(self.space(point_a))
        return 2.0 * safe_norm(np.log(np.linalg.svd(relative, compute_uv=False)))

    def log(self, point_a: np.ndarray, point_b: np.ndarray) -> np.ndarray:
        """Tangent vector at ``point_a`` whose exponential is ``point_b``."""
        space = self.space(point_a)
        left, values, _ = np.linalg.svd(self.space(point_b).seen_from(space))
        logarithm = (left * (2.0 * np.log(values))[..., None, :]) @ adjoint(left)
        return space.unpack(logarithm)

    def stacked_space(self, points: np.ndarray) -> TangentSpace:
        """Return the tangent spaces at many points as one."""
        return self.space_type(self, points)

    def random_points(self, rng: Any, count: int) -> np.ndarray:
        """Draw points, stacked."""
        drawn = PositiveDefinite(self.n, k=self.k * count).random_point(rng)
        return drawn.reshape(count, *((self.k,) if self.k > 1 else ()), self.n, self.n)

    def random_point(self, rng: Any = None) -> np.ndarray:
        """Draw a point with eigenvalues between 1 and 2, and eigenvectors drawn uniformly."""
        rng = drawing(rng)
        vectors = random_frames(rng, self.n, self.n, self.k)
        values = rng.uniform(1.0, 2.0, size=vectors.shape[:-1])
        return symmetric((vectors * values[..., None, :]) @ vectors.swapaxes(-1, -2))


def is_definite(point: np.ndarray) -> bool:
    """Return whether a symmetric matrix, or each of a stack, is positive definite and finite."""
    try:
        return bool(np.all(np.isfinite(np.linalg.cholesky(point))))
    except np.linalg.LinAlgError:
        return False


def indefinite(point: np.ndarray, tolerance: float) -> str | None:
    """Return what keeps a matrix from being positive definite, and the remedy, if anything does."""
    size = np.abs(point).max(initial=0.0)
    if not np.abs(point - adjoint(point)).max(initial=0.0) <= tolerance * size:
        return f"it must equal its conjugate transpose; {OTHER_POINTS}"
    if not np.all(np.linalg.eigvalsh(point) > 0.0):
        return f"its eigenvalues must be positive; {OTHER_POINTS}"
    return None


class SymmetricBasis:
    """Orthonormal basis of the symmetric matrices: their entries on and below the diagonal.

    Parameters
    ----------
    like : ndarray of shape (..., n, n)
        A matrix, or a stack of them, for type and shape.
    """

    def __init__(self, like: np.ndarray):
        self._like = like
        rows, columns = np.tril_indices(like.shape[-1])
        self._lower, self._upper = (..., rows, columns), (..., columns, rows)
        self._lower_shape = like[self._lower].shape
        # Each entry below the diagonal stands for two.
        self._weights = np.where(rows == columns, 1.0, math.sqrt(2.0)).astype(like.dtype)
        self.dim = math.prod(self._lower_shape)

    def coordinates(self, vector: np.ndarray) -> np.ndarray:
        """Return the entries, those off the diagonal times the root of 2."""
        return (vector[self._lower] * self._weights).ravel()

    def vector(self, coordinates: np.ndarray) -> np.ndarray:
        """Return the matrix with these entries."""
        vector = np.empty(self._like.shape, np.result_type(coordinates, self._like.dtype))
        entries = coordinates.reshape(self._lower_shape) / self._weights
        vector[self._lower] = entries
        vector[self._upper] = entries
        return vector
