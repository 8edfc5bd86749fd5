r"""All rows of a sparse matrix at once: the cost of the whole dictionary, with or without angles.

With whitened data y_1, ..., y_p and directions q_i as the columns of Q,

.. math:: f(Q) = \frac1p \sum_{k=1}^p \sum_i h(q_i' y_k)

over orthogonal Q is the paper's cost (eq. main_obj), summed over rows that keep each other apart.
Without the constraint, -log|det B| keeps the rows apart instead:

.. math:: g(B) = \frac1p \sum_{k=1}^p \sum_i h(b_i' y_k) - \log|\det B| ,

minus the log-likelihood of independent rows with density exp(-h) (Ablin, Cardoso and Gramfort,
*Faster independent component analysis by preconditioning with Hessian approximations*, 2018).

Both have a Hessian that is nearly diagonal in relative coordinates, in which a step is B E, where
rows are nearly independent: its diagonal preconditions CG, and one or two products make a step.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from riemtr.arguments import integer
from riemtr.data import BernoulliGaussian, Orthogonal, dictionary_error
from riemtr.data.blocks import Blocks, Samples
from riemtr.manifolds import Euclidean, Rotations
from riemtr.problem import Problem
from riemtr.problem.books import lazy
from riemtr.problems.random_data import apart
from riemtr.problems.registry import Case, Truth, register
from riemtr.problems.surrogates import LogCosh, Surrogate

# Entries of the data up to which h'' of every coefficient is kept for Hessian products.
_KEPT_ENTRIES = 2**26
# Entries up to which a copy of the data in single precision serves the stages of a continuation.
_NARROW_ENTRIES = 2**24
# Gradient norm at which a stage of a continuation ends, over the root of the number of rows.
STAGE_TOLERANCE = 1.25e-3
# The least share of the largest curvature that the preconditioner of orthogonal rows keeps.
_LEAST_CURVATURE = 1e-2
# The least eigenvalue of the preconditioner of free rows, whose curvatures are of order one.
_LEAST_EIGENVALUE = 0.1


class JointCost:
    """The cost of several directions at once, the columns of a point.

    Parameters
    ----------
    data : Samples
        Whitened data, n x p.
    surrogate : Surrogate
        h.
    constrained : bool
        Whether points are orthonormal; else -log|det B| is part of the cost.
    """

    def __init__(self, data: Samples, surrogate: Surrogate, constrained: bool = True):
        self.data = data
        self.surrogate = surrogate
        self.constrained = constrained

    def __repr__(self) -> str:
        n, p = self.data.shape
        return f"JointCost(n={n}, p={p}, {self.surrogate!r}, constrained={self.constrained})"

    @property
    def dtype(self) -> np.dtype:
        """Floating-point type of the data."""
        return self.data.dtype

    def at(self, point: np.ndarray) -> JointPoint:
        """Return the shared work at one point."""
        return JointPoint(self, point)

    def easier(self) -> Iterator[tuple[JointCost, float]]:
        """Yield smoother versions, smoothest first, each with a gradient tolerance."""
        stages = getattr(self.surrogate, "easier", None)
        if stages is None:
            return
        data = in_single_precision(self.data)
        tolerance = STAGE_TOLERANCE * math.sqrt(self.data.shape[0])
        for surrogate in stages(1.0):
            yield JointCost(data, surrogate, self.constrained), tolerance


def in_single_precision(data: Samples) -> Samples:
    """Return a copy of data in memory in single precision, unless they are large."""
    return data.narrowed(_NARROW_ENTRIES)


class JointPoint:
    """The cost at one point: one visit to the data gives value, gradient and preconditioner."""

    def __init__(self, owner: JointCost, point: np.ndarray):
        data = owner.data
        self._owner, self._point = owner, point
        self._samples = data.shape[1]
        self._directions = np.ascontiguousarray(_columns(point).T, dtype=data.dtype)
        self._bends: list[np.ndarray] | None = None
        entries = len(self._directions) * data.shape[1]
        if data.array is not None and entries <= _KEPT_ENTRIES:
            parts = data.visit(_evaluate, self._directions, owner.surrogate)
            self._bends = [part.pop() for part in parts]
            sums = [sum(rest, start=first) for first, *rest in zip(*parts, strict=True)]
        else:
            sums = list(data.total(_sums, self._directions, owner.surrogate))
        self._total, self._products, *self._moments = sums

    @lazy
    def value(self) -> float:
        """The cost."""
        value = float(self._total) / self._samples
        return value if self._owner.constrained else value - _log_determinant(self._point)

    @lazy
    def gradient(self) -> np.ndarray:
        """Euclidean gradient."""
        slope = (self._products.T / self._samples).reshape(self._point.shape)
        slope = slope if self._owner.constrained else slope - self._inverse.T
        return slope.astype(self._point.dtype, copy=False)

    @lazy
    def _inverse(self) -> np.ndarray:
        return np.linalg.inv(self._point.astype(np.float64))

    @property
    def curvatures(self) -> np.ndarray:
        """E h''(x) E x^2 - E h'(x) x of every row: positive where the minima are its sources."""
        bend, overlap, square, _ = (each / self._samples for each in self._moments)
        return bend * square - overlap

    def hessian(self, vector: np.ndarray) -> np.ndarray:
        """Euclidean Hessian product."""
        owner, data = self._owner, self._owner.data
        along = np.ascontiguousarray(_columns(vector).T, dtype=data.dtype)
        if self._bends is None:
            found = data.total(_bent, along, self._directions, owner.surrogate)[0]
        else:
            found = sum(data.visit(_bent_by, along, each=self._bends))
        image = (found.T / self._samples).reshape(vector.shape)
        if not owner.constrained:
            image = image + self._inverse.T @ vector.T @ self._inverse.T
        return image.astype(vector.dtype, copy=False)

    def precondition(self, vector: np.ndarray) -> np.ndarray:
        """Apply the inverse of the Hessian that independent rows would have."""
        if vector.ndim == 1:
            return vector
        bend, overlap, square, weighted = (each / self._samples for each in self._moments)
        if self._owner.constrained:
            curvature = 0.5 * np.add.outer(bend - overlap, bend - overlap)
            size = np.abs(curvature)
            scaled = vector / np.maximum(size, _LEAST_CURVATURE * size.max())
            return scaled.astype(vector.dtype, copy=False)
        # Along B E the curvature of the pair E_ij, E_ji is that of [[a_ij, 1], [1, a_ji]].
        relative = self._point.T @ vector
        own = np.outer(square, bend)
        np.fill_diagonal(own, weighted)
        least = 0.5 * (own + own.T - np.hypot(own - own.T, 2.0))
        own = own + np.maximum(_LEAST_EIGENVALUE - least, 0.0)
        step = (own.T * relative - relative.T) / (own * own.T - 1.0)
        np.fill_diagonal(step, np.diagonal(relative) / (np.maximum(weighted, 0.0) + 1.0))
        return (self._point @ step).astype(vector.dtype, copy=False)


def _columns(point: np.ndarray) -> np.ndarray:
    return point[:, None] if point.ndim == 1 else point


def _log_determinant(point: np.ndarray) -> float:
    """Return log|det B|; minus infinity, which no descent accepts, where B is singular."""
    return float(np.linalg.slogdet(point.astype(np.float64))[1])


def _evaluate(
    block: np.ndarray, first: int, directions: np.ndarray, surrogate: Surrogate
) -> list[Any]:
    """Return sums over the samples of a block, and h'' of every coefficient."""
    rows = directions @ block
    value, slope, bend = surrogate.derivatives(rows)
    return [
        float(value.sum(dtype=np.float64)),
        (slope @ block.T).astype(np.float64),
        bend.sum(axis=1, dtype=np.float64),
        np.einsum("ij,ij->i", slope, rows).astype(np.float64),
        np.einsum("ij,ij->i", rows, rows).astype(np.float64),
        np.einsum("ij,ij,ij->i", bend, rows, rows).astype(np.float64),
        bend,
    ]


def _sums(
    block: np.ndarray, first: int, directions: np.ndarray, surrogate: Surrogate
) -> tuple[Any, ...]:
    return tuple(_evaluate(block, first, directions, surrogate)[:-1])


def _bent_by(block: np.ndarray, first: int, along: np.ndarray, bend: np.ndarray) -> np.ndarray:
    rows = along @ block
    rows *= bend
    return (rows @ block.T).astype(np.float64)


def _bent(
    block: np.ndarray, first: int, along: np.ndarray, directions: np.ndarray, surrogate: Surrogate
) -> tuple[np.ndarray]:
    return (_bent_by(block, first, along, surrogate.derivatives(directions @ block)[2]),)


def orthogonal_problem(data: Samples, surrogate: Surrogate) -> Problem:
    """Return the problem of finding all rows over the rotations."""
    return Problem(Rotations(data.shape[0]), JointCost(data, surrogate))


def full_problem(data: Samples, surrogate: Surrogate) -> Problem:
    """Return the problem of finding all rows without the constraint that they are orthogonal."""
    n = data.shape[0]
    return Problem(Euclidean(n, n), JointCost(data, surrogate, constrained=False))


def _whitened(
    rng: np.random.Generator, n: int, p: int | None, theta: float, noise: float
) -> tuple[np.ndarray, dict[str, Any]]:
    """Return whitened data of the paper's model, and what they were made from."""
    n = integer("n", n, low=2)
    samples = 200 * n if p is None else integer("p", p, low=n)
    sample = BernoulliGaussian(n, samples, theta, Orthogonal(), noise).draw(apart(rng))
    Y = sample.observations
    values, vectors = np.linalg.eigh(Y @ Y.T / samples)
    whitening = (vectors / np.sqrt(values)) @ vectors.T
    return whitening @ Y, {"dictionary": sample.dictionary, "whitening": whitening}


def _case(problem: Problem, start: np.ndarray, mu: float, made_of: dict[str, Any]) -> Case:
    back, dictionary = np.linalg.inv(made_of["whitening"]), made_of["dictionary"]

    def error(point: np.ndarray) -> float:
        return dictionary_error(back @ np.linalg.inv(point.T), dictionary)

    data = problem.cost.data.array
    return Case(problem, start, Truth(error=error, details={**made_of, "data": data, "mu": mu}))


@register("joint-dictionary")
def joint_dictionary(
    rng: np.random.Generator,
    n: int = 8,
    p: int | None = None,
    theta: float = 0.2,
    noise: float = 0.1,
    mu: float = 0.5,
) -> Case:
    r"""All rows of a sparse matrix at once from whitened Y = AX: the paper's cost over rotations.

    .. math:: f(Q) = \frac1p \sum_{k=1}^p \sum_{i=1}^n \mu \log\cosh(q_i' y_k / \mu),
              \qquad Q \in SO(n)

    with the directions :math:`q_i` as the columns of Q and the whitened samples :math:`y_k`. Rows
    keep each other apart, so that no deflation is needed; every signed permutation of the true
    directions is a minimizer, up to the smoothing, the noise and what p samples tell of whitening.
    It is the problem that :func:`riemtr.recover_dictionary` solves first, and, at smaller mu, its
    ``refine="orthogonal"``.

    Parameters
    ----------
    n : int
        Number of rows.
    p : int or None
        Number of samples; 200 n if None.
    theta : float
        Share of nonzero coefficients, Bernoulli-Gaussian.
    noise : float
        Standard deviation of Gaussian noise in the data.
    mu : float
        Smoothing parameter, for rows of root mean square 1.

    References
    ----------
    J. Sun, Q. Qu and J. Wright, *Complete Dictionary Recovery over the Sphere II*, IEEE
    Transactions on Information Theory 63(2), 2017.
    P. Ablin, J.-F. Cardoso and A. Gramfort, *Faster ICA under orthogonal constraint*, ICASSP 2018.
    """
    data, made_of = _whitened(rng, n, p, theta, noise)
    problem = orthogonal_problem(Blocks(data), LogCosh(mu))
    return _case(problem, problem.random_point(rng), mu, made_of)


@register("full-dictionary")
def full_dictionary(
    rng: np.random.Generator,
    n: int = 8,
    p: int | None = None,
    theta: float = 0.2,
    noise: float = 0.1,
    mu: float = 0.5,
) -> Case:
    r"""All rows of a sparse matrix at once from whitened Y = AX, not bound to be orthogonal.

    .. math:: g(B) = \frac1p \sum_{k=1}^p \sum_{i=1}^n \mu \log\cosh(b_i' y_k / \mu) - \log|\det B|

    over all square matrices B, with the directions :math:`b_i` as columns: minus the log-likelihood
    of independent rows. Whitening makes rows orthogonal only up to :math:`1/\sqrt p`, an error that
    this estimate does not have. The scale of the rows is part of the solution. It is the problem
    of ``refine="full"`` in :func:`riemtr.recover_dictionary`.

    Parameters
    ----------
    n : int
        Number of rows.
    p : int or None
        Number of samples; 200 n if None.
    theta : float
        Share of nonzero coefficients, Bernoulli-Gaussian.
    noise : float
        Standard deviation of Gaussian noise in the data.
    mu : float
        Smoothing parameter, for rows of root mean square 1.

    References
    ----------
    P. Ablin, J.-F. Cardoso and A. Gramfort, *Faster independent component analysis by
    preconditioning with Hessian approximations*, IEEE Transactions on Signal Processing 66(15),
    2018.
    """
    data, made_of = _whitened(rng, n, p, theta, noise)
    problem = full_problem(Blocks(data), LogCosh(mu))
    return _case(problem, Rotations(len(data)).random_point(rng), mu, made_of)
