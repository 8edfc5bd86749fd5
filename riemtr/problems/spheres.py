"""Points on a sphere: least electrostatic energy, and packings."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
from scipy.optimize import linprog
from scipy.special import eval_gegenbauer, logsumexp

from riemtr.arguments import check_positive, integer
from riemtr.manifolds import Oblique
from riemtr.problem import Problem
from riemtr.problem.books import lazy
from riemtr.problem.shared_work import smoothings
from riemtr.problems.random_data import apart, skew_units
from riemtr.problems.registry import Case, Truth, register

# Squared distance below which two points coincide as far as rounding can tell.
_COINCIDE = 1e-300
# Degree of the polynomials in the bound of linear programming; sharp configurations need 5.
_DEGREE = 12
# Inner products at which such a polynomial is held below the potential.
_GRID = 2000
# Inner products at which the excess that the first grid has missed is measured.
_FINE_GRID = 40001
# Smoothing of the first stage of a packing: of the size of the inner products themselves.
_FIRST_SMOOTHING = 1.0
# The gradient norm at which a stage ends; that of one active pair is 1.
_STAGE_TOLERANCE = 1e-2


def _turned(point: np.ndarray) -> np.ndarray:
    """Return the directions in which all points are turned at once."""
    return skew_units(len(point)) @ point


def _inner_products(point: np.ndarray) -> np.ndarray:
    """Return all inner products in order, which turns, reflections and other numbers leave."""
    return np.sort(point.T @ point, axis=None)


def sharp_inner_products(dimension: int, n: int) -> list[tuple[float, int]]:
    """Return the inner products of a point with the others, and how often each comes, if known.

    Known are universally optimal configurations (Cohn and Kumar 2007), which minimise the sum of
    every completely monotonic function of squared distances: simplices, polygons, cross polytopes,
    and the icosahedron. The list is empty for all others.

    Examples
    --------
    >>> sharp_inner_products(3, 6)  # the octahedron
    [(0.0, 4), (-1.0, 1)]
    """
    if n <= dimension + 1:
        return [(-1.0 / (n - 1), n - 1)]
    if dimension == 2:
        angles = 2.0 * math.pi * np.arange(1, n) / n
        return [(math.cos(angle), 1) for angle in angles]
    if n == 2 * dimension:
        return [(0.0, n - 2), (-1.0, 1)]
    if (dimension, n) == (3, 12):
        golden = 1.0 / math.sqrt(5.0)
        return [(golden, 5), (-golden, 5), (-1.0, 1)]
    return []


# -- Thomson --------------------------------------------------------------------------------------


class CoulombCost:
    """The sum over pairs of one over the distance."""

    def at(self, point: np.ndarray) -> CoulombPoint:
        """Return the shared work at one point."""
        return CoulombPoint(point)

    def dual_bound(self, point: np.ndarray) -> float:
        """Return the bound of linear programming, which is the same at all points."""
        dimension, n = point.shape
        return _linear_programming_bound(n, dimension, lambda each: (2.0 - 2.0 * each) ** -0.5)


class CoulombPoint:
    """The energy at one point: the distances of all pairs serve everything."""

    def __init__(self, point: np.ndarray):
        self._point = point
        squares = 2.0 - 2.0 * (point.T @ point)
        np.fill_diagonal(squares, np.inf)
        # Rounding must not make the distance of two points that coincide imaginary.
        self._inverse_squares = 1.0 / np.maximum(squares, _COINCIDE)
        self._inverses = np.sqrt(self._inverse_squares)

    @lazy
    def value(self) -> float:
        """The cost."""
        return 0.5 * float(self._inverses.sum())

    @lazy
    def _forces(self) -> np.ndarray:
        return self._inverses * self._inverse_squares

    @lazy
    def gradient(self) -> np.ndarray:
        """Euclidean gradient by inner products of unit vectors."""
        return self._point @ self._forces

    @lazy
    def _stiffness(self) -> np.ndarray:
        return 3.0 * self._forces * self._inverse_squares

    def hessian(self, vector: np.ndarray) -> np.ndarray:
        """Euclidean Hessian product."""
        changes = vector.T @ self._point
        return vector @ self._forces + self._point @ (self._stiffness * (changes + changes.T))


@register("thomson")
def thomson(rng: np.random.Generator, n: int = 12, dimension: int = 3) -> Case:
    r"""Thomson's problem: n electrons on a sphere with the least energy.

    Charges repel each other by Coulomb's law; where do n of them come to rest on a sphere?

    .. math:: \min_{|x_1| = \dots = |x_n| = 1} \sum_{i<j} \frac{1}{|x_i - x_j|}

    on the manifold ``Oblique(dimension, n)``, whose points have the positions as columns. All
    points may be turned at once, which is named as symmetries (3 of them in space). Arrangements
    that differ by a turn, a reflection or the numbering of the charges have the same inner
    products, which are named as invariants, and count as one minimizer. The number of minimizers
    that are not global grows fast with n; up to n = 15 there are none in space, as far as anybody
    knows.

    The minimum is known for universally optimal configurations: n up to dimension + 1, n = 2
    dimension, any n on a circle, and the icosahedron, n = 12 in space, the default. For all others
    ``certificate.lower_bound`` is that of linear programming (Yudin): a polynomial below the
    potential with nonnegative coefficients in the basis of Gegenbauer bounds the energy.

    Parameters
    ----------
    n : int
        Number of charges, at least 2.
    dimension : int
        Dimension of the space around the sphere, at least 2.

    References
    ----------
    Thomson, *On the structure of the atom*, Philosophical Magazine 7 (1904). Cohn and Kumar,
    *Universally optimal distribution of points on spheres*, Journal of the American Mathematical
    Society 20 (2007). Yudin, *Minimum potential energy of a point system of charges*, Discrete
    Mathematics and Applications 3 (1993). Saff and Kuijlaars, *Distributing many points on a
    sphere*, Mathematical Intelligencer 19 (1997).
    """
    rng = apart(rng)
    n, dimension = integer("n", n, low=2), integer("dimension", dimension, low=2)
    manifold = Oblique(dimension, n)
    known = sharp_inner_products(dimension, n)
    energy = 0.5 * n * sum(count / math.sqrt(2.0 - 2.0 * product) for product, count in known)
    truth = Truth(cost=energy if known else None)
    problem = Problem(manifold, CoulombCost(), symmetries=_turned, invariants=_inner_products)
    return Case(problem, manifold.random_point(rng), truth)


def _linear_programming_bound(
    n: int, dimension: int, potential: Callable[[np.ndarray], np.ndarray]
) -> float:
    """Return a number that the sum of a potential of inner products over all pairs is not below.

    For a polynomial h below the potential, with coefficients h_k in the basis of Gegenbauer of
    which all but the first are nonnegative, the sum over all pairs, each twice and each point with
    itself, is at least n^2 h_0, since that basis is positive definite.
    """
    grid = -np.cos(np.linspace(0.0, math.pi, _GRID, endpoint=False))
    basis = _gegenbauer(dimension, grid)
    # Maximise n^2 h_0 - n h(1).
    costs = np.full(_DEGREE + 1, float(n))
    costs[0] -= float(n) ** 2
    limits = [(None, None)] + [(0.0, None)] * _DEGREE
    found = linprog(costs, A_ub=basis, b_ub=potential(grid), bounds=limits, method="highs")
    coefficients = np.concatenate([found.x[:1], np.maximum(found.x[1:], 0.0)])
    fine = -np.cos(np.linspace(0.0, math.pi, _FINE_GRID, endpoint=False))
    excess = _gegenbauer(dimension, fine) @ coefficients - potential(fine)
    coefficients[0] -= max(float(excess.max()), 0.0)
    return 0.5 * (n**2 * float(coefficients[0]) - n * float(coefficients.sum()))


def _gegenbauer(dimension: int, products: np.ndarray) -> np.ndarray:
    """Return the positive definite polynomials of the sphere, 1 at 1, one in each column."""
    degrees = np.arange(_DEGREE + 1)
    if dimension == 2:
        return np.cos(degrees * np.arccos(products)[:, None])
    order = 0.5 * (dimension - 2)
    return eval_gegenbauer(degrees, order, products[:, None]) / eval_gegenbauer(degrees, order, 1.0)


# -- packing --------------------------------------------------------------------------------------


class PackingCost:
    """A smooth maximum of the inner products of all pairs.

    Parameters
    ----------
    smoothing : float
    """

    def __init__(self, smoothing: float):
        self.smoothing = smoothing

    def at(self, point: np.ndarray) -> PackingPoint:
        """Return the shared work at one point."""
        return PackingPoint(self.smoothing, point)

    def dual_bound(self, point: np.ndarray) -> float:
        """Return the bound on the largest inner product, which is the same at all points."""
        dimension, n = point.shape
        return max(_largest_product_bound(n, dimension), _mean_bound(n, self.smoothing))

    def easier(self) -> Iterator[tuple[PackingCost, float]]:
        """Yield smoother maxima, smoothest first, each with a gradient tolerance.

        Points far apart feel each other in a smooth maximum, and so spread out before the nearest
        ones alone decide.
        """
        for smoothing in smoothings(_FIRST_SMOOTHING, self.smoothing):
            yield PackingCost(smoothing), _STAGE_TOLERANCE


class PackingPoint:
    """The smooth maximum at one point: the share of each pair in it serves everything."""

    def __init__(self, smoothing: float, point: np.ndarray):
        self._smoothing, self._point = smoothing, point
        ratios = (point.T @ point) / smoothing
        np.fill_diagonal(ratios, -np.inf)
        # Each pair comes twice.
        total = float(logsumexp(ratios)) - math.log(2.0)
        self.value = smoothing * total
        self._shares = np.exp(ratios - total)

    @lazy
    def gradient(self) -> np.ndarray:
        """Euclidean gradient by inner products of unit vectors."""
        return self._point @ self._shares

    def hessian(self, vector: np.ndarray) -> np.ndarray:
        """Euclidean Hessian product."""
        changes = vector.T @ self._point
        changes = changes + changes.T
        mean = 0.5 * float(np.sum(self._shares * changes))
        bent = self._shares * (changes - mean) / self._smoothing
        return vector @ self._shares + self._point @ bent


@register("packing")
def packing(
    rng: np.random.Generator, n: int = 12, dimension: int = 3, smoothing: float = 0.02
) -> Case:
    r"""Packing on a sphere: n points as far from each other as possible.

    Tammes asked for the n points on a sphere whose least distance is largest, or whose largest
    inner product is smallest. The maximum is not differentiable, and a smooth one takes its place,

    .. math:: \min_{|x_1| = \dots = |x_n| = 1}
       \varepsilon \log \sum_{i<j} \exp(\langle x_i, x_j \rangle / \varepsilon),

    which exceeds the maximum by :math:`\varepsilon \log(n(n-1)/2)` at most, on the manifold
    ``Oblique(dimension, n)``, whose points have the positions as columns. It is Manopt's
    demonstration problem. All points may be turned at once, which is named as symmetries, and the
    inner products of all pairs are named as invariants. The cost offers itself with larger
    :math:`\varepsilon`, which solvers may pass first (continuation).

    The minimum is known for universally optimal configurations, since the exponential is completely
    monotonic: n up to dimension + 1, n = 2 dimension, any n on a circle, and the icosahedron,
    n = 12 in space, the default. For all others ``certificate.lower_bound`` is that of Rankin
    or, in space, of Fejes Tóth on the largest inner product, which is below its smooth version.

    Parameters
    ----------
    n : int
        Number of points, at least 2.
    dimension : int
        Dimension of the space around the sphere, at least 2.
    smoothing : float
        The number epsilon.

    References
    ----------
    Tammes, *On the origin of number and arrangement of the places of exit on the surface of
    pollen-grains*, Recueil des travaux botaniques néerlandais 27 (1930). Fejes Tóth, *Über die
    Abschätzung des kürzesten Abstandes zweier Punkte eines auf einer Kugelfläche liegenden
    Punktsystems*, Jahresbericht der DMV 53 (1943). Cohn and Kumar, *Universally optimal
    distribution of points on spheres*, Journal of the American Mathematical Society 20 (2007).
    """
    rng = apart(rng)
    n, dimension = integer("n", n, low=2), integer("dimension", dimension, low=2)
    check_positive("smoothing", smoothing)
    manifold = Oblique(dimension, n)
    known = sharp_inner_products(dimension, n)
    least = None
    if known:
        products, counts = np.array(known).T
        least = smoothing * float(logsumexp(products / smoothing, b=0.5 * n * counts))
    truth = Truth(cost=least)
    cost = PackingCost(smoothing)
    problem = Problem(manifold, cost, symmetries=_turned, invariants=_inner_products)
    return Case(problem, manifold.random_point(rng), truth)


def _largest_product_bound(n: int, dimension: int) -> float:
    """Return a number that the largest inner product of n unit vectors is not below."""
    if n <= dimension + 1:
        return -1.0 / (n - 1)
    if dimension != 3:
        return 0.0  # Rankin's
    # Fejes Tóth's bound on the squared distance d^2 = 2 - 2 <x, y>.
    angle = math.pi * n / (6.0 * (n - 2))
    return 1.0 - 0.5 * (4.0 - 1.0 / math.sin(angle) ** 2)


def _mean_bound(n: int, smoothing: float) -> float:
    """Return a bound on the smooth maximum: by Jensen's inequality, from the mean over pairs."""
    return smoothing * math.log(0.5 * n * (n - 1)) - 1.0 / (n - 1)
