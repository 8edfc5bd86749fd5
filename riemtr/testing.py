"""Checks for manifolds and problems of third parties: every number beside its bound, in a table.

:func:`check_manifold` takes a manifold as it is, without any of riemtr's repairs, and measures
whether its methods fit together: the metric, projections, moves, derivatives, transports.
:func:`check_problem` measures whether a problem's derivatives are those of its cost.

Nothing here raises for a wrong manifold: a method that raises is a failure in the report.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import autograd.numpy as anp
import numpy as np
import pymanopt.manifolds as others

from riemtr.arguments import generator
from riemtr.manifolds import FixedRank, Grassmann, Manifold
from riemtr.manifolds.arrays import array_count, as_real, flatten, from_real
from riemtr.manifolds.pymanopt import (
    FromPymanopt,
    as_sequence,
    drawn_by,
    offers,
    offers_exponential,
    offers_hessians,
)
from riemtr.problem import check_gradient, check_hessian
from riemtr.problem.autodiff import backend
from riemtr.problem.checks import RULE as ORDERS
from riemtr.problem.checks import order_of, step_lengths
from riemtr.problem.differences import RULE as DIFFERENCES
from riemtr.problem.differences import Measured, derivative
from riemtr.problem.problem import as_problem

__all__ = ["Check", "Report", "check_manifold", "check_problem"]

# Rounding of numbers of size 1, in which everything is computed here.
_PRECISION = float(np.finfo(float).eps)
# Relative error of identities that hold except for rounding.
_IDENTITY = 1e-8
# First lengths of differences, which become shorter on manifolds that bend more, as matrices of
# fixed rank do where a singular value is small.
_LENGTHS = 2e-3
# Accuracy of pymanopt's distances, many of which take the arccosine of a number near 1.
_DISTANCE = 1e-6
# Error of a step that is nothing but rounding, for points of size 1.
_ROUNDING = 1e-12
# How many times more often than others a random tangent vector may take a direction.
_UNEVEN = 3.0
# Tangent vectors drawn for each dimension, to see whether they are uniform: eigenvalues of their
# mean square then scatter by less than a third.
_DRAWS = 50
# Largest dimension in which a basis is formed, since that takes its square of inner products.
_LARGEST = 60
# Length of the steps that logarithms and distances are tried on, well within every injectivity
# radius in use.
_LENGTH = 0.2


@dataclass(frozen=True)
class Check:
    """One row of a report.

    Attributes
    ----------
    name : str
        The property that was measured.
    measured : float
        An error, or an order; NaN where nothing could be measured.
    bound : float or None
        The largest error, or the least order, that is right; None where the row only informs.
    verdict : {"ok", "WRONG", "info"}
    remark : str
        Anything that is known besides.
    """

    name: str
    measured: float
    bound: float | None
    verdict: str
    remark: str = ""

    def __str__(self) -> str:
        measured = "" if math.isnan(self.measured) else f"{self.measured:.2g}"
        bound = "" if self.bound is None else f"{self.bound:.2g}"
        line = f"{self.name:<52}{measured:>10}{bound:>10}  {self.verdict:<6}{self.remark}"
        return line.rstrip()


@dataclass(frozen=True, repr=False)
class Report:
    """The outcome of :func:`check_manifold` or :func:`check_problem`; prints as a table.

    Attributes
    ----------
    subject : str
        The manifold or problem.
    checks : tuple of Check
        All rows, in the order in which they build on each other.
    """

    subject: str
    checks: tuple[Check, ...]

    @property
    def failures(self) -> tuple[Check, ...]:
        """The rows that are wrong."""
        return tuple(check for check in self.checks if check.verdict == "WRONG")

    @property
    def ok(self) -> bool:
        """Whether no row is wrong."""
        return not self.failures

    def __bool__(self) -> bool:
        return self.ok

    def __getitem__(self, name: str) -> Check:
        for check in self.checks:
            if check.name == name:
                return check
        raise KeyError(name)

    def __repr__(self) -> str:
        wrong = len(self.failures)
        verdict = "all right" if self.ok else f"{wrong} of {len(self.checks)} WRONG"
        header = f"{'':<52}{'measured':>10}{'bound':>10}"
        return "\n".join([f"{self.subject}: {verdict}", header, *map(str, self.checks)])


def _at_most(name: str, measured: Any, bound: float) -> Check:
    measured = float(measured)
    return Check(name, measured, bound, "ok" if measured <= bound else "WRONG")


def _at_least(name: str, measured: float, bound: float) -> Check:
    return Check(name, measured, bound, "ok" if measured >= bound else "WRONG")


def _info(name: str, remark: str, measured: float = math.nan) -> Check:
    return Check(name, measured, None, "info", remark)


def _collected(subject: str, groups: dict[str, Callable[[], Iterator[Check]]]) -> Report:
    """Run groups of checks; an exception ends its own group only, as a failure."""
    checks: list[Check] = []
    for title, group in groups.items():
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                checks.extend(group())
        except Exception as error:
            remark = f"{type(error).__name__}: {error}"
            checks.append(Check(f"{title} raises", math.nan, None, "WRONG", remark))
    return Report(subject, tuple(checks))


# -- manifolds ------------------------------------------------------------------------------------


def check_manifold(
    manifold: Any, rng: Any = 0, *, invariants: Callable[..., Any] | None = None
) -> Report:
    """Check whether the methods of a manifold fit together, as they are.

    Take a small instance: a basis of the tangent space is formed up to dimension 60.

    Parameters
    ----------
    manifold : object
        With pymanopt's methods; riemtr's repairs of pymanopt's classes are not applied.
    rng : numpy.random.Generator or int
        Source of points, vectors and costs.
    invariants : callable, optional
        For quotients: takes the arrays of a point, written with ``autograd.numpy``, and returns an
        array that is the same for all arrays that stand for the same point, as ``Y @ Y.T`` is for
        ``Y`` up to rotations of its columns. Known for pymanopt's and riemtr's own manifolds;
        elsewhere the arrays of a point are taken for the point itself.

    Returns
    -------
    Report

    Examples
    --------
    >>> import pymanopt, riemtr
    >>> riemtr.testing.check_manifold(riemtr.Stiefel(4, 2)).ok
    True
    >>> report = riemtr.testing.check_manifold(pymanopt.manifolds.HermitianPositiveDefinite(2))
    >>> report["dimension is that of random tangent vectors"].verdict
    'WRONG'
    """
    trial = _Trial(manifold, generator(rng), invariants)
    groups = {
        "randomness": trial.randomness,
        "the metric": trial.metric,
        "random_tangent_vector": trial.random_vectors,
        "projection": trial.projection,
        "retraction": trial.retraction,
        "exp": trial.exponential,
        "the gradient": trial.gradient,
        "the Hessian": trial.hessian,
        "transport": trial.transport,
        "log and dist": trial.logarithm,
    }
    return _collected(str(manifold), groups)


class _Trial:
    """A manifold with a point, vectors and a cost to try its methods on.

    Parameters
    ----------
    manifold : object
    rng : numpy.random.Generator
    invariants : callable or None
    """

    def __init__(self, manifold: Any, rng: np.random.Generator, invariants: Any):
        self.manifold, self.rng = manifold, rng
        self.layout = getattr(manifold, "point_layout", 1)
        self._given = invariants

    # The point and what hangs on it are drawn when first asked for, so that a manifold that cannot
    # draw is a failure in the report.

    @cached_property
    def _invariants(self) -> Callable[..., Any]:
        return _known_invariants(self.manifold) if self._given is None else self._given

    @cached_property
    def point(self) -> Any:
        """A random point."""
        return drawn_by(self.manifold.random_point, self.rng)

    @cached_property
    def vectors(self) -> list[Any]:
        """Three random tangent vectors."""
        return [self.draw() for _ in range(3)]

    @cached_property
    def cost(self) -> Any:
        """A smooth cost with its Euclidean derivatives."""

        def polynomial(*arrays: Any) -> Any:
            return _polynomial(self._invariants(*arrays))

        return backend("autograd")(polynomial, self.layout)

    @cached_property
    def geodesic(self) -> Callable[[Any, Any], Any] | None:
        """The exponential map; None where there is none."""
        return self.manifold.exp if _has_exponential(self.manifold) else None

    @property
    def dim(self) -> int:
        """The dimension as the manifold says."""
        return int(self.manifold.dim)

    def draw(self) -> Any:
        """Return a random tangent vector."""
        return drawn_by(self.manifold.random_tangent_vector, self.rng, self.point)

    def inner(self, a: Any, b: Any) -> float:
        """Return the inner product of two tangent vectors."""
        return float(np.real(self.manifold.inner_product(self.point, a, b)))

    def size(self, vector: Any) -> float:
        """Return the norm of a tangent vector, by the inner product."""
        return math.sqrt(max(self.inner(vector, vector), 0.0))

    def tangent(self, point: Any, vector: Any) -> Any:
        """Return a vector of the form of a tangent vector without its part outside the space."""
        if _has(self.manifold, "to_tangent_space"):
            return self.manifold.to_tangent_space(point, vector)
        return self.manifold.projection(point, self.embedded(vector, point))

    def outside(self, point: Any, vector: Any) -> float:
        """Return the relative size of a vector's part outside the tangent space."""
        rest = vector - self.tangent(point, vector)
        return _norm(rest) / max(_norm(vector), 1.0)

    def invariant(self, point: Any) -> np.ndarray:
        """Return numbers that tell points apart, and not the arrays that stand for one point."""
        found = self._invariants(*flatten(point, self.layout))
        return as_real(found if isinstance(found, list) else [found])

    def gap(self, point_a: Any, point_b: Any) -> float:
        """Return the largest difference of two points."""
        return _largest_difference(self.invariant(point_a), self.invariant(point_b))

    def embedded(self, vector: Any, point: Any = None) -> Any:
        """Return a tangent vector as one of the surrounding space."""
        point = self.point if point is None else point
        embedding = getattr(self.manifold, "embedding", None)
        return vector if embedding is None else embedding(point, vector)

    def defect(self, point: Any) -> float:
        """Return how much a projection changes a tangent vector, as it does off the manifold."""
        vector = drawn_by(self.manifold.random_tangent_vector, 7, point)
        return _norm(self.manifold.projection(point, self.embedded(vector, point)) - vector)

    def velocity(self, vector: Any) -> np.ndarray | None:
        """Return the derivative of the invariants along a tangent vector; None if not known."""
        ambient = self.embedded(vector)
        if isinstance(self.manifold, (others.FixedRankEmbedded, FixedRank)):
            first, second, third = ambient
            return as_real([first @ second @ third.T])
        flat, along = as_real(as_sequence(self.point)), as_real(as_sequence(ambient))
        if flat.shape != along.shape:
            return None
        return _slope(lambda t: self.invariant(from_real(flat + t * along, self.point))).value

    # -- the checks -------------------------------------------------------------------------------

    def randomness(self) -> Iterator[Check]:
        """Yield whether draws depend on the seed and on nothing else."""
        draws = [drawn_by(self.manifold.random_point, seed) for seed in (4, 4, 5)]
        first, again, other = (as_real(as_sequence(point)) for point in draws)
        yield _at_most("random_point is the same for the same seed", _norm(first - again), 0.0)
        if self.dim > 0:
            gap = _largest_difference(first, other)
            yield _at_least("random_point differs for other seeds", gap, _ROUNDING)
        method = self.manifold.random_tangent_vector
        vectors = [drawn_by(method, 6, draws[0]) for _ in range(2)]
        gap = _norm(vectors[0] - vectors[1])
        yield _at_most("random_tangent_vector is the same for the same seed", gap, 0.0)

    def metric(self) -> Iterator[Check]:
        """Yield whether the inner product is one, and the norm belongs to it."""
        product, point = self.manifold.inner_product, self.point
        u, v, w = self.vectors
        yield _at_most("inner products are real", abs(np.imag(product(point, u, v))), _IDENTITY)
        skewness = abs(self.inner(u, v) - self.inner(v, u))
        yield _at_most("inner product is symmetric", skewness, _IDENTITY)
        combined = self.inner(2.0 * u + (-3.0) * w, v)
        parts = 2.0 * self.inner(u, v) - 3.0 * self.inner(w, v)
        yield _at_most("inner product is linear", abs(combined - parts), _IDENTITY)
        least = min(self.inner(each, each) for each in self.vectors)
        if self.dim > 0:
            yield _at_least("inner product is positive", least, _IDENTITY)
        norm = float(np.real(self.manifold.norm(point, v)))
        yield _at_most("norm is that of the inner product", abs(norm - self.size(v)), _IDENTITY)
        zero = self.manifold.zero_vector(point)
        yield _at_most("zero_vector is zero", _norm(zero), 0.0)

    def random_vectors(self) -> Iterator[Check]:
        """Yield whether random tangent vectors are tangent, of norm 1, uniform and enough."""
        if self.dim == 0:
            yield _at_most("random_tangent_vector is zero", _norm(self.draw()), 0.0)
            return
        lengths = [abs(self.size(vector) - 1.0) for vector in self.vectors]
        yield _at_most("random_tangent_vector has norm 1", max(lengths), _IDENTITY)
        outside = max(self.outside(self.point, vector) for vector in self.vectors)
        yield _at_most("random_tangent_vector is tangent", outside, _IDENTITY)
        name = "dimension is that of random tangent vectors"
        if self.dim > _LARGEST:
            yield _info(name, f"not measured beyond {_LARGEST}: take a smaller instance")
            return
        spanning = [self.draw() for _ in range(self.dim + 3)]
        flat = np.array([as_real(as_sequence(vector)) for vector in spanning])
        rank = int(np.linalg.matrix_rank(flat, tol=1e-8 * np.linalg.norm(flat, 2)))
        remark = "" if rank == self.dim else f"rank {rank}, dim {self.dim}"
        varies = getattr(self.manifold, "dimension_varies", False)
        missing = max(rank - self.dim, 0) if varies else abs(rank - self.dim)
        yield Check(name, missing, 0.0, "WRONG" if missing else "ok", remark)
        yield _at_most(
            "random_tangent_vector is uniform", self._unevenness(spanning, rank), _UNEVEN
        )

    def _unevenness(self, spanning: list[Any], rank: int) -> float:
        """Return by which factor the most or the least likely direction is off its share."""
        basis = spanning[:rank]
        flat = np.array([as_real(as_sequence(vector)) for vector in basis])
        gram = np.array([[self.inner(a, b) for a in basis] for b in basis])
        drawn = [as_real(as_sequence(self.draw())) for _ in range(_DRAWS * rank)]
        coordinates = np.linalg.lstsq(flat.T, np.array(drawn).T, rcond=None)[0]
        whitened = np.linalg.cholesky(gram).T @ coordinates
        shares = np.linalg.eigvalsh(rank * whitened @ whitened.T / len(drawn))
        return max(shares[-1], 1.0 / max(shares[0], _ROUNDING))

    def projection(self) -> Iterator[Check]:
        """Yield whether projections are orthogonal projections onto the tangent space."""
        manifold, point = self.manifold, self.point
        own = self.tangent(point, self.vectors[0])
        gap = _norm(own - self.vectors[0])
        yield _at_most("to_tangent_space keeps tangent vectors", gap, _IDENTITY)
        like = as_sequence(self.vectors[0])
        noise = from_real(self.rng.standard_normal(as_real(like).size), like)
        cleaned = self.tangent(point, noise)
        gap = _norm(manifold.projection(point, self.embedded(cleaned)) - cleaned)
        yield _at_most("to_tangent_space leads to the tangent space", gap, _IDENTITY)
        kept = manifold.projection(point, self.embedded(self.vectors[0]))
        gap = _norm(kept - self.vectors[0])
        yield _at_most("projection keeps tangent vectors", gap, _IDENTITY)
        flat = as_real(as_sequence(point))
        if flat.shape != as_real(as_sequence(self.embedded(self.vectors[0]))).shape:
            yield _info("projection of other vectors", "they have not the form of a point")
            return
        ambient = [from_real(self.rng.standard_normal(flat.size), point) for _ in range(2)]
        projected = [manifold.projection(point, vector) for vector in ambient]
        outside = max(self.outside(point, vector) for vector in projected)
        yield _at_most("projection is onto the tangent space", outside, _IDENTITY)
        again = manifold.projection(point, self.embedded(projected[0]))
        gap = _norm(again - projected[0])
        yield _at_most("projection is idempotent", gap, _IDENTITY)
        images = [self.embedded(vector) for vector in projected]
        asymmetry = abs(_dot(images[0], ambient[1]) - _dot(ambient[0], images[1]))
        if asymmetry > _IDENTITY:  # orthogonal in the metric of the manifold, perhaps
            asymmetry = self._metric_asymmetry(ambient, projected)
        yield _at_most("projection is orthogonal", asymmetry, _IDENTITY)

    def _metric_asymmetry(self, ambient: list[Any], projected: list[Any]) -> float:
        """Return how far a projection of tangent vectors' kind is from orthogonal in the metric."""
        mirrored = [_hermitian(vector) for vector in ambient]
        projected = [self.manifold.projection(self.point, vector) for vector in mirrored]
        return abs(self.inner(projected[0], mirrored[1]) - self.inner(mirrored[0], projected[1]))

    def _order(self, error: Callable[[float], float]) -> float:
        """Return the exponent with which an error shrinks with the step, infinite if it is none."""
        steps = step_lengths(_PRECISION)
        order = order_of(steps, np.array([error(t) for t in steps]), _ROUNDING / ORDERS.rounding)
        return math.inf if order.exact else order.slope

    def _moves(self, name: str, move: Callable[[Any, Any], Any]) -> Iterator[Check]:
        """Yield the checks that a retraction and the exponential map have in common."""
        point, vector = self.point, self.vectors[0]
        zero = self.manifold.zero_vector(point)
        gap = self.gap(move(point, zero), point)
        yield _at_most(f"{name} of the zero vector is the point", gap, _IDENTITY)
        there = move(point, 0.5 * vector)
        back = self.manifold.retraction(there, self.manifold.zero_vector(there))
        off = self.gap(there, back)
        # A projection that is wrong here as well says nothing of the point that a move leads to.
        if self.defect(point) <= _IDENTITY:
            off = max(off, self.defect(there))
        yield _at_most(f"{name} stays on the manifold", off, _IDENTITY)
        velocity = self.velocity(vector)
        row = f"{name} is of first order"
        if velocity is None:
            yield _info(row, "embedding returns no arrays like those of a point")
            return
        here = self.invariant(point)

        def error(t: float) -> float:
            return _largest_difference(self.invariant(move(point, t * vector)), here + t * velocity)

        yield _at_least(row, self._order(error) - 1.0, 1.0 - ORDERS.lack)

    def retraction(self) -> Iterator[Check]:
        """Yield whether the retraction is one, and of which order."""
        yield from self._moves("retraction", self.manifold.retraction)
        row = "retraction is of second order"
        if self.geodesic is None:
            yield _info(row, "not known without an exponential map")
            return
        point, vector, exp, move = (
            self.point,
            self.vectors[0],
            self.geodesic,
            self.manifold.retraction,
        )
        order = (
            self._order(lambda t: self.gap(move(point, t * vector), exp(point, t * vector))) - 1.0
        )
        second = order >= 2.0 - ORDERS.lack
        yield _info(row, "yes" if second else "no, only of first", order)

    def exponential(self) -> Iterator[Check]:
        """Yield whether the exponential map is a retraction."""
        if self.geodesic is None:
            yield _info("exp", "not offered")
            return
        yield from self._moves("exp", self.geodesic)

    def _value(self, point: Any) -> float:
        return float(np.real(self.cost.at(point).value))

    def _gradient_at(self, point: Any) -> Any:
        convert = self.manifold.euclidean_to_riemannian_gradient
        return convert(point, self.cost.at(point).gradient)

    def gradient(self) -> Iterator[Check]:
        """Yield whether the converted gradient is that of the cost."""
        if not _has(self.manifold, "euclidean_to_riemannian_gradient"):
            yield _info("gradient", "not offered")
            return
        gradient = self._gradient_at(self.point)
        size = 1.0 + self.size(gradient)
        outside = self.outside(self.point, gradient) / size
        yield _at_most("gradient is tangent", outside, _IDENTITY)
        move, vector = self.manifold.retraction, self.vectors[0]
        rate = self.inner(gradient, vector)
        slope = _slope(lambda t: self._value(move(self.point, t * vector)))
        yield _agreement("gradient is the slope of the cost", slope, rate, size)

    def _bend(self, vector: Any) -> Measured:
        """Return the second derivative of the cost along a geodesic."""
        geodesic = self.geodesic
        assert geodesic is not None
        rounding = _PRECISION * abs(self._value(self.point))

        def cost(t: float) -> float:
            return self._value(geodesic(self.point, t * vector))

        return derivative(cost, _LENGTHS, order=2, rounding=rounding)

    @cached_property
    def curvature(self) -> Measured:
        """The Hessian of the cost with the first two vectors, by differences of the cost alone."""
        u, v, _ = self.vectors
        plus, minus = self._bend(u + v), self._bend(u - v)
        return Measured(0.25 * (plus.value - minus.value), 0.25 * (plus.error + minus.error))

    def _product(self, vector: Any) -> Any:
        here = self.cost.at(self.point)
        product = here.hessian(self.embedded(vector))
        convert = self.manifold.euclidean_to_riemannian_hessian
        return convert(self.point, here.gradient, product, vector)

    def hessian(self) -> Iterator[Check]:
        """Yield whether the converted Hessian is symmetric, and that of the cost."""
        if not _converts_hessians(self.manifold):
            yield _info("Hessian", "not offered")
            return
        u, v, _ = self.vectors
        images = self._product(u), self._product(v)
        size = 1.0 + self.size(images[0])
        outside = self.outside(self.point, images[0]) / size
        yield _at_most("Hessian product is tangent", outside, _IDENTITY)
        asymmetry = abs(self.inner(images[0], v) - self.inner(u, images[1])) / size
        yield _at_most("Hessian is symmetric", asymmetry, _IDENTITY)
        row = "Hessian is the curvature along geodesics"
        if self.geodesic is None:
            yield _info(row, "not known without an exponential map")
            return
        yield _agreement(row, self.curvature, self.inner(images[0], v), size)

    def transport(self) -> Iterator[Check]:
        """Yield whether the transport is linear, and parallel to first order."""
        manifold, point = self.manifold, self.point
        if not _has(manifold, "transport"):
            yield _info("transport", "not offered")
            return
        u, v, w = self.vectors
        there = manifold.retraction(point, 0.5 * w)
        moved = [
            manifold.transport(point, there, vector) for vector in (u, v, 2.0 * u + (-3.0) * v)
        ]
        outside = self.outside(there, moved[0])
        yield _at_most("transport leads to the tangent space", outside, _IDENTITY)
        gap = _norm(2.0 * moved[0] + (-3.0) * moved[1] - moved[2])
        yield _at_most("transport is linear", gap, _IDENTITY)
        kept = manifold.transport(point, point, u)
        yield _at_most("transport to the same point is none", _norm(kept - u), _IDENTITY)
        row = "transport is parallel to first order"
        if self.geodesic is None:
            yield _info(row, "not known without an exponential map")
            return
        exp = self.geodesic

        def carried(t: float) -> Any:
            nearby = exp(point, t * u)
            return manifold.transport(nearby, point, self._gradient_at(nearby))

        change = _slope(carried)
        stated, size = self.inner(change.value, v), 1.0 + self.size(change.value)
        both = replace(self.curvature, error=self.curvature.error + change.error)
        yield _agreement(row, both, stated, size)

    def logarithm(self) -> Iterator[Check]:
        """Yield whether logarithm, distance and midpoint belong to the exponential map."""
        point = self.point
        if self.geodesic is None:
            yield _info("log and dist", "not compared without an exponential map")
            return
        vector = _LENGTH * self.vectors[0]
        there, length = self.geodesic(point, vector), _LENGTH * self.size(self.vectors[0])
        yield from self._where_offered("log", lambda: self._log(point, there, vector))
        yield from self._where_offered("dist", lambda: self._dist(point, there, length))
        yield from self._where_offered("pair_mean", lambda: self._mean(point, there, vector))

    def _where_offered(self, name: str, rows: Callable[[], Iterator[Check]]) -> Iterator[Check]:
        if not _has(self.manifold, name):
            yield _info(name, "not offered")
            return
        try:
            yield from rows()
        except NotImplementedError:
            yield _info(name, "not offered")

    def _log(self, point: Any, there: Any, vector: Any) -> Iterator[Check]:
        back = self.manifold.log(point, there)
        yield _at_most("log inverts exp", _norm(back - vector), _DISTANCE)
        assert self.geodesic is not None
        yield _at_most("exp inverts log", self.gap(self.geodesic(point, back), there), _DISTANCE)
        none = _norm(self.manifold.log(point, point))
        yield _at_most("log of the point itself is zero", none, _DISTANCE)

    def _dist(self, point: Any, there: Any, length: float) -> Iterator[Check]:
        dist = self.manifold.dist
        error = abs(float(np.real(dist(point, there))) - length)
        yield _at_most("dist is the length of the geodesic", error, _DISTANCE)
        asymmetry = abs(float(np.real(dist(point, there) - dist(there, point))))
        yield _at_most("dist is symmetric", asymmetry, _DISTANCE)
        none = abs(float(np.real(dist(point, point))))
        yield _at_most("dist of a point to itself is zero", none, _DISTANCE)

    def _mean(self, point: Any, there: Any, vector: Any) -> Iterator[Check]:
        assert self.geodesic is not None
        middle = self.manifold.pair_mean(point, there)
        gap = self.gap(middle, self.geodesic(point, 0.5 * vector))
        yield _at_most("pair_mean is the midpoint of the geodesic", gap, _DISTANCE)


def _slope(function: Callable[[float], Any]) -> Measured:
    """Return the derivative at 0 of a function of a number."""

    def size(value: Any) -> float:
        return abs(value) if isinstance(value, float) else _norm(value)

    return derivative(function, _LENGTHS, rounding=_PRECISION * size(function(0.0)), size=size)


def _agreement(name: str, measured: Measured, stated: float, size: float) -> Check:
    """Return whether differences agree with what is stated, to the accuracy that they have."""
    bound = max(_IDENTITY, measured.error / size)
    if not bound <= DIFFERENCES.resolved:
        return _info(name, "differences do not settle: the manifold bends too much here")
    return _at_most(name, abs(measured.value - stated) / size, bound)


def _norm(vector: Any) -> float:
    """Return the largest entry of a vector, NaN if one is."""
    return float(np.abs(as_real(as_sequence(vector))).max(initial=0.0))


def _largest_difference(array_a: np.ndarray, array_b: np.ndarray) -> float:
    """Return the largest difference of entries; infinite if the arrays are not of one form."""
    if array_a.shape != array_b.shape:
        return math.inf
    return float(np.abs(array_a - array_b).max(initial=0.0))


def _dot(vector_a: Any, vector_b: Any) -> float:
    return float(as_real(as_sequence(vector_a)) @ as_real(as_sequence(vector_b)))


def _hermitian(vector: Any) -> Any:
    """Return the Hermitian part of square matrices, other arrays as they are."""
    if not isinstance(vector, np.ndarray):
        return [_hermitian(part) for part in vector]
    if vector.ndim < 2 or vector.shape[-1] != vector.shape[-2]:
        return vector
    return 0.5 * (vector + np.conj(np.swapaxes(vector, -1, -2)))


def _has(manifold: Any, name: str) -> bool:
    """Return whether a manifold, and each of its factors, has a method of its own."""
    return offers(manifold, name) and all(_has(each, name) for each in _factors(manifold))


def _has_exponential(manifold: Any) -> bool:
    if isinstance(manifold, Manifold):
        return manifold.has_exponential
    return offers_exponential(manifold) and all(map(_has_exponential, _factors(manifold)))


def _converts_hessians(manifold: Any) -> bool:
    if isinstance(manifold, Manifold):
        return manifold.converts_hessians
    return offers_hessians(manifold) and all(map(_converts_hessians, _factors(manifold)))


def _factors(manifold: Any) -> Any:
    return getattr(manifold, "manifolds", ())


# Manifolds of matrices Y that stand for Y Y*.
_UP_TO_ROTATION = (
    Grassmann,
    others.Grassmann,
    others.ComplexGrassmann,
    others.PSDFixedRank,
    others.PSDFixedRankComplex,
    others.Elliptope,
)


def _known_invariants(manifold: Any) -> Callable[..., Any]:
    """Return a function of a point's arrays that tells points apart, and not representatives."""
    if isinstance(manifold, FromPymanopt):
        return _known_invariants(manifold.original)
    if isinstance(manifold, _UP_TO_ROTATION):
        return lambda y: anp.matmul(y, anp.conj(anp.swapaxes(y, -1, -2)))
    if isinstance(manifold, (others.FixedRankEmbedded, FixedRank)):
        return lambda u, s, vt: anp.dot(u * s, vt)
    factors = getattr(manifold, "manifolds", None)
    if factors is None:
        return lambda *arrays: list(arrays)
    each = [(_known_invariants(factor), array_count(factor.point_layout)) for factor in factors]

    def invariants(*arrays: Any) -> list[Any]:
        found: list[Any] = []
        for function, count in each:
            part, arrays = function(*arrays[:count]), arrays[count:]
            found.extend(part if isinstance(part, list) else [part])
        return found

    return invariants


def _polynomial(arrays: Any) -> Any:
    """Return a smooth cost without symmetries: a polynomial of the entries of arrays."""
    total = 0.0
    for array in arrays if isinstance(arrays, list) else [arrays]:
        wave = np.sin(1.0 + np.arange(math.prod(array.shape))).reshape(array.shape)
        weights = wave + 0.5j * np.cos(wave) if anp.iscomplexobj(array) else wave
        cubic = anp.sum(anp.real(array * array * anp.conj(array)))
        total = total + anp.sum(anp.real(np.conj(weights) * array)) + 0.2 * cubic
        total = total + 0.3 * anp.sum(anp.real(array) ** 4)
    return total


# -- problems -------------------------------------------------------------------------------------

# Relative difference of costs at two representatives of one point.
_SAME_COST = 1e-8


def check_problem(problem: Any, rng: Any = 0, *, point: Any = None) -> Report:
    """Check derivatives of a problem: against its cost, for symmetry, at other representatives.

    Parameters
    ----------
    problem : Problem or pymanopt.Problem
    rng : numpy.random.Generator or int
        Source of the random point and directions.
    point : optional
        Where to check; a random point if not given.

    Returns
    -------
    Report

    Examples
    --------
    >>> import riemtr
    >>> case = riemtr.problems.build("rayleigh", rng=0, n=5)
    >>> print(riemtr.testing.check_problem(case.problem))  # doctest: +ELLIPSIS
    Problem(...): all right
    ...
    """
    rng = generator(rng)
    problem = as_problem(problem)

    def derivatives() -> Iterator[Check]:
        for name, check in (("gradient", check_gradient), ("Hessian", check_hessian)):
            found = check(problem, point, rng=rng)
            bound = found.expected_slope
            right = "ok" if found.ok else "WRONG"
            remark = "exact to rounding" if found.exact else found.hint
            measured = math.inf if found.exact else found.slope
            yield Check(f"{name} is that of the cost (order)", measured, bound, right, remark)
            if found.tangency_error is not None:
                yield _at_most(f"{name} is tangent", found.tangency_error, _SAME_COST**0.5)
            if found.symmetry_error is not None:
                assert found.symmetry_bound is not None
                yield _at_most("Hessian is symmetric", found.symmetry_error, found.symmetry_bound)

    def representatives() -> Iterator[Check]:
        here = problem.at(_somewhere())
        other = problem.geometry.another_representative(here.point, rng)
        if other is None:
            yield _info("other representatives", "there are none on this manifold")
            return
        there = problem.at(other)
        size = max(abs(here.cost), abs(there.cost), here.gradient_norm, np.finfo(float).tiny)
        gap = abs(here.cost - there.cost) / size
        yield _at_most("cost is the same for other representatives", gap, _SAME_COST)
        gap = abs(here.gradient_norm - there.gradient_norm) / size
        yield _at_most("gradient norm is the same for others", gap, _SAME_COST**0.5)

    def _somewhere() -> Any:
        if point is None:
            return problem.random_point(rng)
        return problem.geometry.check_point(point, name="point")

    groups = {
        "a derivative": derivatives,
        "another representative": representatives,
    }
    return _collected(repr(problem), groups)
