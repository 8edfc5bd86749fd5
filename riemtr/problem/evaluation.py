"""All that is known about a problem at one point: computed on demand, once, and counted."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from riemtr.errors import NonFiniteHessianError, OutOfTimeError
from riemtr.manifolds import Manifold, TangentBasis, TangentSpace, retraction, safe_norm
from riemtr.manifolds.arrays import as_real, flatten, from_real, like, owned
from riemtr.problem.books import Clock, Counts, is_known, lazy, provide
from riemtr.problem.curvature import Curvature
from riemtr.problem.lanczos import FAILURE_PROBABILITY
from riemtr.problem.newton import Newton
from riemtr.problem.shared_work import ROUGH_ACCURACY, NotDifferentiableError

if TYPE_CHECKING:
    from riemtr.problem.problem import Problem
    from riemtr.problem.pullback import DerivativeBounds

# Singular values, over the largest, from which on vectors along symmetries are independent.
_INDEPENDENT = 1e-8


@dataclass(frozen=True)
class Derivatives:
    """The kinds of the derivatives of a cost.

    Attributes
    ----------
    gradient : {"euclidean", "riemannian"}
    hessian : {"euclidean", "riemannian", "differences"}
        "differences": central differences of the Riemannian gradient.
    embeds_vectors : bool
        Whether tangent vectors must be embedded before a Euclidean Hessian sees them.
    """

    gradient: str
    hessian: str
    embeds_vectors: bool = True


class Evaluation:
    """A problem at one point.

    Attributes are computed when first asked for and kept; :attr:`counts` says how often the cost
    was asked for what. Tangent vectors are arrays whose dot product is the metric of the manifold
    (see :class:`riemtr.manifolds.TangentSpace`); ``here.space.unpack(vector)`` returns one in the
    manifold's own form, which is the same on spheres, Stiefel manifolds and the like.

    Parameters
    ----------
    problem : Problem
    point : point of the manifold
    counts : Counts
        Receives the number of calls.
    clock : Clock
        Says when whoever asks wants no more than is known by then.

    Examples
    --------
    >>> import numpy as np, riemtr
    >>> matrix = np.diag([1.0, 2.0])
    >>> problem = riemtr.Problem(riemtr.Sphere(2), lambda x: x @ matrix @ x)
    >>> here = problem.at(np.array([0.0, 1.0]))
    >>> here.cost, here.gradient_norm, here.hessian_matrix()
    (2.0, 0.0, array([[-2.]]))
    """

    def __init__(self, problem: Problem, point: Any, counts: Counts, clock: Clock):
        self.problem = problem
        self.manifold: Manifold = problem.geometry
        self.point = point
        self.space: TangentSpace = self.manifold.space(point)
        self.counts = counts
        self.clock = clock
        self.inner, self.norm = self.space.inner, self.space.norm
        self.tangent = self.space.tangent
        self.known_curvature: Curvature | None = None  # where it was asked for
        # Chance that the lower bound of the curvature may be wrong.
        self.failure_probability = FAILURE_PROBABILITY
        # The largest sizes of the factors on the way here: roundings of them are no lengths.
        self.past_sizes: tuple[float, ...] = ()
        # Where the point is zero in a factor: a length over which the cost bends as it does here,
        # and the longest of these, if there is one.
        self.own_lengths: tuple[float, ...] = ()
        self.own_sizes: tuple[float, ...] = ()

    def moved(
        self, vector: np.ndarray, move: Callable[[TangentSpace, Any], Any] = retraction
    ) -> Evaluation | None:
        """Return the evaluation at the end of a step; None where that is not on the manifold.

        It counts into the same counters, and has the same clock.
        """
        point = like(move(self.space, vector), self.point)
        if not self.manifold.bounded and self.manifold.has_left(point):
            return None
        there = self.problem.at(point, self.counts, self.clock)
        there.past_sizes = self.past_sizes
        return there

    # -- cost and gradient ------------------------------------------------------------------------

    @lazy
    def _local(self) -> Any:
        """The cost's own object for the point."""
        return self.problem.cost.at(self.point)

    @lazy
    def cost(self) -> float:
        """The cost."""
        self.counts.costs += 1
        value = self._local.value
        return float(value) if isinstance(value, float) else _as_float(value, self.precision)

    @lazy
    def _raw_gradient(self) -> Any:
        """The gradient as the cost gives it: Euclidean, or a tangent vector in its own form."""
        self.counts.gradients += 1
        gradient = owned(self._local.gradient, self.point)
        point = self.point
        if not (isinstance(point, np.ndarray) and np.shape(gradient) == point.shape):
            self._check_parts(gradient)
        return gradient

    def _check_parts(self, gradient: Any) -> None:
        # Tangent vectors may have other parts than points, as on manifolds of fixed rank.
        kind = self.problem.derivatives.gradient
        if kind == "euclidean" or isinstance(self.point, np.ndarray):
            wrong = mismatch(gradient, self.point)
        else:
            zero = self.space.unpack(self.space.zero())
            wrong = mismatch(gradient, zero, of="tangent vector")
        if wrong:
            raise ValueError(f"the gradient{wrong}{self.manifold.gradient_hint(kind)}")

    @lazy
    def gradient(self) -> np.ndarray:
        """Riemannian gradient."""
        if self.problem.derivatives.gradient == "riemannian":
            return self.space.pack(self._raw_gradient)
        return self.space.gradient(self._raw_gradient)

    @lazy
    def gradient_norm(self) -> float:
        """Norm of the Riemannian gradient."""
        return self.norm(self.gradient)

    @property
    def euclidean_gradient(self) -> Any:
        """The Euclidean gradient, in the form of a point, where the cost has one."""
        return self._raw_gradient

    def norm_outside(self, vector: np.ndarray) -> float:
        """Norm of the part of a vector that is outside the tangent space."""
        return self.norm(vector - self.tangent(vector))

    # -- accuracy ---------------------------------------------------------------------------------

    @lazy
    def precision(self) -> float:
        """Machine epsilon of the coarser of the point's floating-point type and the cost's."""
        return self.problem.precision(self.point)

    @lazy
    def conversion_size(self) -> float:
        """Norm of the Euclidean gradient, if Hessians are converted from Euclidean ones.

        The Riemannian Hessian is then a difference of terms of this size: where it is large beside
        the Hessian, the digits that the terms share are lost. The kind that was declared decides,
        since methods without a Hessian need not find out whether autodiff sees the cost.
        """
        if self.problem.derivatives.hessian != "euclidean":
            return 0.0
        parts = flatten(self._raw_gradient, self.problem.layout)
        return math.hypot(*map(safe_norm, parts))

    @lazy
    def gradient_scale(self) -> float:
        """The same norm in the metric: a gradient that is small beside it counts as none."""
        if self.problem.derivatives.hessian != "euclidean":
            return 0.0
        measured = flatten(self.space.measured(self._raw_gradient), self.problem.layout)
        return math.hypot(*map(safe_norm, measured))

    @lazy
    def noise(self) -> float:
        """Rounding error of the cost, of the point's own rounding included."""
        moved = self.conversion_size
        if moved and not self.manifold.bounded:  # by the rounding of each array
            arrays = (
                flatten(each, self.problem.layout) for each in (self._raw_gradient, self.point)
            )
            pairs = zip(*arrays, strict=True)
            moved = math.hypot(*(safe_norm(slope) * safe_norm(part) for slope, part in pairs))
        return self.precision * max(abs(self.cost), moved)

    def sizes(self, share: float) -> tuple[float, ...]:
        """Return the size of the point in each factor of a product.

        It is at least a share of the largest size on the way here, so that zero has a size, too.
        """
        own = self._own_sizes
        if not self.past_sizes:
            return own
        return tuple(max(a, share * b) for a, b in zip(own, self.past_sizes, strict=True))

    @lazy
    def lines(self) -> list[Any]:
        """Lines through the point, with the costs on them that are known."""
        return []

    @lazy
    def _own_sizes(self) -> tuple[float, ...]:
        return self.space.factor_sizes()

    def lengths(self, share: float) -> tuple[float, ...]:
        """Return the size in each factor, or the cost's own size there if that was measured."""
        sizes = self.sizes(share)
        own = self.own_sizes or (0.0,) * len(sizes)
        return tuple(a or b for a, b in zip(own, sizes, strict=True))

    def reach(self, vector: np.ndarray) -> float:
        """Return the length of a step along a vector that is as long as the point in a factor.

        Where the point is zero, the cost's own length counts, if that was measured. On manifolds
        with bounds the length is 1, as it is where none is known.
        """
        return self.known_reach(vector) or self._reach(vector, self.own_lengths) or 1.0

    def known_reach(self, vector: np.ndarray) -> float:
        """Return that length, or 0 where no size is known in any factor that a vector moves."""
        if self.manifold.bounded:
            return 1.0
        return self._reach(vector, self.lengths(self.precision**0.5))

    def _reach(self, vector: np.ndarray, sizes: tuple[float, ...]) -> float:
        if len(sizes) == 1:
            return sizes[0]
        length, parts = self.norm(vector), self.space.factor_lengths(vector)
        sized = [(part, size) for part, size in zip(parts, sizes, strict=False) if size > 0.0]
        if not max((part for part, _ in sized), default=0.0) > self.precision**0.5 * length:
            return 0.0
        return length / max(part / size for part, size in sized)

    @lazy
    def largest_entry(self) -> float:
        """The largest entry of the arrays of the point, by magnitude."""
        arrays = flatten(self.point, self.problem.layout)
        return max(float(np.abs(array).max(initial=0.0)) for array in arrays)

    @property
    def bounds_derivatives(self) -> bool:
        """Whether the cost bounds its own derivatives."""
        return hasattr(self._local, "derivative_bounds")

    def derivative_bounds(self, radius: float) -> DerivativeBounds | None:
        """Return bounds of the cost's Euclidean derivatives within a radius, if it offers them."""
        return self._local.derivative_bounds(radius) if self.bounds_derivatives else None

    # -- Hessian products -------------------------------------------------------------------------

    @lazy
    def hessian_kind(self) -> str:
        """The kind of Hessian products here, as in :class:`Derivatives`."""
        kind = self.problem.derivatives.hessian
        if kind == "differences" or not hasattr(self._local, "hessian"):
            return "differences"
        # At other points there may be a Hessian.
        return kind if getattr(self._local, "has_hessian", True) else "differences"

    def hessian(self, vector: np.ndarray) -> np.ndarray:
        """Riemannian Hessian product."""
        kind, space = self.hessian_kind, self.space
        if kind == "differences":
            return self._difference(vector)
        if kind == "riemannian" or not self.problem.derivatives.embeds_vectors:
            own = vector if space.plain else space.unpack(vector)
        else:
            own = vector if space.plain else space.embed(vector)
        try:
            image = self._local.hessian(own)
        except NotDifferentiableError:
            provide(self, hessian_kind="differences")
            return self._difference(vector)
        self.counts.hessian_products += 1
        model = own if kind == "riemannian" else self.point
        if not (
            type(image) is np.ndarray
            and type(model) is np.ndarray
            and image.shape == model.shape
            and image.dtype == model.dtype
        ):
            image = owned(image, self.point)
            wrong = mismatch(image, model, of="point" if model is self.point else "vector")
            if wrong:
                raise ValueError(f"a Hessian product{wrong}")
        if kind == "riemannian":
            product = space.pack(image)
        else:
            product = space.hessian(self._raw_gradient, image, vector)
        # A cost may use its arrays again.
        return product.copy() if product is image or product.base is image else product

    def _difference(self, vector: np.ndarray, share: float = 1.0) -> np.ndarray:
        length = self.norm(vector)
        self.counts.hessian_products += 1
        if length == 0.0:
            return 0.0 * vector
        # The cube root of the precision balances truncation and rounding of central differences.
        step = share * float(np.cbrt(self.precision)) * self.reach(vector) / length
        ahead, behind = (self._gradient_nearby(sign * step * vector) for sign in (1.0, -1.0))
        return (ahead - behind) * (0.5 / step)

    def _gradient_nearby(self, displacement: np.ndarray) -> np.ndarray:
        nearby = Evaluation(self.problem, self.space.move(displacement), self.counts, self.clock)
        return self.space.transported(nearby.gradient, nearby.space)

    def second_opinion(self, vector: np.ndarray) -> np.ndarray:
        """Hessian product once more; by differences, with steps half as long.

        Where the steps are too long the two differ, and by most of the error of both.
        """
        if self.hessian_kind == "differences":
            return self._difference(vector, share=0.5)
        return self.hessian(vector)

    @lazy
    def has_preconditioner(self) -> bool:
        """Whether the problem, or the cost at this point, approximates the inverse Hessian."""
        return self.problem.preconditioner is not None or hasattr(self._local, "precondition")

    def precondition(self, vector: np.ndarray) -> np.ndarray:
        """Apply the preconditioner of the problem or of the cost; the identity if there is none."""
        if not self.has_preconditioner:
            return vector
        own = self.space.unpack(vector)
        if self.problem.preconditioner is not None:
            image = self.problem.preconditioner(self.point, own)
        else:
            image = self._local.precondition(own)
        wrong = mismatch(image, own, of="vector")
        if wrong:
            raise ValueError(f"the result of preconditioner(point, vector){wrong}")
        return self.space.pack(owned(image, self.point))

    # -- symmetries -------------------------------------------------------------------------------

    @lazy
    def symmetries(self) -> np.ndarray:
        """Orthonormal rows that span the directions along which the cost does not change."""
        return self._orbit[0]

    @property
    def orbit_condition(self) -> float:
        """Longest over shortest of the directions that :attr:`symmetries` was made from."""
        return self._orbit[1]

    @lazy
    def _orbit(self) -> tuple[np.ndarray, float]:
        given = self.problem.symmetries
        vectors = [] if given is None else list(given(self.point))
        if not vectors or not self.manifold.dot_metric:
            return np.zeros((0, 0)), 1.0
        packed = (self.tangent(self.space.pack(owned(each, self.point))) for each in vectors)
        _, values, rows = np.linalg.svd(np.array([as_real(each) for each in packed]), False)
        kept = values > _INDEPENDENT * values.max(initial=0.0)
        if not kept.any():
            return rows[kept], 1.0
        return rows[kept], float(values[0] / values[kept][-1])

    def across(self, vector: np.ndarray) -> np.ndarray:
        """Return a vector without its part along the symmetries."""
        rows = self.symmetries
        if not len(rows):
            return vector
        flat = as_real(vector)
        return from_real(flat - (rows @ flat) @ rows, vector)

    @lazy
    def _complement(self) -> np.ndarray:
        """Orthonormal columns: coordinates of the vectors across the symmetries."""
        zero = self.space.zero()
        rows = [self.basis.coordinates(from_real(row, zero)) for row in self.symmetries]
        return np.linalg.qr(np.array(rows).T, mode="complete")[0][:, len(rows) :]

    def coordinates_across(self, vector: np.ndarray) -> np.ndarray:
        """Return the coordinates of a vector in the complement of the symmetries."""
        coordinates = np.asarray(self.basis.coordinates(vector), dtype=float)
        return self._complement.T @ coordinates if len(self.symmetries) else coordinates

    def vector_across(self, coordinates: np.ndarray) -> np.ndarray:
        """Return the vector that has these coordinates in the complement of the symmetries."""
        if len(self.symmetries):
            coordinates = self._complement @ coordinates
        vector = self.basis.vector(coordinates)
        return vector.astype(self.gradient.dtype, copy=False)

    def matrix_across(self, matrix: np.ndarray) -> np.ndarray:
        """Return a matrix of the Hessian in the complement of the symmetries."""
        if not len(self.symmetries):
            return matrix
        within = self._complement.T @ matrix @ self._complement
        return 0.5 * (within + within.T)

    @lazy
    def eigh_across(self) -> tuple[np.ndarray, np.ndarray]:
        """Eigenvalues and eigenvectors of the Hessian in the complement, in ascending order."""
        if not len(self.symmetries):
            return self.eigh
        return np.linalg.eigh(self.matrix_across(self.finite_matrix()))

    # -- Hessian matrix ---------------------------------------------------------------------------

    @lazy
    def basis(self) -> TangentBasis:
        """Orthonormal basis of the tangent space."""
        return self.space.basis()

    @property
    def offers_matrix(self) -> bool:
        """Whether the cost forms its Hessian matrix itself, cheaper than by products."""
        converts = self.hessian_kind == "euclidean"
        one_array = isinstance(self.point, np.ndarray)
        return converts and one_array and hasattr(self._local, "hessian_matrix")

    @property
    def _rounds_matrix(self) -> bool:
        return getattr(self._local, "rounds_matrix", False)

    @property
    def has_matrix(self) -> bool:
        """Whether the Hessian matrix is already known."""
        return is_known(self, "_matrix")

    @lazy
    def _matrix(self) -> np.ndarray:
        if not self.offers_matrix:
            return self._symmetric(self.hessian)
        self.counts.hessian_matrices += 1
        return self._riemannian(self._local.hessian_matrix())

    @lazy
    def _rough_matrix(self) -> np.ndarray:
        self.counts.hessian_matrices += 1
        return self._riemannian(self._local.hessian_matrix(accuracy=ROUGH_ACCURACY))

    def _riemannian(self, ambient: np.ndarray) -> np.ndarray:
        """Matrix of the Riemannian Hessian from that of the Euclidean one."""
        convert = getattr(self.space, "hessian_matrix", None)
        if convert is not None:
            return convert(self.basis, self._raw_gradient, ambient)
        return self._symmetric(lambda vector: self._ambient_product(ambient, vector))

    def _ambient_product(self, ambient: np.ndarray, vector: np.ndarray) -> np.ndarray:
        embedded = self.space.embed(vector)
        product = (ambient @ embedded.ravel()).reshape(embedded.shape)
        return self.space.hessian(self._raw_gradient, product, vector)

    def _symmetric(self, product: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        basis = self.basis
        matrix = np.empty((basis.dim, basis.dim))
        for column, unit in enumerate(np.eye(basis.dim)):
            if self.clock.expired:
                raise OutOfTimeError(f"after {column} of {basis.dim} columns of the Hessian matrix")
            matrix[:, column] = basis.coordinates(product(basis.vector(unit)))
        self.matrix_asymmetry = float(np.abs(matrix - matrix.T).max(initial=0.0))
        return 0.5 * (matrix + matrix.T)

    matrix_asymmetry = 0.0
    """Largest difference between entries of the Hessian matrix that should be the same."""

    def hessian_matrix(self) -> np.ndarray:
        """Matrix of the Riemannian Hessian in the coordinates of :attr:`basis`."""
        return self._matrix

    def finite_matrix(self) -> np.ndarray:
        """Matrix of the Riemannian Hessian; an error where it has entries that are no numbers."""
        return _finite(self._matrix)

    def step_matrix(self) -> np.ndarray:
        """The Hessian matrix to the accuracy that steps need.

        It has fewer digits where the cost offers that at a lower price, and no better is known.
        """
        return _finite(self.rough_matrix if self.is_rough else self._matrix)

    @property
    def rough_matrix(self) -> np.ndarray:
        """The Hessian matrix to five digits."""
        return self._rough_matrix

    @property
    def is_rough(self) -> bool:
        """Whether a matrix to five digits is offered, and no better one is known."""
        return not self.has_matrix and self.offers_matrix and self._rounds_matrix

    @property
    def has_step_matrix(self) -> bool:
        """Whether :meth:`step_matrix` is already known."""
        return self.has_matrix or is_known(self, "_rough_matrix")

    @lazy
    def eigh(self) -> tuple[np.ndarray, np.ndarray]:
        """Eigenvalues and eigenvectors of the Hessian matrix, in ascending order."""
        return np.linalg.eigh(self.finite_matrix())

    @lazy
    def curvature(self) -> Curvature:
        """The extreme eigenvalues of the Hessian, as far as they were asked for."""
        self.known_curvature = Curvature(self, self.failure_probability)
        return self.known_curvature

    @lazy
    def newton(self) -> Newton:
        """The Newton step, as far as it was asked for."""
        return Newton(self)


def _as_float(value: Any, precision: float) -> float:
    """Return a cost as a float, or say why it is none."""
    if hasattr(value, "detach"):
        value = value.detach()
    if not isinstance(value, np.ndarray) and hasattr(value, "__array__"):
        value = np.asarray(value)
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.reshape(())[()]
    if isinstance(value, (complex, np.complexfloating)):
        if not abs(value.imag) <= precision**0.5 * abs(value):
            raise ValueError(
                f"the cost must return one real number; it returned {value!r}: is a conjugate "
                f"missing?"
            )
        value = value.real
    try:
        return float(value)
    except (TypeError, ValueError):
        hint = ""
        if callable(value):
            hint = "; value and gradient are attributes or properties, not methods"
        elif "ArrayBox" in type(value).__name__:
            hint = "; write it with autograd.numpy, whose values those are, not with numpy"
        raise ValueError(
            f"the cost must return one real number; it returned {value!r}{hint}"
        ) from None


def mismatch(vector: Any, model: Any, where: str = "", of: str = "point") -> str:
    """Say how a vector's arrays are not those of a point or another vector; nothing if they are."""
    if isinstance(model, np.ndarray):
        if np.shape(vector) == model.shape:
            return ""
        return f"{where} must have the shape of the {of}, {model.shape}; it has {np.shape(vector)}"
    if isinstance(vector, np.ndarray) or not hasattr(vector, "__len__"):
        found = f"it is an array of shape {np.shape(vector)}"
    elif len(vector) != len(model):
        found = f"it has {len(vector)}"
    else:
        pairs = enumerate(zip(vector, model, strict=True))
        mismatches = (mismatch(*pair, f"{where}[{index}]", of) for index, pair in pairs)
        return next(filter(None, mismatches), "")
    return f"{where} must have {len(model)} parts, as the {of} has; {found}"


def _finite(matrix: np.ndarray) -> np.ndarray:
    if not np.isfinite(matrix).all():
        raise NonFiniteHessianError(
            "the Hessian has NaN or infinite entries at this point; find out where with "
            "riemtr.check_hessian(problem, point)"
        )
    return matrix
