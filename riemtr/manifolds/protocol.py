"""What riemtr asks of a manifold: pymanopt's method names, so that its manifolds serve as they are.

The functions here smooth over the few places where pymanopt's manifolds differ from each other:
randomness from numpy's global state, an exponential map that may be missing, a scale that may be
undefined.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol, runtime_checkable

import numpy as np
from pymanopt.manifolds.manifold import Manifold as PymanoptManifold
from pymanopt.manifolds.manifold import RetrAsExpMixin, RiemannianSubmanifold


@runtime_checkable
class Manifold(Protocol):
    """A Riemannian manifold with pymanopt's method names and signatures.

    Points and tangent vectors are arrays, or sequences of arrays that add and scale like arrays.
    Every manifold of :mod:`pymanopt.manifolds` and :class:`riemtr.Sphere` satisfy it.
    """

    @property
    def dim(self) -> int:
        """Dimension of the tangent spaces."""

    @property
    def point_layout(self) -> Any:
        """How many arrays make up a point: 1, a number, or one number per factor of a product."""

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


@contextmanager
def _global_numpy_randomness(rng: np.random.Generator) -> Iterator[None]:
    # pymanopt's manifolds draw from numpy's global state: seed it from rng, then put it back,
    # so that a run is reproducible and the caller's own random stream is untouched.
    saved = np.random.get_state()  # noqa: NPY002
    np.random.seed(int(rng.integers(2**32)))  # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(saved)  # noqa: NPY002


def _takes_generator(method: Any) -> bool:
    return "rng" in inspect.signature(method).parameters


def random_point(manifold: Any, rng: np.random.Generator) -> Any:
    """Draw a random point of any manifold from an explicit generator."""
    if _takes_generator(manifold.random_point):
        return manifold.random_point(rng=rng)
    with _global_numpy_randomness(rng):
        return manifold.random_point()


def random_tangent(manifold: Any, point: Any, rng: np.random.Generator) -> Any:
    """Draw a random tangent vector at a point of any manifold from an explicit generator."""
    if _takes_generator(manifold.random_tangent_vector):
        return manifold.random_tangent_vector(point, rng=rng)
    with _global_numpy_randomness(rng):
        return manifold.random_tangent_vector(point)


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
    return conversion not in (None, PymanoptManifold.euclidean_to_riemannian_hessian)


def retraction(manifold: Any, point: Any, vector: Any) -> Any:
    """Move by the manifold's retraction."""
    return manifold.retraction(point, vector)


def exponential(manifold: Any, point: Any, vector: Any) -> Any:
    """Move by the exponential map where the manifold has one, else by its retraction.

    The closed forms on matrix manifolds amplify what rounding leaves of a point outside the
    manifold, by a factor in every step; retracting the zero vector puts the point back.
    """
    if isinstance(manifold, RetrAsExpMixin):
        return manifold.retraction(point, vector)
    try:
        moved = manifold.exp(point, vector)
    except NotImplementedError:
        return manifold.retraction(point, vector)
    return manifold.retraction(moved, manifold.zero_vector(moved))


def typical_distance(manifold: Any) -> float:
    """Scale of the manifold, for the largest sensible trust-region radius."""
    try:
        return float(manifold.typical_dist)
    except (AttributeError, NotImplementedError):
        return math.sqrt(max(manifold.dim, 1))
