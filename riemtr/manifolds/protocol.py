"""What riemtr asks of a manifold: pymanopt's method names, so that its manifolds serve as they are.

The functions here smooth over the few places where pymanopt's manifolds differ from each other
(randomness from numpy's global state, an exponential map, a transport or a scale that may be
missing) and over those where pymanopt 2.2 is wrong: the exponential map of the complex circle,
the gradient on the unitary group, the tangent vectors of the elliptope, and all of these in
products, which are taken apart here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Protocol, runtime_checkable

import numpy as np
from pymanopt.manifolds import (
    ComplexCircle,
    ComplexEuclidean,
    Elliptope,
    Euclidean,
    FixedRankEmbedded,
    HermitianPositiveDefinite,
    PoincareBall,
    Positive,
    PSDFixedRank,
    PSDFixedRankComplex,
    SkewSymmetric,
    SpecialHermitianPositiveDefinite,
    SpecialOrthogonalGroup,
    Symmetric,
    SymmetricPositiveDefinite,
    UnitaryGroup,
)
from pymanopt.manifolds.manifold import Manifold as PymanoptManifold
from pymanopt.manifolds.manifold import RetrAsExpMixin, RiemannianSubmanifold

from riemtr.arguments import members

POSITIVE_DEFINITE = (
    HermitianPositiveDefinite,
    SpecialHermitianPositiveDefinite,
    SymmetricPositiveDefinite,
)
_LACKING_RANK = 4096.0  # roundings of the eigenvalues of Y'Y below which one counts as none
# pymanopt's have to_tangent_space from a manifold without their constraint.
_INHERITS_TANGENCY = (SkewSymmetric, SpecialHermitianPositiveDefinite, Symmetric)
_NEEDS_POLE_LADDER = (
    *POSITIVE_DEFINITE,
    PoincareBall,
    Positive,
    SpecialOrthogonalGroup,
    UnitaryGroup,
)
_NEEDS_NO_TRANSPORT = (*_NEEDS_POLE_LADDER, RiemannianSubmanifold)
_UNBOUNDED = (
    *POSITIVE_DEFINITE,
    ComplexEuclidean,
    Euclidean,
    FixedRankEmbedded,
    PSDFixedRank,
    PSDFixedRankComplex,
    PoincareBall,
    Positive,
    SkewSymmetric,
    Symmetric,
)


@runtime_checkable
class Manifold(Protocol):
    """A Riemannian manifold with pymanopt's method names and signatures.

    Points and tangent vectors are arrays, or sequences of arrays that add and scale like arrays.
    Every manifold of :mod:`pymanopt.manifolds` and :class:`riemtr.Sphere` satisfy it.

    More is asked for only where it is needed, by pymanopt's names too (:func:`lacking` says what):
    ``point_layout`` where a point is made of several arrays; ``euclidean_to_riemannian_gradient``
    where gradients are Euclidean, and ``euclidean_to_riemannian_hessian`` if Hessians are to be;
    ``transport`` where those come from differences. ``embedding`` (where vectors are not arrays of
    the surrounding space), ``exp`` (for steps along geodesics), ``to_tangent_space`` (if cheaper
    than ``projection``) and ``typical_dist`` are used where they are.
    """

    @property
    def dim(self) -> int:
        """Dimension of the tangent spaces."""

    def inner_product(self, point: Any, tangent_vector_a: Any, tangent_vector_b: Any) -> float:
        """Inner product of two tangent vectors at the point."""

    def norm(self, point: Any, tangent_vector: Any) -> float:
        """Norm of a tangent vector at the point."""

    def projection(self, point: Any, vector: Any) -> Any:
        """Tangent vector closest to an ambient vector."""

    def retraction(self, point: Any, tangent_vector: Any) -> Any:
        """Move away from the point along the tangent vector, to first order."""

    def zero_vector(self, point: Any) -> Any:
        """Origin of the tangent space."""

    def random_point(self) -> Any:
        """Random point, from numpy's global state; or from ``rng``, if it takes one."""

    def random_tangent_vector(self, point: Any) -> Any:
        """Random tangent vector of unit length; from ``rng``, if it takes one."""


def is_a(manifold: Any, kinds: Any) -> bool:
    """Whether a manifold is of some kind: ``isinstance``, without asking each time."""
    own: Any = type(manifold)
    return _is_kind_of(own, kinds)


@lru_cache(maxsize=512)
def _is_kind_of(own: Any, kinds: Any) -> bool:  # pymanopt's abstract classes are slow to ask
    return issubclass(own, kinds)


def to_tangent(manifold: Any, point: Any, vector: Any) -> Any:
    """Remove what a vector has outside the tangent (on quotients: horizontal) space."""
    factors = getattr(manifold, "manifolds", None)
    if factors is not None:
        parts = zip(factors, point, vector, strict=True)
        return as_tangent_of(manifold, point, [to_tangent(*part) for part in parts])
    if is_a(manifold, Elliptope):
        rows = vector - point * (point * vector).sum(axis=1, keepdims=True)
        return _horizontal(point, rows)
    if is_a(manifold, _INHERITS_TANGENCY):
        return manifold.projection(point, vector)
    try:
        return manifold.to_tangent_space(point, vector)
    except (AttributeError, NotImplementedError):
        return manifold.projection(point, vector)


def _horizontal(point: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Remove what only turns the columns of Y, Y W with W skew: Y'Y W + W Y'Y = Y'V - V'Y.

    pymanopt doubles it instead, and solves an equation that is singular where Y lacks rank, as
    solutions of semidefinite programs mostly do: there are then fewer turns, and more directions.
    """
    values, turn = np.linalg.eigh(point.T @ point)
    sums = values[:, None] + values
    skew = turn.T @ (point.T @ vector - vector.T @ point) @ turn
    sums[sums <= _LACKING_RANK * np.finfo(sums.dtype).eps * values[-1]] = np.inf
    return vector - point @ (turn @ (skew / sums) @ turn.T)


def dimension(manifold: Any) -> int:
    """Return the dimension of tangent spaces; the largest, where it depends on the point."""
    factors = getattr(manifold, "manifolds", None)
    if factors is not None:
        return sum(map(dimension, factors))
    if is_a(manifold, Elliptope):
        return manifold._n * (manifold._k - 1)
    return manifold.dim


def adjoint(matrix: np.ndarray) -> np.ndarray:
    """Return the conjugate transpose of a matrix, or of each of several."""
    return np.conj(np.swapaxes(matrix, -1, -2))


def as_tangent_of(manifold: Any, point: Any, parts: Sequence[Any]) -> Any:
    """Return the parts of a product's tangent vector as one, which adds and scales."""
    return type(manifold.zero_vector(point))(parts)


def embed(manifold: Any, point: Any, vector: Any) -> Any:
    """Return a tangent vector as a vector of the surrounding space."""
    factors = getattr(manifold, "manifolds", None)
    if factors is not None:  # pymanopt's product takes vectors for embedded
        return type(vector)([embed(*part) for part in zip(factors, point, vector, strict=True)])
    # As pymanopt's: vectors are in the space around the manifold if nothing else is said.
    return manifold.embedding(point, vector) if hasattr(manifold, "embedding") else vector


def inner(manifold: Any, point: Any, vector_a: Any, vector_b: Any) -> float:
    """Real inner product of two tangent vectors.

    Some complex manifolds of pymanopt return the Hermitian product, whose real part is the metric.
    """
    return float(manifold.inner_product(point, vector_a, vector_b).real)


def converts_hessians(manifold: Any) -> bool:
    """Whether the manifold turns Euclidean Hessian products into Riemannian ones."""
    factors = getattr(manifold, "manifolds", None)
    if factors is not None:
        return all(converts_hessians(factor) for factor in factors)
    kind = type(manifold)
    conversion = getattr(kind, "euclidean_to_riemannian_hessian", None)
    if conversion is RiemannianSubmanifold.euclidean_to_riemannian_hessian:
        return kind.weingarten is not RiemannianSubmanifold.weingarten
    return conversion is not None and not _is_stub(conversion)


def _is_stub(method: Any) -> bool:
    # All that pymanopt marks as not implemented is one and the same wrapper.
    return getattr(method, "__code__", None) is PymanoptManifold.exp.__code__


def offers(manifold: Any, name: str) -> bool:
    """Whether a manifold has a member, and not only pymanopt's word that there is none."""
    kind: Any = type(manifold)
    return hasattr(manifold, name) and not _is_stub(getattr(kind, name, None))


def lacking(manifold: Any, gradient: str, hessian: str) -> dict[str, str]:
    """Return the members that a manifold lacks for derivatives of some kinds, and what for.

    Parameters
    ----------
    manifold : object
        What a user takes for a manifold.
    gradient : {"euclidean", "riemannian"}
    hessian : {"euclidean", "riemannian", "differences"}
    """
    factors = getattr(manifold, "manifolds", None)
    if factors is not None:
        each = [lacking(factor, gradient, hessian) for factor in factors]
        return {name: purpose for found in each for name, purpose in found.items()}
    wanted = dict.fromkeys(members(Manifold), "")
    if gradient == "euclidean":
        wanted["euclidean_to_riemannian_gradient"] = "for Euclidean gradients"
    differences = hessian == "euclidean" and not converts_hessians(manifold)
    if (differences or hessian == "differences") and not is_a(manifold, _NEEDS_NO_TRANSPORT):
        wanted["transport"] = "for Hessians by differences"
    return {name: purpose for name, purpose in wanted.items() if not offers(manifold, name)}


def riemannian_gradient(manifold: Any, point: Any, euclidean_gradient: Any) -> Any:
    """Riemannian gradient from the Euclidean one."""
    factors = getattr(manifold, "manifolds", None)
    if factors is not None:
        parts = zip(factors, point, euclidean_gradient, strict=True)
        return as_tangent_of(manifold, point, [riemannian_gradient(*part) for part in parts])
    if is_a(manifold, UnitaryGroup):
        # pymanopt takes the skew-symmetric part here instead of the skew-Hermitian one.
        return manifold.to_tangent_space(point, adjoint(point) @ euclidean_gradient)
    return manifold.euclidean_to_riemannian_gradient(point, euclidean_gradient)


def riemannian_hessian(
    manifold: Any, point: Any, euclidean_gradient: Any, euclidean_hessian: Any, vector: Any
) -> Any:
    """Riemannian Hessian product from the Euclidean one."""
    factors = getattr(manifold, "manifolds", None)
    if factors is not None:
        parts = zip(factors, point, euclidean_gradient, euclidean_hessian, vector, strict=True)
        return type(vector)([riemannian_hessian(*part) for part in parts])
    if is_a(manifold, Elliptope):
        # That of unit rows, made horizontal. pymanopt's own solves an equation that is singular
        # where the point lacks rank, as solutions mostly do.
        along = (point * euclidean_gradient).sum(axis=1, keepdims=True)
        return to_tangent(manifold, point, euclidean_hessian - along * vector)
    return manifold.euclidean_to_riemannian_hessian(
        point, euclidean_gradient, euclidean_hessian, vector
    )


def transport(manifold: Any, point_a: Any, point_b: Any, vector: Any) -> Any:
    """Carry a tangent vector from one point to a nearby one, parallel to first order.

    By the manifold's own transport; on symmetric spaces whose transport in pymanopt is missing or
    returns the vector as it is, by one rung of the pole ladder, which is parallel there; where a
    submanifold with the metric of the space around it has none, by orthogonal projection.
    """
    factors = getattr(manifold, "manifolds", None)
    if factors is not None:
        parts = zip(factors, point_a, point_b, vector, strict=True)
        return type(vector)([transport(*part) for part in parts])
    if is_a(manifold, Elliptope):
        return to_tangent(manifold, point_b, vector)
    if not is_a(manifold, _NEEDS_POLE_LADDER):
        if offers(manifold, "transport"):
            return manifold.transport(point_a, point_b, vector)
        if is_a(manifold, RiemannianSubmanifold):
            return manifold.projection(point_b, embed(manifold, point_a, vector))
        raise NotImplementedError(
            f"{type(manifold).__name__} lacks transport(point_a, point_b, vector), which gradients "
            "nearby are compared by, for a Hessian that is not given or to check one: add it"
        )
    length = manifold.norm(point_a, vector)
    if not length > 0.0:
        return 0.0 * vector
    middle = manifold.exp(point_a, 0.5 * manifold.log(point_a, point_b))
    tip = manifold.exp(point_a, vector / length)
    mirrored = manifold.exp(middle, -manifold.log(middle, tip))
    return -length * manifold.log(point_b, mirrored)


def retraction(manifold: Any, point: Any, vector: Any) -> Any:
    """Move by the manifold's retraction."""
    factors = getattr(manifold, "manifolds", None)
    if factors is not None:
        return [retraction(*part) for part in zip(factors, point, vector, strict=True)]
    moved = manifold.retraction(point, vector)
    return _orthonormalized(moved) if is_a(manifold, FixedRankEmbedded) else moved


def _orthonormalized(point: Any) -> Any:
    """Return the same matrix U S V' with orthonormal factors.

    pymanopt's retraction loses them where a step has less rank than the point.
    """
    left, values, right = point
    q_left, r_left = np.linalg.qr(left)
    q_right, r_right = np.linalg.qr(right.T)
    turn_left, values, turn_right = np.linalg.svd((r_left * values) @ r_right.T)
    return type(point)(q_left @ turn_left, values, turn_right @ q_right.T)


def exponential(manifold: Any, point: Any, vector: Any) -> Any:
    """Move by the exponential map where the manifold has one, else by its retraction.

    The closed forms on matrix manifolds amplify what rounding leaves of a point outside the
    manifold, by a factor in every step; retracting the zero vector puts the point back.
    """
    factors = getattr(manifold, "manifolds", None)
    if factors is not None:
        return [exponential(*part) for part in zip(factors, point, vector, strict=True)]
    if is_a(manifold, ComplexCircle):
        # pymanopt's exponential map drops the imaginary part.
        return point * np.exp(1j * (vector * point.conj()).imag)
    if not has_exponential(manifold):
        return retraction(manifold, point, vector)
    moved = manifold.exp(point, vector)
    return manifold.retraction(moved, manifold.zero_vector(moved))


def has_exponential(manifold: Any) -> bool:
    """Whether the manifold has an exponential map, and not only a retraction in its place."""
    factors = getattr(manifold, "manifolds", None)
    if factors is not None:
        return all(has_exponential(factor) for factor in factors)
    missing = is_a(manifold, RetrAsExpMixin) or not hasattr(manifold, "exp")
    return not (missing or _is_stub(type(manifold).exp))


def is_bounded(manifold: Any) -> bool:
    """Whether distances on the manifold have a limit, as far as one knows.

    A manifold that is not pymanopt's is taken to have one, its typical distance.
    """
    factors = getattr(manifold, "manifolds", None)
    if factors is not None:
        return all(is_bounded(factor) for factor in factors)
    return not is_a(manifold, _UNBOUNDED)


def typical_distance(manifold: Any) -> float:
    """Scale of the manifold, for trust-region radii."""
    try:
        return float(manifold.typical_dist)
    except (AttributeError, NotImplementedError):
        return math.sqrt(max(manifold.dim, 1))
