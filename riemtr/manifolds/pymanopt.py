"""Manifolds of others, in pymanopt's vocabulary, as manifolds of riemtr.

:func:`adapt` is the only place that looks at the class of a manifold. Classes of pymanopt that
riemtr has too are replaced by riemtr's own, classes with a fault in pymanopt 2.2 are wrapped
together with its repair (:mod:`riemtr.manifolds.repairs`), and all others are wrapped as they are.
"""

from __future__ import annotations

import importlib
import inspect
import itertools
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import numpy as np
import pymanopt.manifolds as others
from pymanopt.manifolds.manifold import Manifold as PymanoptManifold
from pymanopt.manifolds.manifold import RetrAsExpMixin, RiemannianSubmanifold

from riemtr.manifolds.arrays import as_real, from_real, rebuilt
from riemtr.manifolds.basis import ArrayBasis, MetricBasis, TangentBasis
from riemtr.manifolds.manifold import SEED, Manifold, TangentSpace, drawing

# Random tangent vectors whose inner products tell a metric; another one agrees on all pairs with
# probability zero.
_PAIRED = 4
# Relative error of inner products that are the same but for rounding, in double precision.
_SAME_DOUBLE = 1e-9
# The same in single precision.
_SAME_SINGLE = 1e-4
# Classes of pymanopt on which distances have no limit.
_UNBOUNDED = (
    others.Euclidean,
    others.ComplexEuclidean,
    others.FixedRankEmbedded,
    others.HermitianPositiveDefinite,
    others.PSDFixedRank,
    others.PSDFixedRankComplex,
    others.PoincareBall,
    others.Positive,
    others.SkewSymmetric,
    others.SpecialHermitianPositiveDefinite,
    others.Symmetric,
    others.SymmetricPositiveDefinite,
)
# Members that every manifold must have, whatever derivatives are given.
_REQUIRED = (
    "dim",
    "inner_product",
    "norm",
    "projection",
    "retraction",
    "zero_vector",
    "random_point",
    "random_tangent_vector",
)


# -- randomness -----------------------------------------------------------------------------------


@contextmanager
def global_numpy_randomness(rng: np.random.Generator) -> Iterator[None]:
    """Seed numpy's global state, which pymanopt draws from, and put it back at the end.

    So a run is reproducible, and the caller's own random stream is untouched. It takes longer than
    most draws: around many of them it is used once, and does nothing inside for the same generator.
    """
    if _seeded_by and _seeded_by[-1] is rng:
        yield
        return
    saved = np.random.get_state()  # noqa: NPY002
    np.random.seed(int(rng.integers(2**32)))  # noqa: NPY002
    _seeded_by.append(rng)
    try:
        yield
    finally:
        _seeded_by.pop()
        np.random.set_state(saved)  # noqa: NPY002


_seeded_by: list[np.random.Generator] = []


def drawn_by(method: Callable[..., Any], rng: Any, *arguments: Any) -> Any:
    """Call a method that draws, with a generator; without one it draws from numpy's global state.

    Parameters
    ----------
    method : callable
        ``random_point`` or ``random_tangent_vector`` of a manifold. It need not take ``rng``.
    rng : numpy.random.Generator, int or None
    *arguments
        Other arguments of the method.
    """
    if rng is None or isinstance(rng, np.random.RandomState):
        return method(*arguments)
    generator = np.random.default_rng(rng)
    if _takes_generator(getattr(method, "__func__", method)):
        return method(*arguments, rng=generator)
    with global_numpy_randomness(generator):
        return method(*arguments)


@lru_cache
def _takes_generator(function: Any) -> bool:
    return "rng" in inspect.signature(function).parameters


# -- what a manifold of others has ----------------------------------------------------------------


def _is_stub(method: Any) -> bool:
    # All that pymanopt marks as not implemented is one and the same wrapper.
    return getattr(method, "__code__", None) is PymanoptManifold.exp.__code__


def offers(manifold: Any, name: str) -> bool:
    """Whether a manifold has a member, and not only pymanopt's word that there is none."""
    return hasattr(manifold, name) and not _is_stub(getattr(type(manifold), name, None))


def offers_exponential(manifold: Any) -> bool:
    """Whether a manifold has an exponential map, and not only a retraction in its place."""
    return offers(manifold, "exp") and not isinstance(manifold, RetrAsExpMixin)


def offers_hessians(manifold: Any) -> bool:
    """Whether a manifold turns Euclidean Hessian products into Riemannian ones."""
    if not offers(manifold, "euclidean_to_riemannian_hessian"):
        return False
    conversion = getattr(type(manifold), "euclidean_to_riemannian_hessian", None)
    if conversion is RiemannianSubmanifold.euclidean_to_riemannian_hessian:
        return offers(manifold, "weingarten")
    return True


def lacking(manifold: Any, gradient_kind: str, hessian_kind: str) -> dict[str, str]:
    """Return the members that a manifold lacks for derivatives of some kinds, and what for.

    Parameters
    ----------
    manifold : object
        A manifold, or an object that a user takes for one.
    gradient_kind : {"euclidean", "riemannian"}
    hessian_kind : {"euclidean", "riemannian", "differences"}

    Examples
    --------
    >>> lacking(others.Stiefel(3, 2), "euclidean", "differences")
    {}
    """
    if isinstance(manifold, Manifold):
        return {}
    factors = getattr(manifold, "manifolds", None)
    if factors is not None:
        each = [lacking(factor, gradient_kind, hessian_kind) for factor in factors]
        return {name: purpose for found in each for name, purpose in found.items()}
    wanted = dict.fromkeys(_REQUIRED, "")
    if gradient_kind == "euclidean":
        wanted["euclidean_to_riemannian_gradient"] = "for Euclidean gradients"
    differences = hessian_kind == "euclidean" and not offers_hessians(manifold)
    if (differences or hessian_kind == "differences") and not _is_transported(manifold):
        wanted["transport"] = "for Hessians by differences"
    return {name: purpose for name, purpose in wanted.items() if not offers(manifold, name)}


def _is_transported(manifold: Any) -> bool:
    """Whether riemtr carries tangent vectors of a manifold without a transport of its own."""
    kind: type = type(manifold)
    if isinstance(manifold, RiemannianSubmanifold) or _native_base(kind) is not None:
        return True
    return _wrapper(kind).space_type.transported is not PymanoptSpace.transported


# -- the adapter ----------------------------------------------------------------------------------


class PymanoptSpace(TangentSpace):
    """A tangent space of a manifold of others.

    A vector is the manifold's own array. Where its own vectors consist of several arrays, a vector
    is their entries one after the other, complex numbers as two.
    """

    manifold: FromPymanopt
    _own_zero: Any = None

    @property
    def own_zero(self) -> Any:
        """The manifold's own zero vector, in the precision of the point."""
        if self._own_zero is None:
            plain = self.manifold.original.zero_vector(self.point)
            self._own_zero = _of_the_type_of(self.point, plain)
        return self._own_zero

    def pack(self, vector: Any) -> np.ndarray:
        """Return a tangent vector in the manifold's own form as one array."""
        return vector if isinstance(vector, np.ndarray) else as_real(as_sequence(vector))

    def unpack(self, vector: np.ndarray) -> Any:
        """Return a vector of this space in the manifold's own form."""
        zero = self.own_zero
        if isinstance(zero, np.ndarray):
            return vector
        parts = from_real(vector, as_sequence(zero))
        return parts if type(parts) is type(zero) else rebuilt(zero, parts)

    def inner(self, vector_a: np.ndarray, vector_b: np.ndarray) -> float:
        """Return the inner product of two vectors.

        Some complex manifolds of pymanopt return the Hermitian one, whose real part is the metric.
        """
        if self.manifold.dot_metric:
            return super().inner(vector_a, vector_b)
        own = self.unpack(vector_a), self.unpack(vector_b)
        return float(np.real(self.manifold.original.inner_product(self.point, *own)))

    def norm(self, vector: np.ndarray) -> float:
        """Return the norm of a vector."""
        if self.manifold.dot_metric:
            return super().norm(vector)
        return float(np.real(self.manifold.original.norm(self.point, self.unpack(vector))))

    def zero(self) -> np.ndarray:
        """Return the zero vector."""
        return self.pack(self.own_zero)

    def tangent(self, vector: np.ndarray) -> np.ndarray:
        """Remove what an array of the form of a vector has outside the tangent space."""
        original = self.manifold.original
        offered = offers(original, "to_tangent_space")
        project = original.to_tangent_space if offered else original.projection
        return self.pack(project(self.point, self.unpack(vector)))

    def random(self, rng: np.random.Generator) -> np.ndarray:
        """Draw a unit vector as the manifold does (the zero vector where the dimension is 0)."""
        zero = self.zero()
        if self.manifold.dim == 0:
            return zero
        method = self.manifold.original.random_tangent_vector
        vector = self.pack(drawn_by(method, rng, self.point))
        length = self.norm(vector)
        return (vector / length if length > 0.0 else vector).astype(zero.dtype, copy=False)

    def basis(self) -> TangentBasis:
        """Return an orthonormal basis: the manifold's own, or one of vectors drawn from a seed.

        The vectors span the tangent space. On quotients they are horizontal, so directions along
        which nothing changes stay out, and where a manifold overstates its dimension the basis has
        the true one.
        """
        own = getattr(self.manifold.original, "tangent_basis", None)
        if own is not None:
            return PackedBasis(own(self.point), self)
        rng = np.random.default_rng(SEED)
        with global_numpy_randomness(rng):
            spanning = [self.random(rng) for _ in range(self.manifold.dim)]
        if self.manifold.dot_metric:
            return ArrayBasis(spanning, self.zero())
        return MetricBasis(spanning, self.zero(), self.inner)

    def transported(self, vector: np.ndarray, origin: TangentSpace) -> np.ndarray:
        """Return a vector of a nearby tangent space as one of this space, parallel to first order.

        By the manifold's own transport; where a submanifold with the metric of the space around it
        has none, by orthogonal projection.
        """
        original = self.manifold.original
        if offers(original, "transport"):
            carried = original.transport(origin.point, self.point, origin.unpack(vector))
            return self.pack(carried)
        if isinstance(original, RiemannianSubmanifold):
            return self.pack(original.projection(self.point, origin.embed(vector)))
        raise NotImplementedError(
            f"{type(original).__name__} lacks transport(point_a, point_b, vector), which gradients "
            "nearby are compared by, for a Hessian that is not given or to check one: add it"
        )

    def embed(self, vector: np.ndarray) -> Any:
        """Return a vector as one of the surrounding space.

        As with pymanopt, vectors are in that space already if nothing else is said.
        """
        own, original = self.unpack(vector), self.manifold.original
        return original.embedding(self.point, own) if hasattr(original, "embedding") else own

    def gradient(self, euclidean_gradient: Any) -> np.ndarray:
        """Return the Riemannian gradient from the Euclidean one."""
        convert = self.manifold.original.euclidean_to_riemannian_gradient
        return self.pack(convert(self.point, euclidean_gradient))

    def hessian(
        self, euclidean_gradient: Any, euclidean_product: Any, vector: np.ndarray
    ) -> np.ndarray:
        """Return the Riemannian Hessian product with a vector, from the Euclidean one."""
        convert = self.manifold.original.euclidean_to_riemannian_hessian
        own = self.unpack(vector)
        return self.pack(convert(self.point, euclidean_gradient, euclidean_product, own))

    def move(self, vector: np.ndarray) -> Any:
        """Return the point that the manifold's retraction leads to."""
        return self.manifold.original.retraction(self.point, self.unpack(vector))

    def move_along_geodesic(self, vector: np.ndarray) -> Any:
        """Return the point that the exponential map leads to, or the retraction where none is.

        The closed forms on matrix manifolds amplify what rounding leaves of a point outside the
        manifold, by a factor in every step; retracting the zero vector puts the point back.
        """
        if not self.manifold.has_exponential:
            return self.move(vector)
        original = self.manifold.original
        there = self.manifold.space(original.exp(self.point, self.unpack(vector)))
        return there.move(there.zero())


class PackedBasis:
    """The tangent basis that a manifold of others has itself, for vectors of a space of riemtr.

    Parameters
    ----------
    own : TangentBasis
        Takes and returns vectors in the manifold's own form.
    space : TangentSpace
    """

    def __init__(self, own: Any, space: TangentSpace):
        self._own, self._space = own, space
        self.dim = own.dim

    def coordinates(self, vector: np.ndarray) -> np.ndarray:
        """Return the coordinates of a tangent vector."""
        return self._own.coordinates(self._space.unpack(vector))

    def vector(self, coordinates: np.ndarray) -> np.ndarray:
        """Return the tangent vector with the given coordinates."""
        return self._space.pack(self._own.vector(coordinates))


class FromPymanopt(Manifold[Any]):
    """A manifold of others with pymanopt's method names, as a manifold of riemtr.

    Parameters
    ----------
    original : object
        It need not derive from pymanopt's classes.

    Attributes
    ----------
    original : object
        The manifold as it was given.
    """

    space_type: type[TangentSpace] = PymanoptSpace

    def __init__(self, original: Any):
        self.original = original
        layout = getattr(original, "point_layout", 1)
        super().__init__(str(original), int(self.dimension(original)), point_layout=layout)
        self.converts_hessians = offers_hessians(original)
        self.has_exponential = offers_exponential(original)
        self.bounded = not isinstance(original, _UNBOUNDED) and all(
            adapt(factor).bounded for factor in getattr(original, "manifolds", ())
        )
        self.dot_metric = type(self) is not FromPymanopt or self._finds_dot_metric()

    def __str__(self) -> str:
        return str(self.original)

    def __repr__(self) -> str:
        return f"<{self.original}, adapted>"

    @staticmethod
    def dimension(original: Any) -> int:
        """Return the dimension of the tangent spaces; the largest, where it varies."""
        return original.dim

    def _finds_dot_metric(self) -> bool:
        """Compare inner products of random tangent vectors with dot products of their arrays."""
        if self.dim == 0:
            return True
        original, rng = self.original, np.random.default_rng(SEED)
        try:
            point = self.random_point(rng)
            space = self.space(point)
            own = [drawn_by(original.random_tangent_vector, rng, point) for _ in range(_PAIRED)]
            flat = np.array([as_real(space.pack(vector)) for vector in own])
            pairs = itertools.product(own, repeat=2)
            inner = [complex(original.inner_product(point, *pair)).real for pair in pairs]
        except Exception:  # a manifold that cannot draw yet may serve all the same
            return False
        same = _SAME_DOUBLE if flat.dtype == np.float64 else _SAME_SINGLE
        tolerance = same * float(np.abs(flat @ flat.T).max())
        return bool(np.allclose(np.ravel(flat @ flat.T), inner, rtol=0.0, atol=tolerance))

    # -- points -----------------------------------------------------------------------------------

    @property
    def typical_dist(self) -> float:
        """Scale of the manifold; the root of the dimension where the original has none."""
        try:
            return float(self.original.typical_dist)
        except (AttributeError, NotImplementedError):
            return super().typical_dist

    def random_point(self, rng: Any = None) -> Any:
        """Draw a point; ``None`` draws from numpy's global state, as pymanopt does."""
        return drawn_by(self.original.random_point, None if rng is None else drawing(rng))

    # -- pymanopt's methods -----------------------------------------------------------------------

    def _own_method(self, name: str) -> Callable[..., Any]:
        if not offers(self.original, name):
            raise NotImplementedError(f"{type(self.original).__name__} has no method {name}")
        return getattr(self.original, name)

    def dist(self, point_a: Any, point_b: Any) -> float:
        """Return the distance of two points."""
        return float(np.real(self._own_method("dist")(point_a, point_b)))

    def log(self, point_a: Any, point_b: Any) -> Any:
        """Return the tangent vector at one point whose exponential is another."""
        return self._own_method("log")(point_a, point_b)

    def pair_mean(self, point_a: Any, point_b: Any) -> Any:
        """Return the midpoint of the shortest geodesic."""
        return self._own_method("pair_mean")(point_a, point_b)

    def projection(self, point: Any, vector: Any) -> Any:
        """Return the orthogonal projection of an ambient vector onto the tangent space."""
        return self.original.projection(point, vector)


def _of_the_type_of(point: Any, zero: Any) -> Any:
    """Return a zero vector in the precision of a point, and complex if that is.

    The zero vectors of pymanopt are real and of double precision, whatever the point is.
    """
    if isinstance(zero, np.ndarray):
        if not isinstance(point, np.ndarray):
            return zero
        wanted = np.result_type(point.dtype, np.complex64) if zero.dtype.kind == "c" else None
        return zero.astype(wanted or point.dtype, copy=False)
    if isinstance(point, (list, tuple)) and len(point) == len(zero):
        parts = [_of_the_type_of(*pair) for pair in zip(point, zero, strict=True)]
        return rebuilt(zero, parts)
    return zero


def as_sequence(vector: Any) -> Any:
    """Return a vector made of arrays as lists and tuples of arrays, whatever its own type is."""
    if isinstance(vector, (np.ndarray, list, tuple)):
        return vector
    return [as_sequence(part) for part in vector]


# -- which adapter --------------------------------------------------------------------------------


def _sphere(manifold: Any) -> tuple[Any, ...] | None:
    return manifold._shape if len(manifold._shape) == 1 else None


def _by_qr(*names: str) -> Callable[[Any], tuple[Any, ...] | None]:
    def arguments(manifold: Any) -> tuple[Any, ...] | None:
        if manifold._retraction.__name__ != "_retraction_qr":
            return None  # a choice of the user's, which only pymanopt knows
        return tuple(getattr(manifold, name) for name in names)

    return arguments


def _from(*names: str) -> Callable[[Any], tuple[Any, ...] | None]:
    return lambda manifold: tuple(getattr(manifold, name) for name in names)


# By class of pymanopt: the name of riemtr's own, and its arguments, from what pymanopt keeps in
# private; None where riemtr's own is not the same.
_NATIVE: dict[type, tuple[str, Callable[[Any], tuple[Any, ...] | None]]] = {
    others.Sphere: ("Sphere", _sphere),
    others.Oblique: ("Oblique", _from("_m", "_n")),
    others.Stiefel: ("Stiefel", _by_qr("_n", "_p", "_k")),
    others.Grassmann: ("Grassmann", _from("_n", "_p", "_k")),
    others.SpecialOrthogonalGroup: ("Rotations", _by_qr("_n", "_k")),
    others.SymmetricPositiveDefinite: ("PositiveDefinite", _from("_n", "_k")),
    others.FixedRankEmbedded: ("FixedRank", _from("_m", "_n", "_k")),
    others.Euclidean: ("Euclidean", lambda manifold: manifold._shape),
    others.Product: ("Product", lambda manifold: (list(manifold.manifolds),)),
}


def adapt(manifold: Any) -> Manifold:
    """Return a manifold of riemtr for one of riemtr, of pymanopt or of the user.

    Parameters
    ----------
    manifold : object
        With pymanopt's method names; :func:`lacking` says what it must have.

    Examples
    --------
    >>> adapt(others.ComplexCircle(3)).dim
    3
    """
    if isinstance(manifold, Manifold):
        return manifold
    kind: type = type(manifold)
    base = _native_base(kind)
    if base is not None:
        name, arguments_of = _NATIVE[base]
        arguments = arguments_of(manifold)
        if arguments is not None:
            # Imported here, since products adapt their factors.
            native = getattr(importlib.import_module("riemtr.manifolds"), name)
            return native(*arguments)
    return _wrapper(kind)(manifold)


@lru_cache(maxsize=512)
def _native_base(kind: type) -> type | None:
    """Return the class of pymanopt that riemtr has too, if a class alters none of its methods."""
    base = next((base for base in kind.__mro__ if base in _NATIVE), None)
    methods = [name for name in dir(PymanoptManifold) if not name.startswith("_")]
    return None if base is None or _alters(kind, base, methods) else base


def _alters(kind: type, base: type, methods: Iterable[str]) -> bool:
    """Return whether a class has methods of its own, or a tangent basis, in place of its base's."""
    names = (*methods, "tangent_basis")
    return any(getattr(kind, name, None) is not getattr(base, name, None) for name in names)


@lru_cache(maxsize=512)
def _wrapper(kind: type) -> type[FromPymanopt]:
    """Return the adapter for a class: its nearest repair that no method of its own contradicts."""
    from riemtr.manifolds.repairs import REPAIRS  # repairs are subclasses of the adapter here

    for base in kind.__mro__:
        repair = REPAIRS.get(base)
        if repair is not None and not _alters(kind, base, _replaced(repair.space_type)):
            return repair
    return FromPymanopt


# By method of a tangent space: the methods of pymanopt's manifolds that it stands in for.
_STANDS_FOR = {
    "inner": ("inner_product", "norm"),
    "tangent": ("projection", "to_tangent_space"),
    "random": ("random_tangent_vector",),
    "transported": ("transport",),
    "embed": ("embedding",),
    "gradient": ("euclidean_to_riemannian_gradient",),
    "hessian": ("euclidean_to_riemannian_hessian",),
    "move": ("retraction",),
    "move_along_geodesic": ("exp",),
}


def _replaced(space_type: type[TangentSpace]) -> list[str]:
    """Return the methods of pymanopt's manifolds that a repair does without."""
    names = [*_STANDS_FOR["inner"]]
    for method, replaced in _STANDS_FOR.items():
        if getattr(space_type, method) is not getattr(PymanoptSpace, method):
            names += replaced
    return names
