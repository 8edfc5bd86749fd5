r"""Other people's recovery methods, and the estimate that every method returns.

Both maximize how far the rows of A Z are from Gaussian over orthogonal A, for whitened data Z.

Zhai, Yang, Liao, Wright and Ma, *Complete Dictionary Learning via l4-Norm Maximization over the
Orthogonal Group* (2020). For whitened data Z = Q X, with X sparse and Q orthogonal, the rows of
the orthogonal A that maximizes |A Z|_4^4 are near the columns of Q: the entries of A Z are
spikiest where A Z is sparse. Only near, since the l4 norm of finitely many samples peaks
elsewhere than its expectation.

For whitened data Y, one sample a column, it alternates between coefficients and direction in

.. math:: \min_{|q| = 1,\, x} \tfrac12 |q'Y - x|^2 + \psi(x),

x by shrinking q'Y, q by normalising Yx (Qu, Sun and Wright, *Finding a sparse vector in a
subspace*, 2014, of which the paper's conclusion speaks). With psi = lambda \|x\|_1 the shrinkage
is soft thresholding, and the cost that q minimises a Huber function; shrinkage to z - mu tanh(z /
mu) makes it the paper's log-cosh. Over orthogonal matrices in place of q it is the method of the
companion paper's experiment on images.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from riemtr.data import Orthogonal
from riemtr.errors import DoesNotApply, require
from riemtr.problem import Evaluation, Problem
from riemtr.problems.dictionary_learning import DictionaryCost
from riemtr.solvers import AcceptanceRule, AlwaysAccept, TrustRegion
from riemtr.subproblem import Ended, FreshModel, Model, Step, SubproblemSolver


@dataclass(frozen=True, eq=False)
class Estimate:
    """The rows that a method found in whitened data.

    Attributes
    ----------
    rows : ndarray, shape (r, r)
        One direction q per row, of any length but zero: ``rows @ data`` is X up to order and scale.
    claimed : bool
        Whether the method calls itself converged.
    status : str
        How it says it ended.
    iterations : int
    """

    rows: np.ndarray
    claimed: bool
    status: str
    iterations: int


RecoveryMethod = Callable[[np.ndarray, int], Estimate]
"""Called with whitened data (r x p) and a seed for its own start."""


# -- independent component analysis as recovery methods: Picard-O and FastICA. Extra ``ica`` ------

TOLERANCE = 1e-6  # theirs, of different quantities; tighter ones often end in rounding
MAX_ITERATIONS = 5000


def picard_o() -> RecoveryMethod:
    """Return Picard-O with the tanh density; raise :class:`MissingExtraError` without it."""
    picard = require("picard", extra="ica")

    def recover(data: np.ndarray, seed: int) -> Estimate:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            _, rows, _, iterations = picard.picard(
                data,
                ortho=True,
                fun="tanh",
                whiten=False,
                centering=False,
                tol=TOLERANCE,
                max_iter=MAX_ITERATIONS,
                random_state=seed,
                return_n_iter=True,
            )
        return _estimate(rows, iterations, caught)

    return recover


def fast_ica() -> RecoveryMethod:
    """Return scikit-learn's parallel FastICA with log cosh; likewise."""
    decomposition = require("sklearn.decomposition", extra="ica")

    def recover(data: np.ndarray, seed: int) -> Estimate:
        ica = decomposition.FastICA(
            whiten=False, fun="logcosh", tol=TOLERANCE, max_iter=MAX_ITERATIONS, random_state=seed
        )
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            ica.fit(data.T)
        return _estimate(ica.components_, ica.n_iter_, caught)

    return recover


def _estimate(rows: np.ndarray, iterations: int, caught: list[Any]) -> Estimate:
    """Both say that they did not converge by a warning, and in no other way."""
    doubts = [str(each.message) for each in caught if "converge" in str(each.message)]
    return Estimate(rows, not doubts, doubts[0] if doubts else "converged", int(iterations))


# -- matching, stretching, projection: the l4 fixed point for complete dictionaries ---------------


@dataclass(frozen=True, eq=False)
class FixedPoint:
    """Where the iteration ended.

    Attributes
    ----------
    rotation : ndarray, shape (n, n)
        A, orthogonal.
    objectives : list of float
        \\|A Z\\|_4^4 / (n p) at every iterate; never decreases beyond rounding.
    residual : float
        Relative Riemannian gradient norm at `rotation`.
    converged : bool
        Whether that is within the tolerance.
    """

    rotation: np.ndarray
    objectives: list[float]
    residual: float
    converged: bool

    @property
    def iterations(self) -> int:
        """Steps taken."""
        return len(self.objectives) - 1


def maximize_l4(
    data: np.ndarray,
    start: np.ndarray,
    *,
    tolerance: float = 1e-10,
    max_iterations: int = 5000,
) -> FixedPoint:
    """Maximize \\|A Z\\|_4^4 over orthogonal A by ``A <- polar((A Z)^3 Z')``, from a start.

    The objective is convex in A, so the linear model that a step maximizes lies below it: no step
    decreases it. A is a fixed point where ``G A'`` is symmetric and positive semidefinite, with
    ``G = (A Z)^3 Z'``; the first is that the Riemannian gradient vanishes.

    Parameters
    ----------
    data : ndarray, shape (n, p)
        Z, whitened: ``Z Z' / p = I``.
    start : ndarray, shape (n, n)
        Orthogonal.
    tolerance : float
        Stop where ``|skew(G A')|_F <= tolerance |G|_F``.
    max_iterations : int

    Examples
    --------
    >>> from riemtr.data import BernoulliGaussian, Identity
    >>> data = BernoulliGaussian(n=4, p=5000, theta=0.2, dictionary=Identity()).draw(0).observations
    >>> found = maximize_l4(data, Orthogonal().matrix(4, np.random.default_rng(0)))
    >>> found.converged, np.sort(np.abs(found.rotation), axis=1)[:, -1].round(2)
    (True, array([1., 1., 1., 1.]))
    """
    rotation = np.asarray(start, dtype=np.float64)
    objectives: list[float] = []
    residual = math.inf
    for _ in range(max_iterations + 1):
        matched = rotation @ data
        stretched = matched**3
        objectives.append(float(np.vdot(stretched, matched)) / data.size)
        gradient = stretched @ data.T
        turn = gradient @ rotation.T
        size = float(np.linalg.norm(gradient))
        residual = float(np.linalg.norm(turn - turn.T)) / (2 * size) if size else 0.0
        if residual <= tolerance or len(objectives) > max_iterations:
            break
        left, _, right = np.linalg.svd(gradient)
        rotation = left @ right
    return FixedPoint(rotation, objectives, residual, residual <= tolerance)


def msp(data: np.ndarray, seed: int) -> Estimate:
    """Run the fixed point from a random rotation, as a method to compare."""
    start = Orthogonal().matrix(data.shape[0], np.random.default_rng(seed))
    found = maximize_l4(data, start)
    end = "converged" if found.converged else "out of iterations"
    status = f"{end}: relative gradient norm {found.residual:.1e}"
    return Estimate(found.rotation, found.converged, status, found.iterations)


# -- the alternating direction method, for the paper's cost and for whole dictionaries ------------

# Threshold of a whole dictionary's coefficients, where the data have variance 1: Qu, Sun and
# Wright's 1 / sqrt(p) for rows of length 1.
_THRESHOLD = 1.0
# Change of all directions at which the alternation has come to rest.
_AT_REST = 1e-10
_MOST_ITERATIONS = 5000


@dataclass(frozen=True)
class Alternation:
    r"""One round of the method on the paper's cost, as a step.

    With z = q'Y and p samples, :math:`Yx = YY'q - p \mu \nabla f(q)`. For whitened data, YY' = p c,
    the direction of Yx is that of :math:`q - t \nabla f(q)`, where :math:`t = \mu / c`; elsewhere,
    with the largest eigenvalue in c's place, that is the minimiser after a linearisation, which
    has the same fixed points. On the sphere it is a step against the Riemannian gradient g:

    .. math:: s = -\frac{t}{1 - t \langle q, \nabla f(q) \rangle} g.

    Parameters
    ----------
    size : float
        t.
    """

    size: float = 1.0

    def at(self, here: Evaluation, before: Model | None = None) -> Model:
        """Return the model, whose step does not depend on the radius."""
        return FreshModel(here, self._step)

    def _step(self, here: Evaluation, radius: float) -> Step:
        slope = here.gradient_norm
        # <q, grad f> is the rest of the Euclidean gradient, and never negative: z tanh(z/mu) >= 0.
        radial = math.sqrt(max(here.conversion_size**2 - slope**2, 0.0))
        size = self.size / (1.0 - self.size * radial)
        vector = -size * here.gradient
        decrease = 0.5 * size * slope * slope
        return Step(vector, -here.gradient, size * slope, decrease, False, Ended.INTERIOR)


@dataclass(frozen=True, repr=False)
class ADM(TrustRegion):
    """The alternating direction method on the paper's log-cosh cost.

    It applies to the costs of :func:`riemtr.dictionary_problem` on data in memory. One round takes
    one gradient. It stops at a small gradient, and looks at no curvature.

    Examples
    --------
    >>> import riemtr
    >>> case = riemtr.problems.build("dictionary-learning", rng=0, n=10)
    >>> result = ADM().solve(case.problem, rng=0)
    >>> result.certificate.verdict, result.counts.hessian_products
    ('minimizer', 0)
    """

    subproblem: SubproblemSolver = field(default_factory=Alternation)
    acceptance: AcceptanceRule = field(default_factory=AlwaysAccept)
    goal: str = field(default="first-order", init=False)
    max_iterations: int = 100_000

    def _fitted(self, problem: Problem, rng: Any) -> TrustRegion:
        cost = problem.cost
        if not isinstance(cost, DictionaryCost):
            raise DoesNotApply("ADM alternates for the log-cosh cost of dictionary learning alone")
        covariance = cost.data @ cost.data.T / cost.data.shape[1]
        size = cost.mu / float(np.linalg.eigvalsh(covariance)[-1])
        return replace(self, subproblem=Alternation(size))


def adm(data: np.ndarray, seed: int) -> Estimate:
    """Alternate between all coefficients and an orthogonal matrix, as a method to compare.

    ``X <- soft(A Z)``, ``A <- polar(X Z')`` for whitened data Z, from a random A.
    """
    rotation = Orthogonal().matrix(data.shape[0], np.random.default_rng(seed))
    change, rounds = math.inf, 0
    while change > _AT_REST and rounds < _MOST_ITERATIONS:
        matched = rotation @ data
        sparse = matched - np.clip(matched, -_THRESHOLD, _THRESHOLD)
        left, _, right = np.linalg.svd(sparse @ data.T)
        before, rotation = rotation, left @ right
        change, rounds = float(np.abs(rotation - before).max()), rounds + 1
    rested = change <= _AT_REST
    end = "at rest" if rested else "out of iterations"
    return Estimate(rotation, rested, f"{end}: last change {change:.1e}", rounds)
