r"""Steps of a limited-memory secant model: no Hessian, one gradient for each point.

The last steps of a run and the changes of the gradient along them make the limited-memory BFGS
model, whose minimiser over the ball is exact. A pair is made by parallel transport to the point
where its step ended. From there on it is kept as it is where the manifold allows it: the model is
positive definite whatever the vectors, and so is what the projection onto any tangent space leaves
of it.

Of the last m steps :math:`s_i`, the changes :math:`y_i` of the gradient along them are known. With
both as rows of :math:`W = [S; Y]`, BFGS updates of :math:`\delta I` with all of them make

.. math:: B = \delta I + W' Q W, \qquad
    Q^{-1} = -\begin{pmatrix} S S' / \delta & L / \delta \\ L' / \delta & -D \end{pmatrix},

where L is the strictly lower triangle of SY' and D its diagonal (Byrd, Nocedal and Schnabel, Math.
Programming 63, 1994, theorem 2.3). With a multiplier :math:`\lambda` of the ball and
:math:`\sigma = \delta + \lambda`, the formula of Sherman, Morrison and Woodbury gives

.. math:: -(B + \lambda I)^{-1} g = -\tfrac1\sigma (g - W' u), \qquad
    (\sigma Q^{-1} + W W') u = W g,

so that the minimiser is a combination of these rows and of the gradient, and is found from inner
products alone. The matrix of these equations is negative semidefinite in its block of the steps and
positive definite in that of the changes (it is quasidefinite), and needs no care in solving.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dgesv, dgetrs

from riemtr.arguments import integer
from riemtr.manifolds.arrays import as_real, as_real_rows, from_real
from riemtr.problem import Evaluation
from riemtr.subproblem.model import Ended, Model, Step, no_step
from riemtr.subproblem.truncated_cg import along_curvature, prefers_curvature

# Cosine of the angle between a step and the change of the gradient below which a pair says nothing
# of a positive curvature.
_LEAST_COSINE = 1e-8


class Secants:
    """The last pairs of a run: steps and the changes of the gradient along them, of length 1.

    Parameters
    ----------
    here : Evaluation
        The first point.
    room : int
        How many pairs to keep.

    Attributes
    ----------
    rows : ndarray, shape (2 (room + 1), entries)
        A step and its change for each place in turn; one place is always free.
    gram : ndarray, shape (2 (room + 1), 2 (room + 1))
        Their inner products.
    curvatures : list of float
        For each place the length of the change over that of the step.
    order : tuple of int
        The places of the pairs, the oldest first.
    """

    def __init__(self, here: Evaluation, room: int):
        flat = as_real(here.gradient)
        self.rows = np.zeros((2 * (room + 1), flat.size), dtype=flat.dtype)
        self.gram = np.zeros((len(self.rows), len(self.rows)))
        self.curvatures = [0.0] * (room + 1)
        self.order: tuple[int, ...] = ()

    @property
    def places(self) -> tuple[np.ndarray, np.ndarray]:
        """The rows of the model, steps first, and the places of their inner products in gram."""
        return _places(self.order, len(self.gram))

    @property
    def size(self) -> float:
        """The largest curvature that the pairs have met; 0 if there are none."""
        return max((self.curvatures[place] for place in self.order), default=0.0)

    def add(self, here: Evaluation, before: Evaluation, step: np.ndarray) -> np.ndarray:
        """Take over the pair of a step; return the rows' inner products with the gradient here.

        A pair without positive curvature is left out.
        """
        if not here.space.keeps_vectors:
            self._carry(here, before)
        vectors = np.array((step, before.gradient, here.gradient))
        vectors[:2] = here.space.all_transported(vectors[:2], before.space)
        np.subtract(vectors[2], vectors[1], out=vectors[1])
        places = reversed(range(len(self.curvatures)))
        place = next(place for place in places if place not in self.order)
        lengths = here.norm(vectors[0]), here.norm(vectors[1])
        usable = min(lengths) > 0.0 and max(lengths) < math.inf
        if usable:
            # Rows of length 1 make the same model, and tamer equations.
            vectors[0] /= lengths[0]
            vectors[1] /= lengths[1]
            self.rows[2 * place : 2 * place + 2] = as_real_rows(vectors[:2])
        products = self.products(here, vectors)
        if usable and products[2 * place, 1] > _LEAST_COSINE:
            self.gram[:, 2 * place : 2 * place + 2] = products[:, :2]
            self.gram[2 * place : 2 * place + 2] = products[:, :2].T
            self.curvatures[place] = lengths[1] / lengths[0]
            room = len(self.curvatures) - 1
            self.order = (*self.order, place)[-room:]
        return products[:, 2]

    def products(self, here: Evaluation, vectors: np.ndarray) -> np.ndarray:
        """Return the inner products of all rows with some vectors, one in each column."""
        if here.manifold.dot_metric:
            return (self.rows @ as_real_rows(vectors).T).astype(float, copy=False)
        rows = [from_real(row, here.gradient) for row in self.rows]
        return np.array([[here.inner(row, vector) for vector in vectors] for row in rows])

    def _carry(self, here: Evaluation, before: Evaluation) -> None:
        """Carry all vectors from one point to the next."""
        if not self.order:
            return
        used, _ = self.places
        vectors = np.array([from_real(row, here.gradient) for row in self.rows[used]])
        vectors = here.space.all_transported(vectors, before.space)
        self.rows[used] = as_real_rows(vectors)
        self.gram[:, used] = self.products(here, vectors)
        # Transport may change lengths and angles: a pair without a positive curvature is dropped.
        self.order = tuple(i for i in self.order if self.gram[2 * i, 2 * i + 1] > _LEAST_COSINE)

    def model(self) -> SecantModel | None:
        """Return the model of all pairs; None if there are none."""
        if not self.order:
            return None
        newest = self.order[-1]
        units = np.array([self.curvatures[place] for place in self.order])
        # The curvature along the newest change, the usual choice for all other directions.
        scale = self.curvatures[newest] / float(self.gram[2 * newest, 2 * newest + 1])
        return SecantModel(self.gram.take(self.places[1]), units, scale)


@dataclass(frozen=True)
class SecantSubproblem:
    """The exact minimiser of a limited-memory BFGS model over the ball.

    It takes no Hessian product, and no gradient but that of the current point. Where the gradient
    vanishes and negative curvature is known, the step follows that instead, as truncated CG does.

    Parameters
    ----------
    memory : int
        How many steps the Hessian is approximated from. On 25 classical problems 5 need 4 % more
        iterations than 20, each at half the price.

    Examples
    --------
    >>> import numpy as np, riemtr
    >>> here = riemtr.problems.build("rayleigh", rng=0, n=20).problem.at(np.eye(20)[0])
    >>> step = riemtr.SecantSubproblem().at(here).step(radius=0.1)
    >>> round(step.norm, 12), here.counts.hessian_products, here.counts.gradients
    (0.1, 0, 1)
    """

    memory: int = 6

    def __post_init__(self) -> None:
        integer("memory", self.memory)

    def at(self, here: Evaluation, before: Model | None = None) -> Model:
        """Return the model of the pairs that are known at a point."""
        known = before if isinstance(before, _PairsModel) else None
        if known is None or known.here.problem is not here.problem:
            return _PairsModel(here, Secants(here, self.memory), None)
        return _PairsModel(here, known.secants, known)


class _PairsModel:
    """The model at one point: the pairs of the run, in the tangent space of the point."""

    def __init__(self, here: Evaluation, secants: Secants, before: _PairsModel | None):
        self.here, self.secants = here, secants
        self._model, self._size = None, 0.0
        if before is not None and before.vector is not None:
            self._products = secants.add(here, before.here, before.vector)  # with the gradient
            self._model = secants.model()
            self._size = secants.size or before._size  # the largest curvature met
        self.vector: np.ndarray | None = None  # the last step

    def step(self, radius: float) -> Step:
        """Return the minimiser of the model, or a step along negative curvature that is known."""
        step = self._step(radius)
        self.vector = step.vector
        return step

    def _step(self, radius: float) -> Step:
        here, gradient, size = self.here, self.here.gradient, self.here.gradient_norm
        if prefers_curvature(here, radius):
            return along_curvature(here, radius)
        if size == 0.0:
            return no_step(here)
        if self._model is None:
            # Nothing is known of the curvature: it is taken for what makes the radius right.
            vector, decrease = (-radius / size) * gradient, 0.5 * radius * size
            return Step(vector, -gradient, radius, decrease, True, Ended.BOUNDARY)
        places, _ = self.secants.places
        rows = self.secants.rows
        # The model is divided by the gradient's norm, or its squares would under- or overflow.
        found = self._model.minimiser(self._products[places] / size, 1.0, radius / size)
        factors = np.zeros(len(rows), dtype=rows.dtype)
        factors[places] = size * found.rows
        combined = from_real(factors @ rows, gradient)
        vector = here.tangent(combined + found.gradient * gradient)
        bounded = found.multiplier > 0.0
        image = -gradient - found.multiplier * vector if bounded else -gradient
        norm = here.norm(vector)
        # -(<g, s> + <s, Bs>/2), where Bs = -g - multiplier s.
        decrease = 0.5 * (found.multiplier * norm * norm - here.inner(gradient, vector))
        ended = Ended.BOUNDARY if bounded else Ended.INTERIOR
        return Step(vector, image, norm, decrease, bounded, ended, None, self._size)


@lru_cache(maxsize=256)
def _places(order: tuple[int, ...], width: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of pairs in some places, and those of a flat matrix of so many columns."""
    rows = np.array([2 * place for place in order] + [2 * place + 1 for place in order])
    return rows, rows[:, None] * width + rows


# -- the limited-memory BFGS model, and its exact minimiser over a ball ---------------------------

# Share of the radius by which a step on the boundary may miss it.
_ON_BOUNDARY = 1e-10
# Newton's method for the multiplier doubles its digits each time; rounding may keep it from ending.
_MOST_MULTIPLIERS = 30


class Combination(NamedTuple):
    """A vector made of the model's rows and of the gradient.

    Attributes
    ----------
    rows : ndarray, shape (2m,)
        Factors of the rows of W.
    gradient : float
        Factor of the gradient.
    multiplier : float
        The Lagrange multiplier of the ball: Bp = -g - multiplier p.
    """

    rows: np.ndarray
    gradient: float
    multiplier: float


class SecantModel:
    """The model of m pairs, by the inner products of its rows.

    Parameters
    ----------
    gram : ndarray, shape (2m, 2m)
        Inner products of the rows: steps first, then changes over their units, with positive
        <s_i, y_i>.
    units : ndarray, shape (m,)
        The units of the changes: y_i is units[i] times its row. With steps and rows of length 1
        all numbers here are of size 1, whatever the cost is measured in.
    scale : float
        The curvature across all rows, positive.

    Examples
    --------
    >>> rows = np.array([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])  # a step, and the change along it
    >>> model = SecantModel(rows @ rows.T, units=np.array([3.0]), scale=2.0)
    >>> gradient = np.array([3.0, 2.0, 0.0])
    >>> found = model.minimiser(rows @ gradient, gradient @ gradient, radius=10.0)
    >>> (found.rows @ rows + found.gradient * gradient).round(12)
    array([-1., -1.,  0.])
    """

    def __init__(self, gram: np.ndarray, units: np.ndarray, scale: float):
        self.gram, self.scale = gram, scale
        half = len(units)
        self._shares = gram * _mask(half)
        self._diagonal = gram.diagonal(half) * (scale / units)

    def minimiser(self, products: np.ndarray, squared: float, radius: float) -> Combination:
        """Minimise over a ball, for a gradient with given inner products.

        Newton's method finds the multiplier as the root of 1/|p| - 1/radius, from below and
        without overshooting: the model is positive definite (Conn, Gould and Toint, Trust-Region
        Methods, section 7.3.3).

        Parameters
        ----------
        products : ndarray, shape (2m,)
            Inner products of the rows and the gradient.
        squared : float
            The squared norm of the gradient.
        radius : float

        Raises
        ------
        numpy.linalg.LinAlgError
            If the equations have no finite solution.
        """
        excess = 0.0  # the multiplier, over the scale
        for _ in range(_MOST_MULTIPLIERS):
            sigma = self.scale * (1.0 + excess)
            factors, pivots, solution, failed = dgesv(self._equations(1.0 + excess), products)
            rows, share = solution / sigma, -1.0 / sigma
            along = self.gram @ rows + share * products
            length2 = float(share * share * squared + rows @ (along + share * products))
            if failed or not math.isfinite(length2):
                raise np.linalg.LinAlgError("the pairs of the secant model are no use")
            length = math.sqrt(max(length2, 0.0))
            if length <= radius * (1.0 + _ON_BOUNDARY):
                break
            # <p, (B + multiplier)^-1 p> is the slope of |p|^2 / 2, but for the sign.
            slope = (length2 - float(along @ dgetrs(factors, pivots, along)[0])) / sigma
            if not slope > 0.0:
                break
            excess += (length2 / slope) * ((length - radius) / radius) / self.scale
        return Combination(rows, share, self.scale * excess)

    def _equations(self, share: float) -> np.ndarray:
        """Return the matrix of the equations, for sigma as a share of the scale."""
        half = len(self._diagonal)
        matrix = self.gram - share * self._shares
        matrix.flat[half * (2 * half + 1) :: 2 * half + 1] += share * self._diagonal
        return matrix


@lru_cache(maxsize=32)
def _mask(half: int) -> np.ndarray:
    """Return ones where the inverse of Q has entries of W W': at SS', L and L'."""
    mask = np.zeros((2 * half, 2 * half))
    mask[:half, :half] = 1.0
    mask[:half, half:] = np.tril(np.ones((half, half)), -1)
    mask[half:, :half] = mask[:half, half:].T
    return mask
