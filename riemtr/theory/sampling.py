"""Points of the sphere by region, with all that inequalities of the paper need to know of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import null_space

from riemtr.problems.dictionary_learning import DictionaryCost
from riemtr.theory.chart import OUTER_RADIUS, Chart, Frame, inner_radius

# Steps in units of mu below which the change of h is taken from the ratio of hyperbolic cosines.
_SMALL_STEP = 1.0


@dataclass(frozen=True, eq=False)
class Local:
    """The cost and its derivatives at one point, on the sphere and in one chart.

    Attributes
    ----------
    q : ndarray, shape (n,)
    chart : Chart
    value : float
    nabla : ndarray, shape (n,)
        Euclidean gradient (eq. fq_grad).
    nabla2 : ndarray, shape (n, n)
        Euclidean Hessian (eq. fq_hess).
    """

    q: np.ndarray
    chart: Chart
    value: float
    nabla: np.ndarray
    nabla2: np.ndarray

    @cached_property
    def w(self) -> np.ndarray:
        """Coordinates in the chart."""
        return self.chart.w(self.q)

    @cached_property
    def length(self) -> float:
        """Length of w."""
        return float(np.linalg.norm(self.w))

    @cached_property
    def gradient(self) -> np.ndarray:
        """Riemannian gradient (eq. fq_rie_grad)."""
        return self.nabla - float(self.nabla @ self.q) * self.q

    @cached_property
    def gradient_norm(self) -> float:
        """Norm of the Riemannian gradient."""
        return float(np.linalg.norm(self.gradient))

    @cached_property
    def hessian(self) -> np.ndarray:
        """Riemannian Hessian as an n x n matrix, zero along q (eq. fq_rie_hess)."""
        n = len(self.q)
        projector = np.eye(n) - np.outer(self.q, self.q)
        shifted = self.nabla2 - float(self.nabla @ self.q) * np.eye(n)
        return projector @ shifted @ projector

    @cached_property
    def basis(self) -> np.ndarray:
        """An orthonormal basis of the tangent space, shape (n, n - 1)."""
        return null_space(self.q[None, :])

    @cached_property
    def eigenvalues(self) -> np.ndarray:
        """Eigenvalues of the Riemannian Hessian on the tangent space, ascending."""
        return np.linalg.eigvalsh(self.basis.T @ self.hessian @ self.basis)

    @cached_property
    def radial_gradient(self) -> float:
        """``w' grad g(w) / |w|``, the derivative away from the atom in the chart."""
        return float(self.chart.gradient(self.w, self.nabla) @ self.w) / self.length

    @cached_property
    def chart_hessian(self) -> np.ndarray:
        """Hessian of g at w, shape (n - 1, n - 1)."""
        return self.chart.hessian(self.w, self.nabla, self.nabla2)

    @cached_property
    def radial_curvature(self) -> float:
        """``w' Hess g(w) w / |w|^2``, the curvature away from the atom in the chart."""
        return float(self.w @ self.chart_hessian @ self.w) / self.length**2


def local(frame: Frame, q: np.ndarray, chart: Chart | None = None) -> Local:
    """Return the cost at a point, in a chart or in that of the nearest atom."""
    here = frame.cost.at(q)
    chart = frame.nearest(q) if chart is None else chart
    return Local(q, chart, here.value, here.gradient, here.hessian_matrix())


def in_region(frame: Frame, region: int, rng: np.random.Generator) -> np.ndarray:
    """Draw a point of one region: every section alike, every direction of w, and |w| spread out.

    The length is uniform in region I, uniform in its logarithm in region II. In region III it is
    uniform up to where another atom is nearer, which depends on the direction.
    """
    chart = frame.chart(int(rng.integers(2 * frame.n)))
    direction = rng.standard_normal(frame.n - 1)
    direction /= np.linalg.norm(direction)
    inner = inner_radius(frame.cost.mu)
    if region == 0:
        length = inner * rng.random()
    elif region == 1:
        length = inner * (OUTER_RADIUS / inner) ** rng.random()
    else:
        # Another atom is nearer as soon as |w_i| exceeds sqrt(1 - |w|^2).
        limit = 1.0 / math.hypot(1.0, float(np.abs(direction).max()))
        length = OUTER_RADIUS + (limit - OUTER_RADIUS) * rng.random()
    return chart.q(length * direction)


def moved(q: np.ndarray, step: np.ndarray) -> np.ndarray:
    """Return the end of a step along the exponential map (section II.A)."""
    return q + displacement(q, step)


def displacement(q: np.ndarray, step: np.ndarray) -> np.ndarray:
    """Return ``exp_q(step) - q`` to full relative accuracy, however short the step."""
    length = float(np.linalg.norm(step))
    if length == 0.0:
        return np.zeros_like(q)
    return (math.sin(length) / length) * step - 2.0 * math.sin(length / 2.0) ** 2 * q


def cost_change(cost: DictionaryCost, q: np.ndarray, change: np.ndarray) -> float:
    r"""Return ``f(q + change) - f(q)`` to full relative accuracy in each sample.

    Differences of costs lose all digits where steps are as short as the theorem's. With
    :math:`\cosh(a + d) = \cosh a\,(\cosh d + \tanh a \sinh d)` nothing cancels:

    .. math:: h_\mu(z + \mu d) - h_\mu(z) = \mu \log\left(1 + 2\sinh^2(d/2)
        + \tanh(z/\mu)\sinh d\right).
    """
    mu, ratios = cost.mu, (q @ cost.data) / cost.mu
    steps = (change @ cost.data) / mu
    near = np.abs(steps) < _SMALL_STEP
    d = np.where(near, steps, 0.0)
    exact = np.log1p(2.0 * np.sinh(d / 2.0) ** 2 + np.tanh(ratios) * np.sinh(d))
    far = _log_cosh(ratios + steps) - _log_cosh(ratios)
    return mu * float(np.mean(np.where(near, exact, far)))


def _log_cosh(ratios: np.ndarray) -> Any:
    size = np.abs(ratios)
    return size + np.log1p(np.exp(-2.0 * size)) - math.log(2.0)


def rotation(q: np.ndarray, step: np.ndarray) -> np.ndarray:
    """Return the rotation whose restriction to the tangent space is transport (eq. alg_tsp_op)."""
    length = float(np.linalg.norm(step))
    unit = step / length
    plane = np.outer(unit, unit) + np.outer(q, q)
    turn = np.outer(unit, q) - np.outer(q, unit)
    return np.eye(len(q)) - 2.0 * math.sin(length / 2.0) ** 2 * plane + math.sin(length) * turn
