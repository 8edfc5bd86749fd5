"""Phase retrieval: a complex vector from the sizes of linear measurements."""

from __future__ import annotations

import math

import numpy as np

from riemtr.arguments import check_nonnegative, integer
from riemtr.errors import ArgumentError
from riemtr.manifolds import Euclidean
from riemtr.problem import Problem
from riemtr.problem.books import lazy
from riemtr.problem.pullback import DerivativeBounds, gamma
from riemtr.problems.random_data import apart
from riemtr.problems.registry import Case, Truth, register


class PhaseRetrievalCost:
    """The mean squared error of squared sizes of complex measurements, over 4.

    Parameters
    ----------
    vectors : ndarray, shape (m, n)
        Measurement k of z is the product of row k with z.
    squares : ndarray, shape (m,)
        The squared sizes that were measured.
    """

    def __init__(self, vectors: np.ndarray, squares: np.ndarray):
        self.vectors, self.squares = vectors, squares
        self.adjoint = np.ascontiguousarray(vectors.conj().T)

    @lazy
    def size(self) -> float:
        """Bound of the squared norm of the matrix of measurements."""
        sums = np.abs(self.adjoint @ self.vectors).sum(axis=1)
        return float(sums.max()) + gamma(4 * self.vectors.size) * float(
            np.linalg.norm(self.vectors) ** 2
        )

    def at(self, point: np.ndarray) -> PhaseRetrievalPoint:
        """Return the shared work at one point."""
        return PhaseRetrievalPoint(self, point)


class PhaseRetrievalPoint:
    """The error at one point: one product with the measurements serves everything."""

    def __init__(self, owner: PhaseRetrievalCost, point: np.ndarray):
        self._owner, self._point = owner, point
        self._measured = owner.vectors @ (point[0] + 1j * point[1])
        self._errors = np.abs(self._measured) ** 2 - owner.squares

    @lazy
    def value(self) -> float:
        """The cost."""
        return 0.25 * float(np.mean(self._errors**2))

    @lazy
    def gradient(self) -> np.ndarray:
        """Euclidean gradient by real and imaginary parts."""
        return self._returned(self._errors * self._measured)

    def hessian(self, vector: np.ndarray) -> np.ndarray:
        """Euclidean Hessian product."""
        along = self._owner.vectors @ (vector[0] + 1j * vector[1])
        changes = 2.0 * (self._measured.conj() * along).real
        return self._returned(self._errors * along + changes * self._measured)

    def derivative_bounds(self, radius: float) -> DerivativeBounds:
        r"""Bounds of the derivatives of a quartic.

        One measurement a, of size s = \|az\| and error e, has along u the second derivative
        :math:`2 \operatorname{Re}(\overline{az}\,au)^2 + e|au|^2` and the third
        :math:`6 \operatorname{Re}(\overline{az}\,au)|au|^2`.
        """
        owner, precision = self._owner, float(np.finfo(self._errors.dtype).eps)
        count, n = owner.vectors.shape
        sizes, errors = np.abs(self._measured), np.abs(self._errors)
        lengths = np.linalg.norm(owner.vectors, axis=1)
        hessian = float(np.max(2.0 * sizes**2 + errors)) * owner.size / count
        third = 6.0 * float(np.max((sizes + lengths * radius) * lengths)) * owner.size / count
        # Errors of measurements, of their squares, and of the terms of the gradient.
        measured = gamma(4 * n + 16, precision) * lengths * float(np.linalg.norm(self._point))
        squared = 2.0 * (sizes + measured) * measured
        squared += 4.0 * precision * (sizes**2 + np.abs(owner.squares))
        terms = errors * measured + squared * (sizes + measured)
        terms += gamma(4 * count + 32, precision) * errors * sizes
        gradient = float(terms @ lengths) / count
        products = squared + 4.0 * sizes * measured
        products += gamma(4 * (count + n) + 32, precision) * (2.0 * sizes**2 + errors)
        curvature = float(products @ lengths**2) / count
        return DerivativeBounds(hessian, third, gradient, curvature)

    def _returned(self, values: np.ndarray) -> np.ndarray:
        image = self._owner.adjoint @ values / len(values)
        return np.stack([image.real, image.imag])


@register("phase-retrieval")
def phase_retrieval(
    rng: np.random.Generator, n: int = 20, m: int | None = None, noise: float = 0.0
) -> Case:
    r"""Phase retrieval: a complex vector from the sizes of Gaussian measurements.

    Of measurements :math:`a_k^* x` of a complex vector x only the squared sizes
    :math:`y_k = |a_k^* x|^2` are kept, as by a detector of light. The vector is found, up to one
    factor of modulus 1, by

    .. math:: \min_{z \in C^n} \frac{1}{4m} \sum_{k=1}^m \left(|a_k^* z|^2 - y_k\right)^2.

    A complex vector is two rows, real and imaginary part: the manifold is ``Euclidean(2, n)``, and
    derivatives are those by both. The factor of modulus 1 is named as a symmetry.

    Sun, Qu and Wright show that, with high probability and :math:`m \ge C n \log^3 n` Gaussian
    measurements, the cost has no minimizers but x and its multiples, and that every other critical
    point has a direction of negative curvature; it is one of the nonconvex problems of the
    introduction to the paper that riemtr implements. ``truth.error`` is that from the planted
    vector, as good as one factor makes it, over its length. Without noise the minimum is zero.

    Parameters
    ----------
    n : int
        Length of the vector.
    m : int, optional
        Number of measurements, 8 n if not given; at least 4 n - 4 for a unique solution.
    noise : float
        Standard deviation of the noise on the squared sizes, which are 1 on average.

    References
    ----------
    Sun, Qu and Wright, *A geometric analysis of phase retrieval*, Foundations of Computational
    Mathematics 18 (2018). Candès, Li and Soltanolkotabi, *Phase retrieval via Wirtinger flow*, IEEE
    Transactions on Information Theory 61 (2015).
    """
    rng = apart(rng)
    n = integer("n", n, low=1)
    m = 8 * n if m is None else integer("m", m, low=1)
    if m < max(4 * n - 4, n):
        raise ArgumentError("m", f"be at least 4 n - 4 = {4 * n - 4}", m, "measure more")
    check_nonnegative("noise", noise)
    planted = rng.standard_normal((2, n))
    planted /= np.linalg.norm(planted)
    vectors = (rng.standard_normal((m, n)) + 1j * rng.standard_normal((m, n))) / math.sqrt(2.0)
    hidden = planted[0] + 1j * planted[1]
    squares = np.abs(vectors @ hidden) ** 2 + noise * rng.standard_normal(m)

    def error(point: np.ndarray) -> float:
        found = point[0] + 1j * point[1]
        factor = np.vdot(found, hidden)
        factor = factor / abs(factor) if factor != 0.0 else 1.0
        return float(np.linalg.norm(found * factor - hidden))

    manifold = Euclidean(2, n)
    problem = Problem(
        manifold,
        PhaseRetrievalCost(vectors, squares),
        symmetries=lambda point: [np.stack([-point[1], point[0]])],
    )
    truth = Truth(
        cost=0.0 if noise == 0.0 else None,
        distance=error if noise == 0.0 else None,
        details={"vectors": vectors, "squares": squares},
        point=planted,
        error=error,
    )
    start = rng.standard_normal((2, n)) / math.sqrt(2.0 * n)
    return Case(problem, start, truth)
