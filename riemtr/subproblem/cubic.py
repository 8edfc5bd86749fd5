r"""Steps of a cubic model, from the Krylov space of the gradient.

The model is

.. math:: \langle g, s \rangle + \tfrac12 \langle s, Hs \rangle + \tfrac{\sigma}{3} |s|^3.

Lanczos' recurrence from the gradient makes the Hessian tridiagonal on a growing subspace, where the
model is minimised exactly (Cartis, Gould and Toint, Math. Programming 127, 2011, section 6; on
manifolds: Agarwal, Boumal, Bullins and Cartis, Math. Programming 188, 2021).

For :math:`m(u) = \gamma' u + \tfrac12 \sum_i \lambda_i u_i^2 + \tfrac{\sigma}{3} |u|^3` in the
eigenbasis of its Hessian, a global minimiser is :math:`u_i = -\gamma_i / (\lambda_i + \lambda)`
with :math:`\lambda = \sigma |u|` and all :math:`\lambda_i + \lambda \ge 0` (Cartis, Gould and
Toint, Math. Programming 127, 2011, theorem 3.1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh_tridiagonal
from scipy.linalg.lapack import dstev

from riemtr.arguments import integer, is_real
from riemtr.errors import NonFiniteHessianError
from riemtr.manifolds.arrays import as_real, from_real
from riemtr.problem import Evaluation
from riemtr.subproblem.model import Ended, Model, Step, no_step
from riemtr.subproblem.truncated_cg import (
    STORED_ENTRIES,
    along_curvature,
    prefers_curvature,
    residual_target,
)

# Steps up to which LAPACK's plain QR iteration is the fastest for the tridiagonal matrix.
_FEW_STEPS = 64
# Share by which the space grows between two looks at the model, which cost as much as a product.
_BETWEEN_LOOKS = 8
# Share of the Newton step's length from which on the weight is not what limits a step.
_FREE = 0.9
# Weight, times the manifold's typical distance, over the size of the Hessian, which is taken at
# least: where curvature is negative, a step would otherwise be as long as the weight is small.
_LEAST_WEIGHT = 0.01
# Roundings of the cost beyond which its decrease along negative curvature tells something.
_TELLING_ROUNDINGS = 1e4
# Roundings of a product up to which a remainder of it is nothing but rounding.
_ROUNDINGS = 10.0


class GradientKrylov:
    """Lanczos' recurrence from the gradient at one point, as far as it has been taken.

    Attributes
    ----------
    rows : list of ndarray
        The orthonormal vectors, flattened.
    diagonal, offdiagonal : list of float
        The tridiagonal matrix; the last off-diagonal entry belongs to the next vector.
    """

    def __init__(self, here: Evaluation):
        self.here = here
        self.rows = np.zeros((4, as_real(here.gradient).size), dtype=here.gradient.real.dtype)
        self.rows[0] = as_real(here.gradient) / here.gradient.real.dtype.type(here.gradient_norm)
        self.diagonal: list[float] = []
        self.offdiagonal: list[float] = []

    @property
    def steps(self) -> int:
        """Number of products taken."""
        return len(self.diagonal)

    @property
    def is_exhausted(self) -> bool:
        """Whether the space holds the minimiser."""
        return bool(self.offdiagonal) and self.offdiagonal[-1] == 0.0

    def extend(self) -> None:
        """Take one more product."""
        here, count = self.here, self.steps
        vector = from_real(self.rows[count], here.gradient)
        image = here.hessian(vector)
        alpha = here.inner(vector, image)
        if not math.isfinite(alpha):
            raise NonFiniteHessianError(
                "a Hessian product is NaN or infinite; see riemtr.check_hessian(problem, point)"
            )
        self.diagonal.append(alpha)
        remainder = here.tangent(image - alpha * vector)
        size = here.norm(image)
        # Twice is enough: the second round removes what rounding left of the first.
        for _ in range(2):
            remainder = self._orthogonal(remainder)
        left = here.norm(remainder)
        if left <= _ROUNDINGS * here.precision * size or count + 1 >= here.manifold.dim:
            self.offdiagonal.append(0.0)
            return
        self.offdiagonal.append(left)
        if count + 1 == len(self.rows):
            self.rows = np.concatenate((self.rows, np.zeros_like(self.rows)))
        self.rows[count + 1] = as_real(remainder) / remainder.real.dtype.type(left)

    def _orthogonal(self, vector: np.ndarray) -> np.ndarray:
        """Return a vector without its parts along all rows."""
        here, known = self.here, self.rows[: self.steps]
        if here.manifold.dot_metric:
            flat = as_real(vector)
            return from_real(flat - (known @ flat) @ known, vector)
        for row in known:
            unit = from_real(row, vector)
            vector = vector - here.inner(unit, vector) * unit
        return vector

    def eigen(self) -> tuple[np.ndarray, np.ndarray]:
        """Return eigenvalues and eigenvectors of the tridiagonal matrix."""
        diagonal, beside = np.array(self.diagonal), np.array(self.offdiagonal[:-1])
        if self.steps <= _FEW_STEPS:
            values, vectors, failed = dstev(diagonal, beside if len(beside) else np.zeros(1))
            if not failed:
                return values, vectors
        return eigh_tridiagonal(diagonal, beside)


@dataclass(frozen=True)
class CubicKrylov:
    """The minimiser of a cubic model, in a Krylov space that grows until it is good enough.

    After a rejected step nothing is computed anew: the space does not depend on the weight.

    Parameters
    ----------
    kappa, theta : float
        Stop when the gradient of the model is below
        ``|g| * min(kappa, (|g| / |g_before|)**(1 + theta))``, as :class:`riemtr.TruncatedCG` does.
        Its kappa is smaller, since CG stops at the boundary as well, and this has none.
    max_products : int or None
        Limit on Hessian products per call; ``None`` means the manifold's dimension.

    Examples
    --------
    >>> import numpy as np, riemtr
    >>> here = riemtr.problems.build("rayleigh", rng=0, n=20).problem.at(np.eye(20)[0])
    >>> step = riemtr.CubicKrylov().at(here).step(100.0)
    >>> step.on_boundary, step.predicted_decrease > 0.0
    (True, True)
    """

    kappa: float = 0.3
    theta: float = 0.5
    max_products: int | None = None
    weighs = True

    def __post_init__(self) -> None:
        if not (is_real(self.kappa) and 0.0 < self.kappa < 1.0):
            raise ValueError(f"kappa must lie strictly between 0 and 1; got {self.kappa!r}")
        if not (is_real(self.theta) and self.theta >= 0.0):
            raise ValueError(f"theta must be at least 0; got {self.theta!r}")
        if self.max_products is not None:
            integer("max_products", self.max_products, or_else=", or None for the dimension")

    def at(self, here: Evaluation, before: Model | None = None) -> Model:
        """Return the model, which takes a weight in the radius's place."""
        last = before.here if isinstance(before, _CubicModel) else None
        target = residual_target(here, last, self.kappa, self.theta)
        return _CubicModel(here, target, self.max_products or max(here.manifold.dim, 1))


class _CubicModel:
    """The model at one point: the Krylov space of the gradient, which serves all weights."""

    def __init__(self, here: Evaluation, target: float, limit: int):
        self.here, self._target = here, target
        self._krylov = GradientKrylov(here) if here.gradient_norm > 0.0 else None
        if self._krylov is not None:
            self._limit = min(limit, max(STORED_ENTRIES // self._krylov.rows.shape[1], 1))

    def step(self, radius: float) -> Step:
        """Return the minimiser of the model whose weight comes in the radius's place."""
        here, krylov = self.here, self._krylov
        length = _length_along_curvature(here, radius)
        if length > 0.0 and prefers_curvature(here, length):
            return along_curvature(here, length)
        if krylov is None:
            return no_step(here)
        looked = 0
        while True:
            if krylov.steps == 0 or (krylov.steps <= looked and not krylov.is_exhausted):
                krylov.extend()
            last = krylov.is_exhausted or krylov.steps >= self._limit or here.clock.expired
            if not (last or krylov.steps > looked + looked // _BETWEEN_LOOKS):
                krylov.extend()
                continue
            looked = krylov.steps
            best = _best(krylov, radius)
            if last or best.residual <= self._target:
                return _step(krylov, best)


def _length_along_curvature(here: Evaluation, weight: float) -> float:
    """Return the best length of a step along the known direction of negative curvature."""
    known = here.known_curvature
    if known is None or not known.min_eigenvalue < 0.0:
        return 0.0
    weight = max(weight, _least_weight(here, known.size))
    limit = here.manifold.typical_dist / 5.0
    if weight == 0.0:
        return limit
    # A weight says nothing of steps so short that rounding hides their decrease.
    shortest = math.sqrt(2.0 * _TELLING_ROUNDINGS * here.noise / -known.min_eigenvalue)
    return min(max(-known.min_eigenvalue / weight, shortest), limit)


def _least_weight(here: Evaluation, size: float) -> float:
    return _LEAST_WEIGHT * size / here.manifold.typical_dist if here.manifold.bounded else 0.0


class _Best(NamedTuple):
    """The best point of a Krylov space, in its coordinates."""

    coordinates: np.ndarray
    multiplier: float
    norm: float
    decrease: float  # of the quadratic model
    residual: float  # norm of the model's gradient
    ended: Ended
    curvature: float  # the largest met


def _best(krylov: GradientKrylov, weight: float) -> _Best:
    """Return the minimiser of the model over the space."""
    here, size = krylov.here, krylov.here.gradient_norm
    values, vectors = krylov.eigen()
    largest = max(-float(values[0]), float(values[-1]))
    weight = max(weight, _least_weight(here, largest))
    if weight == 0.0 and values[0] <= 0.0:
        weight = largest / here.manifold.typical_dist or 1.0
    # The model is divided by the gradient's norm, or its squares would under- or overflow.
    linear = vectors[0]
    found, multiplier = minimise_cubic(values / size, linear, weight / size)
    multiplier *= size
    coordinates = vectors @ found
    norm = math.sqrt(float(found @ found))
    decrease = 0.5 * (multiplier * norm * norm - size * float(linear @ found))
    ended = Ended.BOUNDARY if values[0] > 0.0 else Ended.NEGATIVE_CURVATURE
    # The weight does not matter where the step would be hardly longer without it.
    if values[0] > 0.0 and norm >= _FREE * size * float(np.linalg.norm(linear / values)):
        ended = Ended.INTERIOR
    residual = krylov.offdiagonal[-1] * abs(float(coordinates[-1]))
    return _Best(coordinates, multiplier, norm, decrease, residual, ended, largest)


def _step(krylov: GradientKrylov, best: _Best) -> Step:
    """Return the best point of a Krylov space as a step."""
    here, count = krylov.here, krylov.steps
    coordinates = best.coordinates.astype(krylov.rows.dtype, copy=False)
    vector = here.tangent(from_real(coordinates @ krylov.rows[:count], here.gradient))
    image = -here.gradient - best.multiplier * vector
    if best.residual > 0.0:
        beyond = from_real(krylov.rows[count], here.gradient)
        image = image + (krylov.offdiagonal[-1] * float(coordinates[-1])) * beyond
    bounded = best.ended is not Ended.INTERIOR
    return Step(
        vector,
        image,
        best.norm,
        best.decrease,
        bounded,
        best.ended,
        None,
        best.curvature,
    )


# -- the cubic model in a few dimensions, minimised exactly ---------------------------------------

# About ten are needed; the bound only guarantees an end.
_MOST_ROUNDS = 200
_EPS = float(np.finfo(float).eps)


def minimise_cubic(
    curvatures: np.ndarray, linear: np.ndarray, weight: float
) -> tuple[np.ndarray, float]:
    """Return the global minimiser and its multiplier, weight times its length.

    Parameters
    ----------
    curvatures : ndarray, shape (k,)
        Eigenvalues of the Hessian, ascending.
    linear : ndarray, shape (k,)
        The gradient in the eigenbasis.
    weight : float
        Positive, or zero if all curvatures are positive.

    Examples
    --------
    >>> minimiser, multiplier = minimise_cubic(np.array([-1.0, 2.0]), np.array([0.0, 0.0]), 0.5)
    >>> minimiser, multiplier
    (array([2., 0.]), 1.0)
    """
    pole = max(-float(curvatures[0]), 0.0)
    gaps, sizes = curvatures + pole, np.abs(linear)
    if weight == 0.0:
        return -linear / curvatures, 0.0
    # With one component alone t (t + pole + gap) + pole gap = weight |gamma|, for the distance
    # t of the multiplier from the pole: the root of a quadratic without cancellation.
    half, product = 0.5 * (gaps + pole), weight * sizes - pole * gaps
    roots = np.sqrt(np.maximum(half * half + product, 0.0))
    bases = half + roots
    alone = np.divide(product, bases, out=np.zeros_like(gaps), where=bases > 0.0)
    distance = max(float(alone.max()), 0.0)
    present = sizes > 0.0
    found = np.zeros_like(linear)
    if distance == 0.0:
        inside = present & (gaps > 0.0)
        found[inside] = -linear[inside] / gaps[inside]
        missing = (pole / weight) ** 2 - float(found @ found)
        if missing >= 0.0:  # the hard case, or no gradient at all
            found[0] += math.sqrt(missing)
            return found, pole
    gaps, gamma = gaps[present], linear[present]
    for _ in range(_MOST_ROUNDS):
        # 1/|u| - weight/lambda is concave and increasing: from the left Newton's method rises to
        # the root, and the start is left of it, since one component alone is as long as that.
        multiplier, shifted = pole + distance, gaps + distance
        scaled = gamma / shifted
        length = math.sqrt(float(scaled @ scaled))
        excess = length * weight / multiplier - 1.0
        if excess <= 2.0 * _EPS:
            break
        slope = float(scaled @ (scaled / shifted)) / (length * length)
        following = distance + excess / (slope + length * weight / multiplier**2)
        if following <= distance:
            break
        distance = following
    found[present] = -scaled
    return found, multiplier
