"""Max-cut by the method of Burer and Monteiro."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse

from riemtr.arguments import integer
from riemtr.errors import ArgumentError
from riemtr.manifolds import Oblique
from riemtr.problem import Problem
from riemtr.problem.quadratic import QuadraticCost, TransposedRows
from riemtr.problem.relaxation import Relaxation
from riemtr.problems.random_data import apart, random_graph, skew_units
from riemtr.problems.registry import Case, Truth, register

# Entries of all symmetric directions together beyond which they are not named: to look across them
# takes longer than to find that they are flat.
_SYMMETRY_ENTRIES = 10**6
# Length of a direction, over the largest, from which on it is more than what rounding leaves.
_NOTICEABLE = 1e-3
# Random hyperplanes that a point is rounded by; the best of them counts.
_HYPERPLANES = 100


@register("max-cut")
def max_cut(
    rng: np.random.Generator,
    n: int = 60,
    degree: int = 6,
    rank: int | None = None,
    weights: Any = None,
) -> Case:
    r"""Max-cut of a sparse graph by Burer and Monteiro: one unit vector for each node.

    A cut of a graph with weights W gives each node a sign; its value is the weight of all edges
    between different signs. Goemans and Williamson replace signs by unit vectors, of which Burer
    and Monteiro keep only a few coordinates: with the Laplacian L = Diag(W1) - W,

    .. math:: \min_X \; -\tfrac14 \langle X'X, L \rangle
       = -\tfrac14 \sum_{i<j} w_{ij} |x_i - x_j|^2

    over the ``rank`` x n matrices X with unit columns, the manifold ``Oblique(rank, n)``. No cut
    has a larger value than minus the minimum. Once rank (rank + 1) / 2 exceeds n, every point of
    second order is a global minimizer, but for matrices L of measure zero: the certificate of a
    minimizer then proves a bound for the combinatorial problem.

    The cost is the same for Q X with any orthogonal Q; on small graphs these directions are named
    as symmetries, so that the certificate looks across them.

    ``certificate.lower_bound`` is the bound by duality, which is the cost of the point found where
    the relaxation is solved. ``truth.details["best_cut"](point)`` rounds a point by random
    hyperplanes to signs and their value: 0.878 of the best cut or more, on average.

    Parameters
    ----------
    n : int
        Number of nodes.
    degree : int
        Edges per node, about, all of weight 1.
    rank : int, optional
        Rows of X; the least with rank (rank + 1) / 2 > n if not given.
    weights : matrix of shape (n, n), optional
        A symmetric matrix of your own weights, dense or sparse, in place of a random graph.

    References
    ----------
    Burer and Monteiro, *A nonlinear programming algorithm for solving semidefinite programs via
    low-rank factorization*, Mathematical Programming 95 (2003). Goemans and Williamson, *Improved
    approximation algorithms for maximum cut*, Journal of the ACM 42 (1995). Boumal, Voroninski and
    Bandeira, *Deterministic guarantees for Burer-Monteiro factorizations of smooth semidefinite
    programs*, Communications on Pure and Applied Mathematics 73 (2020).

    Examples
    --------
    >>> import numpy as np, riemtr
    >>> square = np.array([[0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 0]])
    >>> case = riemtr.problems.build("max-cut", rng=0, weights=square)
    >>> result = riemtr.PracticalTRM().solve(case.problem, case.start)
    >>> round(-result.cost, 6), round(-result.certificate.lower_bound, 4)
    (4.0, 4.0)
    """
    rng = apart(rng)
    matrix = _random_weights(rng, n, degree) if weights is None else _checked(weights)
    n = matrix.shape[0]
    least = math.floor((math.sqrt(8.0 * n + 1.0) - 1.0) / 2.0) + 1
    rank = min(least, n) if rank is None else integer("rank", rank, low=2, high=n)
    degrees = np.asarray(matrix.sum(axis=1)).ravel()
    half = (0.5 * (matrix - scipy.sparse.diags(degrees))).tocsr()  # half of <X'X, it> is the cost
    manifold = Oblique(rank, n)
    named = rank * (rank - 1) // 2 * rank * n <= _SYMMETRY_ENTRIES
    problem = Problem(
        manifold,
        QuadraticCost(half, TransposedRows(), relaxation=Relaxation(half)),
        symmetries=_turned if named else None,
        invariants=_inner_products if named else None,
    )
    truth = Truth(details={"weights": matrix, "best_cut": _rounding(matrix, degrees.sum())})
    return Case(problem, manifold.random_point(rng), truth)


def _random_weights(rng: np.random.Generator, n: int, degree: int) -> scipy.sparse.csr_matrix:
    n, degree = integer("n", n, low=2), integer("degree", degree, low=1)
    tails, heads = random_graph(rng, n, degree)
    matrix = scipy.sparse.csr_matrix((np.ones(len(tails)), (tails, heads)), shape=(n, n))
    return (matrix + matrix.T).tocsr()


def _checked(weights: Any) -> scipy.sparse.csr_matrix:
    try:
        matrix = scipy.sparse.csr_matrix(weights, dtype=float)
    except (TypeError, ValueError):
        raise ArgumentError("weights", "be a matrix of numbers", weights) from None
    if matrix.shape[0] != matrix.shape[1] or matrix.shape[0] < 2:
        raise ArgumentError("weights", "be a square matrix of at least 2 rows", matrix.shape)
    if not np.all(np.isfinite(matrix.data)) or abs(matrix - matrix.T).max() > 0.0:
        raise ArgumentError(
            "weights", "be finite and symmetric", remedy="pass (W + W.T) / 2 if that is meant"
        )
    return matrix


def _inner_products(point: np.ndarray) -> np.ndarray:
    """Return all inner products of columns, which turns and reflections leave as they are."""
    return point.T @ point


def _turned(point: np.ndarray) -> np.ndarray:
    """Return the directions A X for skew-symmetric A, in the basis of the left singular vectors.

    At a solution X lacks rank. A turn of two directions that X has nothing of moves nothing, and
    what rounding leaves of it is no symmetry.
    """
    left, values, right = np.linalg.svd(point, full_matrices=False)
    units = skew_units(len(values)) @ (values[:, None] * right)
    lengths = np.linalg.norm(units, axis=(1, 2))
    return left @ units[lengths > _NOTICEABLE * values[0]]


def _rounding(
    matrix: scipy.sparse.csr_matrix, total: float
) -> Callable[[np.ndarray], tuple[np.ndarray, float]]:
    def best_cut(point: np.ndarray) -> tuple[np.ndarray, float]:
        normals = np.random.default_rng(0).standard_normal((_HYPERPLANES, len(point)))
        signs = np.where(normals @ point >= 0.0, 1.0, -1.0)
        values = 0.25 * (total - np.sum(signs.T * (matrix @ signs.T), axis=0))
        best = int(np.argmax(values))
        return signs[best], float(values[best])

    return best_cut
