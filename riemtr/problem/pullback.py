r"""The cost pulled back to a tangent space by the exponential map, and bounds of its derivatives.

Near a point X the cost f is :math:`F(V) = f(\exp_X V)`, a function on a Euclidean space. Its
gradient and Hessian at 0 are the Riemannian ones. Its third derivative follows from bounds of the
Euclidean derivatives of f, which a cost may offer (:class:`DerivativeBounds`), and from those of
the exponential map, which are the same for all matrices with orthonormal columns:

**Geodesics.** On spheres, Stiefel and Grassmann manifolds and rotations, and on products of
them, with the metric of the space of matrices, geodesics solve :math:`Y'' = -Y\,Y'^T Y'`. The
power series of :math:`\exp_X V` in V is therefore majorised by the solution of
:math:`Z'' = Z Z'^2` with :math:`Z(0) = Z'(0) = 1`: replace every factor V of a term by its norm t,
every X by 1 and every sign by plus. So :math:`|D^j \exp_X(V)[U, \dots, U]| \le Z^{(j)}(t) |U|^j`.
The first integral is :math:`Z' = \exp((Z^2 - 1)/2)`. For :math:`t \le 1/4` it gives
:math:`Z' \le z_1 = \exp(2t + 2t^2)` and :math:`Z \le z = 1 + t z_1`, and with them
:math:`Z'' \le z_2 = z z_1^2` and :math:`Z''' \le z_3 = z_1^3 (1 + 2 z^2)`; at 0 they are 1, 1, 3.

**The cost.** On the manifold f is the same as its Lagrangian
:math:`\ell(Y) = f(Y) - \tfrac12 \langle S, Y^TY - I \rangle` with
:math:`S = \operatorname{sym}(X^T \nabla f(X))`, whose Euclidean gradient at X is the Riemannian
gradient g. With :math:`|D^2 f(X)| \le M_2` and with :math:`|D^3 f| \le M_3` within t of X, the
chain rule gives, for :math:`m = M_2 + M_3 t + |S|`,

.. math:: |D^3 F(V)| \le M_3 z_1^3 + 3 m z_1 z_2 + (|g| + m t) z_3 \qquad (|V| \le t \le 1/4).

In a Euclidean space it is :math:`M_3` alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from riemtr.manifolds.arrays import as_real

if TYPE_CHECKING:
    from riemtr.problem.evaluation import Evaluation

# The largest distance at which the bounds of the exponential map's derivatives were derived.
_FARTHEST = 0.25
# Roundings per entry of the columns that LAPACK's Householder reflections make, at most (Higham,
# Accuracy and Stability of Numerical Algorithms, section 19.3, whose constant is a small integer).
_REFLECTED = 10
# What evaluating a bound itself in floating point may take off it, many times over.
_SLACK = 1.0 + 1e-6


@dataclass(frozen=True)
class DerivativeBounds:
    """Bounds of the Euclidean derivatives of a cost at a point, and of their rounding errors.

    Norms of arrays are those of all their entries in a row; norms of derivatives are the largest
    values for unit vectors.

    Attributes
    ----------
    hessian : float
        Bound of the second derivative at the point.
    third : float
        Bound of the third derivative at all points within the radius asked for, or a Lipschitz
        constant of the second derivative there.
    gradient_error : float
        How far the gradient, as it was computed at the point, may be from the exact one.
    hessian_error : float
        The same for the Hessian product with a unit vector; where the cost forms its Hessian
        matrix, for the matrix as well.
    """

    hessian: float
    third: float
    gradient_error: float
    hessian_error: float


def gamma(operations: float, precision: float = float(np.finfo(float).eps)) -> float:
    r"""Relative error of that many roundings in a row, :math:`ku/(1 - ku)`, in any order of a sum.

    Parameters
    ----------
    operations : float
        The number k; 2 more for each product of complex numbers, and twice as many in all.
    precision : float
        Machine epsilon, 2 u.
    """
    share = 0.5 * operations * precision
    return share / (1.0 - share) if share < 1.0 else math.inf


class Pullback:
    """The cost pulled back to the tangent space at a point, for costs that bound derivatives.

    The exact point is the one of the manifold nearest to the array: :attr:`off` bounds their
    distance. All errors below are those of computed quantities beside exact ones at that point.

    Parameters
    ----------
    here : Evaluation
        At a point of matrices with orthonormal columns or of a Euclidean space, with a cost that
        offers ``derivative_bounds(radius)``; see :func:`pullback`.

    Attributes
    ----------
    off : float
        Distance of the array from the manifold.
    gradient_error : float
        Error of the Riemannian gradient.
    matrix_error : float
        Error of the Hessian matrix in the coordinates of ``here.basis``, in the spectral norm.
    """

    def __init__(self, here: Evaluation, frames: list[np.ndarray], bounds: DerivativeBounds):
        self._here, self._curved = here, bool(frames)
        precision = here.precision
        slopes = here.manifold.frames(here.euclidean_gradient) or []
        squares, projected, multiplier, block = 0.0, 0.0, 0.0, 0.0
        rows = columns = 0
        for frame, slope in zip(frames, slopes, strict=True):
            rows, columns = max(rows, frame.shape[1]), max(columns, frame.shape[2])
            gram = frame.swapaxes(1, 2) @ frame
            rounded = np.abs(frame).swapaxes(1, 2) @ np.abs(frame)
            # A singular value is as near to 1 as its square is.
            away = float(np.linalg.norm(gram - np.eye(frame.shape[2])))
            away += gamma(frame.shape[1] + 1, precision) * float(np.linalg.norm(rounded))
            squares += away**2
            absolute = np.abs(frame).swapaxes(1, 2) @ np.abs(slope)
            projected = math.hypot(projected, float(np.linalg.norm(absolute)))
            inside = frame.swapaxes(1, 2) @ slope
            bends = np.linalg.norm(0.5 * (inside + inside.swapaxes(1, 2)), axis=(1, 2))
            multiplier = max(multiplier, float(bends.max(initial=0.0)))
            block = max(block, float(np.linalg.norm(slope, axis=(1, 2)).max(initial=0.0)))
        self.off = math.sqrt(squares)
        self._multiplier = multiplier + gamma(rows + 2, precision) * projected
        self._hessian = bounds.hessian
        root = math.sqrt(columns)
        # Projections: the products X'G and X S, and their sums.
        one = gamma(rows + columns + 4, precision)
        projection = one * (here.conversion_size + (1.0 + root) * projected)
        # Between the array and the exact point, gradients and projections change.
        size = bounds.hessian + 2.0 * block
        moved = self.off * (size + bounds.third * self.off)
        self._basis_error = 10.0 * self.off
        self._basis_error += math.sqrt(rows) * gamma(_REFLECTED * rows * columns, precision)
        self.gradient_error = _SLACK * (
            bounds.gradient_error
            + projection
            + moved
            + self._basis_error * (here.gradient_norm + projection)
        )
        converted = one * 8.0 * columns * root * size
        column = bounds.hessian_error + converted + precision * size
        moved = self.off * (bounds.third + 4.0 * size)
        self._size = size
        self.matrix_error = _SLACK * (
            math.sqrt(here.manifold.dim) * column + moved + 2.0 * self._basis_error * size
        )

    def widened(self, angle: float) -> tuple[float, float]:
        """Return the errors of gradient and matrix on a subspace whose basis is off by an angle."""
        gradient = self.gradient_error + angle * self._here.gradient_norm
        return gradient, self.matrix_error + 2.0 * angle * self._size

    def lipschitz(self, radius: float) -> float:
        """Return a Lipschitz constant of the Hessian of F on the ball of a radius."""
        bounds = self._here.derivative_bounds(radius + self.off)
        assert bounds is not None
        if not self._curved:
            return _SLACK * bounds.third
        if radius > _FARTHEST:
            return math.inf
        z1 = math.exp(2.0 * radius + 2.0 * radius**2)
        z = 1.0 + radius * z1
        z2, z3 = z * z1**2, z1**3 * (1.0 + 2.0 * z**2)
        size = self._hessian + bounds.third * (radius + self.off) + self._multiplier
        slope = self._here.gradient_norm + self.gradient_error + size * radius
        return _SLACK * (bounds.third * z1**3 + 3.0 * size * z1 * z2 + slope * z3)


def pullback(here: Evaluation) -> Pullback | None:
    """Return the cost pulled back to the tangent space, where its derivatives are bounded."""
    frames = here.manifold.frames(here.point)
    if frames is None or any(frame.dtype.kind == "c" for frame in frames):
        return None
    if here.hessian_kind != "euclidean" or not np.isfinite(as_real(here.gradient)).all():
        return None
    bounds = here.derivative_bounds(0.0)
    return None if bounds is None else Pullback(here, frames, bounds)
