"""The two classes that every manifold in riemtr consists of.

A :class:`Manifold` knows its points. A :class:`TangentSpace` knows one point, and everything that
happens to tangent vectors there: the conversion of derivatives, projections, moves.

In a tangent space of riemtr a vector is one numpy array, and the inner product of two vectors is
the dot product of their entries (the real part of it, if they are complex). Where a manifold's own
vectors are that already, as on spheres and Stiefel manifolds, they stay as they are. Where they are
not, as with the metric of positive definite matrices or on products, :meth:`TangentSpace.pack` and
:meth:`TangentSpace.unpack` translate. Linear algebra on tangent vectors is the same everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

import numpy as np
from pymanopt.manifolds.manifold import Manifold as PymanoptManifold

from riemtr.manifolds.arrays import arranged, as_real, flatten, from_real
from riemtr.manifolds.basis import ArrayBasis, TangentBasis

# Seed of the points at which shapes and metrics are found out; no user draws from it.
SEED = 0x7A6E7
# A vector drawn at random keeps more than this share of its length in the tangent space, unless
# nothing but rounding is left of it.
_LEAST_SHARE = 1e-3
# Relative error of a point that went through a text file.
POINT_TOLERANCE = 1e-4


class TangentSpace:
    """The tangent space at one point of a manifold, for manifolds whose vectors are arrays.

    Subclasses implement :meth:`tangent`, :meth:`move` and :meth:`hessian`, and override the rest
    where it is not the plain case of a submanifold of Euclidean space with the Euclidean metric.

    Parameters
    ----------
    manifold : Manifold
    point : point of the manifold
    """

    # Whether vectors are arrays of the surrounding space, so that nothing is to be translated.
    plain = True
    # Whether `transported` takes a stack of vectors as well.
    transports_stacks = False
    # Whether `tangent` alone makes of a vector of a nearby space a vector of this one that is much
    # the same, so that vectors may be kept as they are while a point moves.
    keeps_vectors = False
    # Whether the metric measures vectors relative to the point, as that of logarithms does.
    relative_metric = False

    def __init_subclass__(cls) -> None:
        """Find out whether vectors of a subclass are translated."""
        super().__init_subclass__()
        cls.plain = cls.embed is TangentSpace.embed and cls.unpack is TangentSpace.unpack

    def __init__(self, manifold: Any, point: Any):
        self.manifold = manifold
        self.point = point

    # -- vectors ----------------------------------------------------------------------------------

    def inner(self, vector_a: np.ndarray, vector_b: np.ndarray) -> float:
        """Return the inner product of two vectors."""
        return float(np.vdot(vector_a, vector_b).real)

    def norm(self, vector: np.ndarray) -> float:
        """Return the norm of a vector, also where its square under- or overflows."""
        return safe_norm(vector)

    def factor_lengths(self, vector: np.ndarray) -> tuple[float, ...]:
        """Return the length of a vector, in each factor of a product."""
        return (self.norm(vector),)

    def factor_sizes(self) -> tuple[float, ...]:
        """Return the lengths beside which steps are long, in each factor of a product.

        A length is the norm of the point's arrays, or 1 if the metric is relative to the point.
        """
        if self.relative_metric:
            return (1.0,)
        return (math.hypot(*map(safe_norm, flatten(self.point, self.manifold.point_layout))),)

    def weighted(self, vector: np.ndarray, weights: Sequence[float]) -> np.ndarray:
        """Return a vector times a number in each factor of a product."""
        return vector * vector.real.dtype.type(weights[0])

    def zero(self) -> np.ndarray:
        """Return the zero vector."""
        return np.zeros_like(self.point)

    def tangent(self, vector: np.ndarray) -> np.ndarray:
        """Remove what an array of the form of a vector has outside the tangent space."""
        raise NotImplementedError

    def pack(self, vector: Any) -> np.ndarray:
        """Return a tangent vector in the manifold's own form as an array of this space."""
        return vector

    def unpack(self, vector: np.ndarray) -> Any:
        """Return a vector of this space in the manifold's own form."""
        return vector

    def random(self, rng: np.random.Generator) -> np.ndarray:
        """Draw a unit vector, uniformly (the zero vector where the dimension is 0)."""
        zero = self.zero()
        if self.manifold.dim == 0:
            return zero
        while True:
            drawn = rng.standard_normal(as_real(zero).size)
            vector = from_real(drawn, zero)
            # Twice is enough: the second projection removes what rounding left of the first.
            vector = self.tangent(self.tangent(vector))
            length = self.norm(vector)
            if length > _LEAST_SHARE * math.sqrt(self.manifold.dim):
                return vector / vector.real.dtype.type(length)

    def units(self) -> np.ndarray | None:
        """Return an orthonormal basis that is the same at every point, stacked; None if none is."""
        return None

    def basis(self) -> TangentBasis:
        """Return an orthonormal basis of the space, made of random vectors from a fixed seed."""
        rng = np.random.default_rng(SEED)
        return ArrayBasis([self.random(rng) for _ in range(self.manifold.dim)], self.zero())

    def transported(self, vector: np.ndarray, origin: TangentSpace) -> np.ndarray:
        """Return a vector of a nearby tangent space as one of this space, parallel to first order.

        The default projects, which is right on submanifolds with the Euclidean metric.
        """
        return self.tangent(vector)

    def all_transported(self, vectors: np.ndarray, origin: TangentSpace) -> np.ndarray:
        """Return several vectors of a nearby tangent space, stacked, as vectors of this space."""
        if self.transports_stacks:
            return self.transported(vectors, origin)
        return np.array([self.transported(vector, origin) for vector in vectors])

    # -- derivatives ------------------------------------------------------------------------------

    def embed(self, vector: np.ndarray) -> Any:
        """Return a vector as one of the surrounding space, of the form of a point."""
        return self.unpack(vector)

    def gradient(self, euclidean_gradient: Any) -> np.ndarray:
        """Return the Riemannian gradient from the Euclidean one."""
        return self.tangent(euclidean_gradient)

    def measured(self, euclidean_gradient: Any) -> Any:
        """Return arrays whose norm is that of a Euclidean gradient in the metric, normal part too.

        A Riemannian gradient that is small beside it counts as none. The default is right for
        submanifolds with the Euclidean metric.
        """
        return euclidean_gradient

    def hessian(
        self, euclidean_gradient: Any, euclidean_product: Any, vector: np.ndarray
    ) -> np.ndarray:
        """Return the Riemannian Hessian product with a vector, from the Euclidean one.

        One space is asked with one gradient: what depends on it alone may be kept.
        """
        raise NotImplementedError

    # -- moves ------------------------------------------------------------------------------------

    def move(self, vector: np.ndarray) -> Any:
        """Return the point that the retraction leads to."""
        raise NotImplementedError

    def move_along_geodesic(self, vector: np.ndarray) -> Any:
        """Return the point that the exponential map leads to, or the retraction where none is."""
        return self.move(vector)


P = TypeVar("P")
"""The type of a manifold's points."""


class Manifold(PymanoptManifold, Generic[P]):
    """A Riemannian manifold.

    It has pymanopt's methods and argument order, so that it serves in pymanopt as well. They are
    all defined here, by the manifold's :class:`TangentSpace`; a subclass sets :attr:`space_type`,
    and defines :meth:`random_point` and perhaps :meth:`dist` and :meth:`log`.

    Attributes
    ----------
    bounded : bool
        Whether distances on the manifold have a limit.
    converts_hessians : bool
        Whether Euclidean Hessian products are turned into Riemannian ones.
    has_exponential : bool
        Whether there is an exponential map, and not only a retraction in its place.
    smooth_basis : bool
        Whether the bases of tangent spaces turn smoothly with the point.
    is_sphere : bool
        Whether points are the unit vectors of a Euclidean space.
    dimension_varies : bool
        Whether tangent spaces at some points have less dimensions than :attr:`dim`.
    parts : str
        A description of the parts of a point, for messages, where a point is a sequence of arrays.
    euler_characteristic : int or None
        The sum of (-1)^index over the critical points of any cost that has isolated ones alone;
        None where it is not known, and on manifolds without bounds, where there is no such sum.
    dot_metric : bool
        Whether inner products in a tangent space are dot products; False only for manifolds of
        others, whose metric riemtr does not know.
    """

    space_type: type[TangentSpace] = TangentSpace
    bounded = True
    converts_hessians = True
    has_exponential = True
    dot_metric = True
    smooth_basis = False
    is_sphere = False
    dimension_varies = False
    parts = ""
    euler_characteristic: int | None = None

    def __repr__(self) -> str:
        return self._name  # what pymanopt calls it, where a subclass does not say how it is made

    def __str__(self) -> str:
        return repr(self)

    def space(self, point: Any) -> TangentSpace:
        """Return the tangent space at a point."""
        return self.space_type(self, point)

    def stacked_space(self, points: np.ndarray) -> TangentSpace | None:
        """Return the tangent spaces at many points, stacked, as one; None where there is no such.

        Its vectors are stacked as the points are; its inner products are sums over the stack.
        """
        return None

    def gradient_hint(self, kind: str) -> str:
        """Return what to say of the form of gradients, where that is no matter of course."""
        return ""

    # -- points -----------------------------------------------------------------------------------

    @property
    def typical_dist(self) -> float:
        """Scale of the manifold, by which first radii are chosen; the root of the dimension."""
        return math.sqrt(max(self.dim, 1))

    def check_point(self, point: Any, name: str = "start") -> P:
        """Return a user's point as floating-point arrays of its own, or say what is wrong with it.

        Integers become float64, float32 stays float32.
        """
        point = arranged(self.random_point(SEED), point, name, self, self.parts)
        wrong = self.complaint(point, POINT_TOLERANCE)
        if wrong is not None:
            raise ValueError(f"{name} does not lie on {self}: {wrong}")
        return point

    def complaint(self, point: Any, tolerance: float) -> str | None:
        """Return what keeps a point off the manifold, and the remedy; None if nothing does."""
        here = as_real(point)
        try:
            with np.errstate(all="ignore"):
                back = as_real(self.retraction(point, self.zero_vector(point)))
        except (np.linalg.LinAlgError, ValueError):
            back = np.full_like(here, np.nan)
        if not np.all(np.isfinite(back)):
            return OTHER_POINTS
        if np.allclose(back, here, rtol=tolerance, atol=tolerance):
            return None
        return (
            "manifold.retraction(point, manifold.zero_vector(point)) does, and is at a distance of "
            f"{np.linalg.norm(back - here):.2g} from it: take that one"
        )

    def has_left(self, point: Any) -> bool:
        """Return whether a step has crossed the boundary of an open manifold, by rounding."""
        return False

    def separation(self, point_a: Any, point_b: Any) -> float:
        """Return the distance of two points, or of their arrays where no other is known."""
        try:
            return float(self.dist(point_a, point_b))
        except (NotImplementedError, AttributeError):
            return safe_norm(as_real(point_a) - as_real(point_b))

    def frames(self, point: Any) -> list[np.ndarray] | None:
        """Return a point as stacks of matrices with orthonormal columns, of shape (k, n, p).

        Geodesics of these matrices solve Y'' = -Y (Y')'Y', as those of spheres, Stiefel manifolds,
        rotations and, for horizontal vectors, Grassmann manifolds do. Euclidean parts are left out;
        None where the geometry is another. A Euclidean gradient is arranged as the point is.
        """
        return None

    def another_representative(self, point: Any, rng: np.random.Generator) -> Any:
        """Return other arrays for the same point of a quotient; None where there are none."""
        return None

    # -- pymanopt's methods -----------------------------------------------------------------------

    def random_point(self, rng: Any = None) -> P:
        """Draw a point; ``None`` draws from numpy's global state, as pymanopt does."""
        raise NotImplementedError

    def random_points(self, rng: Any, count: int) -> np.ndarray:
        """Draw points, stacked."""
        rng = drawing(rng)
        return np.array([self.random_point(rng) for _ in range(count)])

    def random_tangent_vector(self, point: Any, rng: Any = None) -> Any:
        """Draw a unit tangent vector uniformly (zero where the manifold has dimension 0)."""
        space = self.space(point)
        return space.unpack(space.random(drawing(rng)))

    def inner_product(self, point: Any, tangent_vector_a: Any, tangent_vector_b: Any) -> float:
        """Return the inner product of two tangent vectors."""
        space = self.space(point)
        return space.inner(space.pack(tangent_vector_a), space.pack(tangent_vector_b))

    def norm(self, point: Any, tangent_vector: Any) -> float:
        """Return the norm of a tangent vector."""
        space = self.space(point)
        return space.norm(space.pack(tangent_vector))

    def zero_vector(self, point: Any) -> Any:
        """Return the zero vector of the tangent space."""
        space = self.space(point)
        return space.unpack(space.zero())

    def projection(self, point: Any, vector: Any) -> Any:
        """Return the orthogonal projection of an ambient vector onto the tangent space."""
        space = self.space(point)
        return space.unpack(space.gradient(vector))

    def to_tangent_space(self, point: Any, vector: Any) -> Any:
        """Remove what rounding has left of a tangent vector outside the tangent space."""
        space = self.space(point)
        return space.unpack(space.tangent(space.pack(vector)))

    def embedding(self, point: Any, tangent_vector: Any) -> Any:
        """Return a tangent vector as a vector of the surrounding space."""
        space = self.space(point)
        return space.embed(space.pack(tangent_vector))

    def euclidean_to_riemannian_gradient(self, point: Any, euclidean_gradient: Any) -> Any:
        """Return the Riemannian gradient from the Euclidean one."""
        space = self.space(point)
        return space.unpack(space.gradient(euclidean_gradient))

    def euclidean_to_riemannian_hessian(
        self, point: Any, euclidean_gradient: Any, euclidean_hessian: Any, tangent_vector: Any
    ) -> Any:
        """Return the Riemannian Hessian product from the Euclidean one."""
        space = self.space(point)
        vector = space.pack(tangent_vector)
        return space.unpack(space.hessian(euclidean_gradient, euclidean_hessian, vector))

    def retraction(self, point: Any, tangent_vector: Any) -> Any:
        """Move along a tangent vector, to second order along the geodesic where cheap."""
        space = self.space(point)
        return space.move(space.pack(tangent_vector))

    def exp(self, point: Any, tangent_vector: Any) -> Any:
        """Move along the geodesic."""
        space = self.space(point)
        return space.move_along_geodesic(space.pack(tangent_vector))

    def transport(self, point_a: Any, point_b: Any, tangent_vector_a: Any) -> Any:
        """Carry a tangent vector from one point to a nearby one, parallel to first order."""
        origin, space = self.space(point_a), self.space(point_b)
        return space.unpack(space.transported(origin.pack(tangent_vector_a), origin))

    def pair_mean(self, point_a: Any, point_b: Any) -> Any:
        """Return the midpoint of the shortest geodesic."""
        return self.exp(point_a, 0.5 * self.log(point_a, point_b))


OTHER_POINTS = "take a point of manifold.random_point(), or manifold.retraction of one"


def drawing(rng: Any) -> Any:
    """Return a generator for a seed; for None numpy's global state, which pymanopt draws from."""
    return np.random.mtrand._rand if rng is None else np.random.default_rng(rng)


def safe_norm(vector: np.ndarray) -> float:
    """Return the Euclidean norm of an array, also where its square under- or overflows."""
    squared = float(np.vdot(vector, vector).real)  # unlike @ and dot, overflows without a warning
    if 1e-280 < squared < 1e280 and (vector.dtype.itemsize >= 8 or 1e-24 < squared < 1e24):
        return math.sqrt(squared)
    largest = float(np.abs(vector).max(initial=0.0))
    if largest == 0.0 or not math.isfinite(largest):
        return largest
    scaled = vector / largest
    return largest * math.sqrt(float(np.vdot(scaled, scaled).real))


def retraction(space: TangentSpace, vector: np.ndarray) -> Any:
    """Return the point that a step along the retraction leads to."""
    return space.move(vector)


def exponential(space: TangentSpace, vector: np.ndarray) -> Any:
    """Return the point that a step along the geodesic leads to, or the retraction if none is."""
    return space.move_along_geodesic(vector)
