"""All that is known about a problem at one point: computed on demand, once, and counted.

On top of cost, gradient and Hessian products: the Hessian's matrix, and the sign of its curvature.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from riemtr.errors import NonFiniteHessianError, OutOfTimeError
from riemtr.manifolds import (
    FlatBasis,
    TangentBasis,
    dimension,
    embed,
    riemannian_hessian,
    tangent_basis,
)
from riemtr.problem.curvature import (
    UNKNOWN_CURVATURE,
    Curvature,
    dense_curvature,
    is_clearly_positive,
    is_positive,
)
from riemtr.problem.lanczos import lanczos_curvature
from riemtr.problem.lazy import forget, is_known, lazy
from riemtr.problem.local_derivatives import LocalDerivatives
from riemtr.problem.shared_work import ROUGH_ACCURACY

# Dimension up to which the matrix is formed by products where Lanczos does not decide.
_FEW_PRODUCTS = 200


class Evaluation(LocalDerivatives):
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

    is_out_of_time: Callable[[], bool] = staticmethod(lambda: False)
    """Whether whoever asks wants no more than what is known by now of the curvature."""

    @lazy
    def basis(self) -> TangentBasis:
        """Orthonormal basis of the tangent space."""
        return tangent_basis(self.manifold, self.point)

    @property
    def offers_matrix(self) -> bool:
        """Whether the cost forms its Hessian matrix itself, cheaper than by products."""
        converts = self.hessian_kind == "euclidean"
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
        if isinstance(self.basis, FlatBasis) and self.point.dtype.kind == "f":
            return 0.5 * (ambient + ambient.T)
        return self._symmetric(lambda vector: self._ambient_product(ambient, vector))

    def _ambient_product(self, ambient: np.ndarray, vector: Any) -> Any:
        embedded = embed(self.manifold, self.point, vector)
        product = (ambient @ embedded.ravel()).reshape(embedded.shape)
        return riemannian_hessian(self.manifold, self.point, self._raw_gradient, product, vector)

    def _symmetric(self, product: Any) -> np.ndarray:
        basis = self.basis
        matrix = np.empty((basis.dim, basis.dim))
        for column, unit in enumerate(np.eye(basis.dim)):
            if self.is_out_of_time():
                raise OutOfTimeError(f"after {column} of {basis.dim} columns of the Hessian matrix")
            matrix[:, column] = basis.coordinates(product(basis.vector(unit)))
        return 0.5 * (matrix + matrix.T)

    def hessian_matrix(self) -> np.ndarray:
        """Matrix of the Riemannian Hessian in the coordinates of :attr:`basis`."""
        return self._matrix

    def step_matrix(self) -> np.ndarray:
        """The Hessian matrix to the accuracy that steps need.

        In single precision where the cost offers that at a lower price, and no better is known.
        """
        return _finite(self._rough_matrix if self._is_rough else self._matrix)

    @property
    def _is_rough(self) -> bool:
        offers_rough = self.offers_matrix and hasattr(self._local, "rough_hessian_matrix")
        return offers_rough and not self.has_matrix

    @property
    def has_step_matrix(self) -> bool:
        """Whether :meth:`step_matrix` is already known."""
        return self.has_matrix or is_known(self, "_rough_matrix")

    @lazy
    def eigh(self) -> tuple[np.ndarray, np.ndarray]:
        """Eigenvalues and eigenvectors of the Hessian matrix, in ascending order."""
        return np.linalg.eigh(_finite(self.hessian_matrix()))

    @property
    def has_matrix(self) -> bool:
        """Whether the Hessian matrix is already known."""
        return is_known(self, "_matrix")

    def release(self) -> None:
        """Let go of what the cost keeps of the point, which may be as long as its data.

        It is computed anew where it is asked for.
        """
        forget(self, "_local")

    def follow(self, earlier: Evaluation) -> None:
        """Take over from an earlier point of the same run what may save a matrix here, and time."""
        self._record = earlier.hessian_record
        self.is_out_of_time = earlier.is_out_of_time

    _record: Any = None

    @property
    def hessian_record(self) -> Any:
        """What the cost can use at later points of the last Hessian matrix that was formed."""
        own = getattr(self._local, "hessian_record", None) if is_known(self, "_local") else None
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
        positive = is_clearly_positive(
            self, self._riemannian(floor), tolerance, 2.0 * ROUGH_ACCURACY
        )
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
        try:
            found = self._find_curvature(tolerance)
        # Of the cost, beside its domain, or with very many variables.
        except (np.linalg.LinAlgError, NonFiniteHessianError, OutOfTimeError, MemoryError):
            found = UNKNOWN_CURVATURE
        self._curvature = found.not_below(self._proved_bound)
        return self._curvature

    def _find_curvature(self, tolerance: float) -> Curvature:
        if self.offers_matrix or self.has_matrix:
            return dense_curvature(self)
        found = lanczos_curvature(self, tolerance)
        small = dimension(self.manifold) <= _FEW_PRODUCTS and math.isfinite(found.min_eigenvalue)
        return dense_curvature(self) if small and not found.decides(tolerance) else found

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
                decided = is_positive(self, self._rough_matrix, tolerance, ROUGH_ACCURACY)
            if decided is None:
                decided = is_positive(self, self._matrix, tolerance)
            self._is_negative = decided is False
        if decided is None:
            curvature = self.curvature(tolerance)
            if curvature.decides(tolerance):
                decided = curvature.lower_bound >= -tolerance
        return decided


def _finite(matrix: np.ndarray) -> np.ndarray:
    if not np.isfinite(matrix).all():
        raise NonFiniteHessianError(
            "the Hessian has NaN or infinite entries at this point; find out where with "
            "riemtr.check_hessian(problem, point)"
        )
    return matrix
