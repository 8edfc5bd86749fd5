r"""The paper's chart of the sphere, and the three regions of it (section II.B).

Around an atom :math:`a` of an orthogonal dictionary, with an orthonormal basis B of its complement,

.. math:: q(w) = B w + \sqrt{1 - |w|^2}\, a, \qquad g(w) = f(q(w)) \quad \text{(eq. function-g)}.

There are 2n such sections, one for each atom and each sign; every point of the sphere lies in that
of its nearest atom. The length of w says which region the point is in.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import null_space

from riemtr.errors import ArgumentError
from riemtr.problems.dictionary_learning import DictionaryCost

REGIONS = ("strongly convex", "large gradient", "negative curvature")
"""The regions I, II and III, from an atom outwards."""

NUMERALS = ("I", "II", "III")
"""Their numbers in the paper."""

REGION_COLOURS = ("#2c7fb8", "#d98310", "#5b3d8a")
"""Their colours in figures; light versions serve as grounds."""

OUTER_RADIUS = 1.0 / (20.0 * math.sqrt(5.0))
"""Length of w where region II ends and region III begins (eqs. grad-uni-orth and -comp)."""


def inner_radius(mu: float) -> float:
    r"""Return the length of w where region I ends, :math:`\mu / (4\sqrt2)`.

    It is that of eq. (hess-zero-uni-orth).

    Examples
    --------
    >>> round(inner_radius(0.01), 6)
    0.001768
    """
    return mu / (4.0 * math.sqrt(2.0))


def edge_radius(n: int) -> float:
    r"""Return the length of w at the edge of the set Gamma, :math:`\sqrt{(4n - 1)/(4n)}`.

    Examples
    --------
    >>> edge_radius(1) == math.sqrt(3.0) / 2.0
    True
    """
    return math.sqrt((4.0 * n - 1.0) / (4.0 * n))


def region_of(length: Any, mu: float) -> Any:
    """Return the number of the region, 0, 1 or 2 as in :data:`REGIONS`, of lengths of w.

    From a mu of 0.13 on region I would reach beyond region II, which is then empty.

    Examples
    --------
    >>> region_of(np.array([0.0, 0.01, 0.5]), mu=0.01)
    array([0, 1, 2])
    """
    return np.digitize(length, [min(inner_radius(mu), OUTER_RADIUS), OUTER_RADIUS], right=True)


@dataclass(frozen=True, eq=False)
class Chart:
    """One section of the sphere, around an atom.

    Attributes
    ----------
    atom : ndarray, shape (n,)
        The atom, with its sign.
    others : ndarray, shape (n, n - 1)
        An orthonormal basis of its complement: the other atoms.
    number : int
        The atom's column in the dictionary, from 0, plus n where its sign is negative.
    """

    atom: np.ndarray
    others: np.ndarray
    number: int

    @property
    def name(self) -> str:
        """The atom in words: its number from 1, with the sign."""
        n = len(self.atom)
        return f"{'+' if self.number < n else '-'}{self.number % n + 1}"

    def w(self, q: np.ndarray) -> np.ndarray:
        """Return the coordinates of a point of the half sphere around the atom."""
        return q @ self.others

    def q(self, w: np.ndarray) -> np.ndarray:
        """Return the point with some coordinates, of length at most 1."""
        return self.others @ w + math.sqrt(max(0.0, 1.0 - float(w @ w))) * self.atom

    def jacobian(self, w: np.ndarray) -> np.ndarray:
        r"""Return the derivative of q(w), :math:`B - a w' / \sqrt{1 - |w|^2}`: n x (n - 1)."""
        return self.others - np.outer(self.atom, w) / math.sqrt(1.0 - float(w @ w))

    def gradient(self, w: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """Return the gradient of g from the Euclidean gradient of f at q(w)."""
        return gradient @ self.jacobian(w)

    def hessian(self, w: np.ndarray, gradient: np.ndarray, hessian: np.ndarray) -> np.ndarray:
        r"""Return the Hessian of g from the Euclidean derivatives of f at q(w).

        .. math:: J' \nabla^2 f J - \langle \nabla f, a \rangle
            \left(\frac{I}{s} + \frac{w w'}{s^3}\right), \qquad s = \sqrt{1 - |w|^2}
        """
        jacobian = self.jacobian(w)
        height = math.sqrt(1.0 - float(w @ w))
        bend = np.eye(len(w)) / height + np.outer(w, w) / height**3
        return jacobian.T @ hessian @ jacobian - float(gradient @ self.atom) * bend


@dataclass(frozen=True, eq=False)
class Frame:
    """The 2n sections of a dictionary-learning problem, around the columns of an orthogonal matrix.

    Attributes
    ----------
    atoms : ndarray, shape (n, n)
        An orthogonal matrix Q with ``data = (Q + Xi) X`` and a small ``Xi``.
    cost : DictionaryCost
        The log-cosh cost and its data.
    coefficients : ndarray, shape (n, p)
        The matrix X.
    perturbation : float
        The spectral norm of ``Xi``: 0, to rounding, where the dictionary is orthogonal.
    """

    atoms: np.ndarray
    cost: DictionaryCost
    coefficients: np.ndarray
    perturbation: float

    @property
    def n(self) -> int:
        """The dimension."""
        return len(self.atoms)

    @cached_property
    def largest_entry(self) -> float:
        """The largest entry of ``X + Q' Xi X``, which is ``Q' data``, by magnitude."""
        return float(np.abs(self.atoms.T @ self.cost.data).max())

    def chart(self, number: int) -> Chart:
        """Return the section around one atom, numbered as in :class:`Chart`."""
        column, sign = number % self.n, 1.0 if number < self.n else -1.0
        others = np.delete(self.atoms, column, axis=1)
        return Chart(sign * self.atoms[:, column], others, number)

    def nearest(self, q: np.ndarray) -> Chart:
        """Return the section of the atom nearest to a point."""
        along = q @ self.atoms
        column = int(np.argmax(np.abs(along)))
        return self.chart(column if along[column] >= 0.0 else column + self.n)


def frame_of(case: Any) -> Frame:
    """Return the sections of a dictionary-learning case whose coefficients are known.

    The matrix that makes the problem's data of the coefficients is split into the orthogonal matrix
    nearest to it and the rest, ``data = (Q + Xi) X``. An orthogonal dictionary is Q itself, and a
    complete one after preconditioning (eq. precon_def) is close to its own orthogonal factor
    (lem:pert_key_mag).

    Parameters
    ----------
    case : riemtr.problems.Case
        Its cost is the log-cosh cost, and its truth has the matrix X as
        ``truth.details["coefficients"]``.
    """
    cost = getattr(getattr(case, "problem", None), "cost", None)
    details = getattr(getattr(case, "truth", None), "details", {})
    coefficients = details.get("coefficients")
    if not isinstance(cost, DictionaryCost) or coefficients is None:
        raise ArgumentError(
            "case",
            "be a case of dictionary learning with the log-cosh cost on data in memory and "
            "known coefficients",
            ...,
            'build it with riemtr.problems.build("dictionary-learning"), or riemtr.problems.Case('
            'problem, start, riemtr.problems.Truth(details={"coefficients": X})) of your own data',
        )
    gram = coefficients @ coefficients.T
    mixing = np.linalg.solve(gram, coefficients @ cost.data.T).T
    left, _, right = np.linalg.svd(mixing)
    atoms = left @ right
    return Frame(atoms, cost, coefficients, float(np.linalg.norm(mixing - atoms, 2)))


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
