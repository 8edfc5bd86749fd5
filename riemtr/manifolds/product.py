"""Products of manifolds, by number or by name, in any depth."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from pymanopt.manifolds.product import _ProductTangentVector

from riemtr.manifolds.arrays import as_real, as_real_rows, from_real, in_words
from riemtr.manifolds.basis import TangentBasis
from riemtr.manifolds.manifold import Manifold, TangentSpace, safe_norm


class NamedPoint(list):
    """A point of a product whose factors have names: a list that is indexed by name as well.

    Parameters
    ----------
    parts : iterable
        The factors' points.
    names : sequence of str
        The factors' names, in the same order.

    Examples
    --------
    >>> point = NamedPoint([1.0, 2.0], ("scale", "shift"))
    >>> point["shift"], point[1], list(point.keys())
    (2.0, 2.0, ['scale', 'shift'])
    """

    def __init__(self, parts: Iterable[Any] = (), names: Sequence[str] = ()):
        super().__init__(parts)
        self.names = tuple(names)

    def keys(self) -> tuple[str, ...]:
        """Return the names."""
        return self.names

    def __getitem__(self, key: Any) -> Any:
        return super().__getitem__(self._number(key))

    def __setitem__(self, key: Any, part: Any) -> None:
        super().__setitem__(self._number(key), part)

    def __repr__(self) -> str:
        if len(self.names) != len(self):
            return super().__repr__()
        return repr(dict(zip(self.names, self, strict=True)))

    def _number(self, key: Any) -> Any:
        if not isinstance(key, str):
            return key
        if key not in self.names:
            raise KeyError(key)
        return self.names.index(key)


class ProductSpace(TangentSpace):
    """Vectors of all factors' tangent spaces at once, as real numbers in a row.

    Attributes
    ----------
    spaces : list of TangentSpace
        The factors' tangent spaces.
    """

    def __init__(self, manifold: Any, point: Any):
        super().__init__(manifold, point)
        pairs = zip(manifold.manifolds, manifold.in_order(point), strict=True)
        self.spaces = [factor.space(part) for factor, part in pairs]
        self.keeps_vectors = all(space.keeps_vectors for space in self.spaces)
        self._zeros = [space.zero() for space in self.spaces]
        self._slices, end = [], 0
        for zero in self._zeros:
            start, end = end, end + as_real(zero).size
            self._slices.append(slice(start, end))

    def parts(self, vector: np.ndarray) -> list[np.ndarray]:
        """Return the factors' parts of a vector."""
        pairs = zip(self._slices, self._zeros, strict=True)
        return [from_real(vector[where], zero) for where, zero in pairs]

    def _each(self, method: str, *arguments: Any) -> list[Any]:
        """Call a method of each factor's space with its part of each argument."""
        rows = zip(self.spaces, *arguments, strict=True)
        return [getattr(space, method)(*parts) for space, *parts in rows]

    def inner(self, vector_a: np.ndarray, vector_b: np.ndarray) -> float:
        """Return the sum of the factors' inner products."""
        if self.manifold.dot_metric:
            return float(np.vdot(vector_a, vector_b))
        return sum(self._each("inner", self.parts(vector_a), self.parts(vector_b)))

    def norm(self, vector: np.ndarray) -> float:
        """Return the norm of a vector, also where its square under- or overflows."""
        if self.manifold.dot_metric:
            return safe_norm(vector)
        return math.hypot(*self._each("norm", self.parts(vector)))

    def factor_lengths(self, vector: np.ndarray) -> tuple[float, ...]:
        """Return the lengths of the parts of a vector."""
        return tuple(itertools.chain(*self._each("factor_lengths", self.parts(vector))))

    def factor_sizes(self) -> tuple[float, ...]:
        """Return the sizes of the parts of the point."""
        return tuple(itertools.chain(*self._each("factor_sizes")))

    def weighted(self, vector: np.ndarray, weights: Sequence[float]) -> np.ndarray:
        """Return a vector times a number in each factor."""
        numbers = iter(weights)
        each = [[next(numbers) for _ in space.factor_sizes()] for space in self.spaces]
        return as_real(self._each("weighted", self.parts(vector), each))

    def zero(self) -> np.ndarray:
        """Return the zero vector."""
        return as_real(self._zeros)

    def tangent(self, vector: np.ndarray) -> np.ndarray:
        """Remove what each part has outside its factor's tangent space."""
        return as_real(self._each("tangent", self.parts(vector)))

    def pack(self, vector: Any) -> np.ndarray:
        """Return the parts of a tangent vector in a row."""
        return as_real(self._each("pack", self.manifold.in_order(vector)))

    def unpack(self, vector: np.ndarray) -> _ProductTangentVector:
        """Return pymanopt's list of the factors' tangent vectors, which adds and scales."""
        return _ProductTangentVector(self._each("unpack", self.parts(vector)))

    def random(self, rng: np.random.Generator) -> np.ndarray:
        """Draw a unit vector, uniformly (the zero vector where the dimension is 0)."""
        drawn = []
        for space in self.spaces:
            part, dim = space.random(rng), space.manifold.dim
            # Directions are uniform if each part is as long as a Gaussian vector of its dimension.
            drawn.append(part * math.sqrt(rng.chisquare(dim)) if dim else part)
        vector = as_real(drawn)
        length = self.norm(vector)
        return vector / length if length > 0.0 else vector

    def basis(self) -> ProductBasis:
        """Return the factors' bases side by side."""
        return ProductBasis([space.basis() for space in self.spaces], self.parts)

    def transported(
        self,
        vector: np.ndarray,
        origin: ProductSpace,  # type: ignore[override]
    ) -> np.ndarray:
        """Return a vector of a nearby tangent space as one of this space, factor by factor."""
        return as_real(self._each("transported", origin.parts(vector), origin.spaces))

    def all_transported(self, vectors: np.ndarray, origin: TangentSpace) -> np.ndarray:
        """Return several vectors, one in each row, factor by factor."""
        assert isinstance(origin, ProductSpace)
        columns = []
        for where, zero, space, other in zip(
            self._slices, self._zeros, self.spaces, origin.spaces, strict=True
        ):
            part = np.ascontiguousarray(vectors[:, where], dtype=zero.real.dtype).view(zero.dtype)
            carried = space.all_transported(part.reshape(len(vectors), *zero.shape), other)
            columns.append(as_real_rows(carried))
        return np.concatenate(columns, axis=1)

    def embed(self, vector: np.ndarray) -> Any:
        """Return a vector as one of the surrounding space, of the form of a point."""
        return self.manifold.as_point(self._each("embed", self.parts(vector)))

    def gradient(self, euclidean_gradient: Any) -> np.ndarray:
        """Return the Riemannian gradient from the Euclidean one, factor by factor."""
        return as_real(self._each("gradient", self.manifold.in_order(euclidean_gradient)))

    def measured(self, euclidean_gradient: Any) -> list[Any]:
        """Return a Euclidean gradient as the factors' metrics measure it."""
        return self._each("measured", self.manifold.in_order(euclidean_gradient))

    def hessian(
        self, euclidean_gradient: Any, euclidean_product: Any, vector: np.ndarray
    ) -> np.ndarray:
        """Return the Riemannian Hessian product from the Euclidean one, factor by factor."""
        given = map(self.manifold.in_order, (euclidean_gradient, euclidean_product))
        return as_real(self._each("hessian", *given, self.parts(vector)))

    def move(self, vector: np.ndarray) -> Any:
        """Return the point that the factors' retractions lead to."""
        return self.manifold.as_point(self._each("move", self.parts(vector)))

    def move_along_geodesic(self, vector: np.ndarray) -> Any:
        """Return the point that the factors' exponential maps lead to."""
        return self.manifold.as_point(self._each("move_along_geodesic", self.parts(vector)))


class Product(Manifold[Any]):
    r"""Cartesian product of manifolds.

    Points are lists of the factors' points, tangent vectors lists of the factors' tangent
    vectors, and the inner product is the sum of the factors' inner products,

    .. math:: \langle U, V \rangle = \sum_i \langle U_i, V_i \rangle.

    Parameters
    ----------
    factors : sequence of manifolds, or dict of them by name
        Manifolds of riemtr or of pymanopt, products among them. If they have names, the parts of
        points are found by name as well as by number.

    Attributes
    ----------
    manifolds : tuple of Manifold
        The factors.
    names : tuple of str, or None

    Examples
    --------
    >>> import numpy as np, riemtr
    >>> poses = riemtr.Product({"turn": riemtr.Rotations(3), "shift": riemtr.Euclidean(3)})
    >>> poses.dim
    6
    >>> pose = poses.random_point(0)
    >>> pose["shift"].shape, pose[0].shape
    ((3,), (3, 3))
    """

    space_type = ProductSpace

    def __init__(self, factors: Sequence[Any] | Mapping[str, Any]):
        self.names: tuple[str, ...] | None = None
        if isinstance(factors, Mapping):
            self.names = tuple(factors)
            if not all(isinstance(name, str) for name in self.names):
                raise ValueError(f"names of factors must be strings; got {list(self.names)}")
            factors = tuple(factors.values())
        if not isinstance(factors, (list, tuple)) or not factors:
            raise ValueError(
                f"factors must be a list of manifolds, or a dict of them by name; got {factors!r}"
            )
        self.manifolds: tuple[Manifold, ...] = tuple(map(_adapted, factors))
        self.bounded = all(factor.bounded for factor in self.manifolds)
        self.converts_hessians = all(factor.converts_hessians for factor in self.manifolds)
        self.has_exponential = all(factor.has_exponential for factor in self.manifolds)
        self.dot_metric = all(factor.dot_metric for factor in self.manifolds)
        self.dimension_varies = any(factor.dimension_varies for factor in self.manifolds)
        name = f"Product manifold: {' x '.join(map(str, self.manifolds))}"
        super().__init__(name, sum(int(factor.dim) for factor in self.manifolds))
        all_known = [factor.euler_characteristic for factor in self.manifolds]
        known = [each for each in all_known if each is not None]
        self.euler_characteristic = math.prod(known) if len(known) == len(all_known) else None
        # Not through the constructor, whose check knows no products of products.
        self._point_layout = tuple(factor.point_layout for factor in self.manifolds)

    def __repr__(self) -> str:
        if self.names is None:
            return f"Product([{', '.join(map(repr, self.manifolds))}])"
        pairs = zip(self.names, self.manifolds, strict=True)
        return f"Product({{{', '.join(f'{name!r}: {factor!r}' for name, factor in pairs)}}})"

    @property
    def num_values(self) -> int:
        """Number of arrays that make up a point."""
        return sum(factor.num_values for factor in self.manifolds)

    @property
    def typical_dist(self) -> float:
        """Root of the sum of the squares of the factors'."""
        return math.hypot(*(factor.typical_dist for factor in self.manifolds))

    # -- points -----------------------------------------------------------------------------------

    def as_point(self, parts: list[Any]) -> Any:
        """Return the factors' points as one of the product."""
        return parts if self.names is None else NamedPoint(parts, self.names)

    def in_order(self, parts: Any) -> Any:
        """Return parts given by name in the order of the factors; others as they are."""
        if isinstance(parts, Mapping) and self.names is not None:
            return [parts[name] for name in self.names]
        return parts

    def check_point(self, point: Any, name: str = "start") -> Any:
        """Return a user's point as floating-point arrays of its own, or say what is wrong with it.

        It may be a list or a tuple, and a dict where the factors have names.
        """
        count = len(self.manifolds)
        if isinstance(point, NamedPoint) and self.names is not None and point.names:
            point = dict(zip(point.names, point, strict=True))
        if isinstance(point, Mapping) and self.names is not None:
            self._check_names(point, name)
            point = self.in_order(point)
        if not isinstance(point, (list, tuple)) or len(point) != count:
            named = f", or a dict of {self._listed(self.names)}," if self.names is not None else ""
            raise ValueError(
                f"{name} must be a list of {count} parts{named} to lie on {self}; got "
                f"{in_words(point)}"
            )
        labels = [f"{name}[{label!r}]" for label in self.names or range(count)]
        triples = zip(self.manifolds, point, labels, strict=True)
        return self.as_point([factor.check_point(part, label) for factor, part, label in triples])

    def _check_names(self, point: Mapping[str, Any], name: str) -> None:
        known = self.names or ()
        missing = [key for key in known if key not in point]
        unknown = [key for key in point if key not in known]
        if missing or unknown:
            wrong = [f"{self._listed(missing)} missing"] if missing else []
            wrong += [f"{self._listed(unknown)} unknown"] if unknown else []
            raise ValueError(
                f"{name} must have the keys {self._listed(known)} to lie on {self}; "
                f"{' and '.join(wrong)}"
            )

    @staticmethod
    def _listed(names: Iterable[Any]) -> str:
        return ", ".join(map(repr, names))

    def complaint(self, point: Any, tolerance: float) -> str | None:
        """Return what keeps a point off the manifold, and the remedy; None if nothing does."""
        found = self._each("complaint", point, [tolerance] * len(self.manifolds))
        for label, wrong in zip(self.names or range(len(found)), found, strict=True):
            if wrong is not None:
                return f"in part {label!r}, {wrong}"
        return None

    def frames(self, point: Any) -> list[np.ndarray] | None:
        """Return the frames of all factors."""
        found: list[np.ndarray] = []
        for frames in self._each("frames", point):
            if frames is None:
                return None
            found += frames
        return found

    def has_left(self, point: Any) -> bool:
        """Return whether a step has crossed the boundary of an open factor, by rounding."""
        return any(self._each("has_left", point))

    def another_representative(self, point: Any, rng: np.random.Generator) -> Any:
        """Return other arrays for the same point of a quotient; None where there are none."""
        sources = [rng] * len(self.manifolds)
        others = self._each("another_representative", point, sources)
        if all(other is None for other in others):
            return None
        pairs = zip(self.in_order(point), others, strict=True)
        return self.as_point([part if other is None else other for part, other in pairs])

    def random_point(self, rng: Any = None) -> Any:
        """Draw a point of each factor."""
        source = None if rng is None else np.random.default_rng(rng)
        return self.as_point([factor.random_point(source) for factor in self.manifolds])

    # -- pymanopt's methods -----------------------------------------------------------------------

    def _each(self, method: str, *arguments: Any) -> list[Any]:
        """Call a method of each factor with its part of each argument."""
        rows = zip(self.manifolds, *map(self.in_order, arguments), strict=True)
        return [getattr(factor, method)(*parts) for factor, *parts in rows]

    def projection(self, point: Any, vector: Any) -> _ProductTangentVector:
        """Return the orthogonal projection of an ambient vector onto the tangent space."""
        return _ProductTangentVector(self._each("projection", point, vector))

    def dist(self, point_a: Any, point_b: Any) -> float:
        """Root of the sum of the squares of the factors' distances."""
        return math.hypot(*self._each("dist", point_a, point_b))

    def separation(self, point_a: Any, point_b: Any) -> float:
        """Root of the sum of the squares of the factors' distances, or of their arrays'."""
        return math.hypot(*self._each("separation", point_a, point_b))

    def log(self, point_a: Any, point_b: Any) -> _ProductTangentVector:
        """Tangent vector at ``point_a`` whose exponential is ``point_b``, factor by factor."""
        return _ProductTangentVector(self._each("log", point_a, point_b))

    def pair_mean(self, point_a: Any, point_b: Any) -> Any:
        """Return the midpoint of the shortest geodesic, factor by factor."""
        return self.as_point(self._each("pair_mean", point_a, point_b))


class ProductBasis:
    """Tangent basis of a product: the factors' bases side by side.

    Parameters
    ----------
    bases : list of TangentBasis
        Orthonormal bases of the factors' tangent spaces.
    parts : callable
        Returns the factors' parts of a vector.
    """

    def __init__(self, bases: list[TangentBasis], parts: Callable[[np.ndarray], list[np.ndarray]]):
        self._bases, self._parts = bases, parts
        self._ends = np.cumsum([basis.dim for basis in bases])
        self.dim = int(self._ends[-1])

    def coordinates(self, vector: np.ndarray) -> np.ndarray:
        """Return the coordinates of the factors' parts in a row."""
        pairs = zip(self._bases, self._parts(vector), strict=True)
        return np.concatenate([basis.coordinates(part) for basis, part in pairs])

    def vector(self, coordinates: np.ndarray) -> np.ndarray:
        """Return the vector with these coordinates."""
        pairs = zip(self._bases, np.split(coordinates, self._ends[:-1]), strict=True)
        return as_real([basis.vector(part) for basis, part in pairs])


def _adapted(factor: Any) -> Manifold:
    """Return a manifold of riemtr for one of riemtr or of pymanopt."""
    if isinstance(factor, Manifold):
        return factor
    if isinstance(factor, type) or not hasattr(factor, "dim"):
        raise ValueError(f"factors must be manifolds; got {factor!r}")
    from riemtr.manifolds.pymanopt import adapt

    return adapt(factor)
