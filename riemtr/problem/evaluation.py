"""All that is known about a problem at one point: computed on demand, once, and counted."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from riemtr.manifolds import (
    Sphere,
    TangentBasis,
    riemannian_gradient,
    riemannian_hessian,
    tangent_basis,
    to_tangent,
    transport,
)
from riemtr.problem.autodiff import NotDifferentiableError, UnverifiedError
from riemtr.problem.counts import Counts
from riemtr.problem.curvature import (
    Curvature,
    dense_curvature,
    is_clearly_positive,
    is_positive,
)
from riemtr.problem.lanczos import lanczos_curvature
from riemtr.problem.layout import flatten
from riemtr.problem.lazy import lazy

if TYPE_CHECKING:
    from riemtr.problem.problem import Problem


# Accuracy of a matrix multiplied in single precision, with room for its sums.
_ROUGH = 1e-5


@dataclass(frozen=True)
class Derivatives:
    """What kind the derivatives of a cost are of.

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
    was asked for what.

    Examples
    --------
    >>> import numpy as np, riemtr
    >>> matrix = np.diag([1.0, 2.0])
    >>> problem = riemtr.Problem(riemtr.Sphere(2), lambda x: x @ matrix @ x)
    >>> here = problem.at(np.array([0.0, 1.0]))
    >>> here.cost, here.gradient_norm, here.hessian_matrix()
    (2.0, 0.0, array([[-2.]]))
    """

    def __init__(self, problem: Problem, point: Any, counts: Counts):
        self.problem = problem
        self.manifold = problem.manifold
        self.point = point
        self.counts = counts
        self._local = problem.cost.at(point)

    @lazy
    def cost(self) -> float:
        """The cost."""
        self.counts.costs += 1
        value = self._local.value
        if isinstance(value, np.ndarray) and value.size == 1:
            value = value.reshape(())
        try:
            return float(value)
        except (TypeError, ValueError):
            raise ValueError(
                f"the cost must return one real number; it returned {value!r}"
            ) from None

    @lazy
    def _raw_gradient(self) -> Any:
        self.counts.gradients += 1
        gradient = self.in_precision(self._local.gradient)
        if isinstance(self.point, np.ndarray) and np.shape(gradient) != self.point.shape:
            raise ValueError(
                f"the gradient must have the shape of the point, {self.point.shape}; it has "
                f"{np.shape(gradient)}"
            )
        return gradient

    def in_precision(self, vector: Any) -> Any:
        """Return the vector with the point's floating-point type, so that float32 stays float32."""
        if isinstance(vector, np.ndarray) and isinstance(self.point, np.ndarray):
            dtype = self.point.dtype
            return vector if vector.dtype == dtype else vector.astype(dtype)
        return vector

    def _as_tangent(self, vector: Any) -> Any:
        """Return a user's plain sequence of arrays as a tangent vector, which adds and scales."""
        if type(vector) in (list, tuple):
            return self.manifold.zero_vector(self.point) + vector
        return vector

    @lazy
    def gradient(self) -> Any:
        """Riemannian gradient."""
        if self.problem.derivatives.gradient == "riemannian":
            return self._as_tangent(self._raw_gradient)
        return riemannian_gradient(self.manifold, self.point, self._raw_gradient)

    @lazy
    def gradient_norm(self) -> float:
        """Norm of the Riemannian gradient."""
        return float(self.norm(self.gradient))

    def inner(self, vector_a: Any, vector_b: Any) -> float:
        """Inner product of tangent vectors at the point."""
        return float(self.manifold.inner_product(self.point, vector_a, vector_b).real)

    def norm(self, vector: Any) -> float:
        """Norm of a tangent vector at the point."""
        # Not manifold.norm: rounding can make the square of a tiny vector negative.
        return math.sqrt(max(self.inner(vector, vector), 0.0))

    def tangent(self, vector: Any) -> Any:
        """Remove what rounding has left of a vector outside the tangent space."""
        return to_tangent(self.manifold, self.point, vector)

    def hessian(self, vector: Any) -> Any:
        """Riemannian Hessian product."""
        kinds = self.problem.derivatives
        if kinds.hessian == "differences":
            return self._difference(vector)
        if not hasattr(self._local, "hessian"):
            self.problem.use_differences()
            return self._difference(vector)
        try:
            product = self._product(vector, kinds)
        except UnverifiedError:  # here only: elsewhere it can be told
            return self._difference(vector)
        except NotDifferentiableError:
            self.problem.use_differences()
            return self._difference(vector)
        self.counts.hessian_products += 1
        return product

    def _product(self, vector: Any, kinds: Derivatives) -> Any:
        if kinds.hessian == "riemannian":
            return self._as_tangent(self.in_precision(self._local.hessian(vector)))
        embedded = vector
        if kinds.embeds_vectors:
            embedded = self.manifold.embedding(self.point, vector)
        product = self.in_precision(self._local.hessian(embedded))
        return riemannian_hessian(self.manifold, self.point, self._raw_gradient, product, vector)

    def _difference(self, vector: Any) -> Any:
        length = self.norm(vector)
        self.counts.hessian_products += 1
        if length == 0.0:
            return self.manifold.zero_vector(self.point)
        # The cube root of the precision balances truncation and rounding of central differences.
        step = float(np.cbrt(self.precision)) / length
        ahead, behind = (self._gradient_nearby(sign * step * vector) for sign in (1.0, -1.0))
        return (ahead - behind) * (0.5 / step)

    def _gradient_nearby(self, displacement: Any) -> Any:
        point = self.manifold.retraction(self.point, displacement)
        nearby = type(self)(self.problem, point, self.counts)
        return transport(self.manifold, nearby.point, self.point, nearby.gradient)

    def precondition(self, vector: Any) -> Any:
        """Apply the problem's preconditioner (the identity if it has none)."""
        if self.problem.preconditioner is None:
            return vector
        return self.problem.preconditioner(self.point, vector)

    @lazy
    def precision(self) -> float:
        """Machine epsilon of the coarser of the point's floating-point type and the cost's."""
        return self.problem.precision(self.point)

    @lazy
    def conversion_size(self) -> float:
        """Size of what the Riemannian Hessian is the difference of: the Euclidean gradient's.

        Where it is large beside the Hessian, the digits they share are lost.
        """
        if self.problem.derivatives.hessian != "euclidean":
            return 0.0
        parts = flatten(self._raw_gradient, getattr(self.manifold, "point_layout", 1))
        return math.sqrt(sum(float(np.vdot(part, part).real) for part in parts))

    @lazy
    def basis(self) -> TangentBasis:
        """Orthonormal basis of the tangent space."""
        return tangent_basis(self.manifold, self.point)

    @property
    def offers_matrix(self) -> bool:
        """Whether the cost forms its Hessian matrix itself, cheaper than by products."""
        converts = self.problem.derivatives.hessian == "euclidean"
        one_array = isinstance(self.point, np.ndarray)
        return converts and one_array and hasattr(self._local, "hessian_matrix")

    @lazy
    def _matrix(self) -> np.ndarray:
        if not self.offers_matrix:
            return self._symmetric(self.hessian)
        self.counts.hessian_matrices += 1
        return self._riemannian(self._local.hessian_matrix())

    @lazy
    def _rough_matrix(self) -> np.ndarray:
        self.counts.hessian_matrices += 1
        return self._riemannian(self._local.rough_hessian_matrix())

    def _riemannian(self, ambient: np.ndarray) -> np.ndarray:
        """Matrix of the Riemannian Hessian from that of the Euclidean one."""
        if isinstance(self.manifold, Sphere):
            basis = self.manifold.tangent_basis(self.point)
            return self.manifold.riemannian_hessian_matrix(basis, self._raw_gradient, ambient)
        return self._symmetric(lambda vector: self._ambient_product(ambient, vector))

    def _ambient_product(self, ambient: np.ndarray, vector: Any) -> Any:
        embedded = self.manifold.embedding(self.point, vector)
        product = (ambient @ embedded.ravel()).reshape(embedded.shape)
        return riemannian_hessian(self.manifold, self.point, self._raw_gradient, product, vector)

    def _symmetric(self, product: Any) -> np.ndarray:
        basis = self.basis
        matrix = np.empty((basis.dim, basis.dim))
        for column, unit in enumerate(np.eye(basis.dim)):
            matrix[:, column] = basis.coordinates(product(basis.vector(unit)))
        return 0.5 * (matrix + matrix.T)

    def hessian_matrix(self) -> np.ndarray:
        """Matrix of the Riemannian Hessian in the coordinates of :attr:`basis`."""
        return self._matrix

    def step_matrix(self) -> np.ndarray:
        """The Hessian matrix to the accuracy that steps need.

        In single precision where the cost offers that at a lower price, and no better is known.
        """
        return self._rough_matrix if self._is_rough else self._matrix

    @property
    def _is_rough(self) -> bool:
        offers_rough = self.offers_matrix and hasattr(self._local, "rough_hessian_matrix")
        return offers_rough and not self.has_matrix

    @property
    def has_step_matrix(self) -> bool:
        """Whether :meth:`step_matrix` is already known."""
        return self.has_matrix or "_rough_matrix" in self.__dict__

    @lazy
    def eigh(self) -> tuple[np.ndarray, np.ndarray]:
        """Eigenvalues and eigenvectors of the Hessian matrix, in ascending order."""
        matrix = self.hessian_matrix()
        if not np.all(np.isfinite(matrix)):
            raise ValueError(
                "the Hessian has NaN or infinite entries at this point; find out where with "
                "riemtr.check_hessian(problem, point)"
            )
        return np.linalg.eigh(matrix)

    @property
    def has_matrix(self) -> bool:
        """Whether the Hessian matrix is already known."""
        return "_matrix" in self.__dict__

    def follow(self, earlier: Evaluation) -> None:
        """Take over what an earlier point of the same run knows that may save a matrix here."""
        self._record = earlier.hessian_record

    _record: Any = None

    @property
    def hessian_record(self) -> Any:
        """What the cost can use at later points of the last Hessian matrix that was formed."""
        own = getattr(self._local, "hessian_record", None)
        return self._record if own is None else own

    def _has_positive_floor(self, tolerance: float) -> bool:
        """Whether an earlier point's Hessian matrix shows that this one is positive as well."""
        offer = getattr(self._local, "hessian_floor", None)
        if offer is None or self._record is None or self.has_step_matrix:
            return False
        floor = offer(self._record)
        if floor is None:
            return False
        self.counts.hessian_matrices += 1
        positive = is_clearly_positive(self, self._riemannian(floor), tolerance, 2.0 * _ROUGH)
        if positive:
            self._proved_bound = -tolerance
        return positive

    def curvature(self, tolerance: float) -> Curvature:
        """Smallest Hessian eigenvalue, known well enough to compare it with ``-tolerance``.

        Dense where the matrix is cheap or known, else by Lanczos, which stops as soon as the
        comparison is decided.
        """
        known = self._curvature
        if known is not None and known.decides(tolerance):
            return known
        if self.offers_matrix or self.has_matrix:
            found = dense_curvature(self)
        else:
            found = lanczos_curvature(self, tolerance)
        self._curvature = found.not_below(self._proved_bound)
        return self._curvature

    _curvature: Curvature | None = None
    _proved_bound = -math.inf  # of the smallest eigenvalue, by a floor
    _is_negative = False

    @property
    def known_curvature(self) -> Curvature | None:
        """The curvature, where it was asked for or is known to be negative."""
        if self._curvature is None and self._is_negative:
            self._curvature = dense_curvature(self)
        return self._curvature

    def is_positive_to(self, tolerance: float) -> bool | None:
        """Whether no Hessian eigenvalue is below ``-tolerance``, decided the cheapest way.

        Cholesky factorizations decide it at a fraction of the price of an eigenvalue, and the
        matrix for steps is mostly accurate enough. None where rounding leaves it open.
        """
        decided = None
        if self._curvature is None and (self.offers_matrix or self.has_matrix):
            if self._has_positive_floor(tolerance):
                return True
            # What is not positive needs its matrix in any case, to be left.
            if self._is_rough:
                decided = is_positive(self, self._rough_matrix, tolerance, _ROUGH)
            if decided is None:
                decided = is_positive(self, self._matrix, tolerance)
            self._is_negative = decided is False
        if decided is None:
            curvature = self.curvature(tolerance)
            if curvature.decides(tolerance):
                decided = curvature.lower_bound >= -tolerance
        return decided
