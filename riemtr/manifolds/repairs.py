"""Where pymanopt 2.2 is wrong or silent: adapters that compute what its manifolds do not.

Each class says what is wrong. :data:`REPAIRS` names the classes of pymanopt that they are for; they
serve subclasses as well, unless those have methods of their own in place of the repaired ones. The
vectors of all spaces here are arrays whose dot product is the metric.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pymanopt.manifolds as others

from riemtr.manifolds.arrays import adjoint
from riemtr.manifolds.euclidean import EuclideanSpace
from riemtr.manifolds.fixed_rank import FixedRank, FixedRankSpace, no_svd
from riemtr.manifolds.manifold import OTHER_POINTS, Manifold, TangentSpace, safe_norm
from riemtr.manifolds.positive_definite import PositiveDefiniteSpace, indefinite, is_definite
from riemtr.manifolds.pymanopt import FromPymanopt, PymanoptSpace
from riemtr.manifolds.rotations import RotationsSpace

# Roundings of the eigenvalues of Y'Y below which one counts as none.
_LACKING_RANK = 4096.0


# -- flat manifolds -------------------------------------------------------------------------------


class Flat(FromPymanopt):
    """pymanopt does not say that Euclidean spaces are unbounded and their own tangent spaces."""

    space_type = EuclideanSpace


class ProjectedSpace(PymanoptSpace):
    """A tangent space whose vectors are those that the manifold's projection keeps."""

    def tangent(self, vector: np.ndarray) -> np.ndarray:
        """Return the projection onto the tangent space, in the precision of the vector."""
        projected = self.manifold.original.projection(self.point, vector)
        return projected.astype(vector.dtype, copy=False)

    random = TangentSpace.random


class SymmetricMatrices(FromPymanopt):
    """pymanopt's ``to_tangent_space`` is that of all matrices, and keeps the other part."""

    space_type = ProjectedSpace
    sign = 1.0
    words = "it must equal its transpose"

    def complaint(self, point: np.ndarray, tolerance: float) -> str | None:
        """Return whether the matrix is not symmetric, in words."""
        error = np.abs(point - self.sign * adjoint(point)).max(initial=0.0)
        if error > tolerance * np.abs(point).max(initial=0.0):
            return f"{self.words}; {OTHER_POINTS}"
        return super().complaint(point, tolerance)


class SkewSymmetricMatrices(SymmetricMatrices):
    """pymanopt's ``to_tangent_space`` is that of all matrices, and keeps the symmetric part."""

    sign = -1.0
    words = "it must equal minus its transpose"


# -- spheres --------------------------------------------------------------------------------------


class UnitNorm(FromPymanopt):
    """pymanopt does not say what keeps an array off a sphere."""

    is_sphere = True

    def complaint(self, point: np.ndarray, tolerance: float) -> str | None:
        """Return what norm the array has, in words, if not 1."""
        wrong = super().complaint(point, tolerance)
        if wrong is None:
            return None
        return f"it must have norm 1; its norm is {safe_norm(point):.6g}: divide by it"


class SubspaceSphere(UnitNorm):
    """pymanopt's ``to_tangent_space`` is that of the whole sphere, and leaves the subspace.

    Its random tangent vector is NaN where the draw is parallel to the point.
    """

    space_type = ProjectedSpace
    is_sphere = False

    def complaint(self, point: np.ndarray, tolerance: float) -> str | None:
        """Return whether the vector is not in the subspace, or not of norm 1, in words."""
        inside = self.original._subspace_projector @ point
        if not np.allclose(inside, point, rtol=tolerance, atol=tolerance):
            return f"it must lie in the subspace; {OTHER_POINTS}"
        return super().complaint(point, tolerance)


class CircleSpace(PymanoptSpace):
    """The products of unit complex numbers with imaginary ones."""

    transports_stacks = True
    keeps_vectors = True

    def transported(self, vector: np.ndarray, origin: TangentSpace) -> np.ndarray:
        """Return the vector after parallel transport: the same angular velocity."""
        return 1j * (vector * origin.point.conj()).imag * self.point

    def move_along_geodesic(self, vector: np.ndarray) -> np.ndarray:
        """Return the numbers after a turn."""
        moved = self.point * np.exp(1j * (vector * self.point.conj()).imag)
        return moved / np.abs(moved)


class ComplexCircles(FromPymanopt):
    """pymanopt's ``exp`` drops the imaginary part, and ``log`` divides by zero where a = b."""

    space_type = CircleSpace

    def log(self, point_a: np.ndarray, point_b: np.ndarray) -> np.ndarray:
        """Return the shortest tangent vector at one point whose exponential is another."""
        return 1j * np.angle(point_a.conj() * point_b) * point_a

    def dist(self, point_a: np.ndarray, point_b: np.ndarray) -> float:
        """Return the root of the sum of squared angles."""
        return safe_norm(np.angle(point_a.conj() * point_b))


# -- groups ---------------------------------------------------------------------------------------


class UnitaryMatrices(FromPymanopt):
    """pymanopt's gradient and ``projection`` take the skew-symmetric part, not the skew-Hermitian.

    Its ``transport`` keeps the matrix that stands for a vector, which is not parallel.
    """

    space_type = RotationsSpace
    projection = Manifold.projection


# -- quotients by rotations of the columns --------------------------------------------------------


def _horizontal(point: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Remove what only turns the columns of Y, Y W with W skew: Y*Y W + W Y*Y = Y*V - V*Y.

    Where Y lacks rank, as solutions of semidefinite programs mostly do, this equation is singular:
    there are then fewer turns, and more directions.
    """
    values, turn = np.linalg.eigh(adjoint(point) @ point)
    sums = values[:, None] + values
    skew = adjoint(turn) @ (adjoint(point) @ vector - adjoint(vector) @ point) @ turn
    sums[sums <= _LACKING_RANK * np.finfo(sums.dtype).eps * values[-1]] = np.inf
    return vector - point @ (turn @ (skew / sums) @ adjoint(turn))


class UpToRotation(FromPymanopt):
    """pymanopt does not say that X and X Q are the same point for every unitary Q."""

    def another_representative(self, point: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return the same point with other columns."""
        columns = point.shape[-1]
        square = rng.standard_normal((*point.shape[:-2], columns, columns))
        if point.dtype.kind == "c":
            square = square + 1j * rng.standard_normal(square.shape)
        rotation, _ = np.linalg.qr(square)
        return (point @ rotation).astype(point.dtype, copy=False)


class SemidefiniteSpace(PymanoptSpace):
    """The horizontal vectors: those orthogonal to all that only turn the columns."""

    keeps_vectors = True

    def tangent(self, vector: np.ndarray) -> np.ndarray:
        """Return the horizontal part."""
        return _horizontal(self.point, vector)

    random = TangentSpace.random

    def transported(self, vector: np.ndarray, origin: TangentSpace) -> np.ndarray:
        """Return the horizontal part, which is parallel to first order."""
        return self.tangent(vector)

    def hessian(
        self, euclidean_gradient: np.ndarray, euclidean_product: np.ndarray, vector: np.ndarray
    ) -> np.ndarray:
        """Return the horizontal part of the Euclidean Hessian product."""
        return self.tangent(euclidean_product)


class SemidefiniteMatrices(UpToRotation):
    """pymanopt solves an equation that is singular where a point lacks rank."""

    space_type = SemidefiniteSpace
    projection = Manifold.to_tangent_space


class ElliptopeSpace(SemidefiniteSpace):
    """The horizontal vectors whose rows are orthogonal to those of the point."""

    def tangent(self, vector: np.ndarray) -> np.ndarray:
        """Return the horizontal part of the projection onto vectors of unit rows."""
        point = self.point
        rows = vector - point * (point * vector).sum(axis=1, keepdims=True)
        return _horizontal(point, rows)

    def gradient(self, euclidean_gradient: np.ndarray) -> np.ndarray:
        """Return the projection onto vectors of unit rows, horizontal if the cost is invariant."""
        point = self.point
        return euclidean_gradient - point * (point * euclidean_gradient).sum(axis=1, keepdims=True)

    def hessian(
        self, euclidean_gradient: np.ndarray, euclidean_product: np.ndarray, vector: np.ndarray
    ) -> np.ndarray:
        """Return the Hessian product on unit rows, made horizontal."""
        along = (self.point * euclidean_gradient).sum(axis=1, keepdims=True)
        return self.tangent(euclidean_product - along * vector)


class UnitDiagonal(SemidefiniteMatrices):
    """pymanopt doubles the part that turns the columns instead of removing it.

    It also solves an equation that is singular where the point lacks rank, as solutions mostly do.
    There the tangent space is larger than the dimension that pymanopt gives.
    """

    space_type = ElliptopeSpace
    dimension_varies = True

    @staticmethod
    def dimension(original: Any) -> int:
        """Return the dimension where the point lacks rank most."""
        return original._n * (original._k - 1)


# -- positive definite matrices -------------------------------------------------------------------


class DefiniteMatrices(FromPymanopt):
    """pymanopt gives twice the triangle as the dimension, but a Hermitian diagonal is real.

    Its ``transport`` returns the vector as it is, and its random tangent vectors prefer directions
    that are short in the metric. Its ``exp`` is not exactly Hermitian.
    """

    space_type = PositiveDefiniteSpace

    def __init__(self, original: Any):
        super().__init__(original)
        self.converts_hessians = True

    @staticmethod
    def dimension(original: Any) -> int:
        """Return n^2 for each matrix, or what pymanopt says of real ones."""
        if isinstance(original, others.SymmetricPositiveDefinite):
            return original.dim
        return original._k * original._n**2

    def has_left(self, point: np.ndarray) -> bool:
        """Return whether rounding has made an eigenvalue zero or negative."""
        return not is_definite(point)

    def complaint(self, point: np.ndarray, tolerance: float) -> str | None:
        """Return whether the matrix is not positive definite, in words."""
        return indefinite(point, tolerance) or super().complaint(point, tolerance)


class UnitDeterminantSpace(PositiveDefiniteSpace):
    """The Hermitian matrices of trace zero.

    Geodesics of matrices of determinant 1 are geodesics among all positive definite matrices, so
    that gradients and Hessian products need no more than a projection.
    """

    def tangent(self, vector: np.ndarray) -> np.ndarray:
        """Return the Hermitian part without its multiple of the identity."""
        hermitian = super().tangent(vector)
        size = hermitian.shape[-1]
        mean = np.asarray(np.trace(hermitian, axis1=-2, axis2=-1).real / size)
        shift = mean.astype(hermitian.real.dtype)[..., None, None]
        return hermitian - shift * np.eye(size, dtype=hermitian.dtype)

    def move(self, vector: np.ndarray) -> np.ndarray:
        """Return the point that the retraction leads to, scaled to determinant 1."""
        return _unit_determinant(super().move(vector))

    def move_along_geodesic(self, vector: np.ndarray) -> np.ndarray:
        """Return the end of the geodesic, scaled to determinant 1 against rounding."""
        return _unit_determinant(super().move_along_geodesic(vector))


class UnitDeterminant(DefiniteMatrices):
    """pymanopt gives a dimension too large, inherits ``to_tangent_space``, and has no Hessians.

    Its transport is a projection that is not parallel, and its random tangent vectors prefer
    directions that are short in the metric.
    """

    space_type = UnitDeterminantSpace

    @staticmethod
    def dimension(original: Any) -> int:
        """Return n^2 - 1 for each matrix."""
        return original._k * (original._n**2 - 1)


def _unit_determinant(point: np.ndarray) -> np.ndarray:
    _, logarithm = np.linalg.slogdet(point)
    factor = np.asarray(np.exp(-logarithm / point.shape[-1]))
    return point * factor.astype(point.real.dtype)[..., None, None]


# -- open sets in Euclidean space -----------------------------------------------------------------


class BallSpace(EuclideanSpace):
    """The hyperbolic metric: a packed vector s stands for the vector (1 - |x|^2) s / 2.

    A point that rounding has put on the boundary has no tangent space: vectors there are NaN.
    """

    relative_metric = True

    def __init__(self, manifold: Any, point: np.ndarray):
        super().__init__(manifold, point)
        scale = 0.5 * (1.0 - _row_dots(point, point))
        self._scale = np.where(scale > 0.0, scale, np.nan)

    def pack(self, vector: np.ndarray) -> np.ndarray:
        """Return the vector times the conformal factor."""
        return vector / self._scale

    def unpack(self, vector: np.ndarray) -> np.ndarray:
        """Return the vector divided by the conformal factor."""
        return vector * self._scale

    def gradient(self, euclidean_gradient: np.ndarray) -> np.ndarray:
        """Return the Euclidean gradient divided by the conformal factor."""
        return euclidean_gradient * self._scale

    def hessian(
        self, euclidean_gradient: np.ndarray, euclidean_product: np.ndarray, vector: np.ndarray
    ) -> np.ndarray:
        """Return (H + <G, x> s - <x, s> G - <G, s> x) (1 - |x|^2) / 2, by Koszul's formula."""
        gradient, point = euclidean_gradient, self.point
        bent = _row_dots(gradient, point) * vector - _row_dots(point, vector) * gradient
        bent -= _row_dots(gradient, vector) * point
        return (euclidean_product + bent) * self._scale

    def move(self, vector: np.ndarray) -> np.ndarray:
        """Return the end of the geodesic, the Moebius sum of x and tanh(|s| / 2) s / |s|."""
        length = np.linalg.norm(vector, axis=-1, keepdims=True)
        step = vector * (np.tanh(0.5 * length) / np.where(length > 0.0, length, 1.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.manifold.original.mobius_addition(self.point, step)

    move_along_geodesic = move

    def transported(self, vector: np.ndarray, origin: TangentSpace) -> np.ndarray:
        """Return the vector after parallel transport along the geodesic.

        For packed vectors it is the gyration gyr[y, -x] of Moebius addition, a rotation.
        """
        there, here = self.point, -origin.point
        both, square, other = _row_dots(there, here), _row_dots(there, there), _row_dots(here, here)
        along, across = _row_dots(there, vector), _row_dots(here, vector)
        turned = (across * (1.0 + 2.0 * both) - along * other) * there
        turned -= (across * square + along) * here
        size = 1.0 + 2.0 * both + square * other
        return vector + 2.0 * turned / np.where(size > 0.0, size, np.nan)


def _row_dots(array_a: np.ndarray, array_b: np.ndarray) -> np.ndarray:
    return np.sum(array_a * array_b, axis=-1, keepdims=True)


class HyperbolicBall(FromPymanopt):
    """pymanopt has no ``transport``, and ``log`` divides by zero where a = b.

    Its random tangent vectors prefer, of several balls, the one whose point is nearest to zero.
    """

    space_type = BallSpace

    def has_left(self, point: np.ndarray) -> bool:
        """Return whether rounding has put a point on the boundary."""
        return not np.all(np.linalg.norm(point, axis=-1) < 1.0)

    def complaint(self, point: np.ndarray, tolerance: float) -> str | None:
        """Return whether the point is not inside the ball, in words."""
        if self.has_left(point):
            return f"its norm must be less than 1; {OTHER_POINTS}"
        return super().complaint(point, tolerance)

    def log(self, point_a: np.ndarray, point_b: np.ndarray) -> np.ndarray:
        """Return the tangent vector at one point whose exponential is another."""
        step = self.original.mobius_addition(-point_a, point_b)
        length = np.linalg.norm(step, axis=-1, keepdims=True)
        ratio = np.arctanh(length) / np.where(length > 0.0, length, 1.0)
        return 2.0 * ratio * step / self.original.conformal_factor(point_a)

    def pair_mean(self, point_a: np.ndarray, point_b: np.ndarray) -> np.ndarray:
        """Return the midpoint of the geodesic."""
        return Manifold.pair_mean(self, point_a, point_b)


class PositiveSpace(EuclideanSpace):
    """The metric of logarithms: packed vectors are divided by the point."""

    relative_metric = True

    def pack(self, vector: np.ndarray) -> np.ndarray:
        """Return the derivative of the logarithms."""
        return vector / self.point

    def unpack(self, vector: np.ndarray) -> np.ndarray:
        """Return the vector times the point."""
        return vector * self.point

    def gradient(self, euclidean_gradient: np.ndarray) -> np.ndarray:
        """Return x^2 G, packed."""
        return euclidean_gradient * self.point

    def hessian(
        self, euclidean_gradient: np.ndarray, euclidean_product: np.ndarray, vector: np.ndarray
    ) -> np.ndarray:
        """Return x^2 H + x G v, packed."""
        return (euclidean_product + euclidean_gradient * vector) * self.point

    def move(self, vector: np.ndarray) -> np.ndarray:
        """Return x (1 + s + s^2 / 2), which is positive and of second order."""
        return self.point * (1.0 + vector + 0.5 * vector**2)

    def move_along_geodesic(self, vector: np.ndarray) -> np.ndarray:
        """Return x exp(s)."""
        return self.point * np.exp(vector)


class PositiveEntries(FromPymanopt):
    """pymanopt's ``transport`` returns the vector as it is, if not told to be parallel."""

    space_type = PositiveSpace

    def has_left(self, point: np.ndarray) -> bool:
        """Return whether rounding has made an entry zero."""
        return not np.all(point > 0.0)

    def complaint(self, point: np.ndarray, tolerance: float) -> str | None:
        """Return whether the entries are not positive, in words."""
        if self.has_left(point):
            return f"its entries must be positive; {OTHER_POINTS}"
        return super().complaint(point, tolerance)


class FactoredMatrices(FromPymanopt):
    """pymanopt's ``retraction`` loses orthonormality where a step has less rank than the point."""

    space_type = FixedRankSpace
    parts = FixedRank.parts

    def complaint(self, point: Any, tolerance: float) -> str | None:
        """Return what keeps three arrays from being an SVD, in words."""
        return no_svd(point, tolerance)


REPAIRS: dict[type, type[FromPymanopt]] = {
    others.ComplexCircle: ComplexCircles,
    others.ComplexEuclidean: Flat,
    others.ComplexGrassmann: UpToRotation,
    others.Elliptope: UnitDiagonal,
    others.Euclidean: Flat,
    others.FixedRankEmbedded: FactoredMatrices,
    others.Grassmann: UpToRotation,
    others.HermitianPositiveDefinite: DefiniteMatrices,
    others.PSDFixedRank: SemidefiniteMatrices,
    others.PSDFixedRankComplex: SemidefiniteMatrices,
    others.PoincareBall: HyperbolicBall,
    others.Positive: PositiveEntries,
    others.SkewSymmetric: SkewSymmetricMatrices,
    others.SpecialHermitianPositiveDefinite: UnitDeterminant,
    others.SpecialOrthogonalGroup: UnitaryMatrices,
    others.Sphere: UnitNorm,
    others.SphereSubspaceComplementIntersection: SubspaceSphere,
    others.SphereSubspaceIntersection: SubspaceSphere,
    others.Symmetric: SymmetricMatrices,
    others.SymmetricPositiveDefinite: DefiniteMatrices,
    others.UnitaryGroup: UnitaryMatrices,
}
